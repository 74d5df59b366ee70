"""Two slices of a value joined the other way round are `ttnn.roll`: a call of the library that the ttnn dialect has no op for."""

from __future__ import annotations

from alchemist.ops.data_movement import ROLL
from alchemist.program import model
from alchemist.program.graph import Graph, Node, Raw, Use, Value

NAME = "fuse-roll"
"""In `CompilerOptions.disable` it leaves slices and joins as they are."""


def fuse_rolls(graph: Graph) -> None:
    """concat(x[k:], x[:k]) becomes roll(x, -k); rolls of one value along several dimensions become one call."""
    made: list[Node] = []
    gone: set[Node] = set()
    for node in graph.nodes:
        found = _rolled(node)
        if found is None:
            continue
        source, shift, dim, parts = found
        shifts, dims, stands_for = [shift], [dim], [*parts, node]
        before = source.node
        if before is not None and before in made and not source.returned and {id(user) for user in source.users} == {id(one) for one in parts}:
            given = {arg.name: raw for arg, raw in before.arguments}
            shifts, dims = [*_numbers(given["shifts"]), shift], [*_numbers(given["dim"]), dim]
            made.remove(before)
            gone.add(before)
            stands_for = [before, *stands_for]
            source = before.inputs()[0]
        made.append(_replace(source, shifts, dims, stands_for))
        gone.update(one for one in stands_for if one is not node)
        gone.add(node)
    if made:
        ends = {id(value): one for one in made for value in one.results}
        kept = [ends.get(id(node.results[0]), node) if node.results and node in gone else node for node in graph.nodes]
        graph.nodes[:] = [node for node in kept if node not in gone]
        for position, node in enumerate(graph.nodes):
            node.position = position


def _rolled(node: Node) -> tuple[Value, int, int, list[Node]] | None:
    """(value, shift, dimension, the slices) when the node joins the value's end and its beginning."""
    if node.spec.name != "ttnn.concat" or len(node.inputs()) != 2:
        return None
    parts = [value.node for value in node.inputs()]
    if any(part is None or part.spec.name != "ttnn.slice_static" for part in parts):
        return None
    end, begin = [part for part in parts if part is not None]
    source, joined = end.inputs()[0], node.results[0]
    if begin is end or begin.inputs()[0] is not source or source.type != joined.type:
        return None
    if any(len(part.results[0].users) != 1 or part.results[0].returned for part in (end, begin)):
        return None
    bounds = [_bounds(part) for part in (end, begin)]
    (first, last, first_step), (start, stop, step) = bounds
    shape = list(source.type.shape)
    dims = [dim for dim, extent in enumerate(shape) if (first[dim], last[dim]) != (0, extent)]
    if len(dims) != 1 or any(one != 1 for one in (*first_step, *step)):
        return None
    (dim,) = dims
    cut = first[dim]
    whole = [(0, extent) if index != dim else (0, cut) for index, extent in enumerate(shape)]
    if last[dim] != shape[dim] or not 0 < cut < shape[dim] or list(zip(start, stop, strict=True)) != whole:
        return None
    given = {arg.name: raw for arg, raw in node.arguments}
    axis = given.get("dim", model.Literal(0))
    if not isinstance(axis, model.Literal) or axis.value not in (dim, dim - len(shape)):
        return None
    shift = -cut if 2 * cut <= shape[dim] else shape[dim] - cut
    return source, shift, dim, [end, begin]


def _bounds(node: Node) -> tuple[list[int], list[int], list[int]]:
    given = {arg.name: raw for arg, raw in node.arguments}
    start, end = _numbers(given["slice_start"]), _numbers(given["slice_end"])
    return start, end, _numbers(given["slice_step"]) if "slice_step" in given else [1] * len(start)


def _numbers(raw: Raw) -> list[int]:
    items = raw.items if isinstance(raw, model.Items) else ()
    return [one.value for one in items if isinstance(one, model.Literal) and isinstance(one.value, int)]


def _replace(source: Value, shifts: list[int], dims: list[int], nodes: list[Node]) -> Node:
    """A roll of `source` that makes what the last of the nodes made."""
    last = nodes[-1]
    source.users[:] = [user for user in source.users if user not in nodes]
    by_name: dict[str, Raw] = {
        "input_tensor": Use(source),
        "shifts": model.Items(tuple(model.Literal(one) for one in shifts)),
        "dim": model.Items(tuple(model.Literal(one) for one in dims)),
    }
    by_name |= {arg.name: raw for arg, raw in last.arguments if arg.name == "memory_config"}
    arguments = tuple((arg, by_name[arg.name]) for arg in ROLL.args if arg.name in by_name)
    sources = tuple(dict.fromkeys(info for node in nodes for info in node.sources))
    notes = list(dict.fromkeys(node.note for node in nodes if node.note))
    return Node(ROLL, arguments, last.results, sources, "; ".join(notes))
