"""Names of the host side that only say or arrange something: devices in `with` blocks, facts about tensors, views of memory, small classes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import InvalidArgument, NotSupported, ShimError

# In a process of its own: other tests share the open device of theirs.
DEVICES = """\
import ttnn_shim; ttnn_shim.activate(explicit=True)
import ttnn
from ttnn_shim import session
from ttnn_shim.errors import InvalidArgument, NotSupported

session.settings.card = CARD

def refused(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("not refused")

def is_open(device):
    try:
        ttnn.synchronize_device(device)
    except InvalidArgument as error:
        assert "the device is closed" in str(error)
        return False
    return True

assert ttnn.get_arch_name() == ARCH and ttnn.device.is_blackhole() == (ARCH == "blackhole") and ttnn.device.is_wormhole_b0() != ttnn.device.is_blackhole()
with ttnn.manage_device(device_id=0) as device:
    assert is_open(device) and ttnn.device.is_wormhole_b0(device) == (ARCH == "wormhole_b0")
assert not is_open(device)
try:
    with ttnn.manage_device(device_id=0) as device:
        raise KeyError
except KeyError:
    assert not is_open(device)
with ttnn.create_mesh_device(ttnn.MeshShape(1, 1), l1_small_size=16384) as device:
    assert ttnn.get_memory_view(device, ttnn.BufferType.L1_SMALL).total_bytes_per_bank == 16384
assert not is_open(device)
device = ttnn.CreateDevice(0)
assert is_open(device)
assert ttnn.GetDefaultDevice() is None
ttnn.SetDefaultDevice(device)
assert ttnn.GetDefaultDevice() is device
ttnn.CloseDevice(device)
assert not is_open(device) and ttnn.GetDefaultDevice() is None, "a closed device is nobody's default"
devices = ttnn.CreateDevices([0])
assert list(devices) == [0] and is_open(devices[0])
ttnn.CloseDevices(devices)
assert not is_open(devices[0])
assert (ttnn.GetNumAvailableDevices(), ttnn.GetNumPCIeDevices(), ttnn.get_num_devices(), ttnn.get_device_ids()) == (1, 1, 1, [0])
assert "1 or 2 command queues" in refused(InvalidArgument, lambda: ttnn.open_device(device_id=0, num_command_queues=3))
assert "worker_l1_size" in refused(NotSupported, lambda: ttnn.open_device(device_id=0, worker_l1_size=1 << 20))
assert "number 0" in refused(InvalidArgument, lambda: ttnn.open_mesh_device(ttnn.MeshShape(1, 1), physical_device_ids=[1]))
assert "systems that have it" in refused(InvalidArgument, lambda: ttnn.open_mesh_device(ttnn.MeshShape(1, 2)))
assert "expected a MeshDevice" in refused(TypeError, lambda: ttnn.close_device(3))
assert ttnn.device.get_l1_alignment() == 16
assert ttnn.device.get_max_worker_l1_unreserved_size() == {"wormhole_b0": 1463968, "blackhole": 1531776}[ARCH]
print("done")
"""


@pytest.mark.parametrize(("card", "arch"), [("n150", "wormhole_b0"), ("p150", "blackhole")])
def test_devices_are_opened_and_closed(card: str, arch: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"CARD, ARCH = {card!r}, {arch!r}\n{DEVICES}"], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


@pytest.fixture
def padded(device: Any) -> Any:
    return ttnn.from_torch(torch.ones(2, 40, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)


def test_facts_about_tensors(padded: Any) -> None:
    host, whole = ttnn.from_device(padded), padded[:, :32]
    assert ttnn.get_memory_config(padded) == ttnn.DRAM_MEMORY_CONFIG and ttnn.get_memory_config(host) is None
    assert [ttnn.is_tensor_storage_on_device(x) for x in (padded, host)] == [True, False]
    assert ttnn.has_storage_type_of(padded, ttnn.DEVICE_STORAGE_TYPE) and not ttnn.has_storage_type_of(host, ttnn.DEVICE_STORAGE_TYPE)
    assert [ttnn.has_tile_padding(x) for x in (padded, whole)] == [True, False]
    assert [ttnn.has_tile_padding(padded, dim=dim) for dim in (0, 1, 2)] == [False, True, False]
    shards = ttnn.create_sharded_memory_config([64, 64], ttnn.CoreGrid(x=1, y=2), ttnn.ShardStrategy.HEIGHT)
    assert [ttnn.is_sharded(x) for x in (padded, ttnn.to_memory_config(whole, shards))] == [False, True]
    assert [(x.x, x.y) for x in ttnn.grid_to_cores(start=ttnn.CoreCoord(1, 1), end=ttnn.CoreCoord(2, 2), row_wise=True)] == [(1, 1), (2, 1), (1, 2), (2, 2)]
    assert str(padded.device_coords()) == "[MeshCoordinate([0, 0])]"
    assert padded.tensor_topology() == host.tensor_topology() and str(padded.tensor_topology().distribution_shape()) == "MeshShape([1])"


@pytest.mark.parametrize(
    ("dtype", "kind", "size"),
    [("uint8", "uint8", 1), ("uint16", "uint16", 2), ("uint32", "uint32", 4), ("int32", "int32", 4), ("float32", "float32", 4), ("bfloat16", "bfloat16", 2),
     ("bfloat8_b", "float32", None), ("bfloat4_b", "float32", None)],
)  # fmt: skip
def test_facts_about_dtypes(dtype: str, kind: str, size: int | None) -> None:
    of = getattr(ttnn, dtype)
    assert ttnn.ttnn_dtype_to_torch_dtype(of) is getattr(torch, kind)
    if size is None:
        with pytest.raises(ValueError, match="invalid"):
            ttnn.element_size(of)
    else:
        assert ttnn.element_size(of) == size


def test_tensors_without_values(device: Any, padded: Any) -> None:
    for made in (ttnn.allocate_tensor_on_host(padded.spec, device), ttnn.allocate_tensor_on_device(padded.spec, device)):
        assert (made.shape, made.dtype, made.layout) == (padded.shape, padded.dtype, padded.layout)
        assert made.storage_type() == (ttnn.DEVICE_STORAGE_TYPE if ttnn.is_tensor_storage_on_device(made) else ttnn.StorageType.HOST)
    host = ttnn.allocate_tensor_on_host(ttnn.Shape([2, 40, 64]), ttnn.bfloat16, ttnn.TILE_LAYOUT, device)
    ttnn.copy_device_to_host_tensor(padded, host)
    assert torch.equal(ttnn.to_torch(host), torch.ones(2, 40, 64, dtype=torch.bfloat16))


@pytest.mark.parametrize(
    ("actual", "expected"), [([1.0, 2.0], 1.0), ([-1.0, -2.0], -1.0), ([3.0, 3.0], 0.0), ([float("nan")] * 2, 0.0), ([1.0, float("inf")], 1.0)]
)
def test_correlation(actual: list[float], expected: float) -> None:
    wanted = torch.tensor([1.0, 2.0])
    assert ttnn.pearson_correlation_coefficient(wanted, torch.tensor(actual)) == pytest.approx(expected)
    nothing = torch.full((2,), float("nan"))
    assert ttnn.pearson_correlation_coefficient(nothing, nothing) == 1.0
    with pytest.raises(InvalidArgument, match="2 and 3 values"):
        ttnn.pearson_correlation_coefficient(wanted, torch.ones(3))


def test_views_of_memory(device: Any, capsys: pytest.CaptureFixture[str]) -> None:
    view = ttnn.get_memory_view(device, ttnn.BufferType.DRAM)
    assert view.total_bytes_per_bank == view.total_bytes_allocated_per_bank + view.total_bytes_free_per_bank
    assert repr(view).startswith(f"MemoryView(num_banks={view.num_banks}, total_bytes_per_bank={view.total_bytes_per_bank}, ")
    ttnn.dump_device_memory_state(device, prefix="here ")
    assert [line.partition("(")[0] for line in capsys.readouterr().out.splitlines()] == ["here L1: MemoryView", "here DRAM: MemoryView"]
    with pytest.raises(TypeError, match=r"expected \(MeshDevice, BufferType\), got \(MeshDevice, int\)"):
        ttnn.get_memory_view(device, 1)


def test_events_are_over_at_once(device: Any) -> None:
    event = ttnn.record_event(device, 0)
    ttnn.wait_for_event(0, event)
    ttnn.event_synchronize(event)


def test_dispatch_and_kernel_configs(device: Any) -> None:
    plain = ttnn.DispatchCoreConfig()
    assert (plain.type, plain.axis) == (next(iter(ttnn.DispatchCoreType)), next(iter(ttnn.DispatchCoreAxis)))
    assert ttnn.DispatchCoreConfig(axis=ttnn.DispatchCoreAxis.COL).axis == ttnn.DispatchCoreAxis.COL
    for wrong in ({"type": 3}, {"axis": "row"}):
        with pytest.raises(TypeError, match=f"expected {next(iter(wrong))}"):
            ttnn.DispatchCoreConfig(**wrong)
    with pytest.raises(NotSupported):
        ttnn.DispatchCoreConfig(fabric_tensix_config=1)
    config = ttnn.init_device_compute_kernel_config(device.arch(), fp32_dest_acc_en=True)
    assert (config.math_fidelity, config.fp32_dest_acc_en) == (ttnn.MathFidelity.LoFi, True)
    assert ttnn.init_device_compute_kernel_config(device.arch(), config) is config


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda device, x: device.get_device_id(ttnn.MeshCoordinate(0, 1)), "outside the mesh"),
        (lambda device, x: ttnn.as_tensor(torch.ones(2), device=device), "memory_config must be specified"),
        (lambda device, x: ttnn.create_sharded_memory_config([64, 64], x, ttnn.ShardStrategy.HEIGHT), "must be shard shape"),
        (lambda device, x: ttnn.create_sharded_memory_config([65, 64], ttnn.CoreGrid(x=1, y=2), ttnn.ShardStrategy.HEIGHT), "height 65 is not divisible by 2"),
        (lambda device, x: ttnn.split_work_to_cores(x, 4), "rectangle of cores from the origin"),
        (lambda device, x: ttnn.grid_to_cores(9, 2, 4), "at most 8 cores, got 9"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_refused(call: Any, message: str, device: Any) -> None:
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(1, 0), ttnn.CoreCoord(1, 1))])
    with pytest.raises(ShimError, match=message):
        call(device, cores)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_global_pool(rank: int, device: Any) -> None:
    values = torch.rand(*(2, 4, 6, 32)[4 - rank :])
    made = ttnn.global_avg_pool2d(ttnn.from_torch(values, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device))
    image = values.reshape(1, *values.shape, 1) if rank == 2 else values.reshape(-1, *values.shape[-3:])
    torch.testing.assert_close(ttnn.to_torch(made).float(), image.mean((1, 2), keepdim=True), rtol=2e-2, atol=2e-2)
