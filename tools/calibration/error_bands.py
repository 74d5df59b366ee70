"""Writes error_bands.csv and ratio_errors.csv: how far prices may be off, and how far the ratio of two prices of one piece of work.

Bands come from rows that were in view, so the sources that were left out can judge them (`unseen`).
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ttnn_shim.error_bands import ANY, CHIPS, RATIOS, TABLE
from ttnn_shim.published import ask, requests_of

from tools.calibration.published_accuracy import main_operation
from tools.calibration.rows import HARDWARE, read_rows
from tools.calibration.scores import quantile
from tools.calibration.unseen import LEAST_ROWS, SHARE, Priced, all_rows

LEAST_SOURCES = 2
"""The rows of a single source say nothing of those of another."""
WORST_QUARTER = 0.75
"""Operations with fewer rows or sources are taken for one of the worst quarter, or for what their rows say where that is more."""
LEAST = 0.05


def quantile_over_sources(errors: Sequence[tuple[str, float]], share: float) -> float:
    """The least error that `share` of the (source, error) lie within, where every source counts alike, however many rows it has."""
    rows = Counter(source for source, _ in errors)
    within = 0.0
    for source, error in sorted(errors, key=lambda each: each[1]):
        within += 1 / rows[source] / len(rows)
        if within >= share - 1e-9:
            return error
    raise ValueError("no rows")


def bands_of(rows: Sequence[Priced]) -> list[tuple[str, str, float, int, float]]:
    """(operation, chip, band, rows it comes from, their median error) of every measured operation, and of those that the chip does not show (`ANY`)."""
    errors: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for row in rows:
        if row.ns:
            mine = errors.setdefault((row.op, row.chip), [])
            if not row.left_out:
                mine.append((f"{row.table} {row.source}", row.log_error))
    enough = {
        key: quantile_over_sources(some, SHARE)
        for key, some in errors.items()
        if len(some) >= LEAST_ROWS and len({source for source, _ in some}) >= LEAST_SOURCES
    }
    if not enough:
        raise ValueError(f"no operation has {LEAST_ROWS} priced rows of {LEAST_SOURCES} sources")
    worst = quantile(list(enough.values()), WORST_QUARTER)
    out = []
    for chip in CHIPS:
        pooled = statistics.median(error for some in errors.values() for _, error in some)
        for op in sorted(o for o, c in errors if c == chip):
            some = errors[op, chip]
            median = statistics.median(error for _, error in some) if some else pooled
            known = (op, chip) in enough
            band = enough[op, chip] if known else max(worst, quantile_over_sources(some, SHARE) if some else 0)
            out.append((op, chip, math.expm1(max(band, LEAST)), len(some) if known else 0, math.expm1(median)))
        out.append((ANY, chip, math.expm1(worst), 0, math.expm1(pooled)))
    return out


def ratios_of(errors: Iterable[tuple[str, float]]) -> list[tuple[str, float, int]]:
    """(operation, error, pairs): the median error of a ratio of two prices, for operations of enough pairs, and of all pairs (`ANY`)."""
    by_op: dict[str, list[float]] = {}
    for op, error in errors:
        by_op.setdefault(op, []).append(error)
    pooled = [error for some in by_op.values() for error in some]
    enough = {op: some for op, some in sorted(by_op.items()) if len(some) >= LEAST_ROWS}
    return [(op, math.expm1(statistics.median(some)), len(some)) for op, some in (enough | {ANY: pooled}).items()]


def pair_errors(data: Path) -> list[tuple[str, float]]:
    """(operation, |log of predicted ratio over measured ratio|) of the published pairs that can be rebuilt and are no rows of a fitted table."""
    rows = [row for row in read_rows(data, "pairs") if row["rebuildable"] == "yes" and not row["derived_from_train"]]
    answers = ask(requests_of("pairs", rows))
    out = []
    for row in rows:
        a, b = (answers[row["id"] + side] for side in "ab")
        if "ns" in a and "ns" in b:
            out.append((main_operation(a), abs(math.log(b["ns"] / a["ns"] * float(row["time_a_us"]) / float(row["time_b_us"])))))
    return out


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A CSV file; fractions with two digits."""
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([f"{cell:.2f}" if isinstance(cell, float) else cell for cell in row] for row in rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration.error_bands", description="write the tables of error bands and of ratios")
    parser.add_argument("--data", type=Path, default=HARDWARE, help="folder of the *.train.csv.gz tables")
    args = parser.parse_args(argv)
    write_table(TABLE, ("op", "chip", "band", "rows", "median"), bands_of(all_rows(args.data)))
    write_table(RATIOS, ("op", "error", "pairs"), ratios_of(pair_errors(args.data)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
