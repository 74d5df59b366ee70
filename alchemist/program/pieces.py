"""Which of several parts of another value a value is."""

from __future__ import annotations

from collections.abc import Sequence

from alchemist.ops.spec import SHAPING
from alchemist.program import model
from alchemist.program.graph import Node, Value
from alchemist.program.names import MOST_NUMBER


def depends(value: Value, others: Sequence[Value], made: Sequence[Value]) -> bool:
    """Whether the value is computed from one of the others, by ops of one statement."""
    inside, sought = {id(value) for value in made}, {id(value) for value in others}
    pending, seen = [value], {id(value)}
    while pending:
        node = pending.pop().node
        for one in node.inputs() if node is not None else ():
            if id(one) in sought:
                return True
            if id(one) in inside and id(one) not in seen:
                seen.add(id(one))
                pending.append(one)
    return False


def piece(value: Value, count: int) -> int | None:
    """Which of `count` equal pieces of another value the value is."""
    node = value.node
    if node is None or node.spec.name != "ttnn.slice_static" or not node.inputs():
        return None
    starts = next((raw for arg, raw in node.arguments if arg.name == "slice_start"), None)
    whole, part = node.inputs()[0].type.shape, value.type.shape
    cut = [dim for dim, (one, two) in enumerate(zip(whole, part, strict=True)) if one != two]
    if len(cut) != 1 or not isinstance(starts, model.Items) or whole[cut[0]] != count * part[cut[0]]:
        return None
    start = starts.items[cut[0]]
    return start.value // part[cut[0]] if isinstance(start, model.Literal) and isinstance(start.value, int) else None


def slots(value: Value, count: int) -> list[int]:
    """Which of `count` results of an op the value is, perhaps in another form."""
    while value.node is not None and len(value.node.results) == 1 and value.node.spec.name in SHAPING and value.node.inputs():
        value = value.node.inputs()[0]
    results = value.node.results if value.node is not None else ()
    return [slot for slot, one in enumerate(results) if one is value and len(results) == count]


def is_form_of(node: Node, value: Value) -> bool:
    return node.spec.name in SHAPING and any(one is value for one in node.inputs())


def placed_parts(node: Node, name: str) -> list[str]:
    """One of several pieces of a tensor, by its place: `padded_0_2` starts at row 0 and column 2."""
    source = node.inputs()[0]
    pieces = [user for user in {id(user): user for user in source.users}.values() if user.spec.name == node.spec.name]
    starts = [_starts(piece) for piece in pieces]
    shapes = {piece.results[0].type.shape for piece in pieces}
    if len(pieces) < 3 or len(shapes) > 1 or any(len(start) != len(starts[0]) for start in starts):
        return []
    varying = [dim for dim in range(len(starts[0])) if len({start[dim] for start in starts}) > 1]
    places = [_starts(node)[dim] for dim in varying]
    if len(varying) == 1:
        places = [sorted({start[varying[0]] for start in starts}).index(places[0])]
    return [f"{name}_{'_'.join(map(str, places))}"] if places and max(places) <= MOST_NUMBER else []


def _starts(node: Node) -> list[int]:
    raw = next((raw for arg, raw in node.arguments if arg.name == "slice_start"), None)
    items = raw.items if isinstance(raw, model.Items) else ()
    return [item.value for item in items if isinstance(item, model.Literal) and isinstance(item.value, int)]
