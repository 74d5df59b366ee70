"""Commands that moved answer to their old names for one release."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OLD_NAME = re.compile(r'"""The old name of `python -m (\S+)`, kept for one release\."""\n\n__import__\("runpy"\)\.run_module\("(\S+)", .*')


def test_old_names_run_commands_that_exist() -> None:
    files = {path: path.read_text() for path in (ROOT / "tests").rglob("*.py") if 'run_module("tools.' in path.read_text() and path != Path(__file__)}
    assert ROOT / "tests" / "zoo" / "run.py" in files
    for path, text in files.items():
        found = OLD_NAME.fullmatch(text.strip())
        assert found is not None and found[1] == found[2], path
        assert importlib.util.find_spec(found[1]) is not None, path


def test_an_old_name_takes_the_same_words() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.lines", "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: python -m tools.lines")
