"""softmax, layer/rms/group/batch norm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops import sharding
from alchemist.ops.axes import along, by_rows
from alchemist.ops.describe import EDGE_SIZES, Array, Reference, op, optional, ttir
from alchemist.ops.spec import ErrorSample, Sample


def softmax(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    x, dim = inputs[0], attributes["dimension"]
    top = np.max(x, axis=dim, keepdims=True)
    exponent = np.exp(x - np.where(np.isfinite(top), top, 0))
    return [exponent / np.sum(exponent, axis=dim, keepdims=True)]


def _axes(x: Array, attributes: Mapping[str, Any]) -> tuple[int, ...]:
    count = len(attributes.get("normalized_shape", (0,)))
    return tuple(range(x.ndim - count, x.ndim))


def _affine(x: Array, weight: Array | None, bias: Array | None) -> Array:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def layer_norm(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    x = inputs[0]
    axes = _axes(x, attributes)
    mean = np.mean(x, axis=axes, keepdims=True)
    variance = np.mean(np.square(x - mean), axis=axes, keepdims=True)
    normal = (x - mean) / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    return [_affine(normal, optional(inputs, 1), optional(inputs, 2))]


def rms_norm(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    x = inputs[0]
    power = np.mean(np.square(x), axis=_axes(x, attributes), keepdims=True)
    normal = x / np.sqrt(power + attributes.get("epsilon", 1e-5))
    return [_affine(normal, optional(inputs, 1), optional(inputs, 2))]


def batch_norm_inference(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """Operands: x, scale, offset, mean, variance, each 1-D of the channel size."""
    x, channel = inputs[0], attributes["dimension"]
    shape = [1] * x.ndim
    shape[channel] = x.shape[channel]
    scale, offset, mean, variance = (value.reshape(shape) for value in inputs[1:5])
    return [(x - mean) / np.sqrt(variance + attributes["epsilon"]) * scale + offset]


def group_norm(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """TTIR operands: x, mask, weight, bias; the channel is `channel_dim`."""
    x, groups = inputs[0], attributes["num_groups"]
    channel = attributes.get("channel_dim", 3) % x.ndim
    channels_first = np.moveaxis(x, channel, 1)
    flat = channels_first.reshape(channels_first.shape[0], groups, -1)
    mean = flat.mean(axis=2, keepdims=True)
    variance = flat.var(axis=2, keepdims=True)
    normal = ((flat - mean) / np.sqrt(variance + attributes.get("epsilon", 1e-12))).reshape(channels_first.shape)
    shape = [1, -1] + [1] * (x.ndim - 2)
    weight, bias = optional(inputs, 2), optional(inputs, 3)
    weight = None if weight is None else weight.reshape(shape)
    bias = None if bias is None else bias.reshape(shape)
    return [np.moveaxis(_affine(normal, weight, bias), 1, channel)]


def _with_residual(norm: Reference) -> Reference:
    def reference(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: Sequence[tuple[int, ...]]) -> Sequence[Array]:
        return norm([inputs[0] + inputs[1], *inputs[2:]], attributes, shapes)

    return reference


op(
    "softmax",
    "input_tensor dim=dimension memory_config compute_kernel_config numeric_stable=numericStable",
    "normalization/softmax/softmax.hpp",
    samples=tuple(Sample(((s, "bfloat16"),), {"dimension": -1, "numericStable": True}, (s,)) for s in EDGE_SIZES),
    error_samples=(ErrorSample((((32, 32), "bfloat16"),), {"dimension": 4}, "dim"),),
    reference=softmax,
    tolerance=8.0,
)
ttir("softmax", softmax, axes=along("dimension"), sharding=sharding.along("dimension"))

for _name, _reference in (("layer_norm", layer_norm), ("rms_norm", rms_norm)):
    op(
        _name,
        "input_tensor epsilon weight bias memory_config program_config=alchemist.program_config compute_kernel_config",
        f"normalization/{_name.replace('_', '')}/{_name.replace('_', '')}.hpp",
        samples=tuple(Sample(((s, "bfloat16"), (s[-1:], "bfloat16"), (s[-1:], "bfloat16")), {"epsilon": 1e-5}, (s,)) for s in EDGE_SIZES),
        reference=_reference,
        tolerance=8.0,
        noun="normalized",
    )
    ttir(_name, _reference, axes=by_rows, sharding=sharding.by_rows)
    op(
        f"add_{_name}",
        "input_tensor epsilon weight bias residual_input_tensor=residual memory_config program_config=alchemist.program_config compute_kernel_config",
        f"normalization/{_name.replace('_', '')}/{_name.replace('_', '')}.hpp",
        target=f"ttnn.{_name}",
        samples=tuple(Sample((*(((s, "bfloat16"),) * 2), *(((s[-1:], "bfloat16"),) * 2)), {"epsilon": 1e-5}, (s,)) for s in EDGE_SIZES),
        reference=_with_residual(_reference),
        tolerance=8.0,
        doc="ours, not tt-mlir's: operands input, residual, weight, bias; the sum is normalised in one device program",
    )

for _suffix, _mode in (("inference", "training=const:False"), ("training", "training=const:True momentum")):
    op(
        f"batch_norm_{_suffix}",
        f"input running_mean running_var {_mode} eps=epsilon weight bias memory_config compute_kernel_config",
        "normalization/batch_norm/batch_norm.hpp",
        target="ttnn.batch_norm",
        samples=()
        if _suffix == "training"
        else tuple(
            Sample((((n, c, h, w), "bfloat16"), *((((1, c, 1, 1), "bfloat16"),) * 4)), {"epsilon": 1e-5}, ((n, c, h, w),))
            for n, c, h, w in ((1, 32, 32, 32), (2, 3, 31, 33))
        ),
        doc="NCHW, statistics [1, C, 1, 1]",
    )
ttir("batch_norm_inference", batch_norm_inference, sharding=sharding.by_channel)
op(
    "group_norm",
    "input_tensor num_groups epsilon input_mask weight bias memory_config core_grid=alchemist.core_grid inplace=alchemist.inplace",
    "normalization/groupnorm/groupnorm.hpp",
    doc="[N, 1, H*W, C], row-major or sharded; lowered from TTIR by composition",
)
ttir("group_norm", group_norm)
_TILE = 32


def part_sums(inputs: Sequence[Array], _attributes: Mapping[str, Any], shapes: Sequence[tuple[int, ...]]) -> Sequence[Array]:
    """Sums of squares in the first column and, when there is a second tile, sums in its first."""
    x, out = inputs[0], np.zeros(shapes[0], np.float32)
    out[..., 0] = np.sum(np.square(x), -1)
    if out.shape[-1] > _TILE:
        out[..., _TILE] = np.sum(x, -1)
    return [out]


def part_norm(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """Layer norm of a part of rows, with the statistics of all parts side by side."""
    x, stats = inputs[0], inputs[1]
    parts = stats.reshape(*stats.shape[:-1], -1, 2 * _TILE)
    count = parts.shape[-2] * x.shape[-1]
    mean = np.sum(parts[..., _TILE], -1, keepdims=True) / count
    variance = np.sum(parts[..., 0], -1, keepdims=True) / count - np.square(mean)
    return [_affine((x - mean) / np.sqrt(variance + attributes.get("epsilon", 1e-12)), optional(inputs, 2), optional(inputs, 3))]


def part_rms_norm(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    """RMS norm of a part of rows, with the sums of squares of all parts side by side."""
    x, stats = inputs[0], inputs[1]
    parts = stats.reshape(*stats.shape[:-1], -1, _TILE)
    power = np.sum(parts[..., 0], -1, keepdims=True) / (parts.shape[-2] * x.shape[-1])
    return [_affine(x / np.sqrt(power + attributes.get("epsilon", 1e-12)), optional(inputs, 2), optional(inputs, 3))]


def _parts(*inputs: int, out: int, **attributes: float) -> tuple[Sample, ...]:
    """Samples of rows of 64 values; `inputs` and `out` are widths."""
    return tuple(Sample(tuple(((1, 1, rows, width), "bfloat16") for width in inputs), attributes, ((1, 1, rows, out),)) for rows in (32, 33))


for _name, _words, _folder, _samples, _meaning in (
    (
        "layer_norm_pre_all_gather",
        "input_tensor dtype residual_input_tensor=residual_input compute_kernel_config memory_config",
        "layernorm_distributed/layernorm_pre_all_gather.hpp",
        _parts(64, out=64),
        part_sums,
    ),
    (
        "layer_norm_post_all_gather",
        "input_tensor stats epsilon weight bias memory_config compute_kernel_config",
        "layernorm_distributed/layernorm_post_all_gather.hpp",
        _parts(64, 128, out=64, epsilon=1.0),  # statistics drawn at random: their variance may be below 0
        part_norm,
    ),
    (
        "rms_norm_pre_all_gather",
        "input_tensor dtype residual_input_tensor=residual compute_kernel_config memory_config",
        "rmsnorm_distributed/rmsnorm_pre_all_gather.hpp",
        _parts(64, out=32),
        part_sums,
    ),
    (
        "rms_norm_post_all_gather",
        "input_tensor stats epsilon weight bias memory_config compute_kernel_config",
        "rmsnorm_distributed/rmsnorm_post_all_gather.hpp",
        _parts(64, 64, out=64, epsilon=100.0),  # statistics drawn at random may be below 0
        part_rms_norm,
    ),
):
    _noun, _doc = "statistics" if "pre" in _name else "", "parts of norms over several chips"
    op(_name, _words, f"normalization/{_folder}", samples=_samples, reference=_meaning, tolerance=8.0, noun=_noun, doc=_doc)
ttir("distributed_rms_norm", None)
