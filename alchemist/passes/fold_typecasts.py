"""TTNN: casts there and back, and casts through a type that adds nothing."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.ir.layout import layout_of
from alchemist.passes.registry import Pass, defining, erase, ops_named, register

_EXACT = frozenset({("bf16", "f32"), ("u32", "si32"), ("si32", "u32"), ("u16", "u32"), ("u16", "si32"), ("u8", "u32"), ("u8", "si32")})
"""Casts that can be undone."""
_INTEGERS = frozenset({"u8", "u16", "u32", "si32"})
_INDICES = {"ttnn.topk": 1, "ttnn.sort": 1, "ttnn.argmax": 0}
"""Ops whose result of this number is an index: small and not negative."""
_COMPARING = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not")
_WHOLE = frozenset(f"ttnn.{name}" for name in ("floor", "ceil", "sign", *_COMPARING))
_KEEPING_WHOLE = frozenset(f"ttnn.{name}" for name in ("sum", "cumsum", "max", "min", "abs", "neg", "relu", "reshape", "permute", "to_layout", "sort", "topk"))


def is_whole(value: SSAValue) -> bool:
    """Whether the op that made a value gives whole numbers only."""
    while isinstance(value, OpResult):
        op = value.op
        if op.name in _INDICES and value.index == _INDICES[op.name]:
            return True
        if op.name == "ttnn.typecast" and _dtype(op.operands[0]) in _INTEGERS:
            return True
        if op.name not in _KEEPING_WHOLE:
            return op.name in _WHOLE
        value = op.operands[0]
    return False


def _dtype(value: SSAValue) -> str:
    layout = layout_of(value.type)
    return layout.dtype if layout is not None else ""


@register("fold-typecasts")
class FoldTypecasts(Pass):
    """Casts that cancel out or go through a needless type."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.typecast"):
            _fold(op)


def _fold(op: Operation) -> None:
    inner = defining(op.operands[0], "ttnn.typecast")
    if inner is None:
        return
    source = inner.operands[0]
    first, middle, last = _dtype(source), _dtype(inner.results[0]), _dtype(op.results[0])
    exact = (first, middle) in _EXACT or (first not in _INTEGERS and middle in _INTEGERS and is_whole(source))
    if first == last and exact and source.type == op.results[0].type:
        op.results[0].replace_all_uses_with(source)
        erase(op)
    elif (first, middle) == ("u32", "si32") and last not in _INTEGERS and is_whole(source):
        op.operands[0] = source
    else:
        return
    if not any(True for _ in inner.results[0].uses):
        erase(inner)
