"""Folds primitive TTIR ops back to what the model's author wrote.

Here: convolution bias, batch norm behind a convolution, softmax, attention heads' bias, attention. `convert.py` applies the rules for sigmoid, tanh gelu
and leaky relu in front of it (`alchemist/rules/activations.py`); silu, exact gelu and the norms are left to the pass fuse-patterns, as of every front end.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.ir import Block, Operation, OpResult, SSAValue

from alchemist.frontends.stablehlo.attention import attention, softmax_input
from alchemist.frontends.stablehlo.matching import Replace, number, op_of, pairs, single_use, squeeze_path, vector
from alchemist.frontends.stablehlo.moves import shorten_moves
from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.location import set_source, sources_of

_CHANNEL_NAMES = ("ttir.conv2d", "ttir.conv_transpose2d", "ttir.conv3d")


def conv_bias(op: Operation, r: Replace) -> SSAValue | None:
    """conv(x) + b with b along the channels."""
    for product, other in pairs(op):
        conv = op_of(product, *_CHANNEL_NAMES)
        if conv is None or access.operand(conv, "bias") is not None or not single_use(product):
            continue
        channel = access.attr(conv, "channel_dim")
        sizes = shape(other)
        if len(sizes) != len(shape(product)) or math.prod(sizes) != sizes[channel]:
            continue
        flat = vector(other) or other
        row = r.reshape(flat, (*(1,) * (len(sizes) - 1), sizes[channel]))
        weight = access.operand(conv, "weight")
        attributes = dict(access.attrs(conv))
        return r.emit(conv.name, [conv.operands[0], weight, row], attributes, product, conv)
    return None


def batch_norm(op: Operation, r: Replace) -> SSAValue | None:
    """(x - mean) * (rsqrt(variance + epsilon) * scale) + bias behind a convolution, all along its channels."""
    for product, offset in pairs(op):
        if op_of(product, "ttir.multiply") is None:
            continue
        for centred, factor in pairs(product):
            difference = op_of(centred, "ttir.subtract")
            if difference is None:
                continue
            x, mean = difference.operands
            conv = op_of(x, "ttir.conv2d")
            parts = _root_and_scale(factor)
            if conv is None or parts is None or not single_use(x):
                continue
            variance, epsilon, scale = parts
            channel = access.attr(conv, "channel_dim")
            rows = [scale, offset, mean, variance]
            vectors = [_channel_vector(v, channel, len(shape(x))) for v in rows]
            if any(v is None for v in vectors):
                continue
            attributes = {"epsilon": epsilon, "dimension": channel}
            return r.emit("ttir.batch_norm_inference", [x, *vectors], attributes, op.results[0], difference)
    return None


def _root_and_scale(value: SSAValue) -> tuple[SSAValue, float, SSAValue] | None:
    for root, scale in pairs(value, "ttir.multiply"):
        inverse = op_of(root, "ttir.rsqrt")
        total = inverse.operands[0] if inverse is not None else None
        for variance, epsilon in pairs(total, "ttir.add"):
            found = number(epsilon)
            if found is not None:
                return variance, found, scale
    return None


def _channel_vector(value: SSAValue, channel: int, rank: int) -> SSAValue | None:
    sizes = shape(value)
    if len(sizes) != rank or math.prod(sizes) != sizes[channel]:
        return None
    return vector(value)


def softmax(op: Operation, r: Replace) -> SSAValue | None:
    """exp(x - max(x)) / sum(exp(x - max(x))) over one dimension."""
    found = softmax_input(op.results[0])
    if found is None:
        return None
    x, dim = found
    exponent = op_of(op.operands[0], "ttir.exp")
    parts = [exponent] if exponent is not None else []
    return r.emit("ttir.softmax", [x], {"dimension": dim, "numericStable": True}, op.results[0], *parts)


def head_bias(op: Operation, r: Replace) -> SSAValue | None:
    """reshape(x @ w) + b, where the reshape splits the last dimension into heads: the bias goes before it."""
    for split, bias in pairs(op):
        reshaped = op_of(split, "ttir.reshape")
        if reshaped is None or not single_use(split):
            continue
        dot = op_of(reshaped.operands[0], "ttir.matmul")
        if dot is None or not single_use(reshaped.operands[0]):
            continue
        before, after, sizes = shape(dot.results[0]), shape(split), shape(bias)
        kept = len(before) - 1
        if after[:kept] != before[:kept] or len(sizes) != len(after):
            continue
        if math.prod(sizes[:kept]) != 1 or sizes[kept:] != after[kept:]:
            continue
        source = squeeze_path(bias, after[kept:]) or bias
        row = r.reshape(source, (before[-1],))
        flags = {key: access.attr(dot, key) for key in ("transpose_a", "transpose_b")}
        made = r.emit("ttir.linear", [dot.operands[0], dot.operands[1], row], flags, dot.results[0], dot)
        return r.reshape(made, after)
    return None


_RULES: dict[str, tuple[Callable[[Operation, Replace], SSAValue | None], ...]] = {
    "ttir.add": (conv_bias, batch_norm, head_bias),
    "ttir.div": (softmax,),
    "ttir.matmul": (attention,),
}


def recognise(block: Block) -> None:
    """Rewrites the block once, in order; ops that fall out of use are left for the caller to erase."""
    for op in list(block.ops):
        for match in _RULES.get(op.name, ()):
            builder = Builder.in_place_of(op)
            found = match(op, Replace(builder))
            if found is None or len(op.results) != 1:
                continue
            made = found.op if isinstance(found, OpResult) else None
            if made is not None:
                set_source(made, *dict.fromkeys([*sources_of(op), *sources_of(made)]))
            op.results[0].replace_all_uses_with(found)
            break
    shorten_moves(block)
