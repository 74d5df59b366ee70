"""References of element-wise TTIR ops beside torch's functions, special values included: constants are folded by them, and `.mlir` files checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from alchemist.ops import TTIR_OPS

FLOATS = [0.0, -0.0, 0.25, -0.25, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 3.0, -3.0, 6.0, 7.25, -7.25, 40.0, -40.0, math.inf, -math.inf, math.nan]
INTEGERS = [0, 1, -1, 2, -2, 3, -3, 7, -7, 31, 100, -100, 2**31 - 1, -(2**31)]
SHIFTS = [0, 1, 5, 31]
F = torch.nn.functional

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{
        name: getattr(torch, name)
        for name in (
            "abs", "acos", "asin", "asinh", "atan", "ceil", "cos", "erf", "erfc", "exp", "exp2", "expm1", "floor", "frac", "isfinite", "log", "log1p",
            "logical_not", "neg", "reciprocal", "relu", "rsqrt", "sigmoid", "sign", "signbit", "sin", "sqrt", "square", "tan", "tanh", "trunc",
        )
    },
    **{name: getattr(F, name) for name in ("gelu", "hardsigmoid", "mish", "relu6", "selu", "silu", "softsign")},
    "cbrt": lambda x: x.sign() * x.abs().pow(1 / 3),
}  # fmt: skip
NOT_A_NUMBER = {"gelu", "mish", "silu", "softsign", "relu", "relu6", "hardsigmoid", "selu", "sign"}
"""Of infinities and NaN the chip's formula says something else than torch's, so they are left out."""
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    **{
        name: getattr(torch, name)
        for name in (
            "add", "atan2", "div", "eq", "ge", "gt", "le", "logical_and", "logical_or", "logical_xor", "lt", "maximum", "minimum", "multiply", "ne", "pow",
            "subtract",
        )
    },
    "remainder": torch.remainder,
}  # fmt: skip
OF_INTEGERS: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "eq": torch.eq,
    "ge": torch.ge,
    "gt": torch.gt,
    "le": torch.le,
    "lt": torch.lt,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "ne": torch.ne,
}


def reference(name: str, *inputs: np.ndarray, **attributes: Any) -> np.ndarray:
    function = TTIR_OPS[f"ttir.{name}"].reference
    assert function is not None
    (out,) = function(list(inputs), attributes, [np.broadcast_shapes(*(value.shape for value in inputs))])
    return np.asarray(out)


def assert_same(found: np.ndarray, expected: torch.Tensor) -> None:
    wanted = expected.numpy()
    if wanted.dtype.kind in "bi":
        assert np.array_equal(found.astype(np.int64), wanted.astype(np.int64)), (found, wanted)
    else:
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", UNARY)
def test_of_one_value(name: str) -> None:
    values = np.array([x for x in FLOATS if math.isfinite(x) or name not in NOT_A_NUMBER], np.float32)
    with np.errstate(all="ignore"):
        assert_same(reference(name, values), UNARY[name](torch.from_numpy(values)))


@pytest.mark.parametrize("name", BINARY)
def test_of_two_values(name: str) -> None:
    finite = [x for x in FLOATS if math.isfinite(x)] if name in ("remainder", "pow") else FLOATS
    a, b = np.array(finite, np.float32)[:, None], np.array([x for x in finite if x or name != "remainder"], np.float32)[None]
    with np.errstate(all="ignore"):
        assert_same(reference(name, a, b), BINARY[name](torch.from_numpy(a), torch.from_numpy(b)))


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_of_integers(name: str) -> None:
    a, b = (np.array(INTEGERS[:-2] if name == "add" else INTEGERS, np.int32).reshape(shape) for shape in ((-1, 1), (1, -1)))
    assert_same(reference(name, a, b), OF_INTEGERS[name](torch.from_numpy(a), torch.from_numpy(b)))


@pytest.mark.parametrize("name", ["bitwise_not", "logical_left_shift", "right_shift", "logical_right_shift"])
def test_of_bits(name: str) -> None:
    values = np.array(INTEGERS, np.int32)
    if name == "bitwise_not":
        assert np.array_equal(reference(name, values), ~values)
        return
    for shift in SHIFTS:
        found = reference(name, values, np.full_like(values, shift)).astype(np.int64) & 0xFFFFFFFF
        bits = values.astype(np.int64) & 0xFFFFFFFF
        expected = {"logical_left_shift": bits << shift, "right_shift": values.astype(np.int64) >> shift, "logical_right_shift": bits >> shift}[name]
        assert np.array_equal(found, expected & 0xFFFFFFFF), (shift, found, expected)


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("clamp_scalar", {"min": -1.0, "max": 2.0}, lambda x: x.clamp(-1.0, 2.0)),
        ("leaky_relu", {"parameter": 0.125}, lambda x: F.leaky_relu(x, 0.125)),
        ("gelu", {"alchemist.variant": "Tanh"}, lambda x: F.gelu(x, approximate="tanh")),
        ("selu", {"scale": 1.25, "alpha": 0.5}, lambda x: 1.25 * F.elu(x, 0.5)),
        ("dropout", {"prob": 0.5}, lambda x: x),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_with_attributes(name: str, attributes: dict[str, Any], expected: Callable[[torch.Tensor], torch.Tensor]) -> None:
    values = np.array([x for x in FLOATS if math.isfinite(x)], np.float32)
    assert_same(reference(name, values, **attributes), expected(torch.from_numpy(values)))


def test_of_three_values() -> None:
    x, low, high = (np.array(values, np.float32) for values in ([-3, -1, 0, 1, 3], [-1, -2, 1, 0, 4], [1, 2, 2, 0.5, 5]))
    assert_same(reference("clamp_tensor", x, low, high), torch.from_numpy(x).clamp(torch.from_numpy(low), torch.from_numpy(high)))
    chosen = np.array([0, 1, 2, 0, -1], np.float32)
    assert_same(reference("where", chosen, low, high), torch.where(torch.from_numpy(chosen) != 0, torch.from_numpy(low), torch.from_numpy(high)))
