"""TTNN on numpy: runs a lowered module by the references of its ops, in float32, to check what lowering made of a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.layout import layout_of
from alchemist.ops.conv import flat_padding
from alchemist.ops.eltwise_unary import UNARY, gelu, gelu_tanh, sigmoid
from alchemist.ops.spec import TTNN_OPS
from alchemist.ops.windows import convolve_transposed

Array = np.ndarray[Any, Any]
ACTIVATIONS: dict[str, Any] = {name: function for name, _, function in UNARY} | {
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "sigmoid": sigmoid,
}
SAME = ("to_layout", "to_device", "from_device", "to_memory_config", "assign")


def run(module: ModuleOp, arguments: Sequence[Array]) -> list[Array]:
    """Runs @forward. Checks that every result has the shape of its type (prepared weights aside)."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    return _run(functions, functions["forward"], arguments)


def _run(functions: Mapping[str, FuncOp], func: FuncOp, arguments: Sequence[Array]) -> list[Array]:
    environment: dict[SSAValue, Any] = dict(zip(func.args, arguments, strict=True))
    for op in func.body.block.ops:
        if isinstance(op, ReturnOp):
            return [environment[value] for value in op.operands]
        if op.name == "ttcore.load_cached":
            inputs = [environment[value] for value in op.operands]
            outputs = _run(functions, functions[str(access.attr(op, "callee"))], inputs)
        elif op.name in ("ttnn.get_device", "ttnn.deallocate"):
            outputs = [None] * len(op.results)
        else:
            outputs = _evaluate(op, environment)
        for result, output in zip(op.results, outputs, strict=True):
            if output is not None and "prepare_" not in op.name and op.name != "ttcore.load_cached":
                assert np.shape(output) == access.shape(result), f"{op.name}: {np.shape(output)} for {result.type}"
            environment[result] = output
    raise AssertionError("no return")


def _evaluate(op: Operation, environment: Mapping[SSAValue, Any]) -> list[Array]:
    name = op.name.removeprefix("ttnn.")
    inputs: list[Any] = []
    for group in op.info.operands:  # type: ignore[attr-defined]
        if group.name == "device":
            continue
        values = [environment[value] for value in access.operands(op, group.name)]
        inputs += values if group.variadic else values or [None]
    while inputs and inputs[-1] is None:
        inputs.pop()
    attributes = access.attrs(op)
    shapes = [access.shape(result) for result in op.results]
    if name in SAME or name.startswith("prepare_"):
        return [inputs[0]]
    if name == "typecast":
        return [_cast(inputs[0], op.results[0])]
    if name == "conv_transpose2d":
        return [_conv_transpose(inputs, attributes)]
    if name == "max_pool2d_with_indices":
        raise NotImplementedError(name)
    spec = TTNN_OPS[op.name]
    assert spec.reference is not None, f"{op.name} has no reference"
    outputs = [np.asarray(out) for out in spec.reference(inputs, attributes, shapes)]
    outputs = [out.astype(np.float32) if out.dtype.kind in "fb" else out for out in outputs]
    activation = (attributes.get("conv2d_config") or {}).get("activation")
    for fused in [activation and activation["op_type"], *attributes.get("alchemist.activations", ())]:
        if fused:
            outputs[0] = ACTIVATIONS[str(fused).lower()](outputs[0])
    if name == "matmul" and attributes.get("activation"):
        outputs[0] = ACTIVATIONS[attributes["activation"]](outputs[0])
    return [out.reshape(shape) if out.size == math.prod(shape) else out for out, shape in zip(outputs, shapes, strict=True)]


def _cast(array: Array, result: SSAValue) -> Array:
    layout = layout_of(result.type)
    assert layout is not None
    if layout.dtype in ("si32", "u32", "u16", "u8"):
        return np.trunc(array).astype(np.int64)
    return array.astype(np.float32)


def _conv_transpose(inputs: Sequence[Array], a: Mapping[str, Any]) -> Array:
    n, h, w = a["batch_size"], a["input_height"], a["input_width"]
    x = inputs[0].reshape(n, h, w, a["in_channels"])
    pairs = flat_padding(a["padding"])
    out = convolve_transposed(
        x, inputs[1], tuple(a["stride"]), pairs, tuple(a["output_padding"]), tuple(a["dilation"]), a["groups"]
    )
    if len(inputs) > 2 and inputs[2] is not None:
        out = out + inputs[2].reshape(-1)
    return out.reshape(1, 1, -1, out.shape[-1])
