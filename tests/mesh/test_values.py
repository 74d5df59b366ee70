"""Values on meshes: collectives against numpy, and work that several chips share done once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-8, 8, shape).astype(np.float32)


def cut(values: np.ndarray, mesh: Any, dims: list[int | None], layout: str = "TILE_LAYOUT", dtype: str = "bfloat16") -> Any:
    import ttnn

    placed = [ttnn.PlacementReplicate() if dim is None else ttnn.PlacementShard(dim) for dim in dims]
    mapper = ttnn.create_mesh_mapper(mesh, ttnn.MeshMapperConfig(placed))
    return ttnn.from_torch(values, getattr(ttnn, dtype), layout=getattr(ttnn, layout), device=mesh, mesh_mapper=mapper)


def chips(tensor: Any) -> list[np.ndarray]:
    import ttnn

    return [np.asarray(ttnn.to_dtype(ttnn.from_device(one), ttnn.float32).to_numpy()) for one in ttnn.get_device_tensors(tensor)]


LINES = {0: [[0, 4], [1, 5], [2, 6], [3, 7]], 1: [[0, 1, 2, 3], [4, 5, 6, 7]]}
CASES: dict[str, tuple[Callable[[Any, int], Any], Callable[[list[np.ndarray]], list[np.ndarray]]]] = {
    "all_gather": (lambda x, axis: _ttnn().all_gather(x, 3, cluster_axis=axis), lambda parts: [np.concatenate(parts, 3)] * len(parts)),
    "reduce_scatter": (lambda x, axis: _ttnn().reduce_scatter(x, 3, cluster_axis=axis), lambda parts: np.split(sum(parts), len(parts), 3)),
    "all_reduce": (lambda x, axis: _ttnn().all_reduce(x, cluster_axis=axis), lambda parts: [sum(parts)] * len(parts)),
    "mesh_partition": (
        lambda x, axis: _ttnn().mesh_partition(x, 3, cluster_axis=axis),
        lambda parts: [np.split(part, len(parts), 3)[i] for i, part in enumerate(parts)],
    ),
    "all_to_all": (
        lambda x, axis: _ttnn().experimental.all_to_all_async_generic(x, 2, 3, cluster_axis=axis),
        lambda parts: [np.concatenate([np.split(part, len(parts), 3)[i] for part in parts], 2) for i in range(len(parts))],
    ),
}


def _ttnn() -> Any:
    import ttnn

    return ttnn


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_a_collective_gives_each_chip_its_part(name: str, axis: int, t3000: Any) -> None:
    whole = random(2, 8, 64, 128)
    x = cut(whole, t3000, [0, 1])
    before = [part for rows in np.split(whole, 2, 0) for part in np.split(rows, 4, 1)]
    call, reference = CASES[name]
    after = chips(call(x, axis))
    for line in LINES[axis]:
        for chip, wanted in zip(line, reference([before[chip] for chip in line]), strict=True):
            np.testing.assert_array_equal(after[chip], wanted)


@pytest.mark.parametrize(("shape", "layout"), [((1, 4, 33, 40), "TILE_LAYOUT"), ((1, 4, 32, 64), "ROW_MAJOR_LAYOUT")])
def test_padded_and_row_major_tensors_are_composed_of_other_calls(shape: tuple[int, ...], layout: str, t3000: Any) -> None:
    import ttnn

    whole = random(*shape)
    x, before = cut(whole, t3000, [None, 1], layout), np.split(whole, 4, 1)
    total = sum(before)
    for found in chips(ttnn.all_reduce(x, cluster_axis=1)):
        np.testing.assert_array_equal(found, total)
    for found in chips(ttnn.all_gather(x, 3, cluster_axis=1)):
        np.testing.assert_array_equal(found, np.concatenate(before, 3))
    for found, wanted in zip(chips(ttnn.reduce_scatter(x, 3, cluster_axis=1)), np.split(total, 4, 3) * 2, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_integers_and_block_floats_add(t3000: Any) -> None:
    import ttnn

    whole = random(1, 4, 64, 128)
    exact = cut(whole, t3000, [None, 1], dtype="int32")
    assert all(np.array_equal(found, sum(np.split(whole, 4, 1))) for found in chips(ttnn.all_reduce(exact, cluster_axis=1)))
    blocks = cut(whole, t3000, [None, 1], dtype="bfloat8_b")
    np.testing.assert_allclose(chips(ttnn.all_reduce(blocks, cluster_axis=1))[0], sum(np.split(whole, 4, 1)), atol=0.5)


def test_both_axes_and_copies(t3000: Any) -> None:
    import ttnn

    whole = random(2, 4, 64, 256)
    x = cut(whole, t3000, [0, 1])
    parts = [part for rows in np.split(whole, 2, 0) for part in np.split(rows, 4, 1)]
    np.testing.assert_array_equal(chips(ttnn.all_reduce(x))[5], sum(parts))
    everyone = ttnn.all_broadcast(x, cluster_axis=1)
    assert len(everyone) == 4
    np.testing.assert_array_equal(chips(everyone[2])[4], parts[6])
    np.testing.assert_array_equal(chips(ttnn.broadcast(x, ttnn.MeshCoordinate(0, 2), cluster_axis=1))[1], parts[2])
    sent = chips(ttnn.point_to_point(x, ttnn.MeshCoordinate(1, 0), ttnn.MeshCoordinate(1, 3)))
    np.testing.assert_array_equal(sent[7], parts[4])


def test_composers_join_what_mappers_cut(t3000: Any) -> None:
    import ttnn

    whole = random(2, 8, 32, 64)
    x = cut(whole, t3000, [0, 3])
    both = ttnn.create_mesh_composer(t3000, ttnn.MeshComposerConfig([0, 3]))
    np.testing.assert_array_equal(np.asarray(ttnn.to_torch(x, mesh_composer=both).float()), whole)
    one_row = ttnn.create_mesh_composer(t3000, ttnn.MeshComposerConfig([0, 3], ttnn.MeshShape(1, 4)))
    np.testing.assert_array_equal(np.asarray(ttnn.to_torch(x, mesh_composer=one_row).float()), whole[:1])
    flat = ttnn.from_torch(whole, ttnn.bfloat16, device=t3000, mesh_mapper=ttnn.ShardTensorToMesh(t3000, 1))
    assert list(flat.shape) == [2, 1, 32, 64]
    np.testing.assert_array_equal(np.asarray(ttnn.to_torch(flat, mesh_composer=ttnn.ConcatMeshToTensor(t3000, 1)).float()), whole)


def test_a_tensor_parallel_layer_is_the_whole_one(t3000: Any) -> None:
    """Columns of one weight, rows of the other, a sum over the chips; rows of the mesh have different sequences."""
    import ttnn

    x, up, down = random(2, 1, 32, 64), random(64, 128) / 8, random(128, 64) / 8
    hidden = ttnn.relu(ttnn.matmul(cut(x, t3000, [0, None]), cut(up, t3000, [None, 1])))
    partial = ttnn.matmul(hidden, cut(down, t3000, [None, 0]))
    found = chips(ttnn.all_reduce(partial, cluster_axis=1))
    for row in range(2):
        wanted = np.maximum(x[row] @ up, 0) @ down
        np.testing.assert_allclose(found[4 * row][0], wanted, rtol=0.02, atol=0.02 * np.abs(wanted).max())


def test_writing_in_place_keeps_what_other_chips_have(t3000: Any) -> None:
    import ttnn

    same = ttnn.from_torch(np.zeros((1, 1, 32, 32), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=t3000)
    own = cut(np.arange(4, dtype=np.float32).repeat(32 * 32).reshape(4, 1, 32, 32), t3000, [None, 0])
    ttnn.add(same, own, output_tensor=same)
    assert [int(found[0, 0, 0, 0]) for found in chips(same)] == [0, 1, 2, 3] * 2


def test_what_all_chips_have_is_one_part(t3000: Any) -> None:
    import ttnn

    whole = random(1, 1, 64, 128)
    same = ttnn.from_torch(whole, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=t3000, mesh_mapper=ttnn.ReplicateTensorToMesh(t3000))
    columns = cut(whole, t3000, [None, 3])
    assert (same._info().parts, columns._info().parts) == (1, 4)
    assert ttnn.relu(same)._info().parts == 1 and ttnn.relu(columns)._info().parts == 4
    assert ttnn.all_gather(columns, 3, cluster_axis=1)._info().parts == 1


def test_a_trace_on_a_mesh_replays_on_what_each_chip_holds(t3000: Any) -> None:
    """Sharded and replicated inputs, a collective and an op in place; the second replay reads new values."""
    import ttnn

    first, second, shared = random(2, 8, 64, 128), random(2, 8, 64, 128)[::-1].copy(), random(1, 1, 64, 32)
    x, bias = cut(first, t3000, [0, 1]), cut(shared, t3000, [None, None])
    total = cut(np.zeros_like(first), t3000, [0, 1])

    def step() -> Any:
        gathered = ttnn.all_gather(ttnn.relu(x), 3, cluster_axis=1)
        ttnn.add_(total, x)
        return ttnn.multiply(gathered, 2.0), ttnn.matmul(x, ttnn.transpose(ttnn.concat([bias] * 4, 3), 2, 3))

    step()
    trace = ttnn.begin_trace_capture(t3000, cq_id=0)
    doubled, product = step()
    ttnn.end_trace_capture(t3000, trace, cq_id=0)
    summed = first.copy()  # of the call before the capture, which computes nothing
    for values in (first, second):
        host = ttnn.from_torch(values, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, mesh_mapper=ttnn.create_mesh_mapper(
            t3000, ttnn.MeshMapperConfig([ttnn.PlacementShard(0), ttnn.PlacementShard(1)])))  # fmt: skip
        ttnn.copy_host_to_device_tensor(host, x)
        ttnn.execute_trace(t3000, trace, cq_id=0, blocking=True)
        summed += values
        parts = [part for rows in np.split(values, 2, 0) for part in np.split(rows, 4, 1)]
        for line in LINES[1]:
            gathered = np.concatenate([np.maximum(parts[chip], 0) for chip in line], 3) * 2
            for chip in line:
                np.testing.assert_array_equal(chips(doubled)[chip], gathered)
        wide = np.concatenate([shared] * 4, 3)
        for part, result in zip(parts, chips(product), strict=True):
            np.testing.assert_allclose(result, part @ wide.swapaxes(2, 3), rtol=2e-2, atol=4)
        whole = [part for rows in np.split(summed, 2, 0) for part in np.split(rows, 4, 1)]
        for part, result in zip(whole, chips(total), strict=True):
            np.testing.assert_array_equal(result, part)
    ttnn.release_trace(t3000, trace)
