"""Lowers normalizations of torch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from alchemist.frontends.torch.emitter import Emitter, Tensor
from alchemist.frontends.torch.registry import recipe, rule


@rule("aten.native_layer_norm.default")
def layer_norm(c: Emitter, x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float) -> list[Tensor]:
    return [c.emit("layer_norm", [x, weight, bias], {"normalized_shape": list(shape), "epsilon": eps})]


@rule("aten.rms_norm.default")
def rms_norm(c: Emitter, x: Tensor, shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    return c.emit("rms_norm", [x, weight, None], {"normalized_shape": list(shape), "epsilon": torch.finfo(x.dtype).eps if eps is None else eps})


@rule("aten._fused_rms_norm.default")
def fused_rms_norm(c: Emitter, x: Tensor, shape: Sequence[int], weight: Tensor | None, eps: float | None) -> list[Tensor]:
    return [rms_norm(c, x, shape, weight, eps)]


@rule("aten.batch_norm.default")
def batch_norm(
    c: Emitter,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    channels = (x.shape[1],)
    weight = weight or c.full(channels, 1, x.dtype)
    bias = bias or c.full(channels, 0, x.dtype)
    if training or mean is None or variance is None:
        mean, variance = _statistics(c, x)
    attributes = {"epsilon": eps, "dimension": 1}
    return c.emit("batch_norm_inference", [x, weight, bias, mean, variance], attributes)


def _statistics(c: Emitter, x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and biased variance per channel, both [C]."""
    dims = [i for i in range(x.rank) if i != 1]
    mean = c.reduce("mean", x, dims, True)
    variance = c.reduce("mean", c.unary("square", c.binary("subtract", x, mean)), dims, False)
    return c.reshape(mean, [x.shape[1]]), variance


@rule("aten._native_batch_norm_legit_no_training.default")
def native_batch_norm(
    c: Emitter, x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, variance: Tensor, momentum: float, eps: float
) -> list[Tensor]:
    return [batch_norm(c, x, weight, bias, mean, variance, False, momentum, eps)]


@rule("aten.native_group_norm.default")
def group_norm(c: Emitter, x: Tensor, weight: Tensor | None, bias: Tensor | None, n: int, channels: int, size: int, groups: int, eps: float) -> list[Tensor]:
    return [c.emit("group_norm", [x, None, weight, bias], {"num_groups": groups, "epsilon": eps, "channel_dim": 1})]


@recipe("aten.instance_norm.default")
def instance_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> torch.Tensor:
    if not use_input_stats:
        return torch.batch_norm(x, weight, bias, running_mean, running_var, False, momentum, eps, False)
    return torch.group_norm(x, x.shape[1], weight, bias, eps)


@recipe("aten.cosine_similarity.default")
def cosine_similarity(a: torch.Tensor, b: torch.Tensor, dim: int = 1, eps: float = 1e-8) -> torch.Tensor:
    norms = [torch.sqrt(torch.sum(part * part, dim)).clamp(min=eps) for part in (a, b)]
    return torch.sum(a * b, dim) / (norms[0] * norms[1])
