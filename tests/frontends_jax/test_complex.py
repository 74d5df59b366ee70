"""Complex numbers and Fourier transforms in JAX functions: the programs compute with real and imaginary parts, and equal JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from alchemist.errors import UserError
from alchemist.frontends.jax import capture
from tests.frontends_jax.checking import check_functions
from tests.frontends_jax.test_ops import rand
from tests.tables import together

FREQUENCIES = np.exp(1j * np.outer(np.arange(6), [1, 0.1, 0.01, 0.001])).astype(np.complex64)
Arrays = tuple[jax.Array, ...]


def parts(*values: jax.Array) -> Arrays:
    return tuple(part for value in values for part in (value.real, value.imag))


def state_space(log_dt: Any, re: Any, im: Any, c_re: Any, c_im: Any, u: Any) -> Arrays:
    """S4D: a kernel of powers, applied by FFT."""
    dt, a, c = jnp.exp(log_dt), -jnp.exp(re) + 1j * im, c_re + 1j * c_im
    kernel = 2 * jnp.einsum("hn,hnl->hl", c * (jnp.exp(a * dt[:, None]) - 1.0) / a, jnp.exp((a * dt[:, None])[..., None] * jnp.arange(u.shape[-1]))).real
    length = u.shape[-1]
    return jnp.fft.irfft(jnp.fft.rfft(kernel, n=2 * length) * jnp.fft.rfft(u, n=2 * length), n=2 * length)[..., :length], kernel


def linear_recurrence(nu: Any, theta: Any, x: Any) -> Arrays:
    decay = jnp.repeat(jnp.exp(-jnp.exp(nu) + 1j * jnp.exp(theta))[None], x.shape[0], 0)
    _, states = lax.associative_scan(lambda p, q: (q[0] * p[0], q[0] * p[1] + q[1]), (decay, x * (1 + 0.5j)))
    return parts(states)


def scanned(nu: Any, x: Any) -> Arrays:
    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        carry = jnp.exp(1j * nu) * carry + row
        return carry, carry

    last, rows = lax.scan(step, jnp.zeros(nu.shape, jnp.complex64), x)
    return *parts(last, rows), jnp.abs(rows)


def rotary(x: Any) -> jax.Array:
    z = lax.complex(x[..., ::2], x[..., 1::2]) * FREQUENCIES
    return jnp.stack([z.real, z.imag], -1).reshape(x.shape)


def spectrogram(x: Any) -> jax.Array:
    frames = jnp.stack([x[:, i * 8 : i * 8 + 16] for i in range(7)], 1) * jnp.hanning(16)
    return jnp.abs(jnp.fft.rfft(frames)) ** 2


def fourier_operator(x: Any, re: Any, im: Any) -> jax.Array:
    modes = jnp.einsum("bhwc,cd->bhwd", jnp.fft.rfft2(x, axes=(1, 2), norm="ortho"), lax.complex(re, im))
    return jnp.fft.irfft2(modes, s=x.shape[1:3], axes=(1, 2), norm="ortho")


def functions(x: Any, y: Any) -> Arrays:
    z = x + 1j * y
    whole = (
        jnp.sqrt(z), jnp.log(z), jnp.sin(z), jnp.cos(z), jnp.tan(z), jnp.tanh(z), jnp.sinh(z), jnp.cosh(z), jnp.expm1(z), jnp.log1p(z), z**3, z**-2, z**0.5, 1 / z,
        jnp.sign(z), jax.nn.sigmoid(z), lax.rsqrt(z), z.conj(), z / (2 + 1j), jnp.sqrt(-jnp.abs(x) + 0j),
    )  # fmt: skip
    return *parts(*whole), jnp.abs(z), jnp.angle(z), z == z.conj(), jnp.isfinite(z)


def moved(x: Any, y: Any) -> Arrays:
    z = x + 1j * y
    written = z.at[0].set(2j).at[1].add(y[1])
    return parts(
        z[1:], jnp.where(x > 0, z, z.conj()), jnp.roll(z, 1), z.sum(1), z.mean(), jnp.prod(z, 0), jnp.cumsum(z, 1), z @ z.T, z.T @ x, written, z.at[0].set(x[0])
    )


def transforms(x: Any, y: Any) -> Arrays:
    z, fft = x + 1j * y, jnp.fft
    whole = (
        fft.fft(x), fft.ifft(z), fft.fft(z, axis=0), fft.rfft(x), fft.rfft(x, n=5), fft.fft(z, n=9), fft.fft2(z), fft.ifft2(z), fft.rfft2(x), fft.fftshift(z),
        fft.ihfft(x), fft.fft(x, norm="ortho"),
    )  # fmt: skip
    back = (fft.irfft(fft.rfft(x)), fft.irfft(z, n=7), fft.irfft2(fft.rfft2(x)), fft.irfft(z), fft.irfftn(fft.rfftn(x)), fft.hfft(z))
    return *parts(*whole), *back


def control(x: Any) -> Arrays:
    z = x + 0j
    twice = jax.jit(lambda value: value * value + 1)
    return parts(
        lax.fori_loop(0, 3, lambda i, value: value * (1j + i), z),
        lax.switch(1, [lambda value: value, lambda value: value * 1j], z),
        twice(twice(x + 1j)),
        jax.vmap(lambda row: jnp.vdot(row * 1j, row))(x),
        jax.checkpoint(lambda value: jnp.exp(1j * value))(x),
    )


CASES: dict[str, Any] = {
    "state space": (state_space, (rand(3, low=-4, high=-2), rand(3, 4), rand(3, 4, seed=1), rand(3, 4, seed=2), rand(3, 4, seed=3), rand(2, 3, 16))),
    "linear recurrence": (linear_recurrence, (rand(4), rand(4, seed=1), rand(9, 4, seed=2))),
    "scan": (scanned, (rand(4), rand(5, 4, seed=1))),
    "rotary": (rotary, (rand(2, 6, 8),)),
    "fourier mixing": (lambda x: jnp.fft.fft2(x).real, (rand(2, 8, 6),)),
    "spectrogram": (spectrogram, (rand(2, 64),)),
    "fourier operator": (fourier_operator, (rand(2, 8, 8, 4), rand(4, 4), rand(4, 4, seed=1))),
    "functions": (functions, (rand(3, 4), rand(3, 4, seed=1))),
    "moved": (moved, (rand(4, 4), rand(4, 4, seed=1))),
    "transforms": (transforms, (rand(4, 6), rand(4, 6, seed=1))),
    "control": (control, (rand(5, 4),)),
    "gradient": (jax.grad(lambda x: jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 2) + jnp.sum(jnp.exp(1j * x).real * x)), (rand(8),)),
}


def test_equals_jax() -> None:
    together(CASES, lambda chosen: check_functions(chosen, tolerance=5e-5))


@pytest.mark.parametrize(
    ("function", "argument", "message"),
    [
        (lambda z: z.real, FREQUENCIES, "a complex argument"),
        (lambda x: x * 1j, rand(3), "a complex output"),
        (lambda x: jnp.linalg.eigvals(x).real, rand(3, 3), r"eig  x1  at test_complex\.py:\d+: no lowering for complex numbers"),
        (lambda x: jnp.sort(x + 1j).real, rand(3), r"sort  x1  at test_complex\.py:\d+: no lowering for complex numbers"),
        (lambda x: jnp.fft.fft(x).real, np.ones(9000, np.float32), "Fourier transform of 9000 points"),
    ],
)
def test_refused(function: Any, argument: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        capture(function, (jnp.asarray(argument),))
