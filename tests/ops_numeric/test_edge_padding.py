"""Convolutions whose padding repeats the nearest pixel, weights of three dimensions, and group_norm weights that are padded for each core."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
import ttnn

REPEATED = ttnn.PaddingMode.Replicate
L1_FULL = {"slice_config": ttnn.Conv2dL1FullSliceConfig}
TRANSPOSED_L1_FULL = {"dram_slice_config": ttnn.Conv2dL1FullSliceConfig}


def whole_numbers(*shape: int) -> torch.Tensor:
    return torch.randint(-2, 3, shape).float()


def on_device(image: torch.Tensor, device: Any) -> Any:
    """[N, C, H, W] as the library's rows of channels."""
    n, c, h, w = image.shape
    return ttnn.from_torch(image.permute(0, 2, 3, 1).reshape(1, 1, n * h * w, c), dtype=ttnn.bfloat16, device=device)


def check(result: Any, expected: torch.Tensor) -> None:
    rows = expected.movedim(1, -1).reshape(-1, expected.shape[1])
    torch.testing.assert_close(ttnn.to_torch(result).float().reshape(rows.shape), rows, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("slices", [{}, L1_FULL], ids=["dram", "l1"])
@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation"), [((3, 3), (1, 1), (1, 1), (1, 1)), ((5, 3), (2, 1), (3, 2, 0, 1), (1, 2))])
def test_conv2d(kernel: Any, stride: Any, padding: tuple[int, ...], dilation: Any, slices: Any, device: Any) -> None:
    torch.manual_seed(0)
    image, weight = whole_numbers(2, 16, 12, 10), whole_numbers(32, 16, *kernel)
    top, bottom, left, right = padding if len(padding) == 4 else (padding[0], padding[0], padding[1], padding[1])
    expected = F.conv2d(F.pad(image, (left, right, top, bottom), mode="replicate"), weight, stride=stride, dilation=dilation)
    result = ttnn.conv2d(
        input_tensor=on_device(image, device), weight_tensor=ttnn.from_torch(weight, dtype=ttnn.bfloat16), device=device, in_channels=16,
        out_channels=32, batch_size=2, input_height=12, input_width=10, kernel_size=kernel, stride=stride, padding=padding, dilation=dilation,
        conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, padding_mode=REPEATED), **slices,
    )  # fmt: skip
    check(result, expected)


@pytest.mark.parametrize(("kernel", "stride", "padding", "extra"), [(3, 2, 1, 1), (4, 2, 1, 0), (3, 1, 0, 0)])
def test_conv_transpose2d(kernel: int, stride: int, padding: int, extra: int, device: Any) -> None:
    """The zeros between the pixels stay; what lies around them repeats their rectangle's edge."""
    torch.manual_seed(0)
    image, weight = whole_numbers(1, 16, 6, 5), whole_numbers(16, 32, kernel, kernel)
    spread = torch.zeros(1, 16, 5 * stride + 1, 4 * stride + 1)
    spread[:, :, ::stride, ::stride] = image
    side = kernel - 1 - padding
    border = F.pad(spread, (side, side + extra, side, side + extra), mode="replicate")
    result = ttnn.conv_transpose2d(
        input_tensor=on_device(image, device), weight_tensor=ttnn.from_torch(weight, dtype=ttnn.bfloat16), device=device, in_channels=16,
        out_channels=32, batch_size=1, input_height=6, input_width=5, kernel_size=(kernel, kernel), stride=(stride, stride),
        padding=(padding, padding), output_padding=(extra, extra), conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, padding_mode=REPEATED),
        **TRANSPOSED_L1_FULL,
    )  # fmt: skip
    check(result, F.conv2d(border, weight.flip(2, 3).transpose(0, 1)))


@pytest.mark.parametrize("groups", [1, 32])
@pytest.mark.parametrize("prepared", [False, True])
def test_conv1d(prepared: bool, groups: int, device: Any) -> None:
    """Weights [O, I / groups, K] are prepared as those of an image of one row."""
    torch.manual_seed(0)
    line, weight = whole_numbers(2, 32, 64), whole_numbers(32, 32 // groups, 5)
    expected = F.conv1d(F.pad(line, (2, 2), mode="replicate"), weight, groups=groups)
    weights = ttnn.from_torch(weight, dtype=ttnn.bfloat16)
    if prepared:
        weights = ttnn.prepare_conv_weights(
            weight_tensor=weights, input_memory_config=ttnn.DRAM_MEMORY_CONFIG, input_layout=ttnn.ROW_MAJOR_LAYOUT, weights_format="OIHW",
            in_channels=32, out_channels=32, batch_size=2, input_height=1, input_width=64, kernel_size=(1, 5), stride=(1, 1), padding=(0, 2),
            dilation=(1, 1), has_bias=False, groups=groups, device=device, input_dtype=ttnn.bfloat16,
        )  # fmt: skip
    result = ttnn.conv1d(
        input_tensor=on_device(line[:, :, None], device), weight_tensor=weights, device=device, in_channels=32, out_channels=32, batch_size=2,
        input_length=64, kernel_size=5, stride=1, padding=2, groups=groups,
        conv_config=ttnn.Conv1dConfig(weights_dtype=ttnn.bfloat16, padding_mode=REPEATED),
    )  # fmt: skip
    check(result, expected)


@pytest.mark.parametrize(("channels", "cores", "padded"), [(320, 8, True), (128, 4, True), (128, 4, False)])
def test_group_norm_weights_of_each_core(channels: int, cores: int, padded: bool, device: Any) -> None:
    """Each core reads whole rows of 32 values."""
    torch.manual_seed(0)
    x, weight, bias = torch.rand(1, channels, 1, 64), torch.rand(channels), torch.rand(channels)
    grid = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, cores - 1))})
    memory = ttnn.MemoryConfig(
        ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.BufferType.L1, ttnn.ShardSpec(grid, [32, channels // cores], ttnn.ShardOrientation.COL_MAJOR)
    )
    rows = ttnn.from_torch(x.permute(0, 2, 3, 1), dtype=ttnn.bfloat16, device=device, memory_config=memory)
    factors = [
        ttnn.from_torch(
            ttnn.create_group_norm_weight_bias_rm(values, channels, cores) if padded else values.reshape(1, 1, -1, 32),
            dtype=ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT, device=device,
        )
        for values in (weight, bias)
    ]  # fmt: skip
    mask = ttnn.to_device(ttnn.create_group_norm_input_mask(channels, 32, cores, ttnn.bfloat8_b), device)
    result = ttnn.group_norm(rows, num_groups=32, input_mask=mask, weight=factors[0], bias=factors[1], memory_config=memory)
    expected = F.group_norm(x, 32, weight, bias).permute(0, 2, 3, 1)
    torch.testing.assert_close(ttnn.to_torch(result).float(), expected, rtol=0.05, atol=0.05)
