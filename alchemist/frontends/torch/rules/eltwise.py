"""Elementwise ops: a row per op. Scalars become `ttir.full` of shape [1, ...], operands are cast to torch's result type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from alchemist.frontends import composites, functions
from alchemist.frontends.torch.emitter import Emitter, Scalar, Tensor
from alchemist.frontends.torch.errors import EVAL_FIRST, Unsupported
from alchemist.frontends.torch.registry import RULES, recipe, rule
from alchemist.frontends.vocabulary import unchanged
from alchemist.ir.op_class import short_names

Value = Tensor | Scalar

UNARY: dict[str, str] = {
    name: name
    for name in (
        "abs acos asin asinh atan bitwise_not ceil cos erf erfc exp exp2 expm1 floor frac hardsigmoid isfinite log log1p "
        "logical_not mish neg reciprocal relu relu6 rsqrt sigmoid signbit silu sin sqrt square tan tanh trunc"
    ).split()
} | {"absolute": "abs", "negative": "neg", "arccos": "acos", "fix": "trunc", "special_expm1": "expm1"}
"""aten name -> TTIR name; the operand is cast to the result's dtype (an integer `exp` gives floats)."""
PREDICATES = short_names("ttir", "truth") | {"signbit"}

ARITHMETIC: dict[str, str] = {
    "mul.Tensor": "multiply",
    "mul.Scalar": "multiply",
    "multiply.Tensor": "multiply",
    "maximum.default": "maximum",
    "minimum.default": "minimum",
    "max.other": "maximum",
    "min.other": "minimum",
    "pow.Tensor_Tensor": "pow",
    "pow.Scalar": "pow",
    "atan2.default": "atan2",
} | {
    f"{spelling}.{overload}": op
    for short, op in {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "logical_left_shift", "rshift": "right_shift"}.items()
    for spelling in (f"__{short}__", "bitwise_" + short.replace("lshift", "left_shift").replace("rshift", "right_shift"))
    for overload in ("Tensor", "Scalar", "Tensor_Scalar", "Scalar_Tensor")
}
BOOLEAN = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor"}
"""Bitwise op on booleans -> TTIR op."""


def result_type(*values: Value) -> torch.dtype:
    """torch's promotion rules on dtypes and ranks."""
    metas = [torch.empty(value.shape, dtype=value.dtype, device="meta") if isinstance(value, Tensor) else value for value in values]
    dtype: torch.dtype = torch.result_type(*metas)
    return dtype


def operand(c: Emitter, value: Value, dtype: torch.dtype, rank: int) -> Tensor:
    """The operand as a tensor of the dtype; numbers and 0-d constants become splats of shape [1, ...]."""
    if not isinstance(value, Tensor):
        return c.full((1,) * rank, value, dtype)
    if value.rank == 0 and rank and value.const is not None:
        return c.full((1,) * rank, value.const.to(dtype).item(), dtype)
    return c.cast(value, dtype)


def in_float32(c: Emitter, value: Value, rank: int) -> Tensor:
    """An operand of an op that torch computes in float32 for bfloat16 tensors; a number has the tensors' own type before."""
    dtype = c.out_dtype
    number = value if not isinstance(value, Tensor) else None
    rounded = torch.tensor(number, dtype=dtype).item() if number is not None else value
    return operand(c, rounded, torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype, rank)


def pointwise(c: Emitter, name: str, a: Value, b: Value, compute: torch.dtype | None = None) -> Tensor:
    """A binary op computed in `compute` (default: the result's dtype), with the node's result type."""
    rank = len(c.out_shape)
    compute = compute or c.out_dtype
    return c.emit(name, [operand(c, a, compute, rank), operand(c, b, compute, rank)], dtype=c.out_dtype)


def _unary(aten: str, name: str) -> None:
    @rule(f"aten.{aten}.default")
    def lower(c: Emitter, x: Tensor) -> Tensor:
        dtype = x.dtype if name in PREDICATES else c.out_dtype
        if name == "bitwise_not" and dtype == torch.bool:
            return c.emit("logical_not", [x])
        if name == "isfinite" and not x.dtype.is_floating_point:
            return c.full(x.shape, True, torch.bool)
        return c.emit(name, [c.cast(x, dtype)], dtype=c.out_dtype)


@rule("aten.sign.default", "aten.sgn.default")
def sign(c: Emitter, x: Tensor) -> Tensor:
    """0 for NaN, where the device's op has NaN."""
    if x.dtype == torch.bool:
        return x
    if not x.dtype.is_floating_point:
        return c.unary("sign", x)
    above, below = c.binary("gt", x, 0, torch.bool), c.binary("lt", x, 0, torch.bool)
    return c.binary("subtract", c.cast(above, x.dtype), c.cast(below, x.dtype))


def _arithmetic(aten: str, name: str) -> None:
    @rule(f"aten.{aten}")
    def lower(c: Emitter, a: Value, b: Value) -> Tensor:
        if c.out_dtype == torch.bool:
            if name in BOOLEAN:
                return boolean(c, BOOLEAN[name], a, b)
            if name == "multiply":
                return boolean(c, "logical_and", a, b)
        return unchanged(name, a, b, c.out_shape, c.out_dtype) or pointwise(c, name, a, b)


def boolean(c: Emitter, name: str, a: Value, b: Value) -> Tensor:
    """and / or / xor of truth values; a constant operand that decides nothing disappears (causal masks of one row)."""
    neutral = {"logical_and": True, "logical_or": False, "logical_xor": False}[name]
    for first, second in ((a, b), (b, a)):
        constant = first.uniform if isinstance(first, Tensor) else first
        if constant is not None and isinstance(second, Tensor) and bool(constant) is neutral and second.dtype == torch.bool:
            return c.expand(second, c.out_shape)
    return pointwise(c, name, a, b, torch.bool)


for _aten, _name in UNARY.items():
    _unary(_aten, _name)
for _aten, _name in ARITHMETIC.items():
    _arithmetic(_aten, _name)


def _comparison(name: str) -> None:
    @rule(f"aten.{name}.Tensor", f"aten.{name}.Scalar")
    def lower(c: Emitter, a: Tensor, b: Value) -> Tensor:
        return pointwise(c, name, a, b, result_type(a, b))


def _logical(name: str) -> None:
    @rule(f"aten.{name}.default")
    def lower(c: Emitter, a: Tensor, b: Tensor) -> Tensor:
        return boolean(c, name, a, b)


for _name in short_names("ttir", "comparison"):
    _comparison(_name)
for _name in BOOLEAN.values():
    _logical(_name)


def _scaled(c: Emitter, b: Value, alpha: Scalar) -> Value:
    if alpha == 1:
        return b
    if not isinstance(b, Tensor):
        return b * alpha
    return c.binary("multiply", c.cast(b, c.out_dtype), alpha)


@rule("aten.add.Tensor", "aten.add.Scalar")
def add(c: Emitter, a: Value, b: Value, alpha: Scalar = 1) -> Tensor:
    if c.out_dtype == torch.bool:
        return boolean(c, "logical_or", a, b)
    b = _scaled(c, b, alpha)
    return unchanged("add", a, b, c.out_shape, c.out_dtype) or pointwise(c, "add", a, b)


@rule("aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor")
def sub(c: Emitter, a: Value, b: Value, alpha: Scalar = 1) -> Tensor:
    return unchanged("subtract", a, b, c.out_shape, c.out_dtype) or pointwise(c, "subtract", a, _scaled(c, b, alpha))


@rule("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", "aten.divide.Tensor")
def div(c: Emitter, a: Value, b: Value) -> Tensor:
    return unchanged("div", a, b, c.out_shape, c.out_dtype) or pointwise(c, "div", a, b)


@rule("aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.divide.Tensor_mode")
def div_mode(c: Emitter, a: Value, b: Value, rounding_mode: str | None = None) -> Tensor:
    return _rounded_quotient(c, a, b, rounding_mode)


@rule("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(c: Emitter, a: Value, b: Value) -> Tensor:
    return _rounded_quotient(c, a, b, "floor")


def _not_rounded_up(c: Emitter, x: Tensor, q: Tensor, divisor: float) -> Tensor:
    """floor(x / divisor) from q = floor of the rounded quotient, which may be a whole number above the exact one: 1.0 // 0.1 is 9.

    q times the divisor's upper 12 bits is exact for q below 4096, and so is the remainder. A divisor of 12 bits has no such quotients.
    """
    high = float((np.float32(divisor).view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32))
    low = float(np.float32(divisor)) - high
    if low == 0 or not math.isfinite(low):
        return q
    left = c.binary("subtract", c.binary("subtract", x, c.binary("multiply", q, high)), c.binary("multiply", q, low))
    above = c.emit("lt" if divisor > 0 else "gt", [left, operand(c, 0.0, left.dtype, left.rank)], dtype=torch.bool)
    return c.binary("subtract", q, c.cast(above, q.dtype))


def _rounded_quotient(c: Emitter, a: Value, b: Value, mode: str | None) -> Tensor:
    """TTIR's quotient of integers is cut off; of `a - a % b`, which b divides, nothing is."""
    if mode is None:
        return div(c, a, b)
    rank = len(c.out_shape)
    if c.out_dtype.is_floating_point:
        x = in_float32(c, a, rank)
        y = in_float32(c, b, rank) if isinstance(b, Tensor) else operand(c, b, x.dtype, rank)  # torch does not round a divisor here
        q = c.unary("floor" if mode == "floor" else "trunc", c.emit("div", [x, y], dtype=x.dtype))
        if mode == "floor" and not isinstance(b, Tensor):
            q = _not_rounded_up(c, x, q, float(b))
        return c.cast(q, c.out_dtype)
    x, y = operand(c, a, c.out_dtype, rank), operand(c, b, c.out_dtype, rank)
    if mode == "floor":
        x = c.emit("subtract", [x, c.emit("remainder", [x, y])])
    return c.emit("div", [x, y])


@rule("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(c: Emitter, a: Value, b: Value) -> Tensor:
    return _modulo(c, a, b, "floor")


@rule("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(c: Emitter, a: Value, b: Value) -> Tensor:
    return _modulo(c, a, b, "trunc")


def _modulo(c: Emitter, a: Value, b: Value, mode: str) -> Tensor:
    """a - b * round(a / b): the sign follows the divisor (floor) or the dividend (trunc), as torch defines it."""
    rank = len(c.out_shape)
    x, y = operand(c, a, c.out_dtype, rank), operand(c, b, c.out_dtype, rank)
    if not c.out_dtype.is_floating_point:
        left = c.emit("remainder", [x, y])
        return left if mode == "floor" else composites.towards_zero(c, left, x, y)
    x, y = in_float32(c, a, rank), in_float32(c, b, rank)
    finite = y.const is not None and bool(y.const.isfinite().all())
    return c.cast(composites.modulo(c, x, y, "floor" if mode == "floor" else "trunc", finite), c.out_dtype)


@rule("aten.pow.Tensor_Scalar")
def pow_scalar(c: Emitter, x: Tensor, exponent: Scalar) -> Tensor:
    x = c.cast(x, c.out_dtype)
    return composites.simple_power(c, x, exponent) or pointwise(c, "pow", x, exponent)


@rule("aten.to.dtype", "aten._to_copy.default", "prims.convert_element_type.default")
def to_dtype(c: Emitter, x: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
    return c.cast(x, c.out_dtype)


for _name in ("to.device", "to.dtype_layout", "to.other", "type_as.default", "contiguous.default", "clone.default"):
    RULES[f"aten.{_name}"] = to_dtype
for _name in ("detach.default", "alias.default", "lift_fresh_copy.default", "lift_fresh.default", "positive.default"):
    RULES[f"aten.{_name}"] = to_dtype


@rule("aten.fill.Scalar", "aten.fill.Tensor")
def fill(c: Emitter, x: Tensor, value: Value) -> Tensor:
    if isinstance(value, Tensor):
        return c.expand(c.cast(value, x.dtype), x.shape)
    return c.full(x.shape, value, x.dtype)


@rule("aten.copy.default")
def copy(c: Emitter, x: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    return c.expand(c.cast(source, x.dtype), x.shape)


@rule("aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default", "aten.feature_alpha_dropout.default")
def dropout(c: Emitter, x: Tensor, p: float, train: bool) -> Tensor:
    if train and p > 0:
        raise Unsupported(f"dropout in training mode is random: {EVAL_FIRST}")
    return x


@rule("aten.native_dropout.default")
def native_dropout(c: Emitter, x: Tensor, p: float, train: bool | None) -> list[Tensor]:
    return [dropout(c, x, p, bool(train)), c.full(x.shape, True, torch.bool)]


@rule("aten.gelu.default")
def gelu(c: Emitter, x: Tensor, *, approximate: str = "none") -> Tensor:
    if approximate == "none":
        return c.emit("gelu", [x])
    return composites.tanh_gelu(c, x)


@rule("aten.leaky_relu.default")
def leaky_relu(c: Emitter, x: Tensor, negative_slope: float = 0.01) -> Tensor:
    return c.emit("leaky_relu", [x], {"parameter": negative_slope})


@rule("aten.hardswish.default")
def hardswish(c: Emitter, x: Tensor) -> Tensor:
    return c.binary("multiply", x, c.unary("hardsigmoid", x))


@rule("aten.elu.default")
def elu(c: Emitter, x: Tensor, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1) -> Tensor:
    return composites.elu(c, x, alpha, scale, input_scale)


@rule("aten.softplus.default")
def softplus(c: Emitter, x: Tensor, beta: Scalar = 1, threshold: Scalar = 20) -> Tensor:
    return composites.softplus(c, x, beta, threshold)


def _clamp_scalars(c: Emitter, x: Tensor, low: Scalar | None, high: Scalar | None) -> Tensor:
    x = c.cast(x, c.out_dtype)
    if low is None:
        assert high is not None
        return c.binary("minimum", x, high)
    if high is None:
        return c.binary("maximum", x, low)
    if x.dtype.is_floating_point:
        return c.emit("clamp_scalar", [x], {"min": float(min(low, high)), "max": float(high)})  # torch returns the upper bound where they cross
    limits = torch.iinfo(torch.int32 if x.dtype == torch.int64 else x.dtype)
    low, high = (min(max(int(bound), limits.min), limits.max) for bound in torch.tensor([int(low), int(high)]).to(x.dtype).tolist())  # -7 is 249 of uint8
    return c.emit("clamp_scalar", [x], {"min": min(low, high), "max": high})


@recipe("aten.hypot.default")
def hypot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.sqrt(a * a + b * b)


@rule("aten.clamp.default", "aten.clip.default")
def clamp(c: Emitter, x: Tensor, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
    return _clamp_scalars(c, x, min, max)


@rule("aten.clamp.Tensor", "aten.clip.Tensor")
def clamp_tensor(c: Emitter, x: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    for bound, name in ((min, "maximum"), (max, "minimum")):
        if bound is not None:
            x = pointwise(c, name, x, bound)
    return x


@rule("aten.hardtanh.default")
def hardtanh(c: Emitter, x: Tensor, min_val: Scalar = -1, max_val: Scalar = 1) -> Tensor:
    if (min_val, max_val) == (0, 6):
        return c.emit("relu6", [x])
    return _clamp_scalars(c, x, min_val, max_val)


@rule("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(c: Emitter, condition: Tensor, a: Value, b: Value) -> Tensor:
    rank, dtype = len(c.out_shape), c.out_dtype
    constant = condition.uniform
    for truth, chosen in ((True, a), (False, b)):
        if constant is not None and bool(constant) is truth and isinstance(chosen, Tensor):
            return c.expand(c.cast(chosen, dtype), c.out_shape)
    return c.emit("where", [condition, operand(c, a, dtype, rank), operand(c, b, dtype, rank)])


@rule("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(c: Emitter, x: Tensor, mask: Tensor, value: Value) -> Tensor:
    return c.emit("where", [mask, operand(c, value, x.dtype, x.rank), x])


@rule("aten.log2.default")
def log2(c: Emitter, x: Tensor) -> Tensor:
    return c.binary("multiply", c.unary("log", c.cast(x, c.out_dtype)), 1 / math.log(2))


@rule("aten.log10.default")
def log10(c: Emitter, x: Tensor) -> Tensor:
    return c.binary("multiply", c.unary("log", c.cast(x, c.out_dtype)), 1 / math.log(10))


@recipe("aten.round.decimals")
def round_decimals(x: torch.Tensor, *, decimals: int) -> torch.Tensor:
    return torch.round(x * 10.0**decimals) / 10.0**decimals


@rule("aten.round.default")
def round_half_even(c: Emitter, x: Tensor) -> Tensor:
    return functions.round_half_even(functions.Term(c.op, x)).value if x.dtype.is_floating_point else x


@recipe("aten.logaddexp.default")
def logaddexp(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    largest = torch.finfo(a.dtype).max  # equal infinities have no distance
    return torch.maximum(a, b) + torch.log1p(torch.exp(-torch.abs(a.clamp(-largest, largest) - b.clamp(-largest, largest))))


@recipe("aten.nan_to_num.default")
def nan_to_num(x: torch.Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> torch.Tensor:
    if not x.dtype.is_floating_point:
        return x * 1
    info = torch.finfo(x.dtype)
    x = torch.where(torch.isnan(x), 0.0 if nan is None else nan, x)
    return torch.clamp(x, info.min if neginf is None else neginf, info.max if posinf is None else posinf)


@rule("aten.rrelu.default")
def rrelu(c: Emitter, x: Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, generator: object = None) -> Tensor:
    if training:
        raise Unsupported(f"rrelu in training mode is random: {EVAL_FIRST}")
    return leaky_relu(c, x, (lower + upper) / 2)


for _name in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "remainder", "fmod"):
    RULES[f"prims.{_name}.default"] = RULES[f"aten.{_name}.Tensor"]
for _name in [*UNARY, "sign", *(name.removesuffix(".default") for name in ARITHMETIC if name.endswith(".default"))]:
    RULES[f"prims.{_name}.default"] = RULES[f"aten.{_name}.default"]
RULES["prims.where.default"] = where
RULES["prims.pow.default"] = RULES["aten.pow.Tensor_Tensor"]
