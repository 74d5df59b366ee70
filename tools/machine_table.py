"""How far the results of emitted programs depend on the processor: instruction sets and thread counts.

    python -m tools.machine_table [--csv ROWS.csv] [--keep DIR] [NAME ...]
    python -m tools.machine_table --csv docs/lab/machines.csv --docs docs/lab/numerics.md       only writes the table of the rows that are there

Each model is exported once, at level 0. Its program then runs with the same stored inputs under `ONEDNN_MAX_CPU_ISA` = AVX2, AVX, AVX512_CORE
and AVX512_CORE_BF16, with one and with two threads. The variable is a cap: the row says which instruction set was in effect, and a set that the
machine lacks is `not available`. AVX is below what the simulator needs, but its kernels are on every machine, and they add in another order.

Printed per output, against the run with AVX2 and one thread: largest absolute difference over the largest magnitude, relative L2 error, PCC.
Threads must change no bit: a run that differs from the one with one thread under the same cap ends the program with exit code 1.
Without names: 20 models of the zoo.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

CAPS = ("AVX2", "AVX", "AVX512_CORE", "AVX512_CORE_BF16")
THREADS = (1, 2)
BEGIN, END = "<!-- machines: begin -->", "<!-- machines: end -->"
MODELS = (
    "lenet", "alexnet", "vgg_bn", "densenet", "inception", "efficientnet", "resnet", "mobilenet_v2", "unet", "convnext",
    "vit", "swin", "bert", "bert_bf16", "gpt2", "llama_bf16", "mixtral", "t5", "lstm", "dlrm",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One output under one cap and thread count, compared with the run under AVX2 with one thread."""

    model: str
    output: str
    cap: str
    effective: str
    threads: int
    max_difference: float
    relative_l2: float
    pcc: float
    equal_to_one_thread: bool


def effective_set(cap: str) -> str:
    """The instruction set that the simulator's products use under a cap: of `CAPS`, or "not available"."""
    script = "from ttnn_shim import build_info; print(build_info()['instruction_set'])"
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | {"ONEDNN_MAX_CPU_ISA": cap}, capture_output=True, text=True, check=True)
    used = done.stdout.strip()
    return cap if used == ("SSE41" if cap == "AVX" else cap) else "not available"


def outputs_of(directory: Path, cap: str, threads: int, scratch: Path) -> dict[str, npt.NDArray[np.float64]]:
    """What `./run` computes from the stored inputs."""
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": cap, "OMP_NUM_THREADS": str(threads)}
    subprocess.run([str(directory / "run"), "--outputs", str(scratch)], env=environment, capture_output=True, check=True)
    return {path.stem: np.load(path).astype(np.float64) for path in sorted(scratch.glob("*.npy"))}


def measures(got: npt.NDArray[np.float64], base: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Largest difference over largest magnitude, relative L2 error, PCC (1 for equal values)."""
    if np.array_equal(got, base, equal_nan=True):
        return 0.0, 0.0, 1.0
    difference = np.abs(got - base)
    pcc = float(np.corrcoef(got.ravel(), base.ravel())[0, 1]) if got.size > 1 else float("nan")
    return float(difference.max() / np.abs(base).max()), float(np.linalg.norm(difference) / np.linalg.norm(base)), pcc


def rows_of(name: str, directory: Path, effective: dict[str, str]) -> Iterator[Row]:
    """All rows of one exported model."""
    base: dict[str, npt.NDArray[np.float64]] = {}
    one_thread: dict[str, npt.NDArray[np.float64]] = {}
    for cap in CAPS:
        for threads in THREADS if effective[cap] == cap else ():
            with tempfile.TemporaryDirectory() as scratch:
                outputs = outputs_of(directory, cap, threads, Path(scratch))
            base = base or outputs
            if threads == 1:
                one_thread = outputs
            for output, values in outputs.items():
                is_equal = np.array_equal(values, one_thread[output], equal_nan=True)
                yield Row(name, output, cap, effective[cap], threads, *measures(values, base[output]), is_equal)


def markdown(rows: list[dict[str, str]]) -> str:
    """A line per model: under each cap the largest figures of its outputs, and whether two threads changed a bit."""
    lines = ["| model | threads | " + " | ".join(f"{cap}" for cap in CAPS[1:]) + " |", "|---|---|" + "---|" * len(CAPS[1:])]
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == model]
        cells = ["equal" if all(row["equal_to_one_thread"] == "True" for row in mine) else "**differ**"]
        for cap in CAPS[1:]:
            under = [row for row in mine if row["cap"] == cap]
            worst = [max(float(row[name]) for row in under) for name in ("max_difference", "relative_l2")] if under else []
            cells.append(f"{worst[0]:.1e}, {worst[1]:.1e}, {min(float(row['pcc']) for row in under):.6f}" if worst else "not available")
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    from tools.zoo.run import run_model

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, help="append the rows to this file")
    parser.add_argument("--keep", type=Path, help="keep the exports here, and use those that are there")
    parser.add_argument("--docs", type=Path, metavar="PAGE", help="write the table of --csv's rows into this page")
    parser.add_argument("names", nargs="*", help="models of the zoo (default: 20 of them)")
    options = parser.parse_args()
    if options.docs:
        if not options.csv:
            parser.error("--docs needs the rows: --csv ROWS.csv")
        with options.csv.open(newline="") as file:
            table = markdown(list(csv.DictReader(file)))
        before, rest = options.docs.read_text().split(BEGIN)
        options.docs.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}")
        return 0
    effective = {cap: effective_set(cap) for cap in CAPS}
    print(", ".join(f"{cap}: {used}" for cap, used in effective.items()), flush=True)
    differ = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names or MODELS:
            directory = (options.keep or Path(scratch)) / name
            if not (directory / "run").exists():
                run_model(name, "py", directory)
            rows = list(rows_of(name, directory, effective))
            differ += sum(not row.equal_to_one_thread for row in rows)
            for row in rows:
                figures = f"{row.max_difference:.2e}  {row.relative_l2:.2e}  {row.pcc:.6f}"
                threads = f"{row.threads} threads{'' if row.equal_to_one_thread else ' DIFFER'}"
                print(f"{row.model:16} {row.output:24} {row.cap:17} {threads}  {figures}", flush=True)
            if options.csv:
                new = not options.csv.exists()
                with options.csv.open("a", newline="") as file:
                    writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
                    if new:
                        writer.writeheader()
                    writer.writerows(asdict(row) for row in rows)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
