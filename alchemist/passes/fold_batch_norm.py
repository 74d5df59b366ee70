"""A batch norm behind a convolution goes into its weights."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.passes.registry import Pass, add_sources, defining, erase_dead, functions, register, replace, single_use

_CONVOLUTIONS = ("ttir.conv1d", "ttir.conv2d", "ttir.conv3d")


def _binary(b: Builder, name: str, lhs: SSAValue, rhs: SSAValue, dims: tuple[int, ...], of: str) -> SSAValue:
    made: SSAValue = b.op(f"ttir.{name}", [lhs, rhs], {}, [tensor(dims, of)])
    return made


def _reshape(b: Builder, value: SSAValue, dims: tuple[int, ...]) -> SSAValue:
    made: SSAValue = b.op("ttir.reshape", [value], {"shape": dims}, [tensor(dims, element_type(value))])
    return made


def _fold(conv: Operation, norm: Operation) -> None:
    """weight' = weight * factor, bias' = (bias - mean) * factor + offset with factor = scale / sqrt(variance + epsilon)."""
    weight, bias = operand(conv, "weight"), operand(conv, "bias")
    assert weight is not None
    scale, offset, mean, variance = norm.operands[1:5]
    b = Builder.before(norm)
    b.source = None
    of, size = element_type(scale), shape(weight)[0]
    epsilon = b.op("ttir.full", [], {"shape": (size,), "fill_value": float(access.attr(norm, "epsilon"))}, [tensor((size,), of)])
    deviation = b.op("ttir.rsqrt", [_binary(b, "add", variance, epsilon, (size,), of)], {}, [tensor((size,), of)])
    factor = _binary(b, "multiply", scale, deviation, (size,), of)
    # as a matrix: tiles of a [O, C, 1, 1] tensor would be nearly all padding
    dims = shape(weight)
    matrix = (size, math.prod(dims[1:]))
    rows = _reshape(b, weight, matrix)
    rows = _binary(b, "multiply", rows, _reshape(b, factor, (size, 1)), matrix, element_type(weight))
    weight = _reshape(b, rows, dims)
    if bias is not None:
        mean = _binary(b, "subtract", mean, _reshape(b, bias, (size,)), (size,), of)
    moved = _binary(b, "multiply", mean, factor, (size,), of)
    bias = _binary(b, "subtract", offset, moved, (size,), of)
    made = b.make(conv.name, [conv.operands[0], weight, bias], access.declared(conv), [norm.results[0].type])
    add_sources(made, conv, norm)
    for op in (value.owner for value in (rows, weight, bias, factor)):
        if isinstance(op, Operation):
            add_sources(op, norm)
    replace(norm, [made.results[0]])


@register("fold-batch-norm", fusing=True)
class FoldBatchNorm(Pass):
    """batch_norm_inference(conv(x)) becomes a convolution with scaled weights."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if op.name != "ttir.batch_norm_inference":
                    continue
                conv = defining(op.operands[0], *_CONVOLUTIONS)
                if conv is None or not single_use(op.operands[0]) or access.attr(conv, "alchemist.activation"):
                    continue
                if access.attr(op, "dimension") != access.attr(conv, "channel_dim"):
                    continue
                _fold(conv, op)
            erase_dead(func)
