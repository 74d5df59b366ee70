"""Golden functions of ops on windows and points of images. Images are NHWC; those of pools come as rows of pixels [1, 1, N*H*W, C] and leave so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch


def _planes(rows: Any, batch_size: int, input_h: int, input_w: int, channels: int) -> Any:
    """Rows of pixels as NCHW."""
    return rows.reshape(batch_size, input_h, input_w, channels).permute(0, 3, 1, 2)


def _rows(planes: Any) -> Any:
    pixels = planes.permute(0, 2, 3, 1)
    return pixels.reshape(1, 1, -1, pixels.shape[-1])


def _padded(planes: Any, padding: Sequence[int], value: float) -> tuple[Any, tuple[int, int]]:
    """Padding of (height, width) stays torch's own; that of four sides is filled in where two differ, as torch knows no such padding."""
    if len(padding) == 2:
        return planes, (padding[0], padding[1])
    top, bottom, left, right = padding
    if (top, left) == (bottom, right):
        return planes, (top, left)
    return torch.nn.functional.pad(planes, (left, right, top, bottom), value=value), (0, 0)


def _typed(result: Any, dtype: Any) -> Any:
    wanted = {"FLOAT32": torch.float32, "BFLOAT16": torch.bfloat16}.get(getattr(dtype, "name", ""))
    return result if wanted is None else result.to(wanted)


class Windows:
    @staticmethod
    def max_pool2d(
        input_tensor: Any, batch_size: int, input_h: int, input_w: int, channels: int, kernel_size: Sequence[int], stride: Sequence[int],
        padding: Sequence[int], dilation: Sequence[int] = (1, 1), ceil_mode: bool = False, return_indices: bool = False, dtype: Any = None,
    ) -> Any:  # fmt: skip
        planes, rest = _padded(_planes(input_tensor, batch_size, input_h, input_w, channels), padding, -math.inf)
        values, places = torch.nn.functional.max_pool2d(planes, tuple(kernel_size), tuple(stride), rest, tuple(dilation), ceil_mode, return_indices=True)
        result = _typed(_rows(values), dtype)
        return (result, _rows(places)) if return_indices else result

    @staticmethod
    def avg_pool2d(
        input_tensor: Any, batch_size: int, input_h: int, input_w: int, channels: int, kernel_size: Sequence[int], stride: Sequence[int],
        padding: Sequence[int], ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, dtype: Any = None,
    ) -> Any:  # fmt: skip
        planes, rest = _padded(_planes(input_tensor, batch_size, input_h, input_w, channels), padding, 0)
        pooled = torch.nn.functional.avg_pool2d(planes, tuple(kernel_size), tuple(stride), rest, ceil_mode, count_include_pad, divisor_override)
        return _typed(_rows(pooled), dtype)

    @staticmethod
    def adaptive_avg_pool2d(input_tensor: Any, batch_size: int, input_h: int, input_w: int, channels: int, output_size: Any) -> Any:
        return _rows(torch.nn.functional.adaptive_avg_pool2d(_planes(input_tensor, batch_size, input_h, input_w, channels), output_size))

    @staticmethod
    def adaptive_max_pool2d(input_tensor: Any, batch_size: int, input_h: int, input_w: int, channels: int, output_size: Any) -> Any:
        return _rows(torch.nn.functional.adaptive_max_pool2d(_planes(input_tensor, batch_size, input_h, input_w, channels), output_size))

    @staticmethod
    def upsample(input_tensor: Any, scale_factor: Any, mode: str = "nearest") -> Any:
        factors = scale_factor if isinstance(scale_factor, (int, float)) else tuple(scale_factor)
        planes = torch.nn.functional.interpolate(input_tensor.permute(0, 3, 1, 2), scale_factor=factors, mode=mode)
        return planes.permute(0, 2, 3, 1)

    @staticmethod
    def global_avg_pool2d(input_tensor: Any) -> Any:
        return input_tensor.mean((-3, -2), keepdim=True)

    @staticmethod
    def grid_sample(
        input_tensor: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False,
        use_precomputed_grid: bool = False, batch_output_channels: bool = False, grid_batching_factor: int | None = None,
    ) -> Any:  # fmt: skip
        """Points lie side by side in the grid's last dimension, `grid_batching_factor` of them where that is given."""
        numbers = (2 if mode == "nearest" else 6) if use_precomputed_grid else 2
        batch, height, width, last = grid.shape
        points = grid.reshape(batch, height, width * (last // numbers), numbers)
        if use_precomputed_grid:
            sampled = _at_corners(input_tensor, points)
        else:
            planes = torch.nn.functional.grid_sample(
                input_tensor.permute(0, 3, 1, 2).float(), points.float(), mode=mode, padding_mode=padding_mode, align_corners=align_corners
            )
            sampled = planes.permute(0, 2, 3, 1)
        together = grid_batching_factor or last // numbers
        channels = input_tensor.shape[-1]
        if batch_output_channels:
            sampled = sampled.reshape(batch, height, -1, channels * together)
        return sampled.to(input_tensor.dtype)


def _at_corners(pixels: Any, points: Any) -> Any:
    """Samples at prepared points: the upper left corner as integers in the bits of bfloat16 and, of a bilinear grid, the weights of four corners."""
    if points.dtype != torch.bfloat16:
        raise ValueError(f"expected a prepared grid of bfloat16, got {points.dtype}")
    batch, height, width, channels = pixels.shape
    place = points[..., :2].contiguous().view(torch.int16).long()
    bordered = torch.zeros(batch, height + 2, width + 2, channels)  # a border of zeros answers points outside
    bordered[:, 1:-1, 1:-1] = pixels.float()
    image = torch.arange(batch).reshape(-1, 1, 1)

    def corner(down: int, right: int) -> Any:
        return bordered[image, (place[..., 0] + down).clamp(-1, height) + 1, (place[..., 1] + right).clamp(-1, width) + 1]

    if points.shape[-1] == 2:
        return corner(0, 0)
    weights = points[..., 2:].float()
    corners = ((0, 0), (0, 1), (1, 0), (1, 1))
    return sum(weights[..., i, None] * corner(*offset) for i, offset in enumerate(corners))


# As the real package's module `ttnn.operations.pool` calls them.
golden_maxpool2d = Windows.max_pool2d
golden_avg_pool2d = Windows.avg_pool2d
golden_adaptive_avg_pool2d = Windows.adaptive_avg_pool2d
golden_adaptive_max_pool2d = Windows.adaptive_max_pool2d
golden_global_avg_pool2d = Windows.global_avg_pool2d
golden_upsample = Windows.upsample
golden_grid_sample = Windows.grid_sample
