"""`ttnn.torch_tracer`: models that import it run, its names are refused. In the real package it records a run as a graph; the simulator has no tracer."""

from __future__ import annotations

from typing import Any

from ttnn_shim.errors import NotOffered


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotOffered(f"ttnn.torch_tracer.{name} exists in ttnn 0.81.1 but not in the simulator; reports show the programs of a run", name=name)
