"""Finds what an optimizer does to one parameter after the other: equal runs of ops that share no value which they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from alchemist.ir.scopes import Chain
from alchemist.program.graph import GRADIENTS, Graph, Node, Value

MIN_OPS = 2
MIN_UPDATES = 3
_Item = TypeVar("_Item")


def updates_in(items: Sequence[_Item]) -> list[range]:
    """Places of the runs behind the last other item, each of at least MIN_OPS ops that MIN_UPDATES runs have alike."""
    start = next((index + 1 for index in range(len(items) - 1, -1, -1) if not isinstance(items[index], Node) or is_gradient(items[index])), 0)
    begins: list[int] = []  # of the runs; an op belongs to the run of the first op whose value it reads
    made: dict[int, int] = {}  # a value's identity -> the place of the op that makes it
    for index in range(start, len(items)):
        node = items[index]
        assert isinstance(node, Node)
        first = min((made[id(value)] for value in node.inputs() if id(value) in made), default=index)
        while begins and begins[-1] > first:
            begins.pop()
        if first == index:
            begins.append(index)
        made.update((id(value), index) for value in node.results)
    runs = [range(begin, end) for begin, end in pairwise([*begins, len(items)])]
    shapes = Counter(_shape(items, run) for run in runs)
    return [run for run in runs if len(run) >= MIN_OPS and shapes[_shape(items, run)] >= MIN_UPDATES]


def updates_of(graph: Graph, chains: Mapping[Node, Chain]) -> list[list[Node]]:
    """The same of a whole program: what stands behind its last other op outside of modules; none in one that takes no gradients."""
    if not takes_gradients(graph):
        return []
    found = updates_in([node if len(chains[node]) == 1 else None for node in graph.nodes])
    return [[graph.nodes[index] for index in run] for run in found]


def note_parts(nodes: Sequence[Node]) -> None:
    """Names what goes in and out of the update of one weight: its gradient, moments, new value."""
    gradient, weight = parts_of(nodes)
    if weight is None or gradient is None:
        return
    gradient.part = ("d_", weight.key)
    inside = {id(node) for node in nodes}
    for node in nodes:
        for value in node.results:
            if value.returned or any(id(user) not in inside for user in value.users):
                before = next((one for one in node.inputs() if one.key), None)
                word = update_role(before, weight) if before is not None else ""
                value.part = ("new_" if word == "weight" else f"{word.removesuffix('_scaled')}_", weight.key) if word else None


def parts_of(nodes: Sequence[Node]) -> tuple[Value | None, Value | None]:
    """(the gradient, the weight) of an update; None for what is not clear."""
    inputs = _inputs(nodes)
    gradients = [value for value in inputs if (value.node is not None and not value.key) or value.collection == GRADIENTS]
    return gradients[0] if len(gradients) == 1 else None, updated(inputs)


def updated(values: Sequence[Value]) -> Value | None:
    """The weight that an update is about: the last one that it reads as it is stored."""
    return next((value for value in reversed(values) if value.collection == "weights" and value.key and value.key in (value.name, *value.made_from)), None)


def update_role(value: Value, weight: Value | None) -> str:
    """What the update of any weight calls a tensor that it gets: moments have the weight's path in their own, `state.mu.layers.0.w`."""
    if not value.key or value.collection == GRADIENTS:
        return "gradient"
    words = weight.key.split(".") if weight is not None else []
    for start in range(len(words)):
        before, found, behind = f".{value.key}".partition(f".{'.'.join(words[start:])}")
        if found:
            role = [word for word in before.split(".") if word and not word.isdigit()]
            return (role[-1] if role and value is not weight else "weight") + behind
    return value.key.rpartition(".")[2]


def _inputs(nodes: Sequence[Node]) -> list[Value]:
    made = {id(value) for node in nodes for value in node.results}
    return list({id(value): value for node in nodes for value in node.inputs() if id(value) not in made}.values())


def takes_gradients(graph: Graph) -> bool:
    """Whether there is something to update parameters by: alike branches of any other program are no optimizer."""
    return any(map(is_gradient, graph.nodes))


def is_gradient(item: object) -> bool:
    return isinstance(item, Node) and bool(item.sources) and item.sources[-1].is_gradient


def _shape(items: Sequence[object], run: range) -> Hashable:
    return tuple(node.spec.name for index in run if isinstance(node := items[index], Node))
