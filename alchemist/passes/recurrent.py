"""TTIR and TTNN: recurrent cells that are unrolled over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, ops_named, replace, single_use
from alchemist.ir.location import sources_of
from alchemist.ir.value import Value
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import sliced

# --- TTIR: matrix products of single time steps with one weight become one product of all steps: the input projections of a recurrent cell. ---

LEAST_SHARE = 0.5
"""Least share of the steps that products read, as the product computes all steps."""


@register("products-of-steps", fusing=True, from_level=1)
class ProductsOfSteps(Pass):
    """linear(x[t], w) of an x [T, B, K] for most t become parts of one linear(x, w): the weight is read once, and a step's product is a slice."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            _join(func)
            erase_dead(func)


def _join(func: FuncOp) -> None:
    groups: dict[Any, dict[int, list[Operation]]] = {}
    for op in func.body.block.ops:
        if not has_trait(op, "product") or access.attr(op, "transpose_a") or len(shape(op.operands[1])) != 2:
            continue
        step = _step(op.operands[0])
        if step is not None:
            attributes = str(access.attrs(op))
            groups.setdefault((op.name, step[0], tuple(op.operands[1:]), attributes, op.results[0].type), {}).setdefault(step[1], []).append(op)
    for (_, whole, _, _, _), steps in groups.items():
        if 1 < len(steps) >= LEAST_SHARE * shape(whole)[0]:
            _replace(whole, steps)


def _step(value: SSAValue) -> tuple[SSAValue, int] | None:
    """(the value of all steps, the step): matches a slice of one index of the first dim, which is dropped or 1."""
    view = defining(value, "ttir.reshape")
    cut = defining(value if view is None else view.operands[0], "ttir.slice_static")
    if cut is None or any(step != 1 for step in access.attr(cut, "step")):
        return None
    whole, begins, dims = cut.operands[0], access.attr(cut, "begins"), shape(cut.results[0])
    if len(dims) < 3 or dims[0] != 1 or dims[1:] != shape(whole)[1:] or shape(value) not in (dims, dims[1:]):
        return None
    return whole, int(begins[0])


def _replace(whole: SSAValue, steps: dict[int, list[Operation]]) -> None:
    """Creates the product of all steps before the first product of one step. steps: products in program order."""
    first = next(iter(steps.values()))[0]
    b = Builder.before(first)
    b.source = sources_of(first)
    new_op = b.make(first.name, [whole, *first.operands[1:]], access.attrs(first), of=element_type(first.results[0]))
    for step, ops in steps.items():
        for op in ops:
            add_sources(new_op, op)
            builder = Builder.before(op)
            builder.source = sources_of(op)
            replace(op, [Value(builder, new_op.results[0]).cut(0, step, step + 1).reshape(*shape(op.results[0])).ssa])


# --- TTIR: an op applied to every slice of a value is applied once, before the value is sliced: the gates of recurrent cells. ---

SLICE = "ttir.slice_static"
MOST_UNUSED = 1.5
"""Limit of the elements of the whole value per element that the slices read; computing so many more is cheaper than another program."""
_Range = tuple[tuple[int, ...], tuple[int, ...]]


@register("whole-before-parts", fusing=True, from_level=1)
class WholeBeforeParts(Pass):
    """a[:, :n] + b[:, :n] and a[:, n:] + b[:, n:] become parts of one a + b, and sigmoid of several parts of x parts of one sigmoid(x).

    Works on sums, differences and products whose operands have no other use, then on unary functions. A program of few tiles takes about as long as one
    of one tile.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            _gather(func, lambda op: has_trait(op, "arithmetic") and len(op.operands) == 2)
            _gather(func, lambda op: has_trait(op, "elementwise_unary") and len(op.operands) == 1)
            erase_dead(func)


def _gather(func: FuncOp, may: Callable[[Operation], bool]) -> None:
    """Groups of ops that apply the same function to slices of the same values."""
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
    """(the sliced value, its range) of a slice."""
    op = defining(value, SLICE)
    if op is None or any(step != 1 for step in access.attr(op, "step")) or shape(value) == shape(op.operands[0]):
        return None
    return op.operands[0], (tuple(access.attr(op, "begins")), tuple(access.attr(op, "ends")))


def _fill(dims: tuple[int, ...], ranges: Sequence[_Range]) -> bool:
    """Whether the slices differ and cover most of the value."""
    sizes = [math.prod(end - begin for begin, end in zip(*range_, strict=True)) for range_ in set(ranges)]
    return len(sizes) == len(ranges) and math.prod(dims) <= MOST_UNUSED * sum(sizes)


def _do_once(roots: Sequence[SSAValue], members: Sequence[tuple[Operation, _Range]]) -> None:
    first = members[0][0]
    b = Builder.before(first)
    b.source = sources_of(first)
    whole = b.make(first.name, list(roots), access.attrs(first), of=element_type(first.results[0]))
    for op, (begins, ends) in members:
        add_sources(whole, op)
        builder = Builder.before(op)
        builder.source = sources_of(op)
        replace(op, [sliced(builder, whole.results[0], begins, ends)])


# --- TTNN: duplicates a reshape that a long concat reads, for its other readers: then the ops of every time step are the same. ---

STEPS = 3
"""Tensors of a concat that may be the steps of a loop."""


@register("twin-views", fusing=True)
class TwinViews(Pass):
    """concat([..., y]) and f(y) of one y = reshape(x) become concat([..., y]) and f(reshape(x)): the last step of a recurrence, which is returned too."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.reshape", const_eval=False):
            users = list(dict.fromkeys(use.operation for use in op.results[0].uses))
            joins = [user for user in users if user.name == "ttnn.concat" and len(user.operands) >= STEPS]
            if len(joins) == 1 and len(users) > 1 and isinstance(op.operands[0].owner, Operation):
                _duplicate(op, joins[0], users)


def _duplicate(op: Operation, join: Operation, users: list[Operation]) -> None:
    block = op.parent
    assert block is not None
    others = {user for user in users if user is not join}
    twin = op.clone()
    first = next(op for op in block.ops if op in others)
    block.insert_op_before(twin, first)
    op.results[0].replace_uses_with_if(twin.results[0], lambda use: use.operation in others)
