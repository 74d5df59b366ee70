"""Block shards whose rows lie on columns of cores: on a grid that is not square they take more of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from ttnn_shim.queries import Memory
from xdsl.utils.test_value import create_ssa_value

from alchemist import codegen_py
from alchemist.frontends.mlir.read import parse_module
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.optimizer.apply import layout_in
from alchemist.optimizer.calls import memory_of
from alchemist.optimizer.machine import machine
from alchemist.optimizer.sharded import block_shards, blocks_of, cores_of
from tests import running


def blocks(height: int, width: int, columns: int, rows: int, orientation: str = "ROW_MAJOR") -> Memory:
    """height, width: of a shard in tiles. columns, rows: of the cores."""
    return Memory("L1", "BLOCK_SHARDED", ((height * 32, width * 32), (0, 0, columns - 1, rows - 1), orientation))


OFFERED = {  # card, rows and columns of the image in tiles -> shards
    ("n150", 32, 16): [blocks(4, 2, 8, 8), blocks(5, 2, 8, 7), blocks(6, 2, 8, 6)],
    ("p150", 32, 16): [blocks(4, 2, 8, 8), blocks(5, 2, 8, 7), blocks(3, 2, 11, 8, "COL_MAJOR"), blocks(5, 2, 7, 8, "COL_MAJOR")],
    ("p150", 128, 8): [
        *(blocks(height, 1, 8, rows) for height, rows in ((13, 10), (15, 9), (16, 8))),
        *(blocks(height, 1, columns, 8, "COL_MAJOR") for height, columns in ((10, 13), (11, 12), (12, 11))),
    ],
    ("p150", 8, 16): [blocks(1, 2, 8, 8)],
    ("p150", 4, 16): [],
    ("p150", 130, 13): [blocks(13, 1, 13, 10), blocks(15, 1, 13, 9), blocks(17, 1, 13, 8)],
    ("p150", 64, 1): [],
}


@pytest.mark.parametrize(("card", "rows", "columns"), OFFERED)
def test_blocks_lie_both_ways(card: str, rows: int, columns: int) -> None:
    found = list(block_shards(rows, columns, machine(card)))
    assert found == OFFERED[card, rows, columns]
    shape = (1, 1, rows * 32, columns * 32)
    for shards in found:
        (down, across), size = blocks_of(shards), shards.shard
        assert size is not None and down * across == cores_of(shards)
        assert (down - 1) * size[0][0] < shape[2] <= down * size[0][0] and across * size[0][1] == shape[3]
        made = layout_in(create_ssa_value(TTNNLayout.make(shape, "bf16").type_for(shape)), shards)
        assert made.grid == (down, across) and made.orientation.upper() == size[2]
        assert memory_of(made) == shards


class Windows(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(256, 256, 3, padding=1)
        self.second = torch.nn.Conv2d(256, 256, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


def test_a_program_with_turned_blocks(tmp_path: Path) -> None:
    """The image's 32 rows of tiles lie on 11 columns of 8 cores. Its text is read back with the shards that it had, and its values are right."""
    torch.manual_seed(0)
    model, image = Windows().to(torch.bfloat16).eval(), torch.randn(1, 256, 32, 32, dtype=torch.bfloat16)
    codegen_py(model, image, export_path=tmp_path / "out", compiler_options={"arch": "p150", "optimization_level": 2})
    text = (tmp_path / "out/main.py").read_text()
    assert "Shards of 3x1 tiles on 8x11 cores, a row of them on a column of cores." in text and "ttnn.ShardOrientation.COL_MAJOR" in text
    module, _ = parse_module((tmp_path / "out/irs/02_ttnn.mlir").read_text())
    turned: list[Any] = [
        found for op in module.walk() for value in op.results if (found := layout_of(value.type)) is not None and found.orientation == "col_major"
    ]
    assert turned and {found.shard_shape() for found in turned} == {(96, 32)}
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
