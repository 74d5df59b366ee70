"""The memory report of ttnn-visualizer: `db.sqlite` and `config.json`, one operation per call of the program."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

from ttnn_shim.records import CallRecord, Profile, ProgramRecord, TensorRecord
from ttnn_shim.visualizer_database import create_schema, device_row, insert

_BUFFER_TYPES = {"DRAM": 0, "L1": 1, "SYSTEM_MEMORY": 2, "L1_SMALL": 3, "TRACE": 4}
_MEMORY_LAYOUTS = {"INTERLEAVED": 0, "HEIGHT_SHARDED": 2, "WIDTH_SHARDED": 3, "BLOCK_SHARDED": 4, "ND_SHARDED": 5}


def write_memory_report(profile: Profile, directory: Path, name: str) -> None:
    """Writes the report directory that `ttnn-visualizer --profiler-path` opens."""
    directory.mkdir(parents=True, exist_ok=True)
    database = directory / "db.sqlite"
    database.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        create_schema(connection)
        _write(profile, connection)
    off = ("enable_model_cache", "enable_fast_runtime_mode", "enable_graph_report", "enable_detailed_tensor_report", "enable_comparison_mode")
    config: dict[str, object] = dict.fromkeys(("cache_path", "model_cache_path", "tmp_dir"), "")
    config |= dict.fromkeys((*off, "comparison_mode_should_raise_exception"), False)
    config |= dict.fromkeys(("throw_exception_on_fallback", "enable_logging", "enable_detailed_buffer_report"), True)
    config |= {"comparison_mode_pcc": 0.9999, "root_report_path": str(directory.parent), "report_path": str(directory), "report_name": name}
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _write(profile: Profile, database: sqlite3.Connection) -> None:
    columns, rows = profile.grid
    cores, bank = columns * rows, profile.l1_bank_bytes
    sides = {"num_y_cores": rows, "num_x_cores": columns, "num_y_compute_cores": rows, "num_x_compute_cores": columns}
    banks = {"worker_l1_size": bank, "l1_num_banks": cores, "l1_bank_size": bank, "cb_limit": bank}
    counts = {"num_banks_per_storage_core": 1, "num_compute_cores": cores, "num_storage_cores": cores}
    totals = ("l1_memory", "l1_for_tensors", "l1_for_interleaved_buffers", "l1_for_sharded_buffers")
    insert(database, "devices", [device_row(sides | banks | counts | {f"total_{name}": bank * cores for name in totals}, 0)])
    files = {str(profile.root / file): id_ for id_, file in enumerate(profile.sources, 1)}
    insert(database, "source_files", [(files[str(profile.root / file)], str(profile.root / file), text) for file, text in profile.sources.items()])
    programs: dict[int, list[ProgramRecord]] = {}
    for program in profile.programs:
        programs.setdefault(program.call_id, []).append(program)
    tensors: dict[int, TensorRecord] = {}
    for call_id, call in sorted(profile.calls.items()):
        _write_call(profile, database, call, programs.get(call_id, []), tensors, files)
    for id_, tensor in tensors.items():
        memory = (
            f"MemoryConfig(memory_layout=TensorMemoryLayout::{tensor.memory_layout},"
            f"buffer_type=BufferType::{tensor.buffer_type},shard_spec={tensor.shard or 'std::nullopt'})"
        )
        said = (f"Shape({list(tensor.shape)})", f"DataType.{tensor.dtype}", f"Layout.{tensor.layout}", memory)
        place = (0, tensor.address, _BUFFER_TYPES.get(tensor.buffer_type, 2))
        insert(database, "tensors", [(id_, *said, *place, 0, "HOST" if tensor.buffer_type == "SYSTEM_MEMORY" else "DEVICE")])
        insert(database, "device_tensors", [(id_, 0, tensor.address, 0)])
    metadata = {"capture_timestamp_ns": str(time.time_ns()), "total_duration_ns": str(round(profile.device_ns))}
    insert(database, "report_metadata", metadata.items())


def _write_call(
    profile: Profile, database: sqlite3.Connection, call: CallRecord, programs: list[ProgramRecord], tensors: dict[int, TensorRecord], files: dict[str, int]
) -> None:
    id_ = call.id
    insert(database, "operations", [(id_, call.op, sum(program.kernel_ns + program.gap_ns for program in programs) / 1e9, 0)])
    insert(database, "operation_arguments", [(id_, *pair, 0) for pair in call.arguments])
    made = {tensor.id for program in programs for tensor in program.outputs}
    inputs = dict.fromkeys(tensor.id for program in programs for tensor in program.inputs if tensor.id not in made)
    outputs = dict.fromkeys(tensor.id for tensor in (programs[-1].outputs if programs else ()))
    for table, found in (("input_tensors", inputs), ("output_tensors", outputs)):
        insert(database, table, [(id_, index, tensor_id, 0) for index, tensor_id in enumerate(found)])
    for program in programs:
        tensors.update((tensor.id, tensor) for tensor in (*program.inputs, *program.outputs))
    layouts = {(t.buffer_type, t.address): _MEMORY_LAYOUTS.get(t.memory_layout, 0) for t in tensors.values()}
    for block in call.blocks:
        layout = layouts.get((block.buffer_type, block.address), 0)
        insert(database, "buffers", [(id_, 0, block.address, block.size_bytes, _BUFFER_TYPES[block.buffer_type], layout, 0)])
    insert(database, "captured_graph", [(id_, json.dumps(_graph(call, programs)), 0)])
    trace = "\n".join(f'File "{profile.root / f.file}", line {f.line}, in {f.function}' for f in reversed(call.frames))
    file_id = files.get(str(profile.root / call.frames[-1].file)) if call.frames else None
    insert(database, "stack_traces", [(id_, trace, file_id, 0)])


def _graph(call: CallRecord, programs: list[ProgramRecord]) -> list[dict[str, Any]]:
    """The call as the library's graph capture shows it: circular buffers of each device program."""
    nodes: list[dict[str, Any]] = []

    def add(node_type: str, **params: str) -> None:
        nodes.append({
            "counter": len(nodes), "node_type": node_type, "params": params, "connections": [len(nodes) + 1], "input_tensors": [], "arguments": [],
            "stacking_level": 0,
        })  # fmt: skip

    add("capture_start")
    add("function_start", name=call.op, inputs=str(len(call.arguments)))
    for program in programs:
        add("function_start", name=program.op_code, inputs=str(len(program.inputs)))
        add("circular_buffer_allocate", address="0", size=str(program.l1_cb_bytes), core_range_set="{[(x=0,y=0) - (x=0,y=0)]}",
            globally_allocated="0", num_cores=str(program.cores), device_id="0")  # fmt: skip
        add("circular_buffer_deallocate_all")
        add("function_end", name=program.op_code)
    add("function_end", name=call.op)
    add("capture_end")
    nodes[-1]["connections"] = []
    return nodes
