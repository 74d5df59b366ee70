"""What passes and lowering make of the modules of this folder's tests, written down: every change is seen, also one that computes the same.

python tests/passes/recorded_ir.py    # writes lowerings.txt, passes.txt and pass_modules.txt in tests/data; say in the commit why they changed
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where this file is the program

from tests.made_modules import read, record, said, write

DATA = Path(__file__).resolve().parents[1] / "data"
LOWERINGS, PASSES = DATA / "lowerings.txt", DATA / "passes.txt"
AGAIN = "changed; explain it in the commit and run `python tests/passes/recorded_ir.py`"


@cache
def recorded(path: Path) -> Mapping[str, str]:
    """Name -> `said`."""
    return read(path)


def numbered(names: Iterable[str]) -> list[str]:
    """Names of several cases get numbers."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return found


def main() -> None:
    import test_lower_ops
    import test_near_misses

    write(LOWERINGS, {name: said(test_lower_ops.lower_to_ttnn(case.module()).module) for name, case in test_lower_ops.NAMED.items()})
    write(PASSES, {f"{name}: {case}": said(changed) for name in test_near_misses.NAMES for case, changed in test_near_misses.changes(name)})
    record(Path(__file__).parent)


if __name__ == "__main__":
    main()
