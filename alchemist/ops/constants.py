"""Constant values: known at compile time, or computed from parameters and constants alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.dialects import TTOp, has_trait
from alchemist.ir.edit import defining
from alchemist.ops.evaluate import evaluate
from alchemist.ops.spec import inline_scalar

Array = np.ndarray[Any, Any]


def constant_of(value: SSAValue) -> Array | None:
    """The value of a TTIR constant op's result (a zero-stride view for splats)."""
    op = value.owner
    return evaluate(op, {})[0] if isinstance(op, Operation) and op.name.startswith("ttir.") and has_trait(op, "constant") else None


def uniform(array: Array | None) -> Any:
    """The one value of all elements, else None."""
    if array is None or array.size == 0:
        return None
    single = not any(array.strides) or array.size == 1
    first = array.reshape(-1)[0] if single else array.flat[0]
    return first.item() if single or bool((array == first).all()) else None  # NaN, which equals nothing, is one value where there is one


def behind_unit_views(value: SSAValue) -> SSAValue:
    """Looks through broadcasts and reshapes that only add or spread dims of size 1."""
    while (op := defining(value, "ttir.broadcast", "ttir.reshape")) is not None:
        if op.name == "ttir.reshape" and [n for n in shape(value) if n != 1] != [n for n in shape(op.operands[0]) if n != 1]:
            return value
        value = op.operands[0]
    return value


def number(value: SSAValue) -> float | None:
    """The number that a constant has everywhere, in TTIR or as a literal argument of a TTNN op."""
    scalar = inline_scalar(value)
    scalar = uniform(constant_of(behind_unit_views(value))) if scalar is None else scalar
    return None if scalar is None else float(scalar)


def scaled(value: SSAValue) -> tuple[SSAValue, float, list[Operation]] | None:
    """x * c, c * x or x / c with a constant c as (x, factor, ops); None for another value."""
    op = defining(value, "ttir.multiply", "ttir.div")
    if op is None:
        return None
    for x, other in (op.operands, reversed(op.operands)) if op.name == "ttir.multiply" else (op.operands,):
        if (factor := number(other)) is not None and (factor or op.name == "ttir.multiply"):
            return x, factor if op.name == "ttir.multiply" else 1.0 / factor, [op]
    return None


class FixedValues:
    """The values of a function that depend on parameters and constants alone, so that const-eval can compute them.

    Asked value by value (`value in fixed`) and remembered; the function may get new ops meanwhile. A parameter that an op writes to is not fixed, nor is
    the result of an op with effects or random values.
    """

    def __init__(self, func: FuncOp) -> None:
        self._func, self._facts = func, access.argument_attrs(func)
        self._known = {value: False for op in func.body.blocks[0].ops if op.name.startswith("tt") and not has_trait(op, "pure") for value in op.operands[:1]}

    def __contains__(self, value: SSAValue | None) -> bool:
        if value is None:
            return False
        stack = [value]
        while stack:
            current = stack[-1]
            op = current.owner
            if current in self._known:
                stack.pop()
            elif isinstance(current, BlockArgument):
                if current.index >= len(self._facts):  # an argument that came meanwhile
                    self._facts = access.argument_attrs(self._func)
                self._known[current] = access.is_fixed(self._facts[current.index])
            elif not isinstance(op, Operation) or not _is_computable(op):
                self._known[current] = False
            else:
                operands = [operand for operand in op.operands if defining(operand, "ttnn.get_device") is None]
                unknown = [operand for operand in operands if operand not in self._known]
                stack += unknown
                if not unknown:
                    self._known[current] = all(self._known[operand] for operand in operands)
        return self._known[value]

    def issuperset(self, values: Iterable[SSAValue]) -> bool:
        return all(value in self for value in values)


def _is_computable(op: Operation) -> bool:
    """Whether the op is pure and deterministic."""
    traits = op.info.traits if isinstance(op, TTOp) and not op.name.startswith("ttcore.") else frozenset()
    return not traits.isdisjoint(("pure", "creation", "loads_tensor")) and traits.isdisjoint(("non_cacheable", "duplicate_const_eval"))
