"""What the tables of the other files leave: creation, in-place forms, integers, casts, caches, heads, random numbers; and that nothing is left."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import ttnn
from ttnn import _core, _facts

from tests.ops_numeric import test_numeric, test_sizes
from tests.ops_numeric.values import SPECIAL, check, get, put, random
from tests.tables import table

HERE = Path(__file__).parent
SIZES = [(1,), (31,), (32, 33), (2, 33, 64)]
ROWS, TILES = ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT
TORCH = {ttnn.bfloat16: torch.bfloat16, ttnn.float32: torch.float32, ttnn.int32: torch.int32}

WITHOUT_VALUES = {
    "ttnn.deallocate": "frees memory; tests/pyapi",
    "ttnn.to_device": "tests/pyapi; used by every test here",
    "ttnn.from_device": "tests/pyapi; used by every test here",
    **dict.fromkeys(
        ["ttnn.all_broadcast", "ttnn.all_gather", "ttnn.all_reduce", "ttnn.broadcast", "ttnn.mesh_partition", "ttnn.point_to_point", "ttnn.reduce_scatter"],
        "of several chips; tests/mesh/test_values.py",
    ),
    "ttnn.experimental.all_to_all_async_generic": "of several chips; tests/mesh/test_values.py",
}
"""Ops that compute nothing that a numeric case of one chip could compare."""


# --- creation ------------------------------------------------------------------------------------------------------


@table("dtype", TORCH, ids=str)
@table("shape", SIZES, ids=str)
def test_creation(shape: tuple[int, ...], dtype: Any, device: Any) -> None:
    for layout in (ROWS, TILES):
        where = {"dtype": dtype, "layout": layout, "device": device}
        assert torch.equal(get(ttnn.zeros(shape, **where)), torch.zeros(shape, dtype=TORCH[dtype]))
        assert torch.equal(get(ttnn.ones(shape, **where)), torch.ones(shape, dtype=TORCH[dtype]))
        assert torch.equal(get(ttnn.full(shape, -3, **where)), torch.full(shape, -3, dtype=TORCH[dtype]))
        if len(shape) > 1:  # the package's kernels of moreh take tiles of two extents or more
            assert torch.equal(get(ttnn.moreh_full(shape, -3, device, dtype=dtype, layout=TILES)), torch.full(shape, -3, dtype=TORCH[dtype]))
            like = ttnn.moreh_full_like(ttnn.zeros(shape, dtype=dtype, layout=TILES, device=device), 5)
            assert torch.equal(get(like), torch.full(shape, 5, dtype=TORCH[dtype]))
        assert tuple(ttnn.empty(shape, **where).shape) == shape
        assert tuple(ttnn.empty_like(ttnn.zeros(shape, **where)).shape) == shape


@pytest.mark.parametrize("count", [1, 31, 32, 33, 64])
def test_arange(count: int, device: Any) -> None:
    for dtype in (ttnn.int32, ttnn.bfloat16, ttnn.float32):
        got = get(ttnn.arange(3, 3 + 2 * count, 2, dtype=dtype, device=device))
        assert torch.equal(got.flatten(), torch.arange(3, 3 + 2 * count, 2).to(TORCH[dtype]))


# --- in place ------------------------------------------------------------------------------------------------------

IN_PLACE = [
    "add_", "multiply_", "mul_", "sub_", "subtract_", "rsub_", "div_", "divide_", "eq_", "ne_", "gt_", "ge_", "lt_", "le_", "logical_and_",
    "logical_or_", "logical_xor_", "squared_difference_", "logaddexp_", "logaddexp2_", "ldexp_", "bias_gelu_",
]  # fmt: skip


@table("dtype", [torch.bfloat16, torch.float32], ids=str)
@table("name", IN_PLACE)
def test_in_place_forms(name: str, dtype: torch.dtype, device: Any) -> None:
    """The first operand becomes what the op without underscore gives."""
    for shape in ((1, 31), (32, 33), (2, 33, 64)):
        a, b = random(shape, 0.5, 3, dtype), random(shape, 0.5, 3, dtype, 1)
        target = put(a, device)
        returned = getattr(ttnn, name)(target, put(b, device))
        expected = get(getattr(ttnn, name.removesuffix("_"))(put(a, device), put(b, device)))
        assert torch.equal(get(target), expected)
        assert torch.equal(get(returned), expected)


def test_logical_not_in_place(device: Any) -> None:
    x = put(torch.tensor([[0.0, 1.0, -2.0]]).bfloat16(), device)
    ttnn.logical_not_(x)
    assert get(x).tolist() == [[1.0, 0.0, 0.0]]


# --- block floats --------------------------------------------------------------------------------------------------


NO_BLOCK_FLOATS = {"lgamma"}
"""Ops that refuse block floats."""


@table("dtype", ["bfloat8_b", "bfloat4_b"])
@table("name", [*(op for op in test_numeric.UNARY if op not in NO_BLOCK_FLOATS), *(f"{op} " for op in test_numeric.BINARY)])
def test_block_floats(name: str, dtype: str, device: Any) -> None:
    """Within one unit of the block's exponent of the reference on the values that the operands hold."""
    of = getattr(ttnn, dtype)
    unit = 2.0**-6 if dtype == "bfloat8_b" else 2.0**-2
    op = name.strip()
    for shape in ((1, 31), (32, 33), (3, 33, 64)):
        if name in test_numeric.UNARY:
            reference, low, high, kwargs = test_numeric.UNARY[name]
            inputs = [put(random(shape, low, high, torch.float32), device, of)]
        else:
            reference, low, high = test_numeric.BINARY[op]
            kwargs = {}
            inputs = [put(random(shape, low, high, torch.float32, seed), device, of) for seed in (0, 7)]
        held = [get(one).double() for one in inputs]
        if op in ("remainder", "fmod", "floor_div", "pow", "xlogy", "div", "atan2", "lgamma", "digamma") and any((one == 0).any() for one in held):
            continue  # a zero that rounding made is outside the op's range here
        result = getattr(ttnn, op)(*inputs, **kwargs)
        expected = reference(*held)
        actual = get(result).double()
        assert tuple(actual.shape) == tuple(expected.shape)
        width = expected.shape[-1]
        blocks = F.pad(expected, (0, -width % 16)).unflatten(-1, (-1, 16))
        usable = blocks.isfinite().all(-1, keepdim=True).expand_as(blocks).flatten(-2)[..., :width]  # an infinity leaves its block nothing
        largest = blocks.abs().nan_to_num(0, 0).amax(-1, keepdim=True).expand_as(blocks).flatten(-2)[..., :width]
        limit = unit * 2.0 ** torch.floor(torch.log2(largest.clamp(min=1e-30)))
        wrong = ((actual - expected).abs() > limit * 1.01 + 2.0**-8 * expected.abs()) & usable
        assert not wrong.any(), (shape, expected[wrong][0], actual[wrong][0])


# --- far arguments -------------------------------------------------------------------------------------------------


def test_polygamma_of_negative_and_huge_numbers(device: Any) -> None:
    """Between the poles by the sum over all integers; poles are infinite; -inf ends."""
    x = torch.tensor([[-0.5, -1.5, -2.25, -1000.25, -1e6 - 0.5, -3.0, -3.4e38, float("-inf"), float("inf"), float("nan")]], dtype=torch.float32)
    for order in (1, 2, 3):
        got = get(ttnn.polygamma(put(x, device), order)).double()[0]
        want = torch.tensor([float(_polygamma_by_sum(order, value)) for value in x[0, :5].double().tolist()])
        torch.testing.assert_close(got[:5], want.double(), rtol=1e-5, atol=1e-4)
        assert got[5:8].isinf().all()
        assert got[8] == 0
        assert got[9].isnan()


def _polygamma_by_sum(order: int, x: float) -> float:
    """The defining series around the nearest poles, whose far terms are an integral."""
    near = math.floor(-x)
    first, last = max(0, near - 4000), near + 4000
    total = sum((x + k) ** -(order + 1) for k in range(first, last))
    total += (x + last - 0.5) ** -order / order  # from `last` to infinity
    if first:
        total += (-1) ** (order + 1) * ((-x - first + 0.5) ** -order - (-x + 0.5) ** -order) / order  # from 0 to `first`
    return (-1) ** (order + 1) * math.factorial(order) * total


def test_shapes_beyond_any_memory(device: Any) -> None:
    """Extents whose product wraps around 64 bits are refused, not allocated."""
    for shape in ([2**32 - 1, 2**32 - 1], [2**31, 2**31, 4], [2**32 - 1] * 4):
        with pytest.raises(Exception, match=r"(?i)large|memory|exceed"):
            ttnn.rand(shape, device, dtype=ttnn.float32)


# --- integers ------------------------------------------------------------------------------------------------------

UNSIGNED = {
    "add": torch.add, "sub": lambda a, b: torch.maximum(a, b) - b, "multiply": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum,
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor, "eq": lambda a, b: (a == b).to(a),
    "ne": lambda a, b: (a != b).to(a), "gt": lambda a, b: (a > b).to(a), "lt": lambda a, b: (a < b).to(a),
}  # fmt: skip
NO_UINT16 = {("maximum", "uint16"), ("minimum", "uint16")}


@table(("name", "dtype"), [(name, dtype) for name in UNSIGNED for dtype in ("uint32", "uint16") if (name, dtype) not in NO_UINT16])
def test_unsigned_integers(name: str, dtype: str, device: Any) -> None:
    generator = torch.Generator().manual_seed(1)
    for shape in ((1, 31), (32, 33), (2, 33, 64)):
        a, b = (torch.randint(0, 200, shape, generator=generator, dtype=torch.int32) for _ in range(2))
        if name == "sub":
            a = torch.maximum(a, b)
        got = get(getattr(ttnn, name)(put(a, device, getattr(ttnn, dtype)), put(b, device, getattr(ttnn, dtype))))
        assert torch.equal(got.to(torch.int32), UNSIGNED[name](a, b))


SHIFTS: dict[str, Callable[..., torch.Tensor]] = {
    "bitwise_left_shift": torch.bitwise_left_shift, "logical_left_shift": torch.bitwise_left_shift, "bitwise_right_shift": torch.bitwise_right_shift,
    "logical_right_shift": lambda a, b: ((a.long() & 0xFFFFFFFF) >> b).int(),
}  # fmt: skip


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(name: str, device: Any) -> None:
    a = torch.tensor([[0, 1, -1, 7, -7, 2**30, -(2**31), 123456789]], dtype=torch.int32)
    b = torch.tensor([[0, 1, 31, 4, 2, 1, 3, 5]], dtype=torch.int32)
    assert torch.equal(get(getattr(ttnn, name)(put(a, device), put(b, device))), SHIFTS[name](a, b).int())


@pytest.mark.parametrize("scalar", [2, 2.0, 2.5])
def test_a_real_factor_makes_integers_real(scalar: float, device: Any) -> None:
    """2.0 too: the type of the number decides, as in the real package."""
    a = torch.tensor([[0, 1, -3, 7]], dtype=torch.int32)
    for name, expected in (("multiply", a * scalar), ("fmod", torch.fmod(a, scalar)), ("remainder", torch.remainder(a, scalar))):
        got = getattr(ttnn, name)(put(a, device), scalar)
        assert got.dtype == (ttnn.int32 if isinstance(scalar, int) else ttnn.float32)
        assert torch.equal(get(got).float(), expected.float()), name
    gradient = ttnn.square_bw(put(a, device), put(a, device))[0]
    assert gradient.dtype == ttnn.float32 and torch.equal(get(gradient), 2.0 * a * a)
    with pytest.raises(RuntimeError, match="POWER"):
        ttnn.pow(2, put(a, device))


# --- casts ---------------------------------------------------------------------------------------------------------


@table("to", ["bfloat16", "float32", "int32", "uint32", "uint16"])
@table("source", ["bfloat16", "float32", "int32", "uint32", "uint16"])
def test_casts(source: str, to: str, device: Any) -> None:
    values = torch.tensor([[0, 1, 2, 5, 100, 255, 256, 1000, 4096]], dtype=torch.float32)
    tensor = put(values if source in ("bfloat16", "float32") else values.int(), device, getattr(ttnn, source))
    got = get(ttnn.typecast(tensor, getattr(ttnn, to)))
    assert got.double().tolist() == values.to(torch.bfloat16 if "bfloat16" in (source, to) else torch.float32).double().tolist()


ODD = [
    0.0,
    0.4999999701976776,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    -2.9,
    255.5,
    300.0,
    -1.0,
    -300.0,
    65534.5,
    65535.5,
    70000.0,
    2.0**31,
    -(2.0**31),
    2.0**32,
    1e30,
    math.inf,
    -math.inf,
]
CAST = {
    "uint16": [0, 0, 1, 2, 3, 0, 0, 0, 256, 300, 0, 0, 65535, 65535, 65535, 65535, 0, 65535, 65535, 65535, 0],
    "uint8": [0, 0, 0, 1, 2, 0, 255, 254, 255, 44, 255, 212, 254, 255, 112, 0, 0, 0, 0, 0, 0],
    "int32": [0, 0, 0, 1, 2, 0, -1, -2, 255, 300, -1, -300, 65534, 65535, 70000, 2**31 - 1, -(2**31), 2**31 - 1, 2**31 - 1, 2**31 - 1, -(2**31)],
    "uint32": [0, 0, 0, 1, 2, 0, 0, 0, 255, 300, 0, 0, 65534, 65535, 70000, 2**31, 0, 2**32 - 1, 2**32 - 1, 2**32 - 1, 0],
}
"""What the library's kernels make of `ODD`: uint16 rounds half away from zero, the others cut off; bytes keep the low 8 bits."""


@pytest.mark.parametrize("to", CAST)
def test_casts_of_what_does_not_fit(to: str, device: Any) -> None:
    made = get(ttnn.typecast(put(torch.tensor([[*ODD, math.nan, -math.nan]]), device, ttnn.float32), getattr(ttnn, to)))
    nan = {"uint16": [65535, 0], "uint8": [0, 0], "int32": [2**31 - 1, -(2**31)], "uint32": [2**32 - 1, 0]}[to]
    assert made.to(torch.int64).tolist() == [CAST[to] + nan]
    if to == "uint16":
        whole = put(torch.tensor([[-5, 7, 65535, 65536, 2**31 - 1]], dtype=torch.int32), device)
        assert get(ttnn.typecast(whole, ttnn.uint16)).to(torch.int64).tolist() == [[0, 7, 65535, 65535, 65535]]


@pytest.mark.parametrize("to", ["bfloat8_b", "bfloat4_b"])
def test_casts_to_block_floats(to: str, device: Any) -> None:
    x = random((33, 64), -2, 2, torch.float32)
    host = get(put(x, device, getattr(ttnn, to)))
    assert torch.equal(get(ttnn.typecast(put(x, device), getattr(ttnn, to))), host)
    assert torch.equal(get(ttnn.to_dtype(ttnn.from_torch(x, layout=TILES), getattr(ttnn, to))), host)


def test_bitcast(device: Any) -> None:
    x = torch.tensor([SPECIAL], dtype=torch.float32)
    got = get(ttnn.bitcast(put(x, device), ttnn.uint32))
    assert torch.equal(got.to(torch.int64) & 0xFFFFFFFF, x.view(torch.int32).to(torch.int64) & 0xFFFFFFFF)


def test_requantize(device: Any) -> None:
    x = random((33, 40), -3, 3, torch.float32)
    q = ttnn.quantize(put(x, device), 0.05, 3)
    expected = torch.clamp(torch.round((get(q).double() - 3) * (0.05 / 0.1)) - 2, -128, 127)  # halves to even, as torch
    assert torch.equal(get(ttnn.requantize(q, 0.05, 3, 0.1, -2)).double(), expected)
    with pytest.raises(RuntimeError, match="expected INT32, got FLOAT32"):
        ttnn.requantize(put(x, device), 0.05, 3, 0.1, -2)


# --- indices -------------------------------------------------------------------------------------------------------


def test_index_fill(device: Any) -> None:
    x = random((33, 40), -2, 2, torch.bfloat16)
    index = torch.tensor([0, 5, 32], dtype=torch.int32)
    got = get(ttnn.index_fill(put(x, device, layout=ROWS), 0, put(index, device, ttnn.uint32, ROWS), 2.5))
    assert torch.equal(got, x.index_fill(0, index.long(), 2.5))


def test_indexed_fill(device: Any) -> None:
    base, rows = random((4, 1, 33, 64), -2, 2, torch.bfloat16), random((2, 1, 33, 64), -2, 2, torch.bfloat16, 5)
    ids = torch.tensor([3, 1], dtype=torch.int32).reshape(1, 1, 1, 2)
    got = get(ttnn.indexed_fill(put(ids, device, ttnn.uint32, ROWS), put(base, device, layout=ROWS), put(rows, device, layout=ROWS)))
    expected = base.clone()
    expected[[3, 1]] = rows
    assert torch.equal(got, expected)


def test_slice_write(device: Any) -> None:
    base, part = random((2, 3, 33, 64), -2, 2, torch.bfloat16), random((2, 2, 5, 64), -2, 2, torch.bfloat16, 5)
    target = put(base, device, layout=ROWS)
    ttnn.experimental.slice_write(put(part, device, layout=ROWS), target, [0, 1, 7, 0], [2, 3, 12, 64], [1, 1, 1, 1])
    expected = base.clone()
    expected[:, 1:3, 7:12] = part
    assert torch.equal(get(target), expected)


# --- language models -----------------------------------------------------------------------------------------------


def test_decode_heads(device: Any) -> None:
    fused = random((1, 1, 5, 8 * 32), -2, 2, torch.bfloat16)
    sharded = ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG
    q, k, v = ttnn.experimental.nlp_create_qkv_heads_decode(put(fused, device), num_heads=4, num_kv_heads=2, memory_config=sharded)
    parts = fused[0, 0].split([128, 64, 64], -1)
    for got, part, heads in zip((q, k, v), parts, (4, 2, 2), strict=True):
        assert torch.equal(get(got)[:, :, :heads], part.reshape(1, 5, heads, 32))
    heads = random((1, 5, 32, 64), -2, 2, torch.bfloat16)
    users = ttnn.create_sharded_memory_config((32, 64), ttnn.CoreGrid(y=1, x=5), ttnn.ShardStrategy.HEIGHT, use_height_and_width_as_shard_shape=True)
    on_cores = ttnn.to_memory_config(put(heads, device), users)  # the real op takes no interleaved tensor
    joined = get(ttnn.experimental.nlp_concat_heads_decode(on_cores, num_heads=8))
    assert torch.equal(joined[:, :, :5], heads[:, :, :8].reshape(1, 1, 5, 512))


def test_rotary_embedding_llama(device: Any) -> None:
    """Pairs of neighbours are rotated; the matrix [32, 32] swaps them with a sign."""
    x = random((1, 4, 33, 64), -2, 2, torch.bfloat16)
    cos, sin = random((1, 1, 33, 64), -1, 1, torch.bfloat16, 1), random((1, 1, 33, 64), -1, 1, torch.bfloat16, 2)
    swap = torch.zeros(1, 1, 32, 32)
    swap[..., torch.arange(0, 32, 2), torch.arange(1, 32, 2)] = 1
    swap[..., torch.arange(1, 32, 2), torch.arange(0, 32, 2)] = -1
    got = get(ttnn.experimental.rotary_embedding_llama(*[put(one, device) for one in (x, cos, sin, swap.bfloat16())])).double()
    turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2).double()
    expected = x.double() * cos.double() + turned * sin.double()
    assert (got - expected).norm() / expected.norm() < 2 * 2.0**-8


@pytest.mark.parametrize("name", ["update_cache", "kv_cache.update_cache_for_token_"])
def test_update_cache(name: str, device: Any) -> None:
    cache, new = random((2, 3, 64, 32), -2, 2, torch.bfloat16), random((1, 3, 32, 32), -2, 2, torch.bfloat16, 1)
    target = put(cache, device)
    function = ttnn.update_cache if name == "update_cache" else ttnn.kv_cache.update_cache_for_token_
    function(target, put(new, device), 40)
    expected = cache.clone()
    expected[:, :, 40] = new[0, :, :2].permute(1, 0, 2)
    assert torch.equal(get(target), expected)


def test_fill_cache_for_user(device: Any) -> None:
    cache, new = random((2, 3, 64, 32), -2, 2, torch.bfloat16), random((1, 3, 33, 32), -2, 2, torch.bfloat16, 1)
    target = put(cache, device)
    ttnn.kv_cache.fill_cache_for_user_(target, put(new, device), 1)
    expected = cache.clone()
    expected[1, :, :33] = new[0]
    assert torch.equal(get(target), expected)


@pytest.mark.parametrize("start", [0, 32, 64])
def test_chunked_attention(start: int, device: Any) -> None:
    """A chunk of queries against pages that are stored out of order."""
    keys, values = (random((1, 2, 128, 64), -1, 1, torch.bfloat16, seed) for seed in (1, 2))
    q = random((1, 4, 32, 64), -1, 1, torch.bfloat16, 3)
    order = [2, 0, 3, 1]  # page p of the sequence is block order[p]
    table = torch.tensor([order], dtype=torch.int32)

    def paged(x: torch.Tensor) -> torch.Tensor:
        blocks = torch.empty(4, 2, 32, 64, dtype=x.dtype)
        for page, block in enumerate(order):
            blocks[block] = x[0, :, page * 32 : page * 32 + 32]
        return blocks

    arguments = [put(one, device) for one in (q, paged(keys), paged(values))]
    got = get(ttnn.transformer.chunked_scaled_dot_product_attention(*arguments, put(table, device, layout=ROWS), start)).double()
    k, v = (one.double().repeat_interleave(2, 1)[:, :, : start + 32] for one in (keys, values))
    seen = torch.ones(32, start + 32, dtype=torch.bool).tril(start)
    expected = F.scaled_dot_product_attention(q.double(), k, v, attn_mask=seen)
    assert (got - expected).norm() / expected.norm() < 1e-2


def test_causal_mask_softmax(device: Any) -> None:
    x, mask = random((1, 2, 64, 64), -2, 2, torch.bfloat16), torch.zeros(1, 1, 64, 64).masked_fill(torch.ones(64, 64).triu(1) > 0, -1e9).bfloat16()
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 0))])
    shards = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, ttnn.ShardSpec(grid, [64, 64], ttnn.ShardOrientation.ROW_MAJOR))
    config = ttnn.SoftmaxShardedMultiCoreProgramConfig(compute_with_storage_grid_size=(2, 1), subblock_w=2, block_h=2, block_w=2)
    target = ttnn.to_memory_config(put(x, device), shards)
    ttnn.scale_causal_mask_hw_dims_softmax_in_place(target, 0.5, put(mask, device), program_config=config)
    expected = torch.softmax(x.double() * 0.5 + mask.double(), -1)
    assert (get(target).double() - expected).norm() / expected.norm() < 2 * 2.0**-8


# --- convolution weights -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transposed", [False, True])
def test_prepared_weights(transposed: bool, device: Any) -> None:
    """A convolution with weights and bias prepared ahead gives the bits of one that prepares them itself."""
    kind = "conv_transpose2d" if transposed else "conv2d"
    x = put(random((1, 1, 64, 32), -1, 1, torch.bfloat16), device, layout=ROWS)
    weight, bias = random((32, 32, 3, 3), -1, 1, torch.bfloat16, 1), random((1, 1, 1, 32), -1, 1, torch.bfloat16, 2)
    geometry = {"in_channels": 32, "out_channels": 32, "batch_size": 1, "input_height": 8, "input_width": 8, "kernel_size": (3, 3),
                "stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1, "device": device}  # fmt: skip
    facts = {**geometry, "input_memory_config": ttnn.DRAM_MEMORY_CONFIG, "input_layout": ROWS, "input_dtype": ttnn.bfloat16}
    order = {"weights_format": "IOHW" if transposed else "OIHW", "has_bias": True}
    names = ("prepare_conv_transpose2d_weights", "prepare_conv_transpose2d_bias") if transposed else ("prepare_conv_weights", "prepare_conv_bias")
    ready = getattr(ttnn, names[0])(weight_tensor=ttnn.from_torch(weight), **facts, **order)
    ready_bias = getattr(ttnn, names[1])(bias_tensor=ttnn.from_torch(bias), **facts)
    own = getattr(ttnn, kind)(input_tensor=x, weight_tensor=ttnn.from_torch(weight), bias_tensor=ttnn.from_torch(bias), **geometry)
    ahead = getattr(ttnn, kind)(input_tensor=x, weight_tensor=ready, bias_tensor=ready_bias, **geometry)
    assert torch.equal(get(own), get(ahead))


# --- random numbers ------------------------------------------------------------------------------------------------


def test_uniform(device: Any) -> None:
    x = put(torch.zeros(128, 128), device)
    ttnn.uniform(x, -1.0, 3.0, seed=4)
    got = get(x)
    assert -1 <= got.min() < -0.9 < 2.9 < got.max() < 3
    assert abs(got.mean() - 1) < 0.05


def test_bernoulli(device: Any) -> None:
    chances = torch.tensor([0.0, 0.25, 1.0]).repeat_interleave(64).expand(128, 192).contiguous()
    got = get(ttnn.bernoulli(put(chances, device), 3))
    assert set(got.unique().tolist()) == {0.0, 1.0}
    assert got[:, :64].sum() == 0 and got[:, 128:].min() == 1
    assert abs(got[:, 64:128].mean() - 0.25) < 0.03


def test_dropout(device: Any) -> None:
    got = get(ttnn.experimental.dropout(put(torch.ones(128, 128).bfloat16(), device), 0.25, 2.0, 7))
    assert set(got.unique().tolist()) == {0.0, 2.0}
    assert abs((got == 0).float().mean() - 0.25) < 0.03


# --- nothing is left -----------------------------------------------------------------------------------------------


def covered() -> set[str]:
    """Ops that a numeric test of this folder names: `ttnn.<op>` in its text, or a row of a table."""
    names = {f"ttnn.{name.strip()}" for table in (test_numeric.UNARY, test_numeric.BINARY, IN_PLACE, SHIFTS) for name in table}
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("ttnn."):
                names.add(ast.unparse(node))
            if isinstance(node, ast.Constant) and isinstance(node.value, str):  # getattr(ttnn, "name")
                names.add(f"ttnn.{node.value}")
    return names | {_facts.resolve_alias(name) for name in names}


def test_every_op_has_a_numeric_case() -> None:
    """A new kernel fails here until a table or a test names it."""
    functions = _facts.facts()["functions"]
    offered = {name for name in _core.op_names() if name in functions or _facts.resolve_alias(name) in functions}
    have = covered()
    left = sorted(name for name in offered if name not in have and _facts.resolve_alias(name) not in have and name not in WITHOUT_VALUES)
    assert not left, f"no numeric case: {', '.join(left)}"
    assert len(offered) > 290


def test_sizes_cover_the_tile_edge() -> None:
    extents = {extent for size in test_sizes.SIZES for extent in size}
    assert extents >= {1, 31, 32, 33, 64}
    assert {size[-1] for size in test_numeric.SIZES} >= {1, 31, 32, 33}


def test_tolerance_is_of_the_dtype(device: Any) -> None:
    """The comparison fails on an error of two epsilons."""
    with pytest.raises(AssertionError):
        check(torch.tensor([1.0 + 2.0**-6]), torch.tensor([1.0]), 2.0**-8)
