"""Collectives in terms of those that TT-NN has: sums, gathers, scattered sums, and each chip's part of what all have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends.stablehlo.shardings import Array, axes_of_groups
from alchemist.frontends.stablehlo.values import Emitter, Unsupported, Val
from alchemist.ir.attributes import tensor


class Chips(NamedTuple):
    """Where ops are made. extents: rows and columns of chips."""

    e: Emitter
    extents: tuple[int, int]


def _made(c: Chips, name: str, val: Val, axis: int, place: int | None, change: int, **attributes: object) -> Val:
    """A collective of TTIR. change: 1 where dimension `place` grows by the chips of the axis, -1 where it shrinks."""
    shape, chips = list(val.shape), c.extents[axis]
    if place is not None:
        if change < 0 and shape[place] % chips:
            raise Unsupported(f"dimension {place} of {shape} in {chips} parts", hint="give it a size that the chips divide")
        shape[place] = shape[place] * chips if change > 0 else shape[place] // chips
    made = c.e.b.value(f"ttir.{name}", [c.e.full(val)], {**attributes, "cluster_axis": axis}, [tensor(tuple(shape), val.of)])
    return Val(tuple(shape), val.of, made)


def gathered(c: Chips, val: Val, axes: Sequence[int], dim: int) -> Val:
    for axis in reversed(axes):
        val = _made(c, "all_gather", val, axis, dim, 1, all_gather_dim=dim)
    return val


def parted(c: Chips, val: Val, axes: Sequence[int], dim: int) -> Val:
    """Each chip's part of what all chips have."""
    for axis in axes:
        val = _made(c, "mesh_partition", val, axis, dim, -1, dim=dim)
    return val


def stacked(c: Chips, val: Val, axes: Sequence[int]) -> Val:
    """The values of all chips along the axes, in a new first dimension."""
    return gathered(c, c.e.reshape(val, (1, *val.shape)), axes, 0)


def slices(c: Chips, val: Val, count: int) -> list[Val]:
    """`count` parts of the first dimension."""
    step = val.shape[0] // count
    rest = [0] * (len(val.shape) - 1)
    return [
        c.e.make("ttir.slice_static", [c.e.full(val)], {"begins": [n * step, *rest], "ends": [(n + 1) * step, *val.shape[1:]], "step": [1] * len(val.shape)})
        for n in range(count)
    ]


def along_groups(groups: Array, extents: tuple[int, int]) -> tuple[int, ...]:
    """The axes along which groups of chips are, the outer one first. Raises: Unsupported where they are no axis."""
    axes = axes_of_groups(groups, extents)
    if axes is None:
        raise Unsupported(
            f"groups of chips that are no axis of {extents[0]}x{extents[1]}: {groups.tolist()}"[:200],
            hint="collectives go along rows or columns of the mesh, or over all of it",
        )
    return axes


def senders_of(op: Operation) -> dict[int, int]:
    """Chip -> the chip whose value it gets, of a collective_permute."""
    pairs = op.properties["source_target_pairs"]
    return {int(target): int(source) for source, target in np.reshape(pairs.array, (-1, 2))}  # type: ignore[attr-defined]


def reduced(c: Chips, val: Val, axes: Sequence[int], kind: str) -> Val:
    """Sums are calls of TT-NN; of other reductions (names of TTIR's ops) each chip gathers the operands."""
    if kind == "sum":
        for axis in axes:
            val = _made(c, "all_reduce", val, axis, None, 0, reduce_type="sum")
        return val
    return c.e.make(f"ttir.{kind}", [c.e.full(stacked(c, val, axes))], {"dim_arg": [0], "keep_dim": False}, val.of) if axes else val


def scattered(c: Chips, val: Val, axes: Sequence[int], kind: str, dim: int) -> Val:
    if kind != "sum":
        return parted(c, reduced(c, val, axes, kind), axes, dim)
    for axis in axes:
        val = _made(c, "reduce_scatter", val, axis, dim, -1, reduce_type="sum", scatter_dim=dim)
    return val


def dealt(c: Chips, val: Val, axes: Sequence[int], split: int, joined: int) -> Val:
    """all_to_all, of which TT-NN has no call without semaphores: everything is gathered, and each chip keeps its part."""
    return parted(c, gathered(c, val, axes, joined), axes, split)


def from_first(c: Chips, val: Val, axes: Sequence[int]) -> Val:
    """The value of the first chip of each group."""
    if not axes:
        return val
    count = math.prod(c.extents[axis] for axis in axes)
    return c.e.reshape(slices(c, stacked(c, val, axes), count)[0], val.shape)


def exchanged(c: Chips, val: Val, senders: dict[int, int]) -> Val:
    """Everything is gathered and put into the order of the receivers, of which each keeps its part. A chip that receives nothing has zeros."""
    rows, columns = c.extents
    axes: tuple[int, ...] = tuple(axis for axis in (0, 1) if c.extents[axis] > 1)
    order = senders
    for axis, place, group in (1, lambda chip: chip % columns, lambda chip: chip // columns), (0, lambda chip: chip // columns, lambda chip: chip % columns):
        along = _along(senders, rows * columns, place, group)
        if c.extents[axis] > 1 and along is not None:
            axes, order = (axis,), along
            break
    count = math.prod(c.extents[axis] for axis in axes)
    pieces = slices(c, stacked(c, val, axes), count)
    nothing = c.e.scalar(0, pieces[0].shape, val.of)
    chosen = [c.e.full(pieces[order[chip]] if chip in order else nothing) for chip in range(count)]
    return c.e.reshape(parted(c, c.e.make("ttir.concat", [chosen], {"dim": 0}), axes, 0), val.shape)


def _along(senders: dict[int, int], chips: int, place: Callable[[int], int], group: Callable[[int], int]) -> dict[int, int] | None:
    """Receiver -> sender by place in a group, where all groups do the same and none gets something from another."""
    if any(group(target) != group(source) for target, source in senders.items()):
        return None
    known: dict[int, dict[int, int]] = {group(chip): {} for chip in range(chips)}
    for target, source in senders.items():
        known[group(target)][place(target)] = place(source)
    first = next(iter(known.values()))
    return first if all(one == first for one in known.values()) else None
