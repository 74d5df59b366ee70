"""Columns between products, filled up to whole tiles from optimization level 1 on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from ttnn_numpy import run

from alchemist.ir import access
from alchemist.ir.edit import functions, is_const_eval
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from tests.tables import table

ROWS, WIDE = 8192, 64


class Narrow(nn.Module):
    """Products by way of few columns, and what may stand between them."""

    def __init__(self, between: Any = None, columns: int = 24, bias: bool = True, residual: bool = False, kept: bool = False) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDE, columns, bias=bias), nn.Linear(columns, WIDE, bias=bias)
        self.third, self.last = nn.Linear(WIDE, columns, bias=bias), nn.Linear(columns, 32, bias=bias)
        self.between, self.residual, self.kept = between or (lambda x: x), residual, kept

    def forward(self, x: torch.Tensor) -> Any:
        y = self.between(self.first(x))
        z = self.third(torch.tanh(self.second(y)))
        out = self.last(z + y if self.residual else z)
        return (out, y) if self.kept else out


FILLED, PARTS = {32}, {24}
# name -> model, rows, options, columns that the products of 24 make or read
CASES: dict[str, tuple[Narrow, int, dict[str, Any], set[int]]] = {
    "products": (Narrow(), ROWS, {}, FILLED),
    "without bias": (Narrow(bias=False), ROWS, {}, FILLED),
    "a residual sum": (Narrow(residual=True), ROWS, {}, FILLED),
    "a function of 0": (Narrow(torch.sigmoid), ROWS, {}, FILLED),
    "a sum with itself": (Narrow(lambda x: x + x), ROWS, {}, FILLED),
    "level 0": (Narrow(), ROWS, {"optimization_level": 0}, PARTS),
    "switched off": (Narrow(), ROWS, {"disable": "whole-tiles"}, PARTS),
    "few rows": (Narrow(), 32, {}, PARTS),
    "whole tiles": (Narrow(columns=32), ROWS, {}, FILLED),
    "not finite at 0": (Narrow(torch.log), ROWS, {}, {24, 32}),
    "columns that are compared": (Narrow(lambda x: torch.softmax(x, -1)), ROWS, {}, {24, 32}),
    "columns that are returned": (Narrow(kept=True), ROWS, {}, {24, 32}),
}


@table("case", CASES)
def test_columns_between_products(case: str) -> None:
    model, rows, options, expected = CASES[case]
    torch.manual_seed(0)
    inputs = (torch.randn(rows, WIDE),)
    captured = capture(model.eval(), inputs, {}, "torch")
    lowered = lower_to_ttnn(captured.module, CompilerOptions.parse({"optimization_level": 1, **options}))
    (forward,) = [func for func in functions(lowered.module) if not is_const_eval(func)]
    products = [op for op in forward.body.block.ops if op.name in ("ttnn.linear", "ttnn.matmul")]
    assert {access.shape(op.results[0])[-1] for op in products[:3:2]} == expected, [access.shape(op.results[0]) for op in products]
    have = run(lowered.module, [*(np.asarray(argument.value()) for argument in captured.arguments), *lowered.constants.values()])
    want = model(*inputs)
    for mine, theirs in zip(have, want if isinstance(want, tuple) else (want,), strict=True):
        np.testing.assert_allclose(mine, theirs.detach().numpy(), rtol=1e-4, atol=1e-4)
