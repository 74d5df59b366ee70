"""Graph captures: functions and nodes as the real package gives them, links between nodes, memory against the allocator's own figures, errors.

The expected functions are those of the real package on a mock device, without the views that it makes around a program.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ttnn
from ttnn import graph

from tests.tables import table

CREATE = "tt::tt_metal::create_device_tensor"
NODE_KEYS = {"arguments", "connections", "counter", "input_tensors", "node_type", "params", "stacking_level"}
L1 = ttnn.L1_MEMORY_CONFIG
Program = Callable[[Any, Any], Any]


@pytest.fixture(autouse=True)
def _no_capture_left() -> Iterator[None]:
    yield
    while graph.is_graph_capture_active():
        graph.end_graph_capture()


def tensor(device: Any, shape: tuple[int, ...] = (64, 64), **options: Any) -> Any:
    return ttnn.Tensor(np.ones(shape, np.float32), ttnn.bfloat16, device, ttnn.TILE_LAYOUT, **options)


def captured(program: Program, device: Any, mode: Any = graph.RunMode.NORMAL) -> tuple[list[dict[str, Any]], Any]:
    """(nodes, what the program gives)."""
    a = tensor(device)
    graph.begin_graph_capture(mode)
    result = program(a, device)
    return graph.end_graph_capture(), result


def in_l1(a: Any, device: Any) -> Any:
    b = ttnn.add(a, a, memory_config=L1)
    c = ttnn.softmax(b, dim=-1, memory_config=L1)
    ttnn.deallocate(b)
    return c


def sharded(a: Any, device: Any) -> Any:
    rows = ttnn.create_sharded_memory_config((64, 64), core_grid=ttnn.CoreGrid(y=2, x=1), strategy=ttnn.ShardStrategy.HEIGHT)
    b = ttnn.relu(ttnn.to_memory_config(a, rows))
    return ttnn.add_(b, 1.0)


def two_programs(a: Any, device: Any) -> Any:
    """The real package has no fused activation here: the product lives until the call's end."""
    return ttnn.linear(a, a, activation="relu", memory_config=L1)


def products(a: Any, device: Any) -> Any:
    b = ttnn.matmul(a, a, memory_config=L1)
    return ttnn.untilize(ttnn.concat([a, b], dim=0))


def replaced(a: Any, device: Any) -> Any:
    """Each result gives its memory back when the next one takes its name."""
    b = ttnn.exp(a, memory_config=L1)
    b = ttnn.relu(b, memory_config=L1)
    return ttnn.neg(b, memory_config=L1)


def views_and_host(a: Any, device: Any) -> Any:
    b = ttnn.reshape(a, (2, 32, 64))
    ttnn.from_device(b)
    return ttnn.zeros((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)


def made_outside_of_calls(a: Any, device: Any) -> Any:
    return ttnn.relu(tensor(device, mem_config=L1))


def convolution(a: Any, device: Any) -> Any:
    """Shards, halo, weights from the host and results come and go within one call, some at an address that another had."""
    image, weight = tensor(device, (1, 1, 512, 64)), ttnn.Tensor(np.ones((64, 64, 3, 3), np.float32), ttnn.bfloat16)
    return ttnn.conv2d(
        input_tensor=image, weight_tensor=weight, device=device, in_channels=64, out_channels=64, batch_size=2, input_height=16, input_width=16,
        kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), conv_config=ttnn.Conv2dConfig(deallocate_activation=True),
    )  # fmt: skip


FUNCTIONS: dict[Program, list[str]] = {
    in_l1: ["ttnn.add", "BinaryNgDeviceOperation", CREATE, "ttnn.softmax", "SoftmaxDeviceOperation", CREATE, "ttnn.deallocate", "Tensor::deallocate"],
    sharded: ["ttnn.to_memory_config", "InterleavedToShardedDeviceOperation", CREATE, "ttnn.relu", "UnaryDeviceOperation", CREATE, "Tensor::deallocate",
              "ttnn.add_", "BinaryNgDeviceOperation"],
    two_programs: ["ttnn.linear", "MatmulDeviceOperation", CREATE, "UnaryDeviceOperation", CREATE],
    products: ["ttnn.matmul", "MatmulDeviceOperation", CREATE, "ttnn.concat", "ConcatDeviceOperation", CREATE, "ttnn.untilize",
               "UntilizeCodegenDeviceOperation", CREATE, "Tensor::deallocate", "Tensor::deallocate"],
    replaced: ["ttnn.exp", "UnaryDeviceOperation", CREATE, "ttnn.relu", "UnaryDeviceOperation", CREATE, "Tensor::deallocate", "ttnn.neg",
               "UnaryDeviceOperation", CREATE, "Tensor::deallocate"],
    views_and_host: ["ttnn.reshape", "Tensor::reshape", "ttnn.from_device", "Tensor::cpu", "ttnn.zeros", "Tensor::to_device"],
    made_outside_of_calls: ["Tensor::to_device", "ttnn.relu", "UnaryDeviceOperation", CREATE, "Tensor::deallocate"],
}  # fmt: skip
PROGRAMS = pytest.mark.parametrize("program", FUNCTIONS, ids=lambda program: program.__name__)


@PROGRAMS
@pytest.mark.parametrize("mode", graph.RunMode)
def test_functions(device: Any, program: Program, mode: Any) -> None:
    nodes, _ = captured(program, device, mode)
    assert graph.extract_calltrace(nodes) == FUNCTIONS[program]
    lines = graph.pretty_format(nodes).splitlines()
    assert len(lines) == len(nodes) and lines[0].strip() == "Capture Start" and lines[-1].strip() == "Capture End"
    runs = sum(node["node_type"] == "program_execution" for node in nodes)
    assert runs == (sum(name.endswith("Operation") for name in FUNCTIONS[program]) if mode is graph.RunMode.NORMAL else 0)


@PROGRAMS
def test_links(device: Any, program: Program) -> None:
    """Functions nest, lead to what is in them, to their tensors and to the next function; buffers lead to their tensors."""
    nodes, _ = captured(program, device)
    json.dumps(nodes)
    open_functions, last_ended = [0], [0]
    for number, node in enumerate(nodes):
        assert set(node) - {"duration_ns"} == NODE_KEYS and node["counter"] == number
        kind = node["node_type"]
        if kind == "function_start":
            assert number in nodes[open_functions[-1]]["connections"]
            assert last_ended[-1] == open_functions[-1] or number in nodes[last_ended[-1]]["connections"]
            open_functions.append(number)
            last_ended.append(number)
        if kind == "tensor" and number in nodes[last_ended[-1]]["connections"]:  # a result: on the level of the function that gives it
            assert node["stacking_level"] == nodes[last_ended[-1]]["stacking_level"]
        else:
            assert node["stacking_level"] == len(open_functions) - 1
        if kind == "function_end":
            started = open_functions.pop()
            last_ended.pop()
            last_ended[-1] = number
            assert nodes[started]["params"]["name"] == node["params"]["name"] and nodes[started]["connections"][-1] == number
            for read in nodes[started]["input_tensors"]:
                assert nodes[read]["node_type"] == "tensor" and nodes[read]["connections"] == [started]
        if kind in ("buffer_allocate", "buffer_deallocate"):
            buffer = nodes[node["connections"][0]]
            assert buffer["node_type"] == "buffer" and buffer["params"].items() <= node["params"].items()
        if kind == "tensor" and node["params"]["storage_type"] == "DEVICE":
            homes = [one for one in nodes if one["node_type"] == "buffer" and number in one["connections"]]
            assert [home["params"]["size"] for home in homes] == [node["params"]["size"]]
    assert open_functions == [0] and nodes[-1]["node_type"] == "capture_end" and nodes[last_ended[0]]["connections"][-1] == len(nodes) - 1


@PROGRAMS
def test_results(device: Any, program: Program) -> None:
    """Shapes, sizes and addresses are those of the tensors themselves, and what is allocated and not freed is what the program still holds."""
    before = {(row["tensor"]["buffer_type"], row["tensor"]["address"]) for row in device.buffer_table()}
    a = tensor(device)
    graph.begin_graph_capture()
    result = program(a, device)
    nodes = graph.end_graph_capture()
    (info,) = graph.extract_output_info(nodes)
    config = result.memory_config()
    (node,) = (nodes[number] for number in graph.extract_output_tensors(nodes))
    assert (list(info.shape), info.type) == (list(result.shape), config.buffer_type)
    assert info.size == int(np.prod(result.padded_shape)) * 2 == node["params"]["size"]
    assert node["params"]["address"] == result.buffer_address() and node["params"]["memory_config"] == str(config)
    held: set[tuple[str, int]] = set()
    for one in nodes:
        place = (one["params"]["type"], one["params"]["address"]) if one["node_type"] in ("buffer_allocate", "buffer_deallocate") else None
        if place and one["node_type"] == "buffer_allocate":
            assert place not in held
            held.add(place)
        elif place:
            held.remove(place)
    now = {(row["tensor"]["buffer_type"], row["tensor"]["address"]) for row in device.buffer_table()}
    assert held == now - before - {("DRAM", a.buffer_address())}


@table("program", [*FUNCTIONS, convolution], ids=lambda program: program.__name__)
@table("mode", graph.RunMode)
def test_memory_is_the_allocators(device: Any, program: Program, mode: Any) -> None:
    """The peak of a core's L1 is what the allocator and the programs' circular buffers held at once. Without dispatch, buffers of a program stay, as in
    the real package, until the next one has its results."""
    before = ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank
    first = device.clock_read()["ops"]
    nodes, _ = captured(program, device, mode)
    device.events_enable(False)
    programs = device.events(first)
    usage = graph.extract_resource_usage_per_core(nodes)
    assert usage.peak_l1 >= max((event["l1_peak_bytes"] - event["l1_bytes"] for event in programs), default=before) - before
    assert usage.peak_cb == max((event["l1_bytes"] for event in programs), default=0)
    if programs:
        held = max(event["l1_peak_bytes"] for event in programs) - before
        assert held == usage.peak_total or (mode is graph.RunMode.NO_DISPATCH and held < usage.peak_total <= usage.peak_cb + usage.peak_l1)
    whole = [node["params"]["size"] for node in nodes if node["node_type"] == "buffer_allocate" and node["params"]["type"] == "L1"]
    assert max(usage.peak_cb, max(whole, default=0)) <= graph.extract_peak_L1_memory_usage(nodes) <= usage.peak_cb + sum(whole)


def test_memory_within_a_call(device: Any) -> None:
    """What a call gives back between its programs counts until then: tensors of L1 as the allocator held them while a program ran."""
    before = ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank
    first = device.clock_read()["ops"]
    nodes, _held = captured(convolution, device)
    programs = device.events(first)
    held, seen = 0, []
    for node in nodes:
        if node["node_type"] in ("buffer_allocate", "buffer_deallocate") and node["params"]["type"] == "L1":
            held += node["params"]["max_size_per_bank"] * (1 if node["node_type"] == "buffer_allocate" else -1)
        elif node["node_type"] == "program_execution":
            seen.append(held)
    assert len(seen) > 3 and seen == [event["l1_peak_bytes"] - event["l1_bytes"] - before for event in programs]
    assert all(node["params"]["storage_type"] == "DEVICE" for node in nodes if node["node_type"] == "tensor")


def test_figures_of_the_real_package(device: Any) -> None:
    """An addition of [32, 64] in bfloat16 with its result in L1: what the real package says of it."""
    a = tensor(device, (32, 64))
    graph.begin_graph_capture()
    b = ttnn.add(a, a, memory_config=L1)
    nodes = graph.end_graph_capture()
    assert graph.extract_peak_L1_memory_usage(nodes) == 16384
    usage = graph.extract_resource_usage_per_core(nodes)
    assert (usage.peak_cb, usage.peak_l1, usage.peak_total) == (12288, 2048, 14336)
    assert str(usage).splitlines()[1:3] == ["  CB:         12288 bytes", "  L1:         2048 bytes"]
    assert repr(graph.extract_output_info(nodes)) == "[TensorInfo(shape=Shape([32, 64]), size=4096, type=L1)]"
    assert graph.count_intermediate_and_output_tensors(nodes) == (0, 1)
    (taken,) = (node for node in nodes if node["node_type"] == "buffer_allocate")
    assert taken["params"] == {
        "address": b.buffer_address(), "buffer_type": 1, "device_id": device.id(), "layout": "INTERLEAVED", "max_size_per_bank": 2048, "num_cores": 0,
        "page_size": 2048, "size": 4096, "type": "L1",
    }  # fmt: skip


def test_captures_nest(device: Any) -> None:
    """The inner capture has its own numbers; the outer one has everything, in its own mode."""
    a = tensor(device)
    graph.begin_graph_capture(graph.RunMode.NORMAL)
    b = ttnn.exp(a)
    graph.begin_graph_capture(graph.RunMode.NO_DISPATCH)
    c = ttnn.relu(b)
    inner = graph.end_graph_capture()
    assert graph.is_graph_capture_active()
    outer = graph.end_graph_capture()
    assert not graph.is_graph_capture_active()
    functions = ["ttnn.relu", "UnaryDeviceOperation", CREATE]
    assert graph.extract_calltrace(inner) == functions and graph.extract_calltrace(outer) == ["ttnn.exp", *functions[1:], *functions]
    assert [one[-1]["duration_ns"] > 0 for one in (inner, outer)] == [True, True] and inner[-1]["duration_ns"] < outer[-1]["duration_ns"]
    assert "program_execution" in {node["node_type"] for node in inner} and float(c.cpu().to_numpy()[0, 0]) > 2


def test_no_dispatch_computes_nothing(device: Any) -> None:
    a = tensor(device)
    nodes, result = captured(lambda a, device: ttnn.exp(a), device, graph.RunMode.NO_DISPATCH)
    (taken,) = (node for node in nodes if node["node_type"] == "buffer_allocate")
    assert taken["params"]["address"] == 0 and not result._info().has_values
    with pytest.raises(RuntimeError, match="has no values"):
        result.cpu().to_numpy()
    _, read = captured(lambda a, device: ttnn.exp(a).cpu().to_numpy(), device, graph.RunMode.NO_DISPATCH)
    assert read.shape == (64, 64)  # scripts read within the capture, whatever they get
    assert float(ttnn.add(a, a).cpu().to_numpy()[0, 0]) == 2  # as before the capture


def test_programs_of_a_trace_are_not_shown(device: Any) -> None:
    a = tensor(device)
    ttnn.relu(a)
    trace = ttnn.begin_trace_capture(device, cq_id=0)
    nodes, result = [], None
    try:
        graph.begin_graph_capture()
        result = ttnn.relu(a)
        nodes = graph.end_graph_capture()
    finally:
        ttnn.end_trace_capture(device, trace, cq_id=0)
    assert graph.extract_calltrace(nodes) == ["ttnn.relu", CREATE] and result is not None
    (info,) = graph.extract_output_info(nodes)
    assert list(info.shape) == list(result.shape)
    ttnn.release_trace(device, trace)


def test_tensors_made_outside_of_calls(device: Any) -> None:
    """A tensor that is dropped at once shows too."""
    graph.begin_graph_capture()
    made = tensor(device, (32, 64), mem_config=L1)
    number = made.tensor_id
    del made
    nodes = graph.end_graph_capture()
    assert graph.extract_calltrace(nodes) == ["Tensor::to_device", "Tensor::deallocate"]
    (node,) = (node for node in nodes if node["node_type"] == "tensor")
    assert (node["params"]["shape"], node["params"]["tensor_id"]) == ("Shape([32, 64])", number)


def test_refused_calls_end_their_functions(device: Any) -> None:
    a, rows = tensor(device), ttnn.untilize(tensor(device))
    graph.begin_graph_capture()
    with pytest.raises(RuntimeError, match="input_tensor_b must have layout TILE"):
        ttnn.matmul(a, rows)
    ttnn.relu(a)
    nodes = graph.end_graph_capture()
    assert graph.extract_calltrace(nodes)[:2] == ["ttnn.matmul", "ttnn.relu"]
    assert [node["stacking_level"] for node in nodes if node["params"] and node["params"].get("name", "").startswith("ttnn.")] == [1, 1, 1, 1]


def test_reports(device: Any, tmp_path: Path) -> None:
    a = tensor(device)
    graph.begin_graph_capture()
    b = ttnn.add(a, 2.0)
    nodes = graph.end_graph_capture_to_file(tmp_path / "one.json")
    report = json.loads((tmp_path / "one.json").read_text())
    assert report["version"] == graph.REPORT_VERSION == 1 and report["graph"] == nodes
    assert report["devices"][0]["num_compute_cores"] == 64 and report["metadata"]["total_duration_ns"] == nodes[-1]["duration_ns"]
    (call,) = json.loads((tmp_path / "one.python_io.json").read_text())
    assert (call["name"], call["input_tensor_ids"], call["output_tensor_ids"]) == ("ttnn.add", [a.tensor_id], [b.tensor_id])
    assert set(call["arguments"]) == {"0", "1"} and call["arguments"]["1"] == "2.0"
    with graph.full_graph_capture(str(tmp_path / "two.json")):
        assert not ttnn.CONFIG.enable_fast_runtime_mode
        c = ttnn.add(a, 2.0)
    assert c.is_allocated()
    assert graph.extract_calltrace(json.loads((tmp_path / "two.json").read_text())["graph"]) == graph.extract_calltrace(nodes)
    with pytest.raises(KeyError), graph.full_graph_capture(str(tmp_path / "three.json")):
        raise KeyError
    assert ttnn.CONFIG.enable_fast_runtime_mode and not graph.is_graph_capture_active() and not (tmp_path / "three.json").exists()


@table(
    ("call", "functions"),
    [
        (lambda a: ttnn.mul(a, a), ["ttnn.multiply", "BinaryNgDeviceOperation", CREATE]),
        (lambda a: ttnn.multiply(a, a), ["ttnn.multiply", "BinaryNgDeviceOperation", CREATE]),
        (lambda a: ttnn.mul_(a, 2.0), ["ttnn.multiply_", "BinaryNgDeviceOperation"]),
        (lambda a: ttnn.sub(a, a), ["ttnn.subtract", "BinaryNgDeviceOperation", CREATE]),
        (lambda a: ttnn.subtract_(a, a), ["ttnn.subtract_", "BinaryNgDeviceOperation"]),
        (lambda a: ttnn.divide(a, a), ["ttnn.div", "BinaryNgDeviceOperation", CREATE]),
        (lambda a: ttnn.div_(a, a), ["ttnn.divide_", "BinaryNgDeviceOperation"]),
        (lambda a: 2.0 * a, ["ttnn.multiply", "BinaryNgDeviceOperation", CREATE]),
        (lambda a: 2.0 - a, ["ttnn.subtract", "BinaryNgDeviceOperation", CREATE]),
        (lambda a: 2.0 / a, ["ttnn.rdiv", "UnaryDeviceOperation", CREATE]),
    ],
)
def test_functions_of_several_names(call: Callable[[Any], Any], functions: list[str], device: Any) -> None:
    nodes, result = captured(lambda a, _: call(a), device)
    assert graph.extract_calltrace(nodes)[: len(functions)] == functions
    assert result.shape == (64, 64)


def test_reflected_operators(device: Any) -> None:
    a = ttnn.Tensor(np.full((32, 32), 4.0, np.float32), ttnn.float32, device, ttnn.TILE_LAYOUT)
    for result, value in ((1.0 - a, -3.0), (2.0 / a, 0.5), (3.0 * a, 12.0), (1.0 + a, 5.0)):
        assert np.asarray(result.to_list(), np.float32) == pytest.approx(np.full((32, 32), value))


@table(
    ("call", "kind", "words"),
    [
        (lambda: graph.end_graph_capture(), RuntimeError, "no graph capture is under way"),
        (lambda: graph.end_graph_capture_to_file("x.json"), RuntimeError, "no graph capture is under way"),
        (lambda: graph.begin_graph_capture("NORMAL"), TypeError, "incompatible function arguments"),
        (lambda: graph.extract_calltrace(None), TypeError, "incompatible function arguments"),
        (lambda: graph.extract_peak_L1_memory_usage(3), TypeError, "incompatible function arguments"),
        (lambda: graph.extract_output_info([]), RuntimeError, "No function_end node with tensor connections"),
        (lambda: graph.pretty_print([{"node_type": "strange", "params": {}}]), ValueError, "Unknown node type: strange"),
        (lambda: ttnn.graph.enable_detailed_buffer_tracing(), AttributeError, "not in the simulator"),
        (lambda: graph.flush_comparison_records_to_db(), AttributeError, "not in the simulator"),
    ],
)
def test_errors(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()
    assert not graph.is_graph_capture_active()


def test_cores_of_interleaved_buffers_are_no_longer_asked_for(device: Any) -> None:
    nodes, _ = captured(in_l1, device)
    with pytest.warns(DeprecationWarning, match="interleaved_storage_cores"):
        usage = graph.extract_resource_usage_per_core(nodes, 64)
    assert usage == graph.extract_resource_usage_per_core(nodes)


def test_durations(device: Any) -> None:
    nodes, _ = captured(lambda a, _: (ttnn.relu(a), ttnn.matmul(a, a)), device)
    by_function = graph.extract_operation_durations(nodes)
    assert {"ttnn.relu", "ttnn.matmul", "MatmulDeviceOperation"} <= by_function.keys()
    assert by_function["ttnn.matmul"] > by_function["MatmulDeviceOperation"] > 0
    assert graph.extract_total_duration_from_graph(nodes) == pytest.approx(by_function["ttnn.relu"] + by_function["ttnn.matmul"], rel=0.05)
    assert ttnn.graph_report.extract_operation_durations(nodes) == by_function
    assert graph.extract_total_duration_from_graph(nodes[:-1]) == 0.0


@table(
    ("text", "found"),
    [
        ("Shape([1, 1, 32])", {"Shape": [1, 1, 32]}),
        ("DataType::BFLOAT16", "DataType::BFLOAT16"),
        ("dims=[0,2,1,3]", {"dims": [0, 2, 1, 3]}),
        ("Tensor([2, 4], BFLOAT16, L1)", {"Tensor": [[2, 4], "BFLOAT16", "L1"]}),
        (
            "MemoryConfig(memory_layout=A::B,shard_spec=std::nullopt,count=0)",
            {"MemoryConfig": {"memory_layout": "A::B", "shard_spec": "std::nullopt", "count": 0}},
        ),
        ("Spec(grid={start=Core(x=0,y=-1)}, eps=1e-05)", {"Spec": {"grid": {"start": {"x": 0, "y": -1}}, "eps": 1e-05}}),
        ('Spec(grid=[{"start":{"x":0}}])', {"Spec": {"grid": [{"start": {"x": 0}}]}}),
        ('f(name="a, b)", x="")', {"f": {"name": "a, b)", "x": ""}}),
        ('{"a": 1, "b": [2.5, -3e2]}', {"a": 1, "b": [2.5, -300.0]}),
        ("f(a b, 3x, 4)", {"f": ["a b", "3x", 4]}),
        ("f(x=1, 2)", {"f": [{"x": 1}, 2]}),
        ("f([1], [2])", {"f": [[1], [2]]}),
        ("f([1])", {"f": [1]}),
        ("f()", {"f": []}),
        ("[1,2]", [1, 2]),
        ("3", "3"),
        ("", ""),
        ("\x00", "\\u0000"),
    ],
)
def test_arguments_are_taken_apart(text: str, found: Any) -> None:
    from ttnn.graph_tracer_utils import GraphTracerUtils

    assert GraphTracerUtils.serialize_arguments_to_json("op", ["A::B", text]) == {"operation": "op", "arguments": [{"arg0": "A::B"}, {"arg1": found}]}


@pytest.mark.parametrize("text", ["x=(1", "f([1)", "f(1", 'f("a)', "grid={[(x=0,y=0) - (x=4,y=2)]}", "f(1) g(2)"])
def test_what_cannot_be_taken_apart_is_kept(text: str) -> None:
    from ttnn.graph_tracer_utils import GraphTracerUtils

    (found,) = GraphTracerUtils.serialize_arguments_to_json("op", [text])["arguments"]  # type: ignore[index]
    assert found["UnparsedElement"]["element_info"] == text


def test_captured_functions_as_json(device: Any) -> None:
    from ttnn.graph_tracer_utils import GraphTracerUtils

    nodes, _ = captured(lambda a, _: ttnn.transpose(a, 0, 1), device)
    content = GraphTracerUtils.serialize_graph(json.loads(json.dumps(nodes)))["content"]
    created = next(item for item in content if item["operation"] == CREATE)
    assert created["arguments"][:3] == [{"arg0": {"Shape": [64, 64]}}, {"arg1": "DataType::BFLOAT16"}, {"arg2": "Layout::TILE"}]
    assert any(item["operation"].endswith("DeviceOperation") for item in content)
    assert GraphTracerUtils.serialize_arguments_to_json("", ["x"]) is None
