"""How far prices are off for an operation that no fit has seen: its own coefficients are left out.

A coefficient is an operation's own if it moves the prices of no other operation's rows. An own time takes the value of the primitive: 0, or for a
function of the vector unit the time of SQUARE (load, one operation, store). Rates, shares and what operations share keep their values.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from ttnn_shim.simlib import simulator

from tools.calibration.calibrate import load
from tools.calibration.problem import FAMILIES, SFPU, Problem, Vector, read_constants, reset
from tools.calibration.rows import ARCH, HARDWARE

TABLES = ("ops", "gemm", "singles")
"""The tables whose rows name an operation each; the two sweeps repeat operations of these."""
PRIMITIVE = f"{SFPU}SQUARE"
STEP = 0.02
LEAST_ROWS = 5
Constants = Mapping[str, Mapping[str, str]]


def own_coefficients(problem: Problem, constants: Constants, ops: NDArray[np.str_], used: NDArray[np.bool_]) -> dict[str, list[str]]:
    """Operation -> the names of the coefficients that move its rows alone."""
    jobs = problem.jobs_of(used)
    before = np.nan_to_num(problem.predict(jobs), nan=-1.0)
    own: dict[str, list[str]] = {}
    for name, row in constants.items():
        put(problem, name, row, 1 + STEP)
        moved = set(ops[used & (np.nan_to_num(problem.predict(jobs), nan=-1.0) != before)])
        put(problem, name, row)
        if len(moved) == 1:
            own.setdefault(str(moved.pop()), []).append(name)
    return own


def put(problem: Problem, name: str, row: Mapping[str, str], factor: float = 1.0) -> None:
    """Sets a coefficient to the values of a row of the tables."""
    for family in FAMILIES:
        problem.sim.set(problem.archs[family], name, factor * float(row[family]))


def leave_out(problem: Problem, constants: Constants, names: Sequence[str]) -> None:
    """Sets own times to the primitive's."""
    for name in names:
        if name.startswith(SFPU):
            put(problem, name, constants[PRIMITIVE])
        elif constants[name]["unit"].startswith(("cycles", "ns", "us")):
            put(problem, name, constants[name], 0.0)


def median_error(problem: Problem, predictions: Vector, rows: NDArray[np.bool_]) -> float:
    """Percent; a row without a price counts as wrong by 100 %."""
    errors = 100 * np.abs(predictions[rows] / problem.truth[rows] - 1)
    return float(np.median(np.where(np.isfinite(errors), errors, 100.0)))


def table(data: Path, arch: Path) -> str:
    """Markdown: a row per operation, the largest errors first."""
    problem = load(data, simulator(), calls=True)
    constants = {row["name"]: row for row in read_constants(arch)}
    reset(problem, list(constants.values()))
    used, ops = np.array([o.table in TABLES for o in problem.observations]), np.array([o.op for o in problem.observations])
    own = own_coefficients(problem, constants, ops, used)
    fitted = problem.predict(problem.jobs_of(used))
    rows = []
    for op in np.unique(ops[used]):
        mask, names = used & (ops == op) & np.isfinite(fitted), own.get(str(op), [])
        if mask.sum() >= LEAST_ROWS:
            leave_out(problem, constants, names)
            rows.append((str(op), int(mask.sum()), len(names), median_error(problem, fitted, mask), median_error(problem, problem.predict(), mask)))
            reset(problem, list(constants.values()))
    rows.sort(key=lambda row: -row[4])
    medians = [float(np.median([row[column] for row in rows])) for column in (3, 4)]
    lines = ["| operation | rows | own coefficients | median error, fitted % | own left out % |", "|---|---|---|---|---|"]
    lines += [f"| {op} | {count} | {coefficients} | {before:.1f} | {after:.1f} |" for op, count, coefficients, before, after in rows]
    return "\n".join([*lines, f"| median of {len(rows)} operations | | | {medians[0]:.1f} | {medians[1]:.1f} |"])


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration.new_op", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=HARDWARE, help="folder of the *.train.csv[.gz] tables")
    parser.add_argument("--arch", type=Path, default=ARCH, help="folder of constants.csv")
    args = parser.parse_args(argv)
    with simulator().restoring_constants():
        print(table(args.data, args.arch))
    return 0


if __name__ == "__main__":
    sys.exit(main())
