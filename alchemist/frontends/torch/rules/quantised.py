"""Fake-quantised models (QAT) and those of torch's pt2e: rounding to a grid of whole numbers and back, as float arithmetic."""

from __future__ import annotations

import torch

from alchemist.frontends.torch.registry import recipe


def _along(values: torch.Tensor, axis: int, rank: int) -> torch.Tensor:
    return values.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def _steps(x: torch.Tensor, scale: float | torch.Tensor, zero: int | torch.Tensor) -> torch.Tensor:
    """Places on the grid, before they are clamped. torch multiplies by the inverse scale."""
    inverse = 1.0 / scale.float() if isinstance(scale, torch.Tensor) else torch.tensor(1.0 / scale).item()
    return torch.round(x.float() * inverse) + zero


def _faked(x: torch.Tensor, scale: float | torch.Tensor, zero: int | torch.Tensor, low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
    steps = _steps(x, scale, zero)
    return ((torch.clamp(steps, low, high) - zero) * scale).to(x.dtype), (steps >= low) & (steps <= high)


@recipe("aten.fake_quantize_per_tensor_affine_cachemask.default")
def fake_quantise(x: torch.Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> tuple[torch.Tensor, torch.Tensor]:
    return _faked(x, scale, zero_point, quant_min, quant_max)


@recipe("aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default")
def fake_quantise_by_tensors(
    x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, fake_quant_enabled: torch.Tensor, quant_min: int, quant_max: int
) -> tuple[torch.Tensor, torch.Tensor]:
    quantized, mask = _faked(x, scale, zero_point, quant_min, quant_max)
    on = fake_quant_enabled.to(torch.bool)
    return torch.where(on, quantized, x), mask | ~on


@recipe("aten.fake_quantize_per_channel_affine_cachemask.default")
def fake_quantise_channels(
    x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, axis: int, quant_min: int, quant_max: int
) -> tuple[torch.Tensor, torch.Tensor]:
    return _faked(x, _along(scale, axis, x.dim()), _along(zero_point, axis, x.dim()), quant_min, quant_max)


@recipe("quantized_decomposed.quantize_per_tensor.default", "quantized_decomposed.quantize_per_tensor.tensor")
def quantise(x: torch.Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.clamp(_steps(x, scale, zero_point), quant_min, quant_max).to(dtype)


@recipe("quantized_decomposed.dequantize_per_tensor.default", "quantized_decomposed.dequantize_per_tensor.tensor")
def dequantise(
    x: torch.Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: torch.dtype, *, out_dtype: torch.dtype | None = None
) -> torch.Tensor:
    return (x.to(out_dtype or torch.float32) - zero_point) * scale


@recipe("quantized_decomposed.quantize_per_channel.default")
def quantise_channels(
    x: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor, axis: int, quant_min: int, quant_max: int, dtype: torch.dtype
) -> torch.Tensor:
    return torch.clamp(_steps(x, _along(scales, axis, x.dim()), _along(zero_points, axis, x.dim())), quant_min, quant_max).to(dtype)


@recipe("quantized_decomposed.dequantize_per_channel.default")
def dequantise_channels(
    x: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    zero = _along(zero_points, axis, x.dim()) if zero_points is not None else 0
    return (x.to(out_dtype or torch.float32) - zero) * _along(scales, axis, x.dim())
