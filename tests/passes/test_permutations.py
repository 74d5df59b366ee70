"""Rows that are sorted for experts, multiplied with sorted weights, and put back."""

from __future__ import annotations

from collections import Counter

import torch

from alchemist.frontends.torch import capture
from alchemist.ir.access import entry_function
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.properties.running import judged
from tests.tables import table

X, WEIGHTS, KEYS = torch.randn(6, 32, dtype=torch.bfloat16), torch.rand(6), torch.tensor([4.0, 0.0, 3.0, 5.0, 1.0, 2.0])


def routed(x: torch.Tensor, weights: torch.Tensor, keys: torch.Tensor, places: torch.Tensor | None = None, shared: bool = False) -> tuple[torch.Tensor, ...]:
    order = keys.argsort()
    rows = x[order].relu().float() * weights[order][:, None]
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(6) if places is None else places
    return (rows[inverse], rows) if shared else (rows[inverse],)


# model -> look-ups and gathers with the pass: the weights' own two are gone, or stay
CASES = {
    "rows that are put back": (routed, 2),
    "rows in another order": (lambda x, w, k: routed(x, w, k, torch.tensor([1, 0, 2, 3, 4, 5])), 3),
    "sorted rows that are returned too": (lambda x, w, k: routed(x, w, k, shared=True), 3),
}


@table("case", CASES)
def test_factors_of_rows_are_not_sorted_to_be_put_back(case: str) -> None:
    model, expected = CASES[case]
    module = lower_to_ttnn(capture(model, (X, WEIGHTS, KEYS), {}).module, CompilerOptions()).module
    found = Counter(op.name for op in entry_function(module).body.block.ops)
    assert found["ttnn.embedding"] + found["ttnn.gather"] == expected, found
    verdict = judged(capture, model, (X, WEIGHTS, KEYS), 1e-6)
    assert verdict.kind == "right", verdict.text
