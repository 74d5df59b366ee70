"""Quantisation, as the numbers it stands for."""

from __future__ import annotations

import numpy as np

from alchemist.frontends import composites
from alchemist.frontends.onnx.emitter import Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule


def _placed(c: Emitter, node: Node, part: Tensor, x: Tensor) -> Tensor:
    """A scale or zero point, one number or one per slice of the axis, so that it broadcasts against `x`."""
    if node.get("block_size", 0):
        raise Unsupported("quantisation by blocks")
    if part.rank == 0 or part.shape == (1,):
        return c.reshape(part, [1] * max(x.rank, 1))
    axis = node.get("axis", 1) % x.rank
    return c.reshape(part, [part.shape[0] if dim == axis else 1 for dim in range(x.rank)])


@rule("DequantizeLinear")
def dequantize(c: Emitter, node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    """(x - zero point) * scale."""
    values = c.cast(x, scale.dtype)
    if zero is not None and zero.uniform != 0:
        values = c.binary("subtract", values, _placed(c, node, c.cast(zero, scale.dtype), x))
    return c.binary("multiply", values, _placed(c, node, scale, x))


@rule("QuantizeLinear")
def quantize(c: Emitter, node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    """round(x / scale) + zero point, clamped to the integer type."""
    dtype = np.dtype(np.uint8) if zero is None else zero.dtype
    if dtype.kind not in "iu":
        raise Unsupported(f"quantisation to {dtype.name}")
    steps = composites.round_half_even(c, c.binary("div", x, _placed(c, node, scale, x)))
    if zero is not None and zero.uniform != 0:
        steps = c.binary("add", steps, _placed(c, node, c.cast(zero, x.dtype), x))
    bounds = np.iinfo(dtype)
    return c.cast(c.unary("clamp_scalar", steps, {"min": float(bounds.min), "max": float(bounds.max)}), dtype)
