"""Attention as models spell it: rows in batch or time order, packed or separate weights, biases here and there; what is close to it stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pass_graphs import F, Graph, arrays, build, names
from torch import nn
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir import access
from alchemist.ir.location import sources_of
from alchemist.ir.text import print_module
from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture

BATCH, TIME, WIDTH = 3, 8, 64
PACKED, WHOLE_BIAS = ((3 * WIDTH, WIDTH), F, "parameter"), ((3 * WIDTH,), F, "parameter")
WEIGHT, BIAS = ((WIDTH, WIDTH), F, "parameter"), ((WIDTH,), F, "parameter")
BATCH_FIRST, TIME_FIRST = ((BATCH, TIME, WIDTH), F, "input"), ((TIME, BATCH, WIDTH), F, "input")


def turned(g: Graph, x: Any, order: tuple[int, ...]) -> Any:
    return g("permute", x, out=tuple(access.shape(x)[place] for place in order), permutation=list(order))


def shaped(g: Graph, x: Any, *dims: int) -> Any:
    return g("reshape", x, out=dims, shape=list(dims))


def cut(g: Graph, x: Any, dim: int, begin: int, end: int) -> Any:
    dims = access.shape(x)
    begins, ends = [0] * len(dims), list(dims)
    begins[dim], ends[dim] = begin, end
    return g("slice_static", x, out=tuple(b - a for a, b in zip(begins, ends, strict=True)), begins=begins, ends=ends, step=[1] * len(dims))


def attend(g: Graph, *heads: Any) -> Any:
    return g("scaled_dot_product_attention", *heads, is_causal=False, scale=0.25)


def in_torch(g: Graph, x: Any, w: Any, b: Any, w_out: Any, batch_first: bool = True, size: int = 32) -> Any:
    """nn.MultiheadAttention: rows in time order, heads out of [T, B * H, D]."""
    heads = WIDTH // size
    x = turned(g, x, (1, 0, 2)) if batch_first else x
    y = shaped(g, g("linear", x, w, b, out=(TIME, BATCH, 3 * WIDTH), transpose_b=True), 1, TIME, BATCH, 3, WIDTH)
    y = shaped(g, turned(g, y, (3, 1, 2, 0, 4)), 3, TIME, BATCH, WIDTH)
    parts = []
    for place in range(3):
        part = turned(g, shaped(g, cut(g, y, 0, place, place + 1), TIME, BATCH * heads, size), (1, 0, 2))
        parts.append(shaped(g, part, BATCH, heads, TIME, size))
    out = shaped(g, turned(g, attend(g, *parts), (2, 0, 1, 3)), TIME * BATCH, WIDTH)
    out = shaped(g, g("matmul", out, w_out, out=(TIME * BATCH, WIDTH), transpose_b=True), TIME, BATCH, WIDTH)
    return turned(g, out, (1, 0, 2)) if batch_first else out


def in_timm(
    g: Graph, x: Any, w: Any, *, order: tuple[int, int, int] = (0, 1, 2), size: int = 32, interleaved: bool = False, activated: bool = False, spare: int = 0
) -> Any:
    """qkv.reshape(B, T, 3, H, D).permute(2, 0, 3, 1, 4), or heads that hold query, key and value each. spare: further columns of the projection."""
    heads = WIDTH // size
    y = g("matmul", x, w, out=(BATCH, TIME, 3 * WIDTH + spare), transpose_b=True)
    y = cut(g, y, 2, 0, 3 * WIDTH) if spare else y
    y = g("exp", y) if activated else y
    if interleaved:
        y = turned(g, shaped(g, y, BATCH, TIME, heads, 3, size), (3, 0, 2, 1, 4))
    else:
        y = turned(g, shaped(g, y, BATCH, TIME, 3, heads, size), (2, 0, 3, 1, 4))
    parts = [shaped(g, cut(g, y, 0, place, place + 1), BATCH, heads, TIME, size) for place in order]
    return attend(g, *parts)


def separate(g: Graph, x: Any, *given: Any, biases: tuple[bool, ...] = (True, False, True), other: Any = None, scale: float = 1.0, keep: bool = False) -> Any:
    """Three projections; the first is scaled."""
    weights, rest = given[:3], list(given[3:])
    parts, extra = [], None
    for place, (w, biased) in enumerate(zip(weights, biases, strict=True)):
        source = other if other is not None and place == 1 else x
        operands = [source, w, rest.pop(0)] if biased else [source, w]
        y = g("linear" if biased else "matmul", *operands, out=(BATCH, TIME, WIDTH), transpose_b=True)
        if place == 0 and scale != 1.0:
            y = extra = g("multiply", y, g.number(scale, (1, 1, 1)))
        parts.append(turned(g, shaped(g, y, BATCH, TIME, 2, 32), (0, 2, 1, 3)))
    out = attend(g, *parts)
    return (out, extra) if keep else out


SPLIT = "split_query_key_value_and_split_heads"
SDPA = "scaled_dot_product_attention"
FORMS: dict[str, tuple[ModuleOp, list[str]]] = {
    "nn.MultiheadAttention, batch first": (
        build(in_torch, BATCH_FIRST, PACKED, WHOLE_BIAS, WEIGHT),
        ["linear", SPLIT, SDPA, "concatenate_heads", "matmul"],
    ),
    "nn.MultiheadAttention, time first": (
        build(lambda g, *x: in_torch(g, *x, batch_first=False), TIME_FIRST, PACKED, WHOLE_BIAS, WEIGHT),
        ["permute", "linear", SPLIT, SDPA, "concatenate_heads", "permute", "reshape", "matmul", "reshape"],
    ),
    "timm's": (build(in_timm, BATCH_FIRST, PACKED), ["matmul", SPLIT, SDPA]),
    "packed in another order": (
        build(lambda g, *x: in_timm(g, *x, order=(1, 0, 2)), BATCH_FIRST, PACKED),
        ["slice_static", "slice_static", "slice_static", "concat", "matmul", SPLIT, SDPA],
    ),
    "each head with its query, key and value": (
        build(lambda g, *x: in_timm(g, *x, interleaved=True), BATCH_FIRST, PACKED),
        ["reshape", *["slice_static", "reshape"] * 3, "concat", "matmul", SPLIT, SDPA],
    ),
    "a key without bias, as in Whisper": (
        build(lambda g, *x: separate(g, *x, scale=0.125), BATCH_FIRST, WEIGHT, WEIGHT, WEIGHT, BIAS, BIAS),
        ["concat", "full", "concat", "linear", SPLIT, SDPA],
    ),
    "a factor that is read again": (
        build(lambda g, *x: separate(g, *x, scale=0.125, keep=True), BATCH_FIRST, WEIGHT, WEIGHT, WEIGHT, BIAS, BIAS),
        ["linear", "full", "multiply", "reshape", "permute", "matmul", "reshape", "permute", "linear", "reshape", "permute", SDPA],
    ),
    "a factor below zero": (
        build(lambda g, *x: separate(g, *x, scale=-0.125), BATCH_FIRST, WEIGHT, WEIGHT, WEIGHT, BIAS, BIAS),
        ["linear", "full", "multiply", "reshape", "permute", "matmul", "reshape", "permute", "linear", "reshape", "permute", SDPA],
    ),
}
STEPS = "fold fold-attention-scale project-heads fuse-concat-heads undo-rows fold"


def steps(module: ModuleOp) -> ModuleOp:
    module = module.clone()
    for name in STEPS.split():
        run_pipeline(module, name)
    module.verify()
    return module


@pytest.mark.parametrize("case", FORMS)
def test_forms(case: str) -> None:
    before, wanted = FORMS[case]
    module = steps(before)
    assert names(module) == wanted
    inputs = arrays(before)
    lowered = lower_to_ttnn(before)
    for want, have, there in zip(run_ttir(before, inputs), run_ttir(module, inputs), run_ttnn(lowered.module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(there, want, rtol=1e-4, atol=1e-5)


def test_rows_in_another_order_keep_their_own_sources() -> None:
    """What cuts windows out of an image stands in the program where the model does it, not among its attention's lines."""

    def windows(g: Graph, x: Any, *given: Any) -> Any:
        x = turned(g, shaped(g, x, 1, 4, BATCH, TIME // 4, WIDTH), (0, 2, 1, 3, 4))
        return separate(g, shaped(g, x, BATCH, TIME, WIDTH), *given)

    before = build(windows, BATCH_FIRST, WEIGHT, WEIGHT, WEIGHT, BIAS, BIAS)
    ops = list(steps(before).walk())
    of_moves = {"reshape_1", "permute_2", "reshape_3"}
    product = next(op for op in ops if op.name == "ttir.linear")
    assert not of_moves & {info.name for info in sources_of(product)}
    rows = next(op for op in ops if op.name == "ttir.permute")
    assert {info.name for info in sources_of(rows)} <= of_moves


NEAR: dict[str, ModuleOp] = {
    "heads of 16": build(lambda g, *x: in_timm(g, *x, size=16), BATCH_FIRST, PACKED),
    "heads beside columns of something else": build(lambda g, *x: in_timm(g, *x, interleaved=True, spare=WIDTH), BATCH_FIRST, ((4 * WIDTH, WIDTH), F, "parameter")),
    "a key of something else": build(lambda g, x, y, *w: separate(g, x, *w, other=y), BATCH_FIRST, BATCH_FIRST, WEIGHT, WEIGHT, WEIGHT, BIAS, BIAS),
    "some of the rows": build(
        lambda g, x, w: attend(
            g,
            *(
                turned(g, shaped(g, cut(g, cut(g, g("matmul", x, w, out=(BATCH, TIME, 3 * WIDTH), transpose_b=True), 1, 0, 4), 2, at, at + 64), BATCH, 4, 2, 32), (0, 2, 1, 3))
                for at in (0, 64, 128)
            ),
        ),
        BATCH_FIRST,
        PACKED,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NEAR)
def test_near_misses_stay(case: str) -> None:
    module = NEAR[case].clone()
    run_pipeline(module, "fold")
    before = print_module(module)
    run_pipeline(module, "project-heads")
    assert print_module(module) == before


def rows(g: Graph, x: Any, w: Any, *, back: tuple[int, ...] = (1, 0, 2), twice: bool = False, between: str = "exp") -> Any:
    y = turned(g, x, (1, 0, 2))
    y = g("matmul", y, w, out=(TIME, BATCH, WIDTH), transpose_b=True)
    z = g(between, y, **({"dimension": 0, "numericStable": True} if between == "softmax" else {}))
    out = turned(g, z, back)
    return (out, z) if twice else out


ROWS: dict[str, tuple[ModuleOp, bool]] = {
    "put back": (build(rows, BATCH_FIRST, WEIGHT), True),
    "put elsewhere": (build(lambda g, x, w: rows(g, x, w, back=(2, 1, 0)), BATCH_FIRST, WEIGHT), False),
    "read in their new order too": (build(lambda g, x, w: rows(g, x, w, twice=True), BATCH_FIRST, WEIGHT), False),
    "mixed between": (build(lambda g, x, w: rows(g, x, w, between="softmax"), BATCH_FIRST, WEIGHT), False),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows(case: str) -> None:
    before, undone = ROWS[case]
    module = before.clone()
    run_pipeline(module, "undo-rows")
    assert ("permute" not in names(module)) == undone
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttir(module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-3)  # products of another order, some of them 80, in front of an exp: processors differ by 4e-5


def test_products_are_written_in_the_type_that_attention_reads() -> None:
    """The typecasts around a float32 model's attention: none, the product behind it reads bfloat16 and writes float32."""
    module = lower_to_ttnn(FORMS["nn.MultiheadAttention, batch first"][0]).module
    assert [name for name in names(module) if name not in ("load_cached", "deallocate")] == ["linear", SPLIT, SDPA, "concatenate_heads", "matmul"]
    kept = lower_to_ttnn(FORMS["nn.MultiheadAttention, batch first"][0], CompilerOptions(disable=("cast-in-product", "project-heads"))).module
    assert names(kept).count("typecast") == 4


def test_products_that_others_read_keep_their_type() -> None:
    module = lower_to_ttnn(
        build(
            lambda g, x, w: (lambda y: (g("exp", y), g("typecast", y, of="bf16")))(g("matmul", x, w, out=(BATCH, TIME, WIDTH), transpose_b=True)),
            BATCH_FIRST,
            WEIGHT,
        )
    ).module
    assert "typecast" in names(module)


class Capped(nn.Module):
    """Query heads in groups, whose scores have a cap: no fused attention, keys and values repeated."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups
        self.q, self.k, self.v = nn.Linear(WIDTH, 128), nn.Linear(WIDTH, 128 // groups), nn.Linear(WIDTH, 128 // groups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, _ = x.shape
        q, k, v = (one(x).view(b, s, -1, 32).transpose(1, 2) for one in (self.q, self.k, self.v))
        k, v = (one[:, :, None].expand(b, 4 // self.groups, self.groups, s, 32).reshape(b, 4, s, 32) for one in (k, v))
        scores = torch.softmax(torch.tanh(q @ k.transpose(2, 3) / 50) * 50, -1)
        return (scores @ v).transpose(1, 2).reshape(b, s, 128)


def test_heads_that_are_repeated_for_groups_come_of_one_projection() -> None:
    torch.manual_seed(0)
    model, x = Capped(2).eval(), torch.randn(2, 32, WIDTH)
    captured = capture(model, (x,), {}, "torch")
    lowered = lower_to_ttnn(captured.module)
    assert names(lowered.module).count(SPLIT) == 1
    have = run_ttnn(lowered.module, [*(np.asarray(argument.value()) for argument in captured.arguments), *lowered.constants.values()])[0]
    np.testing.assert_allclose(have, model(x).detach().numpy(), rtol=1e-3, atol=1e-3)


NO_FIXED_PROJECTION: dict[str, ModuleOp] = {
    "a function behind the projection": build(lambda g, *x: in_timm(g, *x, activated=True), BATCH_FIRST, PACKED),
    "computed weights": build(lambda g, x, w: in_timm(g, x, g("exp", w)), BATCH_FIRST, PACKED),
}


@pytest.mark.parametrize("case", NO_FIXED_PROJECTION)
def test_heads_side_by_side_in_any_value_are_split_by_one_op(case: str) -> None:
    module = NO_FIXED_PROJECTION[case].clone()
    run_pipeline(module, "fold")
    before = [op.name for op in module.walk()]
    run_pipeline(module, "project-heads")
    after = [op.name for op in module.walk()]
    assert after.count("ttir.split_query_key_value_and_split_heads") == 1
    assert "ttir.permute" not in after
    assert before.count("ttir.matmul") == after.count("ttir.matmul")
