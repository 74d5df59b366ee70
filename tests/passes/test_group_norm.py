"""Group norms between convolutions: by products with constant matrices, or pixels and channels change places; height and width stay together."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import torch
from torch import nn
from ttnn_numpy import run

from alchemist.ir import access
from alchemist.ir.edit import functions, is_const_eval
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.passes.lower.group_norm import mean_factors
from alchemist.pipeline import capture
from tests.tables import table


class Block(nn.Module):
    """affine: whether channels have a scale and a shift."""

    def __init__(self, channels: int, groups: int, affine: bool) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, channels, 3, padding=1), nn.Conv2d(channels, 4, 3, padding=1)
        self.norm = nn.GroupNorm(groups, channels, affine=affine)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(nn.functional.silu(self.norm(self.first(x))))


# images, height and width, channels, groups, whether they have weights, by products or a layer norm of each group's values
CASES = [
    (1, 16, 32, 4, True, True),
    (2, 16, 64, 8, True, True),
    (1, 12, 80, 4, True, True),
    (1, 8, 32, 1, True, True),
    (1, 8, 32, 32, True, False),
    (2, 8, 16, 16, False, False),
    (1, 7, 32, 32, True, False),
    (3, 7, 24, 3, True, False),
]


@table(("images", "size", "channels", "groups", "affine", "products"), CASES)
@table("level", [0, 1])
def test_pixels_stay_together(images: int, size: int, channels: int, groups: int, affine: bool, products: bool, level: int) -> None:
    torch.manual_seed(0)
    model = Block(channels, groups, affine).eval()
    if affine:
        nn.init.normal_(model.norm.weight)
        nn.init.normal_(model.norm.bias)
    x = torch.randn(images, 3, size, size)
    captured = capture(model, (x,), {}, "torch")
    lowered = lower_to_ttnn(captured.module, CompilerOptions(optimization_level=level))
    have = run(lowered.module, [*(np.asarray(argument.value()) for argument in captured.arguments), *lowered.constants.values()])[0]
    np.testing.assert_allclose(have, model(x).detach().numpy(), rtol=1e-3, atol=1e-3)
    (forward,) = [func for func in functions(lowered.module) if not is_const_eval(func)]
    convolutions = [place for place, op in enumerate(forward.body.block.ops) if op.name == "ttnn.conv2d"]
    between = list(forward.body.block.ops)[convolutions[0] + 1 : convolutions[1]]
    names = [op.name for op in between]
    assert names.count("ttnn.matmul") == 4 * products
    if not products:
        norm = next(op for op in between if op.name == "ttnn.layer_norm")
        assert access.shape(norm.results[0]) == (images, groups, size * size * channels // groups)
    else:
        assert not {"ttnn.layer_norm", "ttnn.transpose"} & set(names)
    assert "ttnn.permute" not in names
    flat = {(1, 1), (images, 1)} if products else {(1, 1)}
    assert all(len(access.shape(op.results[0])) < 4 or access.shape(op.results[0])[:2] in flat for op in between if op.results)


def test_shares_of_a_mean() -> None:
    """Entries that every float type has, whose product is the share of a value; exact for powers of two."""
    for pixels in (1, 2, 3, 16, 49, 64, 100, 196, 3136, 4096):
        for channels in (1, 2, 3, 8, 10, 24, 32):
            factors = mean_factors(pixels, channels)
            assert all(float(np.float32(each).astype(ml_dtypes.bfloat16)) == each for each in factors)
            assert abs(factors[0] * factors[1] * pixels * channels - 1) < 1 / 5000
    assert mean_factors(64, 8) == (1 / 64, 1 / 8)


def test_a_channel_that_is_not_the_last_of_an_image() -> None:
    """A norm of what is no image of a convolution has its values as they lie."""

    class Alone(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.GroupNorm(4, 16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(x)

    torch.manual_seed(0)
    model, x = Alone().eval(), torch.randn(2, 16, 8, 8)
    captured = capture(model, (x,), {}, "torch")
    lowered = lower_to_ttnn(captured.module, CompilerOptions())
    have = run(lowered.module, [*(np.asarray(argument.value()) for argument in captured.arguments), *lowered.constants.values()])[0]
    np.testing.assert_allclose(have, model(x).detach().numpy(), rtol=1e-3, atol=1e-3)
    assert not [op for op in lowered.module.walk() if op.name in ("ttnn.permute", "ttnn.transpose")]
