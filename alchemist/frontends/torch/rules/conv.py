"""Convolutions, pooling and resizing. Convolutions keep torch's NCHW through `*_dim`; pools are NHWC between two permutes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F

from alchemist.errors import FrontendError
from alchemist.frontends import composites
from alchemist.frontends.torch.dtypes import limits, to_numpy
from alchemist.frontends.torch.emitter import Emitter, Tensor
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.registry import RULES, recipe, rule

if TYPE_CHECKING:
    from alchemist.frontends.torch.lowering import Lowering

Ints = int | Sequence[int]


def spread(values: Ints, rank: int) -> list[int]:
    """torch's int-or-list arguments as a list of `rank`."""
    parts = [values] if isinstance(values, int) else list(values)
    return [int(part) for part in (parts * rank if len(parts) == 1 else parts)]


def _batched(c: Emitter, x: Tensor, rank: int) -> Tensor:
    return c.reshape(x, [1, *x.shape]) if x.rank == rank + 1 else x


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
    return c.reshape(composites.convolution(c, x, weight, bias, stride, pairs, dilation, groups), c.out_shape)


@rule("aten.convolution.default")
def convolution(
    c: Emitter, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, output_padding: Ints, groups: int,
) -> Tensor:  # fmt: skip
    if not transposed:
        return convolve(c, x, weight, bias, stride, padding, dilation, groups)
    stride, padding, extra, dilation = (spread(part, weight.rank - 2) for part in (stride, padding, output_padding, dilation))
    return c.reshape(composites.transposed_convolution(c, x, weight, bias, stride, padding, extra, dilation, groups), c.out_shape)


# --- pooling ----------------------------------------------------------------------------------------------------------------


class Windows:
    """Windows of a 2-d pool over images [..., height, width]."""

    def __init__(self, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
        self.kernel, self.stride, self.padding, self.dilation = (spread(value, 2) for value in (kernel, stride or kernel, padding, dilation))

    def taps(self, x: torch.Tensor, fill: float, out: Sequence[int]) -> list[torch.Tensor]:
        """Of each place of the kernel what all windows see there, [..., *out], with `fill` around the images."""
        margins = []
        for axis in (1, 0):
            reach = (out[axis] - 1) * self.stride[axis] + self.dilation[axis] * (self.kernel[axis] - 1) + 1
            margins += [self.padding[axis], max(0, reach - self.padding[axis] - x.shape[axis - 2])]
        if any(margins):
            x = F.pad(x, margins, value=fill)
        return [x[..., *(slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(begin, out, self.stride, strict=True))] for begin in self._begins()]

    def _begins(self) -> list[tuple[int, int]]:
        return [(i * self.dilation[0], j * self.dilation[1]) for i in range(self.kernel[0]) for j in range(self.kernel[1])]

    def hits(self, x: torch.Tensor, out: Sequence[int]) -> list[torch.Tensor]:
        """Of each place of the kernel whether it is the first with its window's largest value."""
        taps = self.taps(x, limits(x.dtype)[0], out)
        largest, free, masks = functools.reduce(torch.maximum, taps), None, []
        for tap in taps:
            hit = tap == largest
            masks.append(hit if free is None else hit & free)
            free = ~hit if free is None else free & ~hit
        return masks

    def largest(self, x: torch.Tensor, out: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Each window's largest value and where in its flat image it is, the first of equal ones. A pool on the device would round the values."""
        rows, columns = out
        values, places = None, None
        for tap, (top, left) in zip(self.taps(x, limits(x.dtype)[0], out), self._begins(), strict=True):
            line = torch.arange(rows).unsqueeze(1) * self.stride[0] + (top - self.padding[0])
            place = line * x.shape[-1] + (torch.arange(columns) * self.stride[1] + (left - self.padding[1]))
            if values is None or places is None:
                values, places = tap, place.expand(tap.shape)
            else:
                places = torch.where(tap > values, place, places)
                values = torch.maximum(tap, values)
        assert values is not None
        assert places is not None
        return values, places

    def spread(self, parts: Sequence[torch.Tensor], sizes: Sequence[int]) -> torch.Tensor:
        """Adds what each place of the kernel has for every window, [..., *out], to where it stands in images of `sizes`."""
        rows, columns = parts[0].shape[-2:]
        heights, widths = [max(begin[axis] for begin in self._begins()) // self.stride[axis] + n for axis, n in enumerate((rows, columns))]
        lines = []
        for i in range(self.stride[0]):
            line = []
            for j in range(self.stride[1]):
                total = None  # of the places i, i + stride, ... and j, j + stride, ...
                for part, (top, left) in zip(parts, self._begins(), strict=True):
                    if top % self.stride[0] == i and left % self.stride[1] == j:
                        above, before = top // self.stride[0], left // self.stride[1]
                        part = F.pad(part, [before, widths - columns - before, above, heights - rows - above])
                        total = part if total is None else total + part
                line.append(torch.zeros([*parts[0].shape[:-2], heights, widths], dtype=parts[0].dtype) if total is None else total)
            lines.append(torch.stack(line, -1))
        images = torch.stack(lines, -3).reshape([*parts[0].shape[:-2], heights * self.stride[0], widths * self.stride[1]])
        missing = [max(0, self.padding[axis] + sizes[axis] - images.shape[axis - 2]) for axis in (0, 1)]
        if any(missing):
            images = F.pad(images, [0, missing[1], 0, missing[0]])
        return images[..., self.padding[0] : self.padding[0] + sizes[0], self.padding[1] : self.padding[1] + sizes[1]]


def pool(
    c: Emitter, name: str, x: Tensor, rank: int, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, extra: dict[str, Any]
) -> Tensor:
    """Over `rank` dimensions of an image or of a batch of them."""
    kernel, padding, dilation = spread(kernel, rank), spread(padding, rank), spread(dilation, rank)
    stride = spread(stride, rank) if stride not in ([], (), None) else kernel
    pooled = composites.pool(c, name, _batched(c, x, rank), kernel, stride, padding, dilation, ceil_mode, extra)
    return c.reshape(pooled, pooled.shape[1:]) if x.rank == rank + 1 else pooled


def _pools(rank: int) -> None:
    @rule(f"aten.max_pool{rank}d.default")
    def largest(c: Emitter, x: Tensor, kernel: Ints, stride: Ints = (), padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False) -> Tensor:
        return pool(c, "max_pool2d", x, rank, kernel, stride, padding, dilation, ceil_mode, {})

    @rule(f"aten.avg_pool{rank}d.default")
    def average(
        c: Emitter, x: Tensor, kernel: Ints, stride: Ints = (), padding: Ints = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        if not x.dtype.is_floating_point:
            raise Unsupported("averages of integers, which PyTorch rounds towards 0: pool x.float() and call trunc")
        whole = count_include_pad or divisor_override is not None
        if rank == 3 and not whole and any(spread(padding, rank)):
            raise Unsupported("avg_pool3d with count_include_pad=False")
        if divisor_override is not None and ceil_mode:
            raise Unsupported(f"avg_pool{rank}d with divisor_override and ceil_mode")
        out = pool(c, "avg_pool2d", x, rank, kernel, stride, padding, 1, ceil_mode, {"count_include_pad": whole})
        return out if divisor_override is None else c.binary("multiply", out, math.prod(spread(kernel, rank)) / divisor_override)


for _rank in (1, 2, 3):
    _pools(_rank)


@rule("aten.max_pool2d_with_indices.default")
def max_pool2d_with_indices(
    c: Lowering, x: Tensor, kernel: Ints, stride: Ints = (), padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False
) -> list[Tensor]:
    readers = {str(reader.target) for user in c.node.users if len(user.args) > 1 and user.args[1] == 1 for reader in user.users}
    if readers <= {"aten.max_pool2d_with_indices_backward.default"}:  # its recipe finds the places itself
        return [pool(c, "max_pool2d", x, 2, kernel, stride, padding, dilation, ceil_mode, {}), c.full(c.out[1].shape, 0, c.out[1].dtype)]
    windows, out = Windows(kernel, stride, padding, dilation), tuple(c.out[0].shape[-2:])
    results: list[Tensor] = c.apply(lambda images: windows.largest(images, out), x)
    return results


@rule("aten.max_pool3d_with_indices.default")
def max_pool3d_with_indices(c: Emitter, x: Tensor, *window: Any) -> list[Tensor]:
    """The indices are not computed."""
    if any(len(user.args) > 1 and user.args[1] == 1 and user.users for user in c.node.users):
        raise Unsupported("its result 1 is used")
    return [RULES["aten.max_pool3d.default"](c, x, *window), c.full(c.out[1].shape, 0, c.out[1].dtype)]


@rule("aten.adaptive_avg_pool2d.default", "aten._adaptive_avg_pool2d.default")
def adaptive_avg_pool2d(c: Emitter, x: Tensor, output_size: Sequence[int]) -> Tensor:
    batched = _batched(c, x, 2)
    height, width = batched.shape[2:]
    rows, columns = c.out_shape[-2:]
    if (rows, columns) == (1, 1):
        return c.reshape(composites.global_average(c, batched), c.out_shape)
    if height % rows == 0 and width % columns == 0:
        kernel = [height // rows, width // columns]
        if kernel == [1, 1]:
            return x
        return pool(c, "avg_pool2d", x, 2, kernel, kernel, 0, 1, False, {"count_include_pad": True})
    return composites.separable(c, x, [averaging_matrix(height, rows), averaging_matrix(width, columns)])


@rule("aten.adaptive_avg_pool1d.default")
def adaptive_avg_pool1d(c: Emitter, x: Tensor, output_size: Sequence[int]) -> Tensor:
    size, size_out = x.shape[-1], c.out_shape[-1]
    if size_out == 1:
        return c.reduce("mean", x, [-1], True)
    return composites.separable(c, x, [averaging_matrix(size, size_out)])


@rule("aten.adaptive_avg_pool3d.default", "aten._adaptive_avg_pool3d.default")
def adaptive_avg_pool3d(c: Emitter, x: Tensor, output_size: Sequence[int]) -> Tensor:
    if c.out_shape[-3:] == (1, 1, 1):
        return c.reduce("mean", x, [-3, -2, -1], True)
    sizes = zip(x.shape[-3:], c.out_shape[-3:], strict=True)
    return composites.separable(c, x, [averaging_matrix(size, size_out) for size, size_out in sizes])


def averaging_matrix(size: int, size_out: int) -> np.ndarray[Any, Any]:
    """[wanted, size]: row i averages the inputs that adaptive pooling assigns to output i."""
    matrix = np.zeros((size_out, size), np.float32)
    for i, (begin, end) in enumerate(_windows(size, size_out)):
        matrix[i, begin:end] = 1.0 / (end - begin)
    return matrix


def _windows(size: int, size_out: int) -> list[tuple[int, int]]:
    return [(i * size // size_out, -(-(i + 1) * size // size_out)) for i in range(size_out)]


@recipe("aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def adaptive_max_pool(x: torch.Tensor, output_size: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima of the windows; the indices are not computed: what stands for them has another shape, which refuses their use."""
    rank = len(output_size)
    for k, size_out in enumerate(output_size):
        dim = x.dim() - rank + k
        parts = [torch.amax(x.narrow(dim, a, b - a), dim, keepdim=True) for a, b in _windows(x.shape[dim], size_out)]
        x = torch.cat(parts, dim)
    return x, x.new_zeros(0)


# --- resizing ---------------------------------------------------------------------------------------------------------------


def resize_matrix(size: int, size_out: int, scale: float | None, mode: str, align_corners: bool | None) -> np.ndarray[Any, Any]:
    """[wanted, size]: the weights that torch's own interpolation gives along one dimension."""
    unit = torch.eye(size).reshape(size, 1, 1, size)
    smooth = mode.endswith("-antialias")
    mode = mode.removesuffix("-antialias")
    kind = {"nearest": "nearest", "nearest-exact": "nearest-exact", "linear": "bilinear", "cubic": "bicubic"}[mode]
    options: dict[str, Any] = {} if mode.startswith("nearest") else {"align_corners": bool(align_corners), "antialias": smooth}
    if scale is not None and math.floor(size * scale) != size_out:
        raise Unsupported(f"a scale of {scale:g} that does not give {size_out} of {size} places")
    if scale is not None:
        out = F.interpolate(unit, scale_factor=(1.0, scale), mode=kind, recompute_scale_factor=False, **options)
    else:
        out = F.interpolate(unit, size=(1, size_out), mode=kind, **options)
    return to_numpy(out.reshape(size, size_out).T)


def _resize(c: Emitter, x: Tensor, mode: str, align_corners: bool | None, scales: Sequence[float] | None) -> Tensor:
    if not x.dtype.is_floating_point and not mode.startswith("nearest"):
        hint = "PyTorch interpolates whole numbers in fixed point: convert them with .float() first"
        raise FrontendError("interpolation of whole numbers", location=c.location(), got=str(x.dtype), hint=hint)
    rank = x.rank - 2
    sizes, sizes_out = x.shape[2:], c.out_shape[2:]
    whole = all(want % size == 0 for want, size in zip(sizes_out, sizes, strict=True))
    scale_factors: list[float | None] = list(scales or [])
    unknown: list[float | None] = [None] * rank
    plain = all(scale is None or scale == want / size for scale, want, size in zip(scale_factors or unknown, sizes_out, sizes, strict=True))
    if rank == 2 and whole and plain and (mode == "nearest" or (mode == "linear" and not align_corners)):
        factors = [want // size for want, size in zip(sizes_out, sizes, strict=True)]
        return composites.upsample(c, x, factors, "nearest" if mode == "nearest" else "bilinear")
    with torch.no_grad():
        matrices = [resize_matrix(size, want, scale, mode, align_corners) for size, want, scale in zip(sizes, sizes_out, scale_factors or unknown, strict=True)]
    return composites.separable(c, x, matrices)


def _upsample(names: Sequence[str], mode: str, corners: bool) -> None:
    @rule(*(f"aten.{name}.vec" for name in names))
    def vector(c: Emitter, x: Tensor, output_size: Any, *rest: Any) -> Tensor:
        align, scales = (rest[0], rest[1]) if corners else (None, rest[0])
        return _resize(c, x, mode, align, scales)

    @rule(*(f"aten.{name}.default" for name in names))
    def default(c: Emitter, x: Tensor, output_size: Any, *rest: Any) -> Tensor:
        align = rest[0] if corners else None
        scales = list(rest[1:] if corners else rest)
        factors = [scale for scale in scales if scale is not None]
        return _resize(c, x, mode, align, factors if len(factors) == x.rank - 2 else None)


_upsample(("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"), "nearest", False)
_upsample(("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"), "nearest-exact", False)
_upsample(("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"), "linear", True)
_upsample(("upsample_bicubic2d",), "cubic", True)
_upsample(("_upsample_bilinear2d_aa",), "linear-antialias", True)
_upsample(("_upsample_bicubic2d_aa",), "cubic-antialias", True)
