"""Parts of a mesh with calls of their own, meshes that take another shape, and what the host says of the system's chips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.mesh.test_values import chips, cut, random


def test_submeshes_run_calls_of_their_own_side_by_side(t3000: Any) -> None:
    import ttnn

    rows = t3000.create_submeshes(ttnn.MeshShape(1, 4))
    assert [row.get_device_ids() for row in rows] == [[0, 1, 2, 3], [4, 5, 6, 7]] and t3000.get_submeshes() == rows
    values = random(1, 1, 32, 128)
    first, second = (cut(values, row, [None, 3]) for row in rows)
    gathered = ttnn.all_gather(first, 3, cluster_axis=1)
    doubled = ttnn.add(ttnn.add(second, second), second)
    assert all(np.array_equal(part, values) for part in chips(gathered))
    assert np.array_equal(np.concatenate(chips(doubled), 3), 3 * values)
    times = [row.clock_read()["device_ns"] for row in rows]
    assert t3000.clock_read()["device_ns"] == max(times) > min(times) > 0
    for row in rows:
        ttnn.close_mesh_device(row)
    assert t3000.get_submeshes() == [] and t3000.clock_read()["device_ns"] == max(times)


def test_a_submesh_begins_at_its_offset(t3000: Any) -> None:
    import ttnn

    corner = t3000.create_submesh(ttnn.MeshShape(1, 2), ttnn.MeshCoordinate(1, 2))
    assert corner.get_device_ids() == [6, 7] and corner.get_device_id(ttnn.MeshCoordinate(0, 1)) == 7
    with pytest.raises(RuntimeError, match="does not fit within parent mesh"):
        t3000.create_submesh(ttnn.MeshShape(2, 4), ttnn.MeshCoordinate(1, 0))
    assert t3000.create_submesh(ttnn.MeshShape(2, 1), ttnn.MeshCoordinate(0, 3)).get_device_ids() == [3, 7]


def test_a_tensor_of_the_whole_mesh_is_not_one_of_a_submesh(t3000: Any) -> None:
    import ttnn

    (part,) = {t3000.create_submesh(ttnn.MeshShape(2, 2))}
    whole, own = cut(random(32, 64), t3000, [None, None]), cut(random(32, 64), part, [None, None])
    with pytest.raises(RuntimeError, match="must be on the same device"):
        ttnn.add(whole, own)


def test_a_mesh_takes_another_shape_before_it_is_used(open_mesh: Callable[..., Any]) -> None:
    import ttnn

    with open_mesh("t3000", 2, 4) as mesh:
        mesh.reshape(ttnn.MeshShape(8, 1))
        assert list(mesh.shape) == [8, 1]
        part = cut(random(256, 32), mesh, [0, None])
        assert [one.shape for one in chips(part)] == [(32, 32)] * 8
        with pytest.raises(RuntimeError, match=r"(?s)while it has tensors.*open it as MeshShape\(\[2, 4\]\)"):
            mesh.reshape(ttnn.MeshShape(2, 4))


@pytest.mark.parametrize(
    ("system", "mesh", "pcie_chips", "cluster"),
    [
        ("n300", (1, 2), 1, "N300"),
        ("t3000", (2, 4), 4, "T3K"),
        ("p300", (1, 2), 2, "P300"),
        ("p150_x4", (2, 2), 4, "P150_X4"),
        ("galaxy", (8, 4), 32, "GALAXY"),
    ],
)
def test_the_host_counts_chips_as_the_real_package(system: str, mesh: tuple[int, int], pcie_chips: int, cluster: str, open_mesh: Callable[..., Any]) -> None:
    """Seen of ttnn 0.81.1 on mock devices."""
    import ttnn

    with open_mesh(system, *mesh):
        assert ttnn.get_pcie_device_ids() == list(range(pcie_chips)) and ttnn.get_num_pcie_devices() == ttnn.GetNumPCIeDevices() == pcie_chips
        assert ttnn.cluster.get_cluster_type().name == cluster


def test_pictures_show_the_chips_and_what_they_have(t3000: Any, capsys: pytest.CaptureFixture[str]) -> None:
    import ttnn

    ttnn.visualize_system_mesh()
    ttnn.visualize_mesh_device(t3000)
    ttnn.visualize_tensor(cut(random(2, 1, 32, 128), t3000, [None, 3]))
    shown = capsys.readouterr().out
    assert shown.count("Dev. ID: 7 (1, 3)") == 2
    assert shown.count("[2, 1, 32, 32] part 0") == 2 and "part 3" in shown and "part 4" not in shown
