"""JAX: decoders whose layers are not written as a list: scanned over stacked weights (nnx), numbered by flax in one compact call (linen)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import linen, nnx


class Attention(nnx.Module):
    def __init__(self, dim: int, heads: int, rngs: nnx.Rngs) -> None:
        split = (heads, dim // heads)
        self.q, self.k, self.v = (nnx.LinearGeneral(dim, split, rngs=rngs) for _ in range(3))
        self.o = nnx.LinearGeneral(split, dim, axis=(-2, -1), rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        length = x.shape[1]
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        return self.o(jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v))


class Block(nnx.Module):
    def __init__(self, dim: int, heads: int, rngs: nnx.Rngs) -> None:
        self.norm1, self.norm2 = nnx.RMSNorm(dim, rngs=rngs), nnx.RMSNorm(dim, rngs=rngs)
        self.attention = Attention(dim, heads, rngs)
        self.up, self.down = nnx.Linear(dim, 2 * dim, rngs=rngs), nnx.Linear(2 * dim, dim, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + self.attention(self.norm1(x))
        return x + self.down(jnp.square(jax.nn.relu(self.up(self.norm2(x)))))


class ScannedDecoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, dim: int = 64, heads: int = 4, layers: int = 4, vocabulary: int = 100) -> None:
        self.embed = nnx.Embed(vocabulary, dim, rngs=rngs)

        @nnx.split_rngs(splits=layers)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def stacked(rngs: nnx.Rngs) -> Block:
            return Block(dim, heads, rngs)

        self.blocks = stacked(rngs)
        self.norm = nnx.RMSNorm(dim, rngs=rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        def layer(x: jax.Array, block: Block) -> jax.Array:
            return block(x)

        return self.embed.attend(self.norm(layer(self.embed(tokens), self.blocks)))


class CompactDecoder(linen.Module):
    @linen.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = linen.Embed(100, 64)(tokens) + self.param("positions", linen.initializers.normal(0.02), (tokens.shape[1], 64))
        mask = linen.make_causal_mask(tokens)
        for index in range(3):
            y = linen.LayerNorm()(x)
            x = x + linen.MultiHeadDotProductAttention(num_heads=4, name=f"attention_{index}")(y, y, mask=mask)
            gate, value = jnp.split(linen.Dense(128)(linen.LayerNorm()(x)), 2, -1)
            x = x + linen.Dense(64)(jax.nn.swish(gate) * value)
        return linen.Dense(100)(linen.LayerNorm()(x))
