"""Meshes of chips: shapes, coordinates, and how tensors are cut over them and joined (`ttnn_shim/src/tensor/mesh.hpp` does it)."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ttnn_shim.errors import InvalidArgument, NotSupported, ShimError

from ttnn import _core
from ttnn._binding import api_class, api_function
from ttnn._convert import MISMATCH, check_int, checker, encode, encode_fields, encode_ints, name_prefix, register_class
from ttnn._keyed import Keyed
from ttnn._names import named


class _Ints(Keyed):
    """A tuple of integers with a name."""

    __slots__ = ("_values",)
    _values: tuple[int, ...]

    def __init__(self, *values: Any, **named: Any) -> None:
        self._values = (*values, *itertools.chain.from_iterable(v if isinstance(v, Sequence) else (v,) for v in named.values()))

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def _key(self) -> Any:
        return self._values

    def dims(self) -> int:
        return len(self._values)

    def _encode(self) -> bytes:
        return encode_ints(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._values)})"


@api_class("ttnn.MeshShape")
class MeshShape(_Ints):
    """Devices per dimension."""

    def mesh_size(self) -> int:
        return math.prod(self._values)


@api_class("ttnn.MeshCoordinate")
class MeshCoordinate(_Ints):
    """A device's place in a mesh."""


def _mesh_from(value: Any) -> Any:
    values = checker("Sequence[int]")(value, True)
    return MISMATCH if values is MISMATCH else MeshShape(values)


register_class("MeshShape", MeshShape, _mesh_from)
register_class("MeshCoordinate", MeshCoordinate)


class _Id:
    """A number with a type."""

    __slots__ = ("value",)

    def __init__(self, *values: int, **named: int) -> None:
        (self.value,) = (*values, *named.values())

    def __eq__(self, arg: object) -> bool:
        if type(self).__name__ == "QueueId" and isinstance(arg, int):
            return self.value == arg
        return type(arg) is type(self) and self.value == arg.value

    def __ne__(self, arg: object) -> bool:
        return not self.__eq__(arg)

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"

    def _encode(self) -> bytes:
        return encode(self.value, None)


@api_class("ttnn.QueueId")
class QueueId(_Id):
    """A command queue; the simulator runs all of them in order."""


@api_class("ttnn.SubDeviceId")
class SubDeviceId(_Id):
    """A part of a device; the simulator has the whole one, number 0."""


def _queue_from(value: Any) -> Any:
    number = check_int(value, True)
    return MISMATCH if number is MISMATCH or number < 0 else QueueId(number)


register_class("QueueId", QueueId, _queue_from)
register_class("SubDeviceId", SubDeviceId)


class MeshEvent:
    """A recorded event. Work runs in order and at once, so it has always happened."""

    __module__ = "ttnn"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("MeshEvent: no constructor defined!")

    @classmethod
    def _now(cls) -> MeshEvent:
        return object.__new__(cls)


register_class("MeshEvent", MeshEvent)


class MeshCoordinateRange(Keyed):
    """The devices from `start` to `end`, both included; of a shape: all of it."""

    __module__ = "ttnn"

    def __init__(self, start: MeshCoordinate | MeshShape, end: MeshCoordinate | None = None) -> None:
        if isinstance(start, MeshShape):
            start, end = MeshCoordinate(0, 0), MeshCoordinate(*(extent - 1 for extent in start))
        self.start, self.end = start, start if end is None else end

    def _key(self) -> Any:
        return tuple(self.start), tuple(self.end)

    def __repr__(self) -> str:
        return f"MeshCoordinateRange(start={self.start!r}, end={self.end!r})"


@api_class("ttnn.PlacementReplicate")
class PlacementReplicate:
    """The tensor is whole on the device."""

    def __init__(self) -> None:
        pass

    def __repr__(self) -> str:
        return "PlacementReplicate()"

    def __eq__(self, arg: object) -> bool:
        return isinstance(arg, PlacementReplicate)

    def __ne__(self, arg: object) -> bool:
        return not self.__eq__(arg)

    def __hash__(self) -> int:
        return 0


register_class("PlacementReplicate", PlacementReplicate)


@api_class("ttnn.PlacementShard")
class PlacementShard:
    """The tensor is split along `dim` over a dimension of the mesh."""

    def __init__(self, arg: int) -> None:
        self._dim = arg

    @property
    def dim(self) -> int:
        return self._dim

    def __repr__(self) -> str:
        return f"PlacementShard({self.dim})"


register_class("PlacementShard", PlacementShard)


@api_class("ttnn.TensorTopology")
class TensorTopology(Keyed):
    """How a tensor was spread over a mesh. No op checks it."""

    def __init__(self, distribution_shape: MeshShape, placements: Sequence[Any], mesh_coords: Sequence[MeshCoordinate]) -> None:
        self._shape, self._placements, self._coords = distribution_shape, list(placements), list(mesh_coords)

    @classmethod
    def _of(cls, mesh: list[int], distribution: list[int], placements: list[int | None]) -> TensorTopology:
        parts = [PlacementReplicate() if dim is None else PlacementShard(dim) for dim in placements]
        return cls(MeshShape(distribution), parts, coordinates(mesh))

    def distribution_shape(self) -> MeshShape:
        return self._shape

    def placements(self) -> list[Any]:
        return list(self._placements)

    def mesh_coords(self) -> list[MeshCoordinate]:
        return list(self._coords)

    def _key(self) -> Any:
        return repr(self)

    def __repr__(self) -> str:
        coords = f", mesh_coords={self._coords[0]}" if len(self._coords) == 1 else ""
        return f"TensorTopology(distribution_shape={self._shape}, placements=SmallVector({self._placements}){coords})"


register_class("TensorTopology", TensorTopology)


def coordinates(mesh: Sequence[int]) -> list[MeshCoordinate]:
    """Of all chips of a mesh, in row-major order."""
    return [MeshCoordinate(*index) for index in itertools.product(*(range(size) for size in mesh))]


# --- mappers and composers ---


def _check_extents(mesh: Sequence[int], extents: Sequence[int], op: str) -> None:
    """Raises InvalidArgument where there are more parts than chips."""
    whole, parts = MeshShape(list(mesh)), MeshShape(list(extents))
    if parts.mesh_size() > whole.mesh_size():
        raise InvalidArgument(f"{parts} is of {parts.mesh_size()} devices, the mesh {whole} has {whole.mesh_size()}", op=op)


class CppTensorToMesh:
    """How a host tensor goes to a mesh."""

    __module__ = "ttnn"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("CppTensorToMesh: no constructor defined!")

    _mesh: list[int]
    _distribution: list[int]
    _placements: list[int | None]

    @classmethod
    def _of(cls, mesh: Sequence[int], distribution: Sequence[int], placements: Sequence[int | None]) -> CppTensorToMesh:
        mapper = object.__new__(cls)
        mapper._mesh, mapper._distribution, mapper._placements = list(mesh), list(distribution), list(placements)
        _check_extents(mesh, distribution, "ttnn.create_mesh_mapper")
        if MeshShape(mapper._mesh).mesh_size() > 1:
            core_call("mesh.create_mesh_mapper", [], distribution=mapper._distribution, placements=Mixed(mapper._placements))
        return mapper

    def config(self) -> Any:
        raise NotSupported("mapper configurations are not implemented", op="ttnn.CppTensorToMesh.config")


class CppMeshToTensor:
    """How the parts of a mesh become one host tensor."""

    __module__ = "ttnn"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("CppMeshToTensor: no constructor defined!")

    _extents: list[int]
    _dims: list[int]

    @classmethod
    def _of(cls, mesh: Sequence[int], extents: Sequence[int], dims: Sequence[int]) -> CppMeshToTensor:
        composer = object.__new__(cls)
        composer._extents, composer._dims = list(extents), list(dims)
        _check_extents(mesh, extents, "ttnn.create_mesh_composer")
        if MeshShape(list(mesh)).mesh_size() > 1:
            core_call("mesh.create_mesh_composer", [], extents=composer._extents, dims=composer._dims)
        return composer


register_class("CppTensorToMesh", CppTensorToMesh)
register_class("CppMeshToTensor", CppMeshToTensor)


@api_class("ttnn.ReplicateTensorToMeshWrapper")
class ReplicateTensorToMeshWrapper:
    """What `ReplicateTensorToMesh` gives."""

    def __init__(self, mapper: CppTensorToMesh) -> None:
        self._mapper = mapper

    def unwrap(self) -> CppTensorToMesh:
        return self._mapper


register_class("ReplicateTensorToMeshWrapper", ReplicateTensorToMeshWrapper)


def _size(mesh_device: Any) -> list[int]:
    return [mesh_device.shape.mesh_size()]


@api_function("ttnn.ReplicateTensorToMesh")
def ReplicateTensorToMesh(mesh_device: Any) -> ReplicateTensorToMeshWrapper:
    return ReplicateTensorToMeshWrapper(replicate_tensor_to_mesh_mapper(mesh_device))


@api_function("ttnn.replicate_tensor_to_mesh_mapper")
def replicate_tensor_to_mesh_mapper(mesh_device: Any) -> CppTensorToMesh:
    return CppTensorToMesh._of(mesh_device.shape, mesh_device.shape, [None] * mesh_device.shape.dims())


def _mapper(mesh_device: Any, dim: int) -> CppTensorToMesh:
    return CppTensorToMesh._of(mesh_device.shape, _size(mesh_device), [dim])


def _composer(mesh_device: Any, dim: int) -> CppMeshToTensor:
    return CppMeshToTensor._of(mesh_device.shape, _size(mesh_device), [dim])


ShardTensorToMesh = api_function("ttnn.ShardTensorToMesh")(_mapper)
shard_tensor_to_mesh_mapper = api_function("ttnn.shard_tensor_to_mesh_mapper")(_mapper)
ConcatMeshToTensor = api_function("ttnn.ConcatMeshToTensor")(_composer)
concat_mesh_to_tensor_composer = api_function("ttnn.concat_mesh_to_tensor_composer")(_composer)


def tensor_of(handle: Any) -> Any:
    """A tensor of the core, with the class that the program sees."""
    return sys.modules["ttnn._tensor"].Tensor._adopt(handle)


class Mixed(list[Any]):
    """A list that travels item by item: None among numbers."""


def core_call(name: str, tensors: Sequence[Any], **attributes: Any) -> list[Any]:
    """Calls a function of the core about meshes. `tensors`: one is its `tensor`, several are its `tensors`."""
    handles: list[Any] = []
    fields = [(name_prefix("tensor"), encode(tensors[0], handles))] if len(tensors) == 1 else []
    if len(tensors) > 1 or name == "mesh.from_host_shards":
        handles.clear()
        fields = [(name_prefix("tensors"), encode(list(tensors), handles))]
    for key, value in attributes.items():
        items = b"l" + len(value).to_bytes(4, "little") + b"".join(encode(item, None) for item in value)
        fields.append((name_prefix(key), items if isinstance(value, Mixed) else encode_ints(value)))
    blob = encode_fields(fields)
    try:
        return _core.invoke(_core.op_id(name), name, handles, _core.ffi.NULL, blob, tensor_of)[0]
    except ShimError as error:
        error.op = error.op.replace("mesh.", "ttnn.", 1)
        raise


def cuts(mapper: CppTensorToMesh | None) -> bool:
    """Whether it is a mapper of several chips."""
    return mapper is not None and MeshShape(mapper._mesh).mesh_size() > 1


def spread(tensor: Any, mapper: CppTensorToMesh) -> Any:
    """A host tensor cut by a mapper."""
    if not cuts(mapper):
        return tensor
    return core_call("mesh.distribute_tensor", [tensor], mesh=mapper._mesh, distribution=mapper._distribution, placements=Mixed(mapper._placements))[0]


@api_function("ttnn.distribute_tensor")
def distribute_tensor(tensor: Any, mapper: CppTensorToMesh, mesh_device: Any = None) -> Any:
    parts = spread(tensor, mapper)
    return parts if mesh_device is None else parts.to(mesh_device)


@api_function("ttnn.from_host_shards")
def from_host_shards(tensors: Sequence[Any], mesh_shape: MeshShape) -> Any:
    return _joined(tensors, mesh_shape, "ttnn.from_host_shards")


@api_function("ttnn.combine_device_tensors")
def combine_device_tensors(tensors: Sequence[Any]) -> Any:
    mesh = tensors[0].device().shape if tensors and tensors[0].device() is not None else MeshShape([1, 1])
    return _joined(tensors, mesh, "ttnn.combine_device_tensors")


@api_function("ttnn.aggregate_tensor")
def aggregate_tensor(tensor: Any, composer: CppMeshToTensor) -> Any:
    return core_call("mesh.aggregate_tensor", [tensor.cpu()], extents=composer._extents, dims=composer._dims)[0]


def _joined(tensors: Sequence[Any], mesh: MeshShape, op: str) -> Any:
    if len(tensors) != mesh.mesh_size():
        raise InvalidArgument(f"expected {mesh.mesh_size()} tensors for the mesh {mesh}, got {len(tensors)}", op=op)
    return tensors[0] if len(tensors) == 1 else core_call("mesh.from_host_shards", tensors, mesh=list(mesh))[0]


@contextlib.contextmanager
def distribute(default: Any) -> Iterator[None]:
    """In the block `ttnn.from_torch` takes the mapper, or `ttnn.to_torch` the composer, that a call does not name itself.

    Raises:
        ValueError: `default` is neither.
    """
    if isinstance(default, CppTensorToMesh | ReplicateTensorToMeshWrapper):
        name, keyword = "from_torch", "mesh_mapper"
    elif isinstance(default, CppMeshToTensor):
        name, keyword = "to_torch", "mesh_composer"
    else:
        raise ValueError("Argument must be an instance of either TensorToMesh or MeshToTensor.")
    before, ttnn = named(name), sys.modules["ttnn"]
    setattr(ttnn, name, functools.partial(before, **{keyword: default}))
    try:
        yield
    finally:
        setattr(ttnn, name, before)
