"""Names of gradients: after the weight or the value of their statement that has their shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from alchemist.ir.op_class import named
from alchemist.ir.scopes import is_norm
from alchemist.ops.spec import PRODUCTS, SHAPING
from alchemist.program.functions import CallItem, Definition, LoopItem
from alchemist.program.graph import GRADIENTS, SAVED, Node, Value
from alchemist.program.model_source import Statement
from alchemist.program.names import identifier
from alchemist.program.roles import computed_role, unshaped, users_of
from alchemist.program.runs import flat_items

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


def adds_residual(definition: Definition) -> bool:
    """Whether the function is a norm's backward pass that also adds the gradient of the residual, in one op with its last."""
    return is_norm(definition.class_name) and len(definition.returns) == 1 and sum(map(is_gradient, definition.parameters)) == 2


def stored_as(value: Value) -> str:
    """The weight of which the value becomes the gradient by a sum or a reshape alone, "" for others."""
    users = {id(user): user for user in value.users}
    for user in users.values() if len(users) == 1 else ():
        keys = [one.copy.key for one in user.kept if one.copy.collection == GRADIENTS and one.value in user.results]
        if len(keys) == 1 and (user.spec.name in SHAPING or user.spec.name == "ttnn.sum"):
            return keys[0].rpartition(".")[2]
    return ""


def stores_gradients(definition: Definition) -> bool:
    """Whether the function or one that it calls stores gradients of weights."""
    parts = flat_items(definition.items)
    own = any(one.copy.collection == GRADIENTS for item in parts if isinstance(item, Node) for one in item.kept)
    return own or any(stores_gradients(item.function) for item in parts if isinstance(item, CallItem))


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


class Flow:
    """Which values of a backward pass are gradients, and of what; the others are factors of derivatives."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        kept = [one for node in nodes for one in node.kept if one.copy.collection == SAVED]
        self._origins = {id(one.copy): one.value for one in kept}
        self._keys = {id(unshaped(one.value)): one.copy.key for one in reversed(kept)}
        last = max((place for place, node in enumerate(nodes) if node.is_gradient), default=-1)
        self.trains = last >= 0
        backward = nodes[: last + 1] if kept else ()  # without saved values, the source's statements tell more
        factors = [value for node in backward if node.spec.name in PRODUCTS and node.is_gradient for value in node.inputs()[:2]]
        made = {id(value): value.node for value in map(unshaped, factors) if value.node is not None}
        self.gradients = {value for value, node in made.items() if node.is_gradient and node.spec.name not in named("ttnn", "truth")}
        for node in backward:
            if any(id(value) in self.gradients for value in node.inputs()) or (node.is_gradient and any(map(self.module_of, node.results))):
                self.gradients.update(map(id, node.results))

    def module_of(self, value: Value) -> str:
        """The module whose output the value is the gradient of, as it makes the gradient of a weight or a bias of that; "" for others."""
        for user in users_of(value):
            for one in user.kept:
                saved = any(unshaped(other).collection == SAVED for other in user.inputs() if unshaped(other) is not unshaped(value))
                weighted = value.node is not None and any(unshaped(factor).collection == SAVED for factor in value.node.inputs())  # that of a norm's weight
                if one.copy.collection == GRADIENTS and (saved if user.spec.name in PRODUCTS else user.spec.name == "ttnn.sum" and not weighted):
                    return one.copy.key.rpartition(".")[0].rpartition(".")[2]
        return ""

    def name_of(self, node: Node, saved: Callable[[str], str]) -> str:
        """What the node's result is the gradient of, "" where unknown. saved: what a saved value is called, by its key."""
        value = node.results[0]
        if module := self.module_of(value):
            return module
        for one, gradient in self._factors(node):
            if one.collection == SAVED:  # of a * b: a^T times the result's gradient is that of b
                other = next((other for _, other in self._partners(one)), None)
                return saved(self._keys.get(id(unshaped(other)), "")) if other is not None else ""
            for user in users_of(unshaped(gradient)):  # what the module with this weight read
                keys = [kept.copy.key for kept in user.kept if kept.copy.collection == GRADIENTS and user.spec.name in PRODUCTS]
                if any(key.rpartition(".")[0] == one.key.rpartition(".")[0] for key in keys):
                    return next((saved(copy.key) for other in user.inputs() if (copy := unshaped(other)).collection == SAVED), "")
        forward = (product for user in users_of(value) for one, _ in self._factors(user) if one.collection == SAVED for product, _ in self._partners(one))
        return next((role for product in forward if (role := computed_role(product, {}))), "")

    def _factors(self, node: Node) -> Iterator[tuple[Value, Value]]:
        """(saved value or weight, gradient) of a product."""
        pair = node.inputs()[:2] if node.spec.name in PRODUCTS else []
        yield from ((copy, two) for one, two in zip(pair, reversed(pair), strict=True) if (copy := unshaped(one)).key and id(two) in self.gradients)

    def _partners(self, copy: Value) -> Iterator[tuple[Node, Value]]:
        """Products of the forward pass with the saved value, and what it is multiplied with."""
        value = self._origins[id(copy)]
        for user in users_of(unshaped(value)):
            others = [other for other in user.inputs()[:2] if unshaped(other) is not unshaped(value)]
            if user.spec.name in PRODUCTS and len(others) == 1:
                yield user, others[0]
