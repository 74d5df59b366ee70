"""Level 2: search, replay, fall back."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ttnn_shim.queries import Memory
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import OptionError
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import single_use
from alchemist.ir.location import sources_of
from alchemist.ir.scopes import loop_of, weight_path
from alchemist.optimizer import overrides as overriding
from alchemist.optimizer.calls import IN_PLACE, spec_of
from alchemist.optimizer.choose import FAMILIES, key_of
from alchemist.optimizer.fewer_moves import moved_once, overwrites_another, overwriting_alike, overwriting_what_ends, returned_first, without_detours
from alchemist.optimizer.graph import DRAM, L1, Forward, Step, forward_of, may_share
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.placement import Choice, Moves, choices, leaving
from alchemist.optimizer.replaying import Replayed, replay
from alchemist.optimizer.search import Plan, Policy, Space, Taken, fastest_consistent, search
from alchemist.optimizer.sharded import is_image, may_overwrite, memories
from alchemist.optimizer.stream import MORE_CORES, is_wide, weight_may_move, widths
from alchemist.optimizer.windows import blocks_of, halo_stays
from alchemist.options import CompilerOptions

JOIN = "ttnn.concat"
MOST_REPLAYS = 24
MOST_SLACK = 0.3
"""Share of L1 that fragmentation may cost an op before a tensor is spilled to DRAM."""
LEAST_SLACK = 1 << 15
LEAST_SHARE = 0.0005
"""Least total gain of the program configs of equal ops, relative to level 0's time: each config is a dozen lines of the program."""
MOST_PACKED = 3
"""Limit of tensors that the search tries to reallocate when it runs out of memory."""


@dataclass(slots=True)
class Placed:
    """The decisions for a forward function. ns: of the replay. safe_ns: of the same function as at level 0, replayed; infinite if refused."""

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
    if level > 1 and policy == "time":
        _residuals_first(func)
    graph = forward_of(func)
    overrides = overriding.read(options_given, graph, machine) if options_given is not None else overriding.Overrides({}, set())
    cache: dict[Any, tuple[list[Choice], dict[str, int], OptionError | None]] = {}
    used: set[tuple[str, Any]] = set()  # (name, overridden layout) pairs that matched an op
    unable: dict[tuple[str, Any], OptionError] = {}
    options: dict[int, list[Choice]] = {}
    refused: dict[int, dict[str, int]] = {}
    for number, step in enumerate(graph.steps):
        layout, fixed = overrides.layouts.get(step.op), step.op in overrides.fixed
        key = (key_of(step.op), tuple(index for index, _ in step.operands), bool(step.results), layout, fixed, _overwritten(step), weight_may_move(step.op))
        if key not in cache:
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
            cache[key] = (listed, reasons, unfit)
        options[number], refused[number], unfit = cache[key]
        if layout is not None:
            called = (overriding.names_of(step.op)[0], layout)
            if unfit is None:
                used.add(called)
            else:
                unable.setdefault(called, unfit)
    for name, reason in unable.items():
        if name not in used:
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
        number: [choice for choice in listed if number in joins or graph.steps[number].op in forced or _of_level_1(graph.steps[number].op, choice)]
        for number, listed in in_place.items()
    }
    safe_ns = safe.ns or math.inf  # refused: any plan that fits is better

    def fitting(choices_: Mapping[int, list[Choice]]) -> Placed | None:
        return _fitting(graph, choices_, machine, moves, cap, l1_small_bytes, safe_ns, policy, say, must_move)

    if safe.ns is None and not options.get(safe.failed):  # an op without choices is refused although all tensors are in DRAM
        placed_plans = []
    elif policy == "lexicographic":
        placed_plans = [placed for listed in [options if level > 1 else in_place] if (placed := fitting(listed)) is not None]
    else:
        both = [in_place, options] if level > 1 else [in_place]
        placed_plans = [placed for listed in both if (placed := fitting(listed)) is not None and (placed.ns < safe_ns or overrides)]
    if not placed_plans and overrides:
        raise OptionError("no plan with these overrides fits into the card's memory", expected="layouts that fit", hint="leave one out")
    for placed in placed_plans:
        placed.options, placed.refused = options, refused
    return sorted(placed_plans, key=lambda placed: placed.ns)


def _residuals_first(func: FuncOp) -> None:
    """Puts the residual, which other ops read too, first in a sum: shards of the first operand decide those of the sum, and the second may be interleaved."""
    made: dict[SSAValue, int] = {result: place for place, op in enumerate(func.body.block.ops) for result in op.results}
    for op in func.body.block.ops:
        if op.name != "ttnn.add" or len(op.operands) != 2 or any(value not in made or value.type != op.results[0].type for value in op.operands):
            continue
        branch, residual = op.operands
        if made[residual] < made[branch] and not single_use(residual) and single_use(branch) and not is_image(residual):
            op.operands[0], op.operands[1] = residual, branch


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
    """The fastest plan of these choices whose replay fits in memory: values that do not fit are spilled to DRAM, and the search restarts."""
    groups = {number: (_group(step.op), tuple(index for index, _ in step.operands), _overwritten(step)) for number, step in enumerate(graph.steps)}
    space = Space(graph, machine, moves, cap, policy)
    barred: frozenset[int] = frozenset()
    packed: set[int] = set()  # steps whose results are reallocated
    slack: dict[Any, int] = {}  # by group: L1 that its steps must leave free, lost to fragmentation or for the library's default config
    found: list[Placed] = []

    def replayed(plan: Plan) -> Replayed:
        return replay(graph, plan, machine, l1_small_bytes)

    for attempt in range(MOST_REPLAYS):
        say(f"searching, plan {attempt + 1} of at most {MOST_REPLAYS}")
        left = {number: slack[group] for number, group in groups.items() if group in slack}

        def run(
            fixed: Mapping[int, Choice],
            required: Mapping[int, Memory],
            in_dram: frozenset[int],
            barred: frozenset[int] = barred,
            left: Mapping[int, int] = left,
        ) -> Plan | None:
            allowed = {number: [fixed[number]] if number in fixed else listed for number, listed in options.items()}
            for number, memory in required.items():
                allowed[number] = leaving(graph, number, allowed[number], memory, moves)
                if not allowed[number]:
                    return None
            freed = {place_ for number in required for place_ in graph.steps[number].results}
            return search(graph, allowed, space, (barred | in_dram) - freed, left, must_move)

        plan = fastest_consistent(graph, groups, run)
        if plan is None:
            return None
        plan.packed = frozenset(number for number in packed if _is_packable(graph, plan, number))
        done = replay(graph, plan, machine, l1_small_bytes)
        while done.ns is None and policy == "time":
            better = _with_other_choices(graph, plan, done, groups, options, machine, l1_small_bytes)
            better = better or _reallocated(graph, plan, done, groups, machine, l1_small_bytes)
            if better is None:
                break
            plan, done = better
            packed |= plan.packed
        if done.ns is not None:
            if policy == "time" and not must_move:
                plan, done = returned_first(graph, plan, done, options, moves, replayed)
                plan, done = moved_once(graph, plan, done, groups, moves, replayed)
                plan, done = overwriting_alike(plan, done, options, replayed)
                plan, done = without_detours(graph, plan, done, groups, moves, replayed)
            plan, done = overwriting_what_ends(graph, plan, done, groups, replayed)
            found.append(Placed(graph, plan, done.ns or math.inf, safe_ns, attempt + 1, done.l1_peak_bytes))
            alone = {groups[number]: int(cap * machine.l1_bytes) - plan.taken[number].choice.own_bytes for number in done.crowded}
            if policy != "time" or all(slack.get(group, 0) >= free for group, free in alone.items()):
                break
            slack |= alone
            continue
        group = groups.get(done.failed)
        if group is not None and policy == "time" and slack.get(group, 0) < MOST_SLACK * machine.l1_bytes:
            slack[group] = slack.get(group, 0) + max(_shortfall(done.error), LEAST_SLACK)
            continue
        victim = _victim(graph, plan, done.failed, barred, policy)
        if victim is None:
            break
        barred |= {place_ for place_ in _equal_in_layers(graph, victim, groups)}
    return min(found, key=lambda placed: placed.ns, default=None)


def _offer_moves_for_all(graph: Forward, options: dict[int, list[Choice]], machine: Machine, moves: Moves) -> None:
    """Adds ways of what several products read, and of products with several readers: the result is made interleaved, which allows taller subblocks, and
    moved to shards for all of them."""
    readers: dict[int, list[Operation]] = {}
    for step in graph.steps:
        for place in {place for _, place in step.operands}:
            readers.setdefault(place, []).append(step.op)
    cache: dict[Any, list[Choice]] = {}  # equal ops keep sharing one list
    for number, step in enumerate(graph.steps):
        if number not in options or len(step.results) != 1 or len(readers.get(step.results[0], ())) < 2:
            continue
        value, wide = step.op.results[0], all(is_wide(op) for op in readers[step.results[0]])
        if not wide and not has_trait(step.op, "product"):
            continue
        listed = options[number]
        if (id(listed), wide) not in cache:
            best: dict[tuple[tuple[Memory, ...], Memory | None], Choice] = {}
            interleaved = [choice for choice in listed if choice.result.buffer == "L1" and choice.result.shard is None]
            for shards in widths(value, machine, MORE_CORES) if wide else memories(value, machine):
                for choice in sorted(leaving(graph, number, interleaved, shards, moves), key=lambda choice: choice.ns):
                    best.setdefault((choice.operands, choice.then), choice)
            cache[id(listed), wide] = [*listed, *best.values()]
        options[number] = cache[id(listed), wide]


def _is_packable(graph: Forward, plan: Plan, number: int) -> bool:
    """Whether the step has one result in L1 that is no view: the library does not reallocate shared memory."""
    step, decision = graph.steps[number], plan.taken.get(number)
    if decision is None or decision.choice.leaves.buffer != "L1" or len(step.results) != 1 or step.results[0] in graph.returned:
        return False
    return not may_share(step.op) and IN_PLACE not in decision.choice.priced.candidate.attributes


def _allocating_step(graph: Forward, plan: Plan, number: int, makers: Mapping[int, int]) -> int:
    """The step that allocated the memory which the step overwrites."""
    while (decision := plan.taken.get(number)) is not None and IN_PLACE in decision.choice.priced.candidate.attributes:
        place_ = dict(graph.steps[number].operands)[decision.choice.priced.candidate.attributes[IN_PLACE]]
        if place_ not in makers:
            break
        number = makers[place_]
    return number


def _with_other_choices(
    graph: Forward, plan: Plan, done: Replayed, groups: Mapping[int, Any], options: Mapping[int, list[Choice]], machine: Machine, l1_small_bytes: int
) -> tuple[Plan, Replayed] | None:
    """The plan with another choice for an op and its equals in other layers, if it then runs further: a sum overwrites its other operand, which may be
    where no hole is left, or the halo of a window is moved when its input is freed."""
    tried: set[Any] = set()
    for number in range(done.failed, -1, -1):
        decision, group = plan.taken.get(number), groups.get(number)
        if decision is None or group in tried or not _may_differ(decision):
            continue
        if len(tried) == MOST_PACKED:
            break
        tried.add(group)
        changed = {}
        for twin, peer in plan.taken.items():
            if groups.get(twin) == group and peer.choice is decision.choice and _may_differ(peer):
                options_of = [c for c in options[twin] if overwrites_another(c, peer.choice) or _moves_halo_of(c, peer.choice)]
                changed.update({twin: replace(peer, choice=options_of[0])} if options_of else {})
        if not changed:
            continue
        other = replace(plan, taken={**plan.taken, **changed})
        again = replay(graph, other, machine, l1_small_bytes)
        if again.ns is not None or again.failed > done.failed:
            return other, again
    return None


def _may_differ(decision: Taken) -> bool:
    attributes = decision.choice.priced.candidate.attributes
    return halo_stays(attributes) or (IN_PLACE in attributes and not decision.moves)


def _moves_halo_of(first: Choice, second: Choice) -> bool:
    """Whether the second choice differs from the first only in that its halo is moved."""
    left, right = first.priced.candidate, second.priced.candidate
    return (
        halo_stays(right.attributes) and not halo_stays(left.attributes) and blocks_of(left.attributes) == blocks_of(right.attributes)
        and (first.operands, first.result, first.then, left.frees) == (second.operands, second.result, second.then, right.frees)
    )  # fmt: skip


def _reallocated(graph: Forward, plan: Plan, done: Replayed, groups: Mapping[int, Any], machine: Machine, l1_small_bytes: int) -> tuple[Plan, Replayed] | None:
    """The plan with one of the lowest tensors reallocated right after the op that creates it, there or in all equal layers, if it then runs further."""
    makers = graph.makers()
    for place_ in done.lowest[:MOST_PACKED]:
        number = _allocating_step(graph, plan, makers[place_], makers)
        if number in plan.packed or number == done.failed or not _is_packable(graph, plan, number):
            continue
        equal_steps = [step for step, group in groups.items() if group == groups[number] and _is_packable(graph, plan, step)]
        tried = [replace(plan, packed=plan.packed | set(steps)) for steps in ((number,), equal_steps)[: 1 + (len(equal_steps) > 1)]]
        replayed = [(step, again) for step in tried if (again := replay(graph, step, machine, l1_small_bytes)).ns is not None or again.failed > done.failed]
        if replayed:
            return min(replayed, key=lambda pair: (pair[1].ns or math.inf, -pair[1].failed))
    return None


def _shortfall(error: str) -> int:
    """Missing bytes per core, from the library's message; a default if it does not contain them."""
    clash = re.search(r"L1 buffer allocated at (\d+) and static circular buffer region ends at (\d+)", error)
    if clash:
        return int(clash[2]) - int(clash[1])
    room = re.search(r"each bank needs to store (\d+) B.*largest free block: (\d+) B", error)
    return int(room[1]) - int(room[2]) if room else LEAST_SLACK


def _leave_out_small_gains(graph: Forward, options: dict[int, list[Choice]], least_ns: float) -> None:
    """Equal ops whose configs gain almost nothing keep the library's default.

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
    """Adds choices that move a sharded op's result to DRAM or interleaved L1 right after it."""
    cache: dict[int, list[Choice]] = {}  # equal ops share one list
    extended = dict(options)
    for number, listed in options.items():
        alone = [choice for choice in listed if _is_alone(graph.steps[number].op, choice)]
        if not alone:
            continue
        if id(listed) not in cache:
            best: dict[tuple[tuple[Memory, ...], int], Choice] = {}
            for choice in sorted(leaving(graph, number, alone, to, moves), key=lambda choice: choice.ns):
                best.setdefault((choice.operands, choice.own_bytes), choice)
            cache[id(listed)] = [*listed, *(choice for choice in best.values() if choice.then is not None)]
        extended[number] = cache[id(listed)]
    return extended


def _is_alone(op: Operation, choice: Choice) -> bool:
    """Whether level 1 may move the op's operand: a sliding window, or a norm or product of one row of tiles on width shards."""
    return has_trait(op, "window") or (op.name in named("ttnn", "row_norm", "product") and any(memory.layout == "WIDTH_SHARDED" for memory in choice.operands))


def _is_joined_for_windows(graph: Forward, number: int) -> bool:
    """Whether only sliding windows read the concatenation: level 1 moves its operands to shards and joins them there, right before the window."""
    step = graph.steps[number]
    if step.op.name != JOIN or len(step.results) != 1 or step.results[0] in graph.returned:
        return False
    readers = [other.op for other in graph.steps if any(place_ == step.results[0] for _, place_ in other.operands)]
    return bool(readers) and all(has_trait(op, "window") for op in readers)


def _of_level_1(op: Operation, choice: Choice) -> bool:
    return choice.leaves == DRAM and (_is_alone(op, choice) or all(memory == DRAM for memory in choice.operands))


def _victim(graph: Forward, plan: Plan, failed: int, barred: frozenset[int], policy: Policy) -> int | None:
    """The value in L1 to spill when a step ran out of memory: the one with the largest bytes times remaining live range."""
    best: tuple[int, int] | None = None
    for place_, maker in graph.makers().items():
        decision = plan.taken.get(maker)
        if decision is None or decision.choice.leaves.buffer != "L1" or place_ in barred or not maker <= failed <= graph.ends[place_]:
            continue
        size = math.prod(spec_of(graph.values[place_]).shape)
        score = size * (graph.ends[place_] - maker + 1) if policy == "time" else graph.ends[place_]  # tt-mlir: the farthest last use
        if best is None or score > best[0]:
            best = (score, place_)
    return best[1] if best else None


def _equal_in_layers(graph: Forward, victim: int, groups: Mapping[int, Any]) -> list[int]:
    """The equal values in other layers, so that all layers spill the same value."""
    makers = graph.makers()
    return [place_ for place_, number in makers.items() if groups[number] == groups[makers[victim]]]


_NUMBER = re.compile(r"\d+")


def _group(op: Operation) -> Any:
    """The key of equal ops of repeated layers: same op, types and attributes, from modules whose paths differ only in numbers."""
    infos = sources_of(op)
    called = weight_path if loop_of(infos) else str  # each turn of a loop that the front end unrolled is a call of its own, the first one too
    where = tuple((tuple(_NUMBER.sub("*", called(scope.path)) for scope in info.scopes), info.frames[-1].line if info.frames else 0) for info in infos)
    return key_of(op), where


__all__ = ["DRAM", "Memory", "Placed", "Plan", "Replayed", "plans", "replay"]
