"""Moves between host and device, layouts, memory configs and dtypes; quantisation; copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Operation

from alchemist.ir.rules.table import Inferred, Shape, infers, integer, need, rank_is, rule
from alchemist.ops.describe import EDGE_SIZES, Array, op, ttir
from alchemist.ops.spec import Sample


def _same(inputs: Sequence[Array], _attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [inputs[0]]


def _pixels(inputs: Sequence[Array], _attributes: Mapping[str, Any], shapes: Sequence[Sequence[int]]) -> Sequence[Array]:
    """Planes [1, N, C, P] -> pixels [1, 1, N*P, C], with zeros up to the result's channels."""
    planes = inputs[0]
    pixels = planes.transpose(0, 1, 3, 2).reshape(1, 1, -1, planes.shape[2])
    return [np.pad(pixels, ((0, 0), (0, 0), (0, 0), (0, shapes[0][-1] - planes.shape[2])))]


def _folded(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: object) -> Sequence[Array]:
    """The pixels of each window [stride_h, stride_w] side by side, row by row."""
    n, h, w, c = inputs[0].shape
    rows, columns = int(attributes["stride_h"]), int(attributes["stride_w"])
    windows = inputs[0].reshape(n, h // rows, rows, w // columns, columns, c).transpose(0, 1, 3, 2, 4, 5)
    return [windows.reshape(n, h // rows, w // columns, rows * columns * c)]


@infers("ttnn.fold")
def _folded_shape(op: Operation, inputs: list[Shape]) -> Inferred:
    rank_is(inputs[0], 4, "input")
    rows, columns = integer(op, "stride_h") or 1, integer(op, "stride_w") or 1
    n, h, w, c = inputs[0]
    need(h % rows == 0 and w % columns == 0, f"windows of {rows} x {columns} do not divide {h} x {w} pixels")
    return (n, h // rows, w // columns, c * rows * columns)


@rule("ttnn.convert_to_hwc")
def _shape_of_pixels(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    """[1, N, C, P] -> [1, 1, N * P, C] with at most eight channels more: pixels end at whole words."""
    rank_is(inputs[0], 4, "input")
    leading, images, channels, size = inputs[0]
    need(leading == 1 and channels <= 32, f"expected an input of shape [1, N, at most 32 channels, P], got {list(inputs[0])}")
    need(outputs[0][:3] == (1, 1, images * size), f"expected {images * size} pixels in [1, 1, N * P, C], got {list(outputs[0])}")
    need(channels <= outputs[0][3] < channels + 8, f"expected {channels} channels and less than eight more, got {outputs[0][3]}")


_STORED: dict[str, Any] = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i32": np.int32, "si32": np.int32, "ui32": np.uint32, "u32": np.uint32,
           "ui16": np.uint16, "u16": np.uint16, "ui8": np.uint8, "u8": np.uint8, "i8": np.int8, "si8": np.int8}  # fmt: skip
"""Element types whose bits a device value has."""


def can_reinterpret(source: str, target: str) -> bool:
    """Whether values of an element type are bits of another on the device."""
    return {source, target} <= set(_STORED) and np.dtype(_STORED[source]).itemsize == np.dtype(_STORED[target]).itemsize


def reinterpret(array: Array, source: str, target: str) -> Array:
    """The bits of values of element type `source` as values of `target`; bfloat16 is held as float32."""
    bits: Array = np.ascontiguousarray(np.asarray(array).astype(_STORED[source])).view(_STORED[target])
    return bits.astype(np.float32) if target == "bf16" else bits


def _bitcast(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return [reinterpret(inputs[0], attributes["operand_elements"][0], attributes["result_elements"][0])]


def _scaled(value: Array, axis: int | None, target: Array) -> Array:
    if axis is None or value.size == 1:
        return value.reshape(-1)[0] if value.size == 1 else value
    shape = [1] * target.ndim
    shape[axis] = -1
    return value.reshape(shape)


def _quantize(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    x, axis = inputs[0], attributes.get("axis")
    scale, zero = _scaled(inputs[1], axis, x), _scaled(inputs[2], axis, x)
    return [np.rint(x / scale + zero).astype(np.int32)]


def _dequantize(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    x, axis = inputs[0], attributes.get("axis")
    scale, zero = _scaled(inputs[1], axis, x), _scaled(inputs[2], axis, x)
    return [((x.astype(np.float32) - zero) * scale).astype(np.float32)]


def _requantize(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    real = _dequantize(inputs[:3], attributes, _shapes)[0]
    return _quantize([real, *inputs[3:5]], attributes, _shapes)


ttir("typecast", _same)
ttir("bitcast_convert", _bitcast)
ttir("to_layout", _same)
ttir("quantize_unrolled", _quantize)
ttir("dequantize_unrolled", _dequantize)
ttir("requantize_unrolled", _requantize)

op(
    "to_layout",
    "tensor layout memory_config=changed_memory_config",
    "core/to_layout/to_layout_op.hpp",
    samples=tuple(Sample(((s, "bfloat16"),), outputs=(s,), layout="row_major") for s in EDGE_SIZES),
    reference=_same,
    tolerance=0.0,
    noun="converted",
)
op(
    "reallocate",
    "tensor=input",
    "core/core.hpp",
    cpp_target="ttnn.operations.core.reallocate",
    reference=_same,
    doc="the same tensor at another address, where the holes between tensors are too small; chosen at optimization level 2",
)
op("to_memory_config", "tensor memory_config", "core/to_memory_config/to_memory_config_op.hpp", reference=_same, tolerance=0.0)
op(
    "convert_to_hwc",
    "input memory_config",
    "experimental/cnn/convert_to_hwc/convert_to_hwc.hpp",
    target="ttnn.experimental.convert_to_hwc",
    reference=_pixels,
    doc="[1, N, C, H*W] in width shards -> [1, 1, N*H*W, C] in height shards, channels filled up to whole words; chosen from optimization level 1 on",
)
op(
    "fold",
    "input stride_h stride_w",
    "data_movement/fold/fold.hpp",
    samples=tuple(
        Sample(
            (((2, 4, width, 16), "bfloat16"),), {"stride_h": rows, "stride_w": columns}, ((2, 4 // rows, width // columns, 16 * rows * columns),), "row_major"
        )
        for width, rows, columns in ((32, 1, 16), (6, 2, 2), (8, 1, 4))
    ),
    reference=_folded,
    tolerance=0.0,
    doc="NHWC in rows; the result lies where the input does, in rows or height shards; chosen from optimization level 1 on",
)
op("to_device", "tensor device memory_config", "core/core.hpp", cpp_target="ttnn.operations.core.to_device", reference=_same, tolerance=0.0)
op("from_device", "tensor", "core/core.hpp", cpp_target="ttnn.operations.core.from_device", reference=_same, tolerance=0.0)
op(
    "typecast",
    "input_tensor dtype memory_config",
    "copy/typecast/typecast.hpp",
    samples=tuple(Sample(((s, "bfloat16"),), outputs=(s,)) for s in EDGE_SIZES),
    reference=_same,
    tolerance=1.0,
    noun="converted",
)
op(
    "bitcast_convert",
    "input_tensor dtype memory_config",
    "eltwise/unary/unary.hpp",
    target="ttnn.bitcast",
    samples=tuple(Sample(((s, "float32"),), outputs=(s,)) for s in EDGE_SIZES),
    reference=_same,
    tolerance=0.0,
    doc="the bits of a dtype as values of another of the same width",
)
op("deallocate", "tensor force", "core/core.hpp", cpp_target="ttnn.operations.core.deallocate")
op("assign", "input_tensor memory_config", "data_movement/copy/copy.hpp", reference=_same, tolerance=0.0)
op("copy", "input_a=src input_b=dst", "data_movement/copy/copy.hpp", doc="in place")
for _name, _reference, _parameters in (
    ("quantize", _quantize, "scale zero_point"),
    ("dequantize", _dequantize, "scale zero_point"),
    ("requantize", _requantize, "in_scale in_zero_point out_scale out_zero_point"),
):
    op(
        _name,
        f"input_tensor * {_parameters} axis dtype=output_dtype memory_config",
        "eltwise/quantization/quantization.hpp",
        reference=_reference,
        tolerance=1.0,
    )
for _name, _other in (("load_tensor", "device"), ("dump_tensor", "tensor")):
    op(_name, f"file_name=file_path {_other}", "../tensor/serialization.hpp", cpp_target=f"ttnn.{_name}_flatbuffer")
