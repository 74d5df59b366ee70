"""Looking at and rebuilding small expressions of TTIR ops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import SourceInfo, set_source, sources_of


class Replace:
    """Makes ops at the place of the op that is replaced; the sources of the parts go to the new op."""

    def __init__(self, builder: Builder) -> None:
        self._b = builder

    def forget_values(self) -> None:
        """What is made from here on computes the framework's values in another order, if at all."""
        given = self._b.source
        infos = (given,) if isinstance(given, SourceInfo) else given or ()
        self._b.source = [replace(info, name="") for info in infos] or None

    def emit(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any], like: SSAValue, *parts: Operation) -> SSAValue:
        """An op whose result has the type of `like`."""
        made: OpResult = self._b.op(name, operands, attributes, [like.type])
        infos = [*sources_of(made.op), *(info for part in parts for info in sources_of(part))]
        set_source(made.op, *dict.fromkeys(infos))
        return made

    def reshape(self, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        if shape(value) == tuple(dims):
            return value
        return self._b.value("ttir.reshape", [value], {"shape": tuple(dims)}, [tensor(tuple(dims), access.element_type(value))])

    def permute(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        dims = tuple(shape(value)[axis] for axis in order)
        return self._b.value("ttir.permute", [value], {"permutation": tuple(order)}, [tensor(dims, access.element_type(value))])

    def op(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any], dims: Sequence[int], of: str) -> SSAValue:
        return self._b.value(name, operands, attributes, [tensor(tuple(dims), of)])


def op_of(value: SSAValue | None, *names: str) -> Operation | None:
    """The op that makes `value` if it has one of `names`."""
    op = value.op if isinstance(value, OpResult) else None
    return op if op is not None and op.name in names else None


def pairs(value: Operation | SSAValue | None, *names: str) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Both orders of a binary op's operands; nothing unless it has one of `names` (any op when none is given)."""
    op = value if isinstance(value, Operation) else value.op if isinstance(value, OpResult) else None
    if op is not None and len(op.operands) == 2 and (not names or op.name in names):
        yield op.operands[0], op.operands[1]
        yield op.operands[1], op.operands[0]


def single_use(value: SSAValue) -> bool:
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def number(value: SSAValue) -> float | None:
    """The number that a constant holds everywhere."""
    while (inner := op_of(value, "ttir.broadcast", "ttir.reshape")) is not None:
        value = inner.operands[0]
    op = op_of(value, "ttir.full")
    return float(access.attr(op, "fill_value")) if op is not None else None


def vector(value: SSAValue) -> SSAValue | None:
    """The 1-D value behind reshapes and broadcasts that only add dimensions of size 1."""
    while len(shape(value)) != 1:
        op = op_of(value, "ttir.reshape")
        if op is None or math.prod(shape(op.operands[0])) != math.prod(shape(value)):
            return None
        value = op.operands[0]
    return value


def squeeze_path(value: SSAValue, dims: tuple[int, ...]) -> SSAValue | None:
    """The value of shape `dims` from which reshapes made `value`."""
    while shape(value) != dims:
        op = op_of(value, "ttir.reshape")
        if op is None:
            return None
        value = op.operands[0]
    return value
