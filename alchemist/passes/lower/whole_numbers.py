"""Lowers integer ops that TT-NN lacks or computes in floats to sequences of exact ops.

`SUPPORT` lists for each TTIR op on integers how it runs; `docs/numerics.md` shows the table (written by `python -m tests.properties.table --write`).
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
from alchemist.passes.lower.context import TILE, Lowering, Tensor, layout
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
    Support(
        "div",
        "emulated",
        "1 shift (x >= 0, by 2^n), 4 programs (x below 2^20, by a constant), else 7 or 15: a quotient corrected by the remainder",
    ),
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
"""Limit of int32 products of an integer matrix product: 256 MiB."""
LARGEST_STEP = 1 << 23
"""Limit of products computed at once."""
_ALIGNED_BITS = 10
"""A step of the matrix engine keeps so many bits below the largest of its 8 products (docs/numerics.md)."""
_EXACT_SUM = 1 << 12
"""Sums of whole numbers that no step of a 32-bit Dst rounds."""
_ONE_STEP_QUOTIENT = 1 << 21
"""float32 quotients below are off by less than 1 / 4."""
_HALF_STEP = 1 << 20
"""(x + 0.5) / n in float32 is off by less than 0.5 / n for an x below, even if multiplication by 1 / n is off by two units in the last place."""


def sign(c: Lowering, value: SSAValue) -> SSAValue:
    """-1, 0 or 1 for an int32 value."""
    x = Tensor(c, value)
    return (x.op("gt", 0) - x.op("lt", 0)).ssa


# --- division ---------------------------------------------------------------------------------------------------------------


def quotient(c: Lowering, op: Operation) -> SSAValue:
    """`ttir.div` of integers, truncating. Dividend minus remainder is a multiple of the divisor, whose float32 quotient rounds to the exact one.

    A quotient by a constant that is rounded down is a shift of a number that is not negative by a power of two; for small dividends it is that of
    dividend + 0.5, which is too far from a whole number for its rounding to matter.
    """
    lhs, rhs = op.operands
    dtype, dims, number = c.dtype(op.results[0]), shape(op.results[0]), uniform(constant_of(rhs))
    written = multiple_of(lhs, rhs)
    dividend = lhs if written is None else written[0]
    a = Tensor(c, c.get(dividend, TILE, dtype))
    low, high = interval(dividend)
    if number and number > 0 and shape(dividend) == dims and (written is not None or low >= 0):
        if low >= 0 and int(number).bit_count() == 1:
            bits = c.scalar(int(number).bit_length() - 1, dtype)
            return c.emit("logical_right_shift", [a.ssa, bits], note=f"x // {int(number)}: no x is negative")
        if max(-low, high) < _HALF_STEP:
            return ((a.cast("f32") + 0.5) * (1.0 / float(number))).op("floor").cast(dtype).ssa
    inline = number and shape(dividend) == dims and number < 1 << 31  # a scalar has a sign
    b = Tensor(c, c.scalar(int(number), dtype) if number and inline else c.get(rhs, TILE, dtype))
    rest = Tensor(c, c.get(written[1], TILE, dtype)) if written is not None else a.op("remainder", b)
    divisor = Tensor(c, c.scalar(float(number), "f32")) if number and b.shape == () else b.cast("f32")
    floored = _floored(a, rest, b, divisor, magnitude(dividend) // max(1, abs(int(number or 1))))
    if written is not None or dtype == "u32" or all(interval(value)[0] >= 0 for value in (lhs, rhs)):
        return floored.ssa
    negative = a.op("bitwise_xor", b).op("lt", 0)
    return (floored + negative * rest.op("ne", 0)).ssa


def _floored(a: Tensor, rest: Tensor, b: Tensor, divisor: Tensor, limit: int) -> Tensor:
    """(a - rest) / b, which is an integer. divisor: `b` in float32. limit: of the quotient's absolute value.

    `a - rest` may overflow 32 bits: quotients are estimated from `a`, and the remaining difference is small again.
    """
    dtype = layout(a.ssa).dtype

    def rounded(value: Tensor) -> Tensor:
        return (value + 0.5).op("floor").cast(dtype)

    if limit < _ONE_STEP_QUOTIENT:
        return rounded((a.cast("f32") - rest.cast("f32")) / divisor)
    estimate = a.cast("f32") / divisor
    if dtype == "u32":  # rounded down, so that the remaining difference is not negative
        estimate = estimate * (1.0 - 2.0**-20)
    first = estimate.cast(dtype)
    left = a - rest - first * b
    return first + rounded(left.cast("f32") / divisor)


# --- powers and products ----------------------------------------------------------------------------------------------------


def power(c: Lowering, op: Operation) -> SSAValue:
    """By squaring. Negative exponents truncate as in torch: 0, or the base's sign if the base is 1 or -1."""
    base, exponent = op.operands
    dims, dtype = shape(op.results[0]), c.dtype(op.results[0])
    x, number = Tensor(c, c.get(base, TILE, dtype)), uniform(constant_of(exponent))
    if number is not None and number >= 0 and shape(base) == dims:
        return _fixed_power(x, int(number)).ssa
    e = Tensor(c, c.get(exponent, TILE, dtype))
    low, high = interval(exponent)
    result, square = None, x
    for bit in range(min(high.bit_length(), 31)):
        square = square if bit == 0 else square * square
        chosen = (e if bit == 0 else e.op("logical_right_shift", bit)).op("bitwise_and", 1)
        factor = chosen * (square - 1) + 1  # the square, or 1
        result = factor if result is None else result * factor
    if result is None:
        result = x.with_(c.emit("ones", [c.device], {"shape": dims}, dims, dtype))
    if low >= 0:
        return result.ssa
    unit = (x * x).op("eq", 1)  # of 1 and -1; their powers are right whatever the exponent's sign
    return (result * e.op("ge", 0).op("maximum", unit)).ssa


def _fixed_power(x: Tensor, exponent: int) -> Tensor:
    if exponent == 0:
        return x.with_(x.c.emit("ones", [x.c.device], {"shape": x.shape}, x.shape, layout(x.ssa).dtype))
    result, square = None, x
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        square = square * square if exponent else square
    assert result is not None
    return result


def product(c: Lowering, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The product along `axes`, which become 1: multiplies the halves of an axis until one element is left."""
    x = Tensor(c, value)
    for axis in axes:
        while (size := x.shape[axis]) > 1:
            half = size // 2
            multiplied = x.cut(axis, 0, half) * x.cut(axis, half, 2 * half)
            if size % 2:
                multiplied = x.with_(c.emit("concat", [[multiplied.ssa, x.cut(axis, size - 1, size).ssa]], {"dim": axis}))
            x = multiplied
    return x.ssa


# --- matrix products --------------------------------------------------------------------------------------------------------


def fits_float_product(op: Operation, depth: int) -> bool:
    """Whether the matrix engine is exact: 0 and 1 times small numbers, with a small sum."""
    a, b = (magnitude(value) for value in op.operands[:2])
    return a * b <= 1 << _ALIGNED_BITS and a * b * depth <= _EXACT_SUM


def float_product_config(c: Lowering) -> StructAttr:
    return wide_sums_config(c.options)


def matrix_product(c: Lowering, a: SSAValue, b: SSAValue, transpose_a: bool, transpose_b: bool, out: Shape) -> SSAValue:
    """[..., M, K] times [..., K, N] as int32 products and their sums, in parts along K.

    Raises:
        LoweringError: more products than `LARGEST_PRODUCT`.
    """
    left, right = (Tensor(c, value) for value in (a, b))
    left, right = (
        value.permute(*range(len(value.shape) - 2), len(value.shape) - 1, len(value.shape) - 2) if is_transposed else value
        for value, is_transposed in ((left, transpose_a), (right, transpose_b))
    )
    left = left.reshape(1, *left.shape) if len(left.shape) == 1 else left
    right = right.reshape(*right.shape, 1) if len(right.shape) == 1 else right
    depth, columns = right.shape[-2:]
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    whole = math.prod((*batch, left.shape[-2], depth, columns))
    if whole > LARGEST_PRODUCT:
        raise c.error(
            "a matrix product of integers of this size",
            expected=f"at most {LARGEST_PRODUCT} products",
            got=f"{whole} of {layout(a).dtype}",
            hint="TT-NN multiplies matrices of floats: cast to float32 where values up to 2,048 (bfloat16: 256) are enough",
        )
    step = max(1, depth * LARGEST_STEP // whole) if whole > LARGEST_STEP else depth
    total: Tensor | None = None
    for begin in range(0, depth, step):
        end = min(depth, begin + step)
        rows, lines = left.cut(-1, begin, end), right.cut(-2, begin, end)
        products = rows.reshape(*rows.shape, 1) * lines.reshape(*lines.shape[:-2], 1, *lines.shape[-2:])
        summed = products.op("sum", dim_arg=[len(products.shape) - 2], keep_dim=False)
        total = summed if total is None else total + summed
    assert total is not None
    return total.reshape(*out).ssa


# --- order ------------------------------------------------------------------------------------------------------------------


def sorted_pair(c: Lowering, values: SSAValue, dim: int, descending: bool) -> tuple[SSAValue, SSAValue]:
    """(values, positions uint32) of 32-bit numbers in order: two stable float32 sorts, by the low and by the high 16 bits."""
    if len(shape(values)) == 1:  # the library gathers from two dims on
        rows = sorted_pair(c, c.reshape(values, (1, *shape(values))), 1, descending)
        return c.reshape(rows[0], shape(values)), c.reshape(rows[1], shape(values))
    dtype = layout(values).dtype
    dims = shape(values)

    def ordered(keys: Tensor) -> SSAValue:
        attributes = {"dim": dim, "descending": descending, "stable": True}
        return c.emit_many("sort", [keys.cast("f32").ssa], attributes, [(dims, "f32"), (dims, "u32")])[1]

    def gather_at(table: SSAValue, places: SSAValue) -> SSAValue:
        return c.emit("gather", [table, places], {"dim": dim})

    first = ordered(Tensor(c, values).op("bitwise_and", 0xFFFF))
    once = Tensor(c, gather_at(values, first))
    high = once.op("logical_right_shift", 16) if dtype == "u32" else once - once.op("bitwise_and", 0xFFFF)  # a multiple of 2^16: float32 has it
    second = ordered(high)
    return gather_at(once.ssa, second), gather_at(first, second)


def is_small(value: SSAValue) -> bool:
    """Whether float32 represents every possible value exactly."""
    return magnitude(value) <= FLOAT32_EXACT
