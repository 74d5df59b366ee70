"""The ops of a forward function for the search: values that may move, and their live ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ttnn_shim.dtypes import BYTES, tile_bytes
from ttnn_shim.queries import Memory, Spec
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.dialects import has_trait
from alchemist.ir.layout import layout_of
from alchemist.ir.location import Scope, sources_of
from alchemist.ir.scopes import Group, chain_of_source, common_prefix, group, layers_in
from alchemist.ops.library_names import DTYPES
from alchemist.ops.spec import INLINE, TTNN_OPS
from alchemist.optimizer.calls import memory_of, spec_of

DRAM = Memory()
L1 = Memory("L1")
_MEMORY_SOURCES = ("memory_config", "changed_memory_config")
_IN_PLACE = ("cache", "assign", "deallocate")


@dataclass(slots=True)
class Step:
    """An op of the forward function. results: places of its results among the values that may move.

    last: operands, by place among the op's, that nothing reads behind it, by whatever view of their memory: they may be overwritten. The
        one that was made first comes first.
    """

    op: Operation
    results: tuple[int, ...]
    operands: tuple[tuple[int, int], ...]  # (index among the op's operands, index among the values)
    last: tuple[int, ...] = ()


@dataclass(slots=True)
class Forward:
    """steps: in program order. values: those that may move. ends: the step behind which a value's memory is free.

    returned: values that the function returns: they are brought to DRAM at its end, wherever they were made. reads: the last step that reads
    a value itself; `ends` lies behind it where a function of the program holds the value until it returns. local: whether the module of the
    last reader makes the value: an argument of it would be the caller's while the reader runs. others: values that ops make and that may not move,
    by the step behind which their memory is free. scopes: the modules of each step. calls: calls and specs that
    replays of the function's plans prepare once (`replaying`).
    """

    steps: list[Step] = field(default_factory=list)
    values: list[SSAValue] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    returned: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    local: list[bool] = field(default_factory=list)
    others: dict[int, list[SSAValue]] = field(default_factory=dict)
    scopes: list[tuple[Scope, ...]] = field(default_factory=list)
    calls: dict[Any, Any] = field(default_factory=dict)

    def makers(self) -> dict[int, int]:
        """Value -> the step that computes it."""
        return {place: number for number, step in enumerate(self.steps) for place in step.results}


def forward_of(func: FuncOp) -> Forward:
    """Values of ops with a `memory_config`, in tiles or rows on the device."""
    graph = Forward()
    places: dict[SSAValue, int] = {}
    ops = [op for op in func.body.block.ops if op.name.startswith("ttnn.") and not has_trait(op, "bookkeeping") and INLINE not in op.attributes]
    returned = {value for op in func.body.block.ops if isinstance(op, ReturnOp) for value in op.operands}
    for number, op in enumerate(ops):
        results = []
        if _movable(op):
            for result in op.results:
                places[result] = len(graph.values)
                results.append(len(graph.values))
                graph.values.append(result)
                graph.ends.append(number)
        operands = tuple((index, places[value]) for index, value in enumerate(op.operands) if value in places)
        for _, place in operands:
            graph.ends[place] = max(graph.ends[place], number)
        graph.steps.append(Step(op, tuple(results), operands))
    _mark_last_reads(graph, returned)
    graph.returned = [place for place, value in enumerate(graph.values) if value in returned]
    graph.reads = list(graph.ends)
    graph.scopes = [scopes_of(step.op) for step in graph.steps]
    graph.ends = ends_of(graph)
    numbers = {op: number for number, op in enumerate(ops)}
    reads_of_others = {value: number for number, op in enumerate(ops) for value in op.operands if value not in places}
    functions = _functions(graph, frozenset())
    for value, last in reads_of_others.items():
        if isinstance(value.owner, Operation):
            maker = numbers.get(value.owner)
            end = last if maker is None else _until_function_returns(maker, last, functions)
            graph.others.setdefault(end, []).append(value)
    scopes = [tuple(scope.path for scope in chain) for chain in graph.scopes]
    makers = graph.makers()
    for place, last in enumerate(graph.reads):
        graph.local.append(scopes[makers[place]][: len(scopes[last])] == scopes[last])
    return graph


def ends_of(graph: Forward, packed: Iterable[int] = ()) -> list[int]:
    """The step after which each value's memory is free. packed: steps followed by a statement of their own (`ttnn.reallocate`)."""
    functions, makers = _functions(graph, frozenset(packed)), graph.makers()
    ends = [_until_function_returns(makers[place], last, functions) for place, last in enumerate(graph.reads)]
    for place in graph.returned:
        ends[place] = len(graph.steps)
    return ends


def _mark_last_reads(graph: Forward, returned: set[SSAValue]) -> None:
    whole: dict[SSAValue, SSAValue] = {}  # view -> its possible source
    last: dict[SSAValue, int] = {}
    for number, step in enumerate(graph.steps):
        for value in step.op.operands:
            last[whole.get(value, value)] = number
        if step.op.operands and may_share(step.op):
            whole.update((result, whole.get(step.op.operands[0], step.op.operands[0])) for result in step.op.results)
    returned_roots = {whole.get(value, value) for value in returned}
    movable = set(graph.values)
    for number, step in enumerate(graph.steps):
        roots = [(index, whole.get(step.op.operands[index], step.op.operands[index])) for index, _ in step.operands]
        alone = [index for index, root in roots if root in movable and root not in returned_roots and last[root] == number]
        once = [index for index in alone if sum(root is dict(roots)[index] for _, root in roots) == 1]
        step.last = tuple(sorted(once, key=lambda index: dict(step.operands)[index]))


def may_share(op: Operation) -> bool:
    """Whether the result may be a view of the first operand: not if order, layout or dtype of the elements change."""
    if not has_trait(op, "shares_memory"):
        return False
    before, after = layout_of(op.operands[0].type), layout_of(op.results[0].type)
    if before is None or after is None or before.dtype != after.dtype or before.page != after.page:
        return before is None or after is None
    shape = access.shape(op.operands[0])
    order = access.order_of(op) if has_trait(op, "transposition") else range(len(shape))
    long = [axis % len(shape) for axis in order if shape[axis] > 1]
    return long == sorted(long)


def _movable(op: Operation) -> bool:
    spec = TTNN_OPS.get(op.name)
    if spec is None or any(word in op.name for word in _IN_PLACE) or not any(arg.source in _MEMORY_SOURCES for arg in spec.args):
        return False
    layouts = [layout_of(result.type) for result in op.results]
    return bool(layouts) and all(layout is not None and not layout.on_host and not layout.is_sharded and layout.dtype in DTYPES for layout in layouts)


def scopes_of(op: Operation) -> tuple[Scope, ...]:
    """The modules that the op belongs to, outermost first, as the emitted functions nest."""
    return tuple(common_prefix([chain_of_source(info) for info in sources_of(op)]))


def _functions(graph: Forward, packed: frozenset[int]) -> list[tuple[str, ...]]:
    """The modules around each step that become functions, outermost first; a module that only calls others is inlined into its caller."""
    chains: dict[object, tuple[Scope, ...]] = {step.op: chain for step, chain in zip(graph.steps, graph.scopes, strict=True)}
    ops: list[object] = []
    for number, step in enumerate(graph.steps):
        ops.append(step.op)
        if number in packed:
            chains[number] = common_prefix([graph.scopes[number], scopes_of(reader_of(graph, number).op)])
            ops.append(number)
    functions: dict[object, tuple[str, ...]] = {}

    def enter(run: Group[object], around: tuple[str, ...], is_layer: bool) -> None:
        inner = around if (_dissolves(run) and not is_layer) or not run.chain else (*around, run.scope.path)
        layers = layers_in(run)
        for item in run.items:
            if isinstance(item, Group):
                enter(item, inner, item in layers)
            else:
                functions[item] = inner

    enter(group(ops, chains), (), is_layer=False)
    return [functions[step.op] for step in graph.steps]


def _dissolves(run: Group[object]) -> bool:
    return all(isinstance(item, Group) and sum(1 for _ in item.ops()) > 1 for item in run.items)


def reader_of(graph: Forward, number: int) -> Step:
    """The next step that reads the first result of a step."""
    place = graph.steps[number].results[0]
    return next(step for step in graph.steps[number + 1 :] if any(used == place for _, used in step.operands))


def _until_function_returns(maker: int, read: int, scopes: Sequence[tuple[str, ...]]) -> int:
    """The end of a live range: the caller holds a function's argument until it returns, so a value last read inside a callee lives until then."""
    maker_scopes, reader_scopes = scopes[maker], scopes[read]
    common = 0
    while common < min(len(maker_scopes), len(reader_scopes)) and maker_scopes[common] == reader_scopes[common]:
        common += 1
    if common < len(reader_scopes):
        prefix = reader_scopes[: common + 1]
        while read + 1 < len(scopes) and scopes[read + 1][: common + 1] == prefix:
            read += 1
    return read


def l1_bytes(spec: Spec, memory: Memory, cores: int) -> int:
    """Bytes of L1 per core that a tensor occupies: interleaved pages, or its shard."""
    if memory.buffer != "L1":
        return 0
    tile = spec.layout == "tile"
    shape = (1,) * (2 - len(spec.shape)) + tuple(spec.shape)
    if memory.shard is not None:
        rows, columns = memory.shard[0]
        return -(-rows // 32) * -(-columns // 32) * tile_bytes(spec.dtype) if tile else rows * columns * BYTES.get(spec.dtype, 2)
    if tile:
        pages, page = math.prod(shape[:-2]) * -(-shape[-2] // 32) * -(-shape[-1] // 32), tile_bytes(spec.dtype)
    else:
        pages, page = math.prod(shape[:-1]), -(-shape[-1] * BYTES.get(spec.dtype, 2) // 32) * 32
    return -(-pages // cores) * page


def is_weight(value: SSAValue) -> bool:
    return isinstance(value, BlockArgument) or (isinstance(value.owner, Operation) and value.owner.name == "ttcore.load_cached")


__all__ = ["DRAM", "L1", "Forward", "Step", "forward_of", "is_weight", "l1_bytes", "memory_of", "spec_of"]
