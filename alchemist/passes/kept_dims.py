"""TTIR: what is computed of a reduction keeps the reduced dim if it is needed there again, as in x - max(x): no reshape in between."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import erase_dead, functions, replace
from alchemist.ops.constants import constant_of, uniform
from alchemist.ops.reduction import dims_of
from alchemist.passes.registry import Pass, register
from alchemist.passes.rows import BROADCASTING, Dims


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
