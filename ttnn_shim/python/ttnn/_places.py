"""Places of a device's parts: submeshes, cores by their coordinates on the network, shards of a tensor and what describes them to a kernel."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from ttnn_shim.errors import InvalidArgument

from ttnn import _core
from ttnn._grid import CoreCoord
from ttnn._mesh import MeshCoordinate, MeshShape

# Where the cores of a chip begin in translated coordinates: Wormhole counts on from (18, 18); Blackhole leaves out columns 8 and 9.
_WORMHOLE_ORIGIN = 18
_BLACKHOLE_COLUMNS, _BLACKHOLE_ORIGIN_Y = (*range(1, 8), *range(10, 17)), 2


class Places:
    """Methods of MeshDevice about the places of its chips and the places on them."""

    _submeshes: list[Any]

    def create_submesh(self: Any, submesh_shape: Any, offset: Any = None) -> Any:
        """A mesh of the devices of `submesh_shape` from `offset` on, with memory and clock of its own."""
        shape, start = MeshShape(*submesh_shape), tuple(offset or (0, 0))
        if any(size + first > limit for size, first, limit in zip(shape, start, self.shape, strict=True)):
            message = f"Submesh shape {shape} and offset {offset} does not fit within parent mesh ({self.shape})."
            raise _core.error(InvalidArgument, message, "ttnn.MeshDevice.create_submesh")
        whole = list(shape) == list(self.shape) and self.get_num_devices() == 1
        submesh = self if whole else self._part(shape, start)
        self._submeshes = [*self.get_submeshes(), submesh]
        return submesh

    def create_submeshes(self: Any, submesh_shape: Any) -> list[Any]:
        """The mesh cut into submeshes of one shape, row by row."""
        shape = MeshShape(*submesh_shape)
        for dim, size in enumerate(shape):
            if self.shape[dim] % size:
                message = f"Shape {self.shape} is not divisible by submesh shape {shape} along dimension {dim}"
                raise _core.error(InvalidArgument, message, "ttnn.MeshDevice.create_submeshes")
        starts = [range(0, limit, size) for limit, size in zip(self.shape, shape, strict=True)]
        return [self.create_submesh(shape, MeshCoordinate(*offset_)) for offset_ in itertools.product(*starts)]

    def get_submeshes(self) -> list[Any]:
        return list(getattr(self, "_submeshes", ()))

    def get_fabric_node_id(self: Any, coord: Any) -> FabricNodeId:
        if any(index >= size for index, size in zip(coord, self.shape, strict=True)):
            raise _core.error(InvalidArgument, f"{coord} is outside the mesh {self.shape}", "ttnn.MeshDevice.get_fabric_node_id")
        return FabricNodeId(MeshId(0), coord[0] * self.shape[1] + coord[1])

    def worker_core_from_logical_core(self: Any, logical_core: Any) -> CoreCoord:
        """The core's translated coordinates, by which kernels address it."""
        x, y = logical_core.x, logical_core.y
        columns, rows = self._translated()
        if x >= len(columns) or y >= len(rows):
            message = f"No core coordinate found at location: ({x}, {y}, TENSIX, LOGICAL)"
            raise _core.error(InvalidArgument, message, "ttnn.MeshDevice.worker_core_from_logical_core")
        return CoreCoord(columns[x], rows[y])

    def logical_core_from_worker_core(self: Any, virtual_core: Any) -> CoreCoord:
        columns, rows = self._translated()
        if virtual_core.x not in columns or virtual_core.y not in rows:
            raise _core.error(InvalidArgument, f"{virtual_core} is no core of the device", "ttnn.MeshDevice.logical_core_from_worker_core")
        return CoreCoord(columns.index(virtual_core.x), rows.index(virtual_core.y))

    def _translated(self: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Columns and rows of the cores."""
        grid = self.compute_with_storage_grid_size()
        if self.arch().name == "WORMHOLE_B0":
            return tuple(range(_WORMHOLE_ORIGIN, _WORMHOLE_ORIGIN + grid.x)), tuple(range(_WORMHOLE_ORIGIN, _WORMHOLE_ORIGIN + grid.y))
        return _BLACKHOLE_COLUMNS[: grid.x], tuple(range(_BLACKHOLE_ORIGIN_Y, _BLACKHOLE_ORIGIN_Y + grid.y))


class MeshId(int):
    def __repr__(self) -> str:
        return f"MeshId({int(self)})"


@dataclass(frozen=True)
class FabricNodeId:
    mesh_id: MeshId
    chip_id: int

    def __repr__(self) -> str:
        return f"FabricNodeId(M{int(self.mesh_id)}, D{self.chip_id})"


class HostBuffer:
    """The values of a host tensor on one device's part of it."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._array.__array__(*args, **kwargs)


class DistributedHostBuffer:
    """The values of a host tensor by device."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def shape(self) -> MeshShape:
        return MeshShape(1, 1)

    def is_local(self, coord: Any) -> bool:
        return not any(coord)

    def get_shard(self, coord: Any) -> HostBuffer | None:
        return HostBuffer(self._array) if self.is_local(coord) else None


def _cores(tensor: Any) -> list[CoreCoord]:
    """The cores of a sharded tensor in the order of its shards."""
    spec = tensor.memory_config().shard_spec
    if spec is None:
        raise _core.error(InvalidArgument, f"expected a sharded tensor, got {tensor.memory_config()}", "ttnn.Tensor")
    by_columns = spec.orientation.name == "COL_MAJOR"
    cores = []
    for corners in spec.grid.ranges():
        xs, ys = range(corners.start.x, corners.end.x + 1), range(corners.start.y, corners.end.y + 1)
        cores += [CoreCoord(x, y) for x, y in itertools.product(xs, ys)] if by_columns else [CoreCoord(x, y) for y, x in itertools.product(ys, xs)]
    return cores


def get_optimal_worker_cores_for_sharded_tensor(tensor: Any, noc: Any = None) -> list[CoreCoord]:
    """The cores that read the tensor's shards with the least traffic: those that hold them. `tensor` is sharded in L1."""
    return _cores(tensor)


def extract_shard(tensor: Any, core_id: int) -> Any:
    """Shard `core_id` of a tensor sharded by height, width or block, as a host tensor of shape [1, 1, height, width]."""
    cores, (height, width) = _cores(tensor), tensor.memory_config().shard_spec.shape
    if not 0 <= core_id < len(cores):
        raise _core.error(InvalidArgument, f"there are {len(cores)} shards, got {core_id}", "ttnn.Tensor.extract_shard")
    padded = list(tensor.padded_shape)
    values = tensor._read()
    values = np.pad(values, [(0, whole - own) for whole, own in zip(padded, values.shape, strict=True)]).reshape(-1, padded[-1])
    across = -(-padded[-1] // width)
    row, column = divmod(core_id, across)
    part = values[row * height : (row + 1) * height, column * width : (column + 1) * width]
    part = np.pad(part, [(0, height - part.shape[0]), (0, width - part.shape[1])])
    return type(tensor)(part.reshape(1, 1, height, width), tensor.dtype, layout=tensor.layout)


class TensorAccessorArgs:
    """What a kernel is compiled with to find a tensor's pages: interleaved over the banks, or by the cores of its shards."""

    _SHARDED, _DRAM = 1, 2

    def __init__(self, tensor: Any) -> None:
        memory = tensor.memory_config()
        flags = self._DRAM if memory.buffer_type.name == "DRAM" else 0
        self._args = [flags, tensor.buffer_aligned_page_size()]
        if not tensor.is_sharded():
            return
        unit = (32, 32) if tensor.layout.name == "TILE" else (1, memory.shard_spec.shape[1])
        whole = [*tensor.padded_shape]
        rows = 1
        for size in whole[:-1]:
            rows *= size
        pages, shard = [-(-rows // unit[0]), -(-whole[-1] // unit[1])], [-(-size // side) for size, side in zip(memory.shard_spec.shape, unit, strict=True)]
        if pages[1] == shard[1]:  # whole rows: one dimension
            pages, shard = [pages[0] * pages[1]], [shard[0] * shard[1]]
        places = [tensor.device().worker_core_from_logical_core(core) for core in _cores(tensor)]
        words = [place.x << 8 | place.y for place in places]
        packed = [first | (second << 16) for first, second in itertools.zip_longest(words[::2], words[1::2], fillvalue=0)]
        self._args = [flags | self._SHARDED, self._args[1], len(pages), len(places), *pages, *shard, *packed]

    def get_compile_time_args(self) -> list[int]:
        return list(self._args)

    def get_common_runtime_args(self) -> list[int]:
        return []
