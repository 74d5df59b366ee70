"""TTIR: dims of size 1 and broadcasts that need no op of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import all_ops, defining, erase_dead, functions, replace
from alchemist.ops.constants import constant_of, uniform
from alchemist.ops.eltwise_binary import BINARY, TTIR_NAMES
from alchemist.ops.reduction import dims_of
from alchemist.passes.convolutions import ELEMENTWISE
from alchemist.passes.registry import Pass, register
from alchemist.passes.rows import BROADCASTING
from alchemist.passes.views import Dims, reshaped

# --- TTIR: ops leave out dimensions of size 1 that only reshapes around them add: what einsum makes of three operands, and of heads in groups of one.

MOST_DIMS = 4
_LESS = ELEMENTWISE | {"ttir.softmax", "ttir.permute"}


@register("drop-unit-dims", fusing=True)
class DropUnitDims(Pass):
    """reshape(x, [B, S, D, 1]) * reshape(y, [B, S, 1, 1]), which reshapes alone read, becomes a reshape of x * reshape(y, [B, S, 1]): in tiles a last
    dimension of 1 is nearly all padding. A product of single rows with single columns is the sum of x * y.

    Elementwise ops, reductions, softmax and permutes of a reshape to more than four dims leave its units out wherever they are: behind them a reshape gives
    them back, to the next such op or for nothing.
    """

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            if (op.name in _LESS or _is_of_units(op)) and _rank(op) > MOST_DIMS and (unit := _unit(op)) is not None:
                _leave_out(op, unit)
            elif op.name in ELEMENTWISE and len(op.operands) > 1 and (dims := _last_units(op)):
                _drop(op, dims)
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


def _unit(op: Operation) -> int | None:
    """A dim of the operands, all of them reshapes or constants of one rank, that is 1 in them and in the result."""
    dims = [shape(value) for value in op.operands if shape(value)]
    if len({len(each) for each in dims}) != 1 or not all(_is_made_of_units(value) for value in op.operands if shape(value)):
        return None
    if not any(defining(value, "ttir.reshape") is not None for value in op.operands):
        return None
    summed = dims_of(access.attrs(op), len(dims[0])) if has_trait(op, "reduction") else ()
    softened = access.attr(op, "dimension") % len(dims[0]) if op.name == "ttir.softmax" else None
    return next((dim for dim in range(len(dims[0])) if dim != softened and dim not in summed and all(each[dim] == 1 for each in dims)), None)


def _leave_out(op: Operation, unit: int) -> None:
    b = Builder.in_place_of(op)
    result = op.results[0]
    operands = [reshaped(b, value, _without(shape(value), unit)) if shape(value) else value for value in op.operands]
    attributes, dims = dict(access.declared(op)), _without(shape(result), unit)
    if has_trait(op, "reduction"):
        summed = dims_of(access.attrs(op), len(shape(op.operands[0])))
        attributes["dim_arg"] = [dim - (dim > unit) for dim in summed]
        dims = _without(shape(result), unit if access.attr(op, "keep_dim") else unit - sum(dim < unit for dim in summed))
    elif op.name == "ttir.softmax":
        dim = access.attr(op, "dimension") % len(shape(result))
        attributes["dimension"] = dim - (dim > unit)
    elif op.name == "ttir.permute":
        order = access.attr(op, "permutation")
        attributes["permutation"] = tuple(each - (each > unit) for each in order if each != unit)
        dims = _without(shape(result), order.index(unit))
    made = b.op(op.name, operands, attributes, [tensor(dims, element_type(result))])
    replace(op, [reshaped(b, made, shape(result))])


def _without(dims: Sequence[int], place: int) -> tuple[int, ...]:
    return (*dims[:place], *dims[place + 1 :])


def _is_dot(op: Operation) -> bool:
    """Whether every matrix of a batch is one row, and one column of the other operand."""
    rows, columns = (shape(value) for value in op.operands)
    plain = not access.attr(op, "transpose_a") and not access.attr(op, "transpose_b")
    return plain and len(rows) > 2 and rows[:-2] == columns[:-2] and math.prod(rows[:-2]) > 1 and rows[-2] == columns[-1] == 1


def _sum(op: Operation) -> None:
    b = Builder.in_place_of(op)
    result, of = op.results[0], element_type(op.results[0])
    dims = (*shape(op.operands[0])[:-2], shape(op.operands[0])[-1])
    x, y = (reshaped(b, value, dims) for value in op.operands)
    product = b.op("ttir.multiply", [x, y], {}, [tensor(dims, of)])
    total = b.op("ttir.sum", [product], {"dim_arg": [len(dims) - 1], "keep_dim": True}, [tensor((*dims[:-1], 1), of)])
    replace(op, [reshaped(b, total, shape(result))])


def _is_made_of_units(value: SSAValue) -> bool:
    return defining(value, "ttir.reshape", "ttir.full", "ttir.constant") is not None


def _drop(op: Operation, count: int) -> None:
    b = Builder.in_place_of(op)
    result = op.results[0]
    operands = [reshaped(b, value, shape(value)[:-count]) if shape(value) else value for value in op.operands]
    attributes = access.declared(op)
    made = b.op(op.name, operands, attributes, [tensor(shape(result)[:-count], element_type(result))])
    replace(op, [reshaped(b, made, shape(result))])


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
        if op.name in BROADCASTING:
            if shape(op.results[0]) != dims or math.prod(dims) == 1:
                return None
            for operand in op.operands:
                if shape(operand) == dims and _number(operand) is None:
                    pending.append(operand)
                elif _number(operand) is None:
                    return None
        elif not _keeps(op, kept, axis):
            return None
        for use in op.results[0].uses:
            user = use.operation
            if user.name in BROADCASTING:
                pending.append(user.results[0])
            elif not (user.name == "ttir.reshape" and shape(user.results[0]) == kept) and not has_trait(user, "reduction"):
                return None
    return found if any(has_trait(op, "reduction") for op in found) else None


def _number(value: SSAValue) -> float | None:
    found = uniform(constant_of(value))
    return None if found is None else float(found)


def _keep(ops: list[Operation], kept: Dims, axis: int) -> None:
    for op in ops:
        b = Builder.in_place_of(op)
        if op.name == "ttir.reshape":
            made: SSAValue = op.operands[0]
        elif has_trait(op, "reduction"):
            made = b.op(op.name, [op.operands[0]], {"dim_arg": [axis], "keep_dim": True}, [tensor(kept, element_type(op.results[0]))])
        else:
            for place, operand in enumerate(op.operands):
                if shape(operand) != kept:
                    ones = (1,) * len(kept)
                    fill = access.attr(operand.owner, "fill_value", _number(operand)) if isinstance(operand.owner, Operation) else None
                    op.operands[place] = b.op("ttir.full", [], {"shape": ones, "fill_value": fill}, [tensor(ones, element_type(operand))])
            Rewriter.replace_value_with_new_type(op.results[0], tensor(kept, element_type(op.results[0])))
            made = op.results[0]
        for user in [use.operation for use in op.results[0].uses]:
            if user.name == "ttir.reshape" and shape(user.results[0]) == kept:
                replace(user, [made])
            elif has_trait(user, "reduction"):
                _reduce(user, made, axis)
        if made is not op.results[0]:
            op.results[0].replace_all_uses_with(made)


def _reduce(op: Operation, value: SSAValue, axis: int) -> None:
    """The reduction of a value that keeps the dim: it takes that away, too."""
    rank = len(shape(value))
    dims = {dim + (dim >= axis) for dim in dims_of(access.attrs(op), rank - 1)}
    b = Builder.in_place_of(op)
    if access.attr(op, "keep_dim"):
        dims_kept = [1 if dim in dims else size for dim, size in enumerate(shape(value))]
        made = b.op(op.name, [value], {"dim_arg": sorted(dims), "keep_dim": True}, [tensor(dims_kept, element_type(op.results[0]))])
        made = b.op("ttir.reshape", [made], {"shape": shape(op.results[0])}, [op.results[0].type])
    else:
        made = b.op(op.name, [value], {"dim_arg": sorted({*dims, axis}), "keep_dim": False}, [op.results[0].type])
    replace(op, [made])


# --- Elementwise ops broadcast by themselves: `ttir.broadcast` before them is dropped. ---

TAKING_BROADCASTS = frozenset(f"ttir.{TTIR_NAMES.get(name, name)}" for name, *_ in BINARY) | {"ttir.pow", "ttir.where", "ttir.clamp_tensor"}


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
