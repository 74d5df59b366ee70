"""Whole files: exported, run and checked; what functions, names and shapes become."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from alchemist import codegen_cpp, codegen_py
from alchemist.cli import main
from alchemist.codegen import onnx_sources
from alchemist.errors import UnsupportedOpError
from alchemist.frontends.onnx import load
from alchemist.frontends.onnx.parameters import separate_merged
from alchemist.frontends.onnx.reading import SMALL_ELEMENTS, Stored
from alchemist.ir.location import sources_of
from tests.frontends_onnx import files
from tests.running import run_checked

QUICK = ("own_function", "quantised", "old_text_encoder", "old_residual_net")


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in files.NAMES])
def test_exports_run_and_pass(name: str, tmp_path: Path) -> None:
    values = files.make(name, tmp_path / f"{name}.onnx")
    codegen_py(tmp_path / f"{name}.onnx", export_path=tmp_path / "out", **values)
    assert "check: passed" in run_checked(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["open_batch", "text_encoder"])
def test_cpp(name: str, tmp_path: Path) -> None:
    values = files.make(name, tmp_path / f"{name}.onnx")
    codegen_cpp(tmp_path / f"{name}.onnx", export_path=tmp_path / "out", **values)
    run_checked(tmp_path / "out")


@pytest.mark.parametrize("name", ["external_data", "own_function"])
def test_large_weights_are_read_when_they_are_asked_for(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of many gigabytes is lowered without its weights in memory."""
    files.make(name, tmp_path / "model.onnx")
    read: list[int] = []
    values = Stored.values
    monkeypatch.setattr(Stored, "values", lambda self: read.append(self.size_bytes) or values(self))  # type: ignore[func-returns-value]
    result = load(tmp_path / "model.onnx")
    assert all(size <= 8 * SMALL_ELEMENTS for size in read), read
    weights = [argument for argument in result.arguments if argument.kind == "parameter"]
    read.clear()
    total = sum(argument.value().nbytes for argument in weights)
    assert max(read) > 8 * SMALL_ELEMENTS and total >= max(read)


def test_shape_arithmetic_leaves_no_ops(tmp_path: Path) -> None:
    """A reshape to a shape computed from the input's, an If whose condition is a shape's, a function called twice."""
    found = {}
    for name in ("open_batch", "known_branch", "own_function"):
        values = files.make(name, tmp_path / f"{name}.onnx")
        found[name] = [op.name for op in load(tmp_path / f"{name}.onnx", kwargs=values).module.walk() if op.name.startswith("ttir.")]
    assert found == {
        "open_batch": ["ttir.reshape", "ttir.linear"],
        "known_branch": ["ttir.relu"],
        "own_function": ["ttir.matmul", "ttir.leaky_relu"] * 2,
    }


def test_gates_are_called_by_their_role(tmp_path: Path) -> None:
    """An LSTM from zeros is one loop over calls of its cell; no value of the cell is called after its op."""
    files.make("lstm", tmp_path / "lstm.onnx")
    text = onnx_sources(tmp_path / "lstm.onnx")["main.py"]
    assert text.count("for i in range(NUM_STEPS):") == 1
    assert re.findall(r"def lstm_(?:cell|layer)\(\n((?:    \w+: .*\n)*)", text)[1].count("initial") == 0
    assert {"input_gate", "forget_gate", "output_gate", "cell_gate_input", "hidden_gates", "cell"} <= set(re.findall(r"^ +(\w+) = ttnn\.", text, re.MULTILINE))
    assert not re.search(r"^ +(part|product|total)\w* = ", text[text.index("def lstm_cell") : text.index("def lstm_layer")], re.MULTILINE)


def test_nodes_and_directions_are_calls_of_one_function(tmp_path: Path) -> None:
    """Two layers in both directions: two nodes of ONNX, four calls of one function, which is the only one that calls the cell."""
    net = torch.nn.LSTM(16, 16, 2, bidirectional=True).eval()
    torch.onnx.export(net, (torch.randn(5, 2, 16),), str(tmp_path / "net.onnx"), dynamo=False)
    text = onnx_sources(tmp_path / "net.onnx")["main.py"]
    assert [text.count(part) for part in ("def lstm_layer(", " = lstm_layer(", "def lstm_cell(", " = lstm_cell(")] == [1, 4, 1, 1]
    assert "i = NUM_STEPS - 1 - t if reverse else t" in text
    assert re.findall(r"<- LSTM +(.*)", text) == ["layer 0 forward", "one time step", "layer 0 reverse", "layer 1 forward", "layer 1 reverse"]
    assert "One time step of ONNX LSTM (gates: input, output, forget, cell)" in text
    assert re.search(r"def lstm_cell\(\n    projected_step: .*\n    hidden: .*\n    cell: .*\n    weight_hh", text)
    assert "return hidden, cell" in text


def test_open_dimensions(tmp_path: Path) -> None:
    """From example inputs by position or name, from `dims`, from the command line."""
    path = tmp_path / "model.onnx"
    x = files.make("open_batch", path)["x"]
    shapes = [load(path, [x]), load(path, kwargs={"x": x[:2]}), load(path, dims={"batch": 3}), load(path, values={"x": x[:1]})]
    assert [one.arguments[0].shape[0] for one in shapes] == [5, 2, 3, 1]
    assert [one.outputs[0].shape for one in shapes] == [(5, 10), (2, 10), (3, 10), (1, 10)]
    np.testing.assert_array_equal(load(path, dims={"batch": 2}, seed=3).arguments[0].value(), load(path, dims={"batch": 2}, seed=3).arguments[0].value())
    assert "[4, 10]" in onnx_sources(path, dims={"batch": 4})["main.py"]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files.make("open_batch", tmp_path / "model.onnx")
    assert main(["model-to-python", str(tmp_path / "model.onnx"), "--dims", "batch=2"]) == 0
    assert "ttnn.linear" in capsys.readouterr().out
    for words, message in (
        (["--dims", "batch"], "bad --dims"),
        (["--entry", "f"], "--entry is for MLIR files"),
        ([], "has a symbolic dimension without a size: batch"),
    ):
        assert main(["model-to-python", str(tmp_path / "model.onnx"), *words]) == 1
        assert message in capsys.readouterr().err


def test_names_and_functions(tmp_path: Path) -> None:
    """Module paths of node names make functions and loops; weights keep their names."""
    node = onnx.helper.make_node
    nodes, weights, value = [], {}, "x"
    for i in range(2):
        weights |= {f"layers.{i}.up.weight": files._random(33, 64), f"layers.{i}.up.bias": files._random(64), f"layers.{i}.down.weight": files._random(64, 33)}
        scope = f"/layers.{i}"
        nodes += [
            node("MatMul", [value, f"layers.{i}.up.weight"], [f"{scope}/up/MatMul_output_0"], f"{scope}/up/MatMul"),
            node("Add", [f"{scope}/up/MatMul_output_0", f"layers.{i}.up.bias"], [f"{scope}/up/Add_output_0"], f"{scope}/up/Add"),
            node("Relu", [f"{scope}/up/Add_output_0"], [f"{scope}/Relu_output_0"], f"{scope}/Relu"),
            node("MatMul", [f"{scope}/Relu_output_0", f"layers.{i}.down.weight"], [f"{scope}/down/MatMul_output_0"], f"{scope}/down/MatMul"),
            node("Add", [f"{scope}/down/MatMul_output_0", value], [f"{scope}/Add_output_0" if i == 0 else "y"], f"{scope}/Add"),
        ]
        value = f"{scope}/Add_output_0"
    kind = onnx.TensorProto.FLOAT
    files.save(tmp_path / "model.onnx", nodes, {"x": (kind, [4, 33])}, weights, (kind, [4, 33]))
    text = onnx_sources(tmp_path / "model.onnx")["main.py"]
    assert re.search(r"^def layers?\w*\(", text, re.M), text
    assert "up.weight" in text
    assert text.count("ttnn.linear") == 1, text


def test_attention_is_recognised(tmp_path: Path) -> None:
    """Both exporters scale query and key; the newer one turns the keys in a merged batch (here by hand). Equal layers are a loop."""
    files.make("old_text_encoder", tmp_path / "model.onnx")
    text = onnx_sources(tmp_path / "model.onnx")["main.py"]
    assert text.count("ttnn.transformer.scaled_dot_product_attention(") == 1
    assert "for i in range(NUM_LAYERS)" in text
    node = onnx.helper.make_node
    nodes = [
        node("Reshape", ["k", "flat"], ["k3"]),
        node("Transpose", ["k3"], ["k3t"], perm=[0, 2, 1]),
        node("Reshape", ["k3t", "back"], ["kt"]),
        node("MatMul", ["q", "kt"], ["scores"]),
        node("Softmax", ["scores"], ["chances"], axis=-1),
        node("MatMul", ["chances", "v"], ["y"]),
    ]
    kind, shape = onnx.TensorProto.FLOAT, [2, 4, 32, 64]
    weights = {"flat": np.array([-1, 32, 64]), "back": np.array([2, 4, 64, 32])}
    files.save(tmp_path / "turned.onnx", nodes, {name: (kind, shape) for name in "qkv"}, weights, (kind, shape))
    assert "ttnn.transformer.scaled_dot_product_attention(" in onnx_sources(tmp_path / "turned.onnx")["main.py"]


def test_values_have_the_names_of_the_file(tmp_path: Path) -> None:
    nodes = [onnx.helper.make_node("Relu", ["x"], ["activated"]), onnx.helper.make_node("Sum", ["x", "activated", "activated"], ["y"])]
    kinds = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (3, 5)) for name in "xy"]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", kinds[:1], kinds[1:]), opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "x.onnx")
    named = {op.name: sources_of(op)[0].name for op in load(tmp_path / "x.onnx").module.walk() if op.name.startswith("ttir.")}
    assert named["ttir.relu"] == "activated"
    assert named["ttir.add"] == "y"


TRACE = """Traceback
  File "/home/me/model.py", line 7, in forward
    x
  File "C:\\\\work\\\\helpers.py", line 9, in block
    if y:
  File "/usr/lib/python3/site-packages/torch/nn/functional.py", line 3, in relu
  File "/usr/lib/python3/dist-packages/own/layers.py", line 4, in call
    y = f(
  File "<string>", line 1, in go"""
FRAMES = [("model.py", 7, "forward"), ("helpers.py", 9, "block"), ("own/layers.py", 4, "call")]
WHOLE = [("", "by_hand")]


@pytest.mark.parametrize(
    ("facts", "name", "scopes", "frames"),
    [
        ({"name_scopes": "['', 'a', 'a.b', 'relu']", "class_hierarchy": "['M', 'A', 'B', 'aten.relu']"}, "n", [("", "M"), ("a", "A"), ("a.b", "B")], []),
        ({"name_scopes": "['', 'a']", "class_hierarchy": "['M']"}, "n", WHOLE, []),
        ({"name_scopes": "['', 'a'", "class_hierarchy": "['M', 'A']"}, "n", WHOLE, []),
        ({"name_scopes": "[1, 2]", "class_hierarchy": "['M', 'A']"}, "n", WHOLE, []),
        ({"name_scopes": "print", "class_hierarchy": "print"}, "n", WHOLE, []),
        ({"stack_trace": TRACE}, "n", WHOLE, FRAMES),
        ({"stack_trace": TRACE + " " * 20_001}, "n", WHOLE, []),
        ({}, "/enc/layer.0/Relu", [("", "by_hand"), ("enc", "Enc"), ("enc.layer.0", "torch.nn.Layer")], []),
        ({}, "/enc/enc.1/Relu", [("", "by_hand"), ("enc", "Enc"), ("enc.1", "torch.nn.Enc")], []),
        ({}, "enc/Relu", WHOLE, []),
    ],
)
def test_where_a_node_comes_from(facts: dict[str, str], name: str, scopes: list[tuple[str, str]], frames: list[tuple[str, int, str]], tmp_path: Path) -> None:
    """What the exporter has noted, where it can be read, else the path in the node's name."""
    node = onnx.helper.make_node("Relu", ["x"], ["y"], name)
    for key, value in facts.items():
        node.metadata_props.add(key=f"pkg.torch.onnx.{key}", value=value)
    kind = (onnx.TensorProto.FLOAT, [4, 33])
    files.save(tmp_path / "model.onnx", [node], {"x": kind}, {}, kind)
    (relu,) = [op for op in load(tmp_path / "model.onnx").module.walk() if op.name == "ttir.relu"]
    (info,) = sources_of(relu)
    assert [(scope.path, scope.class_name) for scope in info.scopes] == scopes
    assert [(frame.file, frame.line, frame.function) for frame in info.frames] == frames
    assert load(tmp_path / "model.onnx").source_files == ({"model.py": "\n" * 6 + "x", "own/layers.py": "\n" * 3 + "y = f(...)"} if frames else {})
    node.op_type, node.domain = "Frob", "com"
    files.save(tmp_path / "model.onnx", [node], {"x": kind}, {}, kind, domain="com")
    with pytest.raises(UnsupportedOpError) as error:
        load(tmp_path / "model.onnx")
    assert error.value.ops[0][2] == (f"{frames[-1][0]}:{frames[-1][1]}" if frames else name)


def test_merged_parameters_are_separated(tmp_path: Path) -> None:
    """A node reads the parameter of its own module though the exporter stores equal ones once; ties and parameters with another value stay."""

    def read_by(op: str, *names: str) -> dict[str, str]:
        return {"fx_node": f"%{op} : [num_users=1] = call_function[target=torch.ops.aten.{op}.default](args = (%x, {', '.join(f'%p_{n}' for n in names)}))"}

    kind = (onnx.TensorProto.FLOAT, [4, 8])
    zeros, weight = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    rows = [
        ("Add", ["x", "a.bias"], read_by("linear", "a_weight", "a_bias"), ["a.bias"]),
        ("Add", ["y0", "a.bias"], read_by("linear", "b_weight", "b_bias"), ["b.bias"]),  # the weight has been folded
        ("Add", ["y1", "a.bias"], read_by("linear", "b_weight", "a_bias"), ["a.bias"]),  # the module reads the other one's bias
        (
            "Sum",
            ["y2", "a.norm", "a.bias", "a.bias", "a.norm"],
            read_by("norm", "b_norm", "b_bias", "b_mean", "b_var"),
            ["b.norm", "b.bias", "b.mean", "b.var"],
        ),
        ("Add", ["y3", "a.bias"], {"fx_node": "%p_b_bias"}, ["a.bias"]),
    ]
    nodes = [onnx.helper.make_node(op, inputs, [f"y{place}"]) for place, (op, inputs, *_) in enumerate(rows)]
    for node, (_, _, facts, _) in zip(nodes, rows, strict=True):
        for key, value in facts.items():
            node.metadata_props.add(key=f"pkg.torch.onnx.{key}", value=value)
    stored = {"a.bias": zeros, "a.norm": weight}
    graph = onnx.helper.make_graph(
        nodes, "graph", [onnx.helper.make_tensor_value_info("x", *kind)], [onnx.helper.make_tensor_value_info("y4", *kind)],
        [onnx.numpy_helper.from_array(value, name) for name, value in stored.items()],
    )  # fmt: skip
    model = onnx.helper.make_model(graph)
    separate_merged(model)
    assert [node.input[0] for node in nodes] == ["x", "y0", "y1", "y2", "y3"]
    assert [list(node.input[1:]) for node in model.graph.node] == [list(inputs[1:]) for _, inputs, *_ in rows], "nothing is known without a signature"
    lines = [f"p_{a}_{b}: PARAMETER target='{a}.{b}'" for a in "ab" for b in ("weight", "bias", "norm", "mean", "var")]
    model.metadata_props.add(key="pkg.torch.export.ExportedProgram.graph_signature", value="\n# inputs\n" + "\n".join(lines))
    separate_merged(model)
    assert [list(node.input[1:]) for node in model.graph.node] == [names for *_, names in rows]
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    assert {name: value[1] for name, value in values.items()} == {"a.bias": 0, "a.norm": 1, "b.bias": 0, "b.norm": 1, "b.mean": 0, "b.var": 1}
