"""Private functions called from `@forward` are inlined: lowering knows one function."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.ir.builder import Builder
from alchemist.ir.location import set_source, sources_of
from alchemist.options import CompilerOptions
from alchemist.passes.registry import erase, functions, is_const_eval, register


def _inline(call: CallOp, callee: FuncOp, stack: tuple[str, ...]) -> None:
    name = callee.sym_name.data
    if name in stack:
        raise LoweringError("a recursive call cannot be inlined", op=name)
    mapping: dict[SSAValue, SSAValue] = dict(zip(callee.args, call.operands, strict=True))
    b = Builder.before(call)
    for op in callee.body.block.ops:
        if isinstance(op, ReturnOp):
            for result, value in zip(call.results, op.operands, strict=True):
                result.replace_all_uses_with(mapping[value])
            break
        copied = op.clone(mapping)
        copied.location = op.location
        if not sources_of(copied) and sources_of(call):
            set_source(copied, *sources_of(call))
        b.insert(copied)
    erase(call)


def _called(module: ModuleOp) -> dict[str, FuncOp]:
    return {func.sym_name.data: func for func in functions(module) if not is_const_eval(func)}


@register("inline-calls")
def inline_calls(module: ModuleOp, options: CompilerOptions) -> None:
    """func.call of a private function becomes the function's ops; functions that nothing calls any more are erased."""
    del options
    table = _called(module)
    inlined: set[str] = set()
    for func in list(functions(module)):
        pending: list[tuple[Operation, tuple[str, ...]]] = [(op, ()) for op in func.body.block.ops if isinstance(op, CallOp)]
        while pending:
            call, stack = pending.pop(0)
            assert isinstance(call, CallOp)
            name = call.callee.root_reference.data
            callee = table.get(name)
            if callee is None or callee is func:
                raise LoweringError("a call of no function that could be inlined", op=name)
            before = call.prev_op
            _inline(call, callee, stack)
            inlined.add(name)
            op = before.next_op if before is not None else func.body.block.first_op
            for _ in range(sum(1 for _ in callee.body.block.ops) - 1):
                if isinstance(op, CallOp):
                    pending.append((op, (*stack, name)))
                op = op.next_op if op is not None else None
    for name in inlined:
        visibility = table[name].sym_visibility
        if visibility is not None and visibility.data == "private":
            erase(table[name])
