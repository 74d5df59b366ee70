"""Reductions, scans, order statistics and softmax."""

from __future__ import annotations

import math

import numpy as np

from alchemist.frontends import composites
from alchemist.frontends.onnx.emitter import Emitter, Tensor
from alchemist.frontends.onnx.registry import Node, rule

REDUCTIONS = {"ReduceMax": "max", "ReduceMean": "mean", "ReduceMin": "min", "ReduceProd": "prod", "ReduceSum": "sum"}
BOOLEAN = {"max": "reduce_or", "min": "reduce_and"}


def _reduced(c: Emitter, op: str, x: Tensor, dims: list[int] | None, keep: bool) -> Tensor:
    match op:
        case "ReduceL1":
            return c.reduce("sum", c.unary("abs", x), dims, keep)
        case "ReduceL2":
            return c.unary("sqrt", c.reduce("sum", c.unary("square", x), dims, keep))
        case "ReduceSumSquare":
            return c.reduce("sum", c.unary("square", x), dims, keep)
        case "ReduceLogSum":
            return c.unary("log", c.reduce("sum", x, dims, keep))
        case "ReduceLogSumExp":
            total = composites.log_sum_exp(c, x, dims, float(np.finfo(np.float32).max))
            shape = c.reduce("sum", x, dims, keep).shape if not keep else total.shape
            return c.reshape(total, shape)
        case _:
            name = REDUCTIONS[op]
            if name == "mean" and x.dtype.kind in "iu":
                total = c.reduce("sum", x, dims, keep)
                return c.binary("div", total, math.prod(x.shape) // math.prod(total.shape))
            return c.reduce(BOOLEAN.get(name, name) if x.dtype == c.bool_dtype else name, x, dims, keep)


def _reduce(op: str, axes_since: int) -> None:
    """The axes are an attribute, and from `axes_since` on an input."""

    @rule(op)
    def with_attribute(c: Emitter, node: Node, x: Tensor) -> Tensor:
        return _reduced(c, op, x, node.get("axes") or None, bool(node.get("keepdims", 1)))

    @rule(op, since=axes_since)
    def with_input(c: Emitter, node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
        dims = c.integers(axes, "the axes")
        if not dims and node.get("noop_with_empty_axes", 0):
            return x
        return _reduced(c, op, x, dims or None, bool(node.get("keepdims", 1)))


for _op in (*REDUCTIONS, "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"):
    _reduce(_op, 13 if _op == "ReduceSum" else 18)


def _best(op: str) -> None:
    @rule(op)
    def lower(c: Emitter, node: Node, x: Tensor) -> Tensor:
        dim = node.get("axis", 0) % max(x.rank, 1)
        last = bool(node.get("select_last_index", 0))
        x = composites.in_opposite_order(c, x) if op == "ArgMin" else x
        x = c.unary("reverse", x, {"dimensions": [dim]}) if last else x
        keep = bool(node.get("keepdims", 1))
        place = c.emit("argmax", [x], {"keep_dim": keep, "dim_arg": [dim]}, dtype=c.index_dtype)
        if last:
            place = c.binary("subtract", c.full((1,) * place.rank, x.shape[dim] - 1, c.index_dtype), place)
        return place


_best("ArgMax")
_best("ArgMin")


@rule("CumSum", "CumProd")
def running(c: Emitter, node: Node, x: Tensor, axis: Tensor) -> Tensor:
    dim = (c.integers(axis, "the axis") or [0])[0] % x.rank
    reverse_dims = {"dimensions": [dim]}
    x = c.unary("reverse", x, reverse_dims) if node.get("reverse", 0) else x
    total = c.unary(node.op.lower(), x, {"dim": dim})
    if node.get("exclusive", 0):
        start = c.full([1 if i == dim else size for i, size in enumerate(x.shape)], int(node.op == "CumProd"), x.dtype)
        total = c.concat([start, c.slice(total, dim, 0, x.shape[dim] - 1)], dim) if x.shape[dim] > 1 else start
    return c.unary("reverse", total, reverse_dims) if node.get("reverse", 0) else total


@rule("TopK")
def topk(c: Emitter, node: Node, x: Tensor, k: Tensor) -> list[Tensor]:
    count = (c.integers(k, "k") or [1])[0]
    dim = node.get("axis", -1) % x.rank
    shape = tuple(count if i == dim else size for i, size in enumerate(x.shape))
    attributes = {"k": count, "dim": dim, "largest": bool(node.get("largest", 1)), "sorted": bool(node.get("sorted", 1))}
    return c.emit_many("topk", [x], attributes, [(shape, x.dtype), (shape, c.index_dtype)])


@rule("Softmax")
def softmax(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return c.unary("softmax", x, {"dimension": node.get("axis", -1), "numericStable": True})


@rule("LogSoftmax")
def log_softmax(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return composites.log_softmax(c, x, node.get("axis", -1))


@rule("Hardmax")
def hardmax(c: Emitter, node: Node, x: Tensor) -> Tensor:
    """1 at the first largest value, 0 elsewhere."""
    dim = node.get("axis", -1) % x.rank
    place = c.emit("argmax", [x], {"keep_dim": True, "dim_arg": [dim]}, dtype=c.index_dtype)
    line = c.reshape(c.constant(np.arange(x.shape[dim])), [x.shape[dim] if i == dim else 1 for i in range(x.rank)])
    return c.cast(c.binary("eq", line, place, c.bool_dtype), x.dtype)
