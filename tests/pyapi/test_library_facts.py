"""Facts of ttnn 0.81.1 that scripts meet: recorded over a mock Wormhole, or read from the kernels' sources where values are meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import ttnn

TILE, ROWS = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT
HEIGHT, WIDTH = ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.TensorMemoryLayout.WIDTH_SHARDED


def _put(device: Any, values: torch.Tensor, dtype: Any = ttnn.bfloat16, layout: Any = TILE, **kwargs: Any) -> Any:
    return ttnn.from_torch(values, dtype=dtype, layout=layout, device=device, **kwargs)


def _random(device: Any, *shape: int, **kwargs: Any) -> Any:
    return _put(device, torch.randn(shape), **kwargs)


def _convolve(device: Any, x: Any, kernel: int = 3, memory_config: Any = None, slices: Any = None, **config: Any) -> Any:
    weight = ttnn.from_torch(torch.randn(32, 32, kernel, kernel), dtype=ttnn.bfloat16)
    given = {name: value for name, value in {"memory_config": memory_config, "slice_config": slices}.items() if value is not None}
    return ttnn.conv2d(
        input_tensor=x, weight_tensor=weight, device=device, in_channels=32, out_channels=32, batch_size=1, input_height=16, input_width=16,
        kernel_size=(kernel, kernel), stride=(1, 1), padding=(kernel // 2, kernel // 2),
        conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, **config), **given,
    )  # fmt: skip


def _attend(d: Any, **kwargs: Any) -> Any:
    q = _random(d, 1, 4, 64, 64)
    return ttnn.transformer.scaled_dot_product_attention(q, q, kwargs.pop("v", q), **kwargs)


def _chunks(q: int, k: int, grid: tuple[int, int] = (8, 8)) -> Any:
    return ttnn.SDPAProgramConfig(compute_with_storage_grid_size=grid, q_chunk_size=q, k_chunk_size=k)


def _decode(d: Any, keys: int = 128, layout: Any = TILE, **kwargs: Any) -> Any:
    q, cache = _random(d, 1, 2, 4, 64, layout=layout), _random(d, 2, 2, keys, 64)
    return ttnn.transformer.scaled_dot_product_attention_decode(q, cache, cache, **{"is_causal": False} | kwargs)


def _joint(d: Any, config: Any) -> Any:
    q = _random(d, 1, 2, 32, 32)
    return ttnn.transformer.joint_scaled_dot_product_attention(q, q, q, q, q, q, joint_strategy="rear", program_config=config)


def _pool(d: Any, **kwargs: Any) -> Any:
    return ttnn.max_pool2d(
        input_tensor=_random(d, 1, 1, 64, 32, layout=ROWS), batch_size=1, input_h=8, input_w=8, channels=32,
        kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1], **kwargs,
    )  # fmt: skip


def _deallocated(d: Any) -> Any:
    tensor = _random(d, 32, 32)
    ttnn.deallocate(tensor)
    return tensor


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "ranks of a batched matmul": (lambda d: ttnn.matmul(_random(d, 1, 3, 40, 64), _random(d, 3, 64, 32)), "inputs of the same rank"),
    "batches of a matmul": (lambda d: ttnn.matmul(_random(d, 1, 3, 40, 64), _random(d, 2, 3, 64, 32)), "takes as many of both"),
    "approximate whole division": (
        lambda d: ttnn.div(_put(d, torch.ones(3), ttnn.int32), 10, fast_and_approximate_mode=True), "Integer Division does not support"),
    "rounded division of UINT16": (
        lambda d: ttnn.div(_put(d, torch.ones(3), ttnn.uint16), _put(d, torch.ones(3), ttnn.uint16), rounding_mode="trunc"), "expected INT32 or floating"),
    "rows of a convolution's blocks": (lambda d: _convolve(d, _random(d, 1, 1, 256, 32, layout=ROWS), act_block_h_override=48), "must be a multiple of 32"),
    "no division of a convolution's blocks": (
        lambda d: _convolve(d, _random(d, 1, 1, 256, 32, layout=ROWS), shard_layout=WIDTH, act_block_w_div=0), "must be greater than 0"),
    "cores of a convolution": (
        lambda d: _convolve(d, _random(d, 1, 1, 256, 32, layout=ROWS), shard_layout=HEIGHT, override_sharding_config=True), "needs core_grid"),
    "a sink of a tile": (lambda d: _attend(d, attention_sink=_random(d, 1, 4, 32, 32)), r"expected shape \[1, 4, 1, 1\]"),
    "a sink of rank 2": (lambda d: _attend(d, attention_sink=_random(d, 4, 32)), r"expected shape \[1, 4, 1, 1\]"),
    "a sink in L1": (lambda d: _attend(d, attention_sink=_random(d, 1, 4, 1, 1, memory_config=ttnn.L1_MEMORY_CONFIG)), "expected a tensor in DRAM"),
    "a sink in float32": (lambda d: _attend(d, attention_sink=_random(d, 1, 4, 1, 1, dtype=ttnn.float32)), "attention_sink: expected BFLOAT16"),
    "chunks of 0": (lambda d: _attend(d, program_config=_chunks(0, 32)), "q_chunk_size must be a positive multiple of 32"),
    "chunks of half a tile": (lambda d: _attend(d, program_config=_chunks(32, 48)), "k_chunk_size must be a positive multiple of 32"),
    "values narrower than keys": (lambda d: _attend(d, v=_random(d, 1, 4, 64, 32)), "K and V hidden dim must match"),
    "one row of a decode mask": (lambda d: _decode(d, attn_mask=_random(d, 2, 1, 1, 128)), "expected the 4 heads"),
    "a decode sink of rank 4": (lambda d: _decode(d, attention_sink=_random(d, 1, 4, 1, 1)), "attention_sink: expected a tiled matrix"),
    "no cores for attention": (lambda d: _attend(d, program_config=_chunks(32, 32, (0, 0))), "expected 1 to 64 cores"),
    "more cores for attention than there are": (lambda d: _attend(d, program_config=_chunks(32, 32, (9, 9))), "expected 1 to 64 cores"),
    "more cores for decode than there are": (lambda d: _decode(d, program_config=_chunks(32, 32, (9, 9))), "expected 1 to 64 cores"),
    "chunks of 0 of two sequences": (lambda d: _joint(d, _chunks(0, 0)), "q_chunk_size must be a positive multiple of 32"),
    "keys without a chunk of whole tiles": (lambda d: _decode(d, keys=100), "divides the keys' length must be .* a multiple of 32, got 4"),
    "rows of a decode query": (lambda d: _decode(d, layout=ROWS), "must have layout TILE unless it is height sharded"),
    "tiles of positions": (
        lambda d: _decode(d, is_causal=True, cur_pos_tensor=_put(d, torch.tensor([5, 6]), ttnn.int32)), "cur_pos_tensor: expected all positions in its last"),
    "cores of a convolution outside the device": (
        lambda d: _convolve(
            d, _random(d, 1, 1, 256, 32, layout=ROWS), shard_layout=HEIGHT, override_sharding_config=True,
            core_grid=ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(8, 8))})), "is outside the device's 8 x 8 cores"),
    "unequal blocks of a convolution's depth": (
        lambda d: _convolve(d, _random(d, 1, 1, 256, 32, layout=ROWS), shard_layout=WIDTH, act_block_w_div=2), "the 9 tiles of depth of a core"),
    "tiles of pooled indices": (lambda d: _pool(d, return_indices=True, output_layout=TILE), "expected ROW_MAJOR with return_indices"),
    "an activation by another name": (lambda d: ttnn.linear(_random(d, 32, 32), _random(d, 32, 32), activation="hardswish"), "unknown activation"),
    "a softmax in place along another dim": (lambda d: ttnn.softmax_in_place(_random(d, 2, 2, 64, 64), dim=2), "expected the last dimension"),
    "a gather onto its input": (
        lambda d: (lambda x: ttnn.gather(x, 0, _put(d, torch.zeros(32, 32), ttnn.uint16), out=x))(_random(d, 32, 32)), "must not be the input's memory"),
    "a copy to another memory": (
        lambda d: ttnn.to_memory_config(_random(d, 32, 32), ttnn.L1_MEMORY_CONFIG, output_tensor=_random(d, 32, 32)), "output_tensor: expected"),
    "a slice to another dtype": (
        lambda d: ttnn.slice(_random(d, 64, 64), [0, 0], [32, 32], output_tensor=_random(d, 32, 32, dtype=ttnn.float32)), "expected BFLOAT16 as the input"),
    "a gradient of another dtype": (
        lambda d: ttnn.mul_bw(*[_random(d, 32, 32)] * 3, input_grad=_random(d, 32, 32, dtype=ttnn.float32)), "gradient tensor: expected dtype BFLOAT16"),
    "a view of a deallocated tensor": (lambda d: ttnn.unsqueeze(_deallocated(d), 0), "was deallocated"),
    "a fill of a deallocated tensor": (lambda d: ttnn.full((32, 32), 1.0, optional_tensor=_deallocated(d)), "was deallocated"),
    "a dim squeezed twice": (lambda d: ttnn.squeeze(_random(d, 1, 1, 1, 256), [0, -4]), "dim 0 appears multiple times"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(device: Any, name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(RuntimeError, match=message):
        call(device)


@pytest.mark.parametrize("make", [
    lambda: ttnn.Conv2dConfig(act_block_h_override=-32),
    lambda: setattr(ttnn.Conv2dConfig(), "act_block_w_div", -1),
    lambda: _chunks(-32, 32),
    lambda: ttnn.from_torch(ttnn.from_torch(torch.ones(2, 2))),
])  # fmt: skip
def test_refused_by_the_signature(make: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        make()


def test_a_host_tensor_is_not_deallocated() -> None:
    tensor = ttnn.from_torch(torch.ones(2, 2), dtype=ttnn.bfloat16)
    ttnn.deallocate(tensor)
    tensor.deallocate(True)
    assert tensor.is_allocated()
    assert ttnn.to_torch(tensor).sum() == 4


def test_an_embedding_writes_rows_that_are_given(device: Any) -> None:
    weight, ids = torch.randn(81, 64).bfloat16(), torch.tensor([[5, 1, 0, 1] * 8], dtype=torch.int32)
    table, index = _put(device, weight, layout=ROWS), _put(device, ids, ttnn.uint32, ROWS)
    rows = _random(device, 32, 64, layout=ROWS)
    result = ttnn.embedding(index, table, output_tensor=rows)
    assert list(result.shape) == [1, 32, 64]
    assert torch.equal(ttnn.to_torch(rows), weight[ids[0].long()])
    binary = ttnn.embedding(index, _put(device, weight[:2], layout=ROWS), embeddings_type=ttnn.EmbeddingsType.BINARY)
    assert torch.equal(ttnn.to_torch(binary), weight[(ids != 0).long()])  # any index but 0 is row 1


@pytest.mark.parametrize("layout", [ROWS, TILE])
def test_padding_idx_is_a_plain_look_up(device: Any, layout: Any) -> None:
    weight, ids = torch.randn(81, 64).bfloat16(), torch.tensor([[5, 1, 7, 1] * 8], dtype=torch.int32)
    result = ttnn.embedding(_put(device, ids, ttnn.uint32, ROWS), _put(device, weight, layout=ROWS), padding_idx=1, layout=layout)
    assert torch.equal(ttnn.to_torch(result), weight[ids.long()])


def test_whole_division_is_exact(device: Any) -> None:
    a, b = torch.tensor([123456789, 2**31 - 1, -17], dtype=torch.int32), torch.tensor([10, 7, 3], dtype=torch.int32)
    for mode in ("floor", "trunc"):
        result = ttnn.div(_put(device, a, ttnn.int32), _put(device, b, ttnn.int32), rounding_mode=mode)
        assert torch.equal(ttnn.to_torch(result), torch.div(a, b, rounding_mode=mode))
    assert ttnn.div(_put(device, a, ttnn.int32), 2.5, rounding_mode="trunc").dtype == ttnn.float32
    assert ttnn.floor_div(_put(device, a, ttnn.int32), 10).dtype == ttnn.float32
    halves = ttnn.div(_put(device, torch.tensor([7.0, -7.0])), 2, rounding_mode="floor", dtype=ttnn.int32)
    assert ttnn.to_torch(halves).tolist() == [3, -4]


def test_layouts_of_convolutions(device: Any) -> None:
    """Rows are made where the result stays in L1, and where DRAM is written slice by slice."""
    dram = _random(device, 1, 1, 256, 32, layout=ROWS)
    l1 = _random(device, 1, 1, 256, 32, layout=ROWS, memory_config=ttnn.L1_MEMORY_CONFIG)
    halves = ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceHeight, num_slices=2)
    assert _convolve(device, dram, output_layout=ROWS).layout == TILE
    assert _convolve(device, dram, kernel=1, output_layout=ROWS).layout == TILE
    assert _convolve(device, dram, slices=halves, output_layout=ROWS).layout == ROWS
    assert _convolve(device, l1, output_layout=ROWS).layout == ROWS


def test_host_images_go_where_their_memory_config_says(device: Any) -> None:
    """In L1 the channels may be padded, as from DRAM they may not."""
    weight = ttnn.from_torch(torch.randn(32, 3, 3, 3), dtype=ttnn.bfloat16)
    memory = ttnn.create_sharded_memory_config((1, 1, 1024, 16), ttnn.CoreGrid(y=4, x=8), ttnn.ShardStrategy.HEIGHT)
    image = ttnn.from_torch(torch.randn(1, 1, 1024, 16), dtype=ttnn.bfloat16, layout=ROWS, memory_config=memory)
    result = ttnn.conv2d(
        input_tensor=image, weight_tensor=weight, device=device, in_channels=3, out_channels=32, batch_size=1, input_height=32, input_width=32,
        kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, shard_layout=HEIGHT),
    )  # fmt: skip
    assert list(result.shape) == [1, 1, 1024, 32]


def test_reads_beyond_the_input(device: Any) -> None:
    wide = ttnn.untilize_with_unpadding(_put(device, torch.ones(1, 1, 64, 64)), output_tensor_end=[1, 1, 64, 32])
    values = ttnn.to_torch(wide)
    assert list(values.shape) == [2, 2, 65, 33] and bool((values[0, 0, :64] == 1).all())
    scores = _put(device, torch.zeros(2, 2, 96, 64))
    assert list(ttnn.scale_mask_softmax_in_place(scores, 0.1, _random(device, 2, 1, 64, 64)).shape) == [2, 2, 96, 64]


def test_decode_masks_are_scaled(device: Any) -> None:
    """The kernel computes exp((scores + mask) * scale): sdpa_flash_decode.cpp."""
    torch.manual_seed(0)
    q, k, v, mask = torch.randn(1, 2, 4, 64), torch.randn(2, 1, 128, 64), torch.randn(2, 1, 128, 64), torch.randn(2, 1, 4, 128) * 4
    put = [_put(device, one) for one in (q, k, v)]
    got = ttnn.to_torch(ttnn.transformer.scaled_dot_product_attention_decode(*put, is_causal=False, attn_mask=_put(device, mask), scale=0.125))
    scores = (torch.einsum("uhd,ukd->uhk", q[0], k[:, 0]) + mask[:, 0]) * 0.125
    want = torch.einsum("uhk,ukd->uhd", scores.softmax(-1), v[:, 0])
    assert float((got[0].float() - want).abs().max()) < 0.05


def test_program_cache_counts(device: Any) -> None:
    device.enable_program_cache()
    sizes = [_random(device, n, n) for n in (32, 64, 96)]
    x, rows = sizes[0], [_random(device, n, n, layout=ROWS) for n in (32, 64)]

    def counts(*calls: Callable[[], Any]) -> list[int]:
        device.clear_program_cache()
        found = []
        for call in calls:
            call()
            found.append(device.num_program_cache_entries())
        return found

    assert counts(*(lambda one=one: ttnn.add(one, one) for one in sizes)) == [1, 1, 1]
    assert counts(*(lambda one=one: ttnn.relu(one) for one in sizes)) == [1, 1, 1]
    assert counts(*(lambda one=one: ttnn.relu(one) for one in rows)) == [1, 2]
    assert counts(*(lambda one=one: ttnn.softmax(one, -1) for one in sizes)) == [1, 2, 3]
    assert counts(lambda: ttnn.leaky_relu(x, 0.1), lambda: ttnn.leaky_relu(x, 0.2), lambda: ttnn.leaky_relu(x, 0.1)) == [1, 2, 2]
    assert counts(lambda: ttnn.layer_norm(x), lambda: ttnn.layer_norm(x, epsilon=1e-3)) == [1, 2]
    assert counts(lambda: ttnn.full_like(x, 2.0), lambda: ttnn.full_like(x, 3.0)) == [1, 2]
    assert counts(lambda: ttnn.where(x, 1.0, 0.0), lambda: ttnn.where(x, 2.0, 0.0)) == [1, 2]
    assert counts(lambda: ttnn.add(x, 2.0), lambda: ttnn.add(x, 3.0)) == [1, 1]
    device.clear_program_cache()


def test_nan_as_the_packer_makes_it(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """bfloat16 results hold infinities in its place. The FPU reads infinity as a large number: two of them cancel."""
    nan, inf = float("nan"), float("inf")
    x, infinite = _put(device, torch.tensor([[nan, inf, 1.0]])), _put(device, torch.tensor([[inf, inf]]))

    def values(tensor: Any) -> list[float]:
        return ttnn.to_torch(tensor).flatten().tolist()

    assert values(ttnn.neg(x)) == [inf, -inf, -1.0]
    assert values(ttnn.to_layout(x, ROWS)) == [inf, inf, 1.0]
    assert values(ttnn.isnan(ttnn.abs(x))) == [0.0, 0.0, 0.0]
    assert values(ttnn.subtract(infinite, infinite)) == [0.0, 0.0]
    assert values(ttnn.multiply(infinite, 0.0)) == [0.0, 0.0]
    assert values(ttnn.div(infinite, infinite)) == [inf, inf]
    assert values(ttnn.add(x, 1.0)) == [inf, inf, 2.0]
    assert values(ttnn.matmul(infinite, _put(device, torch.tensor([[1.0], [-1.0]])))) == [0.0]
    assert bool(ttnn.to_torch(ttnn.neg(_put(device, torch.tensor([[nan, 1.0]]), ttnn.float32))).isnan()[0, 0])
    monkeypatch.setenv("TTNN_SHIM_NAN", "ieee")
    assert bool(ttnn.to_torch(ttnn.subtract(infinite, infinite)).isnan().all())


def test_fill_of_integers_is_exact(device: Any) -> None:
    """Float32 holds no integer above 2**24 exactly; the library's program fills with all 32 bits."""
    for dtype, values in ((ttnn.int32, (7, -3, 1_000_000_001, -(2**31), 2**31 - 1)), (ttnn.uint32, (2**24 + 1, 2**31 - 1, 2**32 - 3, 2**32 - 1))):
        filled = [ttnn.to_torch(ttnn.fill(ttnn.ones([32, 32], dtype=dtype, layout=TILE, device=device), value)) for value in values]
        assert [int(tensor[31, 31]) for tensor in filled] == list(values)


def test_from_torch_keeps_the_tile_of_a_spec(device: Any) -> None:
    spec = ttnn.TensorSpec((2, 3, 10, 20), ttnn.float32, TILE, tile=ttnn.Tile([16, 16]))
    values = torch.randn(2, 3, 10, 20)
    tensor = ttnn.from_torch(values, spec=spec, device=device)
    assert tensor.spec == spec
    assert list(tensor.padded_shape) == [2, 3, 16, 32]
    torch.testing.assert_close(ttnn.to_torch(tensor), values)
