"""The accuracy page: how far the simulator is from measurements, per family, with baselines and the list of fitted constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.calibration.fit import Fit, leave_sizes_out
from tools.calibration.problem import CALLS, FAMILIES, FOLDS, NOISE, SFPU, THIN, Observation, Parameter, Problem, Vector, fold_of, mask_of
from tools.calibration.published_accuracy import section
from tools.calibration.scores import Score, score
from tools.calibration.unseen import all_rows
from tools.calibration.unseen import section as left_out_section

HEADER = "| | n | median % | p90 % | Spearman |\n|---|---|---|---|---|"
TARGETS = {
    "ops": (7.0, 28.0),
    "gemm": (2.0, 7.0),
    "gemm_wall": (2.5, 7.0),
    "eltwise_exp": (0.6, 5.0),
    "matmul_height_sharded": (1.0, 3.5),
    CALLS: (8.0, 25.0),
}
SENSITIVE = 0.02
TITLES = {
    "ops": "ops (kernel time)",
    "gemm": "gemm (math time)",
    "gemm_wall": "gemm (traced wall time)",
    "eltwise_exp": "eltwise_exp",
    "matmul_height_sharded": "matmul_height_sharded",
    CALLS: "singles (published calls)",
}
WEAK = """## Where it is weak, and why

- **Wormhole ops** (14 rows of one trace): a transpose takes three quarters of its time in the first two layers of the same trace; another reads DRAM
  faster than any other program.
- **Software drift.** Rows of one op come from several releases (tilize-with-padding, untilize, conv differ by up to 40 %); the model has no version input
  except the matmul selector (`selector=table` for the older rules).
- **halo**: routes on harvested columns are not known; two images of 192 x 640 (192 blocks of sticks per core) take 140 cycles per block more than
  smaller ones, for no reason that the kernel shows.
- **conv2d**: HiFi4 block-sharded layers of the 2025-09 software are 20-25 % slower than their blocks explain.
- **matmul** in ops: K-block handshakes and DRAM bank strides decide, not the FPU; batch loops of tiny matmuls are latency chains that are only sketched.
- **One- or two-row families** (softmax, embedding, upsample, ternary, split ...): constants set by hand, no spread can be given.
- **exp on 32-bit types**: repeats differ by up to 24 %; rows whose tiles per core are a multiple of the bank count queue on one bank.
- **gemm wall above 10 ms on p150**: 130 cores slow down by 18 and 33 % in two runs of 50 ms, 110 cores by 4 % in 19 ms; the model has one curve.
- **gemm out of box, 1-D, bfloat16** (n150, 512 x 1024 x 1024 and x 2048): one core sends A to all others 10 % slower than its reads and multicasts explain.
- Ops without a row in the first tables (sdpa, sdpa_decode, pad, repeat, rotary beyond one row ...) follow published kernel timings.
- Ops without any row (gather, scatter, conv3d, fold, index_fill ...) are priced by what their kernels do, at the cost that the same step has in
  measured programs; reports name them and give them a band of 50 %. A device operation without even that is priced by its bytes and reported as unmodelled.
"""


def ridge_baseline(problem: Problem, features: NDArray[np.float64]) -> Vector:
    """Out-of-fold predictions of a non-negative linear model per table, op and chip (what a curve fit without a machine model reaches)."""
    out = np.full(len(problem.observations), np.nan)
    folds = np.array([fold_of(o.group) for o in problem.observations])
    keys = np.array([f"{o.table}/{o.op}/{o.family}" for o in problem.observations])
    for key in np.unique(keys):
        rows = keys == key
        for k in range(FOLDS):
            train, test = rows & (folds != k), rows & (folds == k)
            if not train.any() or not test.any():
                continue
            x, y = features[train], problem.truth[train]
            scaled = x / y[:, None]  # relative error
            solution = np.linalg.lstsq(scaled.T @ scaled + 1e-12 * np.eye(x.shape[1]), scaled.T @ np.ones(len(y)), rcond=None)[0]
            out[test] = np.maximum(features[test] @ solution, 1.0)
    return out


def baselines(problem: Problem) -> dict[str, Vector]:
    """Simple predictors to stand beside the model: roofline and least squares."""
    size = np.array([o.size for o in problem.observations])
    roofline = np.array([price_floor(problem, o) for o in problem.observations])
    features = np.stack([np.ones(len(size)), size, roofline], axis=1)
    return {
        "roofline of bytes and FLOPs": roofline,
        "least squares per op (constant, size, roofline; out of fold)": ridge_baseline(problem, features),
    }


def price_floor(problem: Problem, o: Observation) -> float:
    """Ideal ns: of each program the larger of DRAM bytes at peak and FPU work at peak."""
    prices = [problem.sim.price(arch, config) for arch, config in o.parts]
    return max(sum(max(price.dram_utilisation, price.fpu_utilisation) * price.ns for price in prices), 100.0)


def lines(title: str, scores: dict[str, Score]) -> list[str]:
    """One table of scores."""
    return [title, "", HEADER, *(f"| {name} | {s} |" for name, s in scores.items()), ""]


def spread(values: Sequence[float]) -> str:
    return f"{min(values):.4g} .. {max(values):.4g}"


def constant_rows(
    problem: Problem,
    constants: Sequence[dict[str, str]],
    parameters: Sequence[Parameter],
    full: Fit,
    folds: Sequence[Vector],
) -> list[str]:
    """The fitted constants with unit, value, range over folds, rows that move them."""
    meaning = {row["name"]: row for row in constants}
    moved = (np.abs(full.jacobian) > SENSITIVE).sum(axis=0)
    out = ["| constant | chip | unit | start | fitted | over folds | rows | meaning |", "|---|---|---|---|---|---|---|---|"]
    for j, parameter in enumerate(parameters):
        row = meaning[parameter.name]
        chip = "both" if len(parameter.families) == 2 else {"wormhole_b0": "WH", "blackhole": "BH"}[parameter.families[0]]
        out.append(
            f"| {parameter.name} | {chip} | {row['unit']} | {parameter.start:.4g} | {full.values[j]:.4g} "
            f"| {spread([float(f[j]) for f in folds])} | {moved[j]} | {row['source']} |"
        )
    return out


def other_sections(page: str) -> str:
    """What other commands wrote behind the list of constants, the last section of this page (whole models: `tools.experts.run --write`)."""
    _, _, behind = page.partition("\n## Fitted constants\n")
    _, found, rest = behind.partition("\n## ")
    return f"\n## {rest}" if found else ""


def accuracy_page(
    problem: Problem,
    constants: Sequence[dict[str, str]],
    parameters: Sequence[Parameter],
    full: Fit,
    out_of_fold: Vector,
    folds: Sequence[Vector],
    data: Path,
) -> str:
    """The whole page as Markdown; `data`: folder of the tables."""
    base = baselines(problem)
    moved = (np.abs(full.jacobian) > SENSITIVE).sum(axis=0)
    functions = sum(p.name.startswith(SFPU) for p in parameters)
    few = [p.label for p, n in zip(parameters, moved, strict=True) if n < 5 and not p.name.startswith(SFPU)]
    page = [
        "# Accuracy of the tile simulator",
        "",
        "Generated by `python -m tools.calibration.calibrate --docs docs/lab/accuracy.md` from the training tables in `tests/data/hardware` only.",
        "Errors are absolute percentage errors against measured times. *Out of fold*: each row is predicted by constants",
        "fitted without its configuration group",
        f"({FOLDS} folds by `split_group`; the table that leaves sizes out fits every {THIN}th row of the two large sweeps, counting {THIN} times).",
        "The equations were chosen with these rows in view. Rows that nobody looked at come first.",
        "",
        left_out_section([row for row in all_rows(data) if row.left_out]),
        "",
        "## Tables, out of fold",
        "",
        "| table | n | median % | p90 % | Spearman | target median / p90 | in sample median / p90 |",
        "|---|---|---|---|---|---|---|",
    ]
    for table, target in TARGETS.items():
        mask = mask_of(problem, table=table)
        inside = score(problem, full.predictions, mask)
        unseen = score(problem, out_of_fold, mask)
        page.append(f"| {TITLES[table]} | {unseen} | {target[0]} / {target[1]} | {inside.median:.1f} / {inside.p90:.1f} |")
    page += ["", "Baselines on the same rows (median % / p90 %):", "", "| table | " + " | ".join(base) + " |", "|---|" + "---|" * len(base)]
    for table in TARGETS:
        mask = mask_of(problem, table=table)
        cells = [score(problem, values, mask & np.isfinite(values)) for values in base.values()]
        page.append(f"| {TITLES[table]} | " + " | ".join(f"{c.median:.0f} / {c.p90:.0f}" for c in cells) + " |")
    page.append("")
    ops = mask_of(problem, table="ops")
    page += lines(
        "## ops by family, out of fold",
        {op: score(problem, out_of_fold, mask_of(problem, table="ops", op=op)) for op in sorted({o.op for o in problem.observations if o.table == "ops"})},
    )
    page += lines(
        "## ops by chip and trace, out of fold",
        {f"{family}": score(problem, out_of_fold, ops & mask_of(problem, family=family)) for family in FAMILIES}
        | {trace: score(problem, out_of_fold, mask_of(problem, trace=trace)) for trace in sorted({o.trace for o in problem.observations if o.trace})},
    )
    page += lines("## Leave the larger sizes of one family out", leave_sizes_out(problem, parameters))
    page += [
        "The larger half of a family's rows is predicted from its smaller half and everything else.",
        "",
        WEAK,
        section(data, parameters, folds),
        "## Fitted constants",
        "",
        f"{len(parameters) - functions} constants are fitted; all others of `ttnn_shim/arch/constants.csv` keep the value of",
        f"their source. {functions} lengths of SFPU programs (`sfpu.*`, one number per program for both chips) come beside",
        "them: each is measured by the few dashboard rows of the functions that are this program.",
        "*rows*: observations whose prediction changes by more than",
        f"{100 * SENSITIVE:.0f} % per 100 % change of the constant's logarithm." + (f" Fewer than five rows: {', '.join(few)}." if few else ""),
        "",
    ]
    page += constant_rows(problem, constants, parameters, full, folds)
    noise = ", ".join(f"{table} {value}" for table, value in NOISE.items())
    page += [
        "",
        f"Robust log error with expected spread {noise}; log-normal priors of the widths in `constants.csv`. Summed ops time is predicted within "
        f"{100 * abs(math.fsum(out_of_fold[ops]) / math.fsum(problem.truth[ops]) - 1):.1f} %.",
        "",
    ]
    return "\n".join(page)
