"""Key and value heads that are repeated for groups of query heads: attention reads one for the whole group."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.edit import add_sources, defining, erase_dead, functions
from alchemist.passes.registry import Pass, register


@register("group-attention-heads", fusing=True)
class GroupAttentionHeads(Pass):
    """attention(query, repeat(key), repeat(value)) becomes attention(query, key, value) where each head is repeated for the query heads beside it."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if op.name == "ttir.scaled_dot_product_attention":
                    found = [_before_repeat(value) for value in op.operands[1:3]]
                    sources = [one for one in found if one is not None]
                    if len(sources) == 2 and shape(sources[0][0])[1] == shape(sources[1][0])[1]:
                        for place, (source, ops) in enumerate(sources):
                            op.operands[place + 1] = source
                            add_sources(op, *ops)
            erase_dead(func)


def _before_repeat(value: SSAValue) -> tuple[SSAValue, list[Operation]] | None:
    """[B, KV, S, D] whose heads, each repeated in place, are those of `value`, and the ops that repeat them."""
    dims = shape(value)
    repeated = defining(value, "ttir.repeat_interleave")
    if repeated is not None and len(dims) == 4:
        return (repeated.operands[0], [repeated]) if access.attr(repeated, "dim") % 4 == 1 else None
    joined = defining(value, "ttir.reshape")
    spread = defining(joined.operands[0], "ttir.broadcast", "ttir.repeat") if joined is not None else None
    apart = defining(spread.operands[0], "ttir.reshape") if spread is not None else None
    if joined is None or spread is None or apart is None or len(dims) != 4:
        return None
    source = apart.operands[0]
    given = shape(source)
    if len(given) != 4 or shape(apart.results[0]) != (*given[:2], 1, *given[2:]):
        return None
    times = dims[1] // given[1]
    if dims != (given[0], given[1] * times, *given[2:]) or shape(spread.results[0]) != (*given[:2], times, *given[2:]):
        return None
    return source, [apart, spread, joined]
