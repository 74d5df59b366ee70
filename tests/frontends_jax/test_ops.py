"""Every converted op: TTIR from the JAX front end, run with the reference interpreter, equals JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.frontends_jax.checking import check_functions
from tests.tables import groups, together


def rand(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> jax.Array:
    """Made by NumPy: JAX compiles a program per shape, in each process that collects these tests."""
    return jax.device_put(np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32))


X, Y = rand(3, 4), rand(3, 4, seed=1)
POSITIVE = rand(3, 4, low=0.1, high=2.0)
IMAGE = rand(2, 8, 8, 3)
IDS = jnp.array([[1, 0, 3], [2, 2, 1]])
Case = tuple[str, Callable[..., Any], tuple[Any, ...]]

ELTWISE: list[Case] = [
    *((f.__name__, f, (X,)) for f in (jnp.abs, jnp.exp, jnp.tanh, jnp.sin, jnp.cos, jnp.floor, jnp.ceil, jnp.sign)),
    *((f.__name__, f, (POSITIVE,)) for f in (jnp.log, jnp.log1p, jnp.sqrt, lax.rsqrt, lax.cbrt, jnp.reciprocal)),
    *((f.__name__, f, (X,)) for f in (jnp.expm1, jnp.square, jnp.tan, jnp.isfinite, jnp.negative, jnp.arctan)),
    *((f.__name__, f, (X,)) for f in (lax.erf, lax.erfc, jnp.arcsin, jnp.arccos, jnp.arcsinh)),
    *((f.__name__, f, (X, Y)) for f in (jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum, jnp.arctan2)),
    *((f.__name__, f, (X, Y)) for f in (jnp.equal, jnp.not_equal, jnp.less, jnp.less_equal, jnp.greater)),
    ("divide", jnp.divide, (X, POSITIVE)),
    ("power", jnp.power, (POSITIVE, Y)),
    ("power 2", lambda x: lax.pow(x, 2.0), (POSITIVE,)),
    ("power 3", lambda x: x**3, (X,)),
    ("broadcast row", lambda x, y: x + y[0], (X, Y)),
    ("broadcast column", lambda x, y: x * y[:, :1], (X, Y)),
    ("outer", lambda x, y: x[:, None] * y[None, :], (X[0], Y[0])),
    ("scalar", lambda x: 2.0 * x + 1.0, (X,)),
    ("where", lambda x, y: jnp.where(x > 0, x, y), (X, Y)),
    ("where scalar", lambda x: jnp.where(x > 0, x, -1.0), (X,)),
    ("clip", lambda x: jnp.clip(x, -0.5, 0.5), (X,)),
    ("clip arrays", lambda x, y: jnp.clip(x, -jnp.abs(y), jnp.abs(y)), (X, Y)),
    ("logical", lambda x, y: jnp.logical_and(x > 0, ~(y > 0)) | (x == y), (X, Y)),
    ("integers, from unsigned", lambda i: jnp.concatenate([i.astype(jnp.uint32).astype(jnp.int32) % 255, i]), (IDS,)),
    ("integers", lambda i: (i * 3 + 1) // 2 - i % 2, (IDS,)),
    ("astype", lambda x: (x * 4).astype(jnp.int32).astype(jnp.float32), (X,)),
    ("bfloat16", lambda x: x.astype(jnp.bfloat16) * 2, (X,)),
    ("bool to float", lambda x: (x > 0).astype(jnp.float32), (X,)),
    ("iota", lambda x: x + jnp.arange(4.0), (X,)),
    ("constant array", lambda x: x @ jnp.asarray(np.arange(12.0).reshape(4, 3), jnp.float32), (X,)),
    ("round", lambda x: jnp.round(x * 4), (X,)),
    ("round halves", jnp.round, (jnp.arange(-4.0, 4.0, 0.5),)),
    ("sinh", jnp.sinh, (X,)),
    ("cosh", jnp.cosh, (X,)),
    ("floor divide", lambda x: jnp.floor_divide(x, 0.3), (X,)),
    ("mod", lambda x: jnp.mod(x, 0.7), (X,)),
    ("relu6", lambda x: jax.nn.relu6(x * 10), (X,)),
    ("bits", lambda x: lax.bitcast_convert_type(x, jnp.int32), (X,)),
    ("magnitude by bits", lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.int32) & 0x7FFFFFFF, jnp.float32), (X,)),
    ("stop gradient", lambda x: lax.stop_gradient(x) + 1, (X,)),
    ("jit inside", lambda x: jax.jit(lambda v: v * 2)(x) + jax.jit(lambda v: v * 2)(x + 1), (X,)),
]
ACTIVATIONS: list[Case] = [
    *((f.__name__, f, (X * 3,)) for f in (jax.nn.relu, jax.nn.sigmoid, jax.nn.silu, jax.nn.softplus, jax.nn.elu)),
    *((f.__name__, f, (X * 3,)) for f in (jax.nn.leaky_relu, jax.nn.softmax, jax.nn.log_softmax, jax.nn.hard_swish)),
    *((f.__name__, f, (X * 3,)) for f in (jax.nn.selu, jax.nn.celu, jax.nn.log_sigmoid, jax.nn.mish, jax.nn.soft_sign)),
    ("gelu tanh", jax.nn.gelu, (X * 3,)),
    ("gelu exact", lambda x: jax.nn.gelu(x, approximate=False), (X * 3,)),
    ("softmax axis 0", lambda x: jax.nn.softmax(x, axis=0), (X,)),
    ("logsumexp", lambda x: jax.nn.logsumexp(x, axis=-1), (X,)),
    ("one hot", lambda i: jax.nn.one_hot(i, 5), (IDS,)),
    ("glu", jax.nn.glu, (X,)),
    ("standardize", jax.nn.standardize, (X,)),
]
SHAPES: list[Case] = [
    ("reshape", lambda x: x.reshape(2, 6), (X,)),
    ("reshape of broadcast", lambda x: (jnp.broadcast_to(x[:, None], (3, 5, 4)) * 1.0).reshape(15, 4), (X,)),
    ("transpose", lambda x: x.transpose(2, 0, 1), (rand(2, 3, 4),)),
    ("swap", lambda x: jnp.swapaxes(x, 0, 1)[..., None], (rand(1, 3, 4),)),
    ("concat", lambda x, y: jnp.concatenate([x, y, x], 1), (X, Y)),
    ("stack", lambda x, y: jnp.stack([x, y], 1), (X, Y)),
    ("split", lambda x: jnp.split(x, 2, 1), (X,)),
    ("slice", lambda x: x[1:, ::2], (X,)),
    ("flip", lambda x: x[:, ::-1], (X,)),
    ("roll", lambda x: jnp.roll(x, 1, 1), (X,)),
    ("tile", lambda x: jnp.tile(x, (2, 3)), (X,)),
    ("repeat", lambda x: jnp.repeat(x, 2, axis=1), (X,)),
    ("pad", lambda x: jnp.pad(x, ((1, 2), (0, 3)), constant_values=2.0), (X,)),
    ("crop", lambda x: lax.pad(x, 0.0, ((-1, 0, 0), (0, -1, 0))), (X,)),
    ("expand", lambda x: jnp.expand_dims(x, (0, 2)).squeeze(0), (X,)),
    ("triu", lambda x: jnp.triu(x), (rand(4, 4),)),
    ("take rows", lambda t, i: jnp.take(t, i, axis=0), (X, jnp.array([[0, 2], [1, 1]]))),
    ("take columns", lambda t, i: jnp.take(t, i, axis=1), (X, jnp.array([3, 0]))),
    ("take clip", lambda t, i: jnp.take(t, i, axis=0, mode="clip"), (X, jnp.array([0, 2]))),
    ("index", lambda t, i: t[i], (X, IDS % 3)),
    ("index pairs", lambda t, i, j: t[i, j], (X, jnp.array([0, 2]), jnp.array([3, 1]))),
    ("constant index", lambda t: t[jnp.array([2, 0, 1])], (X,)),
    ("last", lambda t: t[:, -1], (X,)),
    ("along axis", lambda t, i: jnp.take_along_axis(t, i, axis=1), (X, jnp.array([[1, 0], [2, 3], [3, 3]]))),
    ("dynamic slice", lambda t, i: lax.dynamic_slice(t, (i[0], 0), (1, 4)), (X, jnp.array([2]))),
    ("dynamic window", lambda t, i: lax.dynamic_slice_in_dim(t, i[0], 2, 0), (X, jnp.array([1]))),
    (
        "dynamic update",
        lambda t, u, i: lax.dynamic_update_slice_in_dim(t, u, i[0], 0),
        (X, Y[:1], jnp.array([1])),
    ),
    ("set", lambda t, u: t.at[:, 1].set(u), (X, Y[:, 0])),
    ("add rows", lambda t, u, i: t.at[i].add(u), (X, Y[:2], jnp.array([2, 2]))),
    ("add columns", lambda t, u, i: t.at[:, i].add(u), (X, Y[:, :2], jnp.array([3, 0]))),
    ("segment sum", lambda x: jax.ops.segment_sum(x, jnp.array([0, 1, 0]), 2), (X,)),
    ("image resize", lambda x: jax.image.resize(x, (2, 16, 16, 3), "bilinear"), (IMAGE,)),
    ("set window", lambda t, u: t.at[1:, 1:3].set(u), (X, Y[:2, :2])),
    ("set the only column", lambda t, i: t.at[:, i].set(9.0), (X[:, :1], jnp.array(0))),
    ("set behind the only column", lambda t, i: t.at[:, i].set(9.0), (X[:, :1], jnp.array(1))),
    ("add behind the only column", lambda t, i: t.at[:, i].add(9.0), (X[:, :1], jnp.array(1))),
    ("set a constant place behind the only column", lambda t: t.at[:, 1].set(9.0), (X[:, :1],)),
]
REDUCTIONS: list[Case] = [
    *((f.__name__, lambda x, f=f: f(x, axis=1), (X,)) for f in (jnp.sum, jnp.mean, jnp.max, jnp.min, jnp.prod)),
    *((f.__name__ + " all", f, (X,)) for f in (jnp.sum, jnp.mean, jnp.max)),
    ("var", lambda x: jnp.var(x, axis=-1), (X,)),
    ("std keep", lambda x: jnp.std(x, axis=0, keepdims=True), (X,)),
    ("sum of broadcast", lambda x: jnp.sum(jnp.broadcast_to(x[:, None], (3, 5, 4)), axis=1), (X,)),
    ("norm", lambda x: jnp.linalg.norm(x, axis=-1), (X,)),
    ("any", lambda x: jnp.any(x > 0.9, axis=1), (X,)),
    ("all", lambda x: jnp.all(x > -0.9, axis=1), (X,)),
    ("argmax", lambda x: jnp.argmax(x, axis=1), (X,)),
    ("argmin", lambda x: jnp.argmin(x, axis=0), (X,)),
    ("cumsum", lambda x: jnp.cumsum(x, axis=1), (X,)),
    ("reverse cumsum", lambda x: lax.cumsum(x, axis=1, reverse=True), (X,)),
    ("top k", lambda x: lax.top_k(x, 2), (X,)),
    ("sort", lambda x: jnp.sort(x, axis=-1), (X,)),
    ("argsort", lambda x: jnp.argsort(x, axis=-1), (X,)),
    (
        "max pool",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        (IMAGE,),
    ),
    (
        "max pool same",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
        (IMAGE,),
    ),
    (
        "max pool nchw",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
        (rand(2, 3, 8, 8),),
    ),
    (
        "max pool 1d",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 1), (1, 2, 1), "VALID"),
        (rand(2, 8, 3),),
    ),
    ("sum pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), (IMAGE,)),
    (
        "mean pool",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4.0,
        (IMAGE,),
    ),
]


def conv(x: Any, w: Any, strides: Any, padding: Any, **options: Any) -> Any:
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


LINEAR: list[Case] = [
    ("matmul", jnp.matmul, (X, rand(4, 5))),
    ("matmul batch", jnp.matmul, (rand(2, 3, 4), rand(2, 4, 5))),
    ("matmul broadcast", jnp.matmul, (rand(2, 3, 4), rand(4, 5))),
    ("transposed", lambda x, w: x @ w.T, (X, rand(5, 4))),
    ("vector", jnp.matmul, (X, rand(4))),
    ("dot", jnp.dot, (rand(4), rand(4, seed=1))),
    ("einsum heads", lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), (rand(2, 3, 2, 4), rand(2, 5, 2, 4))),
    ("einsum values", lambda w, v: jnp.einsum("bhqk,bkhd->bqhd", w, v), (rand(2, 2, 3, 5), rand(2, 5, 2, 4))),
    ("einsum project", lambda x, w: jnp.einsum("bsd,dhk->bshk", x, w), (rand(2, 3, 4), rand(4, 2, 5))),
    ("einsum merge", lambda x, w: jnp.einsum("bshk,hkd->bsd", x, w), (rand(2, 3, 2, 5), rand(2, 5, 4))),
    ("einsum outer", lambda x, y: jnp.einsum("i,j->ij", x, y), (rand(3), rand(4))),
    ("einsum trace", lambda x, y: jnp.einsum("ij,ji->i", x, y), (rand(3, 4), rand(4, 3))),
    ("left contracted", lambda x, y: jnp.einsum("ki,kj->ij", x, y), (rand(4, 3), rand(4, 5))),
    ("conv same", lambda x, w: conv(x, w, (1, 1), "SAME"), (IMAGE, rand(3, 3, 3, 4))),
    ("conv strided", lambda x, w: conv(x, w, (2, 2), "SAME"), (IMAGE, rand(3, 3, 3, 4))),
    (
        "conv valid dilated",
        lambda x, w: conv(x, w, (1, 1), "VALID", rhs_dilation=(2, 2)),
        (IMAGE, rand(3, 3, 3, 4)),
    ),
    (
        "conv depthwise",
        lambda x, w: conv(x, w, (1, 1), "SAME", feature_group_count=3),
        (IMAGE, rand(3, 3, 1, 6)),
    ),
    ("conv bias", lambda x, w, b: conv(x, w, (1, 1), "VALID") + b, (IMAGE, rand(3, 3, 3, 4), rand(4))),
    ("conv nchw", lambda x, w: lax.conv(x, w, (1, 1), "SAME"), (rand(2, 3, 8, 8), rand(4, 3, 3, 3))),
    ("conv transposed", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), (IMAGE, rand(3, 3, 3, 4))),
    (
        "conv transposed valid",
        lambda x, w: lax.conv_transpose(x, w, (2, 2), "VALID"),
        (IMAGE, rand(2, 2, 3, 4)),
    ),
    (
        "conv 1d",
        lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")),
        (rand(2, 9, 3), rand(3, 3, 4)),
    ),
]


def scanned(x: Any, w: Any) -> Any:
    def step(carry: Any, weight: Any) -> Any:
        carry = jnp.tanh(carry @ weight)
        return carry, carry.sum()

    return lax.scan(step, x, w)


CONTROL: list[Case] = [
    ("fori", lambda x: lax.fori_loop(0, 3, lambda i, v: v * 2.0 + i, x), (X,)),
    (
        "while",
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2.0), (0, x))[1],
        (X,),
    ),
    ("scan", scanned, (X, rand(3, 4, 4))),
    ("cond static", lambda x: lax.cond(True, lambda v: v + 1, lambda v: v - 1, x), (X,)),
    ("vmap", jax.vmap(lambda v: jnp.dot(v, v)), (X,)),
    ("checkpoint", jax.checkpoint(lambda x: jnp.sin(x) * 2), (X,)),
    ("custom jvp", jax.nn.relu, (X,)),
]


ALL = {
    f"{number}_{name}": (function, args, 1e-3 if "gelu" in name else 2e-5)
    for number, (name, function, args) in enumerate(ELTWISE + ACTIVATIONS + SHAPES + REDUCTIONS + LINEAR + CONTROL)
}


@pytest.mark.parametrize("cases", groups(ALL, 12, lambda name, case: case[2]))
def test_equals_jax(cases: dict[str, Any]) -> None:
    together(cases, lambda chosen: check_functions([case[:2] for case in chosen], tolerance=chosen[0][2]))
