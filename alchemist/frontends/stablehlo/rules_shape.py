"""Shape, slicing, joining, gather and scatter."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.frontends.stablehlo.convert import Converter, prop, rule, type_of
from alchemist.frontends.stablehlo.rules_eltwise import array_of, elementwise, fold
from alchemist.frontends.stablehlo.values import Shape, Unsupported, Val, shrink
from alchemist.ir import access


def numbers(text: str) -> dict[str, Any]:
    """`#stablehlo.gather<offset_dims = [0], index_vector_dim = 1>` -> {"offset_dims": (0,), "index_vector_dim": 1}."""
    lists = {
        m[1]: tuple(int(p) for p in m[2].split(",") if p.strip())
        for m in re.finditer(r"(\w+) = \[([^\]]*)\]", text)
    }
    return lists | {m[1]: int(m[2]) for m in re.finditer(r"(\w+) = (\d+)", text)}


@rule("stablehlo.broadcast_in_dim")
def broadcast_in_dim(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return c.e.broadcast(vals[0], prop(op, "broadcast_dimensions"), type_of(op.results[0])[0])


@rule("stablehlo.reshape")
def reshape(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return c.e.reshape(vals[0], type_of(op.results[0])[0])


@rule("stablehlo.transpose")
def transpose(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return c.e.permute(vals[0], prop(op, "permutation"))


def slice_val(
    c: Converter, val: Val, begins: Sequence[int], ends: Sequence[int], steps: Sequence[int] | None = None
) -> Val:
    """Strided slice; broadcast dimensions stay virtual."""
    steps = steps or [1] * len(begins)
    shape = tuple(len(range(b, e, s)) for b, e, s in zip(begins, ends, steps, strict=True))
    if shape == val.shape:
        return val
    kept = [size == 1 and full != 1 for size, full in zip(val.compact, val.shape, strict=True)]
    if val.const is not None:
        index = tuple(
            slice(0, 1) if k else slice(b, e, s) for k, b, e, s in zip(kept, begins, ends, steps, strict=True)
        )
        return Val(shape, val.of, const=val.const[index])
    b = [0 if k else v for k, v in zip(kept, begins, strict=True)]
    e = [1 if k else v for k, v in zip(kept, ends, strict=True)]
    s = [1 if k else v for k, v in zip(kept, steps, strict=True)]
    compact = tuple(len(range(x, y, z)) for x, y, z in zip(b, e, s, strict=True))
    if compact == val.compact:
        return Val(shape, val.of, c.e.small(val))
    ssa = c.e.emit(
        "ttir.slice_static", [c.e.small(val)], {"begins": b, "ends": e, "step": s}, compact, val.of
    )
    return Val(shape, val.of, ssa)


@rule("stablehlo.slice")
def static_slice(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return slice_val(c, vals[0], prop(op, "start_indices"), prop(op, "limit_indices"), prop(op, "strides"))


def concat(c: Converter, vals: Sequence[Val], axis: int) -> Val:
    vals = [val for val in vals if val.shape[axis]] or list(vals[:1])
    if len(vals) == 1:
        return vals[0]
    of = vals[0].of
    shape = list(vals[0].shape)
    shape[axis] = sum(val.shape[axis] for val in vals)
    if all(val.const is not None for val in vals):
        return c.e.const(shrink(np.concatenate([array_of(val, "") for val in vals], axis)), tuple(shape), of)
    return c.e.make("ttir.concat", [[c.e.full(val) for val in vals]], {"dim": axis}, shape, of)


@rule("stablehlo.concatenate")
def concatenate(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return concat(c, vals, prop(op, "dimension"))


@rule("stablehlo.reverse")
def reverse(c: Converter, op: Operation, vals: list[Val]) -> Val:
    x, dims = vals[0], prop(op, "dimensions")
    real = [d for d in dims if x.compact[d] != 1]
    if x.const is not None:
        return Val(x.shape, x.of, const=np.flip(x.const, tuple(real)))
    if not real:
        return x
    return Val(x.shape, x.of, c.e.emit("ttir.reverse", [c.e.small(x)], {"dimensions": real}, x.compact, x.of))


@rule("stablehlo.pad")
def pad(c: Converter, op: Operation, vals: list[Val]) -> Val:
    x, fill = vals
    low, high, interior = (
        prop(op, "edge_padding_low"),
        prop(op, "edge_padding_high"),
        prop(op, "interior_padding"),
    )
    value = fill.scalar()
    if any(interior):
        raise Unsupported("interior padding")
    if value is None:
        raise Unsupported("padding with a computed value")
    begins = [max(0, -n) for n in low]
    ends = [size - max(0, -n) for size, n in zip(x.shape, high, strict=True)]
    x = slice_val(c, x, begins, ends)
    pairs = [(max(0, a), max(0, b)) for a, b in zip(low, high, strict=True)]
    if not any(any(p) for p in pairs):
        return x
    shape, of = type_of(op.results[0])
    if x.const is not None:
        return c.e.const(shrink(np.pad(array_of(x, ""), pairs, constant_values=value)), shape, of)
    flat = [n for pair in pairs for n in pair]
    return c.e.make("ttir.pad", [c.e.full(x)], {"padding": flat, "value": float(value)}, shape, of)


# --- look-ups -----------------------------------------------------------------------------------------------------------


def unwrap_index(value: SSAValue) -> SSAValue:
    """`where(i < 0, i + n, i)` -> i: indices are unsigned on the device, so negative ones cannot come in."""
    op = value.op if isinstance(value, OpResult) else None
    if op is not None and op.name == "ttir.reshape":
        source: SSAValue = op.operands[0]
        inner = unwrap_index(source)
        return value if inner is source else inner
    if op is None or op.name != "ttir.where":
        return value
    mask, wrapped = (v.op if isinstance(v, OpResult) else None for v in (op.operands[0], op.operands[1]))
    third: SSAValue = op.operands[2]
    if mask is not None and mask.name == "ttir.lt" and mask.operands[0] is third:
        if wrapped is not None and wrapped.name == "ttir.add" and third in wrapped.operands:
            return third
    return value


def take(c: Converter, x: Val, axis: int, index: Val) -> Val:
    """Rows of `x` along `axis`: result shape is x.shape[:axis] + index.shape + x.shape[axis + 1:]."""
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    if index.const is not None:
        ids = np.clip(array_of(index, "").astype(np.int64), 0, x.shape[axis] - 1)
        if x.const is not None:
            return c.e.const(shrink(np.take(array_of(x, ""), ids, axis)), shape, x.of)
        static = _as_slice(ids.reshape(-1))
        if static is not None:
            begins, ends, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
            begins[axis], ends[axis], steps[axis] = static
            return c.e.reshape(slice_val(c, x, begins, ends, steps), shape)
    order = [axis, *(i for i in range(len(x.shape)) if i != axis)]
    rest = tuple(x.shape[i] for i in order[1:])
    table = c.e.full(c.e.reshape(c.e.permute(x, order), (x.shape[axis], math.prod(rest))))
    ids_ssa = unwrap_index(c.e.full(index))
    if access.shape(ids_ssa) != index.shape:
        ids_ssa = c.e.reshape_ssa(ids_ssa, index.shape)
    flat = c.e.reshape_ssa(ids_ssa, (1, math.prod(index.shape))) if len(index.shape) != 2 else ids_ssa
    flat_shape = access.shape(flat)
    rows = c.e.make("ttir.embedding", [flat, table], None, (*flat_shape, math.prod(rest)), x.of)
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
            begins, ends = [0] * len(x.shape), list(x.shape)
            begins[axis] = min(max(int(value), 0), x.shape[axis] - size)
            ends[axis] = begins[axis] + size
            x = slice_val(c, x, begins, ends)
        else:
            index = (
                elementwise(
                    c,
                    "add",
                    [c.e.reshape(start, (1,)), c.e.const(np.arange(size), (size,), start.of)],
                    (size,),
                    start.of,
                )
                if size > 1
                else c.e.reshape(start, (1,))
            )
            x = take(c, x, axis, index)
    return x


@rule("stablehlo.dynamic_update_slice")
def dynamic_update_slice(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return update_slice(c, vals[0], vals[1], vals[2:])


def update_slice(c: Converter, x: Val, update: Val, starts: Sequence[Val]) -> Val:
    """`x` with the window at `starts` replaced."""
    if x.shape == update.shape:
        return update
    known = [start.scalar() for start in starts]
    axes = [i for i, (a, b) in enumerate(zip(x.shape, update.shape, strict=True)) if a != b]
    if all(known[axis] is not None for axis in axes):
        begin = {axis: min(max(int(known[axis]), 0), x.shape[axis] - update.shape[axis]) for axis in axes}
        if x.const is not None and update.const is not None:
            array = array_of(x, "").copy()
            array[tuple(slice(begin.get(i, 0), begin.get(i, 0) + n) for i, n in enumerate(update.shape))] = (
                array_of(update, "")
            )
            return c.e.const(shrink(array), x.shape, x.of)
        return _patch(c, x, update, begin, axes)
    if len(axes) == 1 and update.shape[axes[0]] == 1:
        axis = axes[0]
        size = x.shape[axis]
        positions = c.e.const(
            np.arange(size).reshape([size if i == axis else 1 for i in range(len(x.shape))]),
            x.shape,
            starts[axis].of,
        )
        start = c.e.reshape(starts[axis], (1,) * len(x.shape))
        mask = elementwise(c, "eq", [positions, start], x.shape, "i1")
        spread = Val(x.shape, x.of, update.ssa, update.const)
        return elementwise(c, "where", [mask, spread, x], x.shape, x.of)
    raise Unsupported("updating a window at a computed place")


def _patch(c: Converter, x: Val, update: Val, begin: dict[int, int], axes: Sequence[int]) -> Val:
    """Concatenates what is before, the new window, and what is behind, axis by axis."""
    axis, *others = axes
    start, size = begin[axis], update.shape[axis]

    def part(low: int, high: int) -> Val:
        begins, ends = [0] * len(x.shape), list(x.shape)
        begins[axis], ends[axis] = low, high
        return slice_val(c, x, begins, ends)

    middle = _patch(c, part(start, start + size), update, begin, others) if others else update
    parts = [part(0, start)] if start else []
    parts.append(middle)
    if start + size < x.shape[axis]:
        parts.append(part(start + size, x.shape[axis]))
    return concat(c, parts, axis)


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
        return _gather_along(c, x, indices, d, sizes, shape)
    # one index array per mapped axis, of the batch shape
    if vector_dim == len(indices.shape):
        parts = [indices]
        batch_shape = indices.shape
    else:
        batch_shape = (*indices.shape[:vector_dim], *indices.shape[vector_dim + 1 :])
        parts = []
        for k in range(len(start_map)):
            begins, ends = [0] * len(indices.shape), list(indices.shape)
            begins[vector_dim], ends[vector_dim] = k, k + 1
            parts.append(c.e.reshape(slice_val(c, indices, begins, ends), batch_shape))
    # axes that are cut to a window starting at the same constant everywhere are slices
    mapped: list[tuple[int, Val]] = []
    for axis, index in zip(start_map, parts, strict=True):
        value = index.scalar()
        if value is not None and axis not in collapsed:
            begin = min(max(int(value), 0), x.shape[axis] - sizes[axis])
            begins, ends = [0] * len(x.shape), list(x.shape)
            begins[axis], ends[axis] = begin, begin + sizes[axis]
            x = slice_val(c, x, begins, ends)
        elif sizes[axis] == x.shape[axis] and axis not in collapsed:
            continue
        else:
            mapped.append((axis, index))
    for axis, size in enumerate(sizes):
        if size != x.shape[axis] and axis not in [a for a, _ in mapped]:
            begins, ends = [0] * len(x.shape), list(x.shape)
            ends[axis] = size
            x = slice_val(c, x, begins, ends)
    windows = [(axis, index) for axis, index in mapped if axis not in collapsed]
    if windows:
        if len(mapped) > 1 or math.prod(batch_shape) != 1:
            raise Unsupported("windows at several computed places")
        axis, index = windows[0]
        start = c.e.reshape(index, (1,))
        size = sizes[axis]
        line = c.e.const(np.arange(size), (size,), start.of)
        ids = (
            start
            if size == 1
            else fold(np.add, [start, line], (size,), start.of)
            or elementwise(c, "add", [start, line], (size,), start.of)
        )
        x = take(c, x, axis, ids)
        mapped = []
    if not mapped:
        kept = tuple(n for i, n in enumerate(x.shape) if i not in collapsed)
        rows = c.e.reshape(x, (*(1,) * len(batch_shape), *kept))
        if math.prod(batch_shape) != 1:
            rows = Val((*batch_shape, *kept), x.of, rows.ssa, rows.const)
        return _place(c, rows, len(batch_shape), offset, shape)
    axes = [axis for axis, _ in mapped]
    rest = [i for i in range(len(x.shape)) if i not in axes and i not in collapsed]
    if len(axes) == 1:
        others = [i for i in range(len(x.shape)) if i in rest or i == axes[0]]
        cut = c.e.reshape(x, tuple(x.shape[i] for i in others))
        taken = take(c, cut, others.index(axes[0]), mapped[0][1])
        position, count = others.index(axes[0]), len(batch_shape)
        order = [
            *range(position, position + count),
            *range(position),
            *range(position + count, len(taken.shape)),
        ]
        return _place(c, c.e.permute(taken, order), count, offset, shape)
    order = [*axes, *rest, *(i for i in range(len(x.shape)) if i not in axes and i not in rest)]
    moved = c.e.permute(x, order)
    lengths = [x.shape[axis] for axis in axes]
    table = c.e.reshape(moved, (math.prod(lengths), *(x.shape[i] for i in rest)))
    linear: Val | None = None
    stride = 1
    for (_, index), length in zip(reversed(mapped), reversed(lengths), strict=True):
        factor = c.e.scalar(stride, batch_shape, index.of)
        term = (
            index
            if stride == 1
            else fold(np.multiply, [index, factor], batch_shape, index.of)
            or elementwise(c, "multiply", [index, factor], batch_shape, index.of)
        )
        linear = (
            term
            if linear is None
            else fold(np.add, [linear, term], batch_shape, index.of)
            or elementwise(c, "add", [linear, term], batch_shape, index.of)
        )
        stride *= length
    assert linear is not None
    return _place(c, take(c, table, 0, linear), len(batch_shape), offset, shape)


def _place(c: Converter, rows: Val, batch: int, offset: Sequence[int], shape: Shape) -> Val:
    """Moves [batch ..., slice ...] to the result's order, where `offset` are the positions of the slice dimensions."""
    rank = len(shape)
    order = [0] * rank
    slices, batches = iter(range(batch, rank)), iter(range(batch))
    for position in range(rank):
        order[position] = next(slices) if position in offset else next(batches)
    return c.e.permute(rows, order)


def _gather_along(c: Converter, x: Val, indices: Val, d: dict[str, Any], sizes: Shape, shape: Shape) -> Val:
    """take_along_axis: every other dimension is a batching dimension."""
    (axis,) = d.get("start_index_map", (None,)) if len(d.get("start_index_map", ())) == 1 else (None,)
    batching = d["operand_batching_dims"]
    others = [i for i in range(len(x.shape)) if i != axis and i not in batching]
    if axis is None or any(size != 1 for size in sizes) or any(x.shape[i] != 1 for i in others):
        raise Unsupported("gather with batching dimensions over several axes")
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
    ids = unwrap_index(c.e.full(index))
    if access.shape(ids) != tuple(lengths):
        ids = c.e.reshape_ssa(ids, tuple(lengths))
    found = c.e.make("ttir.gather", [c.e.full(x), ids], {"dim": axis}, tuple(lengths), x.of)
    if math.prod(shape) != math.prod(lengths) or sorted(order) != order:
        raise Unsupported("gather with batching dimensions in another order")
    return c.e.reshape(found, shape)


def _scatter_add(c: Converter, x: Val, indices: Val, update: Val, axis: int, rows: int) -> Val:
    """x.at[indices].add(update) along one axis, as x + one_hot(indices)^T @ update."""
    count, size = math.prod(update.shape[:rows]), x.shape[axis]
    rest = tuple(n for i, n in enumerate(x.shape) if i != axis)
    if update.shape[rows:] != rest or math.prod(indices.shape) != count:
        raise Unsupported("scatter of windows")
    ids = c.e.reshape(indices, (1, count))
    line = c.e.const(np.arange(size).reshape(size, 1), (size, 1), ids.of)
    same = fold(np.equal, [line, ids], (size, count), "i1") or elementwise(c, "eq", [line, ids], (size, count), "i1")
    picked = c.e.full(c.e.typecast(same, x.of))
    values = c.e.full(c.e.reshape(update, (count, math.prod(rest))))
    summed = c.e.make("ttir.matmul", [picked, values], None, (size, math.prod(rest)), x.of)
    moved = c.e.reshape(summed, (size, *rest))
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(x.shape))]
    return elementwise(c, "add", [x, c.e.permute(moved, order)], x.shape, x.of)


@rule("stablehlo.scatter")
def scatter(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """x.at[window].set(values) with a window at a known place."""
    if len(vals) != 3:
        raise Unsupported("scatter of several tensors")
    x, indices, update = vals
    d = numbers(prop(op, "scatter_dimension_numbers"))
    body = [inner.name for inner in op.regions[0].blocks[0].ops]
    mapped = d.get("scatter_dims_to_operand_dims", ())
    if body == ["stablehlo.add", "stablehlo.return"] and len(mapped) == 1 and d.get("inserted_window_dims") == mapped:
        window_dims = d.get("update_window_dims", ())
        places = [i for i in range(len(update.shape)) if i not in window_dims]
        if x.of.startswith(("f", "bf")):
            moved = c.e.permute(update, [*places, *window_dims])
            return _scatter_add(c, x, indices, moved, mapped[0], len(places))
    if body != ["stablehlo.return"] or d.get("input_batching_dims"):
        raise Unsupported(
            "scatter that combines values", hint="only .at[...].set(...) of a fixed window is known"
        )
    place = array_of(indices, "the place of the update").reshape(-1)
    if place.size != len(mapped):
        raise Unsupported("scatter to several places")
    inserted = d.get("inserted_window_dims", ())
    windows = list(d.get("update_window_dims", ()))
    window: list[int] = []
    for i in range(len(x.shape)):
        window.append(1 if i in inserted else update.shape[windows.pop(0)])
    starts = [c.e.scalar(0, (), "i32") for _ in x.shape]
    for axis, begin in zip(mapped, place, strict=True):
        starts[axis] = c.e.scalar(int(begin), (), "i32")
    return update_slice(c, x, c.e.reshape(update, tuple(window)), starts)
