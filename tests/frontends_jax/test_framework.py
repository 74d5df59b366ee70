"""Whose function it is, where its arguments are numpy arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from alchemist.pipeline import detect_framework

NUMBERS = np.ones((2, 3), np.float32)


def sine(x: Any) -> Any:
    return jnp.sin(x)


def calls_sine(x: Any) -> Any:
    def inner(y: Any) -> Any:
        return jnp.cos(y)

    return inner(x)


def sine_of_torch(x: Any) -> Any:
    return torch.sin(torch.from_numpy(x))


class Callable:
    """An object that is called."""

    def __call__(self, x: Any) -> Any:
        return jnp.sin(x)

    def method(self, x: Any) -> Any:
        return jnp.cos(x)


def test_functions_on_numpy_arrays() -> None:
    functions = (
        sine,
        calls_sine,
        jax.jit(sine),
        partial(jax.jit(sine)),
        jax.jit(lambda x: x + 1),
        jax.vmap(sine),
        jax.grad(sine),
        jnp.sin,
        Callable(),
        Callable().method,
    )
    assert [detect_framework(function, (NUMBERS,), {}) for function in functions] == ["jax"] * len(functions)
    assert detect_framework(sine_of_torch, (NUMBERS,), {}) == detect_framework(torch.compile(sine_of_torch), (NUMBERS,), {}) == "torch"
