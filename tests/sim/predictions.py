"""The clock's answer for rows of the calibration tables, written down: a commit that changes the clock shows which rows it moved.

python -m tests.sim.predictions    # writes tests/data/predictions.csv; say in the commit why they changed
"""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

from ttnn_shim.calibrate import read_table
from ttnn_shim.estimate import MEASURED, estimate_rows
from ttnn_shim.published import ask, requests_of

from tests.sim import published_samples

DATA = Path(__file__).resolve().parents[1] / "data"
RECORDED = DATA / "predictions.csv"
STEP = {"ops": 1, "gemm": 1, "eltwise_exp": 10, "matmul_height_sharded": 5}
"""Every how many rows of a table; the large ones are sweeps over sizes."""
CALLS = ("singles", "layers", "pairs")
"""Tables of calls; pairs made of rows of the tables above are left out."""
Key = tuple[str, str]
Times = tuple[str, str, str]


def predictions() -> dict[Key, Times]:
    """(table, id) -> (kernel ns, traced wall ns, what a call ran) as text; "" where there is no model."""
    found: dict[Key, Times] = {}
    for table, step in STEP.items():
        rows = [{k: v for k, v in row.items() if not MEASURED.match(k)} for row in read_table(DATA / "hardware" / f"{table}.train.csv.gz")[::step]]
        for row_id, ns, wall_ns in estimate_rows(rows):
            found[table, row_id] = ("" if ns is None else f"{ns:.1f}", "" if wall_ns is None else f"{wall_ns:.1f}", "")
    requests = []
    for table in CALLS:
        rows = [{k: v for k, v in row.items() if not MEASURED.match(k)} for row in read_table(DATA / "hardware" / f"{table}.train.csv.gz")]
        if table == "pairs":
            rows = [row for row in rows if not row["derived_from_train"]]
        requests += [{**request, "id": f"{table} {request['id']}"} for request in requests_of(table, rows)]
    requests += [{**request, "id": f"samples {request['id']}"} for request in published_samples.requests()]
    for name, answer in ask(requests).items():
        table, _, row_id = name.partition(" ")
        found[table, row_id] = (f"{answer['ns']:.1f}" if "ns" in answer else "", "", ran(answer))
    return found


def ran(answer: dict[str, Any]) -> str:
    """A digest of a call's programs with their tensors and configurations, which a price need not show; for a row that is left out, why."""
    if "reason" in answer:
        return " ".join(str(answer["reason"]).split())
    said = {key: answer[key] for key in ("machine", "configs", "gap_ns", "ops", "bytes")} | {"floor_ns": f"{answer['floor_ns']:.1f}"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:10]


def recorded() -> dict[Key, Times]:
    with open(RECORDED, newline="", encoding="utf-8") as handle:
        return {(row["table"], row["id"]): (row["ns"], row["wall_ns"], row["ran"]) for row in csv.DictReader(handle)}


def difference(before: dict[Key, Times], after: dict[Key, Times], most: int = 20) -> str:
    """What moved, largest ratio first; "" when nothing did."""
    moved = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old != new:
            ratio = float(new[0]) / float(old[0]) if old and new and old[0] and new[0] else float("inf")
            moved.append((max(ratio, 1 / ratio), f"{key[0]} {key[1]}: {old} -> {new} ns ({ratio:.3f})"))
    if not moved:
        return ""
    moved.sort(reverse=True)
    tables = ", ".join(f"{sum(text.startswith(table + ' ') for _, text in moved)} of {table}" for table in (*STEP, *CALLS, "samples"))
    lines = [f"the clock changed for {len(moved)} of {len(after)} rows ({tables}); explain it in the commit and run", "    python -m tests.sim.predictions"]
    return "\n".join([*lines, *(text for _, text in moved[:most])])


def main() -> None:
    rows = predictions()
    if RECORDED.exists():
        print(difference(recorded(), rows) or "nothing moved")
    with open(RECORDED, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(("table", "id", "ns", "wall_ns", "ran"))
        writer.writerows((*key, *times) for key, times in rows.items())


if __name__ == "__main__":
    main()
