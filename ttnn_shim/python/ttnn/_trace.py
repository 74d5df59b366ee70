"""Traces: `begin_trace_capture` to `release_trace`, with the rules of the real package.

A capture checks and prices calls, and allocates their results, but computes nothing and stands outside the clock. A replay runs the clock
through the captured programs and computes their values anew from what their inputs hold by then, into the captured tensors, whose addresses stay.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ttnn_shim.errors import InvalidArgument, ShimError
from ttnn_shim.nested import leaves

from ttnn import _core
from ttnn._binding import api_class, api_function
from ttnn._convert import register_class
from ttnn._device import MeshDevice, need_open
from ttnn._enums import BufferType
from ttnn._events import TRACE, on_allocate, on_call, on_close, on_read, on_wait, on_write
from ttnn._operation import Operation
from ttnn._recorder import call_ids
from ttnn._tensor import Tensor
from ttnn_shim import session

ffi, lib = _core.ffi, _core.lib
_logger = logging.getLogger("ttnn")
_WRITES = ("ttnn.to_device", "ttnn.copy_host_to_device_tensor")
_READS = ("ttnn.from_device", "ttnn.copy_device_to_host_tensor")
_FROM_HOST = ("ttnn.zeros", "ttnn.ones", "ttnn.full", "ttnn.arange", "ttnn.rand", "ttnn.eye")  # filled on the host, then written


@dataclass(slots=True)
class _Trace:
    """externals: tensors from before the capture; results: made in it."""

    device: Any
    number: int
    queue: int
    core_trace: int = 0
    externals: dict[int, Any] = field(default_factory=dict)
    results: dict[int, weakref.ref[Any]] = field(default_factory=dict)
    places: set[tuple[str, int, int]] = field(default_factory=set)  # memory of its results: kind, first and last address
    told: bool = False


_capturing: _Trace | None = None
_traces: dict[int, _Trace] = {}
_numbers = count()
_warned = False


@api_class("ttnn.MeshTraceId")
class MeshTraceId:
    """The number of a trace."""

    def __init__(self, arg: int) -> None:
        self._number = arg

    def __eq__(self, arg: object) -> bool:
        return isinstance(arg, MeshTraceId) and self._number == arg._number

    def __hash__(self) -> int:
        return hash(self._number)

    def __int__(self) -> int:
        return self._number

    def __repr__(self) -> str:
        return f"MeshTraceId({self._number})"


register_class("MeshTraceId", MeshTraceId)


def _refuse(message: str, op: str, hint: str = "") -> ShimError:
    return _core.error(InvalidArgument, message, op, hint)


def _watch() -> None:
    """Sees calls and new tensors while a trace is captured or lives, and refuses what a capture does not allow."""
    seen, captured = _capturing is not None or bool(_traces), _capturing is not None
    on_call.watch(TRACE, _call if seen else None)
    on_allocate.watch(TRACE, _allocated if seen else None)
    on_read.watch(TRACE, _check_read_of if captured else None)
    on_write.watch(TRACE, _check_write if captured else None)
    on_wait.watch(TRACE, _check_wait if captured else None)


# --- the API ---


@api_function("ttnn.begin_trace_capture")
def begin_trace_capture(mesh_device: Any, cq_id: Any = None) -> MeshTraceId:
    """From now on calls are captured. They must have run before on tensors of the same specs."""
    global _capturing
    need_open(mesh_device, "ttnn.begin_trace_capture")
    if _capturing is not None:
        raise _refuse(f"CQ {_queue(cq_id)} is already being used for tracing tid {_capturing.number}", "ttnn.begin_trace_capture",
                      "end_trace_capture ends it, also after an error in the captured calls")  # fmt: skip
    _core.check(lib.shim_trace_begin(mesh_device._handle), "ttnn.begin_trace_capture")
    _capturing = _Trace(mesh_device, next(_numbers), _queue(cq_id))
    _watch()
    return MeshTraceId(_capturing.number)


@api_function("ttnn.end_trace_capture")
def end_trace_capture(mesh_device: Any, trace_id: MeshTraceId, cq_id: Any = None) -> None:
    """Ends the capture. Raises InvalidArgument when the trace does not fit the device's trace region."""
    global _capturing
    trace = _capturing
    if trace is None or trace.number != int(trace_id) or trace.device is not mesh_device:
        raise _refuse(f"CQ {_queue(cq_id)} is not being used for tracing tid {int(trace_id)}", "ttnn.end_trace_capture")
    if trace.queue != _queue(cq_id):
        raise _refuse(f"CQ {_queue(cq_id)} is not being used for tracing tid {trace.number}", "ttnn.end_trace_capture", f"it began on CQ {trace.queue}")
    _capturing = None
    number = ffi.new("uint64_t *")
    try:
        _core.check(lib.shim_trace_end(mesh_device._handle, number), "ttnn.end_trace_capture")
        trace.core_trace = int(number[0])
        _check_region(trace)
        _traces[trace.number] = trace
    finally:
        _watch()


@api_function("ttnn.execute_trace")
def execute_trace(mesh_device: Any, trace_id: MeshTraceId, cq_id: Any = None, blocking: bool = True) -> None:
    """Runs the captured programs on what their inputs hold now.

    Raises:
        InvalidArgument: no such trace, a capture under way, or an input or result whose memory has been given back.
    """
    trace = _find(mesh_device, trace_id, "ttnn.execute_trace")
    if _capturing is not None:
        raise _refuse("Traces cannot be executed during trace capture.", "ttnn.execute_trace")
    _check_places(trace)
    call_id = next(call_ids) if session.recording() else 0
    start = time.perf_counter()
    _core.check(lib.shim_trace_replay(mesh_device._handle, trace.core_trace, call_id), "ttnn.execute_trace")
    if call_id:
        session.record_call(call_id, "ttnn.execute_trace", (("trace_id", repr(trace_id)),), time.perf_counter() - start)


@api_function("ttnn.release_trace")
def release_trace(mesh_device: Any, trace_id: MeshTraceId) -> None:
    """Forgets the trace."""
    trace = _find(mesh_device, trace_id, "ttnn.release_trace")
    _forget(trace)
    _core.check(lib.shim_trace_release(mesh_device._handle, trace.core_trace), "ttnn.release_trace")


@api_function("ttnn.device.is_trace_capture_active")
def is_trace_capture_active(device: Any) -> bool:
    return _capturing is not None and _capturing.device is device


def _device_closed(device: Any) -> None:
    """Traces end with their device."""
    global _capturing
    if _capturing is not None and _capturing.device is device:
        _capturing = None
    for trace in [trace for trace in _traces.values() if trace.device is device]:
        _forget(trace)
    _watch()


on_close.watch(TRACE, _device_closed)


def _forget(trace: _Trace) -> None:
    _traces.pop(trace.number, None)
    _watch()


def _queue(cq_id: Any) -> int:
    return 0 if cq_id is None else int(cq_id)


def _find(device: Any, trace_id: MeshTraceId, op: str) -> _Trace:
    trace = _traces.get(int(trace_id))
    if trace is None or trace.device is not device:
        raise _refuse(f"Trace instance {int(trace_id)} must exist on device {device.id()}", op, "it was released, or never captured to its end")
    return trace


def _check_region(trace: _Trace) -> None:
    """Traces lie in the region that `open_device(trace_region_size=)` reserved; without one in DRAM, as they come."""
    region = trace.device._trace_region_bytes
    if not region:
        return
    size = sum(_size(t) for t in (*_traces.values(), trace) if t.device is trace.device)
    if size > region:
        message = f"Creating trace buffers of size {size}B on MeshDevice {trace.device.id()}, but only {region}B is allocated for trace region."
        raise _refuse(message, "ttnn.end_trace_capture", "open the device with a larger trace_region_size, or with 0; the size is an estimate")


def _size(trace: _Trace) -> int:
    size = ffi.new("uint64_t *")
    _core.check(lib.shim_trace_bytes(trace.device._handle, trace.core_trace, size), "ttnn.end_trace_capture")
    return int(size[0])


# --- calls while a trace is captured or lives ---


def _check_write(op: str) -> None:
    """Raises InvalidArgument: the host writes to the device while a trace is captured."""
    raise _refuse("Writes are not supported during trace capture.", op, "make the tensor before begin_trace_capture, and keep it")


def _check_read(op: str) -> None:
    """Raises InvalidArgument: the host reads from the device while a trace is captured."""
    raise _refuse("Reads are not supported during trace capture.", op, "read after execute_trace")


def _check_read_of(tensor: Tensor, kind: Any) -> None:
    if tensor._fixed().on_device:
        _check_read("ttnn.Tensor.to_numpy")


def _check_wait(op: str) -> None:
    """Raises InvalidArgument: the host waits for the device while a trace is captured."""
    raise _refuse("Event Synchronization is not supported during trace capture.", op)


def _allocated(handle: Any = None) -> None:
    """Warns once: memory is being allocated while a trace lives."""
    global _warned
    if _traces and not _warned:
        _warned = True
        _logger.warning("Allocating device buffers is potentially unsafe due to the existence of an active trace. "
                        "These buffers may be corrupted once a trace is executed.")  # fmt: skip


def _call(operation: Any, go_on: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op's call: captured, or beside a living trace."""
    if not isinstance(operation, Operation):
        return go_on(args, kwargs)  # the ops that a program's own op calls come here themselves
    if _capturing is not None:
        return _captured(_capturing, operation.name, go_on, args, kwargs)
    result = go_on(args, kwargs)
    if not _warned:
        buffers = {int(leaf._info().buffer_id) for leaf in leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        infos = [leaf._info() for leaf in leaves(result) if isinstance(leaf, Tensor)]
        if any(info.on_device and int(info.buffer_id) not in buffers for info in infos):
            _allocated()
    return result


def _captured(trace: _Trace, name: str, go_on: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    on_device = [tensor for tensor in tensors if tensor._info().on_device]
    names_device = any(isinstance(leaf, MeshDevice) for leaf in leaves((args, kwargs)))
    if name in _READS and on_device:
        _check_read(name)
    if name in _WRITES or (name in _FROM_HOST and names_device) or (on_device and len(on_device) < len(tensors)):
        _check_write(name)
    if not on_device and not names_device:
        return go_on(args, kwargs)  # on the host
    for tensor in on_device:
        number = int(tensor._fixed().id)
        if number not in trace.results:
            trace.externals.setdefault(number, tensor)
    result = go_on(args, kwargs)
    for leaf in leaves(result):
        if not isinstance(leaf, Tensor):
            continue
        info = leaf._info()
        if info.on_device and int(info.id) not in trace.externals:
            trace.results[int(info.id)] = weakref.ref(leaf)
            trace.places.add((BufferType(info.buffer_type).name, int(info.address), int(info.address + info.bytes_per_bank)))
    return result


# --- replay ---


def _check_places(trace: _Trace) -> None:
    """Memory that was free again at the end of the capture may be another tensor's by now: on a card this replay overwrites it."""
    if trace.told:
        return
    places = {_place(tensor) for tensor in _living(trace).values()}
    freed = [place for place in trace.places if place not in places]
    for kind in (BufferType.L1, BufferType.DRAM):
        for block in trace.device.block_table(kind):
            first, last = block["address"], block["address"] + block["bytes"]
            if not block["allocated"] or any(place[:2] == (kind.name, first) for place in places):
                continue
            if any(place[0] == kind.name and place[1] < last and first < place[2] for place in freed):
                trace.told = True
                message = f"Trace {trace.number} overwrites {block['bytes']} B of {kind.name} at address {first}, which were allocated after its capture"
                if os.environ.get("TT_METAL_TRACE_ALLOC_TRACKING") == "1":
                    raise _refuse(message, "ttnn.execute_trace", "allocate before begin_trace_capture, or release the trace first")
                _logger.warning("%s: on a card that tensor's values are lost.", message)
                return


def _place(tensor: Any) -> tuple[str, int, int]:
    info = tensor._info()
    return BufferType(info.buffer_type).name, int(info.address), int(info.address + info.bytes_per_bank)


def _living(trace: _Trace) -> dict[int, Any]:
    """Results of the capture that still have their memory, and its inputs."""
    living = dict(trace.externals)
    for number, reference in trace.results.items():
        tensor = reference()
        if tensor is not None and tensor.is_allocated():
            living[number] = tensor
    return living
