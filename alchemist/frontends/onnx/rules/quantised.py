"""Dequantizes quantized ops: they compute with the represented numbers."""

from __future__ import annotations

import numpy as np

from alchemist.frontends import composites
from alchemist.frontends.functions import Term, round_half_even
from alchemist.frontends.onnx.emitter import Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule
from alchemist.frontends.onnx.rules.conv import conv

FLOAT, INT32 = np.dtype(np.float32), np.dtype(np.int32)


def _placed(c: Emitter, part: Tensor, x: Tensor, axis: int) -> Tensor:
    """A scale or zero point, one number or one per slice of the axis, so that it broadcasts against `x`."""
    if part.rank == 0 or part.shape == (1,):
        return c.reshape(part, [1] * max(x.rank, 1))
    if part.rank > 1:  # a number for each row or column of a product's operand
        return part
    return c.reshape(part, [part.shape[0] if dim == axis % x.rank else 1 for dim in range(x.rank)])


def _shifted(c: Emitter, x: Tensor, zero: Tensor | None, axis: int, dtype: np.dtype[np.generic] = FLOAT) -> Tensor:
    """x - zero point, as floats."""
    values = c.cast(x, dtype)
    return values if zero is None or zero.uniform == 0 else c.binary("subtract", values, _placed(c, c.cast(zero, dtype), x, axis))


def _number(c: Emitter, x: Tensor, scale: Tensor, zero: Tensor | None, axis: int) -> Tensor:
    """The number that a quantized value represents: (x - zero point) * scale."""
    return c.binary("multiply", _shifted(c, x, zero, axis, scale.dtype), _placed(c, scale, x, axis))


def _quantised(c: Emitter, x: Tensor, scale: Tensor, zero: Tensor | None, axis: int) -> Tensor:
    """round(x / scale) + zero point, clamped to the integer type."""
    dtype = np.dtype(np.uint8) if zero is None else zero.dtype
    if dtype.kind not in "iu":
        raise Unsupported(f"quantisation to {dtype.name}")
    steps = round_half_even(Term(c.op, c.binary("div", x, _placed(c, scale, x, axis)))).value
    if zero is not None and zero.uniform != 0:
        steps = c.binary("add", steps, _placed(c, c.cast(zero, x.dtype), x, axis))
    bounds = np.iinfo(dtype)
    return c.cast(c.unary("clamp_scalar", steps, {"min": float(bounds.min), "max": float(bounds.max)}), dtype)


def _axis(node: Node) -> int:
    if node.get("block_size", 0):
        raise Unsupported("quantisation by blocks")
    axis: int = node.get("axis", 1)
    return axis


@rule("DequantizeLinear")
def dequantize(c: Emitter, node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    return _number(c, x, scale, zero, _axis(node))


@rule("QuantizeLinear")
def quantize(c: Emitter, node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    return _quantised(c, x, scale, zero, _axis(node))


# --- products of quantised values -------------------------------------------------------------------------------------------
# Whole numbers that are only scaled or cast to floats are multiplied as floats (the matrix engine's sums are some 1e-4 of themselves off); what is
# read as whole numbers is multiplied exactly, as int32.


def _factor_type(node: Node) -> np.dtype[np.generic]:
    return INT32 if node.counted else FLOAT


@rule("MatMulInteger")
def matmul_integer(c: Emitter, node: Node, a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None) -> Tensor:
    """Zero points of rows of `a` and of columns of `b`."""
    dtype = _factor_type(node)
    return c.cast(composites.matmul(c, _shifted(c, a, a_zero, -2, dtype), _shifted(c, b, b_zero, -1, dtype)), INT32)


@rule("QLinearMatMul")
def qlinear_matmul(
    c: Emitter, node: Node, a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor, scale: Tensor, zero: Tensor
) -> Tensor:
    dtype = _factor_type(node)
    product = c.cast(composites.matmul(c, _shifted(c, a, a_zero, -2, dtype), _shifted(c, b, b_zero, -1, dtype)), FLOAT)
    for part, axis in ((a_scale, -2), (b_scale, -1)):
        product = c.binary("multiply", product, _placed(c, part, product, axis))
    return _quantised(c, product, scale, zero, -2)


@rule("ConvInteger")
def conv_integer(c: Emitter, node: Node, x: Tensor, weight: Tensor, x_zero: Tensor | None = None, weight_zero: Tensor | None = None) -> Tensor:
    """Padding stands for the zero point, which is 0 once it is taken off."""
    return c.cast(_convolved(c, node, x, x_zero, weight, weight_zero, _factor_type(node)), INT32)


def _convolved(
    c: Emitter, node: Node, x: Tensor, x_zero: Tensor | None, weight: Tensor, weight_zero: Tensor | None, dtype: np.dtype[np.generic] = FLOAT
) -> Tensor:
    return conv(c, node, _shifted(c, x, x_zero, 1, dtype), _shifted(c, weight, weight_zero, 0, dtype))


@rule("QLinearConv")
def qlinear_conv(
    c: Emitter, node: Node, x: Tensor, x_scale: Tensor, x_zero: Tensor, weight: Tensor, weight_scale: Tensor, weight_zero: Tensor, scale: Tensor, zero: Tensor,
    bias: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The bias counts in steps of x's scale times the weight's."""
    convolved = c.cast(_convolved(c, node, x, x_zero, weight, weight_zero, _factor_type(node)), FLOAT)
    if bias is not None:
        convolved = c.binary("add", convolved, _placed(c, c.cast(bias, FLOAT), convolved, 1))
    for part in (x_scale, weight_scale):
        convolved = c.binary("multiply", convolved, _placed(c, part, convolved, 1))
    return _quantised(c, convolved, scale, zero, 1)
