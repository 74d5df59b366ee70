"""gather_in0: products whose first operand goes round a ring of cores, in equal shards that K may not fill."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import ttnn

L1, DRAM = ttnn.L1_MEMORY_CONFIG, ttnn.DRAM_MEMORY_CONFIG


def width_shards(rows: int, columns: int, cores: int) -> Any:
    grid = ttnn.num_cores_to_corerangeset(cores, ttnn.CoreCoord(8, 8), True)
    spec = ttnn.ShardSpec(grid, [rows, columns], ttnn.ShardOrientation.ROW_MAJOR)
    return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.WIDTH_SHARDED, ttnn.BufferType.L1, spec)


def ring(device: Any, k: int, n: int, cores: int, b_memory: Any = None, out: Any = None, **changes: Any) -> Any:
    """(result, expected) of [32, k] x [k, n] on a ring of `cores` cores."""
    depth, width = -(-k // 32 // cores) * 32, -(-n // 32 // cores) * 32
    x, w = torch.randn(1, 1, 32, k), torch.randn(1, 1, k, n)
    a = ttnn.from_torch(x, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=width_shards(32, depth, cores))
    b_memory = b_memory or width_shards(k, width, cores)
    b = ttnn.from_torch(w, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=b_memory)
    config = {
        "compute_with_storage_grid_size": (8, 8),
        "in0_block_w": 1,
        "out_subblock_h": 1,
        "out_subblock_w": 1,
        "per_core_M": 1,
        "per_core_N": width // 32,
        "fuse_batch": True,
        "fused_activation": None,
        "mcast_in0": False,
        "gather_in0": True,
    }
    program = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(**{**config, **changes})
    result = ttnn.matmul(a, b, program_config=program, memory_config=out or width_shards(32, width, cores))
    return result, x.bfloat16().float() @ w.bfloat16().float()


@pytest.mark.parametrize("b_memory", [None, DRAM])
@pytest.mark.parametrize(("k", "n", "cores"), [(512, 512, 8), (320, 640, 8), (2048, 3584, 24)])
def test_product(k: int, n: int, cores: int, b_memory: Any, device: Any) -> None:
    result, expected = ring(device, k, n, cores, b_memory)
    assert result.memory_config().shard_spec.shape == [32, -(-n // 32 // cores) * 32]
    assert torch.corrcoef(torch.stack([ttnn.to_torch(result).float().flatten(), expected.flatten()]))[0, 1] > 0.999


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("mcast_in0", {"mcast_in0": True}),
        ("num_global_cb_receivers", {"num_global_cb_receivers": 2}),
        ("input_tensor_b", {"b_memory": L1}),
        ("cores of input_tensor_a", {"b_memory": width_shards(512, 128, 4)}),
        ("memory_config", {"out": DRAM}),
        ("cores of input_tensor_a", {"b_memory": DRAM, "out": width_shards(32, 128, 4), "per_core_N": 4}),
        ("in0_block_w", {"in0_block_w": 3}),
        ("per_core_M", {"per_core_M": 2}),
    ],
)
def test_what_is_refused(words: str, options: dict[str, Any], device: Any) -> None:
    with pytest.raises(RuntimeError, match=words):
        ring(device, 512, 512, 8, **options)
