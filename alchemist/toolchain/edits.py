"""How the rows of the table of older spellings change a module: one op is replaced, dropped or gets neighbours; places in the text stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.ir.builder import Builder
from alchemist.ir.dialects import op_classes
from alchemist.ir.location import place_of, set_place, sources_of

LowerStableHLO = Callable[[str, Sequence[SSAValue], Mapping[str, Attribute], Sequence[Attribute], Builder], Sequence[SSAValue]]
"""(op, operands, attributes, result types, where) -> the values of today's ops that compute a StableHLO op."""


class Edits:
    """lower: what the rows of ops that were StableHLO's in all but name need. current: the op that now stands where the row's op stood, if any.

    dead: ops whose results a row no longer reads. fills: whether the text makes tensors to be written to, as all did until 2025-11.
    oldest: first of the days on which tt-mlir took away what the parser has met, "" for today's text.
    """

    def __init__(self, lower: LowerStableHLO | None = None, oldest: str = "") -> None:
        self.lower = lower
        self.oldest = oldest
        self.current: Operation | None = None
        self.dead: set[Operation] = set()
        self.fills = False

    def replace(self, op: Operation, name: str, operands: Sequence[SSAValue] | None = None, properties: Mapping[str, Attribute] | None = None) -> Operation:
        """Puts an op of today's table into the place of `op`, with its results, attributes and place in the text."""
        new_op = op_classes()[name].create(
            operands=list(op.operands) if operands is None else list(operands),
            result_types=[result.type for result in op.results],
            properties=dict(op.properties) if properties is None else dict(properties),
            attributes=dict(op.attributes),
            location=op.location,
        )
        self.insert(op, new_op)
        self.values(op, list(new_op.results))
        self.current = new_op
        return new_op

    def insert(self, op: Operation, new_op: Operation) -> None:
        assert op.parent is not None
        op.parent.insert_op_before(new_op, op)
        set_place(new_op, place_of(op))

    def builder(self, op: Operation) -> Builder:
        made = Builder.before(op)
        made.source = sources_of(op) or None
        return made

    def values(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """Replaces the results of `op` and erases it."""
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value)
        self.erase(op)

    def erase(self, op: Operation) -> None:
        self.dead.update(value.owner for value in op.operands if isinstance(value.owner, Operation))
        op.detach()  # type: ignore[no-untyped-call]
        op.erase()
        self.current = None
