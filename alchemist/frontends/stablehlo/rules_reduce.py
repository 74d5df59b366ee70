"""Reductions, windows, sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends.stablehlo.convert import Converter, prop, rule, type_of
from alchemist.frontends.stablehlo.rules_eltwise import JOIN, REDUCE, array_of
from alchemist.frontends.stablehlo.rules_shape import pad_val, padded, slice_val, spread_val
from alchemist.frontends.stablehlo.values import Unsupported, Val, shrink
from alchemist.ir.attributes import numpy_dtype, tensor, to_python
from alchemist.ir.op_class import short_names


def _body(op: Operation) -> list[str]:
    """Names of the ops of a reducer; `select(x, true, false)` around its result is left out, as frameworks write booleans."""
    block = op.regions[0].blocks[0]
    names = [inner.name for inner in block.ops]
    selects = [inner for inner in block.ops if inner.name == "stablehlo.select"]
    if len(selects) == 1 and names[-2:] == ["stablehlo.select", "stablehlo.return"]:
        sides = [getattr(operand.owner, "properties", {}).get("value") for operand in selects[0].operands[1:]]
        if [bool(np.asarray(to_python(side)).all()) if side is not None else None for side in sides] == [True, False]:
            names = [name for name in names if not name.endswith((".constant", ".select"))]
    return names


def _is_neutral(kind: str, init: Val) -> bool:
    """Whether the start value changes nothing; integer extremes count as infinities."""
    value = init.scalar()
    if value is None:
        return False
    if kind in short_names("ttir", "extreme") and init.of.lstrip("su").startswith("i"):
        info = np.iinfo(init.const.dtype) if init.const is not None and init.const.dtype.kind in "iu" else None
        return info is not None and value == (info.min if kind == "max" else info.max)
    return bool(value == {"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf, "reduce_or": 0, "reduce_and": 1}[kind])


@rule("stablehlo.reduce")
def reduce(c: Converter, op: Operation, vals: list[Val]) -> Val | Sequence[Val]:
    dims = list(prop(op, "dimensions"))
    body = _body(op)
    if len(vals) == 4:
        return _arg_extreme(c, op, vals, dims)
    if len(vals) != 2 or len(body) != 2 or body[0] not in REDUCE:
        raise Unsupported("a reduction with an own function")
    name, function, _ = REDUCE[body[0]]
    x, init = vals
    reduced = reduce_val(c, name, function, x, dims)
    return reduced if _is_neutral(name, init) else _joined(c, name, reduced, init)


def _joined(c: Converter, name: str, reduced: Val, init: Val) -> Val:
    """A reduction whose start value counts: it is one more element."""
    spread = c.e.reshape(init, (1,) * len(reduced.shape))
    return c.e.op(JOIN[name], reduced, Val(reduced.shape, reduced.of, spread.ssa, spread.const))


def reduce_val(c: Converter, name: str, function: object, x: Val, dims: Sequence[int]) -> Val:
    shape = tuple(n for i, n in enumerate(x.shape) if i not in dims)
    if x.const is not None and callable(function):
        wide = array_of(x).astype(np.float32) if x.of.startswith("bf") else array_of(x)
        return c.e.const(shrink(np.asarray(function(wide, axis=tuple(dims)))), shape, x.of)
    if not dims:
        return x
    if any(x.compact[i] != x.shape[i] for i in dims):
        x = Val(x.shape, x.of, c.e.full(x))
    ssa = c.e.emit(f"ttir.{name}", [c.e.small(x)], {"dim_arg": dims, "keep_dim": False}, x.of)
    return Val(shape, x.of, ssa)


def _arg_extreme(c: Converter, op: Operation, vals: list[Val], dims: Sequence[int]) -> list[Val]:
    """(max, argmax) or (min, argmin): values with an iota along the one reduced dimension."""
    x, positions = vals[0], vals[1]
    first = next((inner for inner in op.regions[0].blocks[0].ops if inner.name == "stablehlo.compare"), None)
    line = positions.const
    if first is None or len(dims) != 1 or line is None or line.size != x.shape[dims[0]]:
        raise Unsupported("a reduction of several tensors")
    if not (line.reshape(-1) == np.arange(line.size)).all():
        raise Unsupported("a reduction of several tensors")
    direction = str(prop(first, "comparison_direction"))
    largest = "GT" in direction or "GE" in direction
    (_, of), (_, index_of) = type_of(op.results[0]), type_of(op.results[1])
    source = c.e.full(x)
    attributes = {"dim_arg": list(dims), "keep_dim": False}
    best = c.e.make("ttir.max" if largest else "ttir.min", [source], attributes, of)
    keys = source
    if not largest:  # the complement of integers is in the opposite order, also where a number has no negative
        inverse = "neg" if x.of.startswith(("f", "bf")) else "logical_not" if x.of == "i1" else "bitwise_not"
        keys = c.e.emit(f"ttir.{inverse}", [source])
    return [best, c.e.make("ttir.argmax", [keys], attributes, index_of)]


# --- windows ------------------------------------------------------------------------------------------------------------


@rule("stablehlo.reduce_window")
def reduce_window(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Pools (on NHWC with permutes around where needed) and cumulative sums."""
    if len(vals) != 2:
        raise Unsupported("windows over several tensors")
    x, init = vals
    rank = len(x.shape)
    ones = (1,) * rank
    window = prop(op, "window_dimensions")
    strides = prop(op, "window_strides") or ones
    dilation = prop(op, "window_dilations") or ones
    padding_attribute = prop(op, "padding")
    padding = np.zeros((rank, 2), np.int64) if padding_attribute is None else np.asarray(padding_attribute).reshape(rank, 2)
    body = _body(op)
    name = REDUCE.get(body[0], ("",))[0] if len(body) == 2 else _extreme_body(op)
    if "stablehlo.log_plus_one" in body and "stablehlo.exponential" in body:
        name = "logsumexp"
    if not name or name in short_names("ttir", "logical_reduction"):
        raise Unsupported("windows with an own function")
    for axis, step in enumerate(prop(op, "base_dilations") or ones):
        x = padded(c, x, [0] * rank, [0] * rank, init, [step - 1 if i == axis else 0 for i in range(rank)]) if step > 1 else x
    shape, _ = type_of(op.results[0])
    neutral = _is_neutral("max" if name == "logsumexp" else name, init)
    if not neutral and (name == "logsumexp" or padding.any() or x.shape != vals[0].shape):  # StableHLO reads it there, XLA does not
        raise Unsupported("windows with an own start value, and padding or holes")
    reduced = _reduced_windows(c, x, (window, strides, dilation, padding), name, shape)
    return reduced if neutral else _joined(c, name, reduced, init)


def _reduced_windows(c: Converter, x: Val, how: Window, name: str, shape: tuple[int, ...]) -> Val:
    window, strides, _, padding = how
    rank, of = len(x.shape), x.of
    if x.const is not None:
        return _fold_window(c, x, how, name, shape, of)
    axes = [i for i in range(rank) if window[i] != 1 or strides[i] != 1 or padding[i].any()]
    if not axes:
        return x
    if len(axes) == 1 and shape == x.shape:
        (axis,) = axes
        size = x.shape[axis]
        if window[axis] == size and tuple(padding[axis]) in ((size - 1, 0), (0, size - 1)) and name in ("sum", "prod", "logsumexp"):
            return _cumulative(c, x, axis, name, reverse=tuple(padding[axis]) == (0, size - 1))
    if name in ("prod", "logsumexp"):
        raise Unsupported("windows with an own function")
    if not of.startswith(("f", "bf")):
        return _whole_windows(c, x, axes, how, name, shape)
    return _windows(c, x, axes, how, name)


MOST_TAPS = 64
"""Largest window of integers along an axis: each of its elements is a slice and an op."""


def _whole_windows(c: Converter, x: Val, axes: Sequence[int], how: Window, name: str, shape: tuple[int, ...]) -> Val:
    """Of integers, which the library does not pool: the elements of each window one after another, axis by axis."""
    window, strides, dilation, padding = how
    bounds = np.iinfo(np.int32 if x.of in ("i32", "si32", "i64", "si64") else numpy_dtype(x.of)) if x.of != "i1" else None
    neutral = (name == "min") if bounds is None else 0 if name == "sum" else bounds.min if name == "max" else bounds.max
    for axis in axes:
        if window[axis] > MOST_TAPS:
            raise Unsupported(f"windows of {window[axis]} integers (pools are of floats: cast to float32)")
        low, high = ([int(pad) if i == axis else 0 for i in range(len(x.shape))] for pad in padding[axis])
        wide = padded(c, x, low, high, c.e.scalar(neutral, (), x.of), [0] * len(x.shape)) if any((*low, *high)) else x
        dims = tuple(shape[i] if i == axis else n for i, n in enumerate(x.shape))
        total: Val | None = None
        for tap in range(window[axis]):
            begins, ends, steps = [0] * len(dims), list(dims), [1] * len(dims)
            begins[axis], steps[axis] = tap * dilation[axis], strides[axis]
            ends[axis] = begins[axis] + (dims[axis] - 1) * strides[axis] + 1
            part = slice_val(c, wide, begins, ends, steps)
            total = part if total is None else c.e.op(JOIN[name], total, part)
        assert total is not None
        x = total
    return x


def _windows(c: Converter, x: Val, axes: Sequence[int], how: Window, name: str) -> Val:
    """Pools over two axes at a time: windows are separable."""
    if len(x.shape) < 2:
        window, strides, dilation, padding = how
        grown = (window, strides, dilation, padding)
        wide = Val((1, *x.shape), x.of, c.e.reshape_ssa(c.e.full(x), (1, *x.shape)))
        grown = ((1, *window), (1, *strides), (1, *dilation), np.concatenate([np.zeros((1, 2), np.int64), padding]))
        reduced = _windows(c, wide, [axis + 1 for axis in axes], grown, name)
        return c.e.reshape(reduced, reduced.shape[1:])
    for first in range(0, len(axes), 2):
        some = list(axes[first : first + 2])
        x = _pool_over(c, x, some, how, name)
    return x


def _pool_over(c: Converter, x: Val, axes: Sequence[int], how: Window, name: str) -> Val:
    """The part of `how` that is along `axes`."""
    ones = (1,) * len(x.shape)
    window, strides, dilation, pads = how
    window, strides, dilation = ([part[i] if i in axes else 1 for i in range(len(ones))] for part in (window, strides, dilation))
    padding = np.array([pads[i] if i in axes else (0, 0) for i in range(len(ones))])
    shape = tuple((n + int(pad.sum()) - (w - 1) * d - 1) // s + 1 for n, w, s, d, pad in zip(x.shape, window, strides, dilation, padding, strict=True))
    return _pool(c, x, axes, (window, strides, dilation, padding), name, shape)


def _extreme_body(op: Operation) -> str:
    """torch's maximum that lets NaN through: compare + selects."""
    for inner in op.regions[0].blocks[0].ops:
        if inner.name == "stablehlo.compare":
            direction = str(prop(inner, "comparison_direction"))
            return "max" if "G" in direction else "min" if "L" in direction else ""
    return ""


def _cumulative(c: Converter, x: Val, axis: int, name: str, reverse: bool) -> Val:
    if name == "logsumexp":
        peak = c.e.emit("ttir.max", [c.e.full(x)], {"dim_arg": [axis], "keep_dim": True})
        top = Val(x.shape, x.of, peak)
        powers = c.e.op("exp", c.e.op("subtract", x, top))
        total = _cumulative(c, powers, axis, "sum", reverse)
        return c.e.op("add", c.e.op("log", total), top)
    value = c.e.full(x)
    flip = {"dimensions": [axis]}
    if reverse:
        value = c.e.emit("ttir.reverse", [value], flip)
    value = c.e.emit("ttir.cumsum" if name == "sum" else "ttir.cumprod", [value], {"dim": axis})
    return c.e.make("ttir.reverse", [value], flip) if reverse else Val(x.shape, x.of, value)


Window = tuple[Sequence[int], Sequence[int], Sequence[int], "np.ndarray[tuple[int, int], np.dtype[np.int64]]"]


def _fold_window(c: Converter, x: Val, how: Window, name: str, shape: tuple[int, ...], of: str) -> Val:
    """The counts by which average pools divide: windows over a constant."""
    window, strides, dilation, padding = how
    fill = {"sum": 0, "max": -np.inf, "min": np.inf, "prod": 1, "logsumexp": -np.inf}[name]
    array = array_of(x).astype(np.float64)
    padded = np.pad(array, [tuple(pair) for pair in padding], constant_values=fill)
    extent = tuple((w - 1) * d + 1 for w, d in zip(window, dilation, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(padded, extent)
    view = view[(*(slice(None, None, s) for s in strides), *(slice(None, None, d) for d in dilation))]
    functions: dict[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "logsumexp": np.logaddexp.reduce}
    out = functions[name](view, axis=tuple(range(len(shape), 2 * len(shape))))
    return c.e.const(shrink(np.asarray(out)), shape, of)


def _pool(c: Converter, x: Val, axes: Sequence[int], how: Window, name: str, shape: tuple[int, ...]) -> Val:
    """2-d pool over `axes` as [N, H, W, C]: other dimensions before the first axis are batch, the last one channels."""
    window, strides, dilation, padding = how
    if len(axes) == 1:  # a neighbour of size-1 window makes the second spatial dimension
        only = axes[0]
        near = [i for i in (only + 1, only - 1) if 0 < i < len(x.shape) - (x.shape[-1] != 1 and only != len(x.shape) - 1)]
        extra = next((i for i in near if i not in axes), None)
        if extra is None:
            widened = Val((*x.shape, 1), x.of, c.e.reshape_ssa(c.e.full(x), (*x.shape, 1)))
            pad = np.concatenate([padding, np.zeros((1, 2), np.int64)])
            made = _pool(c, widened, [only, len(x.shape)], ((*window, 1), (*strides, 1), (*dilation, 1), pad), name, (*shape, 1))
            return c.e.reshape(made, shape)
        axes = sorted((only, extra))
    rest = [i for i in range(len(x.shape)) if i not in axes]
    behind = [i for i in rest if i > axes[-1]]
    channels = behind or rest[-1:]
    batch = [i for i in rest if i not in channels]
    order = [*batch, *axes, *channels]
    permuted = c.e.permute(Val(x.shape, x.of, c.e.full(x)), order)
    n, ch = math.prod(x.shape[i] for i in batch), math.prod(x.shape[i] for i in channels)
    flat = c.e.reshape(permuted, (n, x.shape[axes[0]], x.shape[axes[1]], ch))
    attributes = {
        "kernel": [window[i] for i in axes],
        "stride": [strides[i] for i in axes],
        "dilation": [dilation[i] for i in axes],
        "padding": [int(padding[i][0]) for i in axes] + [int(padding[i][1]) for i in axes],
        "ceil_mode": False,
    }
    value = c.e.full(flat)
    if name == "sum":
        mean = c.e.make("ttir.avg_pool2d", [value], attributes | {"count_include_pad": True})
        made = mean
    elif name == "min":
        negated = c.e.emit("ttir.neg", [value])
        made = c.e.op("neg", c.e.make("ttir.max_pool2d", [negated], attributes))
    else:
        made = c.e.make("ttir.max_pool2d", [value], attributes)
    unfolded = c.e.reshape(made, tuple(shape[i] for i in order))
    back = c.e.permute(unfolded, [order.index(i) for i in range(len(shape))])
    if name != "sum":
        return back
    count = math.prod(window[i] for i in axes)  # last, so that the division by it that follows meets it
    return c.e.op("multiply", back, float(count))


@rule("stablehlo.select_and_scatter")
def select_and_scatter(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """The gradient of a max pool: every value of `source` goes to the first largest element of its window.

    Window by window position: a strided slice of the operand, compared with the largest one, takes its part.
    """
    x, source, init = vals
    rank = len(x.shape)
    window = prop(op, "window_dimensions") or (1,) * rank
    strides = prop(op, "window_strides") or (1,) * rank
    padding_attribute = prop(op, "padding")
    padding = np.zeros((rank, 2), np.int64) if padding_attribute is None else np.asarray(padding_attribute).reshape(rank, 2)
    compare = next((inner for inner in op.regions[0].blocks[0].ops if inner.name == "stablehlo.compare"), None)
    scatter = [inner.name for inner in op.regions[1].blocks[0].ops]
    direction = str(prop(compare, "comparison_direction")) if compare is not None else ""
    if "G" not in direction or scatter[:1] != ["stablehlo.add"] or init.scalar() != 0:
        raise Unsupported("select_and_scatter of this kind")
    if math.prod(window) > 64:
        raise Unsupported("the gradient of a pool with a large window")
    lowest = float(np.finfo(np.float32).min) if x.of.startswith(("f", "bf")) else int(np.iinfo(numpy_dtype(x.of)).min) if x.of != "i1" else False
    low, high = [int(n) for n in padding[:, 0]], [int(n) for n in padding[:, 1]]
    padded = pad_val(c, x, low, high, lowest)
    places = list(np.ndindex(*window))
    spans = [[(b, b + (n - 1) * s + 1, s) for b, n, s in zip(place, source.shape, strides, strict=True)] for place in places]
    parts = [slice_val(c, padded, *(list(column) for column in zip(*span, strict=True))) for span in spans]
    best = parts[0]
    for part in parts[1:]:
        best = c.e.op("maximum", best, part)
    rest: Val | None = None
    total: Val | None = None
    for place, part in zip(places, parts, strict=True):
        is_best = c.e.op("eq", part, best)
        if rest is not None:
            is_best = c.e.op("logical_and", is_best, rest)
        off = c.e.op("logical_not", is_best)
        rest = off if rest is None else c.e.op("logical_and", rest, off)
        value = c.e.op("where", is_best, source, 0.0)
        for axis, step in enumerate(strides):
            value = spread_val(c, value, axis, step - 1, c.e.scalar(0.0, (), x.of))
        behind = [p - b - n for p, b, n in zip(padded.shape, place, value.shape, strict=True)]
        value = pad_val(c, value, list(place), behind, 0.0)
        total = value if total is None else c.e.op("add", total, value)
    assert total is not None
    return slice_val(c, total, low, [p - h for p, h in zip(padded.shape, high, strict=True)])


# --- sorting ------------------------------------------------------------------------------------------------------------


@rule("chlo.top_k")
def top_k(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    return top_values(c, op, vals[0], len(vals[0].shape) - 1)


def top_values(c: Converter, op: Operation, x: Val, axis: int, largest: bool = True) -> Sequence[Val]:
    """The largest (or smallest) values along an axis and their places: as many as the results have."""
    (shape, of), (_, index_of) = type_of(op.results[0]), type_of(op.results[1])
    dim = -1 if axis == len(shape) - 1 else axis
    attributes = {"k": shape[axis], "dim": dim, "largest": largest, "sorted": True}
    values, indices = c.e.b.op("ttir.topk", [c.e.full(x)], attributes, [tensor(shape, of), tensor(shape, index_of)])
    return [Val(shape, of, values), Val(shape, index_of, indices)]


@rule("stablehlo.sort")
def sort(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """By one or more keys, the first is the most significant; other tensors follow."""
    axis = prop(op, "dimension", -1) % len(vals[0].shape)
    block = op.regions[0].blocks[0]
    compares = [inner for inner in block.ops if inner.name == "stablehlo.compare"]
    if not compares:
        raise Unsupported("a sort with an own order")
    direction = str(prop(compares[-1], "comparison_direction"))
    descending = "GT" in direction or "GE" in direction
    keys = [k for k in range(len(vals)) if block.args[2 * k].first_use or block.args[2 * k + 1].first_use]
    stable = bool(prop(op, "is_stable", False))
    if all(vals[k].const is not None for k in keys):
        return _sorted_now(c, vals, keys, axis, descending)
    attributes = {"dim": axis, "descending": descending, "stable": stable or len(keys) > 1}

    def by(key: Val) -> tuple[Val, Val]:
        shape, of = key.shape, key.of
        values, indices = c.e.b.op("ttir.sort", [c.e.full(key)], attributes, [tensor(shape, of), tensor(shape, "i32")])
        return Val(shape, of, values), Val(shape, "i32", indices)

    def follow(val: Val, order: Val) -> Val:
        if val.compact[axis] == 1:
            return val
        if len(val.shape) == 1:  # TT-NN gathers in two dimensions or more
            row = (1, *val.shape)
            operands = [c.e.full(c.e.reshape(operand, row)) for operand in (val, order)]
            return c.e.reshape(c.e.make("ttir.gather", operands, {"dim": 1}), val.shape)
        return c.e.make("ttir.gather", [c.e.full(val), c.e.full(order)], {"dim": axis})

    first = keys[0]
    if len(keys) == 1:
        values, order = by(vals[first])
    else:
        order = by(vals[keys[-1]])[1]
        for k in reversed(keys[:-1]):
            values, again = by(follow(vals[k], order))
            order = follow(order, again)
    out: list[Val] = []
    for k, val in enumerate(vals):
        if k == first:
            out.append(values)
        elif _is_line(val, axis):
            out.append(c.e.typecast(order, val.of))
        else:
            out.append(follow(val, order))
    return out


def _is_line(val: Val, axis: int) -> bool:
    """0, 1, 2 ... along the axis."""
    line = val.const
    return line is not None and line.size == val.shape[axis] and bool((line.reshape(-1) == np.arange(line.size)).all())


def _sorted_now(c: Converter, vals: Sequence[Val], keys: Sequence[int], axis: int, descending: bool) -> list[Val]:
    """The order is known: a random permutation with a fixed key."""
    from alchemist.frontends.stablehlo.rules_index import take

    columns = [np.moveaxis(array_of(vals[k]), axis, -1) for k in reversed(keys)]
    order = np.lexsort(columns) if not descending else np.flip(np.lexsort([column[..., ::-1] for column in columns]), -1)
    if descending:
        order = order.shape[-1] - 1 - order
    order = np.moveaxis(order, -1, axis)
    out: list[Val] = []
    for val in vals:
        if val.const is not None:
            out.append(c.e.const(shrink(np.take_along_axis(array_of(val), order, axis)), val.shape, val.of))
        elif order.size == order.shape[axis]:
            out.append(c.e.reshape(take(c, val, axis, c.e.const(order.reshape(-1), (order.size,), "i32")), val.shape))
        else:
            where = c.e.full(c.e.const(order, val.shape, "i32"))
            out.append(c.e.make("ttir.gather", [c.e.full(val), where], {"dim": axis}))
    return out
