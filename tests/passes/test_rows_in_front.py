"""Constant rows in front of a product's: class tokens, registers and their near misses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pass_graphs import names
from torch import nn
from ttnn_numpy import run

from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture

WIDTH, BATCH, SIDE = 64, 4, 40


class Patches(nn.Module):
    """Patches of an image as rows, with what a transformer puts beside them.

    tokens: constant rows. behind: they come behind the patches. positions: "" without any, "rows" of all batches, "images" that differ, "given" as an input.
    """

    def __init__(self, tokens: int = 1, bias: bool = True, positions: str = "rows", behind: bool = False, act: bool = False, own: bool = False) -> None:
        super().__init__()
        self.tokens, self.positions, self.behind, self.act, self.own = tokens, positions, behind, act, own
        self.patches = nn.Conv2d(3, WIDTH, 8, stride=8, bias=bias)
        self.token = nn.ParameterList(nn.Parameter(torch.randn(BATCH if own else 1, 1, WIDTH)) for _ in range(tokens))
        rows = (SIDE // 8) ** 2 + tokens
        self.places = nn.Parameter(torch.randn(BATCH if positions == "images" else 1, rows, WIDTH))
        self.head = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        rows = self.patches(x).flatten(2).transpose(1, 2)
        rows = torch.relu(rows) if self.act else rows
        tokens = [each.expand(BATCH, -1, -1) for each in self.token]
        rows = torch.cat([rows, *tokens] if self.behind else [*tokens, rows], 1)
        if self.positions:
            rows = rows + (given if self.positions == "given" else self.places)
        return self.head(rows)


FORMS = {
    "a class token": Patches(),
    "two tokens": Patches(tokens=2),
    "patches without bias": Patches(bias=False),
    "two tokens, no bias": Patches(tokens=2, bias=False),
    "no positions": Patches(positions=""),
    "positions that differ": Patches(positions="images"),
    "positions as an input": Patches(positions="given"),
}
NEAR = {
    "a token behind": Patches(behind=True),
    "a function in between": Patches(act=True),
    "a token of each image": Patches(own=True),
}


def inputs_of(model: Patches) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(BATCH, 3, SIDE, SIDE), torch.randn(1, model.places.shape[1], WIDTH)


def lowered_names(model: Patches, **options: object) -> list[str]:
    captured = capture(model.eval(), inputs_of(model), {}, "torch")
    return names(lower_to_ttnn(captured.module, CompilerOptions(**options)).module)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", FORMS)
def test_rows_of_zeros_are_read_by_the_product(case: str) -> None:
    model = FORMS[case].eval()
    inputs = inputs_of(model)
    captured = capture(model, inputs, {}, "torch")
    lowered = lower_to_ttnn(captured.module)
    found = names(lowered.module)
    assert "pad" in found and "concat" not in found, found
    (have,) = run(lowered.module, [*(np.asarray(argument.value()) for argument in captured.arguments), *lowered.constants.values()])
    np.testing.assert_allclose(have, model(*inputs).detach().numpy(), rtol=1e-4, atol=1e-4)
    assert "concat" in lowered_names(model, disable=("rows-in-front",))


@pytest.mark.parametrize("case", NEAR)
def test_near_misses(case: str) -> None:
    assert "concat" in lowered_names(NEAR[case])
