"""Level 2: candidates of an op over the memories of its tensors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import Memory, Spec, query
from xdsl.ir import Operation

from alchemist.ir.dialects import has_trait
from alchemist.optimizer.calls import NotAskable, ask, spec_of
from alchemist.optimizer.candidate import Candidate, Priced
from alchemist.optimizer.choose import FAMILIES, Refusals, price_all, roomiest
from alchemist.optimizer.graph import DRAM, L1, Forward, Step, l1_bytes, may_share
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.sharded import SHARDED
from alchemist.optimizer.windows import convolution, halo_stays, pool

MOST_CONFIGS = 6  # configurations that are tried for the other memories of an op's tensors
MOST_MOVING_OPERANDS = 4
MOST_SIZES = 3  # choices of the same memories that are kept, each slower than the one before but with less L1
SMALLER = 0.85
RESHARD_NS = 1000.0  # least gain of a further statement in the program
ON_SHARDS = {"ttnn.conv2d": convolution, "ttnn.conv_transpose2d": convolution, "ttnn.max_pool2d": pool, "ttnn.avg_pool2d": pool}
IN_DRAM = {"ttnn.scaled_dot_product_attention": (3,)}
"""Indices of operands that the library requires in DRAM: the mask."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to do an op. operands: memories of the operands that may move, in the step's order. result: where the op makes its results.

    own_bytes: L1 per core of operands, results and buffers together. then: where its one result is moved to right behind the op, for all
    its readers; then_ns: what this takes.
    """

    priced: Priced
    operands: tuple[Memory, ...]
    result: Memory
    own_bytes: int
    then: Memory | None = None
    then_ns: float = 0.0

    @property
    def ns(self) -> float:
        return self.priced.ns + self.then_ns

    @property
    def leaves(self) -> Memory:
        """The memory in which readers find the result."""
        return self.then or self.result


def choices(step: Step, machine: Machine, cap: float, refused: Refusals, l1_small_bytes: int, fixed: bool = False) -> list[Choice]:
    """Ways to do an op, one or two per memories of its tensors; the first keeps everything as at level 0. Empty when nothing is known of it.

    fixed: the op's configuration is the user's.
    """
    op = step.op
    places = [index for index, _ in step.operands]
    safe_operands = (DRAM,) * len(places)
    listed: list[Choice] = []
    best_of: dict[str, None] = {}
    moving = has_trait(op, "takes_l1")
    per_operand = [(DRAM,) if index in IN_DRAM.get(op.name, ()) else (DRAM, L1) for index in places]
    # The last of each: a join of the results of many steps finds all of them in one memory.
    mixed = itertools.product(*per_operand) if len(places) <= MOST_MOVING_OPERANDS else (safe_operands, tuple(memories[-1] for memories in per_operand))
    for memories in mixed if moving else (safe_operands,):
        for result in (DRAM, L1) if step.results and moving else (DRAM,):
            memory_of_place = dict(zip(places, memories, strict=True))
            listed += _at(op, machine, cap, memory_of_place, result if step.results else None, refused, l1_small_bytes, best_of, fixed)
    if has_trait(op, "takes_l1") and not fixed:
        listed += _sharded(step, machine, cap, refused, l1_small_bytes)
    return _pareto(listed)


def _at(
    op: Operation,
    machine: Machine,
    cap: float,
    operands: dict[int, Memory],
    result: Memory | None,
    refused: Refusals,
    l1_small_bytes: int,
    best_of: dict[str, None],
    fixed: bool,
) -> Iterator[Choice]:
    """The library's default and the best configurations with tensors in these memories."""
    plain = price_all(op, machine, [Candidate("the library's choice", {}, operands, result)], cap, refused, l1_small_bytes)
    if plain:
        yield choice_of(plain[0], operands, result)
    family = FAMILIES.get(op.name)
    if family is None or fixed:
        return
    candidates = family(op, machine, operands, result)
    if len(best_of) >= MOST_CONFIGS:
        candidates = iter([candidate for candidate in candidates if str(candidate.attributes) in best_of])
    accepted = price_all(op, machine, candidates, cap, refused, l1_small_bytes)
    if len(best_of) < MOST_CONFIGS:
        for priced in accepted[: MOST_CONFIGS // 2]:
            best_of[str(priced.candidate.attributes)] = None
    if accepted and not (plain and plain[0].ns - accepted[0].ns <= accepted[0].answer.ratio_error_ns):
        yield choice_of(roomiest(accepted), operands, result)
        if roomiest(accepted) is not accepted[0]:  # where memory is there, the last percent counts too
            yield choice_of(accepted[0], operands, result)


def _sharded(step: Step, machine: Machine, cap: float, refused: Refusals, l1_small_bytes: int) -> Iterator[Choice]:
    family, window = SHARDED.get(step.op.name), ON_SHARDS.get(step.op.name)
    if family is not None:
        groups = family(step, machine)
    elif window is not None:
        groups = window(step, machine, l1_small_bytes)
    else:
        return
    for candidates in groups:
        accepted = price_all(step.op, machine, candidates, cap, refused, l1_small_bytes)
        least = math.inf  # of the bytes of those before
        for priced in [roomiest(accepted), *accepted] if accepted else ():
            if priced.answer.l1_peak_bytes < least * SMALLER:
                least = priced.answer.l1_peak_bytes
                yield choice_of(priced, dict(priced.candidate.operands), priced.candidate.result)


def choice_of(priced: Priced, operands: dict[int, Memory], result: Memory | None) -> Choice:
    outputs = [output for output in priced.answer.outputs if output is not None]
    memory = result or (outputs[0].memory if outputs else DRAM)
    return Choice(priced, tuple(operands.values()), memory, priced.answer.l1_peak_bytes)


def _pareto(choices: list[Choice]) -> list[Choice]:
    """Level 0's choice; per memories the fastest choice, and slower ones that need less L1 (the Pareto front)."""
    frontiers: dict[tuple[tuple[Memory, ...], Memory, tuple[int, ...], bool], list[Choice]] = {}
    safe = [choice for choice in choices if is_safe(choice)][:1]
    for choice in sorted(choices, key=lambda choice: (choice.ns, choice.own_bytes)):
        candidate = choice.priced.candidate
        same = frontiers.setdefault((choice.operands, choice.result, candidate.frees, halo_stays(candidate.attributes)), [])
        if not same or choice.own_bytes < same[-1].own_bytes * SMALLER:
            same.append(choice)
    return [*safe, *(choice for same in frontiers.values() for choice in same[:MOST_SIZES] if choice not in safe)]


def is_safe(choice: Choice) -> bool:
    """Whether it is the choice of level 0."""
    return not choice.priced.candidate.attributes and choice.result == DRAM and all(memory == DRAM for memory in choice.operands)


class Moves:
    """Cached prices of `ttnn.to_memory_config`."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.cores = machine.grid[0] * machine.grid[1]
        self._known: dict[tuple[Spec, Memory], float | None] = {}

    def ns(self, spec: Spec, to: Memory) -> float | None:
        """Nanoseconds of the move and its error band: another kind of op than what gains by it. None where the library has none."""
        if spec.memory == to:
            return 0.0
        key = (spec, to)
        if key not in self._known:
            try:
                answer = query("ttnn.to_memory_config", [spec, to], card=self._machine.card)
                result = answer.outputs[0] if answer.accepted and answer.outputs else None
                self._known[key] = answer.device_ns + answer.ns_error if result is not None and result.memory == to else None
            except ShimError:
                self._known[key] = None
        return self._known[key]


def leaving(graph: Forward, number: int, listed: Sequence[Choice], memory: Memory, moves: Moves) -> list[Choice]:
    """The choices whose readers find the result in a memory: it is created there, or moved there at once."""
    found = [choice for choice in listed if choice.leaves == memory]
    step = graph.steps[number]
    may_move = len(step.results) == 1 and step.results[0] not in graph.returned and not may_share(step.op)
    for choice in listed if may_move else ():
        if choice.result == memory or choice.then is not None:
            continue
        spec = spec_of(step.op.results[0], choice.result)
        cost = moves.ns(spec, memory)
        if cost is not None:
            both = l1_bytes(spec, choice.result, moves.cores) + l1_bytes(spec, memory, moves.cores)
            found.append(replace(choice, then=memory, then_ns=cost + RESHARD_NS, own_bytes=max(choice.own_bytes, both)))
    return found


def spec_at(step: Step, index: int, memory: Memory) -> Spec:
    """The spec of an operand in another memory."""
    return spec_of(step.op.operands[index], memory)


__all__ = ["Choice", "Moves", "NotAskable", "ask", "choices", "spec_at"]
