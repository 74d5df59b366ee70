"""Columns and heads by way of transposes, from optimization level 1 on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, arrays, build, names
from test_moves_in_rows import total_ns
from ttnn_numpy import run as run_ttnn

from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.tables import table

Form = Callable[[Graph, Any], Any]


def reshaped(g: Graph, x: Any, *dims: int) -> Any:
    return g("reshape", x, out=dims, shape=list(dims))


def split(g: Graph, x: Any, dims: tuple[int, ...], *order: int) -> Any:
    whole = reshaped(g, x, *dims)
    return g("permute", whole, out=tuple(dims[place] for place in order), permutation=list(order))


def joined(g: Graph, x: Any, dims: tuple[int, ...], order: tuple[int, ...], out: tuple[int, ...]) -> Any:
    return reshaped(g, g("permute", x, out=tuple(dims[place] for place in order), permutation=list(order)), *out)


def read_twice(g: Graph, x: Any) -> Any:
    whole = reshaped(g, x, 2, 64, 4, 32)
    return g("permute", whole, out=(2, 4, 64, 32), permutation=[0, 2, 1, 3]), g("tanh", whole)


# shape of the input, form, transposes of the program
TURNED: dict[str, tuple[tuple[int, ...], Form, int]] = {
    "a column of a row": ((1, 128), lambda g, x: reshaped(g, x, 1, 128, 1), 1),
    "a row of a column": ((2, 32, 32, 1), lambda g, x: reshaped(g, x, 2, 32, 32), 1),
    "heads of whole tiles": ((2, 64, 128), lambda g, x: split(g, x, (2, 64, 4, 32), 0, 2, 1, 3), 2),
    "heads of joined batches": ((1, 128, 128), lambda g, x: split(g, x, (2, 64, 4, 32), 0, 2, 1, 3), 2),
    "heads that are turned": ((2, 64, 128), lambda g, x: split(g, x, (2, 64, 4, 32), 0, 2, 3, 1), 1),
    "heads of two and of three": ((2, 64, 192), lambda g, x: split(g, x, (2, 64, 3, 2, 32), 2, 0, 3, 1, 4), 2),
    "half tiles, heads joined": ((2, 4, 64, 16), lambda g, x: joined(g, x, (2, 4, 64, 16), (0, 2, 1, 3), (2, 64, 64)), 2),
}
LEFT: dict[str, tuple[tuple[int, ...], Form, dict[str, Any]]] = {
    "level 0": ((2, 64, 128), TURNED["heads of whole tiles"][1], {"optimization_level": 0}),
    "switched off": ((2, 64, 128), TURNED["heads of whole tiles"][1], {"disable": "turned-moves"}),
    "read twice": ((2, 64, 128), read_twice, {}),
    "columns of rows, one program that writes narrow rows": ((4, 128), lambda g, x: reshaped(g, x, 4, 128, 1), {}),
    "rows that stay rows": ((2, 64, 128), lambda g, x: reshaped(g, x, 4, 32, 128), {}),
    "tokens of one tile stay behind heads": ((2, 4, 8, 64), lambda g, x: split(g, x, (2, 4, 8, 64), 1, 0, 2, 3), {}),
}


def lowered(dims: tuple[int, ...], form: Form, options: dict[str, Any]) -> tuple[Any, Any]:
    before = build(form, (dims, "f32", "input"))
    after = lower_to_ttnn(before, CompilerOptions.parse({"optimization_level": 1, **options})).module
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttnn(after, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6, atol=1e-6)
    return before, after


@table("card", ["n150", "p150"])
@table("case", TURNED)
def test_turned(case: str, card: str) -> None:
    dims, form, transposes = TURNED[case]
    after = lowered(dims, form, {"arch": card})[1]
    assert names(after).count("transpose") == transposes, names(after)
    plain = lowered(dims, form, {"arch": card, "disable": "turned-moves"})[1]
    assert total_ns(after, card) < 0.9 * total_ns(plain, card)


@pytest.mark.parametrize("case", LEFT)
def test_left_alone(case: str) -> None:
    dims, form, options = LEFT[case]
    assert "transpose" not in names(lowered(dims, form, options)[1])
