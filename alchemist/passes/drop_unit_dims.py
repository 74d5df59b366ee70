"""TTIR: elementwise ops leave out dimensions of size 1 that only reshapes around them add: what einsum makes of three operands."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.passes.channels_last import ELEMENTWISE
from alchemist.passes.registry import Pass, all_ops, defining, register, replace
from alchemist.passes.views import reshaped


@register("drop-unit-dims", fusing=True)
class DropUnitDims(Pass):
    """reshape(x, [B, S, D, 1]) * reshape(y, [B, S, 1, 1]), which reshapes alone read, becomes a reshape of x * reshape(y, [B, S, 1]): in tiles a last
    dimension of 1 is nearly all padding. A product of single rows with single columns is the sum of x * y."""

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            if op.name in ELEMENTWISE and len(op.operands) > 1 and (dims := _last_units(op)):
                _drop(op, dims)
            elif op.name == "ttir.matmul" and _is_dot(op):
                _sum(op)


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
