"""`ttnn.graph`: captures of calls as a list of nodes, and what is read from such a list. `_graph_record` says what the nodes are."""

from __future__ import annotations

import contextlib
import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ttnn_shim.errors import InvalidArgument

from ttnn import _core, _graph_watch
from ttnn._binding import api_function
from ttnn._enums import BufferType, enum_class
from ttnn._facts import facts
from ttnn._graph_record import Capture
from ttnn._grid import Shape
from ttnn._state import CONFIG

Node = dict[str, Any]
RunMode = enum_class("ttnn.graph.RunMode")
REPORT_VERSION = 1
_TITLES = {
    "capture_start": "Capture Start", "capture_end": "Capture End", "buffer": "Add Device Buffer", "buffer_allocate": "Allocate Device Buffer",
    "buffer_deallocate": "Deallocate Device Buffer", "circular_buffer_allocate": "Allocate Circular Buffer",
    "circular_buffer_deallocate_all": "Deallocate All Program-Scope L1", "dataflow_buffer_allocate": "Allocate Dataflow Buffer",
}  # fmt: skip
_NAMED_TITLES = {
    "function_start": ("Function Start: ", "name"), "function_end": ("Function End:   ", "name"), "tensor": ("Add Tensor: ", "tensor_id"),
    "sub_device_manager": ("Sub-Device Manager: ", "sub_device_manager_id"), "program_execution": ("Program Execution: sub-device ", "sub_device_id"),
}  # fmt: skip
_LINE_WIDTH, _INDENT = 50, 4
_traces_end_with_capture = False


# --- captures ---


@api_function("ttnn.graph.begin_graph_capture")
def begin_graph_capture(run_mode: Any = None, _internal: bool = False) -> None:
    """From now on calls are captured, also within a capture under way. NO_DISPATCH: programs are planned, their results have no values."""
    try:
        mode = RunMode.NORMAL if run_mode is None else RunMode(run_mode)
    except ValueError:
        type_name = type(run_mode).__name__
        raise TypeError(f"begin_graph_capture(): incompatible function arguments: expected run_mode: RunMode, got {type_name}") from None
    outermost = not _graph_watch.watching
    _graph_watch.begin(mode is RunMode.NORMAL)
    if outermost and not _graph_watch.stack_traces:
        _stack_traces_of_capture(True)


def _stack_traces_of_capture(begins: bool) -> None:
    """The options of `ttnn.CONFIG` turn stack traces on for a capture, where the program did not do so itself."""
    global _traces_end_with_capture
    if begins:
        _graph_watch.stack_traces = _traces_end_with_capture = CONFIG.enable_graph_python_stack_traces or CONFIG.enable_detailed_tensor_report
    elif _traces_end_with_capture and not _graph_watch.watching:
        _graph_watch.stack_traces = _traces_end_with_capture = False


def enable_python_stack_traces() -> None:
    """Captures record where the program makes its calls, until this is turned off."""
    _graph_watch.stack_traces = True


def disable_python_stack_traces() -> None:
    """Captures no longer do."""
    _graph_watch.stack_traces = False


def is_python_stack_trace_enabled() -> bool:
    """Whether they do now."""
    return _graph_watch.stack_traces


def _ended(op: str) -> Capture:
    capture = _graph_watch.end()
    _stack_traces_of_capture(False)
    if capture is None:
        raise _core.error(InvalidArgument, "no graph capture is under way", op, "begin_graph_capture starts one")
    return capture


@api_function("ttnn.graph.end_graph_capture")
def end_graph_capture() -> list[Node]:
    """Ends the capture begun last and gives its nodes."""
    return _ended("ttnn.graph.end_graph_capture").finish()


@api_function("ttnn.graph.end_graph_capture_to_file")
def end_graph_capture_to_file(report_path: Any) -> list[Node]:
    """Ends the capture, writes it with facts of the device to `report_path`, arguments of the calls beside it, and gives the nodes."""
    device = _graph_watch.device()
    capture = _ended("ttnn.graph.end_graph_capture_to_file")
    nodes = capture.finish()
    duration = {"capture_timestamp_ns": time.time_ns(), "total_duration_ns": nodes[-1]["duration_ns"]}
    metadata = {**duration, "version": facts()["version"], "rank": 0, "world_size": 1}
    report = {"version": REPORT_VERSION, "graph": nodes, "devices": [] if device is None else [_device_facts(device)], "metadata": metadata}
    report["per_operation_buffers"] = capture.held
    path = Path(report_path)
    path.write_text(json.dumps(report), encoding="utf-8")
    path.with_suffix(".python_io.json").write_text(json.dumps(capture.calls), encoding="utf-8")
    return nodes


def _device_facts(device: Any) -> dict[str, Any]:
    info = device.info()
    cores = info["grid_x"] * info["grid_y"]
    first = min((block["address"] for block in device.block_table(BufferType.L1)), default=0)  # what lies below is the firmware's
    worker_bytes = first + info["l1_bytes_per_bank"]
    return {
        "address_at_first_l1_bank": 0, "address_at_first_l1_cb_buffer": first, "cb_limit": info["l1_bytes_per_bank"], "num_banks_per_storage_core": 1,
        "num_storage_cores": 0, "num_x_cores": info["grid_x"], "num_y_cores": info["grid_y"], "total_l1_for_tensors": 0,
        "total_l1_memory": cores * worker_bytes, "worker_l1_size": worker_bytes,
        "arch": info["arch"].upper(), "device_id": device.id(), "dram_size_per_channel": info["dram_bytes_per_bank"],
        "l1_bank_size": info["l1_bytes_per_bank"], "l1_num_banks": cores, "num_compute_cores": cores, "num_dram_channels": info["dram_banks"],
        "num_x_compute_cores": info["grid_x"], "num_y_compute_cores": info["grid_y"],
        "total_l1_for_interleaved_buffers": cores * info["l1_bytes_per_bank"], "total_l1_for_sharded_buffers": cores * info["l1_bytes_per_bank"],
    }  # fmt: skip


@api_function("ttnn.graph.full_graph_capture")
def full_graph_capture(report_path: str, *, run_mode: Any = None, slow_dispatch: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block calls are captured; at its end they are written as `end_graph_capture_to_file` writes them, after an error not."""
    return _full_capture(report_path, run_mode, slow_dispatch)


@contextlib.contextmanager
def _full_capture(report_path: str, run_mode: Any, slow_dispatch: bool) -> Iterator[None]:
    fast = CONFIG.enable_fast_runtime_mode
    if slow_dispatch:
        CONFIG.enable_fast_runtime_mode = False
    try:
        begin_graph_capture(run_mode)
        try:
            yield
        except BaseException:
            _graph_watch.end()
            _stack_traces_of_capture(False)
            raise
        end_graph_capture_to_file(report_path)
    finally:
        CONFIG.enable_fast_runtime_mode = fast


@api_function("ttnn.graph.is_graph_capture_active")
def is_graph_capture_active() -> bool:
    return _graph_watch.watching


# --- what a list of nodes says ---


def _nodes(trace: Any, op: str) -> list[Node]:
    if not isinstance(trace, list | tuple) or not all(isinstance(node, dict) and "node_type" in node for node in trace):
        raise TypeError(f"{op}(): incompatible function arguments: expected trace: a list of nodes as end_graph_capture gives it")
    return list(trace)


@api_function("ttnn.graph.extract_calltrace")
def extract_calltrace(trace: Any) -> list[str]:
    """Names of all functions, in the order of their starts."""
    return [node["params"]["name"] for node in _nodes(trace, "extract_calltrace") if node["node_type"] == "function_start"]


def _l1_steps(nodes: list[Node], size: str) -> Iterator[tuple[int, int]]:
    """(tensors' buffers, circular buffers) in bytes of L1 after each node that changes them; a buffer counts by field `size`, from its allocation on."""
    tensors = circular = 0
    allocated: set[int] = set()  # buffers from before the capture do not count, nor does giving them back
    for node in nodes:
        kind = node["node_type"]
        params = node["params"] or {}
        if kind in ("circular_buffer_allocate", "dataflow_buffer_allocate"):
            if params.get("globally_allocated", "0") == "0" and params.get("borrows_memory", "0") == "0":
                circular += int(params["size"])
        elif kind == "circular_buffer_deallocate_all":
            circular = 0
        elif kind == "buffer_allocate" and params["type"] == "L1":
            allocated.add(node["connections"][0])
            tensors += int(params[size])
        elif kind == "buffer_deallocate" and node["connections"][0] in allocated:
            allocated.remove(node["connections"][0])
            tensors -= int(params[size])
        else:
            continue
        yield tensors, circular


@api_function("ttnn.graph.extract_peak_L1_memory_usage")
def extract_peak_L1_memory_usage(trace: Any) -> int:
    """Most bytes of L1 at once: buffers that the capture took, in all banks together, and a core's circular buffers."""
    return max((tensors + circular for tensors, circular in _l1_steps(_nodes(trace, "extract_peak_L1_memory_usage"), "size")), default=0)


@dataclass(frozen=True)
class PeakMemoryUsagePerCore:
    """Most bytes of a core's L1: circular buffers, tensors, both at once."""

    peak_cb: int
    peak_l1: int
    peak_total: int
    peak_dataflow_buffer: int = 0  # the simulator counts all buffers of a program as circular ones
    peak_scratchpad: int = 0

    def __str__(self) -> str:
        rows = {"CB": self.peak_cb, "L1": self.peak_l1, "DFB": self.peak_dataflow_buffer, "Scratchpad": self.peak_scratchpad, "Total": self.peak_total}
        return "Peak Memory Usage Per Core:\n" + "\n".join(f"  {name + ':':<12}{size} bytes" for name, size in rows.items())


@api_function("ttnn.graph.extract_resource_usage_per_core")
def extract_resource_usage_per_core(trace: Any, interleaved_storage_cores: int | None = None) -> PeakMemoryUsagePerCore:
    """Peaks of a core's L1 over the capture, of what it took itself."""
    if interleaved_storage_cores is not None:
        warnings.warn("interleaved_storage_cores has no effect: buffers say what they take of a bank", DeprecationWarning, stacklevel=2)
    steps = [(0, 0), *_l1_steps(_nodes(trace, "extract_resource_usage_per_core"), "max_size_per_bank")]
    tensors, circular = (max(column) for column in zip(*steps, strict=True))
    return PeakMemoryUsagePerCore(circular, tensors, max(own + buffers for own, buffers in steps))


def _output_tensors(nodes: list[Node]) -> set[int]:
    for node in reversed(nodes):
        tensors = {number for number in node["connections"] if nodes[number]["node_type"] == "tensor"} if node["node_type"] == "function_end" else None
        if tensors:
            return tensors
    raise _core.error(InvalidArgument, "No function_end node with tensor connections found in the trace", "ttnn.graph.extract_output_tensors")


@api_function("ttnn.graph.extract_output_tensors")
def extract_output_tensors(trace: Any) -> set[int]:
    """Numbers of the tensor nodes that the last function with results gives."""
    return _output_tensors(_nodes(trace, "extract_output_tensors"))


@dataclass(frozen=True)
class TensorInfo:
    """shape; size: bytes of the buffer; type: kind of memory."""

    shape: Shape
    size: int
    type: Any

    def __repr__(self) -> str:
        return f"TensorInfo(shape={self.shape}, size={self.size}, type={self.type.name})"


@api_function("ttnn.graph.extract_output_info")
def extract_output_info(trace: Any) -> list[TensorInfo]:
    """The results on the device of the last function that has some."""
    nodes = _nodes(trace, "extract_output_info")
    outputs = _output_tensors(nodes)
    infos = []
    for buffer in (node for node in nodes if node["node_type"] == "buffer"):
        for number in sorted(outputs.intersection(buffer["connections"])):
            shape = json.loads(nodes[number]["params"]["shape"].removeprefix("Shape(").removesuffix(")"))
            kind = BufferType.L1 if buffer["params"]["type"] == "L1" else BufferType.DRAM
            infos.append(TensorInfo(Shape(shape), int(buffer["params"]["size"]), kind))
    return infos


@api_function("ttnn.graph.count_intermediate_and_output_tensors")
def count_intermediate_and_output_tensors(trace: Any) -> tuple[int, int]:
    """(intermediate, output) tensors. As in the real package, intermediate ones are those of functions `create_device_tensor`: of its own captures,
    which name them with their C++ namespace, it counts none."""
    nodes = _nodes(trace, "count_intermediate_and_output_tensors")
    outputs = _output_tensors(nodes)
    ended = [node for node in nodes if node["node_type"] == "function_end" and node["params"]["name"] == "create_device_tensor"]
    created = {node["connections"][0] for node in ended if node["connections"]}
    return len(created - outputs), len(outputs)


# --- printing ---


def _title(node: Node) -> str:
    kind = node["node_type"]
    if kind in _NAMED_TITLES:
        words, parameter = _NAMED_TITLES[kind]
        return f"{words}{node['params'][parameter]}"
    if kind not in _TITLES:
        raise ValueError(f"Unknown node type: {kind}")
    return _TITLES[kind]


@api_function("ttnn.graph.pretty_format")
def pretty_format(captured_graph: Any) -> str:
    """A line per node, indented by function."""
    lines, depth = [], 0
    for node in _nodes(captured_graph, "pretty_format"):
        depth -= node["node_type"] == "function_end"
        margin = " " * (_INDENT * depth)
        lines.append(margin + _title(node).ljust(_LINE_WIDTH - len(margin)) + "\n")
        depth += node["node_type"] == "function_start"
    return "".join(lines)


@api_function("ttnn.graph.pretty_print")
def pretty_print(captured_graph: Any) -> None:
    print(pretty_format(captured_graph))
