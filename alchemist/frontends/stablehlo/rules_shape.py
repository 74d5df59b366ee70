"""Shape, slicing, joining, gather and scatter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends.stablehlo.convert import Converter, prop, rule, type_of
from alchemist.frontends.stablehlo.rules_eltwise import array_of
from alchemist.frontends.stablehlo.values import Val, shrink


def numbers(text: str) -> dict[str, Any]:
    """`#stablehlo.gather<offset_dims = [0], index_vector_dim = 1>` -> {"offset_dims": (0,), "index_vector_dim": 1}."""
    lists = {m[1]: tuple(int(p) for p in m[2].split(",") if p.strip()) for m in re.finditer(r"(\w+) = \[([^\]]*)\]", text)}
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


def cut_val(c: Converter, val: Val, axis: int, begin: int, end: int) -> Val:
    """From `begin` to `end` along one axis."""
    return slice_val(c, val, [begin if i == axis else 0 for i in range(len(val.shape))], [end if i == axis else n for i, n in enumerate(val.shape)])


def slice_val(c: Converter, val: Val, begins: Sequence[int], ends: Sequence[int], steps: Sequence[int] | None = None) -> Val:
    """Strided slice; broadcast dimensions stay virtual."""
    steps = steps or [1] * len(begins)
    shape = tuple(len(range(b, e, s)) for b, e, s in zip(begins, ends, steps, strict=True))
    if shape == val.shape:
        return val
    broadcast_dims = [size == 1 and full != 1 for size, full in zip(val.compact, val.shape, strict=True)]
    if val.const is not None:
        index = tuple(slice(0, 1) if k else slice(b, e, s) for k, b, e, s in zip(broadcast_dims, begins, ends, steps, strict=True))
        return Val(shape, val.of, const=val.const[index])
    b = [0 if k else v for k, v in zip(broadcast_dims, begins, strict=True)]
    e = [1 if k else v for k, v in zip(broadcast_dims, ends, strict=True)]
    s = [1 if k else v for k, v in zip(broadcast_dims, steps, strict=True)]
    compact = tuple(len(range(x, y, z)) for x, y, z in zip(b, e, s, strict=True))
    if compact == val.compact:
        return Val(shape, val.of, c.e.small(val))
    ssa = c.e.emit("ttir.slice_static", [c.e.small(val)], {"begins": b, "ends": e, "step": s})
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
        return c.e.const(shrink(np.concatenate([array_of(val) for val in vals], axis)), tuple(shape), of)
    return c.e.make("ttir.concat", [[c.e.full(val) for val in vals]], {"dim": axis})


@rule("stablehlo.concatenate")
def concatenate(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return concat(c, vals, prop(op, "dimension"))


@rule("stablehlo.reverse")
def reverse(c: Converter, op: Operation, vals: list[Val]) -> Val:
    return flip(c, vals[0], prop(op, "dimensions"))


def flip(c: Converter, x: Val, dims: Sequence[int]) -> Val:
    """The elements in opposite order along `dims`."""
    real = [d for d in dims if x.compact[d] != 1]
    if x.const is not None:
        return Val(x.shape, x.of, const=np.flip(x.const, tuple(real)))
    if not real:
        return x
    return Val(x.shape, x.of, c.e.emit("ttir.reverse", [c.e.small(x)], {"dimensions": real}))


def spread_val(c: Converter, x: Val, axis: int, gap: int, fill: Val) -> Val:
    """`gap` fill values between neighbours along an axis: joined to each element in a dimension of its own."""
    size = x.shape[axis]
    if gap == 0 or size < 2:
        return x
    apart = c.e.reshape(x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
    between = (*x.shape[: axis + 1], gap, *x.shape[axis + 1 :])
    filling = c.e.scalar(fill.scalar(), between, x.of)
    joined = concat(c, [apart, filling], axis + 1)
    whole = c.e.reshape(joined, (*x.shape[:axis], size * (gap + 1), *x.shape[axis + 1 :]))
    return slice_val(c, whole, [0] * len(x.shape), [n - gap if i == axis else n for i, n in enumerate(whole.shape)])


@rule("stablehlo.pad")
def pad(c: Converter, op: Operation, vals: list[Val]) -> Val:
    x, fill = vals
    low, high, interior = (prop(op, "edge_padding_low"), prop(op, "edge_padding_high"), prop(op, "interior_padding"))
    return padded(c, x, low, high, fill, interior)


def padded(c: Converter, x: Val, low: Sequence[int], high: Sequence[int], fill: Val, interior: Sequence[int] | None = None) -> Val:
    """As `pad_val`, with `interior` elements between neighbours; `fill` may be computed, which a mask then chooses."""
    gaps = interior or [0] * len(x.shape)
    value, zero = fill.scalar(), c.e.scalar(0, (), x.of)
    for axis, gap in enumerate(gaps):
        x = spread_val(c, x, axis, gap, zero if value is None else fill)
    whole = pad_val(c, x, low, high, 0 if value is None else value)
    if value is not None or not any(n > 0 for n in (*low, *high, *gaps)):
        return whole
    inside = np.ones((1,) * len(x.shape), bool)
    for axis, (before, behind, gap, size) in enumerate(zip(low, high, gaps, whole.shape, strict=True)):
        line = np.arange(size)
        along = (line >= before) & (line < size - behind) & ((line - before) % (gap + 1) == 0)
        inside = inside & along.reshape([-1 if i == axis else 1 for i in range(len(x.shape))])
    spread = c.e.reshape(fill, (1,) * len(x.shape))
    mask, outside = c.e.const(shrink(inside), whole.shape, "i1"), Val(whole.shape, x.of, spread.ssa)
    return c.e.op("where", mask, whole, outside)


def pad_val(c: Converter, x: Val, low: Sequence[int], high: Sequence[int], value: Any) -> Val:
    """`value` before and behind every axis; negative widths cut."""
    begins = [max(0, -n) for n in low]
    ends = [size - max(0, -n) for size, n in zip(x.shape, high, strict=True)]
    x = slice_val(c, x, begins, ends)
    pairs = [(max(0, a), max(0, b)) for a, b in zip(low, high, strict=True)]
    if not any(any(p) for p in pairs):
        return x
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, pairs, strict=True))
    if x.const is not None:
        return c.e.const(shrink(np.pad(array_of(x), pairs, constant_values=value)), shape, x.of)
    flat = [n for pair in pairs for n in pair]
    return c.e.make("ttir.pad", [c.e.full(x)], {"padding": flat, "value": float(value)})
