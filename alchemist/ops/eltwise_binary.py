"""Elementwise ops of two and three tensors with broadcasting: a row per op.

Columns of BINARY: name, dtype sampled, numpy function. A second operand that is an inline scalar is written as a literal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ir.op_class import short_names
from alchemist.ops.axes import pointwise
from alchemist.ops.describe import Array, Reference, op, ttir
from alchemist.ops.signatures import has_parameter, python_overloads
from alchemist.ops.spec import ErrorSample, Sample

HEADER = "eltwise/binary/binary.hpp"
Function = Callable[[Array, Array], Array]

_ARGUMENTS = "input_tensor_a=lhs input_tensor_b=rhs memory_config"
ANY_RESULT_TYPE = short_names("ttnn", "arithmetic", "comparison")
"""Ops that support a result type other than that of their operands."""
_FUSED = "activations=alchemist.activations input_tensor_a_activations=alchemist.lhs_activations input_tensor_b_activations=alchemist.rhs_activations"


def _shift(a: Array, b: Array, logical: bool, left: bool = False) -> Array:
    """By counts of any size: all bits leave a number that is shifted by its width or further, as by a count below 0; the sign stays if not `logical`."""
    bits = 8 * a.dtype.itemsize
    counts = b.astype(np.int64)
    beyond = (counts < 0) | (counts >= bits)
    unsigned = a.astype(np.dtype(f"uint{bits}")) if logical else a
    counts = np.where(beyond, bits - 1, counts).astype(unsigned.dtype)
    shifted = np.left_shift(unsigned, counts) if left else np.right_shift(unsigned, counts)
    return np.asarray(np.where(beyond & logical, 0, shifted).astype(a.dtype))


def shift_left(a: Array, b: Array) -> Array:
    return _shift(a, b, logical=True, left=True)


def shift_right_logical(a: Array, b: Array) -> Array:
    return _shift(a, b, logical=True)


def shift_right_arithmetic(a: Array, b: Array) -> Array:
    return _shift(a, b, logical=False)


def power(a: Array, b: Array) -> Array:
    """Integer powers; negative exponents truncate."""
    if b.dtype.kind not in "iu" or a.dtype.kind not in "iu":
        return np.asarray(np.power(a, b))
    return np.asarray(np.where(b < 0, np.trunc(np.power(np.where(a == 0, 1, a), b, dtype=np.float64)).astype(a.dtype), np.power(a, np.maximum(b, 0))))


BINARY: tuple[tuple[str, str, Function], ...] = (
    ("add", "bfloat16", np.add),
    ("subtract", "bfloat16", np.subtract),
    ("multiply", "bfloat16", np.multiply),
    ("divide", "bfloat16", np.divide),
    ("eq", "bfloat16", np.equal),
    ("ne", "bfloat16", np.not_equal),
    ("gt", "bfloat16", np.greater),
    ("ge", "bfloat16", np.greater_equal),
    ("lt", "bfloat16", np.less),
    ("le", "bfloat16", np.less_equal),
    ("logical_and", "bfloat16", np.logical_and),
    ("logical_or", "bfloat16", np.logical_or),
    ("logical_xor", "bfloat16", np.logical_xor),
    ("remainder", "bfloat16", np.mod),
    ("logical_right_shift", "int32", shift_right_logical),
    ("logical_left_shift", "int32", shift_left),
    ("bitwise_and", "int32", np.bitwise_and),
    ("bitwise_or", "int32", np.bitwise_or),
    ("bitwise_xor", "int32", np.bitwise_xor),
    ("maximum", "bfloat16", np.maximum),
    ("minimum", "bfloat16", np.minimum),
    ("atan2", "bfloat16", np.arctan2),
)

_NOUNS = {"add": "total", "subtract": "difference", "multiply": "product", "divide": "quotient", "logical_right_shift": "shifted"}
NEUTRAL: Mapping[str, tuple[float, bool]] = {
    **{"add": (0, True), "subtract": (0, False), "multiply": (1, True), "div": (1, False), "pow": (1, False)},
    **{"bitwise_or": (0, True), "bitwise_xor": (0, True), "bitwise_and": (-1, True)},
    **dict.fromkeys("logical_left_shift logical_right_shift right_shift".split(), (0, False)),
}
"""TTIR op -> the number n for which x op n is x, and whether n op x is x too."""
TTIR_NAMES = {"divide": "div"}
"""TTNN name -> TTIR name where they differ."""

COMPARISONS = short_names("ttnn", "truth")
"""Ops with boolean results (the device writes 0 and 1 in the input's dtype)."""


def _takes_numbers(name: str) -> bool:
    return any(not {"int", "float"}.isdisjoint(parameters[1].members) for parameters, _ in python_overloads(f"ttnn.{name}"))


ACCEPTS_SCALAR = frozenset(name for name, *_ in BINARY if _takes_numbers(name))
"""Ops whose second operand may be a Python number."""


BROADCASTS: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...] = (
    ((1, 1), (1, 1), (1, 1)),
    ((32, 32), (32, 32), (32, 32)),
    ((31, 33), (31, 33), (31, 33)),
    ((2, 64, 96), (96,), (2, 64, 96)),
    ((2, 64, 96), (64, 1), (2, 64, 96)),
    ((1, 3, 40, 7), (1, 1, 40, 7), (1, 3, 40, 7)),
    ((4, 1, 40, 1), (1, 3, 1, 7), (4, 3, 40, 7)),
)


def elementwise(function: Function) -> Reference:
    def reference(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
        with np.errstate(all="ignore"):
            return [np.asarray(function(inputs[0], inputs[1]))]

    return reference


def _samples(dtype: str) -> tuple[Sample, ...]:
    return tuple(Sample(((a, dtype), (b, dtype)), outputs=(out,)) for a, b, out in BROADCASTS)


def _not_broadcastable(dtype: str) -> ErrorSample:
    return ErrorSample((((32, 32), dtype), ((32, 31), dtype)), match="roadcast")


for _name, _dtype, _function in BINARY:
    op(
        _name,
        # what is fused behind it and in front of its operands: unary ops, a tuple of `EnumRef("ttnn.UnaryOpType", ...)`
        " ".join(
            words
            for words, reader in (
                (_ARGUMENTS, True),
                ("dtype=changed_dtype", _name in ANY_RESULT_TYPE),
                (_FUSED, has_parameter(f"ttnn.{_name}", "activations")),
            )
            if reader
        ),
        HEADER,
        samples=_samples(_dtype),
        error_samples=(_not_broadcastable(_dtype),),
        reference=elementwise(_function),
        doc="0 or 1" if _name in COMPARISONS else "",
        noun=_NOUNS.get(_name, ""),
    )
    ttir(TTIR_NAMES.get(_name, _name), elementwise(_function), target=_name)

IN_PLACE: tuple[tuple[str, Function, str, str], ...] = (
    ("add", np.add, "sum", "input_tensor_a=lhs input_tensor_b=rhs"),
    ("multiply", np.multiply, "product", "input_a=lhs input_b=rhs"),
)
for _name, _function, _result, _operands in IN_PLACE:
    op(
        f"{_name}_in_place",
        f"{_operands} activations=alchemist.activations",
        HEADER,
        target=f"ttnn.{_name}_",
        cpp_target=f"ttnn.{_name}_",
        reference=elementwise(_function),
        doc=f"the {_result} overwrites the first operand's memory; chosen at optimization level 2",
    )
ttir("right_shift", elementwise(shift_right_arithmetic))


def _pow_scalar(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    with np.errstate(all="ignore"):
        return [np.asarray(np.power(inputs[0], attributes["rhs"]))]


op(
    "pow_tensor",
    "input_tensor=lhs exponent=rhs memory_config",
    HEADER,
    target="ttnn.pow",
    samples=_samples("bfloat16"),
    reference=elementwise(np.power),
)
op(
    "pow_scalar",
    "input_tensor=lhs exponent=rhs memory_config",
    HEADER,
    target="ttnn.pow",
    samples=tuple(Sample(((a, "bfloat16"),), {"rhs": 3.0}, (a,)) for a, _, _ in BROADCASTS),
    reference=_pow_scalar,
)
ttir("pow", elementwise(power))


def _where(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [np.where(inputs[0] != 0, inputs[1], inputs[2])]


def _clamp_tensor(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [np.minimum(np.maximum(inputs[0], inputs[1]), inputs[2])]


op(
    "where",
    "predicate=first true_value=second false_value=third memory_config",
    "eltwise/ternary/ternary.hpp",
    samples=tuple(Sample(((out, "bfloat16"),) * 3, outputs=(out,)) for _, _, out in BROADCASTS),
    reference=_where,
    noun="selected",
)
ttir("where", _where, target="where")


def _addcmul(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [np.asarray(inputs[0] + attributes.get("value", 1.0) * inputs[1] * inputs[2])]


op(
    "addcmul",
    "input_a=first input_b=second input_c=third value memory_config",
    "eltwise/ternary/ternary.hpp",
    samples=tuple(Sample(((a, "bfloat16"), (out, "bfloat16"), (b, "bfloat16")), {"value": -1.0}, (out,)) for a, b, out in BROADCASTS),
    reference=_addcmul,
    doc="first + value * second * third in one program; chosen from optimization level 1 on",
    noun="total",
)
op(
    "clamp_tensor",
    "input_tensor min max memory_config",
    "eltwise/unary/unary_composite.hpp",
    target="ttnn.clamp",
    samples=tuple(Sample(((out, "bfloat16"),) * 3, outputs=(out,)) for _, _, out in BROADCASTS),
    reference=_clamp_tensor,
)
ttir("clamp_tensor", _clamp_tensor, target="clamp_tensor", axes=pointwise)
