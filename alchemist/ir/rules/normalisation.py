"""Normalisations, quantisation, sparse products."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from alchemist.ir.attributes import OpaqueType
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.rules.table import (
    Inferred,
    Shape,
    attribute,
    axis_of,
    element,
    infers,
    integer,
    is_float,
    is_quantised,
    need,
    rank_is,
    rule,
    same,
    shape_of,
    text_of,
)


@rule("ttir.rms_norm", "ttir.layer_norm")
def _norm(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    shape = attribute(op, "normalized_shape")
    if isinstance(shape, tuple):
        need(len(shape) > 0, "normalized_shape cannot be empty")
        need(inputs[0][len(inputs[0]) - len(shape) :] == shape, f"normalized_shape {list(shape)} is not the end of {list(inputs[0])}")
        for weight_shape in inputs[1:]:
            same(weight_shape, shape, "weight and bias")


@rule("ttnn.rms_norm")
def _rms_norm(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    for shape in inputs[1:]:
        need(bool(inputs[0]) or not shape, f"weight and bias of a scalar must be scalars, got {list(shape)}")
        need(math.prod(shape) == math.prod(inputs[0][-1:]), f"weight and bias must have the {list(inputs[0][-1:])} elements of the last dimension")


def _vectors(op: Operation, names: Sequence[str], channels: int) -> None:
    for name in names:
        shape = shape_of(op, name)
        need(shape is None or math.prod(shape) == channels, f"{name} must have an element for each of {channels} channels, got shape {list(shape or ())}")


@rule("ttir.batch_norm_training")
def _batch_norm_training(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = axis_of(op, "dimension", len(inputs[0]))
    same(outputs[0], inputs[0])
    if axis is not None:
        _vectors(op, ("scale", "offset", "running_mean", "running_variance"), inputs[0][axis])


@infers("ttir.group_norm")
def _group_norm(op: Operation, inputs: list[Shape]) -> Inferred:
    axis = axis_of(op, "channel_dim", len(inputs[0]))
    _vectors(op, ("weight", "bias"), inputs[0][-1 if axis is None else axis])
    return inputs[0]


@infers("ttir.batch_norm_inference")
def _batch_norm(op: Operation, inputs: list[Shape]) -> Inferred:
    rank = len(inputs[0])
    need(2 <= rank <= 5, f"input must have 2 to 5 dimensions, got rank {rank}")
    axis = integer(op, "dimension")
    need(axis is None or 0 <= axis < rank, f"dimension {axis} is out of range for rank {rank}")
    return inputs[0]


@rule("ttnn.layer_norm_pre_all_gather", "ttnn.rms_norm_pre_all_gather")
def _statistics(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(len(inputs[0]) > 1, "input must have at least 2 dimensions")
    residual = shape_of(op, "residual_input" if op.name.startswith("ttnn.layer") else "residual")
    if residual is not None:
        same(residual, inputs[0], "residual")
    need(outputs[0][:-1] == inputs[0][:-1], f"the result must have the input's shape but for the last dimension, got {list(outputs[0])}")
    if op.name.startswith("ttnn.layer"):
        need(outputs[0][-1] == 2 * TILE_EDGE, f"the statistics have {2 * TILE_EDGE} columns, got {outputs[0][-1]}")


@infers("ttnn.layer_norm_post_all_gather", "ttnn.rms_norm_post_all_gather", "ttnn.dit_rms_norm_unary_fused")
def _same_as_input(op: Operation, inputs: list[Shape]) -> Inferred:
    return inputs[0]


_QUANTISED = re.compile(r"<(?:[su]?i|u)(\d+)(?:<[^>]*>)?:\w+(?::(\d+))?, *(\{[^}]*\}|[^{}>]+)>")


@rule("ttir.quantize", "ttir.dequantize", "ttir.requantize", "ttir.quantize_unrolled", "ttir.dequantize_unrolled", "ttir.requantize_unrolled")
def _quantised(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank_is(outputs[0], len(inputs[0]), "result")
    same(outputs[0], inputs[0])
    kind = op.name.partition(".")[2].removesuffix("_unrolled")
    shape, result = op.operands[0], op.results[0]
    need(is_float(shape) if kind == "quantize" else is_quantised(shape), f"input of {kind} cannot hold {text_of(shape)}")
    need(is_float(result) if kind == "dequantize" else is_quantised(result), f"result of {kind} cannot hold {text_of(result)}")
    axes = [_quantised_axis(value, outputs[0]) for value in (shape, result) if is_quantised(value)]
    need(len({axis is None for axis in axes}) == 1, "input and result must both be quantised as a whole or both along an axis")


def _quantised_axis(value: SSAValue, shape: Shape) -> int | None:
    """The axis of `!quant.uniform<storage:expressed:axis, {scale:zero, ...}>`, checked; None without one."""
    of = element(value)
    match = _QUANTISED.match(str(of.data[1])) if isinstance(of, OpaqueType) else None
    if match is None:
        return None
    bits, axis = int(match[1]), int(match[2]) if match[2] else None
    scales = match[3].strip("{}").split(",")
    if axis is not None:
        need(axis < len(shape), f"axis {axis} is out of range for rank {len(shape)}")
        need(len(scales) == shape[axis], f"{len(scales)} scales for the {shape[axis]} elements of axis {axis}")
    signed = not str(of.data[1]).startswith("<u")  # type: ignore[attr-defined]
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    for scale in scales:
        zero = int(scale.partition(":")[2] or 0)
        need(low <= zero <= high, f"zero point {zero} is out of range for {bits} bits")
    return axis


@infers("sparse_matmul")
def _sparse_matmul(op: Operation, inputs: list[Shape]) -> Inferred:
    a, b, sparsity = inputs
    count = integer(op, "nnz")
    need(count is None or count > 0, f"nnz must be greater than 0, got {count}")
    need(len(a) >= 4, f"a must have at least 4 dimensions, got rank {len(a)}")
    rank_is(b, 4, "b")
    rank_is(sparsity, 4, "sparsity")
    first, second = bool(attribute(op, "is_input_a_sparse")), attribute(op, "is_input_b_sparse") is not False
    need(first or second, "a or b must be sparse")
    need(b[0] == 1, f"the first dimension of b must be 1, got {b[0]}")
    need(a[-1] == b[2], f"inner dimensions differ: {list(a)} times {list(b)}")
    need(sparsity[-1] == b[1], f"sparsity has {sparsity[-1]} experts, b {b[1]}")
    return (1, b[1], a[-2], b[3]) if first and second else (*a[:2], 1, b[1], a[-2], b[3]) if second else (a[0], b[1], a[-2], b[3])
