"""Convolutions and pools of channels-first images with 1, 2 or 3 spatial dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alchemist.frontends import composites
from alchemist.frontends.onnx.emitter import Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule

LOWEST = -3.0e38
"""Stands for minus infinity around images of which the maximum is taken."""


def _pairs(node: Node, sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> list[tuple[int, int]]:
    """(before, after) of every spatial dimension, from `pads` or `auto_pad`."""
    rank = len(sizes)
    auto = node.get("auto_pad", "NOTSET")
    if auto == "VALID":
        return [(0, 0)] * rank
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        pairs = []
        for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
            total = max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
            small, large = total // 2, total - total // 2
            pairs.append((small, large) if auto == "SAME_UPPER" else (large, small))
        return pairs
    pads = node.get("pads") or [0] * (2 * rank)
    return list(zip(pads[:rank], pads[rank:], strict=True))


@rule("Conv")
def conv(c: Emitter, node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    rank = _image_rank(weight.rank - 2)
    stride, dilation = node.get("strides") or [1] * rank, node.get("dilations") or [1] * rank
    pairs = _pairs(node, x.shape[2:], weight.shape[2:], stride, dilation)
    return composites.convolution(c, x, weight, bias, stride, pairs, dilation, node.get("group", 1))


def _image_rank(rank: int) -> int:
    if not 1 <= rank <= 3:
        raise Unsupported(f"images with {rank} spatial dimensions")
    return rank


@rule("ConvTranspose")
def conv_transpose(c: Emitter, node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    rank = _image_rank(weight.rank - 2)
    stride, dilation = node.get("strides") or [1] * rank, node.get("dilations") or [1] * rank
    extra = node.get("output_padding") or [0] * rank
    kernel, auto, output_shape = weight.shape[2:], node.get("auto_pad", "NOTSET"), node.get("output_shape")
    if auto in ("SAME_UPPER", "SAME_LOWER") and output_shape is None:
        output_shape = [size * s for size, s in zip(x.shape[2:], stride, strict=True)]
    if output_shape is None:
        pairs = _pairs(node, x.shape[2:], kernel, stride, dilation)
    else:
        pairs = []
        for size, k, s, d, e, want in zip(x.shape[2:], kernel, stride, dilation, extra, output_shape[-rank:], strict=True):
            total = s * (size - 1) + e + d * (k - 1) + 1 - want
            small, large = total // 2, total - total // 2
            pairs.append((small, large) if auto == "SAME_UPPER" else (large, small))
    even = [max(0, min(pair)) for pair in pairs]
    out = composites.transposed_convolution(c, x, weight, bias, stride, even, extra, dilation, node.get("group", 1))
    for dim, ((low, high), both) in enumerate(zip(pairs, even, strict=True), 2):
        if min(low, high) < 0:
            raise Unsupported("a transposed convolution whose output is larger than its input and kernel reach")
        out = c.slice(out, dim, low - both, out.shape[dim] - (high - both))
    return out


# --- pools --------------------------------------------------------------------------------------------------------------------


class _Window:
    """A pool's geometry, with the padding written out."""

    def __init__(self, node: Node, x: Tensor) -> None:
        self.kernel: list[int] = list(node.get("kernel_shape"))
        rank = _image_rank(len(self.kernel))
        self.stride: list[int] = list(node.get("strides") or [1] * rank)
        self.dilation: list[int] = list(node.get("dilations") or [1] * rank)
        self.ceil = bool(node.get("ceil_mode", 0)) and node.get("auto_pad", "NOTSET") == "NOTSET"
        self.pairs = _pairs(node, x.shape[2:], self.kernel, self.stride, self.dilation)

    def counts(self, axis: int, size: int, windows: int) -> list[int]:
        """How many elements of the image each window covers along a dimension."""
        low = self.pairs[axis][0]
        starts = [i * self.stride[axis] - low for i in range(windows)]
        return [sum(0 <= start + tap * self.dilation[axis] < size for tap in range(self.kernel[axis])) for start in starts]


def _pooled(c: Emitter, name: str, x: Tensor, window: _Window, pads: Sequence[int], extra: dict[str, bool]) -> Tensor:
    """The pool with the same padding before and after."""
    return composites.pool(c, name, x, window.kernel, window.stride, pads, window.dilation, window.ceil, extra)


@rule("MaxPool")
def max_pool(c: Emitter, node: Node, x: Tensor) -> list[Tensor]:
    window = _Window(node, x)
    pads = [low for low, _ in window.pairs]
    if any(low != high or low > k // 2 for (low, high), k in zip(window.pairs, window.kernel, strict=True)):
        x = composites.pad_constant(c, x, [(0, 0), (0, 0), *window.pairs], LOWEST)
        pads = [0] * len(pads)
    return [_pooled(c, "max_pool2d", x, window, pads, {})]


@rule("AveragePool")
def average_pool(c: Emitter, node: Node, x: Tensor) -> Tensor:
    window = _Window(node, x)
    pads = [low for low, _ in window.pairs]
    inside = bool(node.get("count_include_pad", 0)) or not any(amount for pair in window.pairs for amount in pair)
    if any(step != 1 for step in window.dilation):
        raise Unsupported("an average pool with dilation")
    if all(low == high for low, high in window.pairs) and (inside or len(pads) < 3):
        return _pooled(c, "avg_pool2d", x, window, pads, {"count_include_pad": inside})
    if window.ceil:
        raise Unsupported("an average pool with ceil_mode and different padding on both sides")
    padded = composites.pad_constant(c, x, [(0, 0), (0, 0), *window.pairs], 0.0)
    out = _pooled(c, "avg_pool2d", padded, window, [0] * len(pads), {"count_include_pad": True})
    if inside:
        return out
    for axis, size in enumerate(x.shape[2:]):  # over the image's own elements alone
        counts = window.counts(axis, size, out.shape[2 + axis])
        factors = np.array([window.kernel[axis] / max(count, 1) for count in counts], np.float32)
        shape = [len(counts) if dim == 2 + axis else 1 for dim in range(x.rank)]
        out = c.binary("multiply", out, c.array(factors.reshape(shape), x.dtype))
    return out


@rule("LpPool")
def lp_pool(c: Emitter, node: Node, x: Tensor) -> Tensor:
    """The p-th root of the sum of |x|^p over each window."""
    window, p = _Window(node, x), node.get("p", 2)
    powers = _powers(c, x, p)
    padded = composites.pad_constant(c, powers, [(0, 0), (0, 0), *window.pairs], 0.0)
    mean = _pooled(c, "avg_pool2d", padded, window, [0] * len(window.kernel), {"count_include_pad": True})
    return _root(c, c.binary("multiply", mean, math.prod(window.kernel)), p)


def _powers(c: Emitter, x: Tensor, p: int) -> Tensor:
    return c.unary("square", x) if p == 2 else c.unary("abs", x) if p == 1 else c.binary("pow", c.unary("abs", x), p)


def _root(c: Emitter, x: Tensor, p: int) -> Tensor:
    return c.unary("sqrt", x) if p == 2 else x if p == 1 else c.binary("pow", x, 1 / p)


@rule("GlobalAveragePool")
def global_average_pool(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return composites.global_average(c, x) if x.rank == 4 else c.reduce("mean", x, list(range(2, x.rank)), True)


@rule("GlobalMaxPool")
def global_max_pool(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return c.reduce("max", x, list(range(2, x.rank)), True)


@rule("GlobalLpPool")
def global_lp_pool(c: Emitter, node: Node, x: Tensor) -> Tensor:
    p = node.get("p", 2)
    return _root(c, c.reduce("sum", _powers(c, x, p), list(range(2, x.rank)), True), p)
