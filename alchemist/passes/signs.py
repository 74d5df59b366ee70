"""TTIR: simplifies by known properties of values: signs, intervals, indices."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import defining, erase_dead, functions, replace, rewrite
from alchemist.ir.layout import layout_of
from alchemist.ops.constants import constant_of
from alchemist.passes.registry import Pass, register

# --- Interval analysis of integers: if a value is small, one float32 op is exact and costs less than an exact sequence of integer ops. ---

Interval = tuple[int, int]
WHOLE: Interval = (-(1 << 31), (1 << 31) - 1)
FLOAT32_EXACT = 1 << 24
"""float32 represents every integer up to this."""
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


def interval(value: SSAValue) -> Interval:
    """(lowest, highest) integer that `value` can have on the device; the range of 32 bits if unknown."""
    return _Search().interval(value, 0)


def magnitude(value: SSAValue) -> int:
    """The largest absolute value that `value` can have."""
    low, high = interval(value)
    return max(-low, high)


class _Search:
    """One query of `interval`. A value reached by several paths is visited once, or once per depth if the depth limit cut off the search below it."""

    def __init__(self) -> None:
        self._found: dict[SSAValue, tuple[int, Interval]] = {}  # value -> (depth of its visit, 0 if the search below was complete; its interval)
        self._ends = 0  # number of times that the depth limit ended the search

    def interval(self, value: SSAValue, depth: int) -> Interval:
        widest = _OF_TYPE.get(element_type(value), WHOLE)
        if not isinstance(value, OpResult):
            return widest
        if depth > _DEEPEST:
            self._ends += 1
            return widest
        reached, cached = self._found.get(value, (depth + 1, widest))
        if reached > depth:  # not visited, or visited deeper, where the search saw fewer of its operands
            before = self._ends
            computed = self._of_op(value.op, value.index, depth + 1)
            cached = widest if computed is None or computed[0] < widest[0] or computed[1] > widest[1] else computed
            self._found[value] = 0 if self._ends == before else depth, cached
        elif reached:
            self._ends += 1
        return cached

    def _around(self, values: Iterable[SSAValue], depth: int) -> Interval:
        parts = [self.interval(value, depth) for value in values]
        return min(low for low, _ in parts), max(high for _, high in parts)

    def _of_op(self, op: Operation, place: int, depth: int) -> Interval | None:
        """The interval of an op's result; None if it may overflow 32 bits, and for ops without a rule."""
        constant = constant_of(op.results[0]) if not op.operands else None
        if constant is not None:
            return (int(constant.min()), int(constant.max())) if constant.size and constant.dtype.kind in "iub" else None
        if has_trait(op, "selects"):
            return self.interval(op.operands[0], depth)
        dims = shape(op.operands[0]) if op.operands else ()
        match op.name.removeprefix("ttir."):
            case "arange":
                ends = [int(access.attr(op, "start")), int(access.attr(op, "end"))]
                return min(ends), max(ends)
            case "argmax":
                along = access.attr(op, "dim_arg")
                axes = range(len(dims)) if along is None else [along] if isinstance(along, int) else along
                return 0, max(0, math.prod(dims[axis] for axis in axes) - 1)
            case "sort" | "topk":
                return (0, max(0, dims[access.attr(op, "dim")] - 1)) if place == 1 else self.interval(op.operands[0], depth)
            case "typecast":
                return self.interval(op.operands[0], depth) if not element_type(op.operands[0]).startswith(("f", "bf")) else None
            case "where" | "embedding":
                return self._around(op.operands[1:], depth)
            case "concat":
                return self._around(op.operands, depth)
            case "scatter":
                return self._around([op.operands[0], op.operands[2]], depth) if access.attr(op, "scatter_reduce_type") == "invalid" else None
            case "clamp_scalar":
                low, high = self.interval(op.operands[0], depth)
                lowest, highest = int(max(access.attr(op, "min"), WHOLE[0])), int(min(access.attr(op, "max"), WHOLE[1]))
                return min(max(low, lowest), highest), min(max(high, lowest), highest)
            case "sum" | "cumsum" as name:
                a, b = self.interval(op.operands[0], depth)
                count = math.prod(dims) // max(1, math.prod(shape(op.results[0]))) if name == "sum" else dims[access.attr(op, "dim")]
                return min(a, a * count), max(b, b * count)
            case "abs":
                a, b = self.interval(op.operands[0], depth)
                return max(0, a, -b), max(-a, b)
            case "neg":
                a, b = self.interval(op.operands[0], depth)
                return -b, -a
            case "div" if (written := multiple_of(*op.operands)) is not None:
                a, b = self.interval(written[0], depth)
                x, y = self.interval(op.operands[1], depth)
                return (min(a // x, a // y), max(b // x, b // y)) if x > 0 else None
            case name if has_trait(op, "elementwise_binary"):
                return _of_two(name, *(self.interval(operand, depth) for operand in op.operands))
        return None


def _of_two(name: str, first: Interval, second: Interval) -> Interval | None:
    (a, b), (x, y) = first, second
    match name:
        case "add":
            return a + x, b + y
        case "subtract":
            return a - y, b - x
        case "multiply":
            return min(a * x, a * y, b * x, b * y), max(a * x, a * y, b * x, b * y)
        case "maximum":
            return max(a, x), max(b, y)
        case "minimum":
            return min(a, x), min(b, y)
        case "remainder":
            return (0, min(y - 1, b) if a >= 0 else y - 1) if x > 0 else (x + 1, 0) if y < 0 else None
        case "bitwise_and":
            tops = [top for low, top in ((a, b), (x, y)) if low >= 0]
            return (0, min(tops)) if tops else None
        case "div":
            return (0, b // x) if a >= 0 and x > 0 else (-max(-a, b), max(-a, b))
    return None


def multiple_of(value: SSAValue, divisor: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """Matches a value written as `a - a % divisor`: (a, a % divisor)."""
    op = value.op if isinstance(value, OpResult) and value.op.name == "ttir.subtract" else None
    rest = op.operands[1] if op is not None else None
    left = rest.op if isinstance(rest, OpResult) and rest.op.name == "ttir.remainder" else None
    if op is None or rest is None or left is None or left.operands[0] is not op.operands[0]:
        return None
    same = left.operands[1] is divisor or _equal_constants(left.operands[1], divisor)
    return (op.operands[0], rest) if same else None


def _equal_constants(first: SSAValue, second: SSAValue) -> bool:
    a, b = constant_of(first), constant_of(second)
    return a is not None and b is not None and a.shape == b.shape and bool(np.array_equal(a, b))


# --- TTIR: removes absolute values and sign tests of values that cannot be negative. ---

_COMPARISONS = {"ttir.ge": (0, True), "ttir.lt": (0, False), "ttir.le": (1, True), "ttir.gt": (1, False)}
"""Comparison -> the operand that it compares with the other one, and its result where that operand is not the smaller one."""


@register("known-signs", fusing=True)
class KnownSigns(Pass):
    """abs(x) -> x and where(x >= 0, a, b) -> a for an x that cannot be negative, as a sum of exponentials: logsumexp and its gradient in JAX.

    A comparison with NaN would say False; the branch that it would choose is dropped all the same.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            never_negative: set[SSAValue] = set()
            for op in list(func.body.block.ops):
                never_negative.update(result for result in op.results if _is_never_negative(result, never_negative))
                if op.name == "ttir.abs" and op.operands[0] in never_negative:
                    replace(op, [op.operands[0]])
                elif op.name == "ttir.where":
                    _choose(op, never_negative)
            erase_dead(func)


def _is_never_negative(value: OpResult, never_negative: set[SSAValue]) -> bool:
    op = value.op
    if has_trait(op, "constant"):
        constant = constant_of(value)
        return constant is not None and bool((constant >= 0).all())
    if not element_type(value).startswith(("f", "bf")):  # integers wrap around: a square may be negative
        return interval(value)[0] >= 0
    if op.name == "ttir.multiply" and op.operands[0] is op.operands[1]:
        return True
    if op.name == "ttir.maximum" and any(value in never_negative for value in op.operands):
        return True
    return has_trait(op, "nonnegative") or (has_trait(op, "keeps_nonnegative") and all(value in never_negative for value in op.operands))


def _choose(op: Operation, never_negative: set[SSAValue]) -> None:
    holds = _truth(op.operands[0], never_negative)
    if holds is None:
        return
    chosen = op.operands[1 if holds else 2]
    if chosen.type != op.results[0].type:
        b = Builder.in_place_of(op)
        dims = shape(op.results[0])
        if len(dims) != len(shape(chosen)):
            return
        times = [size // own for size, own in zip(dims, shape(chosen), strict=True)]
        chosen = b.op("ttir.broadcast", [chosen], {"broadcast_dimensions": times}, [op.results[0].type])
    replace(op, [chosen])


def _truth(mask: SSAValue, never_negative: set[SSAValue]) -> bool | None:
    """What a condition is for all values that its operands can have; None where it depends on them. never_negative: such values."""
    op = defining(_behind_broadcast(mask), "ttir.reduce_and", "ttir.logical_and", *_COMPARISONS)
    if op is None:
        return None
    if op.name not in _COMPARISONS:
        parts = [_truth(operand, never_negative) for operand in op.operands]
        return False if False in parts else None if None in parts else True
    place, if_at_least = _COMPARISONS[op.name]
    x, limit = op.operands[place], op.operands[1 - place]
    if element_type(x).startswith(("f", "bf")):
        zero = constant_of(_behind_broadcast(limit))
        return if_at_least if x in never_negative and zero is not None and not zero.any() else None
    (low, high), (least, most) = interval(x), interval(limit)
    return if_at_least if low >= most else not if_at_least if high < least else None


def _behind_broadcast(value: SSAValue) -> SSAValue:
    op = defining(value, "ttir.broadcast", "ttir.reshape")
    return value if op is None else _behind_broadcast(op.operands[0])


# --- TTIR: where an index is known to be in range, the ops that would bring it there are removed. ---

_LOOK_UPS = {"ttir.gather": 1, "ttir.embedding": 0}
"""Op -> index of its operand with indices, which the device reads as unsigned."""
_VIEWS = named("ttir", "rearrangement") | {"ttir.typecast"}


@register("plain-indices", fusing=True)
class PlainIndices(Pass):
    """where(i < 0, i + n, i) becomes i where i is not negative, clamp(i, 0, n) becomes i where i is within.

    An argument that a look-up reads is not negative: the device reads it as unsigned (the gradients of look-ups in JAX).
    """

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _drop_wrap, "ttir.where")
        rewrite(module, _drop_clamp, "ttir.clamp_scalar")


def _drop_wrap(op: Operation) -> None:
    index = _wrapped(op)
    if index is None or index.type != op.results[0].type:
        return
    origin = _origin(index)
    if interval(index)[0] >= 0 or (not isinstance(origin, OpResult) and _is_looked_up(origin)):
        replace(op, [index])


def _drop_clamp(op: Operation) -> None:
    index = op.operands[0]
    if element_type(index).startswith(("f", "bf")) or index.type != op.results[0].type:
        return
    low, high = interval(index)
    if access.attr(op, "min") <= low and high <= access.attr(op, "max"):
        replace(op, [index])


def _wrapped(op: Operation) -> SSAValue | None:
    mask, added = defining(op.operands[0], "ttir.lt"), defining(op.operands[1], "ttir.add")
    index = op.operands[2]
    limit = constant_of(mask.operands[1]) if mask is not None and mask.operands[0] is index else None
    if limit is None or limit.any() or added is None or index not in added.operands:
        return None
    return index


def _origin(value: SSAValue) -> SSAValue:
    """Looks through views."""
    while (op := defining(value, *_VIEWS)) is not None:
        value = op.operands[0]
    return value


def _is_looked_up(value: SSAValue) -> bool:
    """Whether a look-up reads the value or a view of it as index."""
    for use in value.uses:
        place = _LOOK_UPS.get(use.operation.name)
        if (place is not None and use.index == place) or (use.operation.name in _VIEWS and _is_looked_up(use.operation.results[0])):
            return True
    return False


# --- Whether TTNN values are integers. ---

INTEGERS = frozenset({"u8", "u16", "u32", "si32"})
_INDICES = {"ttnn.topk": 1, "ttnn.sort": 1, "ttnn.argmax": 0}
"""Op -> number of its result that is an index: small and not negative."""


def is_whole(value: SSAValue) -> bool:
    """Whether the ops that compute a value produce only integers."""
    seen, todo = {value}, [value]
    while todo:
        value = todo.pop()
        if not isinstance(value, OpResult):
            return False
        op = value.op
        if (
            has_trait(op, "integral")
            or (op.name in _INDICES and value.index == _INDICES[op.name])
            or (op.name == "ttnn.typecast" and _is_integer(op.operands[0]))
        ):
            continue
        numbers = [number for number in access.attrs(op).values() if isinstance(number, float)]
        if not has_trait(op, "keeps_integral") or not all(number.is_integer() for number in numbers):
            return False
        operands = [operand for operand in op.operands if layout_of(operand.type) is not None]
        todo += [operand for operand in operands if operand not in seen]
        seen.update(operands)
    return True


def _is_integer(value: SSAValue) -> bool:
    return stored_type(value) in INTEGERS


def stored_type(value: SSAValue) -> str:
    """The data type of a TTNN tensor, "" for other values."""
    layout = layout_of(value.type)
    return layout.dtype if layout is not None else ""
