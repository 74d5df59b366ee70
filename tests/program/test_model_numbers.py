"""Numbers that a statement reads from an attribute of its module are named constants."""

from __future__ import annotations

import torch
from torch import nn

from alchemist.frontends.torch import capture
from tests.program.models import emitted


class Scaled(nn.Module):
    def __init__(self, scale: float, shift: float) -> None:
        super().__init__()
        self.scale, self.shift = scale, shift

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.scale
        return torch.exp(y + 3.5)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Scaled(0.3, 3.5), Scaled(0.3, 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


def test_attributes_are_named_constants() -> None:
    result = capture(Net().eval(), (torch.randn(32, 32),), {})
    for level in (0, 2):  # at level 2 the number is a parameter of a fused function
        main = emitted(result, optimization_level=level)["main.py"]
        assert "# self.scale of Scaled\nSCALE = 0.3\n" in main
        assert main.count("SCALE") >= 2
        assert "SHIFT" not in main  # the statement has the number itself
    cpp = emitted(result, language="cpp")["model.cpp"]
    assert "constexpr float SCALE = 0.3f;" in cpp
