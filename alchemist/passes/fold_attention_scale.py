"""A constant factor on the query or the key of an attention is part of the attention's scale."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import set_attr, shape
from alchemist.ir.edit import add_sources, erase_dead, functions, made_by, single_use
from alchemist.ops.constants import scaled
from alchemist.passes.registry import Pass, register


@register("fold-attention-scale", fusing=True)
class FoldAttentionScale(Pass):
    """attention(c * query, key) becomes attention(query, key) with c in its scale; the same for the key."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if op.name == "ttir.scaled_dot_product_attention":
                    for place in (0, 1):
                        _fold(op, place)
            erase_dead(func)


def _fold(attention: Operation, place: int) -> None:
    while (found := _factor(attention.operands[place])) is not None:
        product, source, factor = found
        own = access.attr(attention, "scale")
        own = 1.0 / math.sqrt(shape(attention.operands[0])[-1]) if own is None else own
        set_attr(attention, "scale", own * factor)
        owner = source.owner
        add_sources(owner if isinstance(owner, Operation) else attention, product, before=False)
        product.results[0].replace_all_uses_with(source)


def _factor(value: SSAValue) -> tuple[Operation, SSAValue, float] | None:
    """(c * x, x, c) behind what only moves values, as long as nothing else reads them."""
    while single_use(value):
        found = scaled(value)
        if found is not None:
            product = found[2][0]
            fits = found[0].type == value.type and found[1] > 0
            return (product, found[0], found[1]) if fits else None
        move = made_by(value, "move")
        if move is None:
            return None
        value = move.operands[0]
    return None
