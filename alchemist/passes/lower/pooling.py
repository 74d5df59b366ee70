"""Lowers pools and upsampling on flat images; the device pools bfloat16."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.layout import TILE_EDGE
from alchemist.ops.windows import expand, padding_pairs
from alchemist.passes.lower.context import ROW_MAJOR, TILE, Lowering, layout, rule
from alchemist.passes.lower.convolution import L1_SMALL_BYTES, pads
from alchemist.passes.lower.reduce import image_means, image_reduction

NHWC = (0, 1, 2, 3)
LOWEST_BF16 = -3.3895313892515355e38  # the lowest finite bfloat16
WHOLE = {"avg_pool2d": "mean", "max_pool2d": "max"}
"""The reduction that pools with one window over each image are."""

MOST_SLICES = 8
"""Windows along one axis, up to this size, are maxima of slices in float32; larger ones take up to twice the time of a pool."""


@rule("max_pool2d", "avg_pool2d", "max_pool2d_with_indices")
def pool(c: Lowering, op: Operation) -> None:
    """TTIR pools are NHWC; permutes around them only rename the dims of the flat image."""
    source = op.operands[0]
    result = op.results[0]
    name = op.name.removeprefix("ttir.")
    dims, out = shape(source), shape(result)
    order = c.is_image(source) or NHWC
    dtype = c.dtype(result)
    kernel, stride = expand(access.attr(op, "kernel"), 2), expand(access.attr(op, "stride"), 2)
    pairs = padding_pairs(access.attr(op, "padding"), 2)
    whole = kernel == dims[1:3] and not any(any(pair) for pair in pairs)
    if name in WHOLE and whole and out[1:3] == (1, 1):
        reduced = image_reduction(c, WHOLE[name], c.flat(source, order, TILE, dtype), dims[0], dims[1] * dims[2], dims[3])
        c.set(result, c.reshape(reduced, (1, 1, dims[0], dims[3])), order)
        return
    if name == "max_pool2d" and dtype == "f32" and 1 in kernel and max(kernel) <= MOST_SLICES:
        c.set(result, _maxima_of_slices(c, op, pairs), NHWC)
        return
    order = NHWC  # an image in another dim order is flattened again
    note = "" if dtype == "bf16" else f"ttnn.{name} takes bfloat16 only"
    if any(max(pair) > size // 2 for pair, size in zip(pairs, kernel, strict=True)):
        x, dims, pairs = _padded_image(c, op, dims, pairs, note), (dims[0], dims[1] + sum(pairs[0]), dims[2] + sum(pairs[1]), dims[3]), ((0, 0), (0, 0))
    else:
        x = c.flat(source, order)
    first = None
    if name == "avg_pool2d" and dtype == "f32" and 1 in dims[1:3] and not any(map(any, pairs)) and not access.attr(op, "ceil_mode"):
        series = c.get(source, TILE, dtype)
        first = c.emit("slice_static", [series], {"begins": [0] * 4, "ends": [dims[0], 1, 1, dims[3]], "step": [1] * 4})
        series = c.emit("subtract", [series, first], note="bfloat16 keeps the differences of a series whose mean is large")
        x = c.reshape(series, (1, 1, dims[0] * dims[1] * dims[2], dims[3]))
    x = c.convert(x, layout(x).page, "bf16", note=note)
    attributes: dict[str, object] = {
        "batch_size": dims[0],
        "input_height": dims[1],
        "input_width": dims[2],
        "channels": dims[3],
        "kernel_size": list(kernel),
        "stride": list(stride),
        "padding": pads(pairs),
        "dilation": list(expand(access.attr(op, "dilation"), 2)),
        "ceil_mode": bool(access.attr(op, "ceil_mode")),
    }
    if name == "avg_pool2d":
        attributes["count_include_pad"] = bool(access.attr(op, "count_include_pad"))
        if attributes["dilation"] != [1, 1]:
            raise c.error("a dilated average pool", expected="dilation 1", got=str(attributes["dilation"]))
    c.l1_small_bytes = max(c.l1_small_bytes, L1_SMALL_BYTES)
    flat = (1, 1, out[0] * out[1] * out[2], out[3])
    if name == "max_pool2d_with_indices":
        pooled = c.emit_many(name, [x], attributes, [(flat, "bf16"), (flat, "u16")], ROW_MAJOR)
        c.set(result, c.convert(pooled[0], ROW_MAJOR, dtype), order)
        c.set(op.results[1], c.convert(c.convert(pooled[1], ROW_MAJOR, "u32"), ROW_MAJOR, "si32"), order)
        return
    value = c.convert(c.emit(name, [x], attributes, flat, "bf16", TILE), TILE, dtype)
    if first is not None:
        c.set(result, c.emit("add", [c.reshape(value, out), first]))
        return
    c.set(result, value, order)


def _maxima_of_slices(c: Lowering, op: Operation, pairs: Sequence[tuple[int, int]]) -> SSAValue:
    """Flat maxima of windows along one axis, as maxima of shifted slices: `ttnn.max_pool2d` would round float32 and store NaN as infinity."""
    out = shape(op.results[0])
    image = c.reshape(c.flat(op.operands[0], NHWC, ROW_MAJOR), shape(op.operands[0]))
    geometry = zip(expand(access.attr(op, "kernel"), 2), expand(access.attr(op, "stride"), 2), expand(access.attr(op, "dilation"), 2), pairs, strict=True)
    for axis, (kernel, stride, dilation, pair) in enumerate(geometry, 1):
        if kernel == stride == 1 and not any(pair):
            continue
        last = (out[axis] - 1) * stride + (kernel - 1) * dilation + 1
        padding = [0] * 8
        padding[2 * axis : 2 * axis + 2] = pair[0], max(0, last - pair[0] - shape(image)[axis])
        if any(padding):
            image = c.emit("pad", [image], {"padding": padding, "value": -math.inf, "use_multicore": True})
        slices = (_every(c, image, axis, tap * dilation, stride, out[axis]) for tap in range(kernel))
        image = functools.reduce(lambda a, b: c.emit("maximum", [a, b], note="exact; ttnn.max_pool2d would round to bfloat16"), slices)
    return c.reshape(image, (1, 1, out[0] * out[1] * out[2], out[3]))


def _every(c: Lowering, image: SSAValue, axis: int, begin: int, stride: int, count: int) -> SSAValue:
    """`count` elements of an axis, from `begin` on, at distance `stride`."""
    begins, ends, step = [0] * 4, list(shape(image)), [1] * 4
    begins[axis], ends[axis], step[axis] = begin, begin + (count - 1) * stride + 1, stride
    return c.emit("slice_static", [image], {"begins": begins, "ends": ends, "step": step})


def _padded_image(c: Lowering, op: Operation, dims: Sequence[int], pairs: Sequence[Sequence[int]], note: str) -> SSAValue:
    """The pool's flat image with its padding as values: the device pads at most half of a window."""
    name = op.name.removeprefix("ttir.")
    if name == "max_pool2d_with_indices" or (name == "avg_pool2d" and not access.attr(op, "count_include_pad")):
        raise c.error(f"a {name} whose padding is larger than half of its window", expected="at most half of the window", got=str(pairs))
    image = c.get(op.operands[0], ROW_MAJOR, "bf16", note=note)
    (top, bottom), (left, right) = pairs
    wide = (dims[0], dims[1] + top + bottom, dims[2] + left + right, dims[3])
    attributes = {
        "padding": [0, 0, top, bottom, left, right, 0, 0],
        "value": LOWEST_BF16 if name == "max_pool2d" else 0.0,
        "use_multicore": True,
    }
    image = c.emit("pad", [image], attributes, note=f"ttnn.{name} pads at most half of its window")
    return c.reshape(image, (1, 1, wide[0] * wide[1] * wide[2], wide[3]))


@rule("global_avg_pool2d")
def global_avg_pool2d(c: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    dims = shape(source)
    if len(dims) != 4:
        raise c.error("a mean over an image of another rank", expected="[N, H, W, C]", got=str(list(dims)))
    order = c.is_image(source) or NHWC
    n, h, w, ch = (dims[i] for i in order)
    mean = image_means(c, c.flat(source, order, TILE, c.dtype(result)), n, h * w, ch)
    c.set(result, c.reshape(mean, (1, 1, n, ch)), order)


@rule("upsample2d")
def upsample2d(c: Lowering, op: Operation) -> None:
    """NHWC, row-major. The bilinear kernel works on whole tiles of channels: others are padded, then sliced."""
    source, result = op.operands[0], op.results[0]
    dtype = c.dtype(result)
    mode = access.attr(op, "mode")
    work = "bf16" if mode == "bilinear" else dtype
    note = "ttnn.upsample interpolates bfloat16 only" if work != dtype else ""
    value = c.get(source, ROW_MAJOR, work, note=note)
    factor = list(expand(access.attr(op, "scale_factor"), 2))
    if mode == "bilinear":
        c.l1_small_bytes = max(c.l1_small_bytes, L1_SMALL_BYTES)
        value = _in_whole_tiles(c, value, "bilinear ttnn.upsample")
    enlarged = c.emit("upsample", [value], {"scale_factor": factor, "mode": mode})
    _set_image(c, result, enlarged)


def _in_whole_tiles(c: Lowering, image: SSAValue, name: str) -> SSAValue:
    """A row-major image with channels padded by zeros to whole tiles, as the op of this name requires."""
    dims = shape(image)
    missing = -dims[3] % TILE_EDGE
    if not missing:
        return image
    attributes = {"padding": [0, 0, 0, 0, 0, 0, 0, missing], "value": 0.0, "use_multicore": True}
    note = f"{name} takes whole tiles of {TILE_EDGE} channels"
    return c.emit("pad", [image], attributes, note=note)


def _set_image(c: Lowering, result: SSAValue, rows: SSAValue) -> None:
    """Registers a row-major result, without padded channels, as a flat image."""
    out = shape(result)
    if shape(rows) != out:
        rows = c.emit("slice_static", [rows], {"begins": [0, 0, 0, 0], "ends": list(out), "step": [1, 1, 1, 1]})
    c.set(result, c.reshape(c.convert(rows, ROW_MAJOR, c.dtype(result)), (1, 1, out[0] * out[1] * out[2], out[3])), NHWC)


@rule("grid_sample")
def grid_sample(c: Lowering, op: Operation) -> None:
    """NHWC, row-major. The kernel works on whole tiles of channels."""
    result = op.results[0]
    dtype = c.dtype(result)
    if dtype not in ("bf16", "f32"):
        raise c.error("an image of another type", expected="bf16 or f32", got=dtype)
    image = _in_whole_tiles(c, c.get(op.operands[0], ROW_MAJOR, dtype), "ttnn.grid_sample")
    attributes = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": bool(access.attr(op, "align_corners"))}
    _set_image(c, result, c.emit("grid_sample", [image, c.get(op.operands[1], ROW_MAJOR)], attributes))
