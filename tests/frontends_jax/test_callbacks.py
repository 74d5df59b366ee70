"""Calls back into Python: those that only print are left out, others are refused."""

from __future__ import annotations

import cProfile

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alchemist.errors import UnsupportedOpError
from alchemist.frontends.jax import capture

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_prints_are_left_out() -> None:
    def printing(x: jax.Array) -> jax.Array:
        jax.debug.print("sum {}", x.sum())
        return jnp.tanh(x)

    with pytest.warns(UserWarning, match="jax.debug calls do not run on the device"):
        result = capture(printing, (X,))
    assert result.golden is not None
    np.testing.assert_allclose(result.golden()[0], np.tanh(X), rtol=1e-6)
    assert "custom_call" not in str(result.module)


def test_results_of_python_are_refused() -> None:
    def asking(x: jax.Array) -> jax.Array:
        return jax.pure_callback(np.tanh, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(UnsupportedOpError, match="a call back into Python"):
        capture(asking, (X,))


def test_a_function_is_traced_under_a_profiler() -> None:
    """Its calls are watched by sys.setprofile, which does not take a cProfile back; what runs after them is in the profile again."""
    with cProfile.Profile() as profile:
        capture(lambda x: jnp.tanh(x) + 1, (X,))
        abs(1)
    assert any("builtins.abs" in str(entry.code) for entry in profile.getstats())
