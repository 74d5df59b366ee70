"""What is no mesh of a system, and calls that the real package refuses, with the hint that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("system", "mesh", "message"),
    [
        ("n150", (1, 2), "systems that have it: n300, t3000, p300"),
        ("n300", (2, 4), "its meshes: 1x2"),
        ("t3000", (3, 2), "its meshes: 2x4, 4x2, 1x8, 8x1"),
        ("t3000", (1, 1), "Fabric is being used but Device 1 is not active"),
        ("galaxy", (1, 32), "its meshes: 8x4, 4x8"),
    ],
)
def test_a_mesh_that_is_none_of_the_system(system: str, mesh: tuple[int, int], message: str, open_mesh: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError, match=message), open_mesh(system, *mesh):
        pass


@pytest.mark.parametrize(
    ("system", "mesh", "grid"),
    [("n300", (1, 2), (8, 8)), ("t3000", (8, 1), (8, 8)), ("p300", (1, 2), (11, 10)), ("p150_x4", (2, 2), (13, 10)), ("galaxy", (4, 8), (8, 9))],
)
def test_meshes_open_with_the_grids_of_their_chips(system: str, mesh: tuple[int, int], grid: tuple[int, int], open_mesh: Callable[..., Any]) -> None:
    with open_mesh(system, *mesh) as device:
        assert tuple(device.shape) == mesh and device.get_num_devices() == mesh[0] * mesh[1]
        assert (device.core_grid.x, device.core_grid.y) == grid


def test_a_collective_needs_a_fabric_and_more_than_one_chip(open_mesh: Callable[..., Any]) -> None:
    import ttnn

    with open_mesh("n300", 1, 2, "DISABLED") as mesh:
        x = ttnn.from_torch(np.zeros((1, 1, 32, 64), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
        with pytest.raises(RuntimeError, match=r"(?s)un-initialized fabric context.*set_fabric_config"):
            ttnn.all_reduce(x, cluster_axis=1)
        assert list(ttnn.mesh_partition(x, 3, cluster_axis=1).shape) == [1, 1, 32, 32]
    with open_mesh("n300", 1, 2) as mesh:
        x = ttnn.from_torch(np.zeros((1, 1, 32, 64), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
        with pytest.raises(RuntimeError, match=r"(?s)forward_coord or backward_coord is null.*leave the call out"):
            ttnn.all_reduce(x, cluster_axis=0)


@pytest.mark.parametrize(
    ("extent", "message"),
    [(9, r"Shard shape mismatch: expected Shape\(\[2, 32\]\) but got Shape\(\[1, 32\]\)"), (6, "a tensor on part of the mesh: .* makes 6 parts for 8 chips")],
)
def test_a_cut_that_leaves_chips_without_a_part(extent: int, message: str, t3000: Any) -> None:
    """Nine rows over eight chips: the real package's chunks are 2, 2, 2, 2 and 1. Six: it uses six chips."""
    import ttnn

    with pytest.raises(RuntimeError, match=message):
        ttnn.Tensor(np.zeros((extent, 32), np.float32), ttnn.bfloat16, mesh_mapper=ttnn.ShardTensorToMesh(t3000, dim=0))


def test_a_tensor_of_another_mesh_is_refused(t3000: Any) -> None:
    import ttnn

    host = ttnn.Tensor(np.zeros((64, 64), np.float32), ttnn.bfloat16)
    for mesh, message in (((8, 4), "not found in mesh"), ((1, 2), "part of the device's")):
        mapper = ttnn.create_mesh_mapper(ttnn.MeshShape(*mesh), ttnn.MeshMapperConfig([ttnn.PlacementReplicate(), ttnn.PlacementShard(1)]))
        with pytest.raises(RuntimeError, match=message):
            ttnn.to_device(ttnn.distribute_tensor(host, mapper), t3000)


def test_traces_on_a_mesh_are_refused_by_name(t3000: Any) -> None:
    import ttnn

    with pytest.raises(RuntimeError, match="traces on a mesh of several chips"):
        ttnn.begin_trace_capture(t3000, cq_id=0)
