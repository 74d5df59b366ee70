"""Layers of experts: rows that are sorted by expert, multiplied with their expert's weights, and put back."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from alchemist.frontends.torch import capture
from alchemist.ir.access import entry_function
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.properties.running import judged
from tests.tables import table

SEEDED = torch.Generator().manual_seed(0)  # other numbers may give two experts one probability: either is chosen then
TOKENS, ROUTER = (torch.randn(*dims, dtype=torch.bfloat16, generator=SEEDED) for dims in ((6, 32), (4, 32)))
UP, DOWN, BIAS = (torch.randn(4, *dims, dtype=torch.bfloat16, generator=SEEDED) / 6 for dims in ((32, 64), (64, 32), (64,)))


def experts(*, descending: bool = False, others: bool = False, doubled: bool = False) -> Callable[..., torch.Tensor]:
    """Two of four experts for each token, by products of rows that are sorted by expert."""

    def model(x: torch.Tensor, router: torch.Tensor, up: torch.Tensor, down: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        weights, chosen = (x @ router.T).float().softmax(-1).topk(2)
        ids, order = chosen.reshape(-1).sort(descending=descending)
        counted = 3 - ids if others else ids
        ends = torch.histc(counted.float(), 4, 0, 3).cumsum(0, dtype=torch.int32)
        hidden = F.grouped_mm(x[order // 2], up, offs=ends) + bias[ids]
        if doubled:  # not row by row
            hidden = hidden + hidden.mean(0, keepdim=True)
        rows = F.grouped_mm(hidden.relu(), down, offs=ends).float() * weights.reshape(-1)[order][:, None]
        inverse = torch.empty_like(order)
        inverse[order] = torch.arange(12)
        return rows[inverse].reshape(6, 2, 32).sum(1).to(x.dtype)

    return model


# model -> whether its rows are sorted still
EXPERTS = {
    "experts": (experts(), False),
    "experts in falling order": (experts(descending=True), True),
    "counts of other experts": (experts(others=True), True),
    "rows that see each other": (experts(doubled=True), True),
}


@table("case", EXPERTS)
def test_every_expert_runs_on_all_tokens_where_rows_are_sorted_by_expert(case: str) -> None:
    model, is_sorted = EXPERTS[case]
    arguments = TOKENS, ROUTER, UP, DOWN, BIAS
    module = lower_to_ttnn(capture(model, arguments, {}).module, CompilerOptions()).module
    assert ("ttnn.sort" in {op.name for op in entry_function(module).body.block.ops}) == is_sorted
    verdict = judged(capture, model, arguments, 0.02)
    assert verdict.kind == "right", verdict.text
