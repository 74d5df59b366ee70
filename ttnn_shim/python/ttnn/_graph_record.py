"""What a graph capture records: a list of nodes for calls, device programs, tensors and buffers, linked by their positions in the list.

Calls and programs come from `_operation` and the device's event log. Buffers are told apart by kind of memory and address: the device's
buffer table, read around each call, says which are new and which are gone. One call can feed several captures, which may nest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ttnn._dtypes import element_size, tile_bytes
from ttnn._enums import BufferType, DataType, ShardOrientation, TensorMemoryLayout
from ttnn._memory import MemoryConfig, ShardSpec, core_ranges

Key = tuple[str, int]
_CALL_COUNT_STEP = 1024  # of the profiler's number of a program, whose low bits are a chip's


@dataclass(eq=False, slots=True)
class Buffer:
    """A buffer of the device. size: of all its pages; bank_bytes: in the fullest bank; cores: that hold shards, 0 for interleaved; shown: address in nodes."""

    kind: str
    address: int
    layout: str
    size: int
    page_bytes: int
    bank_bytes: int
    cores: int
    shown: int

    def facts(self, device_id: int) -> dict[str, Any]:
        return {"buffer_type": BufferType[self.kind].value, "device_id": device_id, "layout": self.layout, "size": self.size, "type": self.kind}

    def placed(self, device_id: int) -> dict[str, Any]:
        more = {"address": self.shown, "max_size_per_bank": self.bank_bytes, "num_cores": self.cores, "page_size": self.page_bytes}
        return {**self.facts(device_id), **more}


def buffer_of_row(row: dict[str, Any], hide_address: bool) -> Buffer:
    """A buffer as the device's table lists it."""
    tensor = row["tensor"]
    address = tensor["address"]
    return Buffer(
        tensor["buffer_type"], address, tensor["memory_layout"], row["pages"] * row["page_bytes"], row["page_bytes"], row["bytes_per_bank"],
        tensor.get("shard_cores", 0), 0 if hide_address else address,
    )  # fmt: skip


def buffer_of_tensor(tensor: dict[str, Any], banks: int, hide_address: bool) -> Buffer:
    """A buffer that no table lists any more, by the tensor of a program that wrote it."""
    padded = tensor["padded_shape"] or [1]
    shard = tensor.get("shard_shape")
    volume = 1
    for extent in padded:
        volume *= extent
    if tensor["layout"] == "TILE":
        page, pages = tile_bytes(DataType[tensor["dtype"]]), max(1, volume // 1024)
        shard_pages = -(-shard[0] // 32) * -(-shard[1] // 32) if shard else 0
    else:
        row = shard[1] if shard else padded[-1]
        page, pages = row * element_size(DataType[tensor["dtype"]]), max(1, volume // max(row, 1))
        shard_pages = shard[0] if shard else 0
    bank = page * (shard_pages or -(-pages // banks))
    address = tensor["address"]
    return Buffer(
        tensor["buffer_type"], address, tensor["memory_layout"], page * pages, page, bank, tensor.get("shard_cores", 0), 0 if hide_address else address,
    )  # fmt: skip


def key_of(tensor: dict[str, Any]) -> Key:
    return tensor["buffer_type"], tensor["address"]


def _config_text(tensor: dict[str, Any]) -> str:
    layout, kind = TensorMemoryLayout[tensor["memory_layout"]], BufferType[tensor["buffer_type"]]
    if "shard_shape" not in tensor:
        return str(MemoryConfig(layout, kind))
    grid = core_ranges(tensor["shard_corners"])
    shard = ShardSpec(grid, tensor["shard_shape"], ShardOrientation[tensor["shard_orientation"]])
    return str(MemoryConfig(layout, kind, shard).as_of_tensor())


def facts_of(tensor: Any) -> dict[str, Any]:
    """A tensor of a program's call, with the fields of a tensor of the event log."""
    info = tensor._info()
    on_device = bool(info.on_device and info.allocated)
    facts = {"id": tensor.tensor_id, "shape": list(tensor.shape), "dtype": tensor.dtype.name, "layout": tensor.layout.name, "on_device": on_device}
    if on_device:
        config = tensor.memory_config()
        facts |= {"address": int(info.address), "buffer_type": config.buffer_type.name, "memory_config": str(config)}
    return facts


@dataclass(slots=True)
class _Scope:
    """A function under way, or the capture itself: its first node, and the last function that ended in it."""

    node: int
    name: str
    last_ended: int | None = None


@dataclass(eq=False, slots=True)
class Capture:
    """The nodes of one capture. All of a function lies between its two nodes, which give its level; a function's `connections` lead to what
    lies directly in it, a function's end to the tensors it gives and to the next function, a buffer to the tensors that live in it."""

    device_id: int
    nodes: list[dict[str, Any]] = field(default_factory=list)
    scopes: list[_Scope] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)  # of the program, with arguments as text
    held: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # buffers at the end of each function that no other one holds, by its node
    buffers: dict[Buffer, int] = field(default_factory=dict)
    device_ns: float = 0
    told_sub_devices: bool = False

    def __post_init__(self) -> None:
        self.scopes.append(_Scope(self._add("capture_start", None), ""))

    def _add(self, kind: str, params: Any, connections: list[int] | None = None) -> int:
        number = len(self.nodes)
        self.nodes.append({
            "arguments": [], "connections": connections or [], "counter": number, "input_tensors": [], "node_type": kind, "params": params,
            "stacking_level": max(0, len(self.scopes) - 1),
        })  # fmt: skip
        return number

    def _inside(self, kind: str, params: Any, connections: list[int] | None = None) -> int:
        """A node that the function under way leads to."""
        number = self._add(kind, params, connections)
        self._connect(self.scopes[-1].node, number)
        return number

    def _connect(self, first: int, second: int) -> None:
        self.nodes[first]["connections"].append(second)

    def start(self, name: str, arguments: list[str], **more: Any) -> None:
        outer = self.scopes[-1]
        self.scopes.append(_Scope(len(self.nodes), name))
        number = self._add("function_start", {"inputs": str(len(arguments)), "name": name, **more})
        self.nodes[number]["arguments"] = arguments
        self._connect(outer.node, number)
        if outer.last_ended is not None:
            self._connect(outer.last_ended, number)

    def holds(self, buffers: Iterable[Buffer]) -> None:
        """What the device holds where the function under way ends."""
        if len(self.scopes) == 2:
            self.held[str(self.scopes[-1].node)] = [
                {
                    "address": buffer.shown, "buffer_layout": TensorMemoryLayout[buffer.layout].value, "buffer_type": BufferType[buffer.kind].value,
                    "device_id": self.device_id, "max_size_per_bank": buffer.bank_bytes,
                }
                for buffer in buffers
            ]  # fmt: skip

    def end(self, duration_ns: float, outputs: list[tuple[dict[str, Any], Buffer | None]] | None = None) -> None:
        scope = self.scopes[-1]
        number = self._inside("function_end", {"name": scope.name})
        self.nodes[number]["duration_ns"] = round(duration_ns)
        for tensor, buffer in outputs or []:
            self._connect(number, self._tensor(tensor, buffer))
        self.scopes.pop()
        self.scopes[-1].last_ended = number

    def finish(self) -> list[dict[str, Any]]:
        top = self.scopes[0]
        number = self._add("capture_end", None)
        self.nodes[number]["duration_ns"] = round(self.device_ns)
        self._connect(top.node if top.last_ended is None else top.last_ended, number)
        return self.nodes

    def _tensor(self, tensor: dict[str, Any], buffer: Buffer | None, reader: int | None = None) -> int:
        params: dict[str, Any] = {"dtype": f"DataType::{tensor['dtype']}", "layout": f"Layout::{tensor['layout']}", "shape": f"Shape({list(tensor['shape'])})"}
        params["tensor_id"] = tensor["id"]
        if buffer is None:
            params["storage_type"] = "HOST"
        else:
            addresses = [{"address": buffer.shown, "device_id": 0, "mesh_device_id": self.device_id}]
            params |= {
                "address": buffer.shown, "buffer_type": BufferType[buffer.kind].value, "device_id": self.device_id, "size": buffer.size,
                "device_tensors": json.dumps(addresses, separators=(",", ":")), "storage_type": "DEVICE",
                "memory_config": tensor.get("memory_config") or _config_text(tensor),
            }  # fmt: skip
        number = self._add("tensor", params, [] if reader is None else [reader])
        if buffer is not None:
            self._connect(self._buffer(buffer), number)
        return number

    def _buffer(self, buffer: Buffer) -> int:
        if buffer not in self.buffers:
            self.buffers[buffer] = self._inside("buffer", buffer.facts(self.device_id))
        return self.buffers[buffer]

    def reads(self, tensor: dict[str, Any], buffer: Buffer | None) -> None:
        """The function under way takes a tensor."""
        scope = self.scopes[-1]
        self.nodes[scope.node]["input_tensors"].append(self._tensor(tensor, buffer, scope.node))

    def allocates(self, buffer: Buffer) -> None:
        self._inside("buffer_allocate", buffer.placed(self.device_id), [self._buffer(buffer)])

    def frees(self, buffer: Buffer) -> None:
        self._inside("buffer_deallocate", buffer.placed(self.device_id), [self._buffer(buffer)])

    def program(self, event: dict[str, Any], number: int, first_address: int, grid: tuple[int, int], dispatched: bool) -> None:
        """Circular buffers of a program, and its start. The event log has their sum: it is one node."""
        released = [self.scopes[-1].node]
        self._inside("circular_buffer_deallocate_all", {"device_id": self.device_id}, list(released))
        if event["l1_bytes"]:
            cores = f"{{[0-0 - {event['grid_x'] - 1}-{event['grid_y'] - 1}]}}"
            params = {"address": first_address if dispatched else 0, "core_range_set": cores, "device_id": 0, "globally_allocated": "0"}
            self._inside("circular_buffer_allocate", {**params, "size": event["l1_bytes"]})
        if not dispatched:
            return
        workers = [{"end": {"x": grid[0] - 1, "y": grid[1] - 1}, "start": {"x": 0, "y": 0}}]
        if not self.told_sub_devices:
            self.told_sub_devices = True
            parts = json.dumps([{"sub_device_id": 0, "worker_core_ranges": workers}], separators=(",", ":"))
            self._inside("sub_device_manager", {"device_id": self.device_id, "sub_device_manager_id": 0, "sub_devices": parts})
        self._inside("program_execution", {
            "command_queue_id": 0, "device_id": self.device_id, "global_call_count": number * _CALL_COUNT_STEP, "physical_device_id": 0,
            "runtime_id": number, "sub_device_id": 0,
            "sub_device_manager_id": 0, "worker_core_ranges": json.dumps(workers, separators=(",", ":")),
        })  # fmt: skip
        if event["l1_bytes"]:
            self._inside("circular_buffer_deallocate_all", {"device_id": 0}, list(released))
