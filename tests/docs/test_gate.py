"""The gate itself: every file of tests is collected and tests something."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

from tests import budget

ROOT = Path(__file__).parents[2]


def test_every_test_file_has_tests_and_every_test_has_a_file_that_is_collected() -> None:
    """pytest passes over a file without tests, and over tests in a file that is not called test_*.py, without a word."""
    tracked = subprocess.run(["git", "ls-files", "tests/*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    empty, unseen = [], []
    for name in tracked:
        text = (ROOT / name).read_text()
        if bool(re.search(r"^\s*def test_", text, re.MULTILINE)) == Path(name).name.startswith("test_"):
            continue  # as it should be; the others are read as Python: a text in a test may have a test
        functions = [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        tests = [function for function in functions if function.startswith("test_")]
        if Path(name).name.startswith("test_"):
            if not tests:
                empty.append(name)
        elif tests:
            unseen.append(f"{name}: {', '.join(tests)}")
    assert (empty, unseen) == ([], [])


def test_a_unit_above_its_budget_is_found() -> None:
    seconds = {"t.py::quick": 1.0, "t.py::slow[a]": 9.0, "t.py::first": 9.0, "t.py::known[b]": 9.0}
    assert budget.over_budget(seconds, {"t.py::first"}, {"t.py::known": "a reason"}) == ["t.py::slow[a]"]


def test_every_listed_test_exists_and_has_a_reason() -> None:
    for test, reason in budget.listed().items():
        file, _, function = test.partition("::")
        assert reason and f"def {function}(" in (ROOT / file).read_text(), test
