"""Writes decisions into the IR: attributes, result layouts, moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ttnn_shim.queries import Memory
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.spec import NOTE
from alchemist.optimizer.level2 import Placed


def set_attributes(op: Operation, attributes: Mapping[str, Any]) -> None:
    """None leaves an attribute out."""
    for name, value in attributes.items():
        if value is None:
            op.properties.pop(name, None)
            op.attributes.pop(name, None)
        else:
            access.set_attr(op, name, value)


def layout_in(value: SSAValue, memory: Memory) -> TTNNLayout:
    """The value's layout in another memory."""
    have = layout_of(value.type)
    assert have is not None
    if memory.shard is None:
        return TTNNLayout.make(access.shape(value), have.dtype, have.page, memory.buffer.lower())
    (rows, columns), corners, _ = memory.shard
    ranges = tuple(((corners[at], corners[at + 1]), (corners[at + 2], corners[at + 3])) for at in range(0, len(corners), 4))
    (x0, y0), (x1, y1) = ranges[0]
    grid = (y1 - y0 + 1, x1 - x0 + 1)
    made = TTNNLayout.make(access.shape(value), have.dtype, have.page, memory.buffer.lower(), memory.layout.lower(), grid, ranges)
    assert made.shard_shape() == (rows, columns), (made.shard_shape(), memory)
    return made


def retype(value: SSAValue, memory: Memory) -> None:
    """Changes where the value lies."""
    layout = layout_in(value, memory)
    value._type = layout.type_for(access.shape(value))


def apply(placed: Placed) -> None:
    """Result layouts and attributes of all steps, and a `ttnn.to_memory_config` where a user wants another memory."""
    for number, step in enumerate(placed.graph.steps):
        taken = placed.plan.taken.get(number)
        if taken is None:
            continue
        op = step.op
        for index, memory in taken.moves:
            value = op.operands[index]
            kind = layout_in(value, memory).type_for(access.shape(value))
            move = Builder.before(op).make("ttnn.to_memory_config", [value], {NOTE: "reshard"}, [kind])
            set_source(move, *sources_of(op))
            op.operands[index] = move.results[0]
        set_attributes(op, taken.choice.priced.candidate.attributes)
        if step.results:
            for result in op.results:
                retype(result, taken.choice.result)
            for stale in ("memory_config",):
                op.properties.pop(stale, None)
                op.attributes.pop(stale, None)
