"""Tiles smaller than 32 x 32: tensors of them, and their products."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import InvalidArgument, NotSupported

from tests.tables import table

WIDE = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True)


def whole(*shape: int) -> torch.Tensor:
    return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(0)).float()


def put(device: Any, tensor: torch.Tensor, tile: tuple[int, int], dtype: Any = ttnn.bfloat16, memory: Any = None, **flags: bool) -> Any:
    return ttnn.from_torch(tensor, dtype=dtype, layout=ttnn.TILE_LAYOUT, tile=ttnn.Tile(tile, **flags), device=device, memory_config=memory)


@table("height", [1, 2, 4, 8, 16, 32])
@table("width", [16, 32])
def test_round_trip(device: Any, height: int, width: int) -> None:
    x = whole(2, 71, 35)
    tensor = put(device, x, (height, width))
    assert tensor.tile.tile_shape == [height, width]
    assert list(tensor.padded_shape) == [2, -(-71 // height) * height, -(-35 // width) * width]
    assert tensor.buffer_page_size() == 2 * height * width
    assert torch.equal(ttnn.to_torch(tensor).float(), x)


@table("given", [False, True], ids=["new", "output"])
@table(("height", "width"), [(1, 32), (8, 16), (16, 32), (32, 16), (16, 16)])
def test_products(device: Any, height: int, width: int, given: bool) -> None:
    a, b, bias = whole(2, 71, 70), whole(70, 50), whole(1, 50)
    left, right, row = put(device, a, (height, 32)), put(device, b, (32, width)), put(device, bias, (height, width))
    output = {"optional_output_tensor": put(device, torch.zeros(2, 71, 50), (height, width))} if given else {}
    product = ttnn.matmul(left, right, compute_kernel_config=WIDE, **output)
    assert product.tile.tile_shape == [height, width]
    assert list(product.padded_shape) == [2, -(-71 // height) * height, -(-50 // width) * width]
    exact = (a @ b).bfloat16().float()
    assert torch.equal(ttnn.to_torch(output.get("optional_output_tensor", product)).float(), exact)
    added = ttnn.to_torch(ttnn.linear(left, right, bias=row, compute_kernel_config=WIDE)).float()
    torch.testing.assert_close(added, a @ b + bias, rtol=1e-2, atol=1e-2)


def test_product_of_transposed_tiles(device: Any) -> None:
    """Of tiles of full width transposition is how they lie in memory, not what is multiplied."""
    a, b = whole(64, 64), whole(64, 96)
    product = ttnn.matmul(put(device, a, (16, 32)), put(device, b, (32, 32), transpose_tile=True), compute_kernel_config=WIDE)
    assert torch.equal(ttnn.to_torch(product).float(), (a @ b).bfloat16().float())


def test_product_of_shards(device: Any) -> None:
    """A program config counts in tiles of the operands, and shards of the result are of its tiles."""
    a, b = whole(2, 3, 64, 64), whole(2, 3, 64, 64)
    shards = ttnn.create_sharded_memory_config((2, 3, 64, 64), core_grid=ttnn.CoreGrid(y=3, x=2), strategy=ttnn.ShardStrategy.HEIGHT)
    config = ttnn.MatmulMultiCoreReuseProgramConfig(
        compute_with_storage_grid_size=(2, 3), in0_block_w=2, out_subblock_h=1, out_subblock_w=4, per_core_M=4, per_core_N=4
    )
    out = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1)
    product = ttnn.matmul(
        put(device, a, (16, 32), memory=shards), put(device, b, (32, 16)), program_config=config, memory_config=out, compute_kernel_config=WIDE,
        output_tile=ttnn.Tile([16, 16]),
    )  # fmt: skip
    assert product.memory_config().shard_spec.shape == [64, 64]
    assert torch.equal(ttnn.to_torch(product).float(), (a @ b).bfloat16().float())


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda a, b, turned: ttnn.matmul(a, turned), InvalidArgument, "needs transpose_b"),
        (lambda a, b, turned: ttnn.matmul(a, b, output_tile=ttnn.Tile([32, 32])), InvalidArgument, "output_tile: expected a height of 16"),
        (lambda a, b, turned: ttnn.matmul(b, b), InvalidArgument, "16 values wide"),
        (lambda a, b, turned: ttnn.relu(a), NotSupported, "tiles of 16 x 32"),
    ],
    ids=["transposed", "output", "inner", "other op"],
)
def test_refused(device: Any, call: Any, kind: type[Exception], said: str) -> None:
    x = torch.zeros(64, 64)
    with pytest.raises(kind, match=said):
        call(put(device, x, (16, 32)), put(device, x, (32, 16)), put(device, x, (32, 16), transpose_tile=True))
