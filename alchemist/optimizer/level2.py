"""Level 2: search, replay, fall back."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ttnn_shim.errors import OutOfMemory, ShimError
from ttnn_shim.queries import Memory
from ttnn_shim.replay import Held, Replay
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import OptionError
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.location import sources_of
from alchemist.optimizer import overrides as overriding
from alchemist.optimizer.calls import IN_PLACE, NotAskable, call_of, spec_of
from alchemist.optimizer.choose import FAMILIES, key_of
from alchemist.optimizer.graph import DRAM, L1, Forward, Step, ends_of, forward_of, l1_bytes
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.placement import Choice, Moves, choices
from alchemist.optimizer.search import RESHARD_NS, Plan, Policy, Taken, consistent, search
from alchemist.optimizer.sharded import may_overwrite, memories
from alchemist.optimizer.stream import MORE_CORES, is_wide, weight_may_move, widths
from alchemist.optimizer.windows import blocks_of, halo_stays
from alchemist.options import CompilerOptions

JOIN = "ttnn.concat"
MOST_REPLAYS = 24
MOST_SLACK = 0.3
"""Share of L1 that holes between tensors may cost an op before something is sent to DRAM."""
LEAST_SLACK = 1 << 15
LEAST_SHARE = 0.0005
"""Share of level 0's time that the program configs of equal ops must gain together: each is a dozen lines of the program."""
MOST_PACKED = 3
"""Tensors that are tried to be moved up when memory is short."""


@dataclass(slots=True)
class Placed:
    """What was decided for a forward function. ns: of the replay. safe_ns: of the same function as at level 0, replayed; infinite where it is refused."""

    graph: Forward
    plan: Plan
    ns: float
    safe_ns: float
    replays: int
    l1_peak_bytes: int = 0
    options: dict[int, list[Choice]] = field(default_factory=dict)
    refused: dict[int, dict[str, int]] = field(default_factory=dict)


def plans(
    func: FuncOp,
    machine: Machine,
    cap: float,
    l1_small_bytes: int = 0,
    level: int = 2,
    policy: Policy = "time",
    say: Callable[[str], None] = lambda text: None,
    options_given: CompilerOptions | None = None,
) -> list[Placed]:
    """The plans that the replay takes and that are faster than level 0, fastest first. At level 1 results stay in DRAM; only what a sliding
    window, or a norm or product of one row of tiles, reads is moved, and joined where it is several tensors; level 2's finalists have level 1's plan behind it.

    With the lexicographic policy the plan is that of tt-mlir's rule, even where it is slower than level 0; with overrides it has what they ask for.

    Raises:
        OptionError: an override that names no op, or that the library refuses.
    """
    graph = forward_of(func)
    overrides = overriding.read(options_given, graph, machine) if options_given is not None else overriding.Overrides({}, set())
    known: dict[Any, tuple[list[Choice], dict[str, int], OptionError | None]] = {}
    taken: set[tuple[str, Any]] = set()  # names and overridden layouts that some op of the name has
    unable: dict[tuple[str, Any], OptionError] = {}
    options: dict[int, list[Choice]] = {}
    refused: dict[int, dict[str, int]] = {}
    for number, step in enumerate(graph.steps):
        layout, fixed = overrides.layouts.get(step.op), step.op in overrides.fixed
        key = (key_of(step.op), tuple(index for index, _ in step.operands), bool(step.results), layout, fixed, _overwritten(step), weight_may_move(step.op))
        if key not in known:
            say(f"pricing {step.op.name}, {number + 1} of {len(graph.steps)} ops")
            reasons: dict[str, int] = {}
            listed = choices(step, machine, cap, reasons, l1_small_bytes, fixed)
            if fixed and not listed:
                raise OptionError(
                    f"the library refused the overridden config of {step.op.name} {', '.join(overriding.names_of(step.op))}",
                    expected="a config that it takes",
                    got=max(reasons, key=lambda reason: reasons[reason]) if reasons else "no answer",
                )
            unfit = None
            if layout is not None:
                try:
                    listed = overriding.choices_for(step, layout, listed, machine, cap, l1_small_bytes)
                except OptionError as error:  # other ops of this name may have it
                    unfit = error
            known[key] = (listed, reasons, unfit)
        options[number], refused[number], unfit = known[key]
        if layout is not None:
            called = (overriding.names_of(step.op)[0], layout)
            if unfit is None:
                taken.add(called)
            else:
                unable.setdefault(called, unfit)
    for which, reason in unable.items():
        if which not in taken:
            raise reason
    safe = replay(graph, Plan(0.0), machine, l1_small_bytes)
    if policy == "time" and not overrides and safe.ns is not None:
        _leave_out_small_gains(graph, options, LEAST_SHARE * safe.ns)
    moves = Moves(machine)
    if level > 1 and policy == "time" and not overrides:
        _offer_moves_for_all(graph, options, machine, moves)
        wide = [number for number in options if is_wide(graph.steps[number].op)]
        for memory in (L1, DRAM):
            options |= _offer_returns(graph, {number: options[number] for number in wide}, moves, memory)
    forced = overrides.ops
    must_move = {number: overrides.moved[step.op] for number, step in enumerate(graph.steps) if step.op in overrides.moved}
    in_place = _offer_returns(graph, options, moves) if policy == "time" and not overrides else options
    joins = {number for number in in_place if _is_joined_for_windows(graph, number)}
    in_place = {
        number: [choice for choice in each if number in joins or graph.steps[number].op in forced or _of_level_1(graph.steps[number].op, choice)]
        for number, each in in_place.items()
    }
    safe_ns = safe.ns or math.inf  # refused: any plan that fits is better

    def fitting(each: Mapping[int, list[Choice]]) -> Placed | None:
        return _fitting(graph, each, machine, moves, cap, l1_small_bytes, safe_ns, policy, say, must_move)

    if policy == "lexicographic":
        found = [placed for each in [options if level > 1 else in_place] if (placed := fitting(each)) is not None]
    else:
        both = [in_place, options] if level > 1 else [in_place]
        found = [placed for each in both if (placed := fitting(each)) is not None and (placed.ns < safe_ns or overrides)]
    if not found and overrides:
        raise OptionError("no plan with these overrides fits into the card's memory", expected="layouts that fit", hint="leave one out")
    for placed in found:
        placed.options, placed.refused = options, refused
    return sorted(found, key=lambda placed: placed.ns)


def _overwritten(step: Step) -> tuple[int, ...]:
    """Operands that the op's choices may free or overwrite."""
    return step.last if has_trait(step.op, "window") or may_overwrite(step) else ()


def _fitting(
    graph: Forward,
    options: Mapping[int, list[Choice]],
    machine: Machine,
    moves: Moves,
    cap: float,
    l1_small_bytes: int,
    safe_ns: float,
    policy: Policy,
    say: Callable[[str], None],
    must_move: Mapping[int, frozenset[int]],
) -> Placed | None:
    """The fastest plan of these choices whose replay has room for everything: what has not goes to DRAM, and the search starts again."""
    groups = {number: (_group(step.op), tuple(index for index, _ in step.operands), _overwritten(step)) for number, step in enumerate(graph.steps)}
    barred: frozenset[int] = frozenset()
    packed: set[int] = set()  # steps whose results are moved up
    slack: dict[Any, int] = {}  # by group: L1 that its steps must leave, because holes between tensors are no use to them
    for attempt in range(MOST_REPLAYS):
        say(f"searching, plan {attempt + 1}")
        left = {number: slack[group] for number, group in groups.items() if group in slack}

        def run(fixed: Mapping[int, Choice], required: Mapping[int, Memory], barred: frozenset[int] = barred, left: Mapping[int, int] = left) -> Plan | None:
            held = {number: [fixed[number]] if number in fixed else each for number, each in options.items()}
            for number, memory in required.items():
                held[number] = _leaving(graph, number, held[number], memory, moves)
                if not held[number]:
                    return None
            freed = {place_ for number in required for place_ in graph.steps[number].results}
            return search(graph, held, machine, moves, cap, barred - freed, policy, left, must_move)

        plan = run({}, {})
        if plan is None:
            return None
        plan = consistent(plan, graph, groups, run)
        plan.packed = frozenset(number for number in packed if _is_packable(graph, plan, number))
        done = replay(graph, plan, machine, l1_small_bytes)
        while done.ns is None and policy == "time":
            better = _with_others(graph, plan, done, groups, options, machine, l1_small_bytes)
            better = better or _packed(graph, plan, done, groups, machine, l1_small_bytes)
            if better is None:
                break
            plan, done = better
            packed |= plan.packed
        if done.ns is not None:
            if policy == "time" and not must_move:
                plan, done = _made_where_read(graph, plan, done, options, machine, l1_small_bytes)
            return Placed(graph, plan, done.ns or math.inf, safe_ns, attempt + 1, done.l1_peak_bytes)
        group = groups.get(done.failed)
        if group is not None and policy == "time" and slack.get(group, 0) < MOST_SLACK * machine.l1_bytes:
            slack[group] = slack.get(group, 0) + max(_shortfall(done.error), LEAST_SLACK)
            continue
        victim = _victim(graph, plan, done.failed, barred, policy)
        if victim is None:
            return None
        barred |= {place_ for place_ in _like(graph, victim, groups)}
    return None


def _leaving(graph: Forward, number: int, listed: Sequence[Choice], memory: Memory, moves: Moves) -> list[Choice]:
    """The choices whose readers find the result in a memory: it is made there, or moved there at once."""
    found = [choice for choice in listed if choice.leaves == memory]
    step = graph.steps[number]
    may_move = len(step.results) == 1 and step.results[0] not in graph.returned and not has_trait(step.op, "shares_memory")
    for choice in listed if may_move else ():
        if choice.result == memory or choice.then is not None:
            continue
        made = spec_of(step.op.results[0], choice.result)
        cost = moves.ns(made, memory)
        if cost is not None:
            both = l1_bytes(made, choice.result, moves.cores) + l1_bytes(made, memory, moves.cores)
            found.append(replace(choice, then=memory, then_ns=cost + RESHARD_NS, own_bytes=max(choice.own_bytes, both)))
    return found


def _offer_moves_for_all(graph: Forward, options: dict[int, list[Choice]], machine: Machine, moves: Moves) -> None:
    """Adds ways of what several products read, and of products with several readers: the result is made interleaved, which allows taller subblocks, and
    moved to shards for all of them."""
    readers: dict[int, list[Operation]] = {}
    for step in graph.steps:
        for place in {place for _, place in step.operands}:
            readers.setdefault(place, []).append(step.op)
    known: dict[Any, list[Choice]] = {}  # equal ops share one list, and go on doing so
    for number, step in enumerate(graph.steps):
        if number not in options or len(step.results) != 1 or len(readers.get(step.results[0], ())) < 2:
            continue
        value, wide = step.op.results[0], all(is_wide(op) for op in readers[step.results[0]])
        if not wide and not has_trait(step.op, "product"):
            continue
        listed = options[number]
        if (id(listed), wide) not in known:
            best: dict[tuple[tuple[Memory, ...], Memory | None], Choice] = {}
            made = [each for each in listed if each.result.buffer == "L1" and each.result.shard is None]
            for shards in widths(value, machine, MORE_CORES) if wide else memories(value, machine):
                for choice in sorted(_leaving(graph, number, made, shards, moves), key=lambda each: each.ns):
                    best.setdefault((choice.operands, choice.then), choice)
            known[id(listed), wide] = [*listed, *best.values()]
        options[number] = known[id(listed), wide]


def _is_packable(graph: Forward, plan: Plan, number: int) -> bool:
    """Whether the step has one result, in L1, of its own: the library moves no memory that somebody else holds."""
    step, taken = graph.steps[number], plan.taken.get(number)
    if taken is None or taken.choice.leaves.buffer != "L1" or len(step.results) != 1 or step.results[0] in graph.returned:
        return False
    return not has_trait(step.op, "shares_memory") and IN_PLACE not in taken.choice.priced.candidate.attributes


def _made_first(graph: Forward, plan: Plan, number: int, makers: Mapping[int, int]) -> int:
    """The step that made the memory which the step writes into."""
    while (taken := plan.taken.get(number)) is not None and IN_PLACE in taken.choice.priced.candidate.attributes:
        place_ = dict(graph.steps[number].operands)[taken.choice.priced.candidate.attributes[IN_PLACE]]
        if place_ not in makers:
            break
        number = makers[place_]
    return number


def _with_others(
    graph: Forward, plan: Plan, done: Replayed, groups: Mapping[int, Any], options: Mapping[int, list[Choice]], machine: Machine, l1_small_bytes: int
) -> tuple[Plan, Replayed] | None:
    """The plan with an op, and its like in equal layers, done otherwise, if it then runs further: a sum overwrites its other operand, which may lie where
    no hole is left, or the halo of a window is moved up when its input is gone."""
    tried: set[Any] = set()
    for number in range(done.failed, -1, -1):
        taken, group = plan.taken.get(number), groups.get(number)
        if taken is None or group in tried or not _may_differ(taken):
            continue
        if len(tried) == MOST_PACKED:
            break
        tried.add(group)
        changed = {}
        for like, theirs in plan.taken.items():
            if groups.get(like) == group and theirs.choice is taken.choice and _may_differ(theirs):
                others = [each for each in options[like] if _differs_in_place(each, theirs.choice) or _moves_halo_of(each, theirs.choice)]
                changed.update({like: replace(theirs, choice=others[0])} if others else {})
        if not changed:
            continue
        other = replace(plan, taken={**plan.taken, **changed})
        again = replay(graph, other, machine, l1_small_bytes)
        if again.ns is not None or again.failed > done.failed:
            return other, again
    return None


def _made_where_read(
    graph: Forward, plan: Plan, done: Replayed, options: Mapping[int, list[Choice]], machine: Machine, l1_small_bytes: int
) -> tuple[Plan, Replayed]:
    """The plan without moves of results that one step alone reads: they are made where it reads them, if that is as fast and fits.

    Equal ops have one choice, so that the casts of query, key and value write to DRAM when only the key is read in L1.
    """
    makers = graph.makers()
    readers = Counter(place for step in graph.steps for _, place in step.operands)
    taken, moved = dict(plan.taken), 0
    for number, reader in plan.taken.items():
        places = dict(graph.steps[number].operands)
        for index, memory in reader.moves:
            place_ = places[index]
            maker = makers[place_]
            made = taken.get(maker)
            if made is None or made.choice.then is not None or readers[place_] > 1 or place_ in graph.returned or len(graph.steps[maker].results) > 1:
                continue
            same = (each for each in options[maker] if (each.operands, each.result, each.then) == (made.choice.operands, memory, None))
            if (other := next(same, None)) is not None:
                taken[maker] = replace(made, choice=other)
                taken[number] = replace(taken[number], moves=tuple(move for move in taken[number].moves if move[0] != index))
                moved += 1
    if not moved:
        return plan, done
    other_plan = replace(plan, taken=taken)
    again = replay(graph, other_plan, machine, l1_small_bytes)
    return (other_plan, again) if again.ns is not None and done.ns is not None and again.ns <= done.ns else (plan, done)


def _may_differ(taken: Taken) -> bool:
    attributes = taken.choice.priced.candidate.attributes
    return halo_stays(attributes) or (IN_PLACE in attributes and not taken.moves)


def _differs_in_place(one: Choice, other: Choice) -> bool:
    """Whether two choices differ in nothing but the operand that the result overwrites."""
    places = [each.priced.candidate.attributes.get(IN_PLACE) for each in (one, other)]
    return None not in places and places[0] != places[1] and (one.operands, one.result, one.then) == (other.operands, other.result, other.then)


def _moves_halo_of(one: Choice, other: Choice) -> bool:
    """Whether a choice differs from the other in nothing but that its halo is moved."""
    mine, theirs = one.priced.candidate, other.priced.candidate
    return (
        halo_stays(theirs.attributes) and not halo_stays(mine.attributes) and blocks_of(mine.attributes) == blocks_of(theirs.attributes)
        and (one.operands, one.result, one.then, mine.frees) == (other.operands, other.result, other.then, theirs.frees)
    )  # fmt: skip


def _packed(graph: Forward, plan: Plan, done: Replayed, groups: Mapping[int, Any], machine: Machine, l1_small_bytes: int) -> tuple[Plan, Replayed] | None:
    """The plan with one of the lowest tensors moved up where it is made, there or in all equal layers, if it then runs further."""
    makers = graph.makers()
    for place_ in done.lowest[:MOST_PACKED]:
        number = _made_first(graph, plan, makers[place_], makers)
        if number in plan.packed or number == done.failed or not _is_packable(graph, plan, number):
            continue
        like = [each for each, group in groups.items() if group == groups[number] and _is_packable(graph, plan, each)]
        tried = [replace(plan, packed=plan.packed | set(moved)) for moved in ((number,), like)[: 1 + (len(like) > 1)]]
        found = [(each, again) for each in tried if (again := replay(graph, each, machine, l1_small_bytes)).ns is not None or again.failed > done.failed]
        if found:
            return min(found, key=lambda pair: (pair[1].ns or math.inf, -pair[1].failed))
    return None


def _shortfall(error: str) -> int:
    """Bytes per core that were missing, from the library's message; a usual piece where it does not say."""
    clash = re.search(r"L1 buffer allocated at (\d+) and static circular buffer region ends at (\d+)", error)
    if clash:
        return int(clash[2]) - int(clash[1])
    room = re.search(r"each bank needs to store (\d+) B.*largest free block: (\d+) B", error)
    return int(room[1]) - int(room[2]) if room else LEAST_SLACK


def _leave_out_small_gains(graph: Forward, options: dict[int, list[Choice]], least_ns: float) -> None:
    """Equal ops whose configs gain next to nothing keep the library's own choice, wherever their tensors lie.

    Steps of a recurrent layer count together, though the state of the first is a constant, which may not move.
    """
    gains_ns: dict[int, float] = {}
    totals_ns: Counter[Any] = Counter()
    for number, listed in options.items():
        op = graph.steps[number].op
        plain = [choice for choice in listed if not choice.priced.candidate.attributes] if op.name in FAMILIES else []
        if plain and len(plain) < len(listed):
            gains_ns[number] = min(choice.ns for choice in plain) - min(choice.ns for choice in listed)
            totals_ns.update({id(listed): gains_ns[number], _group(op): gains_ns[number]})
    for number, listed in [(number, options[number]) for number in gains_ns]:
        if max(totals_ns[id(listed)], totals_ns[_group(graph.steps[number].op)]) < least_ns:
            options[number] = [choice for choice in listed if not choice.priced.candidate.attributes]


def _offer_returns(graph: Forward, options: Mapping[int, list[Choice]], moves: Moves, to: Memory = DRAM) -> dict[int, list[Choice]]:
    """Adds ways of ops that work on shards for themselves: the result goes to DRAM or interleaved L1 right behind them."""
    known: dict[int, list[Choice]] = {}  # equal ops share one list
    found = dict(options)
    for number, listed in options.items():
        alone = [choice for choice in listed if _is_alone(graph.steps[number].op, choice)]
        if not alone:
            continue
        if id(listed) not in known:
            best: dict[tuple[tuple[Memory, ...], int], Choice] = {}
            for choice in sorted(_leaving(graph, number, alone, to, moves), key=lambda each: each.ns):
                best.setdefault((choice.operands, choice.own_bytes), choice)
            known[id(listed)] = [*listed, *(choice for choice in best.values() if choice.then is not None)]
        found[number] = known[id(listed)]
    return found


def _is_alone(op: Operation, choice: Choice) -> bool:
    """Whether level 1 may move what the op reads: a sliding window, or a norm or product of one row of tiles on width shards."""
    return has_trait(op, "window") or (op.name in named("ttnn", "row_norm", "product") and any(memory.layout == "WIDTH_SHARDED" for memory in choice.operands))


def _is_joined_for_windows(graph: Forward, number: int) -> bool:
    """Whether the step joins what sliding windows alone read: level 1 brings its operands to shards and joins them there, right before the window."""
    step = graph.steps[number]
    if step.op.name != JOIN or len(step.results) != 1 or step.results[0] in graph.returned:
        return False
    readers = [other.op for other in graph.steps if any(place_ == step.results[0] for _, place_ in other.operands)]
    return bool(readers) and all(has_trait(op, "window") for op in readers)


def _of_level_1(op: Operation, choice: Choice) -> bool:
    return choice.leaves == DRAM and (_is_alone(op, choice) or all(memory == DRAM for memory in choice.operands))


@dataclass(slots=True)
class Replayed:
    """ns: None where the device ran out of memory at step `failed`. lowest: values in L1 then, the lowest address first.

    skipped: steps without a plan whose call is refused, and why: the simulator may have no such path.
    """

    ns: float | None
    failed: int = -1
    error: str = ""
    l1_peak_bytes: int = 0
    lowest: tuple[int, ...] = ()
    skipped: dict[int, str] = field(default_factory=dict)


def replay(graph: Forward, plan: Plan, machine: Machine, l1_small_bytes: int) -> Replayed:
    """Runs the steps on an idle device: exact addresses, circular buffers against tensors, and the clock."""
    device = Replay(machine.card, l1_small_bytes)
    held: dict[SSAValue, Held] = {}
    skipped: dict[int, str] = {}
    ends: dict[int, list[SSAValue]] = {}
    moved = {number for number, taken in plan.taken.items() if taken.choice.then is not None}
    for place_, end in enumerate(ends_of(graph, moved | plan.packed) if moved or plan.packed else graph.ends):
        ends.setdefault(end, []).append(graph.values[place_])
    uses = {value: number for number, step in enumerate(graph.steps) for value in step.op.operands}
    movable = set(graph.values)
    local = {value for value, is_local in zip(graph.values, graph.local, strict=True) if is_local}
    try:
        for number, step in enumerate(graph.steps):
            try:
                _run(device, step.op, plan.taken.get(number), held, [value for value in ends.get(number, []) if value in local])
            except NotAskable:  # it makes nothing that is held; what it reads last is free all the same
                pass
            except OutOfMemory as error:
                return Replayed(None, number, str(error), lowest=_lowest(device, graph, plan, held))
            except ShimError as error:
                if number in plan.taken:
                    return Replayed(None, number, str(error))
                skipped[number] = str(error)
            for value in _freed_in(step.op, plan.taken.get(number)):
                if value in held:
                    device.free(held.pop(value))
            for value in ends.get(number, []):
                if value in held:
                    device.free(held.pop(value))
            for value in step.op.operands:
                if value in held and value not in movable and uses[value] == number and isinstance(value.owner, Operation):
                    device.free(held.pop(value))
            try:
                if number in moved:
                    _move(device, held, step.op.results[0], "ttnn.to_memory_config", plan.taken[number].choice.leaves)
                if number in plan.packed:
                    _move(device, held, step.op.results[0], "ttnn.reallocate")
            except ShimError as error:
                return Replayed(None, number, str(error), lowest=_lowest(device, graph, plan, held))
        makers = graph.makers()
        for place_ in graph.returned:
            value = graph.values[place_]
            if value in held and _result_of(plan, makers[place_]) != DRAM:
                try:
                    device.free(_first(device.call("ttnn.to_memory_config", [held[value], DRAM])))
                except ShimError as error:
                    return Replayed(None, len(graph.steps), str(error))
        return Replayed(device.device_ns, l1_peak_bytes=device.l1_peak_bytes, skipped=skipped)
    finally:
        for tensor in held.values():
            device.free(tensor)
        device.close()


def _move(device: Replay, held: dict[SSAValue, Held], value: SSAValue, target: str, *arguments: Any) -> None:
    """Puts a copy that `target` makes in the place of a value."""
    copy = _first(device.call(target, [held[value], *arguments]))
    device.free(held[value])
    held[value] = copy


def _freed_in(op: Operation, taken: Taken | None) -> list[SSAValue]:
    """Operands whose memory the op has freed or overwritten; of a moved one that is the copy."""
    if taken is None:
        return []
    moved = {index for index, _ in taken.moves}
    return [op.operands[index] for index in taken.choice.priced.candidate.frees if index not in moved]


def _lowest(device: Replay, graph: Forward, plan: Plan, held: Mapping[SSAValue, Held]) -> tuple[int, ...]:
    found = []
    for place_, number in graph.makers().items():
        value = graph.values[place_]
        if value in held and _result_of(plan, number).buffer == "L1":
            try:
                found.append((device.address(held[value]), place_))
            except ShimError:  # freed by the op that read it last
                continue
    return tuple(place_ for _, place_ in sorted(found))


def _run(device: Replay, op: Operation, taken: Taken | None, held: dict[SSAValue, Held], ending: Sequence[SSAValue]) -> None:
    """ending: values that nothing holds behind the op; what is moved for it and ends with it is free once it is moved."""
    moved: dict[SSAValue, Held] = {}
    for index, memory in taken.moves if taken is not None else ():
        value = op.operands[index]
        moved[value] = _first(device.call("ttnn.to_memory_config", [_held(device, value, held), memory]))
        if value in ending and sum(value is operand for operand in op.operands) == 1:
            device.free(held.pop(value))
    for index, memory in taken.choice.priced.candidate.weights.items() if taken is not None else ():
        moved[op.operands[index]] = device.tensor(spec_of(op.operands[index], memory))
    changed = taken.choice.priced.candidate.attributes if taken is not None else {}
    result = taken.choice.result if taken is not None else None
    target, first, arguments = call_of(op, changed, result, lambda value: moved.get(value) or _held(device, value, held))
    made = device.call(target, first, **arguments)
    for value, tensor in zip(op.results, made, strict=False):
        if tensor is not None:
            held[value] = tensor
    for tensor in made[len(op.results) :]:
        if tensor is not None:
            device.free(tensor)
    for tensor in moved.values():
        device.free(tensor)


def _result_of(plan: Plan, maker: int) -> Memory:
    """Where a step leaves its result."""
    taken = plan.taken.get(maker)
    return taken.choice.leaves if taken is not None else DRAM


def _first(tensors: list[Held | None]) -> Held:
    assert tensors[0] is not None
    return tensors[0]


def _held(device: Replay, value: SSAValue, held: dict[SSAValue, Held]) -> Held:
    """The tensor of a value; inputs, weights and what could not be run are there already, where their types say."""
    if value not in held:
        held[value] = device.tensor(spec_of(value))
    return held[value]


def _victim(graph: Forward, plan: Plan, failed: int, barred: frozenset[int], policy: Policy) -> int | None:
    """Of the values in L1 while a step ran out of memory, the one that holds most for longest."""
    best: tuple[int, int] | None = None
    for place_, made in graph.makers().items():
        taken = plan.taken.get(made)
        if taken is None or taken.choice.leaves.buffer != "L1" or place_ in barred or not made <= failed <= graph.ends[place_]:
            continue
        size = math.prod(spec_of(graph.values[place_]).shape)
        score = size * (graph.ends[place_] - made + 1) if policy == "time" else graph.ends[place_]  # tt-mlir: the farthest last use
        if best is None or score > best[0]:
            best = (score, place_)
    return best[1] if best else None


def _like(graph: Forward, victim: int, groups: Mapping[int, Any]) -> list[int]:
    """The values of the same group of ops: what is spilled in one layer is spilled in all."""
    makers = graph.makers()
    return [place_ for place_, number in makers.items() if groups[number] == groups[makers[victim]]]


_NUMBER = re.compile(r"\d+")


def _group(op: Operation) -> Any:
    """Ops of equal layers: same op, types and attributes, from the same statement of modules whose paths differ in numbers alone."""
    infos = sources_of(op)
    where = tuple((tuple(_NUMBER.sub("*", scope.path) for scope in info.scopes), info.frames[-1].line if info.frames else 0) for info in infos)
    return key_of(op), where


__all__ = ["DRAM", "Memory", "Placed", "Plan", "Replayed", "plans", "replay"]
