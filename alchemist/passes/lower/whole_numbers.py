"""Integer ops that TT-NN lacks or computes in floats, as sequences of exact ones.

`SUPPORT` says of each TTIR op on integers how it runs; `docs/numerics.md` shows the table (written by `python -m tests.properties.table --write`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.ir.attributes import StructAttr
from alchemist.ops.constants import constant_of, uniform
from alchemist.passes.lower.configs import wide_sums_config
from alchemist.passes.lower.context import TILE, Lowering, layout
from alchemist.passes.signs import FLOAT32_EXACT, interval, magnitude, multiple_of

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """How an op on integers of up to 32 bits runs. kind: exact (one TT-NN op on integers), emulated (exact, by `how`), refused."""

    ops: str
    kind: str
    how: str = ""


SUPPORT: tuple[Support, ...] = (
    Support("add subtract multiply neg abs bitwise_and bitwise_or bitwise_xor bitwise_not logical_left_shift logical_right_shift", "exact"),
    Support("maximum minimum eq ne lt le gt ge where sum max min cumsum cumprod remainder scatter gather concat pad", "exact"),
    Support("sign", "emulated", "(x > 0) - (x < 0): 3 programs"),
    Support("right_shift", "emulated", "logical shift of the complement: 5 programs"),
    Support("div", "emulated", "quotient of float32 and its correction by the remainder: 5 programs for small quotients, 15 for any"),
    Support("clamp_scalar", "exact", "maximum and minimum for bounds beyond 2^24"),
    Support("pow", "emulated", "products by the bits of the exponent"),
    Support("prod", "emulated", "products of halves: one program for each halving"),
    Support("sort topk", "emulated", "one float32 sort for values up to 2^24, else two stable sorts by 16 bits each: about 12 programs"),
    Support("argmax", "exact", "rows in row-major layout"),
    Support("matmul linear dot_general", "emulated", "one float32 product where no rounding can happen, else int32 products and sums"),
    Support("conv1d conv2d conv3d conv_transpose2d", "emulated", "matrix products of windows"),
    Support("embedding", "emulated", "gather, or look-ups of 8 bits each in bfloat16 tables, whichever the clock prefers"),
)

LARGEST_PRODUCT = 1 << 26
"""Most int32 products of a matrix product of integers: 256 MiB."""
LARGEST_STEP = 1 << 23
"""Most of them at once."""
_ALIGNED_BITS = 10
"""A step of the matrix engine keeps so many bits below the largest of its 8 products (docs/numerics.md)."""
_EXACT_SUM = 1 << 12
"""Sums of whole numbers that no step of a 32-bit Dst rounds."""
_ONE_STEP_QUOTIENT = 1 << 21
"""float32 quotients below are off by less than 1 / 4."""


def _binary(c: Lowering, name: str, a: SSAValue, b: SSAValue | int, dtype: str = "si32") -> SSAValue:
    other = c.scalar(b, dtype) if isinstance(b, int) else b
    return c.emit(name, [a, other], None, np.broadcast_shapes(shape(a), shape(other)), dtype)


def _float(c: Lowering, value: SSAValue) -> SSAValue:
    return c.convert(value, TILE, "f32")


def sign(c: Lowering, x: SSAValue) -> SSAValue:
    """-1, 0 or 1 for an int32 value."""
    return _binary(c, "subtract", _binary(c, "gt", x, 0), _binary(c, "lt", x, 0))


# --- division ---------------------------------------------------------------------------------------------------------------


def quotient(c: Lowering, op: Operation) -> SSAValue:
    """`ttir.div` of integers: towards zero. The dividend less its remainder is a multiple, whose float32 quotient rounds to the exact one."""
    lhs, rhs = op.operands
    dtype, dims, number = c.dtype(op.results[0]), shape(op.results[0]), uniform(constant_of(rhs))
    written = multiple_of(lhs, rhs)
    dividend = lhs if written is None else written[0]
    a = c.get(dividend, TILE, dtype)
    b = c.scalar(int(number), dtype) if number and shape(dividend) == dims else c.get(rhs, TILE, dtype)
    rest = c.get(written[1], TILE, dtype) if written is not None else _binary(c, "remainder", a, b, dtype)
    most = magnitude(dividend) // max(1, abs(int(number or 1)))
    floored = _floored(c, a, rest, b, c.scalar(float(number), "f32") if number and shape(b) == () else _float(c, b), most)
    if written is not None or dtype == "u32" or all(interval(value)[0] >= 0 for value in (lhs, rhs)):
        return floored
    negative = _binary(c, "lt", _binary(c, "bitwise_xor", a, b), 0)
    return _binary(c, "add", floored, _binary(c, "multiply", negative, _binary(c, "ne", rest, 0)))


def _floored(c: Lowering, a: SSAValue, rest: SSAValue, b: SSAValue, divisor: SSAValue, most: int) -> SSAValue:
    """(a - rest) / b, which is whole. divisor: `b` in float32. most: of the quotient's absolute value.

    `a - rest` may leave 32 bits: quotients are estimated from `a`, and what is left of it is small again.
    """
    dtype = layout(a).dtype

    def ratio(value: SSAValue) -> SSAValue:
        return _binary(c, "divide", value, divisor, "f32")

    def rounded(value: SSAValue) -> SSAValue:
        return c.convert(c.like("floor", _binary(c, "add", value, c.scalar(0.5, "f32"), "f32")), TILE, dtype)

    if most < _ONE_STEP_QUOTIENT:
        return rounded(ratio(_binary(c, "subtract", _float(c, a), _float(c, rest), "f32")))
    estimate = ratio(_float(c, a))
    if dtype == "u32":  # too small rather than too large: what is left is not negative
        estimate = _binary(c, "multiply", estimate, c.scalar(1.0 - 2.0**-20, "f32"), "f32")
    first = c.convert(estimate, TILE, dtype)
    left = _binary(c, "subtract", _binary(c, "subtract", a, rest, dtype), _binary(c, "multiply", first, b, dtype), dtype)
    return _binary(c, "add", first, rounded(ratio(_float(c, left))), dtype)


# --- powers and products ----------------------------------------------------------------------------------------------------


def power(c: Lowering, op: Operation) -> SSAValue:
    """By squaring. Negative exponents give what is in front of the point, as torch has it: 0, or the base's sign where that is 1 or -1."""
    base, exponent = op.operands
    dims, dtype = shape(op.results[0]), c.dtype(op.results[0])
    x, number = c.get(base, TILE, dtype), uniform(constant_of(exponent))
    if number is not None and number >= 0 and shape(base) == dims:
        return _fixed_power(c, x, int(number), dtype)
    e = c.get(exponent, TILE, dtype)
    low, high = interval(exponent)
    result, square, one = None, x, c.scalar(1, dtype)
    for bit in range(min(high.bit_length(), 31)):
        square = square if bit == 0 else _binary(c, "multiply", square, square, dtype)
        chosen = _binary(c, "bitwise_and", _shifted(c, e, bit, dtype), 1, dtype)
        # 1 + bit * (square - 1): the factor, or 1
        factor = _binary(c, "add", _binary(c, "multiply", chosen, _binary(c, "subtract", square, one, dtype), dtype), one, dtype)
        result = factor if result is None else _binary(c, "multiply", result, factor, dtype)
    if result is None:
        result = c.emit("ones", [c.device], {"shape": dims}, dims, dtype)
    if low >= 0:
        return result
    unit = _binary(c, "eq", _binary(c, "multiply", x, x), one)  # of 1 and -1; their powers are right whatever the exponent's sign
    return _binary(c, "multiply", result, _binary(c, "maximum", _binary(c, "ge", e, 0), unit))


def _shifted(c: Lowering, value: SSAValue, bits: int, dtype: str) -> SSAValue:
    return value if bits == 0 else _binary(c, "logical_right_shift", value, bits, dtype)


def _fixed_power(c: Lowering, x: SSAValue, exponent: int, dtype: str) -> SSAValue:
    if exponent == 0:
        return c.emit("ones", [c.device], {"shape": shape(x)}, shape(x), dtype)
    result, square = None, x
    while exponent:
        if exponent & 1:
            result = square if result is None else _binary(c, "multiply", result, square, dtype)
        exponent >>= 1
        square = _binary(c, "multiply", square, square, dtype) if exponent else square
    assert result is not None
    return result


def product(c: Lowering, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """Along `axes`, which become 1: the halves of an axis times each other until one is left."""
    dtype = layout(value).dtype
    for axis in axes:
        while (size := shape(value)[axis]) > 1:
            half = size // 2
            multiplied = _binary(c, "multiply", part(c, value, axis, 0, half), part(c, value, axis, half, 2 * half), dtype)
            if size % 2:
                rest = part(c, value, axis, size - 1, size)
                dims = tuple(half + 1 if d == axis else n for d, n in enumerate(shape(value)))
                multiplied = c.emit("concat", [[multiplied, rest]], {"dim": axis}, dims, dtype)
            value = multiplied
    return value


def part(c: Lowering, value: SSAValue, axis: int, begin: int, end: int) -> SSAValue:
    dims = shape(value)
    begins, ends = [0] * len(dims), list(dims)
    begins[axis], ends[axis] = begin, end
    out = tuple(end - begin if d == axis else n for d, n in enumerate(dims))
    return c.emit("slice_static", [value], {"begins": begins, "ends": ends, "step": [1] * len(dims)}, out, layout(value).dtype)


# --- matrix products --------------------------------------------------------------------------------------------------------


def fits_float_product(op: Operation, depth: int) -> bool:
    """Whether the matrix engine rounds nothing: of 0 and 1 by small numbers, with a small sum."""
    a, b = (magnitude(value) for value in op.operands[:2])
    return a * b <= 1 << _ALIGNED_BITS and a * b * depth <= _EXACT_SUM


def float_product_config(c: Lowering) -> StructAttr:
    return wide_sums_config(c.options)


def matrix_product(c: Lowering, a: SSAValue, b: SSAValue, transpose_a: bool, transpose_b: bool, out: Shape) -> SSAValue:
    """[..., M, K] times [..., K, N] as int32 products and their sums, in parts along K.

    Raises:
        LoweringError: more products than `LARGEST_PRODUCT`.
    """
    dtype = layout(a).dtype
    a = c.permute(a, (*range(len(shape(a)) - 2), len(shape(a)) - 1, len(shape(a)) - 2)) if transpose_a else a
    b = c.permute(b, (*range(len(shape(b)) - 2), len(shape(b)) - 1, len(shape(b)) - 2)) if transpose_b else b
    a = c.reshape(a, (1, shape(a)[0])) if len(shape(a)) == 1 else a
    b = c.reshape(b, (shape(b)[0], 1)) if len(shape(b)) == 1 else b
    depth, columns = shape(b)[-2:]
    batch = np.broadcast_shapes(shape(a)[:-2], shape(b)[:-2])
    whole = math.prod((*batch, shape(a)[-2], depth, columns))
    if whole > LARGEST_PRODUCT:
        raise c.error(
            "a matrix product of integers of this size",
            expected=f"at most {LARGEST_PRODUCT} products",
            got=f"{whole} of {layout(a).dtype}",
            hint="TT-NN multiplies matrices of floats: cast to float32 where values up to 2,048 (bfloat16: 256) are enough",
        )
    step = max(1, depth * LARGEST_STEP // whole) if whole > LARGEST_STEP else depth
    total: SSAValue | None = None
    for begin in range(0, depth, step):
        end = min(depth, begin + step)
        left = part(c, a, len(shape(a)) - 1, begin, end) if end - begin < depth else a
        right = part(c, b, len(shape(b)) - 2, begin, end) if end - begin < depth else b
        left = c.reshape(left, (*shape(left), 1))
        right = c.reshape(right, (*shape(right)[:-2], 1, *shape(right)[-2:]))
        products = _binary(c, "multiply", left, right, dtype)
        dims = shape(products)
        summed = c.emit("sum", [products], {"dim_arg": [len(dims) - 2], "keep_dim": False}, (*dims[:-2], dims[-1]), dtype)
        total = summed if total is None else _binary(c, "add", total, summed, dtype)
    assert total is not None
    return c.reshape(total, out)


# --- order ------------------------------------------------------------------------------------------------------------------


def sorted_pair(c: Lowering, values: SSAValue, dim: int, descending: bool) -> tuple[SSAValue, SSAValue]:
    """(values, positions uint32) of 32-bit numbers in order: two stable float32 sorts, by the low and by the high 16 bits."""
    if len(shape(values)) == 1:  # the library gathers from two dims on
        rows = sorted_pair(c, c.reshape(values, (1, *shape(values))), 1, descending)
        return c.reshape(rows[0], shape(values)), c.reshape(rows[1], shape(values))
    dtype = layout(values).dtype
    dims = shape(values)

    def ordered(keys: SSAValue) -> SSAValue:
        made = c.emit_many("sort", [_float(c, keys)], {"dim": dim, "descending": descending, "stable": True}, [(dims, "f32"), (dims, "u32")])
        return made[1]

    def at(table: SSAValue, places: SSAValue) -> SSAValue:
        return c.emit("gather", [table, places], {"dim": dim}, dims, layout(table).dtype)

    first = ordered(_binary(c, "bitwise_and", values, 0xFFFF, dtype))
    once = at(values, first)
    if dtype == "u32":
        high = _binary(c, "logical_right_shift", once, 16, dtype)
    else:  # a multiple of 2^16: float32 has it
        high = _binary(c, "subtract", once, _binary(c, "bitwise_and", once, 0xFFFF, dtype), dtype)
    second = ordered(high)
    return at(once, second), at(first, second)


def is_small(value: SSAValue) -> bool:
    """Whether float32 has every number that the value can be."""
    return magnitude(value) <= FLOAT32_EXACT
