"""Decomposes functions of StableHLO and chlo without a TTIR op."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends import functions
from alchemist.frontends.stablehlo.convert import Converter, rule, type_of
from alchemist.frontends.stablehlo.values import Val, fold

_FUNCTIONS: dict[str, functions.Function] = {
    "chlo.sinh": functions.sinh,
    "chlo.cosh": functions.cosh,
    "chlo.atanh": functions.atanh,
    "chlo.acosh": functions.acosh,
    "chlo.lgamma": functions.lgamma,
    "chlo.digamma": functions.digamma,
    "chlo.bessel_i1e": functions.i1e,
    "stablehlo.round_nearest_afz": functions.round_half_up,
    "stablehlo.round_nearest_even": functions.round_half_even,
}


def _made(c: Converter, function: functions.Function, x: Val) -> Val:
    term = functions.Term(c.e.op, c.e.typecast(x, "f32") if function in functions.IN_FLOAT32 else x)
    result: Val = function(term).value
    return c.e.typecast(result, x.of)


@rule(*_FUNCTIONS)
def function(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return _made(c, _FUNCTIONS[op.name], vals[0])


@rule("chlo.erf_inv")
def erf_inv(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """The core of `jax.random.normal`; folded for constants."""
    quantile = NormalDist().inv_cdf
    table = np.vectorize(lambda x: quantile((x + 1) / 2) / math.sqrt(2) if abs(x) < 1 else x * math.inf)
    return fold(table, vals, *type_of(op.results[0])) or _made(c, functions.erfinv, vals[0])
