"""Unrolled recurrences come back as loops: with a first step of its own, and results that are kept in a list and joined."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from alchemist import codegen_py, load_codegen_py
from alchemist.program.names import snake_case

STEPS = 6


class States(nn.Module):
    """The outputs of a recurrent layer and its last states."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.rnn = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs, states = self.rnn(x)
        last = states[0] + states[1].mean() if isinstance(states, tuple) else states
        return torch.cat([outputs.flatten(), last.flatten()])


class Scan(nn.Module):
    """A state that is updated step by step; `kept` says which of its values are used behind the loop."""

    def __init__(self, kept: str) -> None:
        super().__init__()
        self.kept = kept

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.exp(x[:, 0])
        found = [state * 2.0]
        for step in range(1, STEPS):
            state = torch.tanh(state) + x[:, step]
            found.append(state * 2.0)
        if self.kept == "all":
            return torch.stack(found, 1)
        if self.kept == "reversed":
            return torch.stack(found[::-1], 1)
        return torch.stack(found, 1) + found[2].unsqueeze(1)  # "one of them too"


def made(model: nn.Module, x: torch.Tensor, directory: Path) -> str:
    torch.manual_seed(0)
    path = codegen_py(model.eval(), x, export_path=directory).path
    with torch.no_grad():
        result, reference = load_codegen_py(model, x, load_path=directory), model(x)
        assert torch.linalg.norm(result - reference) <= 5e-3 * torch.linalg.norm(reference)  # float32 products: docs/numerics.md
    lines = (path / "main.py").read_text().splitlines()
    return "\n".join(line for line in lines if not line.strip().startswith("#"))


@pytest.mark.parametrize(
    ("kind", "cell", "options"),
    [
        (nn.LSTM, "lstm_cell", {"num_layers": 2, "bidirectional": True}),
        pytest.param(nn.LSTM, "lstm_cell", {"proj_size": 16}, marks=pytest.mark.slow),
        (nn.GRU, "gru_cell", {"num_layers": 2, "bidirectional": True}),
        pytest.param(nn.RNN, "rnn_cell", {"bias": False}, marks=pytest.mark.slow),
    ],
)
def test_recurrent_layers(kind: type[nn.RNNBase], cell: str, options: dict[str, Any], tmp_path: Path) -> None:
    """One function for the cell, one loop for both directions, from the first step on, and one over the layers; the last states are outputs too."""
    text = made(States(kind(32, 32, batch_first=True, **options)), torch.randn(2, STEPS, 32), tmp_path / "made")
    assert text.count("for layer in range(NUM_LAYERS):") == ("num_layers" in options)
    both = bool(options.get("bidirectional"))
    assert text.count(f"for {'t' if both else 'i'} in range(NUM_STEPS):") == 1
    assert text.count("        i = NUM_STEPS - 1 - t if reverse else t\n") == both
    assert text.count(f"def {cell}") == 1
    assert text.count(f"{cell}(") == 2
    assert "hidden: ttnn.Tensor" in text
    parameters = text.partition(f"def {cell}(")[2].partition(")")[0]
    states = ["hidden", "cell"] if kind is nn.LSTM else ["hidden"]
    assert re.findall(r"(\w+): ttnn", parameters)[: len(states) + 2] == ["projected", *states, "weight_hh_t"]
    assert ("hiddens[i] = hidden" in text) == bool(options.get("bidirectional")) and "insert(" not in text
    assert f"One time step of torch.nn.{kind.__name__}" in text and f"<- {kind.__name__} " in text


class OwnLoop(nn.Module):
    """A cell that the model calls itself, at each step of a sequence, from zeros on."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.cells = nn.ModuleList([getattr(nn, kind)(32, 32) for _ in range(2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs, states = [], [x.new_zeros(2, 32) for _ in self.cells]
        for step in range(STEPS):
            y = x[:, step]
            for place, cell in enumerate(self.cells):
                y = states[place] = cell(y, states[place])
            outputs.append(y)
        return torch.stack(outputs, 1)


@pytest.mark.parametrize("kind", ["GRUCell", pytest.param("RNNCell", marks=pytest.mark.slow)])
def test_own_loops_over_a_cell(kind: str, tmp_path: Path) -> None:
    """One function for both cells, and one loop from the first step on."""
    text = made(OwnLoop(kind), torch.randn(2, STEPS, 32), tmp_path / "made")
    function = snake_case(kind)
    assert [text.count(part) for part in ("for i in range(NUM_STEPS):", f"def {function}(", f" = {function}(")] == [1, 1, 2]


def test_a_single_step_of_a_cell_is_folded(tmp_path: Path) -> None:
    """What starts from zeros and is called once takes no product of them."""
    text = made(nn.GRUCell(32, 32), torch.randn(2, 32), tmp_path / "made")
    assert text.count("ttnn.linear(") == 1 and "initial" not in text


def test_the_first_step_is_in_the_list(tmp_path: Path) -> None:
    text = made(Scan("all"), torch.randn(2, STEPS, 32), tmp_path / "made")
    assert f"for i in range(1, {STEPS}):" in text
    assert text.count("ttnn.concat(") == 1


def test_a_reversed_list_grows_at_its_front(tmp_path: Path) -> None:
    text = made(Scan("reversed"), torch.randn(2, STEPS, 32), tmp_path / "made")
    assert f"for i in range(1, {STEPS}):" in text
    assert text.count(".insert(0, ") == 1


def test_values_that_a_list_cannot_hold(tmp_path: Path) -> None:
    assert ".append(" not in made(Scan("one of them too"), torch.randn(2, STEPS, 32), tmp_path / "made")


class RungeKutta(nn.Module):
    """A step of many ops: more than any recurrent cell has."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def slope(self, y: torch.Tensor) -> torch.Tensor:
        return torch.sin(self.down(torch.relu(self.up(y))))

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        for _ in range(STEPS):
            k1 = self.slope(y)
            k2 = self.slope(y + 0.05 * k1)
            k3 = self.slope(y + 0.05 * k2)
            k4 = self.slope(y + 0.1 * k3)
            y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y


class Twins(nn.Module):
    """Layers without a class of their own that are called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32), nn.Tanh())
        self.once = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, pair: torch.Tensor) -> torch.Tensor:
        left = self.tower(pair[0])
        right = self.tower(pair[1])
        return self.once(left + right)


class Retrieval(nn.Module):
    """Three rounds of a few ops."""

    def __init__(self) -> None:
        super().__init__()
        self.stored = nn.Parameter(torch.randn(64, 32))

    def forward(self, query: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            query = torch.softmax(2.0 * query @ self.stored.T, -1) @ self.stored
        return query


class Viterbi(nn.Module):
    """What is kept of a step (the best predecessors) gets another dtype and shape before it is joined."""

    def __init__(self) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(32, 32))

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        best = torch.exp(scores[:, 0])
        kept = []
        for step in range(1, STEPS):
            best, place = (best[:, :, None] + self.transitions).max(1)
            best = best + scores[:, step]
            kept.append(place)
        return torch.cat([best, torch.stack(kept, 1).flatten(1)], -1)


@pytest.mark.parametrize(
    ("model", "x", "rounds", "most"),
    [(RungeKutta(), torch.randn(8, 32), f"for _ in range({STEPS}):", 112), (Retrieval(), torch.randn(8, 32), "for _ in range(3):", 65)],
)
def test_rounds_in_which_nothing_counts(model: nn.Module, x: torch.Tensor, rounds: str, most: int, tmp_path: Path) -> None:
    text = made(model, x, tmp_path / "made")
    assert rounds in text
    assert len(text.splitlines()) < most
    assert "def slope" not in text  # the statement's arithmetic is no part of the method that it calls


def test_layers_that_are_called_twice_are_a_function(tmp_path: Path) -> None:
    """Called after their attribute, with their activation inside; layers that are called once stand in their caller."""
    text = made(Twins(), torch.randn(2, 8, 32), tmp_path / "made")
    assert text.count("def tower(") == 1
    assert text.count("tower(") == 3
    assert text.count('weights.scope("tower")') == 2
    assert text.count('activation="tanh"') == 1
    assert "def once" not in text


def test_kept_values_in_another_form(tmp_path: Path) -> None:
    torch.manual_seed(0)
    codegen_py(Viterbi().eval(), torch.randn(2, STEPS, 32), export_path=tmp_path / "made", export_golden="none")
    text = (tmp_path / "made" / "main.py").read_text()
    assert f"for i in range(1, {STEPS}):" in text
    assert text.count("ttnn.argmax(") == text.count(".append(") == 1


class Shared(nn.Module):
    """Every turn reads a weight of its own and that of one of them."""

    def __init__(self, shared: int) -> None:
        super().__init__()
        self.shared, self.w = shared, nn.ParameterList(nn.Parameter(torch.randn(32, 32) / 6) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for w in self.w:
            x = torch.sin(x @ w) * self.w[self.shared]
        return x


@pytest.mark.parametrize(("shared", "turns"), [(0, "1, 4"), (1, "4"), (3, "4")])
def test_a_weight_that_every_turn_reads(shared: int, turns: str, tmp_path: Path) -> None:
    text = made(Shared(shared), torch.randn(32, 32), tmp_path / "made")
    assert f"for i in range({turns}):" in text
    assert text.count('weights[f"w.{i}"]') == 1
