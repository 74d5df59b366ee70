"""Ops of the program's own, comparison mode, graphs of functions, and the lists of ops. Messages are those of ttnn 0.81.1."""

from __future__ import annotations

import csv
import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import NotOffered, NotSupported
from ttnn_shim.program_errors import report

_numbers = itertools.count()


@pytest.fixture
def slow() -> Iterator[None]:
    """Hooks and comparison work where fast runtime mode is off."""
    with ttnn.manage_config("enable_fast_runtime_mode", False):
        yield


def tensor(device: Any, value: float = 1.0) -> Any:
    values = torch.arange(1024, dtype=torch.float32).reshape(32, 32) / 512 * value
    return ttnn.from_torch(values, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)


def registered(function: Any = None, **facts: Any) -> Any:
    """A new op `ttnn.mine.op<n>` that doubles its input."""
    return ttnn.register_python_operation(name=f"ttnn.mine.op{next(_numbers)}", **facts)(function or (lambda x, *, k=1: ttnn.add(x, x)))


@pytest.mark.usefixtures("slow")
def test_registered_ops(device: Any) -> None:
    """A name of ttnn, seen by hooks and by graph captures with what it calls."""
    x, seen = tensor(device), []
    double = registered(golden_function=lambda x: x * 2, doc="Twice.")
    name = double.python_fully_qualified_name
    assert getattr(ttnn.mine, name.rpartition(".")[2]) is double and double.__doc__ == "Twice." and not double.is_cpp_operation
    with ttnn.register_pre_operation_hook(lambda operation, args, kwargs: seen.append((operation.python_fully_qualified_name, kwargs))):
        assert torch.equal(ttnn.to_torch(double(x, k=2)), 2 * ttnn.to_torch(x))
    assert seen == [(name, {"k": 2}), ("ttnn.add", {})]
    ttnn.graph.begin_graph_capture(ttnn.graph.RunMode.NORMAL)
    double(x)
    assert ttnn.graph.extract_calltrace(ttnn.graph.end_graph_capture())[:3] == [name, "ttnn.add", "BinaryNgDeviceOperation"]
    assert torch.equal(ttnn.get_golden_function(double)(torch.ones(2)), torch.full((2,), 2.0))
    with pytest.raises(RuntimeError, match="does not have a golden function"):
        ttnn.get_golden_function(registered())
    by_method = registered(is_method=True)
    assert torch.equal(ttnn.to_torch(getattr(x, by_method.python_fully_qualified_name.rpartition(".")[2])()), 2 * ttnn.to_torch(x))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine.double", 'Module path must start with "ttnn."'),
        ("double", "Module path have to have at least 2 tokens!"),
        ("ttnn.add", 'Operation with name "ttnn.add" is already registered'),
    ],
)
def test_names_that_cannot_be_registered(name: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        ttnn.register_python_operation(name=name)(lambda x: x)


def test_lists_of_ops(tmp_path: Path) -> None:
    mine = registered(is_experimental=True).python_fully_qualified_name
    for experimental in (False, True):
        ttnn.dump_operations(tmp_path / "ops.csv", include_experimental=experimental)
        with open(tmp_path / "ops.csv", encoding="utf-8") as file:
            rows = {row["python_fully_qualified_name"]: row for row in csv.DictReader(file)}
        assert list(rows["ttnn.add"].values()) == ["ttnn.add", "True", "True", "False"]
        assert (mine in rows) is experimental is any(".experimental." in name for name in rows)
    assert list(rows[mine].values()) == [mine, "False", "False", "True"]


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("raises", [False, True])
def test_comparison_mode(device: Any, capsys: pytest.CaptureFixture[str], wrong: bool, raises: bool) -> None:
    """Ops are compared with their golden functions; a result that does not correlate is an error, or a line on stderr."""
    x = tensor(device)
    golden = registered(golden_function=(lambda x: -x) if wrong else (lambda x: x * 2))
    message = f"{golden.python_fully_qualified_name}: Comparing output tensor 0 against CPU locally failed: pcc is -"
    with ttnn.manage_config("enable_comparison_mode", True), ttnn.manage_config("comparison_mode_should_raise_exception", raises):
        ttnn.matmul(ttnn.exp(x), ttnn.relu(x))
        ttnn.add_(x, 1.0)
        assert capsys.readouterr().err == ""
        if wrong and raises:
            with pytest.raises(RuntimeError, match=message):
                golden(x)
        else:
            golden(x)
            assert (message in capsys.readouterr().err) is wrong
    golden(x)  # the mode is over
    with ttnn.manage_config("enable_comparison_mode", True), ttnn.manage_config("enable_fast_runtime_mode", True):
        assert torch.equal(ttnn.to_torch(golden(x)), ttnn.to_torch(x) * 2)
    with ttnn.manage_config("enable_comparison_mode", True):
        assert torch.equal(ttnn.to_torch(registered()(x)), ttnn.to_torch(x) * 2)  # an op without golden function
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("slow")
def test_comparison_counts_in_the_asked_pcc(device: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A product in LoFi misses a PCC of 1 and reaches the default."""
    torch.manual_seed(0)
    a = ttnn.from_torch(torch.randn(64, 64), ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT, device=device)
    config = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.LoFi)
    for pcc, fails in ((1.0, True), (0.99, False)):
        with ttnn.manage_config("enable_comparison_mode", True), ttnn.manage_config("comparison_mode_pcc", pcc):
            ttnn.matmul(a, a, compute_kernel_config=config)
        assert ("failed: pcc is 0.9" in capsys.readouterr().err) is fails


def _lost(x: Any) -> Any:
    raise KeyError("lost")


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize(
    ("golden", "error", "message"),
    [(_lost, KeyError, "'lost'"), (lambda x: torch.ones(2, 2), RuntimeError, "expected tensors of one size, got 4 and 1024 values")],
)
def test_results_that_cannot_be_compared(
    golden: Any, error: type[Exception], message: str, raises: bool, device: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The op's result stands; that it was not compared is an error, or a line on stderr."""
    x = tensor(device)
    double = registered(golden_function=golden)
    with ttnn.manage_config("enable_comparison_mode", True), ttnn.manage_config("comparison_mode_should_raise_exception", raises):
        if raises:
            with pytest.raises(error, match=message):
                double(x)
            return
        assert torch.equal(ttnn.to_torch(double(x)), 2 * ttnn.to_torch(x))
    said = capsys.readouterr().err
    assert said.startswith(f"ttnn: {double.python_fully_qualified_name}: no comparison: ") and message in said


@pytest.mark.usefixtures("slow")
def test_each_of_several_results_is_compared(device: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x = tensor(device)
    parts = registered(lambda x: [x, [ttnn.add(x, x), 3], ttnn.neg(x)], golden_function=lambda x: [torch.ones(2), [x * 2, 3], x])
    silent = registered()
    attached = registered()
    ttnn.attach_golden_function(attached, lambda x: x, postprocess_golden_function_outputs=lambda output, args, kwargs: -output)
    with ttnn.manage_config("enable_comparison_mode", True):
        parts(x)
        said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ttnn: ")]
        silent(x)
        assert capsys.readouterr().err == ""
        attached(x)
    assert [line.partition(": ")[2].partition(":")[0] for line in said] == [parts.python_fully_qualified_name] * 2
    assert "no comparison" in said[0] and "output tensor 2 against CPU locally failed: pcc is -1.0 but should be >=" in said[1]
    assert f"{attached.python_fully_qualified_name}: Comparing output tensor 0" in capsys.readouterr().err


def test_text_of_the_configuration() -> None:
    text = repr(ttnn.CONFIG)
    assert text.startswith("Config{") and text.endswith("}")
    shown = dict(part.split("=", 1) for part in text[len("Config{") : -1].split(","))
    assert list(shown) and sorted(shown) == ttnn.CONFIG.keys()
    for name in shown:
        value = getattr(ttnn.CONFIG, name)
        assert shown[name] == (str(value).lower() if isinstance(value, bool) else str(value))


def test_levels_of_a_graph(device: Any) -> None:
    """As ttnn 0.81.1 lists them: counters in the order of starts, functions within others, results at the device operations."""
    x = tensor(device)
    ttnn.graph.begin_graph_capture(ttnn.graph.RunMode.NORMAL)
    added = ttnn.add(x, x)
    raised = ttnn.exp(added)
    product = ttnn.matmul(added, raised)
    nodes = ttnn.graph.end_graph_capture()
    assert product.is_allocated()
    one, two = (ttnn.graph.extract_levelized_graph(nodes, level) for level in (1, 2))
    assert [entry["name"] for entry in one] == ["ttnn.add", "ttnn.exp", "ttnn.matmul"]
    assert [entry["counter"] for entry in one] == [0, 1, 2] and all(entry["stacking_level"] == 1 and not entry["internals"] for entry in one)
    assert all(not entry["output_shape"] for entry in one)  # results belong to the device operations
    assert [entry["output_shape"] for entry in two if entry["name"].endswith("DeviceOperation")] == [["Shape([32, 32])"]] * 3
    assert [entry["name"] for entry in two] == [
        "ttnn.add",
        "BinaryNgDeviceOperation",
        "ttnn.exp",
        "UnaryDeviceOperation",
        "ttnn.matmul",
        "MatmulDeviceOperation",
    ]
    assert [entry["internals"] for entry in two] == [[1], [], [3], [], [5], []]
    assert set(one[0]) == {
        "arguments", "counter", "in_edges", "internals", "name", "out_edges", "output_info", "output_shape", "stacking_level",
    }  # fmt: skip


def test_drawn_graphs(device: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A node per node and an edge per connection go to the package graphviz; where that is not installed, the error says so."""
    import sys
    import types

    drawn: list[tuple[Any, ...]] = []

    class Digraph:
        def __init__(self, format: str) -> None:
            self.format = format

        def node(self, name: str, label: str, shape: str) -> None:
            drawn.append((name, label, shape))

        def edge(self, start: str, end: str) -> None:
            drawn.append((start, end))

        def render(self, path: str, cleanup: bool) -> None:
            drawn.append((path, self.format))

    x = tensor(device)
    ttnn.graph.begin_graph_capture(ttnn.graph.RunMode.NORMAL)
    ttnn.relu(x)
    nodes = ttnn.graph.end_graph_capture()
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(NotSupported, match="pip install graphviz"):
        ttnn.graph.visualize(nodes)
    monkeypatch.setitem(sys.modules, "graphviz", types.SimpleNamespace(Digraph=Digraph))
    ttnn.graph.visualize(nodes, file_name=tmp_path / "graph.svg")
    assert sum(len(row) == 3 for row in drawn) == len(nodes) and sum(len(row) == 2 for row in drawn) == sum(len(node["connections"]) for node in nodes) + 1
    assert any(row[1] == "ttnn.relu" and row[2] == "box" for row in drawn if len(row) == 3) and drawn[-1] == (str(tmp_path / "graph"), "svg")


def test_moreh() -> None:
    """`ttnn.operations.moreh` has the ops of `ttnn.moreh_*` under short names."""
    assert ttnn.operations.moreh.cumsum is ttnn.moreh_cumsum and ttnn.operations.moreh.cumsum_backward is ttnn.moreh_cumsum_backward
    with pytest.raises(NotOffered, match=r"ttnn\.moreh_fold exists"):
        _ = ttnn.operations.moreh.fold


@pytest.mark.parametrize("name", ["generic_op", "KernelDescriptor", "ProgramDescriptor", "RuntimeArgs"])
def test_kernels_of_a_caller_are_refused(name: str) -> None:
    with pytest.raises(NotOffered, match=f"ttnn.{name} exists .* but not in the simulator: kernels in source need a card's processors; call a TT-NN op"):
        getattr(ttnn, name)


@pytest.mark.parametrize(
    ("name", "hint"), [("tt_lib.fallback_ops", "the simulator has no tt_lib: call TT-NN's ops"), ("loguru", "here the extra `scripts` does: pip install")]
)
def test_modules_that_are_not_there_have_hints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, hint: str) -> None:
    monkeypatch.setitem(sys.modules, "loguru", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(name)
    assert f"hint: {hint}" in report(caught.value, tmp_path).replace("Tenstorrent's package installs it with itself; ", "")


@pytest.mark.parametrize("name", ["graph_report", "model_preprocessing", "_ttnn"])
def test_extras_are_one_module_under_two_names(name: str) -> None:
    assert importlib.import_module(f"ttnn.{name}") is importlib.import_module(f"ttnn_extras.{name}")
