"""Values on a mesh: the part of each chip, and the whole from the parts. Chips are in the order of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from alchemist.frontends.base import AXES, Mesh, Placement
from alchemist.mesh.shardy import Cut

Array = np.ndarray[Any, Any]


def cut_of(placement: Placement, rank: int, mesh: Mesh) -> Cut:
    """The axes that cut each dimension; one of a single chip cuts nothing."""
    axes = [(axis, dim) for axis, dim, chips in zip(AXES, placement, mesh.extents, strict=True) if chips > 1]
    return tuple(tuple(axis for axis, dim in axes if dim == place) for place in range(rank))


def outer(cut: Cut) -> Cut:
    """The cut of a tensor at the ends of a program: the library's mappers cut a dimension over one axis."""
    return tuple(axes[:1] for axes in cut)


def placement_of(cut: Cut) -> Placement:
    """The dimension of each axis."""
    first, second = (next((dim for dim, axes in enumerate(cut) if axis in axes), None) for axis in AXES)
    return first, second


def groups(mesh: Mesh, axis: str) -> list[list[int]]:
    """The chips that an axis joins."""
    rows, columns = mesh.extents
    if axis == AXES[1]:
        return [[row * columns + column for column in range(columns)] for row in range(rows)]
    return [[row * columns + column for row in range(rows)] for column in range(columns)]


def parts(value: Array, placement: Placement, mesh: Mesh) -> list[Array]:
    """The part of each chip; chips with the same one have the same array."""
    first, second = placement
    rows = [value] if first is None else np.split(value, mesh.rows, first)
    made = [[row] * mesh.columns if second is None else np.split(row, mesh.columns, second) for row in rows]
    return [part for row in (made * mesh.rows if first is None else made) for part in row]


def parts_of_cut(value: Array, cut: Cut, mesh: Mesh) -> list[Array]:
    """The same of a value that is no argument or result, a dimension of which both axes may cut."""
    known: dict[tuple[int, ...], Array] = {}
    made = []
    for chip in range(mesh.rows * mesh.columns):
        place = dict(zip(AXES, divmod(chip, mesh.columns), strict=True))
        extents = dict(zip(AXES, mesh.extents, strict=True))
        index = tuple(_number([(place[axis], extents[axis]) for axis in axes]) for axes in cut)
        if index not in known:
            counts = [math.prod(extents[axis] for axis in axes) for axes in cut]
            sizes = [size // count for size, count in zip(value.shape, counts, strict=True)]
            known[index] = np.asarray(value[tuple(slice(number * size, (number + 1) * size) for number, size in zip(index, sizes, strict=True))])
        made.append(known[index])
    return made


def _number(digits: Iterable[tuple[int, int]]) -> int:
    """digits: (digit, base), the most significant one first."""
    number = 0
    for digit, base in digits:
        number = number * base + digit
    return number


def joined(values: Sequence[Array], placement: Placement, mesh: Mesh) -> Array:
    """The whole of the parts; of chips that should have the same, the first one's."""
    first, second = placement
    rows = [values[row * mesh.columns : (row + 1) * mesh.columns] for row in range(mesh.rows)]
    whole = [row[0] if second is None else np.concatenate(row, second) for row in rows]
    return whole[0] if first is None else np.concatenate(whole, first)
