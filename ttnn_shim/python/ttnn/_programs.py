"""Programs that a caller describes: kernels, circular buffers and semaphores for `generic_op`.

The descriptors are checked as on a card. The kernels are source for the card's processors, which the simulator has none of: `generic_op` refuses to
run them, after everything else has been found right.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Any

from ttnn_shim.errors import InvalidArgument, NotSupported

from ttnn._enums import enum_class
from ttnn._grid import CoreCoord, CoreRange, CoreRangeSet
from ttnn._memory import Tile
from ttnn._mesh import MeshCoordinate, MeshShape

_EXACT = enum_class("ttnn.MathFidelity").HiFi4
MOST_BUFFERS = 32  # circular buffers of a core
MOST_SEMAPHORES = 16  # of a program, on a core


class _Described:
    """Equal where all fields are; printed with them."""

    __module__ = "ttnn"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]


def _checked(value: Any, kind: type | tuple[type, ...], what: str, op: str) -> Any:
    if not isinstance(value, kind):
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise InvalidArgument(f"{what}: expected {names}, got {type(value).__name__}", op=op)
    return value


def _cores(value: Any, op: str) -> CoreRangeSet:
    if isinstance(value, CoreRange):
        value = CoreRangeSet([value])
    return _checked(value, CoreRangeSet, "core_ranges", op)  # type: ignore[no-any-return]


class TileDescriptor(_Described):
    """height, width: of a tile, in values."""

    def __init__(self, height: Any = 32, width: int = 32, transpose: bool = False) -> None:
        if isinstance(height, Tile):
            height, width = height.tile_shape
        elif isinstance(height, TileDescriptor):
            height, width, transpose = height.height, height.width, height.transpose
        Tile((height, width))  # refuses what the hardware has no tile for
        self.height: int = int(height)
        self.width: int = int(width)
        self.transpose: bool = bool(transpose)


class CBFormatDescriptor(_Described):
    """What a circular buffer holds: index of the buffer (0 to 31), format, bytes of a page."""

    def __init__(self, buffer_index: int = 0, data_format: Any = None, page_size: int = 0, tile: TileDescriptor | None = None) -> None:
        if not 0 <= buffer_index < MOST_BUFFERS:
            raise InvalidArgument(f"buffer_index: expected 0 to {MOST_BUFFERS - 1}, got {buffer_index}", op="ttnn.CBFormatDescriptor")
        if page_size < 0:
            raise InvalidArgument(f"page_size: expected 0 or more bytes, got {page_size}", op="ttnn.CBFormatDescriptor")
        self.buffer_index, self.data_format, self.page_size, self.tile = buffer_index, data_format, page_size, tile


class CBDescriptor(_Described):
    """A circular buffer of total_size bytes on each of core_ranges, or in the shards of a tensor."""

    def __init__(self, total_size: int = 0, core_ranges: Any = None, format_descriptors: Sequence[CBFormatDescriptor] = ()) -> None:
        op = "ttnn.CBDescriptor"
        self.total_size = total_size
        self.core_ranges = CoreRangeSet([]) if core_ranges is None else _cores(core_ranges, op)
        self.format_descriptors = [_checked(one, CBFormatDescriptor, "format_descriptors", op) for one in format_descriptors]
        self.remote_format_descriptors: list[CBFormatDescriptor] = []
        self.address_offset = 0
        self._tensor: Any = None

    def has_buffer(self) -> bool:
        return self._tensor is not None

    def has_global_circular_buffer(self) -> bool:
        return False

    def buffer_address(self) -> int | None:
        return None if self._tensor is None else int(self._tensor.buffer_address()) + self.address_offset

    def set_buffer_from_cb(self, other: CBDescriptor) -> None:
        self._tensor, self.address_offset = other._tensor, other.address_offset


class SemaphoreDescriptor(_Described):
    def __init__(self, id: int = 0, core_type: Any = None, core_ranges: Any = None, initial_value: int = 0) -> None:
        if not 0 <= id < MOST_SEMAPHORES:
            raise InvalidArgument(f"id: expected 0 to {MOST_SEMAPHORES - 1}, got {id}", op="ttnn.SemaphoreDescriptor")
        self.id, self.core_type, self.initial_value = id, core_type, initial_value
        self.core_ranges = CoreRangeSet([]) if core_ranges is None else _cores(core_ranges, "ttnn.SemaphoreDescriptor")


class ReaderConfigDescriptor(_Described):
    """The processor that reads, on its own NoC."""


class WriterConfigDescriptor(_Described):
    """The processor that writes, on its own NoC."""


class DataMovementConfigDescriptor(_Described):
    def __init__(self, processor: Any = None, noc: Any = None, noc_mode: Any = None) -> None:
        self.processor, self.noc, self.noc_mode = processor, noc, noc_mode


class ComputeConfigDescriptor(_Described):
    def __init__(
        self,
        math_fidelity: Any = _EXACT,
        math_approx_mode: bool = False,
        fp32_dest_acc_en: bool = False,
        dst_full_sync_en: bool = False,
        bfp8_pack_precise: bool = False,
    ) -> None:
        self.math_fidelity, self.math_approx_mode, self.fp32_dest_acc_en = math_fidelity, math_approx_mode, fp32_dest_acc_en
        self.dst_full_sync_en, self.bfp8_pack_precise = dst_full_sync_en, bfp8_pack_precise
        self.enable_trisc2_rvv, self.unpack_to_dest_mode = False, list[Any]()


_CONFIGS = (ReaderConfigDescriptor, WriterConfigDescriptor, DataMovementConfigDescriptor, ComputeConfigDescriptor)


class _Row:
    """The arguments of one column of cores: `runtime_args[x][y] = [...]`."""

    def __init__(self, rows: list[tuple[CoreCoord, list[int]]], x: int) -> None:
        self._rows, self._x = rows, x

    def __setitem__(self, y: int, values: Sequence[int]) -> None:
        self._rows.append((CoreCoord(self._x, y), list(values)))

    def __getitem__(self, y: int) -> list[int]:
        return next(values for core, values in self._rows if (core.x, core.y) == (self._x, y))


class RuntimeArgs(_Described):
    """Arguments of a kernel by core."""

    def __init__(self) -> None:
        self._rows: list[tuple[CoreCoord, list[int]]] = []

    def append(self, coord: CoreCoord, values: Sequence[int]) -> None:
        self._rows.append((_checked(coord, CoreCoord, "coord", "ttnn.RuntimeArgs"), list(values)))

    def clear(self) -> None:
        self._rows.clear()

    def get(self, idx: int) -> tuple[CoreCoord, list[int]]:
        return self._rows[idx]

    def to_list(self) -> list[tuple[CoreCoord, list[int]]]:
        return list(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[CoreCoord, list[int]]]:
        return iter(self._rows)

    def __getitem__(self, x: int) -> _Row:
        return _Row(self._rows, x)


class KernelDescriptor(_Described):
    """Source of a kernel, the cores that run it and its arguments."""

    class SourceType(enum.Enum):
        FILE_PATH = 0
        SOURCE_CODE = 1

    def __init__(
        self,
        kernel_source: str = "",
        source_type: Any = SourceType.FILE_PATH,
        core_ranges: Any = None,
        compile_time_args: Sequence[int] = (),
        named_compile_time_args: Sequence[tuple[str, int]] = (),
        defines: Sequence[tuple[str, str]] = (),
        runtime_args: Any = (),
        common_runtime_args: Sequence[int] = (),
        opt_level: Any = None,
        config: Any = None,
        compiler_include_paths: Sequence[Any] = (),
        **named: Any,
    ) -> None:
        op = "ttnn.KernelDescriptor"
        if config is not None:
            _checked(config, _CONFIGS, "config", op)
        self.kernel_source, self.source_type = _checked(kernel_source, str, "kernel_source", op), source_type
        self.core_ranges = CoreRangeSet([]) if core_ranges is None else _cores(core_ranges, op)
        self.compile_time_args, self.named_compile_time_args = list(compile_time_args), list(named_compile_time_args)
        self.defines, self.common_runtime_args, self.opt_level = list(defines), list(common_runtime_args), opt_level
        self.runtime_args = runtime_args if isinstance(runtime_args, RuntimeArgs) else list(runtime_args)
        self.config, self.compiler_include_paths, self.named = config, list(compiler_include_paths), named


class ProgramDescriptor(_Described):
    def __init__(self, kernels: Sequence[KernelDescriptor] = (), semaphores: Sequence[SemaphoreDescriptor] = (), cbs: Sequence[CBDescriptor] = ()) -> None:
        op = "ttnn.ProgramDescriptor"
        self.kernels = [_checked(one, KernelDescriptor, "kernels", op) for one in kernels]
        self.semaphores = [_checked(one, SemaphoreDescriptor, "semaphores", op) for one in semaphores]
        self.cbs = [_checked(one, CBDescriptor, "cbs", op) for one in cbs]
        self.custom_program_hash: int | None = None


class MeshCoordinateRange(_Described):
    def __init__(self, start: Any, end: Any = None) -> None:
        if isinstance(start, MeshShape):
            start, end = MeshCoordinate(0, 0), MeshCoordinate(*(extent - 1 for extent in start))
        self.start, self.end = start, start if end is None else end

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((tuple(self.start), tuple(self.end)))


class MeshCoreCoord(_Described):
    def __init__(self, device_coord: Any, core_coord: Any) -> None:
        self.device_coord, self.core_coord = device_coord, core_coord


class MeshProgramDescriptor(_Described):
    """A program for each range of a mesh's devices."""

    def __init__(self, mesh_programs: Any = None) -> None:
        self._programs: dict[MeshCoordinateRange, ProgramDescriptor] = dict(mesh_programs or {})

    def __getitem__(self, key: MeshCoordinateRange) -> ProgramDescriptor:
        return self._programs.setdefault(key, ProgramDescriptor())

    def __setitem__(self, key: MeshCoordinateRange, program: ProgramDescriptor) -> None:
        self._programs[key] = program

    def __iter__(self) -> Iterator[tuple[MeshCoordinateRange, ProgramDescriptor]]:
        return iter(self._programs.items())


def cb_descriptor_from_sharded_tensor(cb_index: int, tensor: Any, address_offset: int = 0, total_size: int = 0, core_ranges: Any = None) -> CBDescriptor:
    """A circular buffer in the shards of `tensor`: pages are its tiles, or rows of its shards."""
    import ttnn

    spec = tensor.memory_config().shard_spec
    if spec is None:
        raise InvalidArgument(f"tensor: expected a sharded tensor, got {tensor.memory_config()}", op="ttnn.cb_descriptor_from_sharded_tensor")
    height, width = spec.shape
    tiled = tensor.layout == ttnn.TILE_LAYOUT
    page = ttnn.tile_size(tensor.dtype) if tiled else width * tensor.element_size()
    pages = -(-height // 32) * -(-width // 32) if tiled else height
    made = CBDescriptor(
        total_size or pages * page, core_ranges or spec.grid, [CBFormatDescriptor(cb_index, tensor.dtype, page, TileDescriptor() if tiled else None)]
    )
    made._tensor, made.address_offset = tensor, address_offset
    return made


def get_cb_address(descriptor: CBDescriptor) -> int:
    address = descriptor.buffer_address()
    if address is None:
        raise InvalidArgument("descriptor: expected a buffer in a tensor's shards", op="ttnn.get_cb_address")
    return address


def merge_program_descriptors(descriptors: Sequence[ProgramDescriptor]) -> ProgramDescriptor:
    """One program of several whose kernels run on different cores."""
    merged = ProgramDescriptor()
    for program in descriptors:
        merged.kernels += program.kernels
        merged.semaphores += program.semaphores
        merged.cbs += program.cbs
    return merged


def _check_program(program: ProgramDescriptor, device: Any) -> None:
    op = "ttnn.generic_op"
    grid = device.compute_with_storage_grid_size()
    if not program.kernels:
        raise InvalidArgument("program_descriptor: expected at least one kernel", op=op)
    for part in (*program.kernels, *program.semaphores, *program.cbs):
        if part.core_ranges.empty():
            raise InvalidArgument(f"core_ranges: a {type(part).__name__} without cores", op=op)
        end = part.core_ranges.bounding_box().end
        if end.x >= grid.x or end.y >= grid.y:
            raise InvalidArgument(f"core_ranges: {part.core_ranges} lie outside of the device's grid of {grid.x} x {grid.y}", op=op)
    for kernel in program.kernels:
        if kernel.config is None:
            raise InvalidArgument(
                "config: a kernel without one", op=op, hint="give a ReaderConfigDescriptor, a WriterConfigDescriptor or a ComputeConfigDescriptor"
            )
    for buffer in program.cbs:
        for held in buffer.format_descriptors:
            if held.page_size and buffer.total_size % held.page_size:
                raise InvalidArgument(f"total_size: {buffer.total_size} B are no whole pages of {held.page_size} B", op=op)


def generic_op(io_tensors: Sequence[Any], program_descriptor: Any = None, mesh_program_descriptor: Any = None) -> Any:
    """Checks the program, then refuses to run it: its kernels are source for a card's processors."""
    op = "ttnn.generic_op"
    described = program_descriptor if program_descriptor is not None else mesh_program_descriptor
    _checked(described, (ProgramDescriptor, MeshProgramDescriptor), "program_descriptor", op)
    if not io_tensors:
        raise InvalidArgument("io_tensors: expected at least an output tensor", op=op)
    device = io_tensors[-1].device()
    if device is None:
        raise InvalidArgument("io_tensors: expected tensors on a device", op=op)
    for program in [described] if isinstance(described, ProgramDescriptor) else [program for _, program in described]:
        _check_program(program, device)
    raise NotSupported(
        "kernels in source are not simulated: there is no RISC-V processor here to run them",
        op=op,
        hint="use a TT-NN op of the same function, or run on a card",
    )
