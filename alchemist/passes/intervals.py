"""Which whole numbers a TTIR value can hold: where all are small, one float32 op is exact and costs less than an exact integer sequence."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ops.constants import constant_of

Interval = tuple[int, int]
WHOLE: Interval = (-(1 << 31), (1 << 31) - 1)
FLOAT32_EXACT = 1 << 24
"""float32 has every whole number up to here."""
_DEEPEST = 24
_OF_TYPE: dict[str, Interval] = {
    "i1": (0, 1),
    "ui8": (0, 255),
    "i8": (-128, 127),
    "si8": (-128, 127),
    "ui16": (0, 65535),
    "i16": (-32768, 32767),
    "si16": (-32768, 32767),
    "ui32": (0, (1 << 32) - 1),
    "ui64": (0, (1 << 32) - 1),
}
_SAME = frozenset(f"ttir.{name}" for name in "reshape permute transpose squeeze unsqueeze slice_static broadcast repeat reverse index index_select".split()) | {
    "ttir.max",
    "ttir.min",
    "ttir.gather",
    "ttir.repeat_interleave",
}
"""Ops whose results are some values of their first operand."""


def interval(value: SSAValue, depth: int = 0) -> Interval:
    """(lowest, highest) value that `value` may hold on the device; all of 32 bits where nothing is known."""
    widest = _OF_TYPE.get(element_type(value), WHOLE)
    if depth > _DEEPEST or not isinstance(value, OpResult):
        return widest
    found = _of_op(value.op, value.index, depth + 1)
    return widest if found is None or found[0] < widest[0] or found[1] > widest[1] else found


def magnitude(value: SSAValue) -> int:
    """The largest absolute value."""
    low, high = interval(value)
    return max(-low, high)


def _of_op(op: Operation, place: int, depth: int) -> Interval | None:
    name = op.name.removeprefix("ttir.")
    known = constant_of(op.results[0]) if not op.operands else None
    if known is not None:
        return (int(known.min()), int(known.max())) if known.size and known.dtype.kind in "iub" else None
    if name == "arange":
        ends = [int(access.attr(op, "start")), int(access.attr(op, "end"))]
        return min(ends), max(ends)
    if name in ("argmax", "sort", "topk"):
        return _positions(op) if name == "argmax" or place == 1 else interval(op.operands[0], depth)
    if op.name in _SAME:
        return interval(op.operands[0], depth)
    if name == "typecast":
        return interval(op.operands[0], depth) if not element_type(op.operands[0]).startswith(("f", "bf")) else None
    if name in ("where", "concat", "embedding"):
        parts = [interval(each, depth) for each in (op.operands[1:] if name in ("where", "embedding") else op.operands)]
        return min(low for low, _ in parts), max(high for _, high in parts)
    return _of_arithmetic(op, name, depth)


def _positions(op: Operation) -> Interval:
    dims = shape(op.operands[0])
    along = access.attr(op, "dim_arg") if op.name == "ttir.argmax" else access.attr(op, "dim")
    axes = range(len(dims)) if along is None else [along] if isinstance(along, int) else along
    return 0, max(0, math.prod(dims[axis] for axis in axes) - 1)


def _of_arithmetic(op: Operation, name: str, depth: int) -> Interval | None:
    """Of ops on intervals; None where the result may leave 32 bits, and for any other op."""
    if name == "clamp_scalar":
        low, high = interval(op.operands[0], depth)
        least, most = int(max(access.attr(op, "min"), WHOLE[0])), int(min(access.attr(op, "max"), WHOLE[1]))
        return min(max(low, least), most), min(max(high, least), most)
    if name not in ("add", "subtract", "multiply", "maximum", "minimum", "remainder", "bitwise_and", "abs", "neg", "sum", "cumsum", "div"):
        return None
    (a, b), *rest = [interval(each, depth) for each in op.operands]
    if name in ("sum", "cumsum"):
        count = math.prod(shape(op.operands[0])) // max(1, math.prod(shape(op.results[0]))) if name == "sum" else shape(op.operands[0])[access.attr(op, "dim")]
        return min(a, a * count), max(b, b * count)
    if name in ("abs", "neg"):
        return (-b, -a) if name == "neg" else (max(0, a, -b), max(-a, b))
    (x, y) = rest[0]
    if name == "remainder":
        return (0, min(y - 1, b) if a >= 0 else y - 1) if x > 0 else (x + 1, 0) if y < 0 else None
    if name == "bitwise_and":
        tops = [top for low, top in ((a, b), (x, y)) if low >= 0]
        return (0, min(tops)) if tops else None
    if name == "div":
        return (0, b // x) if a >= 0 and x > 0 else (-max(-a, b), max(-a, b))
    return {
        "add": (a + x, b + y),
        "subtract": (a - y, b - x),
        "multiply": (min(a * x, a * y, b * x, b * y), max(a * x, a * y, b * x, b * y)),
        "maximum": (max(a, x), max(b, y)),
        "minimum": (min(a, x), min(b, y)),
    }[name]


def multiple_of(value: SSAValue, divisor: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """(a, a % divisor) of a value that is written as `a - a % divisor`."""
    op = value.op if isinstance(value, OpResult) and value.op.name == "ttir.subtract" else None
    rest = op.operands[1] if op is not None else None
    left = rest.op if isinstance(rest, OpResult) and rest.op.name == "ttir.remainder" else None
    if op is None or rest is None or left is None or left.operands[0] is not op.operands[0]:
        return None
    same = left.operands[1] is divisor or _equal_constants(left.operands[1], divisor)
    return (op.operands[0], rest) if same else None


def _equal_constants(one: SSAValue, other: SSAValue) -> bool:
    a, b = constant_of(one), constant_of(other)
    return a is not None and b is not None and a.shape == b.shape and bool(np.array_equal(a, b))
