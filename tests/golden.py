"""Texts of ours that are meant to be read: a test compares with the file, `pytest --update-golden` writes it. Read the difference before committing it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def json_rows(head: Mapping[str, Any], answers: Mapping[str, Any]) -> str:
    """JSON text of `head` and its key "answers", one answer a line, or one of its steps where it is a list: what a line of a difference says."""
    rows = []
    for name, answer in answers.items():
        steps = ",\n".join(json.dumps(step) for step in answer) if isinstance(answer, list) else ""
        rows.append(f"{json.dumps(name)}: " + (f"[\n{steps}\n]" if steps else json.dumps(answer)))
    keys = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    return f'{{\n{keys}"answers": {{\n' + ",\n".join(rows) + "\n}\n}\n"
