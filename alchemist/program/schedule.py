"""What a join at the end reads moves to where it is made: iterations of an unrolled loop are then alike."""

from __future__ import annotations

from collections.abc import Sequence

from alchemist.program.graph import Graph, Node, Value, check_order
from alchemist.program.weights import SHAPING

MIN_PARTS = 3
"""Parts of a join that look like iterations."""


def schedule_joined(graph: Graph) -> None:
    """Ops that give the parts of a concat another form stand right behind the ops that make the parts.

    Where the first part is the value before the loop, each stands before the op that makes the next part from it.
    """
    behind: dict[Node, list[Node]] = {}
    before: dict[Node, list[Node]] = {}
    moved: set[Node] = set()
    for node in graph.nodes:
        if node.spec.name != "ttnn.concat" or len(node.inputs()) < MIN_PARTS:
            continue
        forms = [value.node for value in node.inputs() if value.node is not None and _is_form(value.node, node)]
        if len(forms) != len(node.inputs()) or not moved.isdisjoint(forms):
            continue
        sources = [_data(one)[0] for one in forms]
        names = [value.node.spec.name if value.node is not None else "" for value in sources]
        readers = _readers(forms, sources) if names[0] != names[1] else []
        if not readers and not all(names):
            continue
        moved.update(forms)
        for index, one in enumerate(forms):
            maker = sources[index].node
            if readers:
                before.setdefault(readers[index], []).append(one)
            elif maker is not None:
                behind.setdefault(maker, []).append(one)
    order: list[Node] = []
    for node in graph.nodes:
        if node not in moved:
            order += [*before.get(node, []), node, *behind.get(node, [])]
    if len(order) == len(graph.nodes) and check_order(order):
        graph.nodes[:] = order
        for position, node in enumerate(order):
            node.position = position


def _readers(forms: Sequence[Node], sources: Sequence[Value]) -> list[Node]:
    """The op that makes the next part of each source: the first one of the first source that all others have too. Empty if there is none."""
    rows = [sorted((user for user in value.users if user is not one), key=lambda user: user.position) for one, value in zip(forms, sources, strict=True)]
    for first in rows[0]:
        found = [next((user for user in row if user.spec is first.spec), None) for row in rows]
        readers = [one for one in found if one is not None]
        if len(readers) == len(rows):
            return readers
    return []


def _data(node: Node) -> list[Value]:
    return [value for value in node.inputs() if not value.key]


def _is_form(node: Node, joined: Node) -> bool:
    result = node.results[0]
    return node.spec.name in SHAPING and len(_data(node)) == 1 and not result.returned and all(user is joined for user in result.users)
