"""Fit the constants marked as fitted in arch/constants.csv and arch/sfpu.csv to the measured training tables, and report how well that generalises.

Maximum a posteriori fit: robust squared log error of the predictions plus a log-normal prior around each constant's starting value (its
published or first-principles value). Folds are taken by `split_group`, so near-duplicates never straddle. Needs numpy.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttnn_shim.estimate import configure, recognise
from ttnn_shim.simlib import Simulator, simulator

Vector = NDArray[np.float64]
FAMILIES = ("wormhole_b0", "blackhole")
TABLES = ("ops", "gemm", "eltwise_exp", "matmul_height_sharded")
CALLS = "singles"
"""The table of published calls: each row is a call of ttnn, one program or several."""
# Expected log error of a row (repeat noise and what the equations leave out), and how much a table counts beside the others.
NOISE = {"ops": 0.07, "gemm": 0.02, "gemm_wall": 0.02, "eltwise_exp": 0.006, "matmul_height_sharded": 0.01, CALLS: 0.07}
SHARE = {"ops": 1.0, "gemm": 1.0, "gemm_wall": 1.0, "eltwise_exp": 0.08, "matmul_height_sharded": 0.2, CALLS: 1.0}
SFPU = "sfpu."
SWEEPS = ("eltwise_exp", "matmul_height_sharded")
"""Thousands of rows of one call."""
THIN = 12
STEP = 0.02
REFRESH = 4
FOLDS = 5


@dataclass(frozen=True)
class Parameter:
    """One fitted number: a constant on one chip family, or on both at once (tied).

    followers: names of constants that keep a ratio to this one, with the ratio.
    """

    name: str
    families: tuple[str, ...]
    start: float
    sigma: float
    followers: tuple[tuple[str, float], ...] = ()

    @property
    def label(self) -> str:
        return self.name if len(self.families) == 2 else f"{self.name} [{self.families[0]}]"


@dataclass
class Observation:
    """One measured number and the handles that price it: the sum of its programs and of a time that no constant changes."""

    row_id: str
    table: str
    op: str
    family: str
    trace: str
    group: str
    truth: float
    size: float
    parts: tuple[tuple[int, int], ...]
    column: int
    fixed_ns: float = 0.0
    rating: str = ""


@dataclass
class Problem:
    """All observations with the simulator that prices them."""

    sim: Simulator
    observations: list[Observation]
    archs: dict[str, list[int]]
    jobs: list[tuple[int, int]] = field(default_factory=list)
    part_job: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    part_of: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    part_column: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    fixed_ns: Vector = field(default_factory=lambda: np.zeros(0))
    truth: Vector = field(default_factory=lambda: np.zeros(0))
    noise: Vector = field(default_factory=lambda: np.zeros(0))
    share: Vector = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        index: dict[tuple[int, int], int] = {}
        parts = [(i, o.column, index.setdefault(part, len(index))) for i, o in enumerate(self.observations) for part in o.parts]
        self.part_of, self.part_column, self.part_job = (np.array(column) for column in zip(*parts, strict=True))
        self.jobs = list(index)
        self.fixed_ns = np.array([o.fixed_ns for o in self.observations])
        self.truth = np.array([o.truth for o in self.observations])
        self.noise = np.array([NOISE[o.table] for o in self.observations])
        self.share = np.array([SHARE[o.table] for o in self.observations])

    def set(self, parameters: Sequence[Parameter], values: Vector) -> None:
        """Put fitted values into the simulator."""
        for parameter, value in zip(parameters, values, strict=True):
            for family in parameter.families:
                for name, ratio in ((parameter.name, 1.0), *parameter.followers):
                    self.sim.set(self.archs[family], name, float(value) * ratio)

    def predict(self, only: NDArray[np.bool_] | None = None) -> Vector:
        """Predicted ns per observation (NaN outside `only`, a mask over jobs)."""
        chosen = np.arange(len(self.jobs)) if only is None else np.flatnonzero(only)
        priced = self.sim.price_many([self.jobs[i][0] for i in chosen], [self.jobs[i][1] for i in chosen])
        table = np.full((len(self.jobs), 3), np.nan)
        if len(chosen):
            table[chosen] = np.array(priced)
        result = self.fixed_ns.copy()
        np.add.at(result, self.part_of, table[self.part_job, self.part_column])
        return result

    def jobs_of(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mask over jobs: the programs of the chosen observations."""
        mask = np.zeros(len(self.jobs), bool)
        mask[self.part_job[chosen[self.part_of]]] = True
        return mask


def read_table(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file, gzipped or not."""
    csv.field_size_limit(1 << 30)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"))))


def load(data: Path, sim: Simulator, calls: bool = False) -> Problem:
    """Observations of the four training tables; `calls`: of the published calls too, whose programs are found by making them (some seconds)."""
    observations: list[Observation] = []
    archs: dict[str, set[int]] = {family: set() for family in FAMILIES}
    for table in TABLES:
        path = next((p for p in (data / f"{table}.train.csv", data / f"{table}.train.csv.gz") if p.exists()), None)
        if path is None:
            raise FileNotFoundError(f"{data}: no {table}.train.csv[.gz]")
        rows = read_table(path)
        kind = recognise(list(rows[0]))
        for index, row in enumerate(rows, 1):
            done = configure(row, index, kind)
            arch = sim.arch(done.card, done.grid, done.dram_banks)
            config = sim.config(done.config)
            archs[row["arch"]].add(arch)
            size = float(row.get("total_bytes") or 0) + float(row.get("flops") or 0) / 1000

            def add(
                name: str,
                truth: str,
                column: int,
                row: dict[str, str] = row,
                arch: int = arch,
                config: int = config,
                size: float = size,
            ) -> None:
                observations.append(
                    Observation(
                        row["id"],
                        name,
                        row["op"],
                        row["arch"],
                        row.get("source_file", ""),
                        row["split_group"],
                        float(truth),
                        size,
                        ((arch, config),),
                        column,
                    )
                )

            add(table, row.get("kernel_ns") or row["trisc1_avg_ns"], 1 if table == "gemm" else 0)
            if row.get("wall_trace_ns"):
                add("gemm_wall", row["wall_trace_ns"], 2)
    if calls:
        from ttnn_shim.calibrate_calls import observed_calls

        for made in observed_calls(data, sim):
            observations.append(made)
            archs[made.family].update(arch for arch, _ in made.parts)
    return Problem(sim, observations, {family: sorted(handles) for family, handles in archs.items()})


def read_constants(arch_dir: Path) -> list[dict[str, str]]:
    """Rows of constants.csv, and of sfpu.csv as constants "sfpu.EXP"."""
    with open(arch_dir / "constants.csv", newline="", encoding="utf-8") as handle:
        constants = list(csv.DictReader(handle))
    with open(arch_dir / "sfpu.csv", newline="", encoding="utf-8") as handle:
        return constants + [{"name": SFPU + row["op"], **row} for row in csv.DictReader(handle)]


def parameters_of(constants: Sequence[dict[str, str]]) -> list[Parameter]:
    """The fitted numbers behind the constants table. A row that is fitted "as OTHER" follows a row of the same file that is fitted as "shared"."""
    out: list[Parameter] = []
    followers: dict[str, list[tuple[str, float]]] = {}
    starts = {row["name"]: float(row["start_blackhole"]) for row in constants}
    for row in constants:
        if row["fitted"].startswith("as "):
            leader = (SFPU if row["name"].startswith(SFPU) else "") + row["fitted"].removeprefix("as ")
            if not any(other["name"] == leader and other["fitted"] == "shared" for other in constants):
                raise ValueError(f"{row['name']}: fitted {row['fitted']!r}: no row {leader!r} that is fitted as 'shared'")
            followers.setdefault(leader, []).append((row["name"], starts[row["name"]] / starts[leader]))
    for row in constants:
        sigma = float(row["sigma"])
        match row["fitted"]:
            case "no":
                continue
            case follower if follower.startswith("as "):
                continue
            case "both":
                out += [Parameter(row["name"], (family,), float(row[f"start_{family}"]), sigma) for family in FAMILIES]
            case "shared":
                out.append(Parameter(row["name"], FAMILIES, float(row["start_blackhole"]), sigma, tuple(followers.get(row["name"], ()))))
            case ("wormhole_b0" | "blackhole") as family:
                out.append(Parameter(row["name"], (family,), float(row[f"start_{family}"]), sigma))
            case other:
                raise ValueError(f"constants.csv: {row['name']}: fitted must be no, both, shared, a family or 'as NAME', not {other!r}")
    return out


@dataclass
class Fit:
    """Outcome of one fit."""

    values: Vector
    predictions: Vector
    jacobian: Vector
    cost: float


def fit(
    problem: Problem,
    parameters: Sequence[Parameter],
    train: NDArray[np.bool_],
    iterations: int = 12,
    verbose: bool = False,
    every: int = 1,
) -> Fit:
    """Levenberg-Marquardt on log constants over the observations in `train`; predictions are for all observations.

    `every`: how far `train` is thinned (`thin`): the rows of the large sweeps count so many times.
    """
    start = np.log([p.start for p in parameters])
    sigma = np.array([p.sigma for p in parameters])
    theta = start.copy()
    job_mask = problem.jobs_of(train)
    index = np.flatnonzero(train)
    truth, noise = problem.truth[index], problem.noise[index]
    share = problem.share[index] * np.where([problem.observations[i].table in SWEEPS for i in index], every, 1)

    def residuals(at: Vector) -> Vector:
        problem.set(parameters, np.exp(at))
        error = np.log(problem.predict(job_mask)[index] / truth)
        return np.asarray(np.where(np.isfinite(error), error, 3.0) / noise)

    def cost_of(res: Vector, at: Vector) -> float:
        # Robust: quadratic near zero, linear in the tail (median and 90th percentile count, not the worst row).
        return float(np.sum(share * 2 * (np.sqrt(1 + res * res) - 1)) + np.sum(((at - start) / sigma) ** 2))

    res = residuals(theta)
    cost = cost_of(res, theta)
    damping = 1e-2
    jacobian = np.zeros((len(index), len(parameters)))
    moved_jobs = [job_mask] * len(parameters)
    for iteration in range(iterations):
        # Most constants move few configurations; which ones is looked up afresh now and then.
        afresh = iteration % REFRESH == 0
        for j, parameter in enumerate(parameters):
            jobs = job_mask if afresh else moved_jobs[j]
            problem.set([parameter], np.exp(theta[j : j + 1] + STEP))
            error = np.log(problem.predict(jobs)[index] / truth) / noise
            change = np.where(np.isfinite(error), error - res, 0) / STEP
            jacobian[:, j] = change
            if afresh:
                moved = np.zeros(len(train), bool)
                moved[index[change != 0]] = True
                moved_jobs[j] = problem.jobs_of(moved)
            problem.set([parameter], np.exp(theta[j : j + 1]))
        weight = share / np.sqrt(1 + res * res)
        normal = jacobian.T @ (jacobian * weight[:, None]) + np.diag(1 / sigma**2)
        gradient = jacobian.T @ (weight * res) + (theta - start) / sigma**2
        improved = False
        for _ in range(6):
            step = -np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
            trial = theta + np.clip(step, -0.4, 0.4)
            trial_res = residuals(trial)
            trial_cost = cost_of(trial_res, trial)
            if trial_cost < cost:
                improved = cost - trial_cost > 1e-4 * cost
                theta, res, cost = trial, trial_res, trial_cost
                damping = max(damping / 4, 1e-6)
                break
            damping *= 5
        if verbose:
            print(f"  iteration {iteration}: cost {cost:.1f}", file=sys.stderr, flush=True)
        if not improved:
            break
    problem.set(parameters, np.exp(theta))
    return Fit(np.exp(theta), problem.predict(), jacobian * noise[:, None], cost)


def committed(problem: Problem, parameters: Sequence[Parameter], constants: Sequence[dict[str, str]]) -> Fit:
    """What the constants of the table predict, and how the predictions move with each."""
    reset(problem, constants)
    by_name = {row["name"]: row for row in constants}
    values = np.array([float(by_name[p.name][p.families[0]]) for p in parameters])
    predictions = problem.predict()
    jacobian = np.zeros((len(problem.observations), len(parameters)))
    for j, parameter in enumerate(parameters):
        problem.set([parameter], values[j : j + 1] * math.exp(STEP))
        jacobian[:, j] = np.log(problem.predict() / predictions) / STEP
        problem.set([parameter], values[j : j + 1])
    return Fit(values, predictions, np.nan_to_num(jacobian), math.nan)


def fold_of(group: str) -> int:
    """Fold of a configuration group, the same in every table and run."""
    return int(hashlib.sha1(group.encode()).hexdigest(), 16) % FOLDS


def cross_validate(problem: Problem, parameters: Sequence[Parameter], verbose: bool = False) -> tuple[Vector, list[Vector]]:
    """Out-of-fold predictions of every observation, and the constants of each fold.

    Fitted to all rows of the other folds: every `THIN`-th row of a sweep falls on some of its sizes and memories only, and moved the launch times.
    """
    folds = np.array([fold_of(o.group) for o in problem.observations])
    out = np.full(len(folds), np.nan)
    values = []
    for k in range(FOLDS):
        done = fit(problem, parameters, folds != k)
        out[folds == k] = done.predictions[folds == k]
        values.append(done.values)
        if verbose:
            print(f"fold {k}: cost {done.cost:.0f}", file=sys.stderr, flush=True)
    return out, values


def predict_by_folds(problem: Problem, parameters: Sequence[Parameter], folds: Sequence[Vector]) -> Vector:
    """Out-of-fold predictions from the constants of each fold."""
    fold = np.array([fold_of(o.group) for o in problem.observations])
    out = np.full(len(fold), np.nan)
    for k, values in enumerate(folds):
        problem.set(parameters, values)
        out[fold == k] = problem.predict(problem.jobs_of(fold == k))[fold == k]
    return out


def write_folds(path: Path, parameters: Sequence[Parameter], folds: Sequence[Vector]) -> None:
    """The constants of each fold, by label."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([{p.label: float(v) for p, v in zip(parameters, values, strict=True)} for values in folds], indent=1), encoding="utf-8")


def read_folds(path: Path, parameters: Sequence[Parameter]) -> list[Vector]:
    """What `write_folds` wrote. ValueError where other constants were fitted."""
    folds = json.loads(path.read_text(encoding="utf-8"))
    labels = {p.label for p in parameters}
    if len(folds) != FOLDS or any(set(values) != labels for values in folds):
        raise ValueError(f"{path}: not the fitted constants of {FOLDS} folds; run calibrate --write-folds again")
    return [np.array([values[p.label] for p in parameters]) for values in folds]


def quantile(values: Sequence[float], q: float) -> float:
    """Linear-interpolated quantile."""
    return float(np.quantile(np.array(values), q)) if len(values) else math.nan


def spearman(a: Vector, b: Vector) -> float:
    """Rank correlation (ties get mean ranks)."""

    def ranks(x: Vector) -> Vector:
        order = np.argsort(x, kind="stable")
        out = np.empty(len(x))
        values = x[order]
        i = 0
        while i < len(x):
            j = i
            while j + 1 < len(x) and values[j + 1] == values[i]:
                j += 1
            out[order[i : j + 1]] = (i + j) / 2
            i = j + 1
        return out

    if len(a) < 3:
        return math.nan
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


@dataclass(frozen=True)
class Score:
    """Error of a set of predictions: percent, rank correlation."""

    n: int
    median: float
    p90: float
    rho: float

    def __str__(self) -> str:
        return f"{self.n} | {self.median:.1f} | {self.p90:.1f} | {self.rho:.3f}"


def score(problem: Problem, predictions: Vector, mask: NDArray[np.bool_]) -> Score:
    """Score of the predictions where `mask` holds."""
    truth, made = problem.truth[mask], predictions[mask]
    ape = list(100 * np.abs(made / truth - 1))
    return Score(len(ape), quantile(ape, 0.5), quantile(ape, 0.9), spearman(truth, made))


def mask_of(problem: Problem, **want: str) -> NDArray[np.bool_]:
    """Observations whose fields equal the given values."""
    return np.array([all(getattr(o, key) == value for key, value in want.items()) for o in problem.observations])


def thin(problem: Problem) -> NDArray[np.bool_]:
    """All rows but those of the two large sweeps, of which every `THIN`-th is kept."""
    return np.array([o.table not in SWEEPS or i % THIN == 0 for i, o in enumerate(problem.observations)])


def leave_trace_out(problem: Problem, parameters: Sequence[Parameter]) -> dict[str, Score]:
    """Ops rows of one trace file predicted from all other files: a new model, card or software version."""
    out: dict[str, Score] = {}
    merged = np.full(len(problem.observations), np.nan)
    keep = thin(problem)
    for trace in sorted({o.trace for o in problem.observations if o.trace}):
        held = mask_of(problem, trace=trace)
        done = fit(problem, parameters, keep & ~held, iterations=6, every=THIN)
        out[trace] = score(problem, done.predictions, held)
        merged[held] = done.predictions[held]
    out["all"] = score(problem, merged, ~np.isnan(merged))
    return out


def leave_sizes_out(problem: Problem, parameters: Sequence[Parameter], minimum: int = 8) -> dict[str, Score]:
    """The larger half of one op family's rows predicted from its smaller half and everything else."""
    out: dict[str, Score] = {}
    merged = np.full(len(problem.observations), np.nan)
    keep = thin(problem)
    for op in sorted({o.op for o in problem.observations if o.table == "ops"}):
        rows = mask_of(problem, op=op, table="ops")
        if rows.sum() < minimum:
            continue
        middle = float(np.median([o.size for o, m in zip(problem.observations, rows, strict=True) if m]))
        held = rows & np.array([o.size > middle for o in problem.observations])
        done = fit(problem, parameters, keep & ~held, iterations=6, every=THIN)
        out[op] = score(problem, done.predictions, held)
        merged[held] = done.predictions[held]
    out["all"] = score(problem, merged, ~np.isnan(merged))
    return out


def write_constants(arch_dir: Path, constants: Sequence[dict[str, str]], parameters: Sequence[Parameter], values: Vector) -> None:
    """Fitted values back into constants.csv and sfpu.csv."""
    by_name = {row["name"]: row for row in constants}
    for parameter, value in zip(parameters, values, strict=True):
        for name, ratio in ((parameter.name, 1.0), *parameter.followers):
            for family in parameter.families:
                by_name[name][family] = f"{value * ratio:.5g}"
    for name, key in (("constants.csv", "name"), ("sfpu.csv", "op")):
        rows = [row for row in constants if ("op" in row) == (key == "op")]
        with open(arch_dir / name, "w", newline="", encoding="utf-8") as handle:
            writer = csv.DictWriter(handle, fieldnames=[k for k in rows[0] if key == "name" or k != "name"], lineterminator="\n")
            writer.writeheader()
            writer.writerows({k: row[k] for k in writer.fieldnames} for row in rows)


def write_predictions(path: Path, problem: Problem, predictions: Vector) -> None:
    """id,predicted_ns,predicted_wall_ns as the scorer reads it."""
    wall = {o.row_id: p for o, p in zip(problem.observations, predictions, strict=True) if o.table == "gemm_wall"}
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(("id", "predicted_ns", "predicted_wall_ns"))
        for o, p in zip(problem.observations, predictions, strict=True):
            if o.table != "gemm_wall":
                writer.writerow((o.row_id, f"{p:.1f}", f"{wall[o.row_id]:.1f}" if o.row_id in wall else ""))


def reset(problem: Problem, constants: Sequence[dict[str, str]]) -> None:
    """All constants as the table has them."""
    for row in constants:
        for family in FAMILIES:
            problem.sim.set(problem.archs[family], row["name"], float(row[family]))


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    root = Path(__file__).resolve().parents[3]
    parser = argparse.ArgumentParser(prog="python -m ttnn_shim.calibrate", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=root / "tests" / "data" / "hardware", help="folder of the *.train.csv[.gz] tables")
    parser.add_argument("--arch", type=Path, default=root / "ttnn_shim" / "arch", help="folder of constants.csv")
    parser.add_argument("--write", action="store_true", help="write the fitted constants back (then run arch/generate.py and rebuild)")
    parser.add_argument("--predictions", type=Path, help="write out-of-fold predictions of the training rows and calls here")
    parser.add_argument("--docs", type=Path, help="write the accuracy page here (takes some minutes)")
    parser.add_argument("--quick", action="store_true", help="full fit only, no cross-validation")
    parser.add_argument("--keep", action="store_true", help="no full fit: the committed constants are judged")
    folds_of = parser.add_mutually_exclusive_group()
    folds_of.add_argument("--write-folds", type=Path, help="write the constants fitted without each fold here")
    folds_of.add_argument("--folds", type=Path, help="read them from here, instead of fitting them")
    args = parser.parse_args(argv)
    with simulator().restoring_constants():
        _calibrate(args)
    return 0


def _calibrate(args: argparse.Namespace) -> None:
    problem = load(args.data, simulator(), calls=True)
    constants = read_constants(args.arch)
    reset(problem, constants)
    parameters = parameters_of(constants)
    print(
        f"{len(problem.observations)} observations, {len(problem.jobs)} configurations, {len(parameters)} fitted numbers",
        file=sys.stderr,
    )
    everything = np.ones(len(problem.observations), bool)
    full = committed(problem, parameters, constants) if args.keep else fit(problem, parameters, everything, verbose=True)
    for table in NOISE:
        print(f"in sample  {table:24s} {score(problem, full.predictions, mask_of(problem, table=table))}")
    if not args.quick:
        if args.folds:
            folds = read_folds(args.folds, parameters)
            out_of_fold = predict_by_folds(problem, parameters, folds)
            reset(problem, constants)
        else:
            out_of_fold, folds = cross_validate(problem, parameters, verbose=True)
        if args.write_folds:
            write_folds(args.write_folds, parameters, folds)
        for table in NOISE:
            print(f"out of fold {table:23s} {score(problem, out_of_fold, mask_of(problem, table=table))}")
        if args.predictions:
            write_predictions(args.predictions, problem, out_of_fold)
        if args.docs:
            from ttnn_shim.accuracy import accuracy_page, other_sections

            kept = other_sections(args.docs.read_text(encoding="utf-8")) if args.docs.exists() else ""
            args.docs.write_text(accuracy_page(problem, constants, parameters, full, out_of_fold, folds, args.data) + kept, encoding="utf-8")
    if args.write and not args.keep:
        write_constants(args.arch, constants, parameters, full.values)


if __name__ == "__main__":
    sys.exit(main())
