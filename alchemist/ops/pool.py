"""Pooling and upsampling, channels last. TTNN's pools work on flat images [1, 1, N*H*W, C]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from alchemist.ir.rules.table import Inferred, Shape, attribute, infers, need, rank_is
from alchemist.ops import sharding
from alchemist.ops.describe import Array, op, ttir
from alchemist.ops.spec import Sample
from alchemist.ops.windows import expand, pad_spatial, padding_pairs, windows


def _ceil_extra(size: int, kernel: int, stride: int, dilation: int, pair: tuple[int, int]) -> int:
    """Additional trailing padding of ceil_mode; a window may not start beyond the padded input (torch's rule)."""
    span = size + sum(pair) - (dilation * (kernel - 1) + 1)
    out = -(-span // stride) + 1
    if (out - 1) * stride >= size + pair[0]:
        out -= 1
    return max(0, (out - 1) * stride - span)


def pool2d(x: Array, attributes: Mapping[str, Any], average: bool) -> tuple[Array, Array]:
    """x [N, H, W, C] -> values and (for max) flat H*W indices, both [N, H', W', C]."""
    kernel, stride = expand(attributes["kernel"], 2), expand(attributes["stride"], 2)
    dilation, pairs = expand(attributes["dilation"], 2), padding_pairs(attributes["padding"], 2)
    extra = [0, 0]
    if attributes.get("ceil_mode"):
        extra = [_ceil_extra(x.shape[1 + i], kernel[i], stride[i], dilation[i], pairs[i]) for i in range(2)]
    grown = [(p[0], p[1] + e) for p, e in zip(pairs, extra, strict=True)]
    if average:
        ones = pad_spatial(np.ones((1, *x.shape[1:3], 1), x.dtype), pairs, float(attributes.get("count_include_pad", True)))
        ones = pad_spatial(ones, [(0, e) for e in extra], 0)
        count = windows(ones, kernel, stride, dilation).sum(axis=(-1, -2))
        total = windows(pad_spatial(x, grown, 0), kernel, stride, dilation).sum(axis=(-1, -2))
        return np.asarray(total / count), np.zeros(0, np.int32)
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    view = windows(pad_spatial(x, grown, lowest), kernel, stride, dilation)
    flat = view.reshape(*view.shape[:4], -1)
    position = np.arange(x.shape[1] * x.shape[2], dtype=np.int32).reshape(1, x.shape[1], x.shape[2], 1)
    where = windows(pad_spatial(position, grown, -1), kernel, stride, dilation)
    where = np.broadcast_to(where.reshape(*where.shape[:4], -1), flat.shape)
    best = flat.argmax(axis=-1)[..., None]
    return np.take_along_axis(flat, best, -1)[..., 0], np.take_along_axis(where, best, -1)[..., 0]


def _reference(average: bool, indices: bool = False) -> Callable[..., Sequence[Array]]:
    def reference(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: Sequence[tuple[int, ...]]) -> Sequence[Array]:
        values, where = pool2d(inputs[0], attributes, average)
        return [values, where] if indices else [values]

    return reference


def _flat_reference(average: bool) -> Callable[..., Sequence[Array]]:
    def reference(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: object) -> Sequence[Array]:
        n, h, w, c = (attributes[k] for k in ("batch_size", "input_height", "input_width", "channels"))
        padding = list(attributes["padding"])
        if len(padding) == 4:  # TTNN: top, bottom, left, right
            padding = [padding[0], padding[2], padding[1], padding[3]]
        full = dict(attributes, kernel=list(attributes["kernel_size"]), padding=padding)
        full.setdefault("dilation", [1, 1])
        values, _ = pool2d(inputs[0].reshape(n, h, w, c), full, average)
        return [values.reshape(1, 1, -1, c)]

    return reference


ttir("max_pool2d", _reference(False), sharding=sharding.images)
ttir("max_pool2d_with_indices", _reference(False, indices=True), sharding=sharding.images)
ttir("avg_pool2d", _reference(True), sharding=sharding.images)
ttir("global_avg_pool2d", lambda inputs, _a, _s: [inputs[0].mean(axis=(1, 2), keepdims=True)], sharding=sharding.images)

_GEOMETRY = "input_tensor * batch_size input_h=input_height input_w=input_width channels kernel_size stride padding ceil_mode"
_RESULT = "memory_config applied_shard_scheme reallocate_halo_output dtype output_layout=layout"


def _sample(n: int, h: int, w: int, c: int, k: int, s: int, p: int, average: bool) -> Sample:
    attributes: dict[str, Any] = {
        "batch_size": n,
        "input_height": h,
        "input_width": w,
        "channels": c,
        "kernel_size": [k, k],
        "stride": [s, s],
        "padding": [p, p],
        "dilation": [1, 1],
        "ceil_mode": False,
    }
    if average:
        attributes["count_include_pad"] = True
    out = ((h + 2 * p - k) // s + 1) * ((w + 2 * p - k) // s + 1)
    return Sample((((1, 1, n * h * w, c), "bfloat16"),), attributes, ((1, 1, n * out, c),), "row_major")


_CASES = ((1, 8, 8, 32, 2, 2, 0), (2, 14, 14, 64, 3, 2, 1), (1, 7, 7, 16, 3, 1, 1))

for _name, _more in (("max_pool2d", ""), ("max_pool2d_with_indices", " return_indices=const:True")):
    op(
        _name,
        f"{_GEOMETRY} dilation {_RESULT}{_more}",
        "pool/generic/generic_pools.hpp",
        target="ttnn.max_pool2d",
        cpp_target="ttnn.max_pool2d",
        samples=() if _more else tuple(_sample(*case, False) for case in _CASES),
        reference=None if _more else _flat_reference(False),
        tolerance=0.0,
        noun="pooled",
    )
op(
    "avg_pool2d",
    f"{_GEOMETRY} count_include_pad {_RESULT}",
    "pool/generic/generic_pools.hpp",
    samples=tuple(_sample(*case, True) for case in _CASES),
    reference=_flat_reference(True),
    noun="pooled",
)
op(
    "global_avg_pool2d",
    "input_tensor memory_config",
    "pool/global_avg_pool/global_avg_pool.hpp",
    samples=(Sample((((1, 7, 7, 64), "bfloat16"),), outputs=((1, 1, 1, 64),)),),
    reference=lambda inputs, _a, _s: [inputs[0].mean(axis=(1, 2), keepdims=True)],
)


def _bilinear_axis(x: Array, factor: int, axis: int) -> Array:
    size = x.shape[axis]
    position = np.clip((np.arange(size * factor) + 0.5) / factor - 0.5, 0, size - 1)
    low = np.floor(position).astype(int)
    high = np.minimum(low + 1, size - 1)
    shape = [1] * x.ndim
    shape[axis] = -1
    part = (position - low).astype(x.dtype).reshape(shape)
    return np.asarray(np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part)


def _upsample(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """NHWC."""
    rows, columns = expand(attributes["scale_factor"], 2)
    x = inputs[0]
    if attributes.get("mode", "nearest") == "bilinear":
        return [_bilinear_axis(_bilinear_axis(x, rows, 1), columns, 2)]
    return [x.repeat(rows, axis=1).repeat(columns, axis=2)]


op(
    "upsample",
    "input_tensor scale_factor mode memory_config",
    "pool/upsample/upsample.hpp",
    samples=(Sample((((1, 8, 8, 32), "bfloat16"),), {"scale_factor": [2, 2], "mode": "nearest"}, ((1, 16, 16, 32),), "row_major"),),
    reference=_upsample,
    doc="NHWC, row-major",
)
ttir("upsample2d", _upsample, sharding=sharding.images)


def _grid_sample(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """x [N, H, W, C], grid [N, H', W', 2] as x, y from -1 to 1 -> [N, H', W', C]; pixels outside are zero."""
    x, grid = inputs
    sizes = np.array(x.shape[2:0:-1])
    shifted = np.nan_to_num(grid.astype(np.float64), nan=-4.0, posinf=4.0, neginf=-4.0).clip(-4.0, 4.0) + 1  # as far outside as any other place there
    places = shifted / 2 * (sizes - 1) if attributes.get("align_corners") else (shifted * sizes - 1) / 2
    starts = np.floor(places).astype(int)
    image = np.arange(x.shape[0]).reshape(-1, 1, 1)
    total = np.zeros((*grid.shape[:3], x.shape[3]))
    for corner in ((0, 0), (1, 0), (0, 1), (1, 1)):
        pixel = starts + corner
        weight = np.prod(1 - np.abs(places - pixel), axis=-1) * np.all((pixel >= 0) & (pixel < sizes), axis=-1)
        column, row = (pixel[..., axis].clip(0, sizes[axis] - 1) for axis in (0, 1))
        total += weight[..., None] * x[image, row, column]
    return [total.astype(x.dtype)]


@infers("grid_sample")
def _grid_sample_shape(op: Operation, inputs: list[Shape]) -> Inferred:
    rank_is(inputs[0], 4, "input")
    rank_is(inputs[1], 4, "grid")
    mode, padding = attribute(op, "mode"), attribute(op, "padding_mode")
    need(mode in (None, "bilinear"), f'mode must be "bilinear", got "{mode}"')
    need(padding in (None, "zeros"), f'padding_mode must be "zeros", got "{padding}"')
    (n, _, _, channels), grid = inputs[0], inputs[1]
    need(grid[0] == n and grid[3] == 2, f"grid must be [{n}, H, W, 2], got {list(grid)}")
    return (*grid[:3], channels)


ttir("grid_sample", _grid_sample)
op(
    "grid_sample",
    "input_tensor=input grid mode padding_mode align_corners memory_config",
    "pool/grid_sample/grid_sample.hpp",
    cpp_target="ttnn.operations.grid_sample.grid_sample",
    samples=tuple(
        Sample(
            (((2, 6, 10, 64), dtype), ((2, 5, 7, 2), dtype)),
            {"mode": "bilinear", "padding_mode": "zeros", "align_corners": corners},
            ((2, 5, 7, 64),),
            "row_major",
        )
        for dtype, corners in (("bfloat16", False), ("float32", True))
    ),
    reference=_grid_sample,
    doc="NHWC, row-major; whole tiles of channels, and zero outside of the image",
    noun="sampled",
)
