"""`tt_lib.fallback_ops`: ops that older programs compute with torch on the host, on TT-NN tensors.

A call reads its tensors back, computes in float32, and gives bfloat16 tensors of rank 4: tiles where the last two dimensions are whole ones,
on the device. `output_layout=` and `output_on_device=` say otherwise. The device does nothing but the transfers.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import ttnn

_WIDENED = {torch.bfloat16: torch.float32, torch.uint16: torch.int16, torch.uint32: torch.int32}
_TILE_EDGE = 32


@dataclass
class _Target:
    """Where results go: the layout and the device of the call's first tensor on one."""

    layout: Any
    on_device: bool
    device: Any = None

    def read(self, value: Any) -> Any:
        """TT-NN tensors of a value as torch tensors."""
        if isinstance(value, ttnn.Tensor):
            if self.device is None:
                self.device = value.device()
            made = value.cpu().to(ttnn.ROW_MAJOR_LAYOUT).to_torch()
            return made.to(_WIDENED.get(made.dtype, made.dtype))
        return [self.read(item) for item in value] if isinstance(value, list | tuple) else value

    def write(self, value: Any) -> Any:
        """Torch tensors of a result as TT-NN tensors."""
        if isinstance(value, list | tuple):
            return [self.write(item) for item in value]
        shape = [1] * (4 - value.dim()) + list(value.shape)
        made = ttnn.Tensor((value.bfloat16() if value.dtype == torch.float32 else value).reshape(shape))
        if self.layout == ttnn.TILE_LAYOUT and shape[-2] % _TILE_EDGE == 0 and shape[-1] % _TILE_EDGE == 0:
            made = made.to(ttnn.TILE_LAYOUT)
        return made.to(self.device) if self.on_device and (made.layout == ttnn.TILE_LAYOUT or shape[-1] % 2 == 0) else made


def _on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives `function` torch tensors for TT-NN ones, and TT-NN tensors for what it returns."""

    @functools.wraps(function)
    def call(*args: Any, output_layout: Any = None, output_on_device: bool = True, **kwargs: Any) -> Any:
        target = _Target(ttnn.TILE_LAYOUT if output_layout is None else output_layout, output_on_device)
        read = [target.read(value) for value in args], {key: target.read(value) for key, value in kwargs.items()}
        if target.device is None and output_on_device:
            target.device = ttnn.GetDefaultDevice()
        return target.write(function(*read[0], **read[1]))

    return call


@_on_host
def full(size: Sequence[int], fill_value: float) -> Any:
    return torch.full(size, fill_value, dtype=torch.float32)


@_on_host
def tensor_slice(input: Any, slices: Sequence[Any]) -> Any:
    return input[tuple(slices)]


@_on_host
def reshape(input: Any, N: int, C: int, H: int, W: int) -> Any:
    return torch.reshape(input, (N, C, H, W))


@_on_host
def permute(input: Any, N: int, C: int, H: int, W: int) -> Any:
    return torch.permute(input, (N, C, H, W))


@_on_host
def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    return torch.nn.functional.pad(input, tuple(pad), mode, value)


@_on_host
def conv2d(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    return torch.nn.functional.conv2d(input, weight, None if bias is None else bias.reshape(-1), stride, padding, dilation, groups)


@_on_host
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    scale, shift = (None if value is None else value.reshape(-1) for value in (weight, bias))
    return torch.nn.functional.group_norm(input, num_groups, scale, shift, eps)


@_on_host
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    scale, shift = (None if value is None else value.reshape(shape) for value in (weight, bias))
    return torch.nn.functional.layer_norm(input, shape, scale, shift, eps)


@_on_host
def unary_fmod(input: Any, other: float) -> Any:
    return torch.fmod(input, other)


def _torch(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of torch by the name that it has here."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return _on_host(call)


_FUNCTIONS = {
    **{name: getattr(torch, name) for name in ("chunk", "repeat_interleave", "concat", "ceil", "floor", "trunc", "bitwise_not")},
    **{name: getattr(torch.nn.functional, name) for name in ("interpolate", "silu", "softmax")},
    **{f"{kind}_bitwise_{op}": getattr(torch, f"bitwise_{op}") for kind in ("unary", "binary") for op in ("or", "and", "xor", "right_shift", "left_shift")},
    "repeat": torch.Tensor.repeat, "binary_fmod": torch.fmod, "torch_argmax": torch.argmax, "torch_argmin": torch.argmin,
}  # fmt: skip
globals().update({name: _torch(name, function) for name, function in _FUNCTIONS.items()})


class _Layer(torch.nn.Module):  # type: ignore[misc]
    """A layer of torch on TT-NN tensors. Its weights are tensors of the call, of either kind; norms may go without."""

    made: Callable[..., torch.nn.Module]

    def _make(self, *args: Any, weights: dict[str, Any], **settings: Any) -> None:
        self.pt_fallback = type(self).made(*args, **settings)
        reader = _Target(ttnn.TILE_LAYOUT, False)
        for name, value in weights.items():
            stored = getattr(self.pt_fallback, name)
            read = None if value is None or stored is None else reader.read(value).reshape(stored.shape)
            setattr(
                self.pt_fallback, name, torch.nn.Parameter(read, requires_grad=False) if isinstance(stored, torch.nn.Parameter) and read is not None else read
            )

    def forward(self, input: Any) -> Any:
        return _on_host(self.pt_fallback)(input)


class Conv2d(_Layer):
    made = torch.nn.Conv2d

    def __init__(self, weights: Any, biases: Any, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros") -> None:  # fmt: skip
        super().__init__()
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, weights={"weight": weights, "bias": biases})


class BatchNorm2d(_Layer):
    made = torch.nn.BatchNorm2d

    def __init__(self, weights: Any, biases: Any, running_mean: Any, running_var: Any, num_batches_tracked: Any, num_features: int,
                 eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True) -> None:  # fmt: skip
        super().__init__()
        stored = {"weight": weights, "bias": biases, "running_mean": running_mean, "running_var": running_var, "num_batches_tracked": num_batches_tracked}
        self._make(num_features, eps, momentum, affine, track_running_stats, weights=stored)
        self.pt_fallback.eval()


class GroupNorm(_Layer):
    made = torch.nn.GroupNorm

    def __init__(self, weights: Any, biases: Any, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__()
        self._make(num_groups, num_channels, eps, affine, weights={"weight": weights, "bias": biases})


class LayerNorm(_Layer):
    made = torch.nn.LayerNorm

    def __init__(self, weights: Any, biases: Any, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True) -> None:
        super().__init__()
        self._make(normalized_shape, eps, elementwise_affine, weights={"weight": weights, "bias": biases})


class MaxPool2d(_Layer):
    made = torch.nn.MaxPool2d

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False,
                 channels_last: bool = False, reshape_2d: bool = False) -> None:  # fmt: skip
        super().__init__()
        self.channels_last, self.reshape_2d = channels_last, reshape_2d
        self._make(kernel_size, stride, padding, dilation, return_indices, ceil_mode, weights={})

    def forward(self, input: Any) -> Any:
        return _on_host(self._pooled)(input)

    def _pooled(self, image: Any) -> Any:
        pooled = _over_pixels(self.pt_fallback, self.channels_last, image)
        return pooled.reshape(1, 1, -1, pooled.shape[-1]) if self.reshape_2d else pooled


class AdaptiveAvgPool2d(_Layer):
    made = torch.nn.AdaptiveAvgPool2d

    def __init__(self, output_size: Any, channels_last: bool = False) -> None:
        super().__init__()
        self.channels_last = channels_last
        self._make(output_size, weights={})

    def forward(self, input: Any) -> Any:
        return _on_host(functools.partial(_over_pixels, self.pt_fallback, self.channels_last))(input)


def _over_pixels(pool: Callable[[Any], Any], channels_last: bool, image: Any) -> Any:
    """`pool` over [N, C, H, W], or over [N, H, W, C] with channels_last."""
    return torch.permute(pool(torch.permute(image, (0, 3, 1, 2))), (0, 2, 3, 1)) if channels_last else pool(image)


fallback_ops = sys.modules[__name__]  # `from tt_lib.fallback_ops import fallback_ops`
