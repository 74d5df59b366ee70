"""Names of several chips and queues that programs for one chip use: they answer for a mesh of one device."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import ttnn


@pytest.mark.parametrize(
    "mapper",
    [
        lambda device: ttnn.ShardTensor2dMesh(device, (1, 1), (None, 1)),
        lambda device: ttnn.create_mesh_mapper(device, ttnn.MeshMapperConfig([ttnn.PlacementReplicate(), ttnn.PlacementShard(1)], ttnn.MeshShape(1, 1))),
        lambda device: ttnn.create_mesh_mapper(device, ttnn.MeshMapperConfig(row_dim=None, col_dim=0)),
        lambda device: ttnn.create_mesh_mapper(ttnn.MeshShape(1, 1), ttnn.MeshMapperConfig(1)),
    ],
)
@pytest.mark.parametrize(
    "composer",
    [
        lambda device: ttnn.ConcatMesh2dToTensor(device, (1, 1), (0, 1)),
        lambda device: ttnn.create_mesh_composer(device, ttnn.MeshComposerConfig([0, 1], ttnn.MeshShape(1, 1))),
    ],
)
def test_one_device_has_all_of_a_tensor(mapper: Any, composer: Any, device: Any) -> None:
    values = torch.arange(64.0).reshape(2, 32)
    tensor = ttnn.from_torch(values, dtype=ttnn.float32, device=device, mesh_mapper=mapper(device))
    assert torch.equal(ttnn.to_torch(tensor, mesh_composer=composer(device)), values)


def test_two_devices_are_refused(device: Any) -> None:
    for call in (
        lambda: ttnn.ShardTensor2dMesh(device, (1, 2), (None, 1)),
        lambda: ttnn.create_mesh_composer(device, ttnn.MeshComposerConfig([0, 1], ttnn.MeshShape(2, 1))),
    ):
        with pytest.raises(RuntimeError, match=r"is of 2 devices, the mesh MeshShape\(\[1, 1\]\) has 1"):
            call()


def test_fabric_configuration_is_kept() -> None:
    assert ttnn.get_fabric_config() == ttnn.FabricConfig.DISABLED
    ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D, ttnn.FabricReliabilityMode.RELAXED_INIT)
    assert ttnn.get_fabric_config() == ttnn.FabricConfig.FABRIC_1D
    ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)
    with pytest.raises(TypeError, match="FabricConfig"):
        ttnn.set_fabric_config("DISABLED")


def test_global_semaphores_take_l1(device: Any) -> None:
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 3))])
    before = ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank
    semaphores = [ttnn.create_global_semaphore(device, cores, 0) for _ in range(2)]
    assert len({ttnn.get_global_semaphore_address(one) for one in semaphores}) == 2
    assert ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank > before
    ttnn.reset_global_semaphore_value(semaphores[0], 0)


@pytest.mark.parametrize("queue", [{"queue_id": 0}, {"cq_id": 0}, {"queue_id": ttnn.QueueId(0)}])
def test_ops_take_a_queue(queue: dict[str, Any], device: Any) -> None:
    tensor = ttnn.from_torch(-torch.ones(32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    with ttnn.command_queue(0):
        assert float(ttnn.to_torch(ttnn.relu(tensor, **queue)).max()) == 0
