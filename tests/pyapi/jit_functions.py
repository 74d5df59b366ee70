"""Functions for `ttnn_jit`: each op of its list, and composites in the style of tt-mlir's test/ttnn-jit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ttnn

UNARY = ("abs", "exp", "neg", "sqrt", "rsqrt", "log", "cos", "erf", "erfc", "sign", "sin", "ceil", "floor", "tanh", "tan", "sigmoid", "hardsigmoid",
         "relu", "reciprocal", "gelu", "silu", "logical_not")  # fmt: skip
BINARY = ("add", "multiply", "subtract", "divide", "div", "pow", "eq", "ne", "gt", "ge", "lt", "le", "maximum", "minimum")
INTEGER = ("bitwise_and", "bitwise_or", "bitwise_xor")


def _unary(name: str) -> Callable[..., Any]:
    operation = getattr(ttnn, name)  # an op in a closure is traced too
    return lambda a: operation(a)


def _binary(name: str) -> Callable[..., Any]:
    operation = getattr(ttnn, name)
    return lambda a, b: operation(a, b)


def cosh(a):
    return ttnn.multiply(ttnn.add(ttnn.exp(a), ttnn.exp(ttnn.neg(a))), 0.5)


def sinh(a):
    return ttnn.multiply(ttnn.subtract(ttnn.exp(a), ttnn.exp(ttnn.neg(a))), 0.5)


def mul_add(a, b, c):
    return ttnn.add(ttnn.multiply(a, b), c)


def digamma(a):
    """Asymptotic series, 21 ops."""
    inverse = ttnn.reciprocal(a)
    result = ttnn.subtract(ttnn.log(a), ttnn.multiply(inverse, 0.5))
    square = power = ttnn.multiply(inverse, inverse)
    for factor in (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760):
        result = ttnn.add(result, ttnn.multiply(power, factor))
        power = ttnn.multiply(power, square)
    return result


def long_unary_chain(a):
    for name in ("abs", "sqrt", "exp", "neg", "tanh", "sin", "cos", "sigmoid", "relu", "silu"):
        a = getattr(ttnn, name)(a)
    return a


def join_unary_chains(a, b):
    return ttnn.add(ttnn.exp(ttnn.abs(a)), ttnn.tanh(ttnn.sin(b)))


def add_tree(a, b, c):
    """31 additions of three inputs, pair by pair."""
    layer = [(a, b, c)[index % 3] for index in range(32)]
    while len(layer) > 1:
        layer = [ttnn.add(left, right) for left, right in zip(layer[::2], layer[1::2], strict=True)]
    return layer[0]


def binary_ladder(a, b):
    for step in range(31):
        a = ttnn.multiply(a, b) if step % 2 else ttnn.subtract(b, a)
    return a


def shared_value(a):
    common = ttnn.exp(a)
    return ttnn.multiply(ttnn.sin(common), ttnn.cos(common))


def nested_calls(a, b):
    return mul_add(cosh(a), sinh(b), b)


def gate_up(a, b):
    limited = ttnn.clamp(a, min=-7.0, max=7.0)
    return ttnn.multiply(ttnn.add(b, 1.0), ttnn.multiply(limited, ttnn.sigmoid(ttnn.multiply(limited, 1.702))))


def fusion_test(a, b):
    return ttnn.sigmoid(ttnn.exp(ttnn.multiply(ttnn.add(a, b), b)))


def scalar_first(a):
    return ttnn.add(ttnn.multiply(a, 2), 0.25)


def broadcast_row(a):
    return ttnn.subtract(a, ttnn.mean(a, dim=-2, keepdim=True))


def matmul_then_relu(a, b):
    return ttnn.relu(ttnn.matmul(a, b, transpose_b=True))


def softmax_by_hand(a):
    shifted = ttnn.exp(ttnn.subtract(a, ttnn.max(a, dim=-1, keepdim=True)))
    return ttnn.divide(shifted, ttnn.sum(shifted, dim=-1, keepdim=True))


# Name -> (function, number of inputs, their dtype).
FUNCTIONS: dict[str, tuple[Callable[..., Any], int, str]] = {
    **{name: (_unary(name), 1, "bfloat16") for name in UNARY},
    **{name: (_binary(name), 2, "bfloat16") for name in BINARY},
    **{name: (_binary(name), 2, "int32") for name in INTEGER},
    **{f"{name} float32": (_binary(name), 2, "float32") for name in ("add", "multiply", "divide")},
    **{f"{name} bfloat8_b": (_binary(name), 2, "bfloat8_b") for name in ("add", "multiply")},
    "bitwise_not": (_unary("bitwise_not"), 1, "int32"),
    "clamp": (lambda a: ttnn.clamp(a, min=-0.5, max=0.5), 1, "bfloat16"),
    **{name: (lambda a, name=name: getattr(ttnn, name)(a, dim=-1, keepdim=True), 1, "bfloat16") for name in ("sum", "mean", "max", "min")},
    "sum over rows": (lambda a: ttnn.sum(a, dim=0, keepdim=True), 1, "float32"),
    "matmul": (lambda a, b: ttnn.matmul(a, b, transpose_a=True), 2, "bfloat16"),
    "permute": (lambda a: ttnn.permute(a, (1, 0)), 1, "bfloat16"),
    "transpose": (lambda a: ttnn.transpose(a, 0, 1), 1, "bfloat16"),
    "reshape": (lambda a: ttnn.reshape(a, (128, 64)), 1, "bfloat16"),
    "concat": (lambda a, b: ttnn.concat([a, b], dim=1), 2, "bfloat16"),
    "repeat": (lambda a: ttnn.repeat(a, (1, 2)), 1, "bfloat16"),
    **{f.__name__: (f, f.__code__.co_argcount, "bfloat16") for f in (
        cosh, sinh, mul_add, digamma, long_unary_chain, join_unary_chains, add_tree, binary_ladder, shared_value, nested_calls, gate_up, fusion_test,
        scalar_first, broadcast_row, matmul_then_relu, softmax_by_hand)},
}  # fmt: skip
