"""Elementwise ops broadcast by themselves: `ttir.broadcast` before them is dropped."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.ir.edit import defining, erase_dead, functions
from alchemist.ops.eltwise_binary import BINARY, TTIR_NAMES
from alchemist.passes.registry import Pass, register

BROADCASTING = frozenset(f"ttir.{TTIR_NAMES.get(name, name)}" for name, *_ in BINARY) | {"ttir.pow", "ttir.where", "ttir.clamp_tensor"}


def _share_scalars(func: FuncOp) -> None:
    """A scalar that is broadcast to several ranks has one form, that of the least rank: an optimizer's step size for matrices and vectors."""
    forms: dict[SSAValue, list[Operation]] = {}
    for op in func.body.block.ops:
        if op.name == "ttir.reshape" and math.prod(dims := shape(op.results[0])) == 1 and dims:
            forms.setdefault(op.operands[0], []).append(op)
    for ops in forms.values():
        least = min(ops, key=lambda op: len(shape(op.results[0])))
        if least is not ops[0]:
            least.detach()  # type: ignore[no-untyped-call]
            func.body.block.insert_op_before(least, ops[0])
        for op in ops:
            if op is least:
                continue
            for use in list(op.results[0].uses):
                others = [shape(value) for index, value in enumerate(use.operation.operands) if index != use.index]
                if use.operation.name in BROADCASTING and shape(use.operation.results[0]) in others:
                    use.operation.operands[use.index] = least.results[0]


@register("implicit-broadcast")
class ImplicitBroadcast(Pass):
    """Elementwise ops take the operands of `ttir.broadcast` where the result's shape stays the same."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if op.name not in BROADCASTING:
                    continue
                dims = shape(op.results[0])
                for index in range(len(op.operands)):
                    inner = defining(op.operands[index], "ttir.broadcast")
                    if inner is None:
                        continue
                    others = [shape(value) for i, value in enumerate(op.operands) if i != index]
                    small = shape(inner.operands[0])
                    if op.name == "ttir.where" and len({dim for dim in (small, *others) if math.prod(dim) > 1} - {dims}) > 1:
                        continue  # more shapes than a ternary program broadcasts
                    if np.broadcast_shapes(small, *others) == dims:
                        op.operands[index] = inner.operands[0]
            _share_scalars(func)
            erase_dead(func)
