"""Configurations of mesh mappers and composers, the fabric's configuration, semaphores, queues."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ttnn_shim.errors import InvalidArgument

from ttnn import _core
from ttnn._binding import api_class, api_function
from ttnn._convert import register_class
from ttnn._enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout, enum_class
from ttnn._grid import CoreRange, CoreRangeSet
from ttnn._memory import MemoryConfig, ShardSpec
from ttnn._mesh import CppMeshToTensor, CppTensorToMesh, MeshShape, PlacementReplicate, PlacementShard
from ttnn._tensor import empty_handle

FabricConfig = enum_class("ttnn.FabricConfig")
_fabric = FabricConfig.DISABLED
_BYTES_PER_WORD = 4
_L1_ALIGNMENT_WORDS = 4  # a semaphore takes one aligned piece of L1
# Words of a global circular buffer's table of coordinates on each core.
_TABLE_WORDS, _TABLE_WORDS_PER_RECEIVER = 16, 8


@api_class("ttnn.MeshMapperConfig")
class MeshMapperConfig:
    """What each dimension of the mesh does with a tensor: a list of placements, or the tensor's dimensions for rows and columns."""

    def __init__(self, placements: Sequence[Any] | None = None, **named: Any) -> None:
        self.mesh_shape_override = named.get("mesh_shape_override")
        dims = (named.get("row_dim"), named.get("col_dim"))
        self._placements = list(placements) if placements is not None else [PlacementReplicate() if d is None else PlacementShard(d) for d in dims]

    @property
    def placements(self) -> list[Any]:
        return list(self._placements)


@api_class("ttnn.MeshComposerConfig")
class MeshComposerConfig:
    """Along which dimensions the parts of a mesh are joined."""

    def __init__(self, dims: Sequence[int] | None = None, **named: Any) -> None:
        self.mesh_shape_override = named.get("mesh_shape_override")
        self.dims = list(dims) if dims is not None else [named["row_dim"], named["col_dim"]]


register_class("MeshMapperConfig", MeshMapperConfig)
register_class("MeshComposerConfig", MeshComposerConfig)


@api_function("ttnn.create_mesh_mapper")
def create_mesh_mapper(config: MeshMapperConfig, mesh_device: Any = None, mesh_shape: MeshShape | None = None) -> CppTensorToMesh:
    mesh = mesh_device.shape if mesh_shape is None else mesh_shape
    placements = [placement.dim if isinstance(placement, PlacementShard) else None for placement in config.placements]
    return CppTensorToMesh._of(list(mesh), list(config.mesh_shape_override or mesh), placements)


@api_function("ttnn.create_mesh_composer")
def create_mesh_composer(mesh_device: Any, config: MeshComposerConfig) -> CppMeshToTensor:
    return CppMeshToTensor._of(mesh_device.shape, list(config.mesh_shape_override or mesh_device.shape), config.dims)


@api_function("ttnn.ShardTensor2dMesh")
def ShardTensor2dMesh(mesh_device: Any, mesh_shape: Sequence[int], dims: Sequence[int | None]) -> CppTensorToMesh:
    return CppTensorToMesh._of(mesh_device.shape, mesh_shape, dims)


@api_function("ttnn.ConcatMesh2dToTensor")
def ConcatMesh2dToTensor(mesh_device: Any, mesh_shape: Sequence[int], dims: Sequence[int]) -> CppMeshToTensor:
    return CppMeshToTensor._of(mesh_device.shape, mesh_shape, dims)


@api_function("ttnn.set_fabric_config")
def set_fabric_config(config: Any, **options: Any) -> None:
    """Sets the fabric of the meshes that are opened next. The simulator uses only its kind (`config`), not the other options."""
    global _fabric
    _fabric = config
    _core.check(_core.lib.shim_set_fabric(config.value), "ttnn.set_fabric_config")


@api_function("ttnn.get_fabric_config")
def get_fabric_config() -> Any:
    return _fabric


class global_semaphore:  # the real package has this name
    """A number in the L1 of some cores, at one address of all."""

    __module__ = "ttnn"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("global_semaphore: no constructor defined!")

    @classmethod
    def _of(cls, tensor: Any) -> global_semaphore:
        semaphore = object.__new__(cls)
        semaphore._tensor = tensor  # type: ignore[attr-defined]
        return semaphore


register_class("global_semaphore", global_semaphore)


@api_function("ttnn.create_global_semaphore")
def create_global_semaphore(mesh_device: Any, cores: Any, initial_value: int, buffer_type: Any = None) -> global_semaphore:
    if cores.empty():
        raise InvalidArgument("cores: expected at least one", op="ttnn.create_global_semaphore")
    kind = buffer_type or BufferType.L1
    if kind not in (BufferType.L1, BufferType.L1_SMALL):
        raise InvalidArgument(f"buffer_type: a semaphore lies in L1 or L1_SMALL, got {kind}", op="ttnn.create_global_semaphore")
    spec = ShardSpec(cores, [1, _L1_ALIGNMENT_WORDS], ShardOrientation.ROW_MAJOR)
    memory = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, kind, spec)
    return global_semaphore._of(empty_handle(mesh_device, DataType.UINT32, Layout.ROW_MAJOR, [cores.num_cores(), _L1_ALIGNMENT_WORDS], memory))


@api_function("ttnn.get_global_semaphore_address")
def get_global_semaphore_address(global_semaphore: Any) -> int:
    return int(global_semaphore._tensor.buffer_address())


@api_function("ttnn.reset_global_semaphore_value")
def reset_global_semaphore_value(global_semaphore: Any, reset_value: int) -> None:
    """Nothing here reads a semaphore: the ops that wait for one are refused."""


class global_circular_buffer:  # the real package has this name
    """A buffer in the L1 of senders and receivers, at one address of all, and their table of coordinates. No op of the simulator reads it."""

    __module__ = "ttnn"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("global_circular_buffer: no constructor defined!")

    @classmethod
    def _of(cls, senders: Any, receivers: Any, size: int, tensors: list[Any]) -> global_circular_buffer:
        buffer = object.__new__(cls)
        buffer._facts = (senders, receivers, size)  # type: ignore[attr-defined]
        buffer._tensors = tensors  # type: ignore[attr-defined]  # hold the memory
        return buffer

    def size(self) -> int:
        """Bytes on each core."""
        return int(self._facts[2])  # type: ignore[attr-defined]

    def sender_cores(self) -> Any:
        return self._facts[0]  # type: ignore[attr-defined]

    def receiver_cores(self) -> Any:
        return self._facts[1]  # type: ignore[attr-defined]


register_class("global_circular_buffer", global_circular_buffer)


@api_function("ttnn.create_global_circular_buffer")
def create_global_circular_buffer(mesh_device: Any, sender_receiver_core_mapping: Any, size: int, buffer_type: Any = BufferType.L1) -> global_circular_buffer:
    op = "ttnn.create_global_circular_buffer"
    if not sender_receiver_core_mapping:
        raise InvalidArgument("sender_receiver_core_mapping: expected at least one sender", op=op)
    if buffer_type not in (BufferType.L1, BufferType.L1_SMALL):
        raise InvalidArgument(f"buffer_type: expected L1 or L1_SMALL, got {buffer_type}", op=op)
    senders = [CoreRange(sender, sender) for sender, _ in sender_receiver_core_mapping]
    receivers = [part for _, cores in sender_receiver_core_mapping for part in cores.ranges()]
    cores = CoreRangeSet([*senders, *receivers])  # raises where two of them overlap
    most = max(cores.num_cores() for _, cores in sender_receiver_core_mapping)
    tensors = []
    for words in (-(-size // _BYTES_PER_WORD), _TABLE_WORDS + most * _TABLE_WORDS_PER_RECEIVER):
        if words:
            memory = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, buffer_type, ShardSpec(cores, [1, words], ShardOrientation.ROW_MAJOR))
            tensors.append(empty_handle(mesh_device, DataType.UINT32, Layout.ROW_MAJOR, [cores.num_cores(), words], memory))
    return global_circular_buffer._of(CoreRangeSet(senders), CoreRangeSet(receivers), size, tensors)


@contextlib.contextmanager
def command_queue(cq_id: int) -> Iterator[None]:
    """Queues run in order on the simulator: the number is checked, and nothing else changes."""
    if cq_id is None:
        raise ValueError("cq_id cannot be None in command_queue context")
    yield
