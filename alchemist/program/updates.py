"""Finds what an optimizer does to one parameter after the other: equal runs of ops that share no value which they make."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from alchemist.ir.scopes import Chain, common_prefix
from alchemist.passes.order import MIN_ALONE, MIN_UPDATES
from alchemist.program.graph import GRADIENTS, Graph, Node, Value

MIN_OPS = 2
MOST = 0.8
"""Part of such a program's ops that are updates."""
_Item = TypeVar("_Item")


def updates_in(items: Sequence[_Item]) -> list[range]:
    """Places of the runs behind the last other item, each of at least MIN_OPS ops, or of one with a rate fused, that MIN_UPDATES runs have alike."""
    start = next((index for index in range(len(items), 0, -1) if not isinstance(item := items[index - 1], Node) or item.is_gradient), 0)
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
        made.update((id(value), index) for value in node.results if not _is_number(value))  # a learning rate joins no parameters
    runs = [range(begin, end) for begin, end in pairwise([*begins, len(items)])]
    shapes = Counter(_shape(items, run) for run in runs)
    return [run for run in runs if (len(run) >= MIN_OPS or _is_fused(items, run)) and shapes[_shape(items, run)] >= MIN_UPDATES and _makes_tensors(items, run)]


def updates_alone(items: Sequence[_Item]) -> list[range]:
    """The same of a program that is given the gradients: nearly all of it are equal runs of elementwise ops, each on tensors of one shape."""
    runs = [run for run in updates_in(items) if len(run) >= MIN_ALONE and _is_elementwise(items, run)]
    there = sum(1 for item in items if not isinstance(item, Node) or not all(map(_is_number, item.results)))
    return runs if sum(map(len, runs)) >= MOST * there else []


def _is_number(value: Value) -> bool:
    return math.prod(value.type.shape) == 1


def _nodes(items: Sequence[object], run: range) -> list[Node]:
    return [node for index in run if isinstance(node := items[index], Node)]


def _makes_tensors(items: Sequence[object], run: range) -> bool:
    """Whether the run does not only sum up to numbers, as the norm of all gradients does."""
    made = _nodes(items, run)[-1].results
    return bool(made) and not _is_number(made[0])


def _is_fused(items: Sequence[object], run: range) -> bool:
    """Whether it is one op that makes a returned value of a weight and its gradient: level 2 fuses the learning rate."""
    node = _nodes(items, run)[0]
    return all(value.returned for value in node.results) and None not in parts_of([node]) and _is_elementwise(items, run)


def _is_elementwise(items: Sequence[object], run: range) -> bool:
    values = [value for node in _nodes(items, run) for value in (*node.inputs(), *node.results)]
    return len({value.type.shape for value in values if not _is_number(value)}) == 1


def updates_of(graph: Graph, chains: Mapping[Node, Chain]) -> list[list[Node]]:
    """The same of a whole program: what stands behind its last other op outside of modules; none in one that takes no gradients."""
    if not takes_gradients(graph):
        return []
    found = updates_in([node if len(chains[node]) == 1 else None for node in graph.nodes])
    return [[graph.nodes[index] for index in run] for run in found]


def note_parts(nodes: Sequence[Node]) -> None:
    """Names what goes in and out of the update of one weight: its gradient, moments, new value."""
    gradient, weight = parts_of(nodes)
    given = input_roles(_inputs(nodes))
    path = weight.key if weight is not None else _common_path(_inputs(nodes))
    if not path or (weight is not None and gradient is None and not given):
        return
    if gradient is not None:
        gradient.part = ("d_", path)
    inside = {id(node) for node in nodes}
    for node in nodes:
        for value in node.results:
            if value.returned or any(id(user) not in inside for user in value.users):
                before = next((one for one in node.inputs() if one.key), None)
                origin = _origin(value, inside)
                if weight is not None and before is not None and (word := update_role(before, weight)):
                    value.part = ("new_" if word == "weight" else f"{word.removesuffix('_scaled')}_", path)
                elif id(origin) in given:
                    own = origin.name.partition(f"{given[id(origin)]}.")[2]
                    value.part = (f"new_{given[id(origin)]}_", own or path)


def _origin(value: Value, inside: set[int]) -> Value:
    """What an update of it begins with: `m` of 0.9 * m + 0.1 * g."""
    while value.node is not None and id(value.node) in inside and value.node.inputs():
        value = value.node.inputs()[0]
    return value


def _path(value: Value) -> list[str]:
    """The name of an input in its pytree; none of what is computed or stored."""
    return value.name.split(".") if value.node is None and not value.key and value.name and not _is_number(value) else []


def _common_path(values: Sequence[Value]) -> str:
    """`fc1.weight` of params.fc1.weight, grads.fc1.weight, m.fc1.weight."""
    paths = [path for value in values if (path := _path(value))]
    return ".".join(common_prefix([path[::-1] for path in paths])[::-1]) if len(paths) > 1 else ""


def input_roles(values: Sequence[Value]) -> dict[int, str]:
    """What inputs of a program are to one parameter: the beginning of a name of which the rest is that of the parameter."""
    weight = updated(values)
    path = (weight.key if weight is not None else _common_path(values)).split(".")
    found: dict[int, str] = {}
    for value in values:
        name = _path(value)
        same = len(common_prefix([name[::-1], path[::-1]])) if name else 0
        if same >= min(2, len(path)):  # the parameter's own name, perhaps without the module around all of them
            found[id(value)] = "_".join(name[: len(name) - same][-1:])
    return found if len(set(found.values())) == len(found) and all(found.values()) else {}


def parts_of(nodes: Sequence[Node]) -> tuple[Value | None, Value | None]:
    """(the gradient, the weight) of an update; None for what is not clear."""
    inputs = _inputs(nodes)
    gradients = [value for value in inputs if (value.node is not None and not value.key and not _is_number(value)) or value.collection == GRADIENTS]
    return gradients[0] if len(gradients) == 1 else None, updated(inputs)


def updated(values: Sequence[Value]) -> Value | None:
    """The weight that an update is about: the last one that it reads as it is stored."""
    return next((value for value in reversed(values) if value.collection == "weights" and value.key and value.key in (value.name, *value.made_from)), None)


def update_role(value: Value, weight: Value | None) -> str:
    """What the update of any weight calls a tensor that it gets: moments have the weight's path in their own, `state.mu.layers.0.w`."""
    if _is_number(value) and not value.key:
        return ""
    if not value.key or value.collection == GRADIENTS:
        return "gradient"
    words = weight.key.split(".") if weight is not None else []
    for start in range(len(words)):
        before, found, behind = f".{value.key}".partition(f".{'.'.join(words[start:])}")
        if found:
            role = [word for word in before.split(".") if word and not word.isdigit()]
            return (role[-1] if role else "weight") + behind  # none is in front of the weight itself
    return value.key.rpartition(".")[2]


def _inputs(nodes: Sequence[Node]) -> list[Value]:
    made = {id(value) for node in nodes for value in node.results}
    return list({id(value): value for node in nodes for value in node.inputs() if id(value) not in made}.values())


def takes_gradients(graph: Graph) -> bool:
    """Whether there is something to update parameters by: alike branches of any other program are no optimizer."""
    return any(node.is_gradient for node in graph.nodes)


def _shape(items: Sequence[object], run: range) -> Hashable:
    return tuple(node.spec.name for index in run if isinstance(node := items[index], Node))
