"""Paths of the parts of an installation, and the table of signatures, which its packages share."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ttnn_shim.errors import ActivationError

HERE = Path(__file__).resolve().parent


def python_path() -> Path:
    """The folder that holds the simulator's `ttnn` package: `_python` of an installation, the parent folder of a source tree."""
    for folder in (HERE / "_python", HERE.parent):
        if (folder / "ttnn" / "_signatures.json").is_file():
            return folder
    raise ActivationError(f"the simulator's ttnn package is not beside {HERE}; reinstall ttnn_shim")


@cache
def signature_table() -> dict[str, Any]:
    """`ttnn/_signatures.json`: names, parameters, types and overloads of the real package's functions."""
    table: dict[str, Any] = json.loads((python_path() / "ttnn" / "_signatures.json").read_bytes())
    return table


def split_outside_brackets(text: str, separator: str) -> list[str]:
    """The parts of a type's text between separators that no bracket encloses, without outer spaces."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "[(<") - (char in "])>")
        if char == separator and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()]


def arch_dir() -> Path:
    """The folder of the tables of the machine: of an installation, or of a source tree."""
    for folder in (HERE / "arch", HERE.parents[1] / "arch"):
        if (folder / "cards.csv").is_file():
            return folder
    raise FileNotFoundError(f"the tables of the machine are not beside {HERE}; reinstall ttnn_shim")
