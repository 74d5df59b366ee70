"""TTIR: dims of size 1 and broadcasts that need no op of their own."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import all_ops, defining, erase_dead, functions, replace
from alchemist.ir.value import Value
from alchemist.ops import POINTWISE
from alchemist.ops.axes import Dims, Groups, Regrouped, dims_of
from alchemist.ops.constants import number
from alchemist.passes.registry import Pass, register
from alchemist.rewrite.moves import commute, regroup

# --- TTIR: ops leave out dimensions of size 1 that only reshapes around them add: what einsum makes of three operands, and of heads in groups of one.

MOST_DIMS = 4


@register("drop-unit-dims", fusing=True)
class DropUnitDims(Pass):
    """reshape(x, [B, S, D, 1]) * reshape(y, [B, S, 1, 1]), which reshapes alone read, becomes a reshape of x * reshape(y, [B, S, 1]): in tiles a last
    dimension of 1 is nearly all padding. A product of single rows with single columns is the sum of x * y.

    Elementwise ops, reductions, softmax and permutes of a reshape to more than four dims leave its units out wherever they are: behind them a reshape gives
    them back, to the next such op or for nothing.
    """

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            if (less := _without_unit(op)) is not None:
                commute(op, less)
            elif op.name in POINTWISE and len(op.operands) > 1 and (units := _last_units(op)):
                if (less := regroup(op, tuple((dim,) for dim in range(len(shape(op.results[0])) - units)))) is not None:
                    commute(op, less)
            elif op.name == "ttir.matmul" and _is_dot(op):
                _sum(op)


def _rank(op: Operation) -> int:
    return max(len(shape(value)) for value in (*op.operands, *op.results))


def _is_of_units(op: Operation) -> bool:
    """Whether the op reduces what a reshape only adds units to; groups that others make are left for norms."""
    view = defining(op.operands[0], "ttir.reshape") if has_trait(op, "reduction") else None
    return view is not None and [n for n in shape(view.operands[0]) if n != 1] == [n for n in shape(op.operands[0]) if n != 1]


def _last_units(op: Operation) -> int:
    """How many last dimensions are 1 in all operands, if reshapes make the operands and take the result; 0 for none."""
    result = op.results[0]
    rank = len(shape(result))
    if rank < 3 or any(len(shape(value)) not in (0, rank) for value in op.operands):
        return 0
    users = [use.operation for use in result.uses]
    if not users or any(user.name != "ttir.reshape" for user in users):
        return 0
    if any(len(shape(value)) == rank and not _is_made_of_units(value) for value in op.operands):
        return 0
    count = 0
    while count < rank - 2 and all(shape(value)[rank - 1 - count] == 1 for value in (*op.operands, result) if shape(value)):
        count += 1
    return count


def _without_unit(op: Operation) -> Regrouped | None:
    """The op without a dim of the operands, all of them reshapes or constants of one rank, that is 1 in them and in the result."""
    if len(op.results) != 1 or (has_trait(op, "reduction") and not _is_of_units(op)) or _rank(op) <= MOST_DIMS:
        return None
    dims = [shape(value) for value in op.operands if shape(value)]
    if len({len(each) for each in dims}) != 1 or not all(_is_made_of_units(value) for value in op.operands if shape(value)):
        return None
    if not any(defining(value, "ttir.reshape") is not None for value in op.operands):
        return None
    units = [dim for dim in range(len(dims[0])) if all(each[dim] == 1 for each in dims)]
    return next((found for dim in units if (found := regroup(op, _without(dim, len(dims[0])))) is not None), None)


def _without(place: int, rank: int) -> Groups:
    return tuple((dim,) for dim in range(rank) if dim != place)


def _is_dot(op: Operation) -> bool:
    """Whether every matrix of a batch is one row, and one column of the other operand."""
    rows, columns = (shape(value) for value in op.operands)
    plain = not access.attr(op, "transpose_a") and not access.attr(op, "transpose_b")
    return plain and len(rows) > 2 and rows[:-2] == columns[:-2] and math.prod(rows[:-2]) > 1 and rows[-2] == columns[-1] == 1


def _sum(op: Operation) -> None:
    b, (*batch, _, columns) = Builder.in_place_of(op), shape(op.operands[0])
    x, y = (Value(b, value).reshape(*batch, columns) for value in op.operands)
    replace(op, [(x * y).reduce("sum", [len(batch)]).reshape(*shape(op.results[0])).ssa])


def _is_made_of_units(value: SSAValue) -> bool:
    return defining(value, "ttir.reshape", "ttir.full", "ttir.constant") is not None


# --- TTIR: what is computed of a reduction keeps the reduced dim if it is needed there again, as in x - max(x): no reshape in between. ---


@register("kept-dims", fusing=True)
class KeptDims(Pass):
    """reshape(f(max(x))) that gives the reduced dim back becomes f(max(x, keep_dim)), for an f of elementwise ops that all end so or in sums."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            place = {op: index for index, op in enumerate(func.body.block.ops)}
            for op in list(place):
                if op.parent is not None and op.name == "ttir.reshape" and (axis := _given_back(op)) is not None:
                    ops = _between(op.operands[0], shape(op.results[0]), axis)
                    if ops is not None:
                        _keep(sorted(ops, key=place.__getitem__), shape(op.results[0]), axis)
            erase_dead(func)


def _given_back(op: Operation) -> int | None:
    """The one dim of size 1 that a reshape adds."""
    dims, given = shape(op.results[0]), shape(op.operands[0])
    if len(dims) != len(given) + 1:
        return None
    return next((i for i in reversed(range(len(dims))) if dims[i] == 1 and (*dims[:i], *dims[i + 1 :]) == given), None)


def _keeps(op: Operation, kept: Dims, axis: int) -> bool:
    """Whether the op takes away exactly that dim."""
    if op.name == "ttir.reshape":
        return shape(op.operands[0]) == kept
    if not has_trait(op, "reduction") or access.attr(op, "keep_dim"):
        return False
    given = shape(op.operands[0])
    return dims_of(access.attrs(op), len(given)) == (axis,) and (*given[:axis], 1, *given[axis + 1 :]) == kept


def _between(value: SSAValue, kept: Dims, axis: int) -> set[Operation] | None:
    """The ops around `value` that work without the dim, from reductions to reshapes and sums; None if others make or read their values."""
    dims = shape(value)
    found: set[Operation] = set()
    pending = [value]
    while pending:
        op = pending.pop().owner
        if not isinstance(op, Operation):
            return None
        if op in found:
            continue
        found.add(op)
        if op.name in POINTWISE:
            if shape(op.results[0]) != dims or math.prod(dims) == 1:
                return None
            for operand in op.operands:
                if shape(operand) == dims and number(operand) is None:
                    pending.append(operand)
                elif number(operand) is None:
                    return None
        elif not _keeps(op, kept, axis):
            return None
        for use in op.results[0].uses:
            user = use.operation
            if user.name in POINTWISE:
                pending.append(user.results[0])
            elif not (user.name == "ttir.reshape" and shape(user.results[0]) == kept) and not has_trait(user, "reduction"):
                return None
    return found if any(has_trait(op, "reduction") for op in found) else None


def _keep(ops: list[Operation], kept: Dims, axis: int) -> None:
    """The reductions keep the dim, what works without it works with it, and the reductions behind that take it away, too."""
    with_it = tuple(() if dim == axis else (dim - (dim > axis),) for dim in range(len(kept)))
    readers = [use.operation for op in ops for use in op.results[0].uses if has_trait(use.operation, "reduction")]
    for op in ops:
        if has_trait(op, "reduction"):
            made = Value(Builder.in_place_of(op), op.operands[0]).reduce(op.name.removeprefix("ttir."), [axis])
            for user in [use.operation for use in op.results[0].uses if shape(use.operation.results[0]) == kept and use.operation.name == "ttir.reshape"]:
                replace(user, [made.ssa])
            replace(op, [made.reshape(*shape(op.results[0])).ssa])
    for op in (*(op for op in ops if op.name in POINTWISE), *readers):
        if (to := regroup(op, with_it)) is not None:
            commute(op, to)


# --- Elementwise ops broadcast by themselves: `ttir.broadcast` before them is dropped. ---

TAKING_BROADCASTS = named("ttir", "elementwise_binary", "elementwise_ternary") | {"ttir.clamp_tensor"}


def _share_scalars(func: FuncOp) -> None:
    """A scalar that is broadcast to several ranks has one form, that of the least rank: an optimizer's step size for matrices and vectors."""
    forms: dict[SSAValue, list[Operation]] = {}
    for op in func.body.block.ops:
        if op.name == "ttir.reshape" and math.prod(dims := shape(op.results[0])) == 1 and dims:
            forms.setdefault(op.operands[0], []).append(op)
    for ops in forms.values():
        least = min(ops, key=lambda op: len(shape(op.results[0])))
        if least is not ops[0]:
            least.detach()  # type: ignore[no-untyped-call]
            func.body.block.insert_op_before(least, ops[0])
        for op in ops:
            if op is least:
                continue
            for use in list(op.results[0].uses):
                others = [shape(value) for index, value in enumerate(use.operation.operands) if index != use.index]
                if use.operation.name in TAKING_BROADCASTS and shape(use.operation.results[0]) in others:
                    use.operation.operands[use.index] = least.results[0]


@register("implicit-broadcast")
class ImplicitBroadcast(Pass):
    """Elementwise ops take the operands of `ttir.broadcast` where the result's shape stays the same."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if op.name not in TAKING_BROADCASTS:
                    continue
                dims = shape(op.results[0])
                for index in range(len(op.operands)):
                    inner = defining(op.operands[index], "ttir.broadcast")
                    if inner is None:
                        continue
                    others = [shape(value) for i, value in enumerate(op.operands) if i != index]
                    small = shape(inner.operands[0])
                    if op.name == "ttir.where" and len({dim for dim in (small, *others) if math.prod(dim) > 1} - {dims}) > 1:
                        continue  # more shapes than a ternary program broadcasts
                    if np.broadcast_shapes(small, *others) == dims:
                        op.operands[index] = inner.operands[0]
            _share_scalars(func)
            erase_dead(func)
