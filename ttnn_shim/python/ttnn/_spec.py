"""`ttnn.TensorSpec`, with the ways to shard a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ttnn._binding import api_class
from ttnn._convert import register_class
from ttnn._dtypes import TILE_SIDE, tile_bytes
from ttnn._enums import BufferType, Layout, ShardOrientation, TensorMemoryLayout
from ttnn._grid import CoreRangeSet, Shape
from ttnn._handles import memory_config_of
from ttnn._keyed import Keyed
from ttnn._memory import MemoryConfig, NdShardSpec, ShardSpec, Tile


@api_class("ttnn.TensorSpec")
class TensorSpec(Keyed):
    """Shape, dtype, layout and memory config of a tensor."""

    __slots__ = ("_dtype", "_layout", "_memory_config", "_shape", "_tile")

    def __init__(
        self,
        shape: Shape,
        dtype: Any,
        layout: Any,
        buffer_type: Any = BufferType.DRAM,
        tile: Tile | None = None,
        memory_layout: Any = None,
        shard_spec: ShardSpec | None = None,
        nd_shard_spec: NdShardSpec | None = None,
    ) -> None:
        self._shape, self._dtype, self._layout = shape, dtype, layout
        self._tile = tile or Tile([TILE_SIDE, TILE_SIDE])
        if nd_shard_spec is not None:
            config = MemoryConfig(buffer_type=buffer_type, nd_shard_spec=nd_shard_spec)
        else:
            config = MemoryConfig(memory_layout or TensorMemoryLayout.INTERLEAVED, buffer_type, shard_spec)
        self._memory_config = self._placed(config)

    @classmethod
    def _of(cls, shape: Shape, dtype: Any, layout: Any, memory_config: MemoryConfig, tile: Tile) -> TensorSpec:
        spec = object.__new__(cls)
        spec._shape, spec._dtype, spec._layout, spec._memory_config, spec._tile = shape, dtype, layout, memory_config, tile
        return spec

    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._dtype)
    layout = property(lambda self: self._layout)
    memory_config = property(lambda self: self._memory_config)
    tile = property(lambda self: self._tile)

    def _placed(self, config: MemoryConfig) -> MemoryConfig:
        """The config as tensors of this spec have it: shards of any rank are two-dimensional where those are the same pieces on the same cores."""
        return config if config.interleaved else memory_config_of(list(self._shape), self._dtype, self._layout, config, self._tile)

    def _with(self, strategy: str, grid: CoreRangeSet, orientation: Any, divide: Callable[[int, int], tuple[int, int]]) -> TensorSpec:
        """A two-dimensional sharding over `grid`; `divide(height, width)` gives the shard shape before rounding to tiles."""
        dims = list(self._shape) or [1]
        height = 1
        for dim in dims[:-2]:
            height *= dim
        rows = dims[-2] if len(dims) > 1 else 1
        align = TILE_SIDE if self._layout is Layout.TILE else 1
        height *= -(-rows // align) * align
        shard = [-(-side // align) * align for side in divide(height, dims[-1])]
        spec = ShardSpec(grid, shard, orientation)
        config = self._placed(MemoryConfig(TensorMemoryLayout[strategy], self._memory_config.buffer_type, spec))
        return TensorSpec._of(self._shape, self._dtype, self._layout, config, self._tile)

    def height_sharded(self, grid: CoreRangeSet, orientation: Any = ShardOrientation.ROW_MAJOR) -> TensorSpec:
        cores = grid.num_cores()
        return self._with("HEIGHT_SHARDED", grid, orientation, lambda height, width: (-(-height // cores), width))

    def width_sharded(self, grid: CoreRangeSet, orientation: Any = ShardOrientation.ROW_MAJOR) -> TensorSpec:
        cores = grid.num_cores()
        return self._with("WIDTH_SHARDED", grid, orientation, lambda height, width: (height, -(-width // cores)))

    def block_sharded(self, grid: Any, orientation: Any = ShardOrientation.ROW_MAJOR) -> TensorSpec:
        whole = grid if isinstance(grid, CoreRangeSet) else CoreRangeSet([grid])
        size = whole.bounding_box().grid_size()
        across, down = (size.x, size.y) if orientation is ShardOrientation.ROW_MAJOR else (size.y, size.x)
        return self._with("BLOCK_SHARDED", whole, orientation, lambda height, width: (-(-height // down), -(-width // across)))

    def _padded(self) -> list[int]:
        dims = list(self._shape) or [1]
        tiles = (TILE_SIDE, TILE_SIDE) if self._layout is Layout.TILE else ()
        for place, side in enumerate(tiles[-len(dims) :], len(dims) - len(tiles[-len(dims) :])):
            dims[place] = -(-dims[place] // side) * side
        return dims

    def sharded(
        self,
        shard_shape: Any = None,
        grid: Any = None,
        shard_alignment: Any = None,
        orientation: Any = ShardOrientation.ROW_MAJOR,
        shard_distribution_strategy: Any = None,
        nd_shard_spec: NdShardSpec | None = None,
    ) -> TensorSpec:
        """Shards of any rank, dealt to the cores in turn. Unless alignment is NONE their sides become whole tiles, or rows of whole 64 bytes."""
        shard = shard_shape if isinstance(shard_shape, NdShardSpec) else nd_shard_spec
        if shard is not None:
            shard_alignment = grid if isinstance(shard_shape, NdShardSpec) else shard_alignment
            shard_shape, grid, orientation = shard.shard_shape, shard.grid, shard.orientation
            shard_distribution_strategy = shard.shard_distribution_strategy
        sides: Any = list(shard_shape)
        kind = getattr(shard_alignment, "name", "RECOMMENDED")
        if kind != "NONE" and self._layout is Layout.TILE:
            sides[-2:] = [-(-side // TILE_SIDE) * TILE_SIDE for side in sides[-2:]]
        elif kind == "RECOMMENDED":
            values = max(1, 64 * 1024 // tile_bytes(self._dtype))
            sides[-1] = -(-sides[-1] // values) * values
        spec = NdShardSpec(sides, grid, orientation, *([] if shard_distribution_strategy is None else [shard_distribution_strategy]))
        config = self._placed(MemoryConfig(buffer_type=self._memory_config.buffer_type, nd_shard_spec=spec))
        return TensorSpec._of(self._shape, self._dtype, self._layout, config, self._tile)

    def sharded_across_dims(self, dims: Sequence[int], grid: CoreRangeSet, orientation: Any = ShardOrientation.ROW_MAJOR) -> TensorSpec:
        """The smallest shards along `dims`, whole ones along the others."""
        sides = self._padded()
        for dim in dims:
            sides[dim] = 1
        return self.sharded(sides, grid, orientation=orientation)

    def sharded_across_dims_except(self, dims: Sequence[int], grid: CoreRangeSet, orientation: Any = ShardOrientation.ROW_MAJOR) -> TensorSpec:
        """The smallest shards along all dims but `dims`."""
        rank = len(list(self._shape))
        kept_dims = {dim % rank for dim in dims}
        return self.sharded_across_dims([dim for dim in range(rank) if dim not in kept_dims], grid, orientation)

    def _key(self) -> Any:
        return (self._shape, self._dtype, self._layout, self._memory_config, self._tile)


register_class("TensorSpec", TensorSpec)
