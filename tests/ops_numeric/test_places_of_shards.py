"""Where results lie when an op makes shards of its own: how far below a tensor that lay in L1 before the call, as in the real package."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import ttnn

ROWS, TILES = ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT
BLOCKS, HEIGHT = ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.TensorMemoryLayout.HEIGHT_SHARDED
WHOLE_GRID = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, 7))})
L1, DRAM = ttnn.L1_MEMORY_CONFIG, ttnn.DRAM_MEMORY_CONFIG


def height_shards(rows: int, width: int) -> Any:
    return ttnn.MemoryConfig(HEIGHT, ttnn.BufferType.L1, ttnn.ShardSpec(WHOLE_GRID, [rows // 64, width], ttnn.ShardOrientation.ROW_MAJOR))


@pytest.mark.parametrize(
    ("memory", "layout", "options", "below", "input_stays"),
    [
        (L1, TILES, {}, 45376, True),
        (L1, TILES, {"deallocate_input": True}, 28992, True),
        (L1, ROWS, {"reallocate_halo_output": False}, 45376, True),
        (L1, ROWS, {"reallocate_halo_output": False, "deallocate_input": True}, 4096, True),
        (L1, ROWS, {"memory_config": L1}, 49472, True),
        (height_shards(16384, 32), ROWS, {"deallocate_input": True}, 12608, False),
        (height_shards(16384, 32), ROWS, {"deallocate_input": True, "reallocate_halo_output": False}, -12288, False),
        (height_shards(16384, 32), TILES, {"deallocate_input": True, "memory_config": L1}, 16704, False),
    ],
)
def test_pool(memory: Any, layout: Any, options: dict[str, Any], below: int, input_stays: bool, device: Any) -> None:
    """Shards that the pool made stay to its end; those that it may free go before the gathered rows move. An interleaved input is never freed."""
    values = torch.randn(1, 1, 128 * 128, 32)
    x = ttnn.from_torch(values, dtype=ttnn.bfloat16, layout=layout, device=device, memory_config=memory)
    place = x.buffer_address()
    result = ttnn.max_pool2d(x, 1, 128, 128, 32, [3, 3], [2, 2], [1, 1], [1, 1], **options)
    assert (place - result.buffer_address(), x.is_allocated()) == (below, input_stays)
    image = values.reshape(128, 128, 32).permute(2, 0, 1)[None].bfloat16().float()
    expected = torch.nn.functional.max_pool2d(image, 3, 2, 1).permute(0, 2, 3, 1).reshape(1, 1, -1, 32)
    assert torch.equal(ttnn.to_torch(result).float(), expected)


@pytest.mark.parametrize("memory", [L1, DRAM])
@pytest.mark.parametrize("size", [8, 256])
def test_pools_do_not_free_interleaved_inputs(size: int, memory: Any, device: Any) -> None:
    x = ttnn.from_torch(torch.zeros(1, 1, size * size, 32), dtype=ttnn.bfloat16, layout=ROWS, device=device, memory_config=memory)
    ttnn.avg_pool2d(x, 1, size, size, 32, [8, 8], [8, 8], [0, 0], deallocate_input=True)
    assert x.is_allocated()


@pytest.mark.parametrize(("rows", "channels", "below"), [(26 * 32, 256, 0), (26 * 32, 64, 7360), (20 * 32, 64, 3744)])
def test_convolution_of_host_sticks_in_blocks(rows: int, channels: int, below: int, device: Any) -> None:
    """The last cores' shards are filled up on the device: the first place of the shards is free when the gathered rows are placed."""
    cores = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, 6))})
    memory = ttnn.MemoryConfig(BLOCKS, ttnn.BufferType.L1, ttnn.ShardSpec(cores, [128, 32], ttnn.ShardOrientation.ROW_MAJOR))
    probe = ttnn.allocate_tensor_on_device(ttnn.Shape([1, 1, 896, 256]), ttnn.bfloat16, TILES, device, memory)
    top = probe.buffer_address()
    ttnn.deallocate(probe)
    x = ttnn.from_torch(torch.zeros(1, 1, rows, channels), dtype=ttnn.bfloat16)
    result = ttnn.conv2d(
        input_tensor=x, weight_tensor=ttnn.from_torch(torch.zeros(256, channels, 3, 3), dtype=ttnn.bfloat16), device=device, in_channels=channels,
        out_channels=256, batch_size=1, input_height=rows // 32, input_width=32, kernel_size=(3, 3), padding=(1, 1), dtype=ttnn.bfloat16,
        conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, shard_layout=BLOCKS, reallocate_halo_output=False),
        slice_config=ttnn.Conv2dL1FullSliceConfig,
    )  # fmt: skip
    assert top - result.buffer_address() == below


def test_permuted_shards_take_two_programs(device: Any) -> None:
    values = torch.randn(1, 16, 512, 512)
    x = ttnn.from_torch(values, dtype=ttnn.bfloat16, layout=ROWS, device=device, memory_config=height_shards(16 * 512, 512))
    result = ttnn.permute(x, (0, 2, 3, 1))
    assert x.buffer_address() - result.buffer_address() == 2 * 131072
    assert torch.equal(ttnn.to_torch(result), values.bfloat16().permute(0, 2, 3, 1))
