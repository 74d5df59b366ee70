"""TTIR: rows of one position, or of the first ones, that are written into a cache, in place of a new cache with those rows."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir.access import attr, element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, erase_dead, functions, replace
from alchemist.ir.layout import TILE_EDGE
from alchemist.ops.constants import behind_unit_views, constant_of, number
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import reshaped

MOST_USERS = 32
"""Users of a cache: the library writes the rows of each from a core of its own, and a tile holds as many."""
_INTEGERS = ("i32", "i64", "si32", "si64", "ui32")


@register("update-caches", fusing=True)
class UpdateCaches(Pass):
    """scatter(cache, one position, rows) that is returned, the cache read nowhere else, becomes paged_update_cache; of the first positions, fill_cache."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            made: dict[tuple[SSAValue, int], SSAValue] = {}
            found = False
            for op in list(func.body.block.ops):
                written = _scattered(op) or _chosen(op)
                if written is not None and _may_be_written(op, *written):
                    _update(op, *written, made)
                    found = True
                elif (filled := _filled(op)) is not None and _may_be_filled(op, *filled):
                    _fill(op, *filled)
                    found = True
            if found:
                erase_dead(func)


def position_of(value: SSAValue) -> SSAValue:
    """The value with one element behind the reshapes, copies and sums with nothing that lead to `value`; `value` itself without any.

    What jax adds for places counted from the end, where(p < 0, p + size, p), is p: a cache is written from its start. So is what keeps a window inside.
    """
    while True:
        if (op := defining(value, "ttir.reshape", "ttir.broadcast")) is not None and math.prod(shape(op.operands[0])) == 1:
            value = op.operands[0]
        elif (cast := defining(value, "ttir.typecast")) is not None and element_type(cast.operands[0]) in _INTEGERS and element_type(value) in _INTEGERS:
            value = cast.operands[0]
        elif (total := defining(value, "ttir.add")) is not None and 0.0 in (number(total.operands[0]), number(total.operands[1])):
            value = total.operands[1 if number(total.operands[0]) == 0.0 else 0]
        elif (chosen := defining(value, "ttir.where")) is not None and _is_wrapped(chosen):
            value = chosen.operands[2]
        elif (kept := defining(value, "ttir.clamp_scalar")) is not None and attr(kept, "min") == 0 and element_type(value) in _INTEGERS:
            value = kept.operands[0]
        else:
            return value


def _is_wrapped(chosen: Operation) -> bool:
    below, wrapped, plain = defining(chosen.operands[0], "ttir.lt"), defining(chosen.operands[1], "ttir.add"), chosen.operands[2]
    return below is not None and below.operands[0] is plain and number(below.operands[1]) == 0.0 and wrapped is not None and plain in wrapped.operands


def counts(value: SSAValue, size: int, axis: int) -> bool:
    """Whether `value` is 0, 1 ... size - 1 along `axis` (from the end) and has one element in every other dim or repeats itself there."""
    value = behind_unit_views(value)
    if (op := defining(value, "ttir.arange")) is not None:
        return (attr(op, "start"), attr(op, "end"), attr(op, "step")) == (0, size, 1)
    array = constant_of(value)
    if array is None or array.ndim < -axis or array.shape[axis] != size:
        return False
    along = np.arange(size).reshape([-1, *[1] * (-axis - 1)])
    return bool((array == along).all())


Written = tuple[SSAValue, SSAValue, SSAValue]
"""cache, position, rows."""


def _scattered(op: Operation) -> Written | None:
    """scatter along the positions of [B, H, S, D] with one index for all rows."""
    if op.name != "ttir.scatter" or attr(op, "scatter_reduce_type") not in (None, "invalid"):
        return None
    cache, index, rows = op.operands
    if len(shape(cache)) != 4 or attr(op, "dim") % 4 != 2 or shape(index) != shape(rows):
        return None
    return cache, position_of(index), rows


def _chosen(op: Operation) -> Written | None:
    """where(position == 0 ... S - 1, rows, cache), as JAX's dynamic_update_slice of one row becomes."""
    if op.name != "ttir.where" or len(shape(op.results[0])) != 4:
        return None
    chosen, rows, cache = op.operands
    equal = defining(behind_unit_views(chosen), "ttir.eq")
    if equal is None or shape(cache) != shape(op.results[0]):
        return None
    rows = behind_unit_views(rows) if shape(rows) == shape(cache) else rows
    for along, position in (equal.operands, reversed(equal.operands)):
        if counts(along, shape(cache)[2], -2) and len(shape(along)) == 4:
            return cache, position_of(position), rows
    return None


def _filled(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """concat(rows, the cache behind them) along the positions of [B, H, S, D]: cache and rows."""
    if op.name != "ttir.concat" or len(op.operands) != 2 or len(shape(op.results[0])) != 4 or attr(op, "dim") % 4 != 2:
        return None
    rows, rest = op.operands
    part = defining(rest, "ttir.slice_static")
    if part is None or shape(part.operands[0]) != shape(op.results[0]):
        return None
    begins = [0, 0, shape(rows)[2], 0]
    if [*attr(part, "begins")] != begins or [*attr(part, "ends")] != [*shape(op.results[0])] or set(attr(part, "step")) != {1}:
        return None
    return part.operands[0], rows


def _may_be_filled(op: Operation, cache: SSAValue, rows: SSAValue) -> bool:
    """As `_may_be_written`; the library writes whole tiles of rows."""
    if not _is_state(op, cache):
        return False
    _, _, length, size = shape(cache)
    same = element_type(cache) == element_type(rows) and element_type(cache) in ("bf16", "f32")
    return same and length % TILE_EDGE == 0 and size % TILE_EDGE == 0 and shape(rows)[2] % TILE_EDGE == 0


def _fill(op: Operation, cache: SSAValue, rows: SSAValue) -> None:
    """The op writes one user's rows."""
    users, *dims = shape(rows)
    b = Builder.in_place_of(op)
    for user in range(users):
        part = rows if users == 1 else b.op(
            "ttir.slice_static",
            [rows],
            {"begins": (user, 0, 0, 0), "ends": (user + 1, *dims), "step": (1, 1, 1, 1)},
            [tensor((1, *dims), element_type(rows))],
        )  # fmt: skip
        b.make("ttir.fill_cache", [cache, part], {"batch_offset": user})
    replace(op, [cache])


def _is_state(op: Operation, cache: SSAValue) -> bool:
    """Whether `op` makes the new value of a cache that nothing else reads."""
    returned = any(isinstance(use.operation, ReturnOp) for use in op.results[0].uses)
    return isinstance(cache, BlockArgument) and len(list(cache.uses)) == 1 and returned and len(shape(cache)) == 4


def _may_be_written(op: Operation, cache: SSAValue, position: SSAValue, rows: SSAValue) -> bool:
    """Whether nobody can tell the written cache from a new one, and the library's op takes it."""
    if not _is_state(op, cache):
        return False
    users, heads, length, size = shape(cache)
    if shape(rows) != (users, heads, 1, size) or math.prod(shape(position)) != 1 or element_type(position) not in _INTEGERS:
        return False
    same = element_type(cache) == element_type(rows) and element_type(cache) in ("bf16", "f32")
    return same and users <= MOST_USERS and heads <= TILE_EDGE and length % TILE_EDGE == 0 and size % TILE_EDGE == 0


def _update(op: Operation, cache: SSAValue, position: SSAValue, rows: SSAValue, made: dict[tuple[SSAValue, int], SSAValue]) -> None:
    """made: what all layers share, the positions by the value that they come of and the number of users."""
    users, heads, _, size = shape(cache)
    b = Builder.in_place_of(op)
    if (position, users) not in made:
        made[position, users] = _positions(op, position, users)
    rows = reshaped(b, rows, (1, users, heads, size))
    b.make("ttir.paged_update_cache", [cache, rows, made[position, users], None], {"share_cache": False})
    replace(op, [cache])


def _positions(op: Operation, position: SSAValue, users: int) -> SSAValue:
    """[users]: the one position for each, made where the position is known."""
    block, owner = op.parent, position.owner
    assert block is not None
    b = Builder.after(owner) if isinstance(owner, Operation) else Builder(block, block.first_op)
    one = reshaped(b, position, (1,))
    if users == 1:
        return one
    return b.value("ttir.broadcast", [one], {"broadcast_dimensions": (users,)}, [tensor((users,), element_type(one))])
