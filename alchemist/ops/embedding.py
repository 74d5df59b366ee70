"""Embedding look-up and key-value caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops.describe import MEMORY, Array, attribute, op, optional_tensor, tensor, ttir
from alchemist.ops.spec import Arg, ErrorSample, Kind, Sample


def _embedding(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    table = inputs[1].reshape(inputs[1].shape[-2:])
    return [table[inputs[0].astype(np.int64)]]


op(
    "embedding",
    [
        tensor("input_tensor", "input"),
        tensor("weight"),
        Arg("layout", "layout", Kind.LAYOUT, default=None),
        MEMORY,
    ],
    "input_tensor weight padding_idx? layout? embeddings_type=ttnn::prim::EmbeddingsType::GENERIC dtype? memory_config? output_tensor?",
    "embedding/embedding.hpp",
    samples=tuple(
        Sample((((b, s), "uint32"), ((v, w), "bfloat16")), outputs=((b, s, w),), layout="row_major")
        for b, s, v, w in ((1, 32, 64, 32), (2, 31, 100, 64), (1, 128, 1000, 768))
    ),
    error_samples=(ErrorSample((((1, 32), "int32"), ((64, 32), "bfloat16")), match="UINT32"),),
    reference=_embedding,
    tolerance=0.0,
    doc="row-major ids (uint32) and row-major bfloat16 table; `layout` is the result's",
)
ttir("embedding", _embedding)


def _update_cache(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """cache [B, H, S, D], input [1, H, B, D], update_index [1]: writes one token per user; the new cache is returned."""
    cache, update = inputs[0].copy(), inputs[1]
    at = int(inputs[2].reshape(-1)[0])
    count = update.shape[0] if update.shape[0] == cache.shape[0] else cache.shape[0]
    for user in range(count):
        cache[user, :, at, :] = update[user, :, 0, :] if update.shape[0] == count else update[0, :, user, :]
    return [cache]


def _fill_cache(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """cache [B, H, S, D], input [1, H, s, D]: writes the first s positions of one user."""
    cache, update = inputs[0].copy(), inputs[1]
    start = attributes["batch_offset"]
    cache[start : start + update.shape[0], :, : update.shape[2], :] = update
    return [cache]


ttir("update_cache", _update_cache)
ttir("fill_cache", _fill_cache)
op(
    "update_cache",
    [
        tensor("cache"),
        tensor("input", keyword=False),
        attribute("update_idx", Kind.INT, "alchemist.update_index", keyword=False),
        attribute("batch_offset", Kind.INT, default=0),
    ],
    "cache input update_idx batch_offset=0 compute_kernel_config?",
    "kv_cache/kv_cache.hpp",
    doc="in place; the position is a number in the call",
)
op(
    "fill_cache",
    [tensor("cache_tensor", "cache"), tensor("input_tensor", "input"), attribute("batch_idx", Kind.INT, "batch_offset", keyword=False)],
    "cache_tensor input_tensor batch_idx update_idx=0",
    "kv_cache/kv_cache.hpp",
    doc="in place",
)
op(
    "paged_update_cache",
    [
        tensor("cache_tensor", "cache"),
        tensor("input_tensor", "input"),
        Arg("update_idxs_tensor", "operand:update_index", Kind.TENSOR, default=None),
        attribute("share_cache", Kind.BOOL, default=None),
        optional_tensor("page_table"),
    ],
    "cache_tensor input_tensor update_idxs={} update_idxs_tensor? share_cache? page_table? batch_offset=0 "
    "compute_kernel_config? mesh_coords? block_size? num_kv_heads? cache_position_modulo?",
    "experimental/paged_cache/paged_cache.hpp",
    target="ttnn.experimental.paged_update_cache",
    doc="in place",
)
op(
    "paged_fill_cache",
    [
        tensor("cache_tensor", "cache"),
        tensor("input_tensor", "input"),
        tensor("page_table"),
        optional_tensor("batch_idx_tensor"),
    ],
    "cache_tensor input_tensor page_table batch_idx_tensor? batch_idx=0 compute_kernel_config? mesh_coords? block_size? "
    "cache_position_modulo? valid_seq_len_tensor?",
    "experimental/paged_cache/paged_cache.hpp",
    target="ttnn.experimental.paged_fill_cache",
    doc="in place",
)
ttir("paged_update_cache")
ttir("paged_fill_cache")
