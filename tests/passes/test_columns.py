"""Columns that models cut and join: rotary embeddings of whole tiles and of less, of halves and of pairs, of a part of each head; casts of sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, arrays, build, names
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.builtin import ModuleOp

from alchemist.ir import access
from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.tables import table

HEADS, ROWS = 4, 32


def cut(g: Graph, x: Any, begin: int, end: int, step: int = 1, dim: int = -1) -> Any:
    dims = list(access.shape(x))
    begins, ends, steps = [0] * len(dims), list(dims), [1] * len(dims)
    begins[dim], ends[dim], steps[dim] = begin, end, step
    out = tuple(-(-(b - a) // by) for a, b, by in zip(begins, ends, steps, strict=True))
    return g("slice_static", x, out=out, of=access.element_type(x), begins=begins, ends=ends, step=steps)


def joined(g: Graph, *parts: Any, dim: int = 3) -> Any:
    dims = list(access.shape(parts[0]))
    dims[dim] = sum(access.shape(part)[dim] for part in parts)
    return g("concat", *parts, out=tuple(dims), of=access.element_type(parts[0]), dim=dim)


def halves(g: Graph, x: Any) -> Any:
    """[-x2, x1]"""
    size = access.shape(x)[-1]
    return joined(g, g("neg", cut(g, x, size // 2, size), of=access.element_type(x)), cut(g, x, 0, size // 2))


def pairs(g: Graph, x: Any) -> Any:
    """(-x2, x1) of neighbours, as GPT-J and Cohere have it: stacked behind the last dim and flattened."""
    dims, of = access.shape(x), access.element_type(x)
    short = (*dims[:-1], dims[-1] // 2)
    odd, even = g("neg", cut(g, x, 1, dims[-1], 2), out=short, of=of), cut(g, x, 0, dims[-1], 2)
    stacked = joined(g, *(g("reshape", part, out=(*short, 1), of=of, shape=[*short, 1]) for part in (odd, even)), dim=4)
    return g("reshape", stacked, out=dims, of=of, shape=list(dims))


def rotated(g: Graph, x: Any, cos: Any, sin: Any, turn: Any = halves) -> Any:
    of = access.element_type(x)
    return g("add", g("multiply", x, cos, of=of), g("multiply", turn(g, x), sin, of=of), of=of)


def in_part(g: Graph, x: Any, cos: Any, sin: Any, turn: Any = halves, *, behind: bool = True) -> Any:
    """Rotates as many columns as the tables have; the others pass."""
    turning, size = access.shape(cos)[-1], access.shape(x)[-1]
    if behind:
        return joined(g, rotated(g, cut(g, x, 0, turning), cos, sin, turn), cut(g, x, turning, size))
    return joined(g, cut(g, x, 0, size - turning), rotated(g, cut(g, x, size - turning, size), cos, sin, turn))


def some_tokens(g: Graph, x: Any, cos: Any, sin: Any, turn: Any = halves, *, behind: bool = True) -> Any:
    """Rotates as many tokens as the tables have; those in front of them pass, or those behind them."""
    count, turning = access.shape(x)[-2], access.shape(cos)[-2]
    kept = count - turning
    if behind:
        return joined(g, cut(g, x, 0, kept, dim=2), rotated(g, cut(g, x, kept, count, dim=2), cos, sin, turn), dim=2)
    return joined(g, rotated(g, cut(g, x, 0, turning, dim=2), cos, sin, turn), cut(g, x, turning, count, dim=2), dim=2)


def made(
    form: Any,
    width: int,
    tables: int = 0,
    of: str = "f32",
    *,
    columns: int = 0,
    product: bool = True,
    kind: str = "parameter",
    rows: int = 0,
    heads: int = HEADS,
) -> ModuleOp:
    """form(x, cos, sin) of heads [2, heads, 32, width] with so many columns; product: the result is read by a product, as attention's are.
    rows: of the tables, where not all tokens are turned."""
    given = [((1, 1, rows or ROWS, tables), of, kind)] * (2 if tables else 0)

    def net(g: Graph, x: Any, *rest: Any) -> Any:
        y = form(g, x, *rest[:-1])
        return g("matmul", y, rest[-1], out=(*access.shape(y)[:-1], 32), of=of) if product else y

    return build(net, ((2, heads, ROWS, width), of, "input"), *given, ((columns or width, 32), of, "parameter"))


def swapped(g: Graph, x: Any, cos: Any, sin: Any) -> Any:
    return joined(g, g("exp", cut(g, x, 0, 1, dim=2)), rotated(g, cut(g, x, 1, ROWS, dim=2), cos, sin), dim=2)


def halves_alone(g: Graph, x: Any) -> Any:
    return g("exp", halves(g, x), of=access.element_type(x))


ROTARY = ["multiply", "matmul", "multiply", "add"]
IN_HALVES, BY_TILES = ["rotary_embedding_hf"], ["rotary_embedding_llama"]
FORMS: dict[str, tuple[ModuleOp, list[str]]] = {
    "halves of half a tile": (made(rotated, 32, 32), IN_HALVES),
    "halves in bfloat16": (made(rotated, 32, 32, "bf16"), IN_HALVES),
    "halves of whole tiles in float32": (made(rotated, 64, 64), IN_HALVES),
    "pairs": (made(lambda g, *x: rotated(g, *x, turn=pairs), 32, 32), ROTARY),
    "pairs in bfloat16": (made(lambda g, *x: rotated(g, *x, turn=pairs), 96, 96, "bf16"), BY_TILES),
    "some columns of a head": (made(in_part, 32, 8), ROTARY),
    "some columns of a head in pairs": (made(lambda g, *x: in_part(g, *x, turn=pairs), 64, 32), ROTARY),
    "some columns of a head in bfloat16": (made(in_part, 64, 32, "bf16"), BY_TILES),
    "halves of more than a tile in bfloat16": (made(in_part, 128, 64, "bf16"), ["slice_static", "rotary_embedding", "slice_static", "concat"]),
    "all tokens but the first one": (made(some_tokens, 32, 32, rows=ROWS - 1), IN_HALVES),
    "all tokens but the last five, in pairs": (made(lambda g, *x: some_tokens(g, *x, turn=pairs, behind=False), 32, 32, rows=ROWS - 5), ROTARY),
    "every second column": (made(lambda g, x: cut(g, x, 1, 32, 2), 32, columns=16), ["matmul"]),
    "columns that begin no tile": (made(lambda g, x: cut(g, x, 16, 64), 64, columns=48), ["matmul"]),
}
NEAR: dict[str, ModuleOp] = {
    "float32 that nothing rounds": made(rotated, 32, 32, product=False),
    "halves of whole tiles, which cost little to cut": made(halves_alone, 64),
    "columns of whole tiles": made(lambda g, x: cut(g, x, 32, 64), 64, columns=32),
    "some of the rows": made(lambda g, x: cut(g, x, 8, 20, dim=2), 32),
    "tokens of another value in front": made(lambda g, x, *tables: swapped(g, x, *tables), 32, 32, rows=ROWS - 1),
    "two values side by side": made(lambda g, x, *tables: joined(g, cut(g, x, 0, 8), g("exp", cut(g, x, 8, 16))), 32, 16, columns=16),
    "more columns than a product is worth": made(lambda g, x: cut(g, x, 16, 2048), 2048, columns=2032),
}


def products(module: ModuleOp) -> int:
    return sum(op.name == "ttnn.matmul" for op in module.walk())


def ran(module: ModuleOp) -> list[str]:
    """Ops of the program but the last product, views of its rows and what const-eval loads."""
    return [name for name in names(module) if name not in ("load_cached", "deallocate", "reshape")][:-1]


@table("case", FORMS)
def test_forms(case: str) -> None:
    before, wanted = FORMS[case]
    lowered = lower_to_ttnn(before)
    assert ran(lowered.module) == wanted
    inputs = arrays(before)
    tolerance = {"rtol": 1e-4, "atol": 1e-4}
    for want, have in zip(run_ttir(before, inputs), run_ttnn(lowered.module, [*inputs, *lowered.constants.values()]), strict=True):
        np.testing.assert_allclose(have, want, **tolerance)
    kept = lower_to_ttnn(before, CompilerOptions(disable=("columns-by-product", "rotate-whole-heads"))).module
    assert products(kept) == 1


@pytest.mark.parametrize("case", NEAR)
def test_near_misses(case: str) -> None:
    before = NEAR[case]
    assert products(lower_to_ttnn(before).module) <= 1


@pytest.mark.parametrize(("level", "wanted"), [(0, 1), (1, 2)])
def test_products_are_compared_with_the_configs_of_their_level(level: int, wanted: int) -> None:
    """Without a program config, a product of many heads takes longer than the slices that it stands for."""
    before = made(in_part, 64, 48, "bf16", heads=64)
    lowered = lower_to_ttnn(before, CompilerOptions(optimization_level=level))
    assert products(lowered.module) == wanted
    for want, have in zip(run_ttir(before, arrays(before)), run_ttnn(lowered.module, [*arrays(before), *lowered.constants.values()]), strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-2, atol=2e-1)


def test_tables_that_are_no_constants_stay() -> None:
    """The tables of a part of a head are widened by const-eval or not at all."""
    fixed, given = (made(in_part, 32, 8, kind=kind) for kind in ("parameter", "input"))
    assert "concat" not in ran(lower_to_ttnn(fixed).module)
    assert "concat" in ran(lower_to_ttnn(given).module)


@pytest.mark.parametrize(
    ("formula", "types"),
    [
        (lambda g, x, y: g("typecast", g("add", x, y), of="bf16"), ["bf16"]),
        (lambda g, x, y: g("typecast", g("multiply", x, y), of="bf16"), ["bf16"]),
        (lambda g, x, y: (lambda s: (g("typecast", s, of="bf16"), s))(g("add", x, y)), ["f32"]),  # read in float32 too
        (lambda g, x, y: g("typecast", g("div", x, y), of="bf16"), ["f32"]),
        (lambda g, x, y: g("typecast", g("gt", x, y, of="i1"), of="f32"), ["f32"]),
    ],
)
def test_casts_of_sums_fold(formula: Any, types: list[str]) -> None:
    from alchemist.ir.layout import layout_of

    kind = ((2, 32, 64), "f32", "input")
    net = build(formula, kind, kind)
    lowered = lower_to_ttnn(net).module
    made = [op for op in lowered.walk() if op.name in ("ttnn.add", "ttnn.multiply", "ttnn.divide", "ttnn.gt")]
    layouts = [layout_of(op.results[0].type) for op in made]
    assert [layout.dtype for layout in layouts if layout is not None] == types
    assert ("typecast" in names(lowered)) == (types == ["f32"] and made[0].name != "ttnn.gt")
    inputs = arrays(net)
    for want, have in zip(run_ttir(net, inputs), run_ttnn(lowered, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-2, atol=1e-2)
