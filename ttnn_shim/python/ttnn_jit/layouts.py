"""Which tensors ttnn.jit takes, in the real package's words, and where its results lie."""

from __future__ import annotations

import math
from typing import Any

import ttnn

from ttnn_jit.graph import Spec

TILE = 32


def check_layout(tensor: Any) -> None:
    """Raises ValueError for a tensor that ttnn.jit's translator refuses."""
    if tensor.layout is not ttnn.TILE_LAYOUT:
        raise ValueError(f"Only Layout.Tile tensors are supported. Found layout: {tensor.layout}")
    memory = tensor.memory_config()
    if memory.is_sharded():
        _check_shards(memory)
    elif memory.buffer_type is ttnn.BufferType.L1:
        raise ValueError("Interleaved L1 tensors are not supported.")
    shape = tuple(tensor.shape)
    if len(shape) < 2 or any(side % TILE for side in shape[-2:]):
        raise ValueError(f"Only tile-aligned tensors are supported: expected the last two dimensions in multiples of {TILE}. Found shape: {list(shape)}")


def _check_shards(memory: Any) -> None:
    spec = memory.nd_shard_spec or memory.shard_spec
    if memory.buffer_type is not ttnn.BufferType.L1:
        raise ValueError("Sharded DRAM tensors are not supported.")
    if spec is None:
        return
    if spec.orientation is ttnn.ShardOrientation.COL_MAJOR:
        raise ValueError("Column major sharding is not supported.")
    if getattr(spec, "shard_distribution_strategy", None) is ttnn.ShardDistributionStrategy.GRID_2D and memory.shard_spec is None:
        raise ValueError("Grid2D distribution strategy is not supported.")
    if len(spec.grid.ranges()) > 1:
        raise ValueError(f"Tensor grids with more than one CoreRange are not supported. Found grid: {spec.grid}")


def output_memory_config(spec: Spec, device: Any, max_grid: tuple[int, int] | None = None) -> Any:
    """Block-sharded over L1, on the largest grid whose sides divide the result's tiles; max_grid: (y, x) of its last core at most."""
    padded = (1, 1, *spec.padded)
    rows, columns = -(-math.prod(padded[:-1]) // TILE), -(-padded[-1] // TILE)
    grid = device.compute_with_storage_grid_size()
    last_row, last_column = max_grid or (grid.y - 1, grid.x - 1)
    down, across = _largest_divisor(rows, min(grid.y, last_row + 1)), _largest_divisor(columns, min(grid.x, last_column + 1))
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(across - 1, down - 1))])
    shard = ttnn.ShardSpec(cores, [rows // down * TILE, columns // across * TILE], ttnn.ShardOrientation.ROW_MAJOR)
    return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.BufferType.L1, shard)


def _largest_divisor(count: int, limit: int) -> int:
    return max(divisor for divisor in range(1, limit + 1) if count % divisor == 0)
