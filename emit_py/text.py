"""Python's literals and docstrings."""

from __future__ import annotations

import unicodedata

from alchemist.program.text import HIDDEN, clean


def docstring(text: str) -> str:
    """Text between triple double quotes: one line, backslashes doubled, never a closing quote."""
    line = clean(text).replace("\\", "\\\\").replace('"""', "'''")
    return f"{line} " if line.endswith('"') else line


def quoted(text: str) -> str:
    """A string literal in double quotes."""
    return f'"{_escaped(text)}"'


def quoted_format(pieces: list[tuple[str, bool]]) -> str:
    """A literal of (text, is expression) pieces; an f-string if there is an expression."""
    if not any(expression for _, expression in pieces):
        return quoted("".join(text for text, _ in pieces))
    body = "".join(f"{{{text}}}" if expression else _escaped(text).replace("{", "{{").replace("}", "}}") for text, expression in pieces)
    return f'f"{body}"'


def _escaped(text: str) -> str:
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif unicodedata.category(char) in HIDDEN:
            code = ord(char)
            out.append(f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}")
        else:
            out.append(char)
    return "".join(out)
