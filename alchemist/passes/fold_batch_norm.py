"""A batch norm behind a convolution or a linear layer goes into its weights, written as one op or (convolutions) as arithmetic with a number per channel."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, made_by, replace, single_use
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import reshaped


def _binary(b: Builder, name: str, lhs: SSAValue, rhs: SSAValue, dims: tuple[int, ...], of: str) -> SSAValue:
    return b.value(f"ttir.{name}", [lhs, rhs], {}, [tensor(dims, of)])


def _fold(maker: Operation, views: Sequence[Operation], norm: Operation) -> None:
    """weight' = weight * factor, bias' = (bias - mean) * factor + offset with factor = scale / sqrt(variance + epsilon)."""
    is_product = has_trait(maker, "product")
    weight, bias = operand(maker, "b" if is_product else "weight"), operand(maker, "bias") if maker.name != "ttir.matmul" else None
    assert weight is not None
    scale, offset, mean, variance = norm.operands[1:5]
    b = Builder.before(norm)
    b.source = None
    of, size = element_type(scale), shape(scale)[0]
    epsilon = b.op("ttir.full", [], {"shape": (size,), "fill_value": float(access.attr(norm, "epsilon"))}, [tensor((size,), of)])
    deviation = b.op("ttir.rsqrt", [_binary(b, "add", variance, epsilon, (size,), of)], {}, [tensor((size,), of)])
    factor = _binary(b, "multiply", scale, deviation, (size,), of)
    if is_product:
        along = (size, 1) if access.attr(maker, "transpose_b") else (1, size)
        weight = rows = _binary(b, "multiply", weight, reshaped(b, factor, along), shape(weight), element_type(weight))
    else:
        weight, rows = _scaled_rows(b, weight, factor)
    if bias is not None:
        mean = _binary(b, "subtract", mean, reshaped(b, bias, (size,)), (size,), of)
    moved = _binary(b, "multiply", mean, factor, (size,), of)
    bias = _binary(b, "subtract", offset, moved, (size,), of)
    name = "ttir.linear" if is_product else maker.name
    made = b.make(name, [maker.operands[0], weight, bias], access.declared(maker), [tensor(shape(maker.results[0]), element_type(norm.results[0]))])
    add_sources(made, maker, *views, norm)
    b.source = sources_of(norm)
    result = reshaped(b, made.results[0], shape(norm.results[0]))
    for op in (value.owner for value in (rows, weight, bias, factor)):
        if isinstance(op, Operation):
            add_sources(op, norm)
    replace(norm, [result])


def _scaled_rows(b: Builder, weight: SSAValue, factor: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The weight with every output channel scaled, and the same as a matrix: tiles of a [O, C, 1, 1] tensor would be nearly all padding."""
    dims = shape(weight)
    matrix = (dims[0], math.prod(dims[1:]))
    rows = reshaped(b, weight, matrix)
    rows = _binary(b, "multiply", rows, reshaped(b, factor, (dims[0], 1)), matrix, element_type(weight))
    return reshaped(b, rows, dims), rows


def _per_channel(op: Operation, fixed: FixedValues) -> tuple[Operation, SSAValue] | None:
    """(convolution, numbers) where the op does the same to all that the convolution has made for a channel."""
    for made, numbers in (op.operands, reversed(op.operands)):
        conv = made_by(made, "convolution")
        if conv is None or not single_use(made) or access.attr(conv, "alchemist.activation") or numbers not in fixed:
            continue
        rank, channel = len(shape(made)), access.attr(conv, "channel_dim")
        dims = (1,) * (rank - len(shape(numbers))) + shape(numbers)
        wanted = tuple(n if dim == channel % rank else 1 for dim, n in enumerate(shape(made)))
        if dims == wanted and op.results[0].type == made.type and element_type(numbers) == element_type(made):
            return conv, numbers
    return None


def _fold_arithmetic(op: Operation, conv: Operation, numbers: SSAValue) -> None:
    """conv(x) * factor scales weight and bias, conv(x) + offset is the bias or a part of it."""
    weight, bias = operand(conv, "weight"), operand(conv, "bias")
    assert weight is not None
    b = Builder.in_place_of(op)
    size, of = shape(weight)[0], element_type(numbers)
    if op.name == "ttir.multiply":
        weight, _ = _scaled_rows(b, weight, numbers)
    of_channel = numbers if bias is None or shape(numbers) == shape(bias) else reshaped(b, numbers, shape(bias))
    if bias is not None:
        bias = _binary(b, op.name.removeprefix("ttir."), bias, of_channel, shape(bias), of)
    elif op.name == "ttir.add":
        bias = reshaped(b, numbers, (size,))
    made = b.make(conv.name, [conv.operands[0], weight, *([bias] if bias is not None else [])], access.declared(conv), [op.results[0].type])
    add_sources(made, conv)
    replace(op, [made.results[0]])


@register("fold-batch-norm", fusing=True)
class FoldBatchNorm(Pass):
    """batch_norm_inference(conv(x)) becomes a convolution with scaled weights; so do conv(x) * factor and conv(x) + offset per channel.

    batch_norm_inference(linear(x)) becomes a linear layer, also of its rows flattened to a matrix.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            fixed = FixedValues(func)
            for op in list(func.body.block.ops):
                if op.name in ("ttir.multiply", "ttir.add") and (found := _per_channel(op, fixed)) is not None:
                    _fold_arithmetic(op, *found)
                if op.name != "ttir.batch_norm_inference":
                    continue
                maker = _maker(op.operands[0])
                if maker is not None and access.attr(op, "dimension") == _channels(maker[0], op.operands[0], fixed):
                    _fold(*maker, op)
            erase_dead(func)


def _maker(value: SSAValue) -> tuple[Operation, list[Operation]] | None:
    """The convolution that makes the value, or the product that makes its rows and the views that number those otherwise, the first one first.

    None where something else reads that.
    """
    if (conv := made_by(value, "convolution")) is not None:
        return (conv, []) if single_use(value) and not access.attr(conv, "alchemist.activation") else None
    views: list[Operation] = []
    while single_use(value) and (view := defining(value, "ttir.reshape")) is not None and shape(view.operands[0])[-1:] == shape(value)[-1:]:
        views.insert(0, view)
        value = view.operands[0]
    product = made_by(value, "product")
    return None if product is None or not single_use(value) or access.attr(product, "alchemist.activation") else (product, views)


def _channels(maker: Operation, made: SSAValue, fixed: FixedValues) -> int | None:
    """The dimension of what it has made of which each place has weights of its own, None where those are computed."""
    if not has_trait(maker, "product"):
        found: int = access.attr(maker, "channel_dim")
        return found
    weight = maker.operands[1]
    return len(shape(made)) - 1 if weight in fixed and len(shape(weight)) == 2 else None
