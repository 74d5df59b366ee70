"""How a flax module of the zoo becomes (callable, arguments, keyword arguments)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]


def normal(*shape: int, dtype: Any = jnp.float32, seed: int = 0) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), shape, dtype)


def ids(*shape: int, below: int = 100, seed: int = 0) -> jax.Array:
    return jax.random.randint(jax.random.key(seed), shape, 0, below)


def linen(make: Callable[[], nn.Module], *inputs: Callable[[], jax.Array], bf16: bool = False, **kwargs: Any) -> Callable[[], Built]:
    def build() -> Built:
        model, values = make(), [value() for value in inputs]
        variables = model.init(jax.random.key(0), *values, **kwargs)
        if bf16:
            variables = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), variables)
            values = [v.astype(jnp.bfloat16) if jnp.issubdtype(v.dtype, jnp.floating) else v for v in values]
        return model.apply, (variables, *values), kwargs

    return build


def nnx_model(make: Callable[[nnx.Rngs], nnx.Module], x: Callable[[], jax.Array]) -> Callable[[], Built]:
    return lambda: (make(nnx.Rngs(0)), (x(),), {})
