"""Lowers elementwise ops, typecasts and creation ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import elements, shape
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.op_class import short_names
from alchemist.ops.constants import constant_of, uniform
from alchemist.ops.eltwise_binary import ACCEPTS_SCALAR, BINARY, COMPARISONS, TTIR_NAMES
from alchemist.ops.layout import can_reinterpret
from alchemist.ops.spec import LIFTED_NAME, TTIR_OPS
from alchemist.passes.lower import whole_numbers
from alchemist.passes.lower.context import INTEGERS, ROW_MAJOR, TILE, Lowering, Tensor, layout, rule
from alchemist.passes.signs import FLOAT32_EXACT, WHOLE, interval, is_whole

_BINARY_BY_TTIR = {TTIR_NAMES.get(name, name): name for name, *_ in BINARY}
_FLOAT_ONLY_INTEGER = short_names("ttnn", "floats_only")
ACTIVATION = "alchemist.activation"
"""Attribute on a TTIR op: name of the unary op that the pass fuse-activation merged into it."""


def one_to_one(c: Lowering, op: Operation) -> None:
    """An op whose operands and attributes have the same names in both dialects: all tensors tiled."""
    target = TTIR_OPS[op.name].target
    operands: list[SSAValue | Sequence[SSAValue] | None] = []
    for group in op.info.operands:  # type: ignore[attr-defined]
        values = [c.get(value) for value in access.operands(op, group.name)]
        operands.append(values if group.variadic else values[0] if values else None)
    declared = _attribute_names(target)
    attributes = {name: value for name, value in access.attrs(op).items() if name in declared}
    results = [(shape(result), c.dtype(result)) for result in op.results]
    results_of = c.emit_many(target.removeprefix("ttnn."), operands, attributes, results)
    for result, value in zip(op.results, results_of, strict=True):
        c.set(result, value)


def _attribute_names(target: str) -> set[str]:
    from alchemist.ir.dialects import op_info

    return set(op_info(target).attributes)


# --- unary --------------------------------------------------------------------------------------------------------------


def unary(c: Lowering, op: Operation) -> None:
    """Keeps the operand's form; predicates and casts aside, the dtype is the operand's."""
    name = op.name.removeprefix("ttir.")
    attributes = {key: access.attr(op, key) for key in ("parameter", "min", "max") if key in op.info.attributes}  # type: ignore[attr-defined]
    if (variant := access.attr(op, "alchemist.variant")) is not None:
        attributes["alchemist.variant"] = variant
    result = op.results[0]
    c.set(result, *apply_unary(c, name, op.operands[0], attributes))


_ROUNDING = short_names("ttir", "rounding") | {"round"}
_BEYOND_ITS_WIDTH = short_names("ttnn", "leaves_width")
_OF_INTEGERS = short_names("ttir", "takes_integers")
_SIGNED = _OF_INTEGERS - short_names("ttir", "truth")


def apply_unary(c: Lowering, name: str, operand: SSAValue, attributes: dict[str, object] | None = None) -> tuple[SSAValue, tuple[int, ...] | None]:
    order = c.is_image(operand)
    value = c.flat(operand, order, TILE) if order is not None else c.get(operand)
    if layout(value).dtype == "u32" and name in _SIGNED and not access.element_type(operand).startswith("ui"):
        value = c.convert(value, TILE, "si32")  # an index, which may become negative here
    if layout(value).dtype in INTEGERS and (name in _ROUNDING or (name == "sign" and layout(value).dtype == "si32")):
        return value if name in _ROUNDING else whole_numbers.sign(c, value), order
    if layout(value).dtype in INTEGERS and name == "clamp_scalar" and attributes is not None:
        return _clamped(c, value, attributes), order
    if name == "clamp_scalar" and attributes is not None:
        attributes = {key: rounded_to(layout(value).dtype, number) for key, number in attributes.items() if isinstance(number, int | float)}
    if layout(value).dtype in INTEGERS and name not in _OF_INTEGERS:
        value = c.convert(value, TILE, "f32")
    unsigned = layout(value).dtype == "u32" and name == "neg"
    if unsigned:
        value = c.convert(value, TILE, "si32")  # not for unsigned integers
    value = c.emit(name, [value], attributes)
    if name in _BEYOND_ITS_WIDTH:
        value = within_width(c, value, access.element_type(operand))
        value = c.convert(value, TILE, "u32") if unsigned else value
    return value, order


def _clamped(c: Lowering, value: SSAValue, attributes: dict[str, object]) -> SSAValue:
    """Clamps integers. The library's clamp converts bounds to float32: larger ones become tensors of a maximum and a minimum."""
    dtype = layout(value).dtype
    lowest, highest = (0, (1 << 32) - 1) if dtype == "u32" else (-(1 << 31), (1 << 31) - 1)
    low, high = np.clip([attributes["min"], attributes["max"]], lowest, highest).astype(np.int64).tolist()
    if dtype == "si32" and max(abs(low), abs(high)) <= FLOAT32_EXACT:
        return c.emit("clamp_scalar", [value], {"min": low, "max": high})
    for name, bound, neutral in (("maximum", low, lowest), ("minimum", high, highest)):
        if bound != neutral:
            value = c.emit(name, [value, filled(c, (1,) * len(shape(value)), dtype, bound)])
    return value


for _name in named("ttir", "elementwise_unary"):
    if TTIR_OPS[_name].target:
        rule(_name.removeprefix("ttir."))(unary)


# --- binary -------------------------------------------------------------------------------------------------------------


_ROUNDED = short_names("ttnn", "truth", "extreme")
"""Ops that read a number as the tensors' data type has it, as frameworks do: `x == 0.1` is true where x is bfloat16(0.1)."""

_DIVIDES = ("remainder", "fmod")


def rounded_to(dtype: str, number: float) -> float:
    """Rounds a number to a device data type; arithmetic reads numbers in float32."""
    return float(ml_dtypes.bfloat16(number)) if dtype == "bf16" else float(np.float32(number))


def scalar_of(c: Lowering, value: SSAValue, dtype: str, *, rounded: bool = False, ordered: bool = False) -> SSAValue | None:
    """An inline scalar for a constant whose elements are equal, else None.

    rounded: to the data type. ordered: the op sees which number is larger; a scalar has a sign, which a uint32 from 2^31 on has not.
    """
    number = uniform(constant_of(value))
    if number is None:
        return None
    if isinstance(number, bool):
        number = int(number)
    if dtype in INTEGERS:
        fits = float(number).is_integer() and (dtype != "u32" or not ordered or number < 1 << 31)
        return c.scalar(int(number), dtype) if fits else None
    return c.scalar(rounded_to(dtype, number) if rounded else float(number), dtype)


def _image_order(c: Lowering, values: Sequence[SSAValue], dims: tuple[int, ...]) -> tuple[int, ...] | None:
    """The flat image form in which an elementwise op on `values` can run, None when it needs the logical form."""
    orders = {order for order in map(c.is_image, values) if order is not None}
    if len(orders) != 1:
        return None
    order = orders.pop()
    for value in values:
        if c.is_image(value) is not None:
            if shape(value) != dims:
                return None
        elif uniform(constant_of(value)) is None and _channel_vector(shape(value), dims, order) is None:
            return None
    return order


def _channel_vector(dims: tuple[int, ...], out: tuple[int, ...], order: tuple[int, ...]) -> int | None:
    """Size of a per-channel operand (1 everywhere but the channel), None for any other shape."""
    full = (1,) * (len(out) - len(dims)) + dims
    others = [full[i] for i in order[:3]]
    return full[order[3]] if all(n == 1 for n in others) else None


def operand_for(c: Lowering, value: SSAValue, dims: tuple[int, ...], order: tuple[int, ...] | None, dtype: str) -> SSAValue:
    """An operand of an elementwise op with result shape `dims`, in the form that the op runs in."""
    if order is None:
        return c.get(value, TILE, dtype)
    if c.is_image(value) is not None:
        return c.flat(value, order, TILE, dtype)
    size = _channel_vector(shape(value), dims, order)
    assert size is not None
    return c.reshape(c.get(value, TILE, dtype), (1, 1, 1, size))


def _low_bits(element: str) -> tuple[int, bool] | None:
    """(mask, whether there is a sign) of integers of 8 and 16 bits; None for other types."""
    bits = {"8": 8, "16": 16}.get(element.lstrip("sui"))
    return None if bits is None or element[0] not in "sui" else ((1 << bits) - 1, not element.startswith("u"))


def within_width(c: Lowering, value: SSAValue, element: str) -> SSAValue:
    """Wraps int32 values to an integer type of 8 or 16 bits: modulo 256 or 65536. Others stay."""
    low = _low_bits(element)
    if low is None or layout(value).dtype != "si32":
        return value

    mask, signed = low
    half, x = (mask + 1) // 2, Tensor(c, value)
    return ((x + half).op("bitwise_and", mask) - half if signed else x.op("bitwise_and", mask)).ssa


def _is_held(c: Lowering, value: SSAValue, dtype: str) -> bool:
    """Whether an unsigned integer data type can represent each value of an operand."""
    array = constant_of(value)
    return c.actual(value) == dtype if array is None else bool((np.asarray(array) >= 0).all())


def _is_float(dtype: str) -> bool:
    return dtype not in INTEGERS


def binary(c: Lowering, op: Operation) -> None:
    name = _BINARY_BY_TTIR[op.name.removeprefix("ttir.")]
    lhs, rhs = op.operands
    result = op.results[0]
    dims = shape(result)
    if name in COMPARISONS:
        dtype = c.actual(lhs) if constant_of(lhs) is None else c.actual(rhs)
        if constant_of(lhs) is None and constant_of(rhs) is None and c.actual(rhs) != dtype:
            dtype = "f32" if "f32" in (c.actual(lhs), c.actual(rhs)) else "bf16" if _is_float(dtype) else dtype
        if (
            dtype in INTEGERS
            and dtype != "si32"
            and not access.element_type(lhs).startswith("ui")
            and not all(_is_held(c, value, dtype) for value in (lhs, rhs))
        ):
            dtype = "si32"  # an index together with numbers that may be negative
    else:
        dtype = c.dtype(result)
    work = "f32" if name in _FLOAT_ONLY_INTEGER and dtype in INTEGERS else dtype
    if name == "divide" and dtype in INTEGERS:
        c.set(result, within_width(c, whole_numbers.quotient(c, op), access.element_type(result)))
        return
    swap = constant_of(lhs) is not None and constant_of(rhs) is None and name in _SWAPPED and name in ACCEPTS_SCALAR
    if swap:
        lhs, rhs, name = rhs, lhs, _SWAPPED[name]
    order = _image_order(c, (lhs, rhs), dims)
    literal = (
        scalar_of(c, rhs, work, rounded=name in _ROUNDED, ordered=name in _ROUNDED or name in _DIVIDES)
        if name in ACCEPTS_SCALAR and shape(lhs) == dims
        else None
    )
    first_literal = None
    if literal is None and name in ("subtract", "divide") and shape(rhs) == dims:
        first_literal = scalar_of(c, lhs, work)
    a = first_literal or operand_for(c, lhs, dims, order, work)
    if name == "logical_right_shift" and (low := _low_bits(access.element_type(lhs))) is not None and low[1]:
        a = c.emit("bitwise_and", [a, c.scalar(low[0], "si32")])  # zeros are shifted in
    b = literal or operand_for(c, rhs, dims, order, work)
    fused = access.attr(op, ACTIVATION)
    attributes = {"alchemist.activations": (fused,)} if fused else None
    value = c.emit(name, [a, b], attributes)
    if name in _BEYOND_ITS_WIDTH:
        value = within_width(c, value, access.element_type(result))
    elif work != dtype:
        value = c.convert(value, TILE, dtype)  # integer division truncates
    c.set(result, value, order)


_SWAPPED = {name: name for name in short_names("ttnn", "commutative")} | {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}
"""Ops with their operands exchanged: a scalar first operand becomes the second."""

for _name in _BINARY_BY_TTIR:
    rule(_name)(binary)


@rule("pow")
def pow_(c: Lowering, op: Operation) -> None:
    base, exponent = op.operands
    result = op.results[0]
    number = uniform(constant_of(exponent))
    dtype = c.dtype(result)
    square = number == 2 and shape(base) == shape(result)
    if dtype in INTEGERS:  # the library has only float powers
        c.set(result, within_width(c, whole_numbers.power(c, op), access.element_type(result)))
        return
    if number is not None and (number >= 0 or number == -0.5) and shape(base) == shape(result):  # the IR's pow_scalar takes no other negative number
        order = c.is_image(base)
        value = c.flat(base, order, TILE, dtype) if order is not None else c.get(base, TILE, dtype)
        if square:
            c.set(result, c.emit("multiply", [value, value]), order)
        elif number == 0.5:
            c.set(result, c.emit("sqrt", [value]), order)
        elif number == -0.5:
            c.set(result, c.emit("rsqrt", [value]), order)
        else:
            c.set(result, c.emit("pow_scalar", [value], {"rhs": int(number) if float(number).is_integer() else float(number)}), order)
        return
    c.set(result, c.emit("pow_tensor", [c.get(base, TILE, dtype), c.get(exponent, TILE, dtype)]))


def _exact_in_float32(array: np.ndarray[Any, Any] | None) -> bool:
    number = uniform(array)
    return number is not None and not isinstance(number, complex) and abs(number) <= 1 << 24


@rule("where")
def where(c: Lowering, op: Operation) -> None:
    condition, yes, no = op.operands
    result = op.results[0]
    dtype = c.dtype(result)
    # the device returns float32 for an integer mask, whatever the branches are
    mask = c.get(condition, TILE, dtype if _is_float(dtype) or c.actual(condition) != dtype else None)
    # ttnn.where takes scalars through float32: integers beyond its 24 bits stay tensors
    inline = [dtype not in INTEGERS or _exact_in_float32(constant_of(value)) for value in (yes, no)]
    if dtype in INTEGERS and uniform(constant_of(yes)) is not None:
        inline[1] = False  # for two scalars it returns float32
    branches = [(scalar_of(c, value, dtype) if short else None) or c.get(value, TILE, dtype) for value, short in zip((yes, no), inline, strict=True)]
    dims = shape(result)
    choice = [mask, *branches]
    if () not in map(shape, branches) and not _one_program_chooses([shape(value) for value in choice]):
        # The library would multiply both branches by the mask and add them: five programs, and an infinite weight would become NaN.
        whole = [(*shape(value)[:-2], *dims[-2:]) if c.is_constant(source) else shape(value) for value, source in zip(choice, op.operands, strict=True)]
        if _one_program_chooses(whole):
            choice = [broadcast_to(c, value, dims) for value, dims in zip(choice, whole, strict=True)]
    value = c.emit("where", choice)
    if shape(value) != dims:
        value = broadcast_to(c, value, dims)
    c.set(result, value)


def _one_program_chooses(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether `ttnn.where` of tensors of these shapes is one program: rows, columns, or single values are broadcast, not two of them at once."""
    last = [(1, 1, *dims)[-2:] for dims in shapes]
    rows, columns = {dims[0] for dims in last}, {dims[1] for dims in last}
    return len(rows) == 1 or len(columns) == 1 or all(dims in ((1, 1), (max(rows), max(columns))) for dims in last)


def broadcast_to(c: Lowering, value: SSAValue, dims: tuple[int, ...]) -> SSAValue:
    """`ttnn.repeat` along the dims of size 1 that differ."""
    have = (1,) * (len(dims) - len(shape(value))) + shape(value)
    value = c.reshape(value, have)
    counts = [want if own == 1 and want != 1 else 1 for own, want in zip(have, dims, strict=True)]
    if all(count == 1 for count in counts):
        return value
    return c.emit("repeat", [value], {"repeat_dims": counts})


@rule("clamp_tensor")
def clamp_tensor(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    dtype = c.dtype(result)
    x, low, high = (c.get(value, TILE, dtype) for value in op.operands)
    low = c.emit("maximum", [x, low])
    c.set(result, c.emit("minimum", [low, high]))


# --- ops that TTNN's dialect lacks, composed ------------------------------------------------------------------------------


def _operand(c: Lowering, op: Operation) -> Tensor:
    return Tensor(c, c.get(op.operands[0], TILE, c.dtype(op.results[0])))


@rule("square")
def square(c: Lowering, op: Operation) -> None:
    order = c.is_image(op.operands[0])
    x = c.flat(op.operands[0], order, TILE) if order is not None else c.get(op.operands[0])
    squared = c.emit("multiply", [x, x])
    c.set(op.results[0], within_width(c, squared, access.element_type(op.results[0])), order)


def _truncated(x: Tensor) -> Tensor:
    return x if is_whole(x.ssa) else x.op("sign") * x.op("abs").op("floor")


@rule("trunc")
def trunc(c: Lowering, op: Operation) -> None:
    x = _operand(c, op)
    c.set(op.results[0], (x if layout(x.ssa).dtype in INTEGERS else _truncated(x)).ssa)


@rule("frac")
def frac(c: Lowering, op: Operation) -> None:
    x = _operand(c, op)
    c.set(op.results[0], (x - _truncated(x)).ssa)


@rule("signbit")
def signbit(c: Lowering, op: Operation) -> None:
    """Of floats by their bits: -0.0 has a sign and is not below 0."""
    x = Tensor(c, c.get(op.operands[0], TILE))
    if layout(x.ssa).dtype not in INTEGERS:
        x = x.cast("f32")
        x = Tensor(c, c.emit("bitcast_convert", [x.ssa], None, shape(x.ssa), "si32"))
    c.set(op.results[0], x.op("lt", 0).ssa)


@rule("softsign")
def softsign(c: Lowering, op: Operation) -> None:
    x = _operand(c, op)
    c.set(op.results[0], (x / (x.op("abs") + 1)).ssa)


@rule("selu")
def selu(c: Lowering, op: Operation) -> None:
    x = _operand(c, op)
    negative = x.op("minimum", 0).op("expm1") * access.attr(op, "alpha")
    c.set(op.results[0], ((x.op("relu") + negative) * access.attr(op, "scale")).ssa)


@rule("right_shift")
def right_shift(c: Lowering, op: Operation) -> None:
    """Arithmetic shift: of a negative number, the complement is shifted, which has zeros where it has the sign's ones."""
    result, x = op.results[0], _operand(c, op)
    dtype = c.dtype(result)
    count = (scalar_of(c, op.operands[1], dtype) if x.shape == shape(result) else None) or c.get(op.operands[1], TILE, dtype)
    if dtype == "si32" and interval(op.operands[0])[0] < 0:
        ones = x.op("lt", 0).op("neg")
        shifted = x.op("bitwise_xor", ones).op("logical_right_shift", count).op("bitwise_xor", ones)
    else:
        shifted = x.op("logical_right_shift", count)
    c.set(result, shifted.ssa)


# --- casts --------------------------------------------------------------------------------------------------------------


@rule("typecast")
def typecast(c: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    to_bool = access.element_type(result) == "i1"
    order = c.is_image(source)
    if order is not None:
        value = c.flat(source, order)
        c.set(result, c.convert(value, layout(value).page, None if to_bool else c.dtype(result)), order)
        return
    if to_bool and access.element_type(source) != "i1":
        c.set(result, Tensor(c, c.get(source)).op("ne", 0).ssa)
        return
    want = c.actual(source) if to_bool else c.dtype(result)
    element, source_element = access.element_type(result), access.element_type(source)
    narrower = _low_bits(element) is not None and not _holds(element, source)
    if {c.actual(source), want} == {"si32", "u32"} and not narrower and _wraps(result, source):
        c.set(result, c.emit("bitcast_convert", [c.get(source, TILE)], None, shape(result), want))
        return
    if c.actual(source) in INTEGERS and want in INTEGERS and not narrower:
        c.set(result, c.get(source, ROW_MAJOR if not _needs_tile(result) else TILE, None))
        return
    value = c.get(source, TILE, None if want in INTEGERS or source_element not in ("ui8", "ui16") else want)
    value = c.convert(value, TILE, want)  # the library's cast truncates floats to 32 bits
    c.set(result, within_width(c, value, element) if narrower else value)


def _wraps(result: SSAValue, source: SSAValue) -> bool:
    """Whether some numbers of an integer value mean others in the result's type, which has a sign where the value's has none or the other way round.

    Indices have none: look-ups read them as they are.
    """
    low, high = interval(source)
    return high > WHOLE[1] if access.element_type(source).startswith("ui") else low < 0 and access.element_type(result).startswith("ui") and _needs_tile(result)


def _holds(element: str, source: SSAValue) -> bool:
    """Whether an integer type can represent every value of `source`."""
    low = _low_bits(element)
    assert low is not None
    mask, signed = low
    lowest, high = (-(mask + 1) // 2, mask // 2) if signed else (0, mask)
    of = access.element_type(source)
    inner = _low_bits(of)
    if inner is not None and (inner[0] // 2 if inner[1] else inner[0]) <= high and (signed or not inner[1]):
        return True
    maker = source.owner
    clamped = isinstance(maker, Operation) and maker.name == "ttir.clamp_scalar" and access.attr(maker, "min") >= lowest and access.attr(maker, "max") <= high
    return of == "i1" or clamped


def _needs_tile(value: SSAValue) -> bool:
    return not all(has_trait(use.operation, "look_up") or use.operation.name == "ttir.reshape" for use in value.uses)


@rule("to_layout")
def to_layout(c: Lowering, op: Operation) -> None:
    """Ignores layout hints of TTIR text: the lowering chooses layouts."""
    c.set(op.results[0], c.get(op.operands[0]))


# --- creation -----------------------------------------------------------------------------------------------------------


@rule("full", "zeros", "ones")
def full(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    dtype, dims = c.dtype(result), shape(result)
    fixed = {"ttir.zeros": 0, "ttir.ones": 1}.get(op.name)
    value = access.attr(op, "fill_value") if fixed is None else fixed
    c.set(result, filled(c, dims, dtype, int(c.fitting(np.asarray(value))) if dtype in INTEGERS else float(value)))


def filled(c: Lowering, dims: tuple[int, ...], dtype: str, number: int | float) -> SSAValue:
    """A tensor of one value; dead code if all its users take a literal."""
    if number == 0:
        return c.emit("zeros", [c.device], {"shape": dims}, dims, dtype)
    if number == 1:
        return c.emit("ones", [c.device], {"shape": dims}, dims, dtype)
    return c.emit("full", [c.device], {"shape": dims, "fill_value": number}, dims, dtype)


@rule("constant")
def constant(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    array, dtype, dims = constant_of(result), c.dtype(result), shape(result)
    assert array is not None
    if dtype in INTEGERS:
        array = c.fitting(array)
    number = uniform(array)
    if number is not None and not isinstance(number, complex):
        c.set(result, filled(c, dims, dtype, int(number) if dtype in INTEGERS else float(number)))
        return
    stored = array.astype(np.int32) if dtype in INTEGERS else array.astype(np.float32)
    value = elements(np.ascontiguousarray(stored), "si32" if dtype in INTEGERS else "f32")
    attributes = {"value": value} | ({LIFTED_NAME: name} if (name := access.attr(op, LIFTED_NAME)) else {})
    c.set(result, c.emit("constant", [c.device], attributes, dims, dtype, ROW_MAJOR))


@rule("empty")
def empty(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    c.set(result, c.emit("empty", [c.device], {"shape": shape(result)}, shape(result), c.dtype(result)))


@rule("rand")
def rand(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    attributes = {"size": shape(result), **{k: access.attr(op, k) for k in ("low", "high", "seed")}}
    c.set(result, c.emit("rand", [c.device], attributes, shape(result), c.dtype(result)))


@rule("arange")
def arange(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    dims, dim = shape(result), access.attr(op, "arange_dimension")
    dtype = c.dtype(result)
    attributes = {k: access.attr(op, k) for k in ("start", "end", "step")}
    value = c.emit("arange", [c.device], attributes, (dims[dim],), dtype, ROW_MAJOR)
    value = c.reshape(value, tuple(n if i == dim else 1 for i, n in enumerate(dims)))
    c.set(result, broadcast_to(c, c.convert(value), dims))


@rule("get_dimension_size")
def get_dimension_size(c: Lowering, op: Operation) -> None:
    size = shape(op.operands[0])[access.attr(op, "dimension")]
    c.set(op.results[0], filled(c, shape(op.results[0]), "u32", size))


@rule("dropout")
def dropout(c: Lowering, op: Operation) -> None:
    source = op.operands[0]
    order = c.is_image(source)
    c.set(op.results[0], c.flat(source, order) if order is not None else c.get(source), order)


@rule("quantize_unrolled", "dequantize_unrolled", "requantize_unrolled")
def quantization(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    dtype = c.dtype(result)
    attributes = {"axis": access.attr(op, "axis"), "output_dtype": dtype}
    operands = [c.get(value) for value in op.operands]
    name = op.name.removeprefix("ttir.").removesuffix("_unrolled")
    c.set(result, c.emit(name, operands, attributes, shape(result), dtype))


@rule("bitcast_convert")
def bitcast(c: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    elements = access.element_type(source), access.element_type(result)
    have, want = c.stored_dtype(source), c.stored_dtype(result)
    if not can_reinterpret(*elements) or not can_reinterpret(have, want) or not can_reinterpret(elements[0], have):
        raise c.error("the device does not hold these bits", got=f"{elements[0]} as {elements[1]}", hint="32-bit types, bf16 and ui16, 8-bit integers")
    c.set(result, c.emit("bitcast_convert", [c.get(source, TILE, have)], None, shape(result), want))
