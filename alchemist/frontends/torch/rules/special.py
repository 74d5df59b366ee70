"""Functions of torch.special and odd elementwise ops, in terms of simpler ones."""

from __future__ import annotations

import math

import torch

from alchemist.frontends import functions
from alchemist.frontends.torch.emitter import Emitter, Tensor
from alchemist.frontends.torch.registry import recipe, rule

_FUNCTIONS: dict[functions.Function, str] = {
    functions.sinh: "aten.sinh",
    functions.cosh: "aten.cosh",
    functions.atanh: "aten.atanh",
    functions.acosh: "aten.acosh",
    functions.lgamma: "aten.lgamma prims.lgamma",
    functions.digamma: "aten.digamma prims.digamma",
    functions.erfinv: "aten.erfinv aten.special_erfinv prims.erf_inv",
    functions.i0: "aten.i0 aten.special_i0 aten.special_modified_bessel_i0 prims.bessel_i0",
    functions.i0e: "aten.special_i0e prims.bessel_i0e",
    functions.i1: "aten.special_i1 aten.special_modified_bessel_i1 prims.bessel_i1",
    functions.i1e: "aten.special_i1e prims.bessel_i1e",
    functions.erfcx: "aten.special_erfcx prims.erfcx",
    functions.log_ndtr: "aten.special_log_ndtr",
    functions.ndtri: "aten.special_ndtri prims.ndtri",
}


def _function(function: functions.Function, names: str) -> None:
    @rule(*(f"{name}.default" for name in names.split()))
    def lower(c: Emitter, x: Tensor) -> Tensor:
        wide = torch.float32 if function in functions.IN_FLOAT32 else c.out_dtype
        return c.cast(function(functions.Term(c.op, c.cast(x, wide))).value, c.out_dtype)


for _known, _names in _FUNCTIONS.items():
    _function(_known, _names)


@recipe("aten.angle.default")
def angle(x: torch.Tensor) -> torch.Tensor:
    """Of real numbers."""
    phase = torch.where(x < 0, math.pi, 0.0)
    return torch.where(torch.isnan(x), x, phase) if x.dtype.is_floating_point else phase


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
    for is_off, step in ((torch.abs(mantissa) >= 1.0, 1.0), ((torch.abs(mantissa) < 0.5) & (size > 0), -1.0)):
        exponent = torch.where(is_off, exponent + step, exponent)
        mantissa = torch.where(is_off, mantissa * 2.0**-step, mantissa)
    return mantissa, exponent.to(torch.int32)
