"""Functions of single elements in one program, from optimization level 1 on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, arrays, build, names
from ttnn_numpy import run as run_ttnn

from alchemist.ops.evaluate import run as run_ttir
from alchemist.optimizer.movement import device_ns
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.tables import table

DIMS = (2, 64, 96)
X = (DIMS, "f32", "input")
Y = (DIMS, "f32", "input")
Formula = Callable[[Graph, Any, Any], Any]


def scaled(g: Graph, x: Any, factor: float, op: str = "multiply") -> Any:
    return g(op, x, g.number(factor, DIMS))


def twice_read(g: Graph, x: Any, y: Any) -> Any:
    half = scaled(g, x, 0.5)
    return g("tanh", half), g("add", half, y)


# formula, ops of the program, functions behind a binary op, functions in front of its operands
FUSED: dict[str, tuple[Formula, list[str], int, tuple[int, int]]] = {
    "a cap": (lambda g, x, y: scaled(g, g("tanh", scaled(g, x, 30.0, "div")), 30.0), ["unary_chain"], 0, (0, 0)),
    "a number alone": (lambda g, x, y: scaled(g, x, 0.25), ["unary_chain"], 0, (0, 0)),
    "a number in front": (lambda g, x, y: g("subtract", g.number(1.0, DIMS), g("sigmoid", x)), ["unary_chain"], 0, (0, 0)),
    "a norm's divisor": (lambda g, x, y: g("rsqrt", scaled(g, g("multiply", x, x), 1e-5, "add")), ["unary_chain"], 0, (0, 0)),
    "behind a difference": (lambda g, x, y: scaled(g, g("exp", g("subtract", x, y)), 2.0), ["subtract"], 2, (0, 0)),
    "a square of a difference": (lambda g, x, y: (lambda d: g("multiply", d, d))(g("subtract", x, y)), ["subtract"], 1, (0, 0)),
    "in front of a sum": (lambda g, x, y: g("add", scaled(g, x, 0.25), y), ["add"], 0, (1, 0)),
    "in front of both": (lambda g, x, y: g("multiply", scaled(g, x, 3.0), g("sigmoid", scaled(g, y, 1.7))), ["multiply"], 0, (1, 2)),
    "in front of a gate": (lambda g, x, y: g("multiply", g("silu", scaled(g, x, 0.5)), y), ["multiply"], 0, (2, 0)),
}
KEPT: dict[str, tuple[Formula, dict[str, Any], list[str]]] = {
    "level 0": (lambda g, x, y: g("tanh", scaled(g, x, 2.0)), {"optimization_level": 0}, ["multiply", "tanh"]),
    "switched off": (lambda g, x, y: g("tanh", scaled(g, x, 2.0)), {"disable": "fuse-unary-chain"}, ["multiply", "tanh"]),
    "read twice": (twice_read, {}, ["unary_chain", "tanh", "add"]),
    "one function": (lambda g, x, y: g("tanh", x), {}, ["tanh"]),
    "another shape": (
        lambda g, x, y: g("add", scaled(g, x, 0.5), g("mean", y, out=(2, 64, 1), dim_arg=[2], keep_dim=True)),
        {},
        ["unary_chain", "mean", "add"],
    ),
    "functions that jump": (lambda g, x, y: g("floor", scaled(g, x, 3.0)), {}, ["unary_chain", "floor"]),
    "another type behind": (lambda g, x, y: g("typecast", scaled(g, g("add", x, y), 0.5), of="bf16"), {}, ["add", "multiply"]),
}


def lowered(formula: Formula, options: dict[str, Any]) -> tuple[Any, Any]:
    before = build(formula, X, Y)
    return before, lower_to_ttnn(before, CompilerOptions.parse({"optimization_level": 1, **options})).module


def assert_equal_values(before: Any, after: Any) -> None:
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttnn(after, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-2, atol=1e-4)


def calls(module: Any) -> list[str]:
    return [name for name in names(module) if name not in ("full", "deallocate", "get_device")]


@table("case", FUSED)
def test_one_program(case: str) -> None:
    formula, ops, behind, in_front = FUSED[case]
    before, after = lowered(formula, {})
    assert calls(after) == ops
    op = next(op for op in after.walk() if op.name == f"ttnn.{ops[0]}")
    sizes = [len(op.attributes[name].data) if name in op.attributes else 0 for name in ATTRIBUTES]
    assert sizes == [behind, *in_front]
    assert_equal_values(before, after)
    plain = lowered(formula, {"disable": "fuse-unary-chain"})[1]
    assert total_ns(after) < total_ns(plain)


@pytest.mark.parametrize("case", KEPT)
def test_left_alone(case: str) -> None:
    formula, options, ops = KEPT[case]
    before, after = lowered(formula, options)
    assert calls(after) == ops
    assert_equal_values(before, after)


def test_what_const_eval_makes_keeps_its_ops() -> None:
    """A weight plus one is made once, and called after what was done to it."""
    module = build(lambda g, x, w: g("multiply", g("exp", x), scaled(g, w, 1.0, "add")), X, (DIMS, "f32", "parameter"))
    after = lower_to_ttnn(module, CompilerOptions.parse({"optimization_level": 1})).module
    assert [name for name in names(after, "forward_const_eval_0") if name in ("add", "unary_chain")] == ["add"]


ATTRIBUTES = ("alchemist.activations", "alchemist.lhs_activations", "alchemist.rhs_activations")


def total_ns(module: Any) -> float:
    return sum(device_ns([op], "n150") for op in module.walk() if op.name.startswith("ttnn.") and op.name.split(".")[1] in calls(module))


def test_a_number_of_every_binary_op_has_a_price() -> None:
    """The library names a number's parameter otherwise than a tensor's in some ops: calls have it by position."""
    for name in ("div", "minimum", "maximum", "subtract"):
        module = lowered(lambda g, x, y, name=name: scaled(g, x, 2.0, name), {"optimization_level": 0})[1]
        assert 1000 < total_ns(module) < 100_000, name
