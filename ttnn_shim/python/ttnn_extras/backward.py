"""Gradients of eltwise ops that have no program of their own: each is composed of ops, as in TT-NN. Offered as `ttnn.<op>_bw`.

All take `grad_tensor` (the shape of the op's result), the op's own inputs and `memory_config`, and return a list with one gradient for each
input; where `are_required_outputs` says False, None stands in its place.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import ttnn

from ttnn_extras.python_operations import PythonOperation

_LN2 = math.log(2.0)
_SELU_SCALE, _SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
_GAMMA_ORDER = 4  # of ttnn.multigammaln

_square = ttnn.square
_inverse = ttnn.reciprocal


def _within(x: Any, low: Any, high: Any) -> Any:
    """1 where low < x < high, else 0."""
    return ttnn.multiply(ttnn.gt(x, low), ttnn.lt(x, high))


def _hardswish(x: Any) -> Any:
    return ttnn.where(ttnn.gt(x, 3.0), 1.0, ttnn.multiply(ttnn.gt(x, -3.0), (x * 2.0 + 3.0) * (1 / 6)))


def _selu(x: Any) -> Any:
    return ttnn.where(ttnn.gtz(x), 1.0, ttnn.exp(x) * _SELU_ALPHA) * _SELU_SCALE


def _multigammaln(x: Any) -> Any:
    total = ttnn.digamma(x)
    for i in range(1, _GAMMA_ORDER):
        total = total + ttnn.digamma(x - i / 2)
    return total


def _none(x: Any) -> Any:
    return ttnn.zeros_like(x)


def _one(x: Any) -> Any:
    return ttnn.ones_like(x)


def _sharing(a: Any, b: Any, wins: Any) -> Any:
    """1 where `a` wins, a half where both are equal."""
    return wins + ttnn.eq(a, b) * 0.5


def _fits(x: Any, low: Any, high: Any) -> Any:
    """1 where low <= x <= high; None is no bound."""
    kept = _one(x)
    if low is not None:
        kept = kept * ttnn.ge(x, low)
    return kept if high is None else kept * ttnn.le(x, high)


# name -> d op(x, parameters) / dx; the parameters have the names and defaults of the real package.
_SLOPES: dict[str, Callable[..., Any]] = {
    "acos": lambda x: -1.0 * ttnn.rsqrt(1.0 - _square(x)),
    "acosh": lambda x: ttnn.rsqrt(_square(x) - 1.0),
    "asin": lambda x: ttnn.rsqrt(1.0 - _square(x)),
    "asinh": lambda x: ttnn.rsqrt(_square(x) + 1.0),
    "atan": lambda x: _inverse(_square(x) + 1.0),
    "atanh": lambda x: _inverse(1.0 - _square(x)),
    **dict.fromkeys(("ceil", "floor", "round", "trunc", "sign", "fill_zero"), _none),
    "frac": _one,
    "cosh": lambda x: ttnn.sinh(x),
    "sinh": lambda x: ttnn.cosh(x),
    "deg2rad": lambda x: _one(x) * (math.pi / 180),
    "rad2deg": lambda x: _one(x) * (180 / math.pi),
    "digamma": lambda x: ttnn.polygamma(x, 1),
    "lgamma": lambda x: ttnn.digamma(x),
    "multigammaln": _multigammaln,
    "erf": lambda x: ttnn.exp(-1.0 * _square(x)) * (2 / math.sqrt(math.pi)),
    "erfc": lambda x: ttnn.exp(-1.0 * _square(x)) * (-2 / math.sqrt(math.pi)),
    "erfinv": lambda x: ttnn.exp(_square(ttnn.erfinv(x))) * (math.sqrt(math.pi) / 2),
    "exp2": lambda x: ttnn.exp2(x) * _LN2,
    "expm1": lambda x: ttnn.exp(x),
    "hardsigmoid": lambda x: _within(x, -3.0, 3.0) * (1 / 6),
    "hardswish": _hardswish,
    "i0": lambda x: ttnn.i1(x),
    "log10": lambda x: _inverse(x * math.log(10.0)),
    "log1p": lambda x: _inverse(x + 1.0),
    "log2": lambda x: _inverse(x * _LN2),
    "log_sigmoid": lambda x: ttnn.sigmoid(-1.0 * x),
    "logit": lambda x: _inverse(x * (1.0 - x)),
    "reciprocal": lambda x: -1.0 * _inverse(_square(x)),
    "relu6": lambda x: _within(x, 0.0, 6.0),
    "selu": _selu,
    "softsign": lambda x: _inverse(_square(ttnn.abs(x) + 1.0)),
    "tan": lambda x: _square(ttnn.tan(x)) + 1.0,
    "tanhshrink": lambda x: _square(ttnn.tanh(x)),
    "celu": lambda x, *, alpha=1.0: ttnn.where(ttnn.gtz(x), 1.0, ttnn.exp(x * (1 / alpha))),
    "elu": lambda x, *, alpha=1.0: ttnn.where(ttnn.gtz(x), 1.0, ttnn.exp(x) * alpha),
    "hardshrink": lambda x, *, lambd=0.5: ttnn.gt(ttnn.abs(x), lambd),
    "softshrink": lambda x, *, lambd=0.5: ttnn.gt(ttnn.abs(x), lambd),
    "hardtanh": lambda x, *, min=-1.0, max=1.0: _within(x, min, max),
    "leaky_relu": lambda x, *, negative_slope=0.01: ttnn.where(ttnn.gtz(x), 1.0, negative_slope),
    "logiteps": lambda x, *, eps=0.0: _fits(x, eps, 1.0 - eps) * _inverse(x * (1.0 - x)),
    "softplus": lambda x, *, beta=1.0, threshold=20.0: ttnn.where(ttnn.gt(x * beta, threshold), 1.0, ttnn.sigmoid(x * beta)),
    "polygamma": lambda x, n: ttnn.polygamma(x, n + 1),
    "pow": lambda x, exponent: _none(x) if exponent == 0 else ttnn.pow(x, exponent - 1.0) * exponent,
    "rpow": lambda x, exponent: ttnn.exp(x * math.log(exponent)) * math.log(exponent) if exponent else _none(x),
    "rdiv": lambda x, scalar, *, rounding_mode=None: _none(x) if rounding_mode else _inverse(_square(x)) * -scalar,
    "div_no_nan": lambda x, scalar: _none(x) if scalar == 0 else _one(x) * (1 / scalar),
    "threshold": lambda x, min, max: ttnn.gt(x, min),
    "clamp": lambda x, min=None, max=None: _fits(x, min, max),
    "clip": lambda x, min=None, max=None: _fits(x, min, max),
}
# name -> (d op(a, b) / da, d op(a, b) / db)
_PAIRS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "atan2": lambda a, b: (b / (_square(a) + _square(b)), -1.0 * a / (_square(a) + _square(b))),
    "hypot": lambda a, b: (a / ttnn.hypot(a, b), b / ttnn.hypot(a, b)),
    "ldexp": lambda a, b: (ttnn.exp2(b), a * ttnn.exp2(b) * _LN2),
    "logaddexp": lambda a, b: (ttnn.sigmoid(a - b), ttnn.sigmoid(b - a)),
    "logaddexp2": lambda a, b: (ttnn.sigmoid((a - b) * _LN2), ttnn.sigmoid((b - a) * _LN2)),
    "max": lambda a, b: (_sharing(a, b, ttnn.gt(a, b)), _sharing(a, b, ttnn.lt(a, b))),
    "min": lambda a, b: (_sharing(a, b, ttnn.lt(a, b)), _sharing(a, b, ttnn.gt(a, b))),
    "squared_difference": lambda a, b: ((a - b) * 2.0, (b - a) * 2.0),
    "xlogy": lambda a, b: (ttnn.where(ttnn.eqz(a), 0.0, ttnn.log(b)), a / b),
}


def _placed(gradients: Sequence[Any], memory_config: Any) -> list[Any]:
    return [one if one is None or memory_config is None else ttnn.to_memory_config(one, memory_config) for one in gradients]


def _wanted(gradients: Sequence[Any], required: Sequence[bool], targets: Sequence[Any], memory_config: Any) -> list[Any]:
    """Those that are required, in the tensors that the caller gave for them."""
    if len(required) != len(gradients) or not any(required):
        raise RuntimeError("are_required_outputs: at least one gradient is expected to be calculated")
    kept = _placed([one if flag else None for one, flag in zip(gradients, required, strict=True)], memory_config)
    return [one if one is None or target is None else ttnn.assign(one, target) for one, target in zip(kept, targets, strict=True)]


def _unary(slope: Callable[..., Any]) -> Callable[..., list[Any]]:
    def gradient(grad_tensor: Any, input_tensor: Any, *args: Any, memory_config: Any = None, input_grad: Any = None, **kwargs: Any) -> list[Any]:
        product = ttnn.multiply(grad_tensor, slope(input_tensor, *args, **kwargs), memory_config=memory_config)
        return [product if input_grad is None else ttnn.assign(product, input_grad)]

    return gradient


def _binary(slopes: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[..., list[Any]]:
    def gradient(grad_tensor: Any, input_tensor_a: Any, input_tensor_b: Any, *, memory_config: Any = None) -> list[Any]:
        return [ttnn.multiply(grad_tensor, slope, memory_config=memory_config) for slope in slopes(input_tensor_a, input_tensor_b)]

    return gradient


def _modulo(rounded: Callable[[Any], Any]) -> Callable[..., list[Any]]:
    def gradient(grad_tensor: Any, input_tensor_a: Any, *other: Any, memory_config: Any = None, **named: Any) -> list[Any]:
        (b,) = (*other, *named.values())
        quotient = [] if isinstance(b, int | float) else [grad_tensor * rounded(input_tensor_a / b) * -1.0]
        return _placed([ttnn.clone(grad_tensor), *quotient], memory_config)

    return gradient


def addalpha_bw(grad_tensor: Any, input_tensor_a: Any, input_tensor_b: Any, alpha: float = 1.0, *, are_required_outputs: Sequence[bool] = (True, True),
                memory_config: Any = None, input_a_grad: Any = None, input_b_grad: Any = None) -> list[Any]:  # fmt: skip
    return _wanted([ttnn.clone(grad_tensor), grad_tensor * alpha], are_required_outputs, (input_a_grad, input_b_grad), memory_config)


def subalpha_bw(grad_tensor: Any, input_tensor_a: Any, input_tensor_b: Any, alpha: float = 1.0, *, are_required_outputs: Sequence[bool] = (True, True),
                memory_config: Any = None, input_grad: Any = None, other_grad: Any = None) -> list[Any]:  # fmt: skip
    return _wanted([ttnn.clone(grad_tensor), grad_tensor * -alpha], are_required_outputs, (input_grad, other_grad), memory_config)


def rsub_bw(grad_tensor: Any, input_tensor_a: Any, input_tensor_b: Any, *, are_required_outputs: Sequence[bool] = (True, True),
            memory_config: Any = None, input_grad: Any = None, other_grad: Any = None) -> list[Any]:  # fmt: skip
    return _wanted([ttnn.neg(grad_tensor), ttnn.clone(grad_tensor)], are_required_outputs, (input_grad, other_grad), memory_config)


def assign_bw(grad_tensor: Any, *inputs: Any, are_required_outputs: Sequence[bool] = (True, True), memory_config: Any = None,
              input_a_grad: Any = None, input_b_grad: Any = None, **named: Any) -> list[Any]:  # fmt: skip
    count = len(inputs) + len(named)
    return _wanted([ttnn.clone(grad_tensor) for _ in range(count)], are_required_outputs[:count], (input_a_grad, input_b_grad)[:count], memory_config)


def concat_bw(grad_tensor: Any, input_tensor_a: Any, input_tensor_b: Any, dim: int = 0, *, are_required_outputs: Sequence[bool] = (True, True),
              memory_config: Any = None, input_a_grad: Any = None, input_b_grad: Any = None) -> list[Any]:  # fmt: skip
    axis = dim % len(grad_tensor.shape)
    cut = [slice(None)] * axis
    border = input_tensor_a.shape[axis]
    gradients = [grad_tensor[(*cut, slice(0, border))], grad_tensor[(*cut, slice(border, grad_tensor.shape[axis]))]]
    return _wanted(gradients, are_required_outputs, (input_a_grad, input_b_grad), memory_config)


def where_bw(grad_tensor: Any, input_tensor_a: Any, input_tensor_b: Any, input_tensor_c: Any, *, memory_config: Any = None,
             are_required_outputs: Sequence[bool] = (True, True), input_a_grad: Any = None, input_b_grad: Any = None) -> list[Any]:  # fmt: skip
    gradients = [ttnn.where(input_tensor_a, grad_tensor, 0.0), ttnn.where(input_tensor_a, 0.0, grad_tensor)]
    return _wanted(gradients, are_required_outputs, (input_a_grad, input_b_grad), memory_config)


def lerp_bw(grad_tensor: Any, input_tensor_a: Any, input_tensor_b: Any, *weight: Any, memory_config: Any = None, **named: Any) -> list[Any]:
    (w,) = (*weight, *named.values())
    return _placed([grad_tensor * (1.0 - w), grad_tensor * w], memory_config)


def addcmul_bw(grad_tensor: Any, input_tensor_a: Any, input_tensor_b: Any, input_tensor_c: Any, alpha: float, *, memory_config: Any = None) -> list[Any]:
    scaled = grad_tensor * alpha
    return _placed([ttnn.clone(grad_tensor), scaled * input_tensor_c, scaled * input_tensor_b], memory_config)


def addcdiv_bw(grad_tensor: Any, input_tensor_a: Any, input_tensor_b: Any, input_tensor_c: Any, alpha: float, *, memory_config: Any = None) -> list[Any]:
    scaled = grad_tensor * alpha
    divided = scaled / input_tensor_c
    return _placed([ttnn.clone(grad_tensor), divided, divided * input_tensor_b / input_tensor_c * -1.0], memory_config)


def bias_gelu_bw(grad_tensor: Any, *inputs: Any, variant: Any = None, approximate: str = "none", memory_config: Any = None, **named: Any) -> list[Any]:
    a, bias = (*inputs, *named.values())
    kind = variant or (ttnn.GeluVariant.Tanh if approximate == "tanh" else ttnn.GeluVariant.Accurate)
    gradient = ttnn.gelu_bw(grad_tensor, ttnn.add(a, bias), variant=kind, memory_config=memory_config)[0]
    return [gradient] if isinstance(bias, int | float) else [gradient, ttnn.clone(gradient)]


def fill_bw(grad_tensor: Any, input_tensor: Any, *, memory_config: Any = None, input_grad: Any = None) -> list[Any]:
    total = ttnn.multiply(_one(grad_tensor), ttnn.sum(grad_tensor, keepdim=True), memory_config=memory_config)
    return [total if input_grad is None else ttnn.assign(total, input_grad)]


def prod_bw(grad_tensor: Any, input_tensor: Any, *, dim: int | None = None, memory_config: Any = None) -> list[Any]:
    product = ttnn.prod(input_tensor) if dim is None else ttnn.prod(input_tensor, dim, keepdim=True)
    grad = grad_tensor if dim is None or len(grad_tensor.shape) == len(input_tensor.shape) else ttnn.unsqueeze(grad_tensor, dim)
    return _placed([ttnn.reciprocal(input_tensor) * (grad * product)], memory_config)


def repeat_bw(grad_tensor: Any, input_tensor: Any, shape: Any, *, memory_config: Any = None) -> list[Any]:
    gradient = grad_tensor
    for dim, copies in enumerate(shape):
        if copies > 1:
            size = input_tensor.shape[dim]
            cut = [slice(None)] * dim
            parts = [gradient[(*cut, slice(i * size, (i + 1) * size))] for i in range(copies)]
            gradient = parts[0]
            for part in parts[1:]:
                gradient = gradient + part
    return _placed([gradient], memory_config)


def _operation(name: str, function: Callable[..., list[Any]]) -> PythonOperation:
    return PythonOperation(f"ttnn.{name}", function, output_tensor_kwarg_names=("input_grad", "other_grad", "input_a_grad", "input_b_grad"))


OPERATIONS: dict[str, PythonOperation] = {
    **{f"{name}_bw": _operation(f"{name}_bw", _unary(slope)) for name, slope in _SLOPES.items()},
    **{f"{name}_bw": _operation(f"{name}_bw", _binary(slopes)) for name, slopes in _PAIRS.items()},
    "fmod_bw": _operation("fmod_bw", _modulo(lambda quotient: ttnn.trunc(quotient))),
    "remainder_bw": _operation("remainder_bw", _modulo(lambda quotient: ttnn.floor(quotient))),
    **{name: _operation(name, made) for name, made in list(globals().items()) if name.endswith("_bw") and inspect.isfunction(made)},
}

globals().update(OPERATIONS)
