"""Times of a graph capture's functions. On the simulator they are those of the device programs within."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_NS_PER_S = 1e9


def extract_total_duration_from_graph(graph: Iterable[dict[str, Any]]) -> float:
    """Seconds of the whole capture; 0.0 where it did not end."""
    return max((node.get("duration_ns", 0) / _NS_PER_S for node in graph if node["node_type"] == "capture_end"), default=0.0)


def extract_operation_durations(graph: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Seconds by function; of one that is called several times the last call's, as the real package gives them."""
    return {node["params"]["name"]: node.get("duration_ns", 0) / _NS_PER_S for node in graph if node["node_type"] == "function_end"}
