"""The law of moves: what rearranges dims commutes with an op that does not look at the dims it moves, as `axes` of the op table says.

    op(x)  ->  back(op(there(x)))

`regroup` asks whether, `regions` how far; `commute` writes it, and what meets its inverse vanishes. Whether it pays is for the caller to say.
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

Known = dict[tuple[SSAValue, Groups], SSAValue]
"""Values in groups of their dims that are there already."""


def worked_dims(op: Operation) -> Dims:
    """The dims that groups for `op` are of: the result's, or the first operand's where the op reduces or permutes that."""
    return shape(op.operands[0] if has_trait(op, "reduction") or has_trait(op, "rearrangement") else op.results[0])


def regroup(op: Operation, groups: Groups) -> Regrouped | None:
    """The op with its dims in these groups; None where it does not work on them."""
    spec = TTIR_OPS.get(op.name)
    if spec is None or spec.axes is None or len(op.results) != 1:
        return None
    return spec.axes([shape(value) for value in op.operands], access.attrs(op), shape(op.results[0]), groups)


def regions(func: FuncOp, moved: Callable[[Operation], Regrouped | None]) -> list[dict[Operation, Regrouped]]:
    """The ops that `moved` gives new groups, by regions that hang together by values that both sides have in the same groups; in program order."""
    possible = {op: to for op in func.body.block.ops if (to := moved(op)) is not None}
    links = [
        (op, maker)
        for op, to in possible.items()
        for value, groups in zip(op.operands, to.operands, strict=True)
        if groups and isinstance(maker := value.owner, Operation) and maker in possible and possible[maker].result == groups
    ]
    return [{op: possible[op] for op in region} for region in connected(list(possible), links)]


def is_reshape(dims: Dims, groups: Groups) -> bool:
    """Whether no dim passes another one that is greater than 1, too."""
    moving = [dim for group in groups for dim in group if dims[dim] != 1]
    return moving == sorted(moving)


def commute(op: Operation, to: Regrouped, known: Known | None = None, *, outside: bool = False) -> None:
    """The op in new groups of dims, in front of it what groups its operands so, and behind it what brings the result's own dims back.

    known: what ops that are rewritten in program order share. outside: the ways there and back belong to what makes and reads the values, or those of the
    first and the last of several equal layers would be part of these.
    """
    known = {} if known is None else known
    b = Builder.in_place_of(op)
    operands: dict[int, SSAValue] = {}
    for place, (value, groups) in enumerate(zip(op.operands, to.operands, strict=True)):
        if groups is not None:
            key, maker = (value, groups), _behind_reshape(value).owner
            if outside:
                b.source = (sources_of(maker) if isinstance(maker, Operation) else ()) or sources_of(op) or None
            if key not in known:
                known[key] = _there(b, value, groups)
            operands[place] = known[key]
    b.source = sources_of(op) or None
    dims, result = shape(op.results[0]), b.like(op, operands, **to.attributes)
    b.source = _of_reader(op) if outside else sources_of(op) or None
    back = _back(Value(b, result), to.result, dims)
    known[back, to.result] = result
    replace(op, [back])
    for reader in [use.operation for use in back.uses] if is_reshape(dims, to.result) else ():
        if reader.name == "ttir.reshape" and shape(reader.results[0]) == shape(result):
            replace(reader, [result])


def _there(b: Builder, value: SSAValue, groups: Groups) -> SSAValue:
    dims = shape(value)
    to = grouped(dims, groups)
    if is_reshape(dims, groups):
        return Value(b, _behind_reshape(value)).reshape(*to).ssa
    order = _order(groups, len(dims))
    return Value(b, value).permute(*order).reshape(*to).ssa


def _back(value: Value, groups: Groups, dims: Dims) -> SSAValue:
    if is_reshape(dims, groups):
        return value.reshape(*dims).ssa
    order = _order(groups, len(dims))
    return value.reshape(*(dims[dim] for dim in order)).permute(*(order.index(dim) for dim in range(len(dims)))).ssa


def _order(groups: Groups, rank: int) -> Sequence[int]:
    """The dims as the groups have them, behind those that they leave out."""
    there = [dim for group in groups for dim in group]
    return [*(dim for dim in range(rank) if dim not in there), *there]


def _behind_reshape(value: SSAValue) -> SSAValue:
    op = defining(value, "ttir.reshape")
    return value if op is None else op.operands[0]


def _of_reader(op: Operation) -> tuple[SourceInfo, ...] | None:
    """The sources of the first reader; None where the value is returned, so that no reader's function has to hand it back."""
    readers = [use.operation for use in op.results[0].uses]
    if any(isinstance(reader, ReturnOp) for reader in readers):
        return None
    return next((sources for reader in readers if (sources := sources_of(reader))), None)
