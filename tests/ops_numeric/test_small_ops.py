"""Ops without an op record (pools of given output size, conv3d, grid_sample, heads of fixed models ...) against torch or numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import ttnn
from ttnn_shim.errors import InvalidArgument

from tests.tables import table

BF16_EPSILON = 2.0**-8
RM, TILE = ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT


def values(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal values that bfloat16 holds exactly."""
    made = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return torch.from_numpy(made).bfloat16().float()


def put(device: Any, tensor: torch.Tensor, layout: Any = TILE, dtype: Any = ttnn.bfloat16) -> Any:
    return ttnn.from_torch(tensor, dtype=dtype, layout=layout, device=device)


def got(tensor: Any) -> torch.Tensor:
    return ttnn.to_torch(tensor).float()


# Sums in float32: results are one rounding off. (A 16-bit Dst rounds at every step: 3e-2 after 1,000 products, in the bit model too.)
WIDE = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True)


def close(actual: Any, expected: torch.Tensor, epsilons: float = 4.0) -> None:
    result = got(actual).reshape(expected.shape)
    error = torch.linalg.norm(result - expected) / torch.linalg.norm(expected).clamp_min(1e-9)
    assert error < epsilons * BF16_EPSILON, f"relative error {error:.2e}"


@table(("size", "out"), [(8, 4), (7, 1), (14, 7), (10, 3), (7, 3), (8, 8)])
@table(("call", "reference"), [(ttnn.adaptive_avg_pool2d, F.adaptive_avg_pool2d), (ttnn.adaptive_max_pool2d, F.adaptive_max_pool2d)])
def test_adaptive_pool(device: Any, call: Any, reference: Any, size: int, out: int) -> None:
    x = values(2, 32, size, size)
    flat = x.permute(0, 2, 3, 1).reshape(1, 1, -1, 32)
    expected = reference(x, (out, out)).permute(0, 2, 3, 1).reshape(1, 1, -1, 32)
    close(call(put(device, flat, RM), 2, size, size, 32, [out, out]), expected, 2)


def test_adaptive_pool_refuses_uneven_windows(device: Any) -> None:
    with pytest.raises(RuntimeError, match="Adaptive pooling configuration not supported"):
        ttnn.adaptive_avg_pool2d(put(device, values(1, 1, 144, 32), RM), 1, 12, 12, 32, [5, 5])


@pytest.mark.parametrize("mode", ["zeros", "replicate"])
@pytest.mark.parametrize(("stride", "padding", "block"), [((1, 1, 1), (1, 1, 1), 0), ((2, 1, 2), (0, 1, 1), 32)])
def test_conv3d(device: Any, stride: tuple[int, ...], padding: tuple[int, ...], block: int, mode: str) -> None:
    x, weight, bias = values(2, 40, 5, 6, 7), values(24, 40, 3, 3, 3, seed=1) * 0.05, values(24, seed=2)
    weight = weight.bfloat16().float()
    padded = F.pad(x, [p for p in reversed(padding) for _ in range(2)], mode="constant" if mode == "zeros" else mode)
    expected = F.conv3d(padded, weight, bias, stride=stride).permute(0, 2, 3, 4, 1)
    config = ttnn.Conv3dConfig(weights_dtype=ttnn.bfloat16, output_layout=RM, C_in_block=block)
    prepared = ttnn.experimental.prepare_conv3d_weights(weight_tensor=ttnn.from_torch(weight, dtype=ttnn.bfloat16), C_in_block=block, device=device)
    result = ttnn.experimental.conv3d(
        input_tensor=put(device, x.permute(0, 2, 3, 4, 1), RM), weight_tensor=prepared, bias_tensor=put(device, bias[None]), config=config,
        dtype=ttnn.bfloat16, output_channels=24, kernel_size=[3, 3, 3], stride=list(stride), padding=list(padding), padding_mode=mode,
        compute_kernel_config=WIDE,
    )  # fmt: skip
    assert list(result.shape) == list(expected.shape)
    close(result, expected)


@pytest.mark.parametrize("corners", [False, True])
def test_grid_sample(device: Any, corners: bool) -> None:
    x, grid = values(2, 32, 9, 7), values(2, 5, 6, 2, seed=1) * 0.6
    expected = F.grid_sample(x, grid.bfloat16().float(), align_corners=corners).permute(0, 2, 3, 1)
    close(ttnn.grid_sample(put(device, x.permute(0, 2, 3, 1), RM), put(device, grid, RM), align_corners=corners), expected)


def test_rotate(device: Any) -> None:
    x = values(1, 6, 6, 8)
    close(ttnn.rotate(put(device, x, RM), 90.0), torch.rot90(x, 1, (1, 2)), 1)
    close(ttnn.rotate(put(device, x, RM), 180.0, interpolation_mode="bilinear"), torch.rot90(x, 2, (1, 2)), 1)


def test_fold(device: Any) -> None:
    x = values(2, 8, 6, 4)
    expected = x.reshape(2, 4, 2, 2, 3, 4).permute(0, 1, 3, 2, 4, 5).reshape(2, 4, 2, 24)
    result = ttnn.fold(put(device, x, RM), 2, 3)
    assert torch.equal(got(result), expected)
    assert torch.equal(got(ttnn.fold(put(device, x), 2, 3, collapse_output=True)), expected.reshape(1, 1, -1, 24))
    numbers = ttnn.fold(ttnn.from_torch((x * 50).int(), ttnn.int32, layout=RM, device=device), 2, 3)
    assert numbers.dtype == ttnn.bfloat16, "the library's dtype for the result of integers"
    assert torch.equal(got(numbers), (expected * 50).int().bfloat16().float())


def test_nonzero(device: Any) -> None:
    x = torch.tensor([0.0, 2.0, 0.0, -1.0, 0.0, 0.5]).reshape(1, 1, 2, 3)
    count, places = ttnn.nonzero(put(device, x, RM))
    found = int(ttnn.to_torch(count).flatten()[0])
    assert torch.equal(ttnn.to_torch(places).flatten()[: 4 * found].reshape(found, 4).long(), torch.nonzero(x))


def test_plus_one(device: Any) -> None:
    x = torch.tensor([[3, -1, 0]], dtype=torch.int32)
    tensor = put(device, x, RM, ttnn.int32)
    ttnn.plus_one(tensor, skip_negative_entries=True)
    assert ttnn.to_torch(tensor).tolist() == [[4, -1, 1]]


def test_fill_rm(device: Any) -> None:
    result = got(ttnn.fill_rm(1, 2, 4, 5, 3, 2, put(device, values(1, 1, 4, 5), RM), 1.5, -0.5))
    expected = torch.full((1, 2, 4, 5), -0.5)
    expected[:, :, :3, :2] = 1.5
    assert torch.equal(result, expected)


@pytest.mark.parametrize("invert", [False, True])
def test_isin(device: Any, invert: bool) -> None:
    x, known = torch.tensor([[1, 2, 3], [-4, 5, 6]], dtype=torch.int32), torch.tensor([2, 6, -4], dtype=torch.int32)
    result = ttnn.to_torch(ttnn.experimental.isin(put(device, x, RM, ttnn.int32), put(device, known, RM, ttnn.int32), invert=invert))
    assert torch.equal(result.long() != 0, torch.isin(x, known, invert=invert))


def test_tosa(device: Any) -> None:
    x, index, source = values(2, 6, 5), torch.tensor([[1, 1, 4], [0, 5, 2]]), values(2, 3, 5, seed=1)
    places = put(device, index.int(), RM, ttnn.uint32)
    wide = index[..., None].expand(2, 3, 5)
    assert torch.equal(got(ttnn.tosa_gather(put(device, x, RM), places)), torch.gather(x, 1, wide))
    rows = put(device, torch.tensor([[1, 0, 4], [0, 5, 2]]).int(), RM, ttnn.uint32)
    expected = x.clone().scatter(1, torch.tensor([[1, 0, 4], [0, 5, 2]])[..., None].expand(2, 3, 5), source)
    assert torch.equal(got(ttnn.tosa_scatter(put(device, x, RM), rows, put(device, source, RM))), expected)


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float32])
def test_integral_image(dtype: Any, device: Any) -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(-3, 4, (1, 5, 7, 32))).float()
    assert torch.equal(got(ttnn.experimental.intimg(put(device, x, dtype=dtype))), x.cumsum(1).cumsum(2))


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float32])
def test_bytes_of_floats_do_not_saturate(dtype: Any, device: Any) -> None:
    x = torch.tensor([[-256.0, -200.5, -1.5, -0.5, 0.0, 0.5, 1.5, 255.0, 256.0, 258.0]])
    found = ttnn.to_torch(ttnn.typecast(put(device, x, dtype=dtype), ttnn.uint8))
    assert found.flatten().tolist() == [0, 56, 255, 0, 0, 0, 1, 255, 0, 2]


def test_sampling_takes_the_best_of_one_and_only_candidates_of_k(device: Any) -> None:
    scores = values(1, 1, 32, 64)
    labels = torch.arange(64).expand(1, 1, 32, 64).int() + 100

    def sample(k: int, p: float, seed: int) -> torch.Tensor:
        users = [put(device, torch.full((32,), k).int(), RM, ttnn.uint32), *(put(device, torch.full((32,), v), RM) for v in (p, 1.0))]
        drawn = ttnn.sampling(put(device, scores), put(device, labels, RM, ttnn.int32), *users, seed=seed)
        return ttnn.to_torch(drawn).flatten().long()

    assert torch.equal(sample(1, 1.0, 5), scores[0, 0].argmax(-1) + 100)
    assert torch.equal(sample(32, 0.0, 5), scores[0, 0].argmax(-1) + 100)
    best = scores[0, 0].topk(4).indices + 100
    draws = [sample(4, 1.0, seed) for seed in range(1, 20)]
    assert all((draw[:, None] == best).any(-1).all() for draw in draws)
    assert len({tuple(draw.tolist()) for draw in draws}) > 1 and torch.equal(draws[0], sample(4, 1.0, 1))


def test_seeds_of_the_users_of_sampling(device: Any) -> None:
    """A user's random numbers start where its seed says and go on from call to call."""
    scores, labels = put(device, torch.zeros(1, 1, 32, 64)), put(device, torch.arange(64).expand(1, 1, 32, 64).int(), RM, ttnn.int32)
    users = [put(device, torch.full((32,), 32).int(), RM, ttnn.uint32), *(put(device, torch.ones(32), RM) for _ in range(2))]

    def draw() -> torch.Tensor:
        return ttnn.to_torch(ttnn.sampling(scores, labels, *users)).flatten().long()

    def numbers(*of: int) -> Any:
        return put(device, torch.tensor(of).int(), RM, ttnn.uint32)

    ttnn.manual_seed(42, device=device)
    first, second = draw(), draw()
    assert not torch.equal(first, second)
    ttnn.manual_seed(seeds=42, device=device)
    ttnn.manual_seed(2**32 - 1, device=device)  # leaves them as they are
    assert torch.equal(draw(), first)
    ttnn.manual_seed(42, device=device, user_ids=3)
    ttnn.manual_seed(numbers(42, 2**32 - 1), user_ids=numbers(5, 6))
    mixed = draw()
    assert all(mixed[user] == (first if user in (3, 5) else second)[user] for user in range(32))
    for seeds, options, said in (
        (1, {}, "device: expected one"), (1, {"device": device, "user_ids": 32}, "expected a number below 32"),
        (numbers(1), {"device": device, "user_ids": 0}, "users in a tensor"), (numbers(1, 2), {"user_ids": numbers(1)}, "as many of both"),
    ):  # fmt: skip
        with pytest.raises(InvalidArgument, match=said):
            ttnn.manual_seed(seeds, **options)


def test_joint_attention(device: Any) -> None:
    q, k, v = (values(1, 2, 64, 64, seed=i) for i in range(3))
    jq, jk, jv = (values(1, 2, 32, 64, seed=i + 3) for i in range(3))
    config = ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=32, k_chunk_size=32)
    outputs = ttnn.transformer.joint_scaled_dot_product_attention(
        *(put(device, t) for t in (q, k, v, jq, jk, jv)), joint_strategy="rear", program_config=config
    )
    expected = F.scaled_dot_product_attention(torch.cat([q, jq], 2), torch.cat([k, jk], 2), torch.cat([v, jv], 2))
    close(outputs[0], expected[:, :, :64])
    close(outputs[1], expected[:, :, 64:])


def test_minimal_matmul(device: Any) -> None:
    a, b, bias = values(2, 32, 64), values(64, 96, seed=1), values(1, 96, seed=2)
    relu = ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)
    expected = F.relu(a @ b + bias)
    close(ttnn.experimental.minimal_matmul(put(device, a), put(device, b), bias_tensor=put(device, bias), fused_activation=relu), expected)
    parts = ttnn.experimental.minimal_matmul_split(put(device, a), put(device, b), chunks=3)
    for part, whole in zip(parts, (a @ b).split(32, -1), strict=True):
        close(part, whole)
    memory = ttnn.DRAM_MEMORY_CONFIG
    for product, weight in zip(ttnn.matmul_batched_weights(put(device, a), [put(device, b)] * 2, memory_config=memory), [b] * 2, strict=True):
        close(product, a @ weight)


@pytest.mark.parametrize(
    ("call", "heads", "kv_heads"),
    [(ttnn.experimental.nlp_create_qkv_heads_vit, 12, 12), (ttnn.experimental.nlp_create_qkv_heads_falcon7b, 71, 1)],
)
def test_fixed_heads(device: Any, call: Any, heads: int, kv_heads: int) -> None:
    x = values(1, 1, 32, (heads + 2 * kv_heads) * 64)
    q, k, v = call(put(device, x))
    split = x[:, 0].reshape(1, 32, -1, 64).transpose(1, 2)
    assert torch.equal(got(q), split[:, :heads])
    assert torch.equal(got(k), split[:, heads : heads + kv_heads]) and torch.equal(got(v), split[:, heads + kv_heads :])


def test_segformer_heads(device: Any) -> None:
    x = values(2, 1, 64, 96)
    q, _, _ = ttnn.experimental.nlp_create_qkv_heads_segformer(put(device, x))
    assert torch.equal(got(q), x[:, 0].reshape(2, 64, 3, 32).transpose(1, 2))


def test_rotary_embedding_hf(device: Any) -> None:
    x, cos, sin = values(1, 4, 32, 64), values(1, 1, 32, 64, seed=1), values(1, 1, 32, 64, seed=2)
    turned = torch.cat([-x[..., 32:], x[..., :32]], -1)
    close(ttnn.experimental.rotary_embedding_hf(put(device, x), put(device, cos), put(device, sin)), x * cos + turned * sin)


def test_kv_cache_load_slice(device: Any) -> None:
    x = values(1, 4, 128, 64)
    assert torch.equal(got(ttnn.experimental.nlp_kv_cache_load_slice(put(device, x), seq_len_start=32, seq_len_end=96)), x[:, :, 32:96])


@pytest.mark.parametrize(("math", "dim", "shape"), [("ADD", "H", (1, 64)), ("MUL", "W", (32, 1)), ("SUB", "HW", (1, 1))])
def test_bcast(device: Any, math: str, dim: str, shape: tuple[int, int]) -> None:
    a, b = values(1, 1, 32, 64), values(1, 1, *shape, seed=1)
    result = ttnn.bcast(put(device, a), put(device, b), getattr(ttnn.BcastOpMath, math), getattr(ttnn.BcastOpDim, dim))
    close(result, {"ADD": a + b, "SUB": a - b, "MUL": a * b}[math], 1)


def test_eltwise_composites(device: Any) -> None:
    x = values(1, 1, 32, 64)
    large = (x.abs() + 3).bfloat16().float()
    close(ttnn.multigammaln(put(device, large)), torch.special.multigammaln(large, 4), 6)
    close(ttnn.normalize_hw(put(device, x)), (x - x.mean()) / x.std(correction=0))
    gate, up = x * 4, values(1, 1, 32, 64, seed=1) * 4
    close(ttnn.clamped_silu_glu(put(device, gate), put(device, up), 3.0), F.silu(gate.clamp(max=3)) * up.clamp(-3, 3))
    alpha, beta = values(1, 1, 1, 64, seed=2), values(1, 1, 1, 64, seed=3).abs() + 0.5
    beta = beta.bfloat16().float()
    close(ttnn.snake_beta(put(device, x), put(device, alpha), put(device, beta)), x + torch.sin(alpha * x) ** 2 / beta)


def test_moves_and_fills(device: Any) -> None:
    x = values(1, 1, 31, 33)
    assert torch.equal(got(ttnn.experimental.transpose_rm(put(device, x, RM))), x.transpose(-1, -2))
    assert torch.equal(got(ttnn.experimental.typecast(put(device, x), ttnn.float32)), x)
    assert torch.equal(got(ttnn.fill_implicit_tile_padding(put(device, x), 3.0)), x)
    ones = got(ttnn.fill_ones_rm(1, 1, 4, 5, 2, 3, put(device, values(1, 1, 4, 5), RM)))
    assert ones.sum() == 6 and torch.equal(ones[0, 0, :2, :3], torch.ones(2, 3))
    rows = put(device, torch.tensor([0, 2]).int(), RM, ttnn.uint32)
    expected = values(4, 5, 6).index_fill(0, torch.tensor([0, 2]), 1.5)
    assert torch.equal(got(ttnn.index_fill_new(put(device, values(4, 5, 6), RM), 0, rows, 1.5)), expected)


def test_rotary_embedding_llama_fused_qk(device: Any) -> None:
    """Queries and keys on cores apart, with rows of the tables for each: both results are those of the op for one tensor."""

    def on(first: int, last: int, width: int) -> Any:
        cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(first, 0), ttnn.CoreCoord(last, 0))])
        spec = ttnn.ShardSpec(cores, [32, width], ttnn.ShardOrientation.ROW_MAJOR)
        return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, spec)

    def placed(x: torch.Tensor, memory: Any) -> Any:
        return ttnn.to_memory_config(put(device, x), memory)

    heads = [values(1, 1, 32, 64, seed=i) for i in (0, 1)]
    cosine, sine = (values(1, 2, 32, 64, seed=i) for i in (2, 3))
    turn = values(1, 1, 32, 32, seed=4)
    q, k = placed(heads[0], on(0, 0, 64)), placed(heads[1], on(1, 1, 64))
    tables = [placed(x, on(0, 1, 64)) for x in (cosine, sine)]
    both = ttnn.experimental.rotary_embedding_llama_fused_qk(q, k, *tables, placed(torch.cat([turn, turn], 2), on(0, 1, 32)))
    for i, (result, source) in enumerate(zip(both, heads, strict=True)):
        own = [placed(x[:, i : i + 1], on(0, 0, 64)) for x in (cosine, sine)]
        alone = ttnn.experimental.rotary_embedding_llama(placed(source, on(0, 0, 64)), *own, placed(turn, on(0, 0, 32)), is_decode_mode=True)
        assert torch.equal(got(result), got(alone))


def test_fast_reduce_nc(device: Any) -> None:
    x = values(2, 3, 32, 64)
    close(ttnn.experimental.fast_reduce_nc(put(device, x), dims=[0, 1]), x.sum((0, 1), keepdim=True))
    with pytest.raises(RuntimeError, match="before the last two"):
        ttnn.experimental.fast_reduce_nc(put(device, x), dims=[-1])


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("mode", "top", "left"), [(1, True, False), (2, False, True), (4, False, False)])
def test_sigmoid_of_some_faces(device: Any, mode: int, top: bool, left: bool, in_place: bool) -> None:
    """Vector modes R, C and RC: the upper two faces of each tile, the left two, all. Values of the others stay."""
    x = values(2, 50, 70)
    rows, columns = torch.arange(50).reshape(-1, 1), torch.arange(70)
    computed = ((rows % 32 < 16) | (not top)) & ((columns % 32 < 16) | (not left))
    tensor = put(device, x)
    result = ttnn.sigmoid(tensor, vector_mode=mode, output_tensor=tensor if in_place else None)
    close(result, torch.where(computed, torch.sigmoid(x), x))


@pytest.mark.parametrize("rows", [32, 96])
def test_rows_wider_than_l1(device: Any, rows: int) -> None:
    """Rows whose tiles L1 has no room for are cut over the cores."""
    x = values(rows, 32 * 600)
    tiled = ttnn.to_layout(put(device, x, RM), TILE)
    assert torch.equal(got(ttnn.to_layout(tiled, RM)), x)
    tiled = ttnn.to_layout(put(device, x, RM), TILE, dtype=ttnn.bfloat8_b)
    close(tiled, x)
