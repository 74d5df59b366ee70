"""The database of a graph capture's report: what ttnn-visualizer reads, by `ttnn.graph_report.import_report`.

An operation is a call of the program; what lies within it goes into its graph. Of functions that only move values or give memory back the database
has what is in them, not themselves.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ttnn._enums import TensorMemoryLayout
from ttnn_shim.visualizer_database import insert

Node = dict[str, Any]
IDS_PER_REPORT = 10_000  # operations of a further report of one process count from a multiple of this
_EXECUTIONS_PER_OPERATION = 1024
_NS_PER_S = 1e9
_TRANSPARENT = (
    "Tensor::deallocate", "Tensor::to_device", "Tensor::reshape", "tt::tt_metal::to_dtype", "ttnn::convert_python_tensor_to_tt_tensor",
    "tt::tt_metal::detail::convert_tt_tensor_to_framework_tensor",
)  # fmt: skip
_FREEING = ("ttnn.deallocate", "ttnn::deallocate", "Tensor::deallocate")
_PLACE = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)


@dataclass(slots=True)
class _Function:
    """A function under way. record: what the call of the program was given, where it is one."""

    start: Node
    record: dict[str, Any]


@dataclass(slots=True)
class _Operation:
    """number: from 1. read, given: numbers of tensors of the functions within; made: those of them that no function within was given too."""

    number: int
    start: Node
    record: dict[str, Any]
    nodes: list[Node] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    made: set[int] = field(default_factory=set)
    aborted: str = ""


@dataclass(slots=True)
class ReportImport:
    """Rows of one report by table. first: number before that of its first operation; chips: of the report's devices, from 0."""

    graph: list[Node]
    records: list[dict[str, Any]]
    held: dict[str, list[dict[str, Any]]]
    chips: dict[int, int] = field(default_factory=dict)
    first: int = 0
    rank: int = 0
    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(list))
    tensors: dict[int, Node] = field(default_factory=dict)
    renumbered: dict[int, Node] = field(default_factory=dict)  # tensors that calls of the program give, which may have numbers of their own
    live: dict[tuple[int, int], tuple[int | None, ...]] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=dict)  # stack traces by operation

    def collect(self) -> None:
        """Walks the graph once."""
        waiting: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
        for record in self.records:
            waiting[record["name"]].append(record)
        functions: list[_Function] = []
        operation: _Operation | None = None
        computed = False
        for node in self.graph:
            kind, params = node["node_type"], node.get("params") or {}
            if operation is not None:
                operation.nodes.append(node)
            if kind == "function_start":
                name = params["name"]
                functions.append(_Function(node, waiting[name].popleft() if waiting[name] else {}))
                loads = name == "ttnn.from_torch" and not computed  # weights are brought before anything is computed
                if operation is None and not name.startswith(_TRANSPARENT) and not loads:
                    computed |= name != "ttnn.from_torch"
                    operation = self._begin(node, functions[-1].record)
            elif kind == "function_end" and functions:
                function = functions.pop()
                if operation is not None and function.start is operation.start:
                    self._finish(operation, node)
                    operation = None
                elif operation is not None:
                    self._within(operation, function, node)
            elif kind == "tensor":
                self.tensors.setdefault(int(params["tensor_id"]), node)
            elif kind == "buffer_allocate":
                self.live[params["buffer_type"], params["address"]] = (
                    self._chip(params["device_id"]), params["address"], params["max_size_per_bank"], params["buffer_type"], _layout_number(params["layout"]),
                )  # fmt: skip
            elif kind == "buffer_deallocate":
                self._freed(node, params, operation, bool(functions))
        if operation is not None:
            self._finish(operation, {})
        self._tensors()

    def _begin(self, node: Node, record: dict[str, Any]) -> _Operation:
        number = len(self.rows["operations"]) + 1
        self.rows["nodes"].append((self.first + number, node["counter"], number, node["params"]["name"], self.rank))
        self.rows["operations"].append((self.first + number, node["params"]["name"], 0.0, self.rank))  # its time is known at its end
        return _Operation(number, node, record, [node])

    def _chip(self, device: int | None) -> int | None:
        return None if device is None else self.chips.get(device, device)

    def _numbers(self, counters: Iterable[int]) -> list[int]:
        """Tensors among nodes."""
        found = (self.graph[counter] for counter in counters if counter < len(self.graph))
        return [int(node["params"]["tensor_id"]) for node in found if node["node_type"] == "tensor"]

    def _within(self, operation: _Operation, function: _Function, end: Node) -> None:
        read, given = self._numbers(function.start["input_tensors"]), self._numbers(end["connections"])
        operation.read += read
        operation.given += given
        operation.made |= set(given) - set(read)
        if end["params"].get("aborted") == "true" and not operation.aborted:
            name = end["params"]["name"]
            operation.aborted = end["params"].get("abort_reason") or f"Operation '{name}' was aborted by an exception"

    def _freed(self, node: Node, params: dict[str, Any], operation: _Operation | None, in_function: bool) -> None:
        self.live.pop((params["buffer_type"], params["address"]), None)
        owner = next((number for number, tensor in self.tensors.items() if tensor["params"].get("address") == params["address"]), None)
        owners = [] if owner is None else [owner]
        if operation is not None:
            operation.read += owners
        elif not in_function:
            start = {**node, "params": {"name": "ttnn::deallocate"}, "input_tensors": []}
            free = self._begin(start, {})
            free.nodes, free.read = [node], owners
            self._finish(free, {**node, "params": {"name": "ttnn::deallocate"}, "connections": []})

    def _finish(self, operation: _Operation, end: Node) -> None:
        """The rows of an operation; without an end the capture ended within it."""
        id_, rank, rows, record = self.first + operation.number, self.rank, self.rows, operation.record
        name = operation.start["params"]["name"]
        rows["operations"][operation.number - 1] = (id_, name, end.get("duration_ns", 0) / _NS_PER_S, rank)
        arguments = record.get("arguments") or {f"arg_{index}": text for index, text in enumerate(operation.start.get("arguments", []))}
        rows["operation_arguments"] += [(id_, str(key), str(value), rank) for key, value in arguments.items()]
        trace = "\n".join(record.get("python_stack_trace") or [])
        if trace:
            self.sources[id_] = trace
        error = record.get("error") or ({"type": "aborted_operation", "message": operation.aborted} if operation.aborted else None)
        if error is None and not end:
            error = {"type": "incomplete_operation", "message": f"Operation '{name}' started but never completed (likely crashed)"}
        if error is not None:
            rows["errors"].append((id_, name, error["type"], error["message"], trace, "", rank))
        direct = self._numbers(operation.start["input_tensors"])
        read = record.get("input_tensor_ids") or direct or [number for number in operation.read if number not in operation.made]
        ends = self._numbers(end.get("connections", []))
        given = record.get("output_tensor_ids") or ends
        for number, other in zip(given, ends or operation.given, strict=False):
            self.renumbered[number] = self.tensors[other]
        given = given or [number for number in operation.given if number not in operation.made.intersection(operation.read)]
        rows["input_tensors"] += [(id_, index, number, rank) for index, number in enumerate(dict.fromkeys(read))]
        rows["output_tensors"] += [(id_, index, number, rank) for index, number in enumerate(dict.fromkeys(given))]
        held = self.held.get(str(operation.start["counter"]))
        if held is not None:
            rows["buffers"] += [
                (id_, self._chip(one["device_id"]), one["address"], one["max_size_per_bank"], one["buffer_type"], one["buffer_layout"], rank) for one in held
            ]
        else:
            rows["buffers"] += [(id_, *one, rank) for one in self.live.values()]
        self._executions(id_, operation.nodes)
        part = record.get("captured_graph") or _part(operation.nodes)
        rows["captured_graph"].append((id_, json.dumps(part), rank))
        for node in part:
            rows["edges"] += [(id_, node["counter"], sink, index, 0, index, rank) for index, sink in enumerate(node["connections"])]

    def _executions(self, id_: int, nodes: Iterable[Node]) -> None:
        """Sub-devices that are told of, and the operation's programs; those past the last number that one operation has are left out."""
        index = 0
        for node in nodes:
            params = node.get("params") or {}
            if node["node_type"] == "sub_device_manager":
                manager = (self._chip(params["device_id"]), params["sub_device_manager_id"])
                self.rows["sub_device_managers"].append((*manager, self.rank))
                parts = json.loads(params.get("sub_devices") or "[]")
                self.rows["sub_devices"] += [(*manager, one["sub_device_id"], json.dumps(one["worker_core_ranges"]), self.rank) for one in parts]
            elif node["node_type"] == "program_execution" and index < _EXECUTIONS_PER_OPERATION:
                execution, device = id_ * _EXECUTIONS_PER_OPERATION + index, self._chip(params["device_id"])
                facts = (params.get("physical_device_id", device), params["runtime_id"], params["global_call_count"], params["command_queue_id"])
                self.rows["operation_executions"].append((execution, id_, device, *facts, self.rank))
                if params.get("sub_device_id") is not None:
                    part = (device, params["sub_device_manager_id"], params["sub_device_id"])
                    self.rows["execution_sub_devices"].append((execution, *part, self.rank))
                index += 1

    def _tensors(self) -> None:
        """Tensors on the device, and those on the host that an operation takes or gives."""
        used = {row[2] for table in ("input_tensors", "output_tensors") for row in self.rows[table]}
        for number, node in (self.renumbered | self.tensors).items():
            params = node["params"]
            if params.get("storage_type") != "DEVICE" and params.get("device_id") is None and number not in used:
                continue
            kind = [None if params.get(name) is None else params[name].replace("::", ".") for name in ("dtype", "layout")]
            place = (params.get("memory_config"), self._chip(params.get("device_id")), params.get("address"), params.get("buffer_type"))
            self.rows["tensors"].append((number, params.get("shape"), *kind, *place, self.rank, params.get("storage_type")))
            for part in json.loads(params.get("device_tensors") or "[]"):
                chip = self._chip(part.get("mesh_device_id", part.get("device_id")))
                self.rows["device_tensors"].append((number, chip, part["address"], self.rank))
        known = {row[0] for row in self.rows["tensors"]}
        for table, other in (("input_tensors", "tensor_consumers"), ("output_tensors", "tensor_producers")):
            self.rows[table] = [row for row in self.rows[table] if row[2] in known]
            self.rows[other] = [(number, id_, index, rank) for id_, index, number, rank in self.rows[table]]

    def write(self, database: sqlite3.Connection) -> None:
        for table, rows in self.rows.items():
            insert(database, table, rows)
        for id_, trace in self.sources.items():
            source = self._source(database, trace)
            insert(database, "stack_traces", [(id_, trace, source, self.rank)])

    def _source(self, database: sqlite3.Connection, trace: str) -> int | None:
        """Number of the file that made the call, whose text goes into the database."""
        found = _PLACE.search(trace)
        path = Path(found[1]) if found else None
        if path is None or path.suffix != ".py" or not path.is_file():
            return None
        database.execute("insert or ignore into source_files(path, contents) values (?, ?)", (str(path), path.read_text(encoding="utf-8", errors="replace")))
        number: int = database.execute("select id from source_files where path = ?", (str(path),)).fetchone()[0]
        return number

    def lifetimes(self) -> list[dict[str, Any]]:
        """Which operation made, read last and freed each tensor, and where in the program. Only a capture with stack traces is asked for them."""
        if not self.sources:
            return []
        names = {row[0]: row[1] for row in self.rows["operations"]}
        makers: dict[int, list[int]] = defaultdict(list)
        readers: dict[int, list[int]] = defaultdict(list)
        freers: dict[int, list[int]] = defaultdict(list)
        for id_, _, number, _ in self.rows["output_tensors"]:
            makers[number].append(id_)
        for id_, _, number, _ in self.rows["input_tensors"]:
            (freers if names[id_] in _FREEING else readers)[number].append(id_)
        found = []
        for number in sorted(row[0] for row in self.rows["tensors"]):
            maker, reader = min(makers[number], default=None), max(readers[number], default=None)
            made_at, read_at = self._place(maker), self._place(reader)
            found.append({
                "tensor_id": number, "producer_operation_id": maker, "last_use_operation_id": reader,
                "deallocate_operation_id": min(freers[number], default=None), "producer_source_file": made_at[0], "producer_source_line": made_at[1],
                "last_use_source_file": read_at[0], "last_use_source_line": read_at[1], "rank": self.rank,
            })  # fmt: skip
        return found

    def _place(self, id_: int | None) -> tuple[str | None, int | None]:
        """File and line of an operation's call: the innermost, which stands first."""
        found = _PLACE.search(self.sources.get(id_ or 0, ""))
        return (found[1], int(found[2])) if found else (None, None)


def _layout_number(name: str) -> int:
    number: int = TensorMemoryLayout[name].value
    return number


def _part(nodes: Sequence[Node]) -> list[Node]:
    """An operation's nodes as a capture of their own: counted anew, links to other nodes left out."""
    places = {node["counter"]: place for place, node in enumerate(nodes, 1)}

    def renumbered(counters: Iterable[int]) -> list[int]:
        return [places[counter] for counter in counters if counter in places]

    empty: Node = {"arguments": [], "input_tensors": [], "params": {}, "stacking_level": 0}
    part: list[Node] = [{**empty, "node_type": "capture_start", "counter": 0, "connections": [1]}]
    for place, node in enumerate(nodes, 1):
        links = {"connections": renumbered(node["connections"]), "input_tensors": renumbered(node.get("input_tensors", []))}
        part.append({**node, "counter": place, **links})
    part[-1]["connections"] = [*part[-1]["connections"], len(part)]
    part.append({**empty, "node_type": "capture_end", "counter": len(part), "connections": []})
    return [{**node, "id": node["counter"]} for node in part]
