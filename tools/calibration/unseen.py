"""Prices of measured rows, and how far they are off on sources that were left out while equations and constants were chosen."""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ttnn_shim.error_bands import CHIPS, relative_error
from ttnn_shim.estimate import configure, recognise
from ttnn_shim.published import ask, requests_of
from ttnn_shim.simlib import SimulatorError, simulator

from tools.calibration.rows import HARDWARE, is_left_out, read_rows, source_of
from tools.calibration.scores import quantile

START, END = "<!-- sources left out: start -->", "<!-- sources left out: end -->"
NEVER_FITTED = "ops3"
"""The table of which no fit has used a left-out row; the fits behind today's constants used those of the others."""
LEAST_ROWS = 5
"""Families with fewer have no line of their own."""
LARGEST = 10
"""Families whose share within the band has a line of its own."""
SHARE, WANTED = 0.8, (0.75, 0.85)
"""Of the rows of a source that nobody has seen: so many lie within an exact band; so many may for the band to be called right."""
SPREAD_ROWS = 3
"""Rows of a source from which the scale of its errors is taken."""
DRAWS = 20_000


@dataclass(frozen=True)
class Priced:
    """One measured row. ns: as its own release; today_ns: as the release that the simulator is; None without a model."""

    table: str
    source: str
    op: str
    chip: str
    left_out: bool
    truth_ns: float
    ns: float | None
    today_ns: float | None

    @property
    def log_error(self) -> float:
        return abs(math.log((self.ns or math.nan) / self.truth_ns))


def price(arch: int, config: dict[str, Any]) -> float | None:
    """ns, None without a model."""
    try:
        priced = simulator().price(arch, simulator().config(config))
    except SimulatorError:
        return None
    return priced.ns if priced.modelled else None


def programs(data: Path, table: str) -> list[Priced]:
    """The rows of a table of device programs."""
    out = []
    for index, row in enumerate(read_rows(data, table), 1):
        done = configure(row, index, recognise(list(row)))
        arch = simulator().arch(done.card, done.grid, done.dram_banks)
        today = {key: value for key, value in done.config["attrs"].items() if key != "selector"}
        times = price(arch, done.config), price(arch, done.config | {"attrs": today})
        out.append(Priced(table, source_of(row, table), done.config["op"], row["arch"], is_left_out(row, table), float(row["kernel_ns"]), *times))
    return out


def calls(data: Path) -> list[Priced]:
    """The published calls; one of several programs counts for the operation that takes most of its time."""
    rows, out = read_rows(data, "singles"), []
    answers = ask(requests_of("singles", rows))
    for row in rows:
        answer = answers[row["id"]]
        times = [float(text.split()[-2]) for text in answer.get("programs", ())]
        op = answer["ops"][times.index(max(times))][0] if times else row["family"]
        ns = answer.get("ns")
        out.append(Priced("singles", source_of(row, "singles"), op, row["arch"], is_left_out(row, "singles"), 1000 * float(row["time_us"]), ns, ns))
    return out


def all_rows(data: Path) -> list[Priced]:
    """Every row of the tables of which sources were left out."""
    return [*programs(data, NEVER_FITTED), *programs(data, "ops"), *calls(data)]


def within(rows: Sequence[Priced]) -> str:
    """The percentage of the priced rows that lie within their operation's error band."""
    priced = [row for row in rows if row.ns]
    inside = sum(row.log_error <= math.log1p(relative_error(row.op, row.chip)) for row in priced)
    return f"{100 * inside / len(priced):.0f}" if priced else "-"


def spread_of(rows: Sequence[Priced]) -> float:
    """Standard deviation, in natural logs, between the scales (root mean square) of the errors that sources of one operation and chip have."""
    errors: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row.ns:
            errors.setdefault((row.op, row.chip), {}).setdefault(f"{row.table} {row.source}", []).append(row.log_error)
    squares, degrees = 0.0, 0
    for sources in errors.values():
        kept = [some for some in sources.values() if len(some) >= SPREAD_ROWS]
        if len(kept) > 1:
            scales = np.array([math.log(np.mean(np.square(some))) / 2 for some in kept])
            noise = sum(1 / (2 * len(some)) for some in kept) * (1 - 1 / len(kept))  # of the scale of so many normal errors
            squares += float(np.sum(np.square(scales - scales.mean()))) - noise
            degrees += len(kept) - 1
    return math.sqrt(max(0.0, squares / degrees)) if degrees else 0.0


def chance(sizes: Sequence[int], spread: float) -> float:
    """How often an exact band holds the wanted share of the rows of sources of these sizes, whose scales differ by `spread`."""
    draw = np.random.default_rng(0)

    def errors(size: int) -> Any:
        scales = np.exp(spread * draw.standard_normal((DRAWS, 1)))
        return scales * np.abs(draw.standard_normal((DRAWS, size)))

    band = np.quantile(errors(1), SHARE)
    shares = sum((errors(size) <= band).sum(axis=1) for size in sizes) / max(1, sum(sizes))
    return float(np.mean((shares > WANTED[0] - 1e-9) & (shares < WANTED[1] + 1e-9)))


def share_lines(shares: Mapping[str, Sequence[Priced]], spread: float) -> list[str]:
    """A line per group of priced rows: rows, sources, share within the band, and how often an exact band would hold the wanted share."""
    lines, often = [], []
    for name, some in shares.items():
        sizes = list(Counter(f"{row.table} {row.source}" for row in some).values())
        chances = chance([1] * len(some), 0), chance(sizes, spread)
        often.append(chances)
        lines.append(f"| {name} | {len(some)} | {len(sizes)} | {within(some)} | {' | '.join(f'{100 * each:.0f}' for each in chances)} |")
    families = often[len(CHIPS) :]
    alone, together = (sum(each) for each in zip(*families, strict=True))
    return [
        *lines,
        "",
        f"*Chance*: how often an exact band holds {100 * WANTED[0]:.0f} to {100 * WANTED[1]:.0f} % of so many rows. The last column",
        "takes into account that the errors of a source are larger or smaller together. In the sources",
        f"in view their scales differ by a factor of {math.exp(spread):.1f} (one standard deviation). Of these {len(families)} families",
        f"{alone:.1f} are expected in the range if rows are independent, {together:.1f} if not.",
    ]


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median, from order statistics: two of the values."""
    count, rank, below = len(values), 0, 0.5 ** len(values)
    while below <= 0.025:  # the chance that at most `rank` values lie below the median
        rank += 1
        below += math.comb(count, rank) * 0.5**count
    inside = sorted(values)[max(0, rank - 1) : count - max(0, rank - 1)]
    return inside[0], inside[-1]


def cells(rows: Sequence[Priced]) -> str:
    """n, median, 90th percentile, median at today's release, share within the band; rows without a model are counted apart."""
    priced = [row for row in rows if row.ns]
    apes = [100 * abs((row.ns or 0) / row.truth_ns - 1) for row in priced]
    today = [100 * abs(row.today_ns / row.truth_ns - 1) for row in priced if row.today_ns]
    return f"{len(priced)} | {quantile(apes, 0.5):.1f} | {quantile(apes, 0.9):.1f} | {quantile(today, 0.5):.1f} | {within(rows)} | {len(rows) - len(priced)}"


def section(every: Sequence[Priced]) -> str:
    """The part of the accuracy page, with its headline."""
    rows = [row for row in every if row.left_out]
    groups = {"ops3 (never fitted)": [row for row in rows if row.table == NEVER_FITTED]}
    groups |= {f"ops3, {chip}": [row for row in rows if row.table == NEVER_FITTED and row.chip == chip] for chip in CHIPS}
    groups |= {table: [row for row in rows if row.table == table] for table in ("ops", "singles")}
    families = {f"{op}, {chip}": [row for row in rows if (row.op, row.chip) == (op, chip)] for chip in CHIPS for op in sorted({row.op for row in rows})}
    groups |= {name: some for name, some in families.items() if len(some) >= LEAST_ROWS}
    shares = {f"all, {chip}": [row for row in rows if row.ns and row.chip == chip] for chip in CHIPS}
    priced = {name: [row for row in some if row.ns] for name, some in families.items()}
    shares |= {name: priced[name] for name in sorted(priced, key=lambda name: -len(priced[name]))[:LARGEST]}
    few = [100 * abs((row.ns or 0) / row.truth_ns - 1) for row in groups[f"{NEVER_FITTED}, blackhole"] if row.ns] or [math.nan]
    return "\n".join(
        [
            START,
            "## Sources left out",
            "",
            "By `python -m tools.calibration.unseen --docs docs/lab/accuracy.md`: rows of the sources in",
            "`tools/calibration/left_out_sources.csv`, a list fixed before anybody looked at them. No",
            "equation or constant comes from the rows of `ops3`. Those of `ops` and `singles` were in the",
            "fits behind today's constants. *Today*: priced as ttnn 0.81.1, not as the row's own release.",
            "",
            "| rows | n | median % | p90 % | today, median % | within band % | without a model |",
            "|---|---|---|---|---|---|---|",
            *(f"| {name} | {cells(some)} |" for name, some in groups.items()),
            "",
            "The median of the {} Blackhole rows of {} is known to {:.0f} to {:.0f} % (95 % interval).".format(len(few), NEVER_FITTED, *median_interval(few)),
            "",
            f"Error bands come from the other sources and are made to hold {100 * SHARE:.0f} % of such rows.",
            f"By chip and for the {LARGEST} largest families:",
            "",
            "| rows | n | sources | within band % | chance, rows independent % | chance % |",
            "|---|---|---|---|---|---|",
            *share_lines(shares, spread_of([row for row in every if not row.left_out])),
            END,
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration.unseen", description="error on the sources that were left out")
    parser.add_argument("--data", type=Path, default=HARDWARE, help="folder of the *.train.csv[.gz] tables")
    parser.add_argument("--docs", type=Path, help="put the section into this page instead of printing it")
    args = parser.parse_args(argv)
    text = section(all_rows(args.data))
    if args.docs:
        page = args.docs.read_text(encoding="utf-8")
        before = page.partition(START)[0] if START in page else page.partition("## Tables, out of fold")[0]
        behind = page.partition(END)[2] if START in page else "\n\n" + page[len(before) :]
        args.docs.write_text(before + text + behind, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
