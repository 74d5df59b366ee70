"""Ops that few models call against torch: head splits on shards, fused caches, partial moves, prepared grids, decode products ..."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import ttnn
from ttnn._device import MeshDevice

from tests.tables import table
from ttnn_shim import session

EPSILON = {ttnn.bfloat16: 2.0**-8, ttnn.float32: 2.0**-18, ttnn.bfloat8_b: 2.0**-6}
RM, TILE = ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT
HEIGHT = ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG
FLOATS = (ttnn.bfloat16, ttnn.float32, ttnn.bfloat8_b)


@pytest.fixture
def big_device(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A Blackhole card beside the tests' own."""
    monkeypatch.setattr(session.settings, "card", "p150")
    return MeshDevice._create(0, 0, 0)


def values(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal values that bfloat16 holds exactly."""
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32)).bfloat16().float()


def cores(columns: int, rows: int = 1, y: int = 0) -> Any:
    return ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, y), ttnn.CoreCoord(columns - 1, y + rows - 1))})


def shards(kind: str, shape: tuple[int, int], columns: int, rows: int = 1, y: int = 0, order: str = "ROW_MAJOR") -> Any:
    spec = ttnn.ShardSpec(cores(columns, rows, y), list(shape), getattr(ttnn.ShardOrientation, order))
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, f"{kind}_SHARDED"), ttnn.BufferType.L1, spec)


def put(device: Any, tensor: torch.Tensor, memory: Any = ttnn.DRAM_MEMORY_CONFIG, dtype: Any = ttnn.bfloat16, layout: Any = TILE) -> Any:
    return ttnn.from_torch(tensor, dtype=dtype, layout=layout, device=device, memory_config=memory)


def got(tensor: Any) -> torch.Tensor:
    return ttnn.to_torch(tensor).float()


# Sums in float32: results are one rounding off. (A 16-bit Dst rounds at every step: 3e-2 after 1,000 products, in the bit model too.)
WIDE = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True)


def close(actual: Any, expected: torch.Tensor, epsilons: float = 4.0) -> None:
    result = got(actual)
    assert result.shape == expected.shape
    error = torch.linalg.norm(result - expected) / torch.linalg.norm(expected).clamp_min(1e-9)
    assert error < epsilons * EPSILON[actual.dtype], f"relative error {error:.2e}"


# --- heads ---------------------------------------------------------------------------------------------------------


@table("dtype", FLOATS)
@table("transpose", [False, True])
@table(("rows", "q_heads", "kv_heads"), [(64, 4, 2), (64, 2, 2), (40, 2, 2)])
def test_create_qkv_heads(device: Any, dtype: Any, transpose: bool, rows: int, q_heads: int, kv_heads: int) -> None:
    """Each group of columns holds the query heads of a key head, then that key head and its value head."""
    depth, group = 64, q_heads // kv_heads
    width = (q_heads + 2 * kv_heads) * depth
    x = values(2, 1, rows, width)
    memory = shards("BLOCK", (64, width // 2), 2, 2)
    parts = ttnn.experimental.create_qkv_heads(
        put(device, x, memory, dtype), num_heads=q_heads, num_kv_heads=kv_heads, transpose_k_heads=transpose, memory_config=HEIGHT
    )
    grouped = F.pad(x, (0, 0, 0, 64 - rows)).reshape(2, 64, kv_heads, group + 2, depth)
    q = grouped[:, :, :, :group].reshape(2, 64, q_heads, depth).transpose(1, 2)
    k, v = grouped[:, :, :, group].transpose(1, 2), grouped[:, :, :, group + 1].transpose(1, 2)
    for part, expected in zip(parts, (q, k.transpose(2, 3) if transpose else k, v), strict=True):
        close(part, expected)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize(("kv_heads", "kv_rows"), [(4, 64), (2, 64), (2, 96)])
def test_create_qkv_heads_from_separate_tensors(device: Any, transpose: bool, kv_heads: int, kv_rows: int) -> None:
    x, pairs = values(2, 1, 64, 256), values(2, 1, kv_rows, 2 * kv_heads * 64, seed=1)
    parts = ttnn.experimental.create_qkv_heads_from_separate_tensors(
        put(device, x, shards("BLOCK", (64, 128), 2, 2)), put(device, pairs, shards("BLOCK", (kv_rows, kv_heads * 64), 2, 2)),
        num_heads=4, num_kv_heads=kv_heads, transpose_k_heads=transpose, memory_config=HEIGHT,
    )  # fmt: skip
    k, v = pairs.reshape(2, kv_rows, kv_heads, 2, 64).permute(3, 0, 2, 1, 4)
    for part, expected in zip(parts, (x.reshape(2, 64, 4, 64).transpose(1, 2), k.transpose(2, 3) if transpose else k, v), strict=True):
        assert torch.equal(got(part), expected)


@pytest.mark.parametrize(("batch", "rows", "heads", "columns", "order"), [(2, 64, 4, 2, "ROW_MAJOR"), (7, 384, 16, 8, "ROW_MAJOR"), (2, 64, 4, 2, "COL_MAJOR")])
def test_split_heads_of_shards(device: Any, batch: int, rows: int, heads: int, columns: int, order: str) -> None:
    """The columns of a core are its q heads, its k heads and its v heads."""
    x = values(batch, 1, rows, 3 * heads * 64)
    grid = (columns, batch) if order == "ROW_MAJOR" else (batch, columns)
    parts = ttnn.experimental.split_query_key_value_and_split_heads(
        put(device, x, shards("BLOCK", (rows, 3 * heads * 64 // columns), *grid, order=order)), ttnn.CoreCoord(8, 8), num_heads=heads, memory_config=HEIGHT)  # fmt: skip
    q, k, v = x.reshape(batch, rows, columns, 3, heads // columns, 64).permute(3, 0, 2, 4, 1, 5).reshape(3, batch, heads, rows, 64)
    for part, expected in zip(parts, (q, k.transpose(2, 3), v), strict=True):
        assert torch.equal(got(part), expected)


def test_bert_large_heads(device: Any, big_device: Any) -> None:
    """Interleaved forms need a grid of 12 x 9 cores: there is none on Wormhole."""
    x = values(7, 1, 384, 3072)
    grid = ttnn.CoreCoord(8, 7)
    with pytest.raises(RuntimeError, match="12"):
        ttnn.experimental.split_query_key_value_and_split_heads(put(device, x), grid)
    parts = ttnn.experimental.split_query_key_value_and_split_heads(put(big_device, x), grid)
    q, k, v = x.reshape(7, 384, 3, 16, 64).permute(2, 0, 3, 1, 4)
    for part, expected in zip(parts, (q, k.transpose(2, 3), v), strict=True):
        assert torch.equal(got(part), expected)
    assert torch.equal(got(ttnn.experimental.concatenate_heads(parts[2], grid)), x[..., 2048:])


@table("dtype", FLOATS)
@table(("heads", "split"), [(4, 32), (4, 96), (2, 64), (1, 32)])
def test_nlp_create_q_heads_split(device: Any, dtype: Any, heads: int, split: int) -> None:
    x = values(2, 1, 40, 512)
    first, second = ttnn.experimental.nlp_create_q_heads_split(put(device, x, dtype=dtype), num_heads=heads, split_head_dim=split)
    q = x.reshape(2, 40, heads, 512 // heads).transpose(1, 2)
    close(first, q[..., :split])
    close(second, q[..., split:])


@pytest.mark.parametrize(("side", "heads", "kv_heads"), [(64, 4, 4), (40, 2, 2), (32, 4, 1)])
def test_pair_heads(device: Any, side: int, heads: int, kv_heads: int) -> None:
    x = values(1, side, side, (heads + 2 * kv_heads) * 32)
    q, k, v = ttnn.experimental.nlp_create_qkv_heads_boltz(put(device, x), num_heads=heads, num_kv_heads=kv_heads, transpose_k_heads=False)
    parts = x[0].split([heads * 32, kv_heads * 32, kv_heads * 32], -1)
    for got_, part, count in zip((q, k, v), parts, (heads, kv_heads, kv_heads), strict=True):
        assert torch.equal(got(got_), part.reshape(side, side, count, 32).permute(2, 0, 1, 3))
    assert torch.equal(got(ttnn.experimental.nlp_concat_heads_boltz(q)), x[..., : heads * 32])


@pytest.mark.parametrize("side", [32, 64])
def test_pair_keys_are_pages_of_a_flat_matrix(device: Any, side: int) -> None:
    """Transposed keys are written as the tiles of [D, S S] per head and read as [D, S, S]: the chip's order of pages, kept."""
    x = values(1, side, side, 3 * 2 * 32)
    keys = got(ttnn.experimental.nlp_create_qkv_heads_boltz(put(device, x), num_heads=2)[1])
    flat = x[0, ..., 64:128].reshape(side * side, 2, 32).permute(1, 2, 0)  # [H, D, S S]
    tiles = flat.reshape(2, 1, 32, side * side // 32, 32).transpose(2, 3).reshape(2, -1, 32, 32)
    expected = tiles.reshape(2, 32, side // 32, side // 32, 32, 32).transpose(3, 4).reshape(2, 32, side, side)
    assert torch.equal(keys, expected)


@pytest.mark.parametrize("users", [7, 12, 32])
@pytest.mark.parametrize("overlap", [True, False])
def test_decode_heads_on_cores_of_their_own(device: Any, users: int, overlap: bool) -> None:
    x = values(1, 1, users, 768)
    q, k, v = ttnn.experimental.nlp_create_qkv_heads_decode(
        put(device, x, shards("WIDTH", (32, 64), 6, 2)), num_heads=8, num_kv_heads=2, overlap_qk_coregrid=overlap
    )
    parts = x[0, 0].split([512, 128, 128], -1)
    for part, expected, heads in zip((q, k, v), parts, (8, 2, 2), strict=True):
        assert torch.equal(got(part), expected.reshape(1, users, heads, 64))
    places = [{(c.x, c.y) for c in ttnn.corerange_to_cores(one.memory_config().shard_spec.grid)} for one in (q, k, v)]
    assert places[0] == places[2]
    assert (places[0] == places[1]) is overlap and (places[0].isdisjoint(places[1])) is not overlap


def test_decode_heads_of_some_users(device: Any) -> None:
    x = values(1, 1, 8, 768)
    offset = ttnn.from_torch(torch.tensor([3]), dtype=ttnn.uint32, layout=RM, device=device)
    q, _, v = ttnn.experimental.nlp_create_qkv_heads_decode(put(device, x), num_heads=8, num_kv_heads=2, batch_offset=offset, slice_size=4)
    assert torch.equal(got(q), x[:, :, 3:7, :512].reshape(1, 4, 8, 64))
    assert torch.equal(got(v), x[:, :, 3:7, 640:].reshape(1, 4, 2, 64))


@pytest.mark.parametrize(("users", "rows", "heads"), [(8, 32, 8), (8, 8, 7), (32, 40, 33), (16, 16, 16)])
def test_concat_heads_decode(device: Any, users: int, rows: int, heads: int) -> None:
    x = values(1, users, rows, 64)
    memory = shards("HEIGHT", (-(-rows // 32) * 32, 64), 8, users // 8)
    joined = ttnn.experimental.nlp_concat_heads_decode(put(device, x, memory), num_heads=heads)
    expected = torch.zeros(1, 1, 32, heads * 64)
    expected[:, :, :users] = x[:, :, :heads].reshape(1, 1, users, -1)
    assert torch.equal(got(joined), expected)


# --- rotary embedding ----------------------------------------------------------------------------------------------


def turned(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cosine + torch.cat([-x[..., half:], x[..., :half]], -1) * sine


@table("dtype", FLOATS)
@table(("heads", "depth"), [(4, 64), (40, 64), (1, 32), (8, 128)])
def test_rotary_embedding_hf_decode(device: Any, dtype: Any, heads: int, depth: int) -> None:
    x, cosine, sine = values(1, 8, heads, depth), values(1, 8, 1, depth, seed=1), values(1, 8, 1, depth, seed=2)
    caches = [put(device, one, shards("HEIGHT", (32, depth), 8)) for one in (cosine, sine)]
    memory = shards("HEIGHT", (-(-heads // 32) * 32, depth), 8)
    close(ttnn.experimental.rotary_embedding_hf(put(device, x, memory, dtype), *caches, is_decode_mode=True), turned(x, cosine, sine))


@pytest.mark.parametrize(("batch", "rows", "depth", "kept"), [(1, 64, 64, 64), (2, 40, 32, 64), (1, 33, 128, 33)])
def test_rotary_embedding_hf_prefill(device: Any, batch: int, rows: int, depth: int, kept: int) -> None:
    x, cosine, sine = values(batch, 4, rows, depth), values(1, 1, kept, depth, seed=1), values(1, 1, kept, depth, seed=2)
    close(ttnn.experimental.rotary_embedding_hf(put(device, x), put(device, cosine), put(device, sine)), turned(x, cosine[:, :, :rows], sine[:, :, :rows]))


@pytest.mark.parametrize("copies", [1, 4, 8])
def test_rotary_embedding_llama_decode(device: Any, copies: int) -> None:
    """The matrix is repeated on the cores; one row of angles per user."""
    x, cosine, sine = values(1, 8, 4, 64), values(1, 8, 1, 64, seed=1), values(1, 8, 1, 64, seed=2)
    swap = torch.zeros(32, 32)
    swap[torch.arange(0, 32, 2), torch.arange(1, 32, 2)] = 1
    swap[torch.arange(1, 32, 2), torch.arange(0, 32, 2)] = -1
    rows = [put(device, one, shards("HEIGHT", (32, 64), 8)) for one in (x, cosine, sine)]
    matrix = put(device, swap.repeat(copies, 1).reshape(1, 1, -1, 32), shards("HEIGHT", (32, 32), copies))
    paired = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    close(ttnn.experimental.rotary_embedding_llama(*rows, matrix, is_decode_mode=True), x * cosine + paired * sine)


# --- caches --------------------------------------------------------------------------------------------------------


def token_pair(device: Any, first: torch.Tensor, second: torch.Tensor, layout: Any = TILE) -> tuple[Any, Any]:
    users, rows, width = first.shape[1:]
    height = -(-rows // 32) * 32 if layout is TILE else rows
    return tuple(put(device, one, shards("HEIGHT", (height, width), users, y=y), layout=layout) for y, one in enumerate((first, second)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("as_tensor", [False, True])
def test_paged_fused_update_cache(device: Any, dtype: Any, as_tensor: bool) -> None:
    caches = [values(4, 2, 64, 64, seed=s) for s in (0, 1)]
    tokens = [values(1, 4, 32, 64, seed=s) for s in (2, 3)]
    positions = [0, 63, 5, 17]
    given = (
        {"update_idxs_tensor": ttnn.from_torch(torch.tensor(positions), dtype=ttnn.int32, layout=RM, device=device)}
        if as_tensor
        else {"update_idxs": positions}
    )
    first, second = (put(device, one, dtype=dtype) for one in caches)
    one, two = token_pair(device, *tokens)
    ttnn.experimental.paged_fused_update_cache(first, one, second, two, **given)
    for cache, token, result in zip(caches, tokens, (first, second), strict=True):
        for user, position in enumerate(positions):
            cache[user, :, position] = token[0, user, :2]
        close(result, cache)


@pytest.mark.parametrize("positions", [[0, 40, 95, 127], [3, -1, 64, -1]])
def test_paged_fused_update_cache_with_pages(device: Any, positions: list[int]) -> None:
    caches = [values(16, 2, 32, 64, seed=s) for s in (0, 1)]
    tokens = [values(1, 4, 2, 64, seed=s) for s in (2, 3)]
    table = torch.from_numpy(np.random.default_rng(4).permutation(16).reshape(4, 4)).int()
    first, second = (put(device, one) for one in caches)
    one, two = token_pair(device, *tokens)
    places, pages = (ttnn.from_torch(x, dtype=ttnn.int32, layout=RM, device=device) for x in (torch.tensor(positions).int(), table))
    ttnn.experimental.paged_fused_update_cache(first, one, second, two, update_idxs_tensor=places, page_table=pages)
    for cache, token, result in zip(caches, tokens, (first, second), strict=True):
        for user, position in enumerate(positions):
            if position >= 0:
                cache[table[user, position // 32], :, position % 32] = token[0, user]
        assert torch.equal(got(result), cache)


def test_paged_fused_update_cache_shared_and_row_major(device: Any) -> None:
    caches = [values(1, 8, 64, 128, seed=s) for s in (0, 1)]
    tokens = [values(1, 4, 8, 128, seed=s) for s in (2, 3)]
    first, second = (put(device, one) for one in caches)
    one, two = token_pair(device, *tokens, layout=RM)
    ttnn.experimental.paged_fused_update_cache(first, one, second, two, update_idxs=[4, 9, 2, 33], share_cache=True)
    for cache, token, result in zip(caches, tokens, (first, second), strict=True):
        for user, position in enumerate([4, 9, 2, 33]):
            cache[0, :, position] = token[0, user]
        assert torch.equal(got(result), cache)


def test_indexed_fused_update_cache(device: Any) -> None:
    """Rows of pages by physical number; negative and too large ones are skipped, the last of equal ones stays."""
    caches, packed = [values(4, 2, 32, 64, seed=s) for s in (0, 1)], [values(1, 2, 6, 64, seed=s) for s in (2, 3)]
    rows = [0, 127, 33, -1, 128, 33, 7]
    first, second = (put(device, one) for one in caches)
    places = ttnn.from_torch(torch.tensor([rows]).int(), dtype=ttnn.int32, layout=RM, device=device)
    ttnn.experimental.indexed_fused_update_cache(first, put(device, packed[0]), second, put(device, packed[1]), places)
    for cache, part, result in zip(caches, packed, (first, second), strict=True):
        for i, row in enumerate(rows[:6]):
            if 0 <= row < 128:
                cache[row // 32, :, row % 32] = part[0, :, i]
        assert torch.equal(got(result), cache)


@pytest.mark.parametrize(("block", "heads"), [(None, None), (64, 1), (32, 2)])
@pytest.mark.parametrize("modulo", [None, 64])
def test_paged_update_cache_of_another_view(device: Any, block: int | None, heads: int | None, modulo: int | None) -> None:
    """Blocks of the cache are read as [heads, rows] of other numbers; positions run around a ring."""
    cache, tokens = values(16, 2, 32, 64), values(1, 4, 2, 64, seed=1)
    positions, table = [0, 40, 95, 127], torch.from_numpy(np.random.default_rng(4).permutation(16).reshape(4, 4)).int()
    target = put(device, cache)
    places, pages = (ttnn.from_torch(x, dtype=ttnn.int32, layout=RM, device=device) for x in (torch.tensor(positions).int(), table))
    given = {"block_size": block, "num_kv_heads": heads, "cache_position_modulo": modulo}
    ttnn.experimental.paged_update_cache(target, put(device, tokens, shards("HEIGHT", (32, 64), 4)), update_idxs_tensor=places, page_table=pages, **given)
    view = cache.reshape(16, heads or 2, block or 32, 64)
    for user, position in enumerate(positions):
        at = position % modulo if modulo else position
        view[table[user, at // view.shape[2]], :, at % view.shape[2]] = tokens[0, user, : view.shape[1]]
    assert torch.equal(got(target), cache)


@pytest.mark.parametrize(("rows", "modulo", "valid"), [(128, None, None), (40, None, None), (128, 64, None), (128, 64, 96), (64, 64, 32)])
def test_paged_fill_cache_as_a_ring(device: Any, rows: int, modulo: int | None, valid: int | None) -> None:
    """Only the last rows of a prompt that is longer than the ring stay."""
    cache, prompt = values(16, 2, 32, 64), values(2, 2, rows, 64, seed=1)
    table = torch.from_numpy(np.random.default_rng(4).permutation(16).reshape(4, 4)).int()
    target = put(device, cache)
    pages, users = (ttnn.from_torch(x, dtype=ttnn.int32, layout=RM, device=device) for x in (table, torch.tensor([3, 1]).int()))
    length = ttnn.from_torch(torch.tensor([valid]).int(), dtype=ttnn.int32, layout=RM, device=device) if valid else None
    ttnn.experimental.paged_fill_cache(target, put(device, prompt), pages, batch_idx_tensor=users, cache_position_modulo=modulo, valid_seq_len_tensor=length)
    for entry, user in enumerate([3, 1]):
        for row in range(valid or rows):
            at = row % modulo if modulo else row
            cache[table[user, at // 32], :, at % 32] = prompt[entry, :, row]
    assert torch.equal(got(target), cache)


# --- moves ---------------------------------------------------------------------------------------------------------


@table("layout", [RM, TILE])
@table("dtype", [ttnn.bfloat16, ttnn.float32])
@table(
    ("first", "last", "width"),
    [((0, 0, 0, 0), (2, 4, 16, 64), 64), ((1, 1, 3, 0), (2, 4, 11, 50), 64), ((0, 2, 0, 8), (2, 3, 8, 40), 32), ((0, -3, 0, 0), (1, -1, 16, 64), 72)],
)
def test_padded_slice(device: Any, layout: Any, dtype: Any, first: tuple[int, ...], last: tuple[int, ...], width: int) -> None:
    x = values(2, 6, 16, 64)
    part = x[tuple(slice(a, b) for a, b in zip(first, last, strict=True))]
    rows = part.numel() // part.shape[-1]
    result = ttnn.experimental.padded_slice(put(device, x, dtype=dtype, layout=layout), first, last, memory_config=shards("HEIGHT", (-(-rows // 4), width), 4))
    assert torch.equal(got(result), F.pad(part, (0, width - part.shape[-1])).reshape(1, 1, rows, width))


@table("dtype", FLOATS)
@table(
    ("shape", "kind", "shard", "grid"),
    [((1, 1, 256, 64), "HEIGHT", (32, 64), (4, 1)), ((2, 4, 32, 64), "BLOCK", (64, 32), (2, 2)), ((2, 2, 50, 60), "WIDTH", (128, 32), (2, 1))],
)
def test_partial_moves(device: Any, dtype: Any, shape: tuple[int, ...], kind: str, shard: tuple[int, int], grid: tuple[int, int]) -> None:
    """Half of the padded rows to shards, doubled there, and back into the whole."""
    x = values(*shape)
    whole = put(device, x, dtype=dtype)
    scheme = getattr(ttnn.TensorMemoryLayout, f"{kind}_SHARDED")
    part = ttnn.interleaved_to_sharded_partial(whole, ttnn.CoreCoord(*grid), list(shard), 2, 1, scheme, ttnn.ShardOrientation.ROW_MAJOR)
    padded = F.pad(x, (0, -shape[3] % 32, 0, -shape[2] % 32))
    assert part.memory_config().memory_layout == scheme
    lower = padded.reshape(-1, padded.shape[-1]).chunk(2)[1]
    close(part, lower.reshape(1, 1, *lower.shape))
    twice = ttnn.multiply(part, 2.0, memory_config=part.memory_config())
    ttnn.sharded_to_interleaved_partial(twice, whole, 2, 1, memory_config=ttnn.DRAM_MEMORY_CONFIG)
    expected = torch.cat([padded.reshape(-1, padded.shape[-1]).chunk(2)[0], 2 * lower]).reshape(padded.shape)[..., : shape[2], : shape[3]]
    close(whole, expected)


@pytest.mark.parametrize(("memory", "columns", "picked"), [
    (shards("HEIGHT", (32, 64), 4), slice(None), slice(32, 96)), (shards("WIDTH", (128, 32), 2), slice(32, 64), slice(None)), (shards("BLOCK", (64, 32), 2, 2), slice(32, 64), slice(0, 64)),
])  # fmt: skip
def test_copy_host_to_device_tensor_partial(device: Any, memory: Any, columns: slice, picked: slice) -> None:
    """Shards of the cores (1, 0) and (2, 0)."""
    before, after = values(1, 1, 128, 64), values(1, 1, 128, 64, seed=1)
    target = put(device, before, memory)
    host = ttnn.from_torch(after, dtype=ttnn.bfloat16, layout=TILE)
    ttnn.copy_host_to_device_tensor_partial(host, target, ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(1, 0), ttnn.CoreCoord(2, 0))}))
    before[:, :, picked, columns] = after[:, :, picked, columns]
    assert torch.equal(got(target), before)
    assert torch.equal(got(host), after)
    with pytest.raises(RuntimeError, match="sharded"):
        ttnn.copy_host_to_device_tensor_partial(host, put(device, after), cores(1))


@table("dtype", [ttnn.bfloat16, ttnn.float32])
@table("channels", [1, 3, 8, 16, 32])
def test_channel_order(device: Any, dtype: Any, channels: int) -> None:
    pixels = values(1, 1, 128, channels)
    turned_ = ttnn.experimental.convert_to_chw(put(device, pixels, shards("HEIGHT", (32, 32), 4), dtype))
    assert torch.equal(got(turned_), pixels.transpose(2, 3))
    planes = values(1, 2, channels, 128)
    back = ttnn.experimental.convert_to_hwc(put(device, planes, shards("WIDTH", (2 * channels, 32), 4), dtype, RM))
    word = 8 if dtype is ttnn.bfloat16 else 4
    assert torch.equal(got(back), F.pad(planes.transpose(2, 3).reshape(1, 1, 256, channels), (0, -channels % word)))


# --- computation ---------------------------------------------------------------------------------------------------


@table("dtype", FLOATS)
@table(("dim", "split"), [(0, 32), (1, 64)])
@table("rows", [32, 40])
def test_fast_reduce_nc_split(device: Any, dtype: Any, dim: int, split: int, rows: int) -> None:
    x = values(3, 4, rows, 96)
    total = F.pad(x.sum(dim, keepdim=True), (0, 0, 0, -rows % 32))
    first, second = ttnn.experimental.fast_reduce_nc_split(put(device, x, dtype=dtype), dim=dim, split_output_width=split)
    close(first, total[..., :split])
    close(second, total[..., split:])


@pytest.mark.parametrize(("left", "right"), [(32, 5120), (32, 32 * 5120), (32 * 5120, 5120)])
def test_repeat_and_interleave_eltwise_mul(device: Any, left: int, right: int) -> None:
    a, b = values(1, 1, 32, left), values(1, 1, 32, right, seed=1)
    repeated = a.repeat(1, 1, 1, 5120) if left == 32 else a
    spread = b.repeat_interleave(32, dim=-1) if right == 5120 else b
    close(ttnn.experimental.repeat_and_interleave_eltwise_mul(put(device, a), put(device, b)), repeated * spread)


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.bfloat8_b])
@pytest.mark.parametrize("rows", [1, 20, 64])
def test_matmul_decode(device: Any, dtype: Any, rows: int) -> None:
    a, b = values(rows, 128), values(128, 256, seed=1)
    padded = -(-rows // 32) * 32
    left = put(device, a, shards("WIDTH", (padded, 32), 4))
    close(ttnn.experimental.matmul_decode(left, put(device, b, shards("WIDTH", (128, 64), 4), dtype)), a @ b, 12)


@pytest.mark.parametrize(("blocks", "shard"), [(2, (64, 64)), (4, (32, 128))])
def test_matmul_decode_of_folded_rows(device: Any, blocks: int, shard: tuple[int, int]) -> None:
    """Blocks of the weight's rows stand side by side."""
    a, b = values(32, 128), values(128, 256, seed=1)
    folded = torch.cat(b.chunk(blocks, 0), 1)
    weights = put(device, folded, shards("WIDTH", shard, 8, folded.shape[1] // shard[1] // 8))
    close(ttnn.experimental.matmul_decode(put(device, a, shards("WIDTH", (32, 32), 4)), weights, partial_width_sharded=True), a @ b)


@pytest.mark.parametrize(("folds", "width", "count"), [(2, 32, 4), (1, 32, 2), (4, 64, 4)])
def test_matmul_decode_of_batches(device: Any, folds: int, width: int, count: int) -> None:
    a, b = values(1, 4, 32, 128), values(4, 128, 64, seed=1)
    folded = torch.cat(b.reshape(-1, 64).chunk(folds, 0), 1).reshape(1, 1, 512 // folds, 64 * folds)
    weights = put(device, folded, shards("WIDTH", (512 // folds, width), count))
    close(ttnn.experimental.matmul_decode(put(device, a, shards("WIDTH", (128, 32), 4)), weights), a @ b)


@pytest.mark.parametrize(("k", "length"), [(16, None), (64, None), (2048, None), (64, 100), (64, 50)])
def test_topk_large_indices(big_device: Any, k: int, length: int | None) -> None:
    x = torch.from_numpy(np.random.default_rng(0).permutation(4096).astype(np.float32)).repeat(3, 1)
    x[1] = -x[1].flip(0)
    x[2, 40:] = -torch.inf
    x = x.bfloat16().float()
    found = ttnn.to_torch(ttnn.experimental.topk_large_indices(put(big_device, x, layout=RM), k=k, valid_length=length)).long()
    valid = length or 4096
    ranked, order = x[:, :valid].sort(descending=True, stable=True)
    expected = torch.where(ranked == -torch.inf, 0xFFFFFFFF, order)
    expected = F.pad(expected[:, :k], (0, max(0, k - valid)), value=0xFFFFFFFF)
    assert torch.equal(found & 0xFFFFFFFF, expected)
    bound = ttnn.from_torch(torch.tensor([valid - 32]), dtype=ttnn.uint32, layout=RM, device=big_device) if valid > 32 else None
    again = ttnn.experimental.topk_large_indices(put(big_device, x, layout=RM), k=k, valid_length_tensor=bound, valid_length_offset=32)
    assert torch.equal(ttnn.to_torch(again).long() & 0xFFFFFFFF, expected)


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float32])
@pytest.mark.parametrize(("shape", "other"), [((64, 64), (64, 64)), ((33, 50), (33, 50)), ((64, 64), (64, 1)), ((64, 64), (1, 1, 64, 64))])
def test_situ_glu(big_device: Any, dtype: Any, shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    gate, up = values(*shape) * 3, values(*other, seed=1) * 30
    expected = 4 * torch.tanh(gate / 4) * torch.sigmoid(gate) * 25 * torch.tanh(up / 25)
    close(ttnn.situ_glu(put(big_device, gate, dtype=dtype), put(big_device, up, dtype=dtype), 4.0, 25.0), expected)


@table(("outs", "ins", "groups"), [(64, 64, 2), (64, 64, 4), (60, 64, 4), (64, 64, 64), (96, 96, 3)])
@table("prepared", [False, True])
def test_conv3d_of_groups(device: Any, outs: int, ins: int, groups: int, prepared: bool) -> None:
    x, weight = values(1, ins, 4, 6, 6), values(outs, ins // groups, 3, 3, 3, seed=1)
    given = ttnn.from_torch(weight, dtype=ttnn.bfloat16, layout=RM)
    if prepared:
        given = ttnn.experimental.prepare_conv3d_weights(weight_tensor=given, groups=groups, device=device)
    result = ttnn.experimental.conv3d(
        input_tensor=put(device, x.permute(0, 2, 3, 4, 1), layout=RM), weight_tensor=given, device=device, dtype=ttnn.bfloat16,
        output_channels=outs, kernel_size=[3, 3, 3], padding=[1, 1, 1], groups=groups, compute_kernel_config=WIDE,
    )  # fmt: skip
    close(result, F.conv3d(x, weight, padding=1, groups=groups).permute(0, 2, 3, 4, 1))


def latent_attention(q: torch.Tensor, keys: torch.Tensor, width: int, positions: list[int], scale: float) -> torch.Tensor:
    """q [1, B, H, D], keys [B, 1, S, D] whose first columns are the values."""
    out = []
    for user, position in enumerate(positions):
        seen = keys[user, 0, : position + 1]
        out.append(torch.softmax(q[0, user] @ seen.T * scale, -1) @ seen[:, :width])
    return torch.stack(out)[None]


@pytest.mark.parametrize(("heads", "depth", "width"), [(16, 64, 32), (40, 128, 64), (8, 96, 96)])
@pytest.mark.parametrize("given", [False, True])
def test_multi_latent_attention_decode(device: Any, heads: int, depth: int, width: int, given: bool) -> None:
    q, keys, positions = values(1, 4, heads, depth), values(4, 1, 128, depth, seed=1), [0, 127, 31, 64]
    expected = latent_attention(q, keys, width, positions, depth**-0.5)
    cache = put(device, keys)
    own = put(device, keys[..., :width]) if given else None
    close(ttnn.transformer.flash_multi_latent_attention_decode(put(device, q), cache, own, width, cur_pos=positions), expected)
    order = torch.from_numpy(np.random.default_rng(2).permutation(16)).reshape(4, 4)
    pages = torch.empty(16, 1, 32, depth)
    pages[order.flatten()] = keys.reshape(4, 4, 32, depth).reshape(16, 1, 32, depth)
    table, where = (ttnn.from_torch(x.int(), dtype=ttnn.int32, layout=RM, device=device) for x in (order, torch.tensor(positions)))
    own = put(device, pages[..., :width]) if given else None
    close(ttnn.transformer.paged_flash_multi_latent_attention_decode(put(device, q), put(device, pages), own, width, table, cur_pos_tensor=where), expected)


# --- sampling ------------------------------------------------------------------------------------------------------


@table("corners", [False, True])
@table("mode", ["bilinear", "nearest"])
@table(("folded", "in_channels"), [(1, False), (3, False), (3, True)])
def test_prepared_grids(device: Any, corners: bool, mode: str, folded: int, in_channels: bool) -> None:
    x, grid = values(2, 32, 9, 7), values(2, 5, 6 * folded, 2, seed=1) * 0.6
    host = ttnn.from_torch(grid, dtype=ttnn.float32, layout=RM)
    prepared = ttnn.prepare_grid_sample_grid(host, [2, 9, 7, 32], mode=mode, align_corners=corners)
    assert list(prepared.shape) == [2, 5, 6 * folded, 2 if mode == "nearest" else 6]
    points = ttnn.to_device(ttnn.reshape(prepared, [2, 5, 6, -1]), device)
    sampled = ttnn.grid_sample(
        put(device, x.permute(0, 2, 3, 1), layout=RM), points, mode=mode, align_corners=corners, use_precomputed_grid=True, batch_output_channels=in_channels)  # fmt: skip
    expected = F.grid_sample(x, grid, mode=mode, align_corners=corners).permute(0, 2, 3, 1)
    close(sampled, expected.reshape(2, 5, 6, -1) if in_channels else expected)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(("points", "depth"), [(4, 32), (1, 16), (8, 64)])
def test_multi_scale_deformable_attn(device: Any, corners: bool, points: int, depth: int) -> None:
    value, grid, weights = values(6, 9, 7, depth), values(6, 10 * points, 1, 2, seed=1) * 0.6, values(6, 10, points, seed=2)
    result = ttnn.experimental.multi_scale_deformable_attn(*(put(device, one, layout=RM) for one in (value, grid, weights)), align_corners=corners)
    sampled = F.grid_sample(value.permute(0, 3, 1, 2), grid.bfloat16().float(), align_corners=corners)[..., 0]  # [N, D, Q P]
    close(result, (sampled.reshape(6, depth, 10, points) * weights[:, None]).sum(-1).transpose(1, 2))


def test_post_combine_tilize_gives_each_core_one_row_of_tiles(device: Any) -> None:
    def memory(height: int, width: int, cores: int) -> Any:
        grid = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, cores // 8 - 1))})
        return ttnn.MemoryConfig(buffer_type=ttnn.BufferType.L1, nd_shard_spec=ttnn.NdShardSpec([height, width], grid))

    x = values(8, 1, 32, 256)
    rows = put(device, x, layout=RM)
    tiles = ttnn.experimental.deepseek_moe_post_combine_tilize(rows, output_memory_config=memory(32, 64, 32))
    assert tiles.layout == TILE and torch.equal(got(tiles), x)
    wrong = {"a single tile high": memory(64, 64, 16), "one output shard per core": memory(32, 64, 16), "sharded output": ttnn.L1_MEMORY_CONFIG}
    for reason, config in wrong.items():
        with pytest.raises(RuntimeError, match=f"DeepseekMoEPostCombineTilize requires .*{reason}"):
            ttnn.experimental.deepseek_moe_post_combine_tilize(rows, output_memory_config=config)
