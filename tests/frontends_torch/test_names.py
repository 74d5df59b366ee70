"""What arguments, outputs and errors are called."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from alchemist.errors import FrontendError, InputError
from alchemist.frontends.torch.export import model_error, parameter_names, refuse_options_of_torch, spec_paths

Pair = namedtuple("Pair", "left right")
NESTED: list[tuple[Any, list[str]]] = [
    (5, [""]),
    ((), []),
    ({"b": 1, "a": 2}, ["b", "a"]),
    ({1: 2}, ["1"]),
    ([1, (2, 3)], ["0", "1.0", "1.1"]),
    (Pair(1, {"k": 2}), ["left", "right.k"]),
    (OrderedDict(z=1, y=2), ["z", "y"]),
    ({"x": [Pair(1, (2,))]}, ["x.0.left", "x.0.right.0"]),
    ([{"x": 1}], ["0.x"]),
]


@pytest.mark.parametrize(("value", "paths"), NESTED, ids=[repr(value) for value, _ in NESTED])
def test_paths(value: Any, paths: list[str]) -> None:
    assert spec_paths(pytree.tree_flatten(value)[1]) == paths
    wanted = [f"given.{path}".rstrip(".") for path in paths]
    assert spec_paths(pytree.tree_flatten(value)[1], "given") == wanted


@pytest.mark.parametrize(
    ("function", "count", "names"),
    [
        (lambda x, y=1: x, 2, ["x", "y"]),
        (lambda x, y=1: x, 1, ["x"]),
        (lambda x: x, 3, ["x", "arg_1", "arg_2"]),
        (lambda x, *rest: x, 3, ["x", "rest_0", "rest_1"]),
        (lambda x, *rest: x, 1, ["x"]),
        (lambda x, *, key: x, 2, ["x", "arg_1"]),
        (torch.add, 2, ["arg_0", "arg_1"]),  # a builtin says nothing of its parameters
    ],
    ids=["all", "first", "too many", "several", "none of several", "keyword only", "builtin"],
)
def test_parameters(function: Callable[..., Any], count: int, names: list[str]) -> None:
    assert parameter_names(function, count) == names


class DataDependentOutputException(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "kind", "parts"),
    [
        (DataDependentOutputException("x"), FrontendError, ("branches on tensor values",)),
        (RuntimeError("a data-dependent expression"), FrontendError, ("branches on tensor values",)),
        (TypeError("forward() missing 1 required positional argument: 'y'"), InputError, ("do not fit the model", "'y'")),
        (TypeError("unhashable"), FrontendError, ("torch.export failed: TypeError",)),
        (ValueError("first\nsecond"), FrontendError, ("torch.export failed: ValueError", "first")),
        (ValueError(""), FrontendError, ("got ValueError",)),
        (ValueError('  File "/models/net.py", line 7, in forward\n'), FrontendError, ("net.py:7",)),
    ],
    ids=["by its kind", "by its text", "arguments", "another TypeError", "two lines", "without text", "with a place"],
)
def test_errors_of_torch(error: Exception, kind: type[Exception], parts: tuple[str, ...]) -> None:
    made = model_error(error)
    assert type(made) is kind
    for part in parts:
        assert part in str(made)
    assert "second" not in str(made)


@pytest.mark.parametrize("takes", ["by name", "all", "not"])
def test_shapes_that_change_are_refused_unless_the_model_asks_for_them(takes: str) -> None:
    function: Any = {"by name": lambda x, dynamic_shapes=None: x, "all": lambda x, **given: x, "not": lambda x: x}[takes]
    if takes == "not":
        with pytest.raises(InputError, match="shapes are fixed at export"):
            refuse_options_of_torch(function, {"dynamic_shapes": {}})
    else:
        refuse_options_of_torch(function, {"dynamic_shapes": {}})
    refuse_options_of_torch(lambda x: x, {"other": 1})
