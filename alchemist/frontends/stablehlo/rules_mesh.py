"""Several chips: how values lie on them stays an op of the module, collectives become TTIR's along an axis of the mesh.

Where a module is for one chip, both do nothing. What a chip computes on its own parts (`shard_map`, GSPMD's manual regions) stands between
`spmd.full_to_shard_shape` and `spmd.shard_to_full_shape`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends.stablehlo.convert import Converter, prop, rule, type_of
from alchemist.frontends.stablehlo.exchanges import Chips, along_groups, dealt, exchanged, from_first, gathered, parted, reduced, scattered, senders_of
from alchemist.frontends.stablehlo.shardings import Array, Sharding, constrained, extents_of_groups, placed
from alchemist.frontends.stablehlo.values import Unsupported, Val
from alchemist.ir.attributes import DenseElements
from alchemist.ir.printer import attribute_text
from alchemist.ops.expand import CONSTRAINT, TO_PART, TO_WHOLE

_REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod", "and": "reduce_and", "or": "reduce_or"}
"""The op in a collective's body -> what it computes; the last five are TTIR's names of reductions on one chip."""


@rule(
    CONSTRAINT, "sdy.reshard", "sdy.propagation_barrier", "sdy.all_slice", "sdy.all_gather", "sdy.all_reduce", "sdy.reduce_scatter", "sdy.all_to_all",
    "sdy.collective_permute", "sdy.sharded_to_unreduced", "sdy.replicated_to_unreduced", "sdy.data_flow_edge",
)  # fmt: skip
def annotation(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """Shardy's ops say where values lie, in whole tensors; the partitioner finds the exchanges again."""
    if "unreduced" in op.name:
        raise Unsupported("a value that is a summand on each chip", hint="sum it first: jax.lax.psum, or out_sharding without unreduced")
    given = op.properties.get("sharding") or op.properties.get("out_sharding")
    wanted = c.meshes.shardings(given, 1) if op.name not in ("sdy.propagation_barrier", "sdy.data_flow_edge") else []
    return [constrained(c, vals[0], wanted[0] if wanted else None)]


@rule("sdy.named_computation")
def named(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    given = c.meshes.shardings(op.properties.get("in_shardings"), len(vals))
    made = c.region(op, 0, [constrained(c, val, one) for val, one in zip(vals, given, strict=True)] if given else vals)
    wanted = c.meshes.shardings(op.properties.get("out_shardings"), len(made))
    return [constrained(c, val, one) for val, one in zip(made, wanted, strict=True)] if wanted else made


@rule("sdy.manual_computation")
def manual(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """Its body, on each chip's parts. Along axes that are not manual all chips do the same."""
    inner = op.regions[0].blocks[0]
    if c.is_local or c.meshes.chips == 1:
        _same_types([(val.shape, val.of) for val in vals], [type_of(arg) for arg in inner.args], "inside of another one")
        return c.region(op, 0, vals)
    names = set(re.findall(r'"([^"]+)"', attribute_text(op.properties["manual_axes"])))
    given, wanted = (c.meshes.manual(op.properties.get(key), names, count) for key, count in (("in_shardings", len(vals)), ("out_shardings", len(op.results))))
    parts = [to_part(c, val, sharding) for val, sharding in zip(vals, given, strict=True)]
    _same_types([(val.shape, val.of) for val in parts], [type_of(arg) for arg in inner.args], "whose parts are not those of its shardings")
    c.is_local = True
    try:
        made = c.region(op, 0, parts)
    finally:
        c.is_local = False
    return [to_whole(c, val, sharding, type_of(result)[0]) for val, sharding, result in zip(made, wanted, op.results, strict=True)]


def _same_types(have: Sequence[tuple[tuple[int, ...], str]], want: Sequence[tuple[tuple[int, ...], str]], which: str) -> None:
    for one, other in zip(have, want, strict=True):
        if one != other:
            raise Unsupported(f"a computation in parts {which}: {[*other[0]]} for {[*one[0]]}")


def to_part(c: Converter, val: Val, sharding: Sharding) -> Val:
    part = sharding.part(val.shape, c.meshes.sizes)
    return placed(c, TO_PART, placed(c, CONSTRAINT, val, sharding, val.shape), sharding, part)


def to_whole(c: Converter, val: Val, sharding: Sharding, shape: tuple[int, ...]) -> Val:
    if sharding.part(shape, c.meshes.sizes) != val.shape:
        raise Unsupported(f"parts of {[*val.shape]} for a result of {[*shape]}")
    return placed(c, TO_WHOLE, val, sharding, shape)


def sharding_call(c: Converter, op: Operation, val: Val) -> Val:
    """`@Sharding` and its relatives, which keep values; GSPMD's pair around what each chip does by itself."""
    target, shape = str(prop(op, "call_target_name")), type_of(op.results[0])[0]
    sharding = c.meshes.stated(op.properties, len(shape)) if c.meshes.chips > 1 else None
    if c.meshes.chips == 1:
        if shape != val.shape:
            raise Unsupported(f"{target} over several chips", hint="the module states no mesh: give mesh_shape")
        return val
    if target == "SPMDFullToShardShape":  # the @Sharding before it says how the operand lies
        before = c.shardings.get(op.operands[0])
        if before is None or before.part(val.shape, c.meshes.sizes) != shape:
            raise Unsupported(f"{target} without @Sharding of its operand: {[*shape]} of {[*val.shape]}")
        c.is_local = True
        return to_part(c, val, before)
    if target == "SPMDShardToFullShape":
        c.is_local = False
        if sharding is None:
            raise Unsupported(f"{target} without mhlo.sharding")
        return to_whole(c, val, sharding, shape)
    if sharding is not None:
        c.shardings[op.results[0]] = sharding
    return constrained(c, val, sharding)


# --- collectives --------------------------------------------------------------------------------------------------------------


def _groups(op: Operation) -> Array:
    groups = op.properties.get("replica_groups")
    if not isinstance(groups, DenseElements) or groups.array.ndim != 2:
        raise Unsupported("a collective without groups of chips")
    return groups.array


def _axes(c: Converter, op: Operation) -> tuple[Chips, tuple[int, ...]]:
    """Axes of chips along which a collective is, the outer one first."""
    groups = _groups(op)
    if groups.shape[1] > 1:
        c.meshes.take(extents_of_groups(groups))
    chips = Chips(c.e, c.meshes.extents)
    return chips, () if groups.shape[1] == 1 else along_groups(groups, chips.extents)


def _kind(op: Operation) -> str:
    """What the body of a reduction computes."""
    ops = [one.name.partition(".")[2] for one in op.regions[0].blocks[0].ops]
    if len(ops) != 2 or ops[0] not in _REDUCTIONS:
        raise Unsupported(f"a collective that reduces by {ops[0]}", hint=f"there are {', '.join(_REDUCTIONS)}")
    return _REDUCTIONS[ops[0]]


@rule("stablehlo.all_reduce")
def all_reduce(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    chips, axes = _axes(c, op)
    return [reduced(chips, val, axes, _kind(op)) for val in vals]


@rule("stablehlo.all_gather")
def all_gather(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    chips, axes = _axes(c, op)
    return [gathered(chips, val, axes, int(prop(op, "all_gather_dim"))) for val in vals]


@rule("stablehlo.reduce_scatter")
def reduce_scatter(c: Converter, op: Operation, vals: list[Val]) -> Val:
    chips, axes = _axes(c, op)
    return scattered(chips, vals[0], axes, _kind(op), int(prop(op, "scatter_dimension")))


@rule("stablehlo.all_to_all")
def all_to_all(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    chips, axes = _axes(c, op)
    return [dealt(chips, val, axes, int(prop(op, "split_dimension")), int(prop(op, "concat_dimension"))) for val in vals]


@rule("stablehlo.collective_broadcast")
def collective_broadcast(c: Converter, op: Operation, vals: list[Val]) -> Val:
    chips, axes = _axes(c, op)
    return from_first(chips, vals[0], axes)


@rule("stablehlo.collective_permute")
def collective_permute(c: Converter, op: Operation, vals: list[Val]) -> Val:
    senders = senders_of(op)
    if senders == {0: 0} and c.meshes.chips == 1:
        return vals[0]
    c.meshes.take((1, max([*senders, *senders.values()], default=0) + 1))
    return exchanged(Chips(c.e, c.meshes.extents), vals[0], senders)


@rule("stablehlo.partition_id", "stablehlo.replica_id")
def number_of_chip(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Each chip's part of a constant with the numbers of all chips."""
    shape, of = type_of(op.results[0])
    if c.meshes.chips == 1:
        return c.e.const(np.zeros(shape), shape, of)
    rows, columns = c.meshes.extents
    chips = Chips(c.e, (rows, columns))
    numbers = c.e.const(np.arange(rows * columns).reshape(rows, columns, 1, 1), (rows, columns, 1, 1), of)
    for axis in (axis for axis in (0, 1) if c.meshes.extents[axis] > 1):
        numbers = parted(chips, numbers, (axis,), axis)
    return c.e.reshape(numbers, shape)
