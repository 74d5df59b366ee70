"""TTIR: products of every sample with one matrix as one product of all rows: samples would be taken in turn, on the cores that one of them fills."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation

from alchemist.ir.access import shape
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import erase_dead, functions, is_const_eval
from alchemist.passes.registry import Pass, register
from alchemist.passes.rows import Dims, Rows, as_rows, has_rows, rearranged

_TILE = 32


@register("batches-as-rows", fusing=True)
class BatchesAsRows(Pass):
    """linear(x) of [B, S, K] becomes linear of [1, B*S, K] where a sample fills whole tiles (32 divides S), so that reshapes move nothing.

    Norms, reductions and elementwise ops of [B, S, K] between products work on the same rows.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if not is_const_eval(func) and (found := _worked_on(func)):
                for op, rows in found.items():
                    rearranged(op, rows)
                erase_dead(func)


def _worked_on(func: FuncOp) -> dict[Operation, Rows]:
    """The products and what is tied to them by values of all rows, in order."""
    possible: dict[Operation, Rows] = {}
    for op in func.body.block.ops:
        if not all(isinstance(value.type, TensorType) for value in (*op.operands, *op.results)):  # what works on the device itself
            continue
        is_one = len(op.results) == 1 and (has_trait(op, "product") or len(_worked_rows(op)) == 3)  # rotary embeddings of heads are left as they are
        if is_one and _has_samples(_worked_rows(op)) and (rows := as_rows(op, _moved, _broadcast)) is not None:
            possible[op] = rows
    reached = {op for op in possible if has_trait(op, "product") and not isinstance(op.operands[0], BlockArgument)}
    pending = list(reached)
    while pending:
        op = pending.pop()
        dims = _worked_rows(op)
        before = [value.owner for value in op.operands if shape(value)[:-1] == dims[:-1]]
        for other in (*before, *(use.operation for use in op.results[0].uses)):
            if isinstance(other, Operation) and other in possible and other not in reached:
                reached.add(other)
                pending.append(other)
    return {op: rows for op, rows in possible.items() if op in reached}


def _worked_rows(op: Operation) -> Dims:
    """The dims of the rows that the op makes, or that it reduces."""
    return shape(op.operands[0] if has_trait(op, "reduction") else op.results[0])


def _has_samples(dims: Dims) -> bool:
    return len(dims) in (3, 4) and dims[-2] % _TILE == 0 and math.prod(dims[:-2]) > 1


def _moved(dims: Dims) -> Dims:
    """The rows of all samples below one another."""
    return (1,) * (len(dims) - 2) + (math.prod(dims[:-1]), dims[-1])


def _broadcast(dims: Dims, result: Dims) -> Dims | None:
    if not has_rows(dims):
        return dims
    return _moved(dims) if dims[:-1] == result[:-1] else None
