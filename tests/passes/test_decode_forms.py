"""One step of decoding over caches: what is written in place, read by decode attention, worked on in shared tiles and looked up by position."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, arrays, build, names
from test_attention_forms import shaped
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir import access
from alchemist.ops.evaluate import run as run_ttir
from alchemist.optimizer.movement import CARDS, device_ns
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.tables import table

USERS, HEADS, GROUPS, LENGTH, SIZE = 4, 4, 2, 64, 32
CACHE = ((USERS, GROUPS, LENGTH, SIZE), "bf16", "input")
AT = ((1,), "i64", "input")
ROWS = ((USERS, GROUPS, 1, SIZE), "bf16", "input")
QUERY = ((USERS, HEADS, 1, SIZE), "bf16", "input")


def scattered(g: Graph, cache: Any, at: Any, rows: Any, *, dim: int = 2, kind: str = "invalid") -> Any:
    """As torch's index_copy_ becomes."""
    dims = tuple(rows.type.get_shape())
    index = g("broadcast", shaped(g, at, 1, 1, 1, 1), out=dims, of="i64", broadcast_dimensions=list(dims))
    return g("scatter", cache, index, rows, out=tuple(cache.type.get_shape()), of="bf16", dim=dim, scatter_reduce_type=kind)


def chosen(g: Graph, cache: Any, at: Any, rows: Any) -> Any:
    """As JAX's dynamic_update_slice of one row becomes."""
    counted = g("arange", out=(LENGTH,), of="i64", start=0, end=LENGTH, step=1, arange_dimension=0)
    places = g("reshape", counted, out=(1, 1, LENGTH, 1), of="i64", shape=[1, 1, LENGTH, 1])
    here = g("eq", places, g("reshape", at, out=(1, 1, 1, 1), of="i64", shape=[1, 1, 1, 1]), out=(1, 1, LENGTH, 1), of="i1")
    return g("where", here, rows, cache, out=tuple(cache.type.get_shape()), of="bf16")


def twice(g: Graph, cache: Any, at: Any, rows: Any) -> Any:
    return scattered(g, cache, at, rows), g("exp", cache, of="bf16")


def kept(g: Graph, cache: Any, at: Any, rows: Any) -> Any:
    """The written cache is read and not returned: an input that changes would surprise its owner."""
    return g("exp", scattered(g, cache, at, rows), of="bf16")


UPDATES: dict[str, tuple[ModuleOp, bool]] = {
    "index_copy": (build(scattered, CACHE, AT, ROWS), True),
    "where": (build(chosen, CACHE, AT, ROWS), True),
    "sums": (build(lambda g, *x: scattered(g, *x, kind="sum"), CACHE, AT, ROWS), False),
    "the old cache is read": (build(twice, CACHE, AT, ROWS), False),
    "the cache is not returned": (build(kept, CACHE, AT, ROWS), False),
    "a cache that is made here": (build(lambda g, c, *x: scattered(g, g("exp", c, of="bf16"), *x), CACHE, AT, ROWS), False),
    "several positions": (
        build(lambda g, c, i, r: scattered(g, c, i, g("concat", r, r, out=(USERS, GROUPS, 2, SIZE), of="bf16", dim=2)), CACHE, AT, ROWS),
        False,
    ),
    "heads that are no whole tiles": (build(scattered, ((4, 2, 64, 16), "bf16", "input"), AT, ((4, 2, 1, 16), "bf16", "input")), False),
    "a length that is no whole tiles": (build(scattered, ((4, 2, 40, 32), "bf16", "input"), AT, ((4, 2, 1, 32), "bf16", "input")), False),
    "more users than rows of a tile": (build(scattered, ((33, 2, 64, 32), "bf16", "input"), AT, ((33, 2, 1, 32), "bf16", "input")), False),
}


def compare(before: ModuleOp, after: ModuleOp) -> None:
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttir(after, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


@table("case", UPDATES)
def test_caches_are_written_in_place(case: str) -> None:
    before, found = UPDATES[case]
    module = before.clone()
    run_pipeline(module, "update-caches")
    assert ("paged_update_cache" in names(module)) == found
    module.verify()
    if found:
        assert not {"scatter", "where"} & set(names(module))
    compare(before, module)


def step(
    g: Graph, query: Any, keys: Any, values: Any, at: Any, rows: Any, other: Any = None, *, compared: str = "le", low: float = -1e9, causal: bool = False
) -> Any:
    """other: the position that the mask shows, if it is not the one that is written."""
    keys, values = scattered(g, keys, at, rows), scattered(g, values, at, g("exp", rows, of="bf16"))
    mask = None
    if not causal:
        counted = g("arange", out=(LENGTH,), of="i64", start=0, end=LENGTH, step=1, arange_dimension=0)
        along = g("reshape", counted, out=(1, 1, 1, LENGTH), of="i64", shape=[1, 1, 1, LENGTH])
        place = g("reshape", at if other is None else other, out=(1, 1, 1, 1), of="i64", shape=[1, 1, 1, 1])
        pair = [along, place] if compared in ("le", "gt", "lt_") else [place, along]
        seen = g(compared.strip("_"), *pair, out=(1, 1, 1, LENGTH), of="i1")
        zero, hidden = (g.number(value, (1, 1, 1, 1), "bf16") for value in (0.0, low))
        fills = [zero, hidden] if compared in ("le", "ge", "lt_") else [hidden, zero]
        mask = g("where", seen, *fills, out=(1, 1, 1, LENGTH), of="bf16")
        if compared == "ge":  # some models make it in float32
            mask = g("typecast", g("where", seen, *fills, out=(1, 1, 1, LENGTH), of="f32"), of="bf16")
    given = [query, keys, values, *([] if mask is None else [mask])]
    out = g("scaled_dot_product_attention", *given, of="bf16", is_causal=causal, scale=0.5)
    return out, keys, values


def seen_from(g: Graph, *x: Any, view: Any) -> Any:
    """view: the position that the mask shows, made of that which is written."""
    return step(g, *x, view(g, x[3]))


PLACES: dict[str, tuple[Any, bool]] = {
    "in another type": (lambda g, at: g("typecast", g("typecast", at, of="i32"), of="i64"), True),
    "through floats": (lambda g, at: g("typecast", g("typecast", at, of="f32"), of="i64"), False),
    "and nothing": (lambda g, at: g("add", at, g.number(0, (1,), "i64"), of="i64"), True),
    "behind nothing": (lambda g, at: g("add", g.number(0, (1,), "i64"), at, of="i64"), True),
    "and one": (lambda g, at: g("add", at, g.number(1, (1,), "i64"), of="i64"), False),
    "twice": (lambda g, at: g("add", at, at, of="i64"), False),
    "as a scalar": (lambda g, at: g("reshape", at, out=(), of="i64", shape=[]), True),
    "below zero": (lambda g, at: g("neg", at, of="i64"), False),
}
STEP = (QUERY, CACHE, CACHE, AT, ROWS)
STEPS: dict[str, tuple[ModuleOp, bool]] = {
    "arange <= position": (build(step, *STEP), True),
    "position >= arange": (build(lambda g, *x: step(g, *x, compared="ge"), *STEP), True),
    "hidden where arange > position": (build(lambda g, *x: step(g, *x, compared="gt"), *STEP), True),
    "hidden where position < arange": (build(lambda g, *x: step(g, *x, compared="lt"), *STEP), True),
    "arange < position": (build(lambda g, *x: step(g, *x, compared="lt_"), *STEP), False),
    "a weak mask": (build(lambda g, *x: step(g, *x, low=-2.0), *STEP), False),
    "another position": (build(step, *STEP, AT), False),
    "causal": (build(lambda g, *x: step(g, *x, causal=True), *STEP), False),
    **{f"the position {how}": (build(partial(seen_from, view=view), *STEP), found) for how, (view, found) in PLACES.items()},
}


@table("case", STEPS)
def test_decode_attention(case: str) -> None:
    before, found = STEPS[case]
    module = before.clone()
    run_pipeline(module, "fold,update-caches,decode-attention")
    assert ("scaled_dot_product_attention_decode" in names(module)) == found
    if found:
        assert "where" not in names(module)
    if case != "causal":
        compare(before, module)


def layer(
    g: Graph, x: Any, keys: Any, values: Any, at: Any, frequencies: Any, *weights: Any, size: int = SIZE, turn: bool = True, place: tuple[int, ...] = (1, 1, 1)
) -> Any:
    """A decoder layer's attention: [B, 1, K] -> [B, 1, K]."""
    heads = []
    for weight, count in zip(weights[:3], (HEADS, GROUPS, GROUPS), strict=True):
        rows = g("linear", x, weight, out=(USERS, 1, count * size), of="bf16", transpose_b=True)
        apart = g("reshape", rows, out=(USERS, 1, count, size), of="bf16", shape=[USERS, 1, count, size])
        heads.append(g("permute", apart, out=(USERS, count, 1, size), of="bf16", permutation=[0, 2, 1, 3]))
    if turn:
        number = g("typecast", g("reshape", at, out=place, of="i64", shape=list(place)), of="f32")
        angle = g("multiply", number, frequencies, out=(*place[:-1], size // 2), of="f32")
        angle = angle if place else g("reshape", angle, out=(1, 1, size // 2), of="f32", shape=[1, 1, size // 2])
        both = g("concat", angle, angle, out=(1, 1, size), of="f32", dim=2)
        cos, sin = (g("reshape", g("typecast", g(name, both), of="bf16"), out=(1, 1, 1, size), of="bf16", shape=[1, 1, 1, size]) for name in ("cos", "sin"))
        for index in (0, 1):
            head = heads[index]
            dims = tuple(head.type.get_shape())
            lower, upper = (
                g("slice_static", head, out=(*dims[:3], size // 2), of="bf16", begins=[0, 0, 0, at], ends=[*dims[:3], at + size // 2], step=[1] * 4)
                for at in (0, size // 2)
            )
            turned = g("concat", g("neg", upper, of="bf16"), lower, out=dims, of="bf16", dim=3)
            heads[index] = g("add", g("multiply", head, cos, of="bf16"), g("multiply", turned, sin, of="bf16"), of="bf16")
    query, key, value = heads
    keys, values = scattered(g, keys, at, key), scattered(g, values, at, value)
    counted = g("arange", out=(LENGTH,), of="i64", start=0, end=LENGTH, step=1, arange_dimension=0)
    along = g("reshape", counted, out=(1, 1, 1, LENGTH), of="i64", shape=[1, 1, 1, LENGTH])
    seen = g("le", along, g("reshape", at, out=(1, 1, 1, 1), of="i64", shape=[1, 1, 1, 1]), out=(1, 1, 1, LENGTH), of="i1")
    mask = g("where", seen, g.number(0.0, (1, 1, 1, 1), "bf16"), g.number(-1e9, (1, 1, 1, 1), "bf16"), out=(1, 1, 1, LENGTH), of="bf16")
    out = g("scaled_dot_product_attention", query, keys, values, mask, of="bf16", is_causal=False, scale=0.1)
    back = g("permute", out, out=(USERS, 1, HEADS, size), of="bf16", permutation=[0, 2, 1, 3])
    joined = g("reshape", back, out=(USERS, 1, HEADS * size), of="bf16", shape=[USERS, 1, HEADS * size])
    done = g("linear", joined, weights[3], out=(USERS, 1, 64), of="bf16", transpose_b=True)
    return g("add", x, done, of="bf16"), keys, values


WIDE, NARROW = ((HEADS * SIZE, 64), "bf16", "parameter"), ((GROUPS * SIZE, 64), "bf16", "parameter")
LAYER = (
    ((USERS, 1, 64), "bf16", "input"), CACHE, CACHE, AT, ((SIZE // 2,), "f32", "parameter"), WIDE, NARROW, NARROW, ((64, HEADS * SIZE), "bf16", "parameter")
)  # fmt: skip


@pytest.mark.parametrize(("size", "on_cores"), [(64, True), (128, True), (96, False), (32, False)])
def test_heads_turn_on_their_users_cores(size: int, on_cores: bool) -> None:
    """Where halves are whole tiles; the tables' rows are moved there once for all layers, and decode attention reads the queries where they lie."""
    cache = ((USERS, GROUPS, LENGTH, size), "bf16", "input")
    weights = [((count * size, 64), "bf16", "parameter") for count in (HEADS, GROUPS, GROUPS)]

    def net(g: Graph, x: Any, keys: Any, values: Any, others: Any, more: Any, at: Any, *given: Any) -> Any:
        x, keys, values = layer(g, x, keys, values, at, *given, size=size)
        return keys, values, *layer(g, x, others, more, at, *given, size=size)

    inputs = (LAYER[0], *[cache] * 4, AT, ((size // 2,), "f32", "parameter"), *weights, ((64, HEADS * size), "bf16", "parameter"))
    lowered = lower_to_ttnn(build(net, *inputs)).module
    turned = [op for op in lowered.walk() if op.name == "ttnn.rotary_embedding_hf" and access.attr(op, "is_decode_mode")]
    assert len(turned) == 4 * on_cores
    if on_cores:
        moves = {operand.owner for op in turned for operand in op.operands[1:]}
        assert len(moves) == 2 and {move.name for move in moves} == {"ttnn.to_memory_config"}
        attentions = [op for op in lowered.walk() if op.name == "ttnn.scaled_dot_product_attention_decode"]
        assert [attention.operands[0].owner in turned for attention in attentions] == [True, True]
        assert names(lowered).count("to_memory_config") == 2


@table(
    ("users", "heads", "size", "read", "level", "joined"),
    [
        (32, 4, 32, (32, 128), 1, True), (32, 4, 64, (1, 1, 32, 256), 2, True), (32, 32, 32, (32, 1024), 1, True), (32, 4, 32, (32, 128), 0, False),
        (31, 4, 32, (31, 128), 1, False), (32, 4, 48, (32, 192), 1, False), (32, 4, 32, (128, 32), 1, False), (32, 4, 32, (2, 16, 128), 1, False),
        (32, 4, 32, None, 1, False),
    ],
)  # fmt: skip
def test_heads_of_a_whole_tile_of_users_are_joined_on_cores(users: int, heads: int, size: int, read: tuple[int, ...] | None, level: int, joined: bool) -> None:
    """read: the shape that the attention's result is read in, None where it is returned as well."""

    def net(g: Graph, query: Any, cache: Any, at: Any) -> Any:
        made = g("scaled_dot_product_attention_decode", query, cache, cache, None, at, None, of="bf16", is_causal=True, scale=0.5)
        dims = read or (users, heads * size)
        rows = g("exp", g("reshape", made, out=dims, of="bf16", shape=list(dims)), of="bf16")
        return (rows, made) if read is None else rows

    query, cache = ((1, users, heads, size), "bf16", "input"), ((users, 1, 32, size), "bf16", "input")
    module = build(net, query, cache, ((users,), "i32", "input"))
    lowered = lower_to_ttnn(module, CompilerOptions(optimization_level=level)).module
    assert ("nlp_concat_heads_decode" in names(lowered)) == joined
    attention = next(op for op in lowered.walk() if op.name == "ttnn.scaled_dot_product_attention_decode")
    last = attention.parent.last_op.operands[0]
    while joined and last.owner.name != "ttnn.nlp_concat_heads_decode":
        last = last.owner.operands[0]
    assert not joined or access.shape(last) == (1, 1, users, heads * size)


@table("users", [1, 2, 3])
@table("groups", [1, 2, 4])
def test_few_heads_of_keys_on_many_cores(users: int, groups: int) -> None:
    """The library shares all cores of a card among the heads of keys, and refuses where one gets more than 64."""
    cache, rows, query = (((users, count, length, SIZE), "bf16", "input") for count, length in ((groups, LENGTH), (groups, 1), (4, 1)))
    lowered = lower_to_ttnn(build(step, query, cache, cache, AT, rows)).module
    attention = next(op for op in lowered.walk() if op.name == "ttnn.scaled_dot_product_attention_decode")
    assert all(device_ns([attention], card) < math.inf for card in CARDS)
    assert ("program_config" in attention.properties) == (users * groups <= 2)


@pytest.mark.parametrize("place", [(1, 1, 1), ()])
def test_a_layer_in_rows_of_users(place: tuple[int, ...]) -> None:
    """place: shape of the position where the angles are computed."""
    before = build(partial(layer, place=place), *LAYER)
    module = before.clone()
    run_pipeline(module, "fold,update-caches,decode-attention,project-heads,users-as-rows,position-tables,fold")
    assert names(module).count("linear") + names(module).count("matmul") == 2
    assert names(module).count("embedding") == 2
    wide = [op for op in module.walk() if op.name in ("ttir.linear", "ttir.matmul", "ttir.add", "ttir.multiply") and len(op.results[0].type.get_shape()) > 2]
    assert wide
    assert all(op.results[0].type.get_shape()[-2] > 1 for op in wide)
    compare(before, module)


@pytest.mark.parametrize("left_out", ["", "update-caches", "decode-attention", "users-as-rows", "position-tables", "project-heads"])
def test_each_form_can_be_left_out(left_out: str) -> None:
    """What is lowered computes the same, with in-place ops or without."""
    lowered = lower_to_ttnn(build(layer, *LAYER), CompilerOptions(disable=(left_out,) if left_out else ())).module
    found = set(names(lowered))
    assert ("paged_update_cache" in found) == (left_out != "update-caches")
    assert ("scaled_dot_product_attention_decode" in found) == (left_out not in ("update-caches", "decode-attention"))
    assert ("nlp_create_qkv_heads_decode" in found) == (left_out not in ("update-caches", "decode-attention", "project-heads"))


def wrapped(g: Graph, cache: Any, at: Any, rows: Any) -> Any:
    """As jax counts places from the end: where(at < 0, at + LENGTH, at)."""
    below = g("lt", at, g.number(0, (1,), "i64"), of="i1")
    place = g("where", below, g("add", at, g.number(LENGTH, (1,), "i64"), of="i64"), at, of="i64")
    return scattered(g, cache, place, rows)


def test_places_from_the_end_are_the_position() -> None:
    before = build(wrapped, CACHE, AT, ROWS)
    module = before.clone()
    run_pipeline(module, "update-caches")
    assert names(module) == ["broadcast", "reshape", "paged_update_cache"]
    compare(before, module)


@pytest.mark.parametrize(
    ("compared", "with_", "added", "kept"),
    [("at", 0, "at", "at"), ("other", 0, "at", "at"), ("at", 1, "at", "at"), ("at", 0, "other", "at"), ("at", 0, "at", "other"), ("other", 1, "at", "at")],
)
def test_only_the_same_place_is_counted_from_the_end(compared: str, with_: int, added: str, kept: str) -> None:
    def choosing(g: Graph, cache: Any, at: Any, rows: Any) -> Any:
        one_of = {"at": at, "other": g("multiply", at, g.number(1, (1,), "i64"), of="i64")}
        below = g("lt", one_of[compared], g.number(with_, (1,), "i64"), of="i1")
        place = g("where", below, g("add", one_of[added], g.number(LENGTH, (1,), "i64"), of="i64"), one_of[kept], of="i64")
        return scattered(g, cache, place, rows)

    before = build(choosing, CACHE, AT, ROWS)
    module = before.clone()
    run_pipeline(module, "update-caches")
    assert ("where" in names(module)) == ((compared, with_, added, kept) != ("at", 0, "at", "at"))
    if with_ == 0:  # all places that the cache has are its own
        compare(before, module)


@pytest.mark.parametrize("other", [False, True])
def test_softmax_with_a_wide_sum(other: bool) -> None:
    """other: the sum is of other values than those it divides."""

    def net(g: Graph, x: Any, y: Any) -> Any:
        top = g("max", x, out=(2, 4, 1), of="bf16", keep_dim=True, dim_arg=[2])
        e = g("exp", g("subtract", x, top, of="bf16"), of="bf16")
        wide = g("sum", g("typecast", y if other else e, of="f32"), out=(2, 4, 1), keep_dim=True, dim_arg=[2])
        return g("div", e, g("typecast", wide, of="bf16"), of="bf16", out=(2, 4, 64))

    rows = ((2, 4, 64), "bf16", "input")
    before = build(net, rows, rows)
    module = before.clone()
    run_pipeline(module, "fuse-patterns")
    assert ("softmax" in names(module)) != other
    compare(before, module)


def test_a_step_in_jax() -> None:
    jax = pytest.importorskip("jax")
    from alchemist.frontends.jax import capture

    jnp, lax = jax.numpy, jax.lax

    def step(p: Any, x: Any, keys: Any, values: Any, at: Any) -> Any:
        q, k, v = ((x @ p[name]).reshape(USERS, 1, GROUPS, SIZE).transpose(0, 2, 1, 3) for name in "qkv")
        keys, values = (lax.dynamic_update_slice_in_dim(cache, row, at, axis=2) for cache, row in ((keys, k), (values, v)))
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, keys) / jnp.sqrt(SIZE).astype(x.dtype)
        weights = jax.nn.softmax(jnp.where(jnp.arange(LENGTH)[None, None, None] <= at, scores, -1e9), axis=-1)
        return x + jnp.einsum("bhqk,bhkd->bhqd", weights, values).transpose(0, 2, 1, 3).reshape(x.shape) @ p["o"], keys, values

    p = {name: jnp.ones((64, 64), jnp.bfloat16) for name in "qkvo"}
    cache = jnp.ones((USERS, GROUPS, LENGTH, SIZE), jnp.bfloat16)
    found = names(lower_to_ttnn(capture(step, (p, jnp.ones((USERS, 1, 64), jnp.bfloat16), cache, cache, jnp.int32(3)), {}).module).module)
    assert found.count("paged_update_cache") == 2
    assert {"scaled_dot_product_attention_decode", "nlp_create_qkv_heads_decode"} <= set(found)
    assert not {"where", "softmax", "scatter"} & set(found)
