"""Running statistics of normalisations in training mode, whose update is hidden inside the exported op."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

_aten = torch.ops.aten
_NORMS = (_aten.batch_norm.default, _aten.instance_norm.default)
_CUMULATIVE = -1.0
"""Stands for `momentum=None` of a batch norm while it is exported: the average of all batches."""


@contextmanager
def cumulative_averages(model: torch.nn.Module) -> Iterator[None]:
    """Marks norms with `momentum=None`, which would read their counter of batches as a number at export."""
    norms = [module for module in model.modules() if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.training and module.momentum is None]
    for norm in norms:
        norm.momentum = _CUMULATIVE
    try:
        yield
    finally:
        for norm in norms:
            norm.momentum = None


def update_running_statistics(graph_module: fx.GraphModule) -> None:
    """Writes the update of each training-mode norm as ops of its own: `running_mean.mul_(1 - momentum).add_(momentum * mean)`.

    torch.export keeps `batch_norm(x, ..., running_mean, running_var, training=True)` as one op whose schema names no written argument.
    """
    for node in [node for node in graph_module.graph.nodes if node.target in _NORMS]:
        x, mean, variance, training, momentum = (node.args[place] for place in (0, 3, 4, 5, 6))
        if training and isinstance(mean, fx.Node) and isinstance(momentum, float):
            node.args = (*node.args[:3], None, None, *node.args[5:])
            _insert_updates(node, x, (mean, variance), momentum, per_sample=node.target is _aten.instance_norm.default)
    graph_module.recompile()


def _insert_updates(norm: fx.Node, x: fx.Node, running: tuple[fx.Node, fx.Node], momentum: float, per_sample: bool) -> None:
    """Inserts the ops after the norm. per_sample: statistics of each sample, averaged."""
    graph, after = norm.graph, norm

    def call(target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        nonlocal after
        with graph.inserting_after(after):
            after = graph.call_function(target, args, kwargs)
        after.meta = dict(norm.meta)
        fake: FakeTensor = norm.meta["val"]
        with fake.fake_mode:
            values = fx.node.map_arg((args, kwargs), lambda node: node.meta["val"])
            after.meta["val"] = target(*values[0], **values[1])
        return after

    rank = x.meta["val"].dim()
    dims = [dim for dim in range(rank) if dim > 1 or (dim == 0 and not per_sample)]
    weight: Any = momentum
    if momentum == _CUMULATIVE:
        counter = next(node for node in graph.nodes if node.target == running[0].target.removesuffix("running_mean") + "num_batches_tracked")
        weight = call(_aten.reciprocal.default, call(_aten._to_copy.default, counter, dtype=running[0].meta["val"].dtype))
    kept = call(_aten.rsub.Scalar, weight, 1) if isinstance(weight, fx.Node) else 1 - weight
    for place, old in zip((_aten.mean.dim, _aten.var.correction), running, strict=True):
        new = call(place, x, dims, **({"correction": 1} if place is _aten.var.correction else {}))
        new = call(_aten.mean.dim, new, [0]) if per_sample else new
        call(_aten.add_.Tensor, call(_aten.mul_.Tensor, old, kept), call(_aten.mul.Tensor, new, weight))
