"""Const-eval functions: helpers that fold batch norms, defaults of their parameters."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py
from alchemist.program import model
from alchemist.program.defaults import with_defaults
from tests.program.evaluate import run


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)]


class _Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = _convolution(channels, channels, 3)
        self.conv2, self.bn2 = _convolution(channels, channels, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.bn1(self.conv1(image)))
        return torch.relu(image + self.bn2(self.conv2(hidden)))


class _Net(nn.Module):
    def __init__(self, channels: int = 64) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 2, 1)
        self.blocks = nn.ModuleList(_Block(channels) for _ in range(3))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = self.stem(image)
        for block in self.blocks:
            hidden = block(hidden)
        return hidden


def test_one_helper_folds_every_batch_norm(tmp_path: Path) -> None:
    """It makes weights and bias of a convolution of one scale; values are those of the program without functions."""
    texts = {}
    for structure in (True, False):
        made = codegen_py(
            _Net().eval(),
            torch.zeros(1, 3, 16, 16),
            export_path=tmp_path / str(structure),
            export_golden="none",
            compiler_options={"recover_structure": structure},
        )
        texts[structure] = {name: (made.path / name).read_text() for name in ("main.py", "consteval.py")}
    text = texts[True]["consteval.py"]
    functions = {one.name: one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}
    assert [name for name in functions if "batch_norm" in name] == ["fold_batch_norm"]
    assert [one.arg for one in functions["fold_batch_norm"].args.args][:4] == ["stored", "weights", "convolution", "normalization"]
    assert text.count("ttnn.rsqrt(") == 1
    assert text.count("ttnn.prepare_conv_weights(") == text.count("ttnn.prepare_conv_bias(") == 2  # of the stem, and of all others
    assert "for i in range(" in text
    assert run(texts[True]) == run(texts[False])


def _called(values: list[dict[str, int]]) -> tuple[model.Function, ...]:
    names = ["a", "b", "c"]
    callee = model.Function("f", tuple(model.Parameter(name, "number") for name in names), (model.Return(()),), 0)
    calls = [model.CallFunction("f", tuple(model.NumberArgument(name, model.Literal(row[name])) for name in names), ()) for row in values]
    return (callee, model.Function("net", (), tuple(calls), 0))


@pytest.mark.parametrize(
    ("rows", "by_name", "parameters", "given"),
    [
        ([(1, 2, 3), (1, 5, 3), (4, 6, 3)], True, ["b", "a=1", "c=3"], ["b", "b", "b a"]),
        ([(1, 2, 3), (1, 5, 3), (4, 6, 3)], False, ["b", "a=1", "c=3"], ["b", "b", "b a"]),
        ([(1, 2, 3), (1, 5, 3), (1, 6, 4)], True, ["b", "c=3", "a=1"], ["b", "b", "b c"]),
        ([(1, 2, 3), (4, 5, 6), (7, 8, 9)], True, ["a", "b", "c"], ["a b c"] * 3),
        ([(1, 2, 3), (1, 2, 3)], True, ["a", "b", "c"], ["a b c"] * 2),  # two calls do not tell what is usual
        ([(1, 2, 9), (1, 2, 9), (1, 3, 9), (4, 2, 9), (4, 3, 9)], True, ["a=1", "b=2", "c=9"], ["", "", "b", "a", "a b"]),
        ([(1, 2, 9), (1, 2, 9), (1, 3, 9), (4, 2, 9), (4, 3, 9)], False, ["a=1", "b=2", "c=9"], ["", "", "a b", "a", "a b"]),
    ],
)
def test_what_most_calls_give_is_a_default(rows: list[tuple[int, int, int]], by_name: bool, parameters: list[str], given: list[str]) -> None:
    """In C++ arguments are given by position, so those before one that is given are given too."""
    made = with_defaults(_called([dict(zip("abc", row, strict=True)) for row in rows]), by_name=by_name)
    defaults = [one.default for one in made[0].parameters]
    shown = [f"={one.value}" if isinstance(one, model.Literal) else "" for one in defaults]
    assert [one.name + default for one, default in zip(made[0].parameters, shown, strict=True)] == parameters
    calls = [one for one in made[1].body if isinstance(one, model.CallFunction)]
    assert [" ".join(one.name for one in call.arguments if isinstance(one, model.NumberArgument)) for call in calls] == given
