"""grid_sample: torch's numbers of modes."""

from __future__ import annotations

from alchemist.frontends.sampling import Interpolation, Padding, Sampling, sampled
from alchemist.frontends.torch.emitter import Emitter, Tensor
from alchemist.frontends.torch.registry import rule

INTERPOLATIONS: tuple[Interpolation, ...] = ("linear", "nearest", "cubic")
PADDINGS: tuple[Padding, ...] = ("zeros", "border", "reflection")


@rule("aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def grid_sampler(c: Emitter, x: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    return sampled(c, x, grid, Sampling(INTERPOLATIONS[interpolation_mode], PADDINGS[padding_mode], align_corners))
