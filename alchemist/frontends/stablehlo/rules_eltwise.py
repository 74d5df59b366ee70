"""Elementwise ops and constants of StableHLO and CHLO."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.frontends.stablehlo.convert import Converter, constant_value, prop, rule, type_of
from alchemist.frontends.stablehlo.matching import number, op_of, pairs
from alchemist.frontends.stablehlo.values import FOLD_LIMIT, Array, Unsupported, Val, shrink
from alchemist.ir import access
from alchemist.ir.attributes import numpy_dtype
from alchemist.ir.verify import broadcast_shapes
from alchemist.ops.eltwise_binary import power, shift_left, shift_right_arithmetic, shift_right_logical

Numpy = Callable[..., Any]

_erf = np.vectorize(math.erf, otypes=[np.float64])

UNARY: dict[str, tuple[str, Numpy]] = {
    "stablehlo.abs": ("abs", np.abs),
    "stablehlo.negate": ("neg", np.negative),
    "stablehlo.exponential": ("exp", np.exp),
    "stablehlo.exponential_minus_one": ("expm1", np.expm1),
    "stablehlo.log": ("log", np.log),
    "stablehlo.log_plus_one": ("log1p", np.log1p),
    "stablehlo.sqrt": ("sqrt", np.sqrt),
    "stablehlo.rsqrt": ("rsqrt", lambda x: 1 / np.sqrt(x)),
    "stablehlo.cbrt": ("cbrt", np.cbrt),
    "stablehlo.tanh": ("tanh", np.tanh),
    "stablehlo.logistic": ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    "stablehlo.sine": ("sin", np.sin),
    "stablehlo.cosine": ("cos", np.cos),
    "stablehlo.tan": ("tan", np.tan),
    "stablehlo.floor": ("floor", np.floor),
    "stablehlo.ceil": ("ceil", np.ceil),
    "stablehlo.sign": ("sign", np.sign),
    "stablehlo.is_finite": ("isfinite", np.isfinite),
    "chlo.erf": ("erf", _erf),
    "chlo.erfc": ("erfc", lambda x: 1 - _erf(x)),
    "chlo.square": ("square", np.square),
    "chlo.tan": ("tan", np.tan),
    "chlo.asin": ("asin", np.arcsin),
    "chlo.acos": ("acos", np.arccos),
    "chlo.atan": ("atan", np.arctan),
    "chlo.asinh": ("asinh", np.arcsinh),
}

_ARITHMETIC: dict[str, tuple[str, Numpy]] = {
    "stablehlo.add": ("add", np.add),
    "stablehlo.subtract": ("subtract", np.subtract),
    "stablehlo.multiply": ("multiply", np.multiply),
    "stablehlo.divide": ("div", np.divide),
    "stablehlo.maximum": ("maximum", np.maximum),
    "stablehlo.minimum": ("minimum", np.minimum),
    "stablehlo.power": ("pow", power),
    "stablehlo.remainder": ("remainder", np.fmod),
    "stablehlo.atan2": ("atan2", np.arctan2),
    "stablehlo.shift_left": ("logical_left_shift", shift_left),
    "stablehlo.shift_right_logical": ("logical_right_shift", shift_right_logical),
    "stablehlo.shift_right_arithmetic": ("right_shift", shift_right_arithmetic),
}
_OF_BOOLEANS: dict[str, tuple[str, Numpy]] = {"add": ("logical_or", np.logical_or), "multiply": ("logical_and", np.logical_and)}
_LOGICAL = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_COMPARE: dict[str, tuple[str, Numpy]] = {
    "EQ": ("eq", np.equal),
    "NE": ("ne", np.not_equal),
    "LT": ("lt", np.less),
    "LE": ("le", np.less_equal),
    "GT": ("gt", np.greater),
    "GE": ("ge", np.greater_equal),
}


def fold(function: Numpy, vals: Sequence[Val], shape: tuple[int, ...], of: str) -> Val | None:
    """The constant result, None unless all operands are constant and small enough."""
    arrays = [val.const for val in vals]
    if any(array is None for array in arrays):
        return None
    given = [array for array in arrays if array is not None]
    compact = broadcast_shapes([tuple(array.shape) for array in given])
    if compact is None or math.prod(compact) > FOLD_LIMIT:
        return None
    wide = [array.astype(np.float32) if array.dtype.kind not in "biufc" else array for array in given]
    with np.errstate(all="ignore"):
        result = np.asarray(function(*wide))
    if of.startswith(("f", "bf")):
        result = result.astype(np.float32) if of != "f64" else result
    return Val(shape, of, const=result.astype(numpy_dtype(of)).reshape(compact))


def elementwise(c: Converter, name: str, vals: Sequence[Val], shape: tuple[int, ...], of: str) -> Val:
    """A broadcasting TTIR op on the compact forms."""
    rank = len(shape)
    small = [c.e.small(val if len(val.shape) == rank else c.e.reshape(val, (1,) * rank)) for val in vals]
    compact = broadcast_shapes([access.shape(value) for value in small])
    assert compact is not None
    return Val(shape, of, c.e.emit(f"ttir.{name}", small, None, compact, of))


@rule(*UNARY)
def unary(c: Converter, op: Operation, vals: list[Val]) -> Val:
    name, function = UNARY[op.name]
    shape, of = type_of(op.results[0])
    folded = fold(function, vals, shape, of)
    return folded or elementwise(c, name, vals, shape, of)


@rule("chlo.atanh", "chlo.acosh")
def inverse_hyperbolic(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """(log1p(x) - log1p(-x)) / 2; log(x + sqrt(x^2 - 1))."""
    shape, of = type_of(op.results[0])
    folded = fold(np.arctanh if op.name == "chlo.atanh" else np.arccosh, vals, shape, of)
    if folded is not None:
        return folded
    x = vals[0]
    if op.name == "chlo.atanh":
        minus = elementwise(c, "log1p", [elementwise(c, "neg", [x], shape, of)], shape, of)
        both = elementwise(c, "subtract", [elementwise(c, "log1p", [x], shape, of), minus], shape, of)
        return elementwise(c, "multiply", [both, c.e.scalar(0.5, shape, of)], shape, of)
    square = elementwise(c, "square", [x], shape, of)
    root = elementwise(c, "sqrt", [elementwise(c, "subtract", [square, c.e.scalar(1.0, shape, of)], shape, of)], shape, of)
    return elementwise(c, "log", [elementwise(c, "add", [x, root], shape, of)], shape, of)


@rule("stablehlo.not")
def negation(c: Converter, op: Operation, vals: list[Val]) -> Val:
    shape, of = type_of(op.results[0])
    name, function = ("logical_not", np.logical_not) if of == "i1" else ("bitwise_not", np.invert)
    return fold(function, vals, shape, of) or elementwise(c, name, vals, shape, of)


def _divide(of: str) -> Numpy:
    return np.divide if of.startswith(("f", "bf")) else lambda a, b: np.trunc(a / np.where(b == 0, 1, b))


@rule(*_ARITHMETIC)
def arithmetic(c: Converter, op: Operation, vals: list[Val]) -> Val:
    name, function = _ARITHMETIC[op.name]
    shape, of = type_of(op.results[0])
    if of == "i1" and name in _OF_BOOLEANS:
        name, function = _OF_BOOLEANS[name]
    folded = fold(_divide(of) if name == "div" else function, vals, shape, of)
    if name == "remainder" and folded is None:
        return _remainder(c, vals, shape, of)
    return folded or simplify(c, name, vals[0], vals[1]) or elementwise(c, name, vals, shape, of)


def _remainder(c: Converter, vals: Sequence[Val], shape: tuple[int, ...], of: str) -> Val:
    """The sign of the dividend, where TTIR's has that of the divisor."""
    x, y = vals
    if of.startswith("ui"):
        return elementwise(c, "remainder", vals, shape, of)
    size = y if (y.scalar() or -1) > 0 else elementwise(c, "abs", [y], shape, of)
    left = elementwise(c, "remainder", [elementwise(c, "abs", [x], shape, of), size], shape, of)
    return elementwise(c, "multiply", [elementwise(c, "sign", [x], x.shape, of), left], shape, of)


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
            return elementwise(c, "relu", [this], this.shape, this.of)
        clipped = op_of(this.ssa, "ttir.relu") if name == "minimum" and value == 6 else None
        if clipped is not None:
            relu6 = c.e.emit("ttir.relu6", list(clipped.operands), None, this.compact, this.of)
            return Val(this.shape, this.of, relu6)
        if name in ("div", "multiply") and (on_right or name == "multiply"):
            rescaled = _rescale(c, this, 1.0 / value if name == "div" and value else value)
            if rescaled is not None:
                return rescaled
        neutral = {"add": 0, "multiply": 1, "subtract": 0, "div": 1, "pow": 1}.get(name)
        if neutral is not None and value == neutral and (on_right or name in ("add", "multiply")):
            return this
        if name == "pow" and on_right and value in (2.0, 0.5):
            return elementwise(c, "square" if value == 2.0 else "sqrt", [this], this.shape, this.of)
    return None


def _rescale(c: Converter, val: Val, factor: Any) -> Val | None:
    """sum / n -> mean; a pool's sum / window -> average. None when neither."""
    op = op_of(val.ssa, "ttir.sum", "ttir.multiply")
    if op is None or not isinstance(factor, float) or not val.of.startswith(("f", "bf")):
        return None
    if op.name == "ttir.sum":
        given = access.shape(op.operands[0])
        dims = access.attr(op, "dim_arg") or tuple(range(len(given)))
        if math.isclose(factor * math.prod(given[d] for d in dims), 1.0, rel_tol=1e-5):
            attributes = {"dim_arg": dims, "keep_dim": access.attr(op, "keep_dim")}
            return Val(val.shape, val.of, c.e.emit("ttir.mean", [op.operands[0]], attributes, val.compact, val.of))
    if op.name == "ttir.multiply":
        constant = number(op.operands[1])
        if constant is not None and math.isclose(constant * factor, 1.0, rel_tol=1e-5):
            return Val(val.shape, val.of, op.operands[0])
    return None


@rule("stablehlo.and", "stablehlo.or", "stablehlo.xor")
def logical(c: Converter, op: Operation, vals: list[Val]) -> Val:
    kind = op.name.partition(".")[2]
    shape, of = type_of(op.results[0])
    function = (_LOGICAL if of == "i1" else _BITWISE)[kind]
    folded = fold(function, vals, shape, of)
    if folded is not None:
        return folded
    if of == "i1" and kind != "xor":
        for this, other in ((vals[0], vals[1]), (vals[1], vals[0])):
            value = other.scalar()
            if value is not None:
                return this if bool(value) == (kind == "and") else c.e.scalar(bool(value), shape, of)
    return elementwise(c, f"{'logical' if of == 'i1' else 'bitwise'}_{kind}", vals, shape, of)


@rule("stablehlo.compare")
def compare(c: Converter, op: Operation, vals: list[Val]) -> Val:
    direction = prop(op, "comparison_direction").rstrip(">").split()[-1]
    name, function = _COMPARE[direction]
    shape, of = type_of(op.results[0])
    return fold(function, vals, shape, of) or elementwise(c, name, vals, shape, of)


@rule("stablehlo.select")
def select(c: Converter, op: Operation, vals: list[Val]) -> Val:
    shape, of = type_of(op.results[0])
    mask, chosen, other = vals
    if len(mask.shape) != len(shape):
        mask = c.e.reshape(mask, (1,) * len(shape))
    known = mask.scalar()
    if known is not None:
        return chosen if known else other
    folded = fold(np.where, [mask, chosen, other], shape, of)
    if folded is not None:
        return folded
    fill = other.scalar()
    if fill is not None and isinstance(fill, float) and math.isnan(fill) and _is_lookup(chosen):
        return chosen  # jnp.take fills rows of indices out of range with NaN: TT-NN requires indices in range
    value = chosen.scalar()
    if value is not None and value == fill:
        return chosen
    unordered = op_of(mask.ssa, "ttir.ne")
    if unordered is not None and unordered.operands[0] is unordered.operands[1] is chosen.ssa:
        return other  # where(isnan(x), x, f(x)): a NaN goes through f as well
    floored = _floored(c, chosen, other, shape, of)
    if floored is not None:
        return floored
    return elementwise(c, "where", [mask, chosen, other], shape, of)


def _floored(c: Converter, chosen: Val, other: Val, shape: tuple[int, ...], of: str) -> Val | None:
    """jnp.remainder and jnp.floor_divide correct a truncated result where the signs differ: one op and its floor say the same."""
    plus, minus = op_of(chosen.ssa, "ttir.add"), op_of(chosen.ssa, "ttir.subtract")
    if other.ssa is None:
        return None
    if plus is not None and other.ssa in plus.operands:
        product, left = op_of(other.ssa, "ttir.multiply"), op_of(other.ssa, "ttir.remainder")
        y = plus.operands[1] if plus.operands[0] is other.ssa else plus.operands[0]
        if product is not None:
            sign, left = op_of(_uncast(product.operands[0]), "ttir.sign"), op_of(product.operands[1], "ttir.remainder")
            x = _uncast(sign.operands[0]) if sign is not None else None
        else:
            x = left.operands[0] if left is not None else None
        if left is not None and x is not None:
            compact = broadcast_shapes([access.shape(x), access.shape(y)])
            return None if compact is None else Val(shape, of, c.e.emit("ttir.remainder", [x, y], None, compact, of))
    quotient = op_of(other.ssa, "ttir.div")
    if minus is not None and quotient is not None and minus.operands[0] is other.ssa and number(minus.operands[1]) == 1 and not of.startswith(("f", "bf")):
        x, y = quotient.operands
        left = c.e.emit("ttir.remainder", [x, y], None, other.compact, of)
        return Val(shape, of, c.e.emit("ttir.div", [c.e.emit("ttir.subtract", [x, left], None, other.compact, of), y], None, other.compact, of))
    return None


def _uncast(value: SSAValue) -> SSAValue:
    op = op_of(value, "ttir.typecast")
    return op.operands[0] if op is not None else value


def _is_lookup(val: Val) -> bool:
    """Whether the value is a table look-up, layout changes apart."""
    op = getattr(val.ssa, "op", None)
    while op is not None and op.name in ("ttir.reshape", "ttir.permute", "ttir.typecast"):
        op = getattr(op.operands[0], "op", None)
    return op is not None and op.name in ("ttir.embedding", "ttir.gather")


@rule("stablehlo.clamp")
def clamp(c: Converter, op: Operation, vals: list[Val]) -> Val:
    low, x, high = vals
    shape, of = type_of(op.results[0])
    lo, hi = low.scalar(), high.scalar()
    if x.const is None and lo is not None and hi is not None:
        return Val(shape, of, c.e.emit("ttir.clamp_scalar", [c.e.small(x)], {"min": lo, "max": hi}, x.compact, of))
    low, high = (v if len(v.shape) == len(shape) else c.e.reshape(v, (1,) * len(shape)) for v in (low, high))
    low, high = (Val(shape, v.of, v.ssa, v.const) for v in (low, high))
    folded = fold(lambda a, b, d: np.minimum(np.maximum(b, a), d), [low, x, high], shape, of)
    if folded is not None:
        return folded
    return elementwise(c, "minimum", [elementwise(c, "maximum", [x, low], shape, of), high], shape, of)


@rule("stablehlo.convert")
def convert_type(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Of floats, what an integer of 8 or 16 bits cannot be becomes its nearest number, as in XLA; the device would keep the lowest bits."""
    x, of = vals[0], type_of(op.results[0])[1]
    if of.lstrip("sui") in ("8", "16") and x.of.startswith(("f", "bf")):
        limits = np.iinfo(numpy_dtype(of))
        low, high = int(limits.min), int(limits.max)
        if x.const is not None:
            x = c.e.const(np.clip(np.nan_to_num(x.const.astype(np.float32)), low, high), x.shape, "f32")
        elif (known := op_of(x.ssa, "ttir.clamp_scalar")) is None or access.attr(known, "min") < low or access.attr(known, "max") > high:
            x = Val(x.shape, x.of, c.e.emit("ttir.clamp_scalar", [c.e.small(x)], {"min": float(low), "max": float(high)}, x.compact, x.of))
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
    """Random bits become the fraction of a number in [1, 2), as `jax.random.uniform` makes it; other bits are kept."""
    from alchemist.ops.layout import can_reinterpret

    shape, of = type_of(op.results[0])
    if vals[0].const is not None and shape == vals[0].shape:
        return Val(shape, of, const=np.array(vals[0].const, order="C").view(numpy_dtype(of)))
    fraction = op_of(vals[0].ssa, "ttir.bitwise_or") if of == "f32" and shape == vals[0].shape else None
    for bits, one in pairs(fraction):
        shifted = op_of(bits, "ttir.logical_right_shift")
        if number(one) == _ONE_BITS and shifted is not None and number(shifted.operands[1]) == 9:
            count = c.e.typecast(Val(shape, "ui32", bits), of)
            scaled = elementwise(c, "multiply", [count, c.e.scalar(2.0**-23, shape, of)], shape, of)
            return elementwise(c, "add", [scaled, c.e.scalar(1.0, shape, of)], shape, of)
    widths = {of.lstrip("sui"), vals[0].of.lstrip("sui")}
    if shape == vals[0].shape and widths <= {"8", "16"} and len(widths) == 1:  # integers with and without a sign
        return c.e.typecast(vals[0], of)
    if shape == vals[0].shape and can_reinterpret(vals[0].of, of):
        return elementwise(c, "bitcast_convert", vals, shape, of)
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


@rule("chlo.sinh", "chlo.cosh")
def hyperbolic(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """(exp(x) -+ exp(-x)) / 2."""
    shape, of = type_of(op.results[0])
    sinh = op.name == "chlo.sinh"
    folded = fold(np.sinh if sinh else np.cosh, vals, shape, of)
    if folded is not None:
        return folded
    up = elementwise(c, "exp", vals, shape, of)
    down = elementwise(c, "exp", [elementwise(c, "neg", vals, shape, of)], shape, of)
    both = elementwise(c, "subtract" if sinh else "add", [up, down], shape, of)
    return elementwise(c, "multiply", [both, c.e.scalar(0.5, shape, of)], shape, of)


@rule("stablehlo.round_nearest_afz", "stablehlo.round_nearest_even")
def rounding(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """There is no TTIR op: floor(|x| + 0.5) with the sign; to even, halves above odd numbers are taken back."""
    shape, of = type_of(op.results[0])
    to_even = op.name.endswith("even")
    away = lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5)  # noqa: E731
    folded = fold(np.round if to_even else away, vals, shape, of)
    if folded is not None:
        return folded
    half = c.e.scalar(0.5, shape, of)
    if not to_even:
        up = elementwise(c, "floor", [elementwise(c, "add", [elementwise(c, "abs", vals, shape, of), half], shape, of)], shape, of)
        return elementwise(c, "multiply", [elementwise(c, "sign", vals, shape, of), up], shape, of)
    raised = elementwise(c, "add", [vals[0], half], shape, of)
    up = elementwise(c, "floor", [raised], shape, of)
    halved = elementwise(c, "multiply", [up, half], shape, of)
    odd = elementwise(c, "ne", [halved, elementwise(c, "floor", [halved], shape, of)], shape, "i1")
    tie = elementwise(c, "logical_and", [elementwise(c, "eq", [raised, up], shape, "i1"), odd], shape, "i1")
    return elementwise(c, "where", [tie, elementwise(c, "subtract", [up, c.e.scalar(1.0, shape, of)], shape, of), up], shape, of)


def array_of(val: Val) -> Array:
    """The array of a constant in its logical shape (a view)."""
    assert val.const is not None
    return np.broadcast_to(val.const, val.shape)
