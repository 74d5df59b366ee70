"""The add-an-op guide of ttnn_shim/README.md as edits of a tree."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "ttnn_shim" / "README.md"
OP = "cbrt"
# How the op stands in the tree now, one place per file that the guide names: what is taken out before the guide is followed.
PRESENT = {
    "ttnn_shim/include/ttnn/operations/eltwise/unary/unary.hpp": r" X\(cbrt, CBRT\)",
    "alchemist/ops/eltwise_unary.py": r'    \("cbrt", np\.cbrt\),\n',
    "tests/ops_numeric/test_numeric.py": r'    "cbrt": [^\n]*\n',
}
_EDIT = re.compile(r"(New file|[Ii]n) `([^`]+)`(?:, above `([^`]+)`)?:\n\n```\w+\n(.*?)```\n", re.DOTALL)


@dataclass(frozen=True)
class Edit:
    """One edit that the guide asks for: a new file, or text above a line of an old one."""

    path: str
    above: str
    text: str

    def apply(self, tree: Path) -> None:
        target = tree / self.path
        if not self.above:
            assert not target.exists(), f"{self.path} is there already"
            target.write_text(self.text, encoding="utf-8")
            return
        old = target.read_text(encoding="utf-8")
        assert old.count(self.above) >= 1, f"{self.path} has no line {self.above!r}"
        at = old.index(self.above)
        target.write_text(old[:at] + self.text + old[at:], encoding="utf-8")


def edits() -> list[Edit]:
    """The guide's edits, in its order."""
    text = GUIDE.read_text(encoding="utf-8")
    section = text[text.index("## How to add an op") : text.index("Rules and tools\n")]
    return [Edit(path, above or "", body) for _, path, above, body in _EDIT.findall(section)]


def copy_without_op(tree: Path) -> None:
    """What the guide's edits touch, and what they are tried with, without the op. The page of ops keeps its rows: `make docs` must write them again."""
    for folder in ("alchemist", "emit_py", "emit_cpp", "templates", "ttnn_shim/include", "ttnn_shim/src", "tests/ops_numeric", "tests/ops"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "docs").mkdir()
    for name in ("tests/__init__.py", "tests/device.py", "tests/tables.py", "docs/ops.md"):
        shutil.copy2(ROOT / name, tree / name)
    for path, pattern in PRESENT.items():
        file = tree / path
        text, count = re.subn(pattern, "", file.read_text(encoding="utf-8"))
        assert count == 1, f"{path}: {count} places of {OP}"
        file.write_text(text, encoding="utf-8")
