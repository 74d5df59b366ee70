"""Moves of data on rows instead of tiles: which ones, from which level on, and that nothing but the time changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, arrays, build
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.builtin import ModuleOp

from alchemist.ir import access
from alchemist.ir.dialects import named
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.ops.evaluate import run as run_ttir
from alchemist.optimizer.movement import device_ns
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.tables import table

Form = Callable[..., Any]


def reshaped(g: Graph, x: Any, *dims: int) -> Any:
    return g("reshape", x, out=dims, of=access.element_type(x), shape=list(dims))


def permuted(g: Graph, x: Any, *order: int) -> Any:
    dims = access.shape(x)
    return g("permute", x, out=tuple(dims[axis] for axis in order), of=access.element_type(x), permutation=list(order))


def cut(g: Graph, x: Any, dim: int, begin: int, end: int, step: int = 1) -> Any:
    dims = list(access.shape(x))
    begins, ends, steps = [0] * len(dims), list(dims), [1] * len(dims)
    begins[dim], ends[dim], steps[dim] = begin, end, step
    dims[dim] = -(-(end - begin) // step)
    return g("slice_static", x, out=tuple(dims), of=access.element_type(x), begins=begins, ends=ends, step=steps)


def joined(g: Graph, dim: int, *parts: Any) -> Any:
    dims = list(access.shape(parts[0]))
    dims[dim] = sum(access.shape(part)[dim] for part in parts)
    return g("concat", *parts, out=tuple(dims), of=access.element_type(parts[0]), dim=dim)


def windows(g: Graph, x: Any) -> Any:
    """[1, 784, C] pixels of 28 x 28 -> 16 windows of 7 x 7"""
    channels = access.shape(x)[-1]
    return reshaped(g, permuted(g, reshaped(g, x, 4, 7, 4, 7, channels), 0, 2, 1, 3, 4), 16, 49, channels)


def shifted_windows(g: Graph, x: Any) -> Any:
    channels = access.shape(x)[-1]
    image = reshaped(g, x, 1, 28, 28, channels)
    for dim in (1, 2):
        image = joined(g, dim, cut(g, image, dim, 3, 28), cut(g, image, dim, 0, 3))
    return windows(g, image)


def merged_patches(g: Graph, x: Any) -> Any:
    """Every second pixel of every second line, side by side"""
    image = reshaped(g, x, 1, 28, 28, access.shape(x)[-1])
    parts = [cut(g, cut(g, image, 1, down, 28, 2), 2, right, 28, 2) for right in (0, 1) for down in (0, 1)]
    return reshaped(g, joined(g, 3, *parts), 1, 196, 4 * access.shape(x)[-1])


def two_readers(g: Graph, x: Any) -> Any:
    """The windows are read in tiles, and moved on: every second one of them, by columns."""
    channels = access.shape(x)[-1]
    inner = windows(g, x)
    some = permuted(g, reshaped(g, cut(g, inner, 0, 0, 16, 2), 4, 2, 49, channels), 1, 2, 0, 3)
    return reshaped(g, some, 2, 196, channels), inner


def made(form: Form, of: str = "bf16", channels: int = 96) -> ModuleOp:
    """relu(form(relu(x))) of pixels x: what moves is in tiles before and behind."""

    def net(g: Graph, x: Any) -> Any:
        results = form(g, g("relu", x, of=of))
        several = results if isinstance(results, tuple) else (results,)
        ends = tuple(g("exp", each, of=of) for each in several)
        return ends if isinstance(results, tuple) else ends[0]

    return build(net, ((1, 784, channels), of, "input"))


def pages(module: ModuleOp) -> list[str]:
    """Of the moves' results."""
    (forward,) = [func for func in functions(module) if not is_const_eval(func)]
    layouts = [layout_of(op.results[0].type) for op in forward.body.block.ops if op.name in named("ttnn", "move") | {"ttnn.roll"}]
    return [layout.page for layout in layouts if layout is not None]


def total_ns(module: ModuleOp, card: str) -> float:
    (forward,) = [func for func in functions(module) if not is_const_eval(func)]
    return sum(device_ns([op], card) for op in forward.body.block.ops if op.name.startswith("ttnn.") and op.name not in ("ttnn.deallocate", "ttnn.get_device"))


FORMS: dict[str, Form] = {
    "shifted windows": shifted_windows,
    "merged patches": merged_patches,
    "windows that are read and moved on": two_readers,
}


@table("card", ["n150", "p150"])
@table("of", ["bf16", "f32"])
@table("form", FORMS)
def test_moves_within_tiles_work_on_rows(form: str, of: str, card: str) -> None:
    before = made(FORMS[form], of)
    level = {"optimization_level": 1, "arch": card}
    lowered = lower_to_ttnn(before, CompilerOptions.parse(level)).module
    plain = lower_to_ttnn(before, CompilerOptions.parse({**level, "disable": ("moves-in-rows",)})).module
    assert pages(plain).count("row_major") == 0
    assert pages(lowered).count("row_major") >= 3
    assert total_ns(lowered, card) < 0.85 * total_ns(plain, card)
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttnn(lowered, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    ("form", "level"),
    [
        pytest.param(windows, 0, id="level 0 leaves tiles alone"),
        pytest.param(lambda g, x: reshaped(g, x, 1, 1, 784, 96), 1, id="a view of the same tiles costs nothing"),
        pytest.param(lambda g, x: cut(g, x, 1, 32, 96), 1, id="rows of whole tiles"),
        pytest.param(lambda g, x: permuted(g, x, 0, 2, 1), 1, id="a transpose of whole tiles"),
    ],
)
def test_moves_of_whole_tiles_stay(form: Form, level: int) -> None:
    lowered = lower_to_ttnn(made(form), CompilerOptions(optimization_level=level)).module
    assert "row_major" not in pages(lowered)


def test_rows_that_come_and_go_are_not_put_into_tiles() -> None:
    """Lines of an image are in rows already, and what reads them wants rows: no op changes layouts between."""

    def net(g: Graph, table: Any, ids: Any) -> Any:
        rows = g("embedding", ids, table, out=(1, 784, 96), of="bf16")
        return g("relu", windows(g, rows), of="bf16")

    before = build(net, ((50, 96), "bf16", "parameter"), ((1, 784), "i32", "input"))
    lowered = lower_to_ttnn(before, CompilerOptions(optimization_level=1)).module
    (forward,) = [func for func in functions(lowered) if not is_const_eval(func)]
    conversions = [op for op in forward.body.block.ops if op.name == "ttnn.to_layout" and access.shape(op.results[0])[-1] == 96]
    assert len(conversions) <= 2
    assert set(pages(lowered)) == {"row_major"}
