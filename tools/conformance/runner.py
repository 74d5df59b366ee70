"""Runs probes on whatever `ttnn` the interpreter has: the shim's or the real wheel's. Imports nothing else of the project.

    python runner.py PROBES.json RESULTS.jsonl [FIRST]

PROBES.json is a list of {"id", "inputs": [[shape, dtype, layout, memory]], "call"}: `memory` is "host" or a Python expression,
`call` a Python expression over `a` (the input tensors), `ttnn` and `device`. One JSON line per probe, written when it starts
and when it ends, so that a process that dies names its probe. Probes are independent: everything is freed between two.
"""

from __future__ import annotations

import gc
import json
import sys
from typing import Any


def enum_name(value: Any) -> str:
    return str(value).rpartition(".")[2]


def describe(ttnn: Any, value: Any) -> Any:
    """JSON facts of a result; scalars as they are."""
    if isinstance(value, (list, tuple)):
        return [describe(ttnn, item) for item in value]
    if not isinstance(value, ttnn.Tensor):
        return value if isinstance(value, (bool, int, float, str)) or value is None else f"<{type(value).__name__}>"
    facts: dict[str, Any] = {
        "shape": list(value.shape),
        "padded_shape": list(value.padded_shape),
        "dtype": enum_name(value.dtype),
        "layout": enum_name(value.layout),
        "storage": enum_name(value.storage_type()),
    }
    if facts["storage"] == "DEVICE":
        facts["allocated"] = value.is_allocated()
        if facts["allocated"]:
            config = value.memory_config()
            facts["buffer_type"] = enum_name(config.buffer_type)
            facts["memory_layout"] = enum_name(config.memory_layout)
            shard = config.shard_spec
            if shard is not None:
                ranges = [[r.start.x, r.start.y, r.end.x, r.end.y] for r in shard.grid.ranges()]
                facts["shard"] = [ranges, list(shard.shape), enum_name(shard.orientation)]
            facts["address"] = value.buffer_address()
    return facts


def memory(ttnn: Any, device: Any) -> dict[str, int]:
    kinds = ("DRAM", "L1", "L1_SMALL")
    views = {kind: ttnn.get_memory_view(device, getattr(ttnn.BufferType, kind)) for kind in kinds}
    return {kind: view.total_bytes_allocated_per_bank for kind, view in views.items()}


def make_input(ttnn: Any, device: Any, row: Any) -> Any:
    shape, dtype, layout, where = row
    layout = ttnn.TILE_LAYOUT if layout == "tile" else ttnn.ROW_MAJOR_LAYOUT
    if where == "host":
        return ttnn.zeros(shape, dtype=getattr(ttnn, dtype), layout=layout)
    config = eval(where, {"ttnn": ttnn})
    return ttnn.empty(shape, dtype=getattr(ttnn, dtype), layout=layout, device=device, memory_config=config)


def said(error: Exception) -> str:
    """The message in one line, without the place in this file at which the simulator saw the call."""
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(" ".join(line for line in lines if not line.startswith("at ")).split())[:300]


def one(ttnn: Any, device: Any, probe: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"id": probe["id"]}
    try:
        a = [make_input(ttnn, device, row) for row in probe["inputs"]]
    except Exception as error:  # noqa: BLE001  whatever is raised is the verdict
        return out | {"verdict": "refused", "stage": "input", "error": said(error)}
    before = memory(ttnn, device)
    out["inputs"] = before
    try:
        result = eval(probe["call"], {"ttnn": ttnn, "device": device, "a": a})
    except Exception as error:  # noqa: BLE001
        kind = type(error).__name__
        return out | {"verdict": "refused", "stage": "call", "error_type": kind, "error": said(error)}
    after = memory(ttnn, device)
    grown = {kind: after[kind] - before[kind] for kind in after}
    return out | {"verdict": "accepted", "result": describe(ttnn, result), "memory": grown}


def main() -> None:
    import ttnn

    with open(sys.argv[1]) as file:
        probes = json.load(file)
    device = ttnn.open_device(device_id=0, l1_small_size=32768)
    # A cached program keeps its tables in DRAM: addresses would depend on the probes before.
    device.disable_and_clear_program_cache()
    with open(sys.argv[2], "a") as report:
        for probe in probes[int(sys.argv[3]) if len(sys.argv) > 3 else 0 :]:
            report.write(json.dumps({"id": probe["id"], "verdict": "started"}) + "\n")
            report.flush()
            report.write(json.dumps(one(ttnn, device, probe), default=str) + "\n")
            gc.collect(0)
            if any(memory(ttnn, device).values()):
                gc.collect()
        report.flush()
    import os

    os._exit(0)  # the mock device has no queues to drain


if __name__ == "__main__":
    main()
