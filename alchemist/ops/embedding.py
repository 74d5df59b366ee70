"""Embedding look-up and key-value caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops import sharding
from alchemist.ops.axes import looks_up
from alchemist.ops.describe import Array, op, ttir
from alchemist.ops.spec import ErrorSample, Sample


def _embedding(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    table = inputs[1].reshape(inputs[1].shape[-2:])
    return [table[inputs[0].astype(np.int64)]]


op(
    "embedding",
    "input_tensor weight layout memory_config",
    "embedding/embedding.hpp",
    samples=tuple(
        Sample((((b, s), "uint32"), ((v, w), "bfloat16")), outputs=((b, s, w),), layout="row_major")
        for b, s, v, w in ((1, 32, 64, 32), (2, 31, 100, 64), (1, 128, 1000, 768))
    ),
    error_samples=(ErrorSample((((1, 32), "int32"), ((64, 32), "bfloat16")), match="UINT32"),),
    reference=_embedding,
    tolerance=0.0,
    doc="row-major ids (uint32) and row-major bfloat16 table; `layout` is the result's",
    noun="embedded",
)
ttir("embedding", _embedding, axes=looks_up, sharding=sharding.looks_up)


def _embedding_bw(inputs: Sequence[Array], _attributes: Mapping[str, Any], shapes: Sequence[tuple[int, ...]]) -> Sequence[Array]:
    """ids, table [..., rows, width], gradient [1, 1, ids, width]: the sum of the gradient's rows whose id names the row."""
    ids, table, gradient = inputs
    gradient_of_table = np.zeros(table.shape[-2:], gradient.dtype)
    np.add.at(gradient_of_table, ids.reshape(-1).astype(np.int64), gradient.reshape(-1, gradient.shape[-1]))
    return [gradient_of_table.reshape(shapes[0])]


op(
    "embedding_bw",
    "input_tensor weight_tensor=weight output_gradient_tensor=in_gradient memory_config dtype",
    "embedding_backward/embedding_backward.hpp",
    samples=tuple(
        Sample((((b, s), "uint32"), ((v, w), "bfloat16"), ((1, 1, b * s, w), "bfloat16")), outputs=((1, 1, v, w),))
        for b, s, v, w in ((1, 32, 64, 32), (2, 32, 100, 64))
    ),
    reference=_embedding_bw,
    doc="row-major ids (uint32), the gradient as [1, 1, ids, width]; from TTNN text only",
    noun="table_gradient",
)


def _update_cache(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """cache [B, H, S, D], input [1, H, B, D], update_index [1]: writes one token per user; the new cache is returned."""
    cache, update = inputs[0].copy(), inputs[1]
    position = int(inputs[2].reshape(-1)[0])
    count = update.shape[0] if update.shape[0] == cache.shape[0] else cache.shape[0]
    for user in range(count):
        cache[user, :, position, :] = update[user, :, 0, :] if update.shape[0] == count else update[0, :, user, :]
    return [cache]


def _fill_cache(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """cache [B, H, S, D], input [1, H, s, D]: writes the first s positions of one user."""
    cache, update = inputs[0].copy(), inputs[1]
    start = attributes["batch_offset"]
    cache[start : start + update.shape[0], :, : update.shape[2], :] = update
    return [cache]


def _paged_update_cache(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """cache [B, H, S, D], input [1, B, H, D], update_index [B]: a row of each head of each user. With a page table, the cache is [blocks, H, s, D]."""
    cache, update, index = inputs[0].copy(), inputs[1], inputs[2].reshape(-1).astype(np.int64)
    pages = inputs[3] if len(inputs) > 3 else None
    for user, position in enumerate(index[: update.shape[1]]):
        if position < 0:
            continue  # a user without a token
        slot, row = (0 if attributes.get("share_cache") else user), int(position)
        if pages is not None:
            slot, row = int(pages[user, row // cache.shape[2]]), row % cache.shape[2]
        cache[slot, :, row, :] = update[0, user, : cache.shape[1]]
    return [cache]


ttir("update_cache", _update_cache)
ttir("fill_cache", _fill_cache)
op(
    "update_cache",
    "cache input update_idx=alchemist.update_index batch_offset",
    "kv_cache/kv_cache.hpp",
    doc="in place; the position is a number in the call",
)
op(
    "fill_cache",
    "cache_tensor=cache input_tensor batch_idx=batch_offset",
    "kv_cache/kv_cache.hpp",
    doc="in place",
)
op(
    "paged_update_cache",
    "cache_tensor=cache input_tensor update_idxs_tensor=update_index share_cache page_table",
    "experimental/paged_cache/paged_cache.hpp",
    target="ttnn.experimental.paged_update_cache",
    doc="in place",
)
op(
    "paged_fill_cache",
    "cache_tensor=cache input_tensor page_table batch_idx_tensor",
    "experimental/paged_cache/paged_cache.hpp",
    target="ttnn.experimental.paged_fill_cache",
    doc="in place",
)
ttir("paged_update_cache", _paged_update_cache)
ttir("paged_fill_cache")
