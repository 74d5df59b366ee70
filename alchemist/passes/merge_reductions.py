"""Reductions of reductions, as in `x.mean(-1).mean(-1)`: one device program instead of two, without a rounding between them."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, replace, single_use
from alchemist.ops.reduction import dims_of
from alchemist.passes.registry import Pass, register


@register("merge-reductions", fusing=True)
class MergeReductions(Pass):
    """sum(sum(x, a), b) becomes sum(x, a and b); mean, max and min too. Dims of the inner one may stay where the outer one takes them away.

    Of an argmax that is there with and without its dim, the second is a reshape of the first.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                inner = defining(op.operands[0], op.name) if has_trait(op, "reduction") else None
                if inner is None or not single_use(inner.results[0]):
                    continue
                keep, kept = access.attr(op, "keep_dim"), access.attr(inner, "keep_dim")
                if element_type(inner.results[0]) != element_type(op.results[0]):
                    continue
                rank = len(shape(inner.operands[0]))
                first = dims_of(access.attrs(inner), rank)
                left = [dim for dim in range(rank) if kept or dim not in first]
                second = {left[dim] for dim in dims_of(access.attrs(op), len(left))}
                if keep != kept and (keep or not second.issuperset(first)):
                    continue
                made = Builder.before(op).make(op.name, [inner.operands[0]], {"dim_arg": sorted({*first, *second}), "keep_dim": keep}, [op.results[0].type])
                add_sources(made, inner, op)
                replace(op, list(made.results))
            _share_argmax(func)
            erase_dead(func)


def _share_argmax(func: FuncOp) -> None:
    """The program of an argmax takes longer than any reshape of its result."""
    made: dict[Any, Operation] = {}
    for op in list(func.body.block.ops):
        if op.name != "ttir.argmax":
            continue
        dims = tuple(dims_of(access.attrs(op), len(shape(op.operands[0]))))
        first = made.setdefault((op.operands[0], dims, element_type(op.results[0])), op)
        if first is not op:
            same = Builder.before(op).make("ttir.reshape", [first.results[0]], {"shape": list(shape(op.results[0]))}, [op.results[0].type])
            add_sources(same, op)
            replace(op, list(same.results))
