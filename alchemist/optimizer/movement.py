"""Rewrites of data movement that lowering asks the clock about."""

from __future__ import annotations

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import Spec, query

from alchemist.ops.library_names import DTYPES

MOST_ONES = 1 << 18
"""Elements of the matrix that collects the rows of images."""


def ones_collect_rows(images: int, pixels: int, channels: int, dtype: str, card: str) -> bool:
    """Whether a product with ones takes less time than moving the rows of each image into tiles of their own and adding them there.

    The rows of a flat image [1, 1, N*H*W, C] lie in tiles that two images share; a reshape to [N, 1, H*W, C] moves all of them.
    """
    if images == 1 or pixels % 32 == 0 or images * images * pixels > MOST_ONES:
        return False
    name = DTYPES[dtype]
    flat, ones = Spec((1, 1, images * pixels, channels), name, "tile"), Spec((1, 1, images, images * pixels), name, "tile")
    split, means = Spec((images, 1, pixels, channels), name, "tile"), Spec((1, 1, images, channels), name, "tile")
    try:
        moved = query("ttnn.reshape", [flat], card=card, shape=split.shape).device_ns + query("ttnn.mean", [split], card=card, dim=2, keepdim=True).device_ns
        collected = query("ttnn.matmul", [ones, flat], card=card).device_ns + query("ttnn.multiply", [means, 1.0 / pixels], card=card).device_ns
    except ShimError:
        return False
    return 0 < collected < moved
