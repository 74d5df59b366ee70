"""Projections of one weight that is sliced afterwards (query, key and value side by side): a cut of the whole would cross the slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.frontends.base import Argument, Placement
from alchemist.ir import access
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import erase
from alchemist.ir.edit import replace as replace_op
from alchemist.ir.location import sources_of

Placed = list[tuple[Argument, Placement | None]]


def out_dim(op: Operation) -> int:
    """The dimension of a linear layer's weight that gives its outputs."""
    return 0 if access.attr(op, "transpose_b") else 1


def split_fused(func: FuncOp, placed: Placed) -> Placed:
    """Each weight (and bias) that is to be cut along its outputs and whose product is only read in slices becomes a weight for each slice."""
    for op in [op for op in func.body.block.ops if op.name == "ttir.linear"]:
        weight = op.operands[1]
        if isinstance(weight, BlockArgument) and len(list(weight.uses)) == 1 and out_dim(op) in (placed[weight.index][1] or ()):
            slices = _slices(op)
            if len(slices) > 1:
                placed = _split(func, op, slices, placed)
    return placed


def _slices(op: Operation) -> list[Operation]:
    """The slices of the last dimension that are all that reads the op's result, maybe behind a reshape that keeps that dimension."""
    value: SSAValue = op.results[0]
    users = [use.operation for use in value.uses]
    if len(users) == 1 and users[0].name == "ttir.reshape" and access.shape(users[0].results[0])[-1] == access.shape(value)[-1]:
        value = users[0].results[0]
        users = [use.operation for use in value.uses]
    dims = access.shape(value)
    for user in users:
        if user.name != "ttir.slice_static" or access.shape(user.results[0])[:-1] != dims[:-1] or access.attr(user, "step")[-1] != 1:
            return []
    return users


def _split(func: FuncOp, op: Operation, slices: Sequence[Operation], placed: Placed) -> Placed:
    held = [(value, dim) for value, dim in zip(op.operands[1:], (out_dim(op), 0), strict=False) if isinstance(value, BlockArgument)]
    if len(held) < len(op.operands) - 1 or any(len(list(value.uses)) > 1 for value, _ in held):
        return placed
    for number, one in enumerate(slices):
        begin, end = access.attr(one, "begins")[-1], access.attr(one, "ends")[-1]
        b = Builder.before(one)
        b.source = sources_of(op) or None
        own = []
        for value, dim in held:
            argument, placement = placed[value.index]
            own.append(_part(func, value, dim, begin, end, f"{argument.name}_{number}"))
            placed = [*placed, (_argument(argument, dim, begin, end, f"{argument.name}_{number}"), placement)]
        dims = (*access.shape(op.results[0])[:-1], end - begin)
        made = b.value("ttir.linear", [op.operands[0], *own], access.declared(op), [tensor(dims, access.element_type(op.results[0]))])
        wanted = access.shape(one.results[0])
        replace_op(one, [made if dims == wanted else b.value("ttir.reshape", [made], {"shape": wanted}, [one.results[0].type])])
    for user in [use.operation for use in op.results[0].uses]:  # the reshape
        erase(user)
    erase(op)
    gone = {value.index for value, _ in held}
    facts = func.properties["arg_attrs"]
    if isinstance(facts, ArrayAttr):
        func.properties["arg_attrs"] = ArrayAttr([part for place, part in enumerate(facts.data) if place not in gone])
    for value, _ in held:
        func.body.block.erase_arg(value)
    return [one for place, one in enumerate(placed) if place not in gone]


def _part(func: FuncOp, value: BlockArgument, dim: int, begin: int, end: int, name: str) -> SSAValue:
    """A new argument with a part of another one."""
    dims = access.shape(value)
    block = func.body.block
    made = block.insert_arg(tensor((*dims[:dim], end - begin, *dims[dim + 1 :]), access.element_type(value)), len(block.args))
    made.location = value.location
    declared = func.properties["arg_attrs"]
    if isinstance(declared, ArrayAttr):
        given = declared.data[value.index]
        known = given.data if isinstance(given, DictionaryAttr) else {}
        func.properties["arg_attrs"] = ArrayAttr([*declared.data, DictionaryAttr({**known, "ttir.name": StringAttr(name)})])
    return made


def _argument(argument: Argument, dim: int, begin: int, end: int, name: str) -> Argument:
    def value() -> np.ndarray[Any, Any]:
        return np.ascontiguousarray(np.take(argument.value(), range(begin, end), dim))

    shape = (*argument.shape[:dim], end - begin, *argument.shape[dim + 1 :])
    return replace(argument, name=name, shape=shape, value=value)
