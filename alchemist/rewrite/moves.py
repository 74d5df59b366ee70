"""Commutes ops with reshapes and permutes. An op that does not work on the moved dims (`axes` in the op table) commutes with the move.

    op(x)  ->  inverse(op(move(x)))

`regroup` tests whether an op commutes, `regions` finds connected ops that do, `commute` rewrites one. A move that meets its inverse cancels out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import connected, defining, replace
from alchemist.ir.location import SourceInfo, sources_of
from alchemist.ir.value import Value
from alchemist.ops.axes import Dims, Groups, Regrouped, grouped
from alchemist.ops.spec import TTIR_OPS

Regroupings = dict[tuple[SSAValue, Groups], SSAValue]
"""Values that are already regrouped, by the original value and the groups of its dims."""


def worked_dims(op: Operation) -> Dims:
    """The dims that the groups of `op` refer to: the first operand's if the op reduces or rearranges, else the result's."""
    return shape(op.operands[0] if has_trait(op, "reduction") or has_trait(op, "rearrangement") else op.results[0])


def regroup(op: Operation, groups: Groups) -> Regrouped | None:
    """How `op` changes if its dims form these groups; None if it does not commute with that."""
    spec = TTIR_OPS.get(op.name)
    if spec is None or spec.axes is None or len(op.results) != 1:
        return None
    return spec.axes([shape(value) for value in op.operands], access.attrs(op), shape(op.results[0]), groups)


def regions(func: FuncOp, regroup_op: Callable[[Operation], Regrouped | None]) -> list[dict[Operation, Regrouped]]:
    """The ops for which `regroup_op` returns groups, as connected regions: maker and reader regroup the value between them equally. In program order."""
    possible = {op: to for op in func.body.block.ops if (to := regroup_op(op)) is not None}
    links = [
        (op, maker)
        for op, to in possible.items()
        for value, groups in zip(op.operands, to.operands, strict=True)
        if groups and isinstance(maker := value.owner, Operation) and maker in possible and possible[maker].result == groups
    ]
    return [{op: possible[op] for op in region} for region in connected(list(possible), links)]


def is_reshape(dims: Dims, groups: Groups) -> bool:
    """Whether the groups keep the order of all dims greater than 1, so that a reshape is enough."""
    moving = [dim for group in groups for dim in group if dims[dim] != 1]
    return moving == sorted(moving)


def commute(op: Operation, to: Regrouped, shared: Regroupings | None = None, *, outside: bool = False) -> None:
    """Regroups the dims of an op: op(x) -> inverse(op(move(x))).

    shared: regrouped values, shared by ops that are rewritten in program order. outside: the moves get the source locations of the ops that make and read
    the values. Otherwise the moves at the first and the last of several equal layers would make these layers differ.
    """
    shared = {} if shared is None else shared
    b = Builder.in_place_of(op)
    operands: dict[int, SSAValue] = {}
    for place, (value, groups) in enumerate(zip(op.operands, to.operands, strict=True)):
        if groups is not None:
            key, maker = (value, groups), _behind_reshape(value).owner
            if outside:
                b.source = (sources_of(maker) if isinstance(maker, Operation) else ()) or sources_of(op) or None
            if key not in shared:
                shared[key] = _moved(b, value, groups)
            operands[place] = shared[key]
    b.source = sources_of(op) or None
    dims, result = shape(op.results[0]), b.like(op, operands, **to.attributes)
    b.source = _of_reader(op) if outside else sources_of(op) or None
    back = _inverse(Value(b, result), to.result, dims)
    shared[back, to.result] = result
    replace(op, [back])
    for reader in [use.operation for use in back.uses] if is_reshape(dims, to.result) else ():
        if reader.name == "ttir.reshape" and shape(reader.results[0]) == shape(result):
            replace(reader, [result])


def _moved(b: Builder, value: SSAValue, groups: Groups) -> SSAValue:
    dims = shape(value)
    to = grouped(dims, groups)
    if is_reshape(dims, groups):
        return Value(b, _behind_reshape(value)).reshape(*to).ssa
    order = _order(groups, len(dims))
    return Value(b, value).permute(*order).reshape(*to).ssa


def _inverse(value: Value, groups: Groups, dims: Dims) -> SSAValue:
    if is_reshape(dims, groups):
        return value.reshape(*dims).ssa
    order = _order(groups, len(dims))
    return value.reshape(*(dims[dim] for dim in order)).permute(*(order.index(dim) for dim in range(len(dims)))).ssa


def _order(groups: Groups, rank: int) -> Sequence[int]:
    """The permutation that the groups describe; dims in no group come first."""
    there = [dim for group in groups for dim in group]
    return [*(dim for dim in range(rank) if dim not in there), *there]


def _behind_reshape(value: SSAValue) -> SSAValue:
    op = defining(value, "ttir.reshape")
    return value if op is None else op.operands[0]


def _of_reader(op: Operation) -> tuple[SourceInfo, ...] | None:
    """The source locations of the first reader; None if the function returns the value, so that no reader's function has to return it."""
    readers = [use.operation for use in op.results[0].uses]
    if any(isinstance(reader, ReturnOp) for reader in readers):
        return None
    return next((sources for reader in readers if (sources := sources_of(reader))), None)
