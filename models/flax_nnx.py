"""JAX: nnx modules as people write them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax

from models.flax_build import Built, ids, normal


class DecodeAttention(nnx.Module):
    def __init__(self, width: int, heads: int, rngs: nnx.Rngs) -> None:
        self.qkv = nnx.Linear(width, 3 * width, use_bias=False, rngs=rngs)
        self.out = nnx.Linear(width, width, use_bias=False, rngs=rngs)
        self.heads = heads

    def __call__(self, x: jax.Array, cache: dict[str, jax.Array], position: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
        batch, _, width = x.shape
        q, k, v = jnp.split(self.qkv(x).reshape(batch, 1, 3 * self.heads, -1), 3, axis=2)
        keys = lax.dynamic_update_slice_in_dim(cache["key"], k, position, axis=1)
        values = lax.dynamic_update_slice_in_dim(cache["value"], v, position, axis=1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys) / jnp.sqrt(q.shape[-1])
        visible = jnp.arange(keys.shape[1]) <= position
        weights = nnx.softmax(jnp.where(visible[None, None, None], scores, -1e9))
        out = jnp.einsum("bhqk,bkhd->bqhd", weights, values).reshape(batch, 1, width)
        return self.out(out), {"key": keys, "value": values}


class CachedDecoder(nnx.Module):
    """One token with a static key-value cache: the caches come back as outputs."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.embed = nnx.Embed(100, 32, rngs=rngs)
        self.layers = nnx.List([DecodeAttention(32, 2, rngs) for _ in range(2)])
        self.norm = nnx.RMSNorm(32, rngs=rngs)

    def __call__(self, token: jax.Array, caches: list[dict[str, jax.Array]], position: jax.Array) -> tuple[jax.Array, list[dict[str, jax.Array]]]:
        x = self.embed(token)
        new = []
        for layer, cache in zip(self.layers, caches, strict=True):
            y, updated = layer(self.norm(x), cache, position)
            x = x + y
            new.append(updated)
        return self.embed.attend(self.norm(x)), new


def cached_decoder() -> Built:
    model = CachedDecoder(nnx.Rngs(0))
    caches = [{name: normal(2, 16, 2, 16, seed=i) for name in ("key", "value")} for i in range(2)]
    return model, (ids(2, 1), caches, jnp.int32(5)), {}


class SwiGLU(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        self.gate = nnx.Linear(width, 2 * width, use_bias=False, rngs=rngs)
        self.up = nnx.Linear(width, 2 * width, use_bias=False, rngs=rngs)
        self.down = nnx.Linear(2 * width, width, use_bias=False, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.down(nnx.silu(self.gate(x)) * self.up(x))


class GemmaBlock(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        self.pre_attention_norm = nnx.RMSNorm(width, rngs=rngs)
        self.q = nnx.LinearGeneral(width, (4, 16), use_bias=False, rngs=rngs)
        self.kv = nnx.LinearGeneral(width, (2, 2, 16), use_bias=False, rngs=rngs)
        self.o = nnx.LinearGeneral((4, 16), width, axis=(-2, -1), use_bias=False, rngs=rngs)
        self.pre_ffw_norm = nnx.RMSNorm(width, rngs=rngs)
        self.mlp = SwiGLU(width, rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        h = self.pre_attention_norm(x)
        kv = self.kv(h)
        out = jax.nn.dot_product_attention(self.q(h), kv[:, :, 0], kv[:, :, 1], is_causal=True)
        x = x + self.o(out)
        return x + self.mlp(self.pre_ffw_norm(x))


class Gemma(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.embed = nnx.Embed(100, 64, rngs=rngs)
        self.blocks = nnx.List([GemmaBlock(64, rngs) for _ in range(3)])
        self.norm = nnx.RMSNorm(64, rngs=rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = self.embed(tokens) * jnp.sqrt(64.0)
        for block in self.blocks:
            x = block(x)
        logits = self.embed.attend(self.norm(x))
        return 30.0 * jnp.tanh(logits / 30.0)
