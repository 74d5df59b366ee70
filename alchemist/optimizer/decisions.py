"""What was decided per op, as text for people (`irs/<nn>_decisions.txt`)."""

from __future__ import annotations

from collections.abc import Sequence

from alchemist.optimizer.candidate import Priced
from alchemist.optimizer.choose import Decision

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


def _line(priced: Priced) -> str:
    answer = priced.answer
    band = f"+-{answer.ns_error / 1000:.1f}"
    return (
        f"{priced.ns / 1000:9.1f} {band:>8s} us  {answer.cores:3d} cores  {answer.cb_bytes:8d} B of buffers  {answer.l1_peak_bytes:8d} B of L1  "
        f"{answer.bound:8s} {priced.candidate.label}"
    )
