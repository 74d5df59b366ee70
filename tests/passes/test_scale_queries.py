"""Scales of masked attentions in the weights of their queries: where it loses no bit, and where nothing else reads what is scaled."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, Net, arrays, build, names
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir import access
from alchemist.ir.attributes import tensor
from alchemist.ir.text import print_module
from alchemist.ops.evaluate import run as run_ttir
from tests.tables import table

ROWS = ((2, 4, 64), "f32", "input")
CACHE = ((2, 2, 8, 32), "f32", "input")
MASK = ((2, 1, 4, 8), "f32", "input")
WEIGHT, BIAS = ((64, 64), "f32", "parameter"), ((64,), "f32", "parameter")
PAIR = ((2, 2, 4, 32), "f32", "input")


def heads(g: Graph, rows: Any) -> Any:
    split = g("reshape", rows, out=(2, 4, 2, 32), shape=[2, 4, 2, 32])
    return g("permute", split, out=(2, 2, 4, 32), permutation=[0, 2, 1, 3])


def attend(g: Graph, query: Any, cache: Any, mask: Any, scale: float | None = 0.25) -> Any:
    dims, given = access.shape(query), [] if mask is None else [mask]
    return g("scaled_dot_product_attention", query, cache, cache, *given, out=dims, is_causal=False, **({} if scale is None else {"scale": scale}))


def linear(g: Graph, x: Any, *weights: Any) -> Any:
    return g("linear", x, *weights, out=(2, 4, 64))


def scaled(scale: float | None, *, biased: bool = False, masked: bool = True) -> Net:
    def net(g: Graph, x: Any, cache: Any, mask: Any, w: Any, b: Any) -> Any:
        return attend(g, heads(g, linear(g, x, w, *([b] if biased else []))), cache, mask if masked else None, scale)

    return net


def wide(g: Graph, x: Any, cache: Any, mask: Any, w: Any, b: Any) -> Any:
    """Heads of 64: the scale that is not given is 1 / 8."""
    query = g("reshape", linear(g, x, w), out=(2, 1, 4, 64), shape=[2, 1, 4, 64])
    both = g("reshape", cache, out=(2, 1, 8, 64), shape=[2, 1, 8, 64])
    return attend(g, query, both, mask, None)


def read_twice(g: Graph, x: Any, cache: Any, mask: Any, w: Any, b: Any, *, place: int) -> Any:
    made = [linear(g, x, w)]
    made.append(g("reshape", made[0], out=(2, 4, 2, 32), shape=[2, 4, 2, 32]))
    made.append(g("permute", made[1], out=(2, 2, 4, 32), permutation=[0, 2, 1, 3]))
    return attend(g, made[2], cache, mask), g("exp", made[place])


def joined(g: Graph, x: Any, mask: Any, w: Any, b: Any, *, which: int = 0, vector: str = "", parts: int = 3, twice: bool = False) -> Any:
    """Query, key and value by one product. which: the result of the split that is the query; vector: the bias; parts: of the joined weights."""
    weight = g("concat", *[w] * 3, out=(64, 192), dim=1) if parts == 3 else g("concat", g("concat", w, w, out=(64, 128), dim=1), w, out=(64, 192), dim=1)
    biases = {"": [], "joined": [b, b, b], "whole": []}[vector]
    added = [g("concat", *biases, out=(192,), dim=0)] if biases else [g("full", out=(192,), shape=(192,), fill_value=0.5)] if vector else []
    rows = g("linear", x, weight, *added, out=(2, 4, 192))
    attributes = {"num_heads": 2, "transpose_key": False}
    found = g.b.make("ttir.split_query_key_value_and_split_heads", [rows, None], attributes, [tensor((2, 2, 4, 32), "f32")] * 3).results
    out = g("scaled_dot_product_attention", found[which], found[1], found[2], mask, is_causal=False, scale=0.25)
    return (out, g("exp", rows)) if twice else out


APART = (ROWS, CACHE, MASK, WEIGHT, BIAS)
TOGETHER = (ROWS, ((2, 1, 4, 4), "f32", "input"), WEIGHT, BIAS)
SCALED: dict[str, tuple[ModuleOp, int]] = {
    "a quarter": (build(scaled(0.25), *APART), 1),
    "two": (build(scaled(2.0), *APART), 1),
    "weight and bias": (build(scaled(0.25, biased=True), *APART), 2),
    "heads of 64": (build(wide, *APART), 1),
    "a product without moves": (build(lambda g, x, c, m, w: attend(g, g("matmul", x, w), c, m), PAIR, CACHE, MASK, ((32, 32), "bf16", "parameter")), 1),
    "joined": (build(joined, *TOGETHER), 1),
    "joined with biases": (build(partial(joined, vector="joined"), *TOGETHER), 2),
}
AS_IT_WAS = {
    "no scale": build(scaled(1.0), *APART),
    "a scale that rounds": build(scaled(0.3), *APART),
    "heads of 32": build(scaled(None), *APART),
    "below zero": build(scaled(-0.25), *APART),
    "no mask": build(scaled(0.25, masked=False), *APART),
    "an input": build(attend, PAIR, CACHE, MASK),
    "a weight that is computed": build(lambda g, x, c, m, w, b: attend(g, heads(g, linear(g, x, g("exp", w))), c, m), *APART),
    "a weight of another type": build(lambda g, x, c, m, w: attend(g, g("matmul", x, w), c, m), PAIR, CACHE, MASK, ((32, 32), "f16", "parameter")),
    **{f"the {name} is read again": build(partial(read_twice, place=place), *APART) for place, name in enumerate(("product", "reshape", "permute"))},
    "the key is the query": build(partial(joined, which=1), *TOGETHER),
    "query and key are one part": build(partial(joined, parts=2), *TOGETHER),
    "a bias that is not joined": build(partial(joined, vector="whole"), *TOGETHER),
    "the joined rows are read again": build(partial(joined, twice=True), *TOGETHER),
}
ALONE = "scale-queries{optimization_level=1}"


@pytest.mark.parametrize("case", SCALED)
def test_scales_become_weights(case: str) -> None:
    before, count = SCALED[case]
    module = before.clone()
    run_pipeline(module, ALONE)
    module.verify()
    assert names(module).count("multiply") == count
    (attention,) = [op for op in module.walk() if op.name == "ttir.scaled_dot_product_attention"]
    assert access.attr(attention, "scale") == 1.0
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttir(module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


@table("case", AS_IT_WAS)
def test_other_scales_stay(case: str) -> None:
    module = AS_IT_WAS[case].clone()
    run_pipeline(module, ALONE)
    assert print_module(module) == print_module(AS_IT_WAS[case])


def test_only_from_level_1() -> None:
    module = SCALED["a quarter"][0].clone()
    run_pipeline(module, "scale-queries")
    assert "multiply" not in names(module)
