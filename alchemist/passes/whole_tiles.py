"""TTNN: columns that one product makes and another one reads are filled up to whole tiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import functions
from alchemist.ir.layout import TILE_EDGE, layout_of, tile_padded
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import NOTE
from alchemist.optimizer.movement import device_ns
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register

LEAST_GAIN_NS = 2000.0
"""Of all products that read the columns together: shapes that are not the model's are worth no less."""


@register("whole-tiles", fusing=True, from_level=1)
class WholeTiles(Pass):
    """linear(linear(x)) over 24 columns becomes one over 32, with zeros in both weights, where the clock says that it is faster (optimization_level 1 and 2).

    The reader of a product's first operand clears the columns of its last tile that belong to nothing, one by one, whenever it reads them.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            for group in _groups(func):
                if _gain_ns(group, self.options.card) >= LEAST_GAIN_NS:
                    _fill_up(group)


@dataclass(eq=False)
class _Group:
    """Values of the same columns. makers: products that make them. joins: ops between them. readers: products that read them."""

    values: list[SSAValue] = field(default_factory=list)
    makers: list[Operation] = field(default_factory=list)
    joins: list[Operation] = field(default_factory=list)
    readers: list[Operation] = field(default_factory=list)


def _groups(func: FuncOp) -> list[_Group]:
    """Groups whose values only products and joins make and read."""
    fixed = FixedValues(func)
    group_of: dict[SSAValue, _Group] = {}
    for op in func.body.block.ops:
        if _is_product(op, fixed) and _has_part_of_a_tile(op.results[0]):
            group_of[op.results[0]] = _Group([op.results[0]], [op])
        elif (
            op.name in named("ttnn", "arithmetic", "finite_at_zero")
            and op.operands
            and all(value.type == op.results[0].type and value in group_of for value in op.operands)
        ):
            merged = _merged(dict.fromkeys(group_of[value] for value in op.operands))
            merged.values.append(op.results[0])
            merged.joins.append(op)
            for value in merged.values:
                group_of[value] = merged
    return [group for group in dict.fromkeys(group_of.values()) if _find_readers(group, fixed)]


def _merged(groups: Iterable[_Group]) -> _Group:
    first, *others = groups
    for other in others:
        first.values += other.values
        first.makers += other.makers
        first.joins += other.joins
    return first


def _find_readers(group: _Group, fixed: FixedValues) -> bool:
    """Notes the products that read a group's values; False where something else does, or nothing."""
    joins = set(group.joins)
    for value in group.values:
        for use in value.uses:
            if use.operation in joins:
                continue
            if use.index != 0 or not _is_product(use.operation, fixed):
                return False
            group.readers.append(use.operation)
    return bool(group.readers)


def _is_product(op: Operation, fixed: FixedValues) -> bool:
    """A product of one matrix of weights that are fixed."""
    if not has_trait(op, "product") or access.attr(op, "transpose_a") or access.attr(op, "transpose_b") or not fixed.issuperset(op.operands[1:]):
        return False
    return op.operands[0] not in fixed and len(shape(op.operands[1])) == 2


def _has_part_of_a_tile(value: SSAValue) -> bool:
    kind = layout_of(value.type)
    return kind is not None and kind.page == "tile" and kind.dtype in ("bf16", "f32") and not kind.is_sharded and shape(value)[-1] % TILE_EDGE != 0


def _filled(columns: int) -> int:
    return tile_padded((columns,))[-1]


def _gain_ns(group: _Group, card: str) -> float:
    """What the products that read the columns take less."""
    whole = []
    for op in group.readers:
        dims, matrix = shape(op.operands[0]), shape(op.operands[1])
        kinds = [layout_of(value.type) for value in op.operands[:2]]
        assert kinds[0] is not None
        assert kinds[1] is not None
        columns = _filled(dims[-1])
        to = [kinds[0].with_((*dims[:-1], columns)).type_for((*dims[:-1], columns)), kinds[1].with_((columns, matrix[1])).type_for((columns, matrix[1]))]
        block = Block(arg_types=[*to, *(value.type for value in op.operands[2:])])
        made = type(op).create(operands=list(block.args), result_types=list(op.result_types), properties=dict(op.properties), attributes=dict(op.attributes))
        block.add_op(made)
        whole.append(made)
    return device_ns(group.readers, card) - device_ns(whole, card)


def _fill_up(group: _Group) -> None:
    columns = shape(group.values[0])[-1]
    note = f"{columns} columns and {_filled(columns) - columns} of zeros: whole tiles"
    for op in group.makers:
        for place in range(1, len(op.operands)):
            op.operands[place] = _padded(op.operands[place], -1, op)
        access.set_attr(op, NOTE, note)
    for op in dict.fromkeys(group.readers):
        op.operands[1] = _padded(op.operands[1], 0, op)
    for value in group.values:
        kind, dims = layout_of(value.type), (*shape(value)[:-1], _filled(columns))
        assert kind is not None
        value._type = kind.with_(dims).type_for(dims)


def _padded(value: SSAValue, axis: int, before: Operation) -> SSAValue:
    """With zeros at the end of an axis, up to whole tiles."""
    dims = list(shape(value))
    padding = [0] * (2 * len(dims))
    axis %= len(dims)
    padding[2 * axis + 1] = _filled(dims[axis]) - dims[axis]
    dims[axis] = _filled(dims[axis])
    kind, to = layout_of(value.type), tuple(dims)
    assert kind is not None
    b = Builder.before(before)
    made = b.make("ttnn.pad", [value], {"padding": padding, "value": 0.0, "use_multicore": True}, [kind.with_(to).type_for(to)], sources_of(before) or None)
    return made.results[0]
