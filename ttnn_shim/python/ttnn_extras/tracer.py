"""`ttnn.tracer`: within `trace()` each op of the program is a node of a graph, each tensor that it reads an edge.

As in the real package it needs `ttnn.CONFIG.enable_fast_runtime_mode` off (or TTNN_CONFIG_OVERRIDES). Tensors that the program made outside of the
block are inputs of the graph; functions and modules of PyTorch are not traced.
"""

from __future__ import annotations

import contextlib
import importlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ttnn._events import TRACER, on_call
from ttnn._state import CONFIG
from ttnn._tensor import Tensor
from ttnn_shim.errors import NotOffered


@dataclass(eq=False)
class Node:
    """An op, or a tensor from outside of the block."""

    name: str
    operation: Any = None  # None: a tensor
    inputs: list[tuple[Node, int]] = field(default_factory=list)  # who made it, which of its results
    outputs: list[str] = field(default_factory=list)  # shape, dtype, layout and memory of each result

    def __repr__(self) -> str:
        return self.name


_enabled = False
_made_by: dict[int, tuple[Node, int, Tensor]] = {}  # id of a tensor -> its node and place; the tensor, so that its id stays its own


def is_tracing_enabled() -> bool:
    return _enabled


def enable_tracing() -> None:
    """Raises ValueError in fast runtime mode, and when tracing is enabled already."""
    global _enabled
    if CONFIG.enable_fast_runtime_mode:
        raise ValueError("Tracing is not supported in fast runtime mode.")
    if _enabled:
        raise ValueError("Tracing is already enabled.")
    _enabled = True
    _made_by.clear()
    on_call.watch(TRACER, _traced)


def disable_tracing() -> None:
    """The graph of the last block stays, for `get_graph` and `visualize`."""
    global _enabled
    _enabled = False
    on_call.watch(TRACER, None)


@contextlib.contextmanager
def trace() -> Iterator[None]:
    enable_tracing()
    try:
        yield
    finally:
        disable_tracing()


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for one in value for tensor in _tensors(one)] if isinstance(value, tuple | list) else []


def _facts(tensor: Tensor) -> str:
    facts = [str(tensor.shape), tensor.dtype.name, tensor.layout.name]
    if tensor.storage_type().name == "DEVICE":
        memory = tensor.memory_config()
        facts += [memory.buffer_type.name, memory.memory_layout.name]
    return ", ".join(facts)


def _source(tensor: Tensor) -> tuple[Node, int]:
    if id(tensor) not in _made_by:
        node = Node(f"ttnn_input_{len(_made_by)}", outputs=[_facts(tensor)])
        _made_by[id(tensor)] = node, 0, tensor
    return _made_by[id(tensor)][:2]


def _traced(operation: Any, go_on: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    node = Node(f"{operation.python_fully_qualified_name}_{len(_made_by)}", operation)
    node.inputs = [_source(tensor) for tensor in _tensors([args, kwargs])]
    result = go_on(args, kwargs)
    for place, tensor in enumerate(_tensors(result)):
        node.outputs.append(_facts(tensor))
        _made_by[id(tensor)] = node, place, tensor
    return result


def get_graph(outputs: Any) -> list[Node]:
    """The nodes that `outputs` (tensors of the last traced block) come from, each after those that it reads."""
    found: dict[Node, None] = {}
    pending = [_source(tensor)[0] for tensor in _tensors(outputs)]
    while pending:
        node = pending[-1]
        unread = [source for source, _ in node.inputs if source not in found]
        if unread:
            pending += unread
        else:
            found[pending.pop()] = None
    return list(found)


def visualize(*outputs: Any, file_name: Path | str | None = None, **_: Any) -> Any:
    """The graph of `outputs` as a `graphviz.Digraph`, drawn into `file_name` where one is given. Nothing where Graphviz is not installed."""
    if shutil.which("dot") is None:
        return None
    digraph = importlib.import_module("graphviz").Digraph(format=Path(file_name).suffix.removeprefix(".") if file_name else "svg")
    for node in get_graph(outputs):
        digraph.node(node.name, label="\n".join([node.name, *node.outputs]), shape="box" if node.operation else "ellipse")
        for place, (source, output) in enumerate(node.inputs):
            digraph.edge(source.name, node.name, label=f"{output} to {place}")
    if file_name:
        digraph.render(str(Path(file_name).with_suffix("")), cleanup=True)
    return digraph


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotOffered(f"ttnn.tracer.{name} exists in ttnn 0.81.1 but not in the simulator; it has trace, get_graph and visualize", name=name)
