"""TTIR: layers that StableHLO has no ops for, by what JAX writes for them: the front end applies these, so that its TTIR has the layers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.value import Value
from alchemist.ops.constants import behind_unit_views
from alchemist.ops.windows import padding_pairs
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Exact, Maybe, Num, Once, Op, V

x, w, b, scale, mean, variance, epsilon = V("x"), V("w"), V("b"), V("scale"), V("mean"), V("variance"), Num("epsilon")
conv = Exact("conv2d|conv_transpose2d|conv3d", x, w, name="conv")


def _flat(builder: Builder, value: SSAValue) -> Value:
    """A tensor of one real dim, without the others."""
    inner = behind_unit_views(value)
    count = math.prod(shape(value))
    return Value(builder, inner if math.prod(shape(inner)) == count else value).reshape(count)


def _is_per_channel(bound: Mapping[str, Any]) -> bool:
    """Whether scale, mean, variance and bias each have one number per channel of the convolution."""
    dims, channel = shape(bound["conv"].results[0]), access.attr(bound["conv"], "channel_dim")
    numbers = [shape(bound[name]) for name in ("scale", "mean", "variance", "b") if name in bound]
    return all(len(sizes) == len(dims) and math.prod(sizes) == sizes[channel] for sizes in numbers)


def _with_bias(builder: Builder, bound: Mapping[str, Any]) -> SSAValue:
    dims = shape(bound["b"])
    row = _flat(builder, bound["b"]).reshape(*(1 for _ in dims[1:]), math.prod(dims))
    return builder.value(bound["conv"].name, [bound["x"], bound["w"], row.ssa], access.attrs(bound["conv"]), [bound["conv"].results[0].type])


def _batch_norm(builder: Builder, bound: Mapping[str, Any]) -> SSAValue:
    numbers = [_flat(builder, bound[name]).ssa for name in ("scale", "b", "mean", "variance")]
    attributes = {"epsilon": bound["epsilon"], "dimension": access.attr(bound["conv"], "channel_dim")}
    return builder.value("ttir.batch_norm_inference", [bound["conv"].results[0], *numbers], attributes, [bound["conv"].results[0].type])


def _is_bias_of_heads(bound: Mapping[str, Any]) -> bool:
    before, after, sizes = (shape(bound[name].results[0]) if name != "b" else shape(bound["b"]) for name in ("product", "split", "b"))
    rank = len(before) - 1
    return after[:rank] == before[:rank] and len(sizes) == len(after) and math.prod(sizes[:rank]) == 1 and sizes[rank:] == after[rank:]


def _heads_with_bias(builder: Builder, bound: Mapping[str, Any]) -> SSAValue:
    flags = {key: access.attr(bound["product"], key) for key in ("transpose_a", "transpose_b")}
    linear = builder.value("ttir.linear", [bound["x"], bound["w"], _flat(builder, bound["b"]).ssa], flags, [bound["product"].results[0].type])
    return Value(builder, linear).reshape(*shape(bound["split"].results[0])).ssa


def _padded(builder: Builder, bound: Mapping[str, Any]) -> SSAValue | None:
    """None for another padding than zeros around the image, or a negative one."""
    flat, conv = access.attr(bound["pad"], "padding"), bound["conv"]
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    rows, columns = access.attr(conv, "height_dim"), access.attr(conv, "width_dim")
    if access.attr(bound["pad"], "value") != 0 or any(any(pair) for dim, pair in enumerate(pairs) if dim not in (rows, columns)) or min(flat) < 0:
        return None
    (top, bottom), (left, right) = padding_pairs(access.attr(conv, "padding"), 2)
    sides = [top + pairs[rows][0], left + pairs[columns][0], bottom + pairs[rows][1], right + pairs[columns][1]]
    return builder.like(conv, {0: bound["x"]}, padding=sides)


PADDING = Rules(
    "ttir",
    Rule(
        "padding of a convolution",  # conv2d(pad(x)) -> conv2d(x, padding)
        Exact("conv2d", Exact("pad", x, name="pad"), w, Maybe(b), name="conv"),
        _padded,
    ),
)
LAYERS = Rules(
    "ttir",
    Rule("bias of a convolution", Op("add", Once(conv), b), _with_bias, guard=_is_per_channel),  # conv(x, w) + b -> conv(x, w, b)
    Rule(
        "batch norm",  # (conv(x) - mean) * rsqrt(variance + epsilon) * scale + b -> batch_norm_inference(conv(x), ...)
        (Once(Exact("conv2d", x, w, Maybe(V("bias")), name="conv")) - mean) * Op("rsqrt", variance + epsilon) * scale + b,
        _batch_norm,
        guard=_is_per_channel,
    ),
    Rule(
        "bias of heads",  # reshape(x @ w, [.., H, D]) + b -> reshape(linear(x, w, b), [.., H, D])
        Op("add", Once(Exact("reshape", Once(Exact("matmul", x, w, name="product")), name="split")), b),
        _heads_with_bias,
        guard=_is_bias_of_heads,
    ),
)
