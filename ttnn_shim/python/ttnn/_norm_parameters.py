"""What normalisations take beside their input: masks, weights in rows, tables of reciprocals, grids of cores."""

from __future__ import annotations

from typing import Any

import numpy as np
from ttnn_shim.errors import InvalidArgument, NotSupported

from ttnn import _core
from ttnn._binding import api_function
from ttnn._dtypes import TILE_SIDE
from ttnn._enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from ttnn._grid import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from ttnn._host import from_torch, roundup
from ttnn._memory import MemoryConfig, ShardSpec
from ttnn._tensor import Tensor


def get_group_norm_cores_across_channel(memory_layout: Any, core_grid: Any, shard_orientation: Any = None) -> int:
    """Cores that share the channels of a sharded tensor. Without an orientation blocks go by columns, as in the real package."""
    if memory_layout is TensorMemoryLayout.BLOCK_SHARDED:
        return int(core_grid.x if shard_orientation is ShardOrientation.ROW_MAJOR else core_grid.y)
    if memory_layout is TensorMemoryLayout.HEIGHT_SHARDED:
        return 1
    return int(core_grid.x * core_grid.y)


@api_function("ttnn.create_group_norm_input_mask")
def create_group_norm_input_mask(data_type: Any = DataType.BFLOAT16, **sizes: int) -> Tensor:
    """[1, groups, 32, 32 * tiles]: ones where a group's channels lie in the tiles that it touches."""
    return Tensor(_group_mask(**sizes), data_type, layout=Layout.TILE)


@api_function("ttnn.create_group_norm_input_negative_mask")
def create_group_norm_input_negative_mask(data_type: Any = DataType.BFLOAT16, **sizes: int) -> Tensor:
    """One minus the input mask."""
    return Tensor(1 - _group_mask(**sizes), data_type, layout=Layout.TILE)


def _group_mask(
    num_channel: int, num_groups: int, num_cores_across_channel: int, tile_height: int = 32, tile_width: int = 32, rows_in_last_tile: int = 0
) -> np.ndarray[Any, Any]:
    channels, groups, cores = num_channel, num_groups, num_cores_across_channel
    if min(channels, groups, cores) <= 0 or channels < groups or groups % cores:
        message = f"expected at least {groups} channels, got {channels}, and groups {groups} divisible by cores {cores}"
        raise _core.error(InvalidArgument, message, "ttnn.create_group_norm_input_mask")
    if rows_in_last_tile:
        raise _core.error(NotSupported, "rows_in_last_tile is not implemented: leave it 0", "ttnn.create_group_norm_input_mask")
    size = channels // groups
    starts = [(group % (groups // cores)) * size % tile_width for group in range(groups)]
    tiles = max((first + size - 1) // tile_width - first // tile_width + 1 for first in range(0, channels, size))  # of all channels, whatever the cores
    mask = np.zeros((1, groups, tile_height, tile_width * tiles), np.float32)
    for group, start in enumerate(starts):
        mask[0, group, :, start : start + size] = 1
    return mask


def create_group_norm_weight_bias_rm(input_tensor: Any, num_channels: int, num_cores_x: int) -> Any:
    """Weights or biases as [1, 1, tiles, 32]: each core's channels padded to whole tiles. Takes and gives torch tensors."""
    import torch

    per_core = num_channels // num_cores_x
    padded = roundup(per_core, TILE_SIDE)
    rows = torch.zeros((num_cores_x, padded), dtype=input_tensor.dtype)
    rows[:, :per_core] = input_tensor.reshape(num_cores_x, per_core)
    return rows.reshape(1, 1, -1, TILE_SIDE)


def dram_group_norm_virtual_columns(core_grid: Any, num_channels: int, num_groups: int) -> int:
    """Into how many columns of cores an interleaved group norm divides its channels: each takes whole tiles and whole groups."""
    columns = next((n for n in range(min(core_grid.x, num_groups), 0, -1) if num_channels // n % TILE_SIDE == 0 and num_groups % n == 0), 0)
    assert columns > 0, f"no number of columns fits {num_channels} channels in {num_groups} groups on {core_grid.x} columns of cores"
    return columns


def determine_expected_group_norm_dram_grid_size(*, device: Any, num_channels: int, num_groups: int, input_nhw: int, num_batches: int = 1) -> Any:
    """The widest, then highest grid of cores on which an interleaved group norm divides its rows of tiles evenly."""
    assert num_channels % num_groups == 0
    assert num_channels % TILE_SIDE == 0
    whole, rows = device.compute_with_storage_grid_size(), input_nhw // TILE_SIDE
    for x in range(whole.x, 0, -1):
        columns = next((n for n in range(min(x, num_groups), 0, -1) if num_channels // n % TILE_SIDE == 0 and num_groups % n == 0), 0)
        for y in range(whole.y if columns and x % columns == 0 else 0, 0, -1):
            parts = x // columns * y
            if parts <= rows and rows % parts == 0 and (parts < num_batches or parts % num_batches == 0):
                return CoreGrid(x=x, y=y)
    message = f"no grid of cores fits {num_channels} channels in {num_groups} groups and {input_nhw} rows"
    raise _core.error(InvalidArgument, message, "ttnn.determine_expected_group_norm_dram_grid_size")


@api_function("ttnn.determine_expected_group_norm_sharded_config_and_grid_size")
def determine_expected_group_norm_sharded_config_and_grid_size(
    *, device: Any, num_channels: int, num_groups: int, input_nhw: int, is_height_sharded: bool, is_row_major: bool = False
) -> tuple[MemoryConfig, CoreGrid]:
    """Shards of a group norm's input [1, 1, NHW, C] in L1, and their grid: as many cores as divide the rows of tiles evenly.

    Block shards divide the channels too, in whole groups of whole eights. Raises AssertionError where sizes do not fit.
    """
    assert num_channels % num_groups == 0
    assert num_channels % TILE_SIDE == 0
    whole = device.compute_with_storage_grid_size()
    across, down = (whole.y, whole.x) if is_row_major else (whole.x, whole.y)
    row_tiles, group = -(-input_nhw // TILE_SIDE), num_channels // num_groups
    limit = whole.x * whole.y if is_height_sharded else across
    cores = next(n for n in range(min(limit, row_tiles), 0, -1) if row_tiles % n == 0)
    rows = row_tiles // cores * TILE_SIDE
    if is_height_sharded:
        x, y = min(cores, across), -(-cores // across)
        shape, orientation, layout = [rows, num_channels], ShardOrientation.ROW_MAJOR, TensorMemoryLayout.HEIGHT_SHARDED
    else:
        parts = next(n for n in range(down, 0, -1) if num_channels // 8 % n == 0 and num_channels // n % group == 0)
        part, layout = num_channels // parts, TensorMemoryLayout.BLOCK_SHARDED
        x, y, shape, orientation = parts, cores, [rows, part], ShardOrientation.ROW_MAJOR
        if not is_row_major:
            x, y, shape, orientation = cores, parts, [part, rows], ShardOrientation.COL_MAJOR
    used = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(x - 1, y - 1))])
    return MemoryConfig(layout, BufferType.L1, ShardSpec(used, shape, orientation)), CoreGrid(x=x, y=y)


def dram_group_norm_params_from_torch(
    torch_params: Any,
    channels_per_device: int,
    groups_per_device: int,
    device: Any,
    mesh_axis: int | None = None,
    core_grid: Any = None,
    return_mask: bool = True,
    dtype: Any = DataType.BFLOAT16,
) -> Any:
    """Weights of an interleaved group norm (one torch tensor or several) as rows on the device, and the mask of its groups."""
    import torch

    assert core_grid or device, "a core_grid or a device is needed to divide the channels"
    assert channels_per_device % TILE_SIDE == 0 == channels_per_device % groups_per_device, (
        f"{channels_per_device} channels are not divisible by {TILE_SIDE} and by {groups_per_device} groups"
    )
    columns = dram_group_norm_virtual_columns(core_grid or device.core_grid, channels_per_device, groups_per_device)
    several = not isinstance(torch_params, torch.Tensor)
    tensors = []
    for values in torch_params if several else [torch_params]:
        assert values.numel() == channels_per_device, f"expected {channels_per_device} values, got {values.numel()}"
        tensors.append(from_torch(create_group_norm_weight_bias_rm(values, channels_per_device, columns), dtype=dtype, device=device))
    result = tensors if several else tensors[0]
    if not return_mask:
        return result
    mask = create_group_norm_input_mask(channels_per_device, groups_per_device, columns, dtype)
    return result, mask.to(device) if device is not None else mask


def create_layer_norm_reciprocals(device: Any, core_range_set: Any, width: int) -> Any:
    """1, 1/2, ... 1/width for the running means of a layer norm: a row for each core, in its L1."""
    table = np.tile(1 / np.arange(1, width + 1, dtype=np.float64), (core_range_set.num_cores(), 1)).astype(np.float32)
    shard = ShardSpec(core_range_set, [1, width], ShardOrientation.ROW_MAJOR)
    memory = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, shard)
    return Tensor(table, DataType.FLOAT32, device=device, layout=Layout.ROW_MAJOR, mem_config=memory)
