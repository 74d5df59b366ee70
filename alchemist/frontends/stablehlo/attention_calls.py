"""tt-xla's attention calls without a TTIR op: written out as products and softmax, by the documentation of the library's ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.frontends.stablehlo.convert import Converter, prop, type_of
from alchemist.frontends.stablehlo.values import Unsupported, Val
from alchemist.ir.access import element_type, shape
from alchemist.ops.expand import Steps

_LOWEST = -1e9
"""Added to scores that are masked: finite in bfloat16."""


def _flag(attributes: Mapping[str, Any], name: str, default: bool) -> bool:
    return str(attributes.get(name, default)).lower() in ("true", "1")


def _visible(rows: int, columns: int, first: int) -> np.ndarray[Any, Any]:
    """Key t is visible to query s if t <= first + s."""
    return np.arange(columns)[None, :] <= first + np.arange(rows)[:, None]


def flash_mla_prefill(c: Converter, op: Operation, vals: Sequence[Val]) -> Sequence[Val]:
    """softmax(q k' * scale + mask) v with few key heads; without v the first `head_dim_v` columns of k are the values."""
    attributes: Mapping[str, Any] = prop(op, "mhlo.frontend_attributes") or {}
    result, of = type_of(op.results[0])
    query, key, *rest = (c.e.full(val) for val in vals)
    s = Steps(c.e.b)
    batch, keys, length, _ = shape(key)
    value = rest.pop(0) if _flag(attributes, "has_value", False) else None
    if value is None:
        ends = (batch, keys, length, result[3])
        value = s.op("slice_static", [key], ends, of, begins=(0, 0, 0, 0), ends=ends, step=(1, 1, 1, 1))
    repeats = shape(query)[1] // keys
    if repeats > 1:
        key, value = (_repeated(s, one, repeats) for one in (key, value))
    scale = float(attributes.get("scale") or 1 / math.sqrt(shape(query)[3]))
    scores = s.binary("multiply", s.matmul(query, key, transpose_b=True), scale)
    if _flag(attributes, "has_attention_mask", bool(rest)) and rest:
        scores = s.binary("add", scores, rest[0])
    elif _flag(attributes, "is_causal", True):
        hidden = np.where(_visible(shape(query)[2], length, 0), 0.0, _LOWEST).astype(np.float32)[None, None]
        scores = s.binary("add", scores, s.cast(s.op("constant", [], hidden.shape, "f32", value=hidden), of))
    chances = s.typed("softmax", [scores], scores.type, dimension=3)
    return [Val(result, of, s.matmul(chances, value))]


def _repeated(s: Steps, value: SSAValue, repeats: int) -> SSAValue:
    batch, heads, *others = shape(value)
    return s.op("repeat_interleave", [value], (batch, heads * repeats, *others), element_type(value), repeats=repeats, dim=1)


def indexer_score_dsa(c: Converter, op: Operation, vals: Sequence[Val]) -> Sequence[Val]:
    """sum over heads of relu(q k') * weight, -inf where the key is not visible yet."""
    attributes: Mapping[str, Any] = prop(op, "mhlo.frontend_attributes") or {}
    if len(vals) != 3 or len(vals[0].shape) != 4 or vals[0].shape[0] != 1:
        raise Unsupported("an indexer of several batches", hint="query [1, heads, rows, D], key [1, 1, columns, D], weights [1, heads, rows, 1]")
    result, of = type_of(op.results[0])
    query, key, weights = (c.e.full(val) for val in vals)
    s = Steps(c.e.b)
    heads = shape(query)[1]
    scores = s.unary("relu", s.matmul(query, _repeated(s, key, heads) if heads > 1 else key, transpose_b=True))
    total = s.reduce("sum", s.binary("multiply", scores, weights), [1])
    visible = _visible(result[2], result[3], int(attributes.get("chunk_start_idx") or 0))[None, None]
    if not visible.all():
        where = s.op("constant", [], visible.shape, "i1", value=visible)
        hidden = s.op("full", [], shape(total), of, shape=shape(total), fill_value=-math.inf)
        total = s.typed("where", [where, total, hidden], total.type)
    return [Val(result, of, total)]


WRITTEN_OUT: dict[str, Callable[[Converter, Operation, Sequence[Val]], Sequence[Val]]] = {
    "tt.flash_mla_prefill": flash_mla_prefill,
    "tt.indexer_score_dsa": indexer_score_dsa,
}
