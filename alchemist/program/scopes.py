"""Groups nodes by the module that made them: a tree of runs, re-linearised only where that is provably the same program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from alchemist.ir.location import Scope, SourceInfo
from alchemist.program.graph import Graph, Node, Value, check_order

_COMPOSITES = frozenset(
    {
        "Transformer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "MultiheadAttention",
    }
)
"""Classes of torch.nn that are models in themselves, not one op."""
_LIBRARY = re.compile(r"^(torch\.nn\.|flax\.|haiku\.|equinox\.)|\.activations\.|\.pytorch_utils\.|(^|\.)activations$")
_CALL_NUMBER = re.compile(r"@\d+")

Chain = tuple[Scope, ...]
"""The modules around an op that become functions, outermost first; never empty in a scoped program."""


def is_library(class_name: str) -> bool:
    """Whether the class is a building block of the framework, whose ops belong to the module that uses it."""
    if class_name.rpartition(".")[2] in _COMPOSITES:
        return False
    return bool(_LIBRARY.search(class_name))


def weight_path(path: str) -> str:
    """The parameter path of a module path: a second call of a module is "encoder@1" in torch, its weights are not."""
    return _CALL_NUMBER.sub("", path)


def chain_of_source(info: SourceInfo) -> Chain:
    chain: list[Scope] = []
    for scope in info.scopes:
        if (not chain or not is_library(scope.class_name)) and not (chain and chain[-1].path == scope.path):
            chain.append(scope)
    return tuple(chain)


def common_prefix(chains: Sequence[Chain]) -> Chain:
    first, *others = chains
    size = len(first)
    for other in others:
        size = min(size, len(other))
        while first[:size] != other[:size]:
            size -= 1
    return first[:size]


def common_path(chains: Sequence[Chain]) -> str:
    """Parameter path of the innermost module around all chains, "" for none; calls of one module count as one."""
    rows = [[weight_path(scope.path) for scope in chain] for chain in chains]
    found = ""
    for column in zip(*rows, strict=False):
        if len(set(column)) > 1:
            break
        found = column[0]
    return found


def note_homes(chains: dict[Node, Chain]) -> None:
    """Sets every weight's `home`: what modules share is handed to them, alike to all."""
    users: dict[Value, set[Chain]] = {}
    for node, chain in chains.items():
        for value in node.inputs():
            if value.key:
                users.setdefault(value, set()).add(chain)
    for value, found in users.items():
        value.home = common_path(list(found))


def assign_chains(graph: Graph) -> dict[Node, Chain]:
    """The chain of every node. An op without source goes where its first user is, else where its input was made."""
    chains: dict[Node, Chain] = {}
    for node in graph.nodes:
        own = [chain for info in node.sources if (chain := chain_of_source(info))]
        if own:
            chains[node] = common_prefix(own)
    known = [chain for chain in chains.values() if chain]
    root: Chain = known[0][:1] if known else ()
    for node in reversed(graph.nodes):
        if node not in chains:
            users = [chains[user] for value in node.results for user in value.users if user in chains]
            if users:
                chains[node] = users[0]
    for node in graph.nodes:
        if node not in chains:
            makers = [chains[value.node] for value in node.inputs() if value.node in chains]
            chains[node] = makers[-1] if makers else root
    return {node: chain if chain[:1] == root else root for node, chain in chains.items()}


@dataclass(eq=False, slots=True)
class Group:
    """A run of ops made by one call of one module. lo, hi: its nodes' positions in the final order, [lo, hi)."""

    chain: Chain
    items: list[Node | Group] = field(default_factory=list)
    lo: int = 0
    hi: int = 0

    @property
    def scope(self) -> Scope:
        return self.chain[-1]

    @property
    def path(self) -> str:
        """Parameter path of the module."""
        return weight_path(self.scope.path)

    def nodes(self) -> Iterator[Node]:
        stack: list[Iterator[Node | Group]] = [iter(self.items)]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
            elif isinstance(item, Group):
                stack.append(iter(item.items))
            else:
                yield item


def group(graph: Graph, chains: dict[Node, Chain]) -> Group:
    """The tree of a graph; its node order becomes the graph's order (positions are renumbered)."""
    root = _runs(graph, chains)
    _merge_split_runs(root)
    order = list(root.nodes())
    if not check_order(order):
        root = _runs(graph, chains)  # merging moved something across an in-place write: keep the original order
        order = list(root.nodes())
    graph.nodes[:] = order
    for position, node in enumerate(order):
        node.position = position
    _number(root, 0)
    return root


def _runs(graph: Graph, chains: dict[Node, Chain]) -> Group:
    root = Group(next(iter(chains.values()))[:1] if chains else (Scope("", ""),))
    stack = [root]
    for node in graph.nodes:
        chain = chains[node] or root.chain
        while len(stack) > 1 and chain[: len(stack)] != stack[-1].chain:
            stack.pop()
        while len(stack) < len(chain):
            inner = Group(chain[: len(stack) + 1])
            stack[-1].items.append(inner)
            stack.append(inner)
        stack[-1].items.append(node)
    return root


def _number(tree: Group, start: int) -> int:
    tree.lo = start
    for item in tree.items:
        start = _number(item, start) if isinstance(item, Group) else start + 1
    tree.hi = start
    return start


def _merge_split_runs(tree: Group) -> None:
    """Joins runs of one module that other ops were moved between, where the order of dependent ops stays."""
    pending = [tree]
    while pending:
        parent = pending.pop()
        split: dict[str, list[Group]] = {}
        for item in parent.items:
            if isinstance(item, Group):
                split.setdefault(item.scope.path, []).append(item)
        for runs in split.values():
            if len(runs) > 1 and len({_outline(run) for run in runs}) > 1:
                while len(runs) > 1 and _join(parent, runs[0], runs[1]):
                    del runs[1]
        pending.extend(item for item in parent.items if isinstance(item, Group))


def _outline(run: Group) -> tuple[str, ...]:
    """Runs with equal outlines are calls of their own, not pieces of one."""
    return tuple(node.spec.name for node in run.nodes())


def _join(parent: Group, first: Group, second: Group) -> bool:
    """Moves `second` up to `first`: what lies between and needs `first` goes behind, the rest before. False if impossible."""
    start, end = parent.items.index(first), parent.items.index(second)
    tainted: set[int] = {id(value) for node in first.nodes() for value in node.results}
    before: list[Node | Group] = []
    behind: list[Node | Group] = []
    for item in parent.items[start + 1 : end]:
        nodes = list(item.nodes()) if isinstance(item, Group) else [item]
        if any(node.in_place for node in nodes):
            return False
        if any(id(value) in tainted for node in nodes for value in node.inputs()):
            tainted.update(id(value) for node in nodes for value in node.results)
            behind.append(item)
        else:
            before.append(item)
    moved = {id(value) for item in behind for value in _results(item)}
    if any(id(value) in moved for node in second.nodes() for value in node.inputs()):
        return False
    if any(node.in_place for node in (*first.nodes(), *second.nodes())):
        return False
    first.items.extend(second.items)
    parent.items[start : end + 1] = [*before, first, *behind]
    return True


def _results(item: Node | Group) -> Iterator[Value]:
    for node in item.nodes() if isinstance(item, Group) else (item,):
        yield from node.results
