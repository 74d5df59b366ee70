"""Level 2: memories and configurations over the whole forward function, by accumulated time.

Dynamic programming over the ops in program order. A state holds the memories of the values that are still needed, so a value with several
users is placed once for all of them; a user that wants another memory pays the move. Of equal states the fastest stays; a beam bounds them.
Equal ops of repeated layers are priced once, and after the first pass the layers of a loop are held to the choice of the one in their middle:
they remain one function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ttnn_shim.queries import Memory

from alchemist.optimizer.calls import spec_of
from alchemist.optimizer.graph import DRAM, L1, Forward, Step, l1_bytes
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.placement import RESHARD_NS, Choice, Moves

GONE = Memory("GONE")
"""Marks a value in a state that its last reader freed or overwrote; a caller's variable may still refer to it."""
BEAM = 96
LEXICOGRAPHIC_BEAM = 8  # as in tt-mlir's MemoryLayoutPropagation
IN_DRAM_NS = 20.0  # least gain of a result that is placed in DRAM, where others are in L1
FOR_ONE_FUNCTION = 0.05
"""Share of the plan's time that equal choices in repeated layers may cost."""
Policy = Literal["time", "lexicographic"]
Options = Mapping[int, Sequence[Choice]]


@dataclass(frozen=True, slots=True)
class Taken:
    """The decision for a step: its choice, and the memories that its operands are moved to before it, by operand index."""

    choice: Choice
    moves: tuple[tuple[int, Memory], ...]


@dataclass(slots=True)
class _Path:
    """rank: the order of paths, smaller is better: the accumulated time with `_dram_ns`, or the last op's score."""

    ns: float
    taken: Taken | None
    before: _Path | None
    rank: tuple[float, ...]


@dataclass(slots=True)
class Plan:
    """ns: of all steps with choices. taken: by step. packed: steps whose result is moved to the top of memory at once (`ttnn.reallocate`)."""

    ns: float
    taken: dict[int, Taken] = field(default_factory=dict)
    packed: frozenset[int] = frozenset()


State = tuple[tuple[int, Memory], ...]


def search(
    graph: Forward,
    options: Options,
    machine: Machine,
    moves: Moves,
    cap: float,
    barred: frozenset[int] = frozenset(),
    policy: Policy = "time",
    left: Mapping[int, int] | None = None,
    must_move: Mapping[int, frozenset[int]] | None = None,
) -> Plan | None:
    """The fastest plan whose tensors and buffers fit; None where even DRAM does not.

    Args:
        options: choices of each step that has any; others leave their results where they are.
        barred: values that must lie in DRAM.
        policy: "lexicographic" compares by tt-mlir's rule, which knows no time.
        left: bytes of L1 per core that must stay free at a step. must_move: operands, by place among the step's op's, that are moved before it.
    """
    cores = machine.grid[0] * machine.grid[1]
    room = cap * machine.l1_bytes
    sizes = _Sizes(graph, cores)
    required = must_move or {}
    states: dict[State, _Path] = {(): _Path(0.0, None, None, (0.0,))}
    for number, step in enumerate(graph.steps):
        following: dict[State, _Path] = {}
        ways = _ways(number, step, options.get(number, ()), moves, room - (left or {}).get(number, 0), sizes, barred)
        for state, path in states.items():
            memories = dict(state)
            for decision, ns in ways(memories):
                if number in required and (decision is None or not required[number].issubset(index for index, _ in decision.moves)):
                    continue
                after = dict(memories)
                for place in step.results:
                    after[place] = decision.choice.leaves if decision is not None else DRAM
                for index in decision.choice.priced.candidate.frees if decision is not None else ():
                    if not any(index == place_ for place_, _ in decision.moves):  # a moved operand is a copy, which the step frees
                        after[dict(step.operands)[index]] = GONE
                key = tuple(sorted((place, memory) for place, memory in after.items() if graph.ends[place] > number)) if after else ()
                best_path = following.get(key)
                total = path.ns + ns
                rank = (path.rank[0] + ns + _dram_ns(graph, step, decision),) if policy == "time" else _score(step, memories, decision, cores)
                if best_path is None or rank < best_path.rank:
                    following[key] = _Path(total, decision, path, rank)
        if not following:
            return None
        beam = BEAM if policy == "time" else LEXICOGRAPHIC_BEAM
        if len(following) > beam:
            following = dict(sorted(following.items(), key=lambda item: item[1].rank)[:beam])
        states = following
    best = min(states.values(), key=lambda path: path.rank)
    plan = Plan(best.ns)
    for number in range(len(graph.steps) - 1, -1, -1):
        if best.taken is not None:
            plan.taken[number] = best.taken
        assert best.before is not None
        best = best.before
    return plan


class _Sizes:
    """Cached L1 bytes per core and move prices of the graph's values, by index: the search needs few of them, but very often."""

    def __init__(self, graph: Forward, cores: int) -> None:
        self._graph, self._cores, self._returned = graph, cores, frozenset(graph.returned)
        self._bytes: dict[tuple[int, Memory], int] = {}
        self._moves: dict[tuple[int, Memory, Memory], float | None] = {}

    def ends_at(self, place: int, number: int) -> bool:
        """Whether a value that is moved for a step is free after the move."""
        return self._graph.ends[place] == number and self._graph.local[place]

    def of(self, place: int, memory: Memory) -> int:
        key = (place, memory)
        if key not in self._bytes:
            self._bytes[key] = l1_bytes(spec_of(self._graph.values[place]), memory, self._cores)
        return self._bytes[key]

    def move(self, place: int, source: Memory, to: Memory, moves: Moves) -> float | None:
        key = (place, source, to)
        if key not in self._moves:
            self._moves[key] = moves.ns(spec_of(self._graph.values[place], source), to)
        return self._moves[key]

    def back_ns(self, step: Step, leaves: Memory, moves: Moves) -> float | None:
        """What moving the step's program outputs to DRAM will cost; None where one cannot be moved.

        Counted where they are made: a beam that sees it only at the end has dropped every path that made an output in DRAM.
        """
        total = 0.0
        for place in self._returned.intersection(step.results) if leaves != DRAM else ():
            cost = self.move(place, leaves, DRAM, moves)
            if cost is None:
                return None
            total += cost + (RESHARD_NS if cost else 0.0)
        return total


def _score(step: Step, memories: Mapping[int, Memory], decision: Taken | None, cores: int) -> tuple[float, ...]:
    """tt-mlir's rule for a choice, in its order: L1, sharded, few bytes from DRAM, no moves, many cores, little L1 for the result."""
    if decision is None:
        return ()
    choice = decision.choice
    from_dram = sum(l1_bytes(spec_of(step.op.operands[index]), L1, cores) for index, place in step.operands if memories[place] == DRAM)
    result = sum(l1_bytes(spec_of(value), choice.result, cores) for value in step.op.results) if step.results else 0
    answer = choice.priced.answer
    return (choice.result.buffer != "L1", choice.result.shard is None, from_dram, len(decision.moves), -answer.cores, result)


def _dram_ns(graph: Forward, step: Step, decision: Taken | None) -> float:
    """What an intermediate result in DRAM adds to the rank of a path: as fast in L1, it stays there like its neighbours."""
    in_dram = decision is not None and decision.choice.leaves == DRAM and not all(place in graph.returned for place in step.results)
    return IN_DRAM_NS if in_dram else 0.0


def _ways(
    number: int, step: Step, choices: Sequence[Choice], moves: Moves, room: float, sizes: _Sizes, barred: frozenset[int]
) -> Callable[[Mapping[int, Memory]], list[tuple[Any, float]]]:
    """A function from a state to the possible decisions for a step, each with its time."""
    operands = {place for _, place in step.operands}
    dying = {place for place in operands if sizes.ends_at(place, number) and sum(place == other for _, other in step.operands) == 1}
    allowed = [choice for choice in choices if choice.leaves == DRAM or not barred.intersection(step.results)]
    offers = [(choice, choice.ns + back_ns) for choice in allowed if (back_ns := sizes.back_ns(step, choice.leaves, moves)) is not None]

    def ways(memories: Mapping[int, Memory]) -> list[tuple[Any, float]]:
        if not choices:  # without choices, it reads DRAM
            return [(None, 0.0)] if all(memories[place] == DRAM for _, place in step.operands) else []
        others = sum(sizes.of(place, memory) for place, memory in memories.items() if place not in operands)
        found_ways: list[tuple[Any, float]] = []
        for choice, ns in offers:
            if others + choice.own_bytes > room:
                continue
            move_list, extra, peak = [], 0, choice.own_bytes
            for (index, place), target in zip(step.operands, choice.operands, strict=True):
                if memories[place] == target:
                    continue
                cost = sizes.move(place, memories[place], target, moves)
                if cost is None:
                    break
                ns += cost + RESHARD_NS
                if place in dying:  # during the move both copies exist, then only the new one
                    peak = max(peak, sum(sizes.of(operand, memories[operand]) for operand in operands) + sizes.of(place, target))
                else:
                    extra += sizes.of(place, memories[place])
                move_list.append((index, target))
            else:
                if others + peak + extra <= room:
                    found_ways.append((Taken(choice, tuple(move_list)), ns))
        return found_ways

    return ways


Run = Callable[[Mapping[int, Choice], Mapping[int, Memory]], Plan | None]
"""A search with some steps' choices fixed, and with readers of some steps finding the results in given memories."""
RunInDram = Callable[[Mapping[int, Choice], Mapping[int, Memory], frozenset[int]], Plan | None]
"""The same, with results that must be in DRAM."""


def fastest_consistent(graph: Forward, groups: Mapping[int, Any], run: RunInDram) -> Plan | None:
    """The fastest plan with equal choices in equal layers.

    Equal layers leave their results in one memory. If that is L1, a result of the last layer that the program returns is moved to DRAM: then the
    plan in which all of these layers leave it in DRAM is tried too.
    """

    def found(in_dram: frozenset[int]) -> Plan | None:
        plan = run({}, {}, in_dram)
        return plan if plan is None else consistent(plan, graph, groups, lambda fixed, required: run(fixed, required, in_dram))

    plan = found(frozenset())
    moved = {groups.get(number) for number, taken in (plan.taken if plan else {}).items() if taken.choice.leaves != DRAM and _is_returned(graph, number)}
    layers = [number for number in range(len(graph.steps)) if number in groups and groups[number] in moved]
    results = frozenset(place for number in layers for place in graph.steps[number].results)
    other = found(results) if any(not _is_returned(graph, number) for number in layers) else None
    return min((each for each in (plan, other) if each is not None), key=lambda each: each.ns, default=None)


def _is_returned(graph: Forward, number: int) -> bool:
    return any(place in graph.returned for place in graph.steps[number].results)


def consistent(plan: Plan, graph: Forward, groups: Mapping[int, Any], run: Run) -> Plan:
    """The fastest plan with equal choices in all steps of a group: those of its middle, first or last step. `plan` where there is none.

    What enters the first of equal layers is made where the later ones find it, or moved there in front of them, so that all have the same
    moves and remain one function.
    """
    members: dict[Any, list[int]] = {}
    for number in plan.taken:
        if number in groups:
            members.setdefault(groups[number], []).append(number)
    differing = [numbers for numbers in members.values() if len({_choice_key(plan, number) for number in numbers}) > 1]
    if not differing:
        return _equal_entries(plan, graph, members, run)
    candidates: list[Plan] = []
    for part in (0.5, 0.0, 1.0):  # the choices of the middle layer, of the first, of the last
        fixed = {number: choice for numbers in members.values() if len(numbers) > 1 for choice in [_like(plan, numbers, part)] for number in numbers}
        rerun = run(fixed, {})
        if rerun is not None:
            candidates.append(rerun)
    # fixed choices may change equal ops before them: keys in L1 next to queries in DRAM are now read from the memory that all casts write
    following = run({number: _like(plan, numbers, 0.5) for numbers in differing for number in numbers}, {})
    if following is not None and all(len({_choice_key(following, number) for number in numbers}) == 1 for numbers in members.values()):
        candidates.append(following)
    best = min(candidates, key=lambda candidate: candidate.ns, default=plan)
    return _equal_entries(best, graph, members, run)


def _equal_entries(plan: Plan, graph: Forward, members: Mapping[Any, Sequence[int]], run: Run) -> Plan:
    makers = graph.makers()
    single = {numbers[0] for numbers in members.values() if len(numbers) == 1}
    fixed: dict[int, Choice] = {}
    required: dict[int, Memory] = {}
    for numbers in members.values():
        if len(numbers) < 2:
            continue
        fixed.update((number, plan.taken[number].choice) for number in numbers)
        middle = graph.steps[numbers[len(numbers) // 2]]
        entry = {index: plan.taken[makers[place]].choice.leaves for index, place in middle.operands if makers[place] in plan.taken}
        for number in numbers:
            for index, place in graph.steps[number].operands:
                maker = makers[place]
                if maker in single and index in entry and plan.taken[maker].choice.leaves != entry[index]:
                    required[maker] = entry[index]
    if not required:
        return plan
    candidate = run(fixed, required)
    return candidate if candidate is not None and candidate.ns <= plan.ns * (1 + FOR_ONE_FUNCTION) else plan


def _like(plan: Plan, numbers: Sequence[int], part: float) -> Choice:
    """The choice of the step at this part of a group."""
    return plan.taken[numbers[min(int(part * len(numbers)), len(numbers) - 1)]].choice


def _choice_key(plan: Plan, number: int) -> tuple[Any, ...]:
    choice = plan.taken[number].choice
    return choice.operands, choice.leaves, id(choice)
