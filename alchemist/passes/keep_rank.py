"""Linears on flattened rows go back to the model's own rank, so that the views around them vanish."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, replace, single_use
from alchemist.ir.location import sources_of
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import reshaped


def _only_user(op: Operation) -> Operation | None:
    return next(iter(op.results[0].uses)).operation if single_use(op.results[0]) else None


@register("keep-rank", fusing=True)
class KeepRank(Pass):
    """reshape(linear(reshape(x, [B*S, K])), [B, S, N]) becomes linear(reshape(x, [B, S, K]))."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if not has_trait(op, "product") or access.attr(op, "transpose_a"):
                    continue
                view = defining(op.operands[0], "ttir.reshape")
                after = _only_user(op)
                if view is None or after is None or after.name != "ttir.reshape" or len(shape(op.operands[1])) != 2:
                    continue
                rows, out = shape(op.operands[0]), shape(after.results[0])
                if len(rows) != 2 or len(out) < 3 or out[-1] != shape(op.results[0])[-1]:
                    continue
                b = Builder.before(op)
                dims = (*out[:-1], rows[-1])
                b.source = sources_of(view) or None
                made = b.make(
                    op.name, [reshaped(b, view.operands[0], dims), *op.operands[1:]], {"transpose_b": access.attr(op, "transpose_b")}, [after.results[0].type]
                )
                add_sources(made, view, op, after)
                replace(after, list(made.results))
            erase_dead(func)
