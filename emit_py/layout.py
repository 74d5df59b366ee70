"""Line breaks of calls as black makes them, so that most statements need no formatter run."""

from __future__ import annotations

from collections.abc import Sequence

from alchemist.program.text import WIDTH


def call_lines(head: str, parts: Sequence[str], pad: str, note: str = "", *, apart: bool = False) -> list[str]:
    """`head(parts)  # note` on one line, else the arguments on a line of their own, else one per line; apart: or at once, as in a tuple."""
    behind = f"  # {note}" if note else ""
    flat = ", ".join(parts)
    if len(pad) + len(head) + len(flat) + 2 + len(behind) <= WIDTH or not parts:
        return [f"{pad}{head}({flat}){behind}"]
    inner = f"{pad}    {flat}"
    body = [inner] if len(inner) <= WIDTH and not apart else [f"{pad}    {part}," for part in parts]
    return [f"{pad}{head}(", *body, f"{pad}){behind}"]
