"""C++ string literals."""

from __future__ import annotations

import unicodedata

from alchemist.program.text import HIDDEN


def quoted(text: str) -> str:
    """A string literal: control bytes as three octal digits, invisible characters as universal names."""
    out = []
    for char in text:
        code = ord(char)
        if char in '"\\':
            out.append("\\" + char)
        elif code < 32 or 127 <= code < 160:
            out += [f"\\{byte:03o}" for byte in char.encode()]
        elif unicodedata.category(char) in HIDDEN:
            out += [f"\\{byte:03o}" for byte in char.encode("utf-8", "replace")]
        else:
            out.append(char)
    return f'"{"".join(out)}"'
