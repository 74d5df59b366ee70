"""Modules of a graph's nodes and of the weights that they share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile

from alchemist.ir.location import Scope, SourceInfo
from alchemist.ir.op_class import named
from alchemist.ir.scopes import Chain, Group, assign_chains, chain_of_source, common_path, common_prefix, group, is_library, is_norm
from alchemist.ops.spec import PRODUCTS, SHAPING
from alchemist.program.graph import Graph, Node, Value
from alchemist.program.updates import updates_of

MOVE = "ttnn.to_memory_config"
_LOOK_UPS = named("ttnn", "look_up")
NORMS = named("ttnn", "row_norm")
_NUMBER = re.compile(r"\d+")
_MIN_SHARED = 2
"""Ops that modules of a class share beside the shaping of one module's input, and other modules that have them."""
_MIN_OPS = 4
"""Ops of a look-up that are worth a function."""


def chains_of(graph: Graph) -> dict[Node, Chain]:
    """The modules around each op. A library's embedding is one of them where its look-up takes several ops, as in a float32 table."""
    chains = assign_chains(
        graph.nodes,
        lambda node: node.sources,
        lambda node: (user for value in node.results for user in value.users),
        lambda node: any(value.returned for value in node.results),
    )
    chains |= {node: chain for node in graph.nodes if node.spec.name in PRODUCTS and (chain := _around_weight(node))}
    alike: dict[SourceInfo, list[Node]] = {}
    for node in graph.nodes:
        if len(node.sources) == 1 and node.sources[0].scopes:
            alike.setdefault(node.sources[0], []).append(node)
    for info, nodes in alike.items():
        leaf, around = info.scopes[-1], chains[nodes[0]]
        whole = len(nodes) >= _MIN_OPS and nodes[-1].position - nodes[0].position == len(nodes) - 1
        if whole and leaf.path and is_library(leaf.class_name) and around[-1].path != leaf.path and any(node.spec.name in _LOOK_UPS for node in nodes):
            chains.update(dict.fromkeys(nodes, (*around, leaf)))
    _add_trained(graph, chains)
    for norm, (leaf, move) in moved_norms(graph).items():
        around = chains[norm]
        chains[norm] = chains[move] = around if around[-1].path == leaf.path else (*around, leaf)
        move.sources = norm.sources
    if not any(node.is_gradient for node in graph.nodes):
        _shape_before_call(graph, chains)
    return chains


def _around_weight(product: Node) -> Chain:
    """The modules around a product's weight, where a caller's activation is fused into it: `self.head(x).sigmoid()` is in the head. () for others."""
    own = [chain_of_source(info) for info in product.sources]
    inner = max(own, key=len, default=())
    callers = [chain for chain in own if chain != inner]
    weights = [value.key for value in product.inputs() if value.key]
    within = inner and inner[-1].path and weights and all(key.startswith(f"{inner[-1].path}.") for key in weights)
    return inner if callers and within and all(inner[: len(chain)] == chain for chain in callers) else ()


def _shape_before_call(graph: Graph, chains: dict[Node, Chain]) -> None:
    """The caller shapes the input of a module, where other modules of the class have the module's other ops alone: all of them are one function.

    before: block(x): permute, reshape, conv, conv; block(y): conv, conv          after: permute, reshape, block(x); block(y)
    """
    of_class: dict[str, list[Group[Node]]] = {}
    stack = [group(graph.nodes, chains)]
    while stack:
        run = stack.pop()
        stack += [item for item in run.items if isinstance(item, Group)]
        if len(run.chain) > 1:
            of_class.setdefault(run.scope.class_name, []).append(run)
    for runs in of_class.values():
        names = [tuple(node.spec.name for node in run.ops() if node.spec.name != MOVE) for run in runs]
        counts = Counter(names)
        for run, own in zip(runs, names, strict=True):
            shaping = tuple(takewhile(SHAPING.__contains__, own))
            alone = sum(other[:1] == own[:1] for other in names) == 1
            if not shaping or not alone or len(own) - len(shaping) < _MIN_SHARED or counts[own[len(shaping) :]] < _MIN_SHARED:
                continue
            nodes = list(run.ops())
            end = next(place for place, node in enumerate(nodes) if node.spec.name not in (*SHAPING, MOVE))
            while nodes[end - 1].spec.name == MOVE:
                end -= 1
            if all(chains[node] == run.chain for node in nodes[:end]):
                chains.update(dict.fromkeys(nodes[:end], run.chain[:-1]))


def moved_norms(graph: Graph) -> dict[Node, tuple[Scope, Node]]:
    """Norms with their modules and the moves of their results, where the program moves the result of every norm of the class at once.

    before: norm(x); move; ... norm(y); move         after: norm moves its result, as a function that all callers share
    """
    found: dict[str, list[tuple[Node, Scope, Node | None]]] = {}
    for node in graph.nodes if not any(node.is_gradient for node in graph.nodes) else ():
        leaves = {info.scopes[-1] for info in node.sources if info.scopes} if node.spec.name in NORMS else ()
        for leaf in leaves:
            users = node.results[0].users
            at_once = len(leaves) == len(users) == 1 and users[0].spec.name == MOVE and users[0].position == node.position + 1
            own = leaf.path and all(value.key.startswith(f"{leaf.path}.") for value in node.inputs() if value.key)
            found.setdefault(leaf.class_name, []).append((node, leaf, users[0] if at_once and own and not node.results[0].returned else None))
    return {
        node: (leaf, move)
        for rows in found.values()
        if all(move is not None for _, _, move in rows) and len({_NUMBER.sub("#", leaf.path) for _, leaf, _ in rows}) > 1
        for node, leaf, move in rows
        if move is not None
    }


def _add_trained(graph: Graph, chains: dict[Node, Chain]) -> None:
    """In a training step, a norm of a library keeps statistics, and it and a linear layer have gradients of many ops: those passes are functions."""
    if not any(node.is_gradient for node in graph.nodes):
        return
    of_module: dict[tuple[Scope, bool], list[Node]] = {}
    for node in graph.nodes:
        for leaf in {info.scopes[-1] for info in node.sources if info.scopes}:
            if leaf.path and is_library(leaf.class_name) and (is_norm(leaf.class_name) or node.is_gradient):
                of_module.setdefault((leaf, node.is_gradient), []).append(node)
    for (leaf, _), nodes in of_module.items():
        around = chains[nodes[0]]
        if len(nodes) >= _MIN_OPS and nodes[-1].position - nodes[0].position == len(nodes) - 1 and around[-1].path != leaf.path:
            chains.update(dict.fromkeys(nodes, (*around, leaf)))


def module_runs(graph: Graph, chains: Mapping[Node, Chain]) -> Group[Node]:
    """The graph's tree of module runs; every weight learns its `home`: what modules share is handed to them, alike to all."""
    users: dict[Value, set[Chain]] = {}
    updates = {node for run in updates_of(graph, chains) for node in run}  # an optimizer handles the weights of all modules
    for node, chain in chains.items():
        for value in node.inputs():
            if value.key and node not in updates:
                users.setdefault(value, set()).add(chain)
    for value, found in users.items():
        value.home = common_path(list(found))
    _hand_on_alike(list(users))
    return group(graph.nodes, chains)


def _hand_on_alike(weights: Sequence[Value]) -> None:
    """Weights of modules of one kind are handed to all of these modules where one of them is made of something outside its module."""
    above: dict[str, int] = {}
    for value in weights:
        path = value.home.split(".") if value.home else []
        shared = min((len(common_prefix([path, name.split(".")])) for name in value.files_of_modules), default=len(path))
        above[_kind(value)] = max(above.get(_kind(value), 0), len(path) - shared)
    for value in weights:
        if value.home and (steps := above[_kind(value)]):
            value.home = ".".join(value.home.split(".")[:-steps])


def _kind(value: Value) -> str:
    return _NUMBER.sub("#", value.key)
