"""In-place ops: which values they replace, and when they need torch's functionalisation."""

from __future__ import annotations

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
    is_same_view = new.dtype == old.dtype and new.shape == old.shape and new.stride() == old.stride()
    return source if is_same_view else None


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
    """Whether an in-place op changes memory that another live value shares.

    Which values share memory is read from the storages of the traced (fake) tensors: schemas do not say that `einsum` or `atleast_2d` may return a view.
    Without sharing, an in-place op only renames its argument from there on, which the lowering does itself.
    """
    order = {node: position for position, node in enumerate(graph.nodes)}
    members: dict[int, list[fx.Node]] = {}
    aliases = Aliases()

    def used_later(node: fx.Node, after: int) -> bool:
        return node.op == "placeholder" or any(order[user] > after for user in node.users)

    for node in graph.nodes:
        if node.op == "call_function":
            aliases.add(node)
        mutated = mutated_argument(node)
        if mutated is not None:
            identity = aliases.root(mutated)
            others = [view for view in members.get(_storage(mutated), []) if view is not mutated]
            if torch.Tag.inplace_view not in node.target.tags:  # `y.t_()` turns y, but not what else has y's memory
                others = [view for view in others if aliases.root(view) is not identity and not _is_same_argument(aliases.root(view), identity)]
            if any(used_later(view, order[node]) for view in others):
                return True
        if isinstance(node.meta.get("val"), torch.Tensor):
            members.setdefault(_storage(node), []).append(node)
    return False


def _is_same_argument(first: fx.Node, second: fx.Node) -> bool:
    """Whether two arguments are one tensor: torch.export lifts the tensors of a static cache beside the buffers that they are. Lowering knows them as one."""
    if first.op != "placeholder" or second.op != "placeholder":
        return False
    a, b = first.meta["val"], second.meta["val"]
    return bool(a.shape == b.shape and a.stride() == b.stride() and a.storage_offset() == b.storage_offset())


def _storage(node: fx.Node) -> int:
    """Identity of the memory of a node's traced tensor; of one without memory of its own (sparse, or batched by `vmap`), the node's."""
    value = node.meta.get("val")
    try:
        return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else id(node)
    except NotImplementedError:
        return id(node)


def secret_views(graph: fx.Graph) -> set[torch._ops.OpOverload]:
    """Composite ops of the graph that return memory of an argument although their schemas do not say so: torch's functionalisation must look into them."""
    views = set()
    for node in graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload) and not is_view(node.target) and mutated_argument(node) is None:
            if _storage(node) in {_storage(source) for source in node.all_input_nodes}:
                views.add(node.target)
    return views
