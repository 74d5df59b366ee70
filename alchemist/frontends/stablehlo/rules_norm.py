"""Batch normalization: with constant statistics, with those of the batch, and its gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Operation

from alchemist.frontends.stablehlo.convert import Converter, prop, rule, type_of
from alchemist.frontends.stablehlo.values import Val
from alchemist.ir.attributes import tensor
from alchemist.ir.value import Value


@rule("stablehlo.batch_norm_inference")
def batch_norm(c: Converter, op: Operation, vals: list[Val]) -> Val:
    attributes = {"epsilon": prop(op, "epsilon"), "dimension": prop(op, "feature_index")}
    return c.e.make("ttir.batch_norm_inference", [c.e.full(val) for val in vals], attributes)


@rule("stablehlo.batch_norm_training")
def batch_norm_training(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """The running statistics of the TTIR op do not reach its results; the batch's own stand in for them."""
    types = [type_of(result) for result in op.results]
    x, scale, offset = (c.e.full(val) for val in vals)
    attributes = {"epsilon": prop(op, "epsilon"), "dimension": prop(op, "feature_index"), "momentum": 0.1}
    op_ = c.e.b.make("ttir.batch_norm_training", [x, scale, offset, offset, scale], attributes, [tensor(*vector) for vector in types])
    return [Val(shape, of, value) for (shape, of), value in zip(types, op_.results, strict=True)]


@rule("stablehlo.batch_norm_grad")
def batch_norm_grad(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """Gradients by the input, the scale and the offset, from the batch's mean and variance."""
    x, scale, mean, variance, grad = (Value(c.e.b, c.e.full(val)) for val in vals)
    axis, (shape, _) = prop(op, "feature_index"), type_of(op.results[0])
    others = [index for index in range(len(shape)) if index != axis]
    dims = [size if index == axis else 1 for index, size in enumerate(shape)]
    scale, mean, variance = (value.reshape(*dims) for value in (scale, mean, variance))
    inverse = (variance + prop(op, "epsilon")).op("rsqrt")
    normal = (x - mean) * inverse
    grad_offset = grad.reduce("sum", others)
    grad_scale = (grad * normal).reduce("sum", others)
    spread = (normal * grad_scale + grad_offset) * (shape[axis] / math.prod(shape))
    gradients = [(grad - spread) * (scale * inverse), grad_scale, grad_offset]
    return [Val(*type_of(result), value.reshape(*type_of(result)[0]).ssa) for value, result in zip(gradients, op.results, strict=True)]
