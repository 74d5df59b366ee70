"""Functions of torch.special and odd elementwise ops, in terms of simpler ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from alchemist.frontends.coefficients import ERFC, ERFINV_MIDDLE, ERFINV_TAIL, I0_LARGE, I0_SMALL, I1_LARGE, I1_SMALL, LANCZOS
from alchemist.frontends.torch.registry import recipe


def _polynomial(x: torch.Tensor, factors: Sequence[float]) -> torch.Tensor:
    """factors from the constant on."""
    total = x * factors[-1]
    for factor in factors[-2:0:-1]:
        total = (total + factor) * x
    return total + factors[0]


def _bessel_scaled(x: torch.Tensor, small: Sequence[float], large: Sequence[float], odd: bool) -> torch.Tensor:
    """exp(-|x|) times I0 or, odd, I1."""
    size = torch.abs(x)
    square = torch.square(size.clamp(max=3.75) / 3.75)
    low = _polynomial(square, small) * torch.exp(-size.clamp(max=3.75))
    high = size.clamp(min=3.75)
    high = _polynomial(3.75 / high, large) * torch.rsqrt(high)
    if odd:
        return torch.where(size <= 3.75, low * x, high * torch.sign(x))
    return torch.where(size <= 3.75, low, high)


@recipe("aten.special_i0e.default", "prims.bessel_i0e.default")
def i0e(x: torch.Tensor) -> torch.Tensor:
    return _bessel_scaled(x, I0_SMALL, I0_LARGE, odd=False)


@recipe("aten.i0.default", "aten.special_i0.default", "prims.bessel_i0.default", "aten.special_modified_bessel_i0.default")
def i0(x: torch.Tensor) -> torch.Tensor:
    return i0e(x) * torch.exp(torch.abs(x))


@recipe("aten.special_i1e.default", "prims.bessel_i1e.default")
def i1e(x: torch.Tensor) -> torch.Tensor:
    return _bessel_scaled(x, I1_SMALL, I1_LARGE, odd=True)


@recipe("aten.special_i1.default", "prims.bessel_i1.default", "aten.special_modified_bessel_i1.default")
def i1(x: torch.Tensor) -> torch.Tensor:
    return i1e(x) * torch.exp(torch.abs(x))


def _log_erfcx(z: torch.Tensor) -> torch.Tensor:
    """log(erfc(z) exp(z^2)) for z from 0 on."""
    t = 1.0 / (1.0 + 0.5 * z)
    return torch.log(t) + _polynomial(t, ERFC)


@recipe("aten.special_erfcx.default", "prims.erfcx.default")
def erfcx(x: torch.Tensor) -> torch.Tensor:
    above = torch.exp(_log_erfcx(torch.abs(x)))
    return torch.where(x < 0, 2.0 * torch.exp(torch.square(x)) - above, above)


@recipe("aten.special_log_ndtr.default")
def log_ndtr(x: torch.Tensor) -> torch.Tensor:
    """In the left tail as the exponent of what is left there: the share itself would be zero."""
    z = torch.abs(x) * math.sqrt(0.5)
    tail = _log_erfcx(z) - torch.square(z)  # log(erfc(z))
    return torch.where(x < 0, tail - math.log(2.0), torch.log1p(-0.5 * torch.exp(tail)))


@recipe("aten.special_ndtri.default", "prims.ndtri.default")
def ndtri(p: torch.Tensor) -> torch.Tensor:
    return torch.erfinv(2.0 * p - 1.0) * math.sqrt(2.0)


@recipe("aten.angle.default")
def angle(x: torch.Tensor) -> torch.Tensor:
    """Of real numbers."""
    turned = torch.where(x < 0, math.pi, 0.0)
    return torch.where(torch.isnan(x), x, turned) if x.dtype.is_floating_point else turned


@recipe("aten.fmax.default", "prims.fmax.default")
def fmax(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The larger, or the one that is a number."""
    return torch.where(torch.isnan(a), b, torch.where(torch.isnan(b), a, torch.maximum(a, b)))


@recipe("aten.fmin.default", "prims.fmin.default")
def fmin(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.isnan(a), b, torch.where(torch.isnan(b), a, torch.minimum(a, b)))


@recipe("aten.frexp.Tensor", "prims.frexp.default")
def frexp(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mantissas in [0.5, 1) and exponents; the logarithm may round to the next power of two, which the mantissa shows."""
    size = torch.abs(x)
    exponent = torch.where(size > 0, torch.floor(torch.log2(torch.where(size > 0, size, 1.0))) + 1.0, 0.0)
    mantissa = x * torch.exp2(-exponent)
    for wrong, step in ((torch.abs(mantissa) >= 1.0, 1.0), ((torch.abs(mantissa) < 0.5) & (size > 0), -1.0)):
        exponent = torch.where(wrong, exponent + step, exponent)
        mantissa = torch.where(wrong, mantissa * 2.0**-step, mantissa)
    return mantissa, exponent.to(torch.int32)


@recipe("aten.lgamma.default", "prims.lgamma.default")
def lgamma(x: torch.Tensor) -> torch.Tensor:
    """Lanczos' series (g = 7), reflected for arguments below one half."""
    low = x < 0.5
    z = torch.where(low, 1 - x, x) - 1
    series = torch.full_like(z, LANCZOS[0])
    for step, factor in enumerate(LANCZOS[1:], 1):
        series = series + factor / (z + step)
    t = z + 7.5
    value = (z + 0.5) * torch.log(t) - t + torch.log(series) + 0.5 * math.log(2 * math.pi)
    return torch.where(low, math.log(math.pi) - torch.log(torch.abs(torch.sin(math.pi * x))) - value, value)


@recipe("aten.digamma.default", "prims.digamma.default")
def digamma(x: torch.Tensor) -> torch.Tensor:
    """Six steps of the recurrence, then the asymptotic series; reflected for arguments below one half."""
    low = x < 0.5
    z = torch.where(low, 1 - x, x)
    below = torch.zeros_like(z)
    for step in range(6):
        below = below + 1.0 / (z + step)
    z = z + 6
    w = 1.0 / (z * z)
    value = torch.log(z) - 0.5 / z - w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w / 240))) - below
    return torch.where(low, value - math.pi / torch.tan(math.pi * x), value)


@recipe("aten.erfinv.default", "aten.special_erfinv.default", "prims.erf_inv.default")
def erfinv(x: torch.Tensor) -> torch.Tensor:
    """Giles' polynomials in -log(1 - x^2), one for the middle and one for the tails."""
    w = -torch.log1p(-x * x)
    middle, tail = w - 2.5, torch.sqrt(w.clamp(min=5.0)) - 3.0

    value = torch.where(w < 5.0, _polynomial(middle, ERFINV_MIDDLE), _polynomial(tail, ERFINV_TAIL))
    return torch.abs(value) * x  # at the ends the tail's polynomial is -inf
