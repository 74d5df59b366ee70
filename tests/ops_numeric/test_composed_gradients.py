"""`ttnn.<op>_bw` of ops whose gradient is composed of others: equal to PyTorch's autograd in float32."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
import ttnn
from ttnn_extras.backward import OPERATIONS

ROWS, COLUMNS = 32, 64
Function = Callable[..., torch.Tensor]


def _selected(low: float, high: float) -> torch.Tensor:
    """Values within the op's domain, none at a kink."""
    torch.manual_seed(0)
    return torch.rand(ROWS, COLUMNS) * (high - low) + low


WIDE = (-4.0, 4.0)
UNARY: dict[str, tuple[Function, tuple[float, float]]] = {
    "acos": (torch.acos, (-0.9, 0.9)), "acosh": (torch.acosh, (1.1, 4)), "asin": (torch.asin, (-0.9, 0.9)), "asinh": (torch.asinh, WIDE),
    "atan": (torch.atan, WIDE), "atanh": (torch.atanh, (-0.9, 0.9)), "ceil": (torch.ceil, WIDE), "floor": (torch.floor, WIDE),
    "round": (torch.round, WIDE), "trunc": (torch.trunc, WIDE), "sign": (torch.sign, WIDE), "frac": (torch.frac, WIDE), "cosh": (torch.cosh, WIDE),
    "sinh": (torch.sinh, WIDE), "deg2rad": (torch.deg2rad, WIDE), "rad2deg": (torch.rad2deg, WIDE), "digamma": (torch.digamma, (1, 8)),
    "lgamma": (torch.lgamma, (1, 8)), "multigammaln": (lambda x: torch.mvlgamma(x, 4), (2, 8)), "erf": (torch.erf, WIDE), "erfc": (torch.erfc, WIDE),
    "erfinv": (torch.erfinv, (-0.8, 0.8)), "exp2": (torch.exp2, WIDE), "expm1": (torch.expm1, WIDE),
    "hardsigmoid": (torch.nn.functional.hardsigmoid, WIDE), "hardswish": (torch.nn.functional.hardswish, WIDE), "i0": (torch.i0, WIDE),
    "log10": (torch.log10, (0.2, 8)), "log1p": (torch.log1p, (-0.8, 8)), "log2": (torch.log2, (0.2, 8)),
    "log_sigmoid": (torch.nn.functional.logsigmoid, WIDE), "logit": (torch.logit, (0.1, 0.9)), "reciprocal": (torch.reciprocal, (0.5, 4)),
    "relu6": (torch.nn.functional.relu6, (-4, 9)), "selu": (torch.selu, WIDE), "softsign": (torch.nn.functional.softsign, WIDE),
    "tan": (torch.tan, (-1, 1)), "tanhshrink": (torch.nn.functional.tanhshrink, WIDE),
}  # fmt: skip
WITH: dict[str, tuple[Function, tuple[float, float], tuple[Any, ...], dict[str, Any]]] = {
    "celu": (lambda x: torch.celu(x, 1.5), WIDE, (), {"alpha": 1.5}), "elu": (lambda x: torch.nn.functional.elu(x, 0.7), WIDE, (), {"alpha": 0.7}),
    "hardshrink": (torch.nn.functional.hardshrink, WIDE, (), {}), "softshrink": (torch.nn.functional.softshrink, WIDE, (), {}),
    "hardtanh": (torch.nn.functional.hardtanh, WIDE, (), {}), "leaky_relu": (lambda x: torch.nn.functional.leaky_relu(x, 0.2), WIDE, (), {"negative_slope": 0.2}),
    "logiteps": (lambda x: torch.logit(x, 0.2), (0.05, 0.95), (), {"eps": 0.2}), "softplus": (lambda x: torch.nn.functional.softplus(x, 2.0, 3.0), WIDE, (), {"beta": 2.0, "threshold": 3.0}),
    "polygamma": (lambda x: torch.polygamma(1, x), (1, 8), (1,), {}), "pow": (lambda x: x**2.5, (0.2, 4), (2.5,), {}), "rpow": (lambda x: 3.0**x, WIDE, (3.0,), {}),
    "rdiv": (lambda x: 3.0 / x, (0.5, 4), (3.0,), {}), "div_no_nan": (lambda x: x / 3.0, WIDE, (3.0,), {}), "clamp": (lambda x: x.clamp(-1, 2), WIDE, (-1.0, 2.0), {}),
    "clip": (lambda x: x.clamp(max=2), WIDE, (), {"max": 2.0}), "threshold": (lambda x: torch.nn.functional.threshold(x, 1.0, 9.0), WIDE, (1.0, 9.0), {}),
    "fmod": (lambda x: torch.fmod(x, 1.5), WIDE, (1.5,), {}), "prod": (lambda x: x.prod(1, keepdim=True), (0.9, 1.1), (), {"dim": 1}),
    "repeat": (lambda x: x.repeat(2, 1), WIDE, ([2, 1],), {}),
}  # fmt: skip
BINARY: dict[str, tuple[Function, dict[str, Any]]] = {
    "atan2": (torch.atan2, {}), "hypot": (torch.hypot, {}), "ldexp": (torch.ldexp, {}), "logaddexp": (torch.logaddexp, {}), "logaddexp2": (torch.logaddexp2, {}),
    "max": (torch.maximum, {}), "min": (torch.minimum, {}), "squared_difference": (lambda a, b: (a - b) ** 2, {}), "xlogy": (torch.xlogy, {}),
    "fmod": (torch.fmod, {}), "remainder": (torch.remainder, {}), "addalpha": (lambda a, b: a + 2 * b, {"alpha": 2.0}),
    "subalpha": (lambda a, b: a - 2 * b, {"alpha": 2.0}), "rsub": (lambda a, b: b - a, {}), "concat": (lambda a, b: torch.cat([a, b], 1), {"dim": 1}),
    "bias_gelu": (lambda a, b: torch.nn.functional.gelu(a + b), {}), "assign": (lambda a, b: a + b, {}),
}  # fmt: skip
TERNARY: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "addcmul": (lambda a, b, c: a + 2 * b * c, (2.0,)), "addcdiv": (lambda a, b, c: a + 2 * b / c, (2.0,)), "lerp": (torch.lerp, ()),
}  # fmt: skip


def _compare(device: Any, name: str, function: Function, inputs: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any], checked: int) -> None:
    leaves = [one.clone().requires_grad_() for one in inputs]
    result = function(*leaves)
    torch.manual_seed(1)
    grad = torch.randn(result.shape)
    expected = torch.autograd.grad(result, leaves, grad, allow_unused=True, materialize_grads=True)
    put = lambda x: ttnn.from_torch(x.float(), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)  # noqa: E731
    made = getattr(ttnn, f"{name}_bw")(put(grad), *(put(one) for one in inputs), *args, **kwargs)
    assert len(made) >= checked
    for got, want in list(zip(made, expected, strict=False))[:checked]:
        torch.testing.assert_close(ttnn.to_torch(got), want, rtol=2e-2, atol=2e-3, msg=lambda text: f"{name}: {text}")


@pytest.mark.parametrize("name", UNARY)
def test_unary(device: Any, name: str) -> None:
    function, (low, high) = UNARY[name]
    _compare(device, name, function, [_selected(low, high)], (), {}, 1)


@pytest.mark.parametrize("name", WITH)
def test_with_parameters(device: Any, name: str) -> None:
    function, (low, high), args, kwargs = WITH[name]
    _compare(device, name, function, [_selected(low, high)], args, kwargs, 1)


@pytest.mark.parametrize("name", BINARY)
def test_binary(device: Any, name: str) -> None:
    function, kwargs = BINARY[name]
    _compare(device, name, function, [_selected(0.5, 4.0), _selected(0.7, 3.0).flip(0)], (), kwargs, 2)


@pytest.mark.parametrize("name", TERNARY)
def test_ternary(device: Any, name: str) -> None:
    function, args = TERNARY[name]
    a, b, c = _selected(-2.0, 2.0), _selected(0.5, 3.0).flip(0), _selected(0.6, 2.0).flip(1)
    _compare(device, name, function, [a, b, c], args, {}, 3 if name != "lerp" else 2)


def test_which_gradients_are_wanted(device: Any) -> None:
    x = ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    given = ttnn.zeros_like(x)
    first, second = ttnn.addalpha_bw(x, x, x, 3.0, are_required_outputs=[False, True], input_b_grad=given)
    assert first is None
    assert ttnn.to_torch(given).flatten()[0].item() == 3.0 == ttnn.to_torch(second).flatten()[0].item()
    chosen = ttnn.where_bw(x, ttnn.zeros_like(x), x, x)
    assert [ttnn.to_torch(one).sum().item() for one in chosen] == [0.0, 1024.0]
    with pytest.raises(RuntimeError, match="at least one gradient"):
        ttnn.rsub_bw(x, x, x, are_required_outputs=[False, False])


def test_all_are_compared() -> None:
    names = {f"{name}_bw" for table in (UNARY, WITH, BINARY, TERNARY) for name in table}
    assert set(OPERATIONS) - names == {"fill_bw", "fill_zero_bw", "where_bw"}
    assert all(operation.is_cpp_operation is False and inspect.isfunction(operation.function) for operation in OPERATIONS.values())
