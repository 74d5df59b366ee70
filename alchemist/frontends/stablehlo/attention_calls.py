"""tt-xla's attention calls without a TTIR op: written out as products and softmax, by the documentation of the library's ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends.stablehlo.convert import Converter, prop, type_of
from alchemist.frontends.stablehlo.values import Unsupported, Val
from alchemist.ir.value import Value, constant, full
from alchemist.ops.transformer import MASKED_SCORE


def _flag(attributes: Mapping[str, Any], name: str, default: bool) -> bool:
    return str(attributes.get(name, default)).lower() in ("true", "1")


def _visible(rows: int, columns: int, first: int) -> np.ndarray[Any, Any]:
    """Key t is visible to query s if t <= first + s."""
    return np.arange(columns)[None, :] <= first + np.arange(rows)[:, None]


def flash_mla_prefill(c: Converter, op: Operation, vals: Sequence[Val]) -> Sequence[Val]:
    """softmax(q k' * scale + mask) v with few key heads; without v the first `head_dim_v` columns of k are the values."""
    attributes: Mapping[str, Any] = prop(op, "mhlo.frontend_attributes") or {}
    result, of = type_of(op.results[0])
    query, key, *rest = (Value(c.e.b, c.e.full(val)) for val in vals)
    _, keys, length, _ = key.shape
    value = rest.pop(0) if _flag(attributes, "has_value", False) else key.cut(3, 0, result[3])
    key, value = (_repeated(one, query.shape[1] // keys) for one in (key, value))
    scale = float(attributes.get("scale") or 1 / math.sqrt(query.shape[3]))
    scores = query.matmul(key, transpose_b=True) * scale
    if _flag(attributes, "has_attention_mask", bool(rest)) and rest:
        scores += rest[0]
    elif _flag(attributes, "is_causal", True):
        hidden = np.where(_visible(query.shape[2], length, 0), 0.0, MASKED_SCORE).astype(np.float32)[None, None]
        scores += constant(c.e.b, hidden).cast(of)
    return [Val(result, of, scores.op("softmax", dimension=3).matmul(value).ssa)]


def _repeated(value: Value, repeats: int) -> Value:
    return value.op("repeat_interleave", repeats=repeats, dim=1) if repeats > 1 else value


def indexer_score_dsa(c: Converter, op: Operation, vals: Sequence[Val]) -> Sequence[Val]:
    """sum over heads of relu(q k') * weight, -inf where the key is not visible yet."""
    attributes: Mapping[str, Any] = prop(op, "mhlo.frontend_attributes") or {}
    if len(vals) != 3 or len(vals[0].shape) != 4 or vals[0].shape[0] != 1:
        raise Unsupported("an indexer of several batches", hint="query [1, heads, rows, D], key [1, 1, columns, D], weights [1, heads, rows, 1]")
    result, of = type_of(op.results[0])
    query, key, weights = (Value(c.e.b, c.e.full(val)) for val in vals)
    scores = query.matmul(_repeated(key, query.shape[1]), transpose_b=True).op("relu")
    total = (scores * weights).reduce("sum", [1])
    visible = _visible(result[2], result[3], int(attributes.get("chunk_start_idx") or 0))[None, None]
    if not visible.all():
        total = constant(c.e.b, visible).op("where", total, full(c.e.b, total.shape, -math.inf, of))
    return [Val(result, of, total.ssa)]


WRITTEN_OUT: dict[str, Callable[[Converter, Operation, Sequence[Val]], Sequence[Val]]] = {
    "tt.flash_mla_prefill": flash_mla_prefill,
    "tt.indexer_score_dsa": indexer_score_dsa,
}
