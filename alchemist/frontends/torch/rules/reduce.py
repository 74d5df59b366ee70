"""Reductions, scans and order statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from xdsl.ir import SSAValue

from alchemist.frontends import composites
from alchemist.frontends.torch.emitter import Emitter, Scalar, Tensor
from alchemist.frontends.torch.registry import recipe, rule
from alchemist.ir.edit import defining, made_by
from alchemist.ops.constants import scaled

Dims = int | Sequence[int] | None


def as_list(dims: Dims) -> list[int] | None:
    """Reduced dimensions; None = all of them (torch also spells that `[]`)."""
    if dims is None:
        return None
    return [dims] if isinstance(dims, int) else list(dims)


def _reduction(names: Sequence[str], ttir: str) -> None:
    @rule(*(f"aten.{name}" for name in names))
    def lower(c: Emitter, x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
        return c.reduce(ttir, c.cast(x, c.out_dtype), as_list(dim), keepdim)


_reduction(("sum.default", "sum.dim_IntList"), "sum")
_reduction(("mean.default", "mean.dim"), "mean")
_reduction(("amax.default", "max.default"), "max")
_reduction(("amin.default", "min.default"), "min")
_reduction(("prod.default", "prod.dim_int"), "prod")


def _truth(names: Sequence[str], ttir: str) -> None:
    @rule(*(f"aten.{name}" for name in names))
    def lower(c: Emitter, x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
        return c.cast(c.reduce(ttir, c.cast(x, torch.bool), as_list(dim), keepdim), c.out_dtype)  # of uint8 it is uint8


_truth(("any.default", "any.dim", "any.dims"), "reduce_or")
_truth(("all.default", "all.dim", "all.dims"), "reduce_and")


def _with_indices(name: str, ttir: str) -> None:
    @rule(f"aten.{name}.dim")
    def lower(c: Emitter, x: Tensor, dim: int, keepdim: bool = False) -> list[Tensor]:
        values = c.reduce(ttir, x, [dim], keepdim)
        return [values, _arg(c, x, dim, keepdim, ttir == "min", values.shape)]


def _arg(c: Emitter, x: Tensor, dim: int | None, keepdim: bool, smallest: bool, shape: Sequence[int]) -> Tensor:
    if smallest:
        x = composites.in_opposite_order(c, x)
    if dim is None and x.rank != 1:
        x, dim = c.reshape(x, [math.prod(x.shape)]), 0
        flat = c.emit("argmax", [x], {"keep_dim": False, "dim_arg": [0]}, dtype=torch.int64)
        return c.reshape(flat, shape)
    attributes = {"keep_dim": keepdim, "dim_arg": [(dim or 0) % x.rank]}
    return c.emit("argmax", [x], attributes, dtype=torch.int64)


_with_indices("max", "max")
_with_indices("min", "min")


@rule("aten.argmax.default")
def argmax(c: Emitter, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _arg(c, x, dim, keepdim, False, c.out_shape)


@rule("aten.argmin.default")
def argmin(c: Emitter, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _arg(c, x, dim, keepdim, True, c.out_shape)


def _scan(name: str) -> None:
    @rule(f"aten.{name}.default")
    def lower(c: Emitter, x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
        x = c.cast(x, c.out_dtype)
        return c.emit(name, [x], {"dim": dim % x.rank}) if x.rank else x


_scan("cumsum")
_scan("cumprod")


@rule("aten.topk.default")
def topk(c: Emitter, x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> list[Tensor]:
    shape = tuple(c.out[0].shape)
    attributes = {"k": k, "dim": dim % x.rank, "largest": largest, "sorted": sorted}
    return c.emit_many("topk", [x], attributes, [(shape, x.dtype), (shape, torch.int64)])


@rule("aten.sort.default")
def sort(c: Emitter, x: Tensor, dim: int = -1, descending: bool = False) -> list[Tensor]:
    return _sorted(c, x, dim, descending, False)


@rule("aten.sort.stable")
def sort_stable(c: Emitter, x: Tensor, *, stable: bool = False, dim: int = -1, descending: bool = False) -> list[Tensor]:
    return _sorted(c, x, dim, descending, stable)


def _sorted(c: Emitter, x: Tensor, dim: int, descending: bool, stable: bool) -> list[Tensor]:
    attributes = {"dim": dim % x.rank, "descending": descending, "stable": stable}
    return c.emit_many("sort", [x], attributes, [(x.shape, x.dtype), (x.shape, torch.int64)])


@rule("aten._safe_softmax.default")
def safe_softmax(c: Emitter, x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """Zeros where all values are -inf, as in a row that a mask hides; a known mask that hides no whole row needs no such test."""
    probabilities = softmax(c, x, dim)
    if _has_finite_rows(c, x.ssa, dim % x.rank - x.rank):
        return probabilities
    masked = c.binary("eq", c.reduce("max", x, [dim], True), -math.inf, torch.bool)
    return c.where(masked, c.full((1,) * x.rank, 0.0, probabilities.dtype), probabilities)


def _has_finite_rows(c: Emitter, scores: SSAValue, dim: int) -> bool:
    """Whether the scores are a product, alone or with known numbers added that have one above -inf in each row along dim (-1: the last dimension)."""
    total = defining(scores, "ttir.add")
    parts = (scores,) if total is None else total.operands
    known = [c.stored.get(value) for value in parts if not _is_product(value)]
    return len(known) < len(parts) and all(mask is not None and mask.dim() >= -dim and bool((mask > -math.inf).any(dim).all()) for mask in known)


def _is_product(value: SSAValue) -> bool:
    """Whether the values are those of a product, scaled or moved."""
    while made_by(value, "product") is None:
        factor, move = scaled(value), made_by(value, "move")
        if factor is not None:
            value = factor[0]
        elif move is not None:
            value = move.operands[0]
        else:
            return False
    return True


@rule("aten.softmax.int", "aten._softmax.default")
def softmax(c: Emitter, x: Tensor, dim: int, dtype: torch.dtype | bool | None = None) -> Tensor:
    return c.emit("softmax", [c.cast(x, c.out_dtype)], {"dimension": dim, "numericStable": True})


@rule("aten.log_softmax.int", "aten._log_softmax.default")
def log_softmax(c: Emitter, x: Tensor, dim: int, dtype: torch.dtype | bool | None = None) -> Tensor:
    return composites.log_softmax(c, c.cast(x, c.out_dtype), dim)


@rule("aten.logsumexp.default")
def logsumexp(c: Emitter, x: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    return c.reshape(composites.log_sum_exp(c, c.cast(x, c.out_dtype), as_list(dim), torch.finfo(c.out_dtype).max), c.out_shape)


def _variance(c: Emitter, x: Tensor, dim: Dims, keepdim: bool, correction: Scalar | None) -> tuple[Tensor, Tensor]:
    """(variance, mean), both with reduced dimensions kept."""
    dims = as_list(dim) or list(range(x.rank))
    count = math.prod(x.shape[d] for d in dims)
    mean = c.reduce("mean", x, dims, True)
    centred = c.binary("subtract", x, mean)
    squares = c.reduce("sum", c.unary("square", centred), dims, True)
    divisor = max(0.0, count - (1 if correction is None else correction))
    return c.binary("multiply", squares, 1.0 / divisor if divisor else math.nan), mean


@rule("aten.var.correction")
def var(c: Emitter, x: Tensor, dim: Dims = None, *, correction: Scalar | None = None, keepdim: bool = False) -> Tensor:
    return c.reshape(_variance(c, x, dim, keepdim, correction)[0], c.out_shape)


@rule("aten.var_mean.correction")
def var_mean(c: Emitter, x: Tensor, dim: Dims = None, *, correction: Scalar | None = None, keepdim: bool = False) -> list[Tensor]:
    shape = tuple(c.out[0].shape)
    return [c.reshape(part, shape) for part in _variance(c, x, dim, keepdim, correction)]


@recipe("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim")
def vector_norm(x: torch.Tensor, ord: float = 2, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    x = x if dtype is None else x.to(dtype)
    dims = list(range(x.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    ord = 2 if ord is None else ord
    if ord == 2:
        return torch.sqrt(torch.sum(x * x, dims, keepdim))
    if ord == 1:
        return torch.sum(torch.abs(x), dims, keepdim)
    if ord == 0:
        return torch.sum((x != 0).to(x.dtype), dims, keepdim)
    if math.isinf(ord):
        return torch.amax(torch.abs(x), dims, keepdim) if ord > 0 else torch.amin(torch.abs(x), dims, keepdim)
    return torch.sum(torch.abs(x) ** ord, dims, keepdim) ** (1.0 / ord)


@recipe("aten.logcumsumexp.default")
def logcumsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Prefix sums by doubling: exponentials of differences from one peak would vanish in front of it."""
    step = 1
    while step < x.shape[dim]:
        early, late = x.narrow(dim, 0, x.shape[dim] - step), x.narrow(dim, step, x.shape[dim] - step)
        x = torch.cat([x.narrow(dim, 0, step), torch.logaddexp(early, late)], dim)
        step *= 2
    return x


@recipe("aten.kthvalue.default")
def kthvalue(x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = torch.sort(x, dim)
    picked = values.narrow(dim, k - 1, 1), indices.narrow(dim, k - 1, 1)
    return picked if keepdim else (picked[0].squeeze(dim), picked[1].squeeze(dim))


@recipe("aten.median.dim")
def median_dim(x: torch.Tensor, dim: int = -1, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """torch's median is the lower of the two in the middle, and NaN where there is one."""
    values, places = kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)
    if not x.dtype.is_floating_point:
        return values, places
    unordered = torch.isnan(x)
    some = unordered.any(dim, keepdim)
    return torch.where(some, math.nan, values), torch.where(some, unordered.to(x.dtype).argmax(dim, keepdim), places)


@recipe("aten.median.default")
def median_all(x: torch.Tensor) -> torch.Tensor:
    return median_dim(x.reshape(-1), 0)[0]


@recipe("aten.nanmedian.dim")
def nanmedian_dim(x: torch.Tensor, dim: int = -1, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower of the two in the middle of the values that are numbers; NaN where none is."""
    if not x.dtype.is_floating_point:
        return median_dim(x, dim, keepdim)
    number = torch.isnan(x).logical_not()
    values, indices = torch.sort(torch.where(number, x, math.inf), dim)
    count = number.to(torch.float32).sum(dim, keepdim=True)
    middle = torch.floor((count - 1).clamp(min=0.0) / 2).to(torch.int64)
    picked = torch.where(count > 0, values.gather(dim, middle), math.nan), indices.gather(dim, middle)
    return picked if keepdim else (picked[0].squeeze(dim), picked[1].squeeze(dim))


@recipe("aten.nanmedian.default")
def nanmedian_all(x: torch.Tensor) -> torch.Tensor:
    return nanmedian_dim(x.reshape(-1), 0)[0]


def _running(name: str, better: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
    @recipe(f"aten.{name}.default")
    def compute(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Prefix extremes by doubling: after step s each place knows the best of the 2 s places up to it; ties go to the later."""
        size = x.shape[dim]
        line = torch.arange(size).reshape([size if i == dim % x.dim() else 1 for i in range(x.dim())])
        values, places, step = x, line.expand(x.shape), 1
        while step < size:
            early, late = values.narrow(dim, 0, size - step), values.narrow(dim, step, size - step)
            keep = better(late, early)
            keep = keep | torch.isnan(late) if x.dtype.is_floating_point else keep
            best = torch.where(keep, late, early)
            where = torch.where(keep, places.narrow(dim, step, size - step), places.narrow(dim, 0, size - step))
            values = torch.cat([values.narrow(dim, 0, step), best], dim)
            places = torch.cat([places.narrow(dim, 0, step), where], dim)
            step *= 2
        return values, places


_running("cummax", torch.ge)
_running("cummin", torch.le)
