"""Elementwise ops and constants of StableHLO and CHLO."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.frontends.stablehlo.convert import Converter, constant_value, prop, rule, type_of
from alchemist.frontends.stablehlo.values import FOLD_LIMIT, Array, Unsupported, Val, fold, shrink
from alchemist.ir import access
from alchemist.ir.attributes import numpy_dtype
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import defining
from alchemist.ir.rules.table import broadcast_shapes
from alchemist.ops.constants import number
from alchemist.ops.eltwise_binary import NEUTRAL

REDUCE = {
    "stablehlo.add": ("sum", np.sum, 0),
    "stablehlo.maximum": ("max", np.max, -math.inf),
    "stablehlo.minimum": ("min", np.min, math.inf),
    "stablehlo.multiply": ("prod", np.prod, 1),
    "stablehlo.or": ("reduce_or", np.any, 0),
    "stablehlo.and": ("reduce_and", np.all, 1),
}
JOIN = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "reduce_or": "logical_or", "reduce_and": "logical_and"}
UNARY = {
    **{f"stablehlo.{name}": name for name in "abs sqrt rsqrt cbrt tanh tan floor ceil sign".split()},
    **{f"chlo.{name}": name for name in "erf erfc square tan asin acos atan asinh".split()},
    "stablehlo.negate": "neg",
    "stablehlo.exponential": "exp",
    "stablehlo.exponential_minus_one": "expm1",
    "stablehlo.log": "log",
    "stablehlo.log_plus_one": "log1p",
    "stablehlo.logistic": "sigmoid",
    "stablehlo.sine": "sin",
    "stablehlo.cosine": "cos",
    "stablehlo.is_finite": "isfinite",
}
_ARITHMETIC = {
    **{f"stablehlo.{name}": name for name in "add subtract multiply maximum minimum remainder atan2".split()},
    "stablehlo.divide": "div",
    "stablehlo.power": "pow",
    "stablehlo.shift_left": "logical_left_shift",
    "stablehlo.shift_right_logical": "logical_right_shift",
    "stablehlo.shift_right_arithmetic": "right_shift",
}
_OF_BOOLEANS = {"add": "logical_or", "multiply": "logical_and"}


@rule(*UNARY)
def unary(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return c.e.op(UNARY[op.name], *vals)


@rule("stablehlo.not")
def negation(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return c.e.op("logical_not" if vals[0].of == "i1" else "bitwise_not", *vals)


@rule("stablehlo.popcnt")
def ones(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """How many bits are set: sums of neighbouring fields of 1, 4, 8 and 32 bits, none of which reaches the sign."""
    shape, of = type_of(op.results[0])
    width = 8 * np.dtype(numpy_dtype(of)).itemsize
    work = of if width == 32 else "i32"

    def part(x: Val, right: int, mask: int) -> Val:
        shifted = c.e.op("logical_right_shift", x, c.e.scalar(right, shape, work)) if right else x
        return c.e.op("bitwise_and", shifted, c.e.scalar(mask, shape, work))

    def total(x: Val, steps: Sequence[int], mask: int) -> Val:
        parts = [part(x, right, mask) for right in steps]
        return reduce(lambda a, b: c.e.op("add", a, b), parts)

    x = c.e.typecast(vals[0], work)
    nibbles = total(x if width == 32 else part(x, 0, (1 << width) - 1), (0, 1, 2, 3), 0x11111111)
    bytes_ = total(nibbles, (0, 4), 0x0F0F0F0F)
    return c.e.typecast(total(bytes_, range(0, width, 8), 0xFF), of)


@rule(*_ARITHMETIC)
def arithmetic(c: Converter, op: Operation, vals: list[Val]) -> Val:
    name, (shape, of) = _ARITHMETIC[op.name], type_of(op.results[0])
    if of == "i1":
        name = _OF_BOOLEANS.get(name, name)
    if name == "remainder":
        return fold(np.fmod, vals, shape, of) or _remainder(c, vals, of)
    whole = None if name != "div" or of.startswith(("f", "bf")) else fold(lambda a, b: np.trunc(a / np.where(b == 0, 1, b)), vals, shape, of)
    is_known = all(val.const is not None for val in vals)
    return whole or (None if is_known else simplify(c, name, vals[0], vals[1])) or c.e.op(name, *vals)


def _remainder(c: Converter, vals: Sequence[Val], of: str) -> Val:
    """The sign of the dividend, where TTIR's has that of the divisor."""
    x, y = vals
    if of.startswith("ui"):
        return c.e.op("remainder", x, y)
    if not of.startswith(("f", "bf")):  # the lowest integer has no absolute value
        left = c.e.op("remainder", x, y)
        differs = c.e.op("lt", c.e.op("multiply", c.e.op("sign", left), c.e.op("sign", x)), 0)
        return c.e.op("where", differs, c.e.op("subtract", left, y), left)
    size = y if (y.scalar() or -1) > 0 else c.e.op("abs", y)
    left = c.e.op("remainder", c.e.op("abs", x), size)
    return c.e.op("multiply", c.e.op("sign", x), left)


def simplify(c: Converter, name: str, lhs: Val, rhs: Val) -> Val | None:
    """Neutral elements, relu, and powers that have an op of their own."""
    for this, other in ((lhs, rhs), (rhs, lhs)):
        value = other.scalar()
        if value is None:
            continue
        on_right = other is rhs
        if (name == "maximum" and value == -math.inf) or (name == "minimum" and value == math.inf):
            return this
        if name == "maximum" and value == 0 and this.of.startswith(("f", "bf")):
            return c.e.op("relu", this)
        clipped = defining(this.ssa, "ttir.relu") if name == "minimum" and value == 6 else None
        if clipped is not None:
            relu6 = c.e.emit("ttir.relu6", list(clipped.operands))
            return Val(this.shape, this.of, relu6)
        if name == "multiply" or (name == "div" and on_right):
            rescaled = _rescale(c, this, 1.0 / value if name == "div" and value else value)
            if rescaled is not None:
                return rescaled
        neutral, either = NEUTRAL.get(name, (None, False))
        if value == neutral and (on_right or either):
            return this
        if name == "pow" and on_right and value in (2.0, 0.5):
            return c.e.op("square" if value == 2.0 else "sqrt", this)
    return None


def _rescale(c: Converter, val: Val, factor: Any) -> Val | None:
    """sum / n -> mean; a pool's sum / window -> average. None when neither."""
    op = defining(val.ssa, "ttir.sum", "ttir.multiply")
    if op is None or not isinstance(factor, float) or not val.of.startswith(("f", "bf")):
        return None
    if op.name == "ttir.sum":
        source_dims = access.shape(op.operands[0])
        dims = access.attr(op, "dim_arg") or tuple(range(len(source_dims)))
        if math.isclose(factor * math.prod(source_dims[d] for d in dims), 1.0, rel_tol=1e-5):
            attributes = {"dim_arg": dims, "keep_dim": access.attr(op, "keep_dim")}
            return Val(val.shape, val.of, c.e.emit("ttir.mean", [op.operands[0]], attributes))
    if op.name == "ttir.multiply":
        constant = number(op.operands[1])
        if constant is not None and math.isclose(constant * factor, 1.0, rel_tol=1e-5):
            return Val(val.shape, val.of, op.operands[0])
    return None


@rule("stablehlo.and", "stablehlo.or", "stablehlo.xor")
def logical(c: Converter, op: Operation, vals: list[Val]) -> Val:
    kind = op.name.partition(".")[2]
    shape, of = type_of(op.results[0])
    if of == "i1" and kind != "xor" and not all(val.const is not None for val in vals):
        for this, other in ((vals[0], vals[1]), (vals[1], vals[0])):
            value = other.scalar()
            if value is not None:
                return this if bool(value) == (kind == "and") else c.e.scalar(bool(value), shape, of)
    return c.e.op(f"{'logical' if of == 'i1' else 'bitwise'}_{kind}", *vals)


@rule("stablehlo.compare")
def compare(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return c.e.op(prop(op, "comparison_direction").rstrip(">").split()[-1].lower(), *vals)


@rule("stablehlo.select")
def select(c: Converter, op: Operation, vals: list[Val]) -> Val:
    shape, of = type_of(op.results[0])
    mask, chosen, other = vals
    if len(mask.shape) != len(shape):
        mask = c.e.reshape(mask, (1,) * len(shape))
    constant = mask.scalar()
    if constant is not None:
        return chosen if constant else other
    if mask.const is not None and chosen.const is not None and other.const is not None:
        return c.e.op("where", mask, chosen, other)
    fill = other.scalar()
    if fill is not None and isinstance(fill, float) and math.isnan(fill) and _is_lookup(chosen) and not _is_clamped(c, op.operands[1]):
        return chosen  # jnp.take fills rows of indices out of range with NaN: these are in range
    value = chosen.scalar()
    if value is not None and value == fill:
        return chosen
    unordered = defining(mask.ssa, "ttir.ne")
    if unordered is not None and unordered.operands[0] is unordered.operands[1] is chosen.ssa:
        return other  # where(isnan(x), x, f(x)): a NaN goes through f as well
    floored = _floored(c, mask, chosen, other, shape, of)
    if floored is not None:
        return floored
    return c.e.op("where", mask, chosen, other)


def _floored(c: Converter, mask: Val, chosen: Val, other: Val, shape: tuple[int, ...], of: str) -> Val | None:
    """jnp.remainder and jnp.floor_divide correct a truncated result if the signs differ: one op with floor is equivalent."""
    plus, minus = defining(chosen.ssa, "ttir.add"), defining(chosen.ssa, "ttir.subtract")
    if other.ssa is None:
        return None
    if plus is not None and other.ssa in plus.operands:
        product, left = defining(other.ssa, "ttir.multiply"), defining(other.ssa, "ttir.remainder")
        y = plus.operands[1] if plus.operands[0] is other.ssa else plus.operands[0]
        if product is not None:
            sign, left = defining(_uncast(product.operands[0]), "ttir.sign"), defining(product.operands[1], "ttir.remainder")
            size = defining(left.operands[0], "ttir.abs") if left is not None else None
            x = size.operands[0] if sign is not None and size is not None and size.operands[0] in (sign.operands[0], _uncast(sign.operands[0])) else None
        else:
            left = left or _floored_of(other.ssa)
            x = left.operands[0] if left is not None else None
        if left is not None and x is not None and _is_divisor(left.operands[1], y) and _is_correction(mask, other.ssa):
            compact = broadcast_shapes([access.shape(x), access.shape(y)])
            return None if compact is None else Val(shape, of, c.e.emit("ttir.remainder", [x, y]))
    quotient = defining(other.ssa, "ttir.div")
    if minus is not None and quotient is not None and minus.operands[0] is other.ssa and number(minus.operands[1]) == 1 and not of.startswith(("f", "bf")):
        if not _is_correction(mask, None):
            return None
        x, y = quotient.operands
        remainder = c.e.emit("ttir.remainder", [x, y])
        return Val(shape, of, c.e.emit("ttir.div", [c.e.emit("ttir.subtract", [x, remainder]), y]))
    return None


def _is_divisor(divisor: SSAValue, y: SSAValue) -> bool:
    """Whether a remainder by `divisor` is one by `y`, signs apart."""
    size = defining(divisor, "ttir.abs")
    return divisor is y or (size is not None and size.operands[0] is y) or (number(divisor) is not None and number(divisor) == number(y))


def _is_correction(mask: Val, left: SSAValue | None) -> bool:
    """Whether the mask holds where the remainder `left` (None: any) is negative, or not zero and of another sign than the divisor."""
    below = defining(mask.ssa, "ttir.lt")
    if below is not None:
        return below.operands[0] is left and number(below.operands[1]) == 0
    both = defining(mask.ssa, "ttir.logical_and")
    parts = [defining(value, "ttir.ne") for value in both.operands] if both is not None else []
    return any(
        part is not None and number(part.operands[1]) == 0 and (part.operands[0] is left if left is not None else _is_remainder(part.operands[0]))
        for part in parts
    )


def _floored_of(value: SSAValue) -> Operation | None:
    """The remainder with the divisor's sign that `_remainder` corrects of integers; None for another value."""
    corrected = defining(value, "ttir.where")
    return None if corrected is None else defining(corrected.operands[2], "ttir.remainder")


def _is_remainder(value: SSAValue) -> bool:
    product = defining(value, "ttir.multiply")
    return _floored_of(value) is not None or defining(value if product is None else product.operands[1], "ttir.remainder") is not None


def _uncast(value: SSAValue) -> SSAValue:
    op = defining(value, "ttir.typecast")
    return op.operands[0] if op is not None else value


def _is_clamped(c: Converter, value: SSAValue) -> bool:
    """Whether the value is a look-up, layout changes apart, whose indices may be out of range."""
    op = defining(value, "stablehlo.gather", "stablehlo.reshape", "stablehlo.transpose", "stablehlo.convert")
    return op is not None and (op in c.clamped or (op.name != "stablehlo.gather" and _is_clamped(c, op.operands[0])))


def _is_lookup(val: Val) -> bool:
    """Whether the value is a table look-up, layout changes apart."""
    op = getattr(val.ssa, "op", None)
    while op is not None and (has_trait(op, "rearrangement") or op.name == "ttir.typecast"):
        op = getattr(op.operands[0], "op", None)
    return op is not None and has_trait(op, "look_up")


@rule("stablehlo.clamp")
def clamp(c: Converter, op: Operation, vals: list[Val]) -> Val:
    low, x, high = vals
    shape, of = type_of(op.results[0])
    lo, hi = low.scalar(), high.scalar()
    if x.const is None and lo is not None and hi is not None:
        return Val(shape, of, c.e.emit("ttir.clamp_scalar", [c.e.small(x)], {"min": min(lo, hi), "max": hi}))
    low, high = (v if len(v.shape) == len(shape) else c.e.reshape(v, (1,) * len(shape)) for v in (low, high))
    low, high = (Val(shape, v.of, v.ssa, v.const) for v in (low, high))
    return c.e.op("minimum", c.e.op("maximum", x, low), high)


@rule("stablehlo.convert")
def convert_type(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Floats saturate when cast to integers of 8 or 16 bits, as in XLA; the device would keep the lowest bits."""
    x, of = vals[0], type_of(op.results[0])[1]
    if of.lstrip("sui") in ("8", "16") and x.of.startswith(("f", "bf")):
        limits = np.iinfo(numpy_dtype(of))
        low, high = int(limits.min), int(limits.max)
        if x.const is not None:
            x = c.e.const(np.clip(np.nan_to_num(x.const.astype(np.float32)), low, high), x.shape, "f32")
        elif (known := defining(x.ssa, "ttir.clamp_scalar")) is None or access.attr(known, "min") < low or access.attr(known, "max") > high:
            x = Val(x.shape, x.of, c.e.emit("ttir.clamp_scalar", [c.e.small(x)], {"min": float(low), "max": float(high)}))
    return c.e.typecast(x, of)


@rule("stablehlo.reduce_precision")
def reduce_precision(c: Converter, op: Operation, vals: list[Val]) -> Val:
    if (prop(op, "exponent_bits"), prop(op, "mantissa_bits")) != (8, 7):
        raise Unsupported("only bfloat16 precision is known")
    return c.e.typecast(c.e.typecast(vals[0], "bf16"), vals[0].of)


_ONE_BITS = 0x3F800000
"""1.0 as float32."""


@rule("stablehlo.bitcast_convert")
def bitcast(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Random bits become the mantissa of a number in [1, 2), as in `jax.random.uniform`; other bits are kept."""
    from alchemist.ops.layout import can_reinterpret

    shape, of = type_of(op.results[0])
    if vals[0].const is not None and shape == vals[0].shape:
        return Val(shape, of, const=np.array(vals[0].const, order="C").view(numpy_dtype(of)))
    fraction = defining(vals[0].ssa, "ttir.bitwise_or") if of == "f32" and shape == vals[0].shape else None
    for bits, exponent in (fraction.operands, fraction.operands[::-1]) if fraction is not None else ():
        shifted = defining(bits, "ttir.logical_right_shift")
        if number(exponent) == _ONE_BITS and shifted is not None and number(shifted.operands[1]) == 9:
            count = c.e.typecast(Val(shape, "ui32", bits), of)
            return c.e.op("add", c.e.op("multiply", count, 2.0**-23), 1.0)
    widths = {of.lstrip("sui"), vals[0].of.lstrip("sui")}
    if shape == vals[0].shape and widths <= {"8", "16"} and len(widths) == 1:  # integers with and without a sign
        return c.e.typecast(vals[0], of)
    if shape == vals[0].shape and can_reinterpret(vals[0].of, of):
        return Val(shape, of, c.e.emit("ttir.bitcast_convert", [c.e.small(vals[0])], of=of))
    raise Unsupported("reinterpreting bits of other widths")


@rule("stablehlo.constant", "sdy.constant", "arith.constant")
def constant(c: Converter, op: Operation, vals: list[Val]) -> Val:
    shape, of = type_of(op.results[0])
    array = constant_value(op)
    if array.size and not any(array.strides):
        array = array[(slice(0, 1),) * array.ndim]
    elif array.size <= FOLD_LIMIT and array.ndim > 1:
        array = shrink(array)
    return Val(shape, of, const=array)


@rule("stablehlo.iota")
def iota(c: Converter, op: Operation, vals: list[Val]) -> Val:
    shape, of = type_of(op.results[0])
    axis = prop(op, "iota_dimension")
    compact = tuple(size if i == axis else 1 for i, size in enumerate(shape))
    return c.e.const(np.arange(shape[axis]).reshape(compact), shape, of)


def array_of(val: Val) -> Array:
    """The array of a constant in its logical shape (a view)."""
    assert val.const is not None
    return np.broadcast_to(val.const, val.shape)
