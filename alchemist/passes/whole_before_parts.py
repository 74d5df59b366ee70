"""TTIR: what all parts of a value go through is done to the whole of it, before it is cut: the gates of recurrent cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, replace, single_use
from alchemist.ir.location import sources_of
from alchemist.ir.op_class import has_trait
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import sliced

SLICE = "ttir.slice_static"
MOST_UNUSED = 1.5
"""Elements of the whole for one of the parts: what more is computed still takes less time than a program does to begin."""
_Range = tuple[tuple[int, ...], tuple[int, ...]]


@register("whole-before-parts", fusing=True, from_level=1)
class WholeBeforeParts(Pass):
    """a[:, :n] + b[:, :n] and a[:, n:] + b[:, n:] become parts of one a + b, and sigmoid of several parts of x parts of one sigmoid(x).

    Sums, differences and products, where nothing else reads the parts; then functions of single elements. A program of few tiles takes about as long
    as one of one tile.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            _gather(func, lambda op: has_trait(op, "arithmetic") and len(op.operands) == 2)
            _gather(func, lambda op: has_trait(op, "elementwise_unary") and len(op.operands) == 1)
            erase_dead(func)


def _gather(func: FuncOp, may: Callable[[Operation], bool]) -> None:
    """Groups of ops that do the same to parts of the same values."""
    groups: dict[Any, list[tuple[Operation, _Range]]] = {}
    for op in func.body.block.ops:
        if not may(op) or len(op.results) != 1:
            continue
        cuts = [cut for value in op.operands if (cut := _cut(value)) is not None]
        if len(cuts) < len(op.operands) or any(cut[1] != cuts[0][1] or shape(cut[0]) != shape(cuts[0][0]) for cut in cuts):
            continue
        if len(cuts) > 1 and (not all(map(single_use, op.operands)) or len({element_type(value) for value in (*op.operands, op.results[0])}) > 1):
            continue
        roots = tuple(cut[0] for cut in cuts)
        groups.setdefault((op.name, roots, str(access.attrs(op)), element_type(op.results[0])), []).append((op, cuts[0][1]))
    for (_, roots, _, _), members in groups.items():
        if len(members) > 1 and _fill(shape(roots[0]), [range_ for _, range_ in members]):
            _do_once(roots, members)


def _cut(value: SSAValue) -> tuple[SSAValue, _Range] | None:
    """What the value is a part of, and which."""
    op = defining(value, SLICE)
    if op is None or any(step != 1 for step in access.attr(op, "step")) or shape(value) == shape(op.operands[0]):
        return None
    return op.operands[0], (tuple(access.attr(op, "begins")), tuple(access.attr(op, "ends")))


def _fill(dims: tuple[int, ...], ranges: Sequence[_Range]) -> bool:
    """Whether different parts are most of the whole."""
    sizes = [math.prod(end - begin for begin, end in zip(*range_, strict=True)) for range_ in set(ranges)]
    return len(sizes) == len(ranges) and math.prod(dims) <= MOST_UNUSED * sum(sizes)


def _do_once(roots: Sequence[SSAValue], members: Sequence[tuple[Operation, _Range]]) -> None:
    first = members[0][0]
    b = Builder.before(first)
    b.source = sources_of(first)
    whole = b.make(first.name, list(roots), access.attrs(first), [tensor(shape(roots[0]), element_type(first.results[0]))])
    for op, (begins, ends) in members:
        add_sources(whole, op)
        at = Builder.before(op)
        at.source = sources_of(op)
        replace(op, [sliced(at, whole.results[0], begins, ends)])
