"""The simulated device: opening, closing, memory views, its clock."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ttnn_shim.errors import InvalidArgument, NotSupported
from ttnn_shim.machine import cards, systems

from ttnn import _core, _events, _placement
from ttnn._binding import api_class, api_function
from ttnn._configs import config_class
from ttnn._convert import register_class
from ttnn._dtypes import L1_ALIGNMENT_BYTES
from ttnn._enums import Arch, BufferType, enum_class
from ttnn._grid import CoreCoord, CoreGrid
from ttnn._mesh import MeshCoordinate, MeshEvent, MeshShape, coordinates
from ttnn._names import named
from ttnn._places import Places
from ttnn._state import arch_name, dram_alignment, latest, open_devices
from ttnn._sub_devices import SubDevices
from ttnn_shim import session

if TYPE_CHECKING:
    from ttnn_shim.records import Block, CallRecord, Profile

ffi, lib = _core.ffi, _core.lib
_ARCHS = {member.value: member for member in Arch}
_default: MeshDevice | None = None
_next_id = 0
# What the device's SFPU gives for its special constants (wormhole and blackhole alike).
_SFPU_EPS, _SFPU_NAN, _SFPU_INF = 1.1920899822825959e-07, 7.0039998997052e19, 1.7013999693950742e38


@api_class("ttnn.Device")
class MeshDevice(SubDevices, Places):
    """A mesh of simulated devices, most often of one; made by `ttnn.open_device` and `ttnn.open_mesh_device`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("MeshDevice: no constructor defined!")

    _handle: Any
    _id: int
    _physical: int
    _shape: MeshShape
    _cache_enabled: bool
    _misses_allowed: bool
    _trace_region_bytes: int
    _l1_small_bytes: int
    _offset: tuple[int, int]
    _parent: MeshDevice | None
    _finished: list[MeshDevice]

    @classmethod
    def _create(cls, physical: int, l1_small_bytes: int, trace_region_bytes: int, rows: int = 1, columns: int = 1) -> MeshDevice:
        global _next_id
        out = ffi.new("shim_device **")
        settings = session.settings
        status = lib.shim_mesh_open(settings.card.encode(), rows, columns, l1_small_bytes, trace_region_bytes, int(settings.estimate), out)
        _core.check(status, "ttnn.open_device")
        device = object.__new__(cls)
        device._shape = MeshShape([rows, columns])
        device._handle = ffi.gc(out[0], lib.shim_device_free)
        _next_id += 1
        device._id, device._physical, device._cache_enabled, device._misses_allowed = _next_id, physical, True, True
        device._trace_region_bytes, device._l1_small_bytes = trace_region_bytes, l1_small_bytes
        device._offset, device._parent, device._submeshes, device._finished = (0, 0), None, [], []
        return device

    def _part(self, shape: MeshShape, offset: tuple[int, int]) -> MeshDevice:
        """A submesh: a mesh of its own, on which other calls run than on the other chips."""
        with _fabric_off(_system_boards() > shape.mesh_size()):  # a fabric that runs may leave chips of a board out
            part = MeshDevice._create(self._physical, self._l1_small_bytes, self._trace_region_bytes, *shape)
        rows, columns = (first + own for first, own in zip(self._offset, offset, strict=True))
        part._offset, part._parent = (rows, columns), self
        part.events_enable(session.settings.records_programs())
        return part

    def _parts(self) -> list[MeshDevice]:
        """The submeshes so far, also those that are closed."""
        return [part for part in (*self._submeshes, *self._finished) if part is not self]

    def _slowest_part(self) -> MeshDevice | None:
        """Submeshes run side by side: the slowest one is what the mesh waits for."""
        return max(self._parts(), key=lambda part: float(part.clock_read()["device_ns"]), default=None)

    def _info(self) -> Any:
        info = ffi.new("shim_device_info_t *")
        _core.check(lib.shim_device_info(self._handle, info))
        return info

    @property
    def core_grid(self) -> CoreGrid:
        info = self._info()
        return CoreGrid(x=int(info.grid_x), y=int(info.grid_y))

    @property
    def shape(self) -> MeshShape:
        return self._shape

    def arch(self) -> Any:
        return _ARCHS[self._info().arch]

    def id(self) -> int:
        return self._id

    def get_device_id(self, arg: MeshCoordinate) -> int:
        if len(list(arg)) != self._shape.dims() or any(index >= size for index, size in zip(arg, self._shape, strict=True)):
            raise _core.error(InvalidArgument, f"{arg} is outside the mesh {self.shape}", "ttnn.MeshDevice.get_device_id")
        row, column = (first + own for first, own in zip(self._offset, arg, strict=True))
        return self._physical + row * self._root()._shape[1] + column

    def _root(self) -> MeshDevice:
        return self if self._parent is None else self._parent._root()

    def get_device_ids(self) -> list[int]:
        return [self.get_device_id(coordinate) for coordinate in coordinates(list(self._shape))]

    def get_num_devices(self) -> int:
        return self._shape.mesh_size()

    def get_system_mesh_id(self) -> int:
        return 0

    def compute_with_storage_grid_size(self) -> CoreCoord:
        info = self._info()
        return CoreCoord(int(info.grid_x), int(info.grid_y))

    def dram_grid_size(self) -> CoreCoord:
        return CoreCoord(int(self._info().dram_banks), 1)

    def sfpu_eps(self) -> float:
        return _SFPU_EPS

    def sfpu_nan(self) -> float:
        return _SFPU_NAN

    def sfpu_inf(self) -> float:
        return _SFPU_INF

    def enable_program_cache(self) -> None:
        self._cache_enabled = True
        self._set_cache()

    def disable_and_clear_program_cache(self) -> None:
        self._cache_enabled = False
        self._set_cache()
        self.clear_program_cache()

    def clear_program_cache(self) -> None:
        """Programs count as new again. The simulator compiles nothing: its prices stay known."""
        _core.check(lib.shim_program_cache_clear(self._handle), "ttnn.MeshDevice.clear_program_cache")

    def set_program_cache_misses_allowed(self, arg: bool) -> None:
        """With False a program that is not in the cache is refused."""
        self._misses_allowed = arg
        self._set_cache()

    def num_program_cache_entries(self) -> int:
        """Distinct device programs since the cache was cleared."""
        entries = ffi.new("uint64_t *")
        _core.check(lib.shim_program_cache_entries(self._handle, entries), "ttnn.MeshDevice.num_program_cache_entries")
        return int(entries[0])

    def _set_cache(self) -> None:
        _core.check(lib.shim_program_cache_enable(self._handle, int(self._cache_enabled), int(self._misses_allowed)), "ttnn.MeshDevice")

    def quiesce_devices(self) -> None:
        """Work runs at once: nothing is under way."""

    def reshape(self, new_shape: MeshShape) -> None:
        count = self.get_num_devices()
        if new_shape.mesh_size() != count:
            raise _core.error(InvalidArgument, f"cannot reshape a mesh of {count} device{'s' * (count > 1)} to {new_shape}", "ttnn.MeshDevice.reshape")
        if list(new_shape) == list(self._shape):
            return
        if self.buffer_table() or self.clock_read()["ops"] or self._parts():
            message = "a mesh of another shape while it has tensors or has run programs"
            raise _core.error(NotSupported, message, "ttnn.MeshDevice.reshape", f"reshape it right after it is opened, or open it as {new_shape!r}")
        fresh = MeshDevice._create(self._physical, self._l1_small_bytes, self._trace_region_bytes, *new_shape)
        _core.check(lib.shim_device_close(self._handle), "ttnn.MeshDevice.reshape")
        self._handle, self._shape = fresh._handle, fresh._shape
        self.events_enable(session.settings.records_programs())

    # --- the simulator's own: clock and events (ttnn_shim.session) ---

    def clock_reset(self) -> None:
        """Starts a new measurement."""
        _core.check(lib.shim_events_clear(self._handle))
        for part in self._parts():
            part.clock_reset()

    def clock_read(self) -> dict[str, Any]:
        """{"device_ns", "eager_ns", "cycles", "ops"} since `clock_reset`; eager_ns: wall time where a host launches each program."""
        clock, eager_ns = ffi.new("shim_clock *"), ffi.new("double *")
        _core.check(lib.shim_clock_get(self._handle, clock))
        _core.check(lib.shim_clock_eager_ns(self._handle, eager_ns))
        own = {"device_ns": float(clock.device_ns), "eager_ns": float(eager_ns[0]), "cycles": int(clock.cycles), "ops": int(clock.programs)}
        slowest = self._slowest_part()
        return own if slowest is None else {name: value + slowest.clock_read()[name] for name, value in own.items()}

    def clock_by_op(self) -> list[tuple[str, bool, float]]:
        """(device operation, whether it has a model, kernel ns) of the programs since `clock_reset`."""
        own = [(op, bool(modelled), float(ns)) for op, modelled, ns in _json(lib.shim_clock_by_op, self._handle)]
        slowest = self._slowest_part()
        return own if slowest is None else own + slowest.clock_by_op()

    def clock_host_ns(self) -> int:
        """Host time in ns that the clock itself took since `clock_reset`."""
        host_ns = ffi.new("int64_t *")
        _core.check(lib.shim_clock_host_ns(self._handle, host_ns))
        return int(host_ns[0])

    def events_enable(self, on: bool) -> None:
        """Whether device programs are recorded one by one."""
        _core.check(lib.shim_events_enable(self._handle, int(on)))

    def configs_keep(self, keep: bool) -> None:
        """Whether the configuration of each recorded program is kept too: what the simulator prices it by (`ttnn_shim.simlib`)."""
        _core.check(lib.shim_configs_keep(self._handle, int(keep)))

    def configs_take(self) -> list[dict[str, Any]]:
        """The kept configurations, oldest first; they are kept no longer."""
        return list(_json(lib.shim_configs_take, self._handle))

    def events(self, first: int = 0) -> list[dict[str, Any]]:
        """The recorded device programs since `clock_reset`, from number `first` on."""
        own = list(_json(lib.shim_events_json, self._handle, first, 0))
        slowest = self._slowest_part() if first == 0 else None
        return own if slowest is None else own + slowest.events()

    def block_table(self, buffer_type: Any) -> list[dict[str, Any]]:
        """[{"address", "bytes", "allocated"}] of a bank, low addresses first."""
        return list(_json(lib.shim_memory_blocks, self._handle, buffer_type.value))

    def buffer_table(self) -> list[dict[str, Any]]:
        """The allocated tensors' buffers with their pages, by memory and address."""
        return list(_json(lib.shim_memory_buffers, self._handle))

    def memory_blocks(self) -> tuple[Block, ...]:
        """Allocated blocks of a bank, L1 and DRAM."""
        from ttnn_shim.records import Block  # here and below: only recorded runs need the reports' modules

        kinds = (BufferType.L1, BufferType.DRAM)
        rows = ((kind, row) for kind in kinds for row in self.block_table(kind))
        return tuple(Block(row["address"], row["bytes"], kind.name) for kind, row in rows if row["allocated"])

    def profile(self, calls: Mapping[int, CallRecord], root: pathlib.Path) -> Profile:
        """Everything recorded since `clock_reset`, for the reports."""
        from ttnn_shim.profiles import device_profile

        return device_profile(self.info(), self.events(), calls, root)

    def info(self) -> dict[str, Any]:
        """Card, architecture, grid, banks and their sizes."""
        info = self._info()
        names = ("grid_x", "grid_y", "dram_banks", "l1_bytes_per_bank", "dram_bytes_per_bank")
        facts: dict[str, Any] = {name: int(getattr(info, name)) for name in names}
        return {"card": _core.text(info.card), "arch": self.arch().name.lower(), "estimate": bool(info.estimate), **facts}

    def __repr__(self) -> str:
        return f"MeshDevice({self._shape[0]}x{self._shape[1]} grid, {self.get_num_devices()} devices)"


register_class("MeshDevice", MeshDevice)


def _json(function: Any, *args: Any) -> Any:
    out = ffi.new("char **")
    _core.check(function(*args, out))
    return json.loads(_core.text(ffi.gc(out[0], lib.shim_string_free)))


def private_device(with_values: bool) -> MeshDevice:
    """A device of the run's card that no program sees; its maker closes it with `shim_device_close`."""
    device = MeshDevice._create(0, 0, 0)
    if not with_values:
        _core.check(lib.shim_device_set_estimate(device._handle, 1))
    return device


def open_device(
    *,
    device_id: int,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    num_command_queues: int = 1,
    dispatch_core_config: Any = None,
    worker_l1_size: int = 0,
    _mesh: Sequence[int] = (1, 1),
) -> MeshDevice:
    """Opens the simulated card, or gives it back when it is open. Card and mode come from `python -m ttnn_shim run`.

    Raises:
        InvalidArgument: device_id is not 0.
    """
    for name, value in (("device_id", device_id), ("l1_small_size", l1_small_size), ("trace_region_size", trace_region_size)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
            raise TypeError(f"open_device(): incompatible function arguments: {name} must be a non-negative int of 64 bits, got {value!r}")
    if device_id != 0:
        raise _core.error(InvalidArgument, f"device_id {device_id} is not available: the simulator has device 0", "ttnn.open_device")
    if num_command_queues not in (1, 2):
        raise _core.error(InvalidArgument, f"expected 1 or 2 command queues, got {num_command_queues}", "ttnn.open_device")
    if worker_l1_size:
        raise _core.error(NotSupported, "worker_l1_size is not simulated: leave it 0", "ttnn.open_device")
    session.device_requested()
    if device_id in open_devices:
        opened: MeshDevice = open_devices[device_id]
        if list(opened.shape) != list(_mesh):
            raise _core.error(InvalidArgument, f"a mesh {opened.shape} is open already: close it first", "ttnn.open_mesh_device")
        return opened
    device = MeshDevice._create(device_id, l1_small_size, trace_region_size, *_mesh)
    open_devices[device_id] = device
    _placement.watch(device.get_num_devices() > 1)
    device.events_enable(session.settings.records_programs())
    session.device_opened(device)
    return device


def close_device(device: MeshDevice) -> None:
    """Closes the device; its tensors cannot be used after."""
    global _default
    if not isinstance(device, MeshDevice):
        raise TypeError(f"close_device(): incompatible function arguments: expected a MeshDevice, got {type(device).__name__}")
    if device._parent is not None:
        _close_part(device)
    elif open_devices.get(device._physical) is device:
        for part in device._parts():
            _close_part(part)
        session.device_closed(device)
        for watcher in _events.on_close.watchers:
            watcher(device)
        del open_devices[device._physical]
        _placement.watch(False)
        _core.check(lib.shim_device_close(device._handle), "ttnn.close_device")
    if _default is device:
        _default = None


def _close_part(part: MeshDevice) -> None:
    """Closes a submesh; its mesh keeps its clock."""
    for own in part._parts():
        _close_part(own)
    parent = part._parent
    if parent is not None and part in parent._submeshes:
        parent._submeshes.remove(part)
        parent._finished.append(part)
        _core.check(lib.shim_device_close(part._handle), "ttnn.close_mesh_device")


def _system_boards() -> int:
    """Chips of a board of the run's system."""
    system = systems().get(session.settings.card)
    return system.mesh[0] * system.mesh[1] // system.pcie_chips if system else 1


@contextlib.contextmanager
def _fabric_off(off: bool) -> Iterator[None]:
    """No fabric for a mesh that is opened in the block."""
    before = int(named("get_fabric_config")().value)
    _core.check(lib.shim_set_fabric(0 if off else before))
    try:
        yield
    finally:
        _core.check(lib.shim_set_fabric(before))


@contextlib.contextmanager
def manage_device(device_id: int) -> Iterator[MeshDevice]:
    """Opens a device for a `with` block."""
    device = open_device(device_id=device_id)
    try:
        yield device
    finally:
        close_device(device)


@api_function("ttnn.distributed.open_mesh_device")
def open_mesh_device(mesh_shape: MeshShape | None = None, offset: Any = None, physical_device_ids: Sequence[int] = (), **options: Any) -> MeshDevice:
    """A mesh of the run's card or system: of all of its chips without a shape. Raises InvalidArgument, with the meshes that it has."""
    system = systems().get(session.settings.card)
    shape = mesh_shape or MeshShape(list(system.mesh) if system else [1, 1])
    if shape.dims() != 2 or not all(shape):
        raise _core.error(NotSupported, f"mesh_shape: expected rows and columns, got {shape}", "ttnn.open_mesh_device")
    if (offset is not None and any(offset)) or list(physical_device_ids) not in ([], list(range(shape.mesh_size()))):
        message = "the mesh has one device, number 0" if shape.mesh_size() == 1 else "the mesh begins at the system's first chip"
        raise _core.error(InvalidArgument, message, "ttnn.open_mesh_device")
    return open_device(device_id=0, **options, _mesh=list(shape))


def close_mesh_device(mesh_device: MeshDevice) -> None:
    close_device(mesh_device)


@contextlib.contextmanager
def create_mesh_device(*args: Any, **kwargs: Any) -> Iterator[MeshDevice]:
    """Opens a mesh for a `with` block."""
    mesh = open_mesh_device(*args, **kwargs)
    try:
        yield mesh
    finally:
        close_mesh_device(mesh)


@api_function("ttnn.CreateDevice")
def CreateDevice(device_id: int, **options: Any) -> MeshDevice:
    return open_device(device_id=device_id, **options)


@api_function("ttnn.CreateDevices")
def CreateDevices(device_ids: Sequence[int], **options: Any) -> dict[int, MeshDevice]:
    return {device_id: open_device(device_id=device_id, **options) for device_id in device_ids}


@api_function("ttnn.CloseDevice")
def CloseDevice(arg: MeshDevice) -> None:
    close_device(arg)


@api_function("ttnn.CloseDevices")
def CloseDevices(arg: Mapping[int, MeshDevice]) -> None:
    for device in arg.values():
        close_device(device)


@api_function("ttnn.GetDefaultDevice")
def GetDefaultDevice() -> MeshDevice | None:
    return _default


@api_function("ttnn.SetDefaultDevice")
def SetDefaultDevice(device: MeshDevice | None = None) -> None:
    global _default
    _default = device


@api_function("ttnn.GetNumAvailableDevices")
def GetNumAvailableDevices() -> int:
    return get_num_devices()


@api_function("ttnn.GetNumPCIeDevices")
def GetNumPCIeDevices() -> int:
    system = systems().get(session.settings.card)
    return system.pcie_chips if system else 1


def get_num_devices() -> int:
    system = systems().get(session.settings.card)
    return MeshShape(list(system.mesh)).mesh_size() if system else 1


def get_device_ids() -> list[int]:
    return list(range(get_num_devices()))


@api_function("ttnn.device.synchronize_device")
def synchronize_device(device: MeshDevice, cq_id: Any = None, sub_device_ids: Sequence[Any] = ()) -> None:
    """Waits for the device; the simulator has finished when a call returns."""
    need_open(device, "ttnn.synchronize_device")
    _events.waits("ttnn.synchronize_device")


@api_function("ttnn.record_event")
def record_event(mesh_device: MeshDevice, cq_id: Any = None, sub_device_ids: Sequence[Any] = (), device_range: Any = None) -> MeshEvent:
    need_open(mesh_device, "ttnn.record_event")
    _events.waits("ttnn.record_event")
    return MeshEvent._now()


@api_function("ttnn.wait_for_event")
def wait_for_event(mesh_event: MeshEvent, cq_id: Any = None) -> None:
    """The event has happened: work runs in order."""
    _events.waits("ttnn.wait_for_event")


@api_function("ttnn.event_synchronize")
def event_synchronize(mesh_event: MeshEvent) -> None:
    """The event has happened: work runs in order."""
    _events.waits("ttnn.event_synchronize")


def need_open(device: MeshDevice, op: str) -> None:
    if not device._info().is_open:
        raise _core.error(InvalidArgument, "the device is closed", op)


class MemoryView:
    """State of one kind of memory. Sizes in bytes, per bank."""

    __module__ = "ttnn"
    _NAMES = ("num_banks", "total_bytes_per_bank", "total_bytes_allocated_per_bank", "total_bytes_free_per_bank",
              "largest_contiguous_bytes_free_per_bank", "peak_bytes_per_bank")  # fmt: skip
    num_banks: int
    total_bytes_per_bank: int
    total_bytes_allocated_per_bank: int
    total_bytes_free_per_bank: int
    largest_contiguous_bytes_free_per_bank: int
    peak_bytes_per_bank: int

    def __init__(self, view: Any, blocks: list[dict[str, Any]]) -> None:
        for name in self._NAMES:
            setattr(self, name, int(getattr(view, name)))
        # Addresses from the start of the bank; neighbours by number, as the real package gives them.
        start, last, none = (blocks[0]["address"] if blocks else 0), len(blocks) - 1, 2**64 - 1
        self.block_table: list[dict[str, str]] = [
            {
                "allocated": "yes" if block["allocated"] else "no",
                "nextID": str(i + 1 if i < last else none),
                "prevID": str(i - 1 if i else none),
                "size": str(block["bytes"]),
                "address": str(block["address"] - start),
                "blockID": str(i),
            }
            for i, block in enumerate(blocks)
        ]

    def __repr__(self) -> str:
        return "MemoryView(" + ", ".join(f"{name}={getattr(self, name)}" for name in self._NAMES) + ")"


def get_memory_view(device: MeshDevice, buffer_type: Any) -> MemoryView:
    """Sizes, free space and blocks of a bank, with the real allocator's addresses."""
    if not isinstance(device, MeshDevice) or not isinstance(buffer_type, BufferType):
        types = f"{type(device).__name__}, {type(buffer_type).__name__}"
        raise TypeError(f"get_memory_view(): incompatible function arguments: expected (MeshDevice, BufferType), got ({types})")
    view = ffi.new("shim_memory_view *")
    _core.check(lib.shim_memory_view_get(device._handle, buffer_type.value, view), "ttnn.get_memory_view")
    return MemoryView(view, device.block_table(buffer_type))


def dump_device_memory_state(device: MeshDevice, prefix: str = "") -> None:
    """Prints the state of L1 and DRAM."""
    for buffer_type in (BufferType.L1, BufferType.DRAM):
        print(f"{prefix}{buffer_type.name}: {get_memory_view(device, buffer_type)}")


def get_arch_name() -> str:
    return arch_name(latest()).lower()


def is_wormhole_b0(device: MeshDevice | None = None) -> bool:
    return arch_name(device or latest()) == "WORMHOLE_B0"


def is_blackhole(device: MeshDevice | None = None) -> bool:
    return arch_name(device or latest()) == "BLACKHOLE"


@api_function("ttnn.device.get_l1_alignment")
def get_l1_alignment() -> int:
    return L1_ALIGNMENT_BYTES


@api_function("ttnn.device.get_dram_alignment")
def get_dram_alignment() -> int:
    return dram_alignment(latest())


@api_function("ttnn.device.get_max_worker_l1_unreserved_size")
def get_max_worker_l1_unreserved_size() -> int:
    """Bytes of a core's L1 that programs and tensors may use."""
    return cards()[arch_name(latest()).lower()].l1_unreserved_bytes


@api_function("ttnn.device.init_device_compute_kernel_config")
def init_device_compute_kernel_config(arch: Any, device_kernel_config: Any = None, **given: Any) -> Any:
    """A compute kernel config; LoFi unless something else is given. A given config is returned as it is."""
    if device_kernel_config is not None:
        return device_kernel_config
    given.setdefault("math_fidelity", enum_class("ttnn.MathFidelity").LoFi)
    return config_class("ttnn.WormholeComputeKernelConfig")(**given)


class DispatchCoreConfig:
    """Which cores run dispatch. The grid of the simulated card is fixed: only worker-free choices have no effect on it."""

    __module__ = "ttnn"

    def __init__(self, type: Any = None, axis: Any = None, fabric_tensix_config: Any = None) -> None:
        types, axes = enum_class("ttnn.DispatchCoreType"), enum_class("ttnn.DispatchCoreAxis")
        if type is not None and not isinstance(type, types):
            raise TypeError(f"DispatchCoreConfig: expected type DispatchCoreType, got {type!r}")
        if axis is not None and not isinstance(axis, axes):
            raise TypeError(f"DispatchCoreConfig: expected axis DispatchCoreAxis, got {axis!r}")
        if fabric_tensix_config is not None:
            raise NotSupported("fabric_tensix_config is not simulated", op="ttnn.DispatchCoreConfig")
        self._type = type if type is not None else next(iter(types))
        self._axis = axis if axis is not None else next(iter(axes))

    type = property(lambda self: self._type)
    axis = property(lambda self: self._axis)


register_class("DispatchCoreConfig", DispatchCoreConfig)
