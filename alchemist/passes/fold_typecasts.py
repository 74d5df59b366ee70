"""TTNN: casts there and back, and casts through a type that adds nothing."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.ir.access import attr
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import defining, erase, ops_named
from alchemist.ir.layout import layout_of
from alchemist.passes.registry import Pass, register

_EXACT = frozenset({("bf16", "f32"), ("u32", "si32"), ("si32", "u32"), ("u16", "u32"), ("u16", "si32"), ("u8", "u32"), ("u8", "si32")})
"""Casts that can be undone."""
_INTEGERS = frozenset({"u8", "u16", "u32", "si32"})
_INDICES = {"ttnn.topk": 1, "ttnn.sort": 1, "ttnn.argmax": 0}
"""Ops whose result of this number is an index: small and not negative."""
_NUMBERS = {"ttnn.full": ("fill_value",), "ttnn.clamp_scalar": ("min", "max"), "ttnn.zeros": (), "ttnn.ones": ()}
"""Ops with numbers that have to be whole as well."""


def is_whole(value: SSAValue) -> bool:
    """Whether the ops that made a value give whole numbers only."""
    seen, todo = {value}, [value]
    while todo:
        value = todo.pop()
        if not isinstance(value, OpResult):
            return False
        op = value.op
        if (
            has_trait(op, "integral")
            or (op.name in _INDICES and value.index == _INDICES[op.name])
            or (op.name == "ttnn.typecast" and _is_integer(op.operands[0]))
        ):
            continue
        numbers = [attr(op, name) for name in _NUMBERS.get(op.name, ())]
        if not has_trait(op, "keeps_integral") and (op.name not in _NUMBERS or not all(float(number).is_integer() for number in numbers)):
            return False
        operands = [operand for operand in op.operands if layout_of(operand.type) is not None]
        todo += [operand for operand in operands if operand not in seen]
        seen.update(operands)
    return True


def _is_integer(value: SSAValue) -> bool:
    return _dtype(value) in _INTEGERS


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
