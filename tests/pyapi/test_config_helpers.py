"""Every helper that makes a config, against what ttnn 0.81.1 answered (asked over a mock device, both architectures alike)."""

from __future__ import annotations

from typing import Any

import pytest
import ttnn

ROW, COL = ttnn.ShardOrientation.ROW_MAJOR, ttnn.ShardOrientation.COL_MAJOR
HEIGHT, WIDTH, BLOCK = ttnn.ShardStrategy.HEIGHT, ttnn.ShardStrategy.WIDTH, ttnn.ShardStrategy.BLOCK
REFUSED = "refused"


def shards(x: int, y: int, height: int, width: int, start: tuple[int, int] = (0, 0)) -> Any:
    corner = ttnn.CoreCoord(start[0] + x - 1, start[1] + y - 1)
    return ttnn.ShardSpec(ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(*start), corner)}), [height, width], ROW)


# (shard spec, tile height and width) -> (grid, subblock_w, block_h, block_w, inplace)
LAYERNORM = [
    ((shards(1, 1, 32, 32),), ((1, 1), 1, 1, 1, False)),
    ((shards(8, 4, 64, 96),), ((8, 4), 1, 2, 3, False)),
    ((shards(4, 1, 32, 224),), ((4, 1), 1, 1, 7, False)),
    ((shards(4, 2, 128, 256, (1, 1)),), ((4, 2), 1, 4, 8, False)),
    ((shards(2, 8, 32, 160),), ((2, 8), 1, 1, 5, False)),
    ((shards(8, 8, 32, 320),), ((8, 8), 1, 1, 10, False)),
    ((shards(2, 2, 32, 64), 16, 32), ((2, 2), 1, 2, 2, False)),
    ((shards(2, 2, 32, 48), 32, 16), ((2, 2), 1, 1, 3, False)),
]


@pytest.mark.parametrize(("arguments", "expected"), LAYERNORM, ids=range(len(LAYERNORM)))
def test_layernorm_program_config(arguments: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    made = ttnn.create_layernorm_program_config(*arguments)
    assert type(made) is ttnn.LayerNormShardedMultiCoreProgramConfig
    size = made.compute_with_storage_grid_size
    assert ((size.x, size.y), made.subblock_w, made.block_h, made.block_w, made.inplace) == expected


def test_layernorm_program_config_without_shards() -> None:
    assert repr(ttnn.create_layernorm_program_config()) == "LayerNormDefaultProgramConfig(legacy_reduction=0,use_welford=0)"


GIVEN = {"math_fidelity": ttnn.MathFidelity.HiFi2, "math_approx_mode": False, "fp32_dest_acc_en": True, "packer_l1_acc": True}
COMPUTE = {  # (helper, arguments) -> fidelity, approximate, float32 accumulation, packer accumulation
    "layernorm": (ttnn.layernorm_default_compute_config, {}, ("HiFi4", False, True, False)),
    "rmsnorm": (ttnn.operations.normalization.rmsnorm_default_compute_config, {}, ("HiFi4", True, False, False)),
    "init": (ttnn.init_device_compute_kernel_config, {}, ("LoFi", True, False, False)),
    "init given": (ttnn.init_device_compute_kernel_config, GIVEN, ("HiFi2", False, True, True)),
}


@pytest.mark.parametrize("case", COMPUTE)
def test_compute_configs(case: str, device: Any) -> None:
    helper, arguments, expected = COMPUTE[case]
    made = helper(device.arch(), **arguments)
    assert (made.math_fidelity.name, made.math_approx_mode, made.fp32_dest_acc_en, made.packer_l1_acc) == expected
    assert made.dst_full_sync_en is False


# (function, shape, strategy, orientation, shape is the shard's, tiles) -> shard shape on a grid of 4 x 2 cores
SHARDED = [
    (ttnn.create_sharded_memory_config, (1, 1, 128, 256), HEIGHT, ROW, [False], [16, 256]),
    (ttnn.create_sharded_memory_config, (1, 1, 128, 256), WIDTH, ROW, [False], [128, 32]),
    (ttnn.create_sharded_memory_config, (1, 1, 128, 256), BLOCK, ROW, [False], [64, 64]),
    (ttnn.create_sharded_memory_config, (1, 1, 128, 256), BLOCK, COL, [False], [32, 128]),
    (ttnn.create_sharded_memory_config, (128, 256), BLOCK, ROW, [True], [128, 256]),
    (ttnn.create_sharded_memory_config, (100, 256), HEIGHT, ROW, [False], REFUSED),
    (ttnn.create_sharded_memory_config_, (2, 1, 100, 250), HEIGHT, ROW, [False, False], [25, 250]),
    (ttnn.create_sharded_memory_config_, (2, 1, 100, 250), HEIGHT, ROW, [False, True], REFUSED),
    (ttnn.create_sharded_memory_config_, (2, 1, 100, 256), HEIGHT, ROW, [False, True], [25, 256]),
    (ttnn.create_sharded_memory_config_, (2, 1, 100, 250), WIDTH, ROW, [False, False], [200, 32]),
    (ttnn.create_sharded_memory_config_, (2, 1, 100, 250), WIDTH, COL, [False, True], [200, 32]),
    (ttnn.create_sharded_memory_config_, (1, 1, 37, 45), WIDTH, ROW, [False, False], [37, 6]),
    (ttnn.create_sharded_memory_config_, (1, 1, 37, 45), WIDTH, ROW, [False, True], REFUSED),
    (ttnn.create_sharded_memory_config_, (2, 1, 100, 250), BLOCK, ROW, [False, False], [100, 63]),
    (ttnn.create_sharded_memory_config_, (2, 1, 100, 250), BLOCK, ROW, [False, True], [128, 63]),
    (ttnn.create_sharded_memory_config_, (2, 1, 100, 250), BLOCK, COL, [False, False], [50, 125]),
    (ttnn.create_sharded_memory_config_, (2, 1, 100, 250), BLOCK, COL, [False, True], [64, 125]),
    (ttnn.create_sharded_memory_config_, (1, 1, 37, 45), BLOCK, ROW, [False, True], [32, 12]),
    (ttnn.create_sharded_memory_config_, (32, 64), WIDTH, COL, [True, False], [64, 32]),
    (ttnn.create_sharded_memory_config_, (37, 45), BLOCK, ROW, [True, True], REFUSED),
]


@pytest.mark.parametrize("case", SHARDED, ids=range(len(SHARDED)))
def test_sharded_memory_configs(case: tuple[Any, ...]) -> None:
    helper, shape, strategy, orientation, flags, expected = case
    if expected is REFUSED:
        with pytest.raises(RuntimeError, match=r"Incorrect tensor shape|Invalid sharding core_grid"):
            helper(shape, ttnn.CoreGrid(x=4, y=2), strategy, orientation, *flags)
        return
    made = helper(shape, ttnn.CoreGrid(x=4, y=2), strategy, orientation, *flags)
    assert made.memory_layout.name == f"{strategy.name}_SHARDED"
    assert made.buffer_type is ttnn.BufferType.L1
    assert list(made.shard_spec.shape) == expected
    assert made.shard_spec.orientation is orientation
    assert repr(made.shard_spec.grid) == "{[0-0 - 3-1]}"


CORES = {
    ("BLOCK_SHARDED", None): 2, ("BLOCK_SHARDED", ROW): 4, ("BLOCK_SHARDED", COL): 2, ("HEIGHT_SHARDED", None): 1, ("HEIGHT_SHARDED", ROW): 1,
    ("WIDTH_SHARDED", None): 8, ("WIDTH_SHARDED", COL): 8, ("INTERLEAVED", None): 8,
}  # fmt: skip


@pytest.mark.parametrize(("layout", "orientation"), CORES)
def test_group_norm_cores(layout: str, orientation: Any) -> None:
    given = () if orientation is None else (orientation,)
    found = ttnn.get_group_norm_cores_across_channel(ttnn.TensorMemoryLayout[layout], ttnn.CoreGrid(x=4, y=2), *given)
    assert found == CORES[layout, orientation]


def test_group_norm_masks() -> None:
    """4 groups of 16 channels on 2 cores: each core's tile has two groups side by side."""
    mask = ttnn.create_group_norm_input_mask(64, 4, 2, ttnn.bfloat16)
    assert list(mask.shape) == [1, 4, 32, 32]
    assert [row.index(1.0) for row in mask.to_torch().float()[0, :, 0].tolist()] == [0, 16, 0, 16]
    assert mask.to_torch().float().sum(dim=(2, 3)).tolist() == [[512.0] * 4]
    inverse = ttnn.create_group_norm_input_negative_mask(64, 4, 2, ttnn.bfloat16)
    assert bool((mask.to_torch().float() + inverse.to_torch().float() == 1).all())
    wide = ttnn.create_group_norm_input_mask(320, 32, 4, ttnn.bfloat8_b)
    assert (list(wide.shape), wide.dtype) == ([1, 32, 32, 64], ttnn.bfloat8_b)


WALKS = {
    "num_cores_to_corerangeset(11, ttnn.CoreCoord(8, 8), True)": "{[0-0 - 7-0], [0-1 - 2-1]}",
    "num_cores_to_corerangeset(11, ttnn.CoreCoord(8, 8), False)": "{[0-0 - 0-7], [1-0 - 1-2]}",
    "grid_to_cores(5, 3, 2, True)": "[0-0, 1-0, 2-0, 0-1, 1-1]",
    "grid_to_cores(5, 3, 2)": "[0-0, 0-1, 1-0, 1-1, 2-0]",
    "split_work_to_cores(ttnn.CoreCoord(4, 2), 19)": "(8, {[0-0 - 3-1]}, {[0-0 - 0-1], [1-0 - 1-0]}, {[1-1 - 1-1], [2-0 - 3-1]}, 3, 2)",
    "split_work_to_cores(ttnn.CoreCoord(4, 2), 19, True)": "(8, {[0-0 - 3-1]}, {[0-0 - 2-0]}, {[3-0 - 3-0], [0-1 - 3-1]}, 3, 2)",
    "split_work_to_cores(ttnn.CoreCoord(4, 2), 3)": "(3, {[0-0 - 0-1], [1-0 - 1-0]}, {[0-0 - 0-1], [1-0 - 1-0]}, {}, 1, 0)",
    "corerange_to_cores(ttnn.CoreRangeSet({ttnn.CoreRange((1, 0), (2, 2))}), row_wise=True)": "[1-0, 2-0, 1-1, 2-1, 1-2, 2-2]",
    "corerange_to_cores(ttnn.CoreRangeSet({ttnn.CoreRange((1, 0), (2, 2))}), 4)": "[1-0, 1-1, 1-2, 2-0]",
    "get_conv_output_dim(7, 3, 2, 1)": "4",
    "core.divup(7, 3)": "3",
    "core.roundup(33, 32)": "64",
    "tile_size(ttnn.bfloat8_b)": "1088",
    "tile_size(ttnn.bfloat4_b)": "576",
    "tile_size(ttnn.float32)": "4096",
}


@pytest.mark.parametrize("call", WALKS)
def test_core_and_size_helpers(call: str) -> None:
    assert repr(eval(f"ttnn.{call}")) == WALKS[call]
