"""Convolutions and the preparation of their weights.

On the device an image is flat, [1, 1, N*H*W, C]; TTNN takes the geometry as arguments. `ttir` convolutions name their
dims by attributes; weights are [O, C/groups, *kernel] ([C, O/groups, *kernel] for transposed ones).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops.describe import MEMORY, Array, attribute, op, optional_tensor, tensor, ttir
from alchemist.ops.spec import REQUIRED, Arg, Kind, Sample
from alchemist.ops.windows import convolve, convolve_transposed, expand, padding_pairs

U32_2 = "std::array<uint32_t, 2>"
DEVICE = Arg("device", "device", Kind.DEVICE)
CONFIGS = (
    attribute("conv_config", Kind.CONV2D_CONFIG, "conv2d_config", default=None),
    attribute("compute_config", Kind.COMPUTE_CONFIG, default=None),
)


def _ints(*names: str) -> list[Arg]:
    return [attribute(name, Kind.INT) for name in names]


def _list(name: str, default: Any = REQUIRED, cpp_type: str = U32_2) -> Arg:
    return attribute(name, Kind.INT_LIST, default=default, cpp_type=cpp_type)


GEOMETRY_2D = (
    *_ints("in_channels", "out_channels", "batch_size", "input_height", "input_width"),
    _list("kernel_size"),
    _list("stride", (1, 1)),
    _list("padding", (0, 0)),
    _list("dilation", (1, 1)),
    attribute("groups", Kind.INT, default=1),
)
"""What a convolution and the preparation of its weights must agree on."""


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


ttir("conv1d", _convolution(("length_dim",)))
ttir("conv2d", _convolution(("height_dim", "width_dim")))
ttir("conv3d", _convolution(("depth_dim", "height_dim", "width_dim")))
ttir("conv_transpose2d", _convolution(("height_dim", "width_dim"), transposed=True))


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


_CPP_GEOMETRY = "in_channels out_channels batch_size input_height input_width kernel_size stride padding"
_CPP_TAIL = "dtype? bias_tensor? conv_config? compute_config? memory_config? slice_config?"

op(
    "conv2d",
    [
        tensor("input_tensor", "input", keyword=True),
        tensor("weight_tensor", "weight", keyword=True),
        DEVICE,
        *GEOMETRY_2D,
        optional_tensor("bias_tensor", "bias"),
        *CONFIGS,
        MEMORY,
    ],
    f"input_tensor weight_tensor device {_CPP_GEOMETRY} dilation groups {_CPP_TAIL} return_output_dim=false return_weights_and_bias=false",
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
        for n, h, w, c, o, k, s, p, g in (
            (1, 8, 8, 32, 32, 3, 1, 1, 1),
            (2, 14, 14, 16, 64, 1, 1, 0, 1),
            (1, 16, 16, 32, 32, 3, 2, 1, 32),
        )
    ),
    reference=conv2d_flat,
    tolerance=8.0,
)
op(
    "conv1d",
    [
        tensor("input_tensor", "input", keyword=True),
        tensor("weight_tensor", "weight", keyword=True),
        DEVICE,
        *_ints("in_channels", "out_channels", "batch_size", "input_length", "kernel_size"),
        attribute("stride", Kind.INT, default=1),
        attribute("padding", Kind.INT_LIST, default=0, cpp_type=U32_2),
        attribute("dilation", Kind.INT, default=1),
        attribute("groups", Kind.INT, default=1),
        optional_tensor("bias_tensor", "bias"),
        *CONFIGS,
        MEMORY,
    ],
    "input_tensor weight_tensor device in_channels out_channels batch_size input_length kernel_size stride padding "
    f"dilation groups {_CPP_TAIL} return_output_dim=false return_weights_and_bias=false",
    "conv/conv1d/conv1d.hpp",
)
op(
    "conv_transpose2d",
    [
        tensor("input_tensor", "input", keyword=True),
        tensor("weight_tensor", "weight", keyword=True),
        DEVICE,
        *GEOMETRY_2D[:8],
        _list("output_padding", (0, 0)),
        *GEOMETRY_2D[8:],
        optional_tensor("bias_tensor", "bias"),
        *CONFIGS,
        MEMORY,
    ],
    f"input_tensor weight_tensor device {_CPP_GEOMETRY} output_padding dilation groups dtype? bias_tensor? conv_config? "
    "compute_config? memory_config? dram_slice_config? mirror_kernel=true return_output_dim=false "
    "return_weights_and_bias=false",
    "conv/conv_transpose2d/conv_transpose2d.hpp",
)
op(
    "conv3d",
    [
        tensor("input_tensor", "input", keyword=True),
        tensor("weight_tensor", "weight", keyword=True),
        Arg("device", "device", Kind.DEVICE, default=None, cpp_type="pointer"),
        optional_tensor("bias_tensor", "bias"),
        Arg("dtype", "dtype", Kind.DTYPE),
        attribute("output_channels", Kind.INT, "out_channels"),
        _list("kernel_size", cpp_type="std::array<uint32_t, 3>"),
        _list("stride", (1, 1, 1), "std::array<uint32_t, 3>"),
        _list("padding", (0, 0, 0), "std::array<uint32_t, 3>"),
        attribute("padding_mode", Kind.STR, default="zeros", cpp_type="std::string"),
        attribute("groups", Kind.INT, default=1),
        MEMORY,
        attribute("compute_kernel_config", Kind.COMPUTE_CONFIG, "compute_config", default=None),
    ],
    "input_tensor weight_tensor device? bias_tensor? config? dtype output_channels kernel_size stride padding "
    "dilation={1,1,1} padding_mode groups memory_config? compute_kernel_config? halo_buffer? logical_h_mask=0 "
    "logical_w_mask=0 pad_offset_tensor? output_pad_h=0 output_pad_w=0 weight_lo_tensor?",
    "experimental/conv3d/conv3d.hpp",
    target="ttnn.experimental.conv3d",
)

_PREPARE_HEAD = (
    attribute("input_memory_config", Kind.MEMORY_CONFIG),
    attribute("input_layout", Kind.LAYOUT, "input_tensor_layout"),
)
_PREPARE_TAIL = (
    DEVICE,
    attribute("input_dtype", Kind.DTYPE),
    attribute("output_dtype", Kind.DTYPE, default=None),
    *CONFIGS,
)
_CPP_PREPARE_TAIL = "device input_dtype output_dtype? conv_config? compute_config? slice_config?"


def _prepare_geometry(transposed: bool, has_bias: bool) -> list[Arg]:
    """The preparation functions have no defaults for the geometry."""
    plain = [Arg(a.name, a.source, a.kind, True, REQUIRED, a.cpp, a.cpp_type) for a in GEOMETRY_2D]
    head, tail = plain[:8], plain[8:]
    if transposed:
        head.append(_list("output_padding"))
    bias = [attribute("has_bias", Kind.BOOL)] if has_bias else []
    return [*head, tail[0], *bias, tail[1]]


for _name, _folder, _transposed in (
    ("conv", "conv2d", False),
    ("conv_transpose2d", "conv_transpose2d", True),
):
    _ir = "prepare_conv2d" if not _transposed else "prepare_conv_transpose2d"
    _mirror = "" if not _transposed else " mirror_kernel=true"
    _extra = "" if not _transposed else " output_padding"
    op(
        f"{_ir}_weights",
        [
            tensor("weight_tensor", keyword=True),
            _PREPARE_HEAD[0],
            _PREPARE_HEAD[1],
            attribute("weights_format", Kind.STR, cpp_type="std::string"),
            *_prepare_geometry(_transposed, True),
            *_PREPARE_TAIL,
        ],
        f"weight_tensor input_memory_config input_layout weights_format {_CPP_GEOMETRY}{_extra} dilation has_bias groups {_CPP_PREPARE_TAIL}{_mirror}",
        f"conv/{_folder}/prepare_{_folder}_weights.hpp",
        target=f"ttnn.prepare_{_name}_weights",
        cpp_target=f"ttnn.operations.conv.{_folder}.prepare_{_name}_weights",
        doc="on the host: weights in row-major layout, O I H W",
    )
    op(
        f"{_ir}_bias",
        [
            tensor("bias_tensor", keyword=True),
            *_PREPARE_HEAD,
            *_prepare_geometry(False, False),
            *_PREPARE_TAIL,
        ],
        f"bias_tensor input_memory_config input_layout {_CPP_GEOMETRY} dilation groups {_CPP_PREPARE_TAIL}",
        f"conv/{_folder}/prepare_{_folder}_weights.hpp",
        target=f"ttnn.prepare_{_name}_bias",
        cpp_target=f"ttnn.operations.conv.{_folder}.prepare_{_name}_bias",
        doc="on the host: [1, 1, 1, out_channels]",
    )
op(
    "prepare_conv3d_weights",
    [
        tensor("weight_tensor", keyword=True),
        attribute("groups", Kind.INT, default=1),
        attribute("C_in_block", Kind.INT, "c_in_block", default=0),
        attribute("alignment", Kind.INT, default=32),
        Arg("device", "device", Kind.DEVICE, default=None, cpp_type="pointer"),
    ],
    "weight_tensor groups C_in_block alignment device=nullptr",
    "experimental/conv3d/prepare_conv3d_weights.hpp",
    target="ttnn.experimental.prepare_conv3d_weights",
    cpp_target="ttnn.operations.experimental.conv3d.prepare_conv3d_weights",
)
