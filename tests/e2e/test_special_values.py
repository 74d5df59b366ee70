"""Infinities and NaN that a choice leaves out stay out, whatever shapes the mask and its branches have."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from alchemist import codegen_cpp, codegen_py
from tests.e2e.test_codegen import check

INFINITE = float("inf")


class Chosen(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("low", torch.tensor([[0.0, -INFINITE, 1.0, 2.0]]).repeat(1, 8))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        nan = torch.full((1, 1), float("nan"))  # as jnp.median has it
        ends = torch.tensor([1.0, INFINITE] * 16)
        return (
            torch.where(mask, nan, x),
            torch.where(mask, x, torch.full((1, 32), -INFINITE)),
            torch.where(mask, self.low, x),
            torch.where(mask, x, ends).clamp(max=100.0),
            torch.where(x > 0, ends, x),
        )


@pytest.mark.parametrize("codegen", [codegen_py, codegen_cpp])
def test_a_mask_of_one_column(codegen: object, tmp_path: Path) -> None:
    mask = torch.arange(64).reshape(64, 1) % 3 == 0
    result = codegen(Chosen(), torch.linspace(-4, 4, 64 * 32).reshape(64, 32), mask, export_path=tmp_path / "out")  # type: ignore[operator]
    assert all(row["passed"] for row in check(result.path)["outputs"])
