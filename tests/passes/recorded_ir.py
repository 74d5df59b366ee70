"""What passes and lowering make of the modules of this folder's tests, written down: every change is seen, also one that computes the same.

python tests/passes/recorded_ir.py    # writes lowerings.txt, passes.txt and pass_modules.txt in tests/data; say in the commit why they changed
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from alchemist.ir.text import print_module

DATA = Path(__file__).resolve().parents[1] / "data"
LOWERINGS, PASSES, MODULES = DATA / "lowerings.txt", DATA / "passes.txt", DATA / "pass_modules.txt"
RECORDING = "PASS_MODULES_ARE_RECORDED"
"""The environment's word for tests that write down what their passes make instead of comparing it."""
MOST_NAMES = 24
AGAIN = "changed; explain it in the commit and run `python tests/passes/recorded_ir.py`"


def said(module: ModuleOp) -> str:
    """Ops in order, and a digest of the whole text, attributes and layouts included."""
    ops = [op.name.partition(".")[2] for op in module.walk() if op.name.startswith(("ttir.", "ttnn."))]
    return f"{' '.join(ops)}  #{hashlib.sha256(print_module(module, locations=False).encode()).hexdigest()[:10]}"


def briefly(module: ModuleOp) -> str:
    """As `said`, without the names of many ops."""
    ops, _, digest = said(module).rpartition("  ")
    count = len(ops.split())
    return f"{ops if count <= MOST_NAMES else f'{count} ops'}  {digest}"


@cache
def recorded(path: Path) -> Mapping[str, str]:
    """Name -> `said`."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {name: text for name, text in rows}


def numbered(names: Iterable[str]) -> list[str]:
    """Names of several cases get numbers."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return found


def write(path: Path, rows: Mapping[str, str]) -> None:
    path.write_text("".join(f"{name}\t{text}\n" for name, text in rows.items()), encoding="utf-8")


def main() -> None:
    import test_lower_ops
    import test_near_misses

    write(LOWERINGS, {name: said(test_lower_ops.lower_to_ttnn(case.module()).module) for name, case in test_lower_ops.NAMED.items()})
    write(PASSES, {f"{name}: {case}": said(changed) for name in test_near_misses.NAMES for case, changed in test_near_misses.changes(name)})
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "not slow", str(Path(__file__).parent)]
    subprocess.run(tests, env=os.environ | {RECORDING: "1"}, check=True)


if __name__ == "__main__":
    main()
