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
        self.attention = nnx.MultiHeadAttention(num_heads=heads, in_features=width, decode=False, deterministic=True, rngs=rngs)
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


class ResidualBlock(nnx.Module):
    def __init__(self, width_in: int, width: int, stride: int, rngs: nnx.Rngs) -> None:
        self.conv1 = nnx.Conv(width_in, width, (3, 3), strides=stride, use_bias=False, rngs=rngs)
        self.norm1 = nnx.BatchNorm(width, use_running_average=True, rngs=rngs)
        self.conv2 = nnx.Conv(width, width, (3, 3), use_bias=False, rngs=rngs)
        self.norm2 = nnx.BatchNorm(width, use_running_average=True, rngs=rngs)
        self.shortcut = nnx.Conv(width_in, width, (1, 1), strides=stride, use_bias=False, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        y = nnx.relu(self.norm1(self.conv1(x)))
        return nnx.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.stem = nnx.Conv(3, 8, (7, 7), strides=2, rngs=rngs)
        self.blocks = nnx.List([ResidualBlock(8, 8, 1, rngs), ResidualBlock(8, 16, 2, rngs)])
        self.head = nnx.Linear(16, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = nnx.max_pool(nnx.relu(self.stem(x)), (3, 3), strides=(2, 2), padding="SAME")
        for block in self.blocks:
            x = block(x)
        return self.head(jnp.mean(x, axis=(1, 2)))


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


class Recurrent(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.rnn = nnx.RNN(nnx.LSTMCell(4, 8, rngs=rngs))
        self.out = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.out(self.rnn(x)[:, -1])


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
