"""Fits the times of collectives: the rows `ccl_*` of `arch/constants.csv`, from `tests/data/hardware/ccl.train.csv.gz` only.

    python -m tools.calibration.collectives            # errors out of fold
    python -m tools.calibration.collectives --write    # and the constants

A collective of N chips along one axis of a mesh takes, in ns, with `bytes` over the links of the busiest chip,

    start + hop * hops + byte * bytes + fill * bytes / (1 + bytes / fill_bytes) + pair * bytes [N = 2] + ring * bytes [a ring]
          + one_shot * bytes [a ring's sums of at most 512 KiB, which go in one step; all_to_all: more than 4 chips]

`ttnn_shim/src/strategy/collective.cpp` holds the same sum. Rows of other shapes of the machine (a whole Galaxy with persistent buffers,
several calls back to back) are of other programs: they are neither fitted nor predicted.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT / "tests" / "data" / "hardware" / "ccl.train.csv.gz"
CONSTANTS = ROOT / "ttnn_shim" / "arch" / "constants.csv"
OPS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all")
FAMILIES = ("wormhole_b0", "blackhole")
TERMS = ("start", "hop", "byte", "fill", "pair", "one_shot", "ring")
UNITS = dict.fromkeys(TERMS, "ns/B") | {"start": "ns", "hop": "ns/hop", "fill_bytes": "B"}
FOLDS = 10
SMALL_BYTES = 1 << 20
ONE_SHOT_BYTES = 512 << 10
Row = dict[str, str]
Model = tuple[np.ndarray, float]
"""The factors of TERMS in ns, and fill_bytes."""


def measured() -> list[Row]:
    """The rows that the formula is of: sweeps of a LoudBox and of a Galaxy, one call at a time, into DRAM or L1."""
    with gzip.open(ROWS, "rt", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if row["kind"] == "measured" and "back" not in row["config"] and row["system"] in ("LoudBox", "Galaxy")]


def terms(row: Row, fill_bytes: float) -> list[float]:
    """What the factors of TERMS multiply."""
    op, chips, whole, ring = row["op"], int(row["n_chips"]), float(row["size_bytes"]), "ring" in row["config"]
    steps = 2 if op == "all_reduce" else 1
    share = (chips // 2) * ((chips + 1) // 2) / chips if op == "all_to_all" else steps * (chips - 1) / chips
    sent = share * whole / (2 if ring else 1) / int(row["num_links"])
    hops = (chips // 2 if ring else chips - 1) * steps
    one_shot = chips > 4 if op == "all_to_all" else ring and op != "all_gather" and whole <= ONE_SHOT_BYTES
    return [1.0, hops, sent, sent / (1 + sent / fill_bytes), sent * (chips == 2), sent * one_shot, sent * (ring and chips > 4)]


def design(rows: Sequence[Row], fill_bytes: float) -> np.ndarray:
    return np.array([terms(row, fill_bytes) for row in rows])


def times_ns(rows: Sequence[Row]) -> np.ndarray:
    return np.array([1000 * float(row["time_us"]) for row in rows])


def fit(rows: Sequence[Row]) -> Model:
    """Least relative errors, the large ones counting little: reweighted least squares at each of ten turning points."""
    wanted, best = times_ns(rows), None
    for fill_bytes in np.geomspace(1e4, 4e6, 10):
        table, weight = design(rows, fill_bytes), 1 / wanted
        for _ in range(20):
            factors = np.linalg.lstsq(table * weight[:, None], wanted * weight, rcond=None)[0]
            off = np.abs(table @ factors - wanted) / wanted
            weight = 1 / wanted / np.sqrt(np.maximum(off, 0.01))
        score = float(np.median(off) + np.mean(off))
        if best is None or score < best[2]:
            best = (factors, float(fill_bytes), score)
    assert best is not None
    return best[:2]


def errors(rows: Sequence[Row], model: Model) -> np.ndarray:
    off: np.ndarray = np.abs(design(rows, model[1]) @ model[0] / times_ns(rows) - 1)
    return off


def out_of_fold(rows: Sequence[Row]) -> np.ndarray:
    """Relative errors of rows that their model has not seen, in the rows' order."""
    fold = np.random.default_rng(1).integers(FOLDS, size=len(rows))
    found = np.zeros(len(rows))
    for key in {(row["arch"], row["op"]) for row in rows}:
        of_key = np.array([(row["arch"], row["op"]) == key for row in rows])
        for number in range(FOLDS):
            tested = np.flatnonzero(of_key & (fold == number)).tolist()
            if tested:
                model = fit([rows[i] for i in np.flatnonzero(of_key & (fold != number)).tolist()])
                found[tested] = errors([rows[i] for i in tested], model)
    return found


def constants(rows: Sequence[Row]) -> list[list[Any]]:
    """Rows of arch/constants.csv."""
    models = {(arch, op): fit([row for row in rows if (row["arch"], row["op"]) == (arch, op)]) for arch in FAMILIES for op in OPS}
    made = []
    for op in OPS:
        for index, term in enumerate((*TERMS, "fill_bytes")):
            values = [models[arch, op][1] if term == "fill_bytes" else models[arch, op][0][index] for arch in FAMILIES]
            texts = [f"{value:.6g}" for value in values]
            source = f"tools.calibration.collectives: {term} of {op} (published sweeps of a LoudBox and a Blackhole Galaxy)"
            made.append([f"ccl_{op}_{term}", "program", *texts, UNITS[term], "no", "0.3", *texts, source])
    return made


def write(rows: Sequence[Row]) -> None:
    with open(CONSTANTS, newline="", encoding="utf-8") as file:
        kept = [row for row in csv.reader(file) if not row[0].startswith("ccl_")]
    with open(CONSTANTS, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([*kept, *constants(rows)])


def summary(label: str, off: np.ndarray) -> str:
    return f"{label:34} n {len(off):4} median {np.median(off):6.1%} p90 {np.quantile(off, 0.9):6.1%} max {off.max():6.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write arch/constants.csv")
    rows = measured()
    options, off = parser.parse_args(), out_of_fold(rows)
    small = np.array([int(row["size_bytes"]) <= SMALL_BYTES for row in rows])
    for key in sorted({(row["arch"], row["op"]) for row in rows}):
        print(summary(" ".join(key), off[[(row["arch"], row["op"]) == key for row in rows]]))
    print(summary("all, out of fold", off), summary("at most 1 MiB", off[small]), sep="\n")
    if options.write:
        write(rows)


if __name__ == "__main__":
    main()
