"""`alchemist explore` against the classes of Google Model Explorer's own package: every field is one that it knows."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import sys
import types
import typing
from pathlib import Path
from typing import Any

import pytest

from alchemist.cli import main
from alchemist.driver.explore import node_data
from alchemist.errors import InputError

DATA = Path(__file__).parent / "data"


def _package_module(name: str) -> types.ModuleType:
    """A file of the package by itself: the package as a whole wants a web server."""
    found = importlib.util.find_spec("model_explorer")
    if found is None or not found.submodule_search_locations:
        pytest.skip("ai-edge-model-explorer is not installed")
    package = types.ModuleType("explorer_without_server")
    package.__path__ = list(found.submodule_search_locations)
    sys.modules.setdefault(package.__name__, package)
    return importlib.import_module(f"{package.__name__}.{name}")


def _build(type_: Any, value: Any, where: str) -> Any:
    """`value` as an object of `type_`; TypeError for an unknown field, AssertionError for a value of another kind."""
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _build(next(one for one in arguments if one is not type(None)), value, where) if type(None) in arguments else value
    if origin is list:
        assert isinstance(value, list), where
        return [_build(arguments[0], part, f"{where}[{i}]") for i, part in enumerate(value)]
    if origin is dict:
        assert isinstance(value, dict), where
        return {key: _build(arguments[1], part, f"{where}.{key}") for key, part in value.items()}
    if dataclasses.is_dataclass(type_):
        hints = typing.get_type_hints(type_)
        unknown = set(value) - set(hints)
        assert not unknown, f"{where}: {type_} has no {unknown}"
        return type_(**{key: _build(hints[key], part, f"{where}.{key}") for key, part in value.items()})  # type: ignore[operator]
    if type_ is str:
        assert isinstance(value, str), f"{where}: {value!r} is no text"
    return value


@pytest.mark.parametrize("stem", ["cnn_ttnn", "bert_ttir", "mlp_stablehlo", "llama_ttir", "resnet_ttir"])
def test_graph_is_one_of_model_explorer(stem: str, tmp_path: Path) -> None:
    builder = _package_module("graph_builder")
    out = tmp_path / "graph.json"
    assert main(["explore", str(DATA / f"{stem}.mlir"), "-o", str(out)]) == 0
    collection = json.loads(out.read_text())
    assert set(collection) <= {"label", "graphs"}
    for graph in collection["graphs"]:
        made = _build(builder.Graph, graph, graph["id"])
        ids = {node.id for node in made.nodes}
        assert len(ids) == len(made.nodes) > 0
        assert all(edge.sourceNodeId in ids for node in made.nodes for edge in node.incomingEdges)


def test_node_data_is_one_of_model_explorer(tmp_path: Path) -> None:
    builder = _package_module("node_data_builder")
    profile = tmp_path / "profile"
    profile.mkdir()
    (profile / "ops_perf_results.csv").write_text("OP CODE,DEVICE KERNEL DURATION [ns]\nConv2dDeviceOperation,100\nMatmulDeviceOperation,30\n")
    out = tmp_path / "graph.json"
    assert main(["explore", str(DATA / "cnn_ttnn.mlir"), "-o", str(out), "--profile", str(profile)]) == 0
    data = json.loads(out.with_suffix(".node_data.json").read_text())
    made = builder.ModelNodeData({name: _build(builder.GraphNodeData, part, name) for name, part in data.items()})
    assert json.loads(made.to_json_string())["forward"]["results"]


def _overlay(rows: str, tmp_path: Path, labels: list[str]) -> Any:
    (tmp_path / "ops_perf_results_x.csv").write_text(rows)
    nodes = [{"id": str(number), "label": label} for number, label in enumerate(labels)]
    return node_data({"graphs": [{"id": "g", "nodes": nodes}]}, tmp_path)


def test_times_of_programs_belong_to_the_call_before_them(tmp_path: Path) -> None:
    """A row in front of all calls, one without a time, and programs of one call."""
    rows = "OP CODE,DEVICE KERNEL DURATION [ns]\nHaloDeviceOperation,1\nMatmulDeviceOperation,10\nBinaryNgDeviceOperation,20\nUntilizeDeviceOperation,\nUntilizeDeviceOperation,5\nUnaryDeviceOperation,7\n"
    overlay, used, count = _overlay(rows, tmp_path, ["ttnn.linear", "other", "ttnn.to_layout", "ttnn.relu"])
    assert {key: value["value"] for key, value in overlay["g"]["results"].items()} == {"0": 30.0, "2": 5.0, "3": 7.0}
    assert (used, count) == (4, 6)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("OP CODE,DEVICE KERNEL DURATION [ns]\nMatmul,fast\n", "expected numbers in DEVICE KERNEL"),
        ("OP,TIME\nMatmul,1\n", "columns OP CODE"),
        ("", ""),
    ],
)
def test_profiles_that_are_none(rows: str, message: str, tmp_path: Path) -> None:
    if message:
        with pytest.raises(InputError, match=message):
            _overlay(rows, tmp_path, ["ttnn.matmul"])
    else:
        assert _overlay(rows, tmp_path, ["ttnn.matmul"])[1:] == (0, 0)
    with pytest.raises(InputError, match="no function that matches the profile"):
        node_data({"graphs": []}, tmp_path)
    with pytest.raises(InputError, match="no profile"):
        node_data({"graphs": []}, tmp_path / "gone")
