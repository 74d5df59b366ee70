"""In-place ops: which values they replace, and when they need torch's functionalisation."""

from __future__ import annotations

import operator

import torch
from torch import fx

_IDENTITIES = {"aten::to", "aten::alias", "aten::detach", "aten::detach_", "aten::contiguous", "aten::dropout", "aten::lift_fresh"}


def mutated_argument(node: fx.Node) -> fx.Node | None:
    """The node whose value this in-place op replaces."""
    op = node.target
    if not isinstance(op, torch._ops.OpOverload) or not op._schema.is_mutable:
        return None
    for position, argument in enumerate(op._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
            return value if isinstance(value, fx.Node) else None
    return None


def is_view(op: torch._ops.OpOverload) -> bool:
    """Whether a result may share memory with an argument."""
    name = op._schema.name
    return any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns) or name in (
        "aten::dropout",
        "aten::reshape",
    )


def same_tensor(node: fx.Node) -> fx.Node | None:
    """The argument that this op returns as it is: the target of an in-place op, `x.to(x.dtype)`, `x.detach()`."""
    mutated = mutated_argument(node)
    if mutated is not None:
        return mutated
    op = node.target
    if not isinstance(op, torch._ops.OpOverload) or op._schema.name not in _IDENTITIES:
        return None
    source = node.args[0] if node.args else None
    if not isinstance(source, fx.Node):
        return None
    new, old = node.meta.get("val"), source.meta.get("val")
    if not isinstance(new, torch.Tensor) or not isinstance(old, torch.Tensor):
        return None
    alike = new.dtype == old.dtype and new.shape == old.shape and new.stride() == old.stride()
    return source if alike else None


class Aliases:
    """Nodes that are one and the same tensor; built while walking a graph in order."""

    def __init__(self) -> None:
        self._groups: dict[fx.Node, list[fx.Node]] = {}

    def add(self, node: fx.Node) -> list[fx.Node]:
        """The group that `node` joins (itself included); empty when it is a tensor of its own."""
        source = same_tensor(node)
        if source is None:
            return []
        group = self._groups.setdefault(source, [source])
        group.append(node)
        self._groups[node] = group
        return group

    def root(self, node: fx.Node) -> fx.Node:
        group = self._groups.get(node)
        return group[0] if group else node


def written_placeholders(graph: fx.Graph) -> set[fx.Node]:
    aliases = Aliases()
    out = set()
    for node in graph.nodes:
        aliases.add(node)
        mutated = mutated_argument(node)
        if mutated is not None and aliases.root(mutated).op == "placeholder":
            out.add(aliases.root(mutated))
    return out


def needs_functionalisation(graph: fx.Graph) -> bool:
    """Whether an in-place op changes memory that another live value shares through a view.

    Without views, an in-place op only renames its argument from there on, which the lowering does itself.
    """
    order = {node: position for position, node in enumerate(graph.nodes)}
    base: dict[fx.Node, fx.Node] = {}  # view -> the tensor whose memory it shares
    members: dict[fx.Node, list[fx.Node]] = {}
    aliases = Aliases()

    def join(node: fx.Node, root: fx.Node) -> None:
        base[node] = root
        members.setdefault(root, [root]).append(node)

    def used_later(node: fx.Node, after: int) -> bool:
        return node.op == "placeholder" or any(order[user] > after for user in node.users)

    for node in graph.nodes:
        if node.op != "call_function":
            continue
        aliases.add(node)
        source = next((part for part in node.args if isinstance(part, fx.Node)), None)
        mutated = mutated_argument(node)
        if mutated is not None:
            identity, root = aliases.root(mutated), base.get(mutated, mutated)
            others = [one for one in members.get(root, []) if aliases.root(one) is not identity]
            if any(used_later(one, order[node]) for one in others):
                return True
            join(node, root)
        elif source is None:
            continue
        elif node.target is operator.getitem:
            if source in base:
                join(node, base[source])
        elif isinstance(node.target, torch._ops.OpOverload) and is_view(node.target):
            join(node, base.get(source, source))
    return False
