"""Attention that writes its heads side by side: the statement that joins them goes."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir.access import set_attr, shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase, ops_named, replace, single_use
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.passes.registry import Pass, register

JOINED = "alchemist.output_concat_heads"
_ATTENTION = "ttnn.scaled_dot_product_attention"


@register("join-attention-heads", fusing=True, from_level=1)
class JoinAttentionHeads(Pass):
    """scaled_dot_product_attention and concatenate_heads become one program, its result [B, 1, S, H*D]."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.concatenate_heads"):
            attention = defining(op.operands[0], _ATTENTION)
            if attention is not None and single_use(attention.results[0]):
                _join(attention, op)


def _join(attention: Operation, concatenate: Operation) -> None:
    batch, rows, columns = shape(concatenate.results[0])
    dims = (batch, 1, rows, columns)
    layout = layout_of(concatenate.results[0].type)
    if layout is None:
        return
    set_attr(attention, JOINED, True)
    attention.results[0]._type = layout.with_(dims).type_for(dims)
    for use in [use for use in concatenate.results[0].uses if use.operation.name == "ttnn.reshape"]:
        add_sources(use.operation, concatenate)
        use.operation.operands[0] = attention.results[0]
    if not concatenate.results[0].uses:
        erase(concatenate)
        return
    view = Builder.before(concatenate).make("ttnn.reshape", [attention.results[0]], {"shape": [batch, rows, columns]}, [concatenate.results[0].type])
    set_source(view, *sources_of(concatenate))
    replace(concatenate, list(view.results))
