"""`ttnn.tracer`: in the real package it records a run as a graph. The simulator has no tracer: nothing is traced, and turning it on is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ttnn_shim.errors import NotOffered, NotSupported


def is_tracing_enabled() -> bool:
    return False


def disable_tracing() -> None:
    """Nothing is traced."""


def enable_tracing() -> None:
    raise NotSupported("the simulator has no graph tracer", op="ttnn.tracer.enable_tracing", hint="reports (--profile) show the programs of a run")


@contextlib.contextmanager
def trace() -> Iterator[None]:
    enable_tracing()
    yield


def visualize(*_: Any, **__: Any) -> None:
    """Draws nothing, as the real package where Graphviz is not installed."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotOffered(f"ttnn.tracer.{name} exists in ttnn 0.81.1 but not in the simulator; reports show the programs of a run", name=name)
