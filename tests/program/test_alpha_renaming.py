"""Functions that are the same but for names become one; ends that a class's functions share become a function."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alchemist.ops.spec import TTNN_OPS
from alchemist.program import model
from alchemist.program.alpha_renaming import Mismatch, renamed_like
from alchemist.program.merge import merge_functions
from alchemist.program.tail_merging import share_tails, with_tails


def call(text: str) -> model.Statement:
    """ "y = add a b": a call; "del a b"; "return add a b"; "": a blank line; "# text"."""
    if not text:
        return model.Blank()
    if text.startswith("#"):
        return model.Comment(text[2:])
    words = text.split()
    if words[0] == "del":
        return model.Free(tuple(words[1:]))
    returned = words[0] == "return"
    op, *operands = words[1:] if returned else words[2:]
    spec = TTNN_OPS[f"ttnn.{op}"]
    arguments = tuple((arg, model.TensorRef(name)) for arg, name in zip(spec.args, operands, strict=False))
    return model.Call(spec, arguments, () if returned else (words[0],), "", returned)


def function(name: str, parameters: str, *lines: str, module: str = "Layer") -> model.Function:
    return model.Function(name, tuple(model.Parameter(one) for one in parameters.split()), tuple(call(line) for line in lines), 1, module=module)


def entry(*functions: model.Function) -> model.Function:
    calls = [model.CallFunction(one.name, tuple(model.TensorRef("x") for _ in one.parameters), ("x",)) for one in functions]
    return model.Function("net", (model.Parameter("x"),), (*calls, model.Return((model.TensorRef("x"),))), 1)


SAME = {
    "other names": (("a b", "c = add a b", "return exp c"), ("x y", "z = add x y", "return exp z")),
    "one name bound twice": (("a", "b = exp a", "b = exp b", "return add b b"), ("a", "a = exp a", "a = exp a", "return add a a")),
}
DIFFERENT = {
    "operands swapped": (("a b", "c = subtract a b", "return exp c"), ("a b", "c = subtract b a", "return exp c")),
    "another value under the same name": (
        ("a", "b = exp a", "c = relu b", "return add b c"),
        ("a", "b = exp a", "b = relu b", "return add b b"),
    ),
    "more parameters": (("a", "return exp a"), ("a b", "return exp a")),
    "another op": (("a", "return exp a"), ("a", "return relu a")),
}


@pytest.mark.parametrize("case", SAME)
def test_same_but_for_names(case: str) -> None:
    one, two = (function(name, *body) for name, body in zip(("one", "two"), SAME[case], strict=True))
    merged = merge_functions([one, two, entry(one, two)], set())
    assert [made.name for made in merged.functions] == ["one", "net"]
    assert merged.functions[0].body == one.body


@pytest.mark.parametrize(
    ("others", "name"), [((), "double"), (("double",), "double_2")], ids=["the class's name is free", "a function of the class is another one"]
)
def test_a_merged_function_is_not_called_after_one_module(others: tuple[str, ...], name: str) -> None:
    two, three = (function(one, *body) for one, body in zip(("down2", "down3"), SAME["other names"], strict=True))
    more = [function(one, "a", "return relu a") for one in others]
    bases = {"double": "double", "down2": "double", "down3": "double"}
    merged = merge_functions([*more, two, three, entry(two, three)], set(), bases)
    assert [made.name for made in merged.functions] == [*others, name, "net"]
    assert merged.renamed["down3"] == name


@pytest.mark.parametrize("case", DIFFERENT)
def test_not_the_same(case: str) -> None:
    one, two = (function(name, *body) for name, body in zip(("one", "two"), DIFFERENT[case], strict=True))
    assert len(merge_functions([one, two, entry(one, two)], set()).functions) == 3


def test_a_name_of_which_two_values_need_one_is_refused() -> None:
    one = function("one", "a", "b = exp a", "c = relu a", "return add b c")
    two = function("two", "a", "b = exp a", "b = relu a", "return add b b")
    with pytest.raises(Mismatch):
        renamed_like(one, two)


def end(mixed: str, other: str) -> list[str]:
    """An end of 20 lines that needs two values."""
    steps = [line for index in range(6) for line in ("", f"# {10 + index}: z = step(z)", f"{mixed} = exp {mixed}")]
    return ["", "# 9: z = a + b", f"{mixed} = add {mixed} {other}", *steps, "", f"return multiply {mixed} {mixed}"]


def forms(rebound: str = "y") -> list[model.Function]:
    one = function("one", "x", f"{rebound} = exp x", *end(rebound, "x"))
    two = function("two", "x", "q = relu x", "", "w = sin q", "del q", *end("w", "x"))
    three = function("three", "x", "q = relu x", *end("q", "x")[:-1], "return add q q")
    return [one, two, three]


def test_ends_are_shared() -> None:
    given = forms()
    shared = share_tails([*given, entry(*given)], {"one", "two", "three", "net"})
    assert [one.name for one in shared.functions] == ["layer_tail", "one", "two", "three", "net"]
    assert shared.tails == {"one": "layer_tail", "two": "layer_tail"}
    tail, one, two, three, _ = shared.functions
    assert [parameter.name for parameter in tail.parameters] == ["y", "x"]
    assert one.body[-1] == model.CallFunction("layer_tail", (model.TensorRef("y"), model.TensorRef("x")), (), returned=True)
    assert two.body[-1] == model.CallFunction("layer_tail", (model.TensorRef("w"), model.TensorRef("x")), (), returned=True)
    assert three == given[2]
    assert tail.doc == "Layer from line 9 on, the same in one and two."


def test_forms_may_take_other_parameters() -> None:
    """Forms of one layer begin differently, so that one may take a tensor more."""
    one, _, _ = forms()
    two = function("two", "x states", "q = relu states", "", "w = add q x", "del q", *end("w", "x"))
    assert share_tails([one, two, entry(one, two)], set()).tails == {"one": "layer_tail", "two": "layer_tail"}


def test_an_end_begins_at_a_call_where_a_body_is_one_paragraph() -> None:
    """What one form gives up of its own and the other has from its caller is no difference; the comment above stands above the end, too."""
    steps = [f"z = {op} z" for op in ("exp", "sin", "cos", "relu") * 6]
    one = function("one", "x", "# 7: all", "y = relu x", "z = add y x", *steps, "return exp z")
    two = function("two_long", "x", "# 7: all", "w = sin x", "y = relu w", "z = add y w", "del y w", *steps, "return exp z")
    shared = share_tails([one, two, entry(one, two)], set())
    tail, short, _, _ = shared.functions
    assert tail.name == "layer_tail"
    assert [parameter.name for parameter in tail.parameters] == ["y", "x"]
    assert tail.body[0] == one.body[0]
    assert short.body[-1] == model.CallFunction("layer_tail", (model.TensorRef("y"), model.TensorRef("x")), (), returned=True)


@pytest.mark.parametrize(("elements", "is_shared"), [(1 << 19, True), (1 << 20, False)])
def test_an_end_that_frees_a_large_tensor_in_l1_stays_in_its_functions(elements: int, is_shared: bool) -> None:
    """The functions would hold what they hand over until it returns."""

    def form(name: str, op: str) -> model.Function:
        made = function(name, "x", f"y = {op} x", *end("y", "x"))
        begun = made.body[0]
        assert isinstance(begun, model.Call)
        return replace(made, body=(replace(begun, l1_elements=(elements,)), *made.body[1:]))

    given = [form("one", "exp"), form("two", "relu")]
    assert bool(share_tails([*given, entry(*given)], set()).tails) == is_shared


def test_ends_that_differ_in_integers_take_them() -> None:
    """Each form hands over its own; another number than an integer is another end."""
    spec = TTNN_OPS["ttnn.reshape"]

    def form(name: str, start: str, size: int) -> model.Function:
        made = function(name, "x", f"y = {start} x", *end("y", "x"))
        shaped = model.Call(spec, ((spec.args[0], model.TensorRef("y")), (spec.args[1], model.Items((model.Literal(size), model.Literal(32))))), ("y",))
        return model.Function(name, made.parameters, (*made.body[:-2], shaped, *made.body[-2:]), 1, module="Layer")

    given = [form("one", "exp", 64), form("two", "relu", 128), form("three", "sin", 64)]
    shared = share_tails([*given, entry(*given)], set())
    tail = shared.functions[0]
    (size,) = (parameter.name for parameter in tail.parameters if parameter.kind == "number")
    handed = {one.name: one.body[-1].arguments[-1] for one in shared.functions[1:4] if isinstance(one.body[-1], model.CallFunction)}
    assert handed == {name: model.NumberArgument(size, model.Literal(value)) for name, value in (("one", 64), ("two", 128), ("three", 64))}
    assert [value for one in tail.body if isinstance(one, model.Call) and one.spec is spec for _, value in one.arguments][1] == model.Items(
        (model.NumberRef(size), model.Literal(32))
    )


def test_ends_of_other_classes_and_short_ones_stay() -> None:
    one, two, _ = forms()
    two = function("two", "x", "q = relu x", *end("q", "x"), module="Other")
    assert share_tails([one, two, entry(one, two)], set()).functions == [one, two, entry(one, two)]
    short = [function(name, "x", f"y = {op} x", "", "return exp y") for name, op in (("one", "exp"), ("two", "relu"))]
    assert not share_tails([*short, entry(*short)], set()).tails


def test_a_list_is_not_handed_to_an_end() -> None:
    def filled(name: str, op: str) -> model.Function:
        begun = function(name, "x", f"y = {op} x", *end("y", "x"))
        listed = (model.NewList("ys"), model.Append("ys", model.TensorRef("y")), model.Blank())
        joined = model.Call(TTNN_OPS["ttnn.concat"], ((TTNN_OPS["ttnn.concat"].args[0], model.TensorRef("ys")),), ("y",))
        return model.Function(name, begun.parameters, (begun.body[0], *listed, joined, *begun.body[1:]), 1, module="Layer")

    given = [filled("one", "exp"), filled("two", "relu")]
    shared = share_tails([*given, entry(*given)], set())
    assert [parameter.name for parameter in shared.functions[0].parameters] == ["y", "x"]  # the end starts behind the join


def test_the_outline_shows_a_tail_once() -> None:
    rows = [model.OutlineRow(0, "net"), model.OutlineRow(1, "one"), model.OutlineRow(2, "inner"), model.OutlineRow(1, "two")]
    made = with_tails(rows, {"one": "tail", "two": "tail"})
    assert [(row.depth, row.function) for row in made] == [(0, "net"), (1, "one"), (2, "inner"), (2, "tail"), (1, "two")]
