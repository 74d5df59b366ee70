"""TTIR: an index that a look-up takes as it is counts from the front, so that its way from the end is not needed elsewhere either."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.edit import defining, replace, rewrite
from alchemist.ops.constants import constant_of
from alchemist.passes.registry import Pass, register

_LOOK_UPS = {"ttir.gather": 1, "ttir.embedding": 0}
"""Op -> its operand that holds indices, which the device reads as unsigned."""
_VIEWS = ("ttir.reshape", "ttir.typecast", "ttir.permute")


@register("plain-indices", fusing=True)
class PlainIndices(Pass):
    """where(i < 0, i + n, i) becomes i where a look-up reads i itself: the gradients of look-ups in JAX."""

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _drop, "ttir.where")


def _drop(op: Operation) -> None:
    index = _wrapped(op)
    if index is None or index.type != op.results[0].type or not _is_looked_up(_origin(index)):
        return
    replace(op, [index])


def _wrapped(op: Operation) -> SSAValue | None:
    mask, moved = defining(op.operands[0], "ttir.lt"), defining(op.operands[1], "ttir.add")
    index = op.operands[2]
    limit = constant_of(mask.operands[1]) if mask is not None and mask.operands[0] is index else None
    if limit is None or limit.any() or moved is None or index not in moved.operands:
        return None
    return index


def _origin(value: SSAValue) -> SSAValue:
    """The value behind views."""
    while (op := defining(value, *_VIEWS)) is not None:
        value = op.operands[0]
    return value


def _is_looked_up(value: SSAValue) -> bool:
    """Whether a look-up takes the value or a view of it."""
    for use in value.uses:
        place = _LOOK_UPS.get(use.operation.name)
        if (place is not None and use.index == place) or (use.operation.name in _VIEWS and _is_looked_up(use.operation.results[0])):
            return True
    return False
