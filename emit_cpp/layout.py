"""Line breaks of calls: on one line, else all arguments on the next, else one per line (as the .clang-format says)."""

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
    out = [start]
    for index, part in enumerate(call.parts):
        comma = "," if index + 1 < len(call.parts) else call.closing + call.tail
        block = lines(part, inner) if isinstance(part, Call) else [inner + part]
        block[-1] += comma
        out += block
    out[-1] += behind
    return out
