"""Conditions of fold, fold-padding, fuse-attention and fuse-linear: what nearly fits and stays, and what just fits and does not."""

from __future__ import annotations

from typing import Any

import numpy as np
from pass_graphs import F, Graph, V, X, arrays, build, names
from test_near_misses import TALL, three_slices
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir.text import print_module
from alchemist.ops.evaluate import run
from tests.tables import table

WHOLE = (2, 4, 64)
TRUTH = (WHOLE, "i1", "input")
TRUTHS = ((64,), "i1", "input")
HEADS32 = ((2, 2, 32, 32), F, "input")


def attention(g: Graph, q: Any, k: Any, v: Any, *, turned: bool = True, first: dict[str, bool] | None = None, last: dict[str, bool] | None = None) -> Any:
    """Heads of 32 rows and 32 columns, where no shape tells a transposed operand."""
    key = g("permute", k, out=(2, 2, 32, 32), permutation=[0, 1, 3, 2]) if turned else k
    scores = g("matmul", q, key, out=(2, 2, 32, 32), **(first or {}))
    return g("matmul", g("softmax", scores, dimension=3, numericStable=True), v, out=(2, 2, 32, 32), **(last or {}))


def scaled_choice(g: Graph, q: Any, k: Any, v: Any) -> Any:
    scores = g("matmul", q, k, out=(2, 2, 32, 32), transpose_b=True)
    chosen = g("where", g("gt", scores, g.number(0.5, (1, 1, 1, 1)), of="i1"), g.number(-1e9, (1, 1, 1, 1)), scores, out=(2, 2, 32, 32))
    chances = g("softmax", g("multiply", chosen, g.number(0.5, (1, 1, 1, 1))), dimension=3, numericStable=True)
    return g("matmul", chances, v, out=(2, 2, 32, 32))


def scores_returned(g: Graph, q: Any, k: Any, v: Any) -> Any:
    cast = g("typecast", g("matmul", q, k, out=(2, 2, 32, 32), transpose_b=True), of="bf16")
    return g("matmul", g("softmax", cast, dimension=3, numericStable=True, of="bf16"), v, out=(2, 2, 32, 32)), cast


def sliced_twice(g: Graph, x: Any, begin: int) -> Any:
    inner = g("slice_static", x, out=(2, 4, 32), begins=[0, 0, 8], ends=[2, 4, 40], step=[1, 1, 1])
    return g("slice_static", inner, out=(2, 4, 8), begins=[0, 0, begin], ends=[2, 4, begin + 8], step=[1, 1, 1])


STAYS: dict[str, tuple[str, ModuleOp]] = {
    "a vector plus zeros of a tensor's shape": ("fold", build(lambda g, v: g("add", v, g.number(0.0, WHOLE), out=WHOLE), V)),
    "zeros of a tensor's shape plus a vector": ("fold", build(lambda g, v: g("add", g.number(0.0, WHOLE), v, out=WHOLE), V)),
    "a column plus zeros of a row": ("fold", build(lambda g, x: g("add", x, g.number(0.0, (1, 3)), out=(4, 3)), ((4, 1), F, "input"))),
    "zero minus a tensor": ("fold", build(lambda g, x: g("subtract", g.number(0.0, (1, 1, 1)), x, out=WHOLE), X)),
    "a vector chosen for a tensor": (
        "fold",
        build(lambda g, v, x: g("where", g("full", out=WHOLE, of="i1", shape=WHOLE, fill_value=1), v, x, out=WHOLE), V, X),
    ),
    "a choice by values": ("fold", build(lambda g, c, x: g("where", c, x, g.number(0.5, (1, 1, 1)), out=WHOLE), TRUTH, X)),
    "and of numbers": ("fold", build(lambda g, x: g("logical_and", x, g.number(1.0, (1, 1, 1))), X)),
    "and of two inputs": ("fold", build(lambda g, a, b: g("logical_and", a, b, of="i1"), TRUTH, TRUTH)),
    "and of a vector and truths of a tensor's shape": (
        "fold",
        build(lambda g, a: g("logical_and", a, g("full", out=WHOLE, of="i1", shape=WHOLE, fill_value=1), out=WHOLE, of="i1"), TRUTHS),
    ),
    "a cast that rounds, and back": ("fold", build(lambda g, x: g("typecast", g("typecast", x, of="bf16"), of=F), X)),
    "a view of dims that move": ("fold", build(lambda g, x: g("permute", x, out=(4, 2, 64), permutation=[1, 0, 2]), X)),
    "blocks of a dim": ("fold", build(lambda g, x: g("index_select", x, out=(2, 4, 16), dim=2, begin=0, length=8, stride=32), X)),
    "padding that cuts": (
        "fold-padding",
        build(
            lambda g, x, w: g(
                "conv2d",
                g("pad", x, out=(1, 6, 6, 4), padding=[0, 0, -1, -1, -1, -1, 0, 0], value=0.0),
                w,
                None,
                out=(1, 4, 4, 8),
                stride=[1, 1],
                padding=[0, 0, 0, 0],
                dilation=[1, 1],
                groups=1,
            ),
            ((1, 8, 8, 4), F, "input"),
            ((8, 4, 3, 3), F, "parameter"),
        ),
    ),
    "attention: values turned": ("fuse-attention", build(lambda g, *x: attention(g, *x, last={"transpose_b": True}), *[HEADS32] * 3)),
    "attention: queries turned": ("fuse-attention", build(lambda g, *x: attention(g, *x, first={"transpose_a": True}), *[HEADS32] * 3)),
    "attention: keys as they are": ("fuse-attention", build(lambda g, *x: attention(g, *x, turned=False), *[HEADS32] * 3)),
    "attention: a scale behind a choice": ("fuse-attention", build(scaled_choice, *[HEADS32] * 3)),
    "attention: scores returned behind a cast": ("fuse-attention", build(scores_returned, *[HEADS32] * 3)),
    "attention: one key": (
        "fuse-attention",
        build(
            lambda g, q, k, v: g(
                "matmul", g("softmax", g("matmul", q, k, out=(2, 2, 8, 1), transpose_b=True), dimension=3, numericStable=True), v, out=(2, 2, 8, 32)
            ),
            ((2, 2, 8, 32), F, "input"),
            ((2, 2, 1, 32), F, "input"),
            ((2, 2, 1, 32), F, "input"),
        ),
    ),
    "linear: a vector times a matrix": (
        "fuse-linear",
        build(lambda g, x, w, b: g("add", g("matmul", x, w, out=(32,)), b), V, ((64, 32), F, "parameter"), ((32,), F, "parameter")),
    ),
}
CHANGES: dict[str, tuple[str, ModuleOp, list[str]]] = {
    "heads from slices of one projection": (
        "project-heads",
        build(three_slices, TALL),
        ["split_query_key_value_and_split_heads", "scaled_dot_product_attention"],
    ),
    "a wider cast on the way": ("fold", build(lambda g, x: g("typecast", g("typecast", x, of=F), of="i32"), (WHOLE, "bf16", "input")), ["typecast"]),
    "truths on the way to numbers": ("fold", build(lambda g, x: g("typecast", g("typecast", x, of="i32"), of=F), TRUTH), ["typecast"]),
    "truth and an input": ("fold", build(lambda g, a: g("logical_and", a, g("full", out=WHOLE, of="i1", shape=WHOLE, fill_value=1), of="i1"), TRUTH), []),
    "an input or truth": (
        "fold",
        build(lambda g, a: g("logical_or", a, g("full", out=WHOLE, of="i1", shape=WHOLE, fill_value=1), of="i1"), TRUTH),
        ["full"],
    ),
    "a number plus a row of one zero": ("fold", build(lambda g, x: g("add", x, g.number(0.0, (1,)), out=(1,)), ((), F, "input")), ["reshape"]),
    "a row times ones of more dims": ("fold", build(lambda g, v: g("multiply", g.number(1.0, (1, 1, 64)), v, out=(1, 1, 64)), V), ["reshape"]),
    "a slice of a slice": ("fold", build(lambda g, x: sliced_twice(g, x, 8), X), ["slice_static"]),
    "a number beyond 32 bits": (
        "fold",
        build(lambda g: g("multiply", *(g("full", out=(2,), of="i64", shape=(2,), fill_value=2**20) for _ in range(2)), of="i64")),
        ["constant"],
    ),
    "attention: keys turned by the product": (
        "fuse-attention",
        build(lambda g, *x: attention(g, *x, turned=False, first={"transpose_b": True}), *[HEADS32] * 3),
        ["scaled_dot_product_attention"],
    ),
}


@table("case", STAYS)
def test_what_nearly_fits_stays(case: str) -> None:
    name, before = STAYS[case]
    module = before.clone()
    run_pipeline(module, name)
    assert print_module(module) == print_module(before)


@table("case", CHANGES)
def test_what_just_fits_changes(case: str) -> None:
    name, before, expected = CHANGES[case]
    module = before.clone()
    run_pipeline(module, name)
    assert names(module) == expected
    inputs = arrays(before)
    for want, have in zip(run(before, inputs), run(module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
