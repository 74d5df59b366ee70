"""What conv2d takes as weights, and where results of 1x1 windows lie."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import InvalidArgument, NotSupported

HEIGHT = ttnn.TensorMemoryLayout.HEIGHT_SHARDED


def convolved(device: Any, image: torch.Tensor, weight: Any, memory: Any, kernel: int) -> Any:
    """image: [32 * 32, channels]."""
    x = ttnn.from_torch(image.reshape(1, 1, 1024, -1), dtype=ttnn.bfloat16, device=device, memory_config=memory)
    return ttnn.conv2d(
        input_tensor=x, weight_tensor=weight, device=device, in_channels=image.shape[-1], out_channels=32, batch_size=1, input_height=32, input_width=32,
        kernel_size=(kernel, kernel), padding=(kernel // 2, kernel // 2), conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16),
        return_weights_and_bias=True,
    )  # fmt: skip


@pytest.mark.parametrize("memory", [ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG], ids=["dram", "l1"])
@pytest.mark.parametrize(("channels", "kernel", "on_device"), [(16, 3, True), (16, 1, True), (3, 3, False), (8, 3, False)])
def test_weights_that_the_real_package_prepares(memory: Any, channels: int, kernel: int, on_device: bool, device: Any) -> None:
    """Raw weights on the device, and fewer channels than the input's, whose others count nothing. Prepared ones serve again."""
    torch.manual_seed(0)
    image, weight = torch.randint(-2, 3, (1024, 16)).float(), torch.randint(-2, 3, (32, channels, kernel, kernel)).float()
    given = ttnn.from_torch(weight, dtype=ttnn.bfloat16, device=device if on_device else None)
    expected = torch.nn.functional.conv2d(image[:, :channels].T.reshape(1, channels, 32, 32), weight, padding=kernel // 2)[0].flatten(1).T
    output, (prepared, _) = convolved(device, image, given, memory, kernel)
    again, _ = convolved(device, image, prepared, memory, kernel)
    for found in (output, again):
        torch.testing.assert_close(ttnn.to_torch(found).float().reshape(1024, 32), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("channels", "kernel", "message"), [(20, 3, "weight_tensor: expected shape"), (3, 1, "width of the first tensor must be equal to the height of the second")]
)
def test_weights_of_other_channels(channels: int, kernel: int, message: str, device: Any) -> None:
    weight = ttnn.from_torch(torch.zeros(32, channels, kernel, kernel), dtype=ttnn.bfloat16)
    with pytest.raises(InvalidArgument, match=message):
        convolved(device, torch.zeros(1024, 16), weight, ttnn.DRAM_MEMORY_CONFIG, kernel)


@pytest.mark.parametrize(("rows", "cores"), [(2048, 0), (4096, 0), (49 * 40, 49), (49 * 56, 49)])
def test_results_of_1x1_windows_lie_where_their_rows_were(rows: int, cores: int, device: Any) -> None:
    """The shards that the call made of its input are given back before the result is placed: it has the place of a first tensor of its kind.
    Rows on the host (cores 0), or in shards of whole rows that are no tiles."""
    x = ttnn.from_torch(torch.zeros(1, 1, rows, 64), dtype=ttnn.bfloat16)
    if cores:
        grid = ttnn.num_cores_to_corerangeset(cores, ttnn.CoreCoord(8, 8), True)
        x = x.to(device, ttnn.MemoryConfig(HEIGHT, ttnn.BufferType.L1, ttnn.ShardSpec(grid, [rows // cores, 64], ttnn.ShardOrientation.ROW_MAJOR)))
    settings = ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, shard_layout=HEIGHT, reshard_if_not_optimal=bool(cores))
    output = ttnn.conv2d(
        input_tensor=x, weight_tensor=ttnn.from_torch(torch.zeros(64, 64, 1, 1), dtype=ttnn.bfloat16), device=device, in_channels=64, out_channels=64,
        batch_size=1, input_height=rows, input_width=1, kernel_size=(1, 1), conv_config=settings,
        **({} if cores else {"slice_config": ttnn.Conv2dL1FullSliceConfig}),
    )  # fmt: skip
    memory, address = output.memory_config(), output.buffer_address()
    ttnn.deallocate(output)
    assert address == ttnn.allocate_tensor_on_device(ttnn.Shape([1, 1, rows, 64]), ttnn.bfloat16, ttnn.TILE_LAYOUT, device, memory).buffer_address()


def side_by_side(device: Any, image: torch.Tensor, weight: torch.Tensor, cores: int, layout: Any, **settings: Any) -> Any:
    """conv2d of [32 * 32, channels] on height shards with windows that step by their own size."""
    grid = ttnn.num_cores_to_corerangeset(cores, ttnn.CoreCoord(8, 8), True)
    memory = ttnn.MemoryConfig(HEIGHT, ttnn.BufferType.L1, ttnn.ShardSpec(grid, [1024 // cores, image.shape[-1]], ttnn.ShardOrientation.ROW_MAJOR))
    kernel = weight.shape[-1]
    x = ttnn.from_torch(image.reshape(1, 1, 1024, -1), dtype=ttnn.bfloat16, layout=layout, device=device, memory_config=memory)
    return ttnn.conv2d(
        input_tensor=x, weight_tensor=ttnn.from_torch(weight, dtype=ttnn.bfloat16), device=device, in_channels=image.shape[-1], out_channels=64,
        batch_size=1, input_height=32, input_width=32, kernel_size=(kernel, kernel), stride=(kernel, kernel),
        padding=(settings.pop("padding", 0),) * 2, conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, **settings),
    )  # fmt: skip


@pytest.mark.parametrize("layout", [ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT])
@pytest.mark.parametrize(("cores", "kernel", "settings", "result_cores"), [(8, 2, {}, 8), (16, 4, {"shard_layout": HEIGHT}, 2)])
def test_windows_side_by_side_on_height_shards(layout: Any, cores: int, kernel: int, settings: dict[str, Any], result_cores: int, device: Any) -> None:
    torch.manual_seed(0)
    image, weight = torch.randint(-2, 3, (1024, 32)).float(), torch.randint(-2, 3, (64, 32, kernel, kernel)).float()
    expected = torch.nn.functional.conv2d(image.T.reshape(1, 32, 32, 32), weight, stride=kernel)[0].flatten(1).T
    output = side_by_side(device, image, weight, cores, layout, **settings)
    assert output.memory_config().shard_spec.grid.num_cores() == result_cores
    torch.testing.assert_close(ttnn.to_torch(output).float().reshape(expected.shape), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("layout", [ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT])
@pytest.mark.parametrize(
    ("cores", "settings", "said"),
    [(16, {}, "but got TensorMemoryLayout::INTERLEAVED"), (16, {"shard_layout": ttnn.TensorMemoryLayout.BLOCK_SHARDED}, "must be tiles"),
     (8, {"padding": 1}, "pads no shards")],
)  # fmt: skip
def test_windows_side_by_side_that_the_real_package_refuses(layout: Any, cores: int, settings: dict[str, Any], said: str, device: Any) -> None:
    with pytest.raises((InvalidArgument, NotSupported), match=said):
        side_by_side(device, torch.zeros(1024, 32), torch.zeros(64, 32, 2, 2), cores, layout, **settings)
    side_by_side(device, torch.zeros(1024, 32), torch.zeros(64, 32, 2, 2), cores, layout, **settings | {"enable_kernel_stride_folding": False})


def test_products_of_block_floats_on_shards_are_tiles(device: Any) -> None:
    """Whatever output_layout says, as in the real package: BFLOAT8_B has no rows."""
    x = ttnn.from_torch(torch.ones(1, 1, 256, 64), dtype=ttnn.bfloat8_b, device=device, memory_config=ttnn.L1_MEMORY_CONFIG)
    settings = ttnn.Conv2dConfig(shard_layout=HEIGHT, output_layout=ttnn.ROW_MAJOR_LAYOUT)
    output = ttnn.conv2d(
        input_tensor=x, weight_tensor=ttnn.from_torch(torch.ones(32, 64, 1, 1), dtype=ttnn.bfloat16), device=device, in_channels=64, out_channels=32,
        batch_size=1, input_height=16, input_width=16, kernel_size=(1, 1), conv_config=settings,
    )  # fmt: skip
    assert (output.dtype, output.layout) == (ttnn.bfloat8_b, ttnn.TILE_LAYOUT)
    assert torch.equal(ttnn.to_torch(output).float(), torch.full((1, 1, 256, 32), 64.0))
