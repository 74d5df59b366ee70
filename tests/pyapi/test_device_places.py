"""Submeshes, coordinates of cores, shards and their descriptions: facts of ttnn 0.81.1 over a mock Wormhole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import ttnn

TWO_CORES = {"core_grid": ttnn.CoreGrid(y=1, x=2), "strategy": ttnn.ShardStrategy.HEIGHT}


def test_submeshes_of_one_device(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_submeshes", [], raising=False)  # other tests of the process find it without
    assert device.create_submesh(ttnn.MeshShape(1, 1)).shape == ttnn.MeshShape(1, 1)
    assert len(device.create_submeshes(ttnn.MeshShape(1, 1))) == 1
    assert len(device.get_submeshes()) == 2
    with pytest.raises(RuntimeError, match="does not fit within parent mesh"):
        device.create_submesh(ttnn.MeshShape(1, 2))
    with pytest.raises(RuntimeError, match="does not fit within parent mesh"):
        device.create_submesh(ttnn.MeshShape(1, 1), ttnn.MeshCoordinate(0, 1))
    with pytest.raises(RuntimeError, match="not divisible by submesh shape"):
        device.create_submeshes(ttnn.MeshShape(1, 2))


def test_coordinates_of_cores(device: Any) -> None:
    assert str(device.worker_core_from_logical_core(ttnn.CoreCoord(1, 2))) == "19-20"
    assert str(device.logical_core_from_worker_core(ttnn.CoreCoord(19, 20))) == "1-2"
    with pytest.raises(RuntimeError, match=r"No core coordinate found at location: \(8, 0"):
        device.worker_core_from_logical_core(ttnn.CoreCoord(8, 0))
    node = device.get_fabric_node_id(ttnn.MeshCoordinate(0, 0))
    assert (str(node), node.chip_id) == ("FabricNodeId(M0, D0)", 0)


def test_shards_one_by_one(device: Any) -> None:
    values = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) % 251
    memory = ttnn.create_sharded_memory_config((64, 64), **TWO_CORES)
    tensor = ttnn.from_torch(values, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=memory)
    shard = tensor.extract_shard(1)
    assert list(shard.shape) == [1, 1, 32, 64]
    assert np.array_equal(shard.to_numpy().reshape(32, 64).astype(np.float32), values[32:])
    assert [str(core) for core in ttnn.get_optimal_worker_cores_for_sharded_tensor(tensor)] == ["0-0", "1-0"]
    assert ttnn.TensorAccessorArgs(tensor).get_compile_time_args() == [1, 2048, 1, 2, 4, 2, 319951378]
    with pytest.raises(RuntimeError, match="there are 2 shards"):
        tensor.extract_shard(2)


def test_host_buffers_and_lists(device: Any) -> None:
    host = ttnn.from_torch(np.ones((3, 5), np.float32), dtype=ttnn.bfloat16)
    buffer = host.host_buffer()
    assert np.asarray(buffer.get_shard(ttnn.MeshCoordinate(0, 0))).shape == (3, 5)
    made = ttnn.from_buffer([1.0, 2.0, 3.0], ttnn.Shape([1, 3]), ttnn.bfloat16, device)
    assert made.to_list() == [[1.0, 2.0, 3.0]]
    with pytest.raises(RuntimeError, match="expected a host tensor"):
        made.host_buffer()
    with pytest.raises(RuntimeError, match="Buffer size 2 differs from shape volume 3"):
        ttnn.from_buffer([1.0, 2.0], ttnn.Shape([1, 3]), ttnn.bfloat16, device)
    with pytest.raises(RuntimeError, match="expected a dtype of single values"):
        ttnn.from_buffer([1.0], ttnn.Shape([1, 1]), ttnn.bfloat8_b, device)


def test_device_info(device: Any) -> None:
    info = ttnn._ttnn.reports.get_device_info(device)
    assert (info.worker_l1_size, info.cb_limit, info.address_at_first_l1_cb_buffer, info.num_compute_cores) == (1499136, 1393312, 105824, 64)


def test_exponents_along_columns(device: Any) -> None:
    values = np.ones((64, 128), np.float32)
    made = ttnn.from_torch(values, dtype=ttnn.bfloat8_b, device=device, col_tilize=True)
    assert list(made.shape) == [128, 64]
    with pytest.raises(RuntimeError, match="requires BFP dtype"):
        ttnn.from_torch(values, dtype=ttnn.bfloat16, device=device, col_tilize=True)


def test_indices_are_not_clamped(device: Any) -> None:
    values = np.arange(160, dtype=np.float32).reshape(4, 40)
    rows = ttnn.from_torch(values, dtype=ttnn.float32, device=device)
    tiles = ttnn.to_layout(rows, ttnn.TILE_LAYOUT)
    host = ttnn.from_torch(values, dtype=ttnn.float32)
    for tensor, index, message in (
        (rows, slice(2, 9), "9 is outside dimension 0"),
        (tiles, slice(2, 40), "40 is outside dimension 0"),
        (rows, slice(-9, 2), "end 2 must be greater than or equal to start -5"),
        (tiles, slice(3, 1), "end 1 must be greater than or equal to start 3"),
        (rows, slice(5, None), "end 4 must be greater than or equal to start 5"),
        (host, slice(5, None), "end 4 must be greater than or equal to start 5"),
    ):
        with pytest.raises(RuntimeError, match=message):
            tensor[index]
    assert list(tiles[:32].shape) == [32, 40]  # the padding of a tile is read
    assert list(host[2:9].shape) == [7, 40]
    assert np.array_equal(host[2:9].to_numpy()[:2], values[2:])
    with pytest.raises(TypeError, match="no negative bounds"):
        host[-2:]
    with pytest.raises(IndexError, match="Too many indices for tensor of dimension 2"):
        tiles[tiles > 0]


def test_facts_of_a_deallocated_tensor(device: Any) -> None:
    tensor = ttnn.ones((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    ttnn.deallocate(tensor)
    assert tensor.device() is None
    assert repr(tensor).startswith("ttnn.Tensor(<buffer is not allocated>, shape=Shape([32, 32])")
