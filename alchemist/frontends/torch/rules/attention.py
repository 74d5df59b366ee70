"""Attention."""

from __future__ import annotations

import math
from typing import TypeAlias

import torch
from torch.nn.functional import linear
from xdsl.ir import Operation, SSAValue

from alchemist.frontends.torch.emitter import Emitter, Tensor
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.registry import recipe, rule
from alchemist.ir.access import shape as shape_of

MASKED = -1e9
"""Additive value of a masked position: exp gives 0 in every format, and a row without any key stays finite."""


@rule("aten.scaled_dot_product_attention.default")
def scaled_dot_product_attention(
    c: Emitter,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    if dropout_p:
        raise Unsupported("attention dropout in training mode is random: call model.eval() first")
    if q.rank < 3:
        raise Unsupported("attention on rank 2 tensors")
    shape = c.out_shape
    length, keys = q.shape[-2], k.shape[-2]
    q, k, v = (_four(c, part) for part in (q, k, v))
    if is_causal and length != keys:  # TTIR's causal flag is for equal lengths
        mask, is_causal = c.constant(torch.ones(length, keys, dtype=torch.bool).tril()), False
    if mask is not None and mask.const is not None:
        mask, is_causal = _known_mask(mask, is_causal)
    keyed = None
    if mask is not None:
        mask, keyed = _additive(c, mask, q, keys), _keyed_rows(c, mask, q)
    attributes = {"is_causal": is_causal, "scale": scale if scale is not None else 1.0 / math.sqrt(q.shape[-1])}
    out = c.emit("scaled_dot_product_attention", [q, k, v, mask], attributes)
    return c.reshape(out if keyed is None else c.binary("multiply", out, keyed), shape)


def _keyed_rows(c: Emitter, mask: Tensor, q: Tensor) -> Tensor | None:
    """1 where a row has a key and 0 where torch's result is zero, for masks that can hide a row's own key.

    Those are rows that differ (causal) joined with a mask from an input (padding): padding on the left hides whole rows.
    Of a mask that is known at export it is known which.
    """
    if mask.dtype != torch.bool or mask.rank not in (2, 4):
        return None
    if mask.const is not None:
        keyed = mask.const.any(-1, keepdim=True)
        return None if bool(keyed.all()) else c.constant(keyed.to(q.dtype).reshape([1] * (4 - mask.rank) + list(keyed.shape)))
    if mask.rank != 4:
        return None
    small = c.before_broadcast(mask)
    if small.rank != 4 or small.shape[-2] == 1 or not _joins_padding(small.ssa):
        return None
    return c.shared(mask, "rows with a key", lambda: c.cast(c.reduce("reduce_or", small, [-1], True), q.dtype))


def _joins_padding(value: SSAValue) -> bool:
    """Whether the boolean is an `and` with a computed part that is the same for every row."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name not in ("ttir.logical_and", "ttir.broadcast", "ttir.reshape"):
        return False
    if owner.name != "ttir.logical_and":
        return _joins_padding(owner.operands[0])
    for part in owner.operands:
        maker = part.owner
        while isinstance(maker, Operation) and maker.name == "ttir.broadcast":
            part = maker.operands[0]
            maker = part.owner
        dims = shape_of(part)
        if len(dims) == 4 and dims[-2] == 1 and dims[-1] > 1:
            return True
    return any(_joins_padding(part) for part in owner.operands)


def _four(c: Emitter, x: Tensor) -> Tensor:
    """[batch, heads, length, size]; missing dimensions are added in front of the length, extra ones join the batch."""
    if x.rank == 3:
        return c.reshape(x, [x.shape[0], 1, *x.shape[1:]])
    if x.rank > 4:
        return c.reshape(x, [math.prod(x.shape[:-3]), *x.shape[-3:]])
    return x


def _known_mask(mask: Tensor, is_causal: bool) -> tuple[Tensor | None, bool]:
    """A mask known at export that lets everything through, or exactly the causal triangle, needs no tensor."""
    values: torch.Tensor = mask.const
    allowed = values if values.dtype == torch.bool else values == 0
    hidden = ~values if values.dtype == torch.bool else values <= -1e4
    if bool(allowed.all()):
        return None, is_causal
    length, keys = (values.shape[-2], values.shape[-1]) if values.dim() >= 2 else (1, values.shape[-1])
    triangle = torch.ones(length, keys, dtype=torch.bool).tril()
    if length == keys and bool((allowed == triangle).all()) and bool((hidden == ~triangle).all()):
        return None, True
    return mask, is_causal


def _additive(c: Emitter, mask: Tensor, q: Tensor, keys: int) -> Tensor:
    """[batch or 1, heads or 1, length, keys] in the query's dtype."""
    if mask.rank < 4:
        lead = [1] * (4 - mask.rank) if mask.rank != 3 or mask.shape[0] == 1 or q.shape[1] != 1 else []
        mask = c.reshape(mask, [*lead, *mask.shape] if lead else [mask.shape[0], 1, *mask.shape[1:]])
    elif mask.rank > 4:
        mask = c.reshape(mask, [math.prod(mask.shape[:-3]), *mask.shape[-3:]])
    if mask.dtype == torch.bool:
        mask = c.shared(mask, "additive mask", lambda: _numbers(c, mask, q.dtype))
    mask = c.cast(mask, q.dtype)
    return c.expand(mask, [*mask.shape[:2], q.shape[2], keys])


def _numbers(c: Emitter, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """0 and MASKED from a boolean mask; what only repeats it stays behind, so that the small mask is converted."""
    small = c.before_broadcast(mask)
    ones = (1,) * small.rank
    added = c.where(small, c.full(ones, 0.0, dtype), c.full(ones, MASKED, dtype))
    return c.expand(added, mask.shape)


@rule("aten._scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(
    c: Emitter,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> list[Tensor]:
    attributes = {"is_causal": is_causal, "scale": scale if scale is not None else 1.0 / math.sqrt(q.shape[-1])}
    if dropout_p:
        raise Unsupported("attention dropout in training mode is random: call model.eval() first")
    mask = _additive(c, attn_mask, q, k.shape[-2]) if attn_mask is not None else None
    return [c.emit("scaled_dot_product_attention", [q, k, v, mask], attributes)]


Torch: TypeAlias = torch.Tensor


@recipe("aten._native_multi_head_attention.default")
def native_multi_head_attention(
    query: Torch, key: Torch, value: Torch, embed_dim: int, num_head: int, qkv_weight: Torch, qkv_bias: Torch,
    proj_weight: Torch, proj_bias: Torch, mask: Torch | None = None, need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> tuple[Torch, Torch]:  # fmt: skip
    if mask is not None or need_weights:
        raise NotImplementedError("the fused multi-head attention with a mask or with weights")
    n, length, _ = query.shape
    size = embed_dim // num_head
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (
        linear(part, weight, bias).reshape(n, -1, num_head, size).transpose(1, 2)
        for part, weight, bias in zip((query, key, value), weights, biases, strict=True)
    )
    out = torch.ops.aten.scaled_dot_product_attention(q, k, v)
    out = linear(out.transpose(1, 2).reshape(n, length, embed_dim), proj_weight, proj_bias)
    return out, out
