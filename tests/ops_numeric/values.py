"""Tensors in and out of the simulator, and the comparison, for the numeric tests."""

from __future__ import annotations

from typing import Any

import torch
import ttnn

SPECIAL = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 3e38, -3e38, 1e-30, 88.5, -88.5, 1e4, -1e4]


def put(values: torch.Tensor, device: Any, dtype: Any = None, layout: Any = ttnn.TILE_LAYOUT, **kwargs: Any) -> Any:
    names = {torch.bfloat16: ttnn.bfloat16, torch.float32: ttnn.float32, torch.int32: ttnn.int32}
    return ttnn.from_torch(values, dtype=dtype or names[values.dtype], layout=layout, device=device, **kwargs)


def get(tensor: Any) -> torch.Tensor:
    return ttnn.to_torch(tensor)


def random(shape: tuple[int, ...], low: float, high: float, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return (low + (high - low) * torch.rand(shape, generator=generator)).to(dtype)


def check(actual: torch.Tensor, expected: torch.Tensor, tolerance: float, absolute: float | None = None) -> None:
    """Shape equal, values within `tolerance` relative (and absolute), non-finite values at the same places."""
    assert tuple(actual.shape) == tuple(expected.shape)
    limit = tolerance if absolute is None else absolute
    torch.testing.assert_close(actual.double(), expected.double(), rtol=tolerance, atol=limit, equal_nan=True)
