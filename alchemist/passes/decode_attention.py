"""TTIR: attention of one new token per user over its cache."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import attr, element_type, operand, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, erase_dead, functions, replace
from alchemist.ir.layout import TILE_EDGE
from alchemist.ops.constants import behind_unit_views, number
from alchemist.passes.fuse_attention import LOWEST_SCORE
from alchemist.passes.registry import Pass, register
from alchemist.passes.update_caches import MOST_USERS, counts, position_of
from alchemist.passes.views import reshaped

_AFTER = {"ttir.le": (0, False), "ttir.ge": (1, False), "ttir.gt": (0, True), "ttir.lt": (1, True)}
"""Comparison -> the operand that counts the positions, and whether it says which are hidden."""


@register("decode-attention", fusing=True)
class DecodeAttention(Pass):
    """attention(query [B, H, 1, D], caches) that sees the positions up to the written one becomes scaled_dot_product_attention_decode, [1, B, H, D]."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            written = {op.operands[0]: op.operands[2] for op in func.body.block.ops if op.name == "ttir.paged_update_cache"}
            for op in list(func.body.block.ops) if written else ():
                if op.name == "ttir.scaled_dot_product_attention":
                    _decode(op, written)
            if written:
                erase_dead(func)


def _decode(op: Operation, written: dict[SSAValue, SSAValue]) -> None:
    query, key, value = op.operands[:3]
    mask = operand(op, "attention_mask")
    if mask is None or attr(op, "is_causal") or attr(op, "sliding_window_size") or key not in written or value not in written:
        return
    users, heads, rows, size = shape(query)
    if rows != 1 or users > MOST_USERS or heads > TILE_EDGE or shape(key) != shape(value) or shape(key)[0] != users:
        return
    at = position_of(written[key])
    if position_of(written[value]) is not at or last_visible(mask, shape(key)[2]) is not at:
        return
    b = Builder.in_place_of(op)
    given = [reshaped(b, query, (1, users, heads, size)), key, value, None, written[key], None]
    attributes = {"is_causal": True, "scale": attr(op, "scale")}
    dims = (1, users, heads, size)
    made = b.make("ttir.scaled_dot_product_attention_decode", given, attributes, [tensor(dims, element_type(op.results[0]))])
    replace(op, [reshaped(b, made.results[0], (users, heads, 1, size))])


def last_visible(mask: SSAValue, length: int) -> SSAValue | None:
    """The position up to which an additive mask of `length` columns is 0, everything behind it hidden; None for any other mask."""
    value = behind_unit_views(mask)
    while (cast := defining(value, "ttir.typecast")) is not None:
        value = behind_unit_views(cast.operands[0])
    chosen = defining(value, "ttir.where")
    if chosen is None:
        return None
    compared = defining(behind_unit_views(chosen.operands[0]), *_AFTER)
    fills = [number(value) for value in chosen.operands[1:]]
    if compared is None or None in fills:
        return None
    place, hides = _AFTER[compared.name]
    low, zero = fills if hides else reversed(fills)
    if zero != 0.0 or low is None or low > LOWEST_SCORE:
        return None
    along, position = compared.operands[place], compared.operands[1 - place]
    return position_of(position) if counts(along, length, -1) and shape(along)[-1:] == (length,) else None
