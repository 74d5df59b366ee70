"""Weights cut into parts: equal parts are turns of a loop, in the forward pass and where they are prepared."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_cpp, codegen_py, load_codegen_py
from alchemist.program.recipes import Cut
from tests import running

WIDTH = 64


class Parts(nn.Module):
    """A linear layer in parts, whose results are joined. bounds: where the rows of its weight are cut."""

    def __init__(self, bounds: tuple[int, ...], joined: bool = True) -> None:
        super().__init__()
        self.bounds, self.joined = bounds, joined
        self.layer, self.norm = nn.Linear(WIDTH, bounds[-1]), nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(x)
        made = []
        for first, last in pairwise(self.bounds):
            part = torch.tanh(nn.functional.linear(x, self.layer.weight[first:last] * 2, self.layer.bias[first:last]))
            made.append(part if self.joined else part.sum(-1, keepdim=True))
        return torch.cat(made, -1) if self.joined else made[0] * made[1] - made[2] * made[3]


def exported(model: Parts, folder: Path, language: str = "py") -> tuple[str, str, torch.Tensor]:
    """The forward pass, what prepares the weights, and the example input."""
    torch.manual_seed(0)
    x = torch.randn(8, WIDTH)
    (codegen_py if language == "py" else codegen_cpp)(model.eval(), x, export_path=folder)
    names = ("main.py", "consteval.py") if language == "py" else ("model.cpp", "consteval.cpp")
    forward, prepare = ((folder / name).read_text() for name in names)
    return forward, prepare, x


EQUAL, LAST_IS_WIDER, FIRST_IS_WIDER, ALL_DIFFER = (0, 32, 64, 96, 128), (0, 32, 64, 96, 160), (0, 64, 96, 128, 160), (0, 32, 96, 128, 192)


@pytest.mark.parametrize(
    ("bounds", "turns", "alone"),
    [(EQUAL, 4, []), (LAST_IS_WIDER, 3, ["3"]), (FIRST_IS_WIDER, 3, ["0"]), (ALL_DIFFER, 0, ["0", "1", "2", "3"])],
)
def test_equal_parts_are_turns_of_a_loop(bounds: tuple[int, ...], turns: int, alone: list[str], tmp_path: Path) -> None:
    """Weights are cut by a loop as well; one part that is another joins the others behind it."""
    forward, prepare, _ = exported(Parts(bounds), tmp_path / "out")
    start = "1, " if bounds is FIRST_IS_WIDER else ""
    loop, counted = f"for i in range({start}{turns + bool(start)}):", "layer.weight_t_part_{i}"
    for text in (forward, prepare):
        assert (loop in text, counted in text) == (turns > 0, turns > 0)
        assert sorted(set(re.findall(r"(?:weight_t_part_|part=)(\d)", text))) == alone
    assert forward.count("ttnn.linear(") == (1 + len(alone) if turns else 1)  # parts that all differ share a function
    cut = "[32 * (i + 1), 0], [32 * (i + 2), 64]" if start else "[32 * i, 0], [32 * (i + 1), 64]"
    assert (cut in prepare) == (turns > 0)


def test_parts_that_are_not_joined_are_numbered_as_other_weights_are(tmp_path: Path) -> None:
    forward, prepare, _ = exported(Parts(EQUAL, joined=False), tmp_path / "out")
    assert "_part_0" not in forward and "for i in range" not in forward + prepare
    assert "layer.weight_t_2" in forward


@pytest.mark.parametrize("bounds", [EQUAL, LAST_IS_WIDER, FIRST_IS_WIDER, ALL_DIFFER])
def test_values(bounds: tuple[int, ...], tmp_path: Path) -> None:
    model = Parts(bounds)
    _, _, x = exported(model, tmp_path / "out")
    made = load_codegen_py(model, x, load_path=tmp_path / "out")
    torch.testing.assert_close(made, model(x), atol=0.02, rtol=0.02)


@pytest.mark.slow
def test_cpp_appends_the_last_part(tmp_path: Path) -> None:
    forward, prepare, _ = exported(Parts(LAST_IS_WIDER), tmp_path / "out", "cpp")
    assert forward.count("push_back(") == 2 and forward.count("ttnn::linear(") == 2
    assert "32 * (i + 1)" in prepare
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_numbers_of_cuts() -> None:
    cuts = {
        (0, 32): "32 * i",
        (32, 32): "32 * (i + 1)",
        (-64, 32): "32 * (i - 2)",
        (40, 32): "32 * i + 40",
        (-8, 32): "32 * i - 8",
        (0, 1): "i",
        (-1, 1): "i - 1",
    }
    assert {(offset, step): Cut(offset, step).counted("i") for offset, step in cuts} == cuts
