"""What an optimizer does to one parameter stands together: its moments, their corrections, the new value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.ir.edit import connected
from alchemist.ir.location import sources_of
from alchemist.passes.order import Body, reorder
from alchemist.passes.registry import Pass, register

MIN_UPDATES = 3
"""Parameters that the same ops update."""
MIN_ALONE = 4
"""Ops of an update where no backward pass tells that it is one."""


@register("order-updates")
class OrderUpdates(Pass):
    """The ops behind the backward pass run parameter by parameter, not moment by moment."""

    recover_structure: bool = True

    def run(self, module: ModuleOp) -> None:
        if self.recover_structure:
            reorder(module, _by_parameter)


def _by_parameter(body: Body) -> list[Operation]:
    behind = _updates(body)
    shared = _shared(body, behind)
    updates = behind - shared
    links = [(op, value.owner) for op in updates for value in op.operands if isinstance(value.owner, Operation) and value.owner in updates]
    groups = connected([op for op in body.ops if op in updates], links)
    shapes = Counter(tuple(op.name for op in ops) for ops in groups)
    if not shapes or max(shapes.values()) < MIN_UPDATES or not (_has_gradients(body) or _is_all_updates(groups)):
        return body.ops

    def turn(ops: list[Operation]) -> tuple[int, int]:
        """Parameters follow each other as the backward pass makes their gradients."""
        read = (value.owner for op in ops for value in op.operands)
        made = [body.place[owner] for owner in read if isinstance(owner, Operation) and owner in body.place and owner not in updates]
        return max(made, default=-1), body.place[ops[0]]

    ordered = [op for ops in sorted(groups, key=turn) for op in ops]
    return [*(op for op in body.ops if op not in behind), *(op for op in body.ops if op in shared), *ordered]


def _is_gradient(op: Operation) -> bool:
    return bool(sources := sources_of(op)) and sources[-1].is_gradient


def _has_gradients(body: Body) -> bool:
    return any(map(_is_gradient, body.ops))


def _updates(body: Body) -> set[Operation]:
    """What stands behind the last gradient; everything where there is none: a step that is given its gradients."""
    places = [body.place[op] for op in body.ops if _is_gradient(op)]
    return set(body.ops[places[-1] + 1 :]) if places else set(body.ops)


def _is_number(value: SSAValue) -> bool:
    return math.prod(shape(value)) == 1


def _shared(body: Body, updates: set[Operation]) -> set[Operation]:
    """What numbers are made from that all parameters share: a learning rate, the norm of all gradients."""
    found: set[Operation] = set()
    pending = [op for op in body.ops if op in updates and op.results and all(map(_is_number, op.results))]
    while pending:
        op = pending.pop()
        if op not in found:
            found.add(op)
            pending += [value.owner for value in op.operands if isinstance(value.owner, Operation) and value.owner in updates]
    return found


def _is_all_updates(groups: Iterable[Sequence[Operation]]) -> bool:
    """Whether all groups are elementwise, each on tensors of one shape, and long enough to be updates."""
    for ops in groups:
        values = [value for op in ops for value in (*op.operands, *op.results) if math.prod(_dims(value)) != 1]
        if len(ops) < MIN_ALONE or len({_dims(value) for value in values}) != 1:
            return False
    return True


def _dims(value: SSAValue) -> tuple[int, ...]:
    return shape(value) if isinstance(value.type, TensorType) else ()
