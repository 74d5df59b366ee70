"""Elementwise ops of two and three tensors with broadcasting: a row per op.

Columns of BINARY: name, form, dtypes sampled, numpy function. A second operand that is an inline scalar is written as a
literal. Forms name the C++ parameter list; Python's second parameter is `input_tensor_b` in every overload but those
that SECOND lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops.describe import MEMORY, Array, Reference, attribute, op, tensor, ttir
from alchemist.ops.spec import REQUIRED, Arg, ErrorSample, Kind, Sample

HEADER = "eltwise/binary/binary.hpp"
Function = Callable[[Array, Array], Array]

ACTIVATIONS = Arg("activations", "attr:alchemist.activations", Kind.UNARY_LIST, default=())
"""Unary ops fused behind a binary op: a tuple of `EnumRef("ttnn.UnaryOpType", ...)`."""

_TAIL = "memory_config? output_tensor? activations={} lhs_activations={} rhs_activations={}"
CPP_FORMS = {
    "arithmetic": f"input_tensor_a input_tensor_b dtype? {_TAIL} fast_and_approximate_mode? sub_core_grids? sub_device_id?",
    "compare": f"input_tensor_a input_tensor_b dtype? {_TAIL} sub_core_grids? sub_device_id?",
    "bitwise": f"input_tensor_a input_tensor_b {_TAIL} sub_core_grids? sub_device_id?",
    "extremum": f"input_tensor_a input_tensor_b dtype? {_TAIL}",
    "plain": "input_tensor_a input_tensor_b memory_config?",
}
"""C++ parameters of each form, for tensor and scalar second operands alike."""


def _shift_left(a: Array, b: Array) -> Array:
    wide = a.astype(np.int64) << np.clip(b, 0, 63).astype(np.int64)
    return np.where((b < 0) | (b > 31), 0, wide).astype(np.uint32).astype(a.dtype)


def _shift_right_logical(a: Array, b: Array) -> Array:
    wide = a.astype(np.uint32).astype(np.int64) >> np.clip(b, 0, 63).astype(np.int64)
    return np.where((b < 0) | (b > 31), 0, wide).astype(np.uint32).astype(a.dtype)


BINARY: tuple[tuple[str, str, str, Function], ...] = (
    ("add", "arithmetic", "bfloat16", np.add),
    ("subtract", "arithmetic", "bfloat16", np.subtract),
    ("multiply", "arithmetic", "bfloat16", np.multiply),
    ("divide", "arithmetic", "bfloat16", np.divide),
    ("eq", "compare", "bfloat16", np.equal),
    ("ne", "compare", "bfloat16", np.not_equal),
    ("gt", "compare", "bfloat16", np.greater),
    ("ge", "compare", "bfloat16", np.greater_equal),
    ("lt", "compare", "bfloat16", np.less),
    ("le", "compare", "bfloat16", np.less_equal),
    ("logical_and", "compare", "bfloat16", np.logical_and),
    ("logical_or", "compare", "bfloat16", np.logical_or),
    ("logical_xor", "compare", "bfloat16", np.logical_xor),
    ("remainder", "compare", "bfloat16", np.mod),
    ("logical_right_shift", "compare", "int32", _shift_right_logical),
    ("logical_left_shift", "bitwise", "int32", _shift_left),
    ("bitwise_and", "bitwise", "int32", np.bitwise_and),
    ("bitwise_or", "bitwise", "int32", np.bitwise_or),
    ("bitwise_xor", "bitwise", "int32", np.bitwise_xor),
    ("maximum", "extremum", "bfloat16", np.maximum),
    ("minimum", "extremum", "bfloat16", np.minimum),
    ("atan2", "plain", "bfloat16", np.arctan2),
)

TTIR_NAMES = {"divide": "div"}
"""TTNN name -> TTIR name where they differ."""

COMPARISONS = frozenset(("eq", "ne", "gt", "ge", "lt", "le", "logical_and", "logical_or", "logical_xor", "logical_not", "isfinite"))
"""Ops that give truth values (the device writes 0 and 1 in the input's dtype)."""

ACCEPTS_SCALAR = frozenset(name for name, form, _, _ in BINARY if form != "plain")
"""Ops whose second operand may be a Python number."""
ACCEPTS_SCALAR_FIRST = frozenset(("add", "subtract", "multiply", "divide"))

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


for _name, _form, _dtype, _function in BINARY:
    _args = [tensor("input_tensor_a", "lhs"), tensor("input_tensor_b", "rhs"), MEMORY]
    if _form not in ("plain",):
        _args.append(ACTIVATIONS)
    op(
        _name,
        _args,
        CPP_FORMS[_form],
        HEADER,
        samples=_samples(_dtype),
        error_samples=(_not_broadcastable(_dtype),),
        reference=elementwise(_function),
        doc="0 or 1" if _name in COMPARISONS else "",
    )
    ttir(TTIR_NAMES.get(_name, _name), elementwise(_function), target=_name)

ttir("right_shift", elementwise(lambda a, b: np.asarray(np.right_shift(a, np.clip(b, 0, 31)))))


def _pow_scalar(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    with np.errstate(all="ignore"):
        return [np.asarray(np.power(inputs[0], attributes["rhs"]))]


op(
    "pow_tensor",
    [tensor("input_tensor", "lhs"), tensor("exponent", "rhs"), MEMORY],
    f"input_tensor exponent dtype? {_TAIL}",
    HEADER,
    target="ttnn.pow",
    samples=_samples("bfloat16"),
    reference=elementwise(np.power),
)
op(
    "pow_scalar",
    [tensor("input_tensor", "lhs"), attribute("exponent", Kind.SCALAR, "rhs", keyword=False), MEMORY],
    "input_tensor exponent memory_config? output_tensor?",
    HEADER,
    target="ttnn.pow",
    samples=tuple(Sample(((a, "bfloat16"),), {"rhs": 3.0}, (a,)) for a, _, _ in BROADCASTS),
    reference=_pow_scalar,
)
ttir("pow", elementwise(np.power))


def _where(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [np.where(inputs[0] != 0, inputs[1], inputs[2])]


def _clamp_tensor(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [np.minimum(np.maximum(inputs[0], inputs[1]), inputs[2])]


op(
    "where",
    [tensor("predicate", "first"), tensor("true_value", "second"), tensor("false_value", "third"), MEMORY],
    "predicate true_value false_value memory_config? output_tensor? sub_core_grids?",
    "eltwise/ternary/ternary.hpp",
    samples=tuple(Sample(((out, "bfloat16"),) * 3, outputs=(out,)) for _, _, out in BROADCASTS),
    reference=_where,
)
ttir("where", _where, target="where")
op(
    "clamp_tensor",
    [
        tensor("input_tensor", "input"),
        tensor("min", default=REQUIRED, keyword=True),
        tensor("max", default=REQUIRED, keyword=True),
        MEMORY,
    ],
    "input_tensor min max memory_config? output_tensor?",
    "eltwise/unary/unary_composite.hpp",
    target="ttnn.clamp",
    samples=tuple(Sample(((out, "bfloat16"),) * 3, outputs=(out,)) for _, _, out in BROADCASTS),
    reference=_clamp_tensor,
)
ttir("clamp_tensor", _clamp_tensor, target="clamp_tensor")
