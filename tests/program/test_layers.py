"""All layers and directions of a recurrent net are calls of one function, and equal layers a loop over them, in both languages."""

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


def built(net: nn.Module) -> model.Program:
    captured = capture(net.eval(), (torch.randn(2, STEPS, SIZE),), {}, "torch")
    return build_program(lower_to_ttnn(captured.module, CompilerOptions()).module, captured, CompilerOptions())


@pytest.mark.parametrize(
    ("net", "over_layers", "calls"),
    [
        (Net("GRU", 2, both=True), True, 2),
        (Net("GRU", 2, both=False), True, 1),
        (Net("LSTM", 2, both=True), True, 2),
        (Net("RNN", 2, both=False), True, 1),
        (Net("GRU", 1, both=True), False, 2),  # the directions are no layers
    ],
    ids=["both ways", "one way", "two states", "plain", "a single layer"],
)
def test_layers_and_directions_are_calls_of_one_function(net: Net, over_layers: bool, calls: int) -> None:
    (layer,) = [function for function in built(net).functions if function.name.endswith("_layer")]
    entry = built(net).functions[-1]
    (over_time,) = [one for one in layer.body if isinstance(one, model.Loop)]
    assert over_time.backwards == (model.ParameterRef("reverse") if net.net.bidirectional else None)
    assert [one.variable for one in entry.body if isinstance(one, model.Loop)] == ["layer"] * over_layers
    assert [one.function for one in model.statements(entry.body) if isinstance(one, model.CallFunction)] == [layer.name] * calls


def test_a_layer_calls_its_parameters_as_torch_does() -> None:
    (layer,) = [function for function in built(Net("LSTM", 2, both=True)).functions if function.name == "lstm_layer"]
    assert [one.name for one in layer.parameters] == ["x", "hidden", "cell", "weight_ih_t", "bias", "weight_hh_t", "reverse"]


@pytest.mark.parametrize("size", [2 * SIZE, 20])
def test_a_layer_that_reads_another_width_is_the_same_function(size: int) -> None:
    """Of 20 gates no slice begins a tile: products with matrices choose them, in the last step too, which no product of the model reads."""

    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.GRU(SIZE, size, 3, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(x)[0]

    program = built(Wide())
    (loop,) = [one for one in program.functions[-1].body if isinstance(one, model.Loop)]
    assert loop.stop == model.ConstantRef("NUM_LAYERS")
    assert [function.name for function in program.functions[:-1]] == ["gru_cell", "gru_layer"]


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
