"""Functions of statements `x = self.f(...)`: a caller holds their arguments, so large ones in L1 keep the statement's ops in the caller."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.to_a, self.to_b, self.out = (nn.Linear(width, width) for _ in range(3))

    def mix(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        gate = torch.sigmoid(a.transpose(1, 2)).transpose(1, 2).cumsum(1)
        return gate * b.cumsum(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.to_a(x), self.to_b(x)
        mixed = self.mix(a, b)
        return self.out(mixed)


@pytest.mark.parametrize(("length", "is_function"), [(64, True), (3072, False)])
def test_large_arguments_in_l1_are_freed_where_the_plan_frees_them(length: int, is_function: bool, tmp_path: Path) -> None:
    model, x = Block(256).eval(), torch.randn(1, length, 256)
    codegen_py(model, x, export_path=tmp_path / "out", compiler_options={"optimization_level": 2})
    assert ("def mix(" in (tmp_path / "out" / "main.py").read_text()) == is_function
