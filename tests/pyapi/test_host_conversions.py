"""Tensors made of torch tensors, arrays and lists of any element type: dtype and values as the real package made them.

`tests/data/ttnn_host_conversions.json.gz` holds what ttnn 0.81.1 gave for each source, dtype and door ("source/dtype/door" -> [dtype, values],
or null where it refused), values out of range included: `PYTHONPATH=. python tests/pyapi/test_host_conversions.py` prints it where that package and torch are.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import ttnn

from tests.tables import table

FILE = Path(__file__).parent.parent / "data" / "ttnn_host_conversions.json.gz"
REALS = [-300.7, -3.2, 0.5, 100.5, 200.7, 300.7, 65504.0, 70000.0, -70000.0, 3e9, -3e9, 1e20, float("nan"), float("inf"), float("-inf"), -0.0, 2049.0]
WHOLE = [-300, -3, 0, 100, 200, 300, 65535, 70000, -70000, 2**31 - 1, -(2**31)]
SOURCES = {
    "float32": REALS, "bfloat16": REALS, "float16": REALS, "int32": WHOLE, "int64": [*WHOLE, 2**32 + 5, -(2**33) - 1],
    "int16": [-300, -3, 0, 100, 200, 300, 32767, -32768], "uint8": [0, 3, 100, 200, 255], "int8": [-128, -3, 0, 100, 127], "bool": [True, False],
    "uint16": [0, 3, 40000, 65535], "uint32": [0, 3, 2**31 + 5, 2**32 - 1],
}  # fmt: skip
DTYPES = ("none", "bfloat16", "float32", "int32", "uint32", "uint16", "uint8", "int8", "fp8_e4m3")
DOORS = ("from_torch", "Tensor", "numpy", "list")


def make(source: str, dtype: str, door: str) -> Any:
    values = torch.tensor(SOURCES[source], dtype=torch.float32 if source in ("bfloat16", "float16") else getattr(torch, source))
    row = values.to(getattr(torch, source)).reshape(1, -1)
    wanted = None if dtype == "none" else getattr(ttnn, dtype)
    if door == "list":
        return ttnn.Tensor(SOURCES[source], [1, len(SOURCES[source])], wanted, ttnn.ROW_MAJOR_LAYOUT)
    if door == "from_torch":
        return ttnn.from_torch(row, dtype=wanted)
    held = row.numpy() if door == "numpy" else row
    return ttnn.Tensor(held) if wanted is None else ttnn.Tensor(held, wanted)


def outcome(source: str, dtype: str, door: str) -> list[Any] | None:
    try:
        tensor = make(source, dtype, door)
    except (RuntimeError, TypeError, ValueError):
        return None
    held = ttnn.to_dtype(tensor, ttnn.float32) if tensor.dtype == ttnn.fp8_e4m3 else tensor
    return [tensor.dtype.name, [float(value) for value in ttnn.to_torch(held).flatten().tolist()]]


def cases() -> list[str]:
    """Doors that a source has: numpy holds no bfloat16, lists hold numbers and need a dtype."""
    return [
        f"{source}/{dtype}/{door}" for source in SOURCES for dtype in DTYPES for door in DOORS
        if not (door == "numpy" and source == "bfloat16") and not (door == "list" and (source not in ("float32", "int32") or dtype == "none"))
    ]  # fmt: skip


@table("case", cases())
def test_conversion(case: str) -> None:
    wanted, got = json.loads(gzip.decompress(FILE.read_bytes()))[case], outcome(*case.split("/"))
    assert (wanted is None) == (got is None), (wanted, got)
    if wanted is not None and got is not None:
        assert got[0] == wanted[0]
        np.testing.assert_array_equal(np.array(got[1]), np.array(wanted[1]))


if __name__ == "__main__":
    json.dump({case: outcome(*case.split("/")) for case in cases()}, sys.stdout)
