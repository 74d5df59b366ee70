"""Bodies side by side: one function with what differs as parameters, or none; one body with the names of another, or none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from alchemist.program import model
from alchemist.program.alignment import align
from alchemist.program.alpha_renaming import Mismatch, Renaming, renamed_like
from alchemist.program.model import Literal
from emit_py.printer import function_text
from tests.program.test_structure import _call
from tests.tables import table

X, Y = model.TensorRef("x"), model.TensorRef("y")
DRAM, L1 = model.MemoryConfig(), model.MemoryConfig("l1")
Body = tuple[model.Statement, ...]


def function(name: str, body: Body, **more: object) -> model.Function:
    return replace(model.Function(name, (model.Parameter("x"),), body, 1), **more)  # type: ignore[arg-type]


def shaped(*columns: tuple[int, ...]) -> list[Body]:
    """A reshape in each function; columns: an extent of its shape, of all functions."""
    return [(_call("ttnn.reshape", "x", True, input_tensor="x", shape=list(row)),) for row in zip(*columns, strict=True)]


def aligned(bodies: list[Body], **more: object) -> str:
    """The function that stands for all, and what is given for its parameters; "no" where there is none."""
    try:
        made = align([function(f"f{place}", body, **more) for place, body in enumerate(bodies)], set())
    except Mismatch:
        return "no"
    given = "; ".join(f"{name} {' '.join(str(getattr(value, 'value', '-')) for value in values)}" for name, values in made.added.items())
    return " | ".join([*(line.strip() for line in function_text(made.function).splitlines()[1:]), given])


@table(
    ("columns", "written"),
    [
        ([(2, 3, 5), (4, 6, 10)], "rows, 2 * rows"),
        ([(4, 6, 10), (2, 3, 5)], "rows, rows // 2"),
        ([(2, 3, 5), (5, 6, 8)], "rows, rows + 3"),
        ([(5, 6, 8), (2, 3, 5)], "rows, rows - 3"),
        ([(2, 3, 5), (9, 10, 12)], "rows, rows + 7"),
        ([(10, 11, 13), (3, 4, 6)], "rows, rows - 7"),
        ([(2, 3, 5), (10, 11, 13)], "rows, width"),  # no neighbour
        ([(10, 11, 13), (2, 3, 5)], "rows, width"),
        ([(2, 3, 5), (4, 6, 12)], "rows, width"),  # twice as much but once
        ([(4, 6, 10), (2, 3, 7)], "rows, width"),
        ([(2, 3), (4, 6)], "rows, width"),  # two functions tell nothing
        ([(2, 3, 2), (4, 6, 4)], "rows, width"),
        ([(0, 3, 5), (0, 6, 10)], "rows, width"),
        ([(2, 3, 5), (0, 6, 10)], "rows, width"),
        ([(12, 18, 40), (3, 2, 5), (4, 9, 8)], "batch, length, batch // length"),
        ([(2, 3, 5), (7, 4, 9), (14, 12, 45)], "batch, length, batch * length"),
        ([(2, 3, 5), (7, 4, 9), (28, 24, 90)], "batch, length, 2 * batch * length"),
        ([(2, 3, 4), (7, 4, 9), (7, 6, 18)], "batch, length, batch * length // 2"),
        ([(2, 3, 4), (7, 4, 9), (21, 18, 54)], "batch, length, width"),  # three halves of it
        ([(8, 10, 9), (2, 5, 3), (16, 4, 9)], "batch, length, (batch // length) * (batch // length)"),
        ([(2, 3, 5), (3, 2, 4), (18, 12, 80)], "batch, length, batch * length * length"),
        ([(0, 3, 5), (7, 4, 9), (0, 12, 45)], "batch, length, width"),
        ([(2, 2, 3), (7, 4, 9), (14, 8, 27)], "batch, length, batch * length"),
        ([(2, 3, 5), (2, 3, 5)], "rows, rows"),
        ([(2, 3, 5), (8, 8, 8)], "rows, 8"),
    ],
)
def test_numbers_that_follow_from_others(columns: list[tuple[int, ...]], written: str) -> None:
    assert f"(x, [{written}])" in aligned(shaped(*columns))


def pool(**more: Any) -> Body:
    given: dict[str, Any] = {"input_tensor": "x", "batch_size": 1, "input_h": 8, "input_w": 8, "channels": 32, "kernel_size": [2, 2], **more}
    return (_call("ttnn.max_pool2d", "x", True, **given),)


def loop(stop: int, start: int = 0, step: int = 1, variable: str = "i", op: str = "relu") -> Body:
    return (model.Loop(variable, start, Literal(stop), step, (_call(f"ttnn.{op}", "x", input_tensor="x"),), "layers"), model.Return((X,)))


def called(callee: str = "g", result: str = "y", *values: model.Argument, returned: bool = False) -> Body:
    return (model.CallFunction(callee, (X, *values), () if returned else (result,), returned=returned), model.Return((X,)))


def given(**values: int) -> tuple[model.NumberArgument, ...]:
    return tuple(model.NumberArgument(name, Literal(value)) for name, value in values.items())


def branch(key: str = "w", op: str = "relu", results: tuple[str, ...] = ("x",), other: str = "exp") -> Body:
    inside, outside = (_call(f"ttnn.{one}", "x", input_tensor="x") for one in (op, other))
    return (model.If(model.HasWeight((key,)), (inside,), (outside,), results), model.Return((X,)))


def by_name(*names: str, variable: str = "name", op: str = "relu") -> Body:
    return (model.NameLoop(variable, tuple((name,) for name in names), (_call(f"ttnn.{op}", "x", input_tensor="x"),)), model.Return((X,)))


def reduced(**more: Any) -> Body:
    return (_call("ttnn.sum", "x", True, input_tensor="x", **more),)


def best(**more: Any) -> Body:
    return (replace(_call("ttnn.topk", "x", input_tensor="x", k=3, **more), results=("values", "indices")),)


def noted(note: str) -> Body:
    return (replace(_call("ttnn.sum", "x", True, input_tensor="x"), note=note),)


ALIGNED: dict[str, tuple[list[Body], str]] = {
    "a number that one leaves out": ([best(dim=2), best()], "values, indices = ttnn.topk(x, 3, dim=dim) | dim 2 -1"),
    "a number that the first leaves out": ([best(), best(dim=2)], "values, indices = ttnn.topk(x, 3, dim=dim) | dim -1 2"),
    "a flag that one leaves out": ([best(largest=False), best()], "no"),
    "a number without default that one leaves out": ([reduced(dim=[1]), reduced()], "no"),
    "a needed number that one leaves out": ([pool(dilation=[2, 2]), pool()], "no"),
    "turns": ([loop(3), loop(4)], "for i in range(count): | x = ttnn.relu(x) | return x | count 3 4"),
    "equal turns": ([loop(3), loop(3)], "for i in range(3): | x = ttnn.relu(x) | return x | "),
    "turns from another number": ([loop(3), loop(3, start=1)], "no"),
    "turns by other steps": ([loop(4), loop(4, step=2)], "no"),
    "turns of another variable": ([loop(3), loop(3, variable="j")], "no"),
    "turns that do something else": ([loop(3), loop(3, op="exp")], "no"),
    "a loop and none": ([loop(3), (*loop(3)[0].body, model.Return((X,)))], "no"),  # type: ignore[union-attr]
    "calls of a function": ([called("g", "y", *given(size=3)), called("g", "y", *given(size=4))], "y = g(x, size=size) | return x | size 3 4"),
    "calls of two functions": ([called("g"), called("h")], "no"),
    "calls with other results": ([called("g", "y"), called("g", "z")], "no"),
    "a returned call": ([called("g"), called("g", returned=True)], "no"),
    "calls with more arguments": ([called("g", "y", *given(size=3)), called("g", "y")], "no"),
    "calls with another argument": ([called("g", "y", *given(size=3)), called("g", "y", *given(width=3))], "no"),
    "calls with other tensors": ([called("g", "y", X), called("g", "y", Y)], "no"),
    "branches": ([branch(), branch()], 'if "w" in weights: | x = ttnn.relu(x) | else: | x = ttnn.exp(x) | return x | '),
    "branches by another weight": ([branch(), branch("v")], "no"),
    "branches with other results": ([branch(), branch(results=())], "no"),
    "branches that do something else": ([branch(), branch(op="sin")], "no"),
    "branches that do something else otherwise": ([branch(), branch(other="sin")], "no"),
    "names": ([by_name("a", "b"), by_name("a", "b")], 'for name in ("a", "b"): | x = ttnn.relu(x) | return x | '),
    "other names": ([by_name("a", "b"), by_name("a", "c")], "no"),
    "names of another variable": ([by_name("a", "b"), by_name("a", "b", variable="key")], "no"),
    "names for something else": ([by_name("a", "b"), by_name("a", "b", op="exp")], "no"),
    "other results": ([(*pool(), model.Return((X,))), (*pool(), model.Return((Y,)))], "no"),
    "memory": ([reduced(memory_config=DRAM), reduced(memory_config=L1)], "return ttnn.sum(x, memory_config=memory_config) | memory_config - -"),
    "a flag": ([reduced(keepdim=True), reduced(keepdim=False)], "return ttnn.sum(x, keepdim=keepdim) | keepdim True False"),
    "two kinds of constants": ([reduced(keepdim=True), reduced(keepdim=1)], "no"),
    "lists of two lengths": ([reduced(dim=[1, 2]), reduced(dim=[1])], "no"),
    "lists": ([reduced(dim=[1, 2]), reduced(dim=[1, 3])], "return ttnn.sum(x, dim=[1, dim]) | dim 2 3"),
    "notes that differ": ([noted("[1]"), noted("[2]")], "return ttnn.sum(x) | "),
    "a note": ([noted("[1]"), noted("[1]")], "return ttnn.sum(x)  # [1] | "),
}  # fmt: skip


@table("case", ALIGNED)
def test_bodies_side_by_side(case: str) -> None:
    bodies, wanted = ALIGNED[case]
    assert aligned(bodies) == wanted


def add(result: str, one: str, two: str) -> model.Statement:
    return _call("ttnn.add", result, input_tensor_a=one, input_tensor_b=two)


def exp(result: str, of: str) -> model.Statement:
    return _call("ttnn.exp", result, input_tensor=of)


def two_of(one: str, two: str) -> model.Statement:
    return model.CallFunction("g", (X,), (one, two))


def turns(*body: model.Statement) -> model.Statement:
    return model.Loop("i", 0, Literal(3), 1, body)


RENAMED: dict[str, tuple[Body, Body, bool]] = {  # (one, another, whether one can have the names of the other)
    "the same": ((exp("a", "x"), exp("b", "a")), (exp("c", "x"), exp("d", "c")), True),
    "a name bound again": ((exp("a", "x"), exp("a", "a")), (exp("c", "x"), exp("d", "c")), True),
    "a value that is out of reach": ((exp("a", "x"), exp("b", "x"), exp("e", "a")), (exp("c", "x"), exp("c", "x"), exp("e", "c")), False),
    "a name that nothing binds": ((exp("a", "q"),), (exp("c", "x"),), False),
    "more statements": ((exp("a", "x"), exp("b", "a")), (exp("c", "x"),), False),
    "another kind": ((exp("a", "x"),), (model.Assign("c", X),), False),
    "assigned": ((model.Assign("a", X), exp("b", "a")), (model.Assign("c", X), exp("d", "c")), True),
    "a list": (
        (model.NewList("a"), model.Append("a", X), model.Free(("a", "x"))), (model.NewList("c"), model.Append("c", X), model.Free(("c", "x"))), True,
    ),
    "a list that nothing makes": ((model.Append("a", X),), (model.Append("c", X),), False),
    "two results": ((two_of("a", "b"), add("e", "a", "b")), (two_of("c", "d"), add("e", "c", "d")), True),
    "two results, turned": ((two_of("a", "b"), add("e", "a", "b")), (two_of("c", "d"), add("e", "d", "c")), False),
    "fewer results": ((two_of("a", "b"),), (model.CallFunction("g", (X,), ("c",)),), False),
    "a weight as a result": ((model.CallFunction("g", (X,), (model.WeightRef(("w",)),)),), (model.CallFunction("g", (X,), ("c",)),), False),
    "a result where the other has a weight": ((model.CallFunction("g", (X,), ("c",)),), (model.CallFunction("g", (X,), (model.WeightRef(("w",)),)),), False),
    "weights as results": ((model.CallFunction("g", (X,), (model.WeightRef(("w",)),)),), (model.CallFunction("g", (X,), (model.WeightRef(("w",)),)),), True),
    "turns": ((exp("a", "x"), turns(exp("a", "a"))), (exp("c", "x"), turns(exp("c", "c"))), True),
    "turns that carry another value": ((exp("a", "x"), exp("b", "x"), turns(exp("a", "b"))), (exp("c", "x"), exp("d", "x"), turns(exp("d", "d"))), False),
    "turns that carry none": ((exp("a", "x"), turns(exp("a", "a"))), (exp("c", "x"), turns(exp("d", "c"))), False),
    "elements": ((exp("x", "x"), model.Assign("a", model.Element("x", 1))), (exp("x", "x"), model.Assign("b", model.Element("x", 1))), True),
    "branches": (branch(), branch(), False),  # which side binds a name is not followed
}  # fmt: skip


@table("case", RENAMED)
def test_a_body_with_the_names_of_another(case: str) -> None:
    one, other, fits = RENAMED[case]
    try:
        made = renamed_like(function("one", one), function("other", other)).body
    except Mismatch:
        made = ()
    assert (made == other) == fits


@pytest.mark.parametrize(
    ("kinds", "others", "fits"),
    [
        (("tensor", "weights"), ("tensor", "weights"), True),
        (("tensors",), ("tensors",), True),
        (("tensor",), ("tensors",), False),
        (("tensor",), ("tensor", "tensor"), False),
        (("number",), ("number",), False),  # another number
    ],
)
def test_parameters_of_two_functions(kinds: tuple[str, ...], others: tuple[str, ...], fits: bool) -> None:
    one, other = (
        replace(
            function(name, ()),
            parameters=tuple(model.Parameter("weights" if kind == "weights" else f"{name}{place}", kind) for place, kind in enumerate(given)),
        )
        for name, given in (("p", kinds), ("q", others))
    )
    if fits:
        assert renamed_like(one, other).parameters == other.parameters
    else:
        with pytest.raises(Mismatch):
            renamed_like(one, other)


@pytest.mark.parametrize(
    ("one", "other", "inputs"),
    [
        ((add("a", "p", "q"), exp("b", "p")), (add("c", "r", "s"), exp("d", "r")), {"p": "r", "q": "s"}),
        ((add("a", "p", "p"),), (add("c", "r", "s"),), None),  # one input for two
        ((add("a", "p", "q"),), (add("c", "r", "r"),), None),
        ((exp("a", "p"), exp("b", "c")), (exp("c", "p"), exp("b", "c")), None),  # what the other has made is no input
    ],
)
def test_inputs_are_paired_where_they_first_occur(one: Body, other: Body, inputs: dict[str, str] | None) -> None:
    names = Renaming(open_=True)
    try:
        fits = names.block(one, other) == other
    except Mismatch:
        fits = False
    assert (names.inputs if fits else None) == inputs
