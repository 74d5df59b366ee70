"""TTIR: values that cannot be negative need no absolute value, and what asks for their sign has one answer."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import defining, erase_dead, functions, replace
from alchemist.ops.constants import constant_of
from alchemist.passes.registry import Pass, register

_ASKED = {"ttir.ge": True, "ttir.lt": False}
"""Comparison with 0 -> what it says of a value that is not negative."""


@register("known-signs", fusing=True)
class KnownSigns(Pass):
    """abs(x) -> x and where(x >= 0, a, b) -> a for an x that cannot be negative, as a sum of exponentials: logsumexp and its gradient in JAX.

    A comparison with NaN would say False; the branch that it would choose is dropped all the same.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            known: set[SSAValue] = set()
            for op in list(func.body.block.ops):
                if len(op.results) != 1:
                    continue
                if _is_never_negative(op, known):
                    known.add(op.results[0])
                if op.name == "ttir.abs" and op.operands[0] in known:
                    replace(op, [op.operands[0]])
                elif op.name == "ttir.where":
                    _choose(op, known)
            erase_dead(func)


def _is_never_negative(op: Operation, known: set[SSAValue]) -> bool:
    if has_trait(op, "constant"):
        found = constant_of(op.results[0])
        return found is not None and bool((found >= 0).all())
    if op.name == "ttir.multiply" and op.operands[0] is op.operands[1]:
        return True
    if op.name == "ttir.maximum" and any(value in known for value in op.operands):
        return True
    return has_trait(op, "nonnegative") or (has_trait(op, "keeps_nonnegative") and all(value in known for value in op.operands))


def _choose(op: Operation, known: set[SSAValue]) -> None:
    mask = op.operands[0]
    while (view := defining(mask, "ttir.broadcast", "ttir.reshape")) is not None:
        mask = view.operands[0]
    asked = defining(mask, *_ASKED)
    if asked is None or asked.operands[0] not in known:
        return
    limit = constant_of(_behind_broadcast(asked.operands[1]))
    if limit is None or limit.any():
        return
    chosen = op.operands[1 if _ASKED[asked.name] else 2]
    if chosen.type != op.results[0].type:
        b = Builder.in_place_of(op)
        dims = shape(op.results[0])
        if len(dims) != len(shape(chosen)):
            return
        times = [size // own for size, own in zip(dims, shape(chosen), strict=True)]
        chosen = b.op("ttir.broadcast", [chosen], {"broadcast_dimensions": times}, [op.results[0].type])
    replace(op, [chosen])


def _behind_broadcast(value: SSAValue) -> SSAValue:
    op = defining(value, "ttir.broadcast", "ttir.reshape")
    return value if op is None else _behind_broadcast(op.operands[0])
