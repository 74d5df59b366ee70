"""Values at the edge: infinities and NaN that a choice leaves out, tensors without elements, powers of integers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from alchemist import codegen_cpp, codegen_py
from tests.running import check

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


@pytest.mark.parametrize("codegen", [codegen_py, pytest.param(codegen_cpp, marks=pytest.mark.slow)])
def test_a_mask_of_one_column(codegen: object, tmp_path: Path) -> None:
    mask = torch.arange(64).reshape(64, 1) % 3 == 0
    result = codegen(Chosen(), torch.linspace(-4, 4, 64 * 32).reshape(64, 32), mask, export_path=tmp_path / "out")  # type: ignore[operator]
    assert all(row["passed"] for row in check(result.path)["outputs"])


class AtTheEdge(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor, nothing: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows = x.repeat(1, 0)
        whole = (i**3, i ** (i.abs() % 5), 2 ** i.abs(), i**0, (i - 1) ** 2, i[:1] ** torch.full((4, 6), 2))
        return *whole, rows, torch.cat([rows, x], 1) + 1, nothing.sum(0), torch.nn.functional.celu(nothing), x.logsumexp(1), torch.logaddexp(x, x)


@pytest.mark.parametrize("level", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_integers_and_tensors_without_elements(level: int, tmp_path: Path) -> None:
    x = torch.linspace(-4, 4, 24).reshape(4, 6)
    x[1] = -INFINITE
    arguments = x, torch.arange(-12, 12).reshape(4, 6), torch.zeros(0, 5)
    result = codegen_py(AtTheEdge(), *arguments, export_path=tmp_path / "out", compiler_options={"optimization_level": level})
    assert all(row["passed"] for row in check(result.path)["outputs"])
