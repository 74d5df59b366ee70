"""`ttnn.deallocate` behind the last use of every intermediate tensor: the lifetimes of the emitted program."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.builder import Builder
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.ops.spec import INLINE
from alchemist.passes.registry import Pass, register

DEALLOCATE = "ttnn.deallocate"


def last_uses(func: FuncOp) -> dict[Operation, list[SSAValue]]:
    """op -> tensors that nothing reads behind it. Arguments, prepared weights and results are not among them.

    A view is a tensor of its own: with `force = false` the buffer lives until the last tensor that shares it is dropped.
    """
    last: dict[SSAValue, Operation] = {}
    for op in func.body.block.ops:
        for value in op.operands:
            if value in last:
                last[value] = op
        if op.name != "ttcore.load_cached" and INLINE not in op.attributes:
            last.update((result, op) for result in op.results if layout_of(result.type) is not None)
    found: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        if not any(isinstance(use.operation, ReturnOp) for use in value.uses):
            found.setdefault(op, []).append(value)
    return found


def frees(func: FuncOp) -> bool:
    """Whether the function says already where its tensors end; its order then stays as it is, too."""
    return any(op.name == DEALLOCATE for op in func.body.block.ops)


@register("deallocate")
class Deallocate(Pass):
    """Frees every intermediate tensor behind its last use; weights, arguments and results stay, and so do functions that free already."""

    enable_dealloc: bool = True

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if self.enable_dealloc and not is_const_eval(func) and not frees(func):
                for op, values in last_uses(func).items():
                    b = Builder.after(op)
                    for value in values:
                        b.make(DEALLOCATE, [value], {"force": False}, [])
