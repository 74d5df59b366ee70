"""Decomposes functions without a TTIR op into simpler ones, for every front end; with their tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

V = TypeVar("V")


def _operator(name: str) -> Callable[[Term[V], Term[V] | float], Term[V]]:
    return lambda self, other: self.op(name, other)


class Term(Generic[V]):
    """A value in a formula. make: the element-wise TTIR op of a name on values and numbers, which have the type of the values beside them."""

    __slots__ = ("make", "value")

    def __init__(self, make: Callable[..., V], value: V) -> None:
        self.make = make
        self.value = value

    def op(self, name: str, *others: Term[V] | float) -> Term[V]:
        return Term(self.make, self.make(name, self.value, *(other.value if isinstance(other, Term) else other for other in others)))

    __add__ = _operator("add")
    __sub__ = _operator("subtract")
    __mul__ = _operator("multiply")
    __truediv__ = _operator("div")

    def __rsub__(self, other: float) -> Term[V]:
        return Term(self.make, self.make("subtract", other, self.value))

    def __rtruediv__(self, other: float) -> Term[V]:
        return self.op("reciprocal") * other

    def __neg__(self) -> Term[V]:
        return self.op("neg")


Function = Callable[[Term[Any]], Term[Any]]


def polynomial(x: Term[V], factors: Sequence[float]) -> Term[V]:
    """factors from the constant on."""
    total = x * factors[-1]
    for factor in factors[-2:0:-1]:
        total = (total + factor) * x
    return total + factors[0]


def sinh(x: Term[V]) -> Term[V]:
    return (x.op("exp") - (-x).op("exp")) * 0.5


def cosh(x: Term[V]) -> Term[V]:
    return (x.op("exp") + (-x).op("exp")) * 0.5


def atanh(x: Term[V]) -> Term[V]:
    return (x.op("log1p") - (-x).op("log1p")) * 0.5


def acosh(x: Term[V]) -> Term[V]:
    return (x + (x.op("square") - 1.0).op("sqrt")).op("log")


def round_half_up(x: Term[V]) -> Term[V]:
    """Halves away from zero."""
    return x.op("sign") * (x.op("abs") + 0.5).op("floor")


def round_half_even(x: Term[V]) -> Term[V]:
    """floor(x + 1/2), minus one where that rounded a tie up to an odd number."""
    raised = x + 0.5
    up = raised.op("floor")
    half = up * 0.5
    odd_tie = raised.op("eq", up).op("logical_and", half.op("ne", half.op("floor")))
    return odd_tie.op("where", up - 1.0, up)


def erfinv(x: Term[V]) -> Term[V]:
    """Giles' polynomials in -log(1 - x^2), one for the middle and one for the tails; at the ends the tails' is -inf."""
    w = -(-x.op("square")).op("log1p")
    middle, tails = polynomial(w - 2.5, ERFINV_MIDDLE), polynomial(w.op("sqrt") - 3.0, ERFINV_TAIL)
    return w.op("lt", 5.0).op("where", middle, tails).op("abs") * x


def _fraction(x: Term[V]) -> Term[V]:
    """The distance from the whole number below: exactly zero at whole numbers, where sin(pi x) in float32 is not."""
    return x - x.op("floor")


def lgamma(x: Term[V]) -> Term[V]:
    """Lanczos' series, reflected for arguments below one half; infinite at zero and the negative whole numbers."""
    low = x.op("lt", 0.5)
    z = low.op("where", 1.0 - x, x) - 1.0
    series = LANCZOS[1] / (z + 1.0) + LANCZOS[0]
    for step, factor in enumerate(LANCZOS[2:], 2):
        series = factor / (z + float(step)) + series
    t = z + 7.5
    value = (z + 0.5) * t.op("log") - t + series.op("log") + 0.5 * math.log(2 * math.pi)
    return low.op("where", math.log(math.pi) - (_fraction(x) * math.pi).op("sin").op("abs").op("log") - value, value)


def digamma(x: Term[V]) -> Term[V]:
    """Six steps of the recurrence, then the asymptotic series; reflected for arguments below one half: -inf at zero, NaN at its other poles."""
    low = x.op("lt", 0.5)
    z = low.op("where", 1.0 - x, x)
    below = z.op("reciprocal")
    for step in range(1, 6):
        below = below + (z + float(step)).op("reciprocal")
    z = z + 6.0
    w = z.op("square").op("reciprocal")
    value = z.op("log") - 0.5 / z - (w * polynomial(w, (1 / 12, -1 / 120, 1 / 252, -1 / 240)) + below)
    fraction = _fraction(x)
    reflected = value - math.pi / (fraction * math.pi).op("tan")
    pole = fraction.op("eq", 0.0).op("logical_and", x.op("lt", 0.0))
    return low.op("where", pole.op("where", math.nan, reflected), value)


def _bessel_scaled(x: Term[V], small: Sequence[float], large: Sequence[float], odd: bool) -> Term[V]:
    """exp(-|x|) times I0 or, odd, I1."""
    size = x.op("abs")
    near, far = size.op("minimum", 3.75), size.op("maximum", 3.75)
    low = polynomial((near * (1 / 3.75)).op("square"), small) * (-near).op("exp")
    high = polynomial(3.75 / far, large) * far.op("rsqrt")
    return size.op("le", 3.75).op("where", low * x if odd else low, high * x.op("sign") if odd else high)


def i0e(x: Term[V]) -> Term[V]:
    return _bessel_scaled(x, I0_SMALL, I0_LARGE, odd=False)


def i1e(x: Term[V]) -> Term[V]:
    return _bessel_scaled(x, I1_SMALL, I1_LARGE, odd=True)


def i0(x: Term[V]) -> Term[V]:
    return i0e(x) * x.op("abs").op("exp")


def i1(x: Term[V]) -> Term[V]:
    return i1e(x) * x.op("abs").op("exp")


def _log_erfcx(z: Term[V]) -> Term[V]:
    """log(erfc(z) exp(z^2)) for z from 0 on."""
    t = 1.0 / (z * 0.5 + 1.0)
    return t.op("log") + polynomial(t, ERFC)


def erfcx(x: Term[V]) -> Term[V]:
    above = _log_erfcx(x.op("abs")).op("exp")
    return x.op("lt", 0.0).op("where", x.op("square").op("exp") * 2.0 - above, above)


def log_ndtr(x: Term[V]) -> Term[V]:
    """In the left tail as the exponent of what is left there: the share itself would be zero."""
    z = x.op("abs") * math.sqrt(0.5)
    tail = _log_erfcx(z) - z.op("square")  # log(erfc(z))
    return x.op("lt", 0.0).op("where", tail - math.log(2.0), (tail.op("exp") * -0.5).op("log1p"))


def ndtri(p: Term[V]) -> Term[V]:
    return erfinv(p * 2.0 - 1.0) * math.sqrt(2.0)


IN_FLOAT32: tuple[Function, ...] = (lgamma, digamma, i0, i0e, i1, i1e, erfcx, log_ndtr)
"""Series, which lose more than a result of 16 bits shows."""

LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
"""C. Lanczos' series of the gamma function with g = 7 and nine terms (P. Godfrey's values)."""
ERFINV_MIDDLE = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
ERFINV_TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257,
)  # fmt: skip
"""M. Giles, "Approximating the erfinv function" (2010), single precision: in w - 2.5 and sqrt(w) - 3 of w = -log(1 - x^2)."""
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
