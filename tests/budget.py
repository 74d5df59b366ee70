"""What tests cost: processor seconds of the test process and of the processes it waited for, set-up and tear-down included.

    pytest --cpu-seconds FILE tests/...       appends "seconds<TAB>test" for each test; `make test` writes build/cpu_seconds.tsv
    python -m tests.budget FILE [--strict]    the sum per folder, the tests that cost most, those above their budget; --strict: 1 if there are any

Wall times say little where two workers and a compiler share two cores; processor seconds add up.
A test has 2 of them, unless tests/data/slow_units.csv lists it with a reason. On a busy machine the same work takes longer, so twice as much counts, and only `make test-all` fails of it:
`make test` must pass on a slow machine too.
The first test of a process that needs torch or JAX pays for their import; it is not judged.
"""

from __future__ import annotations

import csv
import os
import sys
from collections import Counter
from collections.abc import Container
from pathlib import Path

MOST_SHOWN = 20
LIMIT_SECONDS = 2.0
BUSY_MACHINE = 2.0
MODULES_OF_A_FRAMEWORK = 200
"""A test that loads so many modules has loaded torch, JAX or transformers."""
LISTED = Path(__file__).parent / "data" / "slow_units.csv"

_charged = 0.0


def charge(seconds: float) -> None:
    """Adds what a process used that is no child of this one (tests/running.py)."""
    global _charged
    _charged += seconds


def cpu_seconds() -> float:
    """Processor seconds of this process, of its children that have ended, and of what was charged."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system + _charged


def listed() -> dict[str, str]:
    """Test function -> why it may take longer than a unit."""
    with open(LISTED, encoding="utf-8", newline="") as file:
        return {row["test"]: row["reason"] for row in csv.DictReader(file)}


def over_budget(seconds: dict[str, float], imports: set[str], allowed: Container[str]) -> list[str]:
    """Tests above the limit that are not listed. imports: those that loaded a framework."""
    limit = LIMIT_SECONDS * BUSY_MACHINE
    return [test for test, used in seconds.items() if used > limit and test not in imports and test.partition("[")[0] not in allowed]


def main(path: str, *options: str) -> int:
    """Prints the sums per folder and the dearest tests of a file that `--cpu-seconds` wrote; --strict: 1 if a test is above its budget."""
    rows = [line.split("\t", 2) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    seconds = {test: float(text) for text, _, test in rows}
    imports = {test for _, loaded, test in rows if int(loaded) >= MODULES_OF_A_FRAMEWORK}
    folders: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    for test, used in seconds.items():
        folder = test.split("/")[1] if test.count("/") > 1 else "."
        folders[folder] += used
        cases[folder] += 1
    for folder, used in folders.most_common():
        print(f"{used:8.1f} s {cases[folder]:5} cases  {folder}")
    print(f"{sum(folders.values()):8.1f} s {sum(cases.values()):5} cases  all")
    for test, used in Counter(seconds).most_common(MOST_SHOWN):
        print(f"{used:8.2f} s  {test}")
    over = over_budget(seconds, imports, listed())
    for test in over:
        print(f"{seconds[test]:8.2f} s  {test}: a unit has {LIMIT_SECONDS:.0f} s; make it smaller, mark it slow, or list it with a reason in {LISTED.name}")
    return 1 if over and "--strict" in options else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
