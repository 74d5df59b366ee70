"""Modules of a few ops: collectives, refusals, and faults that the lock-step run sees."""

from __future__ import annotations

import importlib.util
from functools import partial

import numpy as np
import pytest

from alchemist.errors import InputError, InternalError, LoweringError, OptionError
from alchemist.frontends.base import Argument, FrontendResult, Mesh, Output
from alchemist.ir import access
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import all_ops, replace
from alchemist.ir.value import Value
from alchemist.mesh import local, lockstep, partition, shardy
from alchemist.ops import evaluate

SHAPES = {"x": (4, 8), "up": (16, 8), "up_bias": (16,), "down": (8, 16), "down_bias": (8,)}
PLAN = {"x": (0, None), "up": (None, 0), "down": (None, 1)}


def _perceptron() -> FrontendResult:
    """Two linear layers with biases; the first is cut by its outputs, the second by its inputs."""
    rng = np.random.default_rng(0)
    values = {name: rng.standard_normal(shape, np.float32) for name, shape in SHAPES.items()}
    kinds = [(name, tensor(shape, "f32"), "input" if name == "x" else "parameter", None) for name, shape in SHAPES.items()]
    b = Builder.module("forward", kinds)
    x, up, up_bias, down, down_bias = b.args
    hidden = Value(b, b.value("ttir.linear", [x, up, up_bias], {"transpose_b": True})).op("relu")
    result = b.value("ttir.linear", [hidden.ssa, down, down_bias], {"transpose_b": True})
    b.ret([result])
    arguments = [Argument(name, "input" if name == "x" else "parameter", shape, "float32", partial(values.__getitem__, name)) for name, shape in SHAPES.items()]
    return FrontendResult(b.module_op, "mlir", "perceptron", arguments, [Output("y", (4, 8), "float32")], None)


def _partitioned(mesh: Mesh, plan=PLAN) -> FrontendResult:
    captured = _perceptron()
    return partition(captured, mesh, [plan.get(argument.name) for argument in captured.arguments])


def _error(made: FrontendResult) -> float:
    captured = _perceptron()
    values = [argument.value() for argument in captured.arguments]
    (want,), (got,) = evaluate.run(captured.module, values), lockstep.run(made)
    return float(np.abs(want - got).max())


def _ops(made: FrontendResult, name: str) -> list:
    return [op for op in all_ops(made.module) if op.name == f"ttir.{name}"]


@pytest.mark.parametrize("mesh", [Mesh(1, 2), Mesh(2, 1), Mesh(2, 2), Mesh(2, 4)], ids=str)
def test_one_sum_is_all_that_a_perceptron_needs(mesh: Mesh) -> None:
    made = _partitioned(mesh)
    assert len(_ops(made, "all_reduce")) == (mesh.columns > 1)
    assert access.shape(made.module.body.block.first_op.body.block.args[1]) == (16 // mesh.columns, 8)
    assert {argument.name: argument.placement for argument in made.arguments}["up_bias"] == (None, 0 if mesh.columns > 1 else None)
    assert _error(made) < 1e-5


def test_a_wrong_op_is_named_at_export(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chip's mean that divides its sum by the count of its own part."""
    b = Builder.module("forward", [("x", tensor((4, 8), "f32"), "input", None)])
    (x,) = b.args
    b.ret([b.value("ttir.mean", [x], {"dim_arg": [1], "keep_dim": True}, [tensor((4, 1), "f32")])])
    values = np.arange(32, dtype=np.float32).reshape(4, 8)
    captured = FrontendResult(b.module_op, "mlir", "mean", [Argument("x", "input", (4, 8), "float32", lambda: values)], [Output("y", (4, 1), "float32")], None)
    made = partition(captured, Mesh(2, 4), [(0, 1)])
    assert np.array_equal(lockstep.run(made)[0], values.mean(1, keepdims=True))
    right = local.Localizer._mean
    monkeypatch.setattr(local.Localizer, "_mean", lambda self, op, count: right(self, op, count // 4))
    with pytest.raises(InternalError, match="computes other values than the whole model's") as caught:
        partition(captured, Mesh(2, 4), [(0, 1)])
    assert caught.value.op == "ttir.all_reduce"
    assert partition(captured, Mesh(2, 4), [(0, 1)], is_compared=False)


def test_the_bias_is_added_behind_the_sum() -> None:
    made = _partitioned(Mesh(1, 2))
    (summed,) = _ops(made, "all_reduce")
    (use,) = summed.results[0].uses
    assert use.operation.name == "ttir.add"


def test_a_dropped_sum_is_seen() -> None:
    made = _partitioned(Mesh(2, 2))
    (summed,) = _ops(made, "all_reduce")
    replace(summed, [summed.operands[0]])
    with pytest.raises(InternalError, match="chip 1 has other values of y"):
        _error(made)


def test_a_bias_that_every_chip_adds_is_seen() -> None:
    made = _partitioned(Mesh(1, 2))
    (summed,) = _ops(made, "all_reduce")
    (use,) = summed.results[0].uses
    added = use.operation
    summed.results[0].replace_all_uses_with(summed.operands[0])
    summed.operands = [added.results[0]]
    summed.detach()
    added.parent.insert_op_after(summed, added)
    for use in [use for use in added.results[0].uses if use.operation is not summed]:
        use.operation.operands[use.index] = summed.results[0]
    assert _error(made) > 0.1


def test_a_sum_along_the_other_axis_is_seen() -> None:
    made = _partitioned(Mesh(2, 2))
    (summed,) = _ops(made, "all_reduce")
    access.set_attr(summed, "cluster_axis", 0)
    with pytest.raises(InternalError, match="other values of y"):
        _error(made)


def test_a_dimension_that_both_axes_cut_is_stored_over_one() -> None:
    made = _partitioned(Mesh(2, 2), {"up": (0, 0)})
    assert {argument.name: argument.placement for argument in made.arguments}["up"] == (0, None)
    assert access.shape(_ops(made, "mesh_partition")[0].results[0]) == (4, 8)
    assert _error(made) < 1e-5


@pytest.mark.parametrize(
    ("mesh", "plan", "message"),
    [
        (Mesh(1, 3), {"up": (None, 0)}, "dimension 0 of up cannot be cut over the mesh"),
    ],
)
def test_refusals(mesh: Mesh, plan, message: str) -> None:
    with pytest.raises((LoweringError, InputError), match=message):
        _partitioned(mesh, plan)


def test_a_missing_jaxlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    shardy._SHARDY.close()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"alchemist-ttnn\[mesh\]"):
        _partitioned(Mesh(1, 2))


def test_another_shardy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shardy._SHARDY.close()
    monkeypatch.setattr(shardy, "_TEST", shardy._TEST.replace(" reduction={j}", ""))
    with pytest.raises(OptionError, match="does not partition a product as expected"):
        _partitioned(Mesh(1, 2))


def test_a_weight_that_is_sliced_behind_its_product_is_cut_slice_by_slice() -> None:
    """Query, key and value side by side: no chip needs what another has."""
    rng = np.random.default_rng(0)
    values = {"x": rng.standard_normal((4, 8), np.float32), "qkv.weight": rng.standard_normal((8, 24), np.float32), "qkv.bias": np.ones(24, np.float32)}
    kinds = [(name, tensor(value.shape, "f32"), "input" if name == "x" else "parameter", None) for name, value in values.items()]
    b = Builder.module("forward", kinds)
    product = Value(b, b.value("ttir.linear", [*b.args], {})).reshape(2, 2, 24)
    query, key, value = (product.cut(2, begin, begin + 8) for begin in (0, 8, 16))
    b.ret([(query * key + value).ssa])
    arguments = [
        Argument(name, "input" if name == "x" else "parameter", one.shape, "float32", partial(values.__getitem__, name)) for name, one in values.items()
    ]
    captured = FrontendResult(b.module_op, "mlir", "heads", arguments, [Output("y", (2, 2, 8), "float32")], None)
    made = partition(captured, Mesh(1, 4), [None, (None, 1), None])
    assert [argument.name for argument in made.arguments[1:3]] == ["qkv.weight_0", "qkv.bias_0"]
    assert not [op for op in all_ops(made.module) if access.attr(op, "cluster_axis") is not None]
    (want,), (got,) = evaluate.run(captured.module, list(values.values())), lockstep.run(made)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_a_norm_by_channel_is_cut_by_images_and_by_channels() -> None:
    rng = np.random.default_rng(0)
    values = [rng.random(shape, np.float32) + 0.5 for shape in [(4, 2, 2, 8), *[(8,)] * 4]]
    b = Builder.module("forward", [(f"x{place}", tensor(value.shape, "f32"), "parameter", None) for place, value in enumerate(values)])
    b.ret([b.value("ttir.batch_norm_inference", [*b.args], {"epsilon": 1e-5, "dimension": 3})])
    arguments = [Argument(f"x{place}", "parameter", value.shape, "float32", partial(np.asarray, value)) for place, value in enumerate(values)]
    captured = FrontendResult(b.module_op, "mlir", "norm", arguments, [Output("y", (4, 2, 2, 8), "float32")], None)
    made = partition(captured, Mesh(2, 2), [(0, 3), *[None] * 4])
    assert [argument.placement for argument in made.arguments] == [(0, 3), *[(None, 0)] * 4]
    assert not [op for op in all_ops(made.module) if access.attr(op, "cluster_axis") is not None]
    (want,), (got,) = evaluate.run(captured.module, values), lockstep.run(made)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_heads_that_chips_do_not_divide_stay_whole() -> None:
    """Two key-value heads for eight query heads on four chips: each chip makes both and takes what its query heads read."""
    rng = np.random.default_rng(0)
    values = {"query": rng.standard_normal((1, 8, 4, 4), np.float32), "key": rng.standard_normal((1, 2, 4, 4), np.float32)}
    b = Builder.module("forward", [(name, tensor(value.shape, "f32"), "parameter", None) for name, value in values.items()])
    query, key = b.args
    spread = Value(b, key).reshape(1, 2, 1, 4, 4).broadcast(1, 2, 4, 4, 4).reshape(1, 8, 4, 4)
    b.ret([b.value("ttir.scaled_dot_product_attention", [query, spread.ssa, spread.ssa], {"is_causal": True, "scale": 0.5})])
    arguments = [Argument(name, "parameter", one.shape, "float32", partial(values.__getitem__, name)) for name, one in values.items()]
    captured = FrontendResult(b.module_op, "mlir", "heads", arguments, [Output("y", (1, 8, 4, 4), "float32")], None)
    made = partition(captured, Mesh(1, 4), [(None, 1), None])
    (attention,) = _ops(made, "scaled_dot_product_attention")
    assert access.shape(attention.results[0]) == (1, 2, 4, 4)
    (want,), (got,) = evaluate.run(captured.module, list(values.values())), lockstep.run(made)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_tables_of_two_lengths_have_first_rows_of_their_own() -> None:
    kinds = [(name, tensor(shape, kind), "input", None) for name, shape, kind in (("ids", (4,), "i32"), ("a", (8, 2), "f32"), ("b", (16, 2), "f32"))]
    b = Builder.module("forward", kinds)
    ids, first, second = b.args
    found = [b.value("ttir.embedding", [ids, table], {}, [tensor((4, 2), "f32")]) for table in (first, second)]
    b.ret([b.value("ttir.add", found, {}, [tensor((4, 2), "f32")])])
    values = {"ids": np.array([0, 3, 5, 7], np.int32), "a": np.arange(16, dtype=np.float32).reshape(8, 2), "b": np.arange(32, dtype=np.float32).reshape(16, 2)}
    arguments = [Argument(name, "input", value.shape, str(value.dtype), partial(values.__getitem__, name)) for name, value in values.items()]
    made = partition(FrontendResult(b.module_op, "mlir", "tables", arguments, [Output("y", (4, 2), "float32")], None), Mesh(1, 2), [None, *[(None, 0)] * 2])
    added = {argument.name: argument.value().tolist() for argument in made.arguments[3:]}  # a file is named by its argument
    assert added == {"first_row": [-1, 3], "first_row_2": [-1, 7]}
    assert np.array_equal(lockstep.run(made)[0], values["a"][values["ids"]] + values["b"][values["ids"]])
