"""Values of data movement over shards, in both layouts: wherever the pieces lie and by whatever chain of programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import ttnn

from tests.tables import table

from .values import get, put

TILE, ROWS = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT


def shards(kind: str, cores: tuple[int, int], shape: list[int], orientation: str = "ROW_MAJOR") -> Any:
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(cores[0] - 1, cores[1] - 1))])
    spec = ttnn.ShardSpec(grid, shape, getattr(ttnn.ShardOrientation, orientation))
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, f"{kind}_SHARDED"), ttnn.BufferType.L1, spec)


HEIGHT, WIDTH, BLOCK = shards("HEIGHT", (2, 1), [64, 64]), shards("WIDTH", (2, 1), [128, 32]), shards("BLOCK", (2, 2), [64, 32])
COLUMNS = shards("BLOCK", (2, 2), [64, 32], "COL_MAJOR")
# A tensor of (2, 64, 64): what is done to it, and what torch does.
CASES: dict[str, tuple[Callable[[Any], Any], Callable[[torch.Tensor], Any]]] = {
    "slice of rows": (lambda x: ttnn.slice(x, [0, 32, 0], [2, 64, 64]), lambda x: x[:, 32:]),
    "slice inside tiles": (lambda x: ttnn.slice(x, [1, 3, 0], [2, 60, 32], memory_config=ttnn.L1_MEMORY_CONFIG), lambda x: x[1:, 3:60, :32]),
    "slice with steps": (lambda x: ttnn.slice(x, [0, 0, 0], [2, 64, 64], [1, 2, 1], memory_config=ttnn.L1_MEMORY_CONFIG), lambda x: x[:, ::2]),
    "split of columns": (lambda x: ttnn.split(x, 32, 2), lambda x: x.split(32, 2)),
    "split of rows": (lambda x: ttnn.split(x, 32, 1), lambda x: x.split(32, 1)),
    "chunk": (lambda x: ttnn.chunk(x, 2, 0), lambda x: x.chunk(2, 0)),
    "roll of tiles": (lambda x: ttnn.roll(x, 32, 1), lambda x: x.roll(32, 1)),
    "roll inside tiles": (lambda x: ttnn.roll(x, [3, -1], [-1, 0]), lambda x: x.roll((3, -1), (-1, 0))),
    "repeat": (lambda x: ttnn.repeat(x, [2, 1, 1]), lambda x: x.repeat(2, 1, 1)),
    "repeat of columns": (lambda x: ttnn.repeat(x, [1, 1, 2]), lambda x: x.repeat(1, 1, 2)),
    "repeat twice": (lambda x: ttnn.repeat(x, [1, 3, 2]), lambda x: x.repeat(1, 3, 2)),
    "repeat_interleave": (lambda x: ttnn.repeat_interleave(x, 3, dim=1), lambda x: x.repeat_interleave(3, 1)),
    "repeat_interleave of columns": (lambda x: ttnn.repeat_interleave(x, 2, dim=-1), lambda x: x.repeat_interleave(2, -1)),
    "reshape": (lambda x: ttnn.reshape(x, [64, 128]), lambda x: x.reshape(64, 128)),
    "transpose": (lambda x: ttnn.transpose(x, -2, -1), lambda x: x.transpose(-2, -1)),
    "permute": (lambda x: ttnn.permute(x, [1, 0, 2]), lambda x: x.permute(1, 0, 2)),
    "concat": (lambda x: ttnn.concat([x, x], dim=-1), lambda x: torch.cat([x, x], -1)),
    "stack": (lambda x: ttnn.stack([x, x], dim=0), lambda x: torch.stack([x, x], 0)),
    "unsqueeze": (lambda x: ttnn.squeeze(ttnn.unsqueeze(x, 1), 1), lambda x: x),
}  # fmt: skip


@table("memory", [ttnn.DRAM_MEMORY_CONFIG, HEIGHT, WIDTH, BLOCK, COLUMNS], ids=["dram", "height", "width", "block", "columns"])
@table("layout", [TILE, ROWS], ids=["tile", "rows"])
@table("name", CASES)
def test_values(name: str, layout: Any, memory: Any, device: Any) -> None:
    values = torch.arange(2 * 64 * 64, dtype=torch.int32).reshape(2, 64, 64).float()
    run, expected = CASES[name]
    given = put(values, device, layout=layout, memory_config=memory)
    found = run(given)
    right = expected(values)
    pairs = zip(found, right, strict=True) if isinstance(right, tuple) else [(found, right)]
    for actual, wanted in pairs:
        assert torch.equal(get(actual), wanted)


def test_tiles_are_cut_in_their_padding(device: Any) -> None:
    """TT-NN's ends reach to the padded shape; what lies there is read as zeros."""
    values = torch.arange(31 * 33, dtype=torch.int32).reshape(31, 33).float()
    found = get(ttnn.slice(put(values, device), [0, 0], [32, 34]))
    assert torch.equal(found, torch.nn.functional.pad(values, (0, 1, 0, 1)))


@pytest.mark.parametrize("start", [0, 16, 32])
def test_narrow_of_a_shard(start: int, device: Any) -> None:
    """A part of each shard, or a whole one on its core."""
    values = torch.arange(64 * 32, dtype=torch.int32).reshape(64, 32).float()
    length = 32 if start % 32 == 0 else 16
    part = ttnn.narrow(put(values, device, layout=ROWS, memory_config=shards("HEIGHT", (2, 1), [32, 32])), 0, start, length)
    assert torch.equal(get(part), values[start : start + length])
    assert part.memory_config().shard_spec.grid.num_cores() == 1


def test_many_parts(device: Any) -> None:
    values = torch.arange(128 * 32, dtype=torch.int32).reshape(128, 32).float()
    parts = ttnn.split(put(values, device), 1, 0)
    assert len(parts) == 128 and all(torch.equal(get(part), values[i : i + 1]) for i, part in enumerate(parts))
