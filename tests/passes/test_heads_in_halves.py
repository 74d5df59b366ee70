"""Weights whose columns change places so that rotations turn halves of a head; what holds this back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, arrays, build, names
from test_columns import halves, in_part, pairs, rotated
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.builtin import ModuleOp

from alchemist.ir.attributes import tensor
from alchemist.ir.layout import layout_of
from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.passes.rotary import runs

ROWS, HIDDEN = 32, 64


def quarter(g: Graph, x: Any, cos: Any, sin: Any) -> Any:
    return in_part(g, x, cos, sin)


def turned_pairs(g: Graph, x: Any, cos: Any, sin: Any) -> Any:
    return rotated(g, x, cos, sin, pairs)


def attention(
    queries: Any,
    keys: Any = None,
    *,
    size: int = 32,
    turning: int = 0,
    groups: int = 2,
    of: str = "f32",
    norm: bool = False,
    bias: bool = True,
    transposed: bool = True,
    returned: bool = False,
    tables: str = "parameter",
    weights: str = "parameter",
) -> ModuleOp:
    """Attention of 2 x 32 tokens with 4 query heads; queries and keys say how each side is turned. returned: the keys are a result, too."""
    heads, columns = 4, (4 + 2 * groups) * size
    dims = {"q": (2, heads, ROWS, size), "k": (2, groups, ROWS, size)}

    def net(g: Graph, x: Any, w: Any, b: Any, scale: Any, cos: Any, sin: Any) -> Any:
        product = g("linear", x, w, *([b] if bias else []), out=(2, ROWS, columns), of=of, transpose_b=transposed)
        split = "split_query_key_value_and_split_heads"

        made = g.b.make(
            f"ttir.{split}",
            [product],
            {"num_heads": heads, "num_kv_heads": groups, "transpose_key": False},
            [tensor(dims["q"], of), tensor(dims["k"], of), tensor(dims["k"], of)],
        )
        q, k, v = made.results
        if norm:
            q, k = (g("rms_norm", each, scale, out=shape, of=of, normalized_shape=[size], epsilon=1e-5) for each, shape in ((q, dims["q"]), (k, dims["k"])))
        q, k = queries(g, q, cos, sin), (keys or queries)(g, k, cos, sin)
        y = g("scaled_dot_product_attention", q, k, v, out=dims["q"], of=of, is_causal=True)
        return (y, k) if returned else y

    table = ((1, 1, ROWS, turning or size), of, tables)
    weight = (columns, HIDDEN) if transposed else (HIDDEN, columns)
    return build(net, ((2, ROWS, HIDDEN), of, "input"), (weight, of, weights), ((columns,), of, "parameter"), ((size,), of, "parameter"), table, table)


def plain(g: Graph, x: Any, cos: Any, sin: Any) -> Any:
    return rotated(g, x, cos, sin, halves)


CASES: dict[str, ModuleOp] = {
    "pairs": attention(turned_pairs),
    "pairs of heads of two tiles": attention(turned_pairs, size=64),
    "halves of a part of a head": attention(quarter, turning=8),
    "halves of more than half a head": attention(quarter, size=64, turning=48),
    "queries and keys with norms": attention(turned_pairs, norm=True),
    "a key head per query head, no bias": attention(turned_pairs, groups=4, bias=False),
    "weights that stand as the product reads them": attention(quarter, turning=16, transposed=False),
    "bfloat16": attention(turned_pairs, of="bf16"),
}
GUARDS: dict[str, ModuleOp] = {
    "keys that are read elsewhere": attention(turned_pairs, returned=True),
    "queries in pairs, keys in halves": attention(turned_pairs, plain),
    "tables that are no constants": attention(turned_pairs, tables="input"),
    "weights that are no constants": attention(turned_pairs, weights="input"),
    "heads of an odd number of tiles": attention(turned_pairs, size=96),
}


def count(module: ModuleOp) -> int:
    return names(module).count("rotary_embedding_hf") + names(module).count("rotary_embedding")


@pytest.mark.parametrize("case", CASES)
def test_halves(case: str) -> None:
    before = CASES[case]
    lowered = lower_to_ttnn(before)
    assert count(lowered.module) == 2
    assert not {"matmul", "slice_static", "concat"} & set(names(lowered.module)) - ({"matmul"} if "no bias" in case else set())
    assert count(lower_to_ttnn(before, CompilerOptions(disable=("heads-in-halves",))).module) == 0
    inputs = arrays(before)
    tolerance = 2e-2 if "bfloat16" in case else 1e-4
    for want, have in zip(run_ttir(before, inputs), run_ttnn(lowered.module, [*inputs, *lowered.constants.values()]), strict=True):
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", GUARDS)
def test_guards(case: str) -> None:
    with_pass, without = (names(lower_to_ttnn(GUARDS[case], CompilerOptions(disable=off)).module) for off in ((), ("heads-in-halves",)))
    assert with_pass == without


def test_halves_stay() -> None:
    before = attention(plain)
    lowered = lower_to_ttnn(before).module
    assert count(lowered) == 2
    assert "slice_static" not in {op.name.split(".")[1] for op in lowered.walk() if "." in op.name}  # nothing was reordered


def test_runs() -> None:
    assert runs((0, 2, 4, 1, 3, 5)) == [(0, 5, 2), (1, 6, 2)]
    assert runs((0, 1, 8, 9, 2, 3)) == [(0, 2, 1), (8, 10, 1), (2, 4, 1)]
    assert runs((3, 2, 1)) == [(3, 4, 1), (2, 3, 1), (1, 2, 1)]


def types(module: ModuleOp, *named: str) -> list[str]:
    layouts = [layout_of(op.results[0].type) for op in module.walk() if op.name in {f"ttnn.{name}" for name in named}]
    return [layout.dtype for layout in layouts if layout is not None]


@pytest.mark.parametrize("case", ["halves", "pairs", "more key heads"])
def test_the_product_writes_what_attention_reads(case: str) -> None:
    """Three casts go away; the tables stay in float32."""
    before = {"halves": attention(plain), "pairs": attention(turned_pairs), "more key heads": attention(plain, groups=4)}[case]
    lowered = lower_to_ttnn(before)
    assert names(lowered.module).count("typecast") == 1  # of the result
    assert types(lowered.module, "linear", "rotary_embedding_hf") == ["bf16"] * 3
    rotation = next(op for op in lowered.module.walk() if op.name == "ttnn.rotary_embedding_hf")
    assert [layout.dtype for value in rotation.operands if (layout := layout_of(value.type)) is not None] == ["bf16", "f32", "f32"]
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttnn(lowered.module, [*inputs, *lowered.constants.values()]), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4)
    kept = lower_to_ttnn(before, CompilerOptions(disable=("cast-before-rotation",))).module
    assert types(kept, "linear", "rotary_embedding_hf") == ["f32"] * 3


@pytest.mark.parametrize("case", ["norms between", "keys that are read in float32"])
def test_casts_behind_rotations_stay(case: str) -> None:
    before = {"norms between": attention(plain, norm=True), "keys that are read in float32": attention(plain, returned=True)}[case]
    assert "bf16" not in types(lower_to_ttnn(before).module, "linear", "rotary_embedding_hf")
