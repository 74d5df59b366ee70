"""Rows that are rearranged, worked on one by one and put back: the work is done on the rows where they lie."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import add_sources, defining, erase, rewrite, single_use
from alchemist.ir.location import sources_of
from alchemist.passes.channels_last import ELEMENTWISE
from alchemist.passes.fewer_moves import made_between, tiles_moved
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import View, joined, view_of

_ROWWISE = named("ttir", "product", "norm") | ELEMENTWISE


@register("undo-rows", fusing=True)
class UndoRows(Pass):
    """back(f(there(x))) becomes f(back(there(x))) where `back` permutes rows and f works on the last dim alone: linear, norms, elementwise.

    Where both permute rows that is f(x); heads that are joined and turned in front of a projection are turned once.
    """

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _undo, "ttir.permute")


def _undo(back: Operation) -> None:
    """back: the permute that may put rows back."""
    last = back.results[0]
    while single_use(last) and (user := next(iter(last.uses)).operation).name == "ttir.reshape":
        last = user.results[0]
    after, behind = view_of(last)
    work: list[Operation] = []
    value = after.root
    while single_use(value) and (op := row_wise(value)) is not None:
        work.append(op)
        value = op.operands[0]
        before, ahead = view_of(value)
        if any(op.name == "ttir.permute" for op in ahead):
            break
    else:
        return
    rows, result = rows_of(after), rows_of(before)
    whole = rows.over(result) if rows is not None and result is not None else None
    moves = [*ahead, *behind[:-1]]
    if not all(single_use(op.results[0]) for op in moves):
        return
    b = Builder.before(work[-1])
    b.source = tuple(dict.fromkeys(source for op in ahead for source in sources_of(op))) or None
    if whole is not None and whole.parts == joined([(math.prod(whole.shape), 1)]):
        source = before.root
    elif rows is None or (made := _moved_ahead(b, rows, before, work[-1].operands[0], [*ahead, *behind])) is None:
        return
    else:
        source = made
    for op in reversed(work):
        op.operands[0] = source
        dims = (*shape(source)[:-1], shape(op.results[0])[-1])
        source = Rewriter.replace_value_with_new_type(op.results[0], tensor(dims, element_type(op.results[0])))
    add_sources(work[-1], *ahead)
    add_sources(work[0], *behind, before=False)
    b = Builder.in_place_of(back)
    if shape(source) != shape(last):
        last.replace_all_uses_with(b.op("ttir.reshape", [source], {"shape": shape(last)}, [last.type]))
    else:
        last.replace_all_uses_with(source)


def _moved_ahead(b: Builder, rows: View, before: View, value: SSAValue, moves: list[Operation]) -> SSAValue | None:
    """What the work would read if the rows were put back in front of it, with what rearranges them there; None where that moves no less.

    rows: how the results are put back. before: how `value`, which the work reads now, is made.
    """
    width = shape(value)[-1]
    back = View(value, (*(tuple((size, stride * width) for size, stride in axis) for axis in rows.axes), joined([(width, 1)])))
    whole = back.over(before)
    if whole is None or whole.offset:
        return None
    made = whole.emit(b)
    new = made_between(whole.root, made)
    if tiles_moved(new) < tiles_moved(moves):
        return made
    for op in reversed(new):
        erase(op)
    return None


def row_wise(value: SSAValue) -> Operation | None:
    op = defining(value, *_ROWWISE)
    if op is None:
        return None
    if has_trait(op, "product") and (access.attr(op, "transpose_a") or len(shape(op.operands[1])) != 2 or len(shape(op.operands[0])) < 2):
        return None
    if op.name.endswith("_norm") and tuple(access.attr(op, "normalized_shape") or ()) != shape(value)[-1:]:
        return None
    return op


def rows_of(view: View) -> View | None:
    """The view with rows for elements; None where it rearranges anything inside its last dim."""
    width = shape(view.root)[-1] if shape(view.root) else 1
    if not view.axes or view.axes[-1] != (((width, 1),) if width > 1 else ()) or view.offset:
        return None
    axes = view.axes[:-1]
    if any(stride % width for axis in axes for _, stride in axis):
        return None
    return View(view.root, tuple(tuple((size, stride // width) for size, stride in axis) for axis in axes))
