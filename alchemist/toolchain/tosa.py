"""TOSA ops by the TTIR ops of the same meaning: a table of names, and a function for each op whose attributes differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import DenseElements, to_python
from alchemist.ir.builder import Builder
from alchemist.ir.location import place_of

Form = tuple[str, Sequence[SSAValue | Sequence[SSAValue]], Mapping[str, Any]]
"""An op of TTIR: name, operands, attributes."""

_SAME = {
    name: f"ttir.{today or name}"
    for words in ("abs ceil cos erf exp floor log reciprocal rsqrt sigmoid sin tanh cast=typecast", "add maximum minimum pow sub=subtract",
        "bitwise_and bitwise_not bitwise_or bitwise_xor logical_and logical_not logical_or logical_xor",
        "equal=eq greater=gt greater_equal=ge select=where")
    for name, _, today in (word.partition("=") for word in words.split())
}  # fmt: skip
"""Ops with the same operands and no attributes."""
_REDUCTIONS = {"reduce_max": "max", "reduce_min": "min", "reduce_product": "prod", "reduce_sum": "sum"}


def _refuse(op: Operation, message: str, **facts: str) -> LoweringError:
    return LoweringError(message, op=op.name, location=place_of(op), **facts)


def _constant(op: Operation, value: SSAValue, label: str) -> DenseElements:
    maker = value.owner
    attribute = maker.properties.get("values", maker.properties.get("value")) if isinstance(maker, Operation) and maker.name.startswith("tosa.const") else None
    if not isinstance(attribute, DenseElements):
        raise _refuse(op, f"the {label} must be a tosa.const", got=maker.name if isinstance(maker, Operation) else "an argument")
    return attribute


def _only_zero(op: Operation, values: Sequence[SSAValue], label: str) -> None:
    for value in values:
        if _constant(op, value, label).data.any():
            raise _refuse(op, f"a {label} has no form in TTIR", expected="0")


def _numbers(op: Operation, name: str) -> tuple[int, ...]:
    value = op.properties.get(name)
    if not isinstance(value, DenseArrayBase | IntegerAttr):
        raise _refuse(op, f"missing attribute {name}")
    plain = to_python(value)
    return (int(plain),) if isinstance(value, IntegerAttr) else tuple(int(number) for number in plain)


def _axis(op: Operation) -> int:
    return _numbers(op, "axis")[0]


def _product(name: str, factors: int, label: str, op: Operation) -> Form:
    """tosa.mul has a shift, tosa.matmul and tosa.negate have zero points behind their operands. tosa.mul of 2024 had it as attribute."""
    _only_zero(op, op.operands[factors:], label)
    shift = op.properties.get("shift")
    if isinstance(shift, IntegerAttr) and shift.value.data:
        raise _refuse(op, f"a {label} has no form in TTIR", expected="0")
    return name, op.operands[:factors], {}


def _clamp(op: Operation) -> Form:
    is_float = not element_type(op.operands[0]).endswith(("i8", "i16", "i32", "i64"))
    old = "fp" if is_float else "int"
    bounds = [op.properties.get(f"{end}_val", op.properties.get(f"{end}_{old}")) for end in ("min", "max")]
    if any(bound is None for bound in bounds):
        raise _refuse(op, "missing attribute min_val or max_val")
    low, high = (float(to_python(bound)) for bound in bounds)
    return "ttir.clamp_scalar", op.operands, {"min": low, "max": high}


def _max_pool(op: Operation) -> Form:
    """Padding is [top, bottom, left, right] in TOSA, [top, left, bottom, right] in TTIR."""
    kernel, stride, pad = (_numbers(op, name) for name in ("kernel", "stride", "pad"))
    if (len(kernel), len(stride), len(pad)) != (2, 2, 4):
        raise _refuse(op, "a pool needs kernel and stride of 2, pad of 4 numbers", got=f"{len(kernel)}, {len(stride)}, {len(pad)}")
    top, bottom, left, right = pad
    options = {"kernel": kernel, "stride": stride, "dilation": (1, 1), "padding": (top, left, bottom, right), "ceil_mode": False}
    return "ttir.max_pool2d", op.operands, options


def _transpose(op: Operation) -> Form:
    """The permutation was an operand until 2025."""
    order = _numbers(op, "perms") if "perms" in op.properties else tuple(int(number) for number in _constant(op, op.operands[1], "permutation").data.ravel())
    if sorted(order) != list(range(len(shape(op.operands[0])))):
        raise _refuse(op, "the permutation does not fit the rank", expected=f"{len(shape(op.operands[0]))} dimensions", got=str(list(order)))
    return "ttir.permute", op.operands[:1], {"permutation": order}


def _reduction(today: str, op: Operation) -> Form:
    return today, op.operands, {"keep_dim": True, "dim_arg": (_axis(op),)}


_OTHERS: dict[str, Callable[[Operation], Form]] = {
    "mul": partial(_product, "ttir.multiply", 2, "shift"),
    "matmul": partial(_product, "ttir.matmul", 2, "zero point"),
    "negate": partial(_product, "ttir.neg", 1, "zero point"),
    "clamp": _clamp,
    "concat": lambda op: ("ttir.concat", [list(op.operands)], {"dim": _axis(op)}),
    "max_pool2d": _max_pool,
    "reshape": lambda op: ("ttir.reshape", op.operands[:1], {"shape": shape(op.results[0])}),
    "transpose": _transpose,
    **{name: partial(_reduction, f"ttir.{today}") for name, today in _REDUCTIONS.items()},
}
OPS = frozenset(f"tosa.{name}" for name in (*_SAME, *_OTHERS, "const", "const_shape"))


def tosa_to_ttir(module: ModuleOp) -> ModuleOp:
    """The module with TTIR ops, in place. Constants that only attributes needed are gone.

    Raises:
        LoweringError: an op of TOSA without a row, a shift or a zero point, a shape that is not constant.
    """
    ops = [op for op in module.walk() if op.name.startswith("tosa.")]
    for op in ops:
        name = op.name.partition(".")[2]
        if not op.name.startswith("tosa.const"):
            if op.name not in OPS or len(op.results) != 1 or not op.operands:
                raise _refuse(op, "the op has no form in TTIR", hint="alchemist ops lists what is supported")
            op.properties.update({key: op.attributes.pop(key) for key in [key for key in op.attributes if "." not in key]})
            form: Form = (_SAME[name], op.operands, {}) if name in _SAME else _OTHERS[name](op)
            _replace(op, *form)
    for op in ops:
        if op.name == "tosa.const" and op.results[0].first_use:
            _replace(op, "ttir.constant", [], {"value": _constant(op, op.results[0], "value")})
        elif op.name.startswith("tosa.const"):
            op.detach()  # type: ignore[no-untyped-call]
            op.erase()
    return module


def _replace(op: Operation, name: str, operands: Sequence[SSAValue | Sequence[SSAValue]], attributes: Mapping[str, Any]) -> None:
    types: list[Attribute] = [op.results[0].type]
    op.results[0].replace_all_uses_with(Builder.in_place_of(op).op(name, operands, attributes, types))
    op.detach()  # type: ignore[no-untyped-call]
    op.erase()
