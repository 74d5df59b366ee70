"""Inputs of a file: what is declared, what examples and sizes of dimensions may be, and the largest of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper

from alchemist.errors import FrontendError, InputError
from alchemist.frontends.onnx import inputs
from alchemist.frontends.onnx.emitter import Emitter
from alchemist.frontends.onnx.errors import Unsupported

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)
X, IDS = inputs.Declared("x", F32, ("batch", 4)), inputs.Declared("ids", I64, ("batch", "x.1"))
FIXED = inputs.Declared("y", F32, (2, 3))
TEXT = "x: float32[batch, 4]"


def graph(*values: Any) -> Any:
    return helper.make_graph([], "g", list(values), [])


def value(name: str, dims: Any, kind: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, dims)


def test_what_is_declared() -> None:
    found = inputs.declared_inputs(
        graph(value("x", ["batch", 4, None]), value("w", [1]), value("n", [], TensorProto.INT64), value("e", [0, 2**31 - 1])), {"w": 0}
    )
    assert [(one.name, one.dtype, one.dims) for one in found] == [
        ("x", F32, ("batch", 4, "x.2")), ("n", I64, ()), ("e", F32, (0, 2**31 - 1)),
    ]  # fmt: skip
    assert found[0].text == "x: float32[batch, 4, x.2]"


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None), ("not a tensor", "sequence_type")),
        (value("s", None), ("unknown rank",)),
        (value("s", [2**31]), ("impossible shape", "2147483648")),
        (value("s", [-1]), ("impossible shape",)),
    ],
    ids=["a sequence", "no rank", "too large", "negative"],
)
def test_what_cannot_be_declared(declared: Any, said: tuple[str, ...]) -> None:
    with pytest.raises(FrontendError) as caught:
        inputs.declared_inputs(graph(declared), {})
    for part in said:
        assert part in str(caught.value)


def test_examples_by_place_and_name() -> None:
    made = inputs.examples([X, IDS], [torch.ones(2, 4, dtype=torch.bfloat16)], {"ids": [[1.0, 2.0]]})
    assert {name: (one.dtype, one.shape) for name, one in made.items()} == {"x": (F32, (2, 4)), "ids": (I64, (1, 2))}
    assert made["ids"].tolist() == [[1, 2]]
    assert inputs.examples([FIXED], [np.arange(6).reshape(3, 2).T], {})["y"].flags.c_contiguous
    assert inputs.examples([inputs.Declared("n", I64, ())], [5], {})["n"].shape == ()


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ([1, 2, 3], {}, ("too many inputs", "x: float32[batch, 4], ids: int64[batch, x.1]", "3")),
        ([1], {"x": 2}, ("'x' is given twice",)),
        ([], {"z": 1}, ("no input 'z'", TEXT)),
        (["text"], {}, ("'x' is not a tensor", TEXT, "str")),
        ([], {"ids": np.array([[1.5]])}, ("'ids' has the wrong type", "float64")),
        ([np.array([1j])], {}, ("'x' is not a tensor",)),
    ],
    ids=["too many", "twice", "unknown", "text", "no integers", "complex"],
)
def test_examples_that_do_not_fit(args: list[Any], kwargs: dict[str, Any], said: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        inputs.examples([X, IDS], args, kwargs)
    for part in said:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("dims", "given", "wanted"),
    [
        ({"batch": 2, "x.1": 7}, {}, {"x": (2, 4), "ids": (2, 7), "y": (2, 3)}),
        ({"x.1": 1}, {"x": (3, 4)}, {"x": (3, 4), "ids": (3, 1), "y": (2, 3)}),
        ({"batch": 3}, {"ids": (3, 5), "y": (2, 3)}, {"x": (3, 4), "ids": (3, 5), "y": (2, 3)}),
        ({"batch": 2**31 - 1, "x.1": 1}, {}, {"x": (2**31 - 1, 4), "ids": (2**31 - 1, 1), "y": (2, 3)}),
    ],
)
def test_shapes(dims: dict[str, int], given: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]]) -> None:
    assert inputs.shapes_of([X, IDS, FIXED], dims, {name: np.zeros(shape) for name, shape in given.items()}) == wanted


@pytest.mark.parametrize(
    ("dims", "given", "said"),
    [
        ({"rows": 2}, {}, ("the model has no dimension 'rows'", "batch, x.1")),
        ({"batch": 0}, {}, ("bad size of dimension 'batch'", "whole number from 1")),
        ({"batch": 2**31}, {}, ("bad size",)),
        ({"batch": True}, {}, ("bad size",)),
        ({"batch": 1.0}, {}, ("bad size",)),
        ({}, {"x": (2, 5)}, ("'x' has a wrong shape", TEXT, "[2, 5]")),
        ({}, {"x": (2, 4, 1)}, ("'x' has a wrong shape",)),
        ({"batch": 3}, {"x": (2, 4)}, ("'batch' has two sizes", "3 (from dims)", "2 in input 'x'")),
        ({}, {"x": (2, 4), "ids": (3, 1)}, ("'batch' has two sizes", "2 (from x)", "3 in input 'ids'")),
        ({"batch": 1}, {}, ("has a symbolic dimension without a size: x.1", "dims={'x.1': ...}", "--dims x.1=...")),
        ({}, {}, ("has symbolic dimensions without a size: batch, x.1", "--dims batch=...,x.1=...")),
    ],
)
def test_shapes_that_do_not_fit(dims: dict[str, Any], given: dict[str, tuple[int, ...]], said: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        inputs.shapes_of([X, IDS, FIXED], dims, {name: np.zeros(shape) for name, shape in given.items()})
    for part in said:
        assert part in str(caught.value)


def test_names_of_dimensions_where_there_are_none() -> None:
    with pytest.raises(InputError, match="none: all shapes are fixed"):
        inputs.shapes_of([FIXED], {"batch": 1}, {})


def test_the_largest_value() -> None:
    emitter = Emitter.__new__(Emitter)
    assert "131072x131072" in str(emitter.type_of((2**17, 2**17), F32))
    with pytest.raises(Unsupported, match=r"a value of 1\.7e\+10 elements"):
        emitter.type_of((2**34 + 1,), F32)
    with pytest.raises(Unsupported, match="values of type complex64"):
        emitter.type_of((1,), np.dtype(np.complex64))
