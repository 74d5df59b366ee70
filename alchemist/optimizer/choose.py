"""Level 1: optimizes every op separately; tensors keep their memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import CallAnswer, Memory
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.location import sources_of
from alchemist.ops.spec import UNOPTIMIZED
from alchemist.optimizer import attention, matmul
from alchemist.optimizer.calls import NotAskable, ask
from alchemist.optimizer.candidate import SAFE, Candidate, Priced
from alchemist.optimizer.machine import Machine

Family = Callable[[Operation, Machine, dict[int, Memory], Memory | None], Iterator[Candidate]]
FAMILIES: dict[str, Family] = {
    "ttnn.linear": matmul.interleaved,
    "ttnn.matmul": matmul.interleaved,
    "ttnn.scaled_dot_product_attention": attention.attention,
}
Refusals = dict[str, int]
"""Refusal reason -> count."""
MOST_KEPT = 2
TRIFLE = 0.01


@dataclass(slots=True)
class Decision:
    """The decision for an op. safe: the choice of level 0. next: the next best candidates. refused: reasons, with a count each."""

    op: str
    chosen: Priced
    safe: Priced
    next: list[Priced] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    tried: int = 0
    reason: str = ""


def fits(answer: CallAnswer, machine: Machine, cap: float) -> bool:
    """Whether tensors and buffers stay within the cap."""
    return answer.l1_peak_bytes <= cap * machine.l1_bytes


def price_all(op: Operation, machine: Machine, candidates: Iterable[Candidate], cap: float, refused: Refusals, l1_small_bytes: int = 0) -> list[Priced]:
    """The accepted candidates, fastest first; ties keep their order, simpler ones come first."""
    priced_candidates: list[Priced] = []
    seen: set[Any] = set()
    cache: dict[Any, Any] = {}
    for candidate in candidates:
        operands = {**candidate.operands, **candidate.weights}
        same = (tuple(candidate.attributes.items()), tuple(operands.items()), candidate.result)
        if same in seen:
            continue
        seen.add(same)
        try:
            answer = ask(op, machine.card, candidate.attributes, operands, candidate.result, l1_small_bytes, cache=cache)
        except NotAskable:
            return []
        except ShimError as error:  # not a candidate, as the simulator lacks this path
            refused[str(error)[:160]] = refused.get(str(error)[:160], 0) + 1
            continue
        if not answer.accepted:
            reason = answer.error.splitlines()[0][:160] if answer.error else "refused"
            refused[reason] = refused.get(reason, 0) + 1
        elif not all(program.modelled for program in answer.programs):
            refused["no model of its time"] = refused.get("no model of its time", 0) + 1
        elif candidate.weights and (answer.outputs[0] is None or answer.outputs[0].memory != candidate.result):
            refused["the result would lie elsewhere"] = refused.get("the result would lie elsewhere", 0) + 1
        elif not fits(answer, machine, cap):
            refused["more L1 than the cap leaves"] = refused.get("more L1 than the cap leaves", 0) + 1
        else:
            priced_candidates.append(Priced(candidate, answer))
    return sorted(priced_candidates, key=lambda priced: priced.ns)


def roomiest(candidates: list[Priced]) -> Priced:
    """Among the candidates about as fast as the first, the one with the smallest buffers."""
    near = [priced for priced in candidates if priced.ns <= candidates[0].ns * (1 + TRIFLE)]
    return min(near, key=lambda priced: priced.answer.cb_bytes)


def choose(op: Operation, machine: Machine, cap: float, l1_small_bytes: int = 0) -> Decision | None:
    """The best configuration of an op whose tensors keep their memory; None for an op without alternatives or a price."""
    family = FAMILIES.get(op.name)
    if family is None:
        return None
    try:
        answer = ask(op, machine.card, l1_small_bytes=l1_small_bytes)
    except (NotAskable, ShimError):
        return None
    if not answer.accepted:
        return None
    safe = Priced(SAFE, answer)
    refused: dict[str, int] = {}
    candidates = price_all(op, machine, family(op, machine, {}, None), cap, refused, l1_small_bytes)
    decision = Decision(label(op), safe, safe, candidates[:MOST_KEPT], refused, len(candidates) + sum(refused.values()))
    if not candidates:
        decision.reason = "no candidate is accepted"
    elif safe.ns - candidates[0].ns <= candidates[0].answer.ratio_error_ns:
        decision.reason = "the gain is within the error of a ratio of two prices"
    else:
        best = roomiest(candidates)
        decision.chosen, decision.next = best, [priced for priced in candidates if priced is not best][:MOST_KEPT]
    return decision


def reason(decision: Decision) -> str:
    """The reason for a config, for the comment at its constant."""
    chosen, answer = decision.chosen, decision.chosen.answer
    shape = chosen.candidate.label
    cores = "" if "cores" in shape else f", {answer.cores} core{'s' if answer.cores != 1 else ''}"
    return f"{shape}{cores}, {answer.cb_bytes / 1024:.0f} KB of buffers per core{times(chosen.ns, decision.safe.ns)}"


def times(chosen_ns: float, safe_ns: float | None) -> str:
    """What a choice gains, for the comment at its constant. safe_ns: of the op at level 0, None where the simulator refuses it."""
    before = f", {UNOPTIMIZED} {safe_ns / 1000:.1f} us" if safe_ns is not None else ""
    return f"; simulated {chosen_ns / 1000:.1f} us per call{before}"


def label(op: Operation, *, names: bool = True) -> str:
    """ "ttnn.linear [8, 197, 768] x [768, 3072] (linear_3)"; the name is what overrides call it."""
    shapes = [access.shape(value) for value in op.operands[:2] if access.shape(value)]
    called = ", ".join(dict.fromkeys(info.name for info in sources_of(op) if info.name)) if names else ""
    return f"{op.name} " + " x ".join(str(list(shape)) for shape in shapes) + (f" ({called})" if called else "")


def key_of(op: Operation) -> tuple[Any, ...]:
    """Ops with equal keys share one decision."""
    attributes: Mapping[str, Any] = {**op.properties, **{name: value for name, value in op.attributes.items() if name != "alchemist.note"}}
    return op.name, tuple(value.type for value in op.operands), tuple(op.result_types), tuple(sorted((name, value) for name, value in attributes.items()))
