"""How the Python door behaves: values in and out, printing, operators, errors at the caller's line, lifetimes, activation."""

from __future__ import annotations

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
import ttnn
from ttnn_shim.errors import ActivationError, InvalidArgument, NotSupported, OutOfMemory, ShimError, TensorFileError

from tests.tables import table

CORES = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 3))])
SHARDS = ttnn.ShardSpec(CORES, [32, 64], ttnn.ShardOrientation.ROW_MAJOR)

# Printed forms, taken from the real package.
REPRS = {
    "ttnn.bfloat16": "DataType.BFLOAT16",
    "ttnn.ShardStrategy.HEIGHT": "<ShardStrategy.HEIGHT: 1>",
    "ttnn.Shape([1, 2, 3])": "Shape([1, 2, 3])",
    "ttnn.Shape([1, 2]).to_rank(4)": "Shape([1, 1, 1, 2])",
    "ttnn.CoreCoord((1, 2))": "1-2",
    "ttnn.CoreRange((0, 0), (3, 3))": "[0-0 - 3-3]",
    "CORES": "{[0-0 - 3-3]}",
    "CORES.subtract(ttnn.CoreRangeSet([ttnn.CoreRange((1, 1), (2, 2))]))": "{[0-0 - 0-3], [3-0 - 3-3], [1-0 - 2-0], [1-3 - 2-3]}",
    "CORES.merge(ttnn.CoreRangeSet([ttnn.CoreRange((4, 0), (5, 3))]))": "{[0-0 - 5-3]}",
    "CORES.to_json()": """'[{"end":{"x":3,"y":3},"start":{"x":0,"y":0}}]'""",
    "ttnn.CoreGrid(x=8, y=4)": "ttnn.CoreGrid(x=8, y=4)",
    "ttnn.L1_MEMORY_CONFIG": "MemoryConfig(memory_layout=TensorMemoryLayout::INTERLEAVED,buffer_type=BufferType::L1,shard_spec=std::nullopt,"
    "nd_shard_spec=std::nullopt,created_with_nd_shard_spec=0,per_core_allocation=0,range_lockstep_allocation=0)",
    "SHARDS": 'ShardSpec{grid=[{"start":{"x":0,"y":0},"end":{"x":3,"y":3}], shape=[32, 64], orientation=ShardOrientation::ROW_MAJOR}',
    "ttnn.UnaryWithParam(ttnn.UnaryOpType.LEAKY_RELU, 0.1)": "UnaryWithParam(op_type=UnaryOpType::LEAKY_RELU, params=[0.1])",
    "ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=32, k_chunk_size=32)":
    "SDPAProgramConfig(compute_with_storage_grid_size=8-8, sub_core_grids=std::nullopt, q_chunk_size=32, k_chunk_size=32, "
    "exp_approx_mode=std::nullopt, max_cores_per_head_batch=16, max_k_splits=1, matmul_math_fidelity=std::nullopt, segmented_accumulation=false)",
    "ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceHeight, num_slices=2)": "Op2DSliceConfig(slice_type=SliceType::DRAM_HEIGHT,num_slices=2)",
    "ttnn.MeshShape(2, 4)": "MeshShape([2, 4])",
    "ttnn.Tile((32, 32))": "Tile with shape: [32, 32]",
    "ttnn.WormholeComputeKernelConfig().math_fidelity": "MathFidelity.Invalid",
    "ttnn.split_work_to_cores(ttnn.CoreCoord(8, 8), 100)":
    "(64, {[0-0 - 7-7]}, {[0-0 - 3-7], [4-0 - 4-3]}, {[4-4 - 4-7], [5-0 - 7-7]}, 2, 1)",
    "ttnn.num_cores_to_corerangeset(10, ttnn.CoreCoord(8, 8), row_wise=True)": "{[0-0 - 7-0], [0-1 - 1-1]}",
    "ttnn.grid_to_cores(3, 2, 2)": "[0-0, 0-1, 1-0]",
    "ttnn.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3), ttnn.bfloat16)":
    "ttnn.Tensor([[ 0.0000,  1.0000,  2.0000],\n             [ 3.0000,  4.0000,  5.0000]], "
    "shape=Shape([2, 3]), dtype=DataType::BFLOAT16, layout=Layout::ROW_MAJOR)",
    "ttnn.Tensor(np.array([1.5, -2e10, 1e-8], np.float32))":
    "ttnn.Tensor([ 1.5000e+00, -2.0000e+10,  1.0000e-08], shape=Shape([3]), dtype=DataType::FLOAT32, layout=Layout::ROW_MAJOR)",
    "ttnn.Tensor(np.arange(10, dtype=np.float32))":
    "ttnn.Tensor([ 0.0000,  1.0000,  ...,  8.0000,  9.0000], shape=Shape([10]), dtype=DataType::FLOAT32, layout=Layout::ROW_MAJOR)",
    "ttnn.Tensor(np.array([[-1.2853, 13.6646, 0.5]], np.float32))":
    "ttnn.Tensor([[-1.2853, 13.6646,  0.5000]], shape=Shape([1, 3]), dtype=DataType::FLOAT32, layout=Layout::ROW_MAJOR)",
    "ttnn.Tensor(np.arange(10, dtype=np.int32).reshape(5, 2))":
    "ttnn.Tensor([[    0,     1],\n             [    2,     3],\n             ...,\n             [    6,     7],\n             [    8,     9]], "
    "shape=Shape([5, 2]), dtype=DataType::INT32, layout=Layout::ROW_MAJOR)",
    "ttnn.Tensor(np.zeros((2, 0, 3), np.float32))":
    "ttnn.Tensor([[],\n\n             []], shape=Shape([2, 0, 3]), dtype=DataType::FLOAT32, layout=Layout::ROW_MAJOR)",
    "ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=(8, 8), in0_block_w=2, out_subblock_h=1, out_subblock_w=2, "
    "per_core_M=2, per_core_N=4, transpose_mcast=True, fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU, True))":
    "MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=8-8,in0_block_w=2,out_subblock_h=1,out_subblock_w=2,out_block_h=2,"
    "out_block_w=4,per_core_M=2,per_core_N=4,transpose_mcast=1,fused_activation=UnaryWithParam(op_type=UnaryOpType::GELU, params=[1]),fuse_batch=1,"
    "allowed_worker_cores=std::nullopt)",
    "ttnn.create_sharded_memory_config((128, 32), ttnn.CoreGrid(y=2, x=2), ttnn.ShardStrategy.HEIGHT, ttnn.ShardOrientation.COL_MAJOR, True)"
    ".shard_spec.shape": "[32, 128]",
    "ttnn.CoreCoord(3, 4) == (3, 4), list(ttnn.Tensor(np.zeros((2, 1), np.float32)))[1].shape": "(True, Shape([1]))",
    "ttnn.Tensor(np.zeros((0, 3), np.float32))": "ttnn.Tensor([], shape=Shape([0, 3]), dtype=DataType::FLOAT32, layout=Layout::ROW_MAJOR)",
    "ttnn.Tensor(np.full((1, 2), np.nan, np.float32))":
    "ttnn.Tensor([[    nan,     nan]], shape=Shape([1, 2]), dtype=DataType::FLOAT32, layout=Layout::ROW_MAJOR)",
}  # fmt: skip


@table("expression", REPRS)
def test_prints_as_the_real_package(expression: str) -> None:
    assert repr(eval(expression)) == REPRS[expression]


ARRAYS = {
    "float32": ttnn.float32, "int32": ttnn.int32, "uint32": ttnn.uint32, "uint16": ttnn.uint16, "uint8": ttnn.uint8, "bool": ttnn.uint8,
    "int64": ttnn.uint32, "int16": ttnn.uint16, "bfloat16": ttnn.bfloat16,
}  # fmt: skip


@table("shape", [(1,), (5, 7), (2, 3, 33, 65), ()])
@table("name", ARRAYS)
def test_array_round_trip(name: str, shape: tuple[int, ...]) -> None:
    kind = ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)
    array = np.asarray(np.random.default_rng(0).integers(0, 2, shape)).astype(kind)
    tensor = ttnn.Tensor(array)
    assert tensor.dtype is ARRAYS[name]
    assert tuple(tensor.shape) == shape
    assert np.array_equal(tensor.to_numpy().astype(np.float64), array.astype(np.float64))
    assert tensor.to_list() == array.astype(np.float64).tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8])
@pytest.mark.parametrize("layout", [ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT])
def test_torch_round_trip(dtype: torch.dtype, layout: Any, device: Any) -> None:
    source = torch.randn(2, 5, 40).mul(10).to(dtype) if dtype.is_floating_point else torch.randint(0, 100, (2, 5, 40)).to(dtype)
    tensor = ttnn.from_torch(source, layout=layout, device=device)
    assert tensor.layout is layout
    assert tensor.storage_type() is ttnn.StorageType.DEVICE
    assert torch.equal(ttnn.to_torch(tensor), source)
    assert ttnn.to_torch(ttnn.from_torch(source[None, None]), torch_rank=3).shape == (2, 5, 40)


@pytest.mark.parametrize(
    ("source", "dtype", "expected"),
    [
        ([1.00390625, 1.01171875, 3.4e38, -1e-40], ttnn.bfloat16, [1.0, 1.015625, float("inf"), -9.18355e-41]),
        ([1.0, 0.3, -0.004, 100.0], ttnn.bfloat8_b, [1.0, 0.0, 0.0, 100.0]),
    ],
)
def test_host_rounding(source: list[float], dtype: Any, expected: list[float]) -> None:
    """Ties to even, overflow to infinity, subnormals kept; a block shares an exponent."""
    got = ttnn.Tensor(np.array(source, np.float32), dtype).to_list()
    assert got == pytest.approx(expected, rel=0.01, abs=0.6 if dtype is ttnn.bfloat8_b else 0)


# (values, numpy dtype, target) -> what the real package gives.
CONVERSIONS = [
    ([-1, 5, 300, 70000], "int32", ttnn.uint8, [255, 5, 44, 112]),
    ([-1, 5, 70000, -(2**31)], "int32", ttnn.uint32, [4294967295, 5, 70000, 2147483648]),
    ([-1, 2**40 + 5, 7], "int64", None, [4294967295, 5, 7]),
    ([-1, 2**40 + 5, 7], "int64", ttnn.float32, [-1.0, 1099511627776.0, 7.0]),
    ([-0.5, 0.5, 1.9, 300.7, 3e9], "float32", ttnn.uint32, [0, 0, 1, 300, 3000000000]),
    ([-1.5, -0.5, 1.9, 70000.2], "float32", ttnn.int32, [-1, 0, 1, 70000]),
    ([-1.5, 1.9, 300.7, 70000.2], "float32", ttnn.uint16, [0, 1, 300, 65535]),
    ([-1.5, 1.9, 300.7, 70000.2] * 2, "float32", ttnn.uint8, [0, 1, 255, 255] * 2),
    ([-1.5, 1.9, 300.7, 70000.2], "float32", ttnn.uint8, [255, 1, 44, 112]),
    ([3e9, float("inf"), float("-inf"), float("nan")], "float32", ttnn.int32, [-(2**31)] * 4),
    ([3e9, float("inf"), float("-inf"), float("nan")], "float32", ttnn.uint16, [0] * 4),
    ([3e9, float("inf"), float("-inf"), float("nan")], "float32", ttnn.uint8, [0] * 4),
    ([-1.5, -3.0], "float32", ttnn.uint32, [4294967295, 4294967293]),
]


@table(("values", "kind", "target", "expected"), CONVERSIONS)
def test_host_conversion(values: list[Any], kind: str, target: Any, expected: list[Any]) -> None:
    assert ttnn.Tensor(np.array(values, kind), target).to_list() == expected


def test_mesh_of_one(device: Any) -> None:
    """Programs written for meshes run on the one device."""
    source = torch.arange(12.0).reshape(3, 4)
    for mapper in (ttnn.ReplicateTensorToMesh(device), ttnn.ShardTensorToMesh(device, dim=0)):
        tensor = ttnn.from_torch(source, device=device, mesh_mapper=mapper)
        assert torch.equal(ttnn.to_torch(tensor, mesh_composer=ttnn.ConcatMeshToTensor(device, dim=0)), source)
    assert ttnn.get_device_tensors(tensor)[0] is tensor
    with pytest.raises(InvalidArgument, match="is open already"):
        ttnn.open_mesh_device(ttnn.MeshShape(1, 2))


def test_lists(device: Any) -> None:
    tensor = ttnn.Tensor([1.0, 2.0, 3.0], [3], ttnn.float32, ttnn.TILE_LAYOUT, device)
    assert tuple(tensor.padded_shape) == (32, 32)
    assert tensor.to_list() == [1.0, 2.0, 3.0]
    assert ttnn.Tensor([7], [1], ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT).item() == 7
    with pytest.raises(InvalidArgument, match="expected 4 values"):
        ttnn.Tensor([1.0], [2, 2], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT)


@pytest.mark.parametrize("bad", [[[1.0, 2.0], [3.0, 4.0]], np.float32(3.0), "text", None, 1.0])
def test_tensor_refuses(bad: Any) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        ttnn.Tensor(bad)


def on(device: Any, array: Any, dtype: Any = ttnn.bfloat16) -> Any:
    return ttnn.Tensor(np.asarray(array, np.float32), dtype, device, ttnn.TILE_LAYOUT)


OPERATORS = {
    "a + b": lambda a, b: a + b, "a - b": lambda a, b: a - b, "a * b": lambda a, b: a * b, "a / b": lambda a, b: a / b, "a @ b": lambda a, b: a @ b,
    "a + 1": lambda a, b: a + 1, "1 + a": lambda a, b: 1 + a, "1 - a": lambda a, b: 1 - a, "3 * a": lambda a, b: 3 * a, "1 / a": lambda a, b: 1 / a,
    "a < b": lambda a, b: a < b, "a == b": lambda a, b: a == b, "a != b": lambda a, b: a != b, "a >= 2": lambda a, b: a >= 2,
    "a[1]": lambda a, b: a[1], "a[0, 1:3]": lambda a, b: a[0, 1:3], "a[..., -1]": lambda a, b: a[..., -1], "a[:, ::2]": lambda a, b: a[:, ::2],
}  # fmt: skip


@table("name", OPERATORS)
def test_operator(name: str, device: Any) -> None:
    a = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    b = np.float32(4) - np.eye(4, dtype=np.float32)
    expected = OPERATORS[name](a, b)
    got = OPERATORS[name](on(device, a, ttnn.float32), on(device, b, ttnn.float32))
    assert tuple(got.shape) == np.shape(expected)
    np.testing.assert_allclose(np.asarray(got.to_list(), np.float32), np.asarray(expected, np.float32), rtol=2e-3)


REFUSED = [
    ("ttnn.relu()", TypeError, "Available signatures"),
    ("ttnn.relu(x, foo=1)", TypeError, "relu.ttnn.Tensor, foo=1"),
    ("ttnn.relu(1)", TypeError, "relu.int"),
    ("ttnn.add(x, 'a')", TypeError, "add.ttnn.Tensor, str"),
    ("ttnn.add(x, None)", TypeError, "NoneType"),
    ("ttnn.add(x, x, activations=['relu'])", TypeError, "activations"),
    ("ttnn.add(x, x, True)", TypeError, "bool"),
    ("ttnn.reshape(x, [4, 1.0])", TypeError, "reshape"),
    ("ttnn.reshape(x, 4, 1)", TypeError, "reshape"),
    ("ttnn.matmul(x, x, core_grid=(8, 8))", TypeError, "core_grid"),
    ("ttnn.matmul(x, x, program_config=1)", TypeError, "program_config"),
    ("ttnn.Conv2dConfig(nope=1)", TypeError, "nope"),
    ("ttnn.Conv2dConfig(activation='relu')", TypeError, "activation"),
    ("ttnn.MemoryConfig('INTERLEAVED')", TypeError, "MemoryConfig"),
    ("ttnn.UnaryWithParam('relu')", TypeError, "UnaryOpType"),
    ("ttnn.ShardSpec(CORES, (32, 64))", TypeError, "shard_orientation"),
    ("ttnn.CoreGrid(8, 8)", TypeError, "x: int, y: int"),
    ("ttnn.CoreCoord(-1, 0)", TypeError, "CoreCoord"),
    ("ttnn.CoreRange((3, 3), (0, 0))", RuntimeError, "Invalid core range"),
    ("ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (3, 3)), ttnn.CoreRange((2, 2), (4, 4))])", RuntimeError, "overlap"),
    ("ttnn.Shape([1, 2])[5]", RuntimeError, r"5 not in \[-4, 2\)"),
    ("ttnn.linear(x, x, activation='nonsense')", RuntimeError, "nonsense"),
    ("ttnn.Tensor(np.zeros((2, 2), np.float32)).buffer_address()", RuntimeError, "StorageType::HOST"),
    ("ttnn.Tensor(np.zeros((2, 2), np.float32)).item()", RuntimeError, "4 elements"),
    ("ttnn.Tensor(np.zeros((2, 2)))", RuntimeError, "float64"),
    ("ttnn.Tensor(np.zeros((2, 2), np.float32), ttnn.bfloat8_b, layout=ttnn.ROW_MAJOR_LAYOUT)", RuntimeError, "Layout::TILE"),
    ("ttnn.to_dtype(x, ttnn.float32)", RuntimeError, "host"),
    ("ttnn.relu(ttnn.Tensor(np.zeros((2, 2), np.float32)))", RuntimeError, "device"),
    (
        "ttnn.add(ttnn.from_torch(torch.ones(32, 32, dtype=torch.int8), dtype=ttnn.int8, layout=ttnn.TILE_LAYOUT, device=x.device()), 1)",
        RuntimeError,
        "INT8 is not supported for binary operation ADD",
    ),
    ("ttnn.open_device(device_id=7)", RuntimeError, "device 0"),
    ("ttnn.open_device(0)", TypeError, "positional"),
    ("ttnn.open_device(device_id=0, l1_small_size=1 << 70)", TypeError, "64 bits"),
    ("ttnn.load_tensor('no_such.tensorbin')", RuntimeError, "no such file"),
    ("-x", TypeError, "unary -"),
    ("x ** 2", TypeError, "pow"),
    ("len(x)", TypeError, "len"),
    ("ttnn.adamw", AttributeError, "not in the simulator|no attribute"),
    ("ttnn.moreh_nll_loss", AttributeError, "not in the simulator"),
    ("ttnn.sofmax", AttributeError, "it has softmax"),
    ("ttnn.enable_program_cache", AttributeError, "it has ttnn.Device.enable_program_cache"),
    ("ttnn.experimental.nope", AttributeError, "nope"),
]


@table(("expression", "kind", "pattern"), REFUSED)
def test_refuses_what_the_real_package_refuses(expression: str, kind: type[Exception], pattern: str, device: Any) -> None:
    x = on(device, np.ones((2, 2)))
    with pytest.raises(kind, match=pattern):
        eval(expression, {**globals(), "x": x})


def test_asking_whether_a_name_exists_searches_for_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python asks so at the import of every submodule."""
    searched: list[str] = []

    def near(module: str, name: str) -> list[str]:
        searched.append(name)
        return [f"near {module}.{name}"]

    monkeypatch.setattr(ttnn, "_near", near)
    assert not hasattr(ttnn, "sofmax") and not hasattr(ttnn.experimental, "nope")
    assert searched == []
    with pytest.raises(AttributeError) as caught:
        _ = ttnn.sofmax
    assert str(caught.value).endswith("it has near ttnn.sofmax") and caught.value.hint == "did you mean near ttnn.sofmax?"
    assert searched == ["sofmax"]


def test_error_names_the_callers_line(device: Any) -> None:
    x = on(device, np.ones((2, 3)))
    with pytest.raises(ShimError) as caught:
        ttnn.matmul(x, x)
    line = caught.traceback[0].lineno + 1
    assert caught.value.op == "ttnn.matmul"
    assert caught.value.location == f"{__file__}:{line}"
    assert "TT_FATAL" in str(caught.value)


def test_op_without_kernel_says_so() -> None:
    from ttnn._coverage import ops_without_kernel
    from ttnn._operation import Operation

    missing = ops_without_kernel()
    if missing:
        operation = Operation(missing[0])
        error = NotSupported("x", op=operation.name)
        assert isinstance(error, RuntimeError)
        assert isinstance(error, NotImplementedError)
        assert "not supported by ttnn_shim" in str(error)


def test_memory_goes_back_with_the_last_reference(device: Any) -> None:
    gc.collect()

    def used() -> int:
        return int(ttnn.get_memory_view(device, ttnn.BufferType.DRAM).total_bytes_allocated_per_bank)

    before = used()
    x = on(device, np.ones((256, 1024)))
    full = used()
    assert full > before
    y = x
    view = ttnn.reshape(x, [1, 256, 1024])
    del x
    assert used() == full
    del y
    assert used() == full
    del view
    assert used() == before


def test_device_facts(device: Any) -> None:
    """Figures of the real package on an n150."""
    assert (device.core_grid.x, device.core_grid.y, repr(device.dram_grid_size())) == (8, 8, "12-1")
    assert (device.sfpu_eps(), device.sfpu_nan()) == (np.float32(1.19209e-07), np.float32(7.0040e19))
    assert (ttnn.get_l1_alignment(), ttnn.get_dram_alignment(), ttnn.get_max_worker_l1_unreserved_size()) == (16, 32, 1463968)
    view = ttnn.get_memory_view(device, ttnn.BufferType.L1)
    assert (view.num_banks, view.total_bytes_per_bank) == (64, 1393312 - 32768)  # less l1_small_size
    gc.collect()
    x = ttnn.to_memory_config(on(device, np.ones((32, 64))), ttnn.L1_MEMORY_CONFIG)
    table = ttnn.get_memory_view(device, ttnn.BufferType.L1).block_table
    assert [row["allocated"] for row in table][-1] == "yes", "L1 fills from the top"
    assert (x.buffer_num_pages(), x.buffer_page_size(), x.buffer_aligned_page_size()) == (2, 2048, 2048)


def test_buffers_and_their_pages(device: Any) -> None:
    """`ttnn._ttnn.reports`: pages dealt round robin over the banks, or shard by shard."""
    reports = ttnn._ttnn.reports
    gc.collect()
    before = {(row.buffer_type, row.address) for row in reports.get_buffers(device)}
    dram = on(device, np.ones((64, 448)))
    block = ttnn.create_sharded_memory_config((64, 96), ttnn.CoreGrid(y=2, x=3), ttnn.ShardStrategy.BLOCK)
    sharded = ttnn.to_memory_config(on(device, np.ones((64, 96))), block)
    made = {row.buffer_type.name: row for row in reports.get_buffers([device]) if (row.buffer_type, row.address) not in before}
    assert {kind: (row.address, row.max_size_per_bank, row.buffer_layout.name) for kind, row in made.items()} == {
        "DRAM": (dram.buffer_address(), 3 * 2048, "INTERLEAVED"),
        "L1": (sharded.buffer_address(), 2048, "BLOCK_SHARDED"),
    }
    pages = [page for page in reports.get_buffer_pages(device) if (page.buffer_type, page.address) not in before]
    banks = [(page.page_index, page.bank_id, page.page_address - page.address) for page in pages if page.buffer_type is ttnn.BufferType.DRAM]
    assert banks == [(index, index % 12, index // 12 * 2048) for index in range(28)]
    cores = [(page.core_y, page.core_x, page.page_address - page.address) for page in pages if page.buffer_type is ttnn.BufferType.L1]
    assert cores == [(y, x, 0) for y in range(2) for x in range(3)]
    del dram, sharded
    assert {(row.buffer_type, row.address) for row in reports.get_buffers(device)} == before


def test_deallocate(device: Any) -> None:
    x = on(device, np.ones((32, 32)))
    ttnn.deallocate(x)
    assert not x.is_allocated()
    assert "buffer is not allocated" in repr(x)
    with pytest.raises(ShimError):
        ttnn.add(x, x)


def test_out_of_memory(device: Any) -> None:
    with pytest.raises(OutOfMemory, match="L1"):
        ttnn.Tensor(np.zeros((8192, 16384), np.float32), ttnn.float32, device, ttnn.TILE_LAYOUT, ttnn.L1_MEMORY_CONFIG)


@pytest.mark.parametrize("strategy", list(ttnn.ShardStrategy))
def test_sharded_memory_config_round_trip(strategy: Any, device: Any) -> None:
    config = ttnn.create_sharded_memory_config((1, 1, 128, 256), ttnn.CoreGrid(x=2, y=2), strategy)
    x = ttnn.to_memory_config(on(device, np.ones((1, 1, 128, 256))), config)
    assert x.memory_config() == config
    assert x.is_sharded()
    assert ttnn.MemoryConfig.from_json(config.to_json()) == config
    assert hash(config) == hash(ttnn.MemoryConfig.from_json(config.to_json()))


def test_tensor_files(tmp_path: Path, device: Any) -> None:
    x = on(device, np.arange(96).reshape(3, 32))
    ttnn.dump_tensor(tmp_path / "x.tensorbin", x)
    for target in (None, device):
        y = ttnn.load_tensor(tmp_path / "x.tensorbin", device=target)
        assert y.to_list() == x.to_list()
        assert (y.device() is None) == (target is None)
    (tmp_path / "bad.tensorbin").write_bytes(b"\x10" * 40)
    with pytest.raises(TensorFileError):
        ttnn.load_tensor(tmp_path / "bad.tensorbin")


def test_as_tensor_cache(tmp_path: Path) -> None:
    source = torch.arange(6.0).reshape(2, 3)
    name = tmp_path / "cache" / "w"
    first = ttnn.as_tensor(source, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, cache_file_name=name)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["w_dtype_BFLOAT16_layout_TILE.tensorbin"]
    second = ttnn.as_tensor(source + 1, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, cache_file_name=name)
    assert first.to_list() == second.to_list()


def test_config_and_print_options() -> None:
    assert ttnn.CONFIG.enable_logging is False
    with ttnn.manage_config("enable_logging", True):
        assert ttnn.CONFIG.enable_logging is True
    assert ttnn.CONFIG.enable_logging is False
    with pytest.raises(AttributeError):
        ttnn.CONFIG.no_such_option = 1
    x = ttnn.Tensor(np.arange(10, dtype=np.float32))
    ttnn.set_printoptions(profile="full", precision=1)
    try:
        assert repr(x).startswith("ttnn.Tensor([ 0.0,  1.0,  2.0,  3.0,")
    finally:
        ttnn.set_printoptions(profile="short", precision=4)
    with pytest.raises(RuntimeError, match="profile"):
        ttnn.set_printoptions(profile="nonsense")


def test_compute_config_is_read_at_each_call(device: Any) -> None:
    """A mutable config that changes between calls changes the result."""
    rng = np.random.default_rng(1)
    a, b = on(device, rng.normal(size=(64, 512))), on(device, rng.normal(size=(512, 64)))
    config = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.LoFi)
    low = ttnn.matmul(a, b, compute_kernel_config=config).to_numpy()
    config.math_fidelity = ttnn.MathFidelity.HiFi4
    high = ttnn.matmul(a, b, compute_kernel_config=config).to_numpy()
    assert not np.array_equal(low, high)


def test_same_device_twice(device: Any) -> None:
    assert ttnn.open_device(device_id=0) is device
    x = on(device, np.ones((2, 2)))
    assert x.device() is device
    assert ttnn.add(x, x).device() is device
    assert ttnn.get_arch_name() == "wormhole_b0"


def test_threads_share_a_device(device: Any) -> None:
    y = on(device, np.ones((32, 32)))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: ttnn.relu(ttnn.add(y, y)).to_list()[0][0], range(200)))
    assert set(results) == {2.0}


def test_closed_device_and_estimate_mode(tmp_path: Path) -> None:
    code = """
import ttnn_shim; ttnn_shim.activate(explicit=True)
import numpy as np, ttnn
from ttnn_shim import session
def tensor(d): return ttnn.Tensor(np.ones((32, 32), np.float32), ttnn.bfloat16, d, ttnn.TILE_LAYOUT)
d = ttnn.open_device(device_id=0); x = tensor(d); ttnn.close_device(d)
try: ttnn.add(x, x)
except RuntimeError as error: print("closed" in str(error))
del x
session.settings.estimate = True
d = ttnn.open_device(device_id=0); y = ttnn.matmul(tensor(d), tensor(d))
print(d.clock_read()["ops"], "no values" in repr(y))
"""
    result = run_python(code, tmp_path)
    assert result.stdout.split("\n")[:2] == ["True", "1 True"], result.stderr


def run_python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False, timeout=60)


def test_activation_never_shadows_silently(tmp_path: Path) -> None:
    (tmp_path / "ttnn").mkdir()
    (tmp_path / "ttnn" / "__init__.py").write_text("real = True\n")
    head = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; import ttnn_shim; from ttnn_shim.errors import ActivationError\n"
    asked = run_python(head + "ttnn_shim.activate(explicit=True); import ttnn; print(ttnn.__version__)", tmp_path)
    assert asked.stdout.strip() == "0.81.1", asked.stderr
    silent = run_python(head + "ttnn_shim.activate()", tmp_path)
    assert "a real ttnn is installed" in silent.stderr
    late = run_python(head + "import ttnn; ttnn_shim.activate(explicit=True)", tmp_path)
    assert "imported already" in late.stderr
    assert issubclass(ActivationError, ImportError)


def test_import_is_light(tmp_path: Path) -> None:
    """No framework is imported; how long it takes is in `make bench`."""
    code = "import ttnn_shim, sys; ttnn_shim.activate(explicit=True); import ttnn; ttnn.Tensor; ttnn.add\n"
    result = run_python(code + "print({'torch', 'jax', 'xdsl'} & set(sys.modules))", tmp_path)
    assert result.stdout.strip() == "set()", result.stdout
