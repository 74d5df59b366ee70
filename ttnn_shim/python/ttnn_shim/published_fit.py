"""SFPU cycles per tile (arch/sfpu.csv) from published one-tile and 1024-tile times of the eltwise dashboards (tests/data/hardware, singles).

python -m ttnn_shim.published_fit [--write]    # prints what it finds; --write puts it into sfpu.csv (then run arch/generate.py and rebuild)

One tile: everything but the SFPU program is the same for all unary ops, so cycles = (time - identity's time) x clock. Binary ops: what `add` on one tile,
the copy of the second operand to the destination registers and the SFPU's own start leave. Where only 1024 tiles were timed and the SFPU decides, cycles =
(time - start) x clock / tiles per core - copy; where memory decides they are only bounded, and the published value is kept up to the bound.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ttnn_shim.published import ask, requests_of
from ttnn_shim.published_accuracy import read_rows
from ttnn_shim.simlib import simulator

SOURCE = "published one-tile and 1024-tile times of ttnn's eltwise dashboards (tests/data/hardware/singles), by ttnn_shim.published_fit"
CLOCK_GHZ = {"wormhole_b0": 1.0, "blackhole": 1.35}
CARDS = {"wormhole_b0": "n150", "blackhole": "p100"}
WORKERS = {"wormhole_b0": 64, "blackhole": 110}
DECIDES = 1.08
"""A 1024-tile time above that of the lightest ops by this factor is the SFPU's, not the memory's."""
COMPOSITES = {"TERNARY_MAC"}
"""Two binary programs on the card, one here: no cost of a program."""
ROUND = 10


@dataclass(frozen=True)
class Timing:
    """One dashboard time: name in sfpu.csv, chip, tiles, ns, bytes per operand tile."""

    name: str
    arch: str
    tiles: int
    ns: float


def cost_name(program: Sequence[str]) -> str:
    """Name of the row of sfpu.csv that a program's SFPU work is; "" for programs without one such row."""
    op, attributes = program
    fields = dict(part.split("=", 1) for part in attributes.split(";") if "=" in part)
    if op == "unary" and (found := re.fullmatch(r"\[(\w+)\]", fields.get("ops", ""))):
        return found[1]
    if op == "binary" and fields.get("is_sfpu") == "true" and fields.get("post_ops", "[]") == "[]":
        return f"BINARY_{fields['op']}"
    if op == "ternary" and "op" in fields:
        return f"TERNARY_{fields['op']}"
    return ""


def operands(name: str) -> int:
    """Tensors that the program behind a row of sfpu.csv reads."""
    return {"BINARY": 2, "TERNARY": 3}.get(name.split("_")[0], 1)


def timings(rows: Sequence[Mapping[str, str]], answers: Mapping[str, Mapping[str, Any]]) -> list[Timing]:
    """Dashboard rows whose call is one device program on bfloat16 tiles."""
    out = []
    for row in rows:
        programs = answers[row["id"]].get("ops", [])
        inputs = json.loads(row["config"]).get("inputs")
        if "dashboard" not in row["source"] or len(programs) != 1 or not inputs or not all(i["dtype"] == "bfloat16" for i in inputs):
            continue
        if (name := cost_name(programs[0])) and name not in COMPOSITES:
            tiles = inputs[0]["shape"][-1] * inputs[0]["shape"][-2] // 1024
            out.append(Timing(name, row["arch"], tiles, 1000 * float(row["time_us"])))
    return out


def found_costs(
    times: Sequence[Timing], published: Mapping[str, Mapping[str, str]], binary_start: Mapping[str, float], pack_beside: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """name -> chip -> cycles per tile beyond the copy through the destination registers."""
    sim = simulator()
    out: dict[str, dict[str, float]] = {}
    by_key = {(t.name, t.arch, t.tiles): t.ns for t in times}
    for (name, arch, tiles), ns in sorted(by_key.items(), key=lambda item: item[0][2]):
        handle, clock = sim.arch(CARDS[arch]), CLOCK_GHZ[arch]
        copy = sim.get(handle, "unary_tile") + 2048 * sim.get(handle, "unary_byte")
        more = operands(name) - 1
        one = by_key["IDENTITY", arch, 1]
        peers = [t.ns for t in times if (t.arch, t.tiles, operands(t.name)) == (arch, 1024, operands(name))]
        many = min(peers, default=ns)  # memory alone: the lightest op with as many operands
        extra = more * (sim.get(handle, "second_operand") + copy) + (binary_start[arch] if more else 0.0)
        if tiles == 1:
            out.setdefault(name, {})[arch] = max(0.0, (ns - one) * clock - extra)
            continue
        per_core = -(-tiles // WORKERS[arch])
        start = sim.get(handle, "launch_compute") + WORKERS[arch] * sim.get(handle, "skew_core")
        # The engine's soft maximum of memory and cores, solved for the cores.
        sharp = sim.get(handle, "contention_exponent")
        memory = many * clock - start
        both = max(ns * clock - start, 1.001 * memory)
        cores = (both**sharp - memory**sharp) ** (1 / sharp)
        bound = max(0.0, cores / per_core - copy * (1 + more) + pack_beside[arch])
        if arch in out.get(name, {}):
            continue
        if ns * clock - start > DECIDES * memory:
            out.setdefault(name, {})[arch] = bound
        elif name in published and float(published[name][arch]) > bound:
            out.setdefault(name, {})[arch] = bound
    ratios = [costs["wormhole_b0"] / costs["blackhole"] for costs in out.values() if len(costs) == 2 and min(costs.values()) > 100]
    ratio = statistics.median(ratios)
    for costs in out.values():
        if "blackhole" not in costs:
            costs["blackhole"] = costs["wormhole_b0"] / ratio
        elif "wormhole_b0" not in costs:
            costs["wormhole_b0"] = costs["blackhole"] * ratio
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    root = Path(__file__).resolve().parents[3]
    parser = argparse.ArgumentParser(prog="python -m ttnn_shim.published_fit", description="SFPU cycles per tile from published times")
    parser.add_argument("--data", type=Path, default=root / "tests" / "data" / "hardware", help="folder of singles.train.csv[.gz]")
    parser.add_argument("--arch", type=Path, default=root / "ttnn_shim" / "arch", help="folder of sfpu.csv and programs.csv")
    parser.add_argument("--write", action="store_true", help="write sfpu.csv")
    args = parser.parse_args(argv)
    rows = [row for row in read_rows(args.data, "singles") if "dashboard" in row["source"]]
    answers = ask(requests_of("singles", rows))
    table = list(csv.DictReader((args.arch / "sfpu.csv").read_text(encoding="utf-8").splitlines()))
    starts = {r["name"]: r for r in csv.DictReader((args.arch / "programs.csv").read_text(encoding="utf-8").splitlines())}
    binary_start = {arch: float(starts["binary_start"][arch]) for arch in CARDS}
    pack_beside = {arch: float(starts["pack_beside_sfpu"][arch]) for arch in CARDS}
    published = {row["op"]: row for row in table}
    made = found_costs(timings(rows, answers), published, binary_start, pack_beside)
    for name, costs in sorted(made.items()):
        cells = {arch: f"{ROUND * round(cycles / ROUND)}" for arch, cycles in costs.items()}
        before = published.get(name, {})
        print(f"{name}: {before.get('wormhole_b0', '-')} / {before.get('blackhole', '-')} -> {cells['wormhole_b0']} / {cells['blackhole']}")
        row = published.setdefault(name, {"op": name, "unit": "cycles/tile"})
        row |= {**cells, "source": SOURCE}
        if row not in table:
            table.append(row)
    if args.write:
        with open(args.arch / "sfpu.csv", "w", newline="", encoding="utf-8") as handle:
            writer = csv.DictWriter(handle, fieldnames=["op", "wormhole_b0", "blackhole", "unit", "source"], lineterminator="\n")
            writer.writeheader()
            writer.writerows({key: row[key] for key in writer.fieldnames} for row in table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
