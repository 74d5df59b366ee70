"""The clock's answer for every row of the calibration tables, and for configurations that published tables may have and those do not."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ttnn_shim.estimate import MEASURED, estimate_rows
from ttnn_shim.published import ask, requests_of

from tools.behaviour_diff.questions import published_samples

DATA = Path(__file__).resolve().parents[3] / "tests" / "data"
SWEEPS = ("ops", "gemm", "eltwise_exp", "matmul_height_sharded")
CALLS = ("singles", "layers", "pairs")
"""Tables of calls; pairs made of rows of the tables above are left out."""


def _rows(table: str) -> list[dict[str, str]]:
    """Without measured columns. Read here, so that the same question can be put to every commit."""
    csv.field_size_limit(1 << 30)
    with gzip.open(DATA / "hardware" / f"{table}.train.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return [{k: v for k, v in row.items() if not MEASURED.match(k)} for row in csv.DictReader(file)]


def prices() -> Iterator[tuple[str, str]]:
    """(table and id, answer): kernel ns and traced wall ns of a row, "-" where there is no model; ns of a call and what it ran, or why it is left out."""
    for table in SWEEPS:
        rows = _rows(table)
        for row_id, ns, wall_ns, *_ in estimate_rows(rows):
            yield f"{table} {row_id}", f"{'-' if ns is None else repr(ns)} {'-' if wall_ns is None else repr(wall_ns)}"
    requests = []
    for table in CALLS:
        rows = _rows(table)
        if table == "pairs":
            rows = [row for row in rows if not row["derived_from_train"]]
        requests += [{**request, "id": f"{table} {request['id']}"} for request in requests_of(table, rows)]
    requests += [{**request, "id": f"samples {request['id']}"} for request in published_samples.requests()]
    for name, answer in ask(requests).items():
        yield name, f"{repr(answer['ns']) if 'ns' in answer else '-'} {_ran(answer)}"


def _ran(answer: dict[str, Any]) -> str:
    """A call's programs with their tensors and configurations, which a price need not show; of a row that is left out, why."""
    if "reason" in answer:
        return " ".join(str(answer["reason"]).split())
    return json.dumps({key: answer[key] for key in ("machine", "configs", "gap_ns", "ops", "bytes", "floor_ns")}, sort_keys=True)
