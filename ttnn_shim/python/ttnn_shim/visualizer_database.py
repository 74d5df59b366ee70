"""The database that ttnn-visualizer opens: its tables, and functions that insert rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

SCHEMA_VERSION = "3.5"
# Tables with their columns and what is unique in each, besides the process: `rank` is a column of all but two.
_TABLES = {
    "devices": (
        "device_id int, num_y_cores int, num_x_cores int, num_y_compute_cores int, num_x_compute_cores int, worker_l1_size int, l1_num_banks int, "
        "l1_bank_size int, address_at_first_l1_bank int, address_at_first_l1_cb_buffer int, num_banks_per_storage_core int, num_compute_cores int, "
        "num_storage_cores int, total_l1_memory int, total_l1_for_tensors int, total_l1_for_interleaved_buffers int, total_l1_for_sharded_buffers int, "
        "cb_limit int, rank int", "device_id"),
    "operations": ("operation_id int, name text, duration float, rank int", "operation_id"),
    "operation_arguments": ("operation_id int, name text, value text, rank int", ""),
    "sub_device_managers": ("device_id int, sub_device_manager_id int, rank int", "device_id, sub_device_manager_id"),
    "sub_devices": (
        "device_id int, sub_device_manager_id int, sub_device_id int, worker_core_ranges text, rank int", "device_id, sub_device_manager_id, sub_device_id"),
    "operation_executions": (
        "execution_id int, operation_id int, device_id int, physical_device_id int, runtime_id int, global_call_count int, command_queue_id int, rank int",
        "execution_id"),
    "execution_sub_devices": (
        "execution_id int, device_id int, sub_device_manager_id int, sub_device_id int, rank int",
        "execution_id, device_id, sub_device_manager_id, sub_device_id"),
    "tensors": (
        "tensor_id int, shape text, dtype text, layout text, memory_config text, device_id int, address int, buffer_type int, rank int, storage_type text",
        "tensor_id"),
    "device_tensors": ("tensor_id int, device_id int, address int, rank int", ""),
    "buffers": ("operation_id int, device_id int, address int, max_size_per_bank int, buffer_type int, buffer_layout int, rank int", ""),
    "captured_graph": ("operation_id int, captured_graph text, rank int", ""),
    "nodes": ("operation_id int, unique_id int, node_operation_id int, name text, rank int", ""),
    "edges": ("operation_id int, source_unique_id int, sink_unique_id int, source_output_index int, sink_input_index int, key int, rank int", ""),
    "errors": ("operation_id int, operation_name text, error_type text, error_message text, stack_trace text, timestamp text, rank int", ""),
    "source_files": ("id integer primary key, path text unique not null, contents text", ""),
    "stack_traces": ("operation_id int, stack_trace text, source_file_id int, rank int", ""),
    "input_tensors": ("operation_id int, input_index int, tensor_id int, rank int", ""),
    "output_tensors": ("operation_id int, output_index int, tensor_id int, rank int", ""),
    "tensor_lifetime": (
        "tensor_id int, producer_operation_id int, last_use_operation_id int, deallocate_operation_id int, producer_source_file text, "
        "producer_source_line int, last_use_source_file text, last_use_source_line int, rank int", "tensor_id"),
    "tensor_consumers": ("tensor_id int, operation_id int, input_index int, rank int", "tensor_id, operation_id, input_index"),
    "tensor_producers": ("tensor_id int, operation_id int, output_index int, rank int", "tensor_id, operation_id, output_index"),
    "local_tensor_comparison_records": (
        "tensor_id int, golden_tensor_id int, matches int, desired_pcc float, actual_pcc float, rank int", "tensor_id"),
    "global_tensor_comparison_records": (
        "tensor_id int, golden_tensor_id int, matches int, desired_pcc float, actual_pcc float, rank int", "tensor_id"),
    "buffer_chunks": (
        "operation_id int, device_id int, address int, bank_id int, core_x int, core_y int, chunk_address int, chunk_size int, page_size int, "
        "num_pages int, buffer_type int, rank int", ""),
    "report_metadata": ("key text unique, value text", ""),
}  # fmt: skip
_INDEXED = ("buffers(operation_id)", "input_tensors(tensor_id)", "output_tensors(tensor_id)", "stack_traces(source_file_id)")


def create_schema(database: sqlite3.Connection) -> None:
    """All tables, where they are not there yet, and the schema's version."""
    for table, (columns, unique) in _TABLES.items():
        unique_rank = f", unique({unique}, rank)" if unique else ""
        database.execute(f"create table if not exists {table}({columns.replace('rank int', 'rank int not null default 0')}{unique_rank})")
    for place in _INDEXED:
        database.execute(f"create index if not exists by_{place.translate(str.maketrans('(', '_', ')'))} on {place}")
    database.execute("insert or replace into report_metadata values ('schema_version', ?)", (SCHEMA_VERSION,))


def insert(database: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Adds rows; those that the table has already stay as they are."""
    places = ", ".join("?" * len(_TABLES[table][0].split(",")))
    database.executemany(f"insert or ignore into {table} values ({places})", rows)


def device_row(device: dict[str, Any], rank: int) -> tuple[Any, ...]:
    names = [column.split()[0] for column in _TABLES["devices"][0].split(", ")]
    return tuple(rank if name == "rank" else device.get(name, 0) for name in names)
