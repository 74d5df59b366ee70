"""grid_sample: values of an image or volume at fractional places, as gathers and blends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from alchemist.frontends.torch.registry import recipe

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
CUBIC = -0.75
"""torch's coefficient of cubic convolution."""


def _reflected(place: torch.Tensor, size: int, align_corners: bool) -> torch.Tensor:
    """Mirrored at the first and last pixel (align_corners) or at their outer edges until it is inside."""
    low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
    if span == 0:
        return torch.zeros_like(place)
    turned = torch.remainder(place - low, 2 * span)
    return span - torch.abs(turned - span) + low


def _padded(place: torch.Tensor, size: int, padding_mode: int, align_corners: bool) -> torch.Tensor:
    if padding_mode == REFLECTION:
        place = _reflected(place, size, align_corners)
    return place if padding_mode == ZEROS else place.clamp(0, size - 1)


def _cubic_weights(t: torch.Tensor) -> list[torch.Tensor]:
    """Weights of the pixels at -1, 0, 1, 2 for a place `t` in [0, 1) behind pixel 0."""

    def near(d: torch.Tensor) -> torch.Tensor:
        return ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1

    def far(d: torch.Tensor) -> torch.Tensor:
        return ((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


@recipe("aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def grid_sampler(x: torch.Tensor, grid: torch.Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> torch.Tensor:
    """x [N, C, *sizes], grid [N, *spots, len(sizes)] with the last axis as x, y(, z) in -1 .. 1 -> [N, C, *spots]."""
    n, channels, *sizes = x.shape
    spots = list(grid.shape[1:-1])
    flat, count = x.reshape(n, channels, math.prod(sizes)), math.prod(spots)

    def pixels(axis: int) -> torch.Tensor:
        """Place along an axis of the image, in pixels."""
        coordinate, size = grid[..., len(sizes) - 1 - axis], sizes[axis]
        place = (coordinate + 1) * ((size - 1) / 2) if align_corners else ((coordinate + 1) * size - 1) / 2
        return place if interpolation_mode == BICUBIC else _padded(place, size, padding_mode, align_corners)

    def fetch(places: Sequence[torch.Tensor]) -> torch.Tensor:
        """Values [N, C, *spots] at whole pixels; zero outside."""
        inside, index = None, None
        for place, size in zip(places, sizes, strict=True):
            within = (place >= 0) & (place <= size - 1)
            inside = within if inside is None else inside & within
            held = place.clamp(0, size - 1)
            index = held if index is None else index * size + held
        assert index is not None
        assert inside is not None
        index = index.to(torch.int64).reshape(n, 1, count).expand(n, channels, count)
        values = torch.gather(flat, 2, index).reshape(n, channels, *spots)
        return values * inside.to(x.dtype).unsqueeze(1)

    def blend(weigh: Callable[[int], list[tuple[torch.Tensor, torch.Tensor]]], chosen: list[torch.Tensor]) -> torch.Tensor:
        """Sum over the neighbours along the remaining axes; weigh(axis) gives their (place, weight [N, 1, *spots])."""
        if len(chosen) == len(sizes):
            return fetch(chosen)
        parts = [blend(weigh, [*chosen, place]) * weight for place, weight in weigh(len(chosen))]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    places = [pixels(axis) for axis in range(len(sizes))]
    if interpolation_mode == NEAREST:
        return fetch([torch.round(place) for place in places])
    starts = [torch.floor(place) for place in places]
    rests = [(place - start).unsqueeze(1) for place, start in zip(places, starts, strict=True)]

    def two(axis: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        return [(starts[axis], 1 - rests[axis]), (starts[axis] + 1, rests[axis])]

    def four(axis: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        taps = [_padded(starts[axis] + step, sizes[axis], padding_mode, align_corners) for step in range(-1, 3)]
        return list(zip(taps, _cubic_weights(rests[axis]), strict=True))

    return blend(four if interpolation_mode == BICUBIC else two, [])
