"""Strings from models made safe for source text of any language."""

from __future__ import annotations

import unicodedata
from decimal import Decimal

WIDTH = 110
"""Columns of emitted source."""
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of control, invisible and direction-changing characters."""


def clean(text: str) -> str:
    """One line without control, invisible or direction-changing characters."""
    shown = "".join(" " if unicodedata.category(char) in HIDDEN else char for char in text)
    return " ".join(shown.split())


def comment(text: str, width: int = WIDTH) -> str:
    """The text of a line comment: no trailing backslash (in C++ it swallows the next line), at most `width` columns."""
    line = clean(text).rstrip("\\ ")
    return line if len(line) <= width else line[: max(width - 3, 0)].rstrip("\\ ") + "..."


def float_digits(value: float) -> str:
    """The shortest text of a finite float that reads back equal: `0.5`, `1e-12`, `-1e9` instead of -1000000000.0."""
    plain = repr(value)
    if abs(value) < 1e7:
        return plain
    mantissa, _, exponent = f"{Decimal(plain).normalize():e}".partition("e")
    return min(plain, f"{mantissa}e{int(exponent)}", key=len)
