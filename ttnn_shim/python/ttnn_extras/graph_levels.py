"""`ttnn.graph.extract_levelized_graph` and `ttnn.graph.visualize`: a capture as a graph of its functions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ttnn_shim.errors import NotSupported

Node = dict[str, Any]


def extract_levelized_graph(trace: Any, max_level: int = 1) -> list[Node]:
    """The functions down to `max_level` calls deep, in the order of their starts. A function's edges are numbers in this list: whose results it
    reads, who reads its own (on its level); internals: the functions within it."""
    nodes = [node for node in trace if isinstance(node, dict)]
    found: list[Node] = []
    within: list[Node | None] = []  # functions open now; None: too deep for the list
    made_by: dict[int, dict[int, int]] = {}  # number of a tensor node -> level -> function
    for node in nodes:
        if node["node_type"] == "function_start":
            level = len(within) + 1
            if level > max_level:
                within.append(None)
                continue
            entry: Node = {
                "arguments": list(node.get("arguments") or []), "counter": len(found), "in_edges": [], "internals": [], "name": node["params"]["name"],
                "out_edges": [], "output_info": [], "output_shape": [], "stacking_level": level,
            }  # fmt: skip
            for number in node.get("input_tensors") or []:
                producer = made_by.get(number, {}).get(level)
                if producer is not None and producer not in entry["in_edges"]:
                    entry["in_edges"].append(producer)
                    found[producer]["out_edges"].append(entry["counter"])
            for outer in filter(None, within):
                outer["internals"].append(entry["counter"])
            found.append(entry)
            within.append(entry)
        elif node["node_type"] == "function_end" and within:
            ended = within.pop()
            if ended is None:
                continue
            results = [number for number in node["connections"] if nodes[number]["node_type"] == "tensor"]
            for number in results:
                made_by.setdefault(number, {})[ended["stacking_level"]] = ended["counter"]
            ended["output_shape"] = [nodes[number]["params"]["shape"] for number in results]
    return found


def node_label(node: Node) -> str:
    """A node in few words: a function by its name, others by their kind and size."""
    parameters = node["params"] or {}
    if node["node_type"] == "function_start":
        return str(parameters["name"])
    facts = [str(parameters[key]) for key in ("shape", "type", "size") if key in parameters]
    return "\n".join([node["node_type"], *facts])


def visualize_node(graphviz_graph: Any, node: Node) -> None:
    shape = {"function_start": "box", "tensor": "ellipse"}.get(node["node_type"], "note")
    graphviz_graph.node(str(node["counter"]), label=node_label(node), shape=shape)


def visualize_edge(graphviz_graph: Any, start: Node, end: Node) -> None:
    graphviz_graph.edge(str(start["counter"]), str(end["counter"]))


def visualize(
    captured_graph: Any,
    *,
    file_name: Path | str | None = None,
    visualize_node: Callable[..., Any] = visualize_node,
    visualize_edge: Callable[..., Any] = visualize_edge,
) -> Any:
    """The capture as a `graphviz.Digraph`, drawn into `file_name` (.svg, .pdf, .png) where one is given."""
    try:
        graphviz: Any = importlib.import_module("graphviz")
    except ImportError as error:
        hint = "pip install graphviz; pretty_print and extract_levelized_graph need nothing"
        raise NotSupported("graphs are drawn by the package graphviz, which is not installed", op="ttnn.graph.visualize", hint=hint) from error
    digraph = graphviz.Digraph(format=Path(file_name).suffix.removeprefix(".") if file_name else "svg")
    for node in captured_graph:
        visualize_node(digraph, node)
    for node in captured_graph:
        for number in node["connections"]:
            visualize_edge(digraph, node, captured_graph[number])
    if file_name:
        digraph.render(str(Path(file_name).with_suffix("")), cleanup=True)
    return digraph
