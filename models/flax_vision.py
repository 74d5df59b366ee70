"""JAX: flax modules of vision, diffusion included, as people write them."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from flax import linen as nn


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
