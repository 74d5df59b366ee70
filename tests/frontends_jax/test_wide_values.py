"""int64 of `jax_enable_x64`: refused beyond 32 bits, except where results depend on the low bits alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from alchemist.errors import FrontendError
from alchemist.pipeline import capture


def test_integers_beyond_32_bits() -> None:
    with jax.enable_x64(True):
        a = jnp.array([[60000, 90000], [1, -70000]])
        assert capture(lambda a: (a * a) & 1023, (a,), {}, "jax").outputs
        with pytest.raises(FrontendError, match="integers beyond 32 bits"):
            capture(lambda a: (a * a).sum(1).astype(jnp.float32), (a,), {}, "jax")
