"""Modules of a graph's nodes and of the weights that they share."""

from __future__ import annotations

from collections.abc import Mapping

from alchemist.ir.scopes import Chain, Group, assign_chains, common_path, group
from alchemist.program.graph import Graph, Node, Value
from alchemist.program.updates import updates_of


def chains_of(graph: Graph) -> dict[Node, Chain]:
    return assign_chains(
        graph.nodes,
        lambda node: node.sources,
        lambda node: (user for value in node.results for user in value.users),
        lambda node: any(value.returned for value in node.results),
    )


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
    return group(graph.nodes, chains)
