"""Functions of torch.special and odd elementwise ops, in terms of simpler ones. Coefficients are those of the tables named."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from alchemist.frontends.torch.registry import recipe

I0_SMALL = (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813)
"""Abramowitz and Stegun 9.8.1: I0 up to 3.75 in (x / 3.75)^2."""
I0_LARGE = (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377)
"""9.8.2: sqrt(x) exp(-x) I0 from 3.75 on, in 3.75 / x."""
I1_SMALL = (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411)
"""9.8.3: I1 / x up to 3.75."""
I1_LARGE = (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654, -0.00420059)
"""9.8.4: sqrt(x) exp(-x) I1 from 3.75 on."""
ERFC = (-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277)
"""Chebyshev fit of log(erfc(z) exp(z^2) / t) in t = 1 / (1 + z / 2) for z from 0 on (Numerical Recipes, erfcc), to 1.2e-7 of the value."""


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
