"""Names of gradients: after the weight or the value of their statement that has their shape."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from alchemist.ops.spec import SHAPING
from alchemist.program.functions import CallItem, Definition, LoopItem
from alchemist.program.graph import Node, Value
from alchemist.program.model_source import Statement
from alchemist.program.names import identifier

_WORD = re.compile(r"[A-Za-z_]\w*")


def is_gradient(value: Value) -> bool:
    """Whether a backward pass makes the value."""
    return value.is_gradient


def of_backward(node: Node) -> bool:
    """Whether the op makes a gradient, or only reads one of its own statement: JAX does not mark the second product of tanh's derivative."""
    place = node.sources[-1].frames[-1:] if node.sources else ()
    read = (value.node for value in node.inputs() if is_gradient(value))
    return any(map(is_gradient, node.results)) or any(made is not None and bool(place) and made.sources[-1].frames[-1:] == place for made in read)


def is_backward(definition: Definition) -> bool:
    """Whether the function does some of a backward pass."""
    return any(isinstance(item, Node) and any(map(is_gradient, item.results)) for item in definition.items)


def begins_backward(definition: Definition) -> bool:
    """Whether the function is one of a backward pass from its first op on, or gets a gradient."""
    if any(map(is_gradient, definition.parameters)):
        return True
    first = definition.items[0] if definition.items else None
    while isinstance(first, LoopItem):
        first = first.body[0]
    return begins_backward(first.function) if isinstance(first, CallItem) else first is not None and any(map(is_gradient, first.results))


def gradient_name(value: Value, statement: Statement | None, nodes: Iterable[Node], names: Mapping[int, str]) -> str:
    """`d_w1` for the gradient of the weight w1 that the statement reads, `d_hidden` for that of a value; else of what it assigns, "" without a target.

    nodes: of the function. names: of its values so far, by identity.
    """
    if statement is None:
        return ""
    dims = _shape_at_last(value)
    said = set(_WORD.findall(statement.text)) | set(statement.reads)
    weights: dict[str, None] = {}
    values: dict[str, None] = {}
    for node in nodes:
        for one in node.inputs():
            if one.type.shape == dims and one.key:
                weights.update((word, None) for word in _last_words(one) if word in said)
            elif one.node is not None and one.type.shape == dims and names.get(id(one)) in said:  # nobody asks for that of an input
                values[names[id(one)]] = None
    for found in (weights, values):
        if len(found) == 1:
            return identifier(f"d_{next(iter(found))}")
    return identifier(f"d_{statement.targets[0]}") if len(statement.targets) == 1 else ""


def forms_before(value: Value) -> Iterator[Value]:
    """The value and what it is only another form of, as long as nothing else reads that."""
    yield value
    while value.node is not None and value.node.spec.name in SHAPING and len(value.node.results) == 1:
        (value,) = value.node.inputs()
        if value.node is None or len(value.users) != 1 or value.node.spec.name not in SHAPING:
            return
        yield value


def _shape_at_last(value: Value) -> tuple[int, ...]:
    """The shape behind the changes of form that follow: a sum over rows is that of a bias once it is reshaped."""
    while True:
        users = {id(user): user for user in value.users}
        only = next(iter(users.values())) if len(users) == 1 else None
        if only is None or only.spec.name not in SHAPING or len(only.results) != 1 or value.returned:
            return value.type.shape
        value = only.results[0]


def _last_words(weight: Value) -> list[str]:
    return [name.rpartition(".")[2] for name in (weight.made_from or (weight.name, weight.key)) if name]
