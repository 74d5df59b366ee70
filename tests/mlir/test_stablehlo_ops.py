"""Ops of StableHLO text that no framework's front end writes: calls by name, ops of several chips on one, constants that are computed at export."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
import pytest

from alchemist.errors import AlchemistError
from alchemist.frontends.mlir import foreign, load
from alchemist.frontends.stablehlo.convert import Converter
from alchemist.ir.location import sources_of
from tests.tables import table

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
STEP, CACHE, BIAS = values(1, 2, 4, 8, seed=9), values(2, 4, 4, 8, seed=10), values(2, 1, 4, 4, seed=11)
SHOWN = np.where(np.arange(4) <= 2, 0, -1e9).astype(np.float32) * np.ones((1, 1, 4, 4), np.float32)
TRUTH, OTHER = np.array([[True, False], [False, True]]), np.array([[True, True], [False, False]])
KERNEL = values(3, 2, 2, seed=8)
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


LOOP = """%one = stablehlo.constant dense<1> : tensor<i32>
%zero = stablehlo.constant dense<0> : tensor<i32>
%end = stablehlo.constant dense<3> : tensor<i32>
%buffer = stablehlo.constant dense<7.0> : tensor<5x6xf32>
%l:2 = "stablehlo.while"(%one, %buffer) ({{
^bb0(%i: tensor<i32>, %b: tensor<5x6xf32>):
  %p = "stablehlo.compare"(%i, %end) <{{comparison_direction = #stablehlo<comparison_direction LT>}}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.return"(%p) : (tensor<i1>) -> ()
}}, {{
^bb0(%i: tensor<i32>, %b: tensor<5x6xf32>):
  %n = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %s = "stablehlo.dynamic_slice"(%arg0, %i, %zero) <{{slice_sizes = array<i64: 1, 6>}}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
  %w = "stablehlo.dynamic_update_slice"(%b, %s, {place}, %zero) : (tensor<5x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>
  "stablehlo.return"(%n, %w) : (tensor<i32>, tensor<5x6xf32>) -> ()
}}) : (tensor<i32>, tensor<5x6xf32>) -> (tensor<i32>, tensor<5x6xf32>)
%0 = stablehlo.abs %l#1 : tensor<5x6xf32>"""
CHOICE = """%p = "stablehlo.compare"(%arg1, %arg2) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
%r:2 = "stablehlo.if"(%p) ({
  %y = stablehlo.abs %arg0 : tensor<4x6xf32>
  stablehlo.return %y, %arg0 : tensor<4x6xf32>, tensor<4x6xf32>
}, {
  %n = stablehlo.negate %arg0 : tensor<4x6xf32>
  %m = stablehlo.multiply %arg0, %arg0 : tensor<4x6xf32>
  stablehlo.return %n, %m : tensor<4x6xf32>, tensor<4x6xf32>
}) : (tensor<i1>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
%0 = stablehlo.add %r#0, %r#1 : tensor<4x6xf32>"""
COMPOSITE = """func.func @f(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.composite "my.twice" %arg0 {decomposition = @twice} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
func.func private @twice(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.add %x, %x : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}"""


def named_composite(name: str, attributes: str, *operands: str, of: str = PLAIN, body: str = "%a0") -> str:
    """A composite whose decomposition is not what the name says, so that the values tell by which of the two it was read."""
    places = ", ".join(f"%arg{i}: {kind}" for i, kind in enumerate(operands))
    inner = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(operands))
    return f"""func.func @f({places}) -> {of} {{
  %0 = stablehlo.composite "{name}" {", ".join(f"%arg{i}" for i in range(len(operands)))} {{composite_attributes = {{{attributes}}}, decomposition = @other}} : ({", ".join(operands)}) -> {of}
  return %0 : {of}
}}
func.func private @other({inner}) -> {of} {{
  return {body} : {of}
}}"""


def normalised(x: np.ndarray, *axes: int) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


SHARDY = """module {{
sdy.mesh @mesh = <["x"={chips}]>
func.func @f(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {{
  {body}
  return %0 : tensor<4x6xf32>
}}
}}"""
RESHARD = SHARDY.format(chips=1, body="%0 = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<4x6xf32>")
REDUCED = SHARDY.format(chips=2, body='%0 = sdy.all_reduce {"x"} %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<4x6xf32>')
MANUAL = """%0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{{inner}}}, {{}}]>] out_shardings=[<@mesh, [{{{outer}}}, {{}}]>] manual_axes={{"x"}}
    (%a: tensor<{given}x6xf32>) {{
    %1 = stablehlo.{op} : tensor<{made}x6xf32>
    sdy.return %1 : tensor<{made}x6xf32>
  }} : (tensor<4x6xf32>) -> tensor<{whole}x6xf32>"""
NORM = "tensor<2x3x4xf32>"
IMAGES, BY_CHANNEL = values(2, 3, 4, seed=7), tuple(values(3, seed=seed) + 1.5 for seed in range(4))


def normal(x: Array, scale: Array, offset: Array, mean: Array, variance: Array) -> Array:
    scale, offset, mean, variance = (part[None, :, None] for part in (scale, offset, mean, variance))
    return (x - mean) / np.sqrt(variance + 1e-3) * scale + offset


def gathered(result: str, places: str, sizes: str, settings: str) -> str:
    """A gather from the second argument's places."""
    return function(
        f'%0 = "stablehlo.gather"(%arg0, %arg1) <{{dimension_numbers = #stablehlo.gather<{settings}>, slice_sizes = array<i64: {sizes}>}}> : '
        f"({PLAIN}, {places}) -> {result}", result, PLAIN, places,
    )  # fmt: skip


def scattered(places: str, update: str, settings: str, returned: str, of: str = "f32") -> str:
    whole = f"tensor<4x6x{of}>"
    return function(
        f"""%0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{{scatter_dimension_numbers = #stablehlo.scatter<{settings}>}}> ({{
^bb0(%a: tensor<{of}>, %b: tensor<{of}>):
  {returned}
}}) : ({whole}, {places}, {update}) -> {whole}""", whole, whole, places, update,
    )  # fmt: skip


ROWS = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
TOP = """%s:2 = stablehlo.custom_call @mhlo.topk(%arg0) {mhlo.attributes = {k = 2 : i64, largest = true}} : (tensor<4x6xf32>)
  -> (tensor<4x2xf32>, tensor<4x2xi32>)
%i = stablehlo.convert %s#1 : (tensor<4x2xi32>) -> tensor<4x2xf32>
%0 = stablehlo.subtract %s#0, %i : tensor<4x2xf32>"""
EXTREME = """%i = stablehlo.iota dim = 1 : tensor<4x6xi32>
%a = stablehlo.constant dense<{start}> : tensor<f32>
%b = stablehlo.constant dense<0> : tensor<i32>
%r:2 = stablehlo.reduce(%arg0 init: %a), (%i init: %b) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>)
    -> (tensor<4xf32>, tensor<4xi32>)
  reducer(%x: tensor<f32>, %y: tensor<f32>) (%n: tensor<i32>, %m: tensor<i32>) {{
    {body}
  }}
%c = stablehlo.convert %r#1 : (tensor<4xi32>) -> tensor<4xf32>
%0 = stablehlo.subtract %r#0, %c : tensor<4xf32>"""
COMPARED = """%p = stablehlo.compare {}, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = stablehlo.select %p, %x, %y : tensor<i1>, tensor<f32>
    %w = stablehlo.select %p, %n, %m : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>"""
SUMMED = """%v = stablehlo.add %x, %y : tensor<f32>
    %w = stablehlo.add %n, %m : tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>"""
TRUE = """%z = stablehlo.constant dense<0.0> : tensor<4x6xf32>
%t = stablehlo.compare GT, %arg0, %z : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
%i = stablehlo.constant dense<false> : tensor<i1>
%r = "stablehlo.reduce"(%t, %i) <{{dimensions = array<i64: 1>}}> ({{
^bb0(%x: tensor<i1>, %y: tensor<i1>):
  %o = stablehlo.or %x, %y : tensor<i1>
  %a = stablehlo.constant dense<{}> : tensor<i1>
  %b = stablehlo.constant dense<{}> : tensor<i1>
  %s = stablehlo.select %o, %a, %b : tensor<i1>, tensor<i1>
  stablehlo.return %s : tensor<i1>
}}) : (tensor<4x6xi1>, tensor<i1>) -> tensor<4xi1>
%0 = stablehlo.convert %r : (tensor<4xi1>) -> tensor<4xf32>"""


def beyond(first: str) -> str:
    """A window that would reach beyond the end at both axes, into an argument or a constant."""
    return function(f"""%c = stablehlo.constant dense<2.0> : {PLAIN}
%u = stablehlo.constant dense<5.0> : tensor<2x3xf32>
%i = stablehlo.constant dense<3> : tensor<i32>
%j = stablehlo.constant dense<-1> : tensor<i32>
%w = "stablehlo.dynamic_update_slice"({first}, %u, %i, %j) : ({PLAIN}, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> {PLAIN}
%0 = stablehlo.add %arg0, %w : {PLAIN}""", PLAIN, PLAIN)  # fmt: skip


def written(x: Array, value: float = 5.0) -> Array:
    made = x.copy()
    made[2:4, 0:3] = value
    return made


def one_line(op: str, result: str = PLAIN) -> str:
    return function(f"%0 = {op}", result, PLAIN)


def over(groups: str, result: str = PLAIN) -> str:
    """A collective of groups of chips."""
    return one_line(f'"stablehlo.all_gather"(%arg0) {{all_gather_dim = 0 : i64, replica_groups = {groups}}} : ({PLAIN}) -> {result}', result)


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
    "a step of attention with a mask": (
        called("tt.scaled_dot_product_attention_decode", "tensor<1x2x4x8xf32>", "tensor<1x2x4x8xf32>", "tensor<2x4x4x8xf32>", "tensor<2x4x4x8xf32>", "tensor<2xi32>", "tensor<2x1x4x4xf32>",
               has_attention_mask="True", has_attention_sink="False", is_causal="False", scale="0.25"),
        (STEP, CACHE, CACHE + 1, np.array([3, 3], np.int32), BIAS),
        lambda q, k, v, _, mask: attention(q[0, :, :, None], k, v, mask.swapaxes(1, 2))[None, :, :, 0],
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
    "a branch of data": (function(CHOICE, PLAIN, PLAIN, "tensor<f32>", "tensor<f32>"), (X, np.float32(1), np.float32(2)), lambda x, *_: np.abs(x) + x),
    "the other branch of data": (function(CHOICE, PLAIN, PLAIN, "tensor<f32>", "tensor<f32>"), (X, np.float32(2), np.float32(2)), lambda x, *_: x * x - x),
    "rows that a loop writes": (function(LOOP.format(place="%i"), "tensor<5x6xf32>", PLAIN), (X,),
                                lambda x: np.abs(np.concatenate([np.full((1, 6), 7), x[1:3], np.full((2, 6), 7)]))),
    "a composite": (COMPOSITE, (X,), lambda x: 2 * x),
    "a gelu by name": (named_composite("tenstorrent.gelu", "", PLAIN), (X,), lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))),
    "a norm by name": (
        named_composite("tenstorrent.rms_norm", "epsilon = 1.0e-5 : f32, normalized_shape = dense<6> : tensor<1xi64>", PLAIN, "tensor<6xf32>"),
        (X, X[0]), lambda x, w: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * w,
    ),
    "a norm by name, scaled and shifted": (
        named_composite("tenstorrent.layer_norm", "epsilon = 1.0e-5 : f32, normalized_shape = [6]", PLAIN, "tensor<6xf32>", "tensor<6xf32>"),
        (X, X[0], X[1]), lambda x, w, b: normalised(x, 1) * w + b,
    ),
    "a norm of groups by name": (
        named_composite("tenstorrent.group_norm", "channel_dim = 1 : i64, epsilon = 1.0e-5 : f32, num_groups = 3 : i64", PLAIN),
        (X,), lambda x: normalised(x.reshape(4, 3, 2), 2).reshape(4, 6),
    ),
    "a norm by name whose one parameter may be either": (
        named_composite("tenstorrent.layer_norm", "epsilon = 1.0e-5 : f32, normalized_shape = [6]", PLAIN, "tensor<6xf32>"), (X, X[0]), lambda x, _: x,
    ),
    "a norm by name without its attributes": (named_composite("tenstorrent.rms_norm", "epsilon = 1.0e-5 : f32", PLAIN), (X,), lambda x: x),
    "a sharding": (RESHARD, (X,), lambda x: x),
    "a sharding over two chips": (RESHARD.replace('"x"=1', '"x"=2').replace("[{}, {}]", '[{"x"}, {}]'), (X,), lambda x: x),
    "a sum over chips, of whole tensors": (REDUCED, (X,), lambda x: x),
    "a computation of one chip": (SHARDY.format(chips=1, body=MANUAL.format(inner='"x"', outer='"x"', given=4, made=4, whole=4, op="abs %a")), (X,), np.abs),
    "norm": (
        function('%0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : '
                 f"({NORM}, {', '.join(['tensor<3xf32>'] * 4)}) -> {NORM}", NORM, NORM, *["tensor<3xf32>"] * 4),
        (IMAGES, *BY_CHANNEL), normal,
    ),
    "norm by the batch": (
        function('%r:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : '
                 f"({NORM}, tensor<3xf32>, tensor<3xf32>) -> ({NORM}, tensor<3xf32>, tensor<3xf32>)\n"
                 f"%0 = stablehlo.abs %r#0 : {NORM}", NORM, NORM, "tensor<3xf32>", "tensor<3xf32>"),
        (IMAGES, *BY_CHANNEL[:2]), lambda x, scale, offset: np.abs(normal(x, scale, offset, x.mean((0, 2)), x.var((0, 2)))),
    ),
    "the largest values": (function(TOP, "tensor<4x2xf32>", PLAIN), (X,), lambda x: -np.sort(-x)[:, :2] - np.argsort(-x)[:, :2]),
    "the smallest values": (function(TOP.replace("largest = true", "largest = false"), "tensor<4x2xf32>", PLAIN), (X,), lambda x: np.sort(x)[:, :2] - np.argsort(x)[:, :2]),
    "the largest and its place": (function(EXTREME.format(start="0xFF800000", body=COMPARED.format("GT")), "tensor<4xf32>", PLAIN), (X,),
                                  lambda x: x.max(1) - x.argmax(1)),
    "the smallest and its place": (function(EXTREME.format(start="0x7F800000", body=COMPARED.format("LE")), "tensor<4xf32>", PLAIN), (X,),
                                   lambda x: x.min(1) - x.argmin(1)),
    "truth that is selected": (function(TRUE.format("true", "false"), "tensor<4xf32>", PLAIN), (X - 0.6,), lambda x: (x > 0).any(1).astype(np.float32)),
    "a window at a place": (
        gathered("tensor<2x6xf32>", "tensor<1xi32>", "2, 6", "offset_dims = [0, 1], start_index_map = [0], index_vector_dim = 0"),
        (X, np.array([1], np.int32)), lambda x, i: x[1:3],
    ),
    "a row at a place": (
        gathered("tensor<1x6xf32>", "tensor<1xi32>", "1, 6", "offset_dims = [0, 1], start_index_map = [0], index_vector_dim = 0"),
        (X, np.array([2], np.int32)), lambda x, i: x[2:3],
    ),
    "the first columns of rows": (
        gathered("tensor<2x3xf32>", "tensor<2x1xi32>", "1, 3", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"),
        (X, np.array([[3], [1]], np.int32)), lambda x, i: x[[3, 1], :3],
    ),
    "places without a vector": (
        gathered("tensor<2x6xf32>", "tensor<2xi32>", "1, 6", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"),
        (X, np.array([3, 1], np.int32)), lambda x, i: x[[3, 1]],
    ),
    "an axis that is taken whole": (
        gathered("tensor<2x6xf32>", "tensor<2x2xi32>", "1, 6", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1"),
        (X, np.array([[3, 0], [1, 0]], np.int32)), lambda x, i: x[[3, 1]],
    ),
    "windows of columns at places": (
        gathered("tensor<2x4x2xf32>", "tensor<2x1xi32>", "4, 2", "offset_dims = [1, 2], start_index_map = [1], index_vector_dim = 1"),
        (X, np.array([[3], [0]], np.int32)), lambda x, i: np.stack([x[:, 3:5], x[:, 0:2]]),
    ),
    "a window that a place would put beyond the end": (
        gathered("tensor<2x6xf32>", "tensor<1xi32>", "2, 6", "offset_dims = [0, 1], start_index_map = [0], index_vector_dim = 0"),
        (X, np.array([9], np.int32)), lambda x, i: x[2:4],
    ),
    "windows that places would put beyond the ends": (
        gathered("tensor<2x3xf32>", "tensor<2x2xi32>", "1, 3", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1"),
        (X, np.array([[3, 5], [1, -4]], np.int32)), lambda x, i: np.stack([x[3, 3:6], x[1, 0:3]]),
    ),
    "a scatter that keeps": (
        scattered("tensor<2x1xi32>", "tensor<2x6xf32>", ROWS, "stablehlo.return %a : tensor<f32>"), (X, np.zeros((2, 1), np.int32), X[:2]), lambda x, *_: x,
    ),
    "a reversed window": (
        function('%0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, '
                 "feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_reversal = array<i1: true>}> : "
                 "(tensor<1x2x6xf32>, tensor<3x2x2xf32>) -> tensor<1x3x5xf32>", "tensor<1x3x5xf32>", "tensor<1x2x6xf32>", "tensor<3x2x2xf32>"),
        (X[None, :2], KERNEL), lambda x, w: np.einsum("bitk,oik->bot", np.lib.stride_tricks.sliding_window_view(x, 2, 2), w[:, :, ::-1]),
    ),
    "rows of no window": (
        function(f"%0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : ({PLAIN}, tensor<6x0xf32>) -> tensor<4x0xf32>",
                 "tensor<4x0xf32>", PLAIN, "tensor<6x0xf32>"),
        (X, np.zeros((6, 0), np.float32)), lambda x, y: x @ y,
    ),
    "truth that is added": (
        function("%0 = stablehlo.add %arg0, %arg1 : tensor<2x2xi1>", "tensor<2x2xi1>", "tensor<2x2xi1>", "tensor<2x2xi1>"), (TRUTH, OTHER), np.logical_or,
    ),
    "truth that is multiplied": (
        function("%0 = stablehlo.multiply %arg0, %arg1 : tensor<2x2xi1>", "tensor<2x2xi1>", "tensor<2x2xi1>", "tensor<2x2xi1>"), (TRUTH, OTHER), np.logical_and,
    ),
    "a number": (function("%0 = stablehlo.abs %arg0 : tensor<f32>", "tensor<f32>", "tensor<f32>"), (np.float32(-2),), np.abs),
    "a window beyond the end": (beyond("%arg0"), (X,), lambda x: x + written(x)),
    "a window beyond the end of a constant": (beyond("%c"), (X,), lambda x: x + written(np.full_like(x, 2))),
    "latent attention with a mask": (
        called("tt.flash_mla_prefill", HEADS, HEADS, HEADS, HEADS, MASK, has_value="True", has_attention_mask="True", is_causal="False", scale="0.25"),
        (Q, K, V, SHOWN),
        attention,
    ),
    "latent attention, causal": (
        called("tt.flash_mla_prefill", "tensor<1x2x4x3xf32>", HEADS, "tensor<1x1x4x8xf32>", is_causal="True", head_dim_v="3"),
        (Q, K[:, :1]),
        lambda q, k: attention(q, k, k[..., :3], scale=8**-0.5, causal=True),
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
    "results at computed places": (
        function(LOOP.format(place="%arg1"), "tensor<5x6xf32>", PLAIN, "tensor<i32>"), "a loop that writes its results at computed places",
    ),
    "groups that are no axis": (over("dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>", "tensor<8x6xf32>"), "no axis of 2x2"),
    "an indexer of two batches": (
        called("tt.indexer_score_dsa", "tensor<2x4x4xf32>", "tensor<2x2x4x8xf32>", "tensor<2x1x4x8xf32>", "tensor<2x2x4x1xf32>"), "an indexer of several batches",
    ),
    "two sums in one": (function(EXTREME.format(start="0.0", body=SUMMED), "tensor<4xf32>", PLAIN), "a reduction of several tensors"),
    "places in another order": (
        function(EXTREME.format(start="0.0", body=COMPARED.format("GT")).replace("stablehlo.iota dim = 1", "stablehlo.constant dense<3>"), "tensor<4xf32>", PLAIN),
        "a reduction of several tensors",
    ),
    "truth that is turned": (function(TRUE.format("false", "true"), "tensor<4xf32>", PLAIN), "a reduction with an own function"),
    "truth that is one": (function(TRUE.format("true", "true"), "tensor<4xf32>", PLAIN), "a reduction with an own function"),
    "a scatter that adds booleans": (
        scattered("tensor<2x1xi32>", "tensor<2x6xi1>", ROWS, "%s = stablehlo.add %a, %b : tensor<i1>\n  stablehlo.return %s : tensor<i1>", "i1"),
        "scatter that adds booleans",
    ),
    "shards": (called("Sharding", "tensor<2x6xf32>", PLAIN), "Sharding over several chips"),
    "a factorisation": (called("lapack_sgeqrf_ffi", PLAIN, PLAIN), "factorisation"),
    "an unknown name": (called("somebodys.kernel", PLAIN, PLAIN), "somebodys.kernel"),
    "groups of two chips": (over("dense<[[0, 1]]> : tensor<1x2xi64>"), "result's type does not follow"),
    "half precision": (
        one_line(f'"stablehlo.reduce_precision"(%arg0) {{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}} : ({PLAIN}) -> {PLAIN}'), "bfloat16",
    ),
}  # fmt: skip


@table("case", COMPUTED)
def test_computed(case: str) -> None:
    text, arrays, wanted = COMPUTED[case]
    (made,) = golden(text, *arrays)
    assert made.shape == np.shape(wanted(*arrays))
    np.testing.assert_allclose(made, wanted(*arrays), rtol=1e-4, atol=1e-5)


@table("case", REFUSED)
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


# --- constants ----------------------------------------------------------------------------------------------------------


def kind_of(array: Array) -> str:
    name = {"float32": "f32", "int32": "i32", "uint32": "ui32", "bool": "i1"}[array.dtype.name]
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}{name}>"


def literal(array: Array) -> str:
    return str(array.tolist()).lower().replace("inf", "0x7F800000" if array.max() == np.inf else "0xFF800000")


POSITIVE = values(4, 6, seed=3) + 1.5
INTEGERS, SHIFTS = np.array([[-7, 5, 0], [3, -2, 9]], np.int32), np.array([[2, 3, 1], [-2, 1, 4]], np.int32)
OFFSETS = np.array([2, 1], np.int32)


def plain(op: str, *arrays: Array, result: Array | None = None, settings: str = "") -> tuple[str, tuple[Array, ...]]:
    """An op in generic form. result: what has its type, the first array otherwise."""
    kinds = ", ".join(map(kind_of, arrays))
    names = ", ".join(f"%arg{index}" for index in range(len(arrays)))
    return f'%0 = "{op}"({names}) {settings} : ({kinds}) -> {kind_of(arrays[0] if result is None else result)}', arrays


def ordered(direction: str) -> tuple[str, tuple[Array, ...]]:
    """A sort by two keys, with a third tensor that follows."""
    keys = np.array([[2, 1, 2, 0], [1, 1, 0, 0]], np.int32), np.array([[0.5, 3, 0.25, 1], [2, 1, -1, 4]], np.float32)
    body = f"""({{
^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>, %f: tensor<f32>):
  %same = "stablehlo.compare"(%a, %b) <{{comparison_direction = #stablehlo<comparison_direction EQ>}}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %less = "stablehlo.compare"(%a, %b) <{{comparison_direction = #stablehlo<comparison_direction {direction}>}}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %then = "stablehlo.compare"(%c, %d) <{{comparison_direction = #stablehlo<comparison_direction {direction}>}}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %r = "stablehlo.select"(%same, %then, %less) : (tensor<i1>, tensor<i1>, tensor<i1>) -> tensor<i1>
  "stablehlo.return"(%r) : (tensor<i1>) -> ()
}})"""
    kinds = ", ".join(map(kind_of, (*keys, keys[1])))
    return f'%s:3 = "stablehlo.sort"(%arg0, %arg1, %arg2) <{{dimension = 1 : i64, is_stable = true}}> {body} : ({kinds}) -> ({kinds})\n' \
        f'%0 = "stablehlo.add"(%s#1, %s#2) : ({kind_of(keys[1])}, {kind_of(keys[1])}) -> {kind_of(keys[1])}', (*keys, values(2, 4, seed=5))  # fmt: skip


def reduced(op: str, array: Array, start: str) -> tuple[str, tuple[Array, ...]]:
    """Over the first dimension of two."""
    of = kind_of(array[0, 0])
    return (
        f"""%i = stablehlo.constant dense<{start}> : {of}
%0 = "stablehlo.reduce"(%arg0, %i) <{{dimensions = array<i64: 0>}}> ({{
^bb0(%x: {of}, %y: {of}):
  %s = "stablehlo.{op}"(%x, %y) : ({of}, {of}) -> {of}
  "stablehlo.return"(%s) : ({of}) -> ()
}}) : ({kind_of(array)}, {of}) -> {kind_of(array[0])}""",
        (array,),
    )


LOWEST, HIGHEST = str(-(1 << 31)), str((1 << 31) - 1)
FOLDED: dict[str, tuple[str, tuple[Array, ...]]] = {
    **{name: plain(f"stablehlo.{name}", X) for name in ("abs", "negate", "exponential", "exponential_minus_one", "tanh", "logistic", "sine", "cosine", "tan",
                                                        "floor", "ceil", "sign", "round_nearest_afz", "round_nearest_even")},
    **{name: plain(f"stablehlo.{name}", POSITIVE) for name in ("log", "log_plus_one", "sqrt", "rsqrt", "cbrt")},
    **{name: plain(f"chlo.{name}", X * 0.9) for name in ("erf", "erfc", "square", "asin", "acos", "atan", "asinh", "atanh", "sinh", "cosh", "erf_inv")},
    "acosh": plain("chlo.acosh", POSITIVE + 1),
    "is finite": plain("stablehlo.is_finite", np.array([[1, np.inf]], np.float32), result=np.array([[True, True]])),
    "halves away": plain("stablehlo.round_nearest_afz", np.arange(-2.5, 3, 0.5, dtype=np.float32)),
    "halves to even": plain("stablehlo.round_nearest_even", np.arange(-2.5, 3, 0.5, dtype=np.float32)),
    **{name: plain(f"stablehlo.{name}", X, POSITIVE) for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "atan2")},
    "power": plain("stablehlo.power", POSITIVE, X),
    **{f"{name} of integers": plain(f"stablehlo.{name}", INTEGERS, SHIFTS) for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum",
                                                                                       "remainder")},
    **{name: plain(f"stablehlo.{name}", INTEGERS, counts) for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical")
       for counts in [np.array([[2, 31, 1], [32, 1, 40]], np.int32)]},
    "power of integers": plain("stablehlo.power", np.array([[-7, 1, -1], [3, 2, 0]], np.int32), np.array([[2, -3, -3], [0, -1, -1]], np.int32)),
    "bits of a number": plain("stablehlo.bitcast_convert", np.array(0.5, np.float32), result=np.array(1, np.int32)),
    **{f"{name} of truth": plain(f"stablehlo.{name}", TRUTH, OTHER) for name in ("and", "or", "xor")},
    **{f"{name} of bits": plain(f"stablehlo.{name}", INTEGERS, SHIFTS) for name in ("and", "or", "xor")},
    "not of truth": plain("stablehlo.not", TRUTH), "not of bits": plain("stablehlo.not", INTEGERS),
    **{f"compare {name}": plain("stablehlo.compare", np.array([1, 2, 3], np.float32), np.array([2, 2, 2], np.float32), result=np.array([True] * 3),
                                settings=f"<{{comparison_direction = #stablehlo<comparison_direction {name}>}}>")
       for name in ("EQ", "NE", "LT", "LE", "GT", "GE")},
    "select": plain("stablehlo.select", TRUTH, values(2, 2), values(2, 2, seed=1), result=values(2, 2)),
    "clamp": plain("stablehlo.clamp", X - 0.5, X * 2, X + 0.3),
    "reverse": plain("stablehlo.reverse", X, settings="<{dimensions = array<i64: 1>}>"),
    "reverse both": plain("stablehlo.reverse", X, settings="<{dimensions = array<i64: 0, 1>}>"),
    "slice": plain("stablehlo.slice", X, result=X[1:3, ::2],
                   settings="<{start_indices = array<i64: 1, 0>, limit_indices = array<i64: 3, 6>, strides = array<i64: 1, 2>}>"),
    "pad": (f"""%f = stablehlo.constant dense<2.5> : tensor<f32>
%0 = "stablehlo.pad"(%arg0, %f) <{{edge_padding_low = array<i64: 1, -1>, edge_padding_high = array<i64: 1, 3>, interior_padding = array<i64: 0, 1>}}>
  : ({PLAIN}, tensor<f32>) -> tensor<6x13xf32>""", (X,)),
    "concatenate": plain("stablehlo.concatenate", X, POSITIVE, result=values(4, 12), settings="<{dimension = 1 : i64}>"),
    "gather rows": plain("stablehlo.gather", X, np.array([[3], [0]], np.int32), result=values(2, 6),
                         settings="<{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                         "index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}>"),
    "write a window": plain("stablehlo.dynamic_update_slice", X, values(2, 3, seed=4), np.int32(1), np.int32(2)),
    "sort": ordered("LT"), "sort downwards": ordered("GT"),
    "sum": reduced("add", X, "0.0"), "product": reduced("multiply", X, "1.0"), "largest": reduced("maximum", X, "0xFF800000"),
    "smallest": reduced("minimum", X, "0x7F800000"), "largest integer": reduced("maximum", INTEGERS, LOWEST),
    "smallest integer": reduced("minimum", INTEGERS, HIGHEST), "any": reduced("or", TRUTH, "false"), "all": reduced("and", TRUTH, "true"),
}  # fmt: skip
STARTED = {
    "sum and a start": reduced("add", X, "1.5"), "product and a start": reduced("multiply", X, "2.0"), "largest integer or zero": reduced("maximum", INTEGERS - 20, "0"),
    "smallest integer or zero": reduced("minimum", INTEGERS + 20, "0"), "any or true": reduced("or", TRUTH[:, 1:] & False, "true"),
    "all and false": reduced("and", TRUTH | True, "false"),
}  # fmt: skip


@table("case", [*FOLDED, *STARTED])
def test_of_constants_it_is_computed_at_export(case: str) -> None:
    """The same numbers as the program computes of arguments, and no op that computes them; NaN of neither."""
    body, arrays = (FOLDED | STARTED)[case]
    result = body.rpartition("-> ")[2]
    (wanted,) = golden(function(body, result, *map(kind_of, arrays)), *arrays)
    constants = "\n".join(f"%arg{index} = stablehlo.constant dense<{literal(array)}> : {kind_of(array)}" for index, array in enumerate(arrays))
    captured = load(function(f"{constants}\n{body}", result), "x.mlir")
    assert captured.golden is not None
    (made,) = captured.golden()
    assert made.shape == wanted.shape
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(made, wanted, rtol=2e-5, atol=2e-6)
    names = {op.name for op in captured.module.walk() if op.name.startswith("ttir.")}
    assert names <= {"ttir.constant", "ttir.full", "ttir.broadcast"} or case in STARTED


MALFORMED = {
    "an attribute that is missing": (f'%0 = "stablehlo.transpose"(%arg0) : ({PLAIN}) -> tensor<6x4xf32>', "tensor<6x4xf32>", "malformed op"),
    "another type": (f'%0 = "stablehlo.transpose"(%arg0) <{{permutation = array<i64: 1, 0>}}> : ({PLAIN}) -> {PLAIN}', PLAIN, "type does not follow"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_without_jaxlib(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that nothing has verified."""
    monkeypatch.setattr(foreign, "_context", lambda: None)
    body, result, message = MALFORMED[case]
    text = function(body, result, PLAIN)
    with pytest.raises(AlchemistError, match=message) as error:
        load(text, "x.mlir")
    assert "x.mlir:2:" in str(error.value)


@pytest.mark.parametrize(("most", "refused"), [(9, True), (200, False)])
def test_loops_unroll_to_so_many_operations(most: int, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[Converter.__module__], "UNROLL_LIMIT", most)
    text = function(LOOP.format(place="%i"), "tensor<5x6xf32>", PLAIN)
    if not refused:
        load(text, "x.mlir")
        return
    with pytest.raises(AlchemistError, match="loops unroll to more than 9 operations"):
        load(text, "x.mlir")


@pytest.mark.parametrize(
    ("location", "frames"),
    [
        ('"/m/pkg/model.py":7:3', [("model.py", 7)]),
        ('callsite("f"("/m/model.py":9:1) at "g"("/m/main.py":3:1))', [("main.py", 3), ("model.py", 9)]),
        ('callsite("f"("/x/site-packages/jax/_src/nn/functions.py":9:1) at "g"("/m/main.py":3:1))', [("main.py", 3)]),
        ('"/x/site-packages/somebody/layer.py":4:1', [("somebody/layer.py", 4)]),
        ('fused["/m/model.py":5:1, "/m/other.py":6:1]', [("model.py", 5)]),
        ('"jit(f)/block/tanh"("/m/model.py":5:1)', [("model.py", 5)]),
        ('callsite("f"("<frozen runpy>":9:1) at "g"("/usr/lib/python3.11/runpy.py":3:1))', []),
    ],
)
def test_places_in_text(location: str, frames: list[tuple[str, int]]) -> None:
    text = f'func.func @f(%arg0: {PLAIN}) -> {PLAIN} {{\n%0 = "stablehlo.abs"(%arg0) : ({PLAIN}) -> {PLAIN} loc({location})\nreturn %0 : {PLAIN}\n}}'
    (made,) = [op for op in load(text, "x.mlir").module.walk() if op.name == "ttir.abs"]
    (info,) = sources_of(made)
    assert [(frame.file, frame.line) for frame in info.frames] == frames


@pytest.mark.parametrize(
    ("text", "below"),
    [
        (scattered("tensor<50x1xi32>", "tensor<50x6xf32>", ROWS, "stablehlo.return %b : tensor<f32>"), 4),
        (gathered("tensor<50x6xf32>", "tensor<50x1xi32>", "1, 6", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"), 4),
        (function(f'%0 = "ttir.scatter"(%arg0, %arg1, %arg2) <{{dim = 1 : i32, scatter_reduce_type = #ttcore.reduce_type<invalid>}}> : '
                  f"({PLAIN}, tensor<4x50xi32>, tensor<4x50xf32>) -> {PLAIN}", PLAIN, PLAIN, "tensor<4x50xi32>", "tensor<4x50xf32>"), 6),
    ],
)  # fmt: skip
def test_made_places_are_in_range(text: str, below: int) -> None:
    captured = load(text, "x.mlir")
    places = captured.arguments[1].value()
    assert (places.min(), places.max()) == (0, below - 1)
    assert captured.golden is not None
    captured.golden()
    beyond_it = load(text, "x.mlir", values={"arg1": np.full_like(places, below + 90)})
    assert beyond_it.golden is not None
    with pytest.raises(AlchemistError, match="no result for these values"):
        beyond_it.golden()
