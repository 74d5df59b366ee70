"""TTNN: columns and heads by way of transposes, which move whole tiles, where a reshape would take all tiles apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase, functions, replace, single_use
from alchemist.ir.layout import layout_of
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.optimizer.movement import lies_in_tiles, price_of
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register

RESHAPE, PERMUTE = "ttnn.reshape", "ttnn.permute"
_DTYPES = ("bf16", "f32", "si32", "u32")


@register("turned-moves", fusing=True, from_level=1)
class TurnedMoves(Pass):
    """From optimization level 1 on, reshapes that would move single elements become transposes and views, where that is faster.

    [.., M] as a column [.., M, 1] is a row that is turned. [B, S, H*D] as heads [B, H, S, D] is turned to [B, H*D, S], viewed as [B, H, D, S], whose
    tiles are the same if D is a number of tiles, and turned back; heads become rows of columns in the same way.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            fixed = FixedValues(func)
            for op in list(func.body.block.ops):
                if op.parent is not None and op.name in (RESHAPE, PERMUTE) and op.results[0] not in fixed and lies_in_tiles(op.results[0], _DTYPES):
                    self._turn(op)

    def _turn(self, op: Operation) -> None:
        before = defining(op.operands[0], RESHAPE if op.name == PERMUTE else PERMUTE)
        if before is not None and (not single_use(op.operands[0]) or not lies_in_tiles(before.operands[0], _DTYPES)):
            before = None
        moves = _Moves(op, (before if before is not None else op).operands[0])
        made = _heads(moves, before, op) if op.name == PERMUTE else _joined(moves, before, op) or _column(_Moves(op, op.operands[0]), op)
        if made is None:
            return
        replaced = [op] if made.start is op.operands[0] else [op, before] if before is not None else [op]
        if self._gains(made.ops, replaced):
            for each in made.ops:
                add_sources(each, *reversed(replaced[1:]))
            replace(op, [made.value])
            for each in replaced[1:]:
                erase(each)
        else:
            for each in reversed(made.ops):
                erase(each)

    def _gains(self, made: Sequence[Operation], replaced: Sequence[Operation]) -> bool:
        """Beyond half the clock's error of the new ops."""
        new, old = [price_of(op, self.options) for op in made], [price_of(op, self.options) for op in replaced]
        gain = sum(each.ns for each in old) - sum(each.ns for each in new)
        return math.isfinite(gain) and gain > sum(each.error_ns for each in new) / 2


class _Moves:
    """Moves in front of an op, one after the other."""

    def __init__(self, op: Operation, start: SSAValue) -> None:
        self.start = self.value = start
        self.ops: list[Operation] = []
        self._builder = Builder.before(op)
        self._builder.source = sources_of(op) or None

    def _make(self, name: str, attributes: dict[str, object], dims: tuple[int, ...]) -> None:
        of = layout_of(self.value.type)
        assert of is not None
        made = self._builder.make(name, [self.value], attributes, [of.with_(dims).type_for(dims)])
        self.ops.append(made)
        self.value = made.results[0]

    def reshape(self, *dims: int) -> None:
        if shape(self.value) != dims:
            self._make(RESHAPE, {"shape": dims}, dims)

    def turn(self) -> None:
        """The last two dims change places."""
        dims = shape(self.value)
        rank = len(dims)
        self._make("ttnn.transpose", {"dim0": rank - 2, "dim1": rank - 1}, (*dims[:-2], dims[-1], dims[-2]))

    def permute(self, order: Sequence[int]) -> None:
        """Dims in front of the last two."""
        dims = shape(self.value)
        if list(order) != list(range(len(order))):
            whole = (*order, len(dims) - 2, len(dims) - 1)
            self._make(PERMUTE, {"permutation": whole}, tuple(dims[place] for place in whole))


def _column(moves: _Moves, op: Operation) -> _Moves | None:
    """A reshape to or from columns of one element each."""
    before, after = shape(moves.value), shape(op.results[0])
    columns = [len(dims) > 1 and dims[-1] == 1 and dims[-2] > 1 for dims in (before, after)]
    if not any(columns):
        return None
    if columns[0]:
        moves.turn()
    if columns[1]:
        moves.reshape(*after[:-2], 1, after[-2])
        moves.turn()
    else:
        moves.reshape(*after)
    return moves


def _heads(moves: _Moves, split: Operation | None, op: Operation) -> _Moves | None:
    """[.., S, X.., D] of rows, with S moved behind X: in front of D or behind it."""
    if split is None:
        return None
    dims, order = shape(op.operands[0]), tuple(access.attr(op, "permutation"))
    last = len(dims) - 1
    turned = order[-2] == last
    tokens = order[-1] if turned else order[-2]
    if last not in order[-2:] or tokens >= last - 1 or (not turned and order[-1] != last):
        return None
    outer, inner = dims[:tokens], dims[tokens + 1 :]
    moves.reshape(*outer, dims[tokens], math.prod(inner))
    moves.turn()
    moves.reshape(*outer, *inner, dims[tokens])
    moves.permute([place - (place > tokens) for place in order[:-2]])
    if not turned:
        moves.turn()
    return moves


def _joined(moves: _Moves, turned: Operation | None, op: Operation) -> _Moves | None:
    """[X.., S, D] with S moved in front of some of X, and those joined with D."""
    if turned is None:
        return None
    dims, order = shape(turned.operands[0]), tuple(access.attr(turned, "permutation"))
    tokens = order.index(len(dims) - 2)
    if order[-1] != len(dims) - 1 or tokens >= len(dims) - 2:
        return None
    outer, inner = order[:tokens], order[tokens + 1 : -1]
    moves.turn()
    moves.permute([*outer, *inner])
    moves.reshape(*(dims[place] for place in outer), math.prod(dims[place] for place in inner) * dims[-1], dims[-2])
    moves.turn()
    moves.reshape(*shape(op.results[0]))
    return moves
