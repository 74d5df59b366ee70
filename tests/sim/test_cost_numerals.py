"""Numbers in the code of programs and costs: a new one belongs to `ttnn_shim/arch`, with its unit and its source."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

SRC = Path(__file__).parents[2] / "ttnn_shim" / "src"
FOLDERS = ("sim", "strategy", "cost", "programs")
KNOWN = Path(__file__).parents[1] / "data" / "cost_numerals.csv"
"""numeral, count, what it is. The list only shrinks: a number that moves to `arch` is taken out."""
STRUCTURE = {0, 1, 2, 3, *(2**power for power in range(2, 13))}
"""Counts of operands and passes, and sizes of tiles: these say how an algorithm goes, not how long it takes."""
_NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|^\s*#[^\n]*", re.DOTALL | re.MULTILINE)
_NUMERAL = re.compile(r"(?<![\w.])(?:\d[\d']*\.?\d*(?:[eE][+-]?\d+)?|\.\d+)(?=[uUlLfF]*\b)")


def numerals(text: str) -> Counter[str]:
    """The numerals of a C++ text that are not structure."""
    found = Counter(match.group().replace("'", "") for match in _NUMERAL.finditer(_NOT_CODE.sub(" ", text)))
    return Counter({numeral: count for numeral, count in found.items() if float(numeral) not in STRUCTURE})


def test_numbers_of_costs_are_in_the_tables() -> None:
    with open(KNOWN, newline="", encoding="utf-8") as file:
        known = {row["numeral"]: int(row["count"]) for row in csv.DictReader(file)}
    found: Counter[str] = Counter()
    for path in sorted(path for folder in FOLDERS for path in (SRC / folder).glob("*.?pp")):
        found += numerals(path.read_text(encoding="utf-8")) if path.name != "arch_tables.cpp" else Counter()
    more = {numeral: count - known.get(numeral, 0) for numeral, count in found.items() if count > known.get(numeral, 0)}
    assert not more, f"numbers beyond tests/data/cost_numerals.csv: {more}; put them into ttnn_shim/arch with a unit and a source"


def test_what_counts_as_a_numeral() -> None:
    text = 'const double slack = 0.4 * k.x2 + 1\'000;  // 77\nfail("99", 5);\n#define N 13\nint tile = 32, many = 2048, few = 1e-6;'
    assert numerals(text) == {"0.4": 1, "1000": 1, "5": 1, "1e-6": 1}
