"""Unrolled recurrences come back as loops: with a first step of its own, and results that are kept in a list and joined."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py, load_codegen_py

STEPS = 6


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.rnn = kind(32, 32, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rnn(x)[0]  # type: ignore[no-any-return]


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


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(kind: type[nn.RNNBase], tmp_path: Path) -> None:
    text = made(Recurrent(kind), torch.randn(2, STEPS, 32), tmp_path / "made")
    assert f"for i in range(1, {STEPS}):" in text
    assert text.count(".append(") == 2  # the first step's result and every other one's


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
