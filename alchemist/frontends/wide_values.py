"""Integers beyond 32 bits in models of ONNX and JAX: refused with their op, unless results depend on the low 32 bits alone.

PyTorch's front end computes them in two words (frontends/torch/integer_words.py) and does not need this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import FrontendError, InputError
from alchemist.frontends.base import FrontendResult
from alchemist.ir import access
from alchemist.ir.access import entry_function
from alchemist.ir.location import sources_of
from alchemist.ops.constants import uniform
from alchemist.ops.evaluate import can_evaluate, evaluate

Array = np.ndarray[Any, Any]

HIGHEST = (1 << 31) - 1
BESIDE = 1 << 30
"""How far from an extreme of int64 a value counts as "no value" too: the device has the same distance from the extreme of int32."""
EXPECTED = "values from -2147483648 to 2147483647: TT-NN has no 64-bit integers"
HINT = "split the values into two tensors, or compute in float32 if 24 bits are enough"

_WIDE = ("i64", "si64", "ui64")
_GROWING = frozenset(f"ttir.{name}" for name in "multiply add subtract pow prod sum cumsum logical_left_shift matmul dot_general constant full".split())
_LOW_BITS = frozenset(
    f"ttir.{name}"
    for name in (
        "add subtract multiply neg sum prod cumsum bitwise_and bitwise_or bitwise_xor bitwise_not matmul dot_general reshape permute broadcast concat "
        "slice_static repeat repeat_interleave pad where gather embedding index index_select squeeze unsqueeze transpose reverse"
    ).split()
)
"""Ops whose low 32 bits depend on the low 32 bits of their integer operands alone."""
_LARGEST = 1 << 24
"""Elements of a value that is computed here."""


def refuse_wide(found: FrontendResult) -> None:
    """Computes the integers of the model's example inputs.

    Raises:
        FrontendError: an op that is not exact modulo 2^32 reads a value beyond 32 bits, or the model returns one.
    """
    if not any(op.name in _GROWING and _is_wide(op) for op in found.module.walk()):
        return
    functions = {op.sym_name.data: op for op in found.module.walk() if isinstance(op, FuncOp)}
    entry = entry_function(found.module)
    values = [argument.value() if argument.dtype.startswith(("int", "uint", "bool")) else None for argument in found.arguments]
    _run(functions, entry, values, {})


def _is_wide(op: Operation) -> bool:
    return any(access.element_type(result) in _WIDE for result in op.results)


def _run(functions: dict[str, FuncOp], function: FuncOp, arguments: Sequence[Array | None], first: dict[SSAValue, Operation]) -> list[Array | None]:
    """Results of a function, None for those that floats decide. first: value beyond 32 bits -> the op that first gave such a one."""
    block = function.body.block
    known: dict[SSAValue, Array] = {place: value for place, value in zip(block.args, arguments, strict=True) if value is not None}
    for op in block.ops:
        wide = next((first[value] for value in op.operands if value in first), None)
        if wide is not None and not isinstance(op, CallOp) and not _keeps_low_bits(op, known):
            raise _refused(wide)
        if isinstance(op, ReturnOp):
            return [known.get(value) for value in op.operands]
        if isinstance(op, CallOp):
            results = _run(functions, functions[op.callee.root_reference.data], [known.get(value) for value in op.operands], first)
            known.update((place, value) for place, value in zip(op.results, results, strict=True) if value is not None)
            continue
        if not op.results or not can_evaluate(op) or not all(value in known for value in op.operands) or not _is_small_integer(op):
            continue
        try:
            outputs = evaluate(op, known)
        except InputError:
            continue
        for result, output in zip(op.results, outputs, strict=True):
            known[result] = output
            if access.element_type(result) in _WIDE and _beyond(output):
                first[result] = wide or op
    return []


def _is_small_integer(op: Operation) -> bool:
    types = [access.element_type(result) for result in op.results]
    return all("f" not in element for element in types) and all(np.prod(access.shape(result), dtype=np.int64) <= _LARGEST for result in op.results)


def _keeps_low_bits(op: Operation, known: dict[SSAValue, Array]) -> bool:
    """Whether the low 32 bits of an op's results need no more of its operands."""
    if any("f" in access.element_type(result) for result in op.results):
        return False
    number = uniform(known.get(op.operands[1])) if len(op.operands) > 1 else None
    match op.name:
        case "ttir.remainder":
            return number is not None and number > 0 and int(number) & (int(number) - 1) == 0
        case "ttir.logical_left_shift":
            return number is not None and number < 32
        case "ttir.typecast":
            return access.element_type(op.results[0]) != "i1"
        case "func.return":
            return False
    return op.name in _LOW_BITS


def _beyond(values: Array) -> bool:
    limits = np.iinfo(values.dtype)
    large = (values > HIGHEST) & (values < limits.max - BESIDE)
    return bool((large | ((values < -HIGHEST - 1) & (values > limits.min + BESIDE))).any())


def _refused(op: Operation) -> FrontendError:
    infos = sources_of(op)
    frames = infos[-1].frames if infos else ()
    location = f"{frames[-1].file}:{frames[-1].line}" if frames else infos[-1].name if infos else ""
    return FrontendError("integers beyond 32 bits", op=infos[-1].op if infos and infos[-1].op else op.name, location=location, expected=EXPECTED, hint=HINT)
