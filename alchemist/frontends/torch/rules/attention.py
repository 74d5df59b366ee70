"""Lowers attention ops of torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.nn.functional import linear
from xdsl.ir import Operation, SSAValue

from alchemist.frontends.torch.emitter import Emitter, Tensor
from alchemist.frontends.torch.errors import EVAL_FIRST, Unsupported
from alchemist.frontends.torch.registry import recipe, rule
from alchemist.ir import access
from alchemist.ir.access import element_type
from alchemist.ir.access import shape as shape_of
from alchemist.ir.dialects import has_trait
from alchemist.ops.evaluate import evaluate
from alchemist.ops.spec import LARGEST_BFLOAT16
from alchemist.ops.transformer import MASKED_SCORE, NO_KEYS_SINK


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
        raise Unsupported(f"attention dropout in training mode is random: {EVAL_FIRST}")
    if q.rank < 3:
        raise Unsupported("attention on rank 2 tensors")
    shape = c.out_shape
    length, keys = q.shape[-2], k.shape[-2]
    q, k, v = (_four(c, part) for part in (q, k, v))
    if is_causal and length != keys:  # TTIR's causal flag is for equal lengths
        mask, is_causal = c.constant(torch.ones(length, keys, dtype=torch.bool).tril()), False
    if mask is not None and mask.const is not None:
        mask, is_causal = _known_mask(mask, is_causal)
    attributes = {"is_causal": is_causal, "scale": scale if scale is not None else 1.0 / math.sqrt(q.shape[-1])}
    return c.reshape(_attention(c, (q, k, v), mask, attributes), shape)


def _attention(c: Emitter, heads: tuple[Tensor, Tensor, Tensor], mask: Tensor | None, attributes: Mapping[str, Any]) -> Tensor:
    """torch's attention: zeros in rows without keys, where the device's softmax would give the mean of all values, or NaN."""
    mask, keyed = (None, None) if mask is None else _mask_and_keys(c, mask, heads[0], heads[1].shape[-2])
    sink = c.full((1, heads[0].shape[1], 1, 1), NO_KEYS_SINK, heads[0].dtype) if keyed is True else None
    out = c.emit("scaled_dot_product_attention", [*heads, mask, sink], attributes)
    return c.binary("multiply", out, keyed) if isinstance(keyed, Tensor) else out


def _mask_and_keys(c: Emitter, mask: Tensor, q: Tensor, keys: int) -> tuple[Tensor, Tensor | bool]:
    """(what is added to the scores, whether rows may have no key).

    Numbers from an input may be -inf in all of a row, whose result is then zero, or finite and as low, whose result is a mean: for such the second
    is 1 where a row has a number and 0 elsewhere.
    """
    mask = _mask_of_four(c, mask, q)
    keyed: Tensor | bool = False
    if mask.const is not None:
        allowed = mask.const if mask.dtype == torch.bool else mask.const > -math.inf
        rows = allowed.any(-1, keepdim=True)
        keyed = not bool(rows.all()) and (mask.dtype == torch.bool or c.constant(rows.to(q.dtype)))
        if mask.dtype != torch.bool and not bool(allowed.all()):
            mask = c.constant(mask.const.clamp(min=MASKED_SCORE))
    elif mask.dtype == torch.bool:
        keyed = not _keeps_first_key(c.before_broadcast(mask).ssa)
    else:
        lowest = _lowest(c, mask.ssa)
        original = mask
        if lowest == -math.inf:
            keyed = c.shared(original, "rows with a key", lambda: c.cast(_has_number(c, c.before_broadcast(original)), q.dtype))
        if lowest < -LARGEST_BFLOAT16:  # attention reads bfloat16, where such numbers are -inf
            mask = c.shared(original, "finite mask", lambda: c.expand(_finite(c, c.before_broadcast(original)), original.shape))
    return _additive(c, mask, q, keys), keyed


def _finite(c: Emitter, mask: Tensor) -> Tensor:
    """The mask with `MASKED_SCORE` for numbers that bfloat16 cannot store: as the fill of a `where` whose finite fill is too low, else by a maximum."""
    owner = mask.ssa.owner
    if isinstance(owner, Operation) and owner.name == "ttir.where":
        condition, *chosen = owner.operands
        lowest = [_lowest(c, value) for value in chosen]
        fills = [value for value, low in zip(chosen, lowest, strict=True) if low < -LARGEST_BFLOAT16]
        if min(lowest) > -math.inf and all(isinstance(fill.owner, Operation) and fill.owner.name == "ttir.full" for fill in fills):
            a, b = (c.full(shape_of(one), MASKED_SCORE, mask.dtype) if one in fills else c.value(shape_of(one), mask.dtype, one) for one in chosen)
            return c.where(c.value(shape_of(condition), torch.bool, condition), a, b)
    return c.binary("maximum", mask, MASKED_SCORE)


def _unmoved(value: SSAValue, last_dim: int | None = None) -> SSAValue:
    """The value whose elements were only moved to make this one. last_dim: moves that change a last dimension of this size are not followed."""
    while isinstance(value.owner, Operation) and has_trait(value.owner, "move") and (last_dim is None or value.owner.name != "ttir.permute"):
        source = value.owner.operands[0]
        if last_dim is not None and (shape_of(value)[-1:] != (last_dim,) or shape_of(source)[-1:] != (last_dim,)):
            break
        value = source
    return value


def _is_written_at(value: SSAValue) -> bool:
    """Whether the numbers are places of a write, moved or not: then they are not negative."""
    return any(
        (use.operation.name == "ttir.scatter" and use.index == 1) or (has_trait(use.operation, "move") and _is_written_at(use.operation.results[0]))
        for use in value.uses
    )


def _keeps_first_key(mask: SSAValue) -> bool:
    """Whether each row of a mask has key 0: `arange(keys) <= position` of a step that writes its keys at that position."""
    keys = shape_of(mask)[-1] if shape_of(mask) else 0
    comparison = _unmoved(mask, keys).owner
    if isinstance(comparison, Operation) and comparison.name == "ttir.le":
        numbers, position = comparison.operands
    elif isinstance(comparison, Operation) and comparison.name == "ttir.ge":
        position, numbers = comparison.operands
    else:
        return False
    maker = _unmoved(numbers, keys).owner
    if not isinstance(maker, Operation) or maker.name != "ttir.arange":
        return False
    ascends = access.attr(maker, "start") == 0 and access.attr(maker, "step") > 0 and shape_of(maker.results[0]) == (keys,)
    return ascends and _is_written_at(_unmoved(position))


def _has_number(c: Emitter, mask: Tensor) -> Tensor:
    """Whether a row has a value above -inf."""
    return c.binary("ge", c.reduce("max", mask, [-1], True), torch.finfo(mask.dtype).min, torch.bool)


def _lowest(c: Emitter, value: SSAValue) -> float:
    """The lowest value of a float mask: -inf if it comes from an input, else computed from its constants and parameters."""
    todo, seen, lowest = [value], set(), 0.0
    while todo:
        value = todo.pop()
        if value in seen or not element_type(value).startswith(("f", "bf")):
            continue
        seen.add(value)
        owner = value.owner
        if not isinstance(owner, Operation):
            lowest = min(lowest, float(c.stored[value].detach().min()) if value in c.stored else -math.inf)
            continue
        if not owner.operands:
            lowest = min(lowest, float(np.min(evaluate(owner, {})[0], initial=0.0)))
        todo += owner.operands
    return lowest


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


def _mask_of_four(c: Emitter, mask: Tensor, q: Tensor) -> Tensor:
    """[batch or 1, heads or 1, rows or 1, keys]."""
    if mask.rank < 4:
        lead = [1] * (4 - mask.rank) if mask.rank != 3 or mask.shape[0] == 1 or q.shape[1] != 1 else []
        return c.reshape(mask, [*lead, *mask.shape] if lead else [mask.shape[0], 1, *mask.shape[1:]])
    return c.reshape(mask, [math.prod(mask.shape[:-3]), *mask.shape[-3:]]) if mask.rank > 4 else mask


def _additive(c: Emitter, mask: Tensor, q: Tensor, keys: int) -> Tensor:
    """[batch or 1, heads or 1, length, keys] in the query's dtype."""
    if mask.dtype == torch.bool:
        mask = c.shared(mask, "additive mask", lambda: _numbers(c, mask, q.dtype))
    mask = c.cast(mask, q.dtype)
    return c.expand(mask, [*mask.shape[:2], q.shape[2], keys])


def _numbers(c: Emitter, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """0 and MASKED_SCORE from a boolean mask; what only repeats it stays behind, so that the small mask is converted."""
    small = c.before_broadcast(mask)
    ones = (1,) * small.rank
    added = c.where(small, c.full(ones, 0.0, dtype), c.full(ones, MASKED_SCORE, dtype))
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
        raise Unsupported(f"attention dropout in training mode is random: {EVAL_FIRST}")
    return [_attention(c, (q, k, v), attn_mask, attributes)]


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
