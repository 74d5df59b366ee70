"""Calls of several chips against what the real package made of them on mock devices of four systems.

    python -m tools.conformance.mesh_calls [SYSTEM ...]     # share per system, and the calls that differ

`tests/data/mesh_calls.json.gz`: {system: {"mesh": [rows, columns], "calls": {expression: {"accepted", "out": spec, "programs", "message"}}}}, of
ttnn 0.81.1 with FABRIC_1D. A call agrees when it gives the recorded spec, or is refused with the recorded message (of a call that fits no
signature, its first line; of others, the start).
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "tests" / "data" / "mesh_calls.json.gz"
SAME_START = 60  # characters of a message that must agree
TENSORS = {
    "x": "[1, 1, 64, 256] bfloat16 TILE",
    "x3": "[2, 64, 256] bfloat16 TILE",
    "x2": "[64, 256] bfloat16 TILE",
    "x1": "[256] bfloat16 TILE",
    "rows": "[1, 1, 64, 256] bfloat16 ROW_MAJOR",
    "f32": "[1, 1, 64, 256] float32 TILE",
    "bfp8": "[1, 1, 64, 256] bfloat8_b TILE",
    "i32": "[1, 1, 64, 256] int32 TILE",
    "u32": "[1, 1, 64, 256] uint32 TILE",
    "odd": "[1, 1, 33, 200] bfloat16 TILE",
    "small": "[1, 1, 32, 32] bfloat16 TILE",
    "heads": "[1, 8, 64, 256] bfloat16 TILE",
}


def record() -> dict[str, Any]:
    return dict(json.loads(gzip.decompress(RECORD.read_bytes())))


def names_of(mesh: Any) -> dict[str, Any]:
    """What the recorded expressions call their tensors and helpers."""
    import numpy as np
    import ttnn

    def tensor(described: str) -> Any:
        shape, (dtype, layout) = described[: described.index("]") + 1], described.split()[-2:]
        kind = np.int32 if dtype == "int32" else np.uint32 if dtype == "uint32" else np.float32
        host = ttnn.Tensor(np.zeros(json.loads(shape), kind), ttnn.bfloat16 if dtype == "bfloat8_b" else getattr(ttnn, dtype))
        host = ttnn.to_layout(host, getattr(ttnn, layout + "_LAYOUT"))
        return ttnn.to_device(ttnn.to_dtype(host, ttnn.bfloat8_b) if dtype == "bfloat8_b" else host, mesh)

    rows, columns = mesh.shape
    names = {name: tensor(described) for name, described in TENSORS.items()}
    names |= {"ttnn": ttnn, "mesh": mesh, "N": columns, "SIZE": rows * columns, "R": ttnn.PlacementReplicate(), "S": ttnn.PlacementShard}
    names["host"] = ttnn.Tensor(np.zeros((64, 128), np.float32), ttnn.bfloat16)
    names["uneven"] = ttnn.Tensor(np.zeros((33, 129), np.float32), ttnn.bfloat16)
    return names


def spec(value: Any) -> Any:
    """A result as the record has it."""
    import ttnn

    if isinstance(value, list | tuple):
        return [spec(one) for one in value]
    if not isinstance(value, ttnn.Tensor):
        return type(value).__name__
    text = f"{list(value.shape)} {value.dtype.name} {value.layout.name}"
    if value.storage_type().name == "HOST":
        return text + " HOST"
    memory = value.memory_config()
    return text + f" {memory.buffer_type.name}/{memory.memory_layout.name}"


def outcome(call: str, names: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"accepted": True, "out": spec(eval(call, names))}
    except Exception as error:  # noqa: BLE001  whatever a call raises is its outcome
        return {"accepted": False, "message": " ".join(str(error).split())}


def agrees(found: dict[str, Any], recorded: dict[str, Any]) -> bool:
    if found["accepted"] != recorded["accepted"]:
        return False
    if found["accepted"]:
        return bool(found["out"] == recorded["out"])
    message = recorded["message"]
    wanted = message[: message.index(".") if "incompatible function arguments" in message else SAME_START]
    return wanted in found["message"]


def run(system: str) -> dict[str, Any]:
    """{"same": number, "differ": {call: [recorded, found]}}; in the process that has the system."""
    import ttnn

    recorded = record()[system]
    ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(*recorded["mesh"]))
    names = names_of(mesh)
    found = {call: outcome(call, names) for call in recorded["calls"]}
    ttnn.close_mesh_device(mesh)
    differ = {call: [entry, found[call]] for call, entry in recorded["calls"].items() if not agrees(found[call], entry)}
    return {"same": len(found) - len(differ), "differ": differ}


def run_in_process(system: str) -> dict[str, Any]:
    environment = os.environ | {"MESH_CALLS_OF": system, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "ttnn_shim", "run", "--arch", system, str(Path(__file__).resolve())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return dict(json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{"))))


def main() -> None:
    if system := os.environ.get("MESH_CALLS_OF"):
        print(json.dumps(run(system)))
        return
    recorded = record()
    for system in sys.argv[1:] or recorded:
        result, total = run_in_process(system), len(recorded[system]["calls"])
        print(f"{system}: {result['same']} of {total} ({result['same'] / total:.1%})")
        for call, (wanted, found) in result["differ"].items():
            print(f"    {call}\n        recorded {wanted.get('out') or wanted.get('message')}\n        found    {found.get('out') or found.get('message')}")


if __name__ == "__main__":
    main()
