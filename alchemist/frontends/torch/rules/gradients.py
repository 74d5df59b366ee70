"""Decomposes gradients that torch computes in one op. Those of other ops come from torch's decomposition table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch

from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.registry import recipe
from alchemist.frontends.torch.rules.conv import Windows

_MOST_TAPS = 49
"""Places of a kernel, each of which is a slice of its own in the gradient of the weight."""


@recipe("aten.nll_loss_forward.default")
def nll_loss_forward(
    log_shares: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss and how many targets count; a target that is no class, as -100, is one that is ignored."""
    hot = _hot(log_shares, target, weight, ignore_index)
    total = hot.sum()
    if reduction == 0:
        return -(hot * log_shares).sum(-1), total
    loss = -(hot * log_shares).sum()
    return (loss / total if reduction == 1 else loss), total


@recipe("aten.nll_loss_backward.default")
def nll_loss_backward(
    d: torch.Tensor, log_shares: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int, total: torch.Tensor
) -> torch.Tensor:
    hot = _hot(log_shares, target, weight, ignore_index)
    if reduction == 0:
        return -hot * (d.unsqueeze(-1) if log_shares.dim() > 1 else d)
    return -hot * (d / total if reduction == 1 else d)


def _hot(log_shares: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int) -> torch.Tensor:
    """1 (or the class's weight) at each target's class."""
    classes = torch.arange(log_shares.shape[-1], dtype=target.dtype)
    hot = (target.unsqueeze(-1) == classes).to(log_shares.dtype)
    if weight is not None:
        hot = hot * weight
    return hot if ignore_index < 0 else hot * (target != ignore_index).unsqueeze(-1).to(hot.dtype)


@recipe("aten.embedding_dense_backward.default")
def embedding_dense_backward(d: torch.Tensor, ids: torch.Tensor, rows: int, padding_idx: int, scale_by_frequency: bool) -> torch.Tensor:
    """Rows of the gradient added where their id is: ids as one-hot columns, times the gradient."""
    if scale_by_frequency:
        raise Unsupported("embedding with scale_grad_by_freq")
    numbers = torch.arange(rows, dtype=ids.dtype).unsqueeze(1)
    hot = (numbers == ids.reshape(1, -1)).to(d.dtype)
    if padding_idx >= 0:
        hot = hot * (numbers != padding_idx).to(d.dtype)
    return hot @ d.reshape(-1, d.shape[-1])


@recipe("aten.convolution_backward.default")
def convolution_backward(
    d: torch.Tensor, x: torch.Tensor, w: torch.Tensor, bias_sizes: Sequence[int] | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int, output_mask: Sequence[bool],
) -> tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]:  # fmt: skip
    """To the input the convolution the other way round, to the weight a product with all windows side by side, to the bias a sum."""
    rank = len(stride)
    d_x = d_w = d_b = None
    if output_mask[0]:
        extra = [0] * rank
        if not transposed:
            reach = [(d.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (w.shape[2 + i] - 1) + 1 for i in range(rank)]
            extra = [x.shape[2 + i] - reach[i] for i in range(rank)]
        d_x = torch.ops.aten.convolution(d, w, None, stride, padding, dilation, not transposed, extra, groups)
    if output_mask[1]:
        images, gradient = (d, x) if transposed else (x, d)
        d_w = _weight_gradient(images, gradient, w.shape, stride, padding, dilation, groups)
    if output_mask[2]:
        d_b = d.sum([0, *range(2, 2 + rank)])
    return d_x, d_w, d_b


def _weight_gradient(
    images: torch.Tensor, d: torch.Tensor, shape: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> torch.Tensor:
    """Of a convolution from `images` to what `d` is the gradient of. shape: the weight's, [out, in / groups, ...]."""
    kernel = shape[2:]
    if math.prod(kernel) > _MOST_TAPS:
        raise Unsupported(f"the gradient of a kernel of more than {_MOST_TAPS} places")
    images = images.movedim(1, -1)
    if any(padding):
        images = torch.nn.functional.pad(images, [0, 0, *(width for side in reversed(padding) for width in (side, side))])
    taps = []
    for place in itertools.product(*map(range, kernel)):
        begins = [index * step for index, step in zip(place, dilation, strict=True)]
        ends = [begin + (count - 1) * step + 1 for begin, count, step in zip(begins, d.shape[2:], stride, strict=True)]
        taps.append(images[(slice(None), *map(slice, begins, ends, stride))])
    rows = d.movedim(1, -1).flatten(0, -2).t()
    if groups == 1:
        product = rows @ torch.cat(taps, -1).flatten(0, -2)
    else:  # a product of its own for each group
        windows = torch.stack([tap.flatten(0, -2).reshape(-1, groups, shape[1]) for tap in taps], 2).movedim(1, 0)
        product = rows.reshape(groups, shape[0] // groups, -1) @ windows.flatten(2)
    return product.reshape(shape[0], *kernel, shape[1]).movedim(-1, 1)


@recipe("aten.max_pool2d_with_indices_backward.default")
def max_pool2d_backward(
    d: torch.Tensor, x: torch.Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], ceil_mode: bool,
    indices: torch.Tensor,
) -> torch.Tensor:  # fmt: skip
    """To the first largest value of each window."""
    windows = Windows(kernel, stride, padding, dilation)
    return windows.spread([torch.where(hit, d, 0.0) for hit in windows.hits(x, d.shape[-2:])], x.shape[-2:])


@recipe("aten.avg_pool2d_backward.default")
def avg_pool2d_backward(
    d: torch.Tensor, x: torch.Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool, count_include_pad: bool,
    divisor: int | None,
) -> torch.Tensor:  # fmt: skip
    """An equal part to each place of a window."""
    windows = Windows(kernel, stride, padding, 1)
    ends = [(d.shape[axis - 2] - 1) * windows.stride[axis] + windows.kernel[axis] for axis in (0, 1)]
    beyond = any(end > x.shape[axis - 2] + 2 * windows.padding[axis] for axis, end in enumerate(ends))
    if beyond or (not count_include_pad and any(windows.padding)):
        raise Unsupported("the gradient of a pool whose windows see different numbers of pixels")
    part = d / (divisor or math.prod(windows.kernel))
    return windows.spread([part] * math.prod(windows.kernel), x.shape[-2:])
