"""int64 beyond 32 bits: refused with the node, except where results depend on the low bits alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from alchemist.errors import FrontendError
from alchemist.pipeline import capture

A = np.array([[60000, 90000, -70000], [1, 2, 3]])
Line = tuple[str, list[str], dict[str, Any]]
EXACT: dict[str, list[Line]] = {
    "a hash": [("Mul", ["a", "a"], {}), ("Mod", ["v0", "k"], {})],
    "low words": [("Mul", ["a", "a"], {}), ("Cast", ["v0"], {"to": TensorProto.INT32})],
    "the largest number, which a where drops": [("Where", ["m", "top", "a"], {}), ("Where", ["m", "a", "v0"], {})],
}
REFUSED: dict[str, list[Line]] = {
    "a sum of squares": [("Mul", ["a", "a"], {}), ("ReduceSum", ["v0", "axis"], {}), ("Cast", ["v1"], {"to": TensorProto.FLOAT})],
    "a remainder by no power of two": [("Mul", ["a", "a"], {}), ("Mod", ["v0", "seven"], {})],
    "an output": [("Mul", ["a", "a"], {})],
    "a constant": [("Add", ["a", "large"], {}), ("Greater", ["v0", "a"], {}), ("Cast", ["v1"], {"to": TensorProto.INT32})],
}


def model(lines: list[Line], path: Path) -> Path:
    nodes = [helper.make_node(op, operands, [f"v{place}"], name=f"line{place}", **attributes) for place, (op, operands, attributes) in enumerate(lines)]
    constants = {"k": np.array(1024), "seven": np.array(7), "axis": np.array([1]), "top": np.array(2**63 - 1), "m": A > 5, "large": np.array(2**40)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("a", TensorProto.INT64, A.shape)],
        [helper.make_empty_tensor_value_info(f"v{len(lines) - 1}")],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    onnx.save(onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])), path)
    return path


@pytest.mark.parametrize("name", EXACT)
def test_low_bits_alone_are_taken(name: str, tmp_path: Path) -> None:
    assert capture(model(EXACT[name], tmp_path / "m.onnx"), (A,), {}, "onnx").outputs


@pytest.mark.parametrize("name", REFUSED)
def test_wide_values_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(FrontendError, match="integers beyond 32 bits"):
        capture(model(REFUSED[name], tmp_path / "m.onnx"), (A,), {}, "onnx")
