"""Functions of chlo that have no op: what they are in simpler ones, most in float32.

Of constants they are not computed, but for `erf_inv` (random numbers).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends.coefficients import ERFINV_MIDDLE, ERFINV_TAIL, I1_LARGE, I1_SMALL, LANCZOS
from alchemist.frontends.stablehlo.convert import Converter, rule, type_of
from alchemist.frontends.stablehlo.values import Val, fold


def _chosen(c: Converter, comparison: str, a: Val, b: float, then: Val | float, otherwise: Val | float) -> Val:
    return c.e.op("where", c.e.op(comparison, a, b), then, otherwise)


def _polynomial(c: Converter, factors: Sequence[float], at: Val) -> Val:
    """factors from the constant on."""
    total = c.e.op("multiply", at, factors[-1])
    for factor in factors[-2:0:-1]:
        total = c.e.op("multiply", c.e.op("add", total, factor), at)
    return c.e.op("add", total, factors[0])


@rule("chlo.erf_inv")
def erf_inv(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """x * polynomial(-log(1 - x^2)): what `jax.random.normal` comes down to; of constants, computed now."""
    quantile = NormalDist().inv_cdf
    function = np.vectorize(lambda x: quantile((x + 1) / 2) / math.sqrt(2) if abs(x) < 1 else x * math.inf)
    folded = fold(function, vals, *type_of(op.results[0]))
    if folded is not None:
        return folded
    f, x = c.e.op, vals[0]
    w = f("neg", f("log1p", f("neg", f("square", x))))
    centre = _polynomial(c, ERFINV_MIDDLE, f("subtract", w, 2.5))
    tails = _polynomial(c, ERFINV_TAIL, f("subtract", f("sqrt", w), 3.0))
    return f("multiply", f("abs", _chosen(c, "lt", w, 5.0, centre, tails)), x)  # at the ends the tails' polynomial is -inf


@rule("chlo.lgamma")
def lgamma(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Lanczos' series, reflected for arguments below one half."""
    f, x = c.e.op, c.e.typecast(vals[0], "f32")
    z = f("subtract", _chosen(c, "lt", x, 0.5, f("subtract", 1.0, x), x), 1.0)
    series: Val | float = LANCZOS[0]
    for step, factor in enumerate(LANCZOS[1:], 1):
        series = f("add", f("div", factor, f("add", z, float(step))), series)
    t = f("add", z, 7.5)
    value = f("subtract", f("multiply", f("add", z, 0.5), f("log", t)), t)
    value = f("add", f("add", value, f("log", series)), 0.5 * math.log(2 * math.pi))
    turned = f("log", f("abs", f("sin", f("multiply", x, math.pi))))
    return c.e.typecast(_chosen(c, "lt", x, 0.5, f("subtract", f("subtract", math.log(math.pi), turned), value), value), vals[0].of)


@rule("chlo.digamma")
def digamma(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Six steps of the recurrence, then the asymptotic series; reflected for arguments below one half."""
    f, x = c.e.op, c.e.typecast(vals[0], "f32")
    z = _chosen(c, "lt", x, 0.5, f("subtract", 1.0, x), x)
    below = f("reciprocal", z)
    for step in range(1, 6):
        below = f("add", below, f("reciprocal", f("add", z, float(step))))
    z = f("add", z, 6.0)
    w = f("reciprocal", f("square", z))
    series = f("multiply", w, _polynomial(c, (1 / 12, -1 / 120, 1 / 252, -1 / 240), w))
    value = f("subtract", f("subtract", f("log", z), f("multiply", f("reciprocal", z), 0.5)), f("add", series, below))
    turned = f("multiply", f("reciprocal", f("tan", f("multiply", x, math.pi))), math.pi)
    return c.e.typecast(_chosen(c, "lt", x, 0.5, f("subtract", value, turned), value), vals[0].of)


@rule("chlo.bessel_i1e")
def bessel_i1e(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """exp(-|x|) I1(x)."""
    f, x = c.e.op, c.e.typecast(vals[0], "f32")
    size = f("abs", x)
    small = f("minimum", size, 3.75)
    low = f("multiply", _polynomial(c, I1_SMALL, f("square", f("multiply", small, 1 / 3.75))), f("exp", f("neg", small)))
    large = f("maximum", size, 3.75)
    high = f("multiply", _polynomial(c, I1_LARGE, f("div", 3.75, large)), f("rsqrt", large))
    return c.e.typecast(_chosen(c, "le", size, 3.75, f("multiply", low, x), f("multiply", high, f("sign", x))), vals[0].of)
