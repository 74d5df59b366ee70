"""The decisions per op as text for users (`irs/<nn>_decisions.txt`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ttnn_shim.queries import Memory

from alchemist.ir import access
from alchemist.ops.spec import WHY
from alchemist.optimizer.candidate import Priced
from alchemist.optimizer.choose import Decision, label, times
from alchemist.optimizer.level2 import Placed
from alchemist.optimizer.overrides import names_of
from alchemist.optimizer.placement import Choice, is_safe
from alchemist.optimizer.sharded import cores_of

MOST_REASONS = 4


def report(decisions: Sequence[tuple[Decision, int]], card: str) -> str:
    """decisions: with the number of ops that share each. Times are of one op."""
    safe = sum(decision.safe.ns * count for decision, count in decisions)
    chosen = sum(decision.chosen.ns * count for decision, count in decisions)
    lines = [
        f"Decisions on {card}, by simulated time. {sum(count for _, count in decisions)} ops have alternatives:"
        f" {safe / 1000:.1f} us at level 0, {chosen / 1000:.1f} us as chosen.",
        "",
    ]
    for decision, count in sorted(decisions, key=lambda pair: -pair[0].safe.ns * pair[1]):
        times = f" x {count}" if count > 1 else ""
        lines.append(f"{decision.op}{times}: {decision.tried} candidates")
        lines.append(f"  level 0   {_line(decision.safe)}")
        if decision.chosen is not decision.safe:
            lines.append(f"  chosen    {_line(decision.chosen)}")
        lines += [f"  next      {_line(priced)}" for priced in decision.next]
        if decision.reason:
            lines.append(f"  stays as it is: {decision.reason}")
        reasons = sorted(decision.refused.items(), key=lambda item: -item[1])
        lines += [f"  refused   {number:4d}  {reason}" for reason, number in reasons[:MOST_REASONS]]
        if len(reasons) > MOST_REASONS:
            lines.append(f"  refused   {sum(number for _, number in reasons[MOST_REASONS:]):4d}  for {len(reasons) - MOST_REASONS} other reasons")
        lines.append("")
    return "\n".join(lines)


def note_reasons(placed: Placed) -> None:
    """Writes the reason for each step's config into its note."""
    for number, step in enumerate(placed.graph.steps):
        if why := placed_reason(placed, number):
            access.set_attr(step.op, WHY, why)


def placed_reason(placed: Placed, number: int) -> str:
    """The reason for a step's config, for the comment at its constant; "" for the library's default."""
    decision = placed.plan.taken.get(number)
    if decision is None or not decision.choice.priced.candidate.attributes:
        return ""
    answer = decision.choice.priced.answer
    safe = safe_of(placed, number)
    buffers = f"{decision.choice.priced.candidate.label}, {answer.cb_bytes / 1024:.0f} KB of buffers per core"
    return buffers + times(decision.choice.ns, safe.ns if safe is not None else None)


def safe_of(placed: Placed, number: int) -> Choice | None:
    """The step's choice at level 0."""
    for choice in placed.options.get(number, []):
        if is_safe(choice):
            return choice
    return None


def placed_report(placed: Placed, card: str) -> str:
    """Level 2: per step the chosen memories and configuration, and the next best ones."""
    before = f"{placed.safe_ns / 1000:.1f} us with level 0's choices for the same ops" if math.isfinite(placed.safe_ns) else "level 0's choices are refused"
    plans = f"{placed.replays} plan{'s' if placed.replays != 1 else ''} timed with all addresses"
    lines = [
        f"Decisions on {card}, by simulated time: {placed.ns / 1000:.1f} us; {before}; at most {placed.l1_peak_bytes} B of tensors in L1 per core; {plans}.",
        "Grids are rows x columns of cores. In brackets: the names that the options override_* take.",
        "",
    ]
    seen: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    blocks: list[tuple[str, list[str]]] = []
    for number, step in enumerate(placed.graph.steps):
        decision = placed.plan.taken.get(number)
        block = [f"{label(step.op, names=False)}: {len(placed.options.get(number, []))} choices"]
        safe = safe_of(placed, number)
        if safe is not None:
            block.append(f"  level 0   {_line(safe.priced)}")
        if decision is None:
            block.append("  stays as it is: nothing is known of it")
        else:
            block.append(f"  chosen    {_line(decision.choice.priced)} {_where(decision.choice)}")
            block += [f"  moved     operand {index} to {spelled(memory)}" for index, memory in decision.moves]
            others = [choice for choice in sorted(placed.options[number], key=lambda choice: choice.ns) if choice is not decision.choice]
            block += [f"  next      {_line(choice.priced)} {_where(choice)}" for choice in others[:2]]
        reasons = sorted(placed.refused.get(number, {}).items(), key=lambda item: -item[1])
        block += [f"  refused   {count:4d}  {reason}" for reason, count in reasons[:MOST_REASONS]]
        facts = "\n".join((label(step.op, names=False), *block[1:]))
        if facts not in seen:
            blocks.append((facts, block))
        seen.setdefault(facts, []).extend(name for name in names_of(step.op))
        counts[facts] = counts.get(facts, 0) + 1
    for facts, block in blocks:
        names = f" ({', '.join(seen[facts])})" if seen[facts] else ""
        lines += [block[0] + (f", {counts[facts]} times" if counts[facts] > 1 else "") + names, *block[1:], ""]
    return "\n".join(lines)


def spelled(memory: Memory) -> str:
    """ "L1", "DRAM", or "L1 block shards of 1x4 tiles on 4x8 cores": rows x columns, as in the option override_output_layout."""
    if memory.shard is None:
        return memory.buffer
    (rows, columns), (x0, y0, x1, y1, *more) = memory.shard[0], memory.shard[1]
    kind = memory.layout.removesuffix("_SHARDED").lower()
    cores = str(cores_of(memory)) if more else f"{y1 - y0 + 1}x{x1 - x0 + 1}"
    return f"{memory.buffer} {kind} shards of {rows // 32}x{columns // 32} tiles on {cores} cores"


def _where(choice: Choice) -> str:
    inside = ", ".join(map(spelled, choice.operands)) or "weights"
    return f"({inside} -> {spelled(choice.result)})"


def _line(priced: Priced) -> str:
    answer = priced.answer
    band = f"+-{answer.ns_error / 1000:.1f}"
    return (
        f"{priced.ns / 1000:9.1f} {band:>8s} us  {answer.cores:3d} cores  {answer.cb_bytes:8d} B of buffers  {answer.l1_peak_bytes:8d} B of L1  "
        f"{answer.bound:8s} {priced.candidate.label}"
    )
