"""TTIR: what a step of decoding computes of its position alone, looked up in a table of all positions."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import erase_dead, functions
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.eltwise_binary import BINARY, TTIR_NAMES
from alchemist.passes.channels_last import ELEMENTWISE
from alchemist.passes.registry import Pass, register
from alchemist.passes.update_caches import position_of
from alchemist.passes.views import reshaped, sliced

_PER_POSITION = ELEMENTWISE | {f"ttir.{TTIR_NAMES.get(name, name)}" for name, *_ in BINARY} | {"ttir.concat", "ttir.reshape"}


@register("position-tables", fusing=True)
class PositionTables(Pass):
    """cos(position * frequencies), with the position that a cache is written at, becomes embedding(position, table); const-eval makes the table."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            places: dict[SSAValue, tuple[SSAValue, int]] = {}  # position -> positions of all users, length of the caches
            for op in func.body.block.ops:
                if op.name == "ttir.paged_update_cache":
                    places.setdefault(position_of(op.operands[2]), (op.operands[2], shape(op.operands[0])[2]))
            for position, (users, length) in places.items():
                _Tables(func, position, users, length).replace()
            if places:
                erase_dead(func)


class _Tables:
    """Rows that depend on one position and on what is fixed, and the tables that they are rows of."""

    def __init__(self, func: FuncOp, position: SSAValue, users: SSAValue, length: int) -> None:
        self._func, self._position, self._users, self._length = func, position, users, length
        self._fixed = FixedValues(func)
        self._made: dict[SSAValue, SSAValue] = {}
        self._ids: SSAValue | None = None
        self._rows: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = {}

    def replace(self) -> None:
        rows: dict[SSAValue, bool] = {self._position: False}  # value -> whether something costly is behind it
        for op in self._func.body.block.ops:
            if len(op.results) != 1 or op.name not in _PER_POSITION:
                continue
            if any(value in rows for value in op.operands) and all(value in rows or self._is_row(value) for value in op.operands) and _row(op.results[0]):
                rows[op.results[0]] = has_trait(op, "costly") or any(rows.get(value, False) for value in op.operands)
        found = [value for value, costly in rows.items() if costly and element_type(value) == "bf16"]
        for value in found:
            outside = [use for use in value.uses if not (use.operation.results and use.operation.results[0] in rows)]
            if outside:
                looked_up = self._look_up(value)
                for use in outside:
                    self._read(use.operation, use.index, value, looked_up)

    def _is_row(self, value: SSAValue) -> bool:
        return value in self._fixed and _row(value)

    def _look_up(self, value: SSAValue) -> SSAValue:
        """[1, B, K] of the table."""
        owner = value.owner
        assert isinstance(owner, Operation)
        b = Builder.before(owner)
        computed = owner
        while computed.name == "ttir.reshape" and isinstance(before := computed.operands[0].owner, Operation):
            computed = before
        b.source = sources_of(computed) or None
        users = shape(self._users)[0]
        width = shape(value)[-1]
        table = self._table(value)
        if self._ids is None:
            self._ids = reshaped(b, self._users, (1, users))
        return b.value("ttir.embedding", [self._ids, table], {}, [tensor((1, users, width), element_type(value))])

    def _table(self, value: SSAValue) -> SSAValue:
        """[length, K]: the value for every position, 0 and up."""
        if value in self._made:
            return self._made[value]
        if value is self._position:
            block = self._func.body.block
            b = Builder(block, block.first_op)
            end = self._length
            of = element_type(value)
            counted = b.op("ttir.arange", [], {"start": 0, "end": end, "step": 1, "arange_dimension": 0}, [tensor((end,), of)])
            self._made[value] = b.op("ttir.reshape", [counted], {"shape": (end, 1)}, [tensor((end, 1), of)])
            return self._made[value]
        if position_of(value) is self._position:
            return self._table(self._position)
        op = value.owner
        assert isinstance(op, Operation)
        b = Builder.in_place_of(op)
        operands = [self._fixed_row(b, one) if one in self._fixed else self._table(one) for one in op.operands]
        if op.name == "ttir.reshape":
            made = operands[0]
        else:
            copied = op.clone()
            for place, one in enumerate(operands):
                copied.operands[place] = one
            copied.location = op.location
            b.insert(copied)
            if op.name == "ttir.concat":
                access.set_attr(copied, "dim", 1)

            made = Rewriter.replace_value_with_new_type(copied.results[0], tensor((self._length, shape(value)[-1] if shape(value) else 1), element_type(value)))
        self._made[value] = made
        return made

    def _fixed_row(self, b: Builder, value: SSAValue) -> SSAValue:
        return reshaped(b, value, (1, math.prod(shape(value))))

    def _read(self, op: Operation, place: int, value: SSAValue, looked_up: SSAValue) -> None:
        """Operand `place` of `op` becomes the row: one per user where the op works on [1, B, H, K], else the first user's."""
        made = looked_up.owner
        assert isinstance(made, Operation)
        b = Builder.after(made)
        b.source = sources_of(made) or None
        _, users, width = shape(looked_up)
        out = shape(op.results[0]) if len(op.results) == 1 else ()
        if len(shape(value)) == 4 and len(out) == 4 and out[:2] == (1, users) and out[3] == width and op.name in _PER_POSITION:
            dims: tuple[int, ...] = (1, users, 1, width)
        else:
            dims = shape(value)
        if (value, dims) in self._rows:
            op.operands[place] = self._rows[value, dims]
            return
        if dims == shape(value):
            if users > 1:
                looked_up = sliced(b, looked_up, [0, 0, 0], [1, 1, width])
        self._rows[value, dims] = reshaped(b, looked_up, dims)
        op.operands[place] = self._rows[value, dims]


def _row(value: SSAValue) -> bool:
    """Whether only the last dim may be greater than 1."""
    return math.prod(shape(value)[:-1]) == 1
