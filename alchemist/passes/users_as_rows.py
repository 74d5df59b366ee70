"""TTIR: one token of each user as the rows of a tile, instead of a tile per user that is empty but for one row."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import sources_of
from alchemist.ops.eltwise_binary import BINARY, TTIR_NAMES
from alchemist.passes.channels_last import ELEMENTWISE
from alchemist.passes.registry import Pass, defining, erase_dead, functions, register, replace
from alchemist.passes.update_caches import reshaped

_BINARY = frozenset(f"ttir.{TTIR_NAMES.get(name, name)}" for name, *_ in BINARY)
_PRODUCTS = frozenset({"ttir.linear", "ttir.matmul"})
_NORMS = frozenset({"ttir.rms_norm", "ttir.layer_norm"})


@register("users-as-rows", fusing=True)
class UsersAsRows(Pass):
    """In a step of decoding, ops on [B, 1, K] and [B, H, 1, D] work on [1, B, K] and [1, B, H, D]: users share tiles."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if any(op.name == "ttir.scaled_dot_product_attention_decode" for op in func.body.block.ops):
                _rearrange(func)


def _rearrange(func: FuncOp) -> None:
    for op in list(func.body.block.ops):
        if len(op.results) == 1 and _is_thin(shape(op.results[0])) and (rows := _as_rows(op)) is not None:
            b = Builder.before(op)
            b.source = sources_of(op) or None
            operands, attributes, dims = rows
            given = [reshaped(b, _behind_reshape(value), to) for value, to in zip(op.operands, operands, strict=True)]
            made = op.clone()
            for place, operand in enumerate(given):
                made.operands[place] = operand
            made.location = op.location
            b.insert(made)
            for name, value in attributes.items():
                access.set_attr(made, name, value)
            result = _retyped(made, dims)
            replace(op, [reshaped(b, result, shape(op.results[0]))])
    erase_dead(func)


def _behind_reshape(value: SSAValue) -> SSAValue:
    op = defining(value, "ttir.reshape")
    return value if op is None else op.operands[0]


def _retyped(op: Operation, dims: tuple[int, ...]) -> SSAValue:
    return Rewriter.replace_value_with_new_type(op.results[0], tensor(dims, element_type(op.results[0])))


def _is_thin(dims: tuple[int, ...]) -> bool:
    """Whether tiles of [..., N, 1, K] hold one row each of several that one tile could hold."""
    return len(dims) in (3, 4) and dims[-2] == 1 and math.prod(dims[:-2]) > 1 and dims[-1] > 1


def moved(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The same elements with the dim of size 1 in front of all others."""
    return (1, *dims[:-2], dims[-1])


Rows = tuple[list[tuple[int, ...]], dict[str, object], tuple[int, ...]]
"""Shapes of the operands, attributes that change, shape of the result."""


def _as_rows(op: Operation) -> Rows | None:
    dims = shape(op.results[0])
    to = moved(dims)
    inputs = [shape(value) for value in op.operands]
    if op.name in ELEMENTWISE or op.name in _BINARY or op.name == "ttir.where":
        operands = [_broadcast(given, len(dims)) for given in inputs]
        return None if any(one is None for one in operands) else ([one for one in operands if one is not None], {}, to)
    if op.name in _PRODUCTS:
        if access.attr(op, "transpose_a") or len(inputs[1]) != 2 or len(inputs[0]) != len(dims) or any(_rows_of(given) for given in inputs[2:]):
            return None
        return [moved(inputs[0]), *inputs[1:]], {}, to
    if op.name in _NORMS and tuple(access.attr(op, "normalized_shape") or ()) == dims[-1:]:
        return [to, *inputs[1:]], {}, to
    if op.name == "ttir.concat" and access.attr(op, "dim") % len(dims) == len(dims) - 1:
        return [moved(given) for given in inputs], {}, to
    if op.name == "ttir.slice_static" and all(given == out for given, out in zip(inputs[0][:-1], dims[:-1], strict=True)):
        last = {name: access.attr(op, name)[-1] for name in ("begins", "ends", "step")}
        front = {"begins": [0] * (len(dims) - 1), "ends": list(to[:-1]), "step": [1] * (len(dims) - 1)}
        return [moved(inputs[0])], {name: [*front[name], value] for name, value in last.items()}, to
    if op.name == "ttir.embedding" and len(dims) == 3 and len(inputs[0]) == 2:
        return [(1, inputs[0][0]), inputs[1]], {}, to
    return None


def _rows_of(dims: tuple[int, ...]) -> bool:
    return math.prod(dims[:-1]) != 1


def _broadcast(dims: tuple[int, ...], rank: int) -> tuple[int, ...] | None:
    """An operand that is broadcast to `rank` dims, in the result's new order."""
    if not _rows_of(dims):
        return dims
    full = (1,) * (rank - len(dims)) + dims
    return moved(full) if full[-2] == 1 else None
