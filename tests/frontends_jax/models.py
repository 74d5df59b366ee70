"""Small flax models: the architectures that the front end must capture as their authors wrote them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen, nnx


class DigitsCNN(nnx.Module):
    """8x8 digits, NHWC -> class probabilities."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.conv1 = nnx.Conv(1, 16, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(16, use_running_average=True, rngs=rngs)
        self.conv2 = nnx.Conv(16, 32, (3, 3), rngs=rngs)
        self.linear1 = nnx.Linear(2 * 2 * 32, 32, rngs=rngs)
        self.linear2 = nnx.Linear(32, 10, rngs=rngs)

    def __call__(self, image: jax.Array) -> jax.Array:
        x = nnx.relu(self.norm(self.conv1(image)))
        x = nnx.max_pool(x, (2, 2), strides=(2, 2))
        x = nnx.avg_pool(nnx.relu(self.conv2(x)), (2, 2), strides=(2, 2))
        x = x.reshape(x.shape[0], -1)
        x = nnx.relu(self.linear1(x))
        return nnx.softmax(self.linear2(x))


class MLPBlock(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        self.fc1 = nnx.Linear(width, 4 * width, rngs=rngs)
        self.fc2 = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.fc2(nnx.gelu(self.fc1(x)))


class Block(nnx.Module):
    """Pre-norm transformer block."""

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs) -> None:
        self.ln1 = nnx.LayerNorm(width, rngs=rngs)
        self.ln2 = nnx.LayerNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(
            num_heads=heads, in_features=width, decode=False, deterministic=True, rngs=rngs
        )
        self.mlp = MLPBlock(width, rngs)

    def __call__(self, x: jax.Array, mask: jax.Array | None) -> jax.Array:
        x = x + self.attention(self.ln1(x), mask=mask)
        return x + self.mlp(self.ln2(x))


class Transformer(nnx.Module):
    """Token ids [batch, length] -> {"logits": [batch, length, vocabulary]}."""

    def __init__(self, vocabulary: int, width: int, heads: int, depth: int, rngs: nnx.Rngs) -> None:
        self.embed = nnx.Embed(vocabulary, width, rngs=rngs)
        self.positions = nnx.Param(jnp.linspace(-1, 1, 64 * width).reshape(64, width))
        self.blocks = nnx.List([Block(width, heads, rngs) for _ in range(depth)])
        self.norm = nnx.RMSNorm(width, rngs=rngs)
        self.head = nnx.Linear(width, vocabulary, use_bias=False, rngs=rngs)

    def __call__(self, ids: jax.Array) -> dict[str, jax.Array]:
        x = self.embed(ids) + self.positions[: ids.shape[1]]
        mask = nnx.make_causal_mask(ids)
        for block in self.blocks:
            x = block(x, mask)
        return {"logits": self.head(self.norm(x))}


class LinenMLP(linen.Module):
    @linen.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = linen.relu(linen.Dense(16)(x))
        x = linen.LayerNorm(name="norm")(x)
        return linen.Dense(4)(x)


def forward(graphdef: Any, state: Any, x: jax.Array) -> Any:
    """The usual way to call an nnx model from a function."""
    return nnx.merge(graphdef, state)(x)


def mlp(params: list[tuple[jax.Array, jax.Array]], x: jax.Array) -> jax.Array:
    """A plain function over a list of (weight, bias)."""
    for weight, bias in params[:-1]:
        x = jnp.tanh(x @ weight + bias)
    weight, bias = params[-1]
    return x @ weight + bias
