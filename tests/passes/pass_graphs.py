"""TTIR functions that the tests of passes are made from: a builder, its usual inputs, and computations as front ends spell them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir import access
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import GRADIENT, Scope, SourceInfo
from alchemist.ir.text import print_module
from alchemist.ops.evaluate import run as run_ttir
from alchemist.passes import lower_to_ttnn

Net = Callable[["Graph"], Any]


class Graph:
    """A TTIR function under construction; values know their shapes. is_backward: whether what is made now belongs to a gradient; module: and of which one."""

    def __init__(self) -> None:
        self.is_backward = False
        self.module = ""
        self.inputs: list[tuple[str, Any, str, SourceInfo | None]] = []
        self.b: Any = None
        self.count = 0

    def __call__(self, op: str, *operands: Any, out: tuple[int, ...] | None = None, of: str = "f32", **attributes: Any) -> Any:
        dims = access.shape(operands[0]) if out is None else out
        given = [list(operands)] if op == "concat" else list(operands)
        self.count += 1
        scopes = (Scope("", "Net"), *([Scope(self.module, self.module.title())] if self.module else []))
        source = SourceInfo(scopes, (), f"aten.{op}{GRADIENT if self.is_backward else ''}", f"{op}_{self.count}")
        return self.b.op(f"ttir.{op}", given, attributes, [tensor(dims, of)], source=source)

    def number(self, value: float, dims: tuple[int, ...] = (1, 1), of: str = "f32") -> Any:
        return self("full", out=dims, of=of, shape=dims, fill_value=value)


def build(net: Net, *inputs: tuple[tuple[int, ...], str, str]) -> ModuleOp:
    graph = Graph()
    described = [(f"a{i}", tensor(dims, element), kind, None) for i, (dims, element, kind) in enumerate(inputs)]
    graph.b = Builder.module("forward", described)
    results = net(graph, *graph.b.args) if described else net(graph)
    graph.b.ret(list(results) if isinstance(results, tuple) else [results])
    module: ModuleOp = graph.b.module_op
    return module


def names(module: ModuleOp, function: str = "forward") -> list[str]:
    func = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == function)
    return [op.name.split(".")[1] for op in func.body.block.ops][:-1]


def arrays(module: ModuleOp) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(1)
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    found = []
    for arg in func.args:
        element, dims = access.element_type(arg), access.shape(arg)
        if element == "i1":
            found.append(rng.integers(0, 2, dims).astype(bool))
        elif element.startswith("i"):
            found.append(rng.integers(0, 5, dims))
        else:
            found.append(rng.uniform(0.1, 2.0, dims).astype(np.float32))
    return found


F = "f32"
X = ((2, 4, 64), F, "input")
W = ((32, 64), F, "parameter")
B = ((32,), F, "parameter")
V = ((64,), F, "parameter")


def softmax_written_out(g: Graph, x: Any) -> Any:
    top = g("max", x, out=(2, 4, 1), keep_dim=True, dim_arg=[2])
    e = g("exp", g("subtract", x, g("broadcast", top, out=(2, 4, 64), broadcast_dimensions=[1, 1, 64])))
    return g("div", e, g("sum", e, out=(2, 4, 1), keep_dim=True, dim_arg=[2]))


def viewed(g: Graph, x: Any, *dims: int) -> Any:
    return g("reshape", x, out=dims, shape=dims)


def layer_norm_written_out(g: Graph, x: Any, w: Any, b: Any) -> Any:
    mean = g("mean", x, out=(2, 4, 1), keep_dim=True, dim_arg=[2])
    square = g("mean", g("multiply", x, x), out=(2, 4, 1), keep_dim=True, dim_arg=[2])
    variance = g("subtract", square, g("multiply", mean, mean))
    root = g("rsqrt", g("add", variance, g.number(1e-6, (1, 1, 1))))
    scaled = g("multiply", g("subtract", x, mean), root, out=(2, 4, 64))
    return g("add", g("multiply", scaled, w), b)


def group_norm_written_out(g: Graph, x: Any, w: Any, over: Sequence[int] = (1, 2, 4), reread: bool = False) -> Any:
    """Of [2, 6, 6, 16] in 4 groups, as flax has it. over: what is summed up. reread: whether the root is a result, too."""

    def mean(value: Any) -> Any:
        return g("mean", value, out=tuple(n for dim, n in enumerate((2, 6, 6, 4, 4)) if dim not in over), keep_dim=False, dim_arg=list(over))

    def spread(value: Any) -> Any:
        return viewed(g, g("broadcast", viewed(g, value, 2, 4, 1), out=(2, 4, 4), broadcast_dimensions=[1, 1, 4]), 2, 1, 1, 16)

    groups = viewed(g, x, 2, 6, 6, 4, 4)
    means = mean(groups)
    variance = g("relu", g("subtract", mean(g("square", groups)), g("square", means)))
    root = g("rsqrt", g("add", spread(variance), g.number(1e-6, (1, 1, 1, 1)), out=(2, 1, 1, 16)))
    made = g(
        "multiply", g("subtract", x, spread(means), out=(2, 6, 6, 16)), g("multiply", root, viewed(g, w, 1, 1, 1, 16), out=(2, 1, 1, 16)), out=(2, 6, 6, 16)
    )
    return (made, root) if reread else made


def rms_norm_written_out(g: Graph, x: Any, w: Any) -> Any:
    power = g("mean", g("square", x), out=(2, 4, 1), keep_dim=True, dim_arg=[2])
    return g("multiply", w, g("multiply", x, g("rsqrt", g("add", power, g.number(1e-6, (1, 1, 1))))), out=(2, 4, 64))


def layer_norm_by_division(g: Graph, x: Any, w: Any, b: Any, spare: float = 0.0) -> Any:
    """w * (x - mean) / sqrt(variance + epsilon) + b; spare: values that the variance is short of (1 is the unbiased one)."""
    mean = g("mean", x, out=(2, 4, 1), keep_dim=True, dim_arg=[2])
    centred = g("subtract", x, mean)
    total = g("sum", g("multiply", centred, centred), out=(2, 4, 1), keep_dim=True, dim_arg=[2])
    variance = g("multiply", total, g.number(1 / (64 - spare), (1, 1, 1)), out=(2, 4, 1))
    root = g("sqrt", g("add", variance, g.number(1e-5, (1, 1, 1)), out=(2, 4, 1)))
    return g("add", g("div", g("multiply", w, centred, out=(2, 4, 64)), root), b)


def rms_norm_by_division(g: Graph, x: Any, w: Any) -> Any:
    power = g("mean", g("multiply", x, x), out=(2, 4, 1), keep_dim=True, dim_arg=[2])
    return g("multiply", g("div", x, g("sqrt", g("add", power, g.number(1e-6, (1, 1, 1))))), w)


HEADS = ((2, 2, 8, 32), F, "input")
BIAS = ((2, 1, 1, 8), F, "input")


def written_attention(g: Graph, q: Any, k: Any, v: Any, mask: Any = None, *, chosen: bool = False, fill: float = -1e9, key: Any = None) -> Any:
    """softmax(q k^T / sqrt(32) + mask) v; with `chosen` the scores where the mask is above 0 are replaced."""
    scores = g("matmul", q, key if key is not None else g("permute", k, out=(2, 2, 32, 8), permutation=[0, 1, 3, 2]), out=(2, 2, 8, 8))
    scores = g("multiply", scores, g.number(32**-0.5, (1, 1, 1, 1)))
    if chosen:
        scores = g("where", g("gt", mask, g.number(0.0, (1, 1, 1, 1))), g.number(fill, (1, 1, 1, 1)), scores, out=(2, 2, 8, 8))
    elif mask is not None:
        scores = g("add", scores, mask)
    return g("matmul", g("softmax", scores, dimension=3, numericStable=True), v, out=(2, 2, 8, 32))


ONE_HEAD = ((2, 8, 32), F, "input")


def for_groups(g: Graph, heads: Any) -> Any:
    """[2, 8, 32], one head of two users, for both of their query heads."""
    spread = g("broadcast", g("reshape", heads, out=(2, 1, 1, 8, 32), shape=[2, 1, 1, 8, 32]), out=(2, 1, 2, 8, 32), broadcast_dimensions=[1, 1, 2, 1, 1])
    return g("reshape", spread, out=(2, 2, 8, 32), shape=[2, 2, 8, 32])


def gelu_factored(g: Graph, x: Any, factor: float = 0.044715) -> Any:
    square = g("multiply", g("multiply", x, g.number(factor, (1, 1, 1))), x)
    inner = g("multiply", g("multiply", x, g.number(math.sqrt(2 / math.pi), (1, 1, 1))), g("add", square, g.number(1.0, (1, 1, 1))))
    return g("multiply", g("multiply", x, g.number(0.5, (1, 1, 1))), g("add", g("tanh", inner), g.number(1.0, (1, 1, 1))))


def over_one_plus(g: Graph, top: Any, x: Any, one: float = 1.0) -> Any:
    return g("div", top, g("add", g("exp", g("neg", x)), g.number(one, (1, 1, 1))), out=(2, 4, 64))


def gelu_written_out(g: Graph, x: Any) -> Any:
    error = g("erf", g("div", x, g.number(math.sqrt(2.0), (1, 1, 1))))
    return g("multiply", g("multiply", x, g.number(0.5, (1, 1, 1))), g("add", error, g.number(1.0, (1, 1, 1))))


def gelu_tanh_written_out(g: Graph, x: Any) -> Any:
    cubic = g("add", x, g("multiply", g("pow", x, g.number(3.0, (1, 1, 1))), g.number(0.044715, (1, 1, 1))))
    curve = g("tanh", g("multiply", cubic, g.number(math.sqrt(2.0 / math.pi), (1, 1, 1))))
    return g("multiply", g("multiply", x, g.number(0.5, (1, 1, 1))), g("add", curve, g.number(1.0, (1, 1, 1))))


def three_heads(g: Graph, x: Any, *weights: Any) -> Any:
    parts = []
    for w in weights:
        y = g("linear", x, w, out=(2, 32, 64), transpose_b=True)
        y = g("reshape", y, out=(2, 32, 2, 32), shape=(2, 32, 2, 32))
        parts.append(g("permute", y, out=(2, 2, 32, 32), permutation=[0, 2, 1, 3]))
    return parts


def attention(g: Graph, x: Any, *weights: Any) -> Any:
    return g("scaled_dot_product_attention", *three_heads(g, x, *weights), is_causal=False)


CONV = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1, "channel_dim": 1, "height_dim": 2, "width_dim": 3}
IMAGE, PIXELS = ((1, 8, 6, 6), F, "input"), ((2, 6, 6, 16), F, "input")
KERNEL = ((16, 8, 3, 3), F, "parameter")
VECTOR = ((16,), F, "parameter")


def conv_norm(g: Graph, x: Any, w: Any, *vectors: Any) -> Any:
    y = g("conv2d", x, w, out=(1, 16, 6, 6), **CONV)
    return g("batch_norm_inference", y, *vectors, epsilon=1e-5, dimension=1)


ROWS, COLUMNS, TURNED_COLUMNS = ((4, 16), F, "input"), ((16, 32), F, "parameter"), ((32, 16), F, "parameter")
VECTOR_32 = ((32,), F, "parameter")


def normed(g: Graph, x: Any, *vectors: Any, dimension: int = 1) -> Any:
    return g("batch_norm_inference", x, *vectors, epsilon=1e-5, dimension=dimension)


CHANNELS = ((1, 16, 1, 1), F, "parameter")


def frozen_norm(g: Graph, x: Any, w: Any, factor: Any, offset: Any, bias: Any = None) -> Any:
    """conv(x) * factor + offset"""
    y = g("conv2d", x, w, *([bias] if bias is not None else []), out=(1, 16, 6, 6), **CONV)
    return g("add", offset, g("multiply", y, factor, out=(1, 16, 6, 6)), out=(1, 16, 6, 6))


VOLUME = ((2, 4, 5, 6, 7), F, "input")
NCDHW = {"batch_dim": 0, "channel_dim": 1, "depth_dim": 2, "height_dim": 3, "width_dim": 4}


def volume(out: tuple[int, ...], **attributes: Any) -> Net:
    """conv3d with a bias, torch's dim order."""
    return lambda g, x, w, b: g("conv3d", x, w, b, out=out, **(NCDHW | {"groups": 1} | attributes))


def moving(out: tuple[int, ...], **attributes: Any) -> Net:
    """A conv2d whose weights are an input."""
    return lambda g, x, w: g("conv2d", x, w, out=out, **(CONV | {"batch_dim": 0, "channel_dim": 1, "height_dim": 2, "width_dim": 3} | attributes))


def spreading(out: tuple[int, ...], **attributes: Any) -> Net:
    """A conv_transpose2d whose weights are an input."""
    return lambda g, x, w: g("conv_transpose2d", x, w, out=out, batch_dim=0, channel_dim=1, height_dim=2, width_dim=3, **attributes)


HIDDEN = ((2, 32, 64), F, "input")
SQUARE = ((64, 64), F, "parameter")

WAVE, TAPS = ((2, 8, 12), F, "input"), ((16, 8, 3), F, "parameter")
TURNED_WAVE, TAP, TAP_BIAS = ((2, 12, 8), F, "input"), ((16, 8, 1), F, "parameter"), ((1, 16, 1), F, "parameter")


def wave(g: Graph, x: Any, w: Any, out: tuple[int, ...] = (2, 16, 12)) -> Any:
    return g("conv1d", x, w, out=out, stride=1, padding=1, groups=1, batch_dim=0, channel_dim=1, length_dim=2, dilation=1)


def turned(g: Graph, x: Any, out: tuple[int, ...] = (2, 12, 16)) -> Any:
    return g("permute", x, out=out, permutation=[0, 2, 1])


def scores(
    g: Graph, q: Any, k: Any, *, key_factor: float | None = 0.5, gradients: bool = False, gradient_factor: float | None = 0.5, also: bool = False
) -> Any:
    """(0.5 * q) times the transposed key_factor * k. gradients: products with the same operands, as a gradient has them. also: what else reads the key."""

    def scaled(x: Any, factor: float | None = 0.5) -> Any:
        return x if factor is None else g("multiply", x, g.number(factor))

    scaled_q, scaled_k = scaled(q), scaled(k, key_factor)
    product = g("matmul", scaled_q, g("permute", scaled_k, out=(16, 4), permutation=[1, 0]), out=(4, 4))
    if gradients:
        return product, *(scaled(g("matmul", product, one, out=(4, 16)), gradient_factor) for one in (scaled_q, scaled_k))
    return (product, g("exp", scaled_k)) if also else product


def tap(g: Graph, x: Any, w: Any, b: Any) -> Any:
    """A conv1d of one tap."""
    return g("conv1d", x, w, b, out=(2, 16, 12), stride=1, padding=0, groups=1, batch_dim=0, channel_dim=1, length_dim=2, dilation=1)


def padded_twice(g: Graph, x: Any) -> Any:
    """x with two zeros in front and its double, one behind the other."""
    padded = g("pad", x, out=(2, 16, 14), padding=[0, 0, 0, 0, 2, 0], value=0.0)
    return g("concat", padded, g("multiply", padded, padded), out=(2, 32, 14), dim=1)


CUBE, SQUARES = ((2, 4, 8), F, "input"), ((2, 4), F, "input")


def spread(g: Graph, x: Any, ones: int) -> Any:
    """x with dimensions of size 1 behind its own."""
    dims = (*access.shape(x), *(1,) * ones)
    return g("reshape", x, out=dims, shape=dims)


def flat(g: Graph, x: Any) -> Any:
    return viewed(g, x, 64)


def one_pass(g: Graph, x: Any, y: Any = None, kind: str = "mean", share: float = 1.0) -> Any:
    """kind(x * y) - share * kind(x) * kind(y) over the last dim"""
    y = x if y is None else y
    product, left, right = (g(kind, value, out=(2, 4), dim_arg=[-1], keep_dim=False) for value in (g("multiply", x, y), x, y))
    return g("subtract", product, g("multiply", g("multiply", left, right, out=(2, 4)), g.number(share, (1, 1)), out=(2, 4)), out=(2, 4))


def reduced(g: Graph, x: Any, *steps: tuple[str, list[int], tuple[int, ...], bool]) -> Any:
    for name, dims, out, keep in steps:
        x = g(name, x, out=out, dim_arg=dims, keep_dim=keep)
    return x


def run_ttir_with_activations(module: ModuleOp, inputs: list[Any]) -> list[Any]:
    """TTIR references do not know activations merged by attribute: those are checked through the lowering."""
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    if any("alchemist.activation" in op.attributes for op in func.body.block.ops):
        lowered = lower_to_ttnn(module)
        return run_ttnn(lowered.module, inputs)
    return run_ttir(module, inputs)


def check_change(before: ModuleOp, expected: list[str], *passes: str) -> None:
    """The passes make these ops of a module, keep its values, and change nothing when they run again."""
    module = before.clone()
    for name in passes:
        run_pipeline(module, name)
    assert names(module) == expected
    module.verify()
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttir_with_activations(module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    again = print_module(module)
    for name in passes:
        run_pipeline(module, name)
    assert print_module(module) == again, "a second run changes the module"


def check_unchanged(before: ModuleOp, name: str) -> None:
    module = before.clone()
    run_pipeline(module, name)
    assert print_module(module) == print_module(before)
