"""Elementwise ops of one tensor: a row per op.

Columns of UNARY: name, numpy function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops.describe import EDGE_SIZES, Array, Reference, op, same_shape, ttir
from alchemist.ops.spec import ErrorSample, Sample

HEADER = "eltwise/unary/unary.hpp"
Function = Callable[[Array], Array]

_erf = np.vectorize(math.erf, otypes=[np.float32])


def erf(x: Array) -> Array:
    """Exact error function in float32 (numpy has none)."""
    return np.asarray(_erf(x), dtype=np.float32) if x.size else x


def sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (np.tanh(0.5 * x) + 1.0))


def gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1.0 + erf(x / math.sqrt(2.0))))


def gelu_tanh(x: Array) -> Array:
    return np.asarray(0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))))


def softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(x, 0.0))


UNARY: tuple[tuple[str, Function], ...] = (
    ("abs", np.abs),
    ("acos", np.arccos),
    ("asin", np.arcsin),
    ("asinh", np.arcsinh),
    ("atan", np.arctan),
    ("bitwise_not", np.invert),
    ("cbrt", np.cbrt),
    ("ceil", np.ceil),
    ("cos", np.cos),
    ("erf", erf),
    ("erfc", lambda x: np.asarray(1.0 - erf(x))),
    ("exp", np.exp),
    ("exp2", np.exp2),
    ("expm1", np.expm1),
    ("floor", np.floor),
    ("hardsigmoid", lambda x: np.clip(x / 6.0 + 0.5, 0.0, 1.0)),
    ("isfinite", np.isfinite),
    ("log", np.log),
    ("log1p", np.log1p),
    ("logical_not", np.logical_not),
    ("mish", lambda x: np.asarray(x * np.tanh(softplus(x)))),
    ("neg", np.negative),
    ("reciprocal", np.reciprocal),
    ("relu", lambda x: np.maximum(x, 0)),
    ("relu6", lambda x: np.clip(x, 0, 6)),
    ("rsqrt", lambda x: np.asarray(1.0 / np.sqrt(x))),
    ("sign", np.sign),
    ("silu", lambda x: np.asarray(x * sigmoid(x))),
    ("sin", np.sin),
    ("sqrt", np.sqrt),
    ("tan", np.tan),
    ("tanh", np.tanh),
)

_POSITIVE = {"log", "log1p", "sqrt", "rsqrt", "reciprocal"}
_INTEGER = {"bitwise_not"}
_PREDICATES = {"isfinite", "logical_not"}
_NOUNS = {"exp": "exponential", "neg": "negated"}


def elementwise(function: Function) -> Reference:
    """Wraps a one-array function; predicates return booleans, which callers read as 0 and 1."""

    def reference(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
        with np.errstate(all="ignore"):
            return [np.asarray(function(inputs[0]))]

    return reference


def _leaky_relu(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [np.where(inputs[0] >= 0, inputs[0], inputs[0] * attributes["parameter"])]


def _gelu(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """`alchemist.variant` = "Tanh": the approximation that models call gelu_new."""
    return [(gelu_tanh if attributes.get("alchemist.variant") == "Tanh" else gelu)(inputs[0])]


def _selu(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    x = inputs[0]
    scale, alpha = attributes.get("scale", 1.0507009873390197), attributes.get("alpha", 1.6732635498046875)
    return [np.asarray(scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))))]


def _elu(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    x = inputs[0]
    return [np.where(x > 0, x, attributes["alpha"] * np.expm1(np.minimum(x, 0)))]


def _softplus(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    scaled = inputs[0] * attributes["beta"]
    return [np.where(scaled > attributes["threshold"], inputs[0], softplus(scaled) / attributes["beta"])]


def _clamp(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [np.clip(inputs[0], attributes["min"], attributes["max"])]


def _dropout(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [inputs[0]]  # inference: a front end that needs random zeros does not use TTIR's dropout


for _name, _function in UNARY:
    _dtype = "int32" if _name in _INTEGER else "bfloat16"
    op(
        _name,
        "input_tensor memory_config",
        HEADER,
        samples=same_shape(_dtype),
        error_samples=(ErrorSample((), match="incompatible function arguments"),),
        reference=elementwise(_function),
        doc="positive inputs" if _name in _POSITIVE else "0 or 1" if _name in _PREDICATES else "",
        noun=_NOUNS.get(_name, ""),
    )
    ttir(_name, elementwise(_function), target=_name)

WITH_NUMBER: dict[str, Callable[[Array, float], Array]] = {
    "mul_unary_sfpu": lambda x, factor: np.asarray(x * factor),
    "add_unary_sfpu": lambda x, term: np.asarray(x + term),
    "sub_unary_sfpu": lambda x, term: np.asarray(x - term),
    "div_unary_sfpu": lambda x, divisor: np.asarray(x / divisor),
    "rsub": lambda x, whole: np.asarray(whole - x),
}
"""Members of a `ttnn.unary_chain` that compute with their parameter, by name."""
_NAMED: dict[str, Function] = {name: function for name, function in UNARY} | {
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "sigmoid": sigmoid,
    "square": np.square,
    "recip": np.reciprocal,
}


def applied(step: str | Mapping[str, Any], x: Array) -> Array:
    """The result of a fused function or a step of a chain. step: its name, or `op_type` and `params`."""
    name = str(step if isinstance(step, str) else step["op_type"]).lower()
    parameters = () if isinstance(step, str) else tuple(step.get("params") or ())
    with np.errstate(all="ignore"):
        return WITH_NUMBER[name](x, *parameters) if name in WITH_NUMBER else np.asarray(_NAMED[name](x))


def _chain(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    value = inputs[0]
    for step in attributes["chain"]:
        value = applied(step, value)
    return [value]


_HALF_AND_ONE = ({"op_type": "mul_unary_sfpu", "params": (0.5,)}, {"op_type": "add_unary_sfpu", "params": (1.0,)})
op(
    "unary_chain",
    "input_tensor ops_chain=chain memory_config",
    HEADER,
    samples=tuple(Sample(((s, "bfloat16"),), {"chain": _HALF_AND_ONE}, (s,)) for s in EDGE_SIZES),
    reference=_chain,
    doc="functions one after the other on a tile; chosen from optimization level 1 on",
)
op("gelu", "input_tensor variant=alchemist.variant memory_config", HEADER, samples=same_shape(), reference=_gelu)
ttir("gelu", _gelu, target="gelu")
op("sigmoid", "input_tensor memory_config", HEADER, samples=same_shape(), reference=elementwise(sigmoid))
ttir("sigmoid", elementwise(sigmoid), target="sigmoid")
op(
    "leaky_relu",
    "input_tensor * negative_slope=parameter memory_config",
    HEADER,
    samples=tuple(Sample(((s, "bfloat16"),), {"parameter": 0.125}, (s,)) for s in EDGE_SIZES),
    reference=_leaky_relu,
)
ttir("leaky_relu", _leaky_relu, target="leaky_relu")
op(
    "elu",
    "input_tensor alpha memory_config",
    HEADER,
    samples=tuple(Sample(((s, "bfloat16"),), {"alpha": 0.5}, (s,)) for s in EDGE_SIZES),
    reference=_elu,
    doc="ours, not tt-mlir's",
)
op(
    "softplus",
    "input_tensor * beta threshold memory_config",
    HEADER,
    samples=tuple(Sample(((s, "bfloat16"),), {"beta": 2.0, "threshold": 20.0}, (s,)) for s in EDGE_SIZES),
    reference=_softplus,
    doc="ours, not tt-mlir's",
)
op(
    "clamp_scalar",
    "input_tensor min max memory_config",
    "eltwise/unary/unary_composite.hpp",
    target="ttnn.clamp",
    noun="clamped",
    samples=tuple(Sample(((s, "bfloat16"),), {"min": -0.5, "max": 0.75}, (s,)) for s in EDGE_SIZES),
    reference=_clamp,
)
ttir("clamp_scalar", _clamp, target="clamp_scalar")
op(
    "dropout",
    "input_tensor * probability=prob scale seed use_per_device_seed memory_config",
    "experimental/dropout/dropout.hpp",
    target="ttnn.experimental.dropout",
    samples=tuple(Sample(((s, "bfloat16"),), {"prob": 0.0, "scale": 1.0, "seed": 1, "use_per_device_seed": True}, (s,)) for s in EDGE_SIZES),
    reference=_dropout,
)
ttir("dropout", _dropout)

# TTIR ops without a TTNN twin: the lowering composes them (alchemist/passes/lower/eltwise.py).
for _name, _function in (
    ("frac", lambda x: np.asarray(x - np.trunc(x))),
    ("signbit", np.signbit),
    ("softsign", lambda x: np.asarray(x / (1.0 + np.abs(x)))),
    ("square", np.square),
    ("trunc", np.trunc),
):
    ttir(_name, elementwise(_function))
ttir("selu", _selu)
