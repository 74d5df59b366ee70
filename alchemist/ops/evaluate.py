"""Evaluates TTIR in numpy by the references of its ops. Golden values of `.mlir` inputs, constant folding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import InputError, UnsupportedOpError
from alchemist.ir import access
from alchemist.ir.attributes import numpy_dtype
from alchemist.ir.dialects import TTOp
from alchemist.ir.location import place_of
from alchemist.ops.spec import TTIR_OPS

Array = np.ndarray[Any, Any]


def storage_dtype(element: str) -> np.dtype[Any]:
    """numpy dtype for values of an MLIR element type: float32 for floats, unchanged for integers and booleans."""
    if element.startswith(("f", "bf")):
        return np.dtype(np.float32)
    return numpy_dtype(element)


def hold(array: Array, value: SSAValue) -> Array:
    """`array` with the shape and storage dtype of `value`'s type; floats that become integers are truncated."""
    dtype = storage_dtype(access.element_type(value))
    array = np.asarray(array)
    if array.dtype != dtype:
        if dtype == np.bool_:
            array = array != 0
        elif dtype.kind in "iu" and array.dtype.kind == "f":
            array = np.trunc(np.nan_to_num(array)).astype(np.int64).astype(dtype)
        else:
            array = array.astype(dtype)
    shape = access.shape(value)
    if array.shape == shape:
        return array
    return array.reshape(shape) if array.size == math.prod(shape) else np.broadcast_to(array, shape)


def can_evaluate(op: Operation) -> bool:
    spec = TTIR_OPS.get(op.name)
    return spec is not None and spec.reference is not None


def evaluate(op: Operation, environment: dict[SSAValue, Array]) -> list[Array]:
    """Values of a TTIR op's results.

    Raises:
        UnsupportedOpError: the op has no reference (collective, random, paged caches).
        InputError: the op has no result for these values, such as an index outside its dimension.
    """
    spec = TTIR_OPS.get(op.name)
    if spec is None or spec.reference is None:
        raise UnsupportedOpError("the op has no reference", op=op.name, ops=((op.name, 1, "", "no numpy reference"),))
    names = [group.name for group in op.info.operands] if isinstance(op, TTOp) else []
    inputs: list[Any] = []
    for name in names:
        group = access.operands(op, name)
        inputs += [environment[value] for value in group] if group else [None]
    while inputs and inputs[-1] is None:
        inputs.pop()
    elements = {
        "operand_elements": tuple(access.element_type(value) for value in op.operands),
        "result_elements": tuple(access.element_type(value) for value in op.results),
    }
    try:
        outputs = spec.reference(inputs, access.attrs(op) | elements, [access.shape(result) for result in op.results])
        # without results, an operand is changed in place
        return [hold(output, value) for output, value in zip(outputs, op.results or op.operands, strict=False)]
    except (ArithmeticError, LookupError, ValueError) as error:
        raise InputError("the op has no result for these values", op=op.name, location=place_of(op), got=f"{type(error).__name__}: {error}") from error


def run(module: ModuleOp, arguments: Sequence[Array], entry: str = "forward") -> list[Array]:
    """Runs a function of a TTIR module on numpy arrays (calls of other functions are followed)."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    if entry not in functions:
        entry = next(name for name, op in functions.items() if op.sym_visibility is None or op.sym_visibility.data == "public")
    return _run(functions, functions[entry], arguments)


def _run(functions: dict[str, FuncOp], function: FuncOp, arguments: Sequence[Array]) -> list[Array]:
    block = function.body.block
    environment: dict[SSAValue, Array] = {arg: hold(value, arg) for arg, value in zip(block.args, arguments, strict=True)}
    for op in block.ops:
        if isinstance(op, ReturnOp):
            return [environment[value] for value in op.operands]
        if isinstance(op, CallOp):
            callee = functions[op.callee.root_reference.data]
            outputs = _run(functions, callee, [environment[value] for value in op.operands])
        else:
            outputs = evaluate(op, environment)
            if not op.results and outputs:  # caches are updated in place
                environment[op.operands[0]] = outputs[0]
        environment.update(zip(op.results, outputs, strict=False))
    return []
