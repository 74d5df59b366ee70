"""Convolutions and the preparation of their weights.

On the device an image is flat, [1, 1, N*H*W, C]; TTNN takes the geometry as arguments. `ttir` convolutions name their
dims by attributes; weights are [O, C/groups, *kernel] ([C, O/groups, *kernel] for transposed ones).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops import sharding
from alchemist.ops.axes import wherever
from alchemist.ops.describe import Array, op, ttir
from alchemist.ops.spec import Sample
from alchemist.ops.windows import convolve, convolve_transposed, expand, padding_pairs


def _bias(out: Array, inputs: Sequence[Array | None]) -> Array:
    bias = inputs[2] if len(inputs) > 2 else None
    return out if bias is None else np.asarray(out + bias.reshape(-1))


def _to_channels_last(x: Array, dims: Sequence[int]) -> tuple[Array, tuple[int, ...]]:
    """`dims`: positions of batch, spatial ..., channel. Returns the moved array and the way back."""
    return x.transpose(dims), tuple(int(i) for i in np.argsort(dims))


def _dims(attributes: Mapping[str, Any], spatial: Sequence[str]) -> list[int]:
    names = ("batch_dim", *spatial, "channel_dim")
    return [int(attributes.get(name, default)) for default, name in enumerate(names)]


def _convolution(spatial: Sequence[str], transposed: bool = False) -> Any:
    rank = len(spatial)

    def reference(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: Sequence[tuple[int, ...]]) -> Sequence[Array]:
        dims = _dims(attributes, spatial)
        flat = attributes.get("flattened_compat_info") is not None
        x, back = (inputs[0], None) if flat else _to_channels_last(inputs[0], dims)
        stride = expand(attributes["stride"], rank)
        pairs = padding_pairs(attributes["padding"], rank)
        dilation = expand(attributes.get("dilation", 1), rank)
        if transposed:
            extra = expand(attributes.get("output_padding", 0), rank)
            out = convolve_transposed(x, inputs[1], stride, pairs, extra, dilation, attributes["groups"])
        else:
            out = convolve(x, inputs[1], stride, pairs, dilation, attributes["groups"])
        out = _bias(out, inputs)
        return [out if back is None else out.transpose(back)]

    return reference


ttir("conv1d", _convolution(("length_dim",)), axes=wherever("batch_dim", "channel_dim", "length_dim"), sharding=sharding.images)
ttir("conv2d", _convolution(("height_dim", "width_dim")), sharding=sharding.images)
ttir("conv3d", _convolution(("depth_dim", "height_dim", "width_dim")), sharding=sharding.images)
ttir("conv_transpose2d", _convolution(("height_dim", "width_dim"), transposed=True), sharding=sharding.images)


def conv2d_flat(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: object) -> Sequence[Array]:
    """ttnn.conv2d on a flat image with unprepared weights."""
    n, h, w = attributes["batch_size"], attributes["input_height"], attributes["input_width"]
    x = inputs[0].reshape(n, h, w, attributes["in_channels"])
    pairs = flat_padding(attributes["padding"])
    out = convolve(x, inputs[1], tuple(attributes["stride"]), pairs, tuple(attributes["dilation"]), attributes["groups"])
    return [_bias(out, inputs).reshape(1, 1, -1, out.shape[-1])]


def flat_padding(padding: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """TTNN's order: [height, width] or [top, bottom, left, right]."""
    if len(padding) == 4:
        return (padding[0], padding[1]), (padding[2], padding[3])
    return (padding[0], padding[0]), (padding[1], padding[1])


op(
    "conv2d",
    "input_tensor weight_tensor=weight device in_channels out_channels batch_size input_height input_width kernel_size stride "
    "padding dilation groups dtype=changed_dtype bias_tensor=bias conv_config=conv2d_config compute_config memory_config",
    "conv/conv2d/conv2d.hpp",
    samples=tuple(
        Sample(
            (((1, 1, n * h * w, c), "bfloat16"), ((o, c // g, k, k), "bfloat16")),
            {
                "in_channels": c,
                "out_channels": o,
                "batch_size": n,
                "input_height": h,
                "input_width": w,
                "kernel_size": [k, k],
                "stride": [s, s],
                "padding": [p, p],
                "dilation": [1, 1],
                "groups": g,
            },
            ((1, 1, n * ((h + 2 * p - k) // s + 1) * ((w + 2 * p - k) // s + 1), o),),
            "row_major",  # weights on the host
        )
        for n, h, w, c, o, k, s, p, g in ((1, 8, 8, 32, 32, 3, 1, 1, 1), (2, 14, 14, 16, 64, 1, 1, 0, 1), (1, 16, 16, 32, 32, 3, 2, 1, 32))
    ),
    reference=conv2d_flat,
    tolerance=8.0,
)
op(
    "conv1d",
    "input_tensor weight_tensor=weight device in_channels out_channels batch_size input_length kernel_size stride padding dilation "
    "groups bias_tensor=bias conv_config=conv2d_config compute_config memory_config",
    "conv/conv1d/conv1d.hpp",
)
op(
    "conv_transpose2d",
    "input_tensor weight_tensor=weight device in_channels out_channels batch_size input_height input_width kernel_size stride "
    "padding output_padding dilation groups bias_tensor=bias conv_config=conv2d_config compute_config memory_config",
    "conv/conv_transpose2d/conv_transpose2d.hpp",
)
op(
    "conv3d",
    "input_tensor weight_tensor=weight device bias_tensor=bias dtype output_channels=out_channels kernel_size stride padding "
    "padding_mode groups memory_config compute_kernel_config",
    "experimental/conv3d/conv3d.hpp",
    target="ttnn.experimental.conv3d",
)

_GEOMETRY = "in_channels out_channels batch_size input_height input_width kernel_size stride padding"
_PREPARED = "input_memory_config input_layout=input_tensor_layout device input_dtype output_dtype conv_config=conv2d_config compute_config"

for _name, _folder, _ir, _more in (
    ("conv", "conv2d", "prepare_conv2d", ""),
    ("conv_transpose2d", "conv_transpose2d", "prepare_conv_transpose2d", " output_padding"),
):
    op(
        f"{_ir}_weights",
        f"weight_tensor weights_format {_GEOMETRY}{_more} dilation has_bias groups {_PREPARED}",
        f"conv/{_folder}/prepare_{_folder}_weights.hpp",
        target=f"ttnn.prepare_{_name}_weights",
        cpp_target=f"ttnn.operations.conv.{_folder}.prepare_{_name}_weights",
        doc="on the host: weights in row-major layout, O I H W",
    )
    op(
        f"{_ir}_bias",
        f"bias_tensor {_GEOMETRY} dilation groups {_PREPARED}",
        f"conv/{_folder}/prepare_{_folder}_weights.hpp",
        target=f"ttnn.prepare_{_name}_bias",
        cpp_target=f"ttnn.operations.conv.{_folder}.prepare_{_name}_bias",
        doc="on the host: [1, 1, 1, out_channels]",
    )
op(
    "prepare_conv3d_weights",
    "weight_tensor groups C_in_block=c_in_block alignment device",
    "experimental/conv3d/prepare_conv3d_weights.hpp",
    target="ttnn.experimental.prepare_conv3d_weights",
    cpp_target="ttnn.operations.experimental.conv3d.prepare_conv3d_weights",
)
