"""`ttnn.graph_report`: in the real package it makes a database for ttnn-visualizer of a graph capture's report. The simulator's own reports hold one."""

from __future__ import annotations

from typing import Any

from ttnn_shim.errors import NotOffered

from ttnn._graph_durations import extract_operation_durations, extract_total_duration_from_graph

__all__ = ["extract_operation_durations", "extract_total_duration_from_graph"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    way = "python -m ttnn_shim run --profile DIR writes a database for ttnn-visualizer"
    raise NotOffered(f"ttnn.graph_report.{name} exists in ttnn 0.81.1 but not in the simulator; {way}", name=name)
