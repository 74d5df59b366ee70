"""Look-ups and updates by index. Indices known at export may count from the end; those computed on the card have to be from 0 on."""

from __future__ import annotations

import math

import numpy as np

from alchemist.frontends import composites
from alchemist.frontends.onnx.emitter import Array, Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule

REDUCTIONS = {"none": "invalid", "add": "sum", "mul": "prod", "max": "max", "min": "min"}


@rule("Gather")
def gather(c: Emitter, node: Node, x: Tensor, ids: Tensor) -> Tensor:
    axis = node.get("axis", 0) % x.rank
    ids = _from_start(c, ids, x.shape[axis])
    return composites.take_along(c, x, axis, ids, ids.const)


def _from_start(c: Emitter, ids: Tensor, size: int, is_read: bool = True) -> Tensor:
    """See `composites.from_start`; known indices are replaced."""
    if ids.const is None:
        return composites.from_start(c, ids, size, is_read)
    if not bool((ids.const < 0).any()):
        return ids
    return c.constant(np.where(ids.const < 0, ids.const + size, ids.const).astype(ids.dtype))


@rule("GatherElements")
def gather_elements(c: Emitter, node: Node, x: Tensor, ids: Tensor) -> Tensor:
    dim = node.get("axis", 0) % x.rank
    return c.emit("gather", [x, _from_start(c, ids, x.shape[dim])], {"dim": dim})


def _flat_index(c: Emitter, ids: Tensor, sizes: list[int], batch: int = 0) -> Tensor:
    """ids [..., K] of the first dimensions `sizes` (after `batch` leading ones) as positions in the flattened dimensions."""
    lead, count = ids.shape[:-1], ids.shape[-1]
    offsets: Array | None = None
    for dim in range(batch):
        line = np.arange(lead[dim]).reshape([lead[dim] if i == dim else 1 for i in range(len(lead))])
        offsets = line if offsets is None else offsets * lead[dim] + line
    if ids.const is not None:
        flat = np.zeros(lead, np.int64) if offsets is None else np.broadcast_to(offsets, lead).astype(np.int64)
        for place, size in zip(range(count), sizes, strict=True):
            positions = ids.const[..., place]
            flat = flat * size + np.where(positions < 0, positions + size, positions)
        return c.constant(flat)
    total = None if offsets is None else c.constant(offsets.astype(np.int64))
    ids = c.cast(ids, c.index_dtype)
    for place, size in zip(range(count), sizes, strict=True):
        part = _from_start(c, c.reshape(c.slice(ids, len(lead), place, place + 1), lead), size, is_read=False)
        total = part if total is None else c.binary("add", c.binary("multiply", total, size), part)
    if total is None:
        raise Unsupported("an index without positions")
    return total


@rule("GatherND")
def gather_nd(c: Emitter, node: Node, x: Tensor, ids: Tensor) -> Tensor:
    batch, count = node.get("batch_dims", 0), ids.shape[-1]
    flat = _flat_index(c, ids, list(x.shape[batch : batch + count]), batch)
    rest = x.shape[batch + count :]
    rows = c.reshape(x, [math.prod(x.shape[: batch + count]), *rest])
    return composites.take(c, rows if rest else c.reshape(rows, [rows.shape[0], 1]), flat, flat.const) if rest else _elements(c, rows, flat)


def _elements(c: Emitter, x: Tensor, flat: Tensor) -> Tensor:
    """Single elements of a vector."""
    return c.reshape(composites.take(c, c.reshape(x, [x.shape[0], 1]), flat, flat.const), flat.shape)


def _scatter(c: Emitter, x: Tensor, dim: int, ids: Tensor, source: Tensor, reduction: str) -> Tensor:
    attributes = {"dim": dim, "scatter_reduce_type": REDUCTIONS[reduction]}
    return c.emit("scatter", [x, ids, source], attributes)


@rule("ScatterElements")
def scatter_elements(c: Emitter, node: Node, x: Tensor, ids: Tensor, updates: Tensor) -> Tensor:
    dim = node.get("axis", 0) % x.rank
    return _scatter(c, x, dim, _from_start(c, ids, x.shape[dim]), updates, node.get("reduction", "none"))


@rule("ScatterND")
def scatter_nd(c: Emitter, node: Node, x: Tensor, ids: Tensor, updates: Tensor) -> Tensor:
    count = ids.shape[-1]
    rest, places = x.shape[count:], math.prod(ids.shape[:-1])
    flat = c.reshape(_flat_index(c, ids, list(x.shape[:count])), [places, *[1] * len(rest)])
    rows = c.reshape(x, [math.prod(x.shape[:count]), *rest])
    index = c.expand(flat, [places, *rest]) if rest else flat
    written = _scatter(c, rows, 0, index, c.reshape(updates, [places, *rest]), node.get("reduction", "none"))
    return c.reshape(written, x.shape)


@rule("OneHot")
def one_hot(c: Emitter, node: Node, ids: Tensor, depth: Tensor, values: Tensor) -> Tensor:
    count = (c.integers(depth, "the depth") or [0])[0]
    off, on = c.slice(values, 0, 0, 1), c.slice(values, 0, 1, 2)
    if values.const is not None:
        off, on = (c.constant(values.const[i : i + 1]) for i in range(2))
    rank = ids.rank + 1
    axis = node.get("axis", -1) % rank
    line = c.reshape(c.constant(np.arange(count)), [count if dim == axis else 1 for dim in range(rank)])
    ids = c.cast(ids, c.index_dtype)
    wrapped = c.where(c.binary("lt", ids, 0, c.bool_dtype), c.binary("add", ids, count), ids)
    hits = c.binary("eq", c.reshape(wrapped, [*ids.shape[:axis], 1, *ids.shape[axis:]]), line, c.bool_dtype)
    return c.where(hits, c.reshape(on, [1] * rank), c.reshape(off, [1] * rank))


@rule("Compress")
def compress(c: Emitter, node: Node, x: Tensor, condition: Tensor) -> Tensor:
    selected = c.known(condition, "the condition, which decides the result's shape,")
    axis = node.get("axis")
    if axis is None:
        x, axis = c.reshape(x, [math.prod(x.shape)]), 0
    places = np.flatnonzero(np.zeros(0) if selected is None else selected)
    return composites.take_along(c, x, axis % x.rank, c.constant(places), places)


@rule("ReverseSequence")
def reverse_sequence(c: Emitter, node: Node, x: Tensor, lengths: Tensor) -> Tensor:
    """Each batch entry's first steps in reverse order: a look-up of known positions."""
    time, batch = node.get("time_axis", 0), node.get("batch_axis", 1)
    counts = c.integers(lengths, "the lengths") or []
    if {time, batch} != {0, 1}:
        raise Unsupported("time and batch axes other than the first two")
    steps = x.shape[time]
    order = np.array([[*reversed(range(count)), *range(count, steps)] for count in counts], np.int64).reshape(len(counts), steps)
    order = order.T if time == 0 else order
    wide = np.broadcast_to(order.reshape([*x.shape[:2], *[1] * (x.rank - 2)]), x.shape)
    return c.emit("gather", [x, c.constant(np.ascontiguousarray(wide))], {"dim": time})
