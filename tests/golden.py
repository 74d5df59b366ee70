"""Texts of ours that are meant to be read: a test compares with the file, `pytest --update-golden` writes it. Read the difference before committing it."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

UPDATES = False
"""Whether `--update-golden` is given (conftest.py)."""


def same_as_golden(made: str, path: Path) -> None:
    """Fails with the lines that differ. made: ends with a line break."""
    if UPDATES:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
        return
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if made != before:
        lines = difflib.unified_diff(before.splitlines(), made.splitlines(), "golden", "now", lineterm="", n=1)
        pytest.fail("\n".join([f"{path.name}: another text; --update-golden writes it", *list(lines)[:200]]), pytrace=False)
