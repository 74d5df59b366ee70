"""Fake-quantised models, pt2e's ops, and loops of torch's higher-order ops with a known count."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed
import torch_checking
from torch import nn
from torch._higher_order_ops.while_loop import while_loop

from alchemist.errors import FrontendError
from alchemist.frontends.torch import capture

X = torch.randn(3, 8, generator=torch.Generator().manual_seed(0)) * 4
Q = torch.ops.quantized_decomposed
SCALES, ZEROS = torch.full((3,), 0.01) * torch.arange(1, 4), torch.zeros(3, dtype=torch.int32)


def _pt2e(x: torch.Tensor) -> torch.Tensor:
    whole = Q.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
    rows = Q.quantize_per_channel(x, SCALES, ZEROS.long(), 0, -127, 127, torch.int8)
    first = Q.dequantize_per_tensor(whole, 0.05, 3, -128, 127, torch.int8)
    return first + Q.dequantize_per_channel(rows, SCALES, ZEROS.long(), 0, -127, 127, torch.int8)


CASES: dict[str, Any] = {
    "per tensor": lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -128, 127),
    "per channel": lambda x: torch.fake_quantize_per_channel_affine(x, SCALES, ZEROS, 0, -127, 127),
    "by tensors": lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.05), torch.tensor(3), 0, 255),
    "pt2e": _pt2e,
}


@pytest.mark.parametrize("name", CASES)
def test_like_torch(name: str) -> None:
    torch_checking.check(torch_checking.Model(CASES[name]), (X,), tolerance=1e-6)


class Loop(nn.Module):
    def __init__(self, counted: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.counted = counted

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        start = torch.tensor(0)
        if self.counted:
            return while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, self.layer(t).tanh()), (start, x))[1]
        return while_loop(lambda t: t.sum() < 100, lambda t: (t + 1,), (x,))[0]


def test_while_loop_with_a_known_count() -> None:
    result = torch_checking.check(Loop(counted=True).eval(), (X,))
    assert torch_checking.names(result).count("tanh") == 4


def test_while_loop_by_data() -> None:
    with pytest.raises(FrontendError, match="a while loop whose number of steps depends on data"):
        capture(Loop(counted=False).eval(), (X,))
