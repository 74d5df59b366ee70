"""Which of two configurations of the same work the clock prefers, against published times: a list, and the share of right ones.

python -m tools.calibration.published_signs [--ratio 1.2] [--docs docs/lab/optimizer.md]    # some seconds
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ttnn_shim.estimate import estimate_rows
from ttnn_shim.published import ask, requests_of

from tools.calibration.published_open import requests_of_readings, runs_as_stated
from tools.calibration.rows import HARDWARE, Rows, read_rows

START, END = "<!-- signs: start -->", "<!-- signs: end -->"
MOST_SHOWN = 60
"""Characters of what differs between two configurations."""


@dataclass(frozen=True)
class Pair:
    """measured, priced: time of b over time of a; priced: one for every reading of the configurations, none where the clock has no answer, and reason
    says why. readings: what was filled in."""

    op: str
    chip: str
    decision: str
    differs: str
    measured: float
    priced: tuple[float, ...]
    reason: str = ""
    readings: int = 0

    @property
    def is_right(self) -> bool:
        return bool(self.priced) and all(ratio != 1 and (ratio > 1) == (self.measured > 1) for ratio in self.priced)


def derived(data: Path, rows: Rows) -> dict[str, dict[str, Any]]:
    """Prices of pairs that were made from two rows of another table, whose configurations are complete there."""
    tables: dict[str, list[dict[str, str]]] = {}
    asked: dict[str, dict[str, dict[str, str]]] = {}  # table -> id of a side of a pair -> row
    for row in rows:
        table = row["derived_from_train"].partition(".")[0]
        if not table:
            continue
        if table not in tables:
            tables[table] = read_rows(data, table)
        for side, config in (("a", json.loads(row["variant_a"])), ("b", json.loads(row["variant_b"]))):
            named = re.match(r"rows (\w+) (\w+)", row["notes"])
            wanted = {"id": named["ab".index(side) + 1]} if named else {name: str(config[name]) for name in ("M", "K", "N", "num_cores")}
            found = [each for each in tables[table] if all(each[name] == value for name, value in wanted.items())]
            if len(found) == 1:
                asked.setdefault(table, {})[row["id"] + side] = found[0]
    made = {}
    for mine in asked.values():
        for name, price in zip(mine, estimate_rows(list(mine.values())), strict=True):
            if (known := price.wall_ns or price.ns) is not None:
                made[name] = {"ns": known}
    return made


def of_readings(rows: Rows, answers: Mapping[str, Mapping[str, Any]], requests: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """By pair without a price: the ratios of all readings of it that run as the row says."""
    by_id = {request["id"]: request for request in requests}
    unpriced = [row for row in rows if not all("ns" in answers[row["id"] + side] for side in "ab")]
    asked = {row["id"]: list(requests_of_readings(row, by_id)) for row in unpriced}
    found = ask([request for each in asked.values() for _, both in each for request in both])
    ratios: dict[str, list[float]] = {}
    for name, each in asked.items():
        for reading, both in each:
            a, b = (found[request["id"]] for request in both)
            if "ns" in a and "ns" in b and runs_as_stated(reading.a, a["programs"]) and runs_as_stated(reading.b, b["programs"]):
                ratios.setdefault(name, []).append(b["ns"] / a["ns"])
    return ratios


def pairs(rows: Rows, answers: Mapping[str, Mapping[str, Any]], ratio: float, read: Mapping[str, Sequence[float]] | None = None) -> list[Pair]:
    """The pairs whose published times differ by more than `ratio`; read: ratios by the readings of those that leave something open."""
    found = []
    for row in rows:
        measured = float(row["time_b_us"]) / float(row["time_a_us"])
        if max(measured, 1 / measured) <= ratio:
            continue
        a, b = answers[row["id"] + "a"], answers[row["id"] + "b"]
        several = tuple((read or {}).get(row["id"], ()))
        priced = (b["ns"] / a["ns"],) if "ns" in a and "ns" in b else several
        reason = "" if priced else str(a.get("reason") or b.get("reason") or "no price")
        found.append(Pair(row["op"], row["chip"], row["decision"], differing(row), measured, priced, reason, len(several)))
    return found


def differing(row: Mapping[str, str]) -> str:
    """The fields in which the configurations differ, as "name: a / b"."""
    a, b = (json.loads(row[f"variant_{side}"] or "{}") for side in "ab")
    parts = [f"{name}: {_short(a.get(name))} / {_short(b.get(name))}" for name in dict.fromkeys((*a, *b)) if a.get(name) != b.get(name)]
    return "; ".join(parts[:2])


def _short(value: Any) -> str:
    text = str(value.get("type", value)) if isinstance(value, Mapping) else str(value)
    return text.replace("|", "/").replace("\n", " ")[: MOST_SHOWN // 2]


def section(found: Sequence[Pair], ratio: float) -> str:
    """A sentence with the share, and a table of all pairs, wrong ones first."""
    priced = [pair for pair in found if pair.priced]
    right = sum(pair.is_right for pair in priced)
    of_priced, of_all = (f"{100 * right / max(count, 1):.0f} %" for count in (len(priced), len(found)))
    lines = [
        START,
        f"`python -m tools.calibration.published_signs`: of {len(found)} published pairs of configurations whose times differ by more than"
        f" {ratio}x the clock prices",
        f"{len(priced)} and prefers the faster side in **{right} ({of_priced})**; {of_all} of all, where a pair without a price counts as wrong.",
        f"{sum(pair.readings > 0 for pair in priced)} of them leave something open (a padding, a data type, the rest of a layer): they are priced under every"
        " reading, and right where all agree.",
        "Those without a price and wrong ones stand first. Many of the pairs are rows of the calibration or were made from them.",
        "",
        "| op | chip | decision | configurations a / b | b over a, published | by the clock | |",
        "|---|---|---|---|---|---|---|",
    ]
    for pair in sorted(found, key=lambda each: (each.is_right, bool(each.priced), each.op)):
        least, most = (f"{end(pair.priced):.2f}" if pair.priced else "-" for end in (min, max))
        clock = least if least == most else f"{least} to {most}"
        verdict = "right" if pair.is_right else "**wrong**" if pair.priced else pair.reason.replace("|", "/")[:MOST_SHOWN]
        if pair.readings:
            verdict += f", {pair.readings} reading{'s' if pair.readings > 1 else ''}"
        lines.append(f"| {pair.op} | {pair.chip} | {pair.decision.replace('|', '/')} | {pair.differs} | {pair.measured:.2f} | {clock} | {verdict} |")
    return "\n".join((*lines, END))


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration.published_signs", description="which of two configurations the clock prefers")
    parser.add_argument("--data", type=Path, default=HARDWARE, help="folder of pairs.train.csv[.gz]")
    parser.add_argument("--ratio", type=float, default=1.2, help="pairs whose published times differ by more")
    parser.add_argument("--docs", type=Path, help="put the section into this page instead of printing it")
    args = parser.parse_args(argv)
    head = tail = ""
    if args.docs is not None:
        head, start, rest = args.docs.read_text(encoding="utf-8").partition(START)
        _, end, tail = rest.partition(END)
        if not start or not end:
            parser.error(f"{args.docs} has no place between {START} and {END}")
    rows = read_rows(args.data, "pairs")
    requests = requests_of("pairs", rows)
    answers = ask(requests) | derived(args.data, rows)
    text = section(pairs(rows, answers, args.ratio, of_readings(rows, answers, requests)), args.ratio)
    if args.docs is None:
        print(text)
    else:
        args.docs.write_text(head + text + tail, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
