"""Attention masks of two values as bfloat4_b (with an optimization level or `precision` bfp8, bfp8_lofi): every head reads its batch's mask again."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.spec import inline_scalar

ATTENTION = "ttnn.scaled_dot_product_attention"
FEWEST_HEADS = 4
"""Readings of a mask, by a head of an attention each, that are worth a cast."""
LEAST_MASKED = -1e4
"""What masks a position out: the other value is 0, so that a block's shared exponent loses nothing of it."""
_VIEWS = ("ttnn.repeat", "ttnn.reshape", "ttnn.permute", "ttnn.slice_static", "ttnn.typecast", "ttnn.to_layout")


def narrow_masks(func: FuncOp) -> None:
    """A cast behind each mask that holds only 0 and very negative values and that only attention reads."""
    readers: dict[SSAValue, list[Operation]] = {}
    for op in func.body.block.ops:
        if op.name == ATTENTION and access.operands(op, "attention_mask"):
            readers.setdefault(access.operands(op, "attention_mask")[0], []).append(op)
    for mask, attentions in readers.items():
        layout = layout_of(mask.type)
        heads = sum(access.shape(op.operands[0])[1] for op in attentions)
        alone = all(use.operation in attentions for use in mask.uses)
        if layout is None or layout.dtype != "bf16" or layout.page != "tile" or heads < FEWEST_HEADS or not alone or not _has_two_values(mask):
            continue
        shape = access.shape(mask)
        cast = Builder.before(attentions[0]).make("ttnn.typecast", [mask], {}, [layout.with_(shape, dtype="bfp_bf4").type_for(shape)])
        if isinstance(mask.owner, Operation):
            set_source(cast, *sources_of(mask.owner))
        mask.replace_uses_with_if(cast.results[0], lambda use, cast=cast: use.operation is not cast)  # type: ignore[misc]


def _has_two_values(value: SSAValue) -> bool:
    while (view := defining(value, *_VIEWS)) is not None:
        value = view.operands[0]
    chosen = defining(value, "ttnn.where")
    if chosen is not None:
        return all(_is_mask_value(inline_scalar(each)) for each in chosen.operands[1:])
    constant = defining(value, "ttnn.constant")
    return constant is not None and all(_is_mask_value(float(each)) for each in np.unique(np.asarray(access.attr(constant, "value"), dtype=np.float32)))


def _is_mask_value(value: float | None) -> bool:
    return value is not None and (value == 0 or -math.inf < value <= LEAST_MASKED)
