"""Reads JSON files that may be edited or damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: no JSON, or nested deeper than Python's parser goes.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_json(path: Path) -> Any:
    """The value of a UTF-8 file.

    Raises:
        OSError: it cannot be read. ValueError: as `parse_json`, or no UTF-8.
    """
    return parse_json(path.read_text(encoding="utf-8"))
