"""TTIR: chains of reshapes and permutes as the one reshape, permute, reshape that they are, without dims of size 1 between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import erase, functions, made_by, replace, single_use
from alchemist.ir.location import sources_of
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import View, view_of

_TILE = 32


@register("fewer-moves", fusing=True)
class FewerMoves(Pass):
    """permute(reshape(x, [B, H, D, 1])) and other detours become at most reshape, permute, reshape, where fewer tiles move.

    A dim of size 1 behind the others costs a tile per element, whatever it is for.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in reversed(list(func.body.block.ops)):
                if op.parent is not None and has_trait(op, "rearrangement") and not _is_passed(op):
                    _shorten(op)


def _is_passed(op: Operation) -> bool:
    """Whether the result is only a step on the way of a longer chain."""
    value = op.results[0]
    return single_use(value) and has_trait(next(iter(value.uses)).operation, "rearrangement")


def _shorten(op: Operation) -> None:
    view, chain = view_of(op.results[0], lambda one: has_trait(one, "rearrangement") and (one is op or single_use(one.results[0])))
    if len(chain) < 2 or not _shows_all(view) or any(_turns_images(one) for one in chain):
        return
    b = Builder.before(op)
    b.source = tuple(dict.fromkeys(source for one in chain for source in sources_of(one))) or None
    made = made_between(view.root, value := view.emit(b))
    if tiles_moved(made) < tiles_moved(chain):
        replace(op, [value])
        for one in reversed(chain[:-1]):
            erase(one)
    else:
        for one in reversed(made):
            erase(one)


def _turns_images(op: Operation) -> bool:
    """Whether channels go to the end or come from there: values of windows lie with their channels last, so that such a permute is none."""
    order = list(access.attr(op, "permutation")) if op.name == "ttir.permute" else []
    rank = len(order)
    return rank >= 4 and order in ([0, *range(2, rank), 1], [0, rank - 1, *range(1, rank - 1)])


def _shows_all(view: View) -> bool:
    return not view.offset and math.prod(view.shape) == math.prod(shape(view.root)) != 0


def made_between(root: SSAValue, value: SSAValue) -> list[Operation]:
    """The views that lead from one value to another, makers first."""
    found: list[Operation] = []
    while value is not root and (op := made_by(value, "view")) is not None:
        found.append(op)
        value = op.operands[0]
    return found[::-1]


def tiles_moved(ops: Iterable[Operation]) -> int:
    """Tiles that the ops read and write. A reshape that leaves every row in its place moves none."""
    total = 0
    for op in ops:
        before, after = shape(op.operands[0]), shape(op.results[0])
        if op.name != "ttir.reshape" or not _keeps_rows(before, after):
            total += _tiles_of(before) + _tiles_of(after)
    return total


def _keeps_rows(before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether a reshape leaves tiles as they are."""
    if before[-1:] != after[-1:]:
        return False
    rows = [(1, *dims)[-2] for dims in (before, after)]
    return rows[0] == rows[1] or all(each % _TILE == 0 for each in rows)


def _tiles_of(dims: Sequence[int]) -> int:
    rows, columns = (1, 1, *dims)[-2:]
    return math.prod(dims[:-2]) * -(-rows // _TILE) * -(-columns // _TILE)
