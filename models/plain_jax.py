"""JAX: flax nnx and linen modules, plain functions, control flow, a training step; one builder per architecture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen, nnx
from jax import lax

from models import jax_flax, jax_functions

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]
KEY = jax.random.key(0)


def normal(*shape: int, dtype: Any = jnp.float32, seed: int = 0) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), shape, dtype)


class MLP(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.linear1 = nnx.Linear(32, 64, rngs=rngs)
        self.linear2 = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.linear2(nnx.relu(self.linear1(x)))


class CNN(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.conv1 = nnx.Conv(1, 16, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(16, use_running_average=True, rngs=rngs)
        self.conv2 = nnx.Conv(16, 32, (3, 3), rngs=rngs)
        self.linear = nnx.Linear(128, 10, rngs=rngs)

    def __call__(self, image: jax.Array) -> jax.Array:
        x = nnx.max_pool(nnx.relu(self.norm(self.conv1(image))), (2, 2), strides=(2, 2))
        x = nnx.avg_pool(nnx.relu(self.conv2(x)), (2, 2), strides=(2, 2))
        return nnx.softmax(self.linear(x.reshape(x.shape[0], -1)))


class ResidualBlock(nnx.Module):
    def __init__(self, inputs: int, width: int, stride: int, rngs: nnx.Rngs) -> None:
        self.conv1 = nnx.Conv(inputs, width, (3, 3), strides=stride, use_bias=False, rngs=rngs)
        self.norm1 = nnx.BatchNorm(width, use_running_average=True, rngs=rngs)
        self.conv2 = nnx.Conv(width, width, (3, 3), use_bias=False, rngs=rngs)
        self.norm2 = nnx.BatchNorm(width, use_running_average=True, rngs=rngs)
        self.shortcut = nnx.Conv(inputs, width, (1, 1), strides=stride, use_bias=False, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        y = nnx.relu(self.norm1(self.conv1(x)))
        return nnx.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, width: int = 16) -> None:
        self.stem = nnx.Conv(3, width, (7, 7), strides=2, rngs=rngs)
        self.blocks = nnx.List([ResidualBlock(width, width, 1, rngs), ResidualBlock(width, 2 * width, 2, rngs)])
        self.head = nnx.Linear(2 * width, 10, rngs=rngs)

    def __call__(self, image: jax.Array) -> jax.Array:
        x = nnx.max_pool(nnx.relu(self.stem(image)), (3, 3), strides=(2, 2), padding="SAME")
        for block in self.blocks:
            x = block(x)
        return self.head(jnp.mean(x, axis=(1, 2)))


class MLPBlock(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        self.fc1 = nnx.Linear(width, 4 * width, rngs=rngs)
        self.fc2 = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.fc2(nnx.gelu(self.fc1(x)))


class Block(nnx.Module):
    def __init__(self, width: int, heads: int, rngs: nnx.Rngs) -> None:
        self.ln1 = nnx.LayerNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(num_heads=heads, in_features=width, decode=False, deterministic=True, rngs=rngs)
        self.ln2 = nnx.LayerNorm(width, rngs=rngs)
        self.mlp = MLPBlock(width, rngs)

    def __call__(self, x: jax.Array, mask: jax.Array | None = None) -> jax.Array:
        x = x + self.attention(self.ln1(x), mask=mask)
        return x + self.mlp(self.ln2(x))


class ViT(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.patch = nnx.Conv(3, 64, (8, 8), strides=(8, 8), padding="VALID", rngs=rngs)
        self.token = nnx.Param(jnp.zeros((1, 1, 64)))
        self.positions = nnx.Param(normal(1, 17, 64) * 0.1)
        self.blocks = nnx.List([Block(64, 2, rngs) for _ in range(2)])
        self.norm = nnx.LayerNorm(64, rngs=rngs)
        self.head = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, image: jax.Array) -> jax.Array:
        x = self.patch(image).reshape(image.shape[0], -1, 64)
        x = jnp.concatenate([jnp.tile(self.token[...], (x.shape[0], 1, 1)), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class GPT(nnx.Module):
    """Token ids [batch, length] -> {"logits": [batch, length, vocabulary]}."""

    def __init__(self, rngs: nnx.Rngs, vocabulary: int = 100, width: int = 64, heads: int = 2, depth: int = 2) -> None:
        self.embed = nnx.Embed(vocabulary, width, rngs=rngs)
        self.positions = nnx.Param(normal(64, width) * 0.1)
        self.blocks = nnx.List([Block(width, heads, rngs) for _ in range(depth)])
        self.norm = nnx.RMSNorm(width, rngs=rngs)
        self.head = nnx.Linear(width, vocabulary, use_bias=False, rngs=rngs)

    def __call__(self, ids: jax.Array) -> dict[str, jax.Array]:
        x = self.embed(ids) + self.positions[: ids.shape[1]]
        mask = nnx.make_causal_mask(ids)
        for block in self.blocks:
            x = block(x, mask)
        return {"logits": self.head(self.norm(x))}


class UNet(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.down = nnx.Conv(3, 16, (3, 3), rngs=rngs)
        self.norm = nnx.GroupNorm(16, num_groups=4, rngs=rngs)
        self.middle = nnx.Conv(16, 32, (3, 3), strides=2, rngs=rngs)
        self.up = nnx.Conv(48, 16, (3, 3), rngs=rngs)
        self.out = nnx.Conv(16, 3, (1, 1), rngs=rngs)

    def __call__(self, image: jax.Array) -> jax.Array:
        skip = nnx.silu(self.norm(self.down(image)))
        x = nnx.silu(self.middle(skip))
        x = jax.image.resize(x, (*skip.shape[:-1], x.shape[-1]), "nearest")
        return self.out(nnx.silu(self.up(jnp.concatenate([x, skip], -1))))


class AutoEncoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.encode = nnx.Conv(1, 16, (3, 3), strides=2, rngs=rngs)
        self.decode = nnx.ConvTranspose(16, 1, (3, 3), strides=2, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return nnx.sigmoid(self.decode(nnx.elu(self.encode(x))))


class LSTMClassifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, inputs: int = 16, width: int = 32) -> None:
        self.rnn = nnx.RNN(nnx.LSTMCell(inputs, width, rngs=rngs))
        self.out = nnx.Linear(width, 4, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.out(self.rnn(x)[:, -1])


class GRUClassifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.rnn = nnx.RNN(nnx.GRUCell(16, 32, rngs=rngs))
        self.out = nnx.Linear(32, 4, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.out(self.rnn(x)[:, -1])


class MixtureOfExperts(nnx.Module):
    """Top-2 routing; every expert sees every token, the router's weights choose."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.router = nnx.Linear(64, 4, use_bias=False, rngs=rngs)
        self.w1 = nnx.Param(normal(4, 64, 128, seed=1) * 0.1)
        self.w2 = nnx.Param(normal(4, 128, 64, seed=2) * 0.1)

    def __call__(self, x: jax.Array) -> jax.Array:
        gates = nnx.softmax(self.router(x))
        top, index = lax.top_k(gates, 2)
        chosen = (jax.nn.one_hot(index, 4) * (top / top.sum(-1, keepdims=True))[..., None]).sum(-2)
        hidden = nnx.silu(jnp.einsum("td,edh->teh", x, self.w1[...]))
        return jnp.einsum("teh,ehd,te->td", hidden, self.w2[...], chosen)


class LinenMLP(linen.Module):
    @linen.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = linen.relu(linen.Dense(64)(x))
        x = linen.LayerNorm(name="norm")(x)
        return linen.Dense(10)(x)


class LinenCNN(linen.Module):
    @linen.compact
    def __call__(self, image: jax.Array) -> jax.Array:
        x = linen.relu(linen.Conv(16, (3, 3))(image))
        x = linen.avg_pool(x, (2, 2), strides=(2, 2))
        x = linen.relu(linen.Conv(32, (3, 3))(x))
        x = linen.max_pool(x, (2, 2), strides=(2, 2))
        return linen.Dense(10)(x.reshape((x.shape[0], -1)))


class LinenEncoder(linen.Module):
    @linen.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for _ in range(2):
            h = linen.LayerNorm()(x)
            x = x + linen.SelfAttention(num_heads=2)(h)
            h = linen.Dense(128)(linen.LayerNorm()(x))
            x = x + linen.Dense(64)(linen.gelu(h))
        return x


def _nnx(make: Callable[[nnx.Rngs], nnx.Module], x: Callable[[], jax.Array], *, bf16: bool = False) -> Callable[[], Built]:
    def build() -> Built:
        graphdef, state = nnx.split(make(nnx.Rngs(0)))
        value = x()
        if bf16:
            state = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), state)
            value = value.astype(jnp.bfloat16) if jnp.issubdtype(value.dtype, jnp.floating) else value

        def forward(graphdef: Any, state: Any, x: Any) -> Any:
            return nnx.merge(graphdef, state)(x)

        return forward, (graphdef, state, value), {}

    return build


def _linen(make: Callable[[], linen.Module], x: Callable[[], jax.Array]) -> Callable[[], Built]:
    def build() -> Built:
        model, value = make(), x()
        return model.apply, (model.init(KEY, value), value), {}

    return build


def mlp_function() -> Built:
    params = [(normal(32, 64, seed=1) * 0.2, jnp.zeros(64)), (normal(64, 8, seed=2) * 0.2, jnp.ones(8))]

    def mlp(params: list[tuple[jax.Array, jax.Array]], x: jax.Array) -> jax.Array:
        for weight, bias in params[:-1]:
            x = jnp.tanh(x @ weight + bias)
        weight, bias = params[-1]
        return x @ weight + bias

    return mlp, (params, normal(4, 32)), {}


def causal_attention() -> Built:
    def attention(x: jax.Array) -> jax.Array:
        query, key, value = jnp.split(x, 3, axis=-1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(query.shape[-1])
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)

    return attention, (normal(2, 32, 2, 96),), {}


def scan_lstm() -> Built:
    def lstm(weights: dict[str, jax.Array], sequence: jax.Array) -> jax.Array:
        def cell(carry: tuple[jax.Array, jax.Array], x: jax.Array) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
            hidden, memory = carry
            gates = x @ weights["input"] + hidden @ weights["hidden"] + weights["bias"]
            i, f, g, o = jnp.split(gates, 4, axis=-1)
            memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
            return (hidden, memory), hidden

        zero = jnp.zeros((sequence.shape[1], 32))
        return lax.scan(cell, (zero, zero), sequence)[1]

    weights = {"input": normal(16, 128, seed=1) * 0.2, "hidden": normal(32, 128, seed=2) * 0.2, "bias": jnp.zeros(128)}
    return lstm, (weights, normal(6, 2, 16)), {}


def while_decode() -> Built:
    """Greedy decoding for a fixed number of steps: a fori_loop that writes into a buffer."""

    def decode(table: jax.Array, head: jax.Array, first: jax.Array) -> jax.Array:
        def step(i: jax.Array, tokens: jax.Array) -> jax.Array:
            hidden = jnp.tanh(table[tokens[i]])
            return tokens.at[i + 1].set(jnp.argmax(hidden @ head).astype(tokens.dtype))

        return lax.fori_loop(0, 4, step, jnp.zeros(5, jnp.int32).at[0].set(first))

    return decode, (normal(32, 32, seed=1), normal(32, 32, seed=2), jnp.int32(3)), {}


def top_k_sampling() -> Built:
    def sample(logits: jax.Array, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
        values, indices = lax.top_k(logits, 8)
        probabilities = jax.nn.softmax(values / 0.7)
        choice = jnp.argmax(jnp.log(probabilities) + noise, axis=-1)
        return jnp.take_along_axis(indices, choice[:, None], axis=-1)[:, 0], probabilities

    return sample, (normal(4, 64), normal(4, 8, seed=1)), {}


def vmapped_bilinear() -> Built:
    def pairwise(weight: jax.Array, left: jax.Array, right: jax.Array) -> jax.Array:
        return jax.vmap(lambda a, b: jnp.tanh(a @ weight @ b))(left, right)

    return pairwise, (normal(16, 16, seed=1), normal(8, 16, seed=2), normal(8, 16, seed=3)), {}


def segment_sum() -> Built:
    def aggregate(x: jax.Array, segments: jax.Array) -> jax.Array:
        return jax.ops.segment_sum(jnp.maximum(x, 0), segments, num_segments=6)

    return aggregate, (normal(24, 32), jnp.arange(24) % 6), {}


def _training_step(optimizer: optax.GradientTransformation) -> Callable[[], Built]:
    def build() -> Built:
        params = {"w1": normal(16, 32, seed=1) * 0.3, "b1": jnp.zeros(32), "w2": normal(32, 1, seed=2) * 0.3}

        def loss_of(params: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
            prediction = jnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"]
            return jnp.mean((prediction - y) ** 2)

        def train_step(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
            loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
            updates, _ = optimizer.update(gradients, state, params)
            return optax.apply_updates(params, updates), loss

        return train_step, (params, optimizer.init(params), normal(8, 16), normal(8, 1, seed=3)), {}

    return build


MODELS: dict[str, Callable[[], Built]] = {
    "nnx_mlp": _nnx(MLP, lambda: normal(4, 32)),
    "nnx_mlp_bf16": _nnx(MLP, lambda: normal(4, 32), bf16=True),
    "nnx_cnn": _nnx(CNN, lambda: normal(2, 8, 8, 1)),
    "nnx_resnet": _nnx(ResNet, lambda: normal(1, 32, 32, 3)),
    "nnx_vit": _nnx(ViT, lambda: normal(2, 32, 32, 3)),
    "nnx_gpt": _nnx(GPT, lambda: jnp.arange(64).reshape(2, 32) % 100),
    "nnx_gpt_bf16": _nnx(GPT, lambda: jnp.arange(64).reshape(2, 32) % 100, bf16=True),
    "nnx_unet": _nnx(UNet, lambda: normal(1, 16, 16, 3)),
    "nnx_autoencoder": _nnx(AutoEncoder, lambda: normal(1, 16, 16, 1)),
    "nnx_lstm": _nnx(LSTMClassifier, lambda: normal(2, 5, 16)),
    "nnx_gru": _nnx(GRUClassifier, lambda: normal(2, 5, 16)),
    "nnx_moe": _nnx(MixtureOfExperts, lambda: normal(16, 64)),
    "linen_mlp": _linen(LinenMLP, lambda: normal(4, 32)),
    "linen_cnn": _linen(LinenCNN, lambda: normal(2, 16, 16, 1)),
    "linen_encoder": _linen(LinenEncoder, lambda: normal(2, 32, 64)),
    "jax_mlp": mlp_function,
    "jax_causal_attention": causal_attention,
    "jax_scan_lstm": scan_lstm,
    "jax_greedy_decode": while_decode,
    "jax_top_k_sampling": top_k_sampling,
    "jax_vmap": vmapped_bilinear,
    "jax_segment_sum": segment_sum,
    "jax_sgd_step": _training_step(optax.sgd(0.1)),
    "jax_adam_step": _training_step(optax.adam(0.01)),
    **jax_flax.MODELS,
    **jax_functions.MODELS,
}
