"""Descriptors of a caller's own programs: made and checked as on a card, refused where the kernels would run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import InvalidArgument, NotSupported

CORES = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 0))])
FAR = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(40, 0))])


def at(x: int, y: int) -> Any:
    return ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(x, y), ttnn.CoreCoord(x, y))])


def program(cores: Any = CORES, page: int = 2048, config: Any = None) -> Any:
    held = ttnn.CBFormatDescriptor(buffer_index=0, data_format=ttnn.bfloat16, page_size=page, tile=ttnn.TileDescriptor(32, 32))
    arguments = ttnn.RuntimeArgs()
    arguments[0][0] = [1, 2]
    kernel = ttnn.KernelDescriptor(
        kernel_source="void kernel_main() {}", source_type=ttnn.KernelDescriptor.SourceType.SOURCE_CODE, core_ranges=cores, runtime_args=arguments,
        config=config or ttnn.ReaderConfigDescriptor(),
    )  # fmt: skip
    semaphore = ttnn.SemaphoreDescriptor(id=0, core_ranges=cores, initial_value=0)
    return ttnn.ProgramDescriptor(kernels=[kernel], semaphores=[semaphore], cbs=[ttnn.CBDescriptor(4096, cores, [held])])


@pytest.mark.parametrize(
    ("described", "error", "text"),
    [
        (lambda: program(), NotSupported, "kernels in source are not simulated"),
        (lambda: ttnn.merge_program_descriptors([program(), program()]), NotSupported, "kernels in source are not simulated"),
        (lambda: program(config=ttnn.ComputeConfigDescriptor(fp32_dest_acc_en=True)), NotSupported, "kernels in source are not simulated"),
        (lambda: program(cores=FAR), InvalidArgument, "lie outside of the device's grid"),
        (lambda: program(cores=at(7, 7)), NotSupported, "kernels in source are not simulated"),
        (lambda: program(cores=at(8, 0)), InvalidArgument, "lie outside of the device's grid of 8 x 8"),
        (lambda: program(cores=at(0, 8)), InvalidArgument, "lie outside of the device's grid of 8 x 8"),
        (lambda: program(cores=ttnn.CoreRangeSet([])), InvalidArgument, "core_ranges: a KernelDescriptor without cores"),
        (lambda: program(page=1024), NotSupported, "kernels in source are not simulated"),
        (lambda: program(page=0), NotSupported, "kernels in source are not simulated"),
        (lambda: ttnn.ProgramDescriptor(kernels=[ttnn.KernelDescriptor(core_ranges=CORES)]), InvalidArgument, "config: a kernel without one"),
        (lambda: program(page=3000), InvalidArgument, "no whole pages of 3000 B"),
        (lambda: ttnn.ProgramDescriptor(), InvalidArgument, "at least one kernel"),
        (lambda: "a program", InvalidArgument, "expected ProgramDescriptor or MeshProgramDescriptor"),
    ],
)
def test_generic_op(described: Any, error: type[Exception], text: str, device: Any) -> None:
    x = ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    with pytest.raises(error, match=text):
        ttnn.generic_op([x, x], described())


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ttnn.CBFormatDescriptor(buffer_index=32), "buffer_index: expected 0 to 31, got 32"),
        (lambda: ttnn.SemaphoreDescriptor(id=16), "id: expected 0 to 15, got 16"),
        (lambda: ttnn.KernelDescriptor(config=3), "config: expected ReaderConfigDescriptor"),
        (lambda: ttnn.ProgramDescriptor(kernels=[1]), "kernels: expected KernelDescriptor, got int"),
    ],
)
def test_descriptors_are_checked(make: Any, text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        make()


def test_buffer_in_shards(device: Any) -> None:
    memory = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, ttnn.ShardSpec(CORES, [32, 64], ttnn.ShardOrientation.ROW_MAJOR))
    x = ttnn.from_torch(torch.ones(64, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=memory)
    buffer = ttnn.cb_descriptor_from_sharded_tensor(3, x)
    assert buffer.total_size == 2 * 2048 and buffer.has_buffer()
    assert ttnn.get_cb_address(buffer) == x.buffer_address()
    with pytest.raises(InvalidArgument, match="expected a buffer in a tensor's shards"):
        ttnn.get_cb_address(ttnn.CBDescriptor(64, CORES, []))
