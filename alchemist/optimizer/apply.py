"""Writes decisions into the IR: attributes, result layouts, moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ttnn_shim.queries import Memory
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.location import SourceInfo, set_source, sources_of
from alchemist.ops.spec import NOTE, RESHARD
from alchemist.optimizer.calls import maker_of
from alchemist.optimizer.decisions import spelled
from alchemist.optimizer.level2 import Placed
from alchemist.optimizer.placement import WINDOWS


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
            move = Builder.before(op).make("ttnn.to_memory_config", [value], {NOTE: RESHARD + spelled(memory)}, [kind])
            set_source(move, *sources_of(op))
            op.operands[index] = move.results[0]
        set_attributes(op, taken.choice.priced.candidate.attributes)
        if op.name in WINDOWS:
            _prepare_weights(op)
        if step.results:
            for result in op.results:
                retype(result, taken.choice.result)
            op.properties.pop("memory_config", None)  # a text's own: the type says it now
            op.attributes.pop("memory_config", None)
    _bring_back(placed)


def _prepare_weights(op: Operation) -> None:
    """Weights are prepared for the memory that the call reads its input from."""
    layout = layout_of(op.operands[0].type)
    if layout is None or layout.is_sharded or layout.on_host:
        return
    for value in op.operands[1:]:
        maker = maker_of(value)
        if maker is not None and access.attr(maker, "input_memory_config") is not None:
            access.set_attr(maker, "input_memory_config", access.memory_config(layout.buffer))


def _bring_back(placed: Placed) -> None:
    """Results that were made in L1 go to DRAM before the function returns them."""
    for place in placed.graph.returned:
        value = placed.graph.values[place]
        layout = layout_of(value.type)
        if layout is None or layout.buffer == "dram":
            continue
        kind = layout_in(value, Memory()).type_for(access.shape(value))
        for use in [use for use in value.uses if isinstance(use.operation, ReturnOp)]:
            move = Builder.before(use.operation).make("ttnn.to_memory_config", [value], {NOTE: RESHARD + "the result lies in DRAM"}, [kind])
            if isinstance(value.owner, Operation):
                set_source(move, *_outermost(value.owner))
            use.operation.operands[use.index] = move.results[0]


def _outermost(op: Operation) -> tuple[SourceInfo, ...]:
    """The op's source as a statement of the whole model: the move belongs to no layer."""
    return tuple(replace(info, scopes=info.scopes[:1]) for info in sources_of(op))
