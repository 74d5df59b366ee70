"""What is no mesh of a system, and calls that the real package refuses, with the hint that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("system", "mesh", "message"),
    [
        ("n150", (1, 2), "systems that have it: n300, t3000, p300, p150_x4"),
        ("n300", (2, 4), r"MeshShape\(\[2, 4\]\) requires 8 devices, but only 2 devices are available in the system mesh MeshShape\(\[1, 2\]\)"),
        ("t3000", (3, 3), "(?s)requires 9 devices, but only 8.*the meshes of all chips of t3000: 2x4, 4x2, 1x8, 8x1"),
        ("n300", (1, 1), "Fabric is being used but Device 1 is not active"),
        ("galaxy", (5, 6), r"too big and is not rotatable: MeshShape\(\[5, 6\]\) and SystemMesh MeshShape\(\[8, 4\]\)"),
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


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        ((8, 4), r"(?s)Coordinate MeshCoordinate\(\[7, 3\]\) not found in mesh.*cut for MeshShape\(\[8, 4\]\), the device is MeshShape\(\[2, 4\]\)"),
        ((4, 2), "not found in mesh"),
        ((1, 2), "part of the device's"),
    ],
)
def test_a_tensor_and_a_file_of_another_mesh(mesh: tuple[int, int], message: str, t3000: Any, tmp_path: Path) -> None:
    """The real package puts the smaller one on part of the mesh without a word."""
    import ttnn

    mapper = ttnn.create_mesh_mapper(ttnn.MeshShape(*mesh), ttnn.MeshMapperConfig([ttnn.PlacementReplicate(), ttnn.PlacementShard(1)]))
    host = ttnn.distribute_tensor(ttnn.Tensor(np.zeros((64, 64), np.float32), ttnn.bfloat16), mapper)
    with pytest.raises(RuntimeError, match=message):
        ttnn.to_device(host, t3000)
    ttnn.dump_tensor(tmp_path / "cut.tensorbin", host)
    with pytest.raises(RuntimeError, match=message):
        ttnn.load_tensor(tmp_path / "cut.tensorbin", device=t3000)


def test_parts_that_differ_or_lack(t3000: Any) -> None:
    import ttnn

    parts = [ttnn.Tensor(np.zeros((32, 64 if chip == 3 else 32), np.float32), ttnn.bfloat16) for chip in range(8)]
    with pytest.raises(RuntimeError, match="All shards must have the same spec"):
        ttnn.from_host_shards(parts, ttnn.MeshShape(2, 4))
    with pytest.raises(RuntimeError, match="expected 8 tensors for the mesh"):
        ttnn.from_host_shards(parts[:3], ttnn.MeshShape(2, 4))


Call = Callable[[Any, Any], Any]
CALLS: dict[str, tuple[Call, str]] = {
    "both axes at once": (lambda ttnn, x: ttnn.all_gather(x, 3), "1D fabric on a 2D mesh_device requires cluster_axis.*gather along axis 1, then along axis 0"),
    "no such axis": (lambda ttnn, x: ttnn.all_gather(x, 3, cluster_axis=2), "2 not in.*cluster_axis 0 joins the chips of a column"),
    "no such dimension": (lambda ttnn, x: ttnn.all_gather(x, 7, cluster_axis=1), "Invalid gather dim 7 for 4D"),
    "scatter that does not divide": (lambda ttnn, x: ttnn.reduce_scatter(x, 1, cluster_axis=1), "Dimension 1 must be divisible by ring_size.*pad it first"),
    "partition that does not divide": (lambda ttnn, x: ttnn.mesh_partition(x, 1, cluster_axis=1), "must be divisible by cluster axis size 4.*pad it first"),
    "a tensor on the host": (lambda ttnn, x: ttnn.all_reduce(ttnn.from_device(x), cluster_axis=1), "must be on a device.*use ttnn.to_device"),
    "not all chips reach it": (lambda ttnn, x: ttnn.all_reduce(ttnn.get_device_tensors(x)[0], cluster_axis=1), "1 chip of 8.*combine_device_tensors"),
    "one chip and all of them": (lambda ttnn, x: ttnn.add(x, ttnn.get_device_tensors(x)[0]), "1 chip of 8"),
    "a diagonal": (
        lambda ttnn, x: ttnn.point_to_point(x, ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(1, 1)),
        "invalid for 1D fabric.*along the row, then along the column",
    ),
    "no composer": (lambda ttnn, x: x.to_numpy(), "Supply a mesh composer.*mesh_composer="),
}


@pytest.mark.parametrize("what", CALLS)
def test_calls_that_the_real_package_refuses_too(what: str, t3000: Any) -> None:
    import ttnn

    call, message = CALLS[what]
    x = ttnn.Tensor(np.zeros((1, 3, 32, 64), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=t3000)
    with pytest.raises(RuntimeError, match=f"(?s){message}"):
        call(ttnn, x)


COLLECTIVES: dict[str, Callable[[Any, Any, int], Any]] = {
    "all_gather": lambda ttnn, x, axis: ttnn.all_gather(x, 3, cluster_axis=axis),
    "reduce_scatter": lambda ttnn, x, axis: ttnn.reduce_scatter(x, 3, cluster_axis=axis),
    "all_reduce": lambda ttnn, x, axis: ttnn.all_reduce(x, cluster_axis=axis),
    "all_to_all": lambda ttnn, x, axis: ttnn.experimental.all_to_all_async_generic(x, 2, 3, cluster_axis=axis),
    "all_broadcast": lambda ttnn, x, axis: ttnn.all_broadcast(x, cluster_axis=axis),
    "broadcast": lambda ttnn, x, axis: ttnn.broadcast(x, ttnn.MeshCoordinate(0, 0), cluster_axis=axis),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_each_collective_needs_a_fabric_and_chips(name: str, open_mesh: Callable[..., Any]) -> None:
    import ttnn

    for fabric, axis, message in (("DISABLED", 1, "un-initialized fabric context.*set_fabric_config"), ("FABRIC_1D", 0, "leave the call out")):
        with open_mesh("t3000", 1, 8, fabric) as mesh:
            x = ttnn.Tensor(np.zeros((1, 1, 32, 256), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
            with pytest.raises(RuntimeError, match=f"(?s){message}"):
                COLLECTIVES[name](ttnn, x, axis)
