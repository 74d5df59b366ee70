"""Writes the tables of docs/lab/optimizer.md: simulated time of models at optimization levels 0, 1 and 2, and level 2 by time beside tt-mlir's rule.

usage: python -m tools.levels.table [--zoo | --bounds] [--card n150 ...] [--model NAME ...] [--seconds S] [--again] [--write]
Models have random weights. A time is that of the finished forward function, replayed on an idle device with every address, as `./run --estimate`
gives it. Rows are kept in build/optimizer_rows.jsonl as they are made, so that a run may be stopped and taken up again; --again measures anew.
--bounds: instead, the least time that arithmetic and DRAM leave the convolutional networks (bounds.py). A row of the page stays where the store has none.
--zoo: the models of models/, tools/bench/models.py and tools/bench/patterns.py that take more than half a millisecond at level 0.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from alchemist.errors import AlchemistError
from alchemist.frontends.base import FrontendResult
from alchemist.ir.edit import functions, is_const_eval
from alchemist.optimizer.graph import forward_of
from alchemist.optimizer.level2 import Plan, replay
from alchemist.optimizer.machine import machine
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture, detect_framework
from tools.levels.bounds import CONVOLUTIONS, bound_of
from tools.levels.models import LEVELS, ZOO, built, names_of

ROOT = Path(__file__).resolve().parents[2]
PAGE, ROWS = ROOT / "docs" / "lab" / "optimizer.md", ROOT / "build" / "optimizer_rows.jsonl"
SMALLEST_MS = 0.5
SETTINGS: dict[str, dict[str, Mapping[str, Any]]] = {
    LEVELS: {
        "0": {"optimization_level": 0},
        "1": {"optimization_level": 1},
        "2": {"optimization_level": 2},
        "bfp8_lofi": {"optimization_level": 2, "precision": "bfp8_lofi"},
    },
    ZOO: {
        "0": {"optimization_level": 0},
        "1": {"optimization_level": 1},
        "2": {"optimization_level": 2},
        "rule": {"optimization_level": 2, "layout_policy": "lexicographic"},
    },
}
Row = dict[str, Any]
"""table, model, card, code (commit), batch, ms by setting, seconds of compilation by setting; `failed` instead, or `small`."""


def captured_of(table: str, name: str) -> tuple[FrontendResult, int, Mapping[str, Any]]:
    """The captured model, its batch and compiler options for all settings."""
    whole = built(table, name)
    framework = detect_framework(whole.model, whole.args, whole.kwargs)
    return capture(whole.model, whole.args, dict(whole.kwargs), framework), whole.batch, whole.options


def measured(table: str, name: str, cards: Sequence[str]) -> Iterable[Row]:
    """A row per card."""
    try:
        captured, batch, options = captured_of(table, name)
    except AlchemistError as error:
        for card in cards:
            yield {"table": table, "model": name, "card": card, "failed": str(error).splitlines()[0]}
        return
    for card in cards:
        row: Row = {"table": table, "model": name, "card": card, "batch": batch, "ms": {}, "seconds": {}}
        for setting, chosen in SETTINGS[table].items():
            begin = time.process_time()
            try:
                lowered = lower_to_ttnn(captured.module, CompilerOptions.parse({"arch": card, **options, **chosen}))
            except AlchemistError as error:
                row["failed"] = f"{setting}: {str(error).splitlines()[0]}"
                break
            row["seconds"][setting] = time.process_time() - begin
            (forward,) = [func for func in functions(lowered.module) if not is_const_eval(func)]
            done = replay(forward_of(forward), Plan(0.0), machine(card), lowered.l1_small_bytes)
            if done.ns is None:
                row["failed"] = f"{setting}: {done.error.splitlines()[0]}"
                break
            row["ms"][setting] = done.ns / 1e6
            if table == ZOO and row["ms"]["0"] <= SMALLEST_MS:
                row["small"] = True
                break
        yield row


def levels_table(rows: Sequence[Row]) -> list[str]:
    """A line per model and card."""
    lines = [
        "| model | card | level 0, ms | level 1 | level 2 | gain | samples/s at 0, 1, 2 | with bfp8_lofi | seconds over level 0 | code |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "failed" in row:
            lines.append(f"| {row['model']} | {row['card']} | {row['failed'].replace('|', '/')} | | | | | | | {row['code']} |")
            continue
        ms, seconds, batch = row["ms"], row["seconds"], row["batch"]
        rates = ", ".join(rate(batch / ms[each] * 1000) for each in "012")
        blocks = f"{ms['bfp8_lofi']:.2f} ms, {rate(batch / ms['bfp8_lofi'] * 1000)} /s"
        over = f"{seconds['1'] - seconds['0']:.1f}, {seconds['2'] - seconds['0']:.1f}"
        lines.append(f"| {row['model']} | {row['card']} | {times_of(ms)} | {gains_of(ms)} | {rates} | {blocks} | {over} | {row['code']} |")
    return lines


def times_of(ms: Mapping[str, float]) -> str:
    return f"{ms['0']:.2f} | {ms['1']:.2f} | {ms['2']:.2f}"


def gains_of(ms: Mapping[str, float]) -> str:
    return f"{ms['0'] / ms['1']:.2f}x, {ms['0'] / ms['2']:.2f}x"


def bounds_table(names: Sequence[str], cards: Sequence[str], rows: Mapping[tuple[str, str], Row]) -> list[str]:
    """A line per model with convolutions and card: what arithmetic and DRAM leave, and how far levels 0 and 2 are above it."""
    lines = [
        "| model | card | products, ms | weights, input and result from and to DRAM, ms | at least, ms | windows, ms "
        "| with the library's convolutions at least, ms | level 0 over it | level 2 over it | code |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        captured, _, options = captured_of(LEVELS, name)
        for card in cards:
            lowered = lower_to_ttnn(captured.module, CompilerOptions.parse({"arch": card, **options}))
            (forward,) = [func for func in functions(lowered.module) if not is_const_eval(func)]
            if not any(op.name in CONVOLUTIONS for op in forward.body.block.ops):
                continue
            found = bound_of(forward, machine(card))
            row = rows.get((name, card), {})
            ms = row.get("ms", {})
            level_0, level_2 = (f"{ms[level] / found.least_of_library_ms:.2f}x" if level in ms else "-" for level in "02")
            times = f"{found.products_ms:.2f} | {found.dram_ms:.2f} | {found.least_ms:.2f} | {found.windows_ms:.2f} | {found.least_of_library_ms:.2f}"
            lines.append(f"| {name} | {card} | {times} | {level_0} | {level_2} | {row.get('code', '-')} |")
    return lines


def rate(per_second: float) -> str:
    return f"{per_second:.0f}" if per_second >= 100 else f"{per_second:.1f}"


def zoo_table(rows: Sequence[Row]) -> list[str]:
    """A line per model and card that is large enough, and what they give together."""
    large = [row for row in rows if "small" not in row and "failed" not in row]
    lines = []
    for card in dict.fromkeys(row["card"] for row in large):
        mine = [row for row in large if row["card"] == card]
        slower = [row["model"] for row in mine if row["ms"]["2"] > row["ms"]["0"] or row["ms"]["1"] > row["ms"]["0"]]
        failed = [f"{row['model']} ({row['failed']})" for row in rows if row["card"] == card and "failed" in row]
        codes = Counter(row["code"] for row in mine)
        lines += [
            f"{card}, {len(mine)} models of more than {SMALLEST_MS} ms at level 0; {sum('small' in row for row in rows if row['card'] == card)} smaller ones were left out."
            f" Geometric means over level 0: {_means(mine, '0')}."
            f" Choosing by time against tt-mlir's rule {_mean(mine, 'rule', '2'):.2f}x (the rule against level 0: {_mean(mine, '0', 'rule'):.2f}x)."
            f" Slower than level 0: {', '.join(slower) or 'none'}. Not measured: {'; '.join(failed) or 'none'}."
            f" Code: {', '.join(f'{code} ({count} rows)' for code, count in codes.items())}.",
            "",
            "| model | level 0, ms | level 1 | level 2 | by the rule | gain at 1, 2 | time against rule |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in mine:
            ms = row["ms"]
            lines.append(f"| {row['model']} | {times_of(ms)} | {ms['rule']:.2f} | {gains_of(ms)} | {ms['rule'] / ms['2']:.2f}x |")
        lines.append("")
    return lines[:-1]


def _means(rows: Sequence[Row], base: str) -> str:
    """Of all rows at both levels, and at level 2 of those with longer times."""
    over = "".join(f", of the {len(some)} of more than {least} ms {_mean(some, base, '2'):.2f}x" for least in (1, 2, 5) if (some := _over(rows, least, base)))
    return f"level 1 {_mean(rows, base, '1'):.2f}x, level 2 **{_mean(rows, base, '2'):.2f}x**{over}"


def _over(rows: Sequence[Row], least_ms: float, setting: str) -> list[Row]:
    return [row for row in rows if row["ms"][setting] > least_ms]


def _mean(rows: Sequence[Row], slow: str, fast: str) -> float:
    return math.exp(statistics.mean(math.log(row["ms"][slow] / row["ms"][fast]) for row in rows))


def write(table: str, lines: Sequence[str], keys: int = 0) -> None:
    """Puts a table into its place on the page. keys: leading cells that tell rows apart; rows of the page that `lines` has no newer one of stay."""
    text = PAGE.read_text(encoding="utf-8")
    head, begin, rest = text.partition(f"<!-- {table} -->")
    old, end, tail = rest.partition(f"<!-- end of {table} -->")
    assert begin and end, f"docs/lab/optimizer.md has no place for {table}"
    if keys:
        lines = with_rows_of(old.strip().splitlines(), lines, keys)
    PAGE.write_text(head + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + tail, encoding="utf-8")


def with_rows_of(old: Sequence[str], lines: Sequence[str], keys: int) -> list[str]:
    """The old table with `lines` in the place of rows of the same leading cells, new ones behind; `lines` alone where it has other columns."""

    def key(line: str) -> tuple[str, ...]:
        return tuple(cell.strip() for cell in line.split("|")[1 : 1 + keys])

    if list(old[:2]) != list(lines[:2]):
        return list(lines)
    rows = {key(line): line for line in old[2:]} | {key(line): line for line in lines[2:]}
    return [*lines[:2], *rows.values()]


def read_rows(table: str) -> dict[tuple[str, str], Row]:
    """The newest row of each model and card."""
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    return {(row["model"], row["card"]): row for row in rows if row["table"] == table}


def keep(row: Row) -> None:
    with ROWS.open("a") as file:
        file.write(json.dumps(row) + "\n")


def measure_levels(table: str, names: Sequence[str], code: str, options: argparse.Namespace) -> None:
    rows = read_rows(table)
    begin = time.monotonic()
    for name in names:
        cards = [card for card in options.card if options.again or (name, card) not in rows]
        for row in measured(table, name, cards) if cards and time.monotonic() - begin < options.seconds else ():
            keep(row | {"code": code})
            told = row.get("failed") or {setting: round(ms, 3) for setting, ms in row["ms"].items()}
            print(f"{name}, {row['card']}: {told}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--zoo", action="store_true")
    parser.add_argument("--bounds", action="store_true", help="what arithmetic and DRAM leave of convolutional networks")
    parser.add_argument("--card", nargs="+", default=["n150", "p150"])
    parser.add_argument("--model", nargs="+", help="parts of names; default all")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no model after this time")
    parser.add_argument("--again", action="store_true", help="also rows that are there already")
    parser.add_argument("--write", action="store_true", help="into docs/lab/optimizer.md; alone with rows that are there: --seconds 0 --write")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = ZOO if options.zoo else LEVELS
    every = names_of(table)
    names = [name for name in every if not options.model or any(part in name for part in options.model)]
    code = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    ROWS.parent.mkdir(exist_ok=True)
    if not options.bounds:
        measure_levels(table, names, code, options)
    rows = read_rows(table)
    if options.bounds:
        lines = bounds_table(names, options.card, rows)
        print("\n".join(lines))
        if options.write:
            write("bounds", lines, keys=2)
        return 0
    known = [rows[name, card] for name in every for card in options.card if (name, card) in rows]
    lines = (zoo_table if options.zoo else levels_table)(known)
    print("\n".join(lines))
    if options.write:
        write(table, lines, keys=0 if options.zoo else 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
