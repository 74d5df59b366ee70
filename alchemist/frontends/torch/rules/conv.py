"""Convolutions, pooling and resizing. Convolutions keep torch's NCHW through `*_dim`; pools are NHWC between two permutes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from alchemist.frontends.torch.emitter import Emitter, Tensor
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.registry import recipe, rule

Ints = int | Sequence[int]


def spread(values: Ints, rank: int) -> list[int]:
    """torch's int-or-list arguments as a list of `rank`."""
    parts = [values] if isinstance(values, int) else list(values)
    return [int(part) for part in (parts * rank if len(parts) == 1 else parts)]


def _dims(rank: int) -> dict[str, int]:
    names = {1: ["length"], 2: ["height", "width"], 3: ["depth", "height", "width"]}[rank]
    return {"batch_dim": 0, "channel_dim": 1} | {f"{name}_dim": i + 2 for i, name in enumerate(names)}


def _batched(c: Emitter, x: Tensor, rank: int) -> Tensor:
    return c.reshape(x, [1, *x.shape]) if x.rank == rank + 1 else x


def forward_shape(
    x: Tensor, out_channels: int, kernel: Sequence[int], stride: Sequence[int], pads: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> list[int]:  # fmt: skip
    sizes = [(size + low + high - d * (k - 1) - 1) // s + 1 for size, (low, high), d, k, s in zip(x.shape[2:], pads, dilation, kernel, stride, strict=True)]
    return [x.shape[0], out_channels, *sizes]


def _pads(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """[pad, ...] when symmetric, else all low values and then all high values (top, left, bottom, right)."""
    if all(low == high for low, high in pairs):
        return [low for low, _ in pairs]
    return [low for low, _ in pairs] + [high for _, high in pairs]


@rule("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default", "aten.conv1d.padding", "aten.conv2d.padding", "aten.conv3d.padding")  # fmt: skip
def convolve(
    c: Emitter, x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Any = 0, dilation: Ints = 1, groups: int = 1
) -> Tensor:
    """A forward convolution of 1, 2 or 3 spatial dimensions; `padding` as in torch.nn.functional (numbers or a word)."""
    rank = weight.rank - 2
    x = _batched(c, x, rank)
    kernel = list(weight.shape[2:])
    stride, dilation = spread(stride, rank), spread(dilation, rank)
    if padding == "valid":
        pairs = [(0, 0)] * rank
    elif padding == "same":
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        pairs = [(total // 2, total - total // 2) for total in totals]
    else:
        pairs = [(amount, amount) for amount in spread(padding, rank)]
    if rank != 2 and any(low != high for low, high in pairs):
        padding_nd = [0, 0, 0, 0, *(part for pair in pairs for part in pair)]
        sizes = [size + low + high for size, (low, high) in zip(x.shape[2:], pairs, strict=True)]
        x = c.emit("pad", [x], {"padding": padding_nd, "value": 0.0}, shape=[*x.shape[:2], *sizes])
        pairs = [(0, 0)] * rank
    shape = forward_shape(x, weight.shape[0], kernel, stride, pairs, dilation)
    attributes: dict[str, Any] = {"stride": stride, "padding": _pads(pairs), "groups": groups, **_dims(rank)}
    if rank == 1:
        attributes |= {"stride": stride[0], "padding": pairs[0][0]}
    if rank < 3:
        attributes["dilation"] = dilation[0] if rank == 1 else dilation
    else:  # TTIR's conv3d has no dilation: zeros between the taps
        for dim, step in enumerate(dilation, 2):
            weight = _spread_taps(c, weight, dim, step)
    if bias is not None:  # TTIR: the bias has the rank of the output, channels where the output has them
        bias = c.reshape(bias, [1, bias.shape[0], *[1] * rank])
    out = c.emit(f"conv{rank}d", [x, weight, bias], attributes, shape=shape, dtype=x.dtype)
    return c.reshape(out, c.out_shape)


def _spread_taps(c: Emitter, weight: Tensor, dim: int, step: int) -> Tensor:
    """`step` - 1 zeros between the elements along `dim`."""
    if step == 1 or weight.shape[dim] == 1:
        return weight
    before, size, after = weight.shape[:dim], weight.shape[dim], weight.shape[dim + 1 :]
    count = math.prod(after)
    rows = c.reshape(weight, [math.prod(before), size, 1, count])
    pads = {"padding": [0, 0, 0, 0, 0, step - 1, 0, 0], "value": 0.0}
    rows = c.emit("pad", [rows], pads, shape=[math.prod(before), size, step, count], dtype=weight.dtype)
    rows = c.slice(c.reshape(rows, [math.prod(before), size * step, count]), 1, 0, (size - 1) * step + 1)
    return c.reshape(rows, [*before, (size - 1) * step + 1, *after])


@rule("aten.convolution.default")
def convolution(
    c: Emitter, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, output_padding: Ints, groups: int,
) -> Tensor:  # fmt: skip
    if transposed:
        return transposed_conv(c, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return convolve(c, x, weight, bias, stride, padding, dilation, groups)


@rule("aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def transposed_conv(
    c: Emitter,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    rank = weight.rank - 2
    x = _batched(c, x, rank)
    if rank == 3:
        geometry = [spread(part, 3) for part in (stride, padding, output_padding, dilation)]
        return _transposed_3d(c, x, weight, bias, geometry, groups)
    stride, padding, extra, dilation = (spread(part, rank) for part in (stride, padding, output_padding, dilation))
    if rank == 1:  # as a 2-d one of height 1
        x = c.reshape(x, [*x.shape[:2], 1, x.shape[2]])
        weight = c.reshape(weight, [*weight.shape[:2], 1, weight.shape[2]])
        stride, padding, extra, dilation = [1, *stride], [0, *padding], [0, *extra], [1, *dilation]
    sizes = [
        (size - 1) * s - 2 * p + d * (k - 1) + e + 1
        for size, s, p, d, k, e in zip(x.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True)
    ]
    attributes = {
        "stride": stride, "padding": padding, "output_padding": extra, "dilation": dilation, "groups": groups, **_dims(2)
    }  # fmt: skip
    if bias is not None:
        bias = c.reshape(bias, [1, bias.shape[0], 1, 1])
    shape = [x.shape[0], weight.shape[1] * groups, *sizes]
    return c.reshape(c.emit("conv_transpose2d", [x, weight, bias], attributes, shape=shape, dtype=x.dtype), c.out_shape)


def _transposed_3d(c: Emitter, x: Tensor, weight: Tensor, bias: Tensor | None, geometry: Sequence[list[int]], groups: int) -> Tensor:
    """One 2-D transposed convolution per depth tap; each tap's planes are spread by the stride, shifted and added."""
    stride, padding, extra, dilation = geometry
    n, channels, depth, height, width = x.shape
    planes = c.reshape(c.permute(x, [0, 2, 1, 3, 4]), [n * depth, channels, height, width])
    out_channels, taps = weight.shape[1] * groups, weight.shape[2]
    sizes = [
        (size - 1) * s - 2 * p + d * (k - 1) + e + 1
        for size, s, p, d, k, e in zip(x.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True)
    ]
    area = sizes[1] * sizes[2]
    attributes = {
        "stride": stride[1:], "padding": padding[1:], "output_padding": extra[1:], "dilation": dilation[1:], "groups": groups, **_dims(2)
    }  # fmt: skip
    total: Tensor | None = None
    for tap in range(taps):
        kernel = c.reshape(c.slice(weight, 2, tap, tap + 1), [*weight.shape[:2], *weight.shape[3:]])
        shape = [n * depth, out_channels, *sizes[1:]]
        made = c.emit("conv_transpose2d", [planes, kernel, None], attributes, shape=shape, dtype=x.dtype)
        made = c.reshape(made, [n, depth, 1, out_channels * area])
        full = (depth - 1) * stride[0] + dilation[0] * (taps - 1) + 1 + extra[0]
        made = _padded(c, made, 2, 0, stride[0] - 1)
        made = c.slice(c.reshape(made, [n, depth * stride[0], out_channels * area]), 1, 0, (depth - 1) * stride[0] + 1)
        made = _padded(c, made, 1, tap * dilation[0], full - made.shape[1] - tap * dilation[0])
        total = made if total is None else c.binary("add", total, made)
    assert total is not None
    total = c.slice(total, 1, padding[0], padding[0] + sizes[0])
    out = c.permute(c.reshape(total, [n, sizes[0], out_channels, *sizes[1:]]), [0, 2, 1, 3, 4])
    if bias is not None:
        out = c.binary("add", out, c.reshape(bias, [1, out_channels, 1, 1, 1]))
    return c.reshape(out, c.out_shape)


def _padded(c: Emitter, x: Tensor, dim: int, before: int, after: int) -> Tensor:
    """Zeros before and after along `dim`."""
    if before == after == 0:
        return x
    shape = [size + before + after if i == dim else size for i, size in enumerate(x.shape)]
    flat = [part for i in range(x.rank) for part in ((before, after) if i == dim else (0, 0))]
    return c.emit("pad", [x], {"padding": flat, "value": 0.0}, shape=shape, dtype=x.dtype)


# --- pooling ----------------------------------------------------------------------------------------------------------------


def _nhwc(c: Emitter, x: Tensor) -> Tensor:
    return c.permute(x, [0, 2, 3, 1])


def _nchw(c: Emitter, x: Tensor) -> Tensor:
    return c.permute(x, [0, 3, 1, 2])


def _pool_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = -(-span // stride) + 1 if ceil_mode else span // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def pool2d(
    c: Emitter, name: str, x: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool,
    extra: dict[str, Any],
) -> Tensor:  # fmt: skip
    """A 2-d pool of an NCHW tensor (or CHW)."""
    batched = _batched(c, x, 2)
    kernel, padding, dilation = spread(kernel, 2), spread(padding, 2), spread(dilation, 2)
    stride = spread(stride, 2) if stride not in ([], (), None) else kernel
    if ceil_mode:  # one window over everything, as heads with a pool of the channel count have it
        kernel = [min(k, size + 2 * p) if d == 1 else k for k, size, p, d in zip(kernel, batched.shape[2:], padding, dilation, strict=True)]
    sizes = [_pool_size(size, k, s, p, d, ceil_mode) for size, k, s, p, d in zip(batched.shape[2:], kernel, stride, padding, dilation, strict=True)]
    channels_last = _nhwc(c, batched)
    attributes = {
        "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode, **extra
    }  # fmt: skip
    shape = [batched.shape[0], *sizes, batched.shape[1]]
    pooled = _nchw(c, c.emit(name, [channels_last], attributes, shape=shape, dtype=x.dtype))
    return c.reshape(pooled, pooled.shape[1:]) if x.rank == 3 else pooled


@rule("aten.max_pool2d.default")
def max_pool2d(c: Emitter, x: Tensor, kernel: Ints, stride: Ints = (), padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False) -> Tensor:
    return pool2d(c, "max_pool2d", x, kernel, stride, padding, dilation, ceil_mode, {})


@rule("aten.max_pool2d_with_indices.default")
def max_pool2d_with_indices(
    c: Emitter, x: Tensor, kernel: Ints, stride: Ints = (), padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False
) -> list[Tensor]:
    indices = [user for user in c.node.users if len(user.args) > 1 and user.args[1] == 1 and user.users]
    if indices:
        raise Unsupported("the indices of max_pool2d are used")
    return [max_pool2d(c, x, kernel, stride, padding, dilation, ceil_mode)]


@rule("aten.avg_pool2d.default")
def avg_pool2d(
    c: Emitter, x: Tensor, kernel: Ints, stride: Ints = (), padding: Ints = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    extra = {"count_include_pad": count_include_pad}
    out = pool2d(c, "avg_pool2d", x, kernel, stride, padding, 1, ceil_mode, extra)
    if divisor_override is None:
        return out
    if any(spread(padding, 2)) or ceil_mode:
        raise Unsupported("avg_pool2d with divisor_override and padding")
    return c.binary("multiply", out, math.prod(spread(kernel, 2)) / divisor_override)


@rule("aten.max_pool1d.default")
def max_pool1d(c: Emitter, x: Tensor, kernel: Ints, stride: Ints = (), padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False) -> Tensor:
    return _pool1d(c, "max_pool2d", x, kernel, stride, padding, dilation, ceil_mode, {})


@rule("aten.avg_pool1d.default")
def avg_pool1d(
    c: Emitter, x: Tensor, kernel: Ints, stride: Ints = (), padding: Ints = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    return _pool1d(c, "avg_pool2d", x, kernel, stride, padding, 1, ceil_mode, {"count_include_pad": count_include_pad})


def _pool1d(
    c: Emitter, name: str, x: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool,
    extra: dict[str, Any],
) -> Tensor:  # fmt: skip
    k = spread(kernel, 1)
    s = spread(stride, 1) if stride not in ([], (), None) else k
    flat = c.reshape(x, [*x.shape[:-1], 1, x.shape[-1]])
    out = pool2d(c, name, flat, [1, *k], [1, *s], [0, *spread(padding, 1)], [1, *spread(dilation, 1)], ceil_mode, extra)
    return c.reshape(out, c.out_shape)


@rule("aten.adaptive_avg_pool2d.default", "aten._adaptive_avg_pool2d.default")
def adaptive_avg_pool2d(c: Emitter, x: Tensor, output_size: Sequence[int]) -> Tensor:
    batched = _batched(c, x, 2)
    height, width = batched.shape[2:]
    rows, columns = c.out_shape[-2:]
    if (rows, columns) == (1, 1):
        channels_last = _nhwc(c, batched)
        shape = [batched.shape[0], 1, 1, batched.shape[1]]
        return c.reshape(_nchw(c, c.emit("global_avg_pool2d", [channels_last], {}, shape=shape)), c.out_shape)
    if height % rows == 0 and width % columns == 0:
        kernel = [height // rows, width // columns]
        if kernel == [1, 1]:
            return x
        return pool2d(c, "avg_pool2d", x, kernel, kernel, 0, 1, False, {"count_include_pad": True})
    return _separable(c, x, [averaging_matrix(height, rows), averaging_matrix(width, columns)])


@rule("aten.adaptive_avg_pool1d.default")
def adaptive_avg_pool1d(c: Emitter, x: Tensor, output_size: Sequence[int]) -> Tensor:
    size, wanted = x.shape[-1], c.out_shape[-1]
    if wanted == 1:
        return c.reduce("mean", x, [-1], True)
    return _separable(c, x, [averaging_matrix(size, wanted)])


@rule("aten.adaptive_avg_pool3d.default", "aten._adaptive_avg_pool3d.default")
def adaptive_avg_pool3d(c: Emitter, x: Tensor, output_size: Sequence[int]) -> Tensor:
    if c.out_shape[-3:] == (1, 1, 1):
        return c.reduce("mean", x, [-3, -2, -1], True)
    sizes = zip(x.shape[-3:], c.out_shape[-3:], strict=True)
    return _separable(c, x, [averaging_matrix(size, wanted) for size, wanted in sizes])


def averaging_matrix(size: int, wanted: int) -> torch.Tensor:
    """[wanted, size]: row i averages the inputs that adaptive pooling assigns to output i."""
    matrix = torch.zeros(wanted, size)
    for i in range(wanted):
        begin, end = i * size // wanted, -(-(i + 1) * size // wanted)
        matrix[i, begin:end] = 1.0 / (end - begin)
    return matrix


def _windows(size: int, wanted: int) -> list[tuple[int, int]]:
    return [(i * size // wanted, -(-(i + 1) * size // wanted)) for i in range(wanted)]


@recipe("aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def adaptive_max_pool(x: torch.Tensor, output_size: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima of the windows; the indices are not computed (the result repeats the values) and must not be used."""
    rank = len(output_size)
    for k, wanted in enumerate(output_size):
        dim = x.dim() - rank + k
        parts = [torch.amax(x.narrow(dim, a, b - a), dim, keepdim=True) for a, b in _windows(x.shape[dim], wanted)]
        x = torch.cat(parts, dim)
    return x, x


@recipe("aten.max_pool3d.default")
def max_pool3d(
    x: torch.Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Ints = 0, dilation: Ints = 1,
    ceil_mode: bool = False,
) -> torch.Tensor:  # fmt: skip
    """Separable: maxima over height and width (a 2-d pool), then over depth."""
    kernel, padding, dilation = spread(kernel_size, 3), spread(padding, 3), spread(dilation, 3)
    stride = spread(stride, 3) if stride else kernel
    n, channels, depth, height, width = x.shape
    planes = x.reshape(n, channels * depth, height, width)
    planes = torch.ops.aten.max_pool2d(planes, kernel[1:], stride[1:], padding[1:], dilation[1:], ceil_mode)
    rows, columns = planes.shape[2:]
    lines = planes.reshape(n, channels, depth, rows * columns)
    lines = torch.ops.aten.max_pool2d(lines, [kernel[0], 1], [stride[0], 1], [padding[0], 0], [dilation[0], 1], ceil_mode)
    return lines.reshape(n, channels, lines.shape[2], rows, columns)


@recipe("aten.max_pool3d_with_indices.default")
def max_pool3d_with_indices(*args: Any) -> tuple[torch.Tensor, torch.Tensor]:
    out = max_pool3d(*args)
    return out, out


@recipe("aten.avg_pool3d.default")
def avg_pool3d(
    x: torch.Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Ints = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> torch.Tensor:  # fmt: skip
    kernel, pad = spread(kernel_size, 3), spread(padding, 3)
    stride = spread(stride, 3) if stride else kernel
    if divisor_override is not None or (not count_include_pad and any(pad)):
        raise NotImplementedError("avg_pool3d with divisor_override or count_include_pad=False")
    n, channels, depth, height, width = x.shape
    planes = x.reshape(n, channels * depth, height, width)
    planes = torch.ops.aten.avg_pool2d(planes, kernel[1:], stride[1:], pad[1:], ceil_mode, count_include_pad)
    rows, columns = planes.shape[2:]
    lines = planes.reshape(n, channels, depth, rows * columns)
    lines = torch.ops.aten.avg_pool2d(lines, [kernel[0], 1], [stride[0], 1], [pad[0], 0], ceil_mode, count_include_pad)
    return lines.reshape(n, channels, lines.shape[2], rows, columns)


# --- resizing ---------------------------------------------------------------------------------------------------------------


def _separable(c: Emitter, x: Tensor, matrices: Sequence[torch.Tensor]) -> Tensor:
    """Applies one matrix [out, in] along each of the last dimensions: any linear, separable resampling."""
    rank = len(matrices)
    for k, matrix in enumerate(matrices):
        dim = x.rank - rank + k
        if matrix.shape[0] == matrix.shape[1] and bool((matrix == torch.eye(matrix.shape[0])).all()):
            continue
        order = [i for i in range(x.rank) if i != dim]
        moved = c.permute(x, [*order, dim])
        weight = c.constant(matrix.T.to(x.dtype).contiguous())
        flat = c.reshape(moved, [math.prod(moved.shape[:-1]), moved.shape[-1]])
        product = c.emit("matmul", [flat, weight], {}, shape=[flat.shape[0], matrix.shape[0]], dtype=x.dtype)
        back = list(range(x.rank - 1))
        back.insert(dim, x.rank - 1)
        x = c.permute(c.reshape(product, [*moved.shape[:-1], matrix.shape[0]]), back)
    return x


def resize_matrix(size: int, wanted: int, scale: float | None, mode: str, align_corners: bool | None) -> torch.Tensor:
    """[wanted, size]: the weights that torch's own interpolation gives along one dimension."""
    unit = torch.eye(size).reshape(size, 1, 1, size)
    smooth = mode.endswith("-antialias")
    mode = mode.removesuffix("-antialias")
    kind = {"nearest": "nearest", "nearest-exact": "nearest-exact", "linear": "bilinear", "cubic": "bicubic"}[mode]
    options: dict[str, Any] = {} if mode.startswith("nearest") else {"align_corners": bool(align_corners), "antialias": smooth}
    if scale is not None and math.floor(size * scale) == wanted:
        out = F.interpolate(unit, scale_factor=(1.0, scale), mode=kind, recompute_scale_factor=False, **options)
    else:
        out = F.interpolate(unit, size=(1, wanted), mode=kind, **options)
    return out.reshape(size, wanted).T.contiguous()


def _resize(c: Emitter, x: Tensor, mode: str, align_corners: bool | None, scales: Sequence[float] | None) -> Tensor:
    rank = x.rank - 2
    sizes, wanted = x.shape[2:], c.out_shape[2:]
    whole = all(want % size == 0 for want, size in zip(wanted, sizes, strict=True))
    given: list[float | None] = list(scales or [])
    unknown: list[float | None] = [None] * rank
    plain = all(scale is None or scale == want / size for scale, want, size in zip(given or unknown, wanted, sizes, strict=True))
    if rank == 2 and whole and plain and (mode == "nearest" or (mode == "linear" and not align_corners)):
        factors = [want // size for want, size in zip(wanted, sizes, strict=True)]
        if factors == [1, 1]:
            return x
        shape = [x.shape[0], *wanted, x.shape[1]]
        attributes = {"scale_factor": factors, "mode": "nearest" if mode == "nearest" else "bilinear"}
        return _nchw(c, c.emit("upsample2d", [_nhwc(c, x)], attributes, shape=shape, dtype=x.dtype))
    with torch.no_grad():
        matrices = [resize_matrix(size, want, scale, mode, align_corners) for size, want, scale in zip(sizes, wanted, given or unknown, strict=True)]
    return _separable(c, x, matrices)


def _upsample(names: Sequence[str], mode: str, corners: bool) -> None:
    @rule(*(f"aten.{name}.vec" for name in names))
    def vector(c: Emitter, x: Tensor, output_size: Any, *rest: Any) -> Tensor:
        align, scales = (rest[0], rest[1]) if corners else (None, rest[0])
        return _resize(c, x, mode, align, scales)

    @rule(*(f"aten.{name}.default" for name in names))
    def default(c: Emitter, x: Tensor, output_size: Any, *rest: Any) -> Tensor:
        align = rest[0] if corners else None
        scales = list(rest[1:] if corners else rest)
        known = [scale for scale in scales if scale is not None]
        return _resize(c, x, mode, align, known if len(known) == x.rank - 2 else None)


_upsample(("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"), "nearest", False)
_upsample(("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"), "nearest-exact", False)
_upsample(("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"), "linear", True)
_upsample(("upsample_bicubic2d",), "cubic", True)
_upsample(("_upsample_bilinear2d_aa",), "linear-antialias", True)
_upsample(("_upsample_bicubic2d_aa",), "cubic-antialias", True)
