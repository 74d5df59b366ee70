"""What the small types of the API answer, and what they refuse: expressions and their values."""

from __future__ import annotations

import json  # noqa: F401 - expressions use it
from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import ShimError

from tests.tables import table

CORES = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 1))})
APART = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 1)), ttnn.CoreRange(ttnn.CoreCoord(2, 2), ttnn.CoreCoord(3, 2))])
SHARD = ttnn.ShardSpec(CORES, [32, 64], ttnn.ShardOrientation.ROW_MAJOR)
ND = ttnn.NdShardSpec(ttnn.Shape([1, 32, 64]), CORES, ttnn.ShardOrientation.COL_MAJOR)
SPEC = ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT)
ROWS = ttnn.TensorSpec([100, 24], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT)
HALF, THIN, SMALL = ttnn.Tile([16, 32]), ttnn.Tile([32, 16]), ttnn.Tile([4, 32])
CONV = ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat8_b, act_block_h_override=64, activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU))
MATMUL = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
    compute_with_storage_grid_size=ttnn.CoreCoord(8, 4),
    in0_block_w=2,
    out_subblock_h=1,
    out_subblock_w=4,
    per_core_M=1,
    per_core_N=4,
    fuse_batch=True,
    mcast_in0=True,
)


def shards(spec: Any) -> tuple[str, list[int], int]:
    config = spec.memory_config
    return config.memory_layout.name, list(config.shard_spec.shape), config.shard_spec.num_cores()


VALUES: dict[str, Any] = {
    "ttnn.ShardSpec(CORES, [0, 32], ttnn.ShardOrientation.ROW_MAJOR).shape": [0, 32],
    "json.loads(SHARD.to_json())['shape']": [32, 64],
    "SHARD.num_cores()": 8,
    "ND.num_cores()": 8,
    "json.loads(ND.to_json())['shard_shape']": [1, 32, 64],
    "ttnn.NdShardSpec.from_json(ND.to_json()) == ND": True,
    "ttnn.ShardSpec.from_json(SHARD.to_json()) == SHARD": True,
    'repr(ND).startswith(\'{"shard_shape":[1, 32, 64],"grid":\')': True,
    "ttnn.MemoryConfig.from_json(ttnn.MemoryConfig(buffer_type=ttnn.BufferType.L1, nd_shard_spec=ND).to_json()).nd_shard_spec == ND": True,
    "ttnn.MemoryConfig.from_json(ttnn.L1_MEMORY_CONFIG.to_json()) == ttnn.L1_MEMORY_CONFIG": True,
    "[HALF.face_shape, THIN.face_shape, SMALL.face_shape]": [[16, 16], [16, 16], [4, 16]],
    "[HALF.num_faces, THIN.num_faces, SMALL.num_faces, ttnn.Tile([32, 32]).num_faces]": [2, 2, 2, 4],
    "[HALF.partial_face, SMALL.partial_face]": [0, 1],
    "[HALF.narrow_tile, THIN.narrow_tile]": [0, 1],
    "[HALF.transpose_within_face, ttnn.Tile([32, 32], True).transpose_within_face]": [False, True],
    "[HALF.get_tile_size(d) for d in (ttnn.bfloat16, ttnn.float32, ttnn.uint8, ttnn.bfloat8_b, ttnn.bfloat4_b)]": [1024, 2048, 512, 544, 288],
    "[SMALL.get_tile_size(d) for d in (ttnn.bfloat16, ttnn.bfloat8_b, ttnn.bfloat4_b)]": [256, 144, 80],
    "shards(SPEC.height_sharded(CORES))": ("HEIGHT_SHARDED", [64, 128], 8),
    "shards(SPEC.width_sharded(CORES))": ("WIDTH_SHARDED", [384, 32], 8),
    "shards(SPEC.block_sharded(CORES))": ("BLOCK_SHARDED", [192, 32], 8),
    "shards(SPEC.block_sharded(CORES, ttnn.ShardOrientation.COL_MAJOR))": ("BLOCK_SHARDED", [96, 64], 8),
    "shards(ROWS.height_sharded(CORES))": ("HEIGHT_SHARDED", [13, 24], 8),
    "shards(ROWS.block_sharded(CORES))": ("BLOCK_SHARDED", [50, 6], 8),
    "SPEC == ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT)": True,
    "SPEC == ROWS": False,
    "[ttnn.Shape([4, 5]).rank, ttnn.Shape([]).rank]": [2, 0],
    "[list(ttnn.Shape([4, 5]).to_rank(4)), list(ttnn.Shape([1, 1, 4, 5]).to_rank(2))]": [[1, 1, 4, 5], [4, 5]],
    "len({ttnn.Shape([4, 5]), ttnn.Shape([4, 5]), ttnn.Shape([5, 4])})": 2,
    "ttnn.CoreCoord.from_json(ttnn.CoreCoord(3, 5).to_json()) == ttnn.CoreCoord(3, 5)": True,
    "ttnn.CoreCoord(3, 5).to_json()": '{"x":3,"y":5}',
    "ttnn.CoreRangeSet.from_json(APART.to_json()) == APART": True,
    "[APART.size(), APART.num_cores(), CORES.size()]": [2, 4, 1],
    "[CORES.contains(ttnn.CoreCoord(x, y)) for x, y in ((0, 0), (3, 1), (4, 1), (3, 2))]": [True, True, False, False],
    "[one.contains(ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 0))) for one in (CORES, APART)]": [True, False],
    "[CORES.contains(APART), APART.contains(APART)]": [False, True],
    "[CORES.bounding_box().contains(ttnn.CoreCoord(x, y)) for x, y in ((0, 0), (3, 1), (4, 1), (3, 2))]": [True, True, False, False],
    "[CORES.bounding_box().contains(one) for one in (CORES.bounding_box(), APART.bounding_box())]": [True, False],
    "[APART.bounding_box().contains(one) for one in (CORES, APART)]": [True, True],
    "[CORES != APART, CORES != CORES]": [True, False],
    "[ttnn.CoreGrid(x=8, y=4).num_cores, ttnn.CoreGrid(x=8, y=4) == ttnn.CoreGrid(x=4, y=8)]": [32, False],
    "type(MATMUL).from_json(MATMUL.to_json()).compute_with_storage_grid_size == ttnn.CoreCoord(8, 4)": True,
    "type(MATMUL).from_json(MATMUL.to_json()).per_core_N": 4,
    "repr(type(MATMUL).from_json(MATMUL.to_json())) == repr(MATMUL)": True,
    "[list(ttnn.MeshShape(1, 1)), ttnn.MeshShape(1, 1).dims(), ttnn.MeshShape([2, 4])[1], ttnn.MeshShape(2, 4).mesh_size()]": [[1, 1], 2, 4, 8],
    "[ttnn.MeshShape(1, 2) == ttnn.MeshShape(1, 2), ttnn.MeshShape(1, 2) == ttnn.MeshShape(2, 1)]": [True, False],
    "[list(ttnn.MeshCoordinateRange(ttnn.MeshShape(2, 3)).start), list(ttnn.MeshCoordinateRange(ttnn.MeshShape(2, 3)).end)]": [[0, 0], [1, 2]],
    "ttnn.MeshCoordinateRange(ttnn.MeshCoordinate(0, 1)).end == ttnn.MeshCoordinate(0, 1)": True,
    "[ttnn.get_num_devices(), ttnn.GetNumAvailableDevices(), ttnn.GetNumPCIeDevices()]": [1, 1, 1],
    "[ttnn.element_size(d) for d in (ttnn.bfloat16, ttnn.float32, ttnn.uint8, ttnn.int32)]": [2, 4, 1, 4],
    "ttnn.PlacementReplicate() == ttnn.PlacementReplicate()": True,
    "list(ttnn.to_torch(ttnn.from_torch(torch.ones(1, 1, 2, 3)), torch_rank=2).shape)": [2, 3],
    "[ttnn.num_cores_to_corerangeset(n, ttnn.CoreCoord(8, 8), True).num_cores() for n in (1, 8, 10, 64)]": [1, 8, 10, 64],
    "[(c.x, c.y) for c in ttnn.grid_to_cores(5, 4, 2, True)]": [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)],
    "[(c.x, c.y) for c in ttnn.grid_to_cores(3, 4, 2, False)]": [(0, 0), (0, 1), (1, 0)],
    "ttnn.split_work_to_cores(ttnn.CoreCoord(4, 2), 21)[0]": 8,
    "ttnn.split_work_to_cores(ttnn.CoreCoord(4, 2), 21)[4:]": (3, 2),
    "[part.num_cores() for part in ttnn.split_work_to_cores(ttnn.CoreCoord(4, 2), 21)[1:4]]": [8, 5, 3],
    "ttnn.split_work_to_cores(ttnn.CoreCoord(4, 2), 0)[0]": 0,
    "ttnn.PlacementReplicate() != ttnn.PlacementReplicate()": False,
}
REFUSED: dict[str, str] = {
    "ttnn.Shape([2**32])": "expected dimensions",
    "ttnn.Shape([2, 4, 5]).to_rank(2)": "leading dimensions are not 1",
    "ttnn.ShardSpec(CORES, [32], ttnn.ShardOrientation.ROW_MAJOR)": "two non-negative integers",
    "ttnn.ShardSpec(CORES, [32, -1], ttnn.ShardOrientation.ROW_MAJOR)": "two non-negative integers",
    "setattr(SHARD, 'orientation', 3)": "expected",
    "ttnn.Tile([32, 8])": "not valid for our hardware",
    "ttnn.Tile([3, 32])": "not valid for our hardware",
    "setattr(ttnn.CoreCoord(0, 0), 'x', 1)": "no setter",
    "setattr(CORES.bounding_box(), 'start', 1)": "no setter",
    "setattr(ttnn.CoreGrid(x=1, y=1), 'x', 2)": "no setter",
    "setattr(ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU), 'op_type', 1)": "no setter",
    "ttnn.CoreRangeSet([]).bounding_box()": "empty CoreRangeSet",
    "ttnn.CoreGrid(x=-1, y=1)": "non-negative integers",
    "setattr(CONV, 'act_block_h_override', 'high')": "act_block_h_override: expected",
    "ttnn.MeshDevice()": "no constructor",
    "ttnn.MeshEvent()": "no constructor",
    "ttnn.CppTensorToMesh()": "no constructor",
    "ttnn.CppMeshToTensor()": "no constructor",
    "ttnn.open_device(device_id=1)": "not available",
    "ttnn.open_device(device_id=0, num_command_queues=3)": "1 or 2 command queues",
    "ttnn.open_device(device_id=0, worker_l1_size=1)": "worker_l1_size",
    "ttnn.close_device(3)": "expected a MeshDevice",
    "ttnn.element_size(3)": "expected DataType",
    "ttnn.element_size(ttnn.bfloat8_b)": "datum for bfp2, bfp4, bfp8 is invalid",
    "ttnn.DispatchCoreConfig(type=3)": "expected type DispatchCoreType",
    "ttnn.DispatchCoreConfig(axis=3)": "expected axis DispatchCoreAxis",
    "ttnn.from_host_shards([ttnn.from_torch(torch.ones(1))] * 2, ttnn.MeshShape(1, 1))": "expected 1 tensors for the mesh",
    "ttnn.from_torch(torch.ones([1] * 17))": "at most 16 dimensions",
    "ttnn.from_torch(torch.ones(100, 24), spec=ROWS, dtype=ttnn.float32)": "give spec, or dtype, layout and memory_config",
    "ttnn.from_torch(torch.ones(24, 100), spec=ROWS)": "expected shape",
    "ttnn.to_torch(ttnn.from_torch(torch.ones(2, 3)), torch_rank=1)": "Unable to squeeze to desired rank!",
    "ttnn.dump_tensor('made.txt', ttnn.from_torch(torch.ones(1)))": "ends in .tensorbin",
    "ttnn.num_cores_to_corerangeset(65, ttnn.CoreCoord(8, 8), True)": "expected 1 to 64 cores",
    "ttnn.num_cores_to_corerangeset(0, ttnn.CoreCoord(8, 8), True)": "expected 1 to 64 cores",
    "ttnn.grid_to_cores(9, 4, 2, True)": "expected at most 8 cores",
    "ttnn.ShardSpec(CORES, [-1, 32], ttnn.ShardOrientation.ROW_MAJOR)": "two non-negative integers",
    "ttnn.CONFIG.nothing": "no attribute 'nothing'",
    "setattr(ttnn.CONFIG, 'nothing', 1)": "it has",
    "setattr(ttnn.CONFIG, 'enable_logging', 'yes')": "expected bool",
}


@table("expression", VALUES)
def test_values(expression: str) -> None:
    found = eval(expression)
    assert found == VALUES[expression]
    assert type(found) is type(VALUES[expression])


@table("expression", REFUSED)
def test_refused(expression: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError, RuntimeError, ShimError)) as caught:
        eval(expression)
    assert REFUSED[expression] in str(caught.value)


def test_values_of_a_tensor(device: Any) -> None:
    host = torch.arange(2 * 40 * 100, dtype=torch.float32).reshape(2, 40, 100).to(torch.bfloat16)
    tensor = ttnn.from_torch(host, layout=ttnn.TILE_LAYOUT, device=device)
    assert (tensor.get_dtype(), tensor.get_layout(), tensor.get_tile()) == (ttnn.bfloat16, ttnn.TILE_LAYOUT, ttnn.Tile([32, 32]))
    assert tensor.spec == ttnn.TensorSpec([2, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT)
    assert tensor.devices() == [device]
    assert ttnn.from_torch(host).devices() == []
    assert (tensor.is_per_core_allocated(), tensor.is_range_lockstep_allocated()) == (False, False)
    other = ttnn.from_torch(host, layout=ttnn.TILE_LAYOUT, device=device)
    assert isinstance(tensor.buffer_unique_id(), int)
    assert tensor.buffer_unique_id() != other.buffer_unique_id()
    assert ttnn.from_torch(host).buffer_unique_id() is None
    assert tensor.element_size() == 2
    assert torch.equal(ttnn.to_torch(ttnn.Tensor(tensor.cpu())), host)
    with pytest.raises(TypeError, match="integers, slices or ellipsis"):
        tensor["a"]
    for index in (0, -1, slice(0, 1), (slice(None), slice(8, 40)), (..., slice(0, 64)), (1, slice(0, 32), slice(32, 96))):
        assert torch.equal(ttnn.to_torch(tensor[index]).reshape(host[index].shape), host[index]), index
    for name in ("get_device_ids", "get_num_devices", "get_system_mesh_id", "get_submeshes"):
        assert getattr(device, name)() == {"get_device_ids": [0], "get_num_devices": 1, "get_system_mesh_id": 0, "get_submeshes": []}[name]
    with pytest.raises(RuntimeError, match="outside the mesh"):
        device.get_device_id(ttnn.MeshCoordinate(0, 1))
    assert device.get_device_id(ttnn.MeshCoordinate(0, 0)) == 0
    with pytest.raises(RuntimeError, match="cannot reshape"):
        device.reshape(ttnn.MeshShape(1, 2))
    assert (ttnn.device.is_wormhole_b0(device), ttnn.device.is_blackhole(device)) == (True, False)
