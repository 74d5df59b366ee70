"""Writes error_bands.csv: the spread of prices around published times, by device operation and chip.

Rows of the calibration tables and published calls are predicted by constants fitted without their group (`calibrate`); calls that nothing is fitted to as
they are. Few rows are drawn towards the spread of all operations.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from ttnn_shim.error_bands import ANY, CHIPS, TABLE
from ttnn_shim.published import ask, requests_of

from tools.calibration.problem import SWEEPS
from tools.calibration.rows import HARDWARE, read_rows, read_table
from tools.calibration.scores import quantile

SHARE = 0.8
"""Of an operation's rows that lie within its band."""
ENOUGH_ROWS = 5
"""Fewer: constants may be set from these very rows, so the spread of unseen operations is the prior."""
PRIOR_ROWS = 4
"""Few rows: the spread of all operations counts as so many rows of this one."""
LEAST = 0.05

Residuals = dict[tuple[str, str], list[float]]


def table_residuals(predictions: dict[str, float], data: Path) -> Residuals:
    """Absolute log errors of the calibration tables' rows, from out-of-fold predictions by id."""
    out: Residuals = {}
    for table in ("ops", "gemm", *SWEEPS):
        for row in read_table(data / f"{table}.train.csv.gz")[:: 200 if table in SWEEPS else 1]:  # sweeps of one call would hide its other uses
            truth = float(row.get("kernel_ns") or row["trisc1_avg_ns"])
            op = "matmul" if table in ("gemm", "matmul_height_sharded") else "unary" if table == "eltwise_exp" else row["op"]
            if row["id"] in predictions:
                out.setdefault((op, row["arch"]), []).append(abs(math.log(predictions[row["id"]] / truth)))
    return out


def call_residuals(predictions: dict[str, float], data: Path) -> Residuals:
    """Absolute log errors of published calls, out of fold where `predictions` has them; one of several programs counts for the operation that takes
    most of its time."""
    rows = read_rows(data, "singles")
    answers = ask(requests_of("singles", rows))
    out: Residuals = {}
    for row in rows:
        answer = answers[row["id"]]
        if "ns" not in answer:
            continue
        times = [float(text.split()[-2]) for text in answer["programs"]]
        op = answer["ops"][times.index(max(times))][0]
        out.setdefault((op, row["arch"]), []).append(abs(math.log(predictions.get(row["id"], answer["ns"]) / 1000 / float(row["time_us"]))))
    return out


def bands_of(residuals: Residuals) -> list[tuple[str, str, float, int, float]]:
    """(operation, chip, band, rows, median error), and the row of operations that nothing shows."""
    everything = [error for errors in residuals.values() for error in errors]
    pooled = quantile(everything, SHARE)
    # What an unseen operation does: the upper half of what seen ones do.
    spread = quantile([quantile(errors, SHARE) for errors in residuals.values()], SHARE)
    out = []
    for chip in CHIPS:
        for op in sorted(o for o, c in residuals if c == chip):
            errors = residuals[op, chip]
            prior = pooled if len(errors) >= ENOUGH_ROWS else spread
            band = (len(errors) * quantile(errors, SHARE) + PRIOR_ROWS * prior) / (len(errors) + PRIOR_ROWS)
            out.append((op, chip, math.expm1(max(band, LEAST)), len(errors), math.expm1(statistics.median(errors))))
        out.append((ANY, chip, math.expm1(spread), 0, math.expm1(pooled)))
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration.error_bands", description="write the table of error bands")
    parser.add_argument("--data", type=Path, default=HARDWARE, help="folder of the *.train.csv.gz tables")
    parser.add_argument("--predictions", type=Path, required=True, help="out-of-fold predictions of `calibrate --predictions`")
    args = parser.parse_args(argv)
    predictions = {row["id"]: float(row["predicted_ns"]) for row in read_table(args.predictions)}
    residuals = table_residuals(predictions, args.data)
    for key, errors in call_residuals(predictions, args.data).items():
        residuals.setdefault(key, []).extend(errors)
    with open(TABLE, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(("op", "chip", "band", "rows", "median"))
        for op, chip, band, count, median in bands_of(residuals):
            writer.writerow((op, chip, f"{band:.2f}", count, f"{median:.2f}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
