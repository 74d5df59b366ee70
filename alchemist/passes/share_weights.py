"""A matrix that is the same for all batches is written once."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import defining, erase_dead, functions
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import reshaped


@register("share-weights", fusing=True)
class ShareWeights(Pass):
    """matmul(a, broadcast(w)) becomes matmul(a, w): one product of all rows, not one for each batch with a copy of the weight."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if not has_trait(op, "product") or access.attr(op, "transpose_a"):
                    continue
                matrix = _one_matrix(op.operands[1])
                if matrix is None or len(shape(op.operands[0])) != len(shape(op.operands[1])) or shape(op.results[0])[:-2] != shape(op.operands[0])[:-2]:
                    continue
                op.operands[1] = reshaped(Builder.in_place_of(op), matrix, shape(op.operands[1])[-2:])
            erase_dead(func)


def _one_matrix(value: SSAValue) -> SSAValue | None:
    """What is broadcast along leading dims alone, with those dims 1."""
    spread = defining(value, "ttir.broadcast")
    if spread is None:
        return None
    source = spread.operands[0]
    if shape(source)[-2:] != shape(value)[-2:] or any(n != 1 for n in shape(source)[:-2]) or len(shape(value)) < 3:
        return None
    moved = defining(source, "ttir.reshape")
    return moved.operands[0] if moved is not None and shape(moved.operands[0]) == shape(value)[-2:] else source
