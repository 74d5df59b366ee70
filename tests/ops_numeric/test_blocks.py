"""Sizes at and across the edges of the blocks that the kernels work in: attention over several blocks of keys, large and ragged transposes, long sums."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import ttnn

from tests.ops_numeric.values import get, put, random
from tests.tables import table

pytestmark = pytest.mark.usefixtures("ieee_nan")

ROWS = ttnn.ROW_MAJOR_LAYOUT
EPSILON = 2.0**-8


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor | None, added: torch.Tensor | None, sink: torch.Tensor | None
) -> torch.Tensor:
    """Plain attention in float64; `seen` [q, k] hides keys, `added` joins the scaled scores, `sink` (one per head, scaled as scores are) the denominator."""
    groups = q.shape[1] // k.shape[1]
    q, k, v = q.double(), k.double().repeat_interleave(groups, 1), v.double().repeat_interleave(groups, 1)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if added is not None:
        scores = scores + added.double()
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    if sink is not None:
        scores = torch.cat([scores, (sink.double() / math.sqrt(q.shape[-1])).reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)], -1)
    return torch.softmax(scores, -1)[..., : k.shape[2]] @ v


def near(actual: Any, expected: torch.Tensor, scale: float) -> None:
    """Scores are bfloat16: errors of the weights grow with them. The bit model is off by 2.0e-2 at most for a scale of 1, 3.5e-2 for 30."""
    assert (get(actual).double() - expected).norm() / expected.norm() < (4 if scale == 1 else 12) * EPSILON


@table("scale", [1.0, 30.0])  # 30: peaks differ from block to block, so that earlier results shrink
@table(("heads", "queries", "keys", "kind"), [
    ((4, 4), 300, 300, "causal"), ((4, 2), 1100, 1100, "causal"), ((8, 1), 40, 2100, "plain"), ((4, 4), 32, 513, "plain"),
    ((2, 2), 512, 1025, "mask"), ((4, 2), 260, 700, "mask"), ((2, 2), 1030, 1030, "window"), ((4, 2), 600, 600, "sink"), ((2, 1), 48, 1500, "sink"),
])  # fmt: skip
def test_attention_blocks(heads: tuple[int, int], queries: int, keys: int, kind: str, scale: float, device: Any) -> None:
    q = random((2, heads[0], queries, 32), -scale, scale, torch.bfloat16, 1)
    k, v = (random((2, heads[1], keys, 32), -1, 1, torch.bfloat16, seed) for seed in (2, 3))
    causal = kind in ("causal", "window")
    options: dict[str, Any] = {"is_causal": causal}
    seen = torch.ones(queries, keys, dtype=torch.bool).tril() if causal else None
    added, sink = None, None
    if kind == "mask":
        added = random((2, 1, queries, keys), -3, 3, torch.bfloat16, 4)
        added[..., 100:612] = -1e9  # a whole block of keys hidden
        options["attn_mask"] = put(added, device)
    if kind == "window":
        options["sliding_window_size"] = 200
        assert seen is not None
        seen = seen.triu(-199)
    if kind == "sink":
        sink = random((1, heads[0], 1, 1), 0, 32, torch.bfloat16, 5)
        options["attention_sink"] = put(sink, device)
    result = ttnn.transformer.scaled_dot_product_attention(put(q, device), put(k, device), put(v, device), **options)
    near(result, attention(q, k, v, seen, added, sink), scale)


def test_attention_of_a_hidden_row(device: Any) -> None:
    """A row that sees no key is NaN and leaves the others alone."""
    q, k, v = (random((1, 1, 64, 32), -1, 1, torch.bfloat16, seed) for seed in (1, 2, 3))
    mask = torch.zeros(1, 1, 64, 64, dtype=torch.bfloat16)
    mask[0, 0, 5] = -math.inf
    result = get(ttnn.transformer.scaled_dot_product_attention(*(put(x, device) for x in (q, k, v)), attn_mask=put(mask, device), is_causal=False))
    assert result[0, 0, 5].isnan().all() and result[0, 0, :5].isfinite().all() and result[0, 0, 6:].isfinite().all()


@table("dtype", [torch.bfloat16, torch.float32, torch.int32])
@table(("shape", "order"), [
    ((1, 1, 2080, 2112), (0, 1, 3, 2)), ((1, 1030, 34, 128), (0, 2, 1, 3)), ((40, 2, 900, 64), (1, 2, 0, 3)), ((1, 1, 2049, 2050), (0, 1, 3, 2)), ((3, 5, 33, 70), (0, 1, 3, 2)), ((1, 1, 8, 5000), (0, 1, 3, 2)),
    ((2, 64, 200, 201), (0, 2, 3, 1)), ((2, 200, 201, 12), (0, 3, 1, 2)), ((4, 7, 96, 40), (3, 1, 0, 2)), ((2, 3, 31, 17), (2, 3, 1, 0)), ((1, 4, 40, 1), (3, 2, 0, 1)),
    *(((2, lines, 150, 131), (0, 2, 3, 1)) for lines in (2, 3, 4)), *(((2, 150, 131, lines), (0, 3, 1, 2)) for lines in (2, 3, 4)), ((1, 300, 260, 70), (2, 0, 3, 1)),
])  # fmt: skip
def test_permute_blocks(shape: tuple[int, ...], order: tuple[int, ...], dtype: torch.dtype, device: Any) -> None:
    x = (torch.arange(math.prod(shape)) * 2654435761 % 65521 - 32000).reshape(shape).to(dtype)
    result = ttnn.permute(put(x, device, layout=ROWS), order)
    assert torch.equal(get(result), x.permute(order))


@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_slice_steps(step: int, device: Any) -> None:
    x = torch.arange(3 * 40 * 1003).reshape(1, 3, 40, 1003) % 251
    for dtype in (torch.bfloat16, torch.int32):
        got = ttnn.slice(put(x.to(dtype), device, layout=ROWS), (0, 0, 1, 3), (1, 3, 40, 1003), (1, 1, step, step))
        assert torch.equal(get(got), x.to(dtype)[:, :, 1::step, 3::step])


@table("dtype", [torch.bfloat16, torch.float32])
@table("shape", [(1, 1, 70, 4097), (1, 1, 1001, 33), (3, 2, 9, 65), (1, 1, 7, 64), (1, 1, 300, 2048)])
def test_reduced_blocks(shape: tuple[int, ...], dtype: torch.dtype, device: Any) -> None:
    """Column results do not depend on how columns are cut, largest values are exact, NaN comes through from any place."""
    x = random(shape, -1, 1, dtype, 1)
    on_device = put(x, device)
    for dim in (-1, -2):
        size = shape[dim]
        assert (get(ttnn.sum(on_device, dim)).double() - x.double().sum(dim)).abs().max() < 2 * EPSILON * max(1.0, math.sqrt(size))
        assert torch.equal(get(ttnn.max(on_device, dim)), x.amax(dim)) and torch.equal(get(ttnn.min(on_device, dim)), x.amin(dim))
    for sign in (1, -1):
        holed = x.clone()
        pattern = torch.tensor([math.nan]).copysign(torch.tensor([float(sign)])).to(dtype)
        for place in {0, shape[-1] // 2, shape[-1] - 1}:
            holed[..., 1, place] = pattern
        got = put(holed, device)
        for dim in (-1, -2):
            assert torch.equal(get(ttnn.max(got, dim)).isnan(), holed.amax(dim).isnan())


@pytest.mark.parametrize("width", [1, 15, 33, 1000, 4097])
def test_softmax_blocks(width: int, device: Any) -> None:
    """One fused pass over bfloat16 rows: ragged widths, hidden values, rows of nothing, NaN."""
    x = random((1, 1, 37, width), -9, 9, torch.bfloat16, 1)
    x[0, 0, 3, width // 2 :] = -math.inf
    x[0, 0, 4], x[0, 0, 5, width - 1] = -math.inf, math.nan
    for stable in (True, False):
        result = get(ttnn.softmax(put(x, device), -1, numeric_stable=stable)).double()
        expected = torch.softmax(x.double(), -1)
        assert torch.equal(result.isnan(), expected.isnan())
        assert torch.allclose(result, expected, rtol=EPSILON, atol=1e-30, equal_nan=True)


def test_softmax_in_place(device: Any) -> None:
    x = random((1, 1, 32, 64), -9, 9, torch.bfloat16, 1)
    values = put(x, device)
    ttnn.softmax_in_place(values)
    assert torch.allclose(get(values).double(), torch.softmax(x.double(), -1), rtol=EPSILON)


def test_matmul_of_a_changed_activation(device: Any) -> None:
    """The core keeps the bits of an activation that it multiplies; a write to the tensor, or a new tensor in its place, must not meet the old ones."""
    weight = put(torch.eye(64).bfloat16(), device)
    x = put(random((64, 64), -1, 1, torch.bfloat16, 1), device)
    for seed in range(4):
        values = get(x)
        product = get(ttnn.matmul(x, weight))
        assert (product.double() - values.double()).abs().max() <= EPSILON * values.abs().max()
        if seed % 2:
            ttnn.add(x, float(seed), output_tensor=x)
        else:
            ttnn.deallocate(x)
            x = put(random((64, 64), -1, 1, torch.bfloat16, seed + 2), device)
