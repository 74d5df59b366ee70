"""What a trace is: the ops that a function called, in order, and what each returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ttnn_shim.nested import leaves


@dataclass(frozen=True, slots=True)
class Ref:
    """A traced value by its number: the inputs first, then the results of the nodes."""

    value: int


@dataclass(frozen=True, slots=True)
class Spec:
    """shape: logical; padded: as stored in tiles; dtype, layout: members of ttnn's enums; memory_config: None where the trace says nothing of it."""

    shape: tuple[int, ...]
    padded: tuple[int, ...]
    dtype: Any
    layout: Any
    memory_config: Any = None


@dataclass(slots=True)
class Node:
    """op: name under `ttnn`; args, kwargs: as called, tensors as `Ref`; bound: the same by parameter name."""

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    bound: dict[str, Any]
    result: Spec

    def operands(self) -> list[int]:
        """Numbers of the values that it reads, each once, in order."""
        return list(dict.fromkeys(leaf.value for leaf in leaves((self.args, self.kwargs)) if isinstance(leaf, Ref)))


@dataclass(slots=True)
class Graph:
    """output: number of the value that the function returned."""

    inputs: list[Spec]
    nodes: list[Node]
    output: int

    def spec(self, value: int) -> Spec:
        """Of an input or a result."""
        return self.inputs[value] if value < len(self.inputs) else self.nodes[value - len(self.inputs)].result

    def uses(self) -> dict[int, list[int]]:
        """Indexes of the nodes that read each value."""
        readers: dict[int, list[int]] = {}
        for index, node in enumerate(self.nodes):
            for value in node.operands():
                readers.setdefault(value, []).append(index)
        return readers
