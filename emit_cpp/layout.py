"""Line breaks of calls: on one line, else the arguments on as few lines as they need (as the .clang-format says); elements of braces one per line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alchemist.program.text import WIDTH


@dataclass(frozen=True, slots=True)
class Call:
    """`head(parts)tail`; a part may be a call itself."""

    head: str
    parts: Sequence[str | Call]
    tail: str = ""
    opening: str = "("
    closing: str = ")"

    def flat(self) -> str:
        inside = ", ".join(part if isinstance(part, str) else part.flat() for part in self.parts)
        return f"{self.head}{self.opening}{inside}{self.closing}{self.tail}"


def lines(call: Call, pad: str, note: str = "") -> list[str]:
    """Source lines of a statement; `note` is a comment behind its end, which may stand out of the line."""
    behind = f"  // {note}" if note else ""
    single_line = pad + call.flat()
    if len(single_line) + len(behind) <= WIDTH or (not call.parts):
        return [single_line + behind]
    inner = pad + "    "
    flat = inner + ", ".join(part if isinstance(part, str) else part.flat() for part in call.parts) + call.closing + call.tail
    start = f"{pad}{call.head}{call.opening}"
    calls = any(isinstance(part, Call) and part.opening == "(" for part in call.parts)
    if len(flat) + len(behind) <= WIDTH and not calls:
        return [start, flat + behind]
    if call.opening == "(" and not calls:
        end = call.closing + call.tail + behind
        parts = [part if isinstance(part, str) else part.flat() for part in call.parts]
        if rows := _filled([*parts[:-1], parts[-1] + end], WIDTH - len(inner)):
            return [start, *(inner + row for row in rows)]
    out = [start]
    for index, part in enumerate(call.parts):
        comma = "," if index + 1 < len(call.parts) else call.closing + call.tail
        block = lines(part, inner) if isinstance(part, Call) else [inner + part]
        block[-1] += comma
        out += block
    out[-1] += behind
    return out


def _filled(parts: Sequence[str], room: int) -> list[str]:
    """The parts in rows of at most `room` columns, none where a part is longer."""
    rows = [""]
    for index, part in enumerate(parts):
        text = part + "," * (index + 1 < len(parts))
        if len(text) > room:
            return []
        if rows[-1] and len(rows[-1]) + 1 + len(text) > room:
            rows.append(text)
        else:
            rows[-1] = f"{rows[-1]} {text}".lstrip()
    return rows
