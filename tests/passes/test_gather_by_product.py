"""Gathers of the same columns of all rows, as products with ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, build, names
from ttnn_numpy import run as run_ttnn

from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn

ROWS, COLUMNS, COUNT = 32, 64, 340
X = ((2, ROWS, 16), "f32", "input")
WEIGHT = ((16, COLUMNS), "f32", "parameter")
INDEX = ((2, 1, COUNT), "si32", "input")
NARROW = ((2, ROWS, COLUMNS), "bf16", "input")


def gathered(g: Graph, x: Any, index: Any, dims: tuple[int, ...] = (2, ROWS, COUNT), of: str = "f32") -> Any:
    spread = g("broadcast", index, out=dims, of="si32", broadcast_dimensions=[1, dims[1], 1])
    return g("gather", x, spread, out=dims, of=of, dim=2)


def multiplied(g: Graph, x: Any, weight: Any) -> Any:
    return g("matmul", x, weight, out=(2, ROWS, COLUMNS))


def masked(g: Graph, x: Any, weight: Any, bias: Any, index: Any) -> Any:
    value = g("add", multiplied(g, x, weight), bias)
    turned = g("permute", g("reshape", value, out=(ROWS, 2, COLUMNS), shape=(ROWS, 2, COLUMNS)), out=(2, ROWS, COLUMNS), permutation=(1, 0, 2))
    return gathered(g, turned, index)


FUSED: dict[str, Any] = {
    "columns of a product": build(lambda g, x, w, i: gathered(g, multiplied(g, x, w), i), X, WEIGHT, INDEX),
    "with a bias and moved": build(masked, X, WEIGHT, ((COLUMNS,), "f32", "parameter"), INDEX),
    "bfloat16 of an input": build(lambda g, x, i: gathered(g, x, i, of="bf16"), NARROW, INDEX),
}
KEPT: dict[str, Any] = {
    "float32 of an input": build(lambda g, x, i: gathered(g, x, i), ((2, ROWS, COLUMNS), "f32", "input"), INDEX),
    "others of each row": build(lambda g, x, i: g("gather", x, i, out=(2, ROWS, COUNT), of="bf16", dim=2), NARROW, ((2, ROWS, COUNT), "si32", "input")),
    "rows": build(
        lambda g, x, i: g(
            "gather", x, g("broadcast", i, out=(2, 8, COLUMNS), of="si32", broadcast_dimensions=[1, 1, COLUMNS]), out=(2, 8, COLUMNS), of="bf16", dim=1
        ),
        NARROW,
        ((2, 8, 1), "si32", "input"),
    ),
    "so many columns that ones take longer": build(
        lambda g, x, i: gathered(g, x, i, (2, ROWS, 4096), "bf16"), ((2, ROWS, 1 << 15), "bf16", "input"), ((2, 1, 4096), "si32", "input")
    ),
}


def inputs_of(module: Any) -> list[Any]:
    """Indices in range among values."""
    random = np.random.default_rng(5)
    found = []
    for argument in next(op for op in module.walk() if op.name == "func.func").body.block.args:
        dims = argument.type.get_shape()
        found.append(random.integers(0, COLUMNS, dims).astype(np.int32) if "i32" in str(argument.type) else random.normal(size=dims).astype(np.float32))
    return found


def lowered(module: Any, level: int = 1) -> Any:
    return lower_to_ttnn(module, CompilerOptions(optimization_level=level))


@pytest.mark.parametrize("case", FUSED)
def test_one_product(case: str) -> None:
    before = FUSED[case]
    after = lowered(before)
    assert "gather" not in names(after.module) and "eq" in names(after.module)
    inputs = inputs_of(before)
    for want, have in zip(run_ttir(before, inputs), run_ttnn(after.module, [*inputs, *after.constants.values()]), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-2, atol=1e-2)
    assert "gather" in names(lowered(before, 0).module)


@pytest.mark.parametrize("case", KEPT)
def test_left_alone(case: str) -> None:
    assert "gather" in names(lowered(KEPT[case]).module)
