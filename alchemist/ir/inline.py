"""Replaces a call by the ops of its function: `func.call`, and `ttcore.composite`, whose decomposition is a function."""

from __future__ import annotations

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.location import place_of, set_place, set_source, sources_of


def callee_of(op: Operation) -> str | None:
    """Name of the function that defines `op`, None for any other op."""
    if isinstance(op, CallOp):
        return op.callee.root_reference.data
    if op.name == "ttcore.composite" and isinstance(symbol := op.properties.get("decomposition"), SymbolRefAttr):
        return symbol.root_reference.data
    return None


def inline(call: Operation, callee: FuncOp) -> list[Operation]:
    """Erases `call` and returns the ops that were put in its place; they keep their sources, or take the call's."""
    mapping: dict[SSAValue, SSAValue] = dict(zip(callee.args, call.operands, strict=True))
    block = call.parent
    assert block is not None
    copies: list[Operation] = []
    for op in callee.body.block.ops:
        if isinstance(op, ReturnOp):
            for result, value in zip(call.results, op.operands, strict=True):
                result.replace_all_uses_with(mapping.get(value, value))
            break
        copied = op.clone(mapping)
        copied.location = op.location
        if not sources_of(copied) and sources_of(call):
            set_source(copied, *sources_of(call))
        set_place(copied, place_of(op) or place_of(call))
        block.insert_op_before(copied, call)
        copies.append(copied)
    block.erase_op(call)
    return copies
