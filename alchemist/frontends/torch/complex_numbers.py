"""Complex tensors, which TT-NN does not have: pairs of real ones.

An op that takes or makes complex values is traced as a function of the real and imaginary parts (`PARTS` holds it, or the op
acts on each part alone) and the small graph is lowered in its place. Fourier transforms become matrix products with the
transform's cosines and sines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch


class Pair(NamedTuple):
    """A complex value as its two parts: `Tensor`s while walking the graph, torch tensors inside a trace."""

    re: Any
    im: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.re.shape)

    @property
    def dtype(self) -> torch.dtype:
        complex_dtype: torch.dtype = self.re.dtype.to_complex()
        return complex_dtype


PARTWISE = frozenset(
    "view _unsafe_view reshape expand permute transpose t unsqueeze squeeze select slice split split_with_sizes chunk unbind "
    "index index_select gather cat stack flatten unflatten movedim swapaxes narrow repeat tile flip roll clone contiguous alias "
    "detach neg sum mean cumsum unfold diagonal tril triu view_copy expand_copy "
    "broadcast_to lift_fresh_copy lift_fresh slice_copy select_copy".split()
)
"""Ops that act on both parts alike (linear ones and those that only move elements)."""

PARTS: dict[str, Callable[..., Any]] = {}
_WRITTEN = ("self", "src", "source", "values", "value", "other", "a", "b")
"""How ATen and prims name the values of `WRITES`."""


def _parts(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PARTS.update(dict.fromkeys(names, function))
        return function

    return add


WRITES = frozenset("slice_scatter select_scatter diagonal_scatter index_put index_copy index_add scatter scatter_add masked_fill where".split())
"""Ops that write a value into another or choose between two: each of the two may be real."""


def function_of(op: Any, name: str) -> Callable[..., Any] | None:
    """The op on `Pair`s, None when there is none. name: the ATen name without namespace and overload ("mul")."""
    if name in PARTS:
        return PARTS[name]
    if name in PARTWISE:
        return lambda *args, **kwargs: on_each_part(op, args, kwargs)
    if name in WRITES:
        values = [place for place, argument in enumerate(op._schema.arguments) if argument.name in _WRITTEN]
        return lambda *args, **kwargs: on_each_part(op, tuple(as_pair(arg) if place in values else arg for place, arg in enumerate(args)), kwargs)
    return None


def as_pair(value: Any) -> Pair:
    """A real tensor or a number is a complex one without imaginary part."""
    if isinstance(value, Pair):
        return value
    if isinstance(value, torch.Tensor):
        return Pair(value, torch.zeros_like(value))
    return Pair(complex(value).real, complex(value).imag)


def on_each_part(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Any = Pair) -> Any:
    """The op on the first and on the second part of each value of two parts, which are a `kind` again."""

    def pick(part: Any, part_index: int) -> Any:
        if isinstance(part, kind):
            return part[part_index]
        if isinstance(part, (list, tuple)):
            return type(part)([pick(child, part_index) for child in part])
        return part

    re, im = (op(*pick(args, index), **{key: pick(value, index) for key, value in kwargs.items() if key != "dtype"}) for index in (0, 1))
    if isinstance(re, (list, tuple)):
        return [kind(*parts) for parts in zip(re, im, strict=True)]
    return kind(re, im)


# --- arithmetic ---------------------------------------------------------------------------------------------------------------


@_parts("view_as_complex")
def _view_as_complex(x: torch.Tensor) -> Pair:
    return Pair(x.select(-1, 0), x.select(-1, 1))


@_parts("view_as_real")
def _view_as_real(z: Pair) -> torch.Tensor:
    return torch.stack([z.re, z.im], -1)


PARTS["complex"] = Pair
PARTS["polar"] = lambda length, angle: Pair(length * torch.cos(angle), length * torch.sin(angle))
PARTS["real"] = lambda z: z.re
PARTS["imag"] = lambda z: z.im
PARTS["abs"] = lambda z: torch.sqrt(z.re * z.re + z.im * z.im)
PARTS["angle"] = lambda z: torch.atan2(z.im, z.re)
PARTS["exp"] = lambda z: Pair(torch.exp(z.re) * torch.cos(z.im), torch.exp(z.re) * torch.sin(z.im))
PARTS["sinh"] = lambda z: Pair(torch.sinh(z.re) * torch.cos(z.im), torch.cosh(z.re) * torch.sin(z.im))
PARTS["cosh"] = lambda z: Pair(torch.cosh(z.re) * torch.cos(z.im), torch.sinh(z.re) * torch.sin(z.im))
PARTS["log"] = lambda z: Pair(torch.log(PARTS["abs"](z)), torch.atan2(z.im, z.re))
PARTS["sgn"] = lambda z: on_each_part(lambda part, size: torch.where(size > 0, part / size, 0.0), (z, PARTS["abs"](z)), {})
PARTS["copy"] = lambda target, source, _non_blocking=False: on_each_part(lambda part: part.expand(target.shape), (as_pair(source),), {})
PARTS["resolve_conj"] = PARTS["resolve_neg"] = lambda z: z


@_parts("sqrt")
def _sqrt(z: Pair) -> Pair:
    """The root of positive real part."""
    size = torch.sqrt(z.re * z.re + z.im * z.im)
    re, im = (torch.sqrt(((size + sign * z.re) * 0.5).clamp(min=0.0)) for sign in (1, -1))
    return Pair(re, torch.where(z.im < 0, -im, im))


@_parts("conj", "_conj", "conj_physical", "_conj_physical")
def _conj(z: Pair) -> Pair:
    return Pair(z.re, -z.im)


@_parts("add")
def _add(a: Any, b: Any, *, alpha: float = 1) -> Pair:
    a, b = as_pair(a), as_pair(b)
    return Pair(a.re + b.re * alpha, a.im + b.im * alpha) if alpha != 1 else Pair(a.re + b.re, a.im + b.im)


PARTS["sub"] = lambda a, b, *, alpha=1: _add(a, b, alpha=-alpha)
PARTS["rsub"] = lambda a, b, *, alpha=1: _add(b, a, alpha=-alpha)


@_parts("constant_pad_nd")
def _pad(z: Pair, pad: Sequence[int], value: complex = 0) -> Pair:
    value = complex(value)
    return Pair(*(torch.constant_pad_nd(part, list(pad), number) for part, number in zip(z, (value.real, value.imag), strict=True)))


@_parts("mul")
def _mul(a: Any, b: Any) -> Pair:
    if not isinstance(a, Pair):
        a, b = b, a
    if not isinstance(a, Pair):  # a real tensor and a complex number
        factor, real = (a, b) if isinstance(a, complex) else (b, a)
        return Pair(real * factor.real, real * factor.imag)
    if isinstance(b, Pair):
        return Pair(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
    if isinstance(b, complex):
        return Pair(a.re * b.real - a.im * b.imag, a.re * b.imag + a.im * b.real)
    return Pair(a.re * b, a.im * b)


@_parts("div")
def _div(a: Any, b: Any) -> Pair:
    if isinstance(b, complex):
        size = abs(b) ** 2
        return Pair(*_mul(a, complex(b.real / size, -b.imag / size)))
    if not isinstance(b, Pair):
        a = as_pair(a)
        return Pair(a.re / b, a.im / b)
    size = b.re * b.re + b.im * b.im
    top = _mul(as_pair(a), _conj(b))
    return Pair(top.re / size, top.im / size)


@_parts("reciprocal")
def _reciprocal(z: Pair) -> Pair:
    size = z.re * z.re + z.im * z.im
    return Pair(z.re / size, -z.im / size)


@_parts("matmul", "mm", "bmm")
def _matmul(a: Any, b: Any) -> Pair:
    if not isinstance(a, Pair):
        return Pair(a @ b.re, a @ b.im)
    if not isinstance(b, Pair):
        return Pair(a.re @ b, a.im @ b)
    return Pair(a.re @ b.re - a.im @ b.im, a.re @ b.im + a.im @ b.re)


@_parts("to", "_to_copy")
def _to(x: Any, *args: Any, **kwargs: Any) -> Any:
    target = kwargs.get("dtype", next((arg for arg in args if isinstance(arg, torch.dtype)), None))
    if target is None:
        return x
    if target.is_complex:
        part = target.to_real()
        pair = as_pair(x)
        return Pair(pair.re.to(part), pair.im.to(part))
    return x.re.to(target)


# --- Fourier transforms -------------------------------------------------------------------------------------------------------


def _waves(count: int, template: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin of 2 pi j k / count, [count, count]; exact up to float32 for any count, as j k is reduced first."""
    steps = torch.arange(count, dtype=torch.int64)
    angle = (torch.outer(steps, steps) % count).to(torch.float64) * (2 * math.pi / count)
    return torch.cos(angle).to(template.dtype), torch.sin(angle).to(template.dtype)


def _along(x: torch.Tensor, dim: int, matrix: torch.Tensor) -> torch.Tensor:
    """The matrix applied to one dimension."""
    last = x.dim() - 1
    dim %= x.dim()
    return x @ matrix if dim == last else (x.transpose(dim, last) @ matrix).transpose(dim, last)


def _transform(z: Pair, dim: int, forward: bool) -> Pair:
    """DFT without scale. A part that is None is zero."""
    cos, sin = _waves(z.re.shape[dim], z.re)
    sin = -sin if forward else sin  # exp(-2 pi i j k / n) forwards
    if z.im is None:
        return Pair(_along(z.re, dim, cos), _along(z.re, dim, sin))
    re = _along(z.re, dim, cos) - _along(z.im, dim, sin)
    return Pair(re, _along(z.re, dim, sin) + _along(z.im, dim, cos))


def _scaled(z: Any, count: int, normalization: int) -> Any:
    """normalization: 0 none, 1 by the root of the number of points, 2 by the number (ATen's fft_norm_mode)."""
    if normalization == 0:
        return z
    factor = 1.0 / (math.sqrt(count) if normalization == 1 else count)
    return Pair(z.re * factor, z.im * factor) if isinstance(z, Pair) else z * factor


@_parts("_fft_c2c")
def _fft_c2c(z: Pair, dim: Sequence[int], normalization: int, forward: bool) -> Pair:
    count = math.prod(z.re.shape[axis] for axis in dim)
    for d in reversed(dim):
        z = _transform(z, d, forward)
    return _scaled(z, count, normalization)  # type: ignore[no-any-return]


@_parts("_fft_r2c")
def _fft_r2c(x: torch.Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Pair:
    count = math.prod(x.shape[axis] for axis in dim)
    z = Pair(x, None)
    for d in reversed(dim):
        z = _transform(z, d, forward=True)
        if onesided and d == dim[-1]:
            half = x.shape[d] // 2 + 1
            z = Pair(z.re.narrow(d, 0, half), z.im.narrow(d, 0, half))
    return _scaled(z, count, normalization)  # type: ignore[no-any-return]


@_parts("_fft_c2r")
def _fft_c2r(z: Pair, dim: Sequence[int], normalization: int, last_dim_size: int) -> torch.Tensor:
    *others, last = dim
    count = math.prod(z.re.shape[axis] for axis in others) * last_dim_size
    for d in others:
        z = _transform(z, d, forward=False)
    half = last_dim_size // 2 + 1
    cos, sin = (wave[:half] for wave in _waves(last_dim_size, z.re))
    # the half that is not stored is the conjugate of this one: all but the first and the middle count twice
    twice = torch.tensor([1.0 if k == 0 or 2 * k == last_dim_size else 2.0 for k in range(half)], dtype=z.re.dtype)[:, None]
    re, im = (part.narrow(last, 0, half) for part in z)
    return _scaled(_along(re, last, cos * twice) - _along(im, last, sin * twice), count, normalization)
