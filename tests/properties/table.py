"""`python -m tests.properties.table --write`: the table of integer ops in docs/numerics.md, from the compiler's own list."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from alchemist.passes.lower.whole_numbers import SUPPORT

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numerics.md"
PLACE = re.compile(r"(<!-- integer ops -->\n).*?(<!-- /integer ops -->)", re.DOTALL)


def table() -> str:
    """A row for each way in which integer ops run."""
    rows = [f"| {', '.join(f'`{op}`' for op in row.ops.split())} | {row.kind} | {row.how or 'one op on integers'} |" for row in SUPPORT]
    return "\n".join(["| TTIR op on integers of up to 32 bits | runs | how |", "|---|---|---|", *rows])


def page_with_table(page: str) -> str:
    """The page with today's table in its place."""
    if not PLACE.search(page):
        raise ValueError("docs/numerics.md has no place for the table of integer ops")
    return PLACE.sub(lambda place: f"{place[1]}\n{table()}\n\n{place[2]}", page)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    PAGE.write_text(page_with_table(PAGE.read_text()))
