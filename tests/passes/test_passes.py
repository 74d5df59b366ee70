"""Each pass: a module that it changes, one that it must leave alone, and values that stay the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from alchemist.driver.opt import run_pipeline as run_pass
from alchemist.errors import OptionError, UnsupportedOpError
from alchemist.ir import access
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import Scope, SourceInfo, sources_of
from alchemist.ir.text import print_module
from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import PASSES, lower_to_ttnn

Net = Callable[["Graph"], Any]


class Graph:
    """A TTIR function under construction; values know their shapes."""

    def __init__(self) -> None:
        self.inputs: list[tuple[str, Any, str, SourceInfo | None]] = []
        self.b: Any = None
        self.count = 0

    def __call__(self, op: str, *operands: Any, out: tuple[int, ...] | None = None, of: str = "f32", **attributes: Any) -> Any:
        dims = access.shape(operands[0]) if out is None else out
        given = [list(operands)] if op == "concat" else list(operands)
        self.count += 1
        source = SourceInfo((Scope("", "Net"),), (), f"aten.{op}", f"{op}_{self.count}")
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


def layer_norm_written_out(g: Graph, x: Any, w: Any, b: Any) -> Any:
    mean = g("mean", x, out=(2, 4, 1), keep_dim=True, dim_arg=[2])
    square = g("mean", g("multiply", x, x), out=(2, 4, 1), keep_dim=True, dim_arg=[2])
    variance = g("subtract", square, g("multiply", mean, mean))
    root = g("rsqrt", g("add", variance, g.number(1e-6, (1, 1, 1))))
    scaled = g("multiply", g("subtract", x, mean), root, out=(2, 4, 64))
    return g("add", g("multiply", scaled, w), b)


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
IMAGE = ((1, 8, 6, 6), F, "input")
KERNEL = ((16, 8, 3, 3), F, "parameter")
VECTOR = ((16,), F, "parameter")


def conv_norm(g: Graph, x: Any, w: Any, *vectors: Any) -> Any:
    y = g("conv2d", x, w, out=(1, 16, 6, 6), **CONV)
    return g("batch_norm_inference", y, *vectors, epsilon=1e-5, dimension=1)


VOLUME = ((2, 4, 5, 6, 7), F, "input")
NCDHW = {"batch_dim": 0, "channel_dim": 1, "depth_dim": 2, "height_dim": 3, "width_dim": 4}


def volume(out: tuple[int, ...], **attributes: Any) -> Net:
    """conv3d with a bias, torch's dim order."""
    return lambda g, x, w, b: g("conv3d", x, w, b, out=out, **(NCDHW | {"groups": 1} | attributes))


def moving(out: tuple[int, ...], **attributes: Any) -> Net:
    """A conv2d whose weights are an input."""
    return lambda g, x, w: g("conv2d", x, w, out=out, **(CONV | {"batch_dim": 0, "channel_dim": 1, "height_dim": 2, "width_dim": 3} | attributes))


HIDDEN = ((2, 32, 64), F, "input")
SQUARE = ((64, 64), F, "parameter")

WAVE, TAPS = ((2, 8, 12), F, "input"), ((16, 8, 3), F, "parameter")


def wave(g: Graph, x: Any, w: Any, out: tuple[int, ...] = (2, 16, 12)) -> Any:
    return g("conv1d", x, w, out=out, stride=1, padding=1, groups=1, batch_dim=0, channel_dim=1, length_dim=2, dilation=1)


def turned(g: Graph, x: Any) -> Any:
    return g("permute", x, out=(2, 12, 16), permutation=[0, 2, 1])


def reduced(g: Graph, x: Any, *steps: tuple[str, list[int], tuple[int, ...], bool]) -> Any:
    for name, dims, out, keep in steps:
        x = g(name, x, out=out, dim_arg=dims, keep_dim=keep)
    return x


CHANGES: dict[str, tuple[str, ModuleOp, list[str]]] = {
    "a mean of a mean": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("mean", [-1], (2, 4), False), ("mean", [-1], (2,), False)), X),
        ["mean"],
    ),
    "a sum over dims before and behind another's": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("sum", [1], (2, 64, 8), False), ("sum", [0, 2], (64,), False)), ((2, 4, 64, 8), F, "input")),
        ["sum"],
    ),
    "three maxima whose dims stay": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("max", [2], (2, 4, 1), True), ("max", [1, 2], (2, 1, 1), True), ("max", [0], (1, 1, 1), True)), X),
        ["max"],
    ),
    "a conv1d whose result is turned": (
        "conv1d-channels-last",
        build(lambda g, x, w: turned(g, wave(g, x, w)), WAVE, TAPS),
        ["permute", "conv1d", "permute", "permute"],
    ),
    "conv1ds with activations between": (
        "conv1d-channels-last",
        build(lambda g, x, w, v: g("exp", wave(g, g("gelu", g("relu", wave(g, x, w))), v)), WAVE, TAPS, ((16, 16, 3), F, "parameter")),
        ["permute", "conv1d", "relu", "gelu", "permute", "permute", "conv1d", "exp", "permute"],
    ),
    "identities": (
        "fold",
        build(lambda g, x: g("reshape", g("multiply", g("dropout", x), g.number(1.0)), out=(2, 4, 64), shape=(2, 4, 64)), X),
        [],
    ),
    "constants": (
        "fold",
        build(lambda g, x: g("add", x, g("add", g.number(1.0), g.number(2.0))), X),
        ["full", "add"],
    ),
    "views": (
        "fold",
        build(
            lambda g, x: g(
                "unsqueeze",
                g("transpose", g("transpose", x, out=(2, 64, 4), dim0=1, dim1=2), out=(2, 4, 64), dim0=1, dim1=2),
                out=(1, 2, 4, 64),
                dim=0,
            ),
            X,
        ),
        ["reshape"],
    ),
    "equal ops": ("fold", build(lambda g, x: g("add", g("exp", x), g("exp", x)), X), ["exp", "add"]),
    "mask": (
        "fold",
        build(
            lambda g, m: g("logical_and", g("ne", m, g.number(0, (1, 1), "i64"), of="i1"), g.number(1, (2, 8), "i1"), of="i1"),
            ((2, 8), "i64", "input"),
        ),
        ["full", "ne"],
    ),
    "broadcast": (
        "implicit-broadcast",
        build(lambda g, x, w: g("add", x, g("broadcast", w, out=(2, 4, 64), broadcast_dimensions=[2, 4, 1])), X, ((1, 1, 64), F, "input")),
        ["add"],
    ),
    "softmax": ("fuse-patterns", build(softmax_written_out, X), ["softmax"]),
    "layer norm": ("fuse-patterns", build(layer_norm_written_out, X, V, V), ["layer_norm"]),
    "rms norm": ("fuse-patterns", build(rms_norm_written_out, X, V), ["rms_norm"]),
    "attention": ("fuse-attention", build(written_attention, HEADS, HEADS, HEADS), ["scaled_dot_product_attention"]),
    "attention with a mask that is added": (
        "fuse-attention",
        build(written_attention, HEADS, HEADS, HEADS, BIAS),
        ["scaled_dot_product_attention"],
    ),
    "attention with scores replaced": (
        "fuse-attention",
        build(lambda g, *x: written_attention(g, *x, chosen=True), HEADS, HEADS, HEADS, BIAS),
        ["full", "gt", "full", "full", "where", "scaled_dot_product_attention"],
    ),
    "attention with a scaled query": (
        "fuse-attention",
        build(lambda g, q, k, v: written_attention(g, g("multiply", q, g.number(2.0, (1, 1, 1, 1))), k, v), HEADS, HEADS, HEADS),
        ["scaled_dot_product_attention"],
    ),
    "layer norm by division": ("fuse-patterns", build(layer_norm_by_division, X, V, V), ["layer_norm"]),
    "rms norm by division": ("fuse-patterns", build(rms_norm_by_division, X, V), ["rms_norm"]),
    "gelu with x taken out": ("fuse-patterns", build(gelu_factored, X), ["gelu"]),
    "silu by division": ("fuse-patterns", build(lambda g, x: over_one_plus(g, x, x), X), ["silu"]),
    "sigmoid by division": ("fuse-patterns", build(lambda g, x: over_one_plus(g, g.number(1.0, (1, 1, 1)), x), X), ["sigmoid"]),
    "sigmoid by reciprocal": (
        "fuse-patterns",
        build(lambda g, x: g("reciprocal", g("add", g("exp", g("neg", x)), g.number(1.0, (1, 1, 1)))), X),
        ["sigmoid"],
    ),
    "gelu": ("fuse-patterns", build(gelu_written_out, X), ["gelu"]),
    "gelu_new": ("fuse-patterns", build(gelu_tanh_written_out, X), ["gelu"]),
    "silu": ("fuse-patterns", build(lambda g, x: g("multiply", x, g("sigmoid", x)), X), ["silu"]),
    "dot": (
        "canonicalize-dots",
        build(
            lambda g, x, w: g("dot_general", x, w, out=(2, 4, 32), batch_dims_lhs=[], batch_dims_rhs=[], contract_dims_lhs=[2], contract_dims_rhs=[1]),
            X,
            W,
        ),
        ["matmul"],
    ),
    "linear": ("fuse-linear", build(lambda g, x, w, b: g("add", g("matmul", x, w, out=(2, 4, 32), transpose_b=True), b), X, W, B), ["linear"]),
    "activation": (
        "fuse-activation",
        build(lambda g, x, w, b: g("relu", g("linear", x, w, b, out=(2, 4, 32), transpose_b=True)), X, W, B),
        ["linear"],
    ),
    "rank": (
        "keep-rank",
        build(
            lambda g, x, w, b: g(
                "reshape",
                g("linear", g("reshape", x, out=(8, 64), shape=(8, 64)), w, b, out=(8, 32), transpose_b=True),
                out=(2, 4, 32),
                shape=(2, 4, 32),
            ),
            X,
            W,
            B,
        ),
        ["linear"],
    ),
    "batch norm": (
        "fold-batch-norm",
        build(conv_norm, IMAGE, KERNEL, VECTOR, VECTOR, VECTOR, VECTOR),
        ["full", "add", "rsqrt", "multiply", "reshape", "reshape", "multiply", "reshape", "multiply", "subtract", "conv2d"],
    ),
    "batch norm of a volume": (
        "fold-batch-norm",
        build(
            lambda g, x, w, *vectors: g(
                "batch_norm_inference",
                g("conv3d", x, w, out=(2, 6, 3, 4, 5), **NCDHW, groups=1, stride=[1, 1, 1], padding=[0, 0, 0]),
                *vectors,
                epsilon=1e-5,
                dimension=1,
            ),
            VOLUME,
            ((6, 4, 3, 3, 3), F, "parameter"),
            *[((6,), F, "parameter")] * 4,
        ),
        ["full", "add", "rsqrt", "multiply", "reshape", "reshape", "multiply", "reshape", "multiply", "subtract", "conv3d"],
    ),
    "volume windows": (
        "decompose-conv",
        build(volume((2, 6, 3, 6, 3), stride=[2, 1, 2], padding=[1, 1, 0]), VOLUME, ((6, 4, 3, 3, 3), F, "parameter"), ((1, 6, 1, 1, 1), F, "parameter")),
        ["pad", *["slice_static"] * 3, *["reshape"] * 3, "concat", "permute", "reshape", "reshape", "reshape", "conv2d", "reshape", "permute"],
    ),
    "volume tubelets": (
        "decompose-conv",
        build(volume((2, 6, 2, 3, 3), stride=[2, 2, 2], padding=[0, 0, 0]), VOLUME, ((6, 4, 2, 2, 2), F, "parameter"), ((1, 6, 1, 1, 1), F, "parameter")),
        ["slice_static", "reshape", "permute", "reshape", "reshape", "reshape", "conv2d", "reshape", "permute"],
    ),
    "volume groups, channels last": (
        "decompose-conv",
        build(
            lambda g, x, w: g("conv3d", x, w, out=(1, 5, 4, 4, 8), groups=2, stride=[1, 1, 1], padding=[0, 0, 0]),
            ((1, 5, 6, 6, 4), F, "input"),
            ((8, 2, 1, 3, 3), F, "parameter"),
        ),
        ["permute", "reshape", "permute", "reshape", "reshape", "conv2d", "reshape", "permute", "permute"],
    ),
    "windows of computed weights": (
        "decompose-conv",
        build(moving((2, 6, 4, 3), stride=[2, 2], padding=[1, 0, 1, 0], dilation=[1, 1], groups=2), ((2, 4, 7, 8), F, "input"), ((6, 2, 2, 3), F, "input")),
        ["pad", *["slice_static", "reshape"] * 6, "concat", "reshape", "broadcast", "reshape", "matmul", "reshape"],
    ),
    "places of a weight gradient": (
        "decompose-conv",
        build(moving((3, 5, 2, 2), stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1), ((3, 2, 7, 7), F, "input"), ((5, 2, 6, 6), F, "input")),
        [*["slice_static", "reshape"] * 4, "concat", "reshape", "broadcast", "reshape", "matmul", "reshape"],
    ),
    "padding": (
        "fold-padding",
        build(
            lambda g, x, w: g("conv2d", g("pad", x, out=(1, 8, 8, 7), padding=[0, 0, 0, 0, 1, 1, 0, 1], value=0.0), w, out=(1, 16, 8, 7), **CONV),
            IMAGE,
            KERNEL,
        ),
        ["conv2d"],
    ),
    "split heads": (
        "fuse-split-heads",
        build(attention, HIDDEN, SQUARE, SQUARE, SQUARE),
        ["concat", "linear", "split_query_key_value_and_split_heads", "scaled_dot_product_attention"],
    ),
    "concat heads": (
        "fuse-concat-heads",
        build(
            lambda g, x: g("reshape", g("permute", x, out=(2, 32, 2, 32), permutation=[0, 2, 1, 3]), out=(2, 32, 64), shape=(2, 32, 64)),
            ((2, 2, 32, 32), F, "input"),
        ),
        ["concatenate_heads"],
    ),
}

UNCHANGED: dict[str, tuple[str, ModuleOp]] = {
    "a sum of means": ("merge-reductions", build(lambda g, x: reduced(g, x, ("mean", [2], (2, 4), False), ("sum", [1], (2,), False)), X)),
    "a mean whose dim stays under one whose does not": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("mean", [2], (2, 4, 1), True), ("mean", [1], (2, 1), False)), X),
    ),
    "a mean that is used twice": (
        "merge-reductions",
        build(lambda g, x: (y := reduced(g, x, ("mean", [2], (2, 4), False)), reduced(g, y, ("mean", [1], (2,), False))), X),
    ),
    "a sum of sums that are rounded": (
        "merge-reductions",
        build(lambda g, x: g("sum", g("sum", x, out=(2, 4), of="bf16", dim_arg=[2], keep_dim=False), out=(2,), dim_arg=[1], keep_dim=False), X),
    ),
    "products": ("merge-reductions", build(lambda g, x: reduced(g, x, ("prod", [2], (2, 4), False), ("prod", [1], (2,), False)), X)),
    "a real broadcast": (
        "implicit-broadcast",
        build(lambda g, x: g("exp", g("broadcast", x, out=(2, 4, 64), broadcast_dimensions=[2, 4, 1])), ((1, 1, 64), F, "input")),
    ),
    "an added number that matters": ("fold", build(lambda g, x: g("add", x, g.number(0.5)), X)),
    "random values": ("fold", build(lambda g: g("add", *(g("rand", out=(4, 4), size=[4, 4]) for _ in range(2))))),
    "softmax of something else": (
        "fuse-patterns",
        build(lambda g, x, y: g("div", g("exp", x), g("sum", g("exp", y), out=(2, 4, 1), keep_dim=True, dim_arg=[2])), X, X),
    ),
    "almost gelu": (
        "fuse-patterns",
        build(lambda g, x: g("multiply", g("multiply", x, g.number(0.7, (1, 1, 1))), g("add", g("erf", x), g.number(1.0, (1, 1, 1)))), X),
    ),
    "a product with two uses": (
        "fuse-linear",
        build(lambda g, x, w, b: (lambda y: (y, g("add", y, b)))(g("matmul", x, w, out=(2, 4, 32), transpose_b=True)), X, W, B),
    ),
    "a bias that is a matrix": (
        "fuse-linear",
        build(lambda g, x, w, b: g("add", g("matmul", x, w, out=(2, 4, 32), transpose_b=True), b), X, W, ((4, 32), F, "input")),
    ),
    "an activation of two uses": (
        "fuse-activation",
        build(lambda g, x, w: (lambda y: (y, g("relu", y)))(g("matmul", x, w, out=(2, 4, 32), transpose_b=True)), X, W),
    ),
    "attention whose weights are returned": (
        "fuse-attention",
        build(
            lambda g, q, k, v: (lambda p: (p, g("matmul", p, v, out=(2, 2, 8, 32))))(
                g("softmax", g("matmul", q, g("permute", k, out=(2, 2, 32, 8), permutation=[0, 1, 3, 2]), out=(2, 2, 8, 8)), dimension=3)
            ),
            HEADS,
            HEADS,
            HEADS,
        ),
    ),
    "scores replaced by a small number": (
        "fuse-attention",
        build(lambda g, *x: written_attention(g, *x, chosen=True, fill=-1.0), HEADS, HEADS, HEADS, BIAS),
    ),
    "keys that are not turned": (
        "fuse-attention",
        build(lambda g, q, k, v, t: written_attention(g, q, k, v, key=t), HEADS, HEADS, HEADS, ((2, 2, 32, 8), F, "input")),
    ),
    "a norm with the unbiased variance": ("fuse-patterns", build(lambda g, x, w, b: layer_norm_by_division(g, x, w, b, 1.0), X, V, V)),
    "a cubic with another factor": ("fuse-patterns", build(lambda g, x: gelu_factored(g, x, 0.05), X)),
    "1 / (2 + exp(-x))": ("fuse-patterns", build(lambda g, x: over_one_plus(g, g.number(1.0, (1, 1, 1)), x, 2.0), X)),
    "y / (1 + exp(-x))": ("fuse-patterns", build(lambda g, x: over_one_plus(g, g("exp", x), x), X)),
    "a conv1d whose result is sliced": (
        "conv1d-channels-last",
        build(lambda g, x, w: turned(g, g("slice_static", wave(g, x, w), out=(2, 16, 12), begins=[0, 0, 0], ends=[2, 16, 12], step=[1, 1, 1])), WAVE, TAPS),
    ),
    "a conv1d that another op reads too": (
        "conv1d-channels-last",
        build(lambda g, x, w: (lambda y: (turned(g, y), g("sum", y, out=(2, 16), dim_arg=[2], keep_dim=False)))(wave(g, x, w)), WAVE, TAPS),
    ),
    "padding with ones": (
        "fold-padding",
        build(
            lambda g, x, w: g("conv2d", g("pad", x, out=(1, 8, 8, 7), padding=[0, 0, 0, 0, 1, 1, 0, 1], value=1.0), w, out=(1, 16, 8, 7), **CONV),
            IMAGE,
            KERNEL,
        ),
    ),
    "weights that are parameters": ("decompose-conv", build(conv_norm, IMAGE, KERNEL, VECTOR, VECTOR, VECTOR, VECTOR)),
    "small heads": (
        "fuse-concat-heads",
        build(
            lambda g, x: g("reshape", g("permute", x, out=(2, 32, 2, 12), permutation=[0, 2, 1, 3]), out=(2, 32, 24), shape=(2, 32, 24)),
            ((2, 2, 32, 12), F, "input"),
        ),
    ),
    "weights that are computed": (
        "fuse-split-heads",
        build(lambda g, x, *ws: attention(g, x, *(g("exp", w) for w in ws)), HIDDEN, SQUARE, SQUARE, SQUARE),
    ),
    "batched dims in the middle": (
        "canonicalize-dots",
        build(
            lambda g, a, b: g(
                "dot_general", a, b, out=(2, 4, 3, 5), batch_dims_lhs=[0, 2], batch_dims_rhs=[0, 2], contract_dims_lhs=[3], contract_dims_rhs=[3]
            ),
            ((2, 3, 4, 8), F, "input"),
            ((2, 5, 4, 8), F, "input"),
        ),
    ),
}


@pytest.mark.parametrize("case", CHANGES, ids=str)
def test_changes(case: str) -> None:
    name, before, expected = CHANGES[case]
    module = before.clone()
    run_pass(module, name)
    assert names(module) == expected
    module.verify()
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttir_with_activations(module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    again = print_module(module)
    run_pass(module, name)
    assert print_module(module) == again, "a second run changes the module"


def run_ttir_with_activations(module: ModuleOp, inputs: list[Any]) -> list[Any]:
    """TTIR references do not know activations merged by attribute: those are checked through the lowering."""
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    if any("alchemist.activation" in op.attributes for op in func.body.block.ops):
        lowered = lower_to_ttnn(module)
        return run_ttnn(lowered.module, inputs)
    return run_ttir(module, inputs)


@pytest.mark.parametrize("case", UNCHANGED, ids=str)
def test_leaves_alone(case: str) -> None:
    name, before = UNCHANGED[case]
    module = before.clone()
    run_pass(module, name)
    assert print_module(module) == print_module(before)


@pytest.mark.parametrize("name", [name for name in PASSES if name != "ttir-to-ttnn"])
def test_a_module_without_its_ops_stays(name: str) -> None:
    module = build(lambda g, x: g("exp", x), X)
    before = print_module(module)
    run_pass(module, name)
    assert print_module(module) == before


@pytest.mark.parametrize("case", [c for c, (name, _, _) in CHANGES.items() if PASSES[name].fusing])
def test_fused_ops_keep_all_sources_in_order(case: str) -> None:
    name, before, _ = CHANGES[case]
    func = next(op for op in before.ops if isinstance(op, FuncOp))
    wanted = {info for op in func.body.block.ops for info in sources_of(op) if op.name not in ("ttir.full", "ttir.broadcast")}
    module = before.clone()
    run_pass(module, name)
    ops = [op for op in next(o for o in module.ops if isinstance(o, FuncOp)).body.block.ops if op.name != "func.return"]
    kept = [info for op in ops for info in sources_of(op)]
    assert wanted <= set(kept)
    for op in ops:
        numbers = [int(info.name.rpartition("_")[2]) for info in sources_of(op)]
        assert numbers == sorted(numbers)


def test_const_eval_takes_what_inputs_do_not_reach() -> None:
    net = build(lambda g, x, w, b: g("linear", x, w, b, out=(2, 4, 32), transpose_b=True), X, W, B)
    lowered = lower_to_ttnn(net)
    assert names(lowered.module) == ["load_cached", "linear"]
    assert names(lowered.module, "const_eval_0") == ["transpose"]
    kept = lower_to_ttnn(net, CompilerOptions(enable_const_eval=False))
    assert names(kept.module) == ["transpose", "linear", "deallocate"]


def test_deallocate_spares_results_and_arguments() -> None:
    """A view is a tensor of its own: with force = false the buffer lives until the last one that shares it is dropped."""
    net = build(lambda g, x: (lambda y: (g("reshape", y, out=(8, 64), shape=(8, 64)), g("sqrt", g("cos", y))))(g("exp", x)), X)
    module = lower_to_ttnn(net).module
    assert names(module) == ["exp", "reshape", "cos", "deallocate", "sqrt", "deallocate"]
    freed = [op for op in module.walk() if op.name == "ttnn.deallocate"]
    assert [op.operands[0].owner.name for op in freed] == ["ttnn.exp", "ttnn.cos"]  # type: ignore[union-attr]
    assert not any(access.attr(op, "force") for op in freed)
    before = print_module(module)
    run_pass(module, "deallocate")
    assert print_module(module) == before


def test_residual_norms_fuse_and_can_be_switched_off() -> None:
    net = build(lambda g, x, y, w: g("layer_norm", g("add", x, y), w, None, out=(2, 4, 64), normalized_shape=[64], epsilon=1e-5), X, X, V)
    assert "add_layer_norm" in names(lower_to_ttnn(net).module)
    assert "layer_norm" in names(lower_to_ttnn(net, CompilerOptions(disable=("fuse-residual-norm",))).module)


def test_configs_and_weight_dtype() -> None:
    net = build(lambda g, x, w, b: g("linear", x, w, b, out=(2, 4, 32), transpose_b=True), X, W, B)
    options = CompilerOptions(math_fidelity="hifi4", fp32_dest_acc_en=True, experimental_weight_dtype="bfp_bf8")
    module = lower_to_ttnn(net, options).module
    linear = next(op for op in module.walk() if op.name == "ttnn.linear")
    assert access.attr(linear, "compute_config") == {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}
    assert names(module, "const_eval_0") == ["transpose", "typecast"]
    assert access.element_type(linear.operands[1]) == "bfp_bf8"


def test_a_resnet_block_stays_flat() -> None:
    def block(g: Graph, x: Any, w1: Any, w2: Any, w3: Any, *vectors: Any) -> Any:
        y = g("relu", conv_norm(g, x, w1, *vectors))
        y = g("batch_norm_inference", g("conv2d", y, w2, out=(1, 16, 6, 6), **CONV), *vectors, epsilon=1e-5, dimension=1)
        z = g("relu", g("add", y, conv_norm(g, x, w3, *vectors)))
        return g("mean", z, out=(1, 16), keep_dim=False, dim_arg=[2, 3])

    net = build(block, IMAGE, KERNEL, ((16, 16, 3, 3), F, "parameter"), KERNEL, *([VECTOR] * 4))
    lowered = lower_to_ttnn(net)
    run = [name for name in names(lowered.module) if name not in ("load_cached", "deallocate", "get_device")]
    assert run == ["permute", "reshape", "conv2d", "conv2d", "conv2d", "add", "mean", "reshape"]
    assert lowered.l1_small_bytes > 0
    inputs = arrays(net)
    for want, have in zip(run_ttir(net, inputs), run_ttnn(lowered.module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4)


def test_big_constants_become_arguments() -> None:
    value = np.arange(72, dtype=np.float32).reshape(8, 9)
    net = build(lambda g, x: g("add", x, g("constant", out=(8, 9), value=value)), ((8, 9), F, "input"))
    lowered = lower_to_ttnn(net)
    assert list(lowered.constants) == ["constant_0"]
    np.testing.assert_array_equal(lowered.constants["constant_0"], value)


def test_embedding_ids_are_unsigned_and_tables_bfloat16() -> None:
    net = build(lambda g, ids, table: g("embedding", ids, table, out=(2, 8, 32)), ((2, 8), "i64", "input"), ((50, 32), F, "parameter"))
    module = lower_to_ttnn(net).module
    func = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "forward")
    assert access.element_type(func.args[0]) == "ui32"
    note = [access.attr(op, "alchemist.note") for op in module.walk() if op.name == "ttnn.typecast"]
    assert any(text and "bfloat16" in text for text in note)


def test_private_functions_are_inlined() -> None:
    net = build(lambda g, x: g("exp", x), X)
    func = next(op for op in net.ops if isinstance(op, FuncOp))
    inner = Builder.function(net, "twice", [("", tensor((2, 4, 64), F), "", None)], visibility="private")
    inner.ret([inner.op("ttir.add", [inner.args[0], inner.args[0]], {}, [tensor((2, 4, 64), F)])])
    outer = Builder.function(net, "thrice", [("", tensor((2, 4, 64), F), "", None)], visibility="private")
    outer.ret([outer.op("ttir.abs", [*outer.call("twice", outer.args, [tensor((2, 4, 64), F)])], {}, [tensor((2, 4, 64), F)])])
    end = func.body.block.last_op
    assert end is not None
    end.operands[0] = Builder.before(end).call("thrice", [end.operands[0]], [tensor((2, 4, 64), F)])[0]
    inputs = arrays(net)
    want = run_ttir(net, inputs)[0]
    run_pass(net, "inline-calls")
    assert names(net) == ["exp", "add", "abs"]
    assert [op.sym_name.data for op in net.ops if isinstance(op, FuncOp)] == ["forward"]
    np.testing.assert_allclose(run_ttir(net, inputs)[0], want)


def test_the_given_module_is_left_alone() -> None:
    net = build(attention, HIDDEN, SQUARE, SQUARE, SQUARE)
    before = print_module(net)
    lower_to_ttnn(net)
    assert print_module(net) == before


def test_unsupported_ops_are_listed_at_once() -> None:
    net = build(lambda g, x: g("distributed_rms_norm", g("distributed_rms_norm", x, cluster_axis=0, epsilon=1e-5), cluster_axis=0, epsilon=1e-5), X)
    with pytest.raises(UnsupportedOpError, match=r"ttir\.distributed_rms_norm  x2"):
        lower_to_ttnn(net)


def test_unknown_pass() -> None:
    with pytest.raises(OptionError, match="no pass"):
        run_pass(build(lambda g, x: g("exp", x), X), "no-such-pass")


@pytest.mark.slow
def test_lowering_is_linear() -> None:
    """Four times the ops take far less than sixteen times the time."""
    import time

    def chain(count: int) -> ModuleOp:
        def net(g: Graph, x: Any, w: Any) -> Any:
            for _ in range(count):
                x = g("add", g("relu", g("matmul", x, w)), x)
            return x

        return build(net, ((2, 64, 64), F, "input"), ((64, 64), F, "parameter"))

    def seconds(count: int) -> float:
        net = chain(count)
        start = time.perf_counter()
        lower_to_ttnn(net)
        return time.perf_counter() - start

    seconds(10)
    assert seconds(800) < 9 * seconds(200) + 0.2
