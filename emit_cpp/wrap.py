"""Lines that are still too long: broken between arguments, inside string literals and comments, so that none exceeds LIMIT."""

from __future__ import annotations

import re

LIMIT = 120
"""Columns that no line of emitted C++ exceeds."""

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//.*|[A-Za-z0-9_:.]+|\s+|.')
"""String literals, comments and words stay whole; everything else is one character."""
_ESCAPE = re.compile(r"\\[0-7]{3}|\\.|[^\\]")


def wrapped(text: str) -> str:
    return "\n".join(part for line in text.split("\n") for part in (_wrap(line) if len(line) > LIMIT else [line]))


def _wrap(line: str) -> list[str]:
    stripped = line.lstrip()
    pad = line[: len(line) - len(stripped)]
    if stripped.startswith("//"):
        return _comment(stripped, pad)
    if stripped.startswith("#"):
        return [line]
    pieces = _PIECE.findall(stripped)
    before: list[str] = []
    if pieces[-1].startswith("//"):  # a comment behind the statement goes above it
        before = _comment(pieces.pop(), pad)
        while pieces and pieces[-1].isspace():
            pieces.pop()
        if len(pad) + len("".join(pieces)) <= LIMIT:
            return [*before, pad + "".join(pieces)]
    return [*before, *_statement(pieces, pad)]


def _comment(text: str, pad: str) -> list[str]:
    out: list[str] = []
    words = text.removeprefix("//").split()
    row = "//"
    for word in words:
        for part in (word[start : start + 80] for start in range(0, len(word), 80)):
            if len(pad) + len(row) + 1 + len(part) > LIMIT and row != "//":
                out.append(pad + row.rstrip("\\ "))
                row = "//"
            row += " " + part
    return [*out, pad + row.rstrip("\\ ")]


def _statement(pieces: list[str], pad: str) -> list[str]:
    """Filled lines; a break stands behind a comma or an opening bracket, else before a word, else inside a string literal."""
    inner = pad + "    "
    room = LIMIT - len(inner)
    atoms: list[str] = []
    for piece in pieces:
        atoms += _literals(piece, room - 8) if piece.startswith('"') and len(piece) > room - 8 else [piece]
    out: list[str] = []
    row: list[str] = []
    width = len(pad)
    for atom in atoms:
        while width + len(atom) > LIMIT and any(not part.isspace() for part in row):
            rest = _cut(row)
            out.append((inner if out else pad) + "".join(row[:rest]).strip())
            row = row[rest:]
            while row and row[0].isspace():
                row.pop(0)
            width = len(inner) + sum(len(part) for part in row)
        if row or not atom.isspace():
            row.append(atom)
            width += len(atom)
    return [*out, (inner if out else pad) + "".join(row).strip()]


def _cut(row: list[str]) -> int:
    """How many atoms stay on the line: up to the last comma or opening bracket in its second half, else all of them."""
    for index in range(len(row) - 1, len(row) // 3, -1):
        if row[index] == "," or (row[index] in "({" and index + 1 < len(row)):
            return index + 1
    for index in range(len(row) - 1, 0, -1):
        if row[index].isspace():
            return index
    return len(row)


def _literals(text: str, room: int) -> list[str]:
    """The same string as adjacent literals."""
    out, part = [], ""
    for sign in _ESCAPE.findall(text[1:-1]):
        if len(part) + len(sign) > room:
            out += [f'"{part}"', " "]
            part = ""
        part += sign
    return [*out, f'"{part}"']
