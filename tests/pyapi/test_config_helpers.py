"""Every helper that makes a config, against what ttnn 0.81.1 answered (asked over a mock device, both architectures alike)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import ttnn

from tests.tables import table

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


@table("case", SHARDED, ids=range(len(SHARDED)))
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


@table("call", WALKS)
def test_core_and_size_helpers(call: str) -> None:
    assert repr(eval(f"ttnn.{call}")) == WALKS[call]


# (channels, groups, rows, batches) -> grid of cores, columns of an 8 x 8 grid; grids of Wormhole's 8 x 8
DRAM_NORMS = [
    ((320, 32, 4096, 1), (8, 8), 2),
    ((512, 32, 1024, 2), (8, 8), 8),
    ((480, 8, 960, 1), (6, 5), 1),
    ((128, 16, 96, 3), (4, 3), 4),
    ((64, 32, 32, 1), (2, 1), 2),
]


@pytest.mark.parametrize(("sizes", "grid", "columns"), DRAM_NORMS, ids=range(len(DRAM_NORMS)))
def test_grid_of_interleaved_group_norm(sizes: tuple[int, int, int, int], grid: tuple[int, int], columns: int, device: Any) -> None:
    channels, groups, rows, batches = sizes
    found = ttnn.determine_expected_group_norm_dram_grid_size(device=device, num_channels=channels, num_groups=groups, input_nhw=rows, num_batches=batches)
    assert (found.x, found.y) == grid
    assert ttnn.operations.normalization.dram_group_norm_virtual_columns(ttnn.CoreGrid(x=8, y=8), channels, groups) == columns


def test_parameters_of_norms(device: Any) -> None:
    weights = [torch.randn(320), torch.randn(320)]
    made, mask = ttnn.dram_group_norm_params_from_torch(weights, 320, 32, device)
    assert [list(value.shape) for value in (*made, mask)] == [[1, 1, 10, 32], [1, 1, 10, 32], [1, 32, 32, 64]]
    assert [value.layout for value in (*made, mask)] == [ttnn.ROW_MAJOR_LAYOUT, ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT]
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 1))])
    table = ttnn.create_layer_norm_reciprocals(device, cores, 96)
    assert table.memory_config().shard_spec.shape == [1, 96]
    assert torch.equal(ttnn.to_torch(table), (1 / torch.arange(1, 97, dtype=torch.float64)).float().expand(4, 96))


ND = "ND_SHARDED"
# (shape, layout, method, its argument) -> memory layout, shard
SPREAD: list[tuple[tuple[list[int], str, str, list[int]], tuple[str, list[int]]]] = [
    (([3, 160, 160], "TILE", "sharded_across_dims", [0]), ("HEIGHT_SHARDED", [160, 160])),
    (([3, 160, 160], "TILE", "sharded_across_dims", [-1, -2]), (ND, [3, 32, 32])),
    (([3, 160, 160], "ROW_MAJOR", "sharded_across_dims", [0, 1]), (ND, [1, 1, 160])),
    (([2, 3, 64, 96], "TILE", "sharded_across_dims", [0, 1]), ("HEIGHT_SHARDED", [64, 96])),
    (([2, 3, 64, 96], "TILE", "sharded_across_dims", [0]), ("HEIGHT_SHARDED", [192, 96])),
    (([2, 3, 64, 96], "TILE", "sharded_across_dims_except", [0]), (ND, [2, 1, 32, 32])),
    (([5, 7, 33], "TILE", "sharded_across_dims_except", [0]), ("WIDTH_SHARDED", [160, 32])),
    (([5, 7, 33], "ROW_MAJOR", "sharded_across_dims", [0]), ("HEIGHT_SHARDED", [7, 64])),
    (([3, 160, 160], "TILE", "sharded", [1, 40, 50]), (ND, [1, 64, 64])),
    (([3, 160, 160], "ROW_MAJOR", "sharded", [1, 40, 50]), (ND, [1, 40, 64])),
    (([5, 7, 33], "TILE", "sharded", [64, 64]), ("HEIGHT_SHARDED", [64, 64])),
    (([64, 128], "TILE", "sharded", [32, 32]), ("BLOCK_SHARDED", [32, 32])),
    (([128, 128], "TILE", "sharded", [64, 64]), (ND, [64, 64])),  # a row of two shards does not fill a row of four cores
    (([20, 30], "TILE", "sharded", [32, 32]), ("WIDTH_SHARDED", [32, 32])),
    (([2, 64, 64], "TILE", "sharded", [2, 32, 64]), (ND, [2, 32, 64])),  # its rows do not follow one another
]


@table(("given", "expected"), SPREAD, ids=range(len(SPREAD)))
def test_sharded_specs(given: tuple[list[int], str, str, list[int]], expected: tuple[str, list[int]], device: Any) -> None:
    """The specs that a spec's own methods make; a tensor made by one holds its values."""
    shape, layout, method, argument = given
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 1))])
    spec = getattr(ttnn.TensorSpec(ttnn.Shape(shape), ttnn.bfloat16, getattr(ttnn.Layout, layout), ttnn.BufferType.L1), method)(argument, cores)
    config = spec.memory_config
    shard = list(config.nd_shard_spec.shard_shape) if config.shard_spec is None else config.shard_spec.shape
    assert (config.memory_layout.name, shard) == expected
    values = torch.randn(shape).bfloat16()
    tensor = ttnn.from_torch(values, spec=spec, device=device)
    assert torch.equal(ttnn.to_torch(tensor), values)
    assert tensor.memory_config() == config and str(tensor.memory_config()) == str(config) and tensor.memory_config().nd_shard_spec is not None


def test_padding_that_an_op_filled_is_read_back(device: Any) -> None:
    values = torch.ones(1, 1, 20, 30)
    filled = ttnn.fill_implicit_tile_padding(ttnn.from_torch(values, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device), 2.5)
    padded = ttnn.from_device(filled).to_torch_with_padded_shape().float()
    assert padded.shape == (1, 1, 32, 32)
    assert padded.sum() == 20 * 30 + 2.5 * (32 * 32 - 20 * 30)
