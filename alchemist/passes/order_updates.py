"""What an optimizer does to one parameter stands together: its moments, their corrections, the new value."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir.location import sources_of
from alchemist.passes.order import Body, reorder
from alchemist.passes.registry import Pass, register

MIN_UPDATES = 3
"""Parameters that the same ops update."""


@register("order-updates")
class OrderUpdates(Pass):
    """The ops behind the backward pass run parameter by parameter, not moment by moment."""

    recover_structure: bool = True

    def run(self, module: ModuleOp) -> None:
        if self.recover_structure:
            reorder(module, _by_parameter)


def _by_parameter(body: Body) -> list[Operation]:
    updates = _updates(body)
    groups: dict[Operation, list[Operation]] = {}
    first: dict[Operation, Operation] = {}  # of the group that an op belongs to
    for op in body.ops:
        if op not in updates:
            continue
        joined = list(dict.fromkeys(first[value.owner] for value in op.operands if isinstance(value.owner, Operation) and value.owner in updates))
        head = min(joined, key=body.place.__getitem__) if joined else op
        merged = groups.setdefault(head, [])
        for other in joined:
            if other is not head:
                merged += groups.pop(other)
        merged.append(op)
        first.update((one, head) for one in merged)
    shapes = Counter(tuple(op.name for op in ops) for ops in groups.values())
    if not shapes or max(shapes.values()) < MIN_UPDATES:
        return body.ops

    def turn(head: Operation) -> tuple[int, int]:
        """Parameters follow each other as the backward pass makes their gradients."""
        read = (value.owner for op in groups[head] for value in op.operands)
        made = [body.place[owner] for owner in read if isinstance(owner, Operation) and owner in body.place and owner not in updates]
        return max(made, default=-1), body.place[head]

    ordered = [op for head in sorted(groups, key=turn) for op in sorted(groups[head], key=body.place.__getitem__)]
    return [*(op for op in body.ops if op not in updates), *ordered]


def _updates(body: Body) -> set[Operation]:
    """What stands behind the last gradient; none without gradients."""
    places = [body.place[op] for op in body.ops if (sources := sources_of(op)) and sources[-1].is_gradient]
    return set(body.ops[places[-1] + 1 :]) if places else set()
