"""What a pass must leave alone although it nearly fits: a row per guard. And no pass changes what any module of these tests computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from pass_cases import CHANGES, UNCHANGED
from pass_graphs import (
    BIAS,
    CHANNELS,
    CONV,
    HEADS,
    HIDDEN,
    IMAGE,
    KERNEL,
    SQUARE,
    VECTOR,
    B,
    F,
    Graph,
    W,
    X,
    arrays,
    build,
    frozen_norm,
    run_ttir_with_activations,
    written_attention,
)
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir.text import print_module
from alchemist.ir.verify import verify_module
from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import configure
from alchemist.passes.stages import TTIR_STAGES, passes_of
from tests.tables import table

Input = tuple[tuple[int, ...], str, str]


def dot(g: Graph, a: Any, b: Any, out: tuple[int, ...], batch: tuple[list[int], list[int]], contract: tuple[list[int], list[int]]) -> Any:
    lists = {"batch_dims_lhs": batch[0], "batch_dims_rhs": batch[1], "contract_dims_lhs": contract[0], "contract_dims_rhs": contract[1]}
    return g("dot_general", a, b, out=out, **lists)


def dots(a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...], batch: tuple[list[int], list[int]], contract: tuple[list[int], list[int]]) -> ModuleOp:
    return build(lambda g, x, y: dot(g, x, y, out, batch, contract), (a, F, "input"), (b, F, "input"))


def product(g: Graph, x: Any, w: Any) -> Any:
    return g("matmul", x, w, out=(2, 4, 32), transpose_b=True)


def between_views(
    g: Graph,
    x: Any,
    w: Any,
    *,
    out: tuple[int, ...] = (2, 4, 32),
    twice: bool = False,
    rows: tuple[int, ...] = (8, 64),
    made: tuple[int, ...] = (8, 32),
    **flags: bool,
) -> Any:
    """reshape(matmul(reshape(x), w))"""
    y = g("matmul", g("reshape", x, out=rows, shape=rows), w, out=made, **({"transpose_b": True} | flags))
    z = g("reshape", y, out=out, shape=out)
    return (z, y) if twice else z


def heads_of(
    g: Graph,
    y: Any,
    *,
    heads: int = 2,
    size: int = 32,
    order: tuple[int, ...] = (0, 2, 1, 3),
    keep: bool = False,
    given: list[Any] | None = None,
    length: int = 32,
) -> Any:
    """[B, S, H*D] -> [B, H, S, D]; `keep`: the reshape's result is returned by the function as well."""
    split = g("reshape", y, out=(2, length, heads, size), shape=(2, length, heads, size))
    if keep and given is not None:
        given.append(split)
    dims = tuple((2, length, heads, size)[axis] for axis in order)
    return g("permute", split, out=dims, permutation=list(order))


def three_linears(
    g: Graph, x: Any, *weights: Any, inputs: Any = None, flags: tuple[bool, ...] = (True, True, True), activated: bool = False, **details: Any
) -> Any:
    made = []
    for index, (weight, turned) in enumerate(zip(weights, flags, strict=True)):
        y = g("matmul", inputs if inputs is not None and index == 2 else x, weight, out=(2, 32, 64), transpose_b=turned)
        made.append(heads_of(g, g("exp", y) if activated and index == 0 else y, **details))
    return g("scaled_dot_product_attention", *made, is_causal=False)


def three_slices(
    g: Graph, x: Any, *, cuts: tuple[tuple[int, int], ...] = ((0, 64), (64, 128), (128, 192)), step: int = 1, begin: int = 0, other: Any = None
) -> Any:
    made = []
    for index, (start, end) in enumerate(cuts):
        source = other if other is not None and index == 2 else x
        cut = g("slice_static", source, out=(2, 32, 64), begins=[0, begin, start], ends=[2, begin + 32, end], step=[1, 1, step])
        made.append(heads_of(g, cut))
    return g("scaled_dot_product_attention", *made, is_causal=False)


def attention_of(
    g: Graph,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    *,
    dimension: int = 3,
    last: dict[str, bool] | None = None,
    twice: str = "",
    first: dict[str, bool] | None = None,
) -> Any:
    """matmul(softmax(q k^T + mask), v); `twice`: a value that the function returns as well."""
    scores = g("matmul", q, g("permute", k, out=(2, 2, 32, 8), permutation=[0, 1, 3, 2]), out=(2, 2, 8, 8), **(first or {}))
    masked = g("add", scores, mask, out=(2, 2, 8, 8)) if mask is not None else scores
    chances = g("softmax", masked, dimension=dimension, numericStable=True)
    result = g("matmul", chances, v, out=(2, 2, 8, 32), **(last or {}))
    extra = {"scores": scores, "masked": masked}.get(twice)
    return result if extra is None else (result, extra)


RELU: dict[str, Any] = {"alchemist.activation": "relu"}  # what fuse-activation puts into an op
TALL: Input = ((2, 32, 192), F, "input")
WIDE: Input = ((2, 32, 256), F, "input")
SQUARE_HEADS: Input = ((2, 2, 8, 8), F, "input")
CUBE: Input = ((8, 8, 8), F, "input")
NEAR: dict[str, tuple[str, ModuleOp]] = {
    # canonicalize-dots: leading batch dims, one contracted dim, matrices
    "dots: batch dims in another order": ("canonicalize-dots", dots((2, 3, 4, 8), (3, 2, 8, 5), (2, 3, 4, 5), ([0, 1], [1, 0]), ([3], [2]))),
    "dots: two contracted dims": ("canonicalize-dots", dots((4, 8, 3), (8, 3), (4,), ([], []), ([1, 2], [0, 1]))),
    "dots: no contracted dim": ("canonicalize-dots", dots((4, 3), (5, 2), (4, 3, 5, 2), ([], []), ([], []))),
    "dots: a right side of rank three": ("canonicalize-dots", dots((4, 8), (8, 3, 5), (4, 3, 5), ([], []), ([1], [0]))),
    "dots: a left side of rank four in a batch": ("canonicalize-dots", dots((2, 3, 4, 8), (2, 8, 5), (2, 3, 4, 5), ([0], [0]), ([3], [1]))),
    "dots: a vector on the left": ("canonicalize-dots", dots((8,), (8, 5), (5,), ([], []), ([0], [0]))),
    "dots: rows of a higher rank contracted": ("canonicalize-dots", dots((4, 8, 3), (8, 5), (4, 3, 5), ([], []), ([1], [0]))),
    # fuse-linear: one use, the product's own shape, no bias yet, a vector
    "linear: the sum is wider than the product": (
        "fuse-linear",
        build(lambda g, x, w, b: g("add", product(g, x, w), b, out=(3, 2, 4, 32)), X, W, ((3, 1, 1, 32), F, "input")),
    ),
    "linear: it has a bias already": (
        "fuse-linear",
        build(lambda g, x, w, b: g("add", g("linear", x, w, b, out=(2, 4, 32), transpose_b=True), b), X, W, B),
    ),
    "linear: a broadcast column": (
        "fuse-linear",
        build(lambda g, x, w, b: g("add", product(g, x, w), g("broadcast", b, out=(2, 4, 32), broadcast_dimensions=[1, 1, 32])), X, W, ((2, 4, 1), F, "input")),
    ),
    "linear: a vector turned on its side": (
        "fuse-linear",
        build(lambda g, x, w, b: g("add", product(g, x, w), g("reshape", b, out=(4, 1), shape=(4, 1))), X, W, ((4,), F, "input")),
    ),
    "linear: a narrow bias": ("fuse-linear", build(lambda g, x, w, b: g("add", product(g, x, w), b), X, W, ((1,), F, "parameter"))),
    # fuse-activation: the op must have such an activation, none yet, no constant operand, a float
    "activation: not one of the op's": ("fuse-activation", build(lambda g, x, w: g("exp", product(g, x, w)), X, W)),
    "activation: none of an add": ("fuse-activation", build(lambda g, x, y: g("silu", g("add", x, y)), X, X)),
    "activation: behind a constant's add": ("fuse-activation", build(lambda g, x: g("relu", g("add", x, g.number(0.5, (1, 1, 1)))), X)),
    "activation: of integers": (
        "fuse-activation",
        build(lambda g, x, y: g("relu", g("add", x, y, of="i32"), of="i32"), ((2, 4), "i32", "input"), ((2, 4), "i32", "input")),
    ),
    "activation: of an input": ("fuse-activation", build(lambda g, x: g("relu", x), X)),
    # keep-rank: a matrix of rows behind a view, a view behind it, nothing else reads
    "rank: no view before": (
        "keep-rank",
        build(lambda g, x, w: g("reshape", g("matmul", x, w, out=(8, 32), transpose_b=True), out=(2, 4, 32), shape=(2, 4, 32)), ((8, 64), F, "input"), W),
    ),
    "rank: no view behind": (
        "keep-rank",
        build(lambda g, x, w: g("exp", g("matmul", g("reshape", x, out=(8, 64), shape=(8, 64)), w, out=(8, 32), transpose_b=True)), X, W),
    ),
    "rank: the product is returned too": ("keep-rank", build(lambda g, x, w: between_views(g, x, w, twice=True), X, W)),
    "rank: another width behind": ("keep-rank", build(lambda g, x, w: between_views(g, x, w, out=(2, 8, 16)), X, W)),
    "rank: a matrix behind": ("keep-rank", build(lambda g, x, w: between_views(g, x, w, out=(4, 64)), X, W)),
    "rank: a matrix of the same width behind": ("keep-rank", build(lambda g, x, w: between_views(g, x, w, out=(8, 32)), X, W)),
    "rank: a turned left side": (
        "keep-rank",
        build(lambda g, x, w: between_views(g, x, w, rows=(8, 64), made=(64, 5), out=(2, 32, 5), transpose_a=True), X, ((5, 8), F, "parameter")),
    ),
    "rank: products in batches": (
        "keep-rank",
        build(
            lambda g, x, w: between_views(g, x, w, rows=(2, 4, 64), made=(2, 4, 32), out=(2, 2, 2, 32)), ((8, 64), F, "input"), ((2, 32, 64), F, "parameter")
        ),
    ),
    # fold-batch-norm
    "batch norm: of an input": (
        "fold-batch-norm",
        build(lambda g, x, *v: g("batch_norm_inference", x, *v, epsilon=1e-5, dimension=1), ((1, 16, 6, 6), F, "input"), *([VECTOR] * 4)),
    ),
    "batch norm: the convolution is returned too": (
        "fold-batch-norm",
        build(
            lambda g, x, w, *v: (lambda y: (y, g("batch_norm_inference", y, *v, epsilon=1e-5, dimension=1)))(g("conv2d", x, w, out=(1, 16, 6, 6), **CONV)),
            IMAGE,
            KERNEL,
            *([VECTOR] * 4),
        ),
    ),
    "batch norm: along another dim": (
        "fold-batch-norm",
        build(
            lambda g, x, w, *v: g("batch_norm_inference", g("conv2d", x, w, out=(1, 16, 16, 6), **CONV), *v, epsilon=1e-5, dimension=2),
            ((1, 8, 16, 6), F, "input"),
            KERNEL,
            *([VECTOR] * 4),
        ),
    ),
    "batch norm in arithmetic: a factor of the input": ("fold-batch-norm", build(frozen_norm, IMAGE, KERNEL, *[((1, 16, 1, 1), F, "input")] * 2)),
    "batch norm in arithmetic: a factor per row": ("fold-batch-norm", build(frozen_norm, IMAGE, KERNEL, *[((1, 1, 6, 1), F, "parameter")] * 2)),
    "batch norm in arithmetic: the convolution is returned too": (
        "fold-batch-norm",
        build(
            lambda g, x, w, factor: (lambda y: (y, g("multiply", y, factor)))(g("conv2d", x, w, out=(1, 16, 6, 6), **CONV)),
            IMAGE,
            KERNEL,
            CHANNELS,
        ),
    ),
    # fold-padding
    "padding: of the channels": (
        "fold-padding",
        build(
            lambda g, x, w: g("conv2d", g("pad", x, out=(1, 8, 6, 6), padding=[0, 0, 1, 1, 0, 0, 0, 0], value=0.0), w, out=(1, 16, 6, 6), **CONV),
            ((1, 6, 6, 6), F, "input"),
            KERNEL,
        ),
    ),
    # fuse-concat-heads
    "concat heads: another order": (
        "fuse-concat-heads",
        build(
            lambda g, x: g("reshape", g("permute", x, out=(2, 32, 32, 2), permutation=[0, 2, 3, 1]), out=(2, 32, 64), shape=(2, 32, 64)),
            ((2, 2, 32, 32), F, "input"),
        ),
    ),
    "concat heads: the permuted value is returned too": (
        "fuse-concat-heads",
        build(
            lambda g, x: (lambda y: (y, g("reshape", y, out=(2, 32, 64), shape=(2, 32, 64))))(g("permute", x, out=(2, 32, 2, 32), permutation=[0, 2, 1, 3])),
            ((2, 2, 32, 32), F, "input"),
        ),
    ),
    # project-heads
    "split heads: small ones": (
        "project-heads",
        build(lambda g, x, *w: three_linears(g, x, *w, heads=4, size=16), HIDDEN, SQUARE, SQUARE, SQUARE),
    ),
    "split heads: of two inputs": (
        "project-heads",
        build(lambda g, x, y, *w: three_linears(g, x, *w, inputs=y), HIDDEN, HIDDEN, SQUARE, SQUARE, SQUARE),
    ),
    "split heads: one weight turned": (
        "project-heads",
        build(lambda g, x, *w: three_linears(g, x, *w, flags=(True, True, False)), HIDDEN, SQUARE, SQUARE, SQUARE),
    ),
    "split heads: an op between": (
        "project-heads",
        build(lambda g, x, *w: three_linears(g, x, *w, activated=True), HIDDEN, SQUARE, SQUARE, SQUARE),
    ),
    "split heads: slices out of order": ("project-heads", build(lambda g, x: three_slices(g, x, cuts=((64, 128), (0, 64), (128, 192))), TALL)),
    "split heads: a slice is left over": ("project-heads", build(three_slices, WIDE)),
    "split heads: slices overlap": ("project-heads", build(lambda g, x: three_slices(g, x, cuts=((0, 64), (32, 96), (128, 192))), TALL)),
    "split heads: every second value": (
        "project-heads",
        build(lambda g, x: three_slices(g, x, cuts=((0, 128), (128, 256), (256, 384)), step=2), ((2, 32, 384), F, "input")),
    ),
    "split heads: some rows": ("project-heads", build(three_slices, ((2, 40, 192), F, "input"))),
    "split heads: later rows": ("project-heads", build(lambda g, x: three_slices(g, x, begin=8), ((2, 40, 192), F, "input"))),
    "split heads: slices of two values": ("project-heads", build(lambda g, x, y: three_slices(g, x, other=y), TALL, TALL)),
    # fuse-attention
    "attention: softmax over another dim": ("fuse-attention", build(lambda g, *x: attention_of(g, *x, dimension=2), HEADS, HEADS, HEADS)),
    "attention: turned chances": ("fuse-attention", build(lambda g, *x: attention_of(g, *x, last={"transpose_a": True}), HEADS, HEADS, HEADS)),
    "attention: turned values": (
        "fuse-attention",
        build(lambda g, *x: attention_of(g, *x, last={"transpose_b": True}), HEADS, HEADS, ((2, 2, 32, 8), F, "input")),
    ),
    "attention: turned queries": (
        "fuse-attention",
        build(lambda g, *x: attention_of(g, *x, first={"transpose_a": True}), ((2, 2, 32, 8), F, "input"), HEADS, HEADS),
    ),
    "attention: the scores are returned too": ("fuse-attention", build(lambda g, *x: attention_of(g, *x, twice="scores"), HEADS, HEADS, HEADS, SQUARE_HEADS)),
    "attention: the masked scores are returned too": (
        "fuse-attention",
        build(lambda g, *x: attention_of(g, *x, twice="masked"), HEADS, HEADS, HEADS, SQUARE_HEADS),
    ),
    "attention: a single query": (
        "fuse-attention",
        build(
            lambda g, q, k, v: g(
                "matmul",
                g("softmax", g("matmul", q, g("permute", k, out=(2, 2, 32, 8), permutation=[0, 1, 3, 2]), out=(2, 2, 1, 8)), dimension=3, numericStable=True),
                v,
                out=(2, 2, 1, 32),
            ),
            ((2, 2, 1, 32), F, "input"),
            HEADS,
            HEADS,
        ),
    ),
    "attention: two masks": (
        "fuse-attention",
        build(
            lambda g, q, k, v, m: g(
                "matmul",
                g(
                    "softmax",
                    g("add", g("add", g("matmul", q, g("permute", k, out=(2, 2, 32, 8), permutation=[0, 1, 3, 2]), out=(2, 2, 8, 8)), m), m),
                    dimension=3,
                    numericStable=True,
                ),
                v,
                out=(2, 2, 8, 32),
            ),
            HEADS,
            HEADS,
            HEADS,
            BIAS,
        ),
    ),
    "attention: scaled behind the mask": (
        "fuse-attention",
        build(
            lambda g, q, k, v, m: g(
                "matmul",
                g(
                    "softmax",
                    g(
                        "multiply",
                        g("add", g("matmul", q, g("permute", k, out=(2, 2, 32, 8), permutation=[0, 1, 3, 2]), out=(2, 2, 8, 8)), m),
                        g.number(0.25, (1, 1, 1, 1)),
                    ),
                    dimension=3,
                    numericStable=True,
                ),
                v,
                out=(2, 2, 8, 32),
            ),
            HEADS,
            HEADS,
            HEADS,
            BIAS,
        ),
    ),
    # one more per guard: what an earlier pass has put into an op, views and permutes of another kind, broadcast operands
    "batch norm: behind an activation": (
        "fold-batch-norm",
        build(
            lambda g, x, w, *v: g("batch_norm_inference", g("conv2d", x, w, out=(1, 16, 6, 6), **CONV, **RELU), *v, epsilon=1e-5, dimension=1),
            IMAGE,
            KERNEL,
            *([VECTOR] * 4),
        ),
    ),
    "activation: there is one": (
        "fuse-activation",
        build(lambda g, x, w: g("tanh", g("matmul", x, w, out=(2, 4, 32), transpose_b=True, **RELU)), X, W),
    ),
    "linear: behind an activation": (
        "fuse-linear",
        build(lambda g, x, w, b: g("add", g("matmul", x, w, out=(2, 4, 32), transpose_b=True, **RELU), b), X, W, B),
    ),
    "rank: weights in a batch": (
        "keep-rank",
        build(lambda g, x, w: between_views(g, x, w, rows=(8, 64), made=(2, 8, 32), out=(2, 2, 4, 32)), X, ((2, 32, 64), F, "parameter")),
    ),
    "split heads: another order": (
        "project-heads",
        build(lambda g, x, *w: three_linears(g, x, *w, order=(0, 2, 3, 1)), HIDDEN, SQUARE, SQUARE, SQUARE),
    ),
    "split heads: no view": (
        "project-heads",
        build(
            lambda g, *x: g("scaled_dot_product_attention", *(g("permute", v, out=(2, 2, 32, 32), permutation=[0, 2, 1, 3]) for v in x), is_causal=False),
            *([((2, 32, 2, 32), F, "input")] * 3),
        ),
    ),
    "split heads: keys that are the values": (
        "project-heads",
        build(
            lambda g, x, a, b: (lambda q, k: g("scaled_dot_product_attention", q, k, k, is_causal=False))(
                *(heads_of(g, g("matmul", x, w, out=(2, 32, 64), transpose_b=True)) for w in (a, b))
            ),
            HIDDEN,
            SQUARE,
            SQUARE,
        ),
    ),
    "split heads: behind an activation": (
        "project-heads",
        build(
            lambda g, x, *weights: g(
                "scaled_dot_product_attention",
                *(heads_of(g, g("matmul", x, w, out=(2, 32, 64), transpose_b=True, **RELU)) for w in weights),
                is_causal=False,
            ),
            HIDDEN,
            SQUARE,
            SQUARE,
            SQUARE,
        ),
    ),
    "attention: keys of one batch": (
        "fuse-attention",
        build(
            lambda g, q, k, v: written_attention(g, q, k, v, key=g("permute", k, out=(1, 2, 32, 8), permutation=[0, 1, 3, 2])),
            HEADS,
            ((1, 2, 8, 32), F, "input"),
            HEADS,
        ),
    ),
    "attention: values of one batch": ("fuse-attention", build(written_attention, HEADS, HEADS, ((1, 2, 8, 32), F, "input"))),
    "attention: queries of rank three": ("fuse-attention", build(written_attention, ((2, 8, 32), F, "input"), HEADS, HEADS)),
    "attention: a mask over a choice": (
        "fuse-attention",
        build(
            lambda g, q, k, v, m: g(
                "matmul",
                g(
                    "softmax",
                    g(
                        "where",
                        g("gt", m, g.number(0.5, (1, 1, 1, 1))),
                        g.number(-1e9, (1, 1, 1, 1)),
                        g("add", g("matmul", q, g("permute", k, out=(2, 2, 32, 8), permutation=[0, 1, 3, 2]), out=(2, 2, 8, 8)), m),
                        out=(2, 2, 8, 8),
                    ),
                    dimension=3,
                    numericStable=True,
                ),
                v,
                out=(2, 2, 8, 32),
            ),
            HEADS,
            HEADS,
            HEADS,
            BIAS,
        ),
    ),
}
MODULES = {**{f"changed {name}": module for name, (_, module, _) in CHANGES.items()}, **{name: module for name, (_, module) in (UNCHANGED | NEAR).items()}}


@table("case", NEAR)
def test_near_misses_stay(case: str) -> None:
    name, module = NEAR[case]
    changed = module.clone()
    run_pipeline(changed, name)
    assert print_module(changed) == print_module(module)


NAMES = tuple(dict.fromkeys(passes_of(TTIR_STAGES)))


def changes(name: str) -> Iterator[tuple[str, ModuleOp]]:
    """The modules that a pass changes, and what it makes of them."""
    steps = configure([name], CompilerOptions())  # none where only higher levels have the pass
    for case, module in MODULES.items():
        changed = module.clone()
        for step in steps:
            step.run(changed)
        if not changed.is_structurally_equivalent(module):
            yield case, changed


@table("name", NAMES)
def test_a_pass_keeps_what_every_module_computes(name: str) -> None:
    for case, changed in changes(name):
        verify_module(changed)
        inputs = arrays(MODULES[case])
        for want, have in zip(run_ttir(MODULES[case], inputs), run_ttir_with_activations(changed, inputs), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4, err_msg=case)
