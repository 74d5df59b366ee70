"""Runs a trace: TT-NN's own ops one by one, or one modelled program per fused tree with the values of those ops."""

from __future__ import annotations

from typing import Any

import ttnn
from ttnn import _core
from ttnn._convert import encode, encode_fields, name_prefix
from ttnn._tensor import Tensor
from ttnn_shim.errors import NotSupported
from ttnn_shim.nested import replaced

from ttnn_jit.fusion import clock_functions, fused_groups, operands_of
from ttnn_jit.graph import Graph, Node, Ref
from ttnn_jit.supported import is_elementwise
from ttnn_jit.tracing import call_quietly, private_device

FUSED_OP = "ttnn_shim.fused_eltwise"


def execute(graph: Graph, tensors: tuple[Any, ...], wanted: Any, fidelity: Any, fuse: bool) -> Any:
    """The function's result on device tensors.

    wanted: memory configuration of the result. fidelity: of matmuls; None: what the undecorated call takes.
    """
    device = tensors[0].device()
    values: dict[int, Any] = dict(enumerate(tensors))
    groups = fused_groups(graph) if fuse else [[index] for index in range(len(graph.nodes))]
    first = len(graph.inputs)
    for place, group in enumerate(groups):
        result = first + group[-1]
        target = wanted if result == graph.output else None
        if len(group) > 1:
            values[result] = _run_fused(graph, group, values, device, target)
        else:
            values[result] = _run_op(graph.nodes[group[0]], values, target, fidelity)
        needed = {graph.output, *(value for later in groups[place + 1 :] for value in operands_of(graph, later))}
        for value in [value for value in values if value >= first and value not in needed]:
            del values[value]  # its memory goes back
    output = values[graph.output]
    if output.layout is not ttnn.TILE_LAYOUT:
        output = ttnn.to_layout(output, ttnn.TILE_LAYOUT)
    return output if output.memory_config() == wanted else ttnn.to_memory_config(output, wanted)


def _run_op(node: Node, values: dict[int, Any], target: Any, fidelity: Any) -> Any:
    """target: memory of the result where an op can write there without other values than it has elsewhere."""
    args, kwargs = _actual(node, values)
    if target is not None and is_elementwise(node.op) and all(not values[value].is_sharded() for value in node.operands()):
        kwargs["memory_config"] = target
    if fidelity is not None and node.op == "matmul":
        kwargs["compute_kernel_config"] = ttnn.WormholeComputeKernelConfig(math_fidelity=fidelity)
    return getattr(ttnn, node.op)(*args, **kwargs)


def _actual(node: Node, values: dict[int, Any]) -> tuple[Any, Any]:
    def actual(leaf: Any) -> Any:
        return values[leaf.value] if isinstance(leaf, Ref) else leaf

    return replaced(node.args, actual), replaced(dict(node.kwargs), actual)


def _run_fused(graph: Graph, group: list[int], values: dict[int, Any], device: Any, target: Any) -> Any:
    """One program on `device`. The values come from the group's ops on a device of their own, whose clock nobody reads."""
    if ttnn.is_trace_capture_active(device):
        raise NotSupported("a fused ttnn_jit function cannot be captured in a trace", op="ttnn_jit.jit", hint="leave enable-elementwise-fusion out")
    result = graph.nodes[group[-1]].result
    operands = [values[value] for value in operands_of(graph, group)]
    host = None if device.info()["estimate"] else _values_of(graph, group, values)
    memory = target or operands[0].memory_config()
    handles: list[Any] = []
    given = {"inputs": operands, "functions": clock_functions(graph, group), "shape": list(result.shape), "dtype": result.dtype, "memory_config": memory}
    if host is not None:
        given["values"] = host
    blob = encode_fields([(name_prefix(name), encode(value, handles)) for name, value in given.items()])
    made, _ = _core.invoke(_core.op_id(FUSED_OP), "ttnn_jit.jit", handles, device._handle, blob, Tensor._adopt)
    made[0]._device = device
    return made[0]


def _values_of(graph: Graph, group: list[int], values: dict[int, Any]) -> Any:
    """Host tensor of what the group computes."""
    with private_device(with_values=True) as scratch:
        placed = {}
        for value in operands_of(graph, group):
            tensor = values[value]
            on_host = call_quietly("from_device", (tensor,), {})
            placed[value] = call_quietly("to_device", (on_host, scratch), {"memory_config": tensor.memory_config()})
        for index in group:
            node = graph.nodes[index]
            args, kwargs = _actual(node, placed)
            placed[len(graph.inputs) + index] = call_quietly(node.op, args, kwargs)
        return call_quietly("from_device", (placed[len(graph.inputs) + group[-1]],), {})
