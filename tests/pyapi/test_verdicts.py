"""58,000 calls with arguments of right and wrong types: taken or TypeError, as the real package decided (tests/data/ttnn_call_verdicts.json.gz).

Each row varies one parameter of one overload over the samples below, the other required ones being of their own types.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ttnn
from ttnn import _facts
from ttnn._operation import Operation

DATA = json.loads(gzip.decompress((Path(__file__).parents[1] / "data" / "ttnn_call_verdicts.json.gz").read_bytes()))
# Rows whose fixed arguments the real package did not like, so that they say nothing about the varied one.
BAD_SAMPLES = ("ttnn.experimental.conv3d#", "ttnn.experimental.split_query_key_value_and_split_heads#",
               "ttnn.experimental.create_qkv_heads_from_separate_tensors#", "ttnn.slice#1", "ttnn.pad#1", "ttnn.fold#")  # fmt: skip


def samples() -> dict[str, Any]:
    tensor = ttnn.Tensor(np.zeros((2, 2), np.float32))
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 1))])
    return {
        "None": None, "True": True, "1": 1, "-1": -1, "1.5": 1.5, "s": "s", "[1]": [1], "(1,2)": (1, 2), "[1.5]": [1.5], "[]": [], "T": tensor,
        "[T]": [tensor], "bf16": ttnn.bfloat16, "tile": ttnn.TILE_LAYOUT, "mc": ttnn.DRAM_MEMORY_CONFIG, "grid": ttnn.CoreGrid(x=1, y=1),
        "cc": ttnn.CoreCoord(0, 0), "crs": cores, "{}": {}, "shape": ttnn.Shape([1, 2]), "ck": ttnn.WormholeComputeKernelConfig(),
        "uop": ttnn.UnaryOpType.RELU, "[uop]": [ttnn.UnaryOpType.RELU], "uwp": ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU), "npi": np.int64(1),
        "npf": np.float32(1), "np": np.array([1, 2]), "[[1]]": [(1, 2)], "tilec": ttnn.Tile((32, 32)), "enumint": 0, "q": ttnn.QueueId(0),
        "cr": ttnn.CoreRange((0, 0), (1, 1)), "set": {1}, "big": 2**40,
    }  # fmt: skip


FIXED = {
    "Tensor": "T", "float": "1.5", "int": "1", "bool": "True", "str": "s", "DataType": "bf16", "Layout": "tile", "MemoryConfig": "mc",
}  # fmt: skip
LISTS: dict[str, Any] = {
    "Shape": [1, 1], "Sequence[int]": [1, 1], "Sequence[Sequence[int]]": [(0, 0)], "Sequence[float]": [1.0], "CoreCoord": (1, 1),
    "Sequence[EltwiseUnaryWithParam]": [],
}  # fmt: skip


def fixed(type_: str, pool: dict[str, Any]) -> Any:
    kinds = [part.strip() for part in type_.split("|")]
    if "None" in kinds or type_.startswith("Optional"):
        return None
    for kind, label in FIXED.items():
        if kind in kinds:
            return pool[label]
    for kind, value in LISTS.items():
        if kind in kinds:
            return value
    return {"Sequence[Tensor]": pool["[T]"], "CoreRangeSet": pool["crs"]}[type_]


def answers() -> Iterator[tuple[str, str, str, TypeError | None]]:
    """Row, what is varied in it, the real package's verdict and our refusal."""
    pool = samples()
    operations: dict[str, Operation] = {}
    for key, verdicts in DATA["rows"].items():
        name, rest = key.split("#")
        index, parameter = rest.split(".", 1)
        if name not in _facts.facts()["functions"]:
            continue
        operation = operations.setdefault(name, Operation(name))
        params = operation.overloads.overloads[int(index)].params
        types = {param.name: param.type for param in params}
        required = {param.name: fixed(param.type, pool) for param in params if param.required and param.kind in ("", "K")}
        for label, verdict in zip(DATA["labels"], verdicts, strict=True):
            if verdict == "." or key.startswith(BAD_SAMPLES):
                continue
            refusal = None
            try:
                operation.overloads.bind((), {**required, parameter: pool[label]})
            except TypeError as error:
                refusal = error
            yield key, f"{types[parameter]} <- {label}", verdict, refusal


def test_calls_are_taken_and_refused_as_by_the_real_package() -> None:
    agreed, differ = 0, Counter[str]()
    examples: dict[str, str] = {}
    for key, varied, verdict, refusal in answers():
        if ("o" if refusal is None else "T") == verdict:
            agreed += 1
        else:
            case = f"{varied}: real {verdict}"
            differ[case] += 1
            examples.setdefault(case, key)
    total = agreed + differ.total()
    listing = "\n".join(f"{count:4} {case}  e.g. {examples[case]}" for case, count in differ.most_common(40))
    print(f"{agreed} of {total} calls agree\n{listing}")
    assert total > 50_000
    assert agreed / total > 0.998, listing


@pytest.mark.parametrize(("expression", "accepted"), [("dim=3", True), ("dim=2**31", False), ("dim=True", True), ("dim=1.0", False)])
def test_integer_widths(expression: str, accepted: bool) -> None:
    x = ttnn.Tensor(np.zeros((2, 2), np.float32))
    kwargs = eval(f"dict({expression})")
    if accepted:
        ttnn.softmax.overloads.bind((x,), kwargs)
    else:
        with pytest.raises(TypeError, match=r"(?s)incompatible function arguments.*Called with:\s+softmax\(ttnn.Tensor, dim="):
            ttnn.softmax.overloads.bind((x,), kwargs)
