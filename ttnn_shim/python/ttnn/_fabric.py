"""Names of several chips that programs for one chip use as well: placements, mesh mappers, the fabric's configuration, semaphores, queues.

One chip has all of every tensor, so mappers and composers keep it whole; nothing is sent over the fabric, so its configuration is only kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ttnn_shim.errors import InvalidArgument, NotSupported

from ttnn._binding import api_class, api_function
from ttnn._convert import register_class
from ttnn._enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout, enum_class
from ttnn._memory import MemoryConfig, ShardSpec
from ttnn._mesh import CppMeshToTensor, CppTensorToMesh, MeshShape, PlacementReplicate
from ttnn._tensor import empty_handle

FabricConfig = enum_class("ttnn.FabricConfig")
_fabric = FabricConfig.DISABLED
_L1_ALIGNMENT_WORDS = 4  # a semaphore takes one aligned piece of L1


@api_class("ttnn.PlacementShard")
class PlacementShard:
    """The tensor is split along `dim` over a dimension of the mesh. One device has the only part."""

    def __init__(self, arg: int) -> None:
        self._dim = arg

    @property
    def dim(self) -> int:
        return self._dim

    def __repr__(self) -> str:
        return f"PlacementShard({self.dim})"


register_class("PlacementShard", PlacementShard)


def _one_device(shape: MeshShape | None, op: str) -> None:
    if shape is not None and shape.mesh_size() != 1:
        raise NotSupported(f"the simulator has one device, got a mesh of {list(shape)}", op=op, hint="use ttnn.MeshShape(1, 1)")


@api_class("ttnn.MeshMapperConfig")
class MeshMapperConfig:
    """What each dimension of the mesh does with a tensor: a list of placements, or the tensor's dimensions for rows and columns."""

    def __init__(self, placements: Sequence[Any] | None = None, **named: Any) -> None:
        _one_device(named.get("mesh_shape_override"), "ttnn.MeshMapperConfig")
        dims = (named.get("row_dim"), named.get("col_dim"))
        self._placements = list(placements) if placements is not None else [PlacementReplicate() if d is None else PlacementShard(d) for d in dims]

    @property
    def placements(self) -> list[Any]:
        return list(self._placements)


@api_class("ttnn.MeshComposerConfig")
class MeshComposerConfig:
    """Along which dimensions the parts of a mesh are joined."""

    def __init__(self, dims: Sequence[int] | None = None, **named: Any) -> None:
        _one_device(named.get("mesh_shape_override"), "ttnn.MeshComposerConfig")
        self.dims = list(dims) if dims is not None else [named["row_dim"], named["col_dim"]]


register_class("MeshMapperConfig", MeshMapperConfig)
register_class("MeshComposerConfig", MeshComposerConfig)


@api_function("ttnn.create_mesh_mapper")
def create_mesh_mapper(config: MeshMapperConfig, mesh_device: Any = None, mesh_shape: MeshShape | None = None) -> CppTensorToMesh:
    _one_device(mesh_shape, "ttnn.create_mesh_mapper")
    return CppTensorToMesh._whole()


@api_function("ttnn.create_mesh_composer")
def create_mesh_composer(mesh_device: Any, config: MeshComposerConfig) -> CppMeshToTensor:
    return CppMeshToTensor._whole()


@api_function("ttnn.ShardTensor2dMesh")
def ShardTensor2dMesh(mesh_device: Any, mesh_shape: Sequence[int], dims: Sequence[int | None]) -> CppTensorToMesh:
    _one_device(MeshShape(list(mesh_shape)), "ttnn.ShardTensor2dMesh")
    return CppTensorToMesh._whole()


@api_function("ttnn.ConcatMesh2dToTensor")
def ConcatMesh2dToTensor(mesh_device: Any, mesh_shape: Sequence[int], dims: Sequence[int]) -> CppMeshToTensor:
    _one_device(MeshShape(list(mesh_shape)), "ttnn.ConcatMesh2dToTensor")
    return CppMeshToTensor._whole()


@api_function("ttnn.set_fabric_config")
def set_fabric_config(config: Any, **options: Any) -> None:
    """Keeps the configuration: `get_fabric_config` gives it back. No tensor of one chip goes over the fabric."""
    global _fabric
    _fabric = config


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
        made = object.__new__(cls)
        made._tensor = tensor  # type: ignore[attr-defined]
        return made


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


@contextlib.contextmanager
def command_queue(cq_id: int) -> Iterator[None]:
    """Queues run in order on the simulator: the number is checked, and nothing else changes."""
    if cq_id is None:
        raise ValueError("cq_id cannot be None in command_queue context")
    yield
