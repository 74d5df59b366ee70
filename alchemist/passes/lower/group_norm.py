"""Lowers group norms: by products with constant matrices, or by a layer norm of each group's values."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import operand, shape
from alchemist.passes.lower.configs import compute_config, wide_sums_config
from alchemist.passes.lower.context import TILE, Lowering, Tensor, layout, rule

FACTOR_BITS = 8
"""Significant bits of the matrices' entries: what bfloat16 has, and less than a product keeps of float32."""
NHWC = (0, 1, 2, 3)
Vectors = tuple[SSAValue | None, ...]
"""Weight and bias of the channels, in the shape in which they are broadcast."""


@rule("group_norm")
def group_norm(c: Lowering, op: Operation) -> None:
    """Reshapes each group to a row and normalizes it by a layer norm without weights, then scales per channel; images use the faster form."""
    source, result = op.operands[0], op.results[0]
    dims, dtype = shape(source), c.dtype(result)
    channel = access.attr(op, "channel_dim") % len(dims)
    groups = access.attr(op, "num_groups")
    image = c.is_image(source) or (NHWC if len(dims) == 4 else None)
    if image is None and channel == len(dims) - 1:
        rows = c.reshape(c.get(source, TILE, dtype), (1, 1, math.prod(dims[:-1]), dims[-1]))
        c.set(result, c.reshape(_norm_of_pixels(c, op, rows, dims[0], groups), dims))
        return
    if image is not None and image[0] == 0 and image[3] == channel:
        c.set(result, _norm_of_pixels(c, op, c.flat(source, image, TILE, dtype), dims[0], groups), image)
        return
    x = c.get(source, TILE, dtype)
    order = (0, channel, *(d for d in range(1, len(dims)) if d != channel))
    x = c.permute(x, order)
    dims_last = shape(x)
    rows = c.reshape(x, (dims_last[0], groups, math.prod(dims_last[1:]) // groups))
    attributes = {"epsilon": access.attr(op, "epsilon"), "compute_config": compute_config(c.options)}
    rows = c.emit("layer_norm", [rows], attributes, note=_ROW_PER_GROUP)
    x = _scaled(c, c.reshape(rows, dims_last), _vectors(c, op, (1, dims[channel], *(1 for _ in dims_last[2:])), dtype))
    c.set(result, c.permute(x, tuple(order.index(d) for d in range(len(dims)))))


def _vectors(c: Lowering, op: Operation, dims: tuple[int, ...], dtype: str) -> Vectors:
    weight, bias = (operand(op, name) for name in ("weight", "bias"))
    return tuple(None if value is None else c.reshape(c.get(value, TILE, dtype), dims) for value in (weight, bias))


def _scaled(c: Lowering, x: SSAValue, vectors: Vectors) -> SSAValue:
    weight, bias = vectors
    x = x if weight is None else c.emit("multiply", [x, weight])
    return x if bias is None else c.emit("add", [x, bias])


def _norm_of_pixels(c: Lowering, op: Operation, x: SSAValue, images: int, groups: int) -> SSAValue:
    """Group norm of [1, 1, N*H*W, C], in the faster of two forms."""
    channels, dtype = shape(x)[3], layout(x).dtype
    pixels = shape(x)[2] // images
    matrices = _matrices(c, (images, pixels), (channels, groups), dtype)
    vectors = _vectors(c, op, (1, 1, 1, channels), dtype)
    epsilon = float(access.attr(op, "epsilon"))
    return c.fastest(
        x,
        lambda: _rows_of_groups(c, x, (images, groups), vectors, epsilon),
        lambda: _by_products(c, x, (images, 1, pixels, channels), matrices, vectors, epsilon),
    )


_ROW_PER_GROUP = "a group norm: each row is a group of channels"


def _rows_of_groups(c: Lowering, x: SSAValue, parts: tuple[int, int], vectors: Vectors, epsilon: float) -> SSAValue:
    """By a layer norm of each group's values: pixels and channels change places as whole tiles, and H and W are never apart. parts: images, groups of each."""
    flat, (images, groups) = shape(x), parts
    pixels, channels = flat[2] // images, flat[3]
    planes = c.permute(c.reshape(x, (images, pixels, channels)), (0, 2, 1))
    rows = c.reshape(planes, (images, groups, pixels * channels // groups))
    rows = c.emit("layer_norm", [rows], {"epsilon": epsilon, "compute_config": compute_config(c.options)}, note=_ROW_PER_GROUP)
    return _scaled(c, c.reshape(c.permute(c.reshape(rows, shape(planes)), (0, 2, 1)), flat), vectors)


def _by_products(c: Lowering, x: SSAValue, dims: tuple[int, ...], matrices: tuple[SSAValue, SSAValue], vectors: Vectors, epsilon: float) -> SSAValue:
    """By the mean and the variance of each group, which two products with constant matrices give every channel of it: x stays as it is.

    Args:
        dims: [N, 1, H*W, C]. matrices: as `_matrices` makes them. vectors: weight and bias of the channels.
    """
    weight, bias = vectors
    centred = Tensor(c, x).reshape(*dims)
    centred = centred - _mean(c, centred.ssa, matrices, "mean")
    variance = Tensor(c, _mean(c, (centred * centred).ssa, matrices, "variance"))
    factor = (variance + epsilon).op("rsqrt").ssa
    return c.reshape(_scaled(c, centred.ssa, (factor if weight is None else c.emit("multiply", [weight, factor]), bias)), shape(x))


def _mean(c: Lowering, value: SSAValue, matrices: tuple[SSAValue, SSAValue], called: str) -> SSAValue:
    """Of [N, 1, H*W, C] over the pixels and each group of channels, for every channel: [N, 1, 1, C]."""
    attributes = {"transpose_a": False, "transpose_b": False, "compute_config": wide_sums_config(c.options)}
    of_channels = c.emit("matmul", [matrices[0], value], attributes)
    return c.emit("matmul", [of_channels, matrices[1]], attributes, note=f"{called} of each group, for all its channels")


def _matrices(c: Lowering, rows: tuple[int, int], columns: tuple[int, int], dtype: str) -> tuple[SSAValue, SSAValue]:
    """[N, 1, 1, H*W] and [C, C], products with which are means of groups.

    Args:
        rows: images and the pixels of each. columns: channels and their groups.
    """
    (images, pixels), (channels, groups) = rows, columns
    width = channels // groups
    of_pixel, of_channel = mean_factors(pixels, width)
    shares = c.matrix(np.full((images, 1, 1, pixels), of_pixel, np.float32), dtype, f"shares_of_{pixels}_pixels")
    blocks = np.kron(np.eye(groups, dtype=np.float32), np.full((width, width), of_channel, np.float32))
    return shares, c.matrix(blocks, dtype, f"shares_of_{channels}_channels")


def mean_factors(pixels: int, channels: int) -> tuple[float, float]:
    """Two numbers of `FACTOR_BITS` significant bits, of about 1 / pixels and 1 / channels, whose product is 1 / (pixels * channels) within 1 / 5,000 of it.

    Powers of two have it exactly. Any other share would be off by up to 1 / 512 in one matrix, and each variance with it.
    """
    first = 2.0 ** -math.ceil(math.log2(pixels))
    steps = 1 << (FACTOR_BITS - 1)
    pairs = [(first * step / steps, _rounded(1 / (pixels * channels * first * step / steps))) for step in range(steps, 2 * steps)]
    return min(pairs, key=lambda pair: abs(pair[0] * pair[1] * pixels * channels - 1))


def _rounded(number: float) -> float:
    """Rounds to `FACTOR_BITS` significant bits."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(round(math.ldexp(mantissa, FACTOR_BITS)), exponent - FACTOR_BITS)
