"""Batch normalisation: with given statistics, with those of the batch, and its gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from alchemist.frontends.stablehlo.convert import Converter, prop, rule, type_of
from alchemist.frontends.stablehlo.values import Val
from alchemist.ir.attributes import tensor
from alchemist.ops.expand import Steps


@rule("stablehlo.batch_norm_inference")
def batch_norm(c: Converter, op: Operation, vals: list[Val]) -> Val:
    shape, of = type_of(op.results[0])
    attributes = {"epsilon": prop(op, "epsilon"), "dimension": prop(op, "feature_index")}
    return c.e.make("ttir.batch_norm_inference", [c.e.full(val) for val in vals], attributes, shape, of)


@rule("stablehlo.batch_norm_training")
def batch_norm_training(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """The running statistics of the TTIR op do not reach its results; the batch's own stand in for them."""
    types = [type_of(result) for result in op.results]
    x, scale, offset = (c.e.full(val) for val in vals)
    attributes = {"epsilon": prop(op, "epsilon"), "dimension": prop(op, "feature_index"), "momentum": 0.1}
    made = c.e.b.make("ttir.batch_norm_training", [x, scale, offset, offset, scale], attributes, [tensor(*one) for one in types])
    return [Val(shape, of, value) for (shape, of), value in zip(types, made.results, strict=True)]


@rule("stablehlo.batch_norm_grad")
def batch_norm_grad(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """Gradients by the input, the scale and the offset, from the batch's mean and variance."""
    x, scale, mean, variance, grad = (c.e.full(val) for val in vals)
    s = Steps(c.e.b)
    axis, (shape, _) = prop(op, "feature_index"), type_of(op.results[0])
    others = [index for index in range(len(shape)) if index != axis]
    dims = [size if index == axis else 1 for index, size in enumerate(shape)]
    count = math.prod(shape) // shape[axis]
    scale, mean, variance = (s.reshape(value, dims) for value in (scale, mean, variance))
    inverse = s.unary("rsqrt", s.binary("add", variance, prop(op, "epsilon")))
    normal = s.binary("multiply", s.binary("subtract", x, mean), inverse)
    grad_offset = s.reduce("sum", grad, others)
    grad_scale = s.reduce("sum", s.binary("multiply", grad, normal), others)
    spread = s.binary("multiply", s.binary("add", s.binary("multiply", normal, grad_scale), grad_offset), 1 / count)
    grad_input = s.binary("multiply", s.binary("subtract", grad, spread), s.binary("multiply", scale, inverse))
    made: list[SSAValue] = [grad_input, grad_scale, grad_offset]
    return [Val(*type_of(result), s.reshape(value, type_of(result)[0])) for value, result in zip(made, op.results, strict=True)]
