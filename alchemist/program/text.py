"""Strings from models made safe for source text of any language."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

WIDTH = 110
"""Columns of emitted source."""
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of control, invisible and direction-changing characters."""
_PIECE = re.compile(r"\d[\d.]* (?:us|KB|MB)\b\S*|(?:[\w.{}]+ )?(?:\d+ x )?\[[^\]]*\][^\s,]*(?: (?!->|and )[^\s,]+)*,?|\S+")
"""A tensor with its name, shape, dtype and place ("keys 4 x [1, 4, 32, 32] in DRAM,"), or a word."""


def clean(text: str) -> str:
    """One line without control, invisible or direction-changing characters."""
    shown = "".join(" " if unicodedata.category(char) in HIDDEN else char for char in text)
    return " ".join(shown.split())


def lines_of_text(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` characters, but for longer words: what it says of one tensor stays on one line."""
    lines = [""]
    for piece in _PIECE.findall(text):
        for part in [piece] if len(piece) <= width else piece.split(" "):
            if lines[-1] and len(lines[-1]) + 1 + len(part) > width:
                lines.append("")
            lines[-1] += f" {part}" if lines[-1] else part
    return lines


_DEEPEST_INDENT = 12
"""Columns left of a remark in a loop of a function, with the comment sign."""


def note_lines(note: str) -> list[str]:
    """A remark above a statement, in lines for a comment each."""
    return lines_of_text(note, WIDTH - _DEEPEST_INDENT)


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
