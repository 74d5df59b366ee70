"""What lies in device memory, as `ttnn._ttnn.reports` lists it: buffers, and the pages they are dealt to the banks in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ttnn._device import MeshDevice, get_memory_view
from ttnn._dtypes import L1_ALIGNMENT_BYTES
from ttnn._enums import BufferType, TensorMemoryLayout
from ttnn._state import dram_alignment
from ttnn_shim.machine import cards


@dataclass(frozen=True)
class BufferInfo:
    """One allocated buffer."""

    device_id: int
    address: int
    max_size_per_bank: int
    buffer_type: BufferType
    buffer_layout: TensorMemoryLayout


@dataclass(frozen=True)
class BufferPageInfo:
    """One page of a buffer, with the core or DRAM bank that holds it."""

    device_id: int
    address: int
    core_y: int
    core_x: int
    bank_id: int
    page_index: int
    page_address: int
    page_size: int
    buffer_type: BufferType


def _devices(devices: MeshDevice | Sequence[MeshDevice]) -> list[MeshDevice]:
    return [devices] if isinstance(devices, MeshDevice) else list(devices)


def get_buffers(devices: MeshDevice | Sequence[MeshDevice]) -> list[BufferInfo]:
    """Every allocated buffer of the devices."""
    return [
        BufferInfo(
            device.id(),
            row["tensor"]["address"],
            row["bytes_per_bank"],
            BufferType[row["tensor"]["buffer_type"]],
            TensorMemoryLayout[row["tensor"]["memory_layout"]],
        )
        for device in _devices(devices)
        for row in device.buffer_table()
    ]


def get_buffer_pages(devices: MeshDevice | Sequence[MeshDevice]) -> list[BufferPageInfo]:
    """Every page of the allocated buffers of the devices."""
    return [page for device in _devices(devices) for row in device.buffer_table() for page in _pages(device, row)]


def _pages(device: MeshDevice, row: dict[str, Any]) -> Iterator[BufferPageInfo]:
    tensor, size = row["tensor"], row["page_bytes"]
    kind = BufferType[tensor["buffer_type"]]
    in_dram = kind in (BufferType.DRAM, BufferType.TRACE)
    alignment = dram_alignment(device) if in_dram else L1_ALIGNMENT_BYTES
    step = -(-size // alignment) * alignment
    grid = device.dram_grid_size() if in_dram else device.compute_with_storage_grid_size()
    for index, bank, place in _dealt(row, grid.x, grid.x * grid.y):
        core_y, core_x = divmod(bank, grid.x)
        yield BufferPageInfo(device.id(), tensor["address"], core_y, core_x, bank, index, tensor["address"] + place * step, size, kind)


def _dealt(row: dict[str, Any], columns: int, banks: int) -> Iterator[tuple[int, int, int]]:
    """(page, bank, place in the bank's part): round robin, or shard by shard over the cores of the grid."""
    tensor = row["tensor"]
    if "shard_shape" not in tensor:
        for index in range(row["pages"]):
            yield index, index % banks, index // banks
        return
    padded = tensor["padded_shape"]
    width = padded[-1] if padded else 1
    page_height, page_width = row["page_shape"]
    across = max(1, width // max(page_width, 1))  # pages of one row of pages
    high, wide = (max(1, -(-extent // max(page, 1))) for extent, page in zip(tensor["shard_shape"], (page_height, page_width), strict=True))
    cores: list[tuple[int, int]] = []
    for x0, y0, x1, y1 in zip(*[iter(tensor["shard_corners"])] * 4, strict=True):
        cells = [(x, y) for y in range(y0, y1 + 1) for x in range(x0, x1 + 1)]
        cores += sorted(cells) if tensor["shard_orientation"] == "COL_MAJOR" else cells
    shards_across = -(-across // wide)
    for index in range(row["pages"]):
        down, right = divmod(index, across)
        x, y = cores[(down // high * shards_across + right // wide) % len(cores)]
        yield index, y * columns + x, down % high * wide + right % wide


@dataclass(frozen=True)
class DeviceInfo:
    """Sizes of a device's L1 in bytes, and its cores, as reports name them."""

    num_y_cores: int
    num_x_cores: int
    num_y_compute_cores: int
    num_x_compute_cores: int
    worker_l1_size: int
    l1_num_banks: int
    l1_bank_size: int
    address_at_first_l1_bank: int
    address_at_first_l1_cb_buffer: int
    num_banks_per_storage_core: int
    num_compute_cores: int
    num_storage_cores: int
    total_l1_memory: int
    total_l1_for_tensors: int
    total_l1_for_interleaved_buffers: int
    total_l1_for_sharded_buffers: int
    cb_limit: int


def get_device_info(device: MeshDevice) -> DeviceInfo:
    card = cards()[device.arch().name.lower()]
    grid, view = device.compute_with_storage_grid_size(), get_memory_view(device, BufferType.L1)
    cores, worker, bank = grid.x * grid.y, card.l1_core_bytes, view.total_bytes_per_bank
    return DeviceInfo(
        num_y_cores=grid.y + 1, num_x_cores=grid.x, num_y_compute_cores=grid.y, num_x_compute_cores=grid.x, worker_l1_size=worker, l1_num_banks=cores,
        l1_bank_size=bank, address_at_first_l1_bank=0, address_at_first_l1_cb_buffer=worker - card.l1_bytes, num_banks_per_storage_core=1,
        num_compute_cores=cores, num_storage_cores=0, total_l1_memory=worker * cores, total_l1_for_tensors=0,
        total_l1_for_interleaved_buffers=bank * cores, total_l1_for_sharded_buffers=bank * cores, cb_limit=card.l1_bytes,
    )  # fmt: skip
