"""JAX: flax modules of text as people write them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax


class RMSNorm(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        weight = self.param("weight", nn.initializers.ones, (x.shape[-1],))
        variance = jnp.mean(jnp.square(x.astype(jnp.float32)), axis=-1, keepdims=True)
        return weight * (x * lax.rsqrt(variance + 1e-6)).astype(x.dtype)


def rotary_tables(length: int, dim: int) -> tuple[jax.Array, jax.Array]:
    frequencies = 1.0 / (10000 ** (jnp.arange(0, dim, 2) / dim))
    angles = jnp.outer(jnp.arange(length), frequencies)
    angles = jnp.concatenate([angles, angles], axis=-1)
    return jnp.cos(angles), jnp.sin(angles)


def rotate_half(x: jax.Array) -> jax.Array:
    left, right = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([-right, left], axis=-1)


def apply_rotary(x: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
    return x * cos[None, :, None, :] + rotate_half(x) * sin[None, :, None, :]


class LlamaAttention(nn.Module):
    heads: int
    kv_heads: int

    @nn.compact
    def __call__(self, x: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
        batch, length, width = x.shape
        dim = width // self.heads
        q = nn.Dense(self.heads * dim, use_bias=False, name="q_proj")(x).reshape(batch, length, self.heads, dim)
        k = nn.Dense(self.kv_heads * dim, use_bias=False, name="k_proj")(x).reshape(batch, length, self.kv_heads, dim)
        v = nn.Dense(self.kv_heads * dim, use_bias=False, name="v_proj")(x).reshape(batch, length, self.kv_heads, dim)
        q, k = apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)
        k = jnp.repeat(k, self.heads // self.kv_heads, axis=2)
        v = jnp.repeat(v, self.heads // self.kv_heads, axis=2)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * dim**-0.5
        causal = jnp.tril(jnp.ones((length, length), dtype=bool))
        scores = jnp.where(causal[None, None], scores, jnp.finfo(scores.dtype).min)
        weights = nn.softmax(scores.astype(jnp.float32), axis=-1).astype(x.dtype)
        out = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width)
        return nn.Dense(width, use_bias=False, name="o_proj")(out)


class LlamaMLP(nn.Module):
    hidden: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        gate = nn.silu(nn.Dense(self.hidden, use_bias=False, name="gate_proj")(x))
        up = nn.Dense(self.hidden, use_bias=False, name="up_proj")(x)
        return nn.Dense(x.shape[-1], use_bias=False, name="down_proj")(gate * up)


class LlamaLayer(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
        x = x + LlamaAttention(4, 2, name="self_attn")(RMSNorm(name="input_layernorm")(x), cos, sin)
        return x + LlamaMLP(128, name="mlp")(RMSNorm(name="post_attention_layernorm")(x))


class Llama(nn.Module):
    layers: int = 3

    @nn.compact
    def __call__(self, input_ids: jax.Array) -> jax.Array:
        embed = nn.Embed(100, 64, name="embed_tokens")
        x = embed(input_ids)
        cos, sin = rotary_tables(input_ids.shape[1], 16)
        for i in range(self.layers):
            x = LlamaLayer(name=f"layers_{i}")(x, cos, sin)
        return embed.attend(RMSNorm(name="norm")(x))


class RelativeBias(nn.Module):
    heads: int
    buckets: int = 32

    @nn.compact
    def __call__(self, length: int) -> jax.Array:
        context = jnp.arange(length)[:, None]
        memory = jnp.arange(length)[None, :]
        distance = memory - context
        half = self.buckets // 2
        bucket = (distance > 0).astype(jnp.int32) * half
        distance = jnp.abs(distance)
        exact = half // 2
        large = exact + (jnp.log(distance / exact + 1e-6) / jnp.log(128 / exact) * (half - exact)).astype(jnp.int32)
        bucket = bucket + jnp.where(distance < exact, distance, jnp.minimum(large, half - 1))
        table = self.param("embedding", nn.initializers.normal(1.0), (self.buckets, self.heads))
        return table[bucket].transpose(2, 0, 1)[None]


class T5Block(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x: jax.Array, bias: jax.Array) -> jax.Array:
        batch, length, width = x.shape
        h = RMSNorm(name="attention_norm")(x)
        q, k, v = (nn.Dense(width, use_bias=False, name=name)(h).reshape(batch, length, self.heads, -1) for name in ("query", "key", "value"))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) + bias
        out = jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v).reshape(batch, length, width)
        x = x + nn.Dense(width, use_bias=False, name="output")(out)
        h = RMSNorm(name="mlp_norm")(x)
        h = nn.gelu(nn.Dense(2 * width, use_bias=False, name="wi_0")(h)) * nn.Dense(2 * width, use_bias=False, name="wi_1")(h)
        return x + nn.Dense(width, use_bias=False, name="wo")(h)


class T5Encoder(nn.Module):
    @nn.compact
    def __call__(self, input_ids: jax.Array) -> jax.Array:
        x = nn.Embed(100, 64, name="token_embedder")(input_ids)
        bias = RelativeBias(4, name="relpos_bias")(input_ids.shape[1])
        for _ in range(2):
            x = T5Block(4)(x, bias)
        return RMSNorm(name="final_norm")(x)


class BertLayer(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array, deterministic: bool = True) -> jax.Array:
        attention = nn.MultiHeadDotProductAttention(num_heads=4, dropout_rate=0.1, deterministic=deterministic, name="attention")
        x = nn.LayerNorm(name="attention_norm")(x + attention(x, x, mask=mask))
        h = nn.Dense(256, name="intermediate")(x)
        h = nn.gelu(h, approximate=False)
        h = nn.Dropout(0.1, deterministic=deterministic)(nn.Dense(x.shape[-1], name="output")(h))
        return nn.LayerNorm(name="output_norm")(x + h)


class Bert(nn.Module):
    @nn.compact
    def __call__(self, input_ids: jax.Array, attention_mask: jax.Array, deterministic: bool = True) -> tuple[jax.Array, jax.Array]:
        length = input_ids.shape[1]
        x = nn.Embed(100, 64, name="word_embeddings")(input_ids)
        x = x + nn.Embed(64, 64, name="position_embeddings")(jnp.arange(length)[None])
        x = nn.Dropout(0.1, deterministic=deterministic)(nn.LayerNorm(name="embeddings_norm")(x))
        mask = nn.make_attention_mask(attention_mask > 0, attention_mask > 0)
        for i in range(3):
            x = BertLayer(name=f"layer_{i}")(x, mask, deterministic)
        return x, nn.tanh(nn.Dense(64, name="pooler")(x[:, 0]))


class DecoderLayer(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array, memory: jax.Array, mask: jax.Array) -> jax.Array:
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(4, name="self_attention")(y, mask=mask)
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(4, name="cross_attention")(y, memory)
        y = nn.LayerNorm()(x)
        return x + nn.Dense(64)(nn.relu(nn.Dense(128)(y)))


class EncoderDecoder(nn.Module):
    @nn.compact
    def __call__(self, source: jax.Array, target: jax.Array) -> jax.Array:
        embed = nn.Embed(100, 64, name="shared_embedding")
        memory = embed(source)
        for _ in range(2):
            memory = memory + nn.SelfAttention(4)(nn.LayerNorm()(memory))
            memory = memory + nn.Dense(64)(nn.relu(nn.Dense(128)(nn.LayerNorm()(memory))))
        mask = nn.make_causal_mask(target)
        x = embed(target)
        for _ in range(2):
            x = DecoderLayer()(x, memory, mask)
        return nn.Dense(100, name="logits")(nn.LayerNorm()(x))


class MoELayer(nn.Module):
    """Top-2 routing with capacity-free dispatch by one-hot einsums."""

    experts: int
    hidden: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        width = x.shape[-1]
        tokens = x.reshape(-1, width)
        logits = nn.Dense(self.experts, use_bias=False, name="router")(tokens)
        weights, index = lax.top_k(nn.softmax(logits), 2)
        weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
        combine = jnp.sum(jax.nn.one_hot(index, self.experts) * weights[..., None], axis=1)
        w_in = self.param("w_in", nn.initializers.lecun_normal(), (self.experts, width, self.hidden))
        w_out = self.param("w_out", nn.initializers.lecun_normal(), (self.experts, self.hidden, width))
        h = nn.gelu(jnp.einsum("td,edh->teh", tokens, w_in))
        out = jnp.einsum("teh,ehd->ted", h, w_out)
        return jnp.einsum("ted,te->td", out, combine).reshape(x.shape)


class MoETransformer(nn.Module):
    @nn.compact
    def __call__(self, input_ids: jax.Array) -> jax.Array:
        x = nn.Embed(100, 64)(input_ids)
        mask = nn.make_causal_mask(input_ids)
        for _ in range(2):
            x = x + nn.SelfAttention(num_heads=4)(nn.LayerNorm()(x), mask=mask)
            x = x + MoELayer(4, 128)(nn.LayerNorm()(x))
        return nn.Dense(100)(x)
