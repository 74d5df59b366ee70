"""JAX: plain functions on pytrees — transformers without a library, graphs, decoding loops, sampling, solvers, training steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> jax.Array:
    """Made by NumPy: JAX would compile a program for each shape, which takes longer than to capture the model. Other numbers for each shape."""
    return jax.device_put((scale * np.random.default_rng((seed, *shape)).standard_normal(shape)).astype(np.float32))


def ids(*shape: int, below: int = 64, seed: int = 0) -> jax.Array:
    return jax.device_put(np.random.default_rng((seed, *shape)).integers(0, below, shape, np.int32))


# --- a GPT of functions (as in jax tutorials) ------------------------------------------------------------------------------


def layer_norm(params: dict[str, jax.Array], x: jax.Array, eps: float = 1e-5) -> jax.Array:
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return params["g"] * (x - mean) / jnp.sqrt(variance + eps) + params["b"]


def linear(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    return x @ params["w"] + params["b"]


def feed_forward(params: dict[str, Any], x: jax.Array) -> jax.Array:
    return linear(params["proj"], jax.nn.gelu(linear(params["fc"], x)))


def causal_self_attention(params: dict[str, Any], x: jax.Array, heads: int) -> jax.Array:
    length, width = x.shape[-2:]
    q, k, v = jnp.split(linear(params["qkv"], x), 3, axis=-1)
    q, k, v = (part.reshape(-1, length, heads, width // heads).transpose(0, 2, 1, 3) for part in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / jnp.sqrt(width // heads)
    mask = jnp.tril(jnp.ones((length, length)))
    scores = jnp.where(mask == 0, -1e10, scores)
    out = jax.nn.softmax(scores, axis=-1) @ v
    return linear(params["proj"], out.transpose(0, 2, 1, 3).reshape(-1, length, width))


def transformer_block(params: dict[str, Any], x: jax.Array, heads: int) -> jax.Array:
    x = x + causal_self_attention(params["attn"], layer_norm(params["ln_1"], x), heads)
    return x + feed_forward(params["mlp"], layer_norm(params["ln_2"], x))


def gpt(params: dict[str, Any], inputs: jax.Array, heads: int) -> jax.Array:
    x = params["wte"][inputs] + params["wpe"][jnp.arange(inputs.shape[-1])]
    for block in params["blocks"]:
        x = transformer_block(block, x, heads)
    return layer_norm(params["ln_f"], x) @ params["wte"].T


def _norm_params(width: int) -> dict[str, jax.Array]:
    return {"g": jnp.ones(width), "b": jnp.zeros(width)}


def _linear_params(inputs: int, outputs: int, seed: int) -> dict[str, jax.Array]:
    return {"w": normal(inputs, outputs, seed=seed, scale=0.1), "b": normal(outputs, seed=seed + 1, scale=0.1)}


def gpt_params(width: int = 64, depth: int = 3) -> dict[str, Any]:
    blocks = [
        {
            "ln_1": _norm_params(width),
            "attn": {"qkv": _linear_params(width, 3 * width, 10 * i), "proj": _linear_params(width, width, 10 * i + 2)},
            "ln_2": _norm_params(width),
            "mlp": {"fc": _linear_params(width, 4 * width, 10 * i + 4), "proj": _linear_params(4 * width, width, 10 * i + 6)},
        }
        for i in range(depth)
    ]
    return {"wte": normal(64, width, seed=90), "wpe": normal(64, width, seed=91), "blocks": blocks, "ln_f": _norm_params(width)}


def functional_gpt() -> Built:
    return partial(gpt, heads=4), (gpt_params(), ids(2, 32)), {}


def gpt_static_kwarg() -> Built:
    return gpt, (gpt_params(depth=1), ids(1, 16)), {"heads": 2}


def stacked_layers() -> Built:
    """Layers as one stacked pytree, run by `lax.scan` with rematerialisation."""

    def run(params: dict[str, Any], x: jax.Array) -> jax.Array:
        @jax.checkpoint
        def layer(x: jax.Array, weights: dict[str, jax.Array]) -> tuple[jax.Array, None]:
            h = jnp.tanh(x @ weights["w"] + weights["b"])
            return x + h, None

        return lax.scan(layer, x, params)[0]

    return run, ({"w": normal(4, 32, 32, scale=0.2), "b": normal(4, 32, seed=1, scale=0.1)}, normal(8, 32, seed=2)), {}


# --- decoding and sampling ---------------------------------------------------------------------------------------------------


def generate_until_end() -> Built:
    """`lax.while_loop` that stops at a token or after so many steps."""

    def generate(params: dict[str, jax.Array], prompt: jax.Array) -> tuple[jax.Array, jax.Array]:
        limit, end = 8, 3
        tokens = jnp.zeros((limit,), jnp.int32).at[0].set(prompt)

        def going(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
            step, _, done = state
            return jnp.logical_and(step < limit - 1, jnp.logical_not(done))

        def step(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
            i, tokens, _ = state
            hidden = jnp.tanh(params["embed"][tokens[i]] @ params["w"])
            following = jnp.argmax(hidden @ params["embed"].T).astype(jnp.int32)
            return i + 1, tokens.at[i + 1].set(following), following == end

        count, tokens, _ = lax.while_loop(going, step, (0, tokens, jnp.bool_(False)))
        return tokens, count

    return generate, ({"embed": normal(32, 16, seed=1), "w": normal(16, 16, seed=2)}, jnp.int32(5)), {}


def sample_top_k() -> Built:
    """The key is an argument: threefry runs on the device."""

    def sample(logits: jax.Array, key: jax.Array) -> jax.Array:
        values, indices = lax.top_k(logits / 0.8, 8)
        choice = jax.random.categorical(key, values, axis=-1)
        return jnp.take_along_axis(indices, choice[:, None], axis=-1)[:, 0]

    return sample, (normal(4, 64, scale=2.0), jax.random.key(3)), {}


def sample_top_p() -> Built:
    def sample(logits: jax.Array, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
        order = jnp.argsort(-logits, axis=-1)
        ranked = jnp.take_along_axis(logits, order, axis=-1)
        probabilities = jax.nn.softmax(ranked)
        keep = jnp.cumsum(probabilities, axis=-1) - probabilities < 0.9
        choice = jnp.argmax(jnp.where(keep, ranked, -1e9) + noise, axis=-1)
        return jnp.take_along_axis(order, choice[:, None], axis=-1)[:, 0], probabilities

    return sample, (normal(4, 32, scale=2.0), normal(4, 32, seed=1)), {}


def beam_step() -> Built:
    def step(scores: jax.Array, log_probs: jax.Array, sequences: jax.Array) -> dict[str, jax.Array]:
        beams, vocabulary = log_probs.shape
        total = (scores[:, None] + log_probs).reshape(-1)
        best, flat = lax.top_k(total, beams)
        parents, tokens = flat // vocabulary, flat % vocabulary
        return {"scores": best, "sequences": jnp.concatenate([sequences[parents], tokens[:, None]], axis=1)}

    return step, (normal(4), jax.nn.log_softmax(normal(4, 32, seed=1)), ids(4, 5)), {}


# --- graphs ----------------------------------------------------------------------------------------------------------------


class Graph(NamedTuple):
    nodes: jax.Array
    senders: jax.Array
    receivers: jax.Array


def _graph(nodes: int = 12, edges: int = 30, width: int = 16) -> Graph:
    return Graph(normal(nodes, width), ids(edges, below=nodes, seed=1), ids(edges, below=nodes, seed=2))


def graph_convolution() -> Built:
    def gcn(params: list[dict[str, jax.Array]], graph: Graph) -> jax.Array:
        count = graph.nodes.shape[0]
        degree = jax.ops.segment_sum(jnp.ones(graph.senders.shape[0]), graph.receivers, count) + 1
        x = graph.nodes
        for layer in params:
            h = x @ layer["w"] + layer["b"]
            messages = h[graph.senders] * lax.rsqrt(degree)[graph.senders][:, None]
            x = jax.nn.relu((jax.ops.segment_sum(messages, graph.receivers, count) + h) * lax.rsqrt(degree)[:, None])
        return x.mean(0)

    return gcn, ([_linear_params(16, 32, 5), _linear_params(32, 8, 7)], _graph()), {}


def graph_attention() -> Built:
    def gat(params: dict[str, jax.Array], graph: Graph) -> jax.Array:
        count = graph.nodes.shape[0]
        h = graph.nodes @ params["w"]
        scores = jax.nn.leaky_relu(h[graph.senders] @ params["a_src"] + h[graph.receivers] @ params["a_dst"], 0.2)
        peak = jax.ops.segment_max(scores, graph.receivers, count)
        weights = jnp.exp(scores - peak[graph.receivers])
        weights = weights / (jax.ops.segment_sum(weights, graph.receivers, count)[graph.receivers] + 1e-9)
        return jax.nn.elu(jax.ops.segment_sum(weights[:, None] * h[graph.senders], graph.receivers, count))

    params = {"w": normal(16, 16, seed=3, scale=0.3), "a_src": normal(16, seed=4), "a_dst": normal(16, seed=5)}
    return gat, (params, _graph()), {}


# --- solvers, filters ----------------------------------------------------------------------------------------------------------


def neural_ode() -> Built:
    """Runge-Kutta 4 over a fixed number of steps."""

    def solve(params: dict[str, jax.Array], y0: jax.Array) -> jax.Array:
        def field(y: jax.Array) -> jax.Array:
            return jnp.tanh(y @ params["w1"] + params["b1"]) @ params["w2"]

        def rk4(_: int, y: jax.Array) -> jax.Array:
            h = 0.1
            k1 = field(y)
            k2 = field(y + 0.5 * h * k1)
            k3 = field(y + 0.5 * h * k2)
            k4 = field(y + h * k3)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        return lax.fori_loop(0, 8, rk4, y0)

    return solve, ({"w1": normal(4, 32, seed=1), "b1": jnp.zeros(32), "w2": normal(32, 4, seed=2, scale=0.2)}, normal(8, 4)), {}


def linear_recurrence() -> Built:
    """`lax.associative_scan`, as in S5 and LRU."""

    def recur(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        decay = jnp.exp(-jnp.exp(params["log_decay"]))
        inputs = x @ params["b"]
        a = jnp.broadcast_to(decay, inputs.shape)

        def combine(left: tuple[jax.Array, jax.Array], right: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            return left[0] * right[0], right[0] * left[1] + right[1]

        _, states = lax.associative_scan(combine, (a, inputs))
        return states @ params["c"] + x * params["d"]

    params = {"log_decay": normal(32, scale=0.3), "b": normal(8, 32, seed=1), "c": normal(32, 8, seed=2), "d": normal(8, seed=3)}
    return recur, (params, normal(16, 8, seed=4)), {}


def kalman_filter() -> Built:
    def run(measurements: jax.Array) -> tuple[jax.Array, jax.Array]:
        def update(carry: tuple[jax.Array, jax.Array], z: jax.Array) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
            mean, variance = carry
            variance = variance + 0.01
            gain = variance / (variance + 0.1)
            mean = mean + gain * (z - mean)
            variance = (1 - gain) * variance
            return (mean, variance), (mean, variance)

        return lax.scan(update, (jnp.zeros(32), jnp.ones(32)), measurements)[1]

    return run, (normal(32, 32),), {}


def nearest_neighbours() -> Built:
    def knn(queries: jax.Array, points: jax.Array, labels: jax.Array) -> tuple[jax.Array, jax.Array]:
        distances = jnp.sum(queries**2, -1)[:, None] - 2 * queries @ points.T + jnp.sum(points**2, -1)[None]
        negative, index = lax.top_k(-distances, 3)
        votes = jax.nn.one_hot(labels[index], 4).sum(1)
        return jnp.argmax(votes, -1), jnp.sqrt(jnp.maximum(-negative, 0))

    return knn, (normal(6, 8), normal(40, 8, seed=1), ids(40, below=4)), {}


def k_means() -> Built:
    def fit(points: jax.Array, centres: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(_: int, centres: jax.Array) -> jax.Array:
            nearest = jnp.argmin(jnp.sum((points[:, None] - centres[None]) ** 2, -1), -1)
            member = jax.nn.one_hot(nearest, centres.shape[0])
            return member.T @ points / jnp.maximum(member.sum(0)[:, None], 1)

        centres = lax.fori_loop(0, 4, step, centres)
        return centres, jnp.sum((points[:, None] - centres[None]) ** 2, -1).min(-1)

    return fit, (normal(40, 8), normal(5, 8, seed=1)), {}


# --- conditions, custom derivatives, dataclasses --------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass
class Batch:
    features: jax.Array
    weight: jax.Array


@jax.custom_vjp
def clipped_identity(x: jax.Array) -> jax.Array:
    return x


clipped_identity.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1.0, 1.0),))


@jax.jit
def smooth_step(x: jax.Array) -> jax.Array:
    t = jnp.clip(x, 0.0, 1.0)
    return t * t * (3 - 2 * t)


def conditional_scaling() -> Built:
    def scale(batch: Batch, mode: jax.Array) -> dict[str, jax.Array]:
        x = lax.cond(batch.features.mean() > 0, lambda v: v * 2.0, lambda v: v - 1.0, batch.features)
        x = lax.switch(mode, [jnp.tanh, jax.nn.relu, smooth_step], x)
        return {"scaled": clipped_identity(x) * batch.weight, "norm": jnp.linalg.norm(x, axis=-1)}

    return scale, (Batch(normal(4, 16), normal(16, seed=1)), jnp.int32(2)), {}


def gradient_penalty() -> Built:
    """A gradient inside the forward function."""

    def penalty(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        def critic(x: jax.Array) -> jax.Array:
            return (jnp.tanh(x @ params["w1"]) @ params["w2"])[0]

        gradients = jax.vmap(jax.grad(critic))(x)
        return (jnp.linalg.norm(gradients, axis=-1) - 1.0) ** 2

    return penalty, ({"w1": normal(8, 16, seed=1), "w2": normal(16, 1, seed=2)}, normal(6, 8)), {}


# --- training steps ----------------------------------------------------------------------------------------------------------------


def cnn_training_step() -> Built:
    """Cross-entropy through convolutions and a max pool, SGD with momentum."""
    optimizer = optax.sgd(0.05, momentum=0.9)

    def forward(params: dict[str, jax.Array], image: jax.Array) -> jax.Array:
        x = lax.conv_general_dilated(image, params["conv1"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = lax.conv_general_dilated(x, params["conv2"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x)
        return x.reshape(x.shape[0], -1) @ params["head"]

    def train_step(params: Any, state: Any, image: jax.Array, label: jax.Array) -> Any:
        def loss_of(params: Any) -> jax.Array:
            return optax.softmax_cross_entropy_with_integer_labels(forward(params, image), label).mean()

        loss, gradients = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    params = {"conv1": normal(3, 3, 1, 8, scale=0.3), "conv2": normal(3, 3, 8, 8, seed=1, scale=0.2), "head": normal(32, 4, seed=2, scale=0.2)}
    return train_step, (params, optimizer.init(params), normal(4, 8, 8, 1), jnp.array([0, 1, 2, 3])), {}


def transformer_training_step(depth: int = 1, length: int = 9, *, returns_state: bool = False) -> Built:
    """depth: layers. length: of a text and the token behind it. returns_state: the optimizer's, too."""
    optimizer = optax.adamw(1e-3)

    def loss_of(params: Any, tokens: jax.Array) -> jax.Array:
        logits = gpt(params, tokens[:, :-1], 2)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    def train_step(params: Any, state: Any, tokens: jax.Array) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(params, tokens)
        updates, state = optimizer.update(gradients, state, params)
        return (optax.apply_updates(params, updates), state, loss) if returns_state else (optax.apply_updates(params, updates), loss)

    params = gpt_params(32, depth)
    return train_step, (params, optimizer.init(params), ids(2, length)), {}


def lstm_training_step() -> Built:
    """Back-propagation through `lax.scan`."""

    def loss_of(params: dict[str, jax.Array], xs: jax.Array, target: jax.Array) -> jax.Array:
        def cell(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            h = jnp.tanh(x @ params["wx"] + h @ params["wh"])
            return h, h

        h, _ = lax.scan(cell, jnp.zeros((xs.shape[1], 16)), xs)
        return jnp.mean((h @ params["out"] - target) ** 2)

    def train_step(params: dict[str, jax.Array], xs: jax.Array, target: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
        loss, gradients = jax.value_and_grad(loss_of)(params, xs, target)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss

    params = {"wx": normal(8, 16, scale=0.3), "wh": normal(16, 16, seed=1, scale=0.3), "out": normal(16, 2, seed=2, scale=0.3)}
    return train_step, (params, normal(5, 4, 8), normal(4, 2, seed=3)), {}


MODELS: dict[str, Callable[[], Built]] = {
    "jax_gpt": functional_gpt,
    "jax_gpt_static_kwarg": gpt_static_kwarg,
    "jax_stacked_layers": stacked_layers,
    "jax_while_decode": generate_until_end,
    "jax_sample_top_k": sample_top_k,
    "jax_sample_top_p": sample_top_p,
    "jax_beam_step": beam_step,
    "jax_gcn": graph_convolution,
    "jax_gat": graph_attention,
    "jax_neural_ode": neural_ode,
    "jax_linear_recurrence": linear_recurrence,
    "jax_kalman_filter": kalman_filter,
    "jax_nearest_neighbours": nearest_neighbours,
    "jax_k_means": k_means,
    "jax_conditional_scaling": conditional_scaling,
    "jax_gradient_penalty": gradient_penalty,
    "jax_cnn_training_step": cnn_training_step,
    "jax_transformer_training_step": transformer_training_step,
    "jax_lstm_training_step": lstm_training_step,
}
