"""Look-ups and updates at computed places: dynamic slices, gather, scatter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from alchemist.frontends.stablehlo.convert import Converter, constant_value, prop, rule, type_of
from alchemist.frontends.stablehlo.rules_eltwise import JOIN, REDUCE, array_of
from alchemist.frontends.stablehlo.rules_shape import concat, cut_val, numbers, slice_val
from alchemist.frontends.stablehlo.values import Shape, Unsupported, Val, shrink
from alchemist.ir import access
from alchemist.ir.attributes import numpy_dtype
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import defining
from alchemist.ir.op_class import short_names

ONE_HOT_LIMIT = 1 << 22
"""Largest comparison matrix, in elements, of a sum that is written as a product with it."""


def within(c: Converter, start: Val, limit: int) -> Val:
    """Clamps starts of windows as StableHLO does, from 0 to `limit`, so that the windows are inside."""
    if start.const is not None or not limit:
        return c.e.op("minimum", c.e.op("maximum", start, 0), limit) if limit else c.e.scalar(0, start.shape, start.of)
    return Val(start.shape, start.of, c.e.emit("ttir.clamp_scalar", [c.e.small(start)], {"min": 0, "max": limit}))


# --- look-ups -----------------------------------------------------------------------------------------------------------


def argument_index(c: Converter, index: Val, size: int) -> SSAValue | None:
    """An index into `size` rows that an argument of the function holds, without `where(i < 0, i + n, i)`; None for other indices.

    An argument is read as it is if it has rows from 0 to size - 1 in the exported call: the device's indices are unsigned, and the program refuses
    negative ones of later calls. MLIR text has no values, so its arguments count as in range. Where an index is computed, it may be anything.
    """
    if index.const is not None:
        return None
    value = _without_wrap(c.e.full(index))
    source = value
    while isinstance(source, OpResult) and has_trait(source.op, "selects"):
        source = source.op.operands[0]
    low, high = c.bounds.get(source, (0, size - 1))
    return value if isinstance(source, BlockArgument) and 0 <= low and high < size else None


def _without_wrap(value: SSAValue) -> SSAValue:
    op = value.op if isinstance(value, OpResult) else None
    if op is not None and op.name == "ttir.reshape":
        source: SSAValue = op.operands[0]
        inner = _without_wrap(source)
        return value if inner is source else inner
    if op is None or op.name != "ttir.where":
        return value
    mask, wrapped = (v.op if isinstance(v, OpResult) else None for v in (op.operands[0], op.operands[1]))
    third: SSAValue = op.operands[2]
    if mask is not None and mask.name == "ttir.lt" and mask.operands[0] is third:
        if wrapped is not None and wrapped.name == "ttir.add" and third in wrapped.operands:
            return third
    return value


def single_row(c: Converter, op: Operation, index: Val, size: int) -> Val:
    """The index of rows as StableHLO reads it: rows before the first and behind the last are these two."""
    plain = argument_index(c, index, size)
    if plain is None:
        if index.const is None:
            c.clamped.add(op)
        return within(c, index, size - 1)
    ids = plain if access.shape(plain) == index.shape else c.e.reshape_ssa(plain, index.shape)
    return Val(index.shape, index.of, ids)


def take(c: Converter, x: Val, axis: int, index: Val) -> Val:
    """Rows of `x` along `axis`, all of them in range: result shape is x.shape[:axis] + index.shape + x.shape[axis + 1:]."""
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    if index.const is not None:
        ids = np.clip(array_of(index).astype(np.int64), 0, x.shape[axis] - 1)
        if x.const is not None:
            return c.e.const(shrink(np.take(array_of(x), ids, axis)), shape, x.of)
        static = _as_slice(ids.reshape(-1))
        if static is not None:
            begins, ends, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
            begins[axis], ends[axis], steps[axis] = static
            return c.e.reshape(slice_val(c, x, begins, ends, steps), shape)
    order = [axis, *(i for i in range(len(x.shape)) if i != axis)]
    rest = tuple(x.shape[i] for i in order[1:])
    table = c.e.full(c.e.reshape(c.e.permute(x, order), (x.shape[axis], math.prod(rest))))
    ids_ssa = c.e.full(index)
    flat = c.e.reshape_ssa(ids_ssa, (1, math.prod(index.shape))) if len(index.shape) != 2 else ids_ssa
    rows = c.e.make("ttir.embedding", [flat, table])
    back = c.e.reshape(rows, (*index.shape, *rest))
    count = len(index.shape)
    permutation = [*range(count, count + axis), *range(count), *range(count + axis, count + len(rest))]
    return c.e.permute(back, permutation)


def _as_slice(ids: np.ndarray[Any, Any]) -> tuple[int, int, int] | None:
    """(begin, end, step) of evenly increasing indices."""
    if ids.size == 0:
        return None
    if ids.size == 1:
        return int(ids[0]), int(ids[0]) + 1, 1
    step = int(ids[1] - ids[0])
    if step <= 0 or not (np.diff(ids) == step).all():
        return None
    return int(ids[0]), int(ids[-1]) + 1, step


@rule("stablehlo.dynamic_slice")
def dynamic_slice(c: Converter, op: Operation, vals: list[Val]) -> Val:
    x, starts = vals[0], vals[1:]
    for axis, (start, size) in enumerate(zip(starts, prop(op, "slice_sizes"), strict=True)):
        if size == x.shape[axis]:
            continue  # the start is clamped to 0
        value = start.scalar()
        if value is not None:
            begin = min(max(int(value), 0), x.shape[axis] - size)
            x = cut_val(c, x, axis, begin, begin + size)
        else:
            index = c.e.reshape(start, (1,))
            if size > 1:
                line = c.e.const(np.arange(size), (size,), start.of)
                index = c.e.op("add", within(c, index, x.shape[axis] - size), line)
            else:
                index = single_row(c, op, index, x.shape[axis])
            x = take(c, x, axis, index)
    return x


@rule("stablehlo.dynamic_update_slice")
def dynamic_update_slice(c: Converter, op: Operation, vals: list[Val]) -> Val:
    for stack in c.stacks:
        if vals[0] is stack.base:
            place = vals[2 + stack.axis].scalar()
            if place is None:
                raise Unsupported("a loop that writes its results at computed places")
            stack.pieces[int(place)] = vals[1]
            return vals[0]
    rooms = [a - b for a, b in zip(vals[0].shape, vals[1].shape, strict=True)]
    return update_slice(c, vals[0], vals[1], [within(c, start, room) for start, room in zip(vals[2:], rooms, strict=True)])


def update_slice(c: Converter, x: Val, update: Val, starts: Sequence[Val]) -> Val:
    """`x` with the window at `starts` replaced."""
    if 0 in update.shape:
        return x
    if x.shape == update.shape:
        return update
    numbers = [start.scalar() for start in starts]
    axes = [i for i, (a, b) in enumerate(zip(x.shape, update.shape, strict=True)) if a != b]
    if all(numbers[axis] is not None for axis in axes):
        begin = {axis: min(max(int(numbers[axis]), 0), x.shape[axis] - update.shape[axis]) for axis in axes}
        if x.const is not None and update.const is not None:
            array = array_of(x).copy()
            array[tuple(slice(begin.get(i, 0), begin.get(i, 0) + n) for i, n in enumerate(update.shape))] = array_of(update)
            return c.e.const(shrink(array), x.shape, x.of)
        return _patch(c, x, update, begin, axes)
    if len(axes) == 1 and update.shape[axes[0]] == 1:
        axis = axes[0]
        size = x.shape[axis]
        positions = c.e.const(np.arange(size).reshape([size if i == axis else 1 for i in range(len(x.shape))]), x.shape, starts[axis].of)
        start = c.e.reshape(starts[axis], (1,) * len(x.shape))
        mask = c.e.op("eq", positions, start)
        spread = Val(x.shape, x.of, update.ssa, update.const)
        return c.e.op("where", mask, spread, x)
    begins = {axis: c.e.reshape(starts[axis], ()) for axis in axes}
    return _scatter_at(c, x, update, Places(c, x.shape, update.shape, begins, {}, ()), "")


def _patch(c: Converter, x: Val, update: Val, begin: dict[int, int], axes: Sequence[int]) -> Val:
    """Concatenates the part before, the new window, and the part after it, axis by axis."""
    axis, *others = axes
    start, size = begin[axis], update.shape[axis]

    middle = _patch(c, cut_val(c, x, axis, start, start + size), update, begin, others) if others else update
    parts = [cut_val(c, x, axis, 0, start)] if start else []
    parts.append(middle)
    if start + size < x.shape[axis]:
        parts.append(cut_val(c, x, axis, start + size, x.shape[axis]))
    return concat(c, parts, axis)


class Places:
    """Positions of windows in an operand, as rows of it flattened to [places, rest].

    sizes: of a window, per axis of the operand. starts: axis -> first place, of the batch shape. batching: axis -> batch
    dimension that runs along it.

    axes: operand axes that the index covers; rest: those that a window covers whole. windows: the index axes of size > 1.
    linear: indices of shape (*batch, *sizes of windows).
    """

    def __init__(self, c: Converter, dims: Shape, sizes: Shape, starts: Mapping[int, Val], batching: Mapping[int, int], batch: Shape) -> None:
        self.axes = [i for i, (n, size) in enumerate(zip(dims, sizes, strict=True)) if i in batching or size != n]
        self.axes = self.axes or [0]  # windows as wide as the operand, which all start at 0
        self.rest = [i for i in range(len(dims)) if i not in self.axes]
        self.windows = [i for i in self.axes if sizes[i] > 1]
        self.dims, self.batch = dims, batch
        shape = (*batch, *(sizes[i] for i in self.windows))
        of = next((val.of for val in starts.values()), "i32")
        linear = c.e.scalar(0, shape, of)
        stride = 1
        for axis in reversed(self.axes):
            parts = []
            start = starts.get(axis)
            if start is not None:
                parts.append(_spread_over(c, start, shape))
            if axis in batching:
                parts.append(_line(c, dims[axis], batching[axis], shape, of))
            if axis in self.windows:
                parts.append(_line(c, sizes[axis], len(batch) + self.windows.index(axis), shape, of))
            for part in parts:
                if stride > 1:
                    part = c.e.op("multiply", part, stride)
                zero = linear.scalar() == 0
                linear = part if zero else c.e.op("add", linear, part)
            stride *= dims[axis]
        self.linear = linear
        self.count = stride
        self.has_outside = False

    def drop_outside(self, c: Converter, starts: Mapping[int, Val], sizes: Shape) -> None:
        """Gives windows that leave the operand the index `count`, one behind the last place: JAX drops their updates."""
        for axis, start in starts.items():
            room = self.dims[axis] - sizes[axis]
            known = None if start.const is None else array_of(start)
            inside = ((known >= 0) & (known <= room)).all() if known is not None else argument_index(c, start, room + 1) is not None
            if inside:
                continue
            there = c.e.op("logical_and", c.e.op("ge", start, 0), c.e.op("le", start, room))
            self.linear = c.e.op("where", _spread_over(c, there, self.linear.shape), self.linear, self.count)
            self.has_outside = True

    def rows(self, c: Converter, x: Val) -> Val:
        """The operand as [places, *rest]."""
        permuted = c.e.permute(x, [*self.axes, *self.rest])
        return c.e.reshape(permuted, (self.count, *(self.dims[i] for i in self.rest)))

    def back(self, c: Converter, rows: Val) -> Val:
        """Inverse of `rows`."""
        order = [*self.axes, *self.rest]
        apart = c.e.reshape(rows, tuple(self.dims[i] for i in order))
        return c.e.permute(apart, [order.index(i) for i in range(len(order))])


def _spread_over(c: Converter, val: Val, shape: Shape) -> Val:
    """A value of the batch shape along the leading dimensions of `shape`."""
    if val.shape == shape:
        return val
    return c.e.broadcast(val, list(range(len(val.shape))), shape)


def _line(c: Converter, size: int, dim: int, shape: Shape, of: str) -> Val:
    form = [size if i == dim else 1 for i in range(len(shape))]
    return c.e.const(np.arange(size).reshape(form), shape, of)


def _index_parts(c: Converter, op: Operation, indices: Val, vector_dim: int, count: int) -> tuple[list[Val], Shape]:
    """One index array per mapped axis, and their common (batch) shape. Arrays that the model concatenated for the op are used directly."""
    if vector_dim == len(indices.shape):
        return [indices] * count, indices.shape
    batch = (*indices.shape[:vector_dim], *indices.shape[vector_dim + 1 :])
    joined = defining(op.operands[1], "stablehlo.concatenate")
    single = joined is not None and prop(joined, "dimension") == vector_dim and len(joined.operands) == count
    parts = [c.known(part) for part in joined.operands] if joined is not None and single else []
    return [
        c.e.reshape(cut_val(c, indices, vector_dim, k, k + 1) if k >= len(parts) or (part := parts[k]) is None else part, batch) for k in range(count)
    ], batch


def _has_fill(op: Operation) -> bool:
    """Whether a number other than NaN is chosen in place of some of the rows: `x.at[i].get(mode="fill", fill_value=-1)`."""
    for use in op.results[0].uses:
        if use.operation.name == "stablehlo.select" and use.index == 1:
            source = use.operation.operands[2]
            spread = defining(source, "stablehlo.broadcast_in_dim")
            constant = defining(source if spread is None else spread.operands[0], "stablehlo.constant")
            array = None if constant is None else constant_value(constant)
            if array is not None and not np.isnan(array.astype(np.float64)).all():
                return True
    return False


@rule("stablehlo.gather")
def gather(c: Converter, op: Operation, vals: list[Val]) -> Val:
    x, indices = vals
    d = numbers(prop(op, "dimension_numbers"))
    sizes: tuple[int, ...] = prop(op, "slice_sizes")
    offset, collapsed = d.get("offset_dims", ()), d.get("collapsed_slice_dims", ())
    batching, start_map = d.get("operand_batching_dims", ()), d.get("start_index_map", ())
    vector_dim = d.get("index_vector_dim", 0)
    shape, _ = type_of(op.results[0])
    if batching:
        along = _gather_along(c, op, x, indices, d, sizes, shape)
        if along is not None:
            return along
    parts, batch_shape = _index_parts(c, op, indices, vector_dim, len(start_map))
    filled = _has_fill(op)
    parts = [
        single_row(c, op, part, x.shape[i]) if sizes[i] == 1 and not filled else within(c, part, x.shape[i] - sizes[i])
        for i, part in zip(start_map, parts, strict=True)
    ]
    if batching:
        return _gather_at(c, x, parts, batch_shape, d, sizes, shape)
    # axes that are cut to a window starting at the same constant everywhere are slices
    mapped: list[tuple[int, Val]] = []
    for axis, index in zip(start_map, parts, strict=True):
        value = index.scalar()
        if value is not None:
            begin = min(max(int(value), 0), x.shape[axis] - sizes[axis])
            x = cut_val(c, x, axis, begin, begin + sizes[axis])
        elif sizes[axis] != x.shape[axis] or axis in collapsed:
            mapped.append((axis, index))
    for axis, size in enumerate(sizes):
        if size != x.shape[axis] and axis not in [a for a, _ in mapped]:
            x = cut_val(c, x, axis, 0, size)
    windows = [(axis, index) for axis, index in mapped if axis not in collapsed]
    if windows:
        if len(mapped) > 1 or math.prod(batch_shape) != 1:
            return _gather_at(c, vals[0], parts, batch_shape, d, sizes, shape)
        axis, index = windows[0]
        start = c.e.reshape(index, (1,))
        size = sizes[axis]
        line = c.e.const(np.arange(size), (size,), start.of)
        ids = start if size == 1 else c.e.op("add", start, line)
        x = take(c, x, axis, ids)
        mapped = []
    if not mapped:
        kept_dims = tuple(n for i, n in enumerate(x.shape) if i not in collapsed)
        rows = c.e.reshape(x, (*(1,) * len(batch_shape), *kept_dims))
        if math.prod(batch_shape) != 1:
            rows = Val((*batch_shape, *kept_dims), x.of, rows.ssa, rows.const)
        return _place(c, rows, len(batch_shape), offset, shape)
    axes = [axis for axis, _ in mapped]
    rest = [i for i in range(len(x.shape)) if i not in axes and i not in collapsed]
    if len(axes) == 1:
        others = [i for i in range(len(x.shape)) if i in rest or i == axes[0]]
        cut = c.e.reshape(x, tuple(x.shape[i] for i in others))
        result_taken = take(c, cut, others.index(axes[0]), mapped[0][1])
        position, count = others.index(axes[0]), len(batch_shape)
        order = [*range(position, position + count), *range(position), *range(position + count, len(result_taken.shape))]
        return _place(c, c.e.permute(result_taken, order), count, offset, shape)
    return _gather_at(c, vals[0], parts, batch_shape, d, sizes, shape)


def _gather_at(c: Converter, x: Val, parts: Sequence[Val], batch: Shape, d: Mapping[str, Any], sizes: Shape, shape: Shape) -> Val:
    """Any gather, as rows of the flattened operand."""
    collapsed = (*d.get("collapsed_slice_dims", ()), *d.get("operand_batching_dims", ()))
    places = Places(c, x.shape, sizes, dict(zip(d.get("start_index_map", ()), parts, strict=True)), _batching(d), batch)
    rows = take(c, places.rows(c, x), 0, places.linear)
    # [*batch, *windows, *rest] -> window dimensions in the operand's order, those of size 1 included
    have = [*places.windows, *places.rest]
    result_axes = [i for i in range(len(x.shape)) if i not in collapsed]
    ones = [i for i in result_axes if i not in have]
    extent = {i: sizes[i] for i in result_axes}
    count = len(batch)
    rows = c.e.reshape(rows, (*batch, *(extent[i] if i in extent else 1 for i in have), *(1 for _ in ones)))
    line = [*have, *ones]
    spare = [i for i in line if i not in result_axes]  # collapsed axes that the window covers: of size 1
    rows = c.e.permute(rows, [*range(count), *(count + line.index(i) for i in [*result_axes, *spare])])
    rows = c.e.reshape(rows, (*batch, *(extent[i] for i in result_axes)))
    return _place(c, rows, count, d.get("offset_dims", ()), shape)


def _batching(d: Mapping[str, Any]) -> dict[int, int]:
    """Operand axis -> batch dimension (dimension of the indices without the index vector)."""
    vector_dim = d.get("index_vector_dim", 0)
    operand = d.get("operand_batching_dims", d.get("input_batching_dims", ()))
    indices = d.get("start_indices_batching_dims", d.get("scatter_indices_batching_dims", ()))
    return {axis: dim - (dim > vector_dim) for axis, dim in zip(operand, indices, strict=True)}


def _place(c: Converter, rows: Val, batch: int, offset: Sequence[int], shape: Shape) -> Val:
    """Moves [batch ..., slice ...] to the result's order, where `offset` are the positions of the slice dimensions."""
    rank = len(shape)
    order = [0] * rank
    slices, batches = iter(range(batch, rank)), iter(range(batch))
    for position in range(rank):
        order[position] = next(slices) if position in offset else next(batches)
    return c.e.permute(rows, order)


def _gather_along(c: Converter, op: Operation, x: Val, indices: Val, d: dict[str, Any], sizes: Shape, shape: Shape) -> Val | None:
    """take_along_axis: every other dimension is a batching dimension. None for any other gather."""
    (axis,) = d.get("start_index_map", (None,)) if len(d.get("start_index_map", ())) == 1 else (None,)
    batching = d["operand_batching_dims"]
    others = [i for i in range(len(x.shape)) if i != axis and i not in batching]
    if axis is None or any(size != 1 for size in sizes) or any(x.shape[i] != 1 for i in others):
        return None
    index_batching = d["start_indices_batching_dims"]
    vector_dim = d.get("index_vector_dim", len(indices.shape))
    free = [i for i in range(len(indices.shape)) if i not in index_batching and i != vector_dim]
    # index in the order of x: batching dims where x has them, the free dims at `axis`
    where = dict(zip(batching, index_batching, strict=True))
    order: list[int] = []
    lengths: list[int] = []
    for i in range(len(x.shape)):
        if i == axis:
            order += free
            lengths.append(math.prod(indices.shape[f] for f in free))
        elif i in where:
            order.append(where[i])
            lengths.append(indices.shape[where[i]])
        else:
            lengths.append(1)
    order += [vector_dim] if vector_dim < len(indices.shape) else []
    index = c.e.reshape(c.e.permute(indices, order), tuple(lengths))
    if math.prod(shape) != math.prod(lengths) or sorted(order) != order:
        return None
    gathered = c.e.make("ttir.gather", [c.e.full(x), c.e.full(single_row(c, op, index, x.shape[axis]))], {"dim": axis})
    return c.e.reshape(gathered, shape)


def _one_hot_sum(c: Converter, x: Val, linear: Val, values: Val, count: int) -> Val:
    """x [places, rest] + one_hot(linear)^T @ values [count, rest]; places out of range are left out."""
    size = x.shape[0]
    ids = c.e.reshape(linear, (1, count))
    line = c.e.const(np.arange(size).reshape(size, 1), (size, 1), ids.of)
    same = c.e.op("eq", line, ids)
    picked = c.e.full(c.e.typecast(same, x.of))
    summed = c.e.make("ttir.matmul", [picked, c.e.full(values)])
    return summed if x.scalar() == 0 else c.e.op("add", x, summed)


def _one_hot_reduction(c: Converter, x: Val, linear: Val, values: Val, count: int, kind: str) -> Val:
    """x combined with the sum, or the largest or smallest, of the values at each place.

    TT-NN's scatter has no extremes, and its products would round integers.
    """
    size, rest = x.shape
    if size * count * rest > ONE_HOT_LIMIT:
        raise Unsupported(f"scatter that takes the {kind}imum of many values")
    ids = c.e.reshape(linear, (1, count, 1))
    line = c.e.const(np.arange(size).reshape(size, 1, 1), (size, 1, 1), ids.of)
    shape = (size, count, rest)
    same = c.e.op("eq", line, ids)
    rows_of_values = c.e.reshape(values, (1, count, rest))
    if kind == "sum":
        outside: Any = 0
    elif x.of.startswith(("f", "bf")):
        outside = -math.inf if kind == "max" else math.inf
    else:
        limits = np.iinfo(numpy_dtype(x.of.replace("64", "32")))
        outside = limits.min if kind == "max" else limits.max
    spread = [Val(shape, "i1", same.ssa, same.const), Val(shape, x.of, rows_of_values.ssa, rows_of_values.const), c.e.scalar(outside, shape, x.of)]
    masked = c.e.full(c.e.op("where", *spread))
    best = c.e.make(f"ttir.{kind}", [masked], {"dim_arg": [1], "keep_dim": False})
    if kind == "sum" and x.scalar() == 0:
        return best
    return c.e.op("add" if kind == "sum" else f"{kind}imum", x, best)


def _scatter_at(c: Converter, x: Val, update: Val, places: Places, kind: str) -> Val:
    """`x` with values written to (kind "") or combined with the rows at `places`.

    update: [*batch, *windows of the operand in its order]; its dimensions of size 1 that are no index do not matter.
    """
    count = math.prod(places.linear.shape)
    size, rest = places.count, math.prod(places.dims[i] for i in places.rest)
    flat = c.e.reshape(places.rows(c, x), (size, rest))
    order = [*places.windows, *places.rest]
    batch = len(places.batch)
    axes_kept = sorted(order)
    values = c.e.reshape(update, (*places.batch, *(update.shape[batch + i] for i in axes_kept)))
    values = c.e.permute(values, [*range(batch), *(batch + axes_kept.index(i) for i in order)])
    values = c.e.reshape(values, (count, rest))
    is_float = x.of.startswith(("f", "bf"))
    if kind == "sum" and is_float and size * count <= ONE_HOT_LIMIT:
        totals = _one_hot_sum(c, flat, places.linear, values, count)
    elif kind in short_names("ttir", "extreme") or (kind == "sum" and not is_float and size * count * rest <= ONE_HOT_LIMIT):
        totals = _one_hot_reduction(c, flat, places.linear, values, count, kind)
    else:
        ids = argument_index(c, places.linear, size) if len(places.axes) == 1 else None
        ids = c.e.full(places.linear) if ids is None else ids
        rows = size + places.has_outside
        if places.has_outside:  # the row behind the last takes what is dropped
            flat = concat(c, [flat, c.e.scalar(0, (1, rest), x.of)], 0)
        if rest == 1:
            form, line, dim = (1, rows), (1, count), 1
        else:
            form, line, dim = (rows, rest), (count, rest), 0
        index = c.e.full(Val(line, places.linear.of, c.e.reshape_ssa(ids, line if rest == 1 else (count, 1))))
        operands = [c.e.full(c.e.reshape(flat, form)), index, c.e.full(c.e.reshape(values, line))]
        attributes = {"dim": dim, "scatter_reduce_type": kind or "invalid"}
        totals = cut_val(c, c.e.reshape(c.e.make("ttir.scatter", operands, attributes), (rows, rest)), 0, 0, size)
    return places.back(c, c.e.reshape(totals, (size, *(places.dims[i] for i in places.rest))))


@rule("stablehlo.scatter")
def scatter(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """x.at[...].set / add / multiply / min / max."""
    if len(vals) != 3:
        raise Unsupported("scatter of several tensors")
    x, indices, update = vals
    if 0 in update.shape:
        return x
    d = numbers(prop(op, "scatter_dimension_numbers"))
    body = [inner.name for inner in op.regions[0].blocks[0].ops]
    returned = op.regions[0].blocks[0].last_op
    if body == ["stablehlo.return"]:
        kind, name = "", ""
        old_value, new_value = op.regions[0].blocks[0].args
        if returned is not None and returned.operands[0] is old_value:
            return x
        if returned is None or returned.operands[0] is not new_value:
            raise Unsupported("scatter with an own function")
    elif len(body) == 2 and body[0] in REDUCE and (kind := REDUCE[body[0]][0]) not in short_names("ttir", "logical_reduction"):
        name = JOIN[kind]
    else:
        raise Unsupported("scatter with an own function", hint="compute the new values and use .at[...].set(values)")
    mapped = d.get("scatter_dims_to_operand_dims", ())
    inserted = (*d.get("inserted_window_dims", ()), *d.get("input_batching_dims", ()))
    window_dims = d.get("update_window_dims", ())
    windows = list(window_dims)
    sizes = tuple(1 if i in inserted else update.shape[windows.pop(0)] for i in range(len(x.shape)))
    parts, batch = _index_parts(c, op, indices, d.get("index_vector_dim", 0), len(mapped))
    # the update as [*batch, one dimension per axis of the operand]
    permuted = c.e.permute(update, [*(i for i in range(len(update.shape)) if i not in window_dims), *window_dims])
    permuted = c.e.reshape(permuted, (*batch, *sizes))
    if math.prod(batch) == 1 and not d.get("input_batching_dims"):
        window = _scatter_window(c, x, c.e.reshape(permuted, sizes), dict(zip(mapped, parts, strict=True)), name)
        if window is not None:
            return window
    if kind == "sum" and x.of == "i1":
        raise Unsupported("scatter that adds booleans")
    if kind == "sum" and len(mapped) == 1:
        along = _add_along(c, x, parts[0], c.e.reshape(permuted, batch) if math.prod(sizes) == 1 else None, mapped[0], _batching(d))
        if along is not None:
            return along
    places = Places(c, x.shape, sizes, dict(zip(mapped, parts, strict=True)), _batching(d), batch)
    places.drop_outside(c, dict(zip(mapped, parts, strict=True)), sizes)
    return _scatter_at(c, x, permuted, places, kind)


def _add_along(c: Converter, x: Val, index: Val, values: Val | None, axis: int, batching: Mapping[int, int]) -> Val | None:
    """One value per row added at a place along one axis, the gradient of take_along_axis: x + (place == index) * value; None for any other scatter.

    index, values: of the batch shape. batching: axis -> batch dimension that runs along it.
    """
    if values is None or not x.of.startswith(("f", "bf")) or axis in batching:
        return None
    others = [i for i in range(len(x.shape)) if i != axis]
    free = [i for i in range(len(index.shape)) if i not in batching.values()]
    if any(i not in batching and x.shape[i] != 1 for i in others) or any(index.shape[i] != 1 for i in free):
        return None
    order = [batching[i] for i in others if i in batching] + free
    form = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
    where, given = (c.e.reshape(c.e.permute(operand, order), form) for operand in (index, values))
    line = c.e.const(np.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(x.shape))]), x.shape, index.of)
    wide = Val(x.shape, where.of, where.ssa, where.const)
    hot = c.e.typecast(c.e.op("eq", wide, line), x.of)
    added = c.e.op("multiply", hot, Val(x.shape, given.of, given.ssa, given.const))
    return added if x.scalar() == 0 else c.e.op("add", x, added)


def _scatter_window(c: Converter, x: Val, window: Val, starts: Mapping[int, Val], name: str) -> Val | None:
    """One window: at a known place cut out and joined, at a computed one of size 1 chosen by a mask; None for the general form."""
    window_result = _window_within(c, x, window, starts, name)
    if window_result is None:
        return None
    for start in [c.e.reshape(starts[i], (1,) * len(x.shape)) for i in starts if x.shape[i] == window.shape[i]]:
        if start.scalar() is None:  # a window as wide as the operand starts at 0 or is dropped
            mask = c.e.op("eq", start, 0)
            window_result = c.e.op("where", Val(x.shape, "i1", mask.ssa, mask.const), window_result, x)
    return window_result


def _window_within(c: Converter, x: Val, window: Val, starts: Mapping[int, Val], name: str) -> Val | None:
    """As `_scatter_window`; computed places of windows as wide as the operand are taken to be 0."""
    zero = c.e.scalar(0, (), "i32")
    begins = [c.e.reshape(starts[i], ()) if i in starts else zero for i in range(len(x.shape))]
    places = [begin.scalar() for begin in begins]
    partial = [i for i, (a, b) in enumerate(zip(x.shape, window.shape, strict=True)) if a != b]
    is_known = all(places[i] is not None for i in partial)
    if is_known and any(place is not None and not 0 <= int(place) <= a - b for place, a, b in zip(places, x.shape, window.shape, strict=True)):
        return x  # JAX drops updates out of range
    if not name:
        return update_slice(c, x, window, begins) if is_known or (len(partial) == 1 and window.shape[partial[0]] == 1) else None
    if not is_known:
        return None
    low = [int(places[i] or 0) if i in partial else 0 for i in range(len(x.shape))]
    there = slice_val(c, x, low, [a + b for a, b in zip(low, window.shape, strict=True)])
    return update_slice(c, x, c.e.op(name, there, window), begins)
