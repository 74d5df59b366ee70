"""Attention, head splitting and rotary embedding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops import sharding
from alchemist.ops.describe import Array, op, optional, ttir
from alchemist.ops.spec import Sample

Attributes = Mapping[str, Any]


MASKED_SCORE = -1e9
"""What a mask adds to the score of a hidden key: exp gives 0 in every format, and a row without any key stays finite."""
NO_KEYS_SINK = -1e8
"""A sink far below any score and far above a masked one: attention returns zeros in rows without a key, and changes no other row."""


def attention(
    query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float | None, window: int | None = None, sink: Array | None = None
) -> Array:
    """query [B, H, S, D], key and value [B, KV, T, D] (KV divides H), mask additive, broadcast to [B, H, S, T].

    sink: a number for each head, scaled as scores are: one more score in each row, whose value is zero.
    """
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    groups = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, groups, axis=1), np.repeat(value, groups, axis=1)
    scores = query @ np.swapaxes(key, -1, -2) * scale
    rows, columns = scores.shape[-2:]
    position = np.arange(columns)[None, :] - np.arange(rows)[:, None] - (columns - rows if causal else 0)
    if causal:
        scores = np.where(position > 0, -np.inf, scores)
    if window:
        scores = np.where(position <= -window, -np.inf, scores)
    if mask is not None:
        scores = scores + mask
    sinks = np.full((query.shape[1], 1, 1), -np.inf) if sink is None else sink.reshape(query.shape[1], -1)[:, :1, None] * scale
    top = np.maximum(scores.max(axis=-1, keepdims=True), sinks)
    top = np.where(np.isfinite(top), top, 0)
    weights = np.exp(scores - top)
    return np.asarray(weights / (weights.sum(axis=-1, keepdims=True) + np.exp(sinks - top)) @ value)


def _sdpa(inputs: Sequence[Array], attributes: Attributes, _shapes: object) -> Sequence[Array]:
    query, key, value = inputs[:3]
    causal = bool(attributes.get("is_causal", True))
    window = attributes.get("sliding_window_size")
    return [attention(query, key, value, optional(inputs, 3), causal, attributes.get("scale"), window, optional(inputs, 4))]


def _sdpa_decode(inputs: Sequence[Array], attributes: Attributes, _shapes: object) -> Sequence[Array]:
    """query [1, B, H, D], caches [B, KV, S, D], current positions [B]."""
    query, key, value = inputs[:3]
    mask, positions, sink = (optional(inputs, place) for place in (3, 4, 5))
    out = np.zeros_like(query)
    for user in range(query.shape[1]):
        last = int(positions.reshape(-1)[user]) + 1 if positions is not None else key.shape[2]
        part = None if mask is None else mask.reshape(-1, mask.shape[-2], mask.shape[-1])[user][None, :, None, :last]
        row = query[:, user][:, :, None, :]
        keys, values = key[user : user + 1, :, :last], value[user : user + 1, :, :last]
        out[:, user] = attention(row, keys, values, part, False, attributes.get("scale"), None, sink)[:, :, 0]
    return [out]


def _sdpa_of_device(inputs: Sequence[Array], attributes: Attributes, shapes: object) -> Sequence[Array]:
    heads = _sdpa(inputs, attributes, shapes)
    return [_concatenate_heads(heads, {}, None)[0][:, None]] if attributes.get("alchemist.output_concat_heads") else heads


def _concatenate_heads(inputs: Sequence[Array], _attributes: Attributes, _shapes: object) -> Sequence[Array]:
    b, h, s, d = inputs[0].shape
    return [inputs[0].transpose(0, 2, 1, 3).reshape(b, s, h * d)]


def _split_heads(inputs: Sequence[Array], attributes: Attributes, _shapes: object) -> Sequence[Array]:
    """[B, S, (H + 2 KV) * D] -> query, key, value [B, heads, S, D]; key transposed on request."""
    heads = attributes["num_heads"]
    kv_heads = attributes.get("num_kv_heads") or heads
    other = optional(inputs, 1)
    if other is None:
        size = inputs[0].shape[-1] // (heads + 2 * kv_heads)
        parts = np.split(inputs[0], [heads * size, (heads + kv_heads) * size], axis=-1)
    else:
        parts = [inputs[0], *np.split(other, 2, axis=-1)]
    counts = (heads, kv_heads, kv_heads)
    out = [p.reshape(*p.shape[:2], n, -1).transpose(0, 2, 1, 3) for p, n in zip(parts, counts, strict=True)]
    if attributes.get("transpose_key", True):
        out[1] = np.swapaxes(out[1], -1, -2)
    return out


def _dealt_heads(inputs: Sequence[Array], attributes: Attributes, _shapes: object) -> Sequence[Array]:
    """[B, 1, S, KV * (H / KV + 2) * D], by key heads -> query, key, value [B, heads, S, D]; key transposed on request."""
    x = inputs[0][:, 0]
    heads = attributes["num_heads"]
    kv_heads = attributes.get("num_kv_heads") or heads
    groups = x.reshape(*x.shape[:2], kv_heads, heads // kv_heads + 2, -1)
    parts = (groups[..., :-2, :], groups[..., -2:-1, :], groups[..., -1:, :])
    query, key, value = (part.reshape(*x.shape[:2], -1, x.shape[-1] // (heads + 2 * kv_heads)).transpose(0, 2, 1, 3) for part in parts)
    return [query, np.swapaxes(key, -1, -2) if attributes.get("transpose_k_heads", True) else key, value]


def rotate(inputs: Sequence[Array], _attributes: Attributes, _shapes: object) -> Sequence[Array]:
    """x * cos + rotate_half(x) * sin, tables [1, 1, S, D]."""
    x, cos, sin = inputs[:3]
    half = x.shape[-1] // 2
    rotated = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    rows = x.shape[-2]
    return [x * cos[..., :rows, :] + rotated * sin[..., :rows, :]]


def rotate_tiles(inputs: Sequence[Array], _attributes: Attributes, _shapes: object) -> Sequence[Array]:
    """x * cos + (x turned tile by tile) * sin, tables [1, 1 or H, S, D], a matrix [1, 1, 32, 32] for every 32 columns."""
    x, cos, sin, matrix = inputs[:4]
    tiles = x.reshape(*x.shape[:-1], -1, matrix.shape[-1])
    rows = x.shape[-2]
    return [x * cos[..., :rows, :] + (tiles @ matrix[0, 0]).reshape(x.shape) * sin[..., :rows, :]]


ttir("scaled_dot_product_attention", _sdpa, sharding=sharding.attends)
ttir("scaled_dot_product_attention_decode", _sdpa_decode)
ttir("paged_scaled_dot_product_attention_decode")
ttir("chunked_scaled_dot_product_attention")
ttir("concatenate_heads", _concatenate_heads, target="concatenate_heads")
ttir("split_query_key_value_and_split_heads", _split_heads, target="split_query_key_value_and_split_heads")

_HEADER = "transformer/sdpa/sdpa.hpp"
_DECODE_HEADER = "transformer/sdpa_decode/sdpa_decode.hpp"

op(
    "scaled_dot_product_attention",
    "input_tensor_q=query input_tensor_k=key input_tensor_v=value attn_mask=attention_mask is_causal scale sliding_window_size "
    "memory_config program_config=alchemist.program_config compute_kernel_config=alchemist.compute_config attention_sink "
    "output_concat_heads=alchemist.output_concat_heads",
    _HEADER,
    target="ttnn.transformer.scaled_dot_product_attention",
    samples=tuple(
        Sample((((b, h, s, d), "bfloat16"),) * 3, {"is_causal": causal, "scale": 0.125}, ((b, h, s, d),))
        for b, h, s, d, causal in ((1, 4, 64, 64, True), (1, 12, 128, 64, False), (2, 2, 33, 32, True))
    ),
    reference=_sdpa_of_device,
    tolerance=16.0,
    doc="bfloat16 only; a mask has full rows [B or 1, 1 or H, S, T] and lies in DRAM",
    noun="attention",
)
op(
    "scaled_dot_product_attention_decode",
    "input_tensor_q=query input_tensor_k=key input_tensor_v=value is_causal attn_mask=attention_mask cur_pos_tensor attention_sink "
    "scale sliding_window_size memory_config program_config compute_kernel_config=alchemist.compute_config",
    _DECODE_HEADER,
    target="ttnn.transformer.scaled_dot_product_attention_decode",
    noun="attention",
)
op(
    "paged_scaled_dot_product_attention_decode",
    "input_tensor_q=query input_tensor_k=key input_tensor_v=value page_table_tensor=page_table is_causal attn_mask=attention_mask "
    "cur_pos_tensor attention_sink scale sliding_window_size memory_config program_config "
    "compute_kernel_config=alchemist.compute_config",
    _DECODE_HEADER,
    target="ttnn.transformer.paged_scaled_dot_product_attention_decode",
)
op(
    "chunked_scaled_dot_product_attention",
    "input_tensor_q=query input_tensor_k=key input_tensor_v=value page_table_tensor=page_table "
    "chunk_start_idx_tensor=chunk_start_idx scale memory_config program_config compute_kernel_config=alchemist.compute_config",
    _HEADER,
    target="ttnn.transformer.chunked_scaled_dot_product_attention",
)
op(
    "concatenate_heads",
    "input_tensor memory_config",
    "transformer/concatenate_heads/concatenate_heads.hpp",
    target="ttnn.transformer.concatenate_heads",
    samples=tuple(Sample((((b, h, s, d), "bfloat16"),), outputs=((b, s, h * d),)) for b, h, s, d in ((1, 12, 128, 64), (2, 4, 32, 32))),
    reference=_concatenate_heads,
    tolerance=0.0,
    noun="joined",
)
op(
    "split_query_key_value_and_split_heads",
    "input_tensor kv_input_tensor num_heads num_kv_heads transpose_key memory_config",
    "transformer/split_query_key_value_and_split_heads/split_query_key_value_and_split_heads.hpp",
    target="ttnn.transformer.split_query_key_value_and_split_heads",
    samples=(
        Sample((((1, 128, 2304), "bfloat16"),), {"num_heads": 12, "transpose_key": False}, ((1, 12, 128, 64),) * 3),
        Sample((((1, 32, 384), "bfloat16"),), {"num_heads": 4, "transpose_key": True}, ((1, 4, 32, 32), (1, 4, 32, 32), (1, 4, 32, 32))),
    ),
    reference=_split_heads,
    tolerance=0.0,
)
_NLP = "experimental/transformer"
op(
    "nlp_concat_heads",
    "input_tensor memory_config",
    f"{_NLP}/nlp_concat_heads/nlp_concat_heads.hpp",
    target="ttnn.experimental.nlp_concat_heads",
    samples=(Sample((((1, 12, 128, 64), "bfloat16"),), outputs=((1, 1, 128, 768),)),),
    reference=lambda inputs, a, s: [_concatenate_heads(inputs, a, s)[0][:, None]],
    tolerance=0.0,
)
op(
    "nlp_concat_heads_decode",
    "input_tensor num_heads memory_config",
    f"{_NLP}/nlp_concat_heads_decode/nlp_concat_heads_decode.hpp",
    target="ttnn.experimental.nlp_concat_heads_decode",
)
op(
    "create_qkv_heads",
    "input num_heads num_kv_heads transpose_k_heads memory_config",
    f"{_NLP}/create_qkv_heads/create_qkv_heads.hpp",
    target="ttnn.experimental.create_qkv_heads",
    reference=_dealt_heads,
    tolerance=0.0,
    doc="[B, 1, S, W] in block shards, a batch entry per row of cores; columns are [q.. k v] of one key head after the other",
)
op(
    "nlp_create_qkv_heads_decode",
    "input_tensor num_heads num_kv_heads overlap_qk_coregrid batch_offset slice_size memory_config",
    f"{_NLP}/nlp_create_qkv_heads_decode/nlp_create_qkv_heads_decode.hpp",
    target="ttnn.experimental.nlp_create_qkv_heads_decode",
)
op(
    "rotary_embedding",
    "input_tensor cos_cache sin_cache token_index memory_config compute_kernel_config",
    f"{_NLP}/rotary_embedding/rotary_embedding.hpp",
    target="ttnn.experimental.rotary_embedding",
    samples=(
        Sample(
            (((1, 4, 64, 64), "bfloat16"), ((1, 1, 64, 64), "bfloat16"), ((1, 1, 64, 64), "bfloat16")),
            outputs=((1, 4, 64, 64),),
        ),
    ),
    reference=rotate,
)
op(
    "rotary_embedding_hf",
    "input_tensor cos_cache sin_cache is_decode_mode memory_config compute_kernel_config",
    f"{_NLP}/rotary_embedding_hf/rotary_embedding_hf.hpp",
    target="ttnn.experimental.rotary_embedding_hf",
    samples=(
        Sample(
            (((2, 4, 40, 32), "float32"), ((1, 1, 40, 32), "float32"), ((1, 1, 40, 32), "float32")),
            outputs=((2, 4, 40, 32),),
        ),
    ),
    reference=rotate,
    doc="halves of the head side by side, as transformers has them; decode mode: a user per core, cos and sin [1, users, 1, D] on the same cores",
)
op(
    "rotary_embedding_llama",
    "input_tensor cos_cache sin_cache trans_mat is_decode_mode memory_config compute_kernel_config",
    f"{_NLP}/rotary_embedding_llama/rotary_embedding_llama.hpp",
    target="ttnn.experimental.rotary_embedding_llama",
    samples=(
        Sample(
            (((2, 4, 40, 64), "bfloat16"), ((1, 1, 40, 64), "bfloat16"), ((1, 1, 40, 64), "bfloat16"), ((1, 1, 32, 32), "bfloat16")),
            outputs=((2, 4, 40, 64),),
        ),
    ),
    reference=rotate_tiles,
    doc="bfloat16 heads of up to 256 columns; every 32 of them are turned by one matrix",
)
