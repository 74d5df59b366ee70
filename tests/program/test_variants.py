"""Functions of a class that differ in one part, or at an edge: one function with a branch, or with the edge in the caller."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_cpp, codegen_py
from alchemist.frontends.torch import capture
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.program import build_program, model
from alchemist.program.merge import Merged, merge_functions
from alchemist.program.variants import Places, places_of
from tests import running
from tests.program.test_alpha_renaming import call as plain_call

DRAM, L1 = model.MemoryConfig(), model.MemoryConfig("l1")
NAMES = frozenset({"a.w", "a.same", "b.v", "b.same"})


def call(text: str) -> model.Statement:
    """As there; a name with a point in front is a weight."""
    made = plain_call(text)
    if not isinstance(made, model.Call):
        return made
    read = tuple(
        (arg, model.WeightRef((value.name[1:],)) if isinstance(value, model.TensorRef) and value.name.startswith(".") else value)
        for arg, value in made.arguments
    )
    return replace(made, arguments=read)


def function(name: str, lines: list[str], module: str = "Layer") -> model.Function:
    parameters = (model.Parameter("x"), model.Parameter("weights", "weights"))
    return model.Function(name, parameters, tuple(call(line) for line in lines), 1, module=module)


def entry(**scopes: str) -> model.Function:
    """Calls functions for modules. scopes: function -> the module's name."""
    calls = [model.CallFunction(name, (model.TensorRef("x"), model.ScopeArgument("weights", (scope,))), ("x",)) for name, scope in scopes.items()]
    body = (*calls, model.Return((model.TensorRef("x"),)))
    return model.Function("net", (model.Parameter("x"), model.Parameter("weights", "weights")), body, 1)


TAIL = ["", "# tail", *[f"y = {op} y" for op in ("exp", "relu", "abs", "neg", "sin", "cos", "tanh", "sqrt", "rsqrt", "log", "gelu", "silu")], "return exp y"]


def merged(one: list[str], two: list[str], names: frozenset[str] = NAMES) -> Merged:
    functions = [function("one", one), function("two", two), entry(one="a", two="b")]
    places = places_of(functions, names)
    assert places is not None
    return merge_functions(functions, set(), None, places)


def test_one_part_that_differs_is_a_branch() -> None:
    made = merged(["# head", "y = add x .w", *TAIL], ["# head", "z = add x .v", "z = relu z", "", "# tail", *[line.replace("y", "z") for line in TAIL[2:]]])
    first, net = made.functions
    branches = [one for one in first.body if isinstance(one, model.If)]
    assert [(one.condition, one.results) for one in branches] == [(model.HasWeight(("w",)), ("y",))]
    assert [len(branches[0].body), len(branches[0].otherwise)] == [2, 3]
    assert all(result == "y" for one in model.statements((branches[0],)) if isinstance(one, model.Call) for result in one.results)
    assert [one.function for one in net.body if isinstance(one, model.CallFunction)] == ["one", "one"]
    assert made.renamed == {"one": "one", "two": "one"}


def test_a_flag_where_no_weight_tells_the_parts_apart() -> None:
    made = merged(["y = add x .same", *TAIL], ["y = add x .same", "y = relu y", *TAIL])
    first, net = made.functions
    assert [one.condition for one in first.body if isinstance(one, model.If)] == [model.ParameterRef("with_relu")]
    flags = [call.arguments[-1] for call in net.body if isinstance(call, model.CallFunction)]
    assert flags == [model.NumberArgument("with_relu", model.Literal(value)) for value in (False, True)]


OPS = [f"y = {op} y" for op in ("exp", "relu", "abs", "neg", "sin", "cos", "tanh", "sqrt", "rsqrt", "log", "gelu", "silu")]


def test_a_part_that_only_one_form_has() -> None:
    """A projection of what goes past a block: without it, the block's input goes past."""
    block = ["y = add x .same", *OPS]
    made = merged([*block, "", "# shortcut", "z = add x .w", "", "# sum", "return add y z"], [*block, "", "# sum", "return add y x"])
    assert [one.name for one in made.functions] == ["one", "net"]
    kept = made.functions[0].body
    branch = next(place for place, one in enumerate(kept) if isinstance(one, model.If))
    assert kept[branch - 2 : branch + 1] == (
        model.Comment("shortcut"),
        model.Assign("z", model.TensorRef("x")),
        model.If(model.HasWeight(("w",)), (call("z = add x .w"),), (), ("z",)),
    )
    assert kept[-1] == call("return add y z")


@pytest.mark.parametrize(("calls", "names"), [(2, ["one", "net"]), (12, ["one", "two", "net"])])
def test_forms_stay_apart_where_calls_with_a_flag_are_longer(calls: int, names: list[str]) -> None:
    block = ["y = add x .same", *OPS]
    forms = [function("one", [*block, "return exp y"]), function("two", [*block, "y = relu y", "return exp y"])]
    scope = "encoder_layers_of_which_a_call_fills_its_line_so_that_a_flag_does_not_fit_behind"
    scopes = [f"{scope}{number}" for number in range(2 * calls)]
    steps = [
        model.CallFunction(forms[place % 2].name, (model.TensorRef("x"), model.ScopeArgument("weights", (key,))), ("x",)) for place, key in enumerate(scopes)
    ]
    net = replace(entry(), body=(*steps, model.Return((model.TensorRef("x"),))))
    places = places_of([*forms, net], frozenset(f"{one}.same" for one in scopes))
    assert [one.name for one in merge_functions([*forms, net], set(), None, places).functions] == names


def test_functions_of_which_all_together_tell_a_number_by_others() -> None:
    """The first and second alone would take more numbers than a function may."""
    columns = [(256, 4, 3, 64), (64, 2, 32, 32), (32, 2, 64, 16), (16, 2, 160, 8)]
    other = [(7, 1, 32, 11), (3, 2, 64, 12), (3, 5, 160, 14), (3, 8, 256, 13)]

    def form(name: str, numbers: tuple[int, ...]) -> model.Function:
        made = function(name, ["y = add x .same", *OPS, *OPS, "return exp y"])
        arguments = tuple(model.NumberArgument(f"n{place}", model.Literal(number)) for place, number in enumerate(numbers))
        inner = model.CallFunction("inner", (model.TensorRef("y"), *arguments), ("y",))
        return replace(made, body=(*made.body[:-1], inner, made.body[-1]))

    inner = model.Function("inner", (model.Parameter("x"), *(model.Parameter(f"n{place}", "number") for place in range(8))), (call("return exp x"),), 1)
    forms = [form(f"form_{place}", (*one, *two)) for place, (one, two) in enumerate(zip(columns, other, strict=True))]
    net = entry(**{one.name: one.name for one in forms})
    functions = [inner, *forms, net]
    places = places_of(functions, frozenset(f"{one.name}.same" for one in forms))
    assert [one.name for one in merge_functions(functions, set(), None, places).functions] == ["inner", "form_0", "net"]


def test_a_sum_at_the_end_of_one_form() -> None:
    """A block that adds its input and one that does not, which gives its tensors other names and the caller's line as its comment."""
    own, other = ["# mine", "y = add x .same", *OPS], ["# theirs", *(line.replace("y", "x") for line in ("y = add x .same", *OPS))]
    made = merged([*own, "", "# sum", "return add x y"], [*other[:-1], "return silu x"])
    assert [one.name for one in made.functions] == ["one", "net"]
    first, net = made.functions
    assert first.body[-2:] == (model.If(model.ParameterRef("with_residual"), (call("y = add x y"),), (), ("y",)), model.Return((model.TensorRef("y"),)))
    assert not any(isinstance(one, model.Comment) and one.text in ("mine", "theirs") for one in first.body)
    flags = [one.arguments[-1] for one in net.body if isinstance(one, model.CallFunction)]
    assert flags == [model.NumberArgument("with_residual", model.Literal(value)) for value in (True, False)]


def test_a_form_keeps_no_tensor_that_only_the_others_part_reads() -> None:
    block = ["t = add x .same", "y = exp t", *OPS]
    made = merged([*block, "", "y = add y t", "return abs y"], [*block[:2], "del t", *OPS, "", "return abs y"])
    assert [one.name for one in made.functions] == ["one", "two", "net"]


def test_a_loop_of_two_turns_that_another_form_has_written_out() -> None:
    def weight(number: int) -> model.Statement:
        return call(f"y = add {'y' if number else 'x'} .{number}.w")

    steps = (weight(0), *(call(line) for line in OPS), weight(1), *(call(line) for line in OPS[:-1]), call("return silu y"))
    turn = tuple(call(line) for line in ("x = add x .w", *(one.replace("y", "x") for one in OPS)))
    added = turn[0]
    assert isinstance(added, model.Call)
    key = (model.Index("i"), ".w")
    inner = replace(added, arguments=tuple((arg, model.WeightRef(key) if isinstance(value, model.WeightRef) else value) for arg, value in added.arguments))
    loop = model.Loop("i", 0, model.Literal(2), 1, (inner, *turn[1:]))
    plain = replace(function("one", []), body=steps)
    rolled = replace(function("two", []), body=(loop, model.Blank(), model.Return((model.TensorRef("x"),))))
    functions = [plain, rolled, entry(one="a", two="b")]
    made = merge_functions(functions, set(), None, places_of(functions, frozenset()))
    assert [one.name for one in made.functions] == ["one", "net"]


@pytest.mark.parametrize(
    ("one", "two", "names"),
    [
        pytest.param(["y = add x .w", *TAIL[-4:]], ["y = add x .v", "y = relu y", *TAIL[-4:]], NAMES, id="too short to gain"),
        pytest.param(["y = add x .w", *TAIL], ["y = add x .v", "y = relu y", *TAIL[:-1], "return abs y"], NAMES, id="the end differs, too"),
        pytest.param(
            ["y = add x .w", *TAIL[:-1], "return add y x"],
            ["y = add x .v", "x = relu x", *TAIL[:-1], "return add y x"],
            NAMES,
            id="a side changes what is read",
        ),
    ],
)
def test_no_branch(one: list[str], two: list[str], names: frozenset[str]) -> None:
    made = merged(one, two, names)
    assert [each.name for each in made.functions] == ["one", "two", "net"]
    assert not any(isinstance(statement, model.If) for each in made.functions for statement in model.statements(each.body))


@pytest.mark.parametrize(("name", "left"), [("x", ["one", "net"]), ("states", ["one", "two", "net"])])
def test_a_parameter_with_two_names_has_two_meanings(name: str, left: list[str]) -> None:
    """A mask in one function and the other sequence in the other one."""
    other = function("two", [line.replace(" x", f" {name}") for line in ("y = add x .v", "y = relu y", *TAIL)])
    other = replace(other, parameters=(model.Parameter(name), other.parameters[1]))
    functions = [function("one", ["y = add x .w", *TAIL]), other, entry(one="a", two="b")]
    assert [each.name for each in merge_functions(functions, set(), None, places_of(functions, NAMES)).functions] == left


def test_what_a_branch_calls_comes_before_it() -> None:
    """The branch of a later function calls one that stands in front of that one, behind the first."""
    helper = function("helper", [f"y = {op} x" for op in ("exp", "abs")] + ["return exp y"], "Helper")
    called = model.CallFunction("helper", (model.TensorRef("x"), model.ScopeArgument("weights", ("",))), ("y",))
    one, two = function("one", ["y = add x .w", *TAIL]), function("two", TAIL)
    functions = [one, helper, replace(two, body=(called, *two.body)), entry(one="a", two="b")]
    made = merge_functions(functions, set(), None, places_of(functions, NAMES))
    assert [each.name for each in made.functions] == ["helper", "one", "net"]
    assert merge_functions(made.functions, set(), None, places_of(made.functions, NAMES)).functions == made.functions


def test_where_functions_are_called() -> None:
    body = model.CallFunction("one", (model.TensorRef("x"), model.ScopeArgument("weights", ("layers.", model.Index("i")))), ("x",))
    net = entry()
    loop = model.Loop("i", 0, model.Literal(3), 1, (body,))
    found = places_of([function("one", TAIL), replace(net, body=(loop, *net.body))], frozenset())
    assert found == Places({"net": frozenset({""}), "one": frozenset({"layers.0.", "layers.1.", "layers.2."})}, frozenset())
    unknown = replace(loop, stop=model.NumberRef("count"))
    assert places_of([function("one", TAIL), replace(net, body=(unknown, *net.body))], frozenset()) is None


def segformer() -> tuple[nn.Module, torch.Tensor]:
    """Three stages: two with a reduced sequence, with one head and with two, and one without."""
    from transformers import SegformerConfig, SegformerModel

    torch.manual_seed(0)
    config = SegformerConfig(
        num_encoder_blocks=3, depths=[1, 1, 1], sr_ratios=[4, 2, 1], hidden_sizes=[32, 64, 96], patch_sizes=[7, 3, 3], strides=[4, 2, 2],
        num_attention_heads=[1, 2, 3], mlp_ratios=[2, 2, 2],
    )  # fmt: skip
    return SegformerModel(config).eval(), torch.rand(1, 3, 64, 64)


@pytest.mark.parametrize("language", ["py", pytest.param("cpp", marks=pytest.mark.slow)])
def test_branches_give_the_models_values(tmp_path: Path, language: str) -> None:
    module, image = segformer()
    made = (codegen_py if language == "py" else codegen_cpp)(module, image, export_path=tmp_path / "made")
    done = running.run(made.path, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (made.path / ("main.py" if language == "py" else "model.cpp")).read_text()
    assert text.count('"qkv_proj.weight_t" in weights' if language == "py" else 'weights.contains("qkv_proj.weight_t")') == 1
    if language == "py":  # three stages, one function for each kind of module
        assert re.findall(r"def (\w+_(?:attention|layer|stage))\(", text) == ["segformer_attention", "segformer_layer", "segformer_stage"]


class Attention(nn.Module):
    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(64, 64) for _ in range(4))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        q, k, v = (layer(value).view(1, -1, self.heads, 64 // self.heads).transpose(1, 2) for layer, value in ((self.q, x), (self.k, y), (self.v, y)))
        found = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.o(found.transpose(1, 2).reshape(1, -1, 64))


class Two(nn.Module):
    def __init__(self, heads: tuple[int, int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Attention(count) for count in heads)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x, y)
        return x


class Written(Attention):
    """Each split in a statement of its own."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        q = self.q(x).view(1, -1, self.heads, 32).transpose(1, 2)
        k = self.k(y).view(1, -1, self.heads, 32).transpose(1, 2)
        v = self.v(y).view(1, -1, self.heads, 32).transpose(1, 2)
        first = nn.functional.scaled_dot_product_attention(q, k, v)
        other = self.k(x).view(1, -1, self.heads, 32).transpose(1, 2)
        found = nn.functional.scaled_dot_product_attention(first, other, other)
        return self.o(found.transpose(1, 2).reshape(1, -1, 64))


@pytest.mark.parametrize("level", [0, 2])
def test_many_splits_are_calls_of_one_function(level: int) -> None:
    options = CompilerOptions(optimization_level=level)
    result = capture(Written(2).eval(), (torch.rand(1, 64, 64), torch.rand(1, 32, 64)), {})
    made = build_program(lower_to_ttnn(result.module, options).module, result, options)
    (split,) = (each for each in made.functions if each.name == "split_heads")
    assert not any(isinstance(one, model.If) for one in split.body), "no call has one head"
    calls = [one for each in made.functions for one in each.body if isinstance(one, model.CallFunction) and one.function == "split_heads"]
    assert len(calls) == 4


@pytest.mark.parametrize(("heads", "shared", "functions"), [((1, 2), True, 1), ((2, 4), False, 2), ((2, 2), False, 1), ((1, 1), False, 1)])
def test_heads_are_split_by_a_function_where_some_have_one(heads: tuple[int, int], shared: bool, functions: int) -> None:
    result = capture(Two(heads).eval(), (torch.rand(1, 64, 64), torch.rand(1, 32, 64)), {})
    lowered = lower_to_ttnn(result.module, CompilerOptions())
    made = build_program(lowered.module, result, CompilerOptions())
    names = [each.name for each in made.functions]
    assert ({"split_heads", "join_heads"} <= set(names)) == shared
    assert len([name for name in names if name.startswith("attention")]) == functions
    kinds = ("reshape", "permute", "concatenate_heads")
    ops = [op.name.removeprefix("ttnn.") for op in lowered.module.walk()]
    steps = [step.op.rpartition(".")[2] for step in made.steps]
    assert sorted(step for step in steps if step in kinds) == sorted(op for op in ops if op in kinds)  # what the function calls counts, too
