"""Windows that step by their own size: a convolution, or rows of a product, whichever is faster where both can be."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from xdsl.dialects.builtin import ModuleOp

from alchemist.frontends.torch import capture
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn


def lowered(module: nn.Module, *inputs: torch.Tensor) -> ModuleOp:
    return lower_to_ttnn(capture(module.eval(), inputs, {}).module, CompilerOptions()).module


def count(module: ModuleOp, name: str) -> int:
    return sum(op.name == f"ttnn.{name}" for op in module.walk())


@pytest.mark.parametrize(
    ("channels", "kernel", "side", "convolutions"),
    [
        pytest.param(32, 8, 64, 2, id="pixels of whole tiles: as rows they would be moved one by one"),
        pytest.param(24, 8, 64, 1, id="pixels of parts of tiles"),
        pytest.param(32, 4, 64, 2, id="a small kernel"),
    ],
)
def test_patches_of_pixels(channels: int, kernel: int, side: int, convolutions: int) -> None:
    made = lowered(nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), nn.Conv2d(channels, 32, kernel, kernel)), torch.rand(1, 3, side, side))
    assert count(made, "conv2d") == convolutions
    assert count(made, "linear") == 2 - convolutions


def test_patches_of_planes_are_rows() -> None:
    made = lowered(nn.Conv2d(3, 32, 8, 8), torch.rand(1, 3, 64, 64))
    assert (count(made, "conv2d"), count(made, "linear")) == (0, 1)


class OneHead(nn.Module):
    def __init__(self, projected: bool) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))
        self.projected = projected

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (layer(x).view(1, -1, 1, 32).transpose(1, 2) for layer in (self.q, self.k, self.v))
        found = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, -1, 32)
        return self.o(found) if self.projected else found + x


@pytest.mark.parametrize(("projected", "casts"), [(True, 0), (False, 1)])
def test_a_product_reads_a_head_as_attention_gives_it(projected: bool, casts: int) -> None:
    """A cast in front of the view is one behind it, which the product does without; a sum does not."""
    assert count(lowered(OneHead(projected), torch.rand(1, 64, 32)), "typecast") == casts
