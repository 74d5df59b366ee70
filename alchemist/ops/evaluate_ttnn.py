"""Evaluates TTNN in numpy by the references of its ops, in float32. Golden values of TTNN text.

Layouts, memory configs and devices do not change values, so they are skipped; prepared weights stay as they were given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import InternalError
from alchemist.ir import access
from alchemist.ir.attributes import DTYPE_ELEMENTS, numpy_dtype
from alchemist.ir.layout import layout_of
from alchemist.ir.op_class import has_trait
from alchemist.ops.conv import flat_padding
from alchemist.ops.eltwise_unary import applied
from alchemist.ops.layout import reinterpret
from alchemist.ops.spec import TTNN_OPS
from alchemist.ops.windows import convolve_transposed

Array = np.ndarray[Any, Any]
HostFunction = Callable[[Sequence[Array]], list[Array]]


def can_evaluate(module: ModuleOp, *, collectives: bool = False) -> bool:
    """Whether every op of the module's functions has a meaning on numpy. collectives: those of a mesh have one, in `alchemist/mesh/lockstep.py`."""
    for op in module.walk():
        name = op.name.removeprefix("ttnn.")
        if collectives and access.attr(op, "cluster_axis") is not None:
            continue
        if isinstance(op, (ModuleOp, FuncOp, ReturnOp, CallOp)) or has_trait(op, "bookkeeping") or op.name == "ttcore.load_cached":
            continue
        if not op.name.startswith("ttnn."):
            return False
        if has_trait(op, "placement") or name in ("assign", "typecast", "conv_transpose2d"):
            continue
        if name.startswith("prepare_conv"):
            continue
        if name == "conv2d" and not _raw_weights(op):
            return False
        spec = TTNN_OPS.get(op.name)
        if spec is None or spec.reference is None:
            return False
    return True


def _raw_weights(conv: Operation) -> bool:
    """Whether the weights come from a `prepare_conv2d_weights` or have their own shape; prepared ones cannot be read back."""
    weight = access.operand(conv, "weight")
    a = access.attrs(conv)
    dims = (a["out_channels"], a["in_channels"] // a.get("groups", 1), *a["kernel_size"])
    if weight is None or access.shape(weight) == dims:
        return weight is not None
    owner = getattr(weight, "op", None)
    return owner is not None and owner.name in ("ttcore.load_cached", "ttnn.prepare_conv2d_weights")


def run(module: ModuleOp, arguments: Sequence[Array]) -> list[Array]:
    """Runs @forward, which `can_evaluate`, on values of its arguments.

    Raises:
        InternalError: an op without a reference, or one that gives another shape than the op's type.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    return _run(functions, functions["forward"], _held(arguments))


def operands_of(call: Operation, function: FuncOp, arguments: Sequence[Array], host: Mapping[str, HostFunction]) -> list[Array]:
    """Values of the operands of an op in `function`. host: functions that are called before it and have no body.

    Raises:
        InternalError: an op before it without a reference.
    """
    return _run({}, function, _held(arguments), host, call)


def evaluate(op: Operation, environment: Mapping[SSAValue, Any]) -> list[Array]:
    """Values of one op's results; of one that computes nothing there are none."""
    return [np.empty(0)] * len(op.results) if has_trait(op, "bookkeeping") else _evaluate(op, environment)


def _held(arguments: Sequence[Array]) -> list[Array]:
    """Widens bfloat16 arrays, whose sums numpy would compute in bfloat16."""
    return [value if np.asarray(value).dtype.kind in "iub" else np.asarray(value, np.float32) for value in arguments]


def _run(
    functions: Mapping[str, FuncOp], func: FuncOp, arguments: Sequence[Array], host: Mapping[str, HostFunction] | None = None, until: Operation | None = None
) -> list[Array]:
    environment: dict[SSAValue, Any] = dict(zip(func.args, arguments, strict=True))
    outputs: list[Any]
    for op in func.body.block.ops:
        if isinstance(op, ReturnOp) or (until is not None and op == until):
            return [environment[value] for value in op.operands]
        if host and isinstance(op, CallOp) and op.callee.root_reference.data in host:
            outputs = host[op.callee.root_reference.data]([environment[value] for value in op.operands])
        elif op.name == "ttcore.load_cached" or isinstance(op, CallOp):
            inputs = [environment[value] for value in op.operands]
            outputs = _run(functions, functions[str(access.attr(op, "callee"))], inputs)
        elif has_trait(op, "bookkeeping"):
            outputs = [None] * len(op.results)
        else:
            outputs = _evaluate(op, environment)
        for result, output in zip(op.results, outputs, strict=True):
            if output is not None and "prepare_" not in op.name and op.name not in ("ttcore.load_cached", "func.call"):
                if np.shape(output) != access.shape(result):
                    raise InternalError(
                        "the reference gives another shape",
                        op=op.name,
                        expected=str(list(access.shape(result))),
                        got=str(list(np.shape(output))),
                    )
            environment[result] = output
    return []


_ACTIVATIONS = (("conv2d_config", "activation"), ("matmul_program_config", "fused_activation"))
"""Config of an op, and its field of a function that the op applies to its result."""


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
    if has_trait(op, "placement") or name.startswith(("assign", "prepare_")):
        return [inputs[0]]
    if name == "typecast":
        return [_cast(inputs[0], op.results[0])]
    if name == "bitcast_convert":
        return [reinterpret(inputs[0], _dtype_of(op.operands[0]), _dtype_of(op.results[0]))]
    if name == "conv_transpose2d":
        return [_conv_transpose(inputs, attributes)]
    reference = TTNN_OPS[op.name].reference
    if reference is None:
        raise InternalError("the op has no reference", op=op.name)
    inputs = list(inputs)
    for place, side in enumerate(("lhs", "rhs")):
        for fused in attributes.get(f"alchemist.{side}_activations", ()):
            inputs[place] = applied(fused, inputs[place])
    outputs = [np.asarray(out) for out in reference(inputs, attributes, shapes)]
    outputs = [out.astype(np.float32) if out.dtype.kind == "f" else out for out in outputs]
    creates = not inputs  # creation ops use the requested type
    outputs = [_cast(out, result) if creates or out.dtype == np.bool_ else out for out, result in zip(outputs, op.results, strict=True)]
    in_configs = [(attributes.get(config) or {}).get(name) for config, name in _ACTIVATIONS]
    for fused in [*(one and one["op_type"] for one in in_configs), *attributes.get("alchemist.activations", ())]:
        if fused:
            outputs[0] = applied(fused, outputs[0])
    if name == "matmul" and attributes.get("activation"):
        outputs[0] = applied(attributes["activation"], outputs[0])
    return [out.reshape(shape) if out.size == math.prod(shape) else out for out, shape in zip(outputs, shapes, strict=True)]


def _dtype_of(value: SSAValue) -> str:
    """Data type of the layout, else the element type."""
    layout = layout_of(value.type)
    return layout.dtype if layout is not None else access.element_type(value)


def _cast(array: Array, result: SSAValue) -> Array:
    of = _dtype_of(result)
    of = DTYPE_ELEMENTS.get(of, of)
    if of not in ("si32", "i32", "ui32", "ui16", "ui8"):
        return array.astype(np.float32)
    with np.errstate(invalid="ignore"):
        return np.trunc(array).astype(np.int64).astype(numpy_dtype(of))


def _conv_transpose(inputs: Sequence[Array], a: Mapping[str, Any]) -> Array:
    n, h, w = a["batch_size"], a["input_height"], a["input_width"]
    x = inputs[0].reshape(n, h, w, a["in_channels"])
    pairs = flat_padding(a["padding"])
    out = convolve_transposed(x, inputs[1], tuple(a["stride"]), pairs, tuple(a["output_padding"]), tuple(a["dilation"]), a["groups"])
    if len(inputs) > 2 and inputs[2] is not None:
        out = out + inputs[2].reshape(-1)
    return out.reshape(1, 1, -1, out.shape[-1])
