"""The memory report of ttnn-visualizer: `db.sqlite` and `config.json`, one operation per call of the program."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

from ttnn_shim.records import CallRecord, Profile, ProgramRecord, TensorRecord

_SCHEMA = """
CREATE TABLE devices(device_id int, num_y_cores int, num_x_cores int, num_y_compute_cores int, num_x_compute_cores int,
  worker_l1_size int, l1_num_banks int, l1_bank_size int, address_at_first_l1_bank int, address_at_first_l1_cb_buffer int,
  num_banks_per_storage_core int, num_compute_cores int, num_storage_cores int, total_l1_memory int, total_l1_for_tensors int,
  total_l1_for_interleaved_buffers int, total_l1_for_sharded_buffers int, cb_limit int);
CREATE TABLE operations(operation_id int UNIQUE, name text, duration float);
CREATE TABLE operation_arguments(operation_id int, name text, value text);
CREATE TABLE tensors(tensor_id int UNIQUE, shape text, dtype text, layout text, memory_config text, device_id int,
  address int, buffer_type int);
CREATE TABLE device_tensors(tensor_id int, device_id int, address int);
CREATE TABLE buffers(operation_id int, device_id int, address int, max_size_per_bank int, buffer_type int, buffer_layout int);
CREATE TABLE buffer_pages(operation_id int, device_id int, address int, core_y int, core_x int, bank_id int, page_index int,
  page_address int, page_size int, buffer_type int);
CREATE TABLE nodes(operation_id int, unique_id int, node_operation_id int, name text);
CREATE TABLE edges(operation_id int, source_unique_id int, sink_unique_id int, source_output_index int, sink_input_index int,
  key int);
CREATE TABLE captured_graph(operation_id int, captured_graph text);
CREATE TABLE stack_traces(operation_id int, stack_trace text, source_file_id int);
CREATE TABLE source_files(id INTEGER PRIMARY KEY, path text UNIQUE NOT NULL, contents text);
CREATE TABLE input_tensors(operation_id int, input_index int, tensor_id int);
CREATE TABLE output_tensors(operation_id int, output_index int, tensor_id int);
CREATE TABLE local_tensor_comparison_records(tensor_id int, golden_tensor_id int, matches bool, desired_pcc float,
  actual_pcc float);
CREATE TABLE global_tensor_comparison_records(tensor_id int, golden_tensor_id int, matches bool, desired_pcc float,
  actual_pcc float);
CREATE TABLE errors(operation_id int, operation_name text, error_type text, error_message text, stack_trace text,
  timestamp text);
CREATE TABLE report_metadata(key text UNIQUE, value text);
CREATE INDEX buffers_operation ON buffers(operation_id);
CREATE INDEX input_tensors_tensor ON input_tensors(tensor_id);
CREATE INDEX output_tensors_tensor ON output_tensors(tensor_id);
"""
_BUFFER_TYPES = {"DRAM": 0, "L1": 1, "SYSTEM_MEMORY": 2, "L1_SMALL": 3, "TRACE": 4}
_MEMORY_LAYOUTS = {"INTERLEAVED": 0, "HEIGHT_SHARDED": 2, "WIDTH_SHARDED": 3, "BLOCK_SHARDED": 4, "ND_SHARDED": 5}


def write_memory_report(profile: Profile, directory: Path, name: str) -> None:
    """Writes the report directory that `ttnn-visualizer --profiler-path` opens."""
    directory.mkdir(parents=True, exist_ok=True)
    database = directory / "db.sqlite"
    database.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.executescript(_SCHEMA)
        _write(profile, connection)
    config = {
        "cache_path": "",
        "model_cache_path": "",
        "tmp_dir": "",
        "enable_model_cache": False,
        "enable_fast_runtime_mode": False,
        "throw_exception_on_fallback": True,
        "enable_logging": True,
        "enable_graph_report": False,
        "enable_detailed_buffer_report": True,
        "enable_detailed_tensor_report": False,
        "enable_comparison_mode": False,
        "comparison_mode_should_raise_exception": False,
        "comparison_mode_pcc": 0.9999,
        "root_report_path": str(directory.parent),
        "report_path": str(directory),
        "report_name": name,
    }
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _write(profile: Profile, connection: sqlite3.Connection) -> None:
    columns, rows = profile.grid
    cores, bank = columns * rows, profile.l1_bank_bytes
    connection.execute(
        "INSERT INTO devices VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (0, rows, columns, rows, columns, bank, cores, bank, 0, 0, 1, cores, cores, *[bank * cores] * 4, bank),
    )
    connection.executemany(
        "INSERT INTO source_files(path, contents) VALUES (?,?)",
        [(str(profile.root / file), text) for file, text in profile.sources.items()],
    )
    files = {path: id_ for id_, path in connection.execute("SELECT id, path FROM source_files")}
    programs: dict[int, list[ProgramRecord]] = {}
    for program in profile.programs:
        programs.setdefault(program.call_id, []).append(program)
    tensors: dict[int, TensorRecord] = {}
    for call_id, call in sorted(profile.calls.items()):
        _write_call(profile, connection, call, programs.get(call_id, []), tensors, files)
    for id_, tensor in tensors.items():
        connection.execute(
            "INSERT INTO tensors VALUES (?,?,?,?,?,?,?,?)",
            (
                id_,
                f"Shape({list(tensor.shape)})",
                f"DataType.{tensor.dtype}",
                f"Layout.{tensor.layout}",
                f"MemoryConfig(memory_layout=TensorMemoryLayout::{tensor.memory_layout},"
                f"buffer_type=BufferType::{tensor.buffer_type},shard_spec={tensor.shard or 'std::nullopt'})",
                0,
                tensor.address,
                _BUFFER_TYPES.get(tensor.buffer_type, 2),
            ),
        )
        connection.execute("INSERT INTO device_tensors VALUES (?,?,?)", (id_, 0, tensor.address))
    metadata = {
        "schema_version": "1",
        "capture_timestamp_ns": str(time.time_ns()),
        "total_duration_ns": str(round(profile.device_ns)),
    }
    connection.executemany("INSERT INTO report_metadata VALUES (?,?)", metadata.items())


def _write_call(
    profile: Profile,
    connection: sqlite3.Connection,
    call: CallRecord,
    programs: list[ProgramRecord],
    tensors: dict[int, TensorRecord],
    files: dict[str, int],
) -> None:
    id_ = call.id
    duration_s = sum(program.kernel_ns + program.gap_ns for program in programs) / 1e9
    connection.execute("INSERT INTO operations VALUES (?,?,?)", (id_, call.op, duration_s))
    connection.executemany("INSERT INTO operation_arguments VALUES (?,?,?)", [(id_, *pair) for pair in call.arguments])
    made = {tensor.id for program in programs for tensor in program.outputs}
    inputs = [tensor for program in programs for tensor in program.inputs]
    unique = {tensor.id: tensor for tensor in inputs if tensor.id not in made}
    outputs = {tensor.id: tensor for tensor in (programs[-1].outputs if programs else ())}
    for table, found in (("input_tensors", unique), ("output_tensors", outputs)):
        connection.executemany(
            f"INSERT INTO {table} VALUES (?,?,?)",
            [(id_, index, tensor_id) for index, tensor_id in enumerate(found)],
        )
    for program in programs:
        tensors.update((tensor.id, tensor) for tensor in (*program.inputs, *program.outputs))
    layouts = {(t.buffer_type, t.address): _MEMORY_LAYOUTS.get(t.memory_layout, 0) for t in tensors.values()}
    connection.executemany(
        "INSERT INTO buffers VALUES (?,?,?,?,?,?)",
        [
            (
                id_,
                0,
                block.address,
                block.size_bytes,
                _BUFFER_TYPES[block.buffer_type],
                layouts.get((block.buffer_type, block.address), 0),
            )
            for block in call.blocks
        ],
    )
    connection.execute("INSERT INTO captured_graph VALUES (?,?)", (id_, json.dumps(_graph(call, programs))))
    trace = "\n".join(f'File "{profile.root / f.file}", line {f.line}, in {f.function}' for f in reversed(call.frames))
    file_id = files.get(str(profile.root / call.frames[-1].file)) if call.frames else None
    connection.execute("INSERT INTO stack_traces VALUES (?,?,?)", (id_, trace, file_id))


def _graph(call: CallRecord, programs: list[ProgramRecord]) -> list[dict[str, Any]]:
    """The call as the library's graph capture shows it: circular buffers of each device program."""
    nodes: list[dict[str, Any]] = [_node(0, "capture_start", {}, [1])]
    nodes.append(_node(1, "function_start", {"name": call.op, "inputs": str(len(call.arguments))}, [2]))
    for program in programs:
        at = len(nodes)
        cores = str(program.cores)
        nodes.append(_node(at, "function_start", {"name": program.op_code, "inputs": str(len(program.inputs))}, [at + 1]))
        nodes.append(
            _node(
                at + 1,
                "circular_buffer_allocate",
                {
                    "address": "0",
                    "size": str(program.l1_cb_bytes),
                    "core_range_set": "{[(x=0,y=0) - (x=0,y=0)]}",
                    "globally_allocated": "0",
                    "num_cores": cores,
                    "device_id": "0",
                },
                [at + 2],
            )
        )
        nodes.append(_node(at + 2, "circular_buffer_deallocate_all", {}, [at + 3]))
        nodes.append(_node(at + 3, "function_end", {"name": program.op_code}, [at + 4]))
    at = len(nodes)
    nodes.append(_node(at, "function_end", {"name": call.op}, [at + 1]))
    nodes.append(_node(at + 1, "capture_end", {}, []))
    return nodes


def _node(counter: int, node_type: str, params: dict[str, str], connections: list[int]) -> dict[str, Any]:
    return {
        "counter": counter,
        "node_type": node_type,
        "params": params,
        "connections": connections,
        "input_tensors": [],
        "arguments": [],
        "stacking_level": 0,
    }
