"""Published calls (singles.train.csv) as observations of the calibration: the programs that a call runs, its group, how it is rated."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ttnn_shim.published import ask, requests_of
from ttnn_shim.simlib import Simulator

from tools.calibration.problem import CALLS, Observation, Parameter, Vector, fold_of
from tools.calibration.rows import is_left_out, rating_of, read_rows

RATED = ("high", "medium")
"""Rows that constants are fitted to; low and partial ones are only shown."""
NOT_SIZES = frozenset({"program", "core_grid", "grid", "cores", "subblock", "in0_block_w", "fidelity", "note", "kwargs", "active_cores"})
"""Of a configuration: how the work is done, not what it is. Variants of one work share a group, so none is predicted by another."""


def group_of(op: str, arch: str, config: Mapping[str, Any]) -> str:
    """What is computed, on which chip: op, numbers and shapes of the configuration without program settings."""
    sizes = {k: v for k, v in sorted(config.items()) if k not in NOT_SIZES and (isinstance(v, (int, list)) or k == "shape")}
    return json.dumps([op, arch, sizes], default=str)


def parts_of(answer: Mapping[str, Any], sim: Simulator) -> tuple[tuple[int, int], ...]:
    """Handles of the machine and the configurations of one answer of `published_calls`."""
    card, x, y = answer["machine"]
    arch = sim.arch(card, (x, y))
    return tuple((arch, sim.config(config)) for config in answer["configs"])


def observed_calls(data: Path, sim: Simulator) -> list[Observation]:
    """The priced singles rated high or medium."""
    rows = [row for row in read_rows(data, CALLS) if rating_of(row) in RATED and not is_left_out(row, CALLS)]
    return observations(rows, ask(requests_of(CALLS, rows)), sim)


def observations(rows: Sequence[Mapping[str, str]], answers: Mapping[str, Mapping[str, Any]], sim: Simulator) -> list[Observation]:
    """One per row that has a price."""
    out = []
    for row in rows:
        answer = answers[row["id"]]
        if "ns" not in answer:
            continue
        out.append(
            Observation(
                row_id=row["id"],
                table=CALLS,
                op=row["family"],
                family=row["arch"],
                trace="",
                group=group_of(row["op"], row["arch"], json.loads(row["config"])),
                truth=1000 * float(row["time_us"]),
                size=float(answer["bytes"]),
                parts=parts_of(answer, sim),
                column=0,
                fixed_ns=answer["gap_ns"] * len(answer["configs"]),
                rating=rating_of(row),
            )
        )
    return out


def out_of_fold(
    rows: Sequence[Mapping[str, str]],
    columns: Mapping[str, str],
    answers: Mapping[str, Mapping[str, Any]],
    sim: Simulator,
    parameters: Sequence[Parameter],
    folds: Sequence[Vector],
) -> dict[str, float]:
    """ns by id, each predicted by the constants that were fitted without its group.

    `columns`: suffix of the id -> column of the configuration ({"": "config"}; {"a": "variant_a", "b": "variant_b"}); `folds`: constants by fold.
    """
    waiting: dict[int, list[tuple[str, float, tuple[tuple[int, int], ...]]]] = {}
    for row in rows:
        for suffix, column in columns.items():
            answer = answers[row["id"] + suffix]
            if "ns" in answer:
                config = json.loads(row[column])
                fold = fold_of(group_of(str(row.get("op") or config.get("op") or ""), row["arch"], config))
                waiting.setdefault(fold, []).append((row["id"] + suffix, answer["gap_ns"] * len(answer["configs"]), parts_of(answer, sim)))
    by_family: dict[str, list[int]] = {}
    for (card, *_), handle in sim.archs.items():
        by_family.setdefault("wormhole_b0" if card.startswith("n") else "blackhole", []).append(handle)
    out = {}
    for fold, calls in waiting.items():
        for parameter, value in zip(parameters, folds[fold], strict=True):
            for family in parameter.families:
                for name, ratio in ((parameter.name, 1.0), *parameter.followers):
                    sim.set(by_family.get(family, []), name, float(value) * ratio)
        for row_id, fixed_ns, parts in calls:
            out[row_id] = fixed_ns + sum(ns for ns, _, _ in sim.price_many([arch for arch, _ in parts], [config for _, config in parts]))
    return out
