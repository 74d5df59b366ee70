"""Lint: rule tables hold rows and short guards, and few places list op names: classes of ops are traits of the op table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from alchemist.ir.dialects import op_table

ROOT = Path(__file__).resolve().parents[2] / "alchemist"
NAMES = {name.partition(".")[2] for dialect in ("ttir", "ttnn") for name in op_table(dialect)}
MOST_LISTS, MOST_OUTSIDE = 18, 10
"""Of all of alchemist, and outside ops/ and rules/. To be lowered by whoever removes one."""
MOST_GUARD_LINES = 10
NO_CLASSES = ("toolchain/", "tools/")
"""Folders whose lists say how ops were spelled in other versions, or what is measured."""


def op_lists(path: Path) -> Iterator[int]:
    """Lines of the sets, tuples and lists in a file of two or more names of ops, with or without their dialect."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            texts = [one.value for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            known = [text for text in texts if text.rpartition(".")[2] in NAMES]
            if len(known) >= 2 and len(known) > 0.7 * len(texts):
                yield node.lineno


def test_op_names_are_listed_in_few_places() -> None:
    files = [path for path in sorted(ROOT.rglob("*.py")) if not str(path.relative_to(ROOT)).startswith(NO_CLASSES)]
    found = {f"{path.relative_to(ROOT)}:{line}" for path in files for line in op_lists(path)}
    outside = {place for place in found if not place.startswith(("ops/", "rules/"))}
    assert len(found) <= MOST_LISTS, "give the class of ops a trait in ir/data instead"
    assert len(outside) <= MOST_OUTSIDE


@pytest.mark.parametrize("path", sorted((ROOT / "rules").glob("*.py")), ids=lambda path: path.name)
def test_guards_of_rule_tables_are_short(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < MOST_GUARD_LINES + 2, f"{node.name} is no guard"
            assert not any(isinstance(one, (ast.For, ast.While)) for one in ast.walk(node)), f"{node.name} walks over ops"
