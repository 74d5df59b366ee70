"""Private functions called from `@forward` are inlined: lowering knows one function."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from alchemist.errors import LoweringError
from alchemist.ir.edit import erase, functions, is_const_eval
from alchemist.ir.inline import callee_of, inline
from alchemist.passes.registry import Pass, register


def _called(module: ModuleOp) -> dict[str, FuncOp]:
    return {func.sym_name.data: func for func in functions(module) if not is_const_eval(func)}


@register("inline-calls")
class InlineCalls(Pass):
    """A call of a private function, or a composite, becomes the function's ops; functions that nothing calls any more are erased."""

    def run(self, module: ModuleOp) -> None:
        table = _called(module)
        inlined: set[str] = set()
        for func in list(functions(module)):
            pending: list[tuple[Operation, str, tuple[str, ...]]] = [(op, name, ()) for op in func.body.block.ops if (name := callee_of(op)) is not None]
            while pending:
                call, name, stack = pending.pop(0)
                callee = table.get(name)
                if callee is None or callee is func:
                    raise LoweringError("a call of no function that could be inlined", op=name)
                if name in stack:
                    raise LoweringError("a recursive call cannot be inlined", op=name)
                inlined.add(name)
                pending += [(op, inner, (*stack, name)) for op in inline(call, callee) if (inner := callee_of(op)) is not None]
        for name in inlined:
            visibility = table[name].sym_visibility
            if visibility is not None and visibility.data == "private":
                erase(table[name])
