"""`ttnn._ttnn`: the real package's compiled module. Programs that reach for a name in one of its parts get `ttnn`'s own object of that name."""

from __future__ import annotations

import sys
import types
from typing import Any

import ttnn
from ttnn_shim.errors import NotOffered
from ttnn_shim.machine import systems

from ttnn_extras import buffers
from ttnn_shim import session

_PARTS = "activation bfp_utils core device events fabric global_semaphore graph multi_device operations profiler reports tensor types".split()
_OPERATIONS = "ccl conv core data_movement embedding experimental matmul normalization pool reduction transformer unary".split()
_RENAMED = {"tensor.load_tensor_flatbuffer": "load_tensor", "tensor.dump_tensor_flatbuffer": "dump_tensor"}


class SystemMeshDescriptor:
    """The chips of this host."""

    def shape(self) -> Any:
        system = systems().get(session.settings.card)
        extents = system.mesh if system else (1, 1)
        return ttnn.MeshShape(*(extents[::-1] if extents == (1, 2) else extents))  # a board's two chips: two rows

    def local_shape(self) -> Any:
        return self.shape()

    def all_local(self) -> bool:
        return True


class GlobalSemaphoreArg:
    """Semaphores of an op over several chips; a name for annotations here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotOffered("ttnn._ttnn.operations.experimental.ccl_experimental.GlobalSemaphoreArg: one chip is simulated", name="GlobalSemaphoreArg")


_VALUES = {"device.DEFAULT_WORKER_L1_SIZE": 0, "device.DEFAULT_L1_SMALL_SIZE": 0, "device.DEFAULT_TRACE_REGION_SIZE": 0,
           "multi_device.SystemMeshDescriptor": SystemMeshDescriptor,
           "operations.experimental.ccl_experimental.GlobalSemaphoreArg": GlobalSemaphoreArg,
           "global_semaphore.global_semaphore": GlobalSemaphoreArg}  # fmt: skip


class _Part(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        part = self.__name__.removeprefix("ttnn._ttnn.")
        if f"{part}.{name}" in _VALUES:
            return _VALUES[f"{part}.{name}"]
        if f"{part}.{name}" in ("reports.get_buffers", "reports.get_buffer_pages", "reports.get_device_info"):
            return getattr(buffers, name)
        home = getattr(ttnn, part.removeprefix("operations.")) if part in ("graph", "operations.experimental", "operations.transformer") else ttnn
        try:
            return getattr(home, name) if hasattr(home, name) else getattr(ttnn, _RENAMED.get(f"{part}.{name}", name))
        except AttributeError as error:
            raise NotOffered(f"{self.__name__}.{name}: {error}", name=name) from None


def _part(name: str) -> _Part:
    made = _Part(f"ttnn._ttnn.{name}", "Names of the real package's compiled module.")
    made.__path__ = []
    sys.modules[made.__name__] = made
    return made


for _name in _PARTS:
    globals()[_name] = _part(_name)
for _name in _OPERATIONS:
    setattr(globals()["operations"], _name, _part(f"operations.{_name}"))
globals()["operations"].experimental.ccl_experimental = _part("operations.experimental.ccl_experimental")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(ttnn, name)  # cluster, CONFIG
