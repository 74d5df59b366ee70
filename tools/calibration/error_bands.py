"""Writes error_bands.csv: how far prices are off on the sources that were left out (`unseen`), by device operation and chip."""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from ttnn_shim.error_bands import ANY, CHIPS, TABLE

from tools.calibration.rows import HARDWARE
from tools.calibration.scores import quantile
from tools.calibration.unseen import LEAST_ROWS, Priced, all_rows

SHARE = 0.8
"""Of an operation's unseen rows that lie within its band."""
WORST_QUARTER = 0.75
"""Operations with few unseen rows or none are taken for one of the worst quarter."""
LEAST = 0.05


def bands_of(rows: Sequence[Priced]) -> list[tuple[str, str, float, int, float]]:
    """(operation, chip, band, unseen rows, their median error) of every measured operation, and of those that the chip does not show (`ANY`)."""
    errors: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        mine = errors.setdefault((row.op, row.chip), [])
        if row.left_out and row.ns:
            mine.append(row.log_error)
    everything = [error for some in errors.values() for error in some]
    if not everything:
        raise ValueError("no row of a left-out source has a price")
    enough = [quantile(some, SHARE) for some in errors.values() if len(some) >= LEAST_ROWS] or [quantile(everything, SHARE)]
    worst, pooled = quantile(enough, WORST_QUARTER), statistics.median(everything)
    out = []
    for chip in CHIPS:
        for op in sorted(o for o, c in errors if c == chip):
            some = errors[op, chip]
            band = quantile(some, SHARE) if len(some) >= LEAST_ROWS else worst
            out.append((op, chip, math.expm1(max(band, LEAST)), len(some), math.expm1(statistics.median(some) if some else pooled)))
        out.append((ANY, chip, math.expm1(worst), 0, math.expm1(pooled)))
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration.error_bands", description="write the table of error bands")
    parser.add_argument("--data", type=Path, default=HARDWARE, help="folder of the *.train.csv.gz tables")
    args = parser.parse_args(argv)
    with open(TABLE, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(("op", "chip", "band", "rows", "median"))
        for op, chip, band, count, median in bands_of(all_rows(args.data)):
            writer.writerow((op, chip, f"{band:.2f}", count, f"{median:.2f}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
