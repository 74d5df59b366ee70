"""JAX: flax modules as people write them; one builder per architecture.

Long because it is a list: sections vision (diffusion included), text, sequences, nnx; `MODELS` at the end names each builder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx
from jax import lax

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


# --- vision ---------------------------------------------------------------------------------------------------------------


class ResNetBlock(nn.Module):
    filters: int
    strides: tuple[int, int] = (1, 1)

    @nn.compact
    def __call__(self, x: jax.Array, train: bool = False) -> jax.Array:
        residual = x
        y = nn.Conv(self.filters, (3, 3), self.strides, use_bias=False)(x)
        y = nn.BatchNorm(use_running_average=not train)(y)
        y = nn.relu(y)
        y = nn.Conv(self.filters, (3, 3), use_bias=False)(y)
        y = nn.BatchNorm(use_running_average=not train)(y)
        if residual.shape != y.shape:
            residual = nn.Conv(self.filters, (1, 1), self.strides, use_bias=False, name="conv_proj")(residual)
            residual = nn.BatchNorm(use_running_average=not train, name="norm_proj")(residual)
        return nn.relu(residual + y)


class ResNet(nn.Module):
    """As in flax's ImageNet example."""

    stage_sizes: Sequence[int]
    num_classes: int

    @nn.compact
    def __call__(self, x: jax.Array, train: bool = False) -> jax.Array:
        x = nn.Conv(16, (7, 7), (2, 2), padding=[(3, 3), (3, 3)], use_bias=False, name="conv_init")(x)
        x = nn.BatchNorm(use_running_average=not train, name="bn_init")(x)
        x = nn.relu(x)
        x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        for i, block_size in enumerate(self.stage_sizes):
            for j in range(block_size):
                strides = (2, 2) if i > 0 and j == 0 else (1, 1)
                x = ResNetBlock(16 * 2**i, strides)(x, train)
        x = jnp.mean(x, axis=(1, 2))
        return nn.Dense(self.num_classes)(x)


class ConvNeXtBlock(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        shortcut = x
        x = nn.Conv(self.dim, (7, 7), feature_group_count=self.dim, name="dwconv")(x)
        x = nn.LayerNorm(epsilon=1e-6)(x)
        x = nn.Dense(4 * self.dim, name="pwconv1")(x)
        x = nn.gelu(x, approximate=False)
        x = nn.Dense(self.dim, name="pwconv2")(x)
        gamma = self.param("gamma", nn.initializers.constant(0.5), (self.dim,))
        return shortcut + gamma * x


class ConvNeXt(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.Conv(32, (4, 4), (4, 4), padding="VALID", name="stem")(x)
        x = nn.LayerNorm(name="stem_norm")(x)
        for stage, dim in enumerate((32, 64)):
            if stage:
                x = nn.LayerNorm()(x)
                x = nn.Conv(dim, (2, 2), (2, 2), padding="VALID")(x)
            for _ in range(2):
                x = ConvNeXtBlock(dim)(x)
        return nn.Dense(10, name="head")(nn.LayerNorm(name="norm")(x.mean((1, 2))))


class MlpBlock(nn.Module):
    mlp_dim: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        y = nn.Dense(self.mlp_dim)(x)
        y = nn.gelu(y)
        return nn.Dense(x.shape[-1])(y)


class MixerBlock(nn.Module):
    tokens_mlp_dim: int
    channels_mlp_dim: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        y = nn.LayerNorm()(x)
        y = jnp.swapaxes(y, 1, 2)
        y = MlpBlock(self.tokens_mlp_dim, name="token_mixing")(y)
        y = jnp.swapaxes(y, 1, 2)
        x = x + y
        y = nn.LayerNorm()(x)
        return x + MlpBlock(self.channels_mlp_dim, name="channel_mixing")(y)


class Mixer(nn.Module):
    @nn.compact
    def __call__(self, image: jax.Array) -> jax.Array:
        x = nn.Conv(64, (8, 8), strides=(8, 8), name="stem")(image)
        n, h, w, c = x.shape
        x = x.reshape(n, h * w, c)
        for _ in range(3):
            x = MixerBlock(32, 128)(x)
        x = nn.LayerNorm(name="pre_head_layer_norm")(x)
        return nn.Dense(10, name="head")(jnp.mean(x, axis=1))


class MobileBlock(nn.Module):
    """Inverted residual with squeeze and excitation."""

    features: int
    expand: int = 4

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        width = x.shape[-1] * self.expand
        y = nn.Conv(width, (1, 1), use_bias=False, name="expand_conv")(x)
        y = nn.hard_swish(nn.BatchNorm(use_running_average=True)(y))
        y = nn.Conv(width, (3, 3), feature_group_count=width, use_bias=False, name="depthwise")(y)
        y = nn.hard_swish(nn.BatchNorm(use_running_average=True)(y))
        s = jnp.mean(y, axis=(1, 2), keepdims=True)
        s = nn.relu(nn.Conv(width // 4, (1, 1), name="squeeze")(s))
        y = y * nn.hard_sigmoid(nn.Conv(width, (1, 1), name="excite")(s))
        y = nn.BatchNorm(use_running_average=True)(nn.Conv(self.features, (1, 1), use_bias=False, name="project")(y))
        return x + y if x.shape == y.shape else y


class MobileNet(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.hard_swish(nn.Conv(16, (3, 3), (2, 2), name="stem")(x))
        for features in (16, 16, 24):
            x = MobileBlock(features)(x)
        return nn.Dense(10)(x.mean((1, 2)))


class DownUp(nn.Module):
    """U-Net: strided convolutions down, bilinear resize up, skips, group norm."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        skips = []
        for features in (16, 32):
            x = nn.silu(nn.GroupNorm(num_groups=4)(nn.Conv(features, (3, 3))(x)))
            skips.append(x)
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        x = nn.silu(nn.Conv(32, (3, 3), kernel_dilation=(2, 2), name="bottleneck")(x))
        for features, skip in zip((32, 16), reversed(skips), strict=True):
            n, h, w, c = x.shape
            x = jax.image.resize(x, (n, 2 * h, 2 * w, c), "bilinear")
            x = jnp.concatenate([x, skip], axis=-1)
            x = nn.silu(nn.GroupNorm(num_groups=4)(nn.Conv(features, (3, 3))(x)))
        return nn.Conv(3, (1, 1), name="out")(x)


class VAE(nn.Module):
    latents: int = 16

    def setup(self) -> None:
        self.encoder = nn.Sequential([nn.Dense(64), nn.relu])
        self.mean = nn.Dense(self.latents)
        self.logvar = nn.Dense(self.latents)
        self.decoder = nn.Sequential([nn.Dense(64), nn.relu, nn.Dense(64)])

    def __call__(self, x: jax.Array, noise: jax.Array) -> dict[str, jax.Array]:
        hidden = self.encoder(x)
        mean, logvar = self.mean(hidden), self.logvar(hidden)
        z = mean + noise * jnp.exp(0.5 * logvar)
        return {"reconstruction": nn.sigmoid(self.decoder(z)), "mean": mean, "logvar": logvar}


class ConvTransposeDecoder(nn.Module):
    @nn.compact
    def __call__(self, z: jax.Array) -> jax.Array:
        x = nn.relu(nn.Dense(4 * 4 * 32)(z)).reshape(-1, 4, 4, 32)
        x = nn.relu(nn.ConvTranspose(16, (3, 3), strides=(2, 2))(x))
        x = nn.relu(nn.ConvTranspose(16, (4, 4), strides=(2, 2))(x))
        return nn.tanh(nn.Conv(3, (3, 3))(x))


class TimeEmbedding(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, t: jax.Array) -> jax.Array:
        half = self.dim // 2
        frequencies = jnp.exp(-jnp.log(10000.0) * jnp.arange(half) / half)
        angles = t[:, None] * frequencies[None]
        embedding = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
        return nn.Dense(self.dim)(nn.silu(nn.Dense(self.dim)(embedding)))


class DiffusionBlock(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x: jax.Array, time: jax.Array) -> jax.Array:
        h = nn.Conv(self.features, (3, 3))(nn.silu(nn.GroupNorm(8)(x)))
        h = h + nn.Dense(self.features)(nn.silu(time))[:, None, None, :]
        h = nn.Conv(self.features, (3, 3))(nn.silu(nn.GroupNorm(8)(h)))
        if x.shape != h.shape:
            x = nn.Conv(self.features, (1, 1))(x)
        return x + h


class DDPM(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array, t: jax.Array) -> jax.Array:
        time = TimeEmbedding(64)(t)
        x = nn.Conv(32, (3, 3))(x)
        down = DiffusionBlock(32)(x, time)
        x = nn.Conv(32, (3, 3), strides=(2, 2))(down)
        x = DiffusionBlock(64)(x, time)
        n, h, w, c = x.shape
        tokens = nn.GroupNorm(8)(x).reshape(n, h * w, c)
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(tokens, tokens).reshape(n, h, w, c)
        x = jax.image.resize(x, (n, h * 2, w * 2, c), "nearest")
        x = DiffusionBlock(32)(jnp.concatenate([x, down], -1), time)
        return nn.Conv(3, (3, 3))(nn.silu(nn.GroupNorm(8)(x)))


# --- text -----------------------------------------------------------------------------------------------------------------


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


# --- sequences ------------------------------------------------------------------------------------------------------------


class LinenLSTM(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.RNN(nn.OptimizedLSTMCell(32))(x)
        return nn.Dense(4)(x[:, -1])


class LinenGRU(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(4)(nn.RNN(nn.GRUCell(32))(x).mean(1))


class BiLSTM(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(4)(nn.Bidirectional(nn.RNN(nn.LSTMCell(16)), nn.RNN(nn.LSTMCell(16)))(x))


class TemporalBlock(nn.Module):
    features: int
    dilation: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        y = nn.relu(nn.Conv(self.features, (3,), kernel_dilation=self.dilation, padding="CAUSAL")(x))
        y = nn.relu(nn.Conv(self.features, (3,), kernel_dilation=self.dilation, padding="CAUSAL")(y))
        if x.shape != y.shape:
            x = nn.Conv(self.features, (1,))(x)
        return nn.relu(x + y)


class TCN(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for i in range(3):
            x = TemporalBlock(32, 2**i)(x)
        return nn.Dense(5)(x[:, -1])


class SelectiveSSM(nn.Module):
    """Mamba's scan with `lax.scan` over time."""

    state: int = 8

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        batch, _length, width = x.shape
        xz = nn.Dense(2 * width, use_bias=False, name="in_proj")(x)
        u, z = jnp.split(xz, 2, axis=-1)
        u = nn.silu(nn.Conv(width, (4,), feature_group_count=width, padding="CAUSAL", name="conv1d")(u))
        a = -jnp.exp(self.param("A_log", nn.initializers.normal(0.1), (width, self.state)))
        d = self.param("D", nn.initializers.ones, (width,))
        dt = nn.softplus(nn.Dense(width, name="dt_proj")(u))
        b = nn.Dense(self.state, use_bias=False, name="b_proj")(u)
        c = nn.Dense(self.state, use_bias=False, name="c_proj")(u)

        def step(h: jax.Array, inputs: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
            dt_t, b_t, c_t, u_t = inputs
            decay = jnp.exp(dt_t[..., None] * a)
            h = decay * h + (dt_t * u_t)[..., None] * b_t[:, None, :]
            return h, jnp.einsum("bdn,bn->bd", h, c_t)

        swap = lambda v: jnp.swapaxes(v, 0, 1)  # noqa: E731
        _, y = lax.scan(step, jnp.zeros((batch, width, self.state)), (swap(dt), swap(b), swap(c), swap(u)))
        y = swap(y) + u * d
        return nn.Dense(width, use_bias=False, name="out_proj")(y * nn.silu(z))


class Mamba(nn.Module):
    @nn.compact
    def __call__(self, input_ids: jax.Array) -> jax.Array:
        x = nn.Embed(100, 32)(input_ids)
        for _ in range(2):
            x = x + SelectiveSSM()(nn.RMSNorm()(x))
        return nn.Dense(100)(nn.RMSNorm()(x))


class RWKVTimeMix(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        width = x.shape[-1]
        shifted = jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        mix = self.param("mix", nn.initializers.constant(0.5), (3, width))
        k = nn.Dense(width, use_bias=False, name="key")(x * mix[0] + shifted * (1 - mix[0]))
        v = nn.Dense(width, use_bias=False, name="value")(x * mix[1] + shifted * (1 - mix[1]))
        r = nn.sigmoid(nn.Dense(width, use_bias=False, name="receptance")(x * mix[2] + shifted * (1 - mix[2])))
        decay = -jnp.exp(self.param("time_decay", nn.initializers.normal(0.3), (width,)))
        first = self.param("time_first", nn.initializers.normal(0.3), (width,))

        def wkv(state: tuple[jax.Array, jax.Array], kv: tuple[jax.Array, jax.Array]) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
            num, den = state
            kt, vt = kv
            e = jnp.exp(first + kt)
            out = (num + e * vt) / (den + e)
            ek = jnp.exp(kt)
            return (jnp.exp(decay) * num + ek * vt, jnp.exp(decay) * den + ek), out

        zero = jnp.zeros((x.shape[0], width))
        _, y = lax.scan(wkv, (zero, zero), (jnp.swapaxes(k, 0, 1), jnp.swapaxes(v, 0, 1)))
        return nn.Dense(width, use_bias=False, name="output")(r * jnp.swapaxes(y, 0, 1))


class RWKV(nn.Module):
    @nn.compact
    def __call__(self, input_ids: jax.Array) -> jax.Array:
        x = nn.LayerNorm()(nn.Embed(100, 32)(input_ids))
        for _ in range(2):
            x = x + RWKVTimeMix()(nn.LayerNorm()(x))
            h = nn.LayerNorm()(x)
            x = x + nn.Dense(32, use_bias=False)(jnp.square(nn.relu(nn.Dense(64, use_bias=False)(h))))
        return nn.Dense(100, use_bias=False)(nn.LayerNorm()(x))


class ActorCritic(nn.Module):
    """PPO's heads on a shared convolutional trunk."""

    actions: int

    @nn.compact
    def __call__(self, observation: jax.Array) -> dict[str, jax.Array]:
        x = observation / 255.0
        x = nn.relu(nn.Conv(16, (8, 8), strides=(4, 4), padding="VALID", name="conv1")(x))
        x = nn.relu(nn.Conv(32, (4, 4), strides=(2, 2), padding="VALID", name="conv2")(x))
        x = nn.relu(nn.Dense(64, name="hidden")(x.reshape(x.shape[0], -1)))
        log_probs = nn.log_softmax(nn.Dense(self.actions, name="logits")(x))
        return {"log_probs": log_probs, "value": nn.Dense(1, name="value")(x)[:, 0], "action": jnp.argmax(log_probs, -1)}


class CouplingLayer(nn.Module):
    """RealNVP."""

    flip: bool

    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        a, b = jnp.split(x, 2, axis=-1)
        if self.flip:
            a, b = b, a
        h = nn.relu(nn.Dense(32)(a))
        shift, scale = jnp.split(nn.Dense(2 * b.shape[-1])(h), 2, axis=-1)
        scale = jnp.tanh(scale)
        b = b * jnp.exp(scale) + shift
        out = jnp.concatenate([b, a] if self.flip else [a, b], axis=-1)
        return out, jnp.sum(scale, axis=-1)


class NormalizingFlow(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = jnp.zeros(x.shape[0])
        for i in range(4):
            x, log_det = CouplingLayer(i % 2 == 1)(x)
            total = total + log_det
        prior = -0.5 * jnp.sum(jnp.square(x) + jnp.log(2 * jnp.pi), axis=-1)
        return x, prior + total


# --- nnx ------------------------------------------------------------------------------------------------------------------


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


def nnx_model(make: Callable[[nnx.Rngs], nnx.Module], x: Callable[[], jax.Array]) -> Callable[[], Built]:
    return lambda: (make(nnx.Rngs(0)), (x(),), {})


MODELS: dict[str, Callable[[], Built]] = {
    "linen_resnet": linen(lambda: ResNet((2, 2), 10), lambda: normal(1, 32, 32, 3)),
    "linen_convnext": linen(ConvNeXt, lambda: normal(1, 32, 32, 3)),
    "linen_mixer": linen(Mixer, lambda: normal(2, 32, 32, 3)),
    "linen_mixer_bf16": linen(Mixer, lambda: normal(2, 32, 32, 3), bf16=True),
    "linen_mobilenet": linen(MobileNet, lambda: normal(1, 32, 32, 3)),
    "linen_unet": linen(DownUp, lambda: normal(1, 16, 16, 3)),
    "linen_vae": linen(VAE, lambda: normal(4, 64), lambda: normal(4, 16, seed=1)),
    "linen_deconv": linen(ConvTransposeDecoder, lambda: normal(2, 16)),
    "linen_ddpm": linen(DDPM, lambda: normal(1, 16, 16, 3), lambda: jnp.array([3.0])),
    "linen_llama": linen(Llama, lambda: ids(2, 32)),
    "linen_llama_bf16": linen(Llama, lambda: ids(2, 32), bf16=True),
    "linen_t5": linen(T5Encoder, lambda: ids(2, 32)),
    "linen_bert": linen(Bert, lambda: ids(2, 32), lambda: (jnp.arange(32)[None] < jnp.array([[20], [32]])).astype(jnp.int32)),
    "linen_encoder_decoder": linen(EncoderDecoder, lambda: ids(2, 16), lambda: ids(2, 8, seed=1)),
    "linen_moe": linen(MoETransformer, lambda: ids(2, 16)),
    "linen_lstm": linen(LinenLSTM, lambda: normal(2, 8, 16)),
    "linen_gru": linen(LinenGRU, lambda: normal(2, 8, 16)),
    "linen_bilstm": linen(BiLSTM, lambda: normal(2, 6, 16)),
    "linen_tcn": linen(TCN, lambda: normal(2, 32, 8)),
    "linen_mamba": linen(Mamba, lambda: ids(2, 8)),
    "linen_rwkv": linen(RWKV, lambda: ids(2, 8)),
    "linen_ppo": linen(lambda: ActorCritic(6), lambda: 255 * jax.random.uniform(jax.random.key(0), (2, 36, 36, 4))),
    "linen_flow": linen(NormalizingFlow, lambda: normal(8, 8)),
    "nnx_cached_decoder": cached_decoder,
    "nnx_gemma": nnx_model(Gemma, lambda: ids(2, 32)),
}
