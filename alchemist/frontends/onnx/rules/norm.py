"""Normalisations."""

from __future__ import annotations

import math

import numpy as np

from alchemist.frontends import composites
from alchemist.frontends.onnx.emitter import Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule


@rule("BatchNormalization")
def batch_norm(c: Emitter, node: Node, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor) -> list[Tensor]:
    if node.get("training_mode", 0):
        raise Unsupported("batch norm in training mode: export the model in inference mode")
    attributes = {"epsilon": node.get("epsilon", 1e-5), "dimension": 1}
    return [c.unary_of("batch_norm_inference", x, [scale, offset, mean, variance], attributes)]


@rule("LayerNormalization")
def layer_norm(c: Emitter, node: Node, x: Tensor, scale: Tensor, bias: Tensor | None = None) -> list[Tensor]:
    axis = node.get("axis", -1) % x.rank
    shape = list(x.shape[axis:])
    attributes = {"normalized_shape": shape, "epsilon": node.get("epsilon", 1e-5)}
    bias = None if bias is None else c.expand(bias, shape)
    return [c.unary_of("layer_norm", x, [c.expand(scale, shape), bias], attributes)]


def _group_norm(c: Emitter, node: Node, x: Tensor, groups: int, scale: Tensor, bias: Tensor) -> Tensor:
    attributes = {"num_groups": groups, "epsilon": node.get("epsilon", 1e-5), "channel_dim": 1}
    return c.unary_of("group_norm", x, [None, scale, bias], attributes)


@rule("InstanceNormalization")
def instance_norm(c: Emitter, node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return _group_norm(c, node, x, x.shape[1], scale, bias)


@rule("GroupNormalization", since=21)
def group_norm(c: Emitter, node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """One scale and bias per channel."""
    return _group_norm(c, node, x, node.get("num_groups"), scale, bias)


@rule("LpNormalization")
def lp_norm(c: Emitter, node: Node, x: Tensor) -> Tensor:
    """Zero where the norm is."""
    dims = [node.get("axis", -1)]
    total = c.reduce("sum", c.unary("abs" if node.get("p", 2) == 1 else "square", x), dims, True)
    norm = total if node.get("p", 2) == 1 else c.unary("sqrt", total)
    return c.binary("div", x, c.binary("maximum", norm, float(np.finfo(np.float32).tiny)))


@rule("MeanVarianceNormalization")
def mean_variance_norm(c: Emitter, node: Node, x: Tensor) -> Tensor:
    axes = node.get("axes", [0, 2, 3])
    centred = c.binary("subtract", x, c.reduce("mean", x, axes, True))
    deviation = c.unary("sqrt", c.reduce("mean", c.unary("square", centred), axes, True))
    return c.binary("div", centred, c.binary("add", deviation, 1e-9))


@rule("LRN")
def local_response_norm(c: Emitter, node: Node, x: Tensor) -> Tensor:
    """x / (bias + alpha / size * sum of squares over neighbouring channels) ** beta."""
    size, channels = node.get("size"), x.shape[1]
    low = (size - 1) // 2
    squares = composites.pad_constant(c, c.unary("square", x), [(0, 0), (low, size - 1 - low), *[(0, 0)] * (x.rank - 2)], 0.0)
    total = c.slice(squares, 1, 0, channels)
    for i in range(1, size):
        total = c.binary("add", total, c.slice(squares, 1, i, i + channels))
    base = c.binary("add", c.binary("multiply", total, node.get("alpha", 1e-4) / size), node.get("bias", 1.0))
    beta = node.get("beta", 0.75)
    return c.binary("div", x, c.unary("sqrt", base) if math.isclose(beta, 0.5) else c.binary("pow", base, beta))
