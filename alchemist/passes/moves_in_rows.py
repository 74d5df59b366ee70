"""TTNN: reshapes, permutes, slices and concatenations that work on rows where tiles would have to be taken apart for each of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import connected, defining, erase, functions, replace
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import NOTE
from alchemist.optimizer.movement import FREE, Price, lies_in_tiles, price_of
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register

_TO_LAYOUT = "ttnn.to_layout"
_DTYPES = ("bf16", "f32")
_ROUNDS = 8
"""Of single changes; in the models of this project's tests the third one finds nothing more."""


@register("moves-in-rows", fusing=True, from_level=1)
class MovesInRows(Pass):
    """From optimization level 1 on, moves of data that are faster on rows than in tiles work on rows, with to_layout in front of them and behind.

    A window of pixels, a head or a token that does not begin a tile: the library takes all tiles apart and puts them together again, for each op. On
    rows a reshape is a view, and a permute moves lines. Which ops change is decided for all that hang together, beyond the clock's error.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            fixed = FixedValues(func)
            for group in _groups(func, fixed):
                _Group(group, fixed, self.options).rewrite()


def _groups(func: FuncOp, fixed: FixedValues) -> Iterator[list[Operation]]:
    """Moves that read each other's results or one value, in program order."""
    moves = [op for op in func.body.block.ops if _is_move(op, fixed)]
    known_by: dict[SSAValue, Operation] = {}
    links = [(op, known_by.setdefault(value, op)) for op in moves for value in (*op.operands, *op.results)]
    yield from connected(moves, links)


def _is_move(op: Operation, fixed: FixedValues) -> bool:
    values = [*op.operands, *op.results]
    return has_trait(op, "move") and len(op.results) == 1 and op.results[0] not in fixed and all(lies_in_tiles(value, _DTYPES) for value in values)


@dataclass(slots=True)
class _Value:
    """A value of the group with the op that takes its tiles apart, and the one that puts its rows into tiles.

    maker, readers: ops of the group. rows: the form of a value that enters the group. outside: it is read elsewhere, in tiles. leaving: ops that put it
    into rows for others.
    """

    maker: Operation | None
    readers: list[Operation] = field(default_factory=list)
    rows: SSAValue | None = None
    outside: bool = False
    leaving: list[Operation] = field(default_factory=list)
    to_rows: Operation | None = None
    to_tiles: Operation | None = None
    rows_price: Price = FREE
    tiles_price: Price = FREE


class _Group:
    """Moves that hang together: each works on tiles, or on rows."""

    def __init__(self, ops: list[Operation], fixed: FixedValues, options: CompilerOptions) -> None:
        self._ops, self._fixed, self._options = ops, fixed, options
        self._on_rows: dict[Operation, Operation] = {}
        self._values: dict[SSAValue, _Value] = {}
        self._prices: dict[tuple[Operation, bool], Price] = {}

    def rewrite(self) -> None:
        tiles = {op: price_of(op, self._options) for op in self._ops}
        if not 0 < sum(price.ns for price in tiles.values()) < math.inf:
            return
        self._prepare()
        for op, price in tiles.items():
            self._prices[op, False] = price
            self._prices[op, True] = price_of(self._on_rows[op], self._options)
        as_it_is = dict.fromkeys(self._ops, False)
        best = min((self._improved(dict.fromkeys(self._ops, start)) for start in (False, True)), key=self._ns)
        if not any(best.values()) or self._ns(as_it_is) - self._ns(best) <= self._error_ns(best) / 2:
            best = as_it_is
        self._settle(best)

    def _prepare(self) -> None:
        """Every op on rows, and every value in both forms."""
        for op in self._ops:
            for value in op.operands:
                if value not in self._values:
                    self._values[value] = self._entering(value, op)
                self._values[value].readers.append(op)
            result = op.results[0]
            rows = [self._rows_of(value) for value in op.operands]
            made = type(op).create(operands=rows, result_types=[_in_rows(result)], properties=op.properties, attributes=op.attributes)
            set_source(made, *sources_of(op))
            assert op.parent is not None
            op.parent.insert_op_before(made, op)
            self._on_rows[op] = made
            self._values[result] = self._made(op, made)
        inside = set(self._ops)
        for op in self._ops:
            made_here = self._values[op.results[0]]
            others = [use.operation for use in op.results[0].uses if use.operation not in inside and use.operation is not made_here.to_rows]
            made_here.leaving = [other for other in others if other.name == _TO_LAYOUT and other.results[0].type == _in_rows(op.results[0])]
            made_here.outside = len(others) > len(made_here.leaving)

    def _entering(self, value: SSAValue, reader: Operation) -> _Value:
        maker = defining(value, _TO_LAYOUT)
        if maker is not None and maker.operands[0].type == _in_rows(value):
            return _Value(None, rows=maker.operands[0])
        b = Builder.before(reader)
        b.source = sources_of(reader)
        to_rows = b.make(_TO_LAYOUT, [value], {NOTE: "rows: within tiles each of these moves takes all of them apart"}, [_in_rows(value)])
        price = FREE if value in self._fixed else price_of(to_rows, self._options)
        return _Value(None, rows=to_rows.results[0], to_rows=to_rows, rows_price=price)

    def _made(self, op: Operation, on_rows: Operation) -> _Value:
        b = Builder.after(op)
        b.source = sources_of(op)
        to_tiles = b.make(_TO_LAYOUT, [on_rows.results[0]], {}, [op.results[0].type])
        to_rows = b.make(_TO_LAYOUT, [op.results[0]], {}, [_in_rows(op.results[0])])
        return _Value(op, to_rows=to_rows, to_tiles=to_tiles, rows_price=price_of(to_rows, self._options), tiles_price=price_of(to_tiles, self._options))

    def _rows_of(self, value: SSAValue, chosen: Mapping[Operation, bool] | None = None) -> SSAValue:
        """What an op on rows reads."""
        known = self._values[value]
        if known.maker is not None and (chosen is None or chosen[known.maker]):
            return self._on_rows[known.maker].results[0]
        if known.rows is not None:
            return known.rows
        assert known.to_rows is not None
        return known.to_rows.results[0]

    def _conversion(self, value: _Value, chosen: Mapping[Operation, bool]) -> Price:
        """Of the value's other form, where something reads it."""
        if value.maker is not None and chosen[value.maker]:
            return value.tiles_price if value.outside or not all(chosen[reader] for reader in value.readers) else FREE
        return value.rows_price if value.leaving or any(chosen[reader] for reader in value.readers) else FREE

    def _prices_of(self, ops: Iterable[Operation], values: Iterable[_Value], chosen: Mapping[Operation, bool]) -> Iterator[Price]:
        yield from (self._prices[op, chosen[op]] for op in ops)
        yield from (self._conversion(value, chosen) for value in values)

    def _ns(self, chosen: Mapping[Operation, bool]) -> float:
        return sum(price.ns for price in self._prices_of(self._ops, self._values.values(), chosen))

    def _error_ns(self, chosen: Mapping[Operation, bool]) -> float:
        """Of what is not as it was."""
        changed = [op for op in self._ops if chosen[op]]
        return sum(price.error_ns for price in self._prices_of(changed, self._values.values(), chosen))

    def _improved(self, chosen: dict[Operation, bool]) -> dict[Operation, bool]:
        """Changes an op, or an op with what it reads, as long as that is faster."""
        for _ in range(_ROUNDS):
            changed = False
            for op in self._ops:
                makers = [maker for value in op.operands if (maker := self._values[value].maker) is not None]
                for several in ([op], [op, *makers]):
                    changed = self._change(several, chosen) or changed
            if not changed:
                break
        return chosen

    def _change(self, several: list[Operation], chosen: dict[Operation, bool]) -> bool:
        touched = list({id(value): value for op in several for each in (*op.operands, *op.results) for value in [self._values[each]]}.values())
        before = sum(price.ns for price in self._prices_of(several, touched, chosen))
        to, old = not chosen[several[0]], {op: chosen[op] for op in several}
        chosen.update(dict.fromkeys(several, to))
        if sum(price.ns for price in self._prices_of(several, touched, chosen)) < before:
            return True
        chosen.update(old)
        return False

    def _settle(self, chosen: Mapping[Operation, bool]) -> None:
        """Keeps each op in the chosen form, and the conversions that are read."""
        dead: list[Operation] = []
        for op in self._ops:
            value, rows = self._values[op.results[0]], self._on_rows[op]
            dead.append(op if chosen[op] else rows)
            if not chosen[op]:
                continue
            assert value.to_tiles is not None
            for place, operand in enumerate(op.operands):
                rows.operands[place] = self._rows_of(operand, chosen)
            for other in value.leaving:
                replace(other, [rows.results[0]])
            others = [use for use in op.results[0].uses if use.operation is not value.to_rows and not chosen.get(use.operation, False)]
            for use in others:
                use.operation.operands[use.index] = value.to_tiles.results[0]
        conversions = [each for value in self._values.values() for each in (value.to_rows, value.to_tiles) if each is not None]
        for op in (*conversions, *reversed(dead), *conversions):
            if op.parent is not None and not any(True for result in op.results for _ in result.uses):
                erase(op)


def _in_rows(value: SSAValue) -> TensorType[Attribute]:
    of = layout_of(value.type)
    assert of is not None
    return of.with_(shape(value), page="row_major").type_for(shape(value))
