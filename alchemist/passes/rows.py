"""TTIR: ops that work on each row of the last dim by itself, on the same rows in another order of leading dims."""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import defining, replace
from alchemist.ir.location import SourceInfo, sources_of
from alchemist.ops.eltwise_binary import BINARY, TTIR_NAMES
from alchemist.ops.reduction import dims_of
from alchemist.passes.channels_last import ELEMENTWISE
from alchemist.passes.views import reshaped

BROADCASTING = ELEMENTWISE | {"ttir.square", "ttir.where"} | {f"ttir.{TTIR_NAMES.get(name, name)}" for name, *_ in BINARY}
"""Elementwise ops of one or more operands, each of which may be broadcast."""

Dims = tuple[int, ...]
Move = Callable[[Dims], Dims]
"""The dims of a value on the way there: the same rows, the last dim as it is."""
Broadcast = Callable[[Dims, Dims], Dims | None]
"""The dims of an operand (first) that is broadcast to a result (second), None where the move cannot keep that."""
Rows = tuple[list[Dims], dict[str, object], Dims]
"""Shapes of the operands, attributes that change, shape of the result."""


def rearranged(op: Operation, rows: Rows) -> None:
    """The op on moved rows between reshapes; those that meet their inverse vanish."""
    b = Builder.before(op)
    operands, attributes, dims = rows
    given = []
    for operand, to in zip(op.operands, operands, strict=True):
        source = _behind_reshape(operand)
        b.source = _of_maker(source) or sources_of(op) or None  # or the way into the first of several equal layers would be part of that layer
        given.append(reshaped(b, source, to))
    made = op.clone()
    for place, moved in enumerate(given):
        made.operands[place] = moved
    made.location = op.location
    b.insert(made)
    for name, value in attributes.items():
        access.set_attr(made, name, value)
    result = Rewriter.replace_value_with_new_type(made.results[0], tensor(dims, element_type(made.results[0])))
    b.source = _of_reader(op)  # not the op's own: the way back of the last of several equal layers would be part of that layer
    replace(op, [reshaped(b, result, shape(op.results[0]))])


def _of_maker(value: SSAValue) -> tuple[SourceInfo, ...]:
    return sources_of(value.owner) if isinstance(value.owner, Operation) else ()


def _of_reader(op: Operation) -> tuple[SourceInfo, ...] | None:
    """The sources of the first reader; None where the value is returned, so that no reader's function has to hand it back."""
    readers = [use.operation for use in op.results[0].uses]
    if any(isinstance(reader, ReturnOp) for reader in readers):
        return None
    return next((sources for reader in readers if (sources := sources_of(reader))), None)


def _behind_reshape(value: SSAValue) -> SSAValue:
    op = defining(value, "ttir.reshape")
    return value if op is None else op.operands[0]


def has_rows(dims: Dims) -> bool:
    return math.prod(dims[:-1]) != 1


def as_rows(op: Operation, moved: Move, broadcast: Broadcast) -> Rows | None:
    """The op on rows that `moved` moves; None for ops that do not work row by row."""
    dims = shape(op.results[0])
    inputs = [shape(value) for value in op.operands]
    if has_trait(op, "reduction"):
        return _reduced(op, inputs[0], dims, moved)
    to = moved(dims)
    if op.name in BROADCASTING:
        operands = [broadcast(given, dims) for given in inputs]
        return None if any(one is None for one in operands) else ([one for one in operands if one is not None], {}, to)
    if has_trait(op, "product"):
        if access.attr(op, "transpose_a") or len(inputs[1]) != 2 or len(inputs[0]) != len(dims) or any(has_rows(given) for given in inputs[2:]):
            return None
        return [moved(inputs[0]), *inputs[1:]], {}, to
    if has_trait(op, "norm") and tuple(access.attr(op, "normalized_shape") or ()) == dims[-1:]:
        return [to, *inputs[1:]], {}, to
    if op.name == "ttir.concat" and access.attr(op, "dim") % len(dims) == len(dims) - 1:
        return [moved(given) for given in inputs], {}, to
    if op.name == "ttir.slice_static" and all(given == out for given, out in zip(inputs[0][:-1], dims[:-1], strict=True)):
        last = {name: access.attr(op, name)[-1] for name in ("begins", "ends", "step")}
        front = {"begins": [0] * (len(dims) - 1), "ends": list(to[:-1]), "step": [1] * (len(dims) - 1)}
        return [moved(inputs[0])], {name: [*front[name], value] for name, value in last.items()}, to
    if op.name == "ttir.gather" and access.attr(op, "dim") % len(dims) == len(dims) - 1 and inputs[1] == dims:
        return [moved(given) for given in inputs], {"dim": len(to) - 1}, to
    if op.name == "ttir.embedding" and len(dims) == 3 and len(inputs[0]) == 2:
        return [(1, math.prod(inputs[0])), inputs[1]], {}, to
    return None


def _reduced(op: Operation, given: Dims, dims: Dims, moved: Move) -> Rows | None:
    """Over each row, over all rows where they stay as many dims, or over everything."""
    axes = dims_of(access.attrs(op), len(given))
    to = moved(given)
    if axes == (len(given) - 1,) and access.attr(op, "keep_dim"):
        return [to], {"dim_arg": [len(to) - 1]}, moved(dims)
    return ([to], {}, dims) if axes in (tuple(range(len(given) - 1)), tuple(range(len(given)))) and len(to) == len(given) else None
