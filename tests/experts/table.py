"""Writes the table of whole models into docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.experts.run import Outcome

HEADING = "## Experts' models as a whole\n"
TEXT = """\
Kernel time of hand-written models of tt-metal's tree, run unchanged (`python -m tests.experts.run TREE --wheel --write`, which writes this table), beside the figure
that the tree's own device-performance test expects. Every call of them is taken by the real package, and none was refused here.
"""


def write(page: Path, outcomes: Sequence[Outcome]) -> None:
    """Replaces the section with the models that ran and have a published figure."""
    rows = [outcome for outcome in outcomes if outcome.kernel_ms is not None and outcome.published_ms and not outcome.error and not outcome.refused]
    lines = ["| model | card | calls | specs equal | predicted, ms | published, ms | ratio |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        assert row.kernel_ms is not None and row.published_ms is not None
        equal = f"{100 * row.equal / row.compared:.2f} %" if row.compared else ""
        lines.append(
            f"| {row.name} | {row.card} | {row.calls} | {equal} | {row.kernel_ms:.2f} | {row.published_ms:.2f} | {row.kernel_ms / row.published_ms:.2f} |"
        )
    section = HEADING + "\n" + TEXT + "\n" + "\n".join(lines) + "\n"
    text = page.read_text(encoding="utf-8")
    before, found, after = text.partition(HEADING)
    rest = after[after.index("\n## ") + 1 :] if found and "\n## " in after else ""
    page.write_text(f"{before.rstrip()}\n\n{section}" + (f"\n{rest}" if rest else ""), encoding="utf-8")
