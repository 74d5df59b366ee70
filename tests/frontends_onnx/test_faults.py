"""Files that are damaged, hostile or of another kind: one error that says what is wrong, never a crash."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from alchemist.errors import AlchemistError, FrontendError, InputError, InternalError, ParseError, UnsupportedOpError, VerifyError, as_our_error
from alchemist.frontends.onnx import load
from alchemist.frontends.onnx.reading import Stored
from tests.frontends_onnx import files
from tests.tables import table

FLOAT = TensorProto.FLOAT


def one_node(path: Path, op: str, *, opset: int = 17, domain: str = "", outputs: int = 1, kind: int = FLOAT, **attributes: Any) -> None:
    node = helper.make_node(op, ["x"], ["y", *(f"z{i}" for i in range(outputs - 1))], "the_node", domain=domain, **attributes)
    files.save(path, [node], {"x": (kind, [4, 33])}, {}, (kind, [4, 33]), opset, domain=domain)


def _weights(path: Path, change: Callable[[TensorProto], None]) -> None:
    files.make("external_data", path)
    model = onnx.load(path, load_external_data=False)
    change(model.graph.initializer[0])
    path.write_bytes(model.SerializeToString())


def _entry(key: str, value: str) -> Callable[[TensorProto], None]:
    def change(tensor: TensorProto) -> None:
        kept = {one.key: one.value for one in tensor.external_data} | {key: value}
        del tensor.external_data[:]
        for name, text in kept.items():
            tensor.external_data.add(key=name, value=text)

    return change


def _loop(path: Path) -> None:
    out = helper.make_tensor_value_info("o", FLOAT, None)
    flag = helper.make_tensor_value_info("c", TensorProto.BOOL, None)
    count = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    carried = helper.make_tensor_value_info("v", FLOAT, None)
    condition = helper.make_tensor_value_info("k", TensorProto.BOOL, None)
    nodes = [helper.make_node("Identity", ["c"], ["k"]), helper.make_node("Relu", ["v"], ["o"])]
    body = helper.make_graph(nodes, "body", [count, flag, carried], [condition, out])
    loop = helper.make_node("Loop", ["n", "t", "x"], ["y"], "the_node", body=body)
    steps = [helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0), helper.make_node("Cast", ["m"], ["n"], to=TensorProto.INT64)]
    files.save(path, [*steps, loop], {"x": (FLOAT, [4, 33])}, {"t": np.array(True)}, (FLOAT, [4, 33]))


BAD: dict[str, tuple[Callable[[Path], Any], type[AlchemistError], str]] = {
    "opset_12": (lambda path: one_node(path, "Relu", opset=12), FrontendError, "opset 13 to 28"),
    "opset_29": (lambda path: one_node(path, "Relu", opset=29), FrontendError, "opset_version=28"),
    "no_such_op": (lambda path: one_node(path, "Frobnicate"), VerifyError, "Frobnicate"),
    "other_domain": (lambda path: one_node(path, "FusedGelu", domain="com.microsoft"), UnsupportedOpError, "com.microsoft"),
    "random": (lambda path: one_node(path, "RandomNormalLike"), UnsupportedOpError, "the_node: it generates random numbers"),
    "loop": (_loop, UnsupportedOpError, "the_node: a loop whose number of steps depends"),
    "huge_input": (
        lambda path: files.save(path, [helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, [1 << 18, 1 << 18])}, {}, (FLOAT, [1 << 18, 1 << 18])),
        FrontendError,
        "a value of 6.9e+10 elements",
    ),
    "eight_bit_floats": (lambda path: one_node(path, "Identity", opset=21, kind=TensorProto.FLOAT8E5M2), FrontendError, "values of type float8_e5m2"),
    "strings": (lambda path: one_node(path, "Identity", kind=TensorProto.STRING), FrontendError, "STRING"),
    "complex": (lambda path: one_node(path, "Identity", kind=TensorProto.COMPLEX64), FrontendError, "COMPLEX64"),
    "not_onnx": (lambda path: path.write_text("module {}"), ParseError, "ONNX"),
    "empty": (lambda path: path.write_bytes(b""), ParseError, "no graph"),
    "directory": (lambda path: path.mkdir(), AlchemistError, "directory"),
    "missing": (lambda path: None, AlchemistError, "no such file"),
    "path_outside": (lambda path: _weights(path, _entry("location", "../../etc/passwd")), FrontendError, "outside"),
    "path_absolute": (lambda path: _weights(path, _entry("location", "/etc/passwd")), FrontendError, "outside"),
    "external_missing": (lambda path: _weights(path, _entry("location", "gone.bin")), AlchemistError, "copy the file to the directory of the .onnx file"),
    "external_long_name": (lambda path: _weights(path, _entry("location", "x" * 300)), AlchemistError, "the name is too long"),
    "external_short": (lambda path: _weights(path, _entry("offset", "8192")), FrontendError, "does not match"),
    "external_length": (lambda path: _weights(path, _entry("length", "-5")), FrontendError, "does not match"),
    "huge_shape": (lambda path: _weights(path, lambda tensor: tensor.dims.__setitem__(0, 1 << 60)), FrontendError, "impossible shape"),
}


@table("name", BAD)
def test_refused(name: str, tmp_path: Path) -> None:
    make, kind, words = BAD[name]
    make(tmp_path / "model.onnx")
    with pytest.raises(kind) as caught:
        load(tmp_path / "model.onnx")
    assert words in str(caught.value)
    assert not isinstance(caught.value, InternalError)


RECURRENT = {"w": np.ones((1, 16, 8), np.float32), "r": np.ones((1, 16, 4), np.float32)}
LENGTHS = {"b": np.zeros((1, 32), np.float32), "l": np.array([3, 2], np.int32)}
KERNEL = {"w": np.ones((2, 2, 3, 3), np.float32)}
# Op, shape of x, rank of y, opset, weights behind x, attributes, reason.
FORMS: list[tuple[str, tuple[int, ...], int, int, dict[str, Any], dict[str, Any], str]] = [
    ("AveragePool", (1, 2, 8, 8), 4, 19, {}, {"kernel_shape": [2, 2], "dilations": [2, 2]}, "an average pool with dilation"),
    ("AveragePool", (1, 2, 8, 8), 4, 17, {}, {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1, "pads": [0, 0, 1, 1], "count_include_pad": 1},
     "an average pool with ceil_mode and different padding on both sides"),
    ("Dropout", (4, 4), 2, 17, {"r": np.array(0.5, np.float32), "t": np.array(True)}, {}, "dropout in training mode is random"),
    ("Conv", (1, 2, 3, 3, 3, 3), 6, 17, {"w": np.ones((2, 2, 1, 1, 1, 1), np.float32)}, {}, "images with 4 spatial dimensions"),
    ("ConvTranspose", (1, 2, 8, 8), 4, 17, KERNEL, {"output_shape": [30, 30], "strides": [2, 2]}, "a transposed convolution whose output is larger"),
    ("Einsum", (4, 4), 1, 17, {}, {"equation": "ii->i"}, "einsum with a diagonal"),
    ("Einsum", (4, 4), 1, 17, {"b": np.ones((1, 4), np.float32)}, {"equation": "ij,ij->i"}, "einsum whose dimensions broadcast"),
    ("LSTM", (3, 2, 8), 4, 17, RECURRENT, {"hidden_size": 4, "clip": 1.0}, "a recurrent layer that clips"),
    ("LSTM", (3, 2, 8), 4, 17, RECURRENT, {"hidden_size": 4, "activations": ["Relu", "Tanh", "Tanh"]}, "with the activations relu, tanh, tanh"),
    ("LSTM", (3, 2, 8), 4, 17, RECURRENT, {"hidden_size": 4, "input_forget": 1}, "an LSTM with peepholes or coupled gates"),
    ("LSTM", (3, 2, 8), 4, 17, RECURRENT | LENGTHS, {"hidden_size": 4}, "sequences of different lengths"),
    ("RNN", (3, 2, 8), 4, 17, {"w": np.ones((1, 4, 8), np.float32), "r": np.ones((1, 4, 4), np.float32)}, {"hidden_size": 4, "activations": ["Affine"]},
     "with the activations affine"),
    ("Resize", (1, 1, 1, 4097), 4, 19, {"": np.zeros(0), " ": np.zeros(0), "z": np.array([1, 1, 1, 4096])}, {"mode": "linear"}, "resizing of 4097 to 4096"),
    ("Pad", (1, 2, 8, 8), 4, 19, {"p": np.array([0, 0, 0, 0, 0, 0, 0, 9])}, {"mode": "wrap"}, "padding of 0 and 9 in mode 'wrap'"),
    ("Pad", (1, 2, 8, 8), 4, 18, {"p": np.array([0, 0, 0, 8, 0, 0, 0, 0])}, {"mode": "reflect"}, "padding of 8 and 0 in mode 'reflect' along a dimension of 8"),
    ("Pad", (1, 2, 8, 8), 4, 18, {"p": np.array([0, 0, 0, -1, 0, 0, 0, 2])}, {"mode": "edge"}, "padding of -1 and 2 in mode 'edge'"),
    ("Det", (4, 4), 0, 17, {}, {}, "no rule for opset 17"),
    ("Det", (4, 4), 0, 21, {}, {}, "no rule for opset 21"),
    ("SpaceToDepth", (1, 2, 4, 6), 4, 28, {}, {"blocksize": 2, "mode": "CRD"}, "attribute mode, which came after opset 21"),
    ("Resize", (1, 2, 8, 8), 4, 19, {"": np.zeros(0), "s": np.array([1, 1, 0.01, 1], np.float32)}, {}, "resizing to [1, 2, 0, 8]"),
    ("Reshape", (1, 2, 8, 8), 2, 17, {"p": np.array([3, 5])}, {}, "a reshape of [1, 2, 8, 8] to [3, 5]"),
    ("ReverseSequence", (3, 4, 5), 3, 17, {"l": np.array([1, 2, 3])}, {"batch_axis": 2, "time_axis": 0}, "time and batch axes other than the first two"),
]  # fmt: skip


@table(("op", "shape", "rank", "opset", "weights", "attributes", "reason"), FORMS, ids=[f"{row[0]}: {row[-1]}" for row in FORMS])
def test_forms_without_a_rule_say_why(
    op: str, shape: tuple[int, ...], rank: int, opset: int, weights: dict[str, Any], attributes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    node = helper.make_node(op, ["x", *(name.strip() for name in weights)], ["y"], "the_node", **attributes)
    given = {name: value for name, value in weights.items() if name.strip()}
    files.save(tmp_path / "model.onnx", [node], {"x": (FLOAT, list(shape))}, given, (FLOAT, [None] * rank), opset)
    with pytest.raises(UnsupportedOpError) as caught:
        load(tmp_path / "model.onnx")
    ((name, count, where, said),) = caught.value.ops
    assert (name, count) == (op, 1)
    assert "the_node" in where
    assert reason in said


def test_a_link_out_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    files.make("external_data", tmp_path / "model/a.onnx")
    os.rename(tmp_path / "model/a.bin", tmp_path / "secret.bin")
    (tmp_path / "model/a.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(FrontendError, match="outside"):
        load(tmp_path / "model/a.onnx")


@pytest.mark.parametrize(
    ("args", "kwargs", "dims", "words"),
    [
        ((), {}, {}, "has a symbolic dimension without a size: batch"),
        ((), {}, {"batch": 0}, "whole number from 1"),
        ((), {}, {"length": 2}, "the model has no dimension 'length'"),
        ((np.zeros((2, 3, 31), np.float32),), {}, {}, "has a wrong shape"),
        ((np.zeros((2, 3, 32), np.float32),), {}, {"batch": 3}, "has two sizes"),
        ((), {"z": np.zeros(3)}, {"batch": 1}, "has no input 'z'"),
        ((np.zeros(3), np.zeros(3)), {}, {}, "too many inputs"),
        (("text",), {}, {}, "is not a tensor"),
    ],
)
def test_inputs_that_do_not_fit(args: tuple[Any, ...], kwargs: dict[str, Any], dims: dict[str, int], words: str, tmp_path: Path) -> None:
    files.make("open_batch", tmp_path / "model.onnx")
    with pytest.raises(InputError, match=words):
        load(tmp_path / "model.onnx", args, kwargs, dims=dims)


@pytest.mark.parametrize("name", ["open_batch", "own_function", "known_branch", "quantised"])
def test_damaged_files_end_in_an_error(name: str, tmp_path: Path) -> None:
    """Bytes changed, left out and doubled at random: a model or an error of ours, and no error of our own making."""
    files.make(name, tmp_path / "model.onnx")
    raw = (tmp_path / "model.onnx").read_bytes()
    rng = random.Random(name)
    for _ in range(40):
        made = bytearray(raw)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(made))
            match rng.randrange(3):
                case 0:
                    made[at] = rng.randrange(256)
                case 1:
                    del made[at : at + rng.randint(1, 8)]
                case _:
                    made[at:at] = made[at : at + rng.randint(1, 8)]
        (tmp_path / "damaged.onnx").write_bytes(made)
        try:
            load(tmp_path / "damaged.onnx", dims={"batch": 2} if b"batch" in made else None)
        except (AlchemistError, MemoryError) as error:
            found = as_our_error(error)
            assert not isinstance(found, InternalError), found


def saved(path: Path, nodes: list[Any], given: tuple[int, ...] = (4, 4), rank: int = 2, opset: int = 18, **more: Any) -> Path:
    """A file of nodes from x, and i of whole numbers, to y."""
    inputs = {"x": (FLOAT, list(given))} | ({"i": (TensorProto.INT64, [2])} if any("i" in node.input for node in nodes) else {})
    files.save(path / "model.onnx", nodes, inputs, {}, (FLOAT, [None] * rank), opset, **more)
    return path / "model.onnx"


def function(name: str, nodes: list[Any], *outputs: str) -> Any:
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    return helper.make_function("my", name, ["x"], list(outputs) or ["y"], nodes, opsets)


NODE = helper.make_node
REFUSED_GRAPHS: dict[str, tuple[list[Any], dict[str, Any], type[AlchemistError], str]] = {
    "a shape that is computed": ([NODE("Reshape", ["x", "i"], ["y"], "the_node")], {}, UnsupportedOpError,
                                 "the shape computed from the model's inputs: it has to be known at export"),
    "an output without a rule": ([NODE("MaxPool", ["x"], ["z", "m"], "the_node", kernel_shape=[2, 2]), NODE("Cast", ["m"], ["k"], to=FLOAT), NODE("Add", ["z", "k"], ["y"])],
                                 {"given": (1, 2, 4, 4), "rank": 4}, UnsupportedOpError, "its output 1 is used"),
    "sizes that do not fit": ([NODE("Constant", [], ["c"], value_ints=[-3]), NODE("Abs", ["c"], ["s"]), NODE("Split", ["x", "s"], ["y"], "the_node")], {},
                              UnsupportedOpError, "a split of 4 into [3]"),
    "scales that do not fit": (
        [NODE("Constant", [], ["c"], value_floats=[-2.0]), NODE("Abs", ["c"], ["s"]), NODE("Resize", ["x", "", "s"], ["y"], "the_node")], {},
        UnsupportedOpError, "this form of the op (ValueError: "),
    "blocks": ([NODE("Constant", [], ["s"], value=numpy_helper.from_array(np.ones((2, 4), np.float32))),
                NODE("QuantizeLinear", ["x", "s"], ["q"], "the_node", block_size=2, axis=0), NODE("Cast", ["q"], ["y"], to=FLOAT)], {"opset": 21},
               UnsupportedOpError, "quantisation by blocks"),
    "floats of eight bits": (
        [NODE("Constant", [], ["s"], value_float=1.0), NODE("Constant", [], ["z"], value=helper.make_tensor("z", TensorProto.FLOAT8E4M3FN, [], [0.0])),
         NODE("QuantizeLinear", ["x", "s", "z"], ["q"], "the_node"), NODE("Cast", ["q"], ["y"], to=FLOAT)], {"opset": 19},
        UnsupportedOpError, "quantisation to float8_e4m3fn"),
    "training": ([NODE("Constant", [], ["s"], value_floats=[1.0] * 4), NODE("BatchNormalization", ["x", *"ssss"], ["y", "m", "v"], "the_node", training_mode=1)],
                 {}, UnsupportedOpError, "batch norm in training mode"),
    "what follows on an op without a rule": (
        [NODE("Frob", ["x"], ["z"], "the_node", domain="com"), NODE("Relu", ["z"], ["w"]), NODE("Add", ["w", "x"], ["y"])], {"domain": "com"},
        UnsupportedOpError, "not a standard op: its domain is 'com'"),
    "a constant of text": ([NODE("Constant", [], ["t"], "the_node", value_string="text"), NODE("Relu", ["x"], ["y"])], {}, UnsupportedOpError,
                           "a constant of text or sparse values"),
    "a function that calls itself": ([NODE("Loop", ["x"], ["y"], domain="my")], {"functions": [function("Loop", [NODE("Loop", ["x"], ["y"], domain="my")])]},
                                     AlchemistError, ""),
    "a function without its result": ([NODE("Lost", ["x"], ["y"], domain="my")], {"functions": [function("Lost", [NODE("Relu", ["x"], ["z"])])]},
                                      VerifyError, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_GRAPHS)
def test_refused_graphs(name: str, tmp_path: Path) -> None:
    nodes, more, kind, words = REFUSED_GRAPHS[name]
    with pytest.raises(kind) as caught:
        load(saved(tmp_path, nodes, **more))
    assert words in str(caught.value)
    assert not isinstance(caught.value, InternalError)
    if kind is UnsupportedOpError:
        assert len(caught.value.ops) == 1, "what depends on it is not refused as well"
        assert "the_node" in str(caught.value)


def test_a_branch_that_inputs_decide(tmp_path: Path) -> None:
    def branch(op: str) -> Any:
        return helper.make_graph([NODE(op, ["x"], ["r"])], op, [], [helper.make_tensor_value_info("r", FLOAT, None)])

    nodes = [NODE("ReduceMax", ["x"], ["m"], keepdims=0), NODE("Cast", ["m"], ["c"], to=TensorProto.BOOL),
             NODE("If", ["c"], ["y"], "the_node", then_branch=branch("Relu"), else_branch=branch("ReduceMax"))]  # fmt: skip
    with pytest.raises(UnsupportedOpError, match="branches whose results differ in shape or type"):
        load(saved(tmp_path, nodes))


def test_functions_that_unfold_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [NODE("Relu", ["x"], ["a"]), NODE("Neg", ["a"], ["b"]), NODE("Abs", ["b"], ["y"])]
    monkeypatch.setattr("alchemist.frontends.onnx.walk.MOST_NODES", 3)
    load(saved(tmp_path, nodes))
    monkeypatch.setattr("alchemist.frontends.onnx.walk.MOST_NODES", 2)
    with pytest.raises(FrontendError, match="inlined functions have more than 2 nodes"):
        load(saved(tmp_path, nodes))


def _graph(change: Callable[[Any], None], name: str = "quantised") -> Callable[[Path], None]:
    def make(path: Path) -> None:
        files.make(name, path)
        model = onnx.load(path)
        change(model.graph)
        path.write_bytes(model.SerializeToString())

    return make


STORED: dict[str, tuple[Callable[[Path], None], type[AlchemistError], str]] = {
    "sparse": (_graph(lambda graph: graph.sparse_initializer.add().values.CopyFrom(TensorProto(name="few"))), FrontendError, "sparse initializers"),
    "twice": (_graph(lambda graph: graph.initializer.append(graph.initializer[0])), VerifyError, "two initializers with one name"),
    "unknown type": (_graph(lambda graph: setattr(graph.initializer[0], "data_type", 99)), FrontendError, "tensors of type 99"),
    "text": (_graph(lambda graph: setattr(graph.initializer[0], "data_type", TensorProto.STRING)), FrontendError, "tensors of type STRING"),
    "bytes that are missing": (_graph(lambda graph: setattr(graph.initializer[0], "raw_data", b"")), FrontendError, "do not match its shape"),
    "numbers that are missing": (
        _graph(lambda graph: (graph.initializer[0].ClearField("raw_data"), graph.initializer[0].float_data.extend([1.0]))),
        FrontendError, "do not match its shape",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STORED)
def test_stored_tensors_that_cannot_be(name: str, tmp_path: Path) -> None:
    make, kind, words = STORED[name]
    make(tmp_path / "model.onnx")
    with pytest.raises(kind, match=words):
        load(tmp_path / "model.onnx")


def test_files_that_are_too_large_or_go_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    files.make("external_data", path)
    result = load(path)
    weight = next(argument for argument in result.arguments if argument.kind == "parameter")
    (data,) = [file for file in tmp_path.iterdir() if file != path]
    held = data.read_bytes()
    data.write_bytes(held[:-1])
    with pytest.raises(AlchemistError, match="the file of external data became shorter during the export"):
        weight.value()
    size = path.stat().st_size
    data.write_bytes(held)
    monkeypatch.setattr("alchemist.frontends.onnx.reading.MOST_FILE_BYTES", size)
    load(path)
    monkeypatch.setattr("alchemist.frontends.onnx.reading.MOST_FILE_BYTES", size - 1)
    with pytest.raises(AlchemistError, match="the file is too large"):
        load(path)


def test_the_reference_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("no kernel")

    result = load(saved(tmp_path, [NODE("Relu", ["x"], ["y"])]))
    monkeypatch.setattr("alchemist.frontends.onnx.evaluate", fail)
    assert result.golden is not None
    with pytest.raises(FrontendError, match="reference implementation fails on the model") as caught:
        result.golden()
    assert "ValueError: no kernel" in str(caught.value)


def test_weights_of_four_bits(tmp_path: Path) -> None:
    """Two in a byte, in the file or beside it; an odd number fills half of the last."""
    values = np.array([-8, 7, 3], np.int8)
    packed = helper.make_tensor("w", TensorProto.INT4, [3], values)
    nodes = [NODE("Constant", [], ["s"], value_float=0.5), NODE("DequantizeLinear", ["w", "s"], ["d"]), NODE("Add", ["x", "d"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [2, 3])], [helper.make_tensor_value_info("y", FLOAT, [2, 3])], [packed])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, tmp_path / "in.onnx")
    onnx.save(model, tmp_path / "beside.onnx", save_as_external_data=True, size_threshold=0, location="w.bin", convert_attribute=False)
    for name in ("in", "beside"):
        stored = Stored(onnx.load(tmp_path / f"{name}.onnx", load_external_data=False).graph.initializer[0], tmp_path)
        assert stored.size_bytes == 2
        assert stored.values().astype(int).tolist() == values.tolist()
        with pytest.raises(FrontendError, match="values of type int4"):
            load(tmp_path / f"{name}.onnx")
    short = TensorProto()
    short.CopyFrom(packed)
    short.raw_data = b"\x01"
    with pytest.raises(FrontendError, match="do not match its shape"):
        Stored(short, tmp_path)
