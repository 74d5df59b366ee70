"""Elementwise ops: a row per op; operands broadcast as in numpy."""

from __future__ import annotations

import math

import numpy as np

from alchemist.frontends import composites, functions
from alchemist.frontends.onnx.emitter import DType, Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule
from alchemist.frontends.vocabulary import unchanged

UNARY = {
    "Abs": "abs", "Acos": "acos", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "BitwiseNot": "bitwise_not", "Ceil": "ceil", "Cos": "cos",
    "Erf": "erf", "Exp": "exp", "Floor": "floor", "Log": "log", "Mish": "mish", "Neg": "neg", "Reciprocal": "reciprocal", "Relu": "relu",
    "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
BINARY = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
}  # fmt: skip
COMPARISONS = {"Equal": "eq", "Greater": "gt", "GreaterOrEqual": "ge", "Less": "lt", "LessOrEqual": "le"}
LOGICAL = {"And": "logical_and", "Or": "logical_or", "Xor": "logical_xor"}


def operand(c: Emitter, x: Tensor, rank: int) -> Tensor:
    """A known number becomes a splat of shape [1, ...]."""
    if x.known is not None and x.known.size == 1 and x.rank < rank:
        return c.full((1,) * rank, x.known.reshape(-1)[0].item(), x.dtype)
    return x


def pointwise(c: Emitter, name: str, a: Tensor, b: Tensor, dtype: DType | None = None) -> Tensor:
    rank = max(a.rank, b.rank)
    return c.emit(name, [operand(c, a, rank), operand(c, b, rank)], dtype=dtype or a.dtype)


def _unary(op: str, name: str) -> None:
    @rule(op)
    def lower(c: Emitter, node: Node, x: Tensor) -> Tensor:
        return c.unary(name, x)


def _binary(op: str, name: str) -> None:
    @rule(op)
    def lower(c: Emitter, node: Node, a: Tensor, b: Tensor) -> Tensor:
        folded = None if a.weight or b.weight else unchanged(name, a, b, np.broadcast_shapes(a.shape, b.shape), a.dtype)
        return folded or pointwise(c, name, a, b)


def _predicate(op: str, name: str) -> None:
    @rule(op)
    def lower(c: Emitter, node: Node, a: Tensor, b: Tensor) -> Tensor:
        return pointwise(c, name, a, b, c.bool_dtype)


for _op, _name in UNARY.items():
    _unary(_op, _name)
for _op, _name in BINARY.items():
    _binary(_op, _name)
for _op, _name in (COMPARISONS | LOGICAL).items():
    _predicate(_op, _name)


@rule("Not")
def not_(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return c.unary("logical_not", x)


@rule("Div")
def div(c: Emitter, node: Node, a: Tensor, b: Tensor) -> Tensor:
    if c.is_float(a.dtype) and b.known is not None and b.uniform == 1 and np.broadcast_shapes(a.shape, b.shape) == a.shape:
        return a
    return pointwise(c, "div", a, b)


@rule("Mod")
def mod(c: Emitter, node: Node, a: Tensor, b: Tensor) -> Tensor:
    """a - b round(a / b): the sign is the divisor's (fmod = 0) or the dividend's."""
    if not c.is_float(a.dtype):
        left = pointwise(c, "remainder", a, b)
        return composites.towards_zero(c, left, a, b) if node.get("fmod", 0) else left
    finite = b.known is not None and bool(np.isfinite(b.known).all())
    return composites.modulo(c, a, b, "trunc" if node.get("fmod", 0) else "floor", finite)


@rule("BitShift")
def bit_shift(c: Emitter, node: Node, a: Tensor, b: Tensor) -> Tensor:
    return pointwise(c, "logical_left_shift" if node.get("direction") == "LEFT" else "right_shift", a, b)


@rule("Pow")
def power(c: Emitter, node: Node, x: Tensor, exponent: Tensor) -> Tensor:
    number = exponent.uniform if exponent.known is not None else None
    if number is not None and np.broadcast_shapes(x.shape, exponent.shape) == x.shape:
        simple = composites.simple_power(c, x, number)
        if simple is not None:
            return simple
    return pointwise(c, "pow", x, c.cast(exponent, x.dtype))


def _several(op: str, name: str) -> None:
    @rule(op)
    def lower(c: Emitter, node: Node, *parts: Tensor) -> Tensor:
        total = parts[0]
        for part in parts[1:]:
            total = pointwise(c, name, total, part)
        return c.binary("multiply", total, 1 / len(parts)) if op == "Mean" and len(parts) > 1 else total


for _op, _name in {"Max": "maximum", "Min": "minimum", "Sum": "add", "Mean": "add"}.items():
    _several(_op, _name)


@rule("Where")
def where(c: Emitter, node: Node, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    shape = np.broadcast_shapes(condition.shape, a.shape, b.shape)
    truth = condition.uniform if condition.known is not None else None
    if truth is not None:
        return c.expand(a if truth else b, shape)
    rank = len(shape)
    parts = [condition, operand(c, a, rank), operand(c, b, rank)]
    others = {part.shape for part in parts if math.prod(part.shape) > 1} - {shape}
    if len(others) > 1:  # more shapes than the library's ternary programs broadcast
        parts = [c.expand(part, shape) if part.shape in others else part for part in parts]
    return c.emit("where", parts)


@rule("Clip")
def clip(c: Emitter, node: Node, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    numbers = [None if bound is None or bound.const is None else bound.uniform for bound in (low, high)]
    if low is not None and high is not None and None not in numbers:
        if numbers == [0, 6]:
            return c.unary("relu6", x)
        if c.is_float(x.dtype):
            first, last = float(numbers[0]), float(numbers[1])  # type: ignore[arg-type]
        else:  # 64 bits are held in 32
            limits = np.iinfo({"int64": "int32", "uint64": "uint32"}.get(x.dtype.name, x.dtype.name))
            first, last = (min(max(int(number), limits.min), limits.max) for number in numbers)  # type: ignore[arg-type]
        return c.unary("clamp_scalar", x, {"min": min(first, last), "max": last})  # the upper bound where they cross
    for bound, name in ((low, "maximum"), (high, "minimum")):
        x = x if bound is None else pointwise(c, name, x, bound)
    return x


# --- types and moves of nothing -----------------------------------------------------------------------------------------------


@rule("Identity")
def identity(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return x


@rule("Cast")
def cast(c: Emitter, node: Node, x: Tensor) -> Tensor:
    from alchemist.frontends.onnx.reading import dtype_of

    return c.cast(x, dtype_of(node.get("to")))


@rule("CastLike")
def cast_like(c: Emitter, node: Node, x: Tensor, target: Tensor) -> Tensor:
    return c.cast(x, target.dtype)


@rule("Dropout")
def dropout(c: Emitter, node: Node, x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None) -> list[Tensor]:
    mode = c.known(training, "the training mode")
    if mode is not None and mode.any() and (ratio is None or ratio.uniform != 0):
        raise Unsupported("dropout in training mode is random: export the model in inference mode")
    return [x, c.full(x.shape, True, c.bool_dtype)]


# --- activations --------------------------------------------------------------------------------------------------------------


@rule("Gelu")
def gelu(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return composites.tanh_gelu(c, x) if node.get("approximate", "none") == "tanh" else c.unary("gelu", x)


@rule("LeakyRelu")
def leaky_relu(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return c.unary("leaky_relu", x, {"parameter": node.get("alpha", 0.01)})


@rule("PRelu")
def prelu(c: Emitter, node: Node, x: Tensor, slope: Tensor) -> Tensor:
    return c.where(c.binary("gt", x, 0, c.bool_dtype), x, pointwise(c, "multiply", x, slope))


@rule("Elu")
def elu(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return composites.elu(c, x, node.get("alpha", 1.0))


@rule("Celu")
def celu(c: Emitter, node: Node, x: Tensor) -> Tensor:
    alpha = node.get("alpha", 1.0)
    return composites.elu(c, x, alpha, input_scale=1 / alpha)


@rule("Selu")
def selu(c: Emitter, node: Node, x: Tensor) -> Tensor:
    alpha, gamma = node.get("alpha", 1.67326319217681884765625), node.get("gamma", 1.05070102214813232421875)
    return composites.elu(c, x, alpha, gamma)


@rule("Softplus")
def softplus(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return composites.softplus(c, x)


@rule("Softsign")
def softsign(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return c.unary("softsign", x)


@rule("HardSigmoid")
def hard_sigmoid(c: Emitter, node: Node, x: Tensor) -> Tensor:
    alpha, beta = node.get("alpha", 0.2), node.get("beta", 0.5)
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return c.unary("hardsigmoid", x)
    line = c.binary("add", c.binary("multiply", x, alpha), beta)
    return c.unary("clamp_scalar", line, {"min": 0.0, "max": 1.0})


# --- ops without a TTIR op ----------------------------------------------------------------------------------------------------


def _function(op: str, function: functions.Function) -> None:
    @rule(op)
    def lower(c: Emitter, node: Node, x: Tensor) -> Tensor:
        result: Tensor = function(functions.Term(c.op, x)).value
        return result


for _op, _known in {
    "Sinh": functions.sinh, "Cosh": functions.cosh, "Atanh": functions.atanh, "Acosh": functions.acosh, "Round": functions.round_half_even,
}.items():  # fmt: skip
    _function(_op, _known)


@rule("IsNaN")
def is_nan(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return c.binary("ne", x, x, c.bool_dtype)


@rule("IsInf")
def is_inf(c: Emitter, node: Node, x: Tensor) -> Tensor:
    low, high = node.get("detect_negative", 1), node.get("detect_positive", 1)
    if low and high:
        return c.binary("eq", c.unary("abs", x), math.inf, c.bool_dtype)
    if not low and not high:
        return c.full(x.shape, False, c.bool_dtype)
    return c.binary("eq", x, math.inf if high else -math.inf, c.bool_dtype)
