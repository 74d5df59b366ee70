"""Values of an image or volume at fractional places: torch's grid_sample, ONNX's GridSample. What the library's own op does not do is gathers and blends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from alchemist.frontends.composites import channels_first, channels_last
from alchemist.frontends.functions import Term, round_half_even
from alchemist.frontends.vocabulary import D, T, Vocabulary

Interpolation = Literal["linear", "nearest", "cubic"]
Padding = Literal["zeros", "border", "reflection"]
CUBIC = -0.75
"""The coefficient of cubic convolution in torch, and in ONNX after it."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How values between pixels and outside the image are made. align_corners: -1 and 1 are the centres of the outer pixels, not their edges."""

    interpolation: Interpolation
    padding: Padding
    align_corners: bool


def sampled(c: Vocabulary[T, D], x: T, grid: T, how: Sampling) -> T:
    """x [N, C, *sizes], grid [N, *spots, len(sizes)] with the last axis as x, y(, z) in -1 .. 1 -> [N, C, *spots]."""
    n, channels, *sizes = x.shape
    spots = list(grid.shape[1:-1])
    if how.interpolation == "linear" and how.padding == "zeros" and len(sizes) == 2 and c.is_float(x.dtype):
        attributes = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": how.align_corners}
        return channels_first(c, c.emit("grid_sample", [channels_last(c, x), grid], attributes))
    flat, count = c.reshape(x, [n, channels, math.prod(sizes)]), math.prod(spots)

    def pixels(axis: int) -> T:
        """Place along an axis of the image, in pixels."""
        last, column, size = grid.rank - 1, len(sizes) - 1 - axis, sizes[axis]
        shifted = c.binary("add", c.reshape(c.slice(grid, last, column, column + 1), grid.shape[:-1]), 1)
        if how.align_corners:
            place = c.binary("multiply", shifted, (size - 1) / 2)
        else:
            place = c.binary("div", c.binary("subtract", c.binary("multiply", shifted, size), 1), 2)
        return place if how.interpolation == "cubic" else _padded(c, place, size, how)

    def fetch(places: Sequence[T]) -> T:
        """Values [N, C, *spots] at whole pixels; zero outside."""
        inside: T | None = None
        index: T | None = None
        for place, size in zip(places, sizes, strict=True):
            within = c.binary("logical_and", c.binary("ge", place, 0, c.bool_dtype), c.binary("le", place, size - 1, c.bool_dtype))
            inside = within if inside is None else c.binary("logical_and", inside, within)
            clamped = _clamped(c, place, size)
            index = clamped if index is None else c.binary("add", c.binary("multiply", index, size), clamped)
        assert index is not None
        assert inside is not None
        index = c.expand(c.reshape(c.cast(index, c.index_dtype), [n, 1, count]), [n, channels, count])
        values = c.reshape(c.emit("gather", [flat, index], {"dim": 2}), [n, channels, *spots])
        return c.binary("multiply", values, c.reshape(c.cast(inside, x.dtype), [n, 1, *spots]))

    def blend(weigh: Callable[[int], list[tuple[T, T]]], chosen: list[T]) -> T:
        """Sum over the neighbours along the remaining axes; weigh(axis) gives their (place, weight [N, 1, *spots])."""
        if len(chosen) == len(sizes):
            return fetch(chosen)
        parts = [c.binary("multiply", blend(weigh, [*chosen, place]), weight) for place, weight in weigh(len(chosen))]
        total = parts[0]
        for part in parts[1:]:
            total = c.binary("add", total, part)
        return total

    places = [pixels(axis) for axis in range(len(sizes))]
    if how.interpolation == "nearest":
        return fetch([round_half_even(Term(c.op, place)).value for place in places])
    starts = [c.unary("floor", place) for place in places]
    rests = [c.reshape(c.binary("subtract", place, start), [n, 1, *spots]) for place, start in zip(places, starts, strict=True)]

    def two(axis: int) -> list[tuple[T, T]]:
        return [(starts[axis], _from_number(c, 1, rests[axis])), (c.binary("add", starts[axis], 1), rests[axis])]

    def four(axis: int) -> list[tuple[T, T]]:
        taps = [_padded(c, c.binary("add", starts[axis], step), sizes[axis], how) for step in range(-1, 3)]
        return list(zip(taps, _cubic_weights(c, rests[axis]), strict=True))

    return blend(four if how.interpolation == "cubic" else two, [])


def _from_number(c: Vocabulary[T, D], number: float, x: T) -> T:
    return c.binary("subtract", c.full((1,) * x.rank, number, x.dtype), x)


def _clamped(c: Vocabulary[T, D], place: T, size: int) -> T:
    return c.unary("clamp_scalar", place, {"min": 0.0, "max": float(size - 1)})


def _padded(c: Vocabulary[T, D], place: T, size: int, how: Sampling) -> T:
    if how.padding == "reflection":
        place = _reflected(c, place, size, how.align_corners)
    return place if how.padding == "zeros" else _clamped(c, place, size)


def _reflected(c: Vocabulary[T, D], place: T, size: int, align_corners: bool) -> T:
    """Mirrored at the first and last pixel (align_corners) or at their outer edges until it is inside."""
    low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
    if span == 0:
        return c.full(place.shape, 0.0, place.dtype)
    above = c.binary("subtract", place, low)
    turns = c.unary("floor", c.binary("div", above, 2 * span))
    mirrored = c.binary("subtract", above, c.binary("multiply", turns, 2 * span))
    return c.binary("add", _from_number(c, span, c.unary("abs", c.binary("subtract", mirrored, span))), low)


def _cubic_weights(c: Vocabulary[T, D], t: T) -> list[T]:
    """Weights of the pixels at -1, 0, 1, 2 for a place `t` in [0, 1) behind pixel 0."""

    def near(d: T) -> T:
        inner = c.binary("subtract", c.binary("multiply", d, CUBIC + 2), CUBIC + 3)
        return c.binary("add", c.binary("multiply", c.binary("multiply", inner, d), d), 1)

    def far(d: T) -> T:
        inner = c.binary("subtract", c.binary("multiply", d, CUBIC), 5 * CUBIC)
        inner = c.binary("add", c.binary("multiply", inner, d), 8 * CUBIC)
        return c.binary("subtract", c.binary("multiply", inner, d), 4 * CUBIC)

    return [far(c.binary("add", t, 1)), near(t), near(_from_number(c, 1, t)), far(_from_number(c, 2, t))]
