"""Prices the tables of published timings (singles, layers, pairs): their rows are calls of ttnn, which run in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from ttnn_shim.cells import Cells, EstimateError, Row
from ttnn_shim.errors import ShimError
from ttnn_shim.published_layers import completed_configs

MOST_SECONDS = 1200.0
"""A table of some hundred calls takes seconds."""


def requests_of(table: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The requests for `published_calls`: one per row, two per pair. EstimateError for an invalid cell."""
    out: list[dict[str, Any]] = []
    whole = completed_configs(rows) if table == "layers" else []
    for index, row in enumerate(rows, 1):
        cells = Cells(row, index)
        for column, suffix in (("variant_a", "a"), ("variant_b", "b")) if table == "pairs" else (("config", ""),):
            config = cells.json(column)
            if config is None:
                config = {}
            if not isinstance(config, dict):
                raise cells.fail(column, "expected a JSON object")
            if whole:
                config = whole[index - 1]
            count = cells.integer("op_count") if table == "layers" else 1
            out.append(
                {
                    "id": cells.text("id") + suffix,
                    "chip": row.get("chip") or "",
                    "arch": cells.text("arch"),
                    "op": str(config.get("op") or row.get("op") or ""),
                    "date": row.get("date") or "",
                    "measured": row.get("what_is_measured") or "",
                    "count": count,
                    "config": config,
                }
            )
    return out


def ask(requests: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Answers of `published_calls` by id. Raises EstimateError, ShimError."""
    command = [sys.executable, "-m", "ttnn_shim", "price-calls"]
    try:
        done = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise EstimateError(0, "", f"the calls of the table did not end in {MOST_SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise ShimError(f"pricing the calls failed: {done.stderr[-500:]}")
    return {answer["id"]: answer for answer in json.loads(done.stdout)}


def price_rows(table: str, rows: Sequence[Row]) -> tuple[dict[str, float], dict[str, str]]:
    """(ns by id, reason by id of the rows that are left out), both in the order of the rows. Raises EstimateError, ShimError."""
    requests = requests_of(table, rows)
    answers = ask(requests)
    times = {r["id"]: answers[r["id"]]["ns"] * r["count"] for r in requests if "ns" in answers[r["id"]]}
    reasons = {r["id"]: answers[r["id"]]["reason"] for r in requests if "reason" in answers[r["id"]]}
    return times, reasons
