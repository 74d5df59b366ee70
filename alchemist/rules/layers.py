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


def _is_per_channel(at: Mapping[str, Any]) -> bool:
    """Whether all that is computed with a convolution's result has a number per channel."""
    dims, channel = shape(at["conv"].results[0]), access.attr(at["conv"], "channel_dim")
    numbers = [shape(at[name]) for name in ("scale", "mean", "variance", "b") if name in at]
    return all(len(one) == len(dims) and math.prod(one) == one[channel] for one in numbers)


def _with_bias(builder: Builder, at: Mapping[str, Any]) -> SSAValue:
    dims = shape(at["b"])
    row = _flat(builder, at["b"]).reshape(*(1 for _ in dims[1:]), math.prod(dims))
    return builder.value(at["conv"].name, [at["x"], at["w"], row.ssa], access.attrs(at["conv"]), [at["conv"].results[0].type])


def _batch_norm(builder: Builder, at: Mapping[str, Any]) -> SSAValue:
    numbers = [_flat(builder, at[name]).ssa for name in ("scale", "b", "mean", "variance")]
    attributes = {"epsilon": at["epsilon"], "dimension": access.attr(at["conv"], "channel_dim")}
    return builder.value("ttir.batch_norm_inference", [at["conv"].results[0], *numbers], attributes, [at["conv"].results[0].type])


def _is_bias_of_heads(at: Mapping[str, Any]) -> bool:
    before, after, sizes = (shape(at[name].results[0]) if name != "b" else shape(at["b"]) for name in ("product", "split", "b"))
    kept = len(before) - 1
    return after[:kept] == before[:kept] and len(sizes) == len(after) and math.prod(sizes[:kept]) == 1 and sizes[kept:] == after[kept:]


def _heads_with_bias(builder: Builder, at: Mapping[str, Any]) -> SSAValue:
    flags = {key: access.attr(at["product"], key) for key in ("transpose_a", "transpose_b")}
    made = builder.value("ttir.linear", [at["x"], at["w"], _flat(builder, at["b"]).ssa], flags, [at["product"].results[0].type])
    return Value(builder, made).reshape(*shape(at["split"].results[0])).ssa


def _padded(builder: Builder, at: Mapping[str, Any]) -> SSAValue | None:
    """None for another padding than zeros around the image, or a negative one."""
    flat, conv = access.attr(at["pad"], "padding"), at["conv"]
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    rows, columns = access.attr(conv, "height_dim"), access.attr(conv, "width_dim")
    if access.attr(at["pad"], "value") != 0 or any(any(pair) for dim, pair in enumerate(pairs) if dim not in (rows, columns)) or min(flat) < 0:
        return None
    (top, bottom), (left, right) = padding_pairs(access.attr(conv, "padding"), 2)
    sides = [top + pairs[rows][0], left + pairs[columns][0], bottom + pairs[rows][1], right + pairs[columns][1]]
    return builder.like(conv, {0: at["x"]}, padding=sides)


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
