"""Replays a plan on an idle simulated device: addresses, circular buffers against tensors, and time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ttnn_shim.errors import OutOfMemory, ShimError
from ttnn_shim.queries import Memory, Spec
from ttnn_shim.replay import Call, Held, Replay, prepared
from xdsl.ir import Operation, SSAValue

from alchemist.optimizer.calls import IN_PLACE, NotAskable, call_of, spec_of
from alchemist.optimizer.candidate import SAFE
from alchemist.optimizer.choose import FAMILIES
from alchemist.optimizer.graph import DRAM, Forward, ends_of
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.search import Plan, Taken

CROWDED = 2.0
"""A product that takes so many times its price has another config than was priced; moves of its operands are less."""


@dataclass(slots=True)
class Replayed:
    """ns: None where the device ran out of memory at step `failed`. lowest: values in L1 then, the lowest address first.

    skipped: steps without a plan whose call is refused, and why: the simulator may have no such path. crowded: products with the library's default
        config that other tensors in L1 make slower than they were priced: the library has another default for little free L1.
    """

    ns: float | None
    failed: int = -1
    error: str = ""
    l1_peak_bytes: int = 0
    lowest: tuple[int, ...] = ()
    skipped: dict[int, str] = field(default_factory=dict)
    crowded: tuple[int, ...] = ()


def replay(graph: Forward, plan: Plan, machine: Machine, l1_small_bytes: int) -> Replayed:
    """Replays the steps on an idle device: exact addresses, circular buffers against tensors, and time."""
    device = Replay(machine.card, l1_small_bytes)
    tensors: dict[SSAValue, Held] = {}
    skipped: dict[int, str] = {}
    crowded: list[int] = []
    ends: dict[int, list[SSAValue]] = {}
    moved_steps = {number for number, decision in plan.taken.items() if decision.choice.then is not None}
    for place_, end in enumerate(ends_of(graph, moved_steps | plan.packed) if moved_steps or plan.packed else graph.ends):
        ends.setdefault(end, []).append(graph.values[place_])
    local = {value for value, is_local in zip(graph.values, graph.local, strict=True) if is_local}
    try:
        for number, step in enumerate(graph.steps):
            decision = plan.taken.get(number)
            planned_ns = decision.choice.ns if decision is not None and step.op.name in FAMILIES else math.inf
            before_ns = device.device_ns if planned_ns < math.inf else 0.0
            try:
                _run(device, graph, number, decision, tensors, [value for value in ends.get(number, []) if value in local])
            except NotAskable:  # it allocates nothing, but frees the operands whose last use it is
                pass
            except OutOfMemory as error:
                return Replayed(None, number, str(error), lowest=_lowest(device, graph, plan, tensors))
            except ShimError as error:
                if number in plan.taken:
                    return Replayed(None, number, str(error))
                skipped[number] = str(error)
            if planned_ns < math.inf and device.device_ns - before_ns > CROWDED * planned_ns:
                crowded.append(number)
            for value in _freed_in(step.op, decision):
                if value in tensors:
                    device.free(tensors.pop(value))
            for value in (*ends.get(number, []), *graph.others.get(number, [])):
                if value in tensors:
                    device.free(tensors.pop(value))
            try:
                if number in moved_steps:
                    _move(device, graph, tensors, step.op.results[0], "ttnn.to_memory_config", plan.taken[number].choice.leaves)
                if number in plan.packed:
                    _move(device, graph, tensors, step.op.results[0], "ttnn.reallocate")
            except ShimError as error:
                return Replayed(None, number, str(error), lowest=_lowest(device, graph, plan, tensors))
        makers = graph.makers()
        for place_ in graph.returned:
            value = graph.values[place_]
            if value in tensors and result_of(plan, makers[place_]) != DRAM:
                try:
                    device.free(_moved(device, graph, tensors[value], "ttnn.to_memory_config", DRAM))
                except ShimError as error:
                    return Replayed(None, len(graph.steps), str(error))
        return Replayed(device.device_ns, l1_peak_bytes=device.l1_peak_bytes, skipped=skipped, crowded=tuple(crowded))
    finally:
        for tensor in tensors.values():
            device.free(tensor)
        device.close()


def _move(device: Replay, graph: Forward, tensors: dict[SSAValue, Held], value: SSAValue, target: str, memory: Memory | None = None) -> None:
    """Replaces a value's tensor by a copy that `target` creates."""
    copy = _moved(device, graph, tensors[value], target, memory)
    device.free(tensors[value])
    tensors[value] = copy


def _moved(device: Replay, graph: Forward, tensor: Held, target: str, memory: Memory | None) -> Held:
    key = (target, memory)
    if key not in graph.calls:
        graph.calls[key] = prepared(target, [Held(None), *([memory] if memory else [])], {})
    return _first(device.run(graph.calls[key], [tensor]))


def _freed_in(op: Operation, decision: Taken | None) -> list[SSAValue]:
    """Operands whose memory the op frees; for a moved operand, its copy. An overwritten one is the result's memory, which a caller's variable may hold."""
    if decision is None:
        return []
    candidate = decision.choice.priced.candidate
    kept = {index for index, _ in decision.moves} | {candidate.attributes.get(IN_PLACE)}
    return [op.operands[index] for index in candidate.frees if index not in kept]


def _lowest(device: Replay, graph: Forward, plan: Plan, tensors: Mapping[SSAValue, Held]) -> tuple[int, ...]:
    addresses = []
    for place_, number in graph.makers().items():
        value = graph.values[place_]
        if value in tensors and result_of(plan, number).buffer == "L1":
            try:
                addresses.append((device.address(tensors[value]), place_))
            except ShimError:  # its last reader frees it
                continue
    return tuple(place_ for _, place_ in sorted(addresses))


def _run(device: Replay, graph: Forward, number: int, decision: Taken | None, tensors: dict[SSAValue, Held], ending: Sequence[SSAValue]) -> None:
    """ending: values whose last use the op is; an operand that is moved for the op and ends there is freed right after the move."""
    op = graph.steps[number].op
    copies: dict[SSAValue, Held] = {}
    for index, memory in decision.moves if decision is not None else ():
        value = op.operands[index]
        copies[value] = _moved(device, graph, _tensor_of(device, graph, value, tensors), "ttnn.to_memory_config", memory)
        if value in ending and sum(value is operand for operand in op.operands) == 1:
            device.free(tensors.pop(value))
    for index, memory in decision.choice.priced.candidate.weights.items() if decision is not None else ():
        copies[op.operands[index]] = device.tensor(_spec_of(graph, op.operands[index], memory))
    call = _call_of(graph, number, decision)
    output = device.run(call, [copies.get(value) or _tensor_of(device, graph, value, tensors) for value in call.tensors])
    for value, tensor in zip(op.results, output, strict=False):
        if tensor is not None:
            tensors[value] = tensor
    for tensor in output[len(op.results) :]:
        if tensor is not None:
            device.free(tensor)
    for tensor in copies.values():
        device.free(tensor)


def _call_of(graph: Forward, number: int, decision: Taken | None) -> Call:
    """The call of a step, prepared once for all replays; the values are its tensors."""
    candidate, result = (decision.choice.priced.candidate, decision.choice.result) if decision is not None else (SAFE, None)
    key = (number, id(candidate), result)
    if key not in graph.calls:
        try:
            target, first, arguments = call_of(graph.steps[number].op, candidate.attributes, result, Held)
            call: Call | NotAskable | ShimError = prepared(target, first, arguments)
        except (NotAskable, ShimError) as error:
            call = error
        graph.calls[key] = call, candidate  # as long as the candidate lives, its id is its own
    call, _ = graph.calls[key]
    if isinstance(call, Call):
        return call
    raise call.with_traceback(None)


def result_of(plan: Plan, maker: int) -> Memory:
    """The memory of a step's result."""
    decision = plan.taken.get(maker)
    return decision.choice.leaves if decision is not None else DRAM


def _first(tensors: list[Held | None]) -> Held:
    assert tensors[0] is not None
    return tensors[0]


def _tensor_of(device: Replay, graph: Forward, value: SSAValue, tensors: dict[SSAValue, Held]) -> Held:
    """The tensor of a value; inputs, weights and results of skipped steps are allocated according to their types."""
    if value not in tensors:
        tensors[value] = device.tensor(_spec_of(graph, value, None))
    return tensors[value]


def _spec_of(graph: Forward, value: SSAValue, memory: Memory | None) -> Spec:
    if (value, memory) not in graph.calls:
        graph.calls[value, memory] = spec_of(value, memory)
    spec: Spec = graph.calls[value, memory]
    return spec
