"""What a backward pass needs of the forward pass, and its gradients: values kept in collections under the names of their modules, like weights.

A layer's function puts its activations into `saved`, that of its backward pass takes them from there and leaves gradients in `gradients`. As both
collections have scopes, layers do not hand dozens of tensors to each other, and equal layers are equal code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from alchemist.ir.scopes import Chain, Group, common_prefix, group, weight_path
from alchemist.program import model
from alchemist.program.graph import GRADIENTS, SAVED, Graph, Kept, Node, Raw, Use, Value
from alchemist.program.updates import parts_of, updates_of
from alchemist.program.walk import mapped, with_values

COLLECTIONS = (SAVED, GRADIENTS)
MIN_KEPT = 8
"""Activations or gradients that are worth a collection."""
UNNAMED = "?"
"""How the name of an activation begins until the function that makes it has named it."""


def keep_values(graph: Graph, chains: Mapping[Node, Chain]) -> None:
    """Splits values between a module's forward and backward pass: what the one makes is kept, what the other reads is the kept one.

    Lifetimes stay: the kept one ends where the value did, and the value itself, which is the same tensor, where the forward pass reads it last.
    """
    passes = _Passes(graph, chains)
    if not passes.backward:
        return
    moves = [move for node in graph.nodes for value in node.results if (move := passes.activation(value)) is not None]
    if len(moves) >= MIN_KEPT:
        counts: dict[str, int] = {}
        for value, where, readers in moves:
            chain = chains[where]
            path = weight_path(chain[-1].path)
            number = counts[path] = counts.get(path, 0) + 1
            key = f"{UNNAMED}{chain[-1].class_name}/{number}"
            _keep(value, where, readers, Value(value.type, key=f"{path}.{key}" if path else key, collection=SAVED))
    updates = updates_of(graph, chains)
    optimizer = {node for run in updates for node in run}
    gradients = _gradients_of(updates)
    for value, key in gradients if len(gradients) >= MIN_KEPT else ():
        node = value.node
        assert node is not None
        path = weight_path(chains[node][-1].path)
        if not path or key.startswith(f"{path}."):
            readers = [user for user in value.users if user in optimizer]
            _keep(value, node, readers, Value(value.type, key=key, collection=GRADIENTS))


class _Passes:
    """Which ops are of the forward pass and which of the backward pass."""

    def __init__(self, graph: Graph, chains: Mapping[Node, Chain]) -> None:
        self._chains = chains
        last = max((node.position for node in graph.nodes if node.is_gradient), default=-1)
        self.backward: set[Node] = set()
        for node in graph.nodes[: last + 1]:
            if node.is_gradient or any(value.node in self.backward for value in node.inputs()):
                self.backward.add(node)
        self._ends: dict[Node, int] = {}  # of the run of its module that a node is in
        pending = [group(graph.nodes, chains)]
        for run in pending:
            pending += [item for item in run.items if isinstance(item, Group)]
            self._ends.update((item, run.hi) for item in run.items if isinstance(item, Node))

    def activation(self, value: Value) -> tuple[Value, Node, list[Node]] | None:
        """(the value, the op of the forward pass at which it is kept, the ops of the backward pass that read it); None for others."""
        node = value.node
        if node is None or value.returned or node in self.backward:
            return None
        backward = [user for user in value.users if user in self.backward]
        forward = [user for user in value.users if user not in self.backward]
        if not backward or max((user.position for user in forward), default=-1) > backward[0].position:
            return None
        wanted = common_prefix([self._paths(user) for user in backward])
        inside = [one for one in (node, *forward) if self._paths(one)[: len(wanted)] == wanted]
        where = next((one for one in inside if self._paths(one) == wanted), inside[0] if inside else node)
        return (value, where, backward) if self._ends[where] <= backward[0].position else None

    def _paths(self, node: Node) -> tuple[tuple[str, str], ...]:
        return tuple((weight_path(scope.path), scope.class_name) for scope in self._chains[node])


def _gradients_of(updates: Sequence[Sequence[Node]]) -> list[tuple[Value, str]]:
    """Gradients of weights that the optimizer gets, with the weights' keys."""
    found: dict[int, tuple[Value, str]] = {}
    for run in updates:
        gradient, weight = parts_of(run)
        if gradient is not None and weight is not None and gradient.node is not None and not gradient.returned:
            found.setdefault(id(gradient), (gradient, weight.key))
    return list(found.values())


def _keep(value: Value, where: Node, readers: Sequence[Node], kept: Value) -> None:
    chosen = {id(reader) for reader in readers}
    where.kept.append(Kept(value, kept))
    for node in readers:
        node.arguments = tuple((arg, _replaced(raw, value, kept)) for arg, raw in node.arguments)
    kept.users = [user for user in value.users if id(user) in chosen]
    value.users = [user for user in value.users if id(user) not in chosen]
    last = max((where, *value.users), key=lambda node: node.position)
    for node in kept.users:
        if value in node.frees:
            node.frees[node.frees.index(value)] = kept
    if value not in last.frees:
        last.frees.append(value)


def gradients_in_order(graph: Graph) -> list[str]:
    """Keys of the gradients that are kept, in the order in which they are made."""
    return [one.copy.key for node in graph.nodes for one in node.kept if one.copy.collection == GRADIENTS]


def _replaced(raw: Raw, old: Value, new: Value) -> Raw:
    if isinstance(raw, Use):
        return Use(new) if raw.value is old else raw
    return tuple(_replaced(part, old, new) for part in raw) if isinstance(raw, tuple) else raw


def with_names(function: model.Function, names: Mapping[str, str]) -> model.Function:
    """The function with the names that activations have got. names: what the functions that make them call them."""

    def named(value: model.Value) -> model.Value:
        return replace(value, key=tuple(_named(piece, names) for piece in value.key)) if isinstance(value, model.WeightRef) else value

    return replace(function, body=mapped(function.body, lambda one: with_values(one, named)))


def _named(piece: str | model.Index, names: Mapping[str, str]) -> str | model.Index:
    if isinstance(piece, model.Index):
        return piece
    before, found, unnamed = piece.partition(UNNAMED)
    return before + names.get(unnamed, unnamed) if found else piece


def collections_of(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, the weights first."""
    found = set(names)
    return tuple(name for name in ("weights", *COLLECTIONS) if name in found)
