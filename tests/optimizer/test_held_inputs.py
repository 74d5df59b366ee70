"""A sum in place of its caller's tensor: the caller's variable holds that memory until the function returns."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import nn

from alchemist import codegen_py
from alchemist.errors import AccuracyWarning

WIDTH, SIZE = 256, 96


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.two(torch.relu(self.one(torch.relu(x))))


class Fusion(nn.Module):
    """What DPT does with the features of two stages."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Residual(), Residual()

    def forward(self, fused: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self.second(fused + self.first(x))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.side, self.fusion = nn.Conv2d(32, WIDTH, 3, padding=1), nn.Conv2d(64, WIDTH, 1), Fusion()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.fusion(self.side(y), self.stem(x)).mean((2, 3))


def test_the_emitted_program_finds_the_room_that_the_plan_found(tmp_path: Path) -> None:
    inputs = (torch.randn(1, channels, SIZE, SIZE) for channels in (32, 64))
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)  # "does not run on the simulator"
        codegen_py(Net().eval(), *inputs, export_path=tmp_path / "out", compiler_options={"optimization_level": 2})
