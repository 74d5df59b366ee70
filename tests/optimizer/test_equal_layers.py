"""Level 2 gives equal layers one choice, so that they stay one function."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from xdsl.utils.test_value import create_ssa_value

import emit_py
from alchemist import codegen_py
from alchemist.errors import InternalError
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import TTNNLayout
from alchemist.ir.location import set_source
from alchemist.optimizer import graph as graph_module
from alchemist.optimizer.apply import _in_module_of, layout_in
from alchemist.optimizer.graph import DRAM, L1, ends_of, forward_of, scopes_of
from alchemist.optimizer.machine import machine
from alchemist.optimizer.search import Plan, Taken, consistent, fastest_consistent
from alchemist.optimizer.sharded import block as block_shards
from alchemist.optimizer.sharded import memories
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program
from tests import running


class Attention(torch.nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = hidden.shape
        query, key, value = self.qkv(hidden).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        context = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(context.transpose(1, 2).reshape(batch, tokens, width))


class Block(torch.nn.Module):
    def __init__(self, width: int = 256, heads: int = 4) -> None:
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = hidden + self.attention(self.norm1(hidden))
        return hidden + self.down(torch.nn.functional.gelu(self.up(self.norm2(hidden))))


class Encoder(torch.nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(depth))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            hidden = block(hidden)
        return hidden


class Model(torch.nn.Module):
    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(1000, 256)
        self.encoder = Encoder(depth)
        self.head = torch.nn.Linear(256, 1000)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.embed(tokens)))


def made() -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return Model().eval().to(torch.bfloat16), torch.randint(0, 1000, (1, 128))


def test_layers_whose_first_input_is_made_elsewhere_are_one_function(tmp_path: Path) -> None:
    """An embedding makes no shards, the later layers find shards: its result is moved in front of the loop."""
    model, tokens = made()
    codegen_py(model, tokens, export_path=tmp_path / "out", compiler_options={"optimization_level": 2})
    text = (tmp_path / "out/main.py").read_text()
    assert len(re.findall(r"^def block", text, re.MULTILINE)) == 1 and "for i in range" in text, text
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = torch.nn.LSTM(32, 32, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rnn(x)[0]


def test_the_first_step_of_a_recurrent_layer_is_like_the_others() -> None:
    """Its state is a constant, which may not move; the config of its product gains as little as that of each other step."""
    result = capture(Recurrent().eval(), (torch.randn(2, 5, 32),), {}, "torch")
    options = CompilerOptions(optimization_level=2)
    text = emit_py.emit(build_program(lower_to_ttnn(result.module, options).module, result, options))["main.py"]
    assert len(re.findall(r"^def lstm_cell", text, re.MULTILINE)) == 1 and "for i in range(NUM_STEPS)" in text, text


class Cell(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.LSTMCell(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden, memory, outputs = torch.zeros(2, 32), torch.zeros(2, 32), []
        for step in range(4):
            hidden, memory = self.cell(x[:, step], (hidden, memory))
            outputs.append(hidden)
        return torch.stack(outputs, 1)


def test_the_first_call_of_a_cell_is_like_the_others() -> None:
    """Later calls of the module have a number in their paths."""
    result = capture(Cell().eval(), (torch.randn(2, 4, 32),), {}, "torch")
    options = CompilerOptions(optimization_level=2)
    text = emit_py.emit(build_program(lower_to_ttnn(result.module, options).module, result, options))["main.py"]
    assert len(re.findall(r"^def lstm_cell", text, re.MULTILINE)) == 1 and "for i in range(NUM_STEPS)" in text, text


class Summary(torch.nn.Module):
    """A decoder that begins with what a dense layer makes of the encoder's last state."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.encoder, self.decoder = (torch.nn.GRU(width, width, batch_first=True) for _ in range(2))
        self.bridge = torch.nn.Linear(width, width)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        _, state = self.encoder(source)
        return self.decoder(target, torch.tanh(self.bridge(state)))[0]


def test_the_last_step_of_a_recurrent_layer_is_like_the_others() -> None:
    """The bridge reads the last state from another memory, and one concat reads all steps of the decoder, more than have a memory each."""
    result = capture(Summary().eval(), (torch.randn(2, 8, 64), torch.randn(2, 6, 64)), {}, "torch")
    options = CompilerOptions(optimization_level=2)
    text = emit_py.emit(build_program(lower_to_ttnn(result.module, options).module, result, options))["main.py"]
    assert re.findall(r"for i in range\((\d)\)", text) == ["8", "6"] and text.count("gru_cell(") == 3, text


def test_an_input_lives_as_long_as_the_functions_of_the_program_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that only calls others is no function: what its first layer reads is free when that layer returns, whether the plan may move it or not."""
    model, tokens = made()
    lowered = lower_to_ttnn(capture(model, (tokens,), {}, "torch").module, CompilerOptions.parse({}))
    (forward,) = [func for func in functions(lowered.module) if not is_const_eval(func)]
    graph = forward_of(forward)
    paths = [[scope.path for scope in scopes_of(step.op)] for step in graph.steps]
    of_first = [number for number, path in enumerate(paths) if "encoder.blocks.0" in path]
    (embedding,) = [step for step in graph.steps if step.op.name == "ttnn.embedding"]
    assert graph.ends[embedding.results[0]] == of_first[-1] < len(graph.steps) - 1
    moved = ends_of(graph, {of_first[-1]})  # a statement between two layers: the encoder has one of its own now
    assert moved[embedding.results[0]] == max(number for number, path in enumerate(paths) if "encoder" in path)
    monkeypatch.setattr(graph_module, "_movable", lambda op: op is not embedding.op)
    assert embedding.op.results[0] in forward_of(forward).others[of_first[-1]]


@pytest.mark.parametrize("page", ["tile", "row_major"])
def test_shards_hold_whole_tiles(page: str) -> None:
    """Rows without padding get no shards of tiles: 8 x 8 cores would hold 256 columns of 240."""
    value = create_ssa_value(TTNNLayout.make((8, 256, 240), "bf16", page, "l1").type_for((8, 256, 240)))
    card = machine("n150")
    assert (block_shards(value, card) is None) == (page == "row_major") and bool(memories(value, card)) == (page == "tile")


def test_shards_that_no_layout_has_are_an_internal_error() -> None:
    rows = create_ssa_value(TTNNLayout.make((8, 256, 240), "bf16", "row_major", "l1").type_for((8, 256, 240)))
    tiles = create_ssa_value(TTNNLayout.make((8, 256, 240), "bf16", "tile", "l1").type_for((8, 256, 240)))
    shards = block_shards(tiles, machine("n150"))
    assert shards is not None
    with pytest.raises(InternalError, match="shards that it cannot have"):
        layout_in(rows, shards)


@pytest.mark.parametrize(("agrees", "wanted_ns"), [(True, 5.0), (False, 10.0)])
def test_what_was_alike_may_follow_what_was_not(agrees: bool, wanted_ns: float) -> None:
    """Steps 0 and 1 are equal and differ, 2 and 3 read them and are alike: they may be chosen anew, if they stay alike."""
    in_dram, in_l1, of_both, of_dram = (SimpleNamespace(operands=(), leaves=DRAM) for _ in range(4))

    def plan_of(ns: float, *choices: Any) -> Plan:
        return Plan(ns, {number: Taken(choice, ()) for number, choice in enumerate(choices)})

    def run(fixed: Mapping[int, Any], _required: Mapping[int, Any]) -> Plan:
        return plan_of(10.0, in_dram, in_dram, of_both, of_both) if 2 in fixed else plan_of(5.0, in_dram, in_dram, of_dram, of_dram if agrees else of_both)

    graph: Any = SimpleNamespace(makers=dict, steps=[SimpleNamespace(operands=())] * 4)
    groups = {0: "cast", 1: "cast", 2: "attention", 3: "attention"}
    assert consistent(plan_of(4.0, in_dram, in_l1, of_both, of_both), graph, groups, run).ns == wanted_ns


@pytest.mark.parametrize(("ns_in_dram", "wanted_ns"), [(4.0, 4.0), (6.0, 5.0)])
def test_layers_leave_a_program_output_in_dram_where_that_is_faster(ns_in_dram: float, wanted_ns: float) -> None:
    """In L1, as the layers between, the last layer's result would be moved to DRAM at the end."""
    barred: list[frozenset[int]] = []

    def run(_fixed: Mapping[int, Any], _required: Mapping[int, Any], in_dram: frozenset[int]) -> Plan:
        barred.append(in_dram)
        choice: Any = SimpleNamespace(operands=(), leaves=DRAM if in_dram else L1)
        return Plan(ns_in_dram if in_dram else 5.0, {0: Taken(choice, ()), 1: Taken(choice, ())})

    graph: Any = SimpleNamespace(makers=dict, returned=[11], steps=[SimpleNamespace(operands=(), results=(place,)) for place in (10, 11)])
    plan = fastest_consistent(graph, {0: "layer", 1: "layer"}, run)
    assert plan is not None and plan.ns == wanted_ns and barred == [frozenset(), {10, 11}]


def test_an_output_is_moved_within_its_module() -> None:
    """Also before another move, which has no source; a move in the entry function would cut the layer in two."""
    model, tokens = made()
    lowered = lower_to_ttnn(capture(model, (tokens,), {}, "torch").module, CompilerOptions())
    (forward,) = (function for function in functions(lowered.module) if not is_const_eval(function))
    ops = [op for op in forward.body.block.ops if op.results]
    first = next(index for index, op in enumerate(ops) if len(scopes_of(op)) > 3 and all(scopes_of(each) == scopes_of(op) for each in ops[index : index + 4]))
    maker, last, move = ops[first : first + 3]
    inside = scopes_of(maker)
    set_source(move)
    assert not scopes_of(move)
    assert [info.scopes for info in _in_module_of(maker, last)] == [inside]
