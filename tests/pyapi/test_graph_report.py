"""Reports of graph captures and their database: what a capture with details records, the tables against the calls, bad files, the command line."""

from __future__ import annotations

import contextlib
import inspect
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import ttnn
from ttnn import graph, graph_report

HERE = str(Path(__file__).resolve())


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    while graph.is_graph_capture_active():
        graph.end_graph_capture()
    graph.disable_python_stack_traces()


def attention_like(device: Any) -> tuple[Any, Any, Any, int]:
    """(input, scores, result, line of the first call): an op in L1 that is freed, a refused product, an op in place."""
    a = ttnn.Tensor(np.ones((64, 64), np.float32), ttnn.bfloat16, device, ttnn.TILE_LAYOUT)
    frame = inspect.currentframe()
    assert frame is not None
    line = frame.f_lineno + 1
    scores = ttnn.add(a, a, memory_config=ttnn.L1_MEMORY_CONFIG)
    result = ttnn.softmax(scores, dim=-1, memory_config=ttnn.DRAM_MEMORY_CONFIG)
    ttnn.deallocate(scores)
    with contextlib.suppress(RuntimeError):
        ttnn.matmul(result, ttnn.Tensor(np.ones((32, 32), np.float32), ttnn.bfloat16, device, ttnn.TILE_LAYOUT))
    ttnn.multiply_(result, 2.0)
    return a, scores, result, line


def table(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(folder / "db.sqlite")) as database:
        return database.execute(query).fetchall()


def report_of(device: Any, folder: Path, detailed: bool) -> tuple[Any, Any, Any, int]:
    with ttnn.manage_config("enable_detailed_tensor_report", detailed):
        graph.begin_graph_capture()
        made = attention_like(device)
        graph.end_graph_capture_to_file(folder / "capture.json")
    assert not graph.is_python_stack_trace_enabled()
    assert graph.import_report(folder / "capture.json", folder) == folder / "db.sqlite"
    return made


@pytest.mark.parametrize("detailed", [False, True])
def test_database(device: Any, tmp_path: Path, detailed: bool) -> None:
    a, scores, result, line = report_of(device, tmp_path, detailed)
    operations = table(tmp_path, "select operation_id, name, duration from operations order by operation_id")
    assert [row[:2] for row in operations] == list(enumerate(["ttnn.add", "ttnn.softmax", "ttnn.deallocate", "ttnn.matmul", "ttnn.multiply_"], 1))
    assert all((row[2] > 0) == (row[1] not in ("ttnn.deallocate", "ttnn.matmul")) for row in operations)
    inputs = table(tmp_path, "select operation_id, tensor_id from input_tensors where operation_id != 4 order by operation_id, input_index")
    assert inputs == [(1, a.tensor_id), (2, scores.tensor_id), (3, scores.tensor_id), (5, result.tensor_id)]
    outputs = dict(table(tmp_path, "select operation_id, tensor_id from output_tensors"))
    assert (outputs[1], outputs[2]) == (scores.tensor_id, result.tensor_id) and 3 not in outputs and 4 not in outputs
    ((shape, dtype, config),) = table(tmp_path, f"select shape, dtype, memory_config from tensors where tensor_id = {scores.tensor_id}")
    assert (shape, dtype) == ("Shape([64, 64])", "DataType.BFLOAT16") and "BufferType::L1" in config
    l1 = dict(table(tmp_path, "select operation_id, count(*) from buffers where buffer_type = 1 group by operation_id"))
    assert l1.get(1, 0) == l1.get(2, 0) == l1.get(3, 0) + 1  # the scores lie in L1 until they are freed
    ((failed, kind, message),) = table(tmp_path, "select operation_id, error_type, error_message from errors")
    assert (failed, kind) == (4, "InvalidArgument") and "must be equal to the height of the second tensor" in message
    programs = table(tmp_path, "select operation_id, count(*) from operation_executions group by operation_id")
    assert programs == [(1, 1), (2, 1), (5, 1)]
    part = json.loads(table(tmp_path, "select captured_graph from captured_graph where operation_id = 2")[0][0])
    assert [node["counter"] for node in part] == list(range(len(part))) and part[1]["params"]["name"] == "ttnn.softmax"
    assert all(link < len(part) for node in part for link in node["connections"])
    assert dict(table(tmp_path, "select key, value from report_metadata"))["schema_version"] == graph_report.DATABASE_SCHEMA_VERSION
    lifetimes = {row[0]: row[1:] for row in table(tmp_path, "select * from tensor_lifetime")}
    stacks = table(tmp_path, "select stack_trace from stack_traces where operation_id = 1")
    if not detailed:
        assert not lifetimes and not stacks
        return
    assert lifetimes[scores.tensor_id] == (1, 2, 3, HERE, line, HERE, line + 1, 0)
    assert lifetimes[a.tensor_id][:3] == (None, 1, None)
    assert f'File "{HERE}", line {line}, in attention_like' in stacks[0][0].splitlines()[0] and "_pytest" not in stacks[0][0]
    assert table(tmp_path, "select path from source_files") == [(HERE,)]
    kept = json.loads((tmp_path / "capture.tensor_lifetime.json").read_text())
    assert {one["tensor_id"] for one in kept} == set(lifetimes)


def test_stack_traces_of_the_program(device: Any) -> None:
    graph.enable_python_stack_traces()
    graph.begin_graph_capture()
    graph.end_graph_capture()
    assert graph.is_python_stack_trace_enabled()  # the program turned them on, not the capture
    graph.disable_python_stack_traces()
    assert not graph.is_python_stack_trace_enabled()


def test_several_reports(device: Any, tmp_path: Path) -> None:
    """Those of one process count on, those of several hosts go by their number."""
    report_of(device, tmp_path, False)
    one = json.loads((tmp_path / "capture.json").read_text())
    folder = tmp_path / "hosts"
    folder.mkdir()
    for host in (2, 1):
        (folder / f"graph_capture_{host}_of_2.json").write_text(json.dumps(one | {"metadata": one["metadata"] | {"rank": host - 1}}))
    graph_report.import_report(folder, folder)
    assert table(folder, "select rank, count(*), max(operation_id) from operations group by rank") == [(0, 5, 5), (1, 5, 5)]
    again = tmp_path / "again"
    again.mkdir()
    for name in ("a", "b"):
        (again / f"{name}.json").write_text(json.dumps(one))
    graph_report.import_report(again, again)
    assert {row[0] for row in table(again, "select operation_id from operations")} == {*range(1, 6), *range(10_001, 10_006)}


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("[]", ValueError, "must be a JSON object"),
        ('{"version": 1}', ValueError, "missing metadata"),
        ('{"version": 1, "metadata": {}}', ValueError, "missing required field rank"),
        ("{", ValueError, "Expecting property name"),
        (None, RuntimeError, "no report at"),
    ],
)
def test_bad_reports(text: str | None, kind: type[Exception], words: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(kind, match=words):
        graph_report.import_report(path, tmp_path / "out")


def test_other_versions_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text('{"version": 2, "metadata": {"rank": 0}, "graph": []}')
    (tmp_path / "db.sqlite").write_text("no database: it is made anew")
    with pytest.warns(UserWarning, match="has version 2, expected 1"):
        graph_report.import_report(path, tmp_path)
    assert table(tmp_path, "select count(*) from operations") == [(0,)]


def test_command_line(device: Any, tmp_path: Path) -> None:
    report_of(device, tmp_path, False)
    command = [sys.executable, "-m", "ttnn.graph_report", str(tmp_path / "capture.json"), str(tmp_path / "out"), "--db-name", "db.sqlite"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "out" / "db.sqlite")
    assert table(tmp_path / "out", "select count(*) from operations") == [(5,)]


@pytest.mark.parametrize("wanted", [False, True])
def test_fixture(device: Any, tmp_path: Path, wanted: bool) -> None:
    request = SimpleNamespace(node=SimpleNamespace(nodeid="tests/some/test_model.py::test_block[2-64]"), fixturenames=(), getfixturevalue=None)
    with ttnn.manage_config("root_report_path", tmp_path), ttnn.manage_config("enable_graph_report", wanted):
        body = graph_report.run_pytest_graph_report_fixture(request)
        next(body)
        assert graph.is_graph_capture_active() == wanted
        attention_like(device)
        assert next(body, None) is None
    databases = list(tmp_path.glob("*/db.sqlite"))
    assert len(databases) == wanted and not graph.is_graph_capture_active() and ttnn.CONFIG.report_name is None
    if wanted:
        assert databases[0].parent.name.startswith("test_model_test_block[2-64]_") and (databases[0].parent / "config.json").exists()
        assert table(databases[0].parent, "select count(*) from operations") == [(5,)]


@pytest.mark.parametrize("call", [lambda: graph_report.import_graph(), lambda: graph_report.import_report("x", "y", generate_svgs=True)])
def test_what_is_not_offered(call: Callable[[], Any]) -> None:
    with pytest.raises(AttributeError, match="ttnn"):
        call()
