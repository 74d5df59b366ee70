"""Small flax models that the zoo does not have: the front end must capture them as their authors wrote them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen, nnx

from models.plain_jax import Block


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


class VisionTransformer(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.patch = nnx.Conv(3, 32, (4, 4), strides=(4, 4), padding="VALID", rngs=rngs)
        self.token = nnx.Param(jnp.zeros((1, 1, 32)))
        self.positions = nnx.Param(jnp.full((1, 17, 32), 0.1))
        self.block = Block(32, 4, rngs)
        self.norm = nnx.LayerNorm(32, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, deterministic=True, rngs=rngs)
        self.head = nnx.Linear(32, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = self.patch(x)
        x = x.reshape(x.shape[0], -1, 32)
        x = jnp.concatenate([jnp.tile(self.token[...], (x.shape[0], 1, 1)), x], 1) + self.positions
        return self.head(self.norm(self.block(self.dropout(x), None))[:, 0])


class AutoEncoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.encode = nnx.Conv(1, 8, (3, 3), strides=2, rngs=rngs)
        self.norm = nnx.GroupNorm(8, num_groups=2, rngs=rngs)
        self.decode = nnx.ConvTranspose(8, 1, (3, 3), strides=2, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return nnx.sigmoid(self.decode(nnx.silu(self.norm(self.encode(x)))))


def masked_attention(x: jax.Array, keep: jax.Array) -> jax.Array:
    """Attention over x [batch, length, heads, size] to the positions that `keep` [batch, length] names."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", x, x) / 4.0
    weights = jax.nn.softmax(jnp.where(keep[:, None, None, :], scores, -1e9), -1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, x)


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
