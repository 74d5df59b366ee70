"""When device memory is given back, and shard specs that are changed in place: as the real package over a mock device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import ttnn

FREE: dict[str, Callable[[Any], Any]] = {
    "method": lambda tensor: tensor.deallocate(),
    "method, forced": lambda tensor: tensor.deallocate(True),
    "function": ttnn.deallocate,
    "function, not forced": lambda tensor: ttnn.deallocate(tensor, False),
    "function, keyword": lambda tensor: ttnn.deallocate(tensor, force=False),
}


def dram_bytes(device: Any) -> int:
    return int(ttnn.get_memory_view(device, ttnn.BufferType.DRAM).total_bytes_allocated_per_bank)


def made(device: Any) -> Any:
    return ttnn.empty([256, 256], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)


@pytest.mark.parametrize("how", FREE)
def test_the_only_owner_frees(how: str, device: Any) -> None:
    before = dram_bytes(device)
    tensor = made(device)
    FREE[how](tensor)
    assert not tensor.is_allocated()
    assert dram_bytes(device) == before


@pytest.mark.parametrize("how", FREE)
def test_memory_of_a_view_is_freed_by_force_only(how: str, device: Any) -> None:
    """`ttnn.deallocate` forces by default, as the real package's does."""
    tensor = made(device)
    view = ttnn.reshape(tensor, [1, 256, 256])
    FREE[how](tensor)
    assert view.is_allocated() == (how not in ("method, forced", "function"))


def test_fields_of_a_shard_spec_can_be_assigned(device: Any) -> None:
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 0))])
    spec = ttnn.ShardSpec(cores, [32, 64], ttnn.ShardOrientation.ROW_MAJOR)
    memory = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, spec)
    ttnn.empty([64, 64], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=memory)
    memory.shard_spec.shape = [64, 64]
    tensor = ttnn.empty([128, 64], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=memory)
    assert tensor.memory_config().shard_spec.shape == [64, 64]


def test_a_tensor_goes_to_dram_unless_told_otherwise(device: Any) -> None:
    """The memory a host tensor came from is not where it goes back to."""
    there = ttnn.from_torch(torch.ones(32, 32), layout=ttnn.TILE_LAYOUT, device=device, memory_config=ttnn.L1_MEMORY_CONFIG)
    assert ttnn.to_device(ttnn.from_device(there), device).memory_config() == ttnn.DRAM_MEMORY_CONFIG
