"""Feeds the graph captures under way (`_graph_record`) with calls, their device programs and the buffers that come and go."""

from __future__ import annotations

import contextlib
import os
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ttnn_shim.nested import leaves

from ttnn import _core
from ttnn._call_texts import argument_texts
from ttnn._enums import BufferType
from ttnn._events import GRAPH, on_allocate, on_call, on_read
from ttnn._graph_record import Buffer, Capture, Key, buffer_of_row, buffer_of_tensor, facts_of, key_of
from ttnn._state import latest
from ttnn._tensor import Tensor
from ttnn_shim import session

watching = False
"""Whether a capture is under way."""
stack_traces = False
"""Whether captures record where the program makes its calls."""
_watcher: _Watcher | None = None
_CREATE = "tt::tt_metal::create_device_tensor"
_PACKAGES = (Path(__file__).parent, Path(__file__).parent.with_name("ttnn_extras"), Path(session.__file__).parent)
_STARTERS = (r"[/\\]_pytest[/\\]", r"[/\\]pluggy[/\\]", r"bin[/\\]pytest$", r"<frozen runpy>")
_NOT_THE_PROGRAM = re.compile("|".join([*(re.escape(f"{folder}{os.sep}") for folder in _PACKAGES), *_STARTERS, re.escape(contextlib.__file__)]))


class _Watcher:
    """The captures under way and what they know of the device. dispatch: False where programs are planned without values."""

    def __init__(self, dispatch: bool) -> None:
        self.dispatch = dispatch
        self.captures: list[Capture] = []
        self.live: dict[Key, Buffer] = {}
        self.device: Any = None
        self.was_estimate = False
        self._sync_device()

    # --- the device ---

    def _sync_device(self) -> None:
        """Starts with the device that is open now: a program may open it within the capture."""
        device = latest()
        if device is not None and device is not self.device:
            self.device = device
            self.was_estimate = bool(device.info()["estimate"])
            self.live = {key: buffer_of_row(row, False) for key, row in self._table().items()}
            grid = device.compute_with_storage_grid_size()
            self.grid = (grid.x, grid.y)
            self.banks = {"L1": grid.x * grid.y, "DRAM": device.dram_grid_size().x}
            blocks = device.block_table(BufferType.L1)
            self.first_address = min((block["address"] for block in blocks), default=0)
        if self.device is not None:
            self.device.events_enable(True)
            if not self.dispatch:
                self._set_estimate(True)

    def _set_estimate(self, on: bool) -> None:
        _core.check(_core.lib.shim_device_set_estimate(self.device._handle, int(on)))

    def release_device(self) -> None:
        if self.device is None or not self.device._info().is_open:
            return
        if not (session.settings.records_programs() or session.recording()):
            self.device.events_enable(False)
        if not self.dispatch:
            self._set_estimate(self.was_estimate)

    def _table(self) -> dict[Key, dict[str, Any]]:
        if self.device is None or not self.device._info().is_open:
            return {}
        return {key_of(row["tensor"]): row for row in self.device.buffer_table()}

    def _changes(self, table: dict[Key, dict[str, Any]]) -> tuple[list[Key], list[Key]]:
        """(gone, new) buffers; one that another took the place of is in both."""

        def same(key: Key) -> bool:
            row, recorded = table[key], self.live[key]
            return bool(row["bytes_per_bank"] == recorded.bank_bytes and row["page_bytes"] == recorded.page_bytes)

        freed = [key for key in self.live if key not in table or not same(key)]
        new = [key for key in table if key not in self.live or not same(key)]
        return freed, new

    # --- nodes for all captures ---

    def _each(self, action: Callable[[Capture], Any]) -> None:
        for capture in self.captures:
            action(capture)

    def _free(self, key: Key) -> None:
        buffer = self.live.pop(key)
        self._each(lambda capture: capture.frees(buffer))

    def _allocate(self, key: Key, buffer: Buffer) -> None:
        self.live[key] = buffer
        self._each(lambda capture: capture.allocates(buffer))

    def _outside_of_calls(self, made_id: int = 0) -> None:
        """Buffers that the program took or gave back since the last call: `del`, `from_torch`. made_id: of the tensor just made."""
        table = self._table()
        freed, new = self._changes(table)
        for key in freed:
            with self._function("Tensor::deallocate"):
                self._free(key)
        for key in new:
            tensors = [{**table[key]["tensor"], "id": made_id}] if made_id else []
            self._transfer("Tensor::to_device", [], tensors, [(key, buffer_of_row(table[key], not self.dispatch))])

    @contextlib.contextmanager
    def _function(self, name: str) -> Iterator[None]:
        """A function of the host that gives no tensor."""
        self._each(lambda capture: capture.start(name, []))
        yield
        live_buffers = list(self.live.values())
        self._each(lambda capture: capture.holds(live_buffers))
        self._each(lambda capture: capture.end(0))

    # --- captures and calls ---

    def made(self, tensor_id: int) -> None:
        """The program made a tensor on the device."""
        self._sync_device()
        self._outside_of_calls(tensor_id)

    def begin(self) -> None:
        if self.captures:
            self._outside_of_calls()
        self.captures.append(Capture(0 if self.device is None else self.device.id()))

    def end(self) -> Capture:
        self._sync_device()
        self._outside_of_calls()
        return self.captures.pop()

    @contextlib.contextmanager
    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: list[Any]) -> Iterator[None]:
        """A call of the program; what it gives is put into `result`."""
        self._sync_device()
        self._outside_of_calls()
        inputs = [facts_of(leaf) for leaf in leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        texts = dict(argument_texts(map(str, range(len(args))), args, kwargs))
        entry: dict[str, Any] = {"name": name, "arguments": texts, "input_tensor_ids": [tensor["id"] for tensor in inputs]}
        if stack_traces:
            entry["python_stack_trace"] = _program_frames()
        self._each(lambda capture: capture.calls.append(entry))
        self._each(lambda capture: capture.start(name, []))
        first = 0 if self.device is None else self.device.clock_read()["ops"]
        events: list[dict[str, Any]] = []
        try:
            yield
        except Exception as error:
            entry["error"] = {"type": type(error).__name__, "message": str(error)}
            raise
        finally:
            self._sync_device()
            outputs = [facts_of(leaf) for leaf in leaves(result) if isinstance(leaf, Tensor)]
            if "error" not in entry:
                entry["output_tensor_ids"] = [tensor["id"] for tensor in outputs]
            if self.device is not None and self.device._info().is_open:
                events = self.device.events(first)
            self._inside_of_call(events, inputs, outputs)
            spent = sum(event["ns"] + event["gap_ns"] for event in events)
            live_buffers = list(self.live.values())
            self._each(lambda capture: capture.holds(live_buffers))
            self._each(lambda capture: capture.end(spent))
            for capture in self.captures:
                capture.device_ns += spent

    def _inside_of_call(self, events: list[dict[str, Any]], inputs: list[dict[str, Any]], outputs: list[dict[str, Any]]) -> None:
        table = self._table()
        for position, event in enumerate(events):
            self._program(event, events[position + 1 :], table)
        freed, new = self._changes(table)
        if events:
            for key in freed:
                self._free(key)
        elif freed:
            with self._function("Tensor::deallocate"):
                for key in freed:
                    self._free(key)
        if new:
            within = bool(inputs) and all(tensor["on_device"] for tensor in inputs)  # programs of a trace that is captured are not in the event log
            self._transfer(_CREATE if within else "Tensor::to_device", inputs, outputs, [(key, buffer_of_row(table[key], not self.dispatch)) for key in new])
        elif not events and inputs and outputs and any(tensor["on_device"] for tensor in inputs):
            read = not any(tensor["on_device"] for tensor in outputs)
            self._transfer("Tensor::cpu" if read else "Tensor::reshape", inputs, outputs, [])

    def _transfer(self, name: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], created: list[tuple[Key, Buffer]]) -> None:
        """A part of a call that moves values between host and device, or only looks at them in another shape."""
        self._each(lambda capture: capture.start(name, []))
        self._read(inputs)
        for key, buffer in created:
            self._allocate(key, buffer)
        results = [(tensor, self._buffer_of(tensor)) for tensor in outputs]
        self._each(lambda capture: capture.end(0, results))

    def _read(self, tensors: list[dict[str, Any]]) -> None:
        for tensor in tensors:
            buffer = self._buffer_of(tensor)
            for capture in self.captures:
                capture.reads(tensor, buffer)

    def _buffer_of(self, tensor: dict[str, Any]) -> Buffer | None:
        return self.live.get(key_of(tensor)) if "address" in tensor else None

    def _program(self, event: dict[str, Any], later: list[dict[str, Any]], table: dict[Key, dict[str, Any]]) -> None:
        for tensor in event["inputs"]:
            if tensor["address"] and key_of(tensor) not in self.live:  # the call brought it from the host
                with self._function("Tensor::to_device"):
                    self._allocate(key_of(tensor), self._new_buffer(tensor, table))
        read = {key_of(tensor) for tensor in event["inputs"] if tensor["address"]}
        created = {key_of(tensor): tensor for tensor in event["outputs"] if key_of(tensor) not in read}
        for key in created:
            if key in self.live:  # the call freed what lay there
                self._free(key)
        self._free_before(event, later, read, created, table)
        more = {"program_factory_type": event["factory"]} if event["factory"] else {}
        self._each(lambda capture: capture.start(event["name"], [event["attributes"], *map(_text, event["inputs"])], **more))
        self._read(event["inputs"])
        for key, tensor in created.items():
            self._create(key, tensor, table)
        self._each(lambda capture: capture.program(event, event["index"] + 1, self.first_address, self.grid, self.dispatch))
        results = [(tensor, self._buffer_of(tensor)) for tensor in event["outputs"]]
        self._each(lambda capture: capture.end(event["ns"], results))

    def _new_buffer(self, tensor: dict[str, Any], table: dict[Key, dict[str, Any]]) -> Buffer:
        row = table.get(key_of(tensor))
        if row is not None and row["tensor"]["padded_shape"] == tensor["padded_shape"] and row["tensor"]["dtype"] == tensor["dtype"]:
            return buffer_of_row(row, not self.dispatch)
        return buffer_of_tensor(tensor, self.banks["DRAM" if tensor["buffer_type"] == "DRAM" else "L1"], not self.dispatch)

    def _create(self, key: Key, tensor: dict[str, Any], table: dict[Key, dict[str, Any]]) -> None:
        buffer = self._new_buffer(tensor, table)
        arguments = [f"Shape({list(tensor['shape'])})", f"DataType::{tensor['dtype']}", f"Layout::{tensor['layout']}"]
        self._each(lambda capture: capture.start(_CREATE, arguments))
        self._allocate(key, buffer)
        self._each(lambda capture: capture.end(0, [(tensor, buffer)]))

    def _free_before(self, event: dict[str, Any], later: list[dict[str, Any]], read: set[Key], made: dict[Key, Any], table: dict[Key, dict[str, Any]]) -> None:
        """Frees what the call gave back before this program ran: more is known to be in L1 than the allocator held then."""
        used = read | made.keys() | _read_before_written(later)
        tensor_bytes = event["l1_peak_bytes"] - event["l1_bytes"]
        known_bytes = sum(buffer.bank_bytes for buffer in self.live.values() if buffer.kind == "L1")
        known_bytes += sum(self._new_buffer(tensor, table).bank_bytes for key, tensor in made.items() if key[0] == "L1")
        for key in [key for key in self.live if key[0] == "L1" and key not in table and key not in used]:
            if known_bytes <= tensor_bytes:
                return
            known_bytes -= self.live[key].bank_bytes
            self._free(key)


def _read_before_written(events: list[dict[str, Any]]) -> set[Key]:
    """Where the programs find what lay there before them."""
    keys: set[Key] = set()
    written: set[Key] = set()
    for event in events:
        keys |= {key_of(tensor) for tensor in event["inputs"]} - written
        written |= {key_of(tensor) for tensor in event["outputs"]}
    return keys


def _program_frames() -> list[str]:
    """Where the program makes its call, the innermost place first: frames of this package and of what starts the program are left out."""
    frames = [frame for frame in traceback.extract_stack() if not _NOT_THE_PROGRAM.search(frame.filename)]
    return [f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n    {frame.line}\n' for frame in reversed(frames)]


def _text(tensor: dict[str, Any]) -> str:
    return f"Tensor({list(tensor['shape'])}, {tensor['dtype']}, {tensor['layout']}, {tensor['buffer_type']})"


def begin(dispatch: bool) -> None:
    """Starts a capture, within those under way; the outermost says whether programs compute values."""
    global _watcher
    if _watcher is None:
        _watcher = _Watcher(dispatch)
    _watcher.begin()
    _watch()


def end() -> Capture | None:
    """The innermost capture; None when none is under way."""
    global _watcher
    if _watcher is None:
        return None
    capture = _watcher.end()
    if not _watcher.captures:
        _watcher.release_device()
        _watcher = None
    _watch()
    return capture


def _watch() -> None:
    """Sees calls and tensors while a capture is under way, and what is read while its programs do not run."""
    global watching
    watching = _watcher is not None
    on_call.watch(GRAPH, _call if watching else None)
    on_allocate.watch(GRAPH, _made if watching else None)
    on_read.watch(GRAPH, _unwritten if _watcher is not None and not _watcher.dispatch else None)


def device() -> Any:
    """The device of the captures under way."""
    return None if _watcher is None else _watcher.device


def _made(handle: Any) -> None:
    """A tensor was made on the device outside of the ops."""
    info = _core.ffi.new("shim_tensor_info *")
    _core.check(_core.lib.shim_tensor_get_info(handle, info))
    if _watcher is not None:
        _watcher.made(int(info.id))


def _unwritten(tensor: Tensor, kind: Any) -> Any:
    """Zeros for a tensor that no program has written; a card would return the old content of the memory."""
    return None if tensor._info().has_values else np.zeros(tuple(tensor.shape), kind)


def _call(operation: Any, go_on: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of the program under a capture."""
    watcher = _watcher
    if watcher is None:
        return go_on(args, kwargs)
    result: list[Any] = []
    with watcher.call(operation.python_fully_qualified_name, args, kwargs, result):
        result.append(go_on(args, kwargs))
    return result[0]
