"""What a join at the end reads moves to where it is made: iterations of an unrolled loop are then alike."""

from __future__ import annotations

from alchemist.program.graph import Graph, Node, check_order
from alchemist.program.weights import SHAPING

MIN_PARTS = 3
"""Parts of a join that look like iterations."""


def gather_early(graph: Graph) -> None:
    """Ops that give the parts of a concat another form stand right behind the ops that make the parts."""
    follow: dict[Node, list[Node]] = {}
    moved: set[Node] = set()
    for node in graph.nodes:
        if node.spec.name != "ttnn.concat" or len(node.inputs()) < MIN_PARTS:
            continue
        forms = [value.node for value in node.inputs()]
        if not all(one is not None and _is_form(one, node) for one in forms):
            continue
        for one in forms:
            maker = one.inputs()[0].node if one is not None else None
            if one is not None and maker is not None and one not in moved:
                follow.setdefault(maker, []).append(one)
                moved.add(one)
    if not moved:
        return
    order: list[Node] = []
    for node in graph.nodes:
        if node not in moved:
            order.append(node)
            order += follow.get(node, [])
    if len(order) == len(graph.nodes) and check_order(order):
        graph.nodes[:] = order
        for position, node in enumerate(order):
            node.position = position


def _is_form(node: Node, joined: Node) -> bool:
    values = [value for value in node.inputs() if not value.key]
    return node.spec.name in SHAPING and len(values) == 1 and not node.results[0].returned and all(user is joined for user in node.results[0].users)
