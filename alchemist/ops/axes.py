"""How TTIR ops change if dims of their operands are permuted, joined, dropped or added.

A row of the op table names one of the functions below as its `axes`; an op without one is opaque: its dims stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Dims = tuple[int, ...]
Groups = tuple[tuple[int, ...], ...]
"""New dims as the old ones that each joins, the outermost first; () is a new one of size 1. An old one of size 1 may be in none."""


@dataclass(frozen=True, slots=True)
class Regrouped:
    """An op on other dims. operands: groups of the dims of each, None for one that stays. attributes: those that change. result: groups of its dims."""

    operands: tuple[Groups | None, ...]
    attributes: Mapping[str, Any]
    result: Groups


Axes = Callable[[Sequence[Dims], Mapping[str, Any], Dims, Groups], Regrouped | None]
"""(shapes of the operands, attributes, shape of the result, groups) -> the op on these groups, None where it does not work on them.

The groups are those of the result's dims; of the first operand's for ops that reduce or permute it.
"""


def grouped(dims: Dims, groups: Groups) -> Dims:
    """The shape of a value whose dims are joined according to the groups."""
    return tuple(math.prod(dims[dim] for dim in group) for group in groups)


def dims_of(attributes: Mapping[str, Any], rank: int) -> Dims:
    """Reduced dims, non-negative and sorted; all when the attribute is absent."""
    dims = attributes.get("dim_arg")
    if dims is None:
        return tuple(range(rank))
    dims = (dims,) if isinstance(dims, int) else dims
    return tuple(sorted({dim % rank for dim in dims}))


def pointwise(inputs: Sequence[Dims], _attributes: Mapping[str, Any], dims: Dims, groups: Groups) -> Regrouped | None:
    """Element by element, operands broadcast: each has all of the dims that are joined, or none of them."""
    operands: list[Groups | None] = []
    for source in inputs:
        missing = len(dims) - len(source)
        sizes = (1,) * missing + source
        if any(n not in (1, whole) for n, whole in zip(grouped(sizes, groups), grouped(dims, groups), strict=True)):
            return None
        stays = all(sizes[dim] == 1 or len(groups) - place == len(dims) - dim for place, group in enumerate(groups) for dim in group)
        own = tuple(tuple(dim - missing for dim in group if dim >= missing) for group in groups)
        operands.append(None if stays and len(source) <= len(groups) else own)
    return Regrouped(tuple(operands), {}, groups)


def reduces(inputs: Sequence[Dims], attributes: Mapping[str, Any], _dims: Dims, groups: Groups) -> Regrouped | None:
    """Over `dim_arg`, all of a group or nothing of it. A new dim goes with those that are reduced if they are not kept."""
    over, keep, rank = set(dims_of(attributes, len(inputs[0]))), bool(attributes["keep_dim"]), len(inputs[0])
    if any(0 < len(over.intersection(group)) < len(group) for group in groups) or not over.issubset(dim for group in groups for dim in group):
        return None
    places = [place for place, group in enumerate(groups) if (over.intersection(group) if group else not keep)]
    left = {dim: place for place, dim in enumerate(dim for dim in range(rank) if keep or dim not in over)}
    result = tuple(tuple(left[dim] for dim in group) for place, group in enumerate(groups) if keep or place not in places)
    return Regrouped((groups,), {"dim_arg": places}, result)


def permutes(inputs: Sequence[Dims], attributes: Mapping[str, Any], _dims: Dims, groups: Groups) -> Regrouped | None:
    """By `permutation`, which keeps the dims of a group together."""
    place = {dim: position for position, dim in enumerate(attributes["permutation"])}
    places = [[place[dim] for dim in group] for group in groups]
    if any(not group or group != list(range(group[0], group[0] + len(group))) for group in places):
        return None
    order = sorted(range(len(groups)), key=lambda index: places[index][0])
    return Regrouped((groups,), {"permutation": order}, tuple(tuple(places[index]) for index in order))


def along(name: str) -> Axes:
    """The op works along the dimension in the attribute, and independently on each index of the others."""

    def axes(inputs: Sequence[Dims], attributes: Mapping[str, Any], dims: Dims, groups: Groups) -> Regrouped | None:
        dim = attributes[name] % len(dims)
        if (dim,) not in groups or any((*sizes[:dim], *sizes[dim + 1 :]) != (*dims[:dim], *dims[dim + 1 :]) for sizes in inputs):
            return None
        return Regrouped((groups,) * len(inputs), {name: groups.index((dim,))}, groups)

    return axes


def each_dim(whole: Callable[[int], Dims], *names: str) -> Axes:
    """By the numbers of each dim: one of each attribute, or several of one. whole: the numbers that leave a dim of some size as it is."""

    def axes(inputs: Sequence[Dims], attributes: Mapping[str, Any], _dims: Dims, groups: Groups) -> Regrouped | None:
        sizes = inputs[0]
        width = len(whole(1)) // len(names)
        rows = [tuple(attributes[name][dim * width + offset] for name in names for offset in range(width)) for dim in range(len(sizes))]
        alone = {group[0] for group in groups if len(group) == 1}
        if any(row != whole(size) for dim, (row, size) in enumerate(zip(rows, sizes, strict=True)) if dim not in alone):
            return None
        new = [rows[group[0]] if len(group) == 1 else whole(size) for group, size in zip(groups, grouped(sizes, groups), strict=True)]
        changed = {name: [number for row in new for number in row[place * width : (place + 1) * width]] for place, name in enumerate(names)}
        return Regrouped((groups,), changed, groups)

    return axes


def by_rows(inputs: Sequence[Dims], attributes: Mapping[str, Any], dims: Dims, groups: Groups) -> Regrouped | None:
    """Each row of the last dims (those of `normalized_shape`, or one) of the first operand by itself, with all of the others."""
    count = len(attributes.get("normalized_shape") or (1,))
    last = tuple((dim,) for dim in range(len(dims) - count, len(dims)))
    return Regrouped((groups, *(None for _ in inputs[1:])), {}, groups) if groups[-count:] == last else None


def contracts(inputs: Sequence[Dims], attributes: Mapping[str, Any], dims: Dims, groups: Groups) -> Regrouped | None:
    """Rows times one matrix for all of them."""
    one_matrix = len(inputs[1]) == 2 and not attributes.get("transpose_a") and all(math.prod(bias[:-1]) == 1 for bias in inputs[2:])
    return by_rows(inputs, attributes, dims, groups) if one_matrix and len(inputs[0]) == len(dims) else None


def looks_up(inputs: Sequence[Dims], attributes: Mapping[str, Any], dims: Dims, groups: Groups) -> Regrouped | None:
    """A row of a table for each index."""
    regrouped = by_rows(inputs, attributes, dims, groups) if len(inputs[1]) == 2 and len(inputs[0]) + 1 == len(dims) else None
    return None if regrouped is None else Regrouped((groups[:-1], None), {}, groups)


def wherever(*names: str) -> Axes:
    """The op's dims move along with its attributes."""

    def axes(inputs: Sequence[Dims], attributes: Mapping[str, Any], _dims: Dims, groups: Groups) -> Regrouped | None:
        if sorted(groups) != [(dim,) for dim in range(len(names))]:
            return None
        return Regrouped((groups, *(None for _ in inputs[1:])), {name: groups.index((attributes[name],)) for name in names}, groups)

    return axes
