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
from alchemist.frontends.onnx.registry import RULES
from alchemist.frontends.onnx.table import onnx_table
from alchemist.ops import evaluate
from tests.captured import same_as_recorded
from tests.frontends_onnx.cases import CASES, Case, model_of
from tests.frontends_onnx.running import run_checked

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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_lowered(case: Case, tmp_path: Path) -> None:
    model, values = model_of([case], case.opset)
    onnx.save(model, tmp_path / "case.onnx")
    result = load(tmp_path / "case.onnx", kwargs=values)
    same_as_recorded(result)
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
