"""Which ops of a trace one fused program computes: the rules of tt-mlir's GenericFusion."""

from __future__ import annotations

from ttnn_jit.graph import Graph
from ttnn_jit.supported import clock_function, is_elementwise

MOST_BUFFERS, MOST_BUFFERS_OF_WIDE = 32, 8
HANDOFF = "L1_SCRATCH"
_WIDE = ("FLOAT32", "INT32", "UINT32")


def fused_groups(graph: Graph) -> list[list[int]]:
    """Indexes of nodes by program, in an order in which the programs can run; a group's last node makes its result.

    A producer joins its consumer when both are elementwise, the consumer is its only one and their results have the same shape, as long as
    the group's operands and its result need no more than 32 circular buffers, 8 when any is wider than 16 bits.
    """
    uses = graph.uses()
    first = len(graph.inputs)
    group_of: dict[int, list[int]] = {}
    for index, node in enumerate(graph.nodes):
        group = [index]
        if is_elementwise(node.op):
            for value in node.operands():
                producer = value - first
                if producer < 0 or uses[value] != [index] or value == graph.output or not is_elementwise(graph.nodes[producer].op):
                    continue
                joined = sorted({*group_of[producer], *group})
                if graph.nodes[producer].result.shape == node.result.shape and _fits(graph, joined):
                    group = joined
        for member in group:
            group_of[member] = group
    return [group for index, group in sorted(group_of.items()) if index == group[-1]]


def operands_of(graph: Graph, group: list[int]) -> list[int]:
    """Values that a group reads from outside."""
    inside = {len(graph.inputs) + index for index in group}
    return list(dict.fromkeys(value for index in group for value in graph.nodes[index].operands() if value not in inside))


def _fits(graph: Graph, group: list[int]) -> bool:
    specs = [graph.spec(value) for value in operands_of(graph, group)] + [graph.nodes[index].result for index in group]
    wide = any(spec.dtype.name in _WIDE for spec in specs)
    return len(operands_of(graph, group)) + 1 <= (MOST_BUFFERS_OF_WIDE if wide else MOST_BUFFERS)


def clock_functions(graph: Graph, group: list[int]) -> str:
    """The functions of a group for the clock, in order, with the hand-overs between them."""
    return f",{HANDOFF},".join(clock_function(graph.nodes[index].op) for index in group)
