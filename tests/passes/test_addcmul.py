"""A product that is only added, in the program of the sum, from optimization level 1 on."""

from __future__ import annotations

from typing import Any

import pytest
from pass_graphs import Graph, build
from test_unary_chains import DIMS, Formula, X, Y, assert_equal_values, calls, scaled, total_ns

from alchemist.ir import access
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn

Z = (DIMS, "f32", "input")
ROW = ((1, 1, 96), "f32", "input")
COLUMN = ((2, 64, 1), "f32", "input")


def product_and(g: Graph, x: Any, y: Any) -> tuple[Any, Any]:
    product = g("multiply", x, y)
    return g("add", product, x), product


# formula, dims of the third operand, sign of the product
FUSED: dict[str, tuple[Formula, tuple[Any, ...], float]] = {
    "a product behind": (lambda g, x, y, z: g("add", z, g("multiply", x, y)), Z, 1.0),
    "a product in front": (lambda g, x, y, z: g("add", g("multiply", x, y), z), Z, 1.0),
    "a difference": (lambda g, x, y, z: g("subtract", z, g("multiply", x, y)), Z, -1.0),
    "a row added": (lambda g, x, y, z: g("add", g("multiply", x, y), z), ROW, 1.0),
    "scaled by a row": (lambda g, x, y, z: g("add", x, g("multiply", y, z)), ROW, 1.0),
    "scaled by a column": (lambda g, x, y, z: g("add", x, g("multiply", y, z)), COLUMN, 1.0),
    "two products": (lambda g, x, y, z: g("add", g("multiply", x, y), g("multiply", x, z)), Z, 1.0),
}
KEPT: dict[str, tuple[Formula, dict[str, Any], list[str]]] = {
    "level 0": (lambda g, x, y: g("add", x, g("multiply", x, y)), {"optimization_level": 0}, ["multiply", "add"]),
    "switched off": (lambda g, x, y: g("add", x, g("multiply", x, y)), {"disable": "fuse-addcmul"}, ["multiply", "add"]),
    "read twice": (product_and, {}, ["multiply", "add"]),
    "a difference from it": (lambda g, x, y: g("subtract", g("multiply", x, y), x), {}, ["multiply", "subtract"]),
    "a number": (lambda g, x, y: g("add", x, scaled(g, y, 0.5)), {}, ["add"]),
    "both are one product": (lambda g, x, y: (lambda p: g("add", p, p))(g("multiply", x, y)), {}, ["multiply", "add"]),
    "another type": (lambda g, x, y: g("typecast", g("add", x, g("multiply", x, y)), of="bf16"), {}, ["multiply", "add"]),
}


def lowered(before: Any, **options: Any) -> Any:
    return lower_to_ttnn(before, CompilerOptions.parse({"optimization_level": 1, **options})).module


@pytest.mark.parametrize("case", FUSED)
def test_one_program(case: str) -> None:
    formula, third, sign = FUSED[case]
    before = build(formula, X, Y, third)
    after = lowered(before)
    assert calls(after)[-1] == "addcmul" and "add" not in calls(after) and "subtract" not in calls(after)
    assert {access.attr(op, "value") for op in after.walk() if op.name == "ttnn.addcmul"} == {sign}
    assert_equal_values(before, after)
    assert total_ns(after) < total_ns(lowered(before, disable="fuse-addcmul"))


@pytest.mark.parametrize("case", KEPT)
def test_left_alone(case: str) -> None:
    formula, options, ops = KEPT[case]
    before = build(formula, X, Y)
    after = lowered(before, **options)
    assert calls(after) == ops
    assert_equal_values(before, after)


def test_operands_that_the_library_takes_apart_again_stay_two_programs() -> None:
    """Rows of one operand, columns of another and a batch of the third broadcast in no pattern of the ternary program."""
    shapes = [((1, 64, 1), "f32", "input"), ((2, 1, 96), "f32", "input"), ((2, 64, 96), "f32", "input")]
    before = build(lambda g, x, y, z: g("add", z, g("multiply", x, y, out=DIMS)), *shapes)
    after = lowered(before)
    assert calls(after) == ["multiply", "add"]
    assert_equal_values(before, after)
