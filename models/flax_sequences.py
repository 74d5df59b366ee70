"""JAX: flax modules of sequences, of reinforcement learning and flows, as people write them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax


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
