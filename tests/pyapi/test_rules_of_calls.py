"""What single calls take, refuse and give, as ttnn 0.81.1 does over a mock device; values against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import InvalidArgument

from tests.tables import table


def tensor(device: Any, *shape: int, layout: Any = ttnn.TILE_LAYOUT, memory: Any = None) -> tuple[torch.Tensor, Any]:
    """Values that are sums of bfloat16 without rounding, and the device's."""
    values = torch.randint(-4, 5, shape).bfloat16().float()
    return values, ttnn.from_torch(values, dtype=ttnn.bfloat16, layout=layout, device=device, memory_config=memory)


@pytest.mark.parametrize(
    ("predicate", "yes", "no"),
    [((1, 1, 32, 64), (1, 4, 1, 64), (2, 1, 32, 1)), ((2, 4, 32, 64), (1, 1, 1, 1), (1, 1, 32, 1)), ((1, 4, 32, 1), (1, 1, 1, 64), (2, 4, 32, 64))],
)
def test_where_of_several_broadcast_operands(predicate: tuple[int, ...], yes: tuple[int, ...], no: tuple[int, ...], device: Any) -> None:
    """Computed by products and a sum, as in the real package: what is not above zero is false."""
    torch.manual_seed(0)
    (p, tp), (y, ty), (n, tn) = (tensor(device, *shape) for shape in (predicate, yes, no))
    assert torch.equal(ttnn.to_torch(ttnn.where(tp, ty, tn)).float(), torch.where(p > 0, y, n))


@table(
    ("kernel", "padding", "taken"), [(2, (1, 1), True), (2, (0, 2, 0, 0), False), (3, (0, 2, 0, 0), False), (1, (1, 0, 1, 0), False), (3, (1, 0, 0, 1), True)]
)
@table("name", ["max_pool2d", "avg_pool2d"])
def test_padding_of_pools(name: str, kernel: int, padding: tuple[int, ...], taken: bool, device: Any) -> None:
    """Each side at most half of the window, not both together the window."""
    _, image = tensor(device, 1, 1, 256, 32, layout=ttnn.ROW_MAJOR_LAYOUT)
    arguments: list[Any] = [image, 1, 16, 16, 32, [kernel] * 2, [1, 1], list(padding), *([[1, 1]] if name == "max_pool2d" else [])]
    if taken:
        getattr(ttnn, name)(*arguments)
    else:
        with pytest.raises(InvalidArgument, match="half of the kernel"):
            getattr(ttnn, name)(*arguments)


@pytest.mark.parametrize(
    ("held", "channels", "options"),
    [
        (16, 3, {"shard_layout": ttnn.TensorMemoryLayout.HEIGHT_SHARDED}), (64, 40, {"shard_layout": ttnn.TensorMemoryLayout.BLOCK_SHARDED}),
        (32, 32, {}), (16, 16, {"shard_layout": ttnn.TensorMemoryLayout.WIDTH_SHARDED, "output_layout": ttnn.ROW_MAJOR_LAYOUT}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_of_images_in_l1(held: int, channels: int, options: dict[str, Any], transposed: bool, device: Any) -> None:
    """Channels behind those of the convolution are padding; the result stays on shards."""
    torch.manual_seed(0)
    values, image = tensor(device, 1, 1, 64, held, layout=ttnn.ROW_MAJOR_LAYOUT, memory=ttnn.L1_MEMORY_CONFIG)
    weights = torch.randint(-2, 3, (channels, 32, 2, 2) if transposed else (32, channels, 3, 3)).float()
    sizes = {"in_channels": channels, "out_channels": 32, "batch_size": 1, "input_height": 8, "input_width": 8, "device": device}
    common = {
        "input_tensor": image,
        "weight_tensor": ttnn.from_torch(weights),
        "conv_config": ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, **options),
        **sizes,
    }
    picture = values.reshape(1, 8, 8, held).permute(0, 3, 1, 2)[:, :channels]
    if transposed:
        made = ttnn.conv_transpose2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), output_padding=(0, 0), dtype=ttnn.float32, **common)
        expected = torch.nn.functional.conv_transpose2d(picture, weights, stride=2)
    else:
        made = ttnn.conv2d(kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=0, dtype=ttnn.float32, **common)  # 0 groups are one
        expected = torch.nn.functional.conv2d(picture, weights, padding=1)
    assert made.is_sharded()
    found = ttnn.to_torch(made).reshape(1, *expected.shape[2:], 32).permute(0, 3, 1, 2)
    assert (found - expected).norm() <= 0.02 * expected.norm()


def test_linear_layers_into_l1_add_their_bias_afterwards(device: Any) -> None:
    """The product is still there when the sum finds its place."""
    (x, a), (w, b), (s, c) = tensor(device, 32, 64), tensor(device, 64, 96), tensor(device, 1, 96)
    alone = ttnn.matmul(a, b, memory_config=ttnn.L1_MEMORY_CONFIG).buffer_address()
    made = ttnn.linear(a, b, bias=c, memory_config=ttnn.L1_MEMORY_CONFIG)
    assert torch.allclose(ttnn.to_torch(made).float(), x @ w + s, atol=1)
    assert made.buffer_address() < alone


@pytest.mark.parametrize(("values", "dtype"), [(65_536, ttnn.uint16), (65_600, ttnn.uint32)])
def test_indices_of_wide_rows(values: int, dtype: Any, device: Any) -> None:
    _, row = tensor(device, 1, 1, 32, values)
    assert ttnn.topk(row, 32)[1].dtype == dtype


@pytest.mark.parametrize(("channels", "groups", "cores", "width"), [(192, 8, 8, 64), (96, 8, 4, 64), (32, 32, 1, 32), (64, 2, 2, 32)])
def test_group_norm_masks_are_as_wide_as_any_group_needs(channels: int, groups: int, cores: int, width: int) -> None:
    assert list(ttnn.create_group_norm_input_mask(channels, groups, cores).shape) == [1, groups, 32, width]


@pytest.mark.parametrize("given", [(ttnn.UnaryOpType.GELU, True), [ttnn.UnaryOpType.GELU, True], [ttnn.UnaryOpType.GELU, 1.0]])
def test_activations_as_pairs(given: Any) -> None:
    config = ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=(8, 8),
        in0_block_w=1,
        out_subblock_h=1,
        out_subblock_w=1,
        per_core_M=1,
        per_core_N=1,
        transpose_mcast=False,
        fused_activation=given,
    )
    assert (config.fused_activation.op_type, config.fused_activation.params) == (ttnn.UnaryOpType.GELU, [1.0])


def test_padding_with_a_value(device: Any) -> None:
    """Logical values only are computed with; the padding is seen by whoever asks for it."""
    x = torch.ones(3, 5)
    host = ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT, dtype=ttnn.bfloat16, pad_value=7.0)
    padded = host.to_torch_with_padded_shape()
    assert list(padded.shape) == [32, 32]
    assert (padded[3, 5], padded[0, 5], padded[2, 4]) == (7, 7, 1)
    assert torch.equal(ttnn.to_torch(ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT, dtype=ttnn.bfloat16, pad_value=7.0, device=device)).float(), x)


@pytest.mark.parametrize(("operands", "bound"), [((3, 0), (1, 1)), ((0, 3), (1, 3)), ((2, 0, 3), (1,)), ((0,), (1,))])
def test_nothing_stretches_to_no_values(operands: tuple[int, ...], bound: tuple[int, ...], device: Any) -> None:
    """`clamp` by one bound is a `where`."""
    x, limit = (ttnn.ones(list(shape), layout=ttnn.TILE_LAYOUT, device=device) for shape in (operands, bound))
    with pytest.raises(InvalidArgument, match="do not broadcast in a pattern"):
        ttnn.clamp(x, min=limit)


@pytest.mark.parametrize(
    ("layout", "first", "last", "taken"),
    [
        ("WIDTH", (0, 0), (1, 0), True), ("WIDTH", (0, 0), (7, 0), True), ("WIDTH", (0, 0), (0, 1), False), ("WIDTH", (0, 0), (1, 1), False),
        ("BLOCK", (0, 0), (0, 1), True), ("BLOCK", (0, 0), (1, 1), True), ("BLOCK", (1, 0), (2, 1), False),
    ],
)  # fmt: skip
def test_old_broadcast_on_shards(layout: str, first: tuple[int, int], last: tuple[int, int], taken: bool, device: Any) -> None:
    """Its arguments go to the first cores, wherever the shards lie: row by row, of block shards column by column."""
    cores = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(*first), ttnn.CoreCoord(*last))})
    columns, rows = (last[0] - first[0] + 1, last[1] - first[1] + 1) if layout == "BLOCK" else (cores.num_cores(), 1)
    spec = ttnn.ShardSpec(cores, [32, 256 // columns], ttnn.ShardOrientation.ROW_MAJOR)
    shards = ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, f"{layout}_SHARDED"), ttnn.BufferType.L1, spec)
    (a, ta), (b, tb) = tensor(device, 1, 1, 32 * rows, 256, memory=shards), tensor(device, 1, 1, 1, 256)
    if taken:
        assert torch.equal(ttnn.to_torch(ttnn.bcast(ta, tb, ttnn.BcastOpMath.ADD, ttnn.BcastOpDim.H)).float(), a + b)
    else:
        with pytest.raises(InvalidArgument, match=r"first cores, (row by row|column by column)"):
            ttnn.bcast(ta, tb, ttnn.BcastOpMath.ADD, ttnn.BcastOpDim.H)


@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize(("memory", "extent", "taken"), [("DRAM", 96, True), ("L1", 128, True), ("L1", 96, False)])
def test_transposed_operand_in_l1_with_bias(side: str, memory: str, extent: int, taken: bool, device: Any) -> None:
    """The real package transposes it first and holds the bias against the shapes before that."""
    place = getattr(ttnn, f"{memory}_MEMORY_CONFIG")
    (a, ta), (b, tb) = (
        tensor(device, *((extent, 128) if side == "a" else (128, extent)), memory=place),
        tensor(device, *((extent, 128) if side == "a" else (128, extent))),
    )
    bias, on_device = tensor(device, 128)
    options = {f"transpose_{side}": True, "bias": on_device}
    if taken:
        wanted = (a.T @ b if side == "a" else a @ b.T) + bias
        assert torch.allclose(ttnn.to_torch(ttnn.linear(ta, tb, **options)).float(), wanted, rtol=0.02, atol=8)
    else:
        with pytest.raises(InvalidArgument, match="Broadcast error: Invalid dimension"):
            ttnn.linear(ta, tb, **options)


@table(("rows", "taken"), [(1, True), (16, False), (32, False), (64, False), (96, True)])
@table("configured", [False, True])
def test_bias_of_several_rows(rows: int, taken: bool, configured: bool, device: Any) -> None:
    """ttnn 0.81.1 refuses a bias that was padded to a tile by hand: it has one row, or as many as the product."""
    (x, a), (w, b), (s, bias) = tensor(device, 1, 1, 96, 64), tensor(device, 1, 1, 64, 128), tensor(device, 1, 1, rows, 128)
    options = {"bias": bias} | ({"core_grid": ttnn.CoreGrid(x=4, y=3)} if configured else {})
    if taken:
        assert torch.allclose(ttnn.to_torch(ttnn.linear(a, b, **options)).float(), x @ w + s, rtol=0.02, atol=1)
    else:
        with pytest.raises(InvalidArgument, match="do not broadcast"):
            ttnn.linear(a, b, **options)


@table(
    ("shape", "taken"),
    [((2, 1, 1, 64), True), ((2, 1, 32, 64), True), ((2, 1, 64, 64), False), ((1, 1, 1, 64), False), ((2, 4, 1, 64), False), ((2, 1, 1, 32), False)],
)
@table("name", ["transformer.attention_softmax", "scale_mask_softmax"])
def test_masks_of_softmax(name: str, shape: tuple[int, ...], taken: bool, device: Any) -> None:
    """Both are one program: one matrix of at most one row of tiles per batch."""
    scores, mask = tensor(device, 2, 4, 64, 64)[1], tensor(device, *shape)[1]
    arguments = {"head_size": 32, "attention_mask": mask} if "attention" in name else {"scale": 0.5, "mask": mask}
    function = getattr(ttnn.transformer, name.partition(".")[2], None) or getattr(ttnn, name)
    if taken:
        function(scores, **arguments)
    else:
        with pytest.raises(InvalidArgument, match="mask: expected"):
            function(scores, **arguments)


@pytest.mark.parametrize("shape", [(2, 3, 32), (1, 1, 2, 32), (2, 1, 32)])
def test_embedding_reads_one_row_of_indices_per_batch(shape: tuple[int, ...], device: Any) -> None:
    ids, table_values = torch.randint(0, 50, shape, dtype=torch.int32), torch.randn(50, 64).bfloat16()
    rows = [ttnn.from_torch(value, dtype, layout=ttnn.ROW_MAJOR_LAYOUT, device=device) for value, dtype in ((ids, ttnn.uint32), (table_values, ttnn.bfloat16))]
    found = ttnn.to_torch(ttnn.embedding(*rows))
    assert torch.equal(found, table_values[ids.reshape(-1, shape[-1])[: shape[0]].long()])


def test_group_norm_in_place_needs_shards(device: Any) -> None:
    image = tensor(device, 1, 1, 64, 64)[1]
    with pytest.raises(InvalidArgument, match="inplace"):
        ttnn.group_norm(image, num_groups=2)
    assert list(ttnn.group_norm(image, num_groups=2, inplace=False).shape) == [1, 1, 64, 64]
