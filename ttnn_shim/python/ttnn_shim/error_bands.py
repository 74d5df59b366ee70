"""How far a price may be off: a relative band per device operation and chip, and what it makes of a whole program.

The tables beside this file are generated: `python -m tools.calibration.error_bands`. A band is made to hold four of five measured times of a source that
nobody has seen: they lie within price / (1 + band) to price * (1 + band). How many of those it holds is in docs/lab/accuracy.md. A choice between two
prices of the same work depends on the error of their ratio, which is smaller because both prices share their equations: `ratio_error`.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ttnn_shim.machine import ARCHITECTURES, card_of

TABLE = Path(__file__).with_name("error_bands.csv")
RATIOS = TABLE.with_name("ratio_errors.csv")
UNMODELLED_BAND = 2.0
"""Of an operation that is priced by its bytes alone: it may well take three times as long."""
UNMEASURED_BAND = 0.5
"""Of an operation that is priced by a model of its kernels but that no measured row shows, on either chip: nine of ten rows of the second collection lay
within this when it showed its operations for the first time."""
GAP, GAP_BAND = "program_gap", 0.1
"""The idle time between device programs: medians of published profiler tables differ by 10 %."""
CHIPS = ARCHITECTURES
ANY = "*"
"""The row of operations that published timings show on the other chip alone."""


@dataclass(frozen=True, slots=True)
class Band:
    """Error of one operation on one chip: relative band (0.2: 20 %), rows it was made from (0: too few), their median error."""

    band: float
    rows: int
    median: float


@cache
def bands() -> dict[tuple[str, str], Band]:
    """(operation, chip) -> band, as the table has it."""
    with open(TABLE, newline="", encoding="utf-8") as handle:
        return {(row["op"], row["chip"]): Band(float(row["band"]), int(row["rows"]), float(row["median"])) for row in csv.DictReader(handle)}


def relative_error(op: str, chip: str, modelled: bool = True) -> float:
    """Band of a device operation's price.

    `op`: the operation as the event log names it ("matmul", "layernorm"; "" where it may be any); `chip`: "wormhole_b0" or "blackhole", or a card ("n150",
    "p150"). Wider where no row shows the operation on this chip, where none shows it at all, and where a roofline stands in for a model.
    """
    if not modelled:
        return UNMODELLED_BAND
    if op == GAP:
        return GAP_BAND
    table = bands()
    if op and not is_measured(op):
        return UNMEASURED_BAND
    chip = card_of(chip).architecture
    return table.get((op, chip), table[ANY, chip]).band


@cache
def ratio_errors() -> dict[str, float]:
    """Operation -> median error of the ratio of two prices, relative, as the table has it."""
    with open(RATIOS, newline="", encoding="utf-8") as handle:
        return {row["op"]: float(row["error"]) for row in csv.DictReader(handle)}


def ratio_error(op: str) -> float:
    """How far the ratio of two prices of one piece of work is off in the median, relative to it: a configuration that is predicted to gain more is the
    faster one in at least three of four cases."""
    return ratio_errors().get(op, ratio_errors()[ANY])


def is_measured(op: str) -> bool:
    """Whether any measured row shows the operation, on one of the chips."""
    return op == GAP or any((op, chip) in bands() for chip in CHIPS)


def total_error(parts: Iterable[tuple[float, str, str, bool]]) -> float:
    """Band of a sum of prices, relative to it; parts: (ns, operation, chip, modelled).

    The errors of one operation go together (the same equations are wrong in the same way), those of different operations are independent. 0.0 for nothing.
    """
    total = 0.0
    by_op: dict[tuple[str, bool], float] = defaultdict(float)
    for ns, op, chip, modelled in parts:
        total += ns
        by_op[op, modelled] += ns * relative_error(op, chip, modelled)
    return math.hypot(*by_op.values()) / total if total > 0 else 0.0
