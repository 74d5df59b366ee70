"""What functions of the API answer or refuse, as lines of `values.py`: golden functions on a few values, helpers and small classes on borders of their domains."""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import torch
import ttnn

try:
    from ttnn_extras.golden import golden_of
except ModuleNotFoundError:  # asked of a commit in which it is part of ttnn
    from ttnn._golden import golden_of

A = torch.tensor([[-3.0, -1.0, -0.5, 0.0], [0.5, 1.0, 2.5, 40.0]])
B = torch.tensor([[2.0, 0.0, -0.5, 1.0], [0.5, 1.5, -2.0, 3.0]])
C = torch.tensor([[0.25, 2.0, 1.0, 0.0], [-1.0, 0.5, 4.0, 2.0]])
WHOLE, OTHERS = torch.tensor([[6, 0, -5, 9]], dtype=torch.int32), torch.tensor([[4, 3, 2, 1]], dtype=torch.int32)
X = torch.arange(2 * 3 * 4 * 6, dtype=torch.float32).reshape(2, 3, 4, 6) * 7 % 11 - 4
OPERANDS: dict[str, tuple[Any, ...]] = {
    "a": (A,),
    "a b": (A, B),
    "a b c": (A, B, C),
    "bf16": (A.bfloat16(),),
    "i": (WHOLE,),
    "i j": (WHOLE, OTHERS),
    "a 2": (A, 2.0),
    "a 2 0.5": (A, 2.0, 0.5),
}
NAMES = sorted(
    {*(name for name in dir(ttnn) if not name.startswith("_")), *(f"transformer.{name}" for name in dir(ttnn.transformer) if not name.startswith("_"))}
)
RANDOM = {"rand", "randn", "uniform", "bernoulli", "dropout", "empty", "empty_like", "experimental"}
# Read with the names above; G is the golden function of an op, D an open device.
CALLS = """
G("reciprocal")(A, device=D)
G("logit")(C, eps=0.25)
G("logit")(C, eps=0.5)
G("logit")(C, eps=0.75)
G("round")(A, decimals=1)
G("hardtanh")(A, min_val=-0.5, max_val=2.0)
G("leaky_relu")(A, negative_slope=0.5)
G("elu")(A, alpha=0.5)
G("celu")(A, alpha=0.5)
G("hardshrink")(A, lambd=1.0)
G("softshrink")(A, lambd=1.0)
G("xielu")(A, alpha_p=0.5, alpha_n=0.25)
G("clamp")(A, -1.0, 1.0)
G("clamp")(A, max=1.0)
G("rdiv")(A, 2.0, rounding_mode="floor")
G("rdiv")(A, 2.0, rounding_mode="trunc")
G("div")(A, B, rounding_mode="floor")
G("glu")(A)
G("glu")(A, 0)
G("swiglu")(A, 0)
G("reglu")(A, -1)
G("polyval")(A, [1.0, 2.0, 3.0])
G("polygamma")(C, 2)
G("isclose")(A, A + 1e-3, rtol=1e-2)
G("isclose")(A, A + 1e-3, atol=1e-2)
G("isclose")(A / 0, A / 0, equal_nan=True)
G("div_no_nan")(A, 0)
G("logical_right_shift")(I, 1)
G("bcast")(A, B, "ADD")
G("bcast")(A, B, "SUB")
G("bcast")(A, B, "MUL")
G("addcmul")(A, B, C, value=2.0)
G("addcdiv")(A, C + 1, C + 3, value=2.0)
G("l1_loss")(A, B)
G("l1_loss")(A, B, reduction="mean")
G("mse_loss")(A, B, reduction="sum")
G("matmul")(A, B, transpose_b=True)
G("matmul")(A, B, transpose_a=True, activation="relu")
G("linear")(A, B, transpose_b=True, bias=torch.tensor([1.0, 2.0]))
G("matmul")(A, B, transpose_b=True, program_config=ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=(8, 4), in0_block_w=2, out_subblock_h=1, out_subblock_w=4, per_core_M=1, per_core_N=4, transpose_mcast=False, fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)))
G("addmm")(A[:, :2], A, B.T, alpha=2.0, beta=0.5)
G("softmax")(A)
G("softmax")(A, 1)
G("scale_mask_softmax")(A, 0.5)
G("scale_mask_softmax")(A, 0.5, B)
G("transformer.attention_softmax")(A, head_size=4)
G("transformer.attention_softmax")(A, head_size=None, attention_mask=B)
G("layer_norm")(A, epsilon=0.5, weight=B[0], bias=C[0], residual_input_tensor=B)
G("layer_norm")(A)
G("rms_norm")(A, B[0], epsilon=0.5)
G("rms_norm")(A, B[0].bfloat16())
[list(one.shape) for one in G("transformer.split_query_key_value_and_split_heads")(X[0], num_heads=2)]
G("transformer.split_query_key_value_and_split_heads")(X[0], num_heads=1, num_kv_heads=1, transpose_key=False)
[list(one.shape) for one in G("transformer.split_query_key_value_and_split_heads")(X[0][..., :4], X[0][..., :4], num_heads=2, num_kv_heads=1)]
G("transformer.concatenate_heads")(X)
G("concat")([A, B], 0)
G("concat")([A, B], -1, groups=2)
G("repeat_interleave")(A, 2)
G("repeat")(A, (1, 2))
G("pad")(A, [(1, 0), (0, 2)], 3.0)
G("squeeze")(A[:1])
G("squeeze")(A[:1], 0)
G("roll")(A, 1)
G("roll")(A, 1, 1)
G("stack")([A, B], 1)
G("chunk")(A, 2, 1)
G("split")(A, 1)
G("max")(A)
G("max")(A, dim=1)
G("max")(A, dim=1, keepdim=True)
G("sum")(A, keepdim=True)
G("mean")(A, dim=0)
G("argmax")(A, 1)
G("argmax")(A)
G("topk")(A, 2)
G("topk")(A, 2, 1, False)
G("sort")(A, 1)
G("cumsum")(A, 1)
G("outer")(A[0], B[0])
G("prelu")(A, 0.5)
G("where")(A > 0, A, B)
G("lerp")(A, B, 0.25)
G("normalize_hw")(X[:1, :1])
G("alt_complex_rotate90")(A)
G("relu_bw")(A, B)
G("mul_bw")(A, B, C)
G("max_pool2d")(X.reshape(1, 1, -1, 6), 2, 3, 4, 6, [2, 2], [1, 1], [0, 0]).shape
G("max_pool2d")(X.reshape(1, 1, -1, 6), 2, 3, 4, 6, [2, 2], [2, 2], [0, 0], ceil_mode=True).sum()
G("max_pool2d")(X.reshape(1, 1, -1, 6), 2, 3, 4, 6, [2, 2], [1, 1], [1, 1, 1, 1]).sum()
G("max_pool2d")(X.reshape(1, 1, -1, 6), 2, 3, 4, 6, [2, 2], [1, 1], [1, 0, 0, 1], dtype=ttnn.bfloat16).sum()
[one.sum() for one in G("max_pool2d")(X.reshape(1, 1, -1, 6), 2, 3, 4, 6, [2, 2], [1, 1], [0, 0], return_indices=True)]
G("avg_pool2d")(X.reshape(1, 1, -1, 6), 2, 3, 4, 6, [2, 2], [1, 1], [1, 1])[0, 0, :2]
G("avg_pool2d")(X.reshape(1, 1, -1, 6), 2, 3, 4, 6, [2, 2], [1, 1], [1, 0, 1, 0], count_include_pad=False)[0, 0, :2]
G("avg_pool2d")(X.reshape(1, 1, -1, 6), 2, 3, 4, 6, [2, 2], [1, 1], [0, 0], divisor_override=2)[0, 0, :2]
G("upsample")(X[:, :2, :2, :1], 2)
G("upsample")(X[:1, :2, :2, :1], [1, 2], "bilinear")
G("global_avg_pool2d")(X)
G("grid_sample")(X[:1, :, :, :2], torch.tensor([-0.9, -0.5, 0.3, 0.9, 1.5, 0.0]).reshape(1, 1, 3, 2))
G("grid_sample")(X[:1, :, :, :2], torch.tensor([-0.9, -0.5, 0.3, 0.9, 1.5, 0.0]).reshape(1, 1, 3, 2), mode="nearest", align_corners=True)
G("grid_sample")(X[:1, :, :, :2], torch.tensor([-0.9, -0.5, 0.3, 0.9]).reshape(1, 1, 1, 4), grid_batching_factor=2)
G("grid_sample")(X[:1, :, :, :2], torch.tensor([-0.9, -0.5, 0.3, 0.9]).reshape(1, 1, 1, 4), batch_output_channels=True)
G("grid_sample")(X[:1, :, :, :2], P(0, 0, 0.5, 0.25, 0.125, 0.125, -1, 3, 0.5, 0.25, 0.125, 0.125, 2, 5, 1, 1, 1, 1), use_precomputed_grid=True)
G("grid_sample")(X[:1, :, :, :2], P(0, 0, 2, -1, 3, 1), mode="nearest", use_precomputed_grid=True)
G("grid_sample")(X[:1, :, :, :2], torch.zeros(1, 1, 1, 6), use_precomputed_grid=True)
ttnn.get_golden_function(ttnn.add)(A, B, activations=["relu"])
ttnn.operations.activations.get_golden_function_for_activation("gelu_tanh")(A)
ttnn.operations.activations.get_golden_function_for_activation(None)
ttnn.create_group_norm_input_mask(64, 4, 1).shape
ttnn.to_torch(ttnn.create_group_norm_input_mask(96, 4, 2)).sum(-1)[0, :, 0]
ttnn.to_torch(ttnn.create_group_norm_input_mask(96, 4, 2))[0, :, 0].argmax(-1)
ttnn.to_torch(ttnn.create_group_norm_input_negative_mask(96, 4, 1)).sum(-1)[0, :, 0]
ttnn.create_group_norm_input_mask(64, 4, 3)
ttnn.create_group_norm_input_mask(4, 4, 4).shape
ttnn.create_group_norm_input_mask(3, 4, 1)
ttnn.create_group_norm_input_mask(0, 4, 1)
ttnn.create_group_norm_input_mask(64, 4, 1, rows_in_last_tile=1)
ttnn.create_group_norm_weight_bias_rm(torch.arange(12.0), 12, 2)
ttnn.create_group_norm_weight_bias_rm(torch.arange(64.0), 64, 2).shape
ttnn.determine_expected_group_norm_dram_grid_size(device=D, num_channels=256, num_groups=32, input_nhw=1024)
ttnn.determine_expected_group_norm_dram_grid_size(device=D, num_channels=96, num_groups=32, input_nhw=96, num_batches=3)
ttnn.determine_expected_group_norm_dram_grid_size(device=D, num_channels=256, num_groups=32, input_nhw=2048, num_batches=4)
ttnn.determine_expected_group_norm_dram_grid_size(device=D, num_channels=64, num_groups=2, input_nhw=31)
ttnn.to_torch(ttnn.create_layer_norm_reciprocals(D, ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 0))]), 4))
ttnn.TensorTopology(ttnn.MeshShape(1, 1), [ttnn.PlacementReplicate()], [ttnn.MeshCoordinate(0, 0)])
ttnn.TensorTopology(ttnn.MeshShape(1, 1), [ttnn.PlacementReplicate()], [ttnn.MeshCoordinate(0, 0)]).placements()
ttnn.TensorTopology(ttnn.MeshShape(1, 1), [ttnn.PlacementReplicate()], [ttnn.MeshCoordinate(0, 0)]).mesh_coords()
ttnn.TensorTopology(ttnn.MeshShape(1, 2), [], [ttnn.MeshCoordinate(0, 0)])
ttnn.TensorTopology(ttnn.MeshShape(1, 1), [], [])
ttnn.ReplicateTensorToMesh(D).unwrap()
ttnn.replicate_tensor_to_mesh_mapper(D)
ttnn.shard_tensor_to_mesh_mapper(D, 0)
ttnn.shard_tensor_to_mesh_mapper(D, 0).config()
ttnn.concat_mesh_to_tensor_composer(D, 0)
ttnn.from_host_shards([ttnn.from_torch(A)], ttnn.MeshShape(1, 1)).shape
ttnn.from_host_shards([], ttnn.MeshShape(1, 1))
ttnn.combine_device_tensors([ttnn.from_torch(A), ttnn.from_torch(A)])
ttnn.aggregate_tensor(ttnn.from_torch(A, device=D), ttnn.concat_mesh_to_tensor_composer(D, 0))
ttnn.UnaryWithParam.from_json(ttnn.UnaryWithParam(ttnn.UnaryOpType.LEAKY_RELU, 0.5).to_json())
ttnn.SoftmaxProgramConfig()
ttnn.SubDevice([])
ttnn.create_global_semaphore(D, ttnn.CoreRangeSet([]), 0)
ttnn.create_global_semaphore(D, ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 0))]), 0, ttnn.BufferType.DRAM)
ttnn.set_printoptions(profile="long")
ttnn.set_printoptions(profile="short", sci_mode="sometimes")
ttnn.set_printoptions(profile="short", precision=-1)
ttnn.num_cores_to_corerangeset(13, ttnn.CoreCoord(8, 8), row_wise=True)
ttnn.num_cores_to_corerangeset(13, ttnn.CoreCoord(8, 8), row_wise=False)
ttnn.num_cores_to_corerangeset(64, ttnn.CoreCoord(8, 8), row_wise=True)
ttnn.num_cores_to_corerangeset(65, ttnn.CoreCoord(8, 8), row_wise=True)
ttnn.num_cores_to_corerangeset(0, ttnn.CoreCoord(8, 8), row_wise=True)
ttnn.tile_size(ttnn.bfloat16), ttnn.tile_size(ttnn.bfloat8_b), ttnn.tile_size(ttnn.bfloat4_b), ttnn.tile_size(ttnn.float32), ttnn.tile_size(ttnn.uint8)
ttnn.create_sharded_memory_config((1, 1, 64, 96), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.BLOCK)
ttnn.create_sharded_memory_config((1, 1, 64, 96), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.BLOCK, ttnn.ShardOrientation.COL_MAJOR)
ttnn.create_sharded_memory_config((1, 2, 96, 64), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.HEIGHT)
ttnn.create_sharded_memory_config((1, 1, 32, 384), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.WIDTH)
ttnn.create_sharded_memory_config((1, 1, 33, 384), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.HEIGHT)
ttnn.create_sharded_memory_config((64, 32), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.HEIGHT, use_height_and_width_as_shard_shape=True)
ttnn.create_sharded_memory_config((1, 64, 32), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.HEIGHT, use_height_and_width_as_shard_shape=True)
ttnn.create_sharded_memory_config((1, 1, 64, 96), S, ttnn.ShardStrategy.BLOCK)
ttnn.create_sharded_memory_config((1, 1, 64, 96), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.BLOCK, use_height_and_width_as_shard_shape=True)
ttnn.create_sharded_memory_config((1, 1, 50, 70), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.BLOCK)
ttnn.create_sharded_memory_config((1, 1, 64, 95), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.WIDTH)
ttnn.create_sharded_memory_config((64,), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.HEIGHT)
ttnn.create_sharded_memory_config_((1, 1, 64, 96), ttnn.CoreGrid(x=3, y=2), ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.ShardOrientation.ROW_MAJOR)
ttnn.create_sharded_memory_config_((1, 1, 50, 70), ttnn.CoreGrid(x=3, y=2), ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.ShardOrientation.COL_MAJOR, tile_layout=True)
ttnn.create_sharded_memory_config_((1, 1, 50, 70), S, ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.ShardOrientation.ROW_MAJOR, tile_layout=True)
ttnn.create_sharded_memory_config_((64, 32), S, ttnn.TensorMemoryLayout.WIDTH_SHARDED, ttnn.ShardOrientation.ROW_MAJOR, use_height_and_width_as_shard_shape=True)
ttnn.CoreRange.from_json(ttnn.CoreRange((1, 2), (3, 4)).to_json())
ttnn.CoreRangeSet.from_json(S.to_json())
ttnn.MemoryConfig.from_json(ttnn.L1_MEMORY_CONFIG.to_json())
ttnn.MemoryConfig.from_json(ttnn.create_sharded_memory_config((1, 1, 64, 96), ttnn.CoreGrid(x=3, y=2), ttnn.ShardStrategy.BLOCK).to_json())
ttnn.MemoryConfig.from_json(ttnn.MemoryConfig(buffer_type=ttnn.BufferType.L1, nd_shard_spec=ttnn.NdShardSpec([1, 32, 64], S)).to_json())
ttnn.L1_MEMORY_CONFIG.experimental_set_per_core_allocation(False)
ttnn.L1_MEMORY_CONFIG.experimental_set_per_core_allocation(True)
ttnn.L1_MEMORY_CONFIG.experimental_set_range_lockstep_allocation(True)
ttnn.L1_MEMORY_CONFIG == ttnn.MemoryConfig(buffer_type=ttnn.BufferType.L1), ttnn.L1_MEMORY_CONFIG == ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG != 3
S.contains(ttnn.CoreCoord(1, 0)), S.contains(ttnn.CoreCoord(2, 0)), S.contains(ttnn.CoreRange((0, 0), (1, 1))), S.contains(ttnn.CoreRange((0, 0), (2, 1))), S.contains(S)
S.subtract(ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (0, 0))])), S.subtract(S), S.subtract(ttnn.CoreRangeSet([ttnn.CoreRange((5, 5), (6, 6))]))
S.merge(ttnn.CoreRangeSet([ttnn.CoreRange((2, 0), (3, 1))])), S.num_cores(), S.size(), S.bounding_box(), S.ranges()
ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 1)), ttnn.CoreRange((1, 1), (2, 2))])
ttnn.CoreRange((2, 0), (1, 1))
ttnn.CoreRange((0, 0), (1, 1)) == ttnn.CoreRange((0, 0), (1, 1)), ttnn.CoreRange((0, 0), (1, 1)) == ttnn.CoreRange((0, 0), (1, 2)), hash(ttnn.CoreCoord(1, 2)) == hash(ttnn.CoreCoord(1, 2))
ttnn.CoreRange((0, 0), (3, 1)).grid_size()
ttnn.corerange_to_cores(S), ttnn.corerange_to_cores(S, 3), ttnn.corerange_to_cores(S, 3, True), ttnn.corerange_to_cores(S, None, True)
ttnn.grid_to_cores(5, 3, 2), ttnn.grid_to_cores(5, 3, 2, True)
ttnn.grid_to_cores(7, 3, 2, True)
ttnn.num_cores_to_corerangeset(5, ttnn.CoreCoord(3, 2), row_wise=True), ttnn.num_cores_to_corerangeset(4, ttnn.CoreCoord(3, 2), row_wise=False)
ttnn.num_cores_to_corerangeset_in_subcoregrids(ttnn.CoreCoord(0, 0), 3, S, row_wise=True)
ttnn.num_cores_to_corerangeset_in_subcoregrids(ttnn.CoreCoord(1, 0), 4, S, row_wise=True)
ttnn.num_cores_to_corerangeset_in_subcoregrids(ttnn.CoreCoord(1, 0), 4, S, row_wise=False)
ttnn.num_cores_to_corerangeset_in_subcoregrids(ttnn.CoreCoord(0, 0), 9, S, row_wise=True)
ttnn.num_cores_to_corerangeset_in_subcoregrids(ttnn.CoreCoord(5, 5), 1, S, row_wise=True)
ttnn.split_work_to_cores(ttnn.CoreCoord(8, 8), 130), ttnn.split_work_to_cores(ttnn.CoreCoord(8, 8), 130, True)
ttnn.split_work_to_cores(ttnn.CoreCoord(2, 3), 12), ttnn.split_work_to_cores(ttnn.CoreCoord(2, 3), 4), ttnn.split_work_to_cores(ttnn.CoreCoord(2, 3), 4, True), ttnn.split_work_to_cores(ttnn.CoreCoord(2, 3), 0)
ttnn.split_work_to_cores(ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 2))]), 13), ttnn.split_work_to_cores(ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 2))]), 13, True)
ttnn.split_work_to_cores(ttnn.CoreRangeSet([ttnn.CoreRange((1, 0), (2, 2))]), 13)
ttnn.split_work_to_cores(S, 13)
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).sharded([1, 30, 50], S)
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).sharded([1, 30, 50], S).memory_config.nd_shard_spec
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT).sharded([1, 30, 50], S).memory_config.nd_shard_spec
ttnn.TensorSpec([2, 3, 40, 100], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT).sharded([1, 30, 50], S, ttnn.ShardShapeAlignment.NONE).memory_config.nd_shard_spec
ttnn.TensorSpec([2, 3, 40, 100], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT).sharded([1, 30, 50], S, ttnn.ShardShapeAlignment.REQUIRED).memory_config.nd_shard_spec
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).sharded(ttnn.NdShardSpec([1, 30, 50], S)).memory_config.nd_shard_spec
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).sharded(ttnn.NdShardSpec([1, 30, 50], S), ttnn.ShardShapeAlignment.NONE).memory_config.nd_shard_spec
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).height_sharded(S).memory_config, ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).width_sharded(S).memory_config
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).block_sharded(ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (3, 1))])).memory_config
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).block_sharded(S).memory_config
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).sharded_across_dims([1, 2], S).memory_config, ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT).sharded_across_dims_except([1], S).memory_config
ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT, tile=ttnn.Tile([16, 32])), ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT) == ttnn.TensorSpec([2, 3, 40, 101], ttnn.bfloat16, ttnn.TILE_LAYOUT)
ttnn.Tile([32, 32]) == ttnn.Tile([32, 32]), ttnn.Tile([32, 32]) == ttnn.Tile([16, 32])
ttnn.Tile([31, 32])
ttnn.load_config_from_json_file("/nowhere/at/all.json")
ttnn.load_config_from_dictionary({"no_such_key": 1})
ttnn.load_config_from_dictionary({"enable_logging": 1})
ttnn.CONFIG.keys()
setattr(ttnn.CONFIG, "enable_logging", 3)
ttnn.cluster.serialize_cluster_descriptor()
str(ttnn.cluster.ClusterType.P150), ttnn.cluster.get_cluster_type()
ttnn.SubDevice([3])
ttnn.SubDevice([S, S])
ttnn.MeshTraceId(3), ttnn.MeshTraceId(3) == ttnn.MeshTraceId(3), ttnn.MeshTraceId(3) == ttnn.MeshTraceId(4), ttnn.MeshTraceId(3) == 3, hash(ttnn.MeshTraceId(3)) == hash(ttnn.MeshTraceId(3)), int(ttnn.MeshTraceId(3))
ttnn.execute_trace(D, ttnn.MeshTraceId(99))
ttnn.release_trace(D, ttnn.MeshTraceId(99))
ttnn.end_trace_capture(D, ttnn.MeshTraceId(99))
ttnn.QueueId(1) == 1, ttnn.QueueId(1) == ttnn.QueueId(1), ttnn.QueueId(1) != ttnn.QueueId(2), hash(ttnn.QueueId(2)), int(ttnn.QueueId(3)), ttnn.SubDeviceId(1) == 1, ttnn.SubDeviceId(1) == ttnn.SubDeviceId(1)
ttnn.MeshCoordinate(1, 2) == ttnn.MeshCoordinate(1, 2), ttnn.MeshCoordinate(coords=[1, 2]), ttnn.MeshShape([1, 1]), ttnn.MeshShape(1, 2) == ttnn.MeshShape(1, 2), ttnn.MeshShape(2, 3).mesh_size(), ttnn.MeshShape(2, 3)[1]
ttnn.from_host_shards([ttnn.from_torch(A)], [1, 1]).shape
ttnn.from_host_shards([ttnn.from_torch(A)], "1x1")
ttnn.get_global_semaphore_address(ttnn.create_global_semaphore(D, S, 0)) > 0, ttnn.create_global_semaphore(D, S, 0)._tensor.memory_config()
ttnn.command_queue(None).__enter__()
ttnn.dram_group_norm_params_from_torch(torch.arange(64.0), 64, 2, D)
ttnn.dram_group_norm_params_from_torch([torch.arange(64.0), torch.ones(64)], 64, 2, D, return_mask=False)
ttnn.dram_group_norm_params_from_torch(torch.arange(64.0), 64, 2, None, core_grid=ttnn.CoreGrid(x=2, y=2), return_mask=False)
ttnn.dram_group_norm_params_from_torch(torch.arange(64.0), 64, 2, None)
ttnn.dram_group_norm_params_from_torch(torch.arange(63.0), 64, 2, D)
ttnn.dram_group_norm_params_from_torch(torch.arange(48.0), 48, 2, D)
ttnn.Tensor(A.numpy(), ttnn.bfloat8_b, D, ttnn.ROW_MAJOR_LAYOUT)
ttnn.Tensor(I.numpy(), ttnn.int32, enable_bfloat_opt=True)
ttnn.Tensor(A.numpy(), ttnn.float32, col_tilize=True)
ttnn.Tensor(A.numpy(), ttnn.fp8_e4m3).dtype
ttnn.Tensor(A.double().numpy(), ttnn.float32)
ttnn.Tensor(A.bfloat16(), ttnn.fp8_e4m3)
ttnn.Tensor(A.half().numpy())
ttnn.Tensor(I.short().numpy(), ttnn.int32), ttnn.Tensor(I.long().numpy(), ttnn.int32), ttnn.Tensor(I.byte().numpy(), ttnn.uint8), ttnn.Tensor(I.numpy(), ttnn.uint16)
ttnn.Tensor(I.short().numpy(), ttnn.bfloat16)
ttnn.Tensor(I.long().numpy(), ttnn.bfloat16)
ttnn.Tensor(I.long().numpy())
ttnn.Tensor((A > 0).numpy())
ttnn.Tensor([1, 2, 3, 4], [2, 2], ttnn.int32, ttnn.ROW_MAJOR_LAYOUT), ttnn.Tensor([1.0, 2.0], [2], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT)
ttnn.Tensor([1, 2, 3], [2, 2], ttnn.int32, ttnn.ROW_MAJOR_LAYOUT)
ttnn.from_torch(A).buffer_address()
deallocated(ttnn.from_torch(A, device=D)).buffer_address()
deallocated(ttnn.from_torch(A, device=D)).memory_config()
ttnn.to_torch(deallocated(ttnn.from_torch(A, device=D)))
ttnn.add(deallocated(ttnn.from_torch(A, device=D, layout=ttnn.TILE_LAYOUT)), 1.0)
ttnn.from_torch(A, dtype=ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT), ttnn.from_torch(A, dtype=ttnn.bfloat4_b, layout=ttnn.TILE_LAYOUT)
ttnn.from_torch(A, dtype=ttnn.bfloat8_b)
ttnn.from_torch(A, pad_value=3.0, layout=ttnn.TILE_LAYOUT).padded_shape, ttnn.from_torch(A, tile=ttnn.Tile([16, 32]), layout=ttnn.TILE_LAYOUT).tile
ttnn.from_torch(A, memory_config=ttnn.L1_MEMORY_CONFIG)
ttnn.from_torch(A, spec=ttnn.TensorSpec([2, 4], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT))
ttnn.from_torch(A, spec=ttnn.TensorSpec([2, 5], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT))
ttnn.to_torch(ttnn.from_torch(A), dtype=torch.bfloat16).dtype
ttnn.to_torch(ttnn.from_torch(A), torch_rank=1)
ttnn.to_torch(ttnn.from_torch(A[:1]), torch_rank=1), ttnn.to_torch(ttnn.from_torch(A), torch_rank=4)
ttnn._ttnn.multi_device.SystemMeshDescriptor().shape(), ttnn._ttnn.multi_device.SystemMeshDescriptor().local_shape(), ttnn._ttnn.multi_device.SystemMeshDescriptor().all_local()
ttnn._ttnn.operations.experimental.ccl_experimental.GlobalSemaphoreArg()
ttnn._ttnn.no_such_part
ttnn._ttnn.graph.no_such_name
ttnn._ttnn.__wrapped__
ttnn._ttnn.graph.__wrapped__
ttnn._ttnn.CONFIG is ttnn.CONFIG, ttnn._ttnn.graph.RunMode is ttnn.graph.RunMode
ttnn.tracer.is_tracing_enabled(), ttnn.tracer.disable_tracing(), ttnn.tracer.visualize()
ttnn.tracer.enable_tracing()
ttnn.tracer.trace().__enter__()
ttnn.tracer.no_such_name
ttnn.tracer.__wrapped__
ttnn.no_such_name
ttnn.experimental.no_such_name
ttnn.get_memory_config(ttnn.from_torch(A, device=D)), ttnn.get_memory_config(ttnn.from_torch(A))
ttnn.get_memory_config(ttnn.from_torch(A))
ttnn.is_sharded(ttnn.from_torch(A, device=D)), ttnn.has_storage_type_of(ttnn.from_torch(A), ttnn.DEVICE_STORAGE_TYPE), ttnn.is_tensor_storage_on_device(ttnn.from_torch(A))
ttnn.element_size(ttnn.bfloat8_b)
ttnn.get_allocator_base_address(D, ttnn.BufferType.L1)
ttnn.model_preprocessing.make_parameter_dict({"a": {"w": ttnn.from_torch(A), "t": A, "n": 3}, "e": {}, "l": ttnn.model_preprocessing.ParameterList([1, B])})
ttnn.model_preprocessing.ParameterList([]), ttnn.model_preprocessing.ParameterDict(), ttnn.model_preprocessing.ModuleArgs()
1 in ttnn.model_preprocessing.ParameterList([5, 6]), 2 in ttnn.model_preprocessing.ParameterList([5, 6]), 5 in ttnn.model_preprocessing.ParameterList([5, 6]), "a" in ttnn.model_preprocessing.ParameterList([5, 6])
ttnn.model_preprocessing.preprocess_model(convert_to_ttnn=lambda *_: False, run_model=lambda model: None)
ttnn.model_preprocessing.preprocess_model("name", convert_to_ttnn=lambda *_: False, run_model=lambda model: None)
ttnn.model_preprocessing.preprocess_model_parameters(initialize_model=lambda: torch.nn.Linear(4, 2, bias=False), convert_to_ttnn=lambda *_: False).weight.shape
ttnn.model_preprocessing.preprocess_model_parameters(initialize_model=lambda: torch.nn.Linear(4, 2), device=D)
ttnn.model_preprocessing.preprocess_model_parameters(initialize_model=lambda: torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.Embedding(3, 4)), device=D)
ttnn.model_preprocessing.preprocess_model_parameters(initialize_model=lambda: torch.nn.Linear(4, 2))
ttnn.model_preprocessing.preprocess_model_parameters()
ttnn.dump_tensor("/nowhere/at/all.tensorbin", ttnn.from_torch(A))
ttnn.load_tensor("/nowhere/at/all.tensorbin")
"""


def prepared(*numbers: float) -> torch.Tensor:
    """Points of a prepared grid: two integers in the bits of bfloat16, then, where there are six numbers, weights."""
    last = 6 if len(numbers) % 6 == 0 and any(isinstance(one, float) for one in numbers) else 2
    rows = torch.tensor(numbers, dtype=torch.float32).reshape(1, 1, -1, last)
    made = rows.bfloat16()
    made[..., :2] = rows[..., :2].to(torch.int16).view(torch.bfloat16)
    return made


def _deallocated(tensor: Any) -> Any:
    ttnn.deallocate(tensor)
    return tensor


def _shown(value: Any) -> str:
    if isinstance(value, ttnn.Tensor):
        value = (str(value.dtype), list(value.shape), ttnn.to_torch(value))
    if isinstance(value, torch.Tensor):
        numbers = [f"{one:.4g}" if isinstance(one, float) else str(one) for one in value.flatten()[:24].tolist()]
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)} {' '.join(numbers)}"
    if isinstance(value, list | tuple) and type(value).__module__ != "ttnn":
        return f"({', '.join(map(_shown, value))})"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _answer(call: Any) -> str:
    try:
        return _shown(call()).replace("\n", "\\n")[:700]
    except Exception as error:  # noqa: BLE001 - a refusal is an answer
        return f"{type(error).__name__}: {error}".partition("\n")[0][:200]


def _program(device: Any) -> None:
    """Shards, rows, a function of several programs, a refused call, an op in place, tensors from and to the host."""
    cores = ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 0))])
    shards = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, ttnn.ShardSpec(cores, [32, 64], ttnn.ShardOrientation.ROW_MAJOR))
    x = ttnn.from_torch(torch.ones(1, 1, 64, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    rows = ttnn.from_torch(torch.ones(3, 40), dtype=ttnn.float32, device=device, memory_config=ttnn.L1_MEMORY_CONFIG)
    held = ttnn.to_memory_config(x, shards)
    both = ttnn.add(held, held, memory_config=shards)
    with contextlib.suppress(RuntimeError):
        ttnn.matmul(x, rows)
    whole = ttnn.to_layout(ttnn.sharded_to_interleaved(both), ttnn.ROW_MAJOR_LAYOUT)
    ttnn.multiply_(x, 2.0)
    parts = ttnn.split(x, 32, 3)
    ttnn.to_torch(ttnn.concat([parts[1], parts[0]], 3))
    for one in (held, both, whole, rows):
        ttnn.deallocate(one)


def _numbered(text: str, numbers: dict[str, str]) -> str:
    """With tensors numbered in the order in which they are named, however many were made before."""
    return re.sub(r'("tensor_id": ?"?)(\d+)', lambda found: found[1] + numbers.setdefault(found[2], str(len(numbers) + 1)), text)


def _graph_answers(device: Any, mode: Any) -> Iterator[str]:
    graph = ttnn.graph
    with tempfile.TemporaryDirectory() as folder:
        graph.begin_graph_capture(mode)
        _program(device)
        nodes = graph.end_graph_capture_to_file(f"{folder}/capture.json")
        numbers: dict[str, str] = {}
        for name in ("count_intermediate_and_output_tensors", "extract_calltrace", "extract_output_info", "extract_peak_L1_memory_usage"):
            yield f"{name} {_answer(lambda name=name: getattr(graph, name)(nodes))}"
        usage = graph.extract_resource_usage_per_core(nodes)
        yield f"extract_resource_usage_per_core {[getattr(usage, name) for name in dir(usage) if not name.startswith('_')]}"
        for node in nodes:
            yield _numbered(json.dumps({key: value for key, value in node.items() if "duration" not in key}, separators=(",", ":"))[:600], numbers)
        yield f"extract_output_tensors {sorted(graph.extract_output_tensors(nodes))}"
        if mode == graph.RunMode.NO_DISPATCH:
            return
        ttnn.graph_report.import_report(f"{folder}/capture.json", folder)
        with contextlib.closing(sqlite3.connect(f"{folder}/db.sqlite")) as database:
            for (table,) in database.execute("select name from sqlite_master where type = 'table' and name != 'report_metadata' order by name").fetchall():
                found = database.execute(f"select * from {table}")
                names = [name for name, *_ in found.description]
                for row in found.fetchall():
                    told = {
                        name: str(value).partition("\n")[0]
                        for name, value in zip(names, row, strict=True)
                        if not re.search("duration|time|stack|captured|path", name)
                    }
                    yield _numbered(f"{table} {json.dumps(told, default=str)}"[:400], numbers)


TENSORS = """
ttnn.from_torch(A, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=D)
ttnn.from_torch(A, device=D, memory_config=ttnn.L1_MEMORY_CONFIG)
ttnn.from_torch(X, dtype=ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT, device=D)
ttnn.from_torch(X, dtype=ttnn.bfloat4_b, layout=ttnn.TILE_LAYOUT)
ttnn.from_torch(I, device=D)
ttnn.from_torch(torch.ones(1, 1, 50, 70), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=D, memory_config=ttnn.create_sharded_memory_config((32, 96), ttnn.CoreGrid(x=1, y=2), ttnn.ShardStrategy.HEIGHT, use_height_and_width_as_shard_shape=True))
ttnn.from_torch(torch.ones(2, 3, 40, 64), dtype=ttnn.float32, device=D, memory_config=ttnn.MemoryConfig(buffer_type=ttnn.BufferType.L1, nd_shard_spec=ttnn.NdShardSpec([1, 1, 10, 64], S)))
ttnn.from_torch(torch.ones(40, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, tile=ttnn.Tile([16, 32]), device=D)
ttnn.from_torch(torch.ones(0, 64), dtype=ttnn.bfloat16, device=D)
ttnn.from_torch(torch.tensor(2.5), dtype=ttnn.float32)
deallocated(ttnn.from_torch(A, device=D))
"""
METHODS = """
t.to(ttnn.TILE_LAYOUT)
t.to(ttnn.ROW_MAJOR_LAYOUT)
t.cpu().to(ttnn.TILE_LAYOUT).padded_shape
t.reshape(-1)
t.reshape([8, 1])
t.reshape(3)
t.cpu().pad([4, 6], [1, 1], 7.0)
t.cpu().pad_to_tile(3.0).padded_shape
t.cpu().unpad([0, 1], [2, 3])
t.to_torch_with_padded_shape().shape
t[0]
t[:, 1:3]
t[-1, ::2]
t[..., 0]
t[5]
t + 1, t - t, t * 2, 2 - t, t / 2, t ** 2
abs(t)
-t
t @ t
t == t, t != 1.0, t > 0, t <= 0
t.is_sharded(), t.is_allocated(), t.storage_type(), t.volume(), t.logical_volume()
len(t)
list(t)
bool(t)
float(t)
t.item()
"""


def lines(rows: Callable[[Any], Iterator[str]]) -> Iterator[str]:
    """rows: what a value answers to each of its methods."""
    yield "=== golden functions"
    for name in NAMES:
        golden = golden_of(f"ttnn.{name}") if name not in RANDOM else None
        told: set[str] = set()
        for given, operands in OPERANDS.items() if golden is not None else ():
            answer = _answer(lambda golden=golden, operands=operands: golden(*(one.clone() if torch.is_tensor(one) else one for one in operands)))
            if answer not in told and not re.match(r"(Type|Attribute|Index|Value|Runtime)Error|\w*Exception|NotImplemented", answer):
                told.add(answer)  # operands that a function does not read tell nothing
                yield f"{name}({given}) {answer}"
    yield "=== calls"
    device = ttnn.open_device(device_id=0)
    known = {
        "ttnn": ttnn,
        "torch": torch,
        "D": device,
        "G": lambda name: golden_of(f"ttnn.{name}"),
        "P": prepared,
        "A": A,
        "B": B,
        "C": C,
        "I": WHOLE,
        "J": OTHERS,
        "X": X,
        "S": ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 1)), ttnn.CoreRange((2, 2), (3, 2))]),
        "deallocated": _deallocated,
    }
    importlib.import_module("ttnn.model_preprocessing")
    for text in CALLS.strip().splitlines():
        yield f"{text} -> {_answer(lambda text=text: eval(text, known))}"
    for text in TENSORS.strip().splitlines():
        yield f"=== {text}"
        tensor = eval(text, known)
        yield from (row for row in rows(tensor) if not row.startswith(("device ", "device() ", "devices() ", "tensor_id ", "tensor_id() ", "buffer_unique_id")))
        for method in METHODS.strip().splitlines() if tensor.is_allocated() and tensor.logical_volume() < 20 else ():
            yield f"{method} -> {_answer(lambda method=method, tensor=tensor: eval(method, {'ttnn': ttnn, 't': tensor}))}"
        del tensor
    yield "=== a captured graph"
    for mode in (ttnn.graph.RunMode.NORMAL, ttnn.graph.RunMode.NO_DISPATCH):
        ttnn.graph.begin_graph_capture(mode)
        x = ttnn.from_torch(torch.ones(1, 1, 64, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        y = ttnn.to_memory_config(ttnn.matmul(ttnn.add(x, x, activations=[ttnn.UnaryOpType.RELU]), x), ttnn.L1_MEMORY_CONFIG)
        ttnn.topk(y, 32)
        ttnn.deallocate(x)
        numbers: dict[str, str] = {}
        for node in ttnn.graph.end_graph_capture():
            yield _numbered(json.dumps({key: value for key, value in node.items() if "duration" not in key}, separators=(",", ":"))[:600], numbers)
    yield "=== what functions and the report say of a graph"
    for mode in (ttnn.graph.RunMode.NORMAL, ttnn.graph.RunMode.NO_DISPATCH):
        yield from _graph_answers(device, mode)
    ttnn.close_device(device)
