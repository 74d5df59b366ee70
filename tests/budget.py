"""What tests cost: processor seconds of the test process and of the processes it waited for, set-up and tear-down included.

    pytest --cpu-seconds FILE tests/...       appends "seconds<TAB>test" for each test; `make test` writes build/cpu_seconds.tsv
    python -m tests.budget FILE               the sum per folder, and the tests that cost most

Wall times say little where two workers and a compiler share two cores; processor seconds add up.
The first test of a process that needs torch or JAX pays for their import.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

MOST_SHOWN = 20

_charged = 0.0


def charge(seconds: float) -> None:
    """Adds what a process used that is no child of this one (tests/running.py)."""
    global _charged
    _charged += seconds


def cpu_seconds() -> float:
    """Processor seconds of this process, of its children that have ended, and of what was charged."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system + _charged


def main(path: str) -> None:
    """Prints the sums per folder and the dearest tests of a file that `--cpu-seconds` wrote."""
    rows = [line.split("\t", 1) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    seconds = {test: float(text) for text, test in rows}
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


if __name__ == "__main__":
    main(sys.argv[1])
