"""TTIR: ops leave out dimensions of size 1 that only reshapes around them add: what einsum makes of three operands, and of heads in groups of one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import all_ops, defining, replace
from alchemist.ops.reduction import dims_of
from alchemist.passes.channels_last import ELEMENTWISE
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import reshaped

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
