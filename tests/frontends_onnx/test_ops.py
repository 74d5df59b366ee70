"""Every lowered op against the standard's reference implementation: its TTIR alone, then many of them in one program on the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import alchemist.ops
from alchemist import codegen_py
from alchemist.frontends.onnx import load
from alchemist.frontends.onnx import rules as _rules  # noqa: F401 (registers them)
from alchemist.frontends.onnx.folding import fold, folded_elements
from alchemist.frontends.onnx.registry import RULES
from alchemist.frontends.onnx.table import onnx_table
from alchemist.frontends.vocabulary import FOLD_LIMIT
from alchemist.ops import evaluate
from tests.frontends_onnx.cases import CASES, Case, i64, model_of
from tests.running import run_checked
from tests.tables import table

assert alchemist.ops

NOT_OPS = {"Shape", "Size", "ConstantOfShape", "EyeLike"}
"""Values known at export: `test_files.py` has them."""


def opset_groups() -> list[tuple[int, list[Case]]]:
    """Cases by opset, at most 40 in a program."""
    found = []
    for opset in sorted({case.opset for case in CASES}):
        cases = [case for case in CASES if case.opset == opset]
        found += [(opset, cases[start : start + 40]) for start in range(0, len(cases), 40)]
    return found


@table("case", CASES, ids=lambda case: case.label)
def test_lowered(case: Case, tmp_path: Path) -> None:
    model, values = model_of([case], case.opset)
    onnx.save(model, tmp_path / "case.onnx")
    result = load(tmp_path / "case.onnx", kwargs=values)
    assert result.golden is not None
    got = evaluate.run(result.module, [argument.value() for argument in result.arguments])
    for value, want, output in zip(got, result.golden(), result.outputs, strict=True):
        assert value.shape == want.shape == output.shape
        if want.dtype.kind in "iub":
            np.testing.assert_array_equal(value.astype(np.int64), want.astype(np.int64))
        else:
            scale = float(np.max(np.abs(want), initial=1e-3))
            np.testing.assert_allclose(value.astype(np.float32), want, rtol=0, atol=2e-5 * scale)


@pytest.mark.parametrize("k", [-1, 0, 2])
@pytest.mark.parametrize("dtype", [None, onnx.TensorProto.INT32])
def test_eye_like(k: int, dtype: int | None, tmp_path: Path) -> None:
    nodes = [onnx.helper.make_node("EyeLike", ["x"], ["eye"], k=k, **({} if dtype is None else {"dtype": dtype}))]
    nodes += [onnx.helper.make_node("Cast", ["eye"], ["float"], to=onnx.TensorProto.FLOAT), onnx.helper.make_node("Add", ["x", "float"], ["y"])]
    kinds = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (3, 5)) for name in "xy"]
    graph = onnx.helper.make_graph(nodes, "eye", kinds[:1], kinds[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), tmp_path / "case.onnx")
    result = load(tmp_path / "case.onnx", kwargs={"x": np.zeros((3, 5), np.float32)})
    np.testing.assert_array_equal(evaluate.run(result.module, [argument.value() for argument in result.arguments])[0], np.eye(3, 5, k))


NODE, INT64 = onnx.helper.make_node, onnx.TensorProto.INT64
ADDED = [NODE("Cast", ["v"], ["w"], to=onnx.TensorProto.FLOAT), NODE("Add", ["x", "w"], ["y"])]
LINE = np.arange(15, dtype=np.float32).reshape(3, 5)


def _number(value: np.ndarray) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(value, "value")


def constant(name: str, *values: float, of: type = np.int64) -> onnx.NodeProto:
    return NODE("Constant", [], [name], value=_number(np.array(values if len(values) > 1 else values[0], of)))


KNOWN_VALUES: dict[str, tuple[list[onnx.NodeProto], np.ndarray | float]] = {
    "size": ([NODE("Size", ["x"], ["v"])], 15),
    "part of a shape": ([NODE("Shape", ["x"], ["v"], start=1)], np.array([5])),
    "a shape filled": ([NODE("Shape", ["x"], ["s"]), NODE("ConstantOfShape", ["s"], ["v"], value=_number(np.array([7], np.int64)))], np.full((3, 5), 7)),
    "a shape filled with zeros": ([NODE("Shape", ["x"], ["s"]), NODE("ConstantOfShape", ["s"], ["v"])], np.zeros((3, 5))),
    "a number": ([NODE("Constant", [], ["v"], value_float=2.5)], 2.5),
    "numbers": ([NODE("Constant", [], ["v"], value_floats=[1.5, 2.5, 3, 4, 5])], np.array([1.5, 2.5, 3, 4, 5])),
    "a whole number": ([NODE("Constant", [], ["v"], value_int=3)], 3),
    "whole numbers": ([NODE("Constant", [], ["v"], value_ints=[1, 2, 3, 4, 5])], np.arange(1, 6)),
    "expanded": ([constant("a", 4), constant("s", 3, 1), NODE("Expand", ["a", "s"], ["v"])], np.full((3, 1), 4)),
    "tiled": ([constant("a", *range(5)), NODE("Reshape", ["a", "r"], ["b"]), constant("t", 3, 1), NODE("Tile", ["b", "t"], ["v"])], np.arange(5)),
    "a range": ([constant("a", 1), constant("b", 11), constant("c", 2), NODE("Range", ["a", "b", "c"], ["v"])], np.arange(1, 11, 2)),
    "a range downwards": ([constant("a", 5), constant("b", 0), constant("c", -1), NODE("Range", ["a", "b", "c"], ["v"])], np.arange(5, 0, -1)),
    "a product": ([constant("a", *range(1, 6)), NODE("Reshape", ["a", "r"], ["b"]), NODE("MatMul", ["a", "a"], ["v"])], 55),
    "a window": ([constant("n", 5), NODE("HannWindow", ["n"], ["v"])], np.hanning(6)[:5]),
    "a sum": ([constant("a", 1, 2), constant("b", 3, 4), NODE("Add", ["a", "b"], ["c"]), NODE("ReduceSum", ["c"], ["v"], keepdims=0)], 10),
    "picked": ([constant("a", 5, 6, 7), constant("i", -1), NODE("Gather", ["a", "i"], ["v"])], 7),
}  # fmt: skip


@table("name", KNOWN_VALUES)
def test_what_is_known_is_computed_at_export(name: str, tmp_path: Path) -> None:
    nodes, wanted = KNOWN_VALUES[name]
    nodes = [constant("r", 1, 5), *nodes, *ADDED]
    kinds = [onnx.helper.make_tensor_value_info(one, onnx.TensorProto.FLOAT, (3, 5)) for one in "xy"]
    graph = onnx.helper.make_graph(nodes, "known", kinds[:1], kinds[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), tmp_path / "case.onnx")
    result = load(tmp_path / "case.onnx", kwargs={"x": LINE})
    made = evaluate.run(result.module, [argument.value() for argument in result.arguments])[0]
    np.testing.assert_allclose(made, LINE + np.asarray(wanted, np.float32), rtol=1e-6, atol=1e-6)
    names = {op.name.removeprefix("ttir.") for op in result.module.walk() if op.name.startswith("ttir.")}
    assert names <= {"add", "full", "constant", "arange", "typecast", "reshape", "broadcast"}, "a constant, however it is written"


BOUNDS = [
    ("Expand", [np.zeros((3, 1)), i64(2, 1, 4)], 24),
    ("Tile", [np.zeros((2, 3)), i64(4, 5)], 120),
    ("Range", [np.array(1), np.array(11), np.array(3)], 4),
    ("Range", [np.array(11), np.array(1), np.array(3)], 0),
    ("Range", [np.array(0.0), np.array(1.0), np.array(0.25)], 4),
    ("Range", [np.array(0.0), np.array(1.0), np.array(0.0)], None),
    ("Range", [np.array(0.0), np.array(np.inf), np.array(1.0)], None),
    ("MatMul", [np.zeros((2, 3, 4)), np.zeros((4, 5))], 30),
    ("MatMul", [np.zeros((3, 4)), np.zeros((7, 4, 5))], 105),
    ("MatMul", [np.zeros(4), np.zeros((4, 5))], 5),
    ("MatMul", [np.zeros((2, 3, 4)), np.zeros((3, 4, 5))], None),
    ("Gather", [np.zeros((3, 4)), i64(0, 1)], 24),
    ("Add", [np.zeros((3, 1)), np.zeros((1, 4))], 12),
    ("Add", [np.zeros(3), np.zeros(4)], None),
    ("Concat", [np.zeros((3, 4)), np.zeros(5)], 29),
    ("Frob", [np.zeros(3)], None),
]


@table(("op", "inputs", "most"), BOUNDS)
def test_how_large_a_known_value_becomes(op: str, inputs: list[np.ndarray], most: int | None) -> None:
    assert folded_elements(op, inputs, {}) == most


@pytest.mark.parametrize(("count", "known"), [(FOLD_LIMIT, True), (FOLD_LIMIT + 1, False)])
def test_known_values_are_computed_up_to_a_size(count: int, known: bool) -> None:
    node = onnx.helper.make_node("Range", ["start", "end", "step"], ["out"])
    found = fold(node, 18, [np.array(0, np.int32), np.array(count, np.int32), np.array(1, np.int32)], {})
    assert (found is not None) == known
    assert found is None or (found[0].shape == (count,) and found[0][-1] == count - 1)


QUICK = (20, 21)
GROUPS = [pytest.param(opset, cases, id=f"{opset}_{cases[0].op}", marks=() if opset in QUICK else pytest.mark.slow) for opset, cases in opset_groups()]


@pytest.mark.parametrize(("opset", "cases"), GROUPS)
def test_on_the_simulator(opset: int, cases: list[Case], tmp_path: Path) -> None:
    model, values = model_of(cases, opset)
    onnx.save(model, tmp_path / "cases.onnx")
    codegen_py(tmp_path / "cases.onnx", export_path=tmp_path / "out", **values)
    run_checked(tmp_path / "out")


def test_every_rule_has_a_case() -> None:
    assert set(RULES) - NOT_OPS <= {case.op for case in CASES}
    assert len(RULES) >= 120


def test_the_page_is_the_table() -> None:
    assert Path(__file__).parents[2].joinpath("docs/onnx.md").read_text() == onnx_table(markdown=True) + "\n"
