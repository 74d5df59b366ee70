"""Lowers matmul, linear, softmax and normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import operand, shape
from alchemist.passes.lower import whole_numbers
from alchemist.passes.lower.configs import compute_config, product_config, weight_dtype_of, wide_sums_config
from alchemist.passes.lower.context import INTEGERS, TILE, Lowering, Tensor, rule
from alchemist.passes.lower.eltwise import ACTIVATION, broadcast_to, within_width
from alchemist.rules.norms import WIDE_SUMS

NHWC = (0, 1, 2, 3)


def _matrix(c: Lowering, value: SSAValue, dtype: str, transposed: bool, weight: bool) -> tuple[SSAValue, bool]:
    """A matmul operand; constant ones are transposed and quantised in const-eval. Returns (value, still transposed)."""
    matrix = c.get(value, TILE, dtype)
    constant = weight and c.is_constant(value)
    if constant:
        matrix = c.product_weight(matrix)
    if transposed and constant:
        rank = len(shape(matrix))
        matrix = c.permute(matrix, (*range(rank - 2), rank - 1, rank - 2))
        transposed = False
    blocks = weight_dtype_of(c.options, c.func, value) if constant and len(shape(matrix)) == 2 and dtype not in INTEGERS else None
    if blocks is not None:
        matrix = c.convert(matrix, TILE, blocks)
    return matrix, transposed


def _attributes(c: Lowering, op: Operation, transpose_a: bool, transpose_b: bool, terms: int) -> dict[str, Any]:
    return {
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
        "activation": access.attr(op, ACTIVATION),
        "compute_config": product_config(c.options, terms),
    }


def _same_batches(c: Lowering, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Equal ranks and batches, which the device's batched matmul asks for (a 2-D right side serves all batches)."""
    left, right = shape(a), shape(b)
    if len(right) <= 2 or left[:-2] == right[:-2]:
        return a, b
    batch = np.broadcast_shapes(left[:-2], right[:-2])
    if all(n == 1 for n in right[:-2]) and len(left) == len(right):
        return a, b
    return broadcast_to(c, a, (*batch, *left[-2:])), broadcast_to(c, b, (*batch, *right[-2:]))


@rule("matmul", "linear")
def linear(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    dtype = c.dtype(result)
    source = op.operands[0]
    image = c.is_image(source) == NHWC and len(shape(op.operands[1])) == 2 and not access.attr(op, "transpose_a")
    if image:
        a, transpose_a = c.flat(source, NHWC, TILE, dtype), False
    else:
        a, transpose_a = _matrix(c, source, dtype, access.attr(op, "transpose_a"), False)
    b, transpose_b = _matrix(c, operand(op, "b"), dtype, access.attr(op, "transpose_b"), True)  # type: ignore[arg-type]
    vector = len(shape(b)) == 1
    if vector:
        b = c.reshape(b, (shape(b)[0], 1))
    if len(shape(a)) == 1 and len(shape(b)) > 2:
        a = c.reshape(a, (1, shape(a)[0]))
    a, b = _same_batches(c, a, b)
    bias = operand(op, "bias") if op.name == "ttir.linear" else None
    if dtype in INTEGERS:
        product = _of_whole_numbers(c, op, a, b, transpose_a, transpose_b)
        if bias is not None:
            product = c.emit("add", [product, c.get(bias, TILE, dtype)])
        c.set(result, within_width(c, product, access.element_type(result)))
        return
    attributes = _attributes(c, op, transpose_a, transpose_b, shape(a)[-2 if transpose_a else -1])
    if bias is None:
        value = c.emit("matmul", [a, b], attributes)
    else:
        added = c.get(bias, TILE, dtype)
        if vector or len(shape(source)) == 1:  # the bias has the rank of the product without the vectors' dimensions
            value = c.emit("matmul", [a, b], attributes | {"activation": None})
            out = shape(value)
            value = c.reshape(value, tuple(n for i, n in enumerate(out) if i < len(out) - 2 or not _is_vector(op, len(out) - i)))
            fused = {"alchemist.activations": (attributes["activation"],)} if attributes["activation"] else None
            value = c.emit("add", [value, added], fused)
        elif _fits_bias(shape(added), shape(b)[-2 if transpose_b else -1]):
            value = c.emit("linear", [a, b, added], attributes)
        else:
            activation = attributes.pop("activation")
            value = c.emit("matmul", [a, b], attributes)
            fused = {"alchemist.activations": (activation,)} if activation else None
            value = c.emit("add", [value, added], fused)
    if image and shape(value)[:2] == (1, 1) and shape(value)[2] == shape(a)[2]:
        c.set(result, value, NHWC)
        return
    c.set(result, c.reshape(value, shape(result)))


def _of_whole_numbers(c: Lowering, op: Operation, a: SSAValue, b: SSAValue, transpose_a: bool, transpose_b: bool) -> SSAValue:
    """An integer matmul: on the float matrix engine if that is exact, else as products and sums of integers."""
    out, dtype = shape(op.results[0]), c.dtype(op.results[0])
    depth = shape(a)[-2 if transpose_a and len(shape(a)) > 1 else -1]
    if not whole_numbers.fits_float_product(op, depth):
        return whole_numbers.matrix_product(c, a, b, transpose_a, transpose_b, out)
    a, b = (c.convert(value, TILE, "f32") for value in (a, b))
    attributes = {"transpose_a": transpose_a, "transpose_b": transpose_b, "compute_config": whole_numbers.float_product_config(c)}
    value = c.emit("matmul", [a, b], attributes)
    return c.reshape(c.convert(value, TILE, dtype), out)


def _is_vector(op: Operation, place: int) -> bool:
    """Whether the operand that gives a product its last (place 1) or second last (place 2) dimension is a vector."""
    return len(shape(op.operands[1 if place == 1 else 0])) == 1


def _fits_bias(bias: tuple[int, ...], columns: int) -> bool:
    return bool(bias) and bias[-1] == columns and all(n == 1 for n in bias[:-1])


@rule("dot_general")
def dot_general(c: Lowering, op: Operation) -> None:
    """Permutes and reshapes both sides to [batch, rows, depth] and [batch, depth, columns]; plain matmuls stay plain."""
    lhs, rhs = op.operands
    result = op.results[0]
    dtype = c.dtype(result)
    batch_l, batch_r = list(access.attr(op, "batch_dims_lhs")), list(access.attr(op, "batch_dims_rhs"))
    contract_l, contract_r = list(access.attr(op, "contract_dims_lhs")), list(access.attr(op, "contract_dims_rhs"))
    dims_l, dims_r = shape(lhs), shape(rhs)
    free_l = [d for d in range(len(dims_l)) if d not in batch_l + contract_l]
    free_r = [d for d in range(len(dims_r)) if d not in batch_r + contract_r]
    a = c.permute(c.get(lhs, TILE, dtype), (*batch_l, *free_l, *contract_l))
    b = c.permute(c.get(rhs, TILE, dtype), (*batch_r, *contract_r, *free_r))
    batch = [dims_l[d] for d in batch_l]
    depth = int(np.prod([dims_l[d] for d in contract_l], dtype=np.int64))
    rows, columns = [dims_l[d] for d in free_l], [dims_r[d] for d in free_r]
    count = int(np.prod(columns, dtype=np.int64))
    if batch:
        a = c.reshape(a, (*batch, int(np.prod(rows, dtype=np.int64)), depth))
    elif len(rows) == 0:
        a = c.reshape(a, (1, depth))
    else:
        a = c.reshape(a, (*rows, depth))
    b = c.reshape(b, (*batch, depth, count))
    blocks = weight_dtype_of(c.options, c.func, rhs) if not batch and c.is_constant(rhs) else None
    if blocks is not None:
        b = c.convert(b, TILE, blocks)
    if dtype in INTEGERS:
        c.set(result, within_width(c, _of_whole_numbers(c, op, a, b, False, False), access.element_type(result)))
        return
    attributes = _attributes(c, op, False, False, depth)
    value = c.emit("matmul", [a, b], attributes)
    c.set(result, c.reshape(value, shape(result)))


@rule("softmax")
def softmax(c: Lowering, op: Operation) -> None:
    value = c.get(op.operands[0])
    attributes = {"dimension": access.attr(op, "dimension"), "numericStable": True, "compute_config": compute_config(c.options)}
    c.set(op.results[0], c.emit("softmax", [value], attributes))


def vector(c: Lowering, value: SSAValue | None, width: int, dtype: str) -> SSAValue | None:
    """A weight or bias of a norm. The kernel takes float32 ones beside bfloat16 values: rounding them would be one rounding more than the model has."""
    return None if value is None else c.reshape(c.get(value, TILE, "f32" if c.dtype(value) == "f32" else dtype), (width,))


@rule("layer_norm", "rms_norm")
def norm(c: Lowering, op: Operation) -> None:
    """TTNN normalises the last dim; more dims are joined around the call."""
    result = op.results[0]
    dtype, dims = c.dtype(result), shape(result)
    count = len(access.attr(op, "normalized_shape"))
    width = int(np.prod(dims[len(dims) - count :], dtype=np.int64))
    image = count == 1 and c.is_image(op.operands[0]) == NHWC
    value = c.flat(op.operands[0], NHWC, TILE, dtype) if image else c.get(op.operands[0], TILE, dtype)
    if count > 1 or len(dims) == 1:
        value = c.reshape(value, (*(dims[: len(dims) - count] or (1,)), width))
    weight, bias = (vector(c, operand(op, name), width, dtype) for name in ("weight", "bias"))
    config = wide_sums_config(c.options) if access.attr(op, WIDE_SUMS) and dtype == "bf16" else compute_config(c.options)
    attributes = {"epsilon": access.attr(op, "epsilon"), "compute_config": config}
    name = op.name.removeprefix("ttir.")
    normalized = c.emit(name, [value, weight, bias], attributes)
    c.set(result, normalized if image else c.reshape(normalized, dims), NHWC if image else None)


@rule("batch_norm_inference")
def batch_norm(c: Lowering, op: Operation) -> None:
    """(x - mean) * (scale / sqrt(variance + epsilon)) + offset, the vectors joined in const-eval."""
    source = op.operands[0]
    result = op.results[0]
    dims, channel, dtype = shape(result), access.attr(op, "dimension"), c.dtype(result)
    order = c.is_image(source)
    size = dims[channel]
    scale, offset, mean, variance = (Tensor(c, c.get(value, TILE, dtype)) for value in op.operands[1:5])
    factor = scale * (variance + access.attr(op, "epsilon")).op("rsqrt")
    constant = offset - mean * factor
    if order is not None and order[3] == channel:
        x = c.flat(source, order, TILE, dtype)
        vector: tuple[int, ...] = (1, 1, 1, size)
    else:
        order = None
        x = c.get(source, TILE, dtype)
        vector = tuple(size if d == channel else 1 for d in range(len(dims)))
    c.set(result, (Tensor(c, x) * factor.reshape(*vector) + constant.reshape(*vector)).ssa, order)
