"""Level 2: memories and configurations over the whole forward function, by accumulated time.

Dynamic programming over the ops in program order. A state holds the memories of the live values, so a value with several
users is placed once for all of them; a user that wants another memory pays the move. Of equal states the fastest stays; a beam bounds them.
Equal ops of repeated layers are priced once, and after the first pass the layers of a loop are held to the choice of the one in their middle:
they remain one function.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ttnn_shim.queries import Memory

from alchemist.optimizer.calls import spec_of
from alchemist.optimizer.graph import DRAM, L1, Forward, Step, l1_bytes
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.placement import RESHARD_NS, Choice, Moves

GONE = Memory("GONE")
"""Marks a value in a state that its last reader freed or overwrote; a caller's variable may still refer to it."""
_IS_GONE = 1  # its number in a `Space`
BEAM = 96
CHECKPOINT_EVERY = 16
"""Steps between those after which a search keeps its paths for the next searches, which often begin like it."""
MOST_CHECKPOINTS = 1 << 10
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
class Plan:
    """ns: of all steps with choices. taken: by step. packed: steps whose result is moved to the top of memory at once (`ttnn.reallocate`)."""

    ns: float
    taken: dict[int, Taken] = field(default_factory=dict)
    packed: frozenset[int] = frozenset()


State = tuple[int, ...]
"""The memories of all values that are live after a step, as numbers of a `Space`, in the order of the steps that create them."""


@dataclass(frozen=True, slots=True)
class _Way:
    """A decision for a step whose operands are in given memories. l1_bytes: of operands, results, copies and buffers, per core. score: tt-mlir's rule."""

    taken: Taken | None
    ns: float
    in_dram_ns: float
    score: tuple[float, ...]
    l1_bytes: float


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Ways that lead to equal states, the best first; each needs less L1 than all before it.

    results, result_bytes: of the results that are live after the step. gone: positions, among the values that stay live, of those that it frees.
    """

    results: State
    result_bytes: tuple[int, ...]
    gone: tuple[int, ...]
    ways: list[_Way]


@dataclass(slots=True)
class _Path:
    """rank: the order of paths, smaller is better: the accumulated time with `in_dram_ns`, or the last op's score. l1_bytes: of each live value, per core."""

    ns: float
    rank: Any
    way: _Way | None
    before: _Path | None
    l1_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Frame:
    """Which values of a state a step concerns. operands: in the step's order; read: positions of these, each once. kept: values that are live after the step.

    position: of a kept value among the kept ones. results: those of the step that are live after it.
    """

    operands: Callable[[State], State]
    read: tuple[int, ...]
    kept: Callable[[State], State]
    position: Mapping[int, int]
    results: tuple[int, ...]


class Outcomes(dict[State, list[_Outcome]]):
    """Memories of a step's operands -> what the step may leave, computed when it is asked for first."""

    def __init__(self, compute: Callable[[State], list[_Outcome]]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, operands: State) -> list[_Outcome]:
        found = self[operands] = self._compute(operands)
        return found


class Space:
    """What all searches of one function share: frames of its steps, prices of moves, outcomes of steps, and the paths of common beginnings."""

    def __init__(self, graph: Forward, machine: Machine, moves: Moves, cap: float, policy: Policy = "time") -> None:
        self.graph, self.policy, self.room = graph, policy, math.floor(cap * machine.l1_bytes)
        self.frames = _frames(graph)
        self._moves, self._cores, self._returned = moves, machine.grid[0] * machine.grid[1], frozenset(graph.returned)
        self._memories = [DRAM, GONE]
        self._numbers = {memory: number for number, memory in enumerate(self._memories)}
        self._bytes: dict[tuple[int, Memory], int] = {}
        self._move_ns: dict[tuple[int, Memory, Memory], float | None] = {}
        self._outcomes: dict[Any, Outcomes] = {}
        self._prefixes: dict[tuple[int, int, int], int] = {}  # (prefix, outcomes of the step after it, room there) -> longer prefix
        self._paths: dict[int, dict[State, _Path]] = {}  # after a prefix

    def outcomes(self, number: int, choices: Sequence[Choice], in_dram: bool, required: frozenset[int]) -> Outcomes:
        """in_dram: whether the step's results must be in DRAM. required: operands that are moved before the step."""
        key = (number, in_dram, required, *map(id, choices))
        found = self._outcomes.get(key)
        if found is None:
            found = self._outcomes[key] = Outcomes(lambda operands: self._outcomes_of(number, choices, operands, in_dram, required))
        return found

    def _outcomes_of(self, number: int, choices: Sequence[Choice], operands: State, in_dram: bool, required: frozenset[int]) -> list[_Outcome]:
        step, frame = self.graph.steps[number], self.frames[number]
        places = dict(step.operands)
        memories = {place: self._memories[memory] for (_, place), memory in zip(step.operands, operands, strict=True)}
        ways: dict[tuple[Memory, tuple[int, ...]], list[_Way]] = {}
        for way in self._ways(number, choices, memories, in_dram):
            moved = {index for index, _ in way.taken.moves} if way.taken is not None else set()
            if not required <= moved:
                continue
            frees = way.taken.choice.priced.candidate.frees if way.taken is not None else ()  # a moved operand is a copy, which the step frees
            gone = tuple(frame.position[places[index]] for index in frees if index not in moved and places[index] in frame.position)
            leaves = way.taken.choice.leaves if way.taken is not None and frame.results else DRAM
            ways.setdefault((leaves, gone), []).append(way)
        found = []
        for (leaves, gone), equal in ways.items():
            best: list[_Way] = []
            for way in sorted(equal, key=(lambda way: way.ns) if self.policy == "time" else (lambda way: way.score)):
                if not best or way.l1_bytes < best[-1].l1_bytes:
                    best.append(way)
            result_bytes = tuple(self._l1_bytes(place, leaves) for place in frame.results)
            found.append(_Outcome((self._number(leaves),) * len(result_bytes), result_bytes, gone, best))
        return found

    def _ways(self, number: int, choices: Sequence[Choice], memories: Mapping[int, Memory], in_dram: bool) -> Iterator[_Way]:
        step = self.graph.steps[number]
        if not choices:  # without choices, it reads DRAM
            if all(memory == DRAM for memory in memories.values()):
                yield _Way(None, 0.0, 0.0, (), -math.inf)
            return
        ending = {place for place in memories if self._ends_at(place, number) and sum(place == other for _, other in step.operands) == 1}
        read_bytes = sum(self._l1_bytes(place, memory) for place, memory in memories.items())
        for choice in choices:
            back_ns = self._back_ns(step, choice.leaves) if choice.leaves == DRAM or not in_dram else None
            if back_ns is None:
                continue
            ns, extra, peak = choice.ns + back_ns, 0, choice.own_bytes
            moves: list[tuple[int, Memory]] = []
            for (index, place), target in zip(step.operands, choice.operands, strict=True):
                if memories[place] == target:
                    continue
                cost = self._move(place, memories[place], target)
                if cost is None:
                    break
                ns += cost + RESHARD_NS
                if place in ending:  # during the move both copies exist, then only the new one
                    peak = max(peak, read_bytes + self._l1_bytes(place, target))
                else:
                    extra += self._l1_bytes(place, memories[place])
                moves.append((index, target))
            else:
                taken = Taken(choice, tuple(moves))
                score = () if self.policy == "time" else _score(step, memories, taken, self._cores)
                yield _Way(taken, ns, _in_dram_ns(self.graph, step, choice), score, peak + extra)

    def beginning(self, inputs: Sequence[tuple[Outcomes, int]]) -> tuple[list[int], int, dict[State, _Path]]:
        """A number for each beginning of a search, and the steps and paths of the longest one that an earlier search has left.

        inputs: each step's outcomes and room.
        """
        paths: dict[State, _Path] = {(): _Path(0.0, 0.0, None, None, ())}
        prefix, prefixes, start = 0, [], 0
        for number, (outcomes, room) in enumerate(inputs):
            prefix = self._prefixes.setdefault((prefix, id(outcomes), room), len(self._prefixes) + 1)
            prefixes.append(prefix)
            if prefix in self._paths:
                start, paths = number + 1, self._paths[prefix]
        return prefixes, start, paths

    def remember(self, prefix: int, paths: dict[State, _Path]) -> None:
        if len(self._paths) >= MOST_CHECKPOINTS:
            del self._paths[next(iter(self._paths))]
        self._paths[prefix] = paths

    def _number(self, memory: Memory) -> int:
        if memory not in self._numbers:
            self._numbers[memory] = len(self._memories)
            self._memories.append(memory)
        return self._numbers[memory]

    def _ends_at(self, place: int, number: int) -> bool:
        """Whether a value that is moved for a step is free after the move."""
        return self.graph.ends[place] == number and self.graph.local[place]

    def _l1_bytes(self, place: int, memory: Memory) -> int:
        key = (place, memory)
        if key not in self._bytes:
            self._bytes[key] = l1_bytes(spec_of(self.graph.values[place]), memory, self._cores)
        return self._bytes[key]

    def _move(self, place: int, source: Memory, to: Memory) -> float | None:
        key = (place, source, to)
        if key not in self._move_ns:
            self._move_ns[key] = self._moves.ns(spec_of(self.graph.values[place], source), to)
        return self._move_ns[key]

    def _back_ns(self, step: Step, leaves: Memory) -> float | None:
        """What moving the step's program outputs to DRAM will cost; None where one cannot be moved.

        Counted where they are made: a beam that sees it only at the end has dropped every path that made an output in DRAM.
        """
        total = 0.0
        for place in self._returned.intersection(step.results) if leaves != DRAM else ():
            cost = self._move(place, leaves, DRAM)
            if cost is None:
                return None
            total += cost + (RESHARD_NS if cost else 0.0)
        return total


def _frames(graph: Forward) -> list[_Frame]:
    frames: list[_Frame] = []
    live: list[int] = []
    for number, step in enumerate(graph.steps):
        positions = {place: position for position, place in enumerate(live)}
        kept = [place for place in live if graph.ends[place] > number]
        results = [place for place in step.results if graph.ends[place] > number]
        operands = tuple(positions[place] for _, place in step.operands)
        frames.append(
            _Frame(
                _picker(operands),
                tuple(sorted(set(operands))),
                _picker([positions[place] for place in kept]),
                {place: position for position, place in enumerate(kept)},
                tuple(results),
            )
        )
        live = [*kept, *results]
    return frames


def _picker(positions: Sequence[int]) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """A function from a tuple to its elements at the positions."""
    if len(positions) > 1:
        return operator.itemgetter(*positions)
    return (lambda values: (values[positions[0]],)) if positions else (lambda values: ())


def search(
    graph: Forward,
    options: Options,
    space: Space,
    barred: frozenset[int] = frozenset(),
    left: Mapping[int, int] | None = None,
    must_move: Mapping[int, frozenset[int]] | None = None,
) -> Plan | None:
    """The fastest plan whose tensors and buffers fit; None where even DRAM does not.

    Args:
        options: choices of each step that has any; others leave their results where they are.
        barred: values that must lie in DRAM.
        left: bytes of L1 per core that must stay free at a step. must_move: operands, by place among the step's op's, that are moved before it.
    """
    inputs = [
        (
            space.outcomes(number, options.get(number, ()), not barred.isdisjoint(step.results), (must_move or {}).get(number, frozenset())),
            space.room - (left or {}).get(number, 0),
        )
        for number, step in enumerate(graph.steps)
    ]
    prefixes, start, paths = space.beginning(inputs)
    for number in range(start, len(inputs)):
        outcomes, room = inputs[number]
        paths = _step(paths, space.frames[number], outcomes, room, space.policy)
        if not paths:
            return None
        if number % CHECKPOINT_EVERY == 0:
            space.remember(prefixes[number], paths)
    best = min(paths.values(), key=lambda path: path.rank)
    plan = Plan(best.ns)
    for number in range(len(graph.steps) - 1, -1, -1):
        if best.way is not None and best.way.taken is not None:
            plan.taken[number] = best.way.taken
        assert best.before is not None
        best = best.before
    return plan


def _step(paths: Mapping[State, _Path], frame: _Frame, outcomes: Outcomes, room: int, policy: Policy) -> dict[State, _Path]:
    """The best path to each state after a step, for the best states."""
    reached: dict[State, tuple[Any, _Path, _Way, _Outcome]] = {}
    for state, path in paths.items():
        kept, free = frame.kept(state), room - sum(path.l1_bytes)
        for position in frame.read:
            free += path.l1_bytes[position]
        for outcome in outcomes[frame.operands(state)]:
            for way in outcome.ways:
                if way.l1_bytes <= free:
                    break
            else:
                continue
            after = (_replaced(kept, outcome.gone, _IS_GONE) if outcome.gone else kept) + outcome.results
            rank = path.rank + way.ns + way.in_dram_ns if policy == "time" else way.score
            best = reached.get(after)
            if best is None or rank < best[0]:
                reached[after] = rank, path, way, outcome
    limit = BEAM if policy == "time" else LEXICOGRAPHIC_BEAM
    best_states = sorted(reached.items(), key=lambda item: item[1][0])[:limit] if len(reached) > limit else reached.items()
    return {
        state: _Path(path.ns + way.ns, rank, way, path, _replaced(frame.kept(path.l1_bytes), outcome.gone, 0) + outcome.result_bytes)
        for state, (rank, path, way, outcome) in best_states
    }


def _replaced(values: tuple[int, ...], positions: Sequence[int], by: int) -> tuple[int, ...]:
    return tuple(by if position in positions else value for position, value in enumerate(values)) if positions else values


def _score(step: Step, memories: Mapping[int, Memory], decision: Taken, cores: int) -> tuple[float, ...]:
    """tt-mlir's rule for a choice, in its order: L1, sharded, few bytes from DRAM, no moves, many cores, little L1 for the result."""
    choice = decision.choice
    from_dram = sum(l1_bytes(spec_of(step.op.operands[index]), L1, cores) for index, place in step.operands if memories[place] == DRAM)
    result = sum(l1_bytes(spec_of(value), choice.result, cores) for value in step.op.results) if step.results else 0
    answer = choice.priced.answer
    return (choice.result.buffer != "L1", choice.result.shard is None, from_dram, len(decision.moves), -answer.cores, result)


def _in_dram_ns(graph: Forward, step: Step, choice: Choice) -> float:
    """What an intermediate result in DRAM adds to the rank of a path: as fast in L1, it stays there like its neighbours."""
    return IN_DRAM_NS if choice.leaves == DRAM and not all(place in graph.returned for place in step.results) else 0.0


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
