"""Writes the table of whole models into docs/lab/accuracy.md: `python -m tools.experts.table JSON...` from files that `tools.experts.run --json` made."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path

from tools.experts.run import ROOT, Outcome

HEADING = "## Experts' models as a whole\n"
TEXT = """\
Hand-written models of tt-metal's tree, run unchanged (`python -m tools.experts.run TREE --wheel --only MODEL --json FILE`, then
`python -m tools.experts.table FILE ...`, which writes this table), against the real package over a mock
device: results with equal specs, calls with equal device programs (operations in their order, and the cores of each), results in L1 at equal addresses; and the sum
of kernel times beside the figure that the tree's own device-performance test expects. {taken} The time of unet_3d rests on conv3d's
model, which no published figure confirms. Left out: openpdn_mnist on p150, whose grids are Python sets of two ranges, in another order in each
interpreter.
"""


def write(page: Path, outcomes: Sequence[Outcome]) -> None:
    """Replaces the section with the models that ran."""
    rows = [outcome for outcome in outcomes if outcome.kernel_ms is not None and not outcome.error]
    lines = [
        "| model | card | calls | specs equal | programs equal | L1 addresses equal | predicted, ms | published, ms | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        assert row.kernel_ms is not None
        compared = [f"{equal} of {all_}" if all_ else "none" for equal, all_ in _counts(row)]
        published = [f"{row.published_ms:.2f}", f"{row.kernel_ms / row.published_ms:.2f}"] if row.published_ms else ["", ""]
        lines.append(f"| {' | '.join([row.name, row.card, str(row.calls), *compared, f'{row.kernel_ms:.2f}', *published])} |")
    section = HEADING + "\n" + TEXT.format(taken=_taken(rows)) + "\n" + "\n".join(lines) + "\n\n" + _summary(rows) + "\n"
    text = page.read_text(encoding="utf-8")
    before, found, after = text.partition(HEADING)
    behind = re.search(r"^(## |<!--)", after, re.MULTILINE)  # a mark belongs to the section that it begins
    rest = after[behind.start() :] if found and behind else ""
    page.write_text(f"{before.rstrip()}\n\n{section}" + (f"\n{rest}" if rest else ""), encoding="utf-8")


def _counts(row: Outcome) -> list[tuple[int, int]]:
    return [(row.equal, row.compared), (row.programs_equal, row.programs), (row.l1_equal, row.l1)]


def _taken(rows: Sequence[Outcome]) -> str:
    refused = sum(row.refused for row in rows)
    return "No call was refused." if not refused else f"{refused} calls were refused here."


def _summary(rows: Sequence[Outcome]) -> str:
    totals = [tuple(map(sum, zip(*column, strict=True))) for column in zip(*map(_counts, rows), strict=True)]
    shares = [f"{equal} of {all_} ({100 * equal / all_:.2f} %)" for equal, all_ in totals if all_]
    ratios = [row.kernel_ms / row.published_ms for row in rows if row.kernel_ms and row.published_ms]
    near = sum(1 / 1.15 <= ratio <= 1.15 for ratio in ratios)
    far = max((max(ratio, 1 / ratio) for ratio in ratios), default=1.0)
    return (
        f"Together: specs {shares[0]}, programs {shares[1]}, L1 addresses {shares[2]}. Of {len(ratios)} models and cards with a published figure "
        f"{near} are within a factor of 1.15; the farthest is off by {far:.2f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.experts.table", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", metavar="JSON")
    outcomes = [Outcome(**row) for path in parser.parse_args().files for row in json.loads(path.read_text(encoding="utf-8"))]
    write(ROOT / "docs" / "lab" / "accuracy.md", outcomes)


if __name__ == "__main__":
    main()
