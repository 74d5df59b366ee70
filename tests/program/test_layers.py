"""Layers with loops of their own are one loop over layers: recurrent nets of several layers, in both languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from alchemist import codegen_cpp, codegen_py
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program, model
from tests import running

SIZE, STEPS = 32, 6


class Net(nn.Module):
    """A recurrent net that returns all states, or those of the last layer alone."""

    def __init__(self, kind: str, layers: int, *, both: bool, last: bool = False) -> None:
        super().__init__()
        self.net = getattr(nn, kind)(SIZE, SIZE, layers, batch_first=True, bidirectional=both)
        self.last = last

    def forward(self, x: torch.Tensor) -> Any:
        out, state = self.net(x)
        return (out, state[-1]) if self.last else (out, state)


def loops(body: tuple[model.Statement, ...], depth: int = 0) -> list[tuple[int, str]]:
    """(depth, variable) of the loops in a body."""
    found = []
    for one in body:
        if isinstance(one, model.Loop):
            found += [(depth, one.variable), *loops(one.body, depth + 1)]
    return found


def forward_loops(net: nn.Module) -> list[tuple[int, str]]:
    captured = capture(net.eval(), (torch.randn(2, STEPS, SIZE),), {}, "torch")
    made = build_program(lower_to_ttnn(captured.module, CompilerOptions()).module, captured, CompilerOptions())
    return next(found for function in made.functions if (found := loops(function.body)))


@pytest.mark.parametrize(
    ("net", "wanted"),
    [
        (Net("GRU", 2, both=True), [(0, "layer"), (1, "i"), (1, "i")]),
        (Net("GRU", 2, both=False), [(0, "layer"), (1, "i")]),
        (Net("LSTM", 2, both=True), [(0, "layer"), (1, "i"), (1, "i")]),
        (Net("RNN", 2, both=False), [(0, "layer"), (1, "i")]),
        (Net("GRU", 1, both=True), [(0, "i"), (0, "i")]),  # the directions are no layers
    ],
    ids=["both ways", "one way", "two states", "plain", "a single layer"],
)
def test_loops(net: Net, wanted: list[tuple[int, str]]) -> None:
    assert forward_loops(net) == wanted


@pytest.mark.parametrize(
    ("net", "make"),
    [
        pytest.param(Net("GRU", 2, both=True), codegen_cpp, id="both ways in C++", marks=pytest.mark.slow),
        pytest.param(Net("LSTM", 2, both=False), codegen_py, id="two states"),
        pytest.param(Net("GRU", 3, both=False, last=True), codegen_py, id="last state"),
    ],
)
def test_values(net: Net, make: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    out = make(net.eval(), torch.randn(2, STEPS, SIZE), export_path=tmp_path / "out").path
    done = running.run(out, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
