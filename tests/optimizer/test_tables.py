"""What the tables of docs/lab/optimizer.md are made from."""

from __future__ import annotations

import pytest
from test_placement import of_forward
from test_windows import compiled
from torch import nn

from alchemist.ir.edit import functions, is_const_eval
from alchemist.optimizer.machine import machine
from tools.levels.bounds import bound_of

HEAD = ["| model | card | ms |", "|---|---|---|"]


def test_rows_without_newer_ones_stay() -> None:
    from tools.levels.table import with_rows_of  # imports transformers

    old = [*HEAD, "| a | n150 | 1 |", "| b | n150 | 2 |", "| a | p150 | 3 |"]
    new = [*HEAD, "| b | n150 | 20 |", "| c | n150 | 4 |"]
    assert with_rows_of(old, new, 2) == [*HEAD, "| a | n150 | 1 |", "| b | n150 | 20 |", "| a | p150 | 3 |", "| c | n150 | 4 |"]
    assert with_rows_of(["| other |", "|---|", "| x |"], new, 2) == new
    assert with_rows_of([], new, 2) == new


@pytest.mark.parametrize(
    ("layer", "tile_products", "tiles", "zeros"),
    [
        (nn.Conv2d(64, 64, 1), 128 * 2 * 2, 0, 0),
        (nn.Conv2d(64, 64, 3, padding=1), 128 * 18 * 2, 128 * 18, 0),
        (nn.Conv2d(64, 64, 3, padding=1, groups=64), 128 * 9 * 2, 128 * 18, 0),
        (nn.ConvTranspose2d(64, 64, 2, stride=2), 128 * 8 * 2, 512 * 8, 3),
    ],
    ids=["pixels", "windows", "of each channel", "transposed"],
)
def test_a_convolution_takes_its_products(layer: nn.Module, tile_products: int, tiles: int, zeros: int) -> None:
    """64 x 64 pixels are 128 rows of tiles; HiFi4 takes 64 cycles for a product, turning windows into a tile 65, and 64 cores share them."""
    module = compiled(nn.Sequential(nn.Conv2d(3, 64, 1), layer), (1, 3, 64, 64))
    (forward,) = [func for func in functions(module) if not is_const_eval(func)]
    assert len(of_forward(module, "ttnn.conv2d", "ttnn.conv_transpose2d")) == 2
    found = bound_of(forward, machine("n150"))
    stem = 64 * 64 * 3 * 64 / 32**3
    assert found.products_ms == pytest.approx((tile_products + stem) * 64 / 64 / 1e6)
    assert found.windows_ms == pytest.approx((tiles * 65 + zeros * tile_products * 64) / 64 / 1e6)
    assert found.least_of_library_ms >= max(found.products_ms + found.windows_ms, found.dram_ms)
    assert found.least_ms >= max(found.products_ms, found.dram_ms)


def test_weights_of_few_rows_come_from_dram() -> None:
    module = compiled(nn.Linear(4096, 4096, bias=False), (4, 4096))
    (forward,) = [func for func in functions(module) if not is_const_eval(func)]
    found = bound_of(forward, machine("n150"))
    assert found.least_ms == pytest.approx(found.dram_ms) and found.dram_ms == pytest.approx((4096 * 4096 + 2 * 4 * 4096) * 2 / (24 * 12 * 0.85) / 1e6)
