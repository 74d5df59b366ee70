"""Writes decisions into the IR: attributes, result layouts, moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttnn_shim.queries import Memory
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.errors import InternalError
from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.location import SourceInfo, set_source, sources_of
from alchemist.ir.scopes import common_prefix
from alchemist.ops.spec import NOTE, RESHARD, TTNN_OPS
from alchemist.optimizer.calls import IN_PLACE, OVERWRITING, maker_of, memory_of
from alchemist.optimizer.decisions import spelled
from alchemist.optimizer.graph import DRAM, L1, reader_of, scopes_of
from alchemist.optimizer.level2 import Placed
from alchemist.optimizer.matmul import COMPUTE
from alchemist.optimizer.sharded import blocks_of, cores_of
from alchemist.optimizer.stream import maker_of_weight
from alchemist.optimizer.windows import CONV_CONFIG

PACKED = "up to the other tensors: what is read next needs one hole"


def layout_in(value: SSAValue, memory: Memory) -> TTNNLayout:
    """The value's layout in another memory.

    Raises:
        InternalError: shards that no layout of the value can express: the search chose an invalid memory.
    """
    have = layout_of(value.type)
    assert have is not None
    if memory.shard is None:
        return TTNNLayout.make(access.shape(value), have.dtype, have.page, memory.buffer.lower())
    (rows, columns), corners, _ = memory.shard
    ranges = tuple(((corners[i], corners[i + 1]), (corners[i + 2], corners[i + 3])) for i in range(0, len(corners), 4))
    cores = cores_of(memory)
    grid = {"HEIGHT_SHARDED": (cores, 1), "WIDTH_SHARDED": (1, cores)}.get(memory.layout) or blocks_of(memory)
    layout = TTNNLayout.make(access.shape(value), have.dtype, have.page, memory.buffer.lower(), memory.layout.lower(), grid, ranges)
    if layout.shard_shape() != (rows, columns) or layout.orientation.upper() != memory.shard[2]:
        raise InternalError(
            f"level 2 has placed a tensor {list(access.shape(value))} in shards that it cannot have",
            op=value.owner.name if isinstance(value.owner, Operation) else "",
            expected=f"shards of {list(layout.shard_shape())} on {cores} cores",
            got=spelled(memory),
        )
    return layout


def retype(value: SSAValue, memory: Memory) -> None:
    """Sets the memory of the value's type."""
    layout = layout_in(value, memory)
    value._type = layout.type_for(access.shape(value))


def _moved(value: SSAValue, memory: Memory, why: str) -> str:
    """The remark of a move; shards that lie in L1 already become interleaved there."""
    layout = layout_of(value.type)
    return RESHARD + ("interleaved " if layout is not None and layout.is_sharded and memory == L1 else "") + spelled(memory) + ";" + why


OUTPUT = ": a program output"
"""Why a result is moved to DRAM."""


def _why_moved(placed: Placed, number: int, index: int, source: Memory) -> str:
    """Whether the step's best way with this operand where it was takes longer, or there is none. Without figures, which may differ between equal layers."""
    step, decision = placed.graph.steps[number], placed.plan.taken[number]
    place = [operand for operand, _ in step.operands].index(index)
    others = [choice.ns for choice in placed.options.get(number, ()) if choice.operands[place] == source]
    name = _name(step.op)
    return f": {name} is faster so" if others and min(others) > decision.choice.ns else f" for {name}"


def _readers_in_place(placed: Placed) -> dict[int, list[str]]:
    """By value, the ops that read it where it lies: not those before which it is moved again."""
    found: dict[int, dict[str, None]] = {}
    for number, step in enumerate(placed.graph.steps):
        decision = placed.plan.taken.get(number)
        moved = {index for index, _ in decision.moves} if decision is not None else ()
        for index, place in step.operands:
            if index not in moved:
                found.setdefault(place, {})[_name(step.op)] = None
    return {place: list(names) for place, names in found.items()}


def _name(op: Operation) -> str:
    spec = TTNN_OPS.get(op.name)
    return (spec.target if spec is not None else op.name).rpartition(".")[2]


def apply(placed: Placed) -> None:
    """Writes result layouts and attributes of all steps, and a `ttnn.to_memory_config` where a user needs another memory."""
    readers_of = _readers_in_place(placed)
    for number, step in enumerate(placed.graph.steps):
        decision = placed.plan.taken.get(number)
        if decision is None:
            continue
        op = step.op
        for index, memory in decision.moves:
            value = op.operands[index]
            layout = layout_of(value.type)
            source = DRAM if layout is None else memory_of(layout)
            kind = layout_in(value, memory).type_for(access.shape(value))
            move = Builder.before(op).make("ttnn.to_memory_config", [value], {NOTE: _moved(value, memory, _why_moved(placed, number, index, source))}, [kind])
            set_source(move, *sources_of(op))
            op.operands[index] = move.results[0]
        if op.name == "ttnn.concat" and decision.moves:
            _move_parts_after_makers(op, [op.operands[index] for index, _ in decision.moves])
        overwritten = decision.choice.priced.candidate.attributes.get(IN_PLACE)
        if overwritten is not None:
            op = step.op = _overwriting(op, overwritten)
        else:
            access.set_attrs(op, decision.choice.priced.candidate.attributes)
        for index, memory in decision.choice.priced.candidate.weights.items():
            _place_weight(op, index, memory)
        if has_trait(op, "window"):
            prepare_weights(op)
        if step.results:
            for result in op.results:
                retype(result, decision.choice.result)
            access.set_attr(op, "memory_config", None)  # written in the input text; the result type replaces it
        if (then := decision.choice.then) is not None:
            kind = layout_in(op.results[0], then).type_for(access.shape(op.results[0]))
            readers = readers_of.get(step.results[0], [])
            why = f" for {' and '.join(readers)}" if 0 < len(readers) <= 2 else ""
            why = OUTPUT if step.results[0] in placed.graph.returned else why
            move_op = Builder.after(op).make("ttnn.to_memory_config", [op.results[0]], {NOTE: _moved(op.results[0], then, why)}, [kind])
            op = _read_instead(move_op, op, placed, number)
        if number in placed.plan.packed:
            move_op = Builder.after(op).make("ttnn.reallocate", [op.results[0]], {NOTE: PACKED}, [op.results[0].type])
            _read_instead(move_op, op, placed, number)
    _bring_back(placed)


def _move_parts_after_makers(joined: Operation, moved_parts: Sequence[SSAValue]) -> None:
    """Places each part's move right after the op that computes the part: equal parts become iterations of a loop."""
    parts = [value.owner.operands[0] if value in moved_parts and isinstance(value.owner, Operation) else value for value in joined.operands]
    makers = [part.owner for part in parts if isinstance(part.owner, Operation) and len(list(part.uses)) == 1]
    if len(makers) < len(parts) or len({(maker.name, sources_of(maker)) for maker in makers}) > 1 or not sources_of(makers[0]):
        return
    for value, maker in zip(joined.operands, makers, strict=True):
        if value in moved_parts and isinstance(value.owner, Operation) and maker.parent is not None:
            value.owner.detach()  # type: ignore[no-untyped-call]
            maker.parent.insert_ops_after([value.owner], maker)


def _read_instead(new_op: Operation, op: Operation, placed: Placed, number: int) -> Operation:
    """Redirects all readers of a step's result to `new_op`, which is placed next to them."""
    set_source(new_op, *_beside_reader(placed.graph.steps[number].op, placed, number))
    for use in [use for use in op.results[0].uses if use.operation is not new_op]:
        use.operation.operands[use.index] = new_op.results[0]
    return new_op


def _overwriting(op: Operation, place: int) -> Operation:
    """The in-place form of the op, with the overwritten operand first."""
    operands = [op.operands[place], op.operands[1 - place]]
    in_place = Builder.before(op).make(OVERWRITING[op.name], operands, {**op.properties, **op.attributes}, list(op.result_types))
    for old, new in zip(op.results, in_place.results, strict=True):
        old.replace_all_uses_with(new)
    set_source(in_place, *sources_of(op))
    Rewriter.erase_op(op)
    return in_place


def _place_weight(op: Operation, index: int, memory: Memory) -> None:
    """Makes the const-eval function of a weight return it in a memory."""
    func = maker_of_weight(op)
    assert isinstance(func, FuncOp)
    end = func.get_return_op()
    assert end is not None
    value, loaded = end.operands[0], op.operands[index].owner
    kind = layout_in(value, memory).type_for(access.shape(value))
    move = Builder.before(end).make("ttnn.to_memory_config", [value], {NOTE: f"columns dealt to {cores_of(memory)} banks"}, [kind])
    if isinstance(value.owner, Operation):
        set_source(move, *sources_of(value.owner))
    end.operands[0] = move.results[0]
    func.properties["function_type"] = FunctionType.from_lists([argument.type for argument in func.args], [kind])
    assert isinstance(loaded, Operation)
    loaded.results[0]._type = kind


def prepare_weights(op: Operation) -> None:
    """Prepares weights for the memory from which the call reads its input."""
    layout = layout_of(op.operands[0].type)
    if layout is None or layout.on_host:
        return
    for value in op.operands[1:]:
        maker = maker_of(value)
        if maker is not None and access.attr(maker, "input_memory_config") is not None:
            access.set_attr(maker, "input_memory_config", access.memory_config_of(layout))
            for name in (CONV_CONFIG, COMPUTE):
                config = op.properties.get(name) or op.attributes.get(name)
                if config is not None:
                    access.set_attr(maker, name, config)


def _bring_back(placed: Placed) -> None:
    """Moves results from L1 to DRAM right after their last reader, in its module, so that equal layers stay equal."""
    for place in placed.graph.returned:
        value = placed.graph.values[place]
        layout = layout_of(value.type)
        if layout is None or layout.buffer == "dram":
            continue
        kind = layout_in(value, Memory()).type_for(access.shape(value))
        uses = [use for use in value.uses if isinstance(use.operation, ReturnOp)]
        last = _last_reader(value)
        if last is None or not uses:
            continue
        if isinstance(value.owner, Operation):
            last = _end_of_module(value.owner, last)
        move = Builder.after(last).make("ttnn.to_memory_config", [value], {NOTE: f"{RESHARD}DRAM{OUTPUT}"}, [kind])
        if isinstance(value.owner, Operation):
            set_source(move, *_in_module_of(value.owner, last))
        for use in uses:
            use.operation.operands[use.index] = move.results[0]


def _last_reader(value: SSAValue) -> Operation | None:
    """The last op that reads the value before the function returns it, else the op that computes it; None for an argument without readers."""
    readers = {use.operation for use in value.uses if not isinstance(use.operation, ReturnOp)}
    maker = value.owner if isinstance(value.owner, Operation) else None
    block = maker.parent if maker is not None else value.owner
    assert isinstance(block, Block)
    return next((op for op in reversed([*block.ops]) if op in readers), maker)


def _end_of_module(maker: Operation, last: Operation) -> Operation:
    """The end of the module that contains `last` but not `maker`, else `last`: a move inside would cut the module's function in two."""
    around = len(common_prefix([scopes_of(maker), scopes_of(last)]))
    module = scopes_of(last)[: around + 1]
    following = last.next_op
    while len(module) > around and following is not None and scopes_of(following)[: around + 1] == module:
        last, following = following, following.next_op
    return last


def _in_module_of(maker: Operation, last: Operation) -> tuple[SourceInfo, ...]:
    """The source of an op right after `last`: the innermost module that contains both and the next op of a module, without a statement."""
    following = last.next_op
    while following is not None and not isinstance(following, ReturnOp) and not scopes_of(following):  # a move, which is where its reader is
        following = following.next_op
    if following is None or isinstance(following, ReturnOp):
        return _outermost(maker)
    common = common_prefix([scopes_of(maker), scopes_of(last), scopes_of(following)])
    return tuple(replace(info, scopes=common or info.scopes[:1]) for info in _outermost(maker)[:1])


def _beside_reader(op: Operation, placed: Placed, number: int) -> tuple[SourceInfo, ...]:
    """The op's source in the innermost module that contains the next reader: at this statement the caller holds no older tensor."""
    common = common_prefix([scopes_of(op), scopes_of(reader_of(placed.graph, number).op)])
    return tuple(replace(info, scopes=common or info.scopes[:1]) for info in sources_of(op))


def _outermost(op: Operation) -> tuple[SourceInfo, ...]:
    """The op's source in the whole model, without its statement: the move belongs to no layer and no line of the model."""
    return tuple(replace(info, scopes=info.scopes[:1], frames=()) for info in sources_of(op))
