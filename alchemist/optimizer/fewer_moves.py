"""What a finished plan does not need: moves between memories, unlike sums. The search prices each step by itself and keeps equal layers equal.

Each function returns the plan and its replay, the same ones where fewer moves are slower or do not fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ttnn_shim.queries import Memory

from alchemist.optimizer.calls import IN_PLACE, spec_of
from alchemist.optimizer.graph import DRAM, Forward
from alchemist.optimizer.placement import RESHARD_NS, Choice, Moves, leaving
from alchemist.optimizer.replaying import Replayed, result_of
from alchemist.optimizer.search import Plan, Taken
from alchemist.optimizer.sharded import may_overwrite

Replay = Callable[[Plan], Replayed]

MOST_FOR_ALIKE = 0.01
"""Share of the device time that blocks of several stages may cost for being one function."""


def returned_first(graph: Forward, plan: Plan, done: Replayed, options: Mapping[int, list[Choice]], moves: Moves, replay: Replay) -> tuple[Plan, Replayed]:
    """The plan where a program output that all its readers move is moved to DRAM behind its maker, and they read it there, if that is as fast and fits.

    before: layer_norm -> shards; to L1; slice; to DRAM: a program output         after: layer_norm -> shards; to DRAM; slice
    """
    makers = graph.makers()
    for place in graph.returned:
        maker = makers.get(place, -1)
        decision = plan.taken.get(maker)
        if decision is None or decision.choice.leaves == DRAM or len(graph.steps[maker].results) > 1:
            continue
        cost = moves.ns(spec_of(graph.values[place], decision.choice.leaves), DRAM)
        changed = dict(plan.taken)
        changed[maker] = replace(decision, choice=replace(decision.choice, then=DRAM, then_ns=(cost or 0.0) + RESHARD_NS))
        reads = [(number, index) for number, step in enumerate(graph.steps) for index, read in step.operands if read == place]
        for number, index in reads:
            entry = changed.get(number)
            if entry is None or index not in dict(entry.moves):
                break
            operands = tuple(DRAM if one == index else old for (one, _), old in zip(graph.steps[number].operands, entry.choice.operands, strict=True))
            same = (option for option in options[number] if (option.operands, option.result, option.then) == (operands, entry.choice.result, entry.choice.then))
            if (other := min(same, key=lambda option: option.ns, default=None)) is None:
                break
            changed[number] = replace(entry, choice=other, moves=tuple(move for move in entry.moves if move[0] != index))
        else:
            if reads and cost is not None and decision.choice.then is None:
                plan, done = _faster(plan, done, changed, replay)
    return plan, done


def moved_once(graph: Forward, plan: Plan, done: Replayed, groups: Mapping[int, Any], moves: Moves, replay: Replay) -> tuple[Plan, Replayed]:
    """The plan where a result that several readers move to one memory is moved there once, behind its maker, if that is as fast and fits.

    Equal ops stay equal: all readers of all of them move to that memory.
    """
    makers = graph.makers()
    targets: dict[Any, list[Memory]] = {}
    for number, step in enumerate(graph.steps):
        moved = dict(plan.taken[number].moves) if number in plan.taken else {}
        for index, place in step.operands:
            if place in makers:
                targets.setdefault(groups[makers[place]], []).append(moved.get(index, result_of(plan, makers[place])))
    sizes = Counter(groups[number] for number in plan.taken)
    decisions = dict(plan.taken)
    for number, decision in plan.taken.items():
        to = targets.get(groups[number], [])
        if len(set(to)) != 1 or len(to) <= sizes[groups[number]] or decision.choice.leaves == to[0]:
            continue
        ways = [choice for choice in leaving(graph, number, [decision.choice], to[0], moves) if choice.then is not None]
        if ways:
            decisions[number] = replace(decision, choice=ways[0])
    once = {place for number in decisions if decisions[number] is not plan.taken[number] for place in graph.steps[number].results}
    if not once:
        return plan, done
    for number, step in enumerate(graph.steps):
        if number in decisions:
            kept = tuple(move for move in decisions[number].moves if dict(step.operands)[move[0]] not in once)
            decisions[number] = replace(decisions[number], moves=kept)
    return _faster(plan, done, decisions, replay)


def without_detours(graph: Forward, plan: Plan, done: Replayed, groups: Mapping[int, Any], moves: Moves, replay: Replay) -> tuple[Plan, Replayed]:
    """The plan without moves behind an op whose result every reader moves again: readers move it from where the op makes it, or read it there.

    before: conv2d -> shards; to DRAM; to the same shards; conv2d         after: conv2d -> shards; conv2d
    """
    detours: dict[Any, list[int]] = {}
    for number, decision in plan.taken.items():
        if decision.choice.then is not None:
            detours.setdefault(groups.get(number, number), []).append(number)
    all_direct = plan
    for numbers in detours.values():
        all_direct = _direct(graph, all_direct, numbers, groups, moves) or all_direct
    if all_direct is plan:
        return plan, done
    fastest, replayed = _faster(plan, done, all_direct.taken, replay)
    if fastest is not plan:
        return fastest, replayed
    for numbers in detours.values():
        direct = _direct(graph, plan, numbers, groups, moves)
        plan, done = _faster(plan, done, direct.taken, replay) if direct is not None else (plan, done)
    return plan, done


def _direct(graph: Forward, plan: Plan, numbers: Sequence[int], groups: Mapping[int, Any], moves: Moves) -> Plan | None:
    """The plan without the moves behind equal ops; None where a reader does not move their result, or where equal layers would differ."""
    makers = graph.makers()
    readers: dict[int, list[tuple[int, int]]] = {}  # value -> (step, operand index)
    for number, step in enumerate(graph.steps):
        for index, place in step.operands:
            readers.setdefault(place, []).append((number, index))
    changed = {number: replace(plan.taken[number], choice=replace(plan.taken[number].choice, then=None, then_ns=0.0)) for number in numbers}
    results = [place for number in numbers for place in graph.steps[number].results]
    if any(place in graph.returned for place in results):
        return None
    reads = [read for place in results for read in readers.get(place, [])]
    for number, index in reads:
        decision = changed.get(number) or plan.taken.get(number)
        value = graph.steps[number].op.operands[index]
        source = plan.taken[makers[dict(graph.steps[number].operands)[index]]].choice.result
        to = dict(decision.moves).get(index) if decision is not None else None
        if decision is None or to is None or moves.ns(spec_of(value, source), to) is None:
            return None
        changed[number] = replace(decision, moves=tuple(move for move in decision.moves if move[0] != index or to != source))
    for number, decision in plan.taken.items():  # the first of equal layers reads what another op makes, which moves it in front of them
        twins = [(index, changed[read]) for read, index in reads if read != number and groups.get(read) == groups.get(number)]
        for index, twin in twins[:1]:
            if (number, index) in reads or index in dict(twin.moves):
                continue
            place = dict(graph.steps[number].operands)[index]
            maker, to = makers[place], dict(decision.moves).get(index)
            entry = changed.get(maker) or plan.taken.get(maker)
            if to is None or entry is None or len(readers[place]) > 1 or entry.choice.then is not None:
                return None
            moved = leaving(graph, maker, [entry.choice], to, moves)
            if not moved:
                return None
            changed[maker] = replace(entry, choice=moved[0])
            own = changed.get(number, decision)
            changed[number] = replace(own, moves=tuple(move for move in own.moves if move[0] != index))
    return replace(plan, taken={**plan.taken, **changed})


def overwriting_alike(plan: Plan, done: Replayed, options: Mapping[int, list[Choice]], replay: Replay) -> tuple[Plan, Replayed]:
    """The plan where sums overwrite their first operand, so that the blocks of all stages are one function, if that is as fast and fits."""
    decisions = dict(plan.taken)
    for number, decision in plan.taken.items():
        same = (option for option in options.get(number, ()) if overwrites_another(option, decision.choice))
        first = min([decision.choice, *same], key=lambda choice: int(choice.priced.candidate.attributes.get(IN_PLACE, 0)))
        decisions[number] = replace(decision, choice=first)
    return _faster(plan, done, decisions, replay)


def overwriting_what_ends(graph: Forward, plan: Plan, done: Replayed, groups: Mapping[int, Any], replay: Replay) -> tuple[Plan, Replayed]:
    """The plan where sums of images overwrite an operand although three tensors fit, so that the blocks of all stages are one function: the first operand
    that ends here and lies where the result does, whichever was made first: a projection of what goes past a block makes no difference.

    The result then lies where that operand was, which may leave no room for a later op: where not all of them fit, equal layers are tried alone.
    """
    makers = graph.makers()
    changed: dict[Any, dict[int, Taken]] = {}
    for number, decision in plan.taken.items():
        step, choice = graph.steps[number], decision.choice
        candidate = choice.priced.candidate
        if step.op.name != "ttnn.add" or IN_PLACE in candidate.attributes or choice.then is not None or choice.result.buffer != "L1":
            continue
        if number in plan.packed or not step.results or not may_overwrite(step):
            continue
        moved = {index for index, _ in decision.moves}
        ending = [index for index in sorted(step.last) if index not in moved and step.op.operands[index].type == step.op.results[0].type]
        place = next((index for index in ending if result_of(plan, makers[dict(step.operands)[index]]) == choice.result), None)
        if place is not None:
            in_place = replace(candidate, attributes={**candidate.attributes, IN_PLACE: place}, frees=(place,))
            other = replace(decision, choice=replace(choice, priced=replace(choice.priced, candidate=in_place)))
            changed.setdefault(groups.get(number, number), {})[number] = other
    if not changed:
        return plan, done
    everywhere, replayed = _faster(plan, done, {**plan.taken, **{n: entry for alike in changed.values() for n, entry in alike.items()}}, replay, MOST_FOR_ALIKE)
    if everywhere is not plan:
        return everywhere, replayed
    for alike in changed.values():
        plan, done = _faster(plan, done, {**plan.taken, **alike}, replay)
    return plan, done


def overwrites_another(first: Choice, second: Choice) -> bool:
    """Whether two choices differ only in the operand that the result overwrites."""
    places = [choice.priced.candidate.attributes.get(IN_PLACE) for choice in (first, second)]
    return None not in places and places[0] != places[1] and (first.operands, first.result, first.then) == (second.operands, second.result, second.then)


def _faster(plan: Plan, done: Replayed, decisions: Mapping[int, Taken], replay: Replay, allowed: float = 0.0) -> tuple[Plan, Replayed]:
    """The plan with these decisions if it fits and takes at most this share longer, else the plan."""
    other = replace(plan, taken=dict(decisions))
    again = replay(other)
    return (other, again) if again.ns is not None and done.ns is not None and again.ns <= (1 + allowed) * done.ns else (plan, done)
