"""Sliding-window arithmetic in numpy, shared by the references of convolutions and pools (channels last)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def expand(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """An attribute that is one integer for all dims or one per dim."""
    return (value,) * rank if isinstance(value, int) else tuple(int(v) for v in value)


def padding_pairs(value: int | Sequence[int], rank: int) -> tuple[tuple[int, int], ...]:
    """(before, after) per spatial dim from tt-mlir's forms: one int, one per dim, or (befores ..., afters ...)."""
    if isinstance(value, int):
        return ((value, value),) * rank
    values = [int(v) for v in value]
    if len(values) == 2 * rank:
        return tuple(zip(values[:rank], values[rank:], strict=True))
    return tuple((v, v) for v in values)


def windows(x: Array, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Array:
    """[N, *spatial, C] -> [N, *out, C, *kernel] (a view)."""
    rank = len(kernel)
    axes = tuple(range(1, rank + 1))
    extent = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(x, extent, axis=axes)
    steps = (slice(None), *(slice(None, None, s) for s in stride), slice(None), *(slice(None, None, d) for d in dilation))
    return view[steps]


def pad_spatial(x: Array, pairs: Sequence[tuple[int, int]], value: float) -> Array:
    widths = [(0, 0), *pairs, (0, 0)]
    return np.pad(x, widths, constant_values=value) if any(any(p) for p in pairs) else x


def convolve(
    x: Array,
    weight: Array,
    stride: tuple[int, ...],
    pairs: Sequence[tuple[int, int]],
    dilation: tuple[int, ...],
    groups: int,
) -> Array:
    """x [N, *spatial, C], weight [O, C/groups, *kernel] -> [N, *out, O]."""
    kernel = weight.shape[2:]
    view = windows(pad_spatial(x, pairs, 0), kernel, stride, dilation)
    lead = view.shape[: 1 + len(kernel)]
    outs, per_out = weight.shape[0] // groups, weight.shape[1]
    parts = []
    for group in range(groups):
        part = (slice(None),) * len(lead) + (slice(group * per_out, (group + 1) * per_out),)
        columns = view[part].reshape(*lead, -1)
        rows = weight[group * outs : (group + 1) * outs].reshape(outs, -1)
        parts.append(columns @ rows.T)
    return np.concatenate(parts, axis=-1)


def convolve_transposed(
    x: Array,
    weight: Array,
    stride: tuple[int, ...],
    pairs: Sequence[tuple[int, int]],
    output_padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Array:
    """x [N, *spatial, C], weight [C, O/groups, *kernel] -> [N, *out, O]: a convolution of the spread input."""
    rank = len(stride)
    spread_shape = (x.shape[0], *((n - 1) * s + 1 for n, s in zip(x.shape[1:-1], stride, strict=True)), x.shape[-1])
    spread = np.zeros(spread_shape, x.dtype)
    spread[(slice(None), *(slice(None, None, s) for s in stride), slice(None))] = x
    kernel = weight.shape[2:]
    around = [((k - 1) * d, (k - 1) * d + extra) for k, d, extra in zip(kernel, dilation, output_padding, strict=True)]
    flipped = np.flip(weight, axis=tuple(range(2, 2 + rank)))
    grouped = flipped.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    transposed = np.swapaxes(grouped, 1, 2).reshape(groups * weight.shape[1], weight.shape[0] // groups, *kernel)
    out = convolve(spread, transposed, (1,) * rank, around, dilation, groups)
    return out[(slice(None), *(slice(before, size - after) for size, (before, after) in zip(out.shape[1:-1], pairs, strict=True)), slice(None))]
