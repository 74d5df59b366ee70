"""Where tensors live: ShardSpec, NdShardSpec, MemoryConfig, Tile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ttnn_shim.errors import InvalidArgument, NotSupported

from ttnn._binding import api_class
from ttnn._convert import MISMATCH, checker, encode_record, register_class
from ttnn._dtypes import BLOCK_FLOATS, element_size
from ttnn._enums import BufferType, DataType, ShardDistributionStrategy, ShardOrientation, TensorMemoryLayout
from ttnn._grid import CoreCoord, CoreRange, CoreRangeSet, Shape
from ttnn._keyed import Keyed


def _field(name: str, type_: str, owner: str) -> Any:
    """A read-write property that checks its type."""

    def read(self: Any) -> Any:
        return getattr(self, "_" + name)

    def write(self: Any, value: Any) -> None:
        converted = checker(type_)(value, True)
        if converted is MISMATCH:
            raise TypeError(f"{owner}.{name}: expected {type_}, got {type(value).__name__}")
        setattr(self, "_" + name, list(converted) if isinstance(converted, tuple) else converted)

    return property(read, write)


@api_class("ttnn.ShardSpec")
class ShardSpec(Keyed):
    """One shard of `shape` (height, width) per core of `grid`."""

    grid = _field("grid", "CoreRangeSet", "ShardSpec")
    shape = _field("shape", "Sequence[int]", "ShardSpec")
    orientation = _field("orientation", "ShardOrientation", "ShardSpec")

    def __init__(self, grid: CoreRangeSet, shard_shape: Sequence[int], shard_orientation: Any) -> None:
        self.grid, self.shape, self.orientation = grid, _pair(shard_shape), shard_orientation

    def num_cores(self) -> int:
        return int(self.grid.num_cores())

    def _key(self) -> Any:
        return (self.grid, tuple(self.shape), self.orientation)

    def __repr__(self) -> str:
        grid = self.grid._spec().removesuffix("}").replace("}}, ", "}, ")  # as the real package prints it
        return f"ShardSpec{{grid={grid}], shape={self.shape}, orientation=ShardOrientation::{self.orientation.name}}}"

    def _json(self) -> dict[str, Any]:
        return {"grid": json.loads(self.grid.to_json()), "orientation": self.orientation.value, "shape": self.shape}

    def to_json(self) -> str:
        return json.dumps(self._json(), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> ShardSpec:
        data = json.loads(text)
        return ShardSpec(CoreRangeSet.from_json(json.dumps(data["grid"])), data["shape"], ShardOrientation(data["orientation"]))

    def _encode(self) -> bytes:
        return encode_record("ShardSpec", [("grid", self.grid), ("shape", self.shape), ("orientation", self.orientation)])


def _pair(values: Sequence[int]) -> list[int]:
    if len(values) != 2 or any(value < 0 for value in values):
        raise TypeError(f"__init__(): incompatible function arguments: a shard shape is two non-negative integers, got {list(values)}")
    return list(values)


register_class("ShardSpec", ShardSpec)


@api_class("ttnn.NdShardSpec")
class NdShardSpec(Keyed):
    """Shards of any rank, dealt to the cores of `grid`."""

    shard_shape = _field("shard_shape", "Shape", "NdShardSpec")
    grid = _field("grid", "CoreRangeSet", "NdShardSpec")
    orientation = _field("orientation", "ShardOrientation", "NdShardSpec")
    shard_distribution_strategy = _field("shard_distribution_strategy", "ShardDistributionStrategy", "NdShardSpec")

    def __init__(
        self,
        shard_shape: Shape,
        grid: CoreRangeSet,
        orientation: Any = ShardOrientation.ROW_MAJOR,
        shard_distribution_strategy: Any = ShardDistributionStrategy.ROUND_ROBIN_1D,
    ) -> None:
        self.shard_shape, self.grid = shard_shape, grid
        self.orientation, self.shard_distribution_strategy = orientation, shard_distribution_strategy

    def num_cores(self) -> int:
        return int(self.grid.num_cores())

    def _key(self) -> tuple[Any, ...]:
        return (self.shard_shape, self.grid, self.orientation, self.shard_distribution_strategy)

    def __repr__(self) -> str:
        return (
            f'{{"shard_shape":{list(self.shard_shape)},"grid":{self.grid._spec()}],"orientation":"ShardOrientation::{self.orientation.name}",'
            f'"shard_distribution_strategy":"ShardDistributionStrategy::{self.shard_distribution_strategy.name}"}}'
        )

    def _json(self) -> dict[str, Any]:
        return {
            "grid": json.loads(self.grid.to_json()),
            "orientation": self.orientation.value,
            "shard_distribution_strategy": self.shard_distribution_strategy.value,
            "shard_shape": list(self.shard_shape),
        }

    def to_json(self) -> str:
        return json.dumps(self._json(), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> NdShardSpec:
        data = json.loads(text)
        grid = CoreRangeSet.from_json(json.dumps(data["grid"]))
        strategy = ShardDistributionStrategy(data["shard_distribution_strategy"])
        return NdShardSpec(Shape(data["shard_shape"]), grid, ShardOrientation(data["orientation"]), strategy)

    def _encode(self) -> bytes:
        names = ("shard_shape", "grid", "orientation", "shard_distribution_strategy")
        return encode_record("NdShardSpec", [(name, getattr(self, name)) for name in names])


register_class("NdShardSpec", NdShardSpec)


@api_class("ttnn.MemoryConfig")
class MemoryConfig(Keyed):
    """Buffer type, memory layout and shards of a tensor. Immutable but for the shard spec, whose fields can be assigned as in the real package."""

    __slots__ = ("_blob", "_buffer_type", "_lockstep", "_memory_layout", "_nd_shard_spec", "_of_tensor", "_per_core", "_shard_spec")

    def __init__(
        self,
        memory_layout: Any = None,
        buffer_type: Any = BufferType.DRAM,
        shard_spec: ShardSpec | None = None,
        nd_shard_spec: NdShardSpec | None = None,
    ) -> None:
        default = TensorMemoryLayout.ND_SHARDED if nd_shard_spec is not None else TensorMemoryLayout.INTERLEAVED
        self._memory_layout = memory_layout or default
        self._buffer_type = buffer_type
        self._shard_spec = _copy_spec(shard_spec)
        self._nd_shard_spec = _copy_nd(nd_shard_spec)
        self._per_core = self._lockstep = self._of_tensor = False
        self._blob: bytes | None = None

    @property
    def memory_layout(self) -> Any:
        return self._memory_layout

    @property
    def buffer_type(self) -> Any:
        return self._buffer_type

    @property
    def shard_spec(self) -> ShardSpec | None:
        return self._shard_spec

    @property
    def nd_shard_spec(self) -> NdShardSpec | None:
        if self._of_tensor and self._nd_shard_spec is None and self._shard_spec is not None:
            shard, dealt = self._shard_spec, ShardDistributionStrategy.ROUND_ROBIN_1D
            if self._memory_layout is TensorMemoryLayout.BLOCK_SHARDED:
                dealt = ShardDistributionStrategy.GRID_2D
            return NdShardSpec(Shape(shard.shape), shard.grid, shard.orientation, dealt)
        return _copy_nd(self._nd_shard_spec)

    def as_of_tensor(self) -> MemoryConfig:
        """This config as a tensor's: its shards are given as n-dimensional ones as well."""
        self._of_tensor = True
        return self

    @property
    def interleaved(self) -> bool:
        return bool(self._memory_layout is TensorMemoryLayout.INTERLEAVED)

    def is_sharded(self) -> bool:
        return not self.interleaved

    def experimental_set_per_core_allocation(self, enable: bool) -> None:
        _no_lockstep(enable)

    def experimental_set_range_lockstep_allocation(self, enable: bool) -> None:
        _no_lockstep(enable)

    def _key(self) -> tuple[Any, ...]:
        return (self._memory_layout, self._buffer_type, self._shard_spec, self._nd_shard_spec)

    def __repr__(self) -> str:
        return (
            f"MemoryConfig(memory_layout=TensorMemoryLayout::{self._memory_layout.name},buffer_type=BufferType::{self._buffer_type.name},"
            f"shard_spec={self._shard_spec or 'std::nullopt'},nd_shard_spec={self.nd_shard_spec or 'std::nullopt'},"
            f"created_with_nd_shard_spec={int(self._nd_shard_spec is not None)},per_core_allocation=0,range_lockstep_allocation=0)"
        )

    def to_json(self) -> str:
        data: dict[str, Any] = {
            "buffer_type": self._buffer_type.value,
            "created_with_nd_shard_spec": self._nd_shard_spec is not None,
            "memory_layout": self._memory_layout.value,
        }
        if self._nd_shard_spec is not None:
            data["nd_shard_spec"] = self._nd_shard_spec._json()
        data["per_core_allocation"] = False
        if self._shard_spec is not None:
            data["shard_spec"] = self._shard_spec._json()
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> MemoryConfig:
        data = json.loads(text)
        buffer_type = BufferType(data["buffer_type"])
        if "nd_shard_spec" in data:
            return MemoryConfig(buffer_type=buffer_type, nd_shard_spec=NdShardSpec.from_json(json.dumps(data["nd_shard_spec"])))
        spec = ShardSpec.from_json(json.dumps(data["shard_spec"])) if "shard_spec" in data else None
        return MemoryConfig(TensorMemoryLayout(data["memory_layout"]), buffer_type, spec)

    def _encode(self) -> bytes:
        if self._blob is None or self._shard_spec is not None:  # its fields may have changed
            names = ("memory_layout", "buffer_type", "shard_spec", "nd_shard_spec")
            self._blob = encode_record("MemoryConfig", [(name, getattr(self, "_" + name)) for name in names])
        return self._blob


def _copy_spec(spec: ShardSpec | None) -> ShardSpec | None:
    return None if spec is None else ShardSpec(spec.grid, list(spec.shape), spec.orientation)


def _copy_nd(spec: NdShardSpec | None) -> NdShardSpec | None:
    return None if spec is None else NdShardSpec(spec.shard_shape, spec.grid, spec.orientation, spec.shard_distribution_strategy)


def _no_lockstep(enable: bool) -> None:
    if enable:
        raise NotSupported("per-core allocation modes are not implemented", op="ttnn.MemoryConfig")


register_class("MemoryConfig", MemoryConfig)


def core_ranges(corners: Sequence[int]) -> CoreRangeSet:
    """Rectangles of cores from [x0, y0, x1, y1, ...], as the core lists them."""
    rows = [corners[i : i + 4] for i in range(0, len(corners), 4)]
    return CoreRangeSet([CoreRange(CoreCoord(x0, y0), CoreCoord(x1, y1)) for x0, y0, x1, y1 in rows])


@api_class("ttnn.Tile")
class Tile(Keyed):
    """A tile's shape; matmul and linear compute on other than 32 x 32."""

    __slots__ = ("_shape", "_transpose")

    def __init__(self, tile_shape: Sequence[int] = (), transpose_tile: bool = False, arg0: Sequence[int] = (), arg1: bool = False) -> None:
        shape = list(tile_shape) or list(arg0)
        if len(shape) != 2 or shape[1] not in (16, 32) or shape[0] not in (1, 2, 4, 8, 16, 32):
            raise InvalidArgument(f"Tile size is not valid for our hardware: {shape}", op="ttnn.Tile")
        self._shape, self._transpose = shape, transpose_tile or arg1

    @property
    def tile_shape(self) -> list[int]:
        return list(self._shape)

    @property
    def face_shape(self) -> list[int]:
        return [min(self._shape[0], 16), 16]

    @property
    def num_faces(self) -> int:
        height, width = self.face_shape
        return self._shape[0] * self._shape[1] // (height * width)

    @property
    def partial_face(self) -> int:
        return int(self._shape[0] < 16)

    @property
    def narrow_tile(self) -> int:
        return int(self._shape[1] == 16)

    @property
    def transpose_of_faces(self) -> bool:
        return self._transpose

    @property
    def transpose_within_face(self) -> bool:
        return self._transpose

    def get_tile_size(self, dtype: Any) -> int:
        """Bytes of one tile."""
        elements = self._shape[0] * self._shape[1]
        if dtype in BLOCK_FLOATS:
            mantissas = elements if dtype is DataType.BFLOAT8_B else elements // 2
            return mantissas + max(16, self.face_shape[0] * self.num_faces)
        return element_size(dtype) * elements

    def _key(self) -> Any:
        return (*self._shape, self._transpose)

    def __repr__(self) -> str:
        return f"Tile with shape: {self._shape}"

    def _encode(self) -> bytes:
        return encode_record("Tile", [("tile_shape", self._shape), ("transpose_tile", self._transpose)])


register_class("Tile", Tile)
