"""Ops of StableHLO text that no framework's front end writes: calls by name, ops of several chips on one, constants that are computed at export."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from alchemist.errors import AlchemistError
from alchemist.frontends.mlir import load

pytest.importorskip("jaxlib")

Array = np.ndarray
PLAIN = "tensor<4x6xf32>"


def values(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def golden(text: str, *arrays: Array) -> list[Array]:
    captured = load(text, "x.mlir", values={f"arg{index}": array for index, array in enumerate(arrays)})
    assert captured.golden is not None
    return captured.golden()


def function(body: str, result: str, *arguments: str) -> str:
    named = ", ".join(f"%arg{index}: {kind}" for index, kind in enumerate(arguments))
    return f"func.func @f({named}) -> {result} {{\n{body}\nreturn %0 : {result}\n}}"


def called(target: str, result: str, *arguments: str, **attributes: str) -> str:
    """A custom call on all arguments."""
    names = ", ".join(f"%arg{index}" for index in range(len(arguments)))
    texts = ", ".join(f'{key} = "{value}"' for key, value in attributes.items())
    given = f" {{mhlo.frontend_attributes = {{{texts}}}}}" if attributes else ""
    return function(f"%0 = stablehlo.custom_call @{target}({names}){given} : ({', '.join(arguments)}) -> {result}", result, *arguments)


def attention(q: Array, k: Array, v: Array, mask: Array | None = None, scale: float = 0.25, causal: bool = False) -> Array:
    scores = q @ k.swapaxes(-1, -2) * scale + (0 if mask is None else mask)
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


HEADS, MASK = "tensor<1x2x4x8xf32>", "tensor<1x1x4x4xf32>"
Q, K, V = (values(1, 2, 4, 8, seed=seed) for seed in range(3))
SHOWN = np.where(np.arange(4) <= 2, 0, -1e9).astype(np.float32) * np.ones((1, 1, 4, 4), np.float32)
X, PLACES = values(4, 6), np.array([[3, 0, 1, 1, 2, 3], [0, 0, 2, 1, 3, 1]], np.int32)
WEIGHTS = ", ".join(f"{value:.1f}" for value in range(1, 7))
WINDOWS = """%c = stablehlo.constant dense<1.0> : tensor<4x6xf32>
%z = stablehlo.constant dense<0.0> : tensor<f32>
%w = "stablehlo.reduce_window"(%c, %z) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>,
  padding = dense<[[1, 0], [1, 1]]> : tensor<2x2xi64>}> ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %s = stablehlo.add %x, %y : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x6xf32>
%0 = stablehlo.multiply %arg0, %w : tensor<2x6xf32>"""
COUNTS = np.array([[2, 3, 3, 3, 3, 2], [4, 6, 6, 6, 6, 4]], np.float32)
PRODUCT = f"""%a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
%b = stablehlo.constant dense<[[{WEIGHTS}], [{WEIGHTS}], [{WEIGHTS}]]> : tensor<3x6xf32>
%p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x6xf32>) -> tensor<2x6xf32>
%0 = stablehlo.add %arg0, %p : tensor<2x6xf32>"""
BRANCHES = """%p = stablehlo.constant dense<{}> : tensor<i1>
%0 = "stablehlo.if"(%p) ({{
  %y = stablehlo.abs %arg0 : tensor<4x6xf32>
  stablehlo.return %y : tensor<4x6xf32>
}}, {{
  %n = stablehlo.negate %arg0 : tensor<4x6xf32>
  stablehlo.return %n : tensor<4x6xf32>
}}) : (tensor<i1>) -> tensor<4x6xf32>"""


def same(target: str) -> tuple[str, tuple[Array, ...], Callable[..., Array]]:
    return called(target, PLAIN, PLAIN), (X,), lambda x: x


def one_line(op: str, result: str = PLAIN) -> str:
    return function(f"%0 = {op}", result, PLAIN)


def over(groups: str) -> str:
    """A collective of groups of chips."""
    return one_line(
        f'"stablehlo.all_gather"(%arg0) {{all_gather_dim = 0 : i64, replica_groups = {groups}}} : ({PLAIN}) -> {PLAIN}',
    )


COMPUTED: dict[str, tuple[str, tuple[Array, ...], Callable[..., Array]]] = {
    "attention without mask": (
        called("tt.scaled_dot_product_attention", HEADS, HEADS, HEADS, HEADS, has_attention_mask="False", is_causal="False", scale="0.25"),
        (Q, K, V),
        attention,
    ),
    "causal attention": (
        called("tt.scaled_dot_product_attention", HEADS, HEADS, HEADS, HEADS, has_attention_mask="false", is_causal="true", scale="0.5"),
        (Q, K, V),
        lambda *x: attention(*x, scale=0.5, causal=True),
    ),
    "attention with a mask": (
        called("tt.scaled_dot_product_attention", HEADS, HEADS, HEADS, HEADS, MASK, has_attention_mask="True", is_causal="False", scale="0.25"),
        (Q, K, V, SHOWN),
        attention,
    ),
    "a mask by the number of operands": (
        called("tt.scaled_dot_product_attention", HEADS, HEADS, HEADS, HEADS, MASK, is_causal="False", scale="0.25"),
        (Q, K, V, SHOWN),
        attention,
    ),
    "gather along a dim": (
        function(
            "%0 = stablehlo.custom_call @tenstorrent.gather_dim(%arg0, %arg1) {tt.composite_attributes = {dim = 0 : i64}} : "
            f"({PLAIN}, tensor<2x6xi32>) -> tensor<2x6xf32>",
            "tensor<2x6xf32>",
            PLAIN,
            "tensor<2x6xi32>",
        ),
        (X, PLACES),
        lambda x, places: np.take_along_axis(x, places, 0),
    ),
    **{target: same(target) for target in ("Sharding", "annotate_device_placement", "tt.mark_argument", "SPMDShardToFullShape")},
    "groups of one chip": (over("dense<[[0], [1]]> : tensor<2x1xi64>"), (X,), lambda x: x),
    "a chosen branch": (function(BRANCHES.format("true"), PLAIN, PLAIN), (X,), np.abs),
    "the other branch": (function(BRANCHES.format("false"), PLAIN, PLAIN), (X,), np.negative),
    "size of a dim": (
        one_line(f'"stablehlo.get_dimension_size"(%arg0) {{dimension = 1 : i64}} : ({PLAIN}) -> tensor<i32>', "tensor<i32>"),
        (X,),
        lambda x: np.int32(6),
    ),
    "windows over a constant": (function(WINDOWS, "tensor<2x6xf32>", "tensor<2x6xf32>"), (X[:2],), lambda x: x * COUNTS),
    "a product of constants": (function(PRODUCT, "tensor<2x6xf32>", "tensor<2x6xf32>"), (X[:2],), lambda x: x + np.outer([6, 15], np.arange(1, 7))),
}  # fmt: skip
REFUSED = {
    "a scale that is no number": (
        called("tt.scaled_dot_product_attention", HEADS, HEADS, HEADS, HEADS, has_attention_mask="False", scale="a lot"), "no number",
    ),
    "too many operands": (
        called("tt.scaled_dot_product_attention", HEADS, HEADS, HEADS, HEADS, HEADS, HEADS, HEADS, has_attention_mask="False", is_causal="True"), "operands",
    ),
    "shards": (called("Sharding", "tensor<2x6xf32>", PLAIN), "one chip"),
    "the smallest": (
        function(
            f"%0:2 = stablehlo.custom_call @mhlo.topk(%arg0) {{mhlo.attributes = {{k = 2 : i64, largest = false}}}} : ({PLAIN}) -> "
            "(tensor<4x2xf32>, tensor<4x2xi32>)\n%1 = stablehlo.abs %0#0 : tensor<4x2xf32>",
            "tensor<4x2xf32>",
            PLAIN,
        ).replace("return %0", "return %1"),
        "smallest",
    ),
    "a factorisation": (called("lapack_sgeqrf_ffi", PLAIN, PLAIN), "factorisation"),
    "an unknown name": (called("somebodys.kernel", PLAIN, PLAIN), "somebodys.kernel"),
    "groups of two chips": (over("dense<[[0, 1]]> : tensor<1x2xi64>"), "one chip"),
    "half precision": (
        one_line(f'"stablehlo.reduce_precision"(%arg0) {{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}} : ({PLAIN}) -> {PLAIN}'), "bfloat16",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COMPUTED)
def test_computed(case: str) -> None:
    text, arrays, wanted = COMPUTED[case]
    (made,) = golden(text, *arrays)
    np.testing.assert_allclose(made, wanted(*arrays), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(AlchemistError, match=message):
        load(text, "x.mlir")


@pytest.mark.parametrize("of", ["f32", "bf16"])
def test_uniform_numbers(of: str) -> None:
    text = function(
        f"%l = stablehlo.constant dense<-2.0> : tensor<{of}>\n%h = stablehlo.constant dense<3.0> : tensor<{of}>\n"
        f"%s = stablehlo.constant dense<[40, 50]> : tensor<2xi64>\n"
        f'%0 = "stablehlo.rng"(%l, %h, %s) {{rng_distribution = #stablehlo<rng_distribution UNIFORM>}} : '
        f"(tensor<{of}>, tensor<{of}>, tensor<2xi64>) -> tensor<40x50x{of}>",
        f"tensor<40x50x{of}>",
    )
    (rand,) = [op for op in load(text, "x.mlir").module.walk() if op.name == "ttir.rand"]
    assert (float(rand.properties["low"].value.data), float(rand.properties["high"].value.data)) == (-2.0, 3.0)
    with pytest.raises(AlchemistError, match="random numbers"):
        load(text.replace("UNIFORM", "NORMAL"), "x.mlir")


def test_bfloat16_precision_is_two_casts() -> None:
    text = one_line(f'"stablehlo.reduce_precision"(%arg0) {{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}} : ({PLAIN}) -> {PLAIN}')
    casts = [op for op in load(text, "x.mlir").module.walk() if op.name == "ttir.typecast"]
    assert [str(op.results[0].type.element_type) for op in casts] == ["bf16", "f32"]


def test_a_cache_that_a_call_writes() -> None:
    cache, row = "tensor<1x2x8x32xf32>", "tensor<1x2x1x32xf32>"
    text = called("tt.update_cache", cache, cache, row, "tensor<1xi32>", batch_offset="0")
    before, new = values(1, 2, 8, 32), values(1, 2, 1, 32, seed=1)
    wanted = before.copy()
    wanted[:, :, 5] = new[:, :, 0]
    np.testing.assert_array_equal(golden(text, before, new, np.array([5], np.int32))[0], wanted)
