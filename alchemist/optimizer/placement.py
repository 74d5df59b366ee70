"""Level 2: candidates of an op over the memories of its tensors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import Memory, Spec, query
from xdsl.ir import Operation

from alchemist.optimizer.calls import NotAskable, ask, spec_of
from alchemist.optimizer.candidate import Candidate, Priced
from alchemist.optimizer.choose import FAMILIES, Refusals, margin, price_all, roomiest
from alchemist.optimizer.graph import DRAM, L1, Step
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.sharded import SHARDED

MOST_CONFIGS = 6  # configurations that are tried for the other memories of an op's tensors
MOST_MOVING_OPERANDS = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to do an op. operands: memories of the operands that may move, in the step's order. result: of its results.

    own_bytes: L1 per core of operands, results and buffers together.
    """

    priced: Priced
    operands: tuple[Memory, ...]
    result: Memory
    own_bytes: int

    @property
    def ns(self) -> float:
        return self.priced.ns


def choices(step: Step, machine: Machine, cap: float, refused: Refusals, l1_small_bytes: int) -> list[Choice]:
    """Ways to do an op, one or two per memories of its tensors; the first keeps everything as at level 0. Empty when nothing is known of it."""
    op = step.op
    places = [index for index, _ in step.operands]
    safe_operands = (DRAM,) * len(places)
    found: list[Choice] = []
    best_of: dict[str, None] = {}
    moving = len(places) <= MOST_MOVING_OPERANDS
    for memories in itertools.product((DRAM, L1), repeat=len(places)) if moving else (safe_operands,):
        for result in (DRAM, L1) if step.results else (DRAM,):
            found += _at(op, machine, cap, dict(zip(places, memories, strict=True)), result if step.results else None, refused, l1_small_bytes, best_of)
    if moving:
        found += _sharded(step, machine, cap, refused, l1_small_bytes)
    return _pareto(found)


def _at(
    op: Operation,
    machine: Machine,
    cap: float,
    operands: dict[int, Memory],
    result: Memory | None,
    refused: Refusals,
    l1_small_bytes: int,
    best_of: dict[str, None],
) -> Iterator[Choice]:
    """The library's own choice and the best configuration with tensors at these memories."""
    plain = price_all(op, machine, [Candidate("the library's choice", {}, operands, result)], cap, refused, l1_small_bytes)
    if plain:
        yield choice_of(plain[0], operands, result)
    family = FAMILIES.get(op.name)
    if family is None:
        return
    candidates = family(op, machine, operands, result)
    if len(best_of) >= MOST_CONFIGS:
        candidates = iter([candidate for candidate in candidates if str(candidate.attributes) in best_of])
    found = price_all(op, machine, candidates, cap, refused, l1_small_bytes)
    if len(best_of) < MOST_CONFIGS:
        for priced in found[: MOST_CONFIGS // 2]:
            best_of[str(priced.candidate.attributes)] = None
    if found and not (plain and plain[0].ns - found[0].ns <= margin(plain[0], found[0])):
        yield choice_of(roomiest(found), operands, result)


def _sharded(step: Step, machine: Machine, cap: float, refused: Refusals, l1_small_bytes: int) -> Iterator[Choice]:
    family = SHARDED.get(step.op.name)
    if family is None:
        return
    for candidates in family(step, machine):
        found = price_all(step.op, machine, candidates, cap, refused, l1_small_bytes)
        if found:
            best = roomiest(found)
            yield choice_of(best, dict(best.candidate.operands), best.candidate.result)


def choice_of(priced: Priced, operands: dict[int, Memory], result: Memory | None) -> Choice:
    outputs = [output for output in priced.answer.outputs if output is not None]
    memory = result or (outputs[0].memory if outputs else DRAM)
    return Choice(priced, tuple(operands.values()), memory, priced.answer.l1_peak_bytes)


def _pareto(found: list[Choice]) -> list[Choice]:
    """Per memories the fastest, and a slower one when it needs less L1."""
    kept: dict[tuple[tuple[Memory, ...], Memory], list[Choice]] = {}
    for choice in sorted(found, key=lambda each: (each.ns, each.own_bytes)):
        same = kept.setdefault((choice.operands, choice.result), [])
        if not same or choice.own_bytes < same[-1].own_bytes * 0.8:
            same.append(choice)
    return [choice for same in kept.values() for choice in same[:2]]


class Moves:
    """Prices of `ttnn.to_memory_config`, remembered."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._known: dict[tuple[Spec, Memory], float | None] = {}

    def ns(self, spec: Spec, to: Memory) -> float | None:
        """Nanoseconds of the move and its error band, None where the library has none."""
        if spec.memory == to:
            return 0.0
        key = (spec, to)
        if key not in self._known:
            try:
                answer = query("ttnn.to_memory_config", [spec, to], card=self._machine.card)
                made = answer.outputs[0] if answer.accepted and answer.outputs else None
                self._known[key] = answer.device_ns + answer.ns_error if made is not None and made.memory == to else None
            except ShimError:
                self._known[key] = None
        return self._known[key]


def spec_at(step: Step, index: int, memory: Memory) -> Spec:
    """The spec of an operand in another memory."""
    return spec_of(step.op.operands[index], memory)


__all__ = ["Choice", "Moves", "NotAskable", "ask", "choices", "spec_at"]
