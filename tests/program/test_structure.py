"""Structure recovery: what becomes a function, what a loop, what stays flat."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import emit_py
from alchemist import codegen_py
from alchemist.ir.access import set_attr
from alchemist.ir.builder import Builder
from alchemist.ir.constant_names import name_of_values
from alchemist.ir.location import Frame
from alchemist.ops.spec import TTNN_OPS
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program, model
from alchemist.program.merge import merge_functions
from alchemist.program.model_source import Sources
from alchemist.program.names import snake_case
from alchemist.program.outline import compress
from tests.program.evaluate import run
from tests.program.models import FILE, TRANSFORMER_SOURCE, Sketch, program_of, result, transformer

DRAM, L1 = model.MemoryConfig(), model.MemoryConfig("l1")


def build(made: object, **options: object) -> model.Program:
    return program_of(made, CompilerOptions(**options))  # type: ignore[attr-defined,arg-type]


def loops(program: model.Program) -> list[model.Loop]:
    return [one for function in program.functions for one in model.statements(function.body) if isinstance(one, model.Loop)]


def test_one_function_per_module_class_and_a_loop_over_layers() -> None:
    program = build(transformer(5))
    assert [function.name for function in program.functions] == ["attention", "feed_forward", "block", "tiny"]
    assert [(one.start, one.step) for one in loops(program)] == [(0, 1)]
    assert program.functions[2].scopes == ("encoder.layer.{0..4}",)
    assert [function.name for function in program.prepare][-4:] == ["attention", "feed_forward", "block", "prepare"]


class _Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(32, 32), nn.LayerNorm(32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(torch.sin(self.linear(x)) + x)


class _OtherPart(_Part):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cos(self.norm(self.linear(x)))


class _OnlyCalls(nn.Module):
    """A post-norm layer: all that it does is done by its parts."""

    def __init__(self, *parts: type[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(part() for part in parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts:
            x = part(x)
        return x


class _Stack(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return torch.exp(x)


_THREE = (_Part, _OtherPart, _Part)


@pytest.mark.parametrize(
    ("layers", "functions"),
    [
        ([_OnlyCalls(*_THREE) for _ in range(4)], ["part", "other_part", "only_calls", "stack"]),
        ([_OnlyCalls(*_THREE)], ["part", "other_part", "stack"]),
        ([_OnlyCalls(_Part, _OtherPart) for _ in range(4)], ["part", "other_part", "stack"]),
        ([_OnlyCalls(_Part, _Part, _Part) for _ in range(4)], ["part", "stack"]),
        ([_OnlyCalls(*_THREE), _OnlyCalls(_Part, *_THREE)], ["part", "other_part", "stack"]),
    ],
    ids=["layers", "one of them", "two calls are as short", "a stage of equal blocks", "layers that differ"],
)
def test_a_layer_that_only_calls_is_a_function_where_it_is_one_of_several(layers: list[nn.Module], functions: list[str]) -> None:
    captured = capture(_Stack(*layers).eval(), (torch.randn(32, 32),), {}, "torch")
    made = build_program(lower_to_ttnn(captured.module, CompilerOptions()).module, captured, CompilerOptions())
    assert [function.name.removeprefix("_") for function in made.functions] == functions


def test_a_layer_that_differs_in_a_number_ends_the_loop_and_gives_it_to_the_function() -> None:
    made = transformer(5)
    norms = [op for op in made.module.walk() if op.name == "ttnn.layer_norm"]
    set_attr(norms[4], "epsilon", 1e-3)  # first norm of layer 2
    program = build(made)
    assert [function.name for function in program.functions] == ["attention", "feed_forward", "block", "tiny"]
    assert program.functions[2].parameters[-1] == model.Parameter("epsilon", "float", default=model.Literal(1e-5))
    assert [(one.start, one.stop) for one in loops(program)] == [(0, model.Literal(2)), (3, model.Literal(5))]
    flat = run(emit_py.emit(build(made, recover_structure=False)))
    assert run(emit_py.emit(program)) == flat


def test_layers_written_out_on_request() -> None:
    made = transformer(5)
    program = build(made, recover_loops=False)
    assert not loops(program)
    text = emit_py.emit(program)["main.py"]
    assert text.count(" = block(") == 5
    assert run(emit_py.emit(program)) == run(emit_py.emit(build(transformer(5))))


@pytest.mark.parametrize("const_eval", [True, False])
def test_flat_on_request(const_eval: bool) -> None:
    program = build(transformer(2, const_eval=const_eval), recover_structure=False)
    assert [function.name for function in program.functions] == ["tiny"]
    assert not loops(program)
    assert not program.outline


def test_without_any_location() -> None:
    """Files of other tools: one function named like the model, values named by their ops."""
    sketch = Sketch(None)  # type: ignore[arg-type]
    type_ = sketch.type((1, 32, 32))
    builder = Builder.module("forward", [("", type_, "input", None), ("", type_, "input", None)])
    a, b = builder.args
    total = builder.op("ttnn.add", [a, b], {}, [type_])
    out = builder.op("ttnn.multiply", [total, a], {}, [type_])
    builder.ret([out, total])
    program = build(result(builder.module_op, "", [], []))
    (function,) = program.functions
    assert function.name == "forward"
    assert [parameter.name for parameter in function.parameters] == ["arg_0", "arg_1"]
    assert [variable.name for variable in program.outputs] == ["output_0", "output_1"]
    text = emit_py.emit(program)["main.py"]
    assert "total = ttnn.add(arg_0, arg_1" in text
    assert "#" not in text[text.index("def forward") : text.index("def main")]


def test_statements_of_the_source() -> None:
    sources = Sources({FILE: TRANSFORMER_SOURCE + "class Bad(:\n"}, {})
    assert sources.statement(Frame(FILE, 7)) is not None  # a file that does not parse is quoted line by line
    sources = Sources({FILE: TRANSFORMER_SOURCE}, {"tiny.model.Block": (FILE, 20)})
    call = sources.statement(Frame(FILE, 22))  # a line in the middle of a call
    assert call is not None
    assert (call.line, call.text, call.targets, call.method) == (21, "attended = self.attention(...)", ("attended",), "attention")
    text = "for step in steps:\n    outputs.append(step(x) / 2)\nscores[..., :2] = bias\nout['k'] = x\nself.length.copy_(position[0])\n"
    grown = Sources({"grown.py": text}, {})
    targets = [grown.statement(Frame("grown.py", line)).targets for line in (2, 3, 4, 5)]  # type: ignore[union-attr]
    assert targets == [("output",), ("scores",), ("",), ("length",)]
    found = sources.function_of_class("tiny.model.Block")
    assert found is not None
    assert found[1].parameters == ("hidden_states", "mask")
    assert sources.statement(Frame("other.py", 1)) is None
    assert sources.statement(Frame(FILE, 10**6)) is None


TWO_CLASSES = """class Model:
    def forward(self, ids: Tensor, past: Cache | None, settings: ModelConfig, scale=2.0, *, mask: Tensor):
        hidden = self.layer(ids)
        return hidden

class Layer:
    def forward(self, x):
        keys = self.k(x)
        return keys
"""


def test_parameters_that_are_no_tensors_and_statements_of_other_classes() -> None:
    sources = Sources({FILE: TWO_CLASSES}, {"tiny.Model": (FILE, 2), "tiny.Layer": (FILE, 7)})
    found = sources.function_of_class("tiny.Model")
    assert found is not None
    assert found[1].plain == {"past", "settings", "scale"}
    own, other = (sources.statement(Frame(FILE, line)) for line in (3, 8))
    assert own is not None
    assert other is not None
    assert [sources.in_another_class("tiny.Model", one) for one in (own, other)] == [False, True]
    assert not sources.in_another_class("tiny.Unknown", other)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (np.arange(32).reshape(1, 32), "positions"),
        (np.broadcast_to(np.arange(4)[:, None], (4, 9)), "positions"),
        (np.arange(1, 33), "constant"),
        (np.eye(8), "identity"),
        (np.eye(8)[:5], "one_hot"),
        (np.tri(4, dtype=bool), "causal_mask"),
        (np.where(np.tri(4), 0.0, -np.inf), "causal_mask"),
        (np.where(np.tri(4, 5), 0.0, -np.inf), "mask"),
        (np.zeros((2, 3)), "zeros"),
        (np.ones(3), "ones"),
        (np.full(3, 7.0), "constant"),
        (np.linspace(0.0, 1.0, 9), "constant"),
        (np.array(0), "constant"),
    ],
)
def test_names_of_constants(values: np.ndarray[Any, Any], name: str) -> None:
    assert name_of_values(values) == name


@pytest.mark.parametrize(
    ("name", "snake"),
    [("BertSelfOutput", "bert_self_output"), ("GPT2Block", "gpt2_block"), ("ViTMLP", "vit_mlp"), ("CNN", "cnn"), ("T5", "t5"), ("SparseMoE", "sparse_moe")],
)
def test_snake_case(name: str, snake: str) -> None:
    assert snake_case(name) == snake


def test_scopes_are_compressed() -> None:
    assert compress(["a.0.b", "a.1.b", "a.3.b", "c"]) == ("c", "a.{0..1}.b", "a.3.b")


def _call(op: str, result: str, returned: bool = False, **given: object) -> model.Call:
    """A call with constants, lists of integers and names of tensors as arguments."""
    spec = TTNN_OPS[op]

    def value(one: object) -> model.Value:
        if isinstance(one, str):
            return model.TensorRef(one)
        if isinstance(one, model.MemoryConfig | model.DType):
            return one
        return model.Items(tuple(value(part) for part in one)) if isinstance(one, list) else model.Literal(one)  # type: ignore[arg-type]

    arguments = tuple((arg, value(given[arg.name])) for arg in spec.args if arg.name in given)
    assert len(arguments) == len(given)
    return model.Call(spec, arguments, () if returned else (result,), "", returned)


def _pool(size: int, channels: int, **more: object) -> model.Call:
    return _call("ttnn.max_pool2d", "x", True, input_tensor="x", batch_size=1, input_h=size, input_w=size, channels=channels, kernel_size=[2, 2], **more)


def _functions(*bodies: tuple[model.Call, ...]) -> list[model.Function]:
    made = [model.Function(f"f{index}", (model.Parameter("x"),), body, 1, "Pool") for index, body in enumerate(bodies)]
    calls = tuple(model.CallFunction(one.name, (model.TensorRef("x"),), ("x",)) for one in made)
    return [*made, model.Function("net", (model.Parameter("x"),), (*calls, model.Return((model.TensorRef("x"),))), 1)]


@pytest.mark.parametrize(
    ("bodies", "functions", "constants"),
    [
        (((_pool(8, 32),), (_pool(8, 32),)), 2, ()),  # equal: one function without parameters
        (((_pool(8, 32),), (_pool(4, 64),)), 2, ("input_size", "channels")),
        (((_pool(8, 32),), (_pool(4, 64),), (_pool(2, 96),)), 2, ("input_size", "channels")),
        (((_pool(8, 32),), (_pool(16, 64),), (_pool(24, 96),)), 2, ("input_size",)),  # channels = 4 * input_size
        (((_pool(8, 32, ceil_mode=True),), (_pool(4, 32, ceil_mode=False),)), 2, ("input_size", "ceil_mode")),
        (((_pool(8, 32, memory_config=L1),), (_pool(8, 32, memory_config=DRAM),)), 2, ("memory_config",)),
        (((_pool(8, 32, ceil_mode=True),), (_pool(8, 32, ceil_mode=1),)), 3, ()),  # constants of two kinds
        (((_pool(8, 32), _call("ttnn.relu", "x", input_tensor="x")), (_pool(8, 32),)), 3, ()),
        (((_call("ttnn.relu", "x", True, input_tensor="x"),), (_call("ttnn.exp", "x", True, input_tensor="x"),)), 3, ()),
        (
            tuple((_call("ttnn.reshape", "x", True, input_tensor="x", shape=[index + k**2 for index in range(9)]),) for k in (1, 2)),
            3,
            (),
        ),  # too many numbers
    ],
)
def test_functions_that_differ_in_constants_are_one(bodies: tuple[tuple[model.Call, ...], ...], functions: int, constants: tuple[str, ...]) -> None:
    merged = merge_functions(_functions(*bodies), set()).functions
    assert len(merged) == functions
    assert tuple(one.name for function in merged for one in function.parameters if one.kind in model.CONSTANT_KINDS) == constants
    for index, statement in enumerate(merged[-1].body[: len(bodies)]):
        assert isinstance(statement, model.CallFunction)
        callee = next(one for one in merged if one.name == statement.function)
        given = {one.name: one.value for one in statement.arguments if isinstance(one, model.NumberArgument)}
        assert _evaluated(callee.body, given) == _evaluated(bodies[index], {})


def _evaluated(body: tuple[model.Statement, ...], numbers: dict[str, model.Value]) -> list[object]:
    """The body's calls with all constants filled in."""
    known = {name: one.value for name, one in numbers.items() if isinstance(one, model.Literal)}

    def value(one: model.Value) -> object:
        if isinstance(one, model.NumberRef):
            return eval(one.name, {}, dict(known))
        if isinstance(one, model.ParameterRef):
            return value(numbers[one.name])
        return [value(part) for part in one.items] if isinstance(one, model.Items) else getattr(one, "value", one)

    return [(one.spec.name, [(arg.name, value(given)) for arg, given in one.arguments]) for one in body if isinstance(one, model.Call)]


class _Scaled(nn.Module):
    """A module with another activation in every layer, so that one function cannot serve all."""

    def __init__(self, activation: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.linear = nn.Linear(32, 32)
        self.activation = activation

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.activation(self.linear(hidden)) * 2


class _Layer(nn.Module):
    def __init__(self, activation: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.self = _Scaled(activation)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.self(hidden))


class _Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = _Layer(torch.relu), _Layer(torch.sin)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(hidden))


def test_variants_of_a_module_are_not_named_by_an_attribute_they_share(tmp_path: Path) -> None:
    """`self.self` of the second layer is no better a name than of the first; the layers themselves are told apart by theirs."""
    codegen_py(_Model().eval(), torch.zeros(2, 32), export_path=tmp_path / "model")
    functions = re.findall(r"^def (\w+)", (tmp_path / "model" / "main.py").read_text(), re.MULTILINE)
    assert functions == ["scaled_first", "layer_first", "scaled_second", "layer_second", "model", "main"]


class Layers(nn.Module):
    """Several statements per layer that are no module of their own."""

    def __init__(self, width: int = 64, layers: int = 4) -> None:
        super().__init__()
        self.up = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for up, down in zip(self.up, self.down, strict=True):
            y = torch.relu(up(x))
            x = x + down(y * torch.tanh(y))
        return x


def test_values_of_a_turn_end_with_it(tmp_path: Path) -> None:
    """A loop's variables would hold their memory through the next turn, where the plan has counted it as free."""
    codegen_py(Layers().eval(), torch.randn(2, 32, 64), export_path=tmp_path / "out", export_golden="none")
    loops = [node for node in ast.walk(ast.parse((tmp_path / "out" / "main.py").read_text())) if isinstance(node, ast.For) and len(node.body) > 1]
    assert loops
    for loop in loops:
        names = [node for node in ast.walk(loop) if isinstance(node, ast.Name) and node is not loop.target]
        made = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        first = {name: min((node.lineno, isinstance(node.ctx, ast.Store)) for node in names if node.id == name) for name in made}
        read_later = {
            name for name, (line, _) in first.items() if any(node.id == name and isinstance(node.ctx, ast.Load) and node.lineno <= line for node in names)
        }
        deleted = {name.id for name in names if isinstance(name.ctx, ast.Del)}
        assert made - read_later - {"x"} == deleted, ast.unparse(loop)
