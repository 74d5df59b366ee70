"""Mesh and queue types for a mesh of one device."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ttnn_shim.errors import InvalidArgument, NotSupported

from ttnn._binding import api_class, api_function
from ttnn._convert import MISMATCH, check_int, checker, encode, register_class
from ttnn._keyed import Keyed
from ttnn._names import named


class _Ints(Keyed):
    """A tuple of integers with a name."""

    __slots__ = ("_values",)
    _values: tuple[int, ...]

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def _key(self) -> Any:
        return self._values

    def dims(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._values)})"


@api_class("ttnn.MeshShape")
class MeshShape(_Ints):
    """Devices per dimension. The simulator has one device."""

    def __init__(self, *values: Any, **named: Any) -> None:
        given = [*values, *itertools.chain.from_iterable(v if isinstance(v, Sequence) else (v,) for v in named.values())]
        self._values = tuple(given)

    def mesh_size(self) -> int:
        size = 1
        for value in self._values:
            size *= value
        return size


@api_class("ttnn.MeshCoordinate")
class MeshCoordinate(_Ints):
    """A device's place in a mesh."""

    def __init__(self, *values: Any, **named: Any) -> None:
        given = [*values, *itertools.chain.from_iterable(v if isinstance(v, Sequence) else (v,) for v in named.values())]
        self._values = tuple(given)


def _mesh_from(value: Any) -> Any:
    values = checker("Sequence[int]")(value, True)
    return MISMATCH if values is MISMATCH else MeshShape(values)


register_class("MeshShape", MeshShape, _mesh_from)
register_class("MeshCoordinate", MeshCoordinate)


class _Id:
    """A number with a type."""

    __slots__ = ("value",)

    def __init__(self, *values: int, **given: int) -> None:
        (self.value,) = (*values, *given.values())

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

    def __init__(self, *values: int, **given: int) -> None:
        super().__init__(*values, **given)


@api_class("ttnn.SubDeviceId")
class SubDeviceId(_Id):
    """A part of a device; the simulator has the whole one, number 0."""

    def __init__(self, *values: int, **given: int) -> None:
        super().__init__(*values, **given)


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


@api_class("ttnn.TensorTopology")
class TensorTopology(Keyed):
    """How a tensor is spread over a mesh: always whole, on one device."""

    def __init__(self, distribution_shape: MeshShape, placements: Sequence[Any], mesh_coords: Sequence[MeshCoordinate]) -> None:
        if distribution_shape.mesh_size() != 1 or len(mesh_coords) != 1:
            raise NotSupported("the simulator has one device", op="ttnn.TensorTopology")
        self._shape, self._placements, self._coords = distribution_shape, list(placements), list(mesh_coords)

    @classmethod
    def _single(cls) -> TensorTopology:
        return cls(MeshShape([1]), [PlacementReplicate()], [MeshCoordinate(0, 0)])

    def distribution_shape(self) -> MeshShape:
        return self._shape

    def placements(self) -> list[Any]:
        return list(self._placements)

    def mesh_coords(self) -> list[MeshCoordinate]:
        return list(self._coords)

    def _key(self) -> Any:
        return repr(self)

    def __repr__(self) -> str:
        return f"TensorTopology(distribution_shape={self._shape}, placements=SmallVector({self._placements}), mesh_coords={self._coords[0]})"


register_class("TensorTopology", TensorTopology)


# --- mappers and composers: on one device every tensor is whole ---


class CppTensorToMesh:
    """How a host tensor goes to a mesh. One device gets all of it, whatever the dimension."""

    __module__ = "ttnn"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("CppTensorToMesh: no constructor defined!")

    @classmethod
    def _whole(cls) -> CppTensorToMesh:
        return object.__new__(cls)

    def config(self) -> Any:
        raise NotSupported("mapper configurations are not implemented", op="ttnn.CppTensorToMesh.config")


class CppMeshToTensor:
    """How the parts of a mesh become one host tensor. One device has all of it."""

    __module__ = "ttnn"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("CppMeshToTensor: no constructor defined!")

    @classmethod
    def _whole(cls) -> CppMeshToTensor:
        return object.__new__(cls)


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


@api_function("ttnn.ReplicateTensorToMesh")
def ReplicateTensorToMesh(mesh_device: Any) -> ReplicateTensorToMeshWrapper:
    return ReplicateTensorToMeshWrapper(CppTensorToMesh._whole())


@api_function("ttnn.replicate_tensor_to_mesh_mapper")
def replicate_tensor_to_mesh_mapper(mesh_device: Any) -> CppTensorToMesh:
    return CppTensorToMesh._whole()


@api_function("ttnn.ShardTensorToMesh")
def ShardTensorToMesh(mesh_device: Any, dim: int) -> CppTensorToMesh:
    return CppTensorToMesh._whole()


@api_function("ttnn.shard_tensor_to_mesh_mapper")
def shard_tensor_to_mesh_mapper(mesh_device: Any, dim: int) -> CppTensorToMesh:
    return CppTensorToMesh._whole()


@api_function("ttnn.ConcatMeshToTensor")
def ConcatMeshToTensor(mesh_device: Any, dim: int) -> CppMeshToTensor:
    return CppMeshToTensor._whole()


@api_function("ttnn.concat_mesh_to_tensor_composer")
def concat_mesh_to_tensor_composer(mesh_device: Any, dim: int) -> CppMeshToTensor:
    return CppMeshToTensor._whole()


@api_function("ttnn.from_host_shards")
def from_host_shards(tensors: Sequence[Any], mesh_shape: MeshShape) -> Any:
    return _single(tensors, "ttnn.from_host_shards")


@api_function("ttnn.combine_device_tensors")
def combine_device_tensors(tensors: Sequence[Any]) -> Any:
    return _single(tensors, "ttnn.combine_device_tensors")


@api_function("ttnn.aggregate_tensor")
def aggregate_tensor(tensor: Any, composer: CppMeshToTensor) -> Any:
    return tensor.cpu()


def _single(tensors: Sequence[Any], op: str) -> Any:
    if len(tensors) != 1:
        raise InvalidArgument(f"expected one tensor for the one device, got {len(tensors)}", op=op)
    return tensors[0]


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
