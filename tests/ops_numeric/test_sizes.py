"""Ops that are not one function per element, at sizes around the tile edge: values against torch in float64.

A row of OPS names the op, the inputs' shapes for a size (h, w), the call and the reference. `exact` rows move values, so they are also run on
integers and on special values; the others are judged by the result dtype's epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
import ttnn

from tests.ops_numeric.values import SPECIAL, get, put, random
from tests.tables import table

pytestmark = pytest.mark.usefixtures("ieee_nan")

SIZES = [(1, 1), (1, 31), (31, 32), (32, 33), (33, 64), (64, 31)]
EPSILON = {torch.bfloat16: 2.0**-8, torch.float32: 2.0**-18}  # of float32: what TF32-free kernels reach over a few hundred terms
ROWS = ttnn.ROW_MAJOR_LAYOUT
TILES = ttnn.TILE_LAYOUT
L1 = ttnn.BufferType.L1
Shapes = Callable[[int, int], Sequence[tuple[int, ...]]]


class Row(NamedTuple):
    """epsilons: error in norm allowed, in units of the dtype's epsilon; 0: every value equal. layout: of the inputs."""

    shapes: Shapes
    call: Callable[..., Any]
    reference: Callable[..., Any]
    epsilons: float = 0
    layout: Any = TILES
    only: tuple[torch.dtype, ...] = (torch.bfloat16, torch.float32)


def one(h: int, w: int) -> list[tuple[int, ...]]:
    return [(2, 3, h, w)]


def two(h: int, w: int) -> list[tuple[int, ...]]:
    return [(2, 3, h, w)] * 2


def three(h: int, w: int) -> list[tuple[int, ...]]:
    return [(2, 3, h, w)] * 3


def flat(h: int, w: int) -> list[tuple[int, ...]]:
    return [(h, w)]


def sharded(kind: str, height: int, width: int) -> Any:
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))])
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, kind), L1, ttnn.ShardSpec(grid, [height, width], ttnn.ShardOrientation.ROW_MAJOR))


def whole_shard(x: Any) -> Any:
    """All of `x` in one core's shard."""
    shape = tuple(x.padded_shape)
    return sharded("HEIGHT_SHARDED", math.prod(shape[:-1]), shape[-1])


def tile(extent: int) -> int:
    return -(-extent // 32) * 32


def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def attention_weights(x: torch.Tensor, scale: float, mask: torch.Tensor | None = None) -> torch.Tensor:
    return torch.softmax(x * scale + (0 if mask is None else mask), -1)


def nhwc(function: Callable[[torch.Tensor], torch.Tensor], size: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function on [N, C, H, W] for pixels in rows [1, 1, size * size, C]."""

    def on_rows(x: torch.Tensor) -> torch.Tensor:
        out = function(x.reshape(1, size, size, -1).permute(0, 3, 1, 2))
        return out.permute(0, 2, 3, 1).reshape(1, 1, -1, x.shape[-1])

    return on_rows


def pool(name: str, size: int = 8, **kwargs: Any) -> Callable[[Any], Any]:
    window = {"kernel_size": [3, 3], "stride": [2, 2], "padding": [1, 1], **kwargs}
    return lambda x: getattr(ttnn, name)(x, 1, size, size, x.shape[-1], **window)


def convolution(name: str, h: int, w: int) -> Callable[..., Any]:
    """1-D or 2-D over one image of 8 (x 8) pixels; weights from the host. The channels are the size."""
    extent = {"input_length": 8} if name == "conv1d" else {"input_height": 8, "input_width": 8}
    window = {"kernel_size": 3, "stride": 1, "padding": 1} if name == "conv1d" else {"kernel_size": (3, 3), "stride": (1, 1), "padding": (1, 1)}

    def call(x: Any, weight: Any, bias: Any) -> Any:
        on_host = [ttnn.to_layout(ttnn.from_device(one_), ROWS) for one_ in (weight, bias)]
        return getattr(ttnn, name)(
            input_tensor=x, weight_tensor=on_host[0], bias_tensor=on_host[1], device=x.device(), in_channels=h, out_channels=w, batch_size=1, **extent, **window,
        )  # fmt: skip

    return call


TRUTH = 1e-9  # epsilons of rows whose results are 0, 1 or an input, but whose inputs must be ordinary numbers
CONV_EPSILONS = 5  # products of 9 x 64 in a 16-bit Dst: 3.8 in the bit model
RMS = {"epsilon": 1e-5}
SUBTRACTED_MEAN = 64  # errors of the mean show where the result is small

# fmt: off
OPS: dict[str, Row] = {
    # --- values move ---
    "permute": Row(one, lambda x: ttnn.permute(x, (3, 1, 0, 2)), lambda x: x.permute(3, 1, 0, 2)),
    "permute rows": Row(one, lambda x: ttnn.permute(x, (0, 2, 1, 3)), lambda x: x.permute(0, 2, 1, 3), layout=ROWS),
    "transpose": Row(one, lambda x: ttnn.transpose(x, -1, -2), lambda x: x.transpose(-1, -2)),
    "transpose outer": Row(one, lambda x: ttnn.transpose(x, 1, 2), lambda x: x.transpose(1, 2)),
    "reshape": Row(one, lambda x: ttnn.reshape(x, (6, -1)), lambda x: x.reshape(6, -1)),
    "reshape_on_device": Row(one, lambda x: ttnn.reshape_on_device(x, 3, 2, x.shape[2], x.shape[3]), lambda x: x.reshape(3, 2, *x.shape[2:]), layout=ROWS),
    "view": Row(one, lambda x: ttnn.view(x, [6, 1, x.shape[2], x.shape[3]]), lambda x: x.reshape(6, 1, *x.shape[2:])),
    "experimental.view": Row(one, lambda x: ttnn.experimental.view(x, 3, 2, x.shape[2], x.shape[3]), lambda x: x.reshape(3, 2, *x.shape[2:])),
    "concat": Row(lambda h, w: [(2, h, w), (2, 5, w)], lambda a, b: ttnn.concat([a, b], dim=1), lambda a, b: torch.cat([a, b], 1)),
    "concat last": Row(lambda h, w: [(2, h, w), (2, h, 7)], lambda a, b: ttnn.concat([a, b], dim=-1), lambda a, b: torch.cat([a, b], -1)),
    "stack": Row(lambda h, w: [(h, w)] * 2, lambda a, b: ttnn.stack([a, b], 1), lambda a, b: torch.stack([a, b], 1)),
    "slice": Row(one, lambda x: ttnn.slice(x, [0, 1, 0, 0], [2, 3, x.shape[2], x.shape[3]]), lambda x: x[:, 1:3]),
    "slice steps": Row(one, lambda x: ttnn.slice(x, [0, 0, 0, 0], list(x.shape), [1, 2, 3, 7]), lambda x: x[:, ::2, ::3, ::7], layout=ROWS),
    "narrow": Row(lambda h, w: [(3, h, w)], lambda x: ttnn.narrow(x, 0, 0, 2), lambda x: x.narrow(0, 0, 2)),
    "split": Row(one, lambda x: ttnn.split(x, 2, dim=1)[1], lambda x: x.split(2, 1)[1]),
    "chunk": Row(one, lambda x: ttnn.chunk(x, 3, 1)[2], lambda x: x.chunk(3, 1)[2]),
    "pad": Row(one, lambda x: ttnn.pad(x, [(0, 1), (0, 0), (0, 3), (0, 5)], 2.0), lambda x: F.pad(x, (0, 5, 0, 3, 0, 0, 0, 1), value=2.0)),
    "repeat": Row(lambda h, w: [(2, h, w)], lambda x: ttnn.repeat(x, (2, 1, 3)), lambda x: x.repeat(2, 1, 3)),
    "repeat_interleave": Row(lambda h, w: [(2, h, w)], lambda x: ttnn.repeat_interleave(x, 2, dim=1), lambda x: x.repeat_interleave(2, 1)),
    "expand": Row(lambda h, w: [(1, h, 1)], lambda x: ttnn.expand(x, [5, x.shape[1], 33]), lambda x: x.expand(5, -1, 33)),
    "experimental.broadcast_to": Row(lambda h, w: [(1, 1, h, 1)], lambda x: ttnn.experimental.broadcast_to(x, [2, 3, x.shape[2], 33]), lambda x: x.expand(2, 3, -1, 33)),
    "roll": Row(flat, lambda x: ttnn.roll(x, 7, 1), lambda x: x.roll(7, 1)),
    "squeeze": Row(lambda h, w: [(1, h, 1, w)], lambda x: ttnn.squeeze(x, 2), lambda x: x.squeeze(2)),
    "unsqueeze": Row(flat, lambda x: ttnn.unsqueeze(x, 1), lambda x: x.unsqueeze(1)),
    "unsqueeze_to_4D": Row(flat, ttnn.unsqueeze_to_4D, lambda x: x[None, None]),
    "tril": Row(one, lambda x: ttnn.tril(x, diagonal=1), lambda x: x.tril(1)),
    "triu": Row(one, lambda x: ttnn.triu(x, diagonal=-1), lambda x: x.triu(-1)),
    "clone": Row(one, ttnn.clone, lambda x: x),
    "assign": Row(one, lambda x: ttnn.assign(x, memory_config=ttnn.L1_MEMORY_CONFIG), lambda x: x),
    "copy": Row(two, lambda a, b: (ttnn.copy(a, b), b)[1], lambda a, _: a),
    "move": Row(one, lambda x: ttnn.move(ttnn.clone(x)), lambda x: x),
    "reallocate": Row(one, lambda x: ttnn.reallocate(ttnn.clone(x)), lambda x: x),
    "to_layout": Row(one, lambda x: ttnn.to_layout(x, ROWS), lambda x: x),
    "to_layout tile": Row(one, lambda x: ttnn.to_layout(x, TILES), lambda x: x, layout=ROWS),
    "tilize": Row(lambda h, w: [(tile(h), tile(w))], ttnn.tilize, lambda x: x, layout=ROWS),
    "tilize_with_val_padding": Row(one, lambda x: ttnn.tilize_with_val_padding(x, [2, 3, tile(x.shape[2]), tile(x.shape[3])], 3.0), lambda x: x, layout=ROWS),
    "tilize_with_zero_padding": Row(one, ttnn.tilize_with_zero_padding, lambda x: x, layout=ROWS),
    "untilize": Row(one, ttnn.untilize, lambda x: x),
    "untilize_with_unpadding": Row(one, lambda x: ttnn.untilize_with_unpadding(x, [1, 2, x.shape[2] - 1, x.shape[3] - 1]), lambda x: x),
    "to_memory_config": Row(one, lambda x: ttnn.to_memory_config(x, whole_shard(x)), lambda x: x),
    "interleaved_to_sharded": Row(one, lambda x: ttnn.interleaved_to_sharded(x, whole_shard(x)), lambda x: x),
    "sharded_to_interleaved": Row(one, lambda x: ttnn.sharded_to_interleaved(ttnn.to_memory_config(x, whole_shard(x)), ttnn.DRAM_MEMORY_CONFIG), lambda x: x),
    "reshard": Row(lambda h, w: [(64, 64)], lambda x: ttnn.reshard(ttnn.to_memory_config(x, sharded("HEIGHT_SHARDED", 64, 64)), sharded("BLOCK_SHARDED", 64, 64)), lambda x: x),
    "from_device to_device": Row(one, lambda x: ttnn.to_device(ttnn.from_device(x), x.device()), lambda x: x),
    "copy_device_to_host_tensor": Row(two, lambda a, b: (host := ttnn.from_device(b), ttnn.copy_device_to_host_tensor(a, host), host)[2], lambda a, _: a),
    "copy_host_to_device_tensor": Row(two, lambda a, b: (ttnn.copy_host_to_device_tensor(ttnn.from_device(a), b), b)[1], lambda a, _: a),
    "typecast": Row(one, lambda x: ttnn.typecast(x, x.dtype), lambda x: x),
    "fill": Row(one, lambda x: ttnn.fill(x, 3), lambda x: torch.full_like(x, 3)),
    "full_like": Row(one, lambda x: ttnn.full_like(x, 3), lambda x: torch.full_like(x, 3)),
    "zeros_like": Row(one, ttnn.zeros_like, torch.zeros_like),
    "ones_like": Row(one, ttnn.ones_like, torch.ones_like),
    "sort": Row(one, lambda x: ttnn.sort(x, dim=-1)[0], lambda x: x.sort(-1).values, only=(torch.bfloat16,)),
    "max": Row(one, lambda x: ttnn.max(x, dim=-1), lambda x: x.amax(-1)),
    "max rows": Row(one, lambda x: ttnn.max(x, dim=2, keepdim=True), lambda x: x.amax(2, keepdim=True)),
    "min": Row(one, lambda x: ttnn.min(x, dim=-1), lambda x: x.amin(-1)),
    "concatenate_heads": Row(lambda h, w: [(2, 4, h, 32)], ttnn.transformer.concatenate_heads, lambda x: x.permute(0, 2, 1, 3).reshape(2, -1, 128)),
    "nlp_concat_heads": Row(lambda h, w: [(2, 4, h, 32)], ttnn.experimental.nlp_concat_heads, lambda x: x.permute(0, 2, 1, 3).reshape(2, 1, -1, 128)),
    "nlp_create_qkv_heads": Row(lambda h, w: [(2, 1, h, 8 * 32)], lambda x: ttnn.experimental.nlp_create_qkv_heads(x, num_heads=4, num_kv_heads=2, transpose_k_heads=False)[1], lambda x: x[..., 128:192].reshape(2, -1, 2, 32).permute(0, 2, 1, 3)),
    "rotate_half": Row(lambda h, w: [(1, 2, h, 64)], ttnn.experimental.rotate_half, lambda x: torch.cat([-x[..., 32:], x[..., :32]], -1)),
    "max_pool2d": Row(lambda h, w: [(1, 1, 64, w)], pool("max_pool2d", dilation=[1, 1]), nhwc(lambda x: F.max_pool2d(x, 3, 2, 1), 8), layout=ROWS, only=(torch.bfloat16,)),
    "upsample": Row(lambda h, w: [(1, 4, 4, w)], lambda x: ttnn.upsample(x, 2), lambda x: x.repeat_interleave(2, 1).repeat_interleave(2, 2), layout=ROWS, only=(torch.bfloat16,)),
    # --- sums ---
    "sum": Row(one, lambda x: ttnn.sum(x, dim=-1), lambda x: x.sum(-1), 2),
    "experimental.fast_reduce_nc": Row(one, lambda x: ttnn.experimental.fast_reduce_nc(x, dims=[1]), lambda x: x.sum(1, keepdim=True), 4),
    "sum rows": Row(one, lambda x: ttnn.sum(x, dim=2), lambda x: x.sum(2), 2),
    "sum all": Row(one, ttnn.sum, torch.sum, 8),
    "mean": Row(one, lambda x: ttnn.mean(x, dim=(2, 3)), lambda x: x.mean((2, 3)), 4),
    "var": Row(lambda h, w: [(2, h + 1, w + 1)], lambda x: ttnn.var(x, dim=-1), lambda x: x.var(-1), 4),
    "std": Row(lambda h, w: [(2, h + 1, w + 1)], lambda x: ttnn.std(x, dim=-1), lambda x: x.std(-1), 4),
    "var_hw": Row(lambda h, w: [(2, 3, h + 1, w + 1)], ttnn.var_hw, lambda x: x.var((2, 3), correction=0, keepdim=True), 4),
    "std_hw": Row(lambda h, w: [(2, 3, h + 1, w + 1)], ttnn.std_hw, lambda x: x.std((2, 3), correction=0, keepdim=True), 4),
    "prod": Row(lambda h, w: [(2, 3, 4, w)], lambda x: ttnn.prod(x, 2), lambda x: x.prod(2), 4),
    "cumsum": Row(one, lambda x: ttnn.cumsum(x, 2), lambda x: x.cumsum(2), 8),
    "cumprod": Row(lambda h, w: [(2, 8, w)], lambda x: ttnn.cumprod(x, 1), lambda x: x.cumprod(1), 8),
    "softmax": Row(one, lambda x: ttnn.softmax(x, dim=-1), lambda x: torch.softmax(x, -1), 2),
    "softmax rows": Row(one, lambda x: ttnn.softmax(x, dim=2), lambda x: torch.softmax(x, 2), 2),
    "softmax_in_place": Row(one, ttnn.softmax_in_place, lambda x: torch.softmax(x, -1), 2),
    "scale_mask_softmax": Row(lambda h, w: [(2, 3, 32, w), (2, 1, 32, w)], lambda x, m: ttnn.scale_mask_softmax(x, 0.5, ttnn.slice(m, [0, 0, 0, 0], [2, 1, 1, m.shape[3]])), lambda x, m: attention_weights(x, 0.5, m[:, :, :1]), 2, only=(torch.bfloat16,)),
    "scale_mask_softmax_in_place": Row(lambda h, w: [(2, 3, 32, w), (2, 1, 32, w)], lambda x, m: ttnn.scale_mask_softmax_in_place(x, 0.5, ttnn.slice(m, [0, 0, 0, 0], [2, 1, 1, m.shape[3]])), lambda x, m: attention_weights(x, 0.5, m[:, :, :1]), 2, only=(torch.bfloat16,)),
    "attention_softmax": Row(lambda h, w: [(2, 3, 32, w), (2, 1, 32, w)], lambda x, m: ttnn.transformer.attention_softmax(x, head_size=16, attention_mask=ttnn.slice(m, [0, 0, 0, 0], [2, 1, 1, m.shape[3]])), lambda x, m: attention_weights(x, 0.25, m[:, :, :1]), 2, only=(torch.bfloat16,)),
    "attention_softmax_": Row(lambda h, w: [(2, 3, 32, w), (2, 1, 32, w)], lambda x, m: ttnn.transformer.attention_softmax_(x, head_size=16, attention_mask=ttnn.slice(m, [0, 0, 0, 0], [2, 1, 1, m.shape[3]])), lambda x, m: attention_weights(x, 0.25, m[:, :, :1]), 2, only=(torch.bfloat16,)),
    "layer_norm": Row(lambda h, w: [(2, h, w + 1)], lambda x: ttnn.layer_norm(x, **RMS), lambda x: F.layer_norm(x, x.shape[-1:], eps=1e-5), SUBTRACTED_MEAN),
    "rms_norm": Row(lambda h, w: [(2, h, w), (w,)], lambda x, g: ttnn.rms_norm(x, weight=g, **RMS), lambda x, g: F.rms_norm(x, x.shape[-1:], g, 1e-5), 2),
    "group_norm": Row(lambda h, w: [(1, 1, tile(h), 64)], lambda x: ttnn.group_norm(x, num_groups=2, inplace=False, **RMS), lambda x: F.group_norm(x.permute(0, 3, 1, 2), 2, eps=1e-5).permute(0, 2, 3, 1), 4, only=(torch.bfloat16,)),
    "global_avg_pool2d": Row(lambda h, w: [(2, 4, h, w)], ttnn.global_avg_pool2d, lambda x: x.mean((1, 2), keepdim=True), 4),
    "avg_pool2d": Row(lambda h, w: [(1, 1, 64, w)], pool("avg_pool2d"), nhwc(lambda x: F.avg_pool2d(x, 3, 2, 1), 8), 2, layout=ROWS, only=(torch.bfloat16,)),
    # --- products ---
    "matmul": Row(lambda h, w: [(2, h, 65), (2, 65, w)], ttnn.matmul, torch.matmul, 4),
    "matmul K": Row(lambda h, w: [(40, h * w), (h * w, 40)], ttnn.matmul, torch.matmul, 8),
    "linear": Row(lambda h, w: [(3, h, 64), (64, w), (1, w)], lambda x, k, b: ttnn.linear(x, k, bias=b), lambda x, k, b: x @ k + b, 4),
    "addmm": Row(lambda h, w: [(h, w), (h, 64), (64, w)], lambda i, a, b: ttnn.addmm(i, a, b, alpha=0.5, beta=2.0), lambda i, a, b: torch.addmm(i, a, b, alpha=0.5, beta=2.0), 4),
    "outer": Row(lambda h, w: [(h,), (w,)], ttnn.outer, lambda a, b: torch.outer(a, b), 2),
    "conv2d": Row(lambda h, w: [(1, 1, 64, h), (w, h, 3, 3), (1, 1, 1, w)], lambda x, k, b: convolution("conv2d", x.shape[3], b.shape[3])(x, k, b), lambda x, k, b: nhwc_conv(F.conv2d, x, k, b), CONV_EPSILONS, layout=ROWS, only=(torch.bfloat16,)),
    "conv_transpose2d": Row(lambda h, w: [(1, 1, 64, h), (h, w, 3, 3), (1, 1, 1, w)], lambda x, k, b: convolution("conv_transpose2d", x.shape[3], b.shape[3])(x, k, b), lambda x, k, b: nhwc_conv(F.conv_transpose2d, x, k, b), CONV_EPSILONS, layout=ROWS, only=(torch.bfloat16,)),
    "conv1d": Row(lambda h, w: [(1, 1, 8, h), (w, h, 3), (1, 1, 1, w)], lambda x, k, b: convolution("conv1d", x.shape[3], b.shape[3])(x, k, b), lambda x, k, b: F.conv1d(x.reshape(1, 8, -1).permute(0, 2, 1), k, b.flatten(), padding=1).permute(0, 2, 1)[None], 4, layout=ROWS, only=(torch.bfloat16,)),
    "sdpa": Row(lambda h, w: [(1, 2, h, 32)] * 3, lambda q, k, v: ttnn.transformer.scaled_dot_product_attention(q, k, v, is_causal=True), lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), 4, only=(torch.bfloat16,)),
    "rotary_embedding": Row(lambda h, w: [(1, 3, h, 64), (1, 1, h, 64), (1, 1, h, 64)], ttnn.experimental.rotary_embedding, rope, 2),
    # --- three inputs, gates, more of one function per element ---
    "where": Row(three, lambda p, a, b: ttnn.where(ttnn.gtz(p), a, b), lambda p, a, b: torch.where(p > 0, a, b), TRUTH),
    "addcmul": Row(three, lambda a, b, c: ttnn.addcmul(a, b, c, value=0.5), lambda a, b, c: torch.addcmul(a, b, c, value=0.5), 2),
    "addcdiv": Row(three, lambda a, b, c: ttnn.addcdiv(a, b, ttnn.add(ttnn.abs(c), 1.0), value=0.5), lambda a, b, c: torch.addcdiv(a, b, c.abs() + 1, value=0.5), 2),
    "mac": Row(three, ttnn.mac, lambda a, b, c: a * b + c, 4),
    "lerp": Row(three, lambda a, b, c: ttnn.lerp(a, b, c), torch.lerp, 4),
    "addalpha": Row(two, lambda a, b: ttnn.addalpha(a, b, 0.5), lambda a, b: a + 0.5 * b, 2),
    "subalpha": Row(two, lambda a, b: ttnn.subalpha(a, b, 0.5), lambda a, b: a - 0.5 * b, 2),
    "bias_gelu": Row(two, ttnn.bias_gelu, lambda a, b: F.gelu(a + b), 2),
    "div_no_nan": Row(two, lambda a, b: ttnn.div_no_nan(a, ttnn.relu(b)), lambda a, b: torch.where(b > 0, a / b, 0), 2),
    "isclose": Row(two, lambda a, b: ttnn.isclose(a, b, rtol=0.5), lambda a, b: torch.isclose(a, b, rtol=0.5).to(a), TRUTH),
    "nextafter": Row(two, ttnn.nextafter, lambda a, _: a, 1),
    "prelu": Row(one, lambda x: ttnn.prelu(x, 0.25), lambda x: torch.where(x > 0, x, 0.25 * x), 1),
    "glu": Row(lambda h, w: [(1, 1, h, 128)], ttnn.glu, F.glu, 2),
    "geglu": Row(lambda h, w: [(1, 1, h, 128)], ttnn.geglu, lambda x: x[..., :64] * F.gelu(x[..., 64:]), 4),
    "reglu": Row(lambda h, w: [(1, 1, h, 128)], ttnn.reglu, lambda x: x[..., :64] * F.relu(x[..., 64:]), 2),
    "swiglu": Row(lambda h, w: [(1, 1, h, 128)], ttnn.swiglu, lambda x: x[..., :64] * F.silu(x[..., 64:]), 4),
    "round": Row(one, lambda x: ttnn.round(x, decimals=0), torch.round, TRUTH),
    "rpow": Row(one, lambda x: ttnn.rpow(x, 2.0), lambda x: 2.0**x, 2),
    "heaviside": Row(one, lambda x: ttnn.heaviside(x, 0.5), lambda x: torch.heaviside(x, torch.tensor(0.5).double()), TRUTH),
    "logit": Row(one, lambda x: ttnn.logit(ttnn.sigmoid(x), eps=1e-3), lambda x: x, 8),
    "polygamma": Row(one, lambda x: ttnn.polygamma(ttnn.add(ttnn.abs(x), 1.0), 1), lambda x: torch.special.polygamma(1, x.abs() + 1), 8),
    "relu_max": Row(one, lambda x: ttnn.relu_max(x, 1.0), lambda x: x.clamp(0, 1), 1),
    "relu_min": Row(one, lambda x: ttnn.relu_min(x, 1.0), lambda x: x.clamp(min=1), 1),
    "clip": Row(one, lambda x: ttnn.clip(x, -1.0, 0.5), lambda x: x.clamp(-1, 0.5), 1),
    "swish": Row(one, ttnn.swish, F.silu, 2),
    "sigmoid_accurate": Row(one, ttnn.sigmoid_accurate, torch.sigmoid, 2),
    "hardmish": Row(one, ttnn.hardmish, lambda x: x * (x + 2).clamp(0, 2) / 2, 4),
    "softcap": Row(one, lambda x: ttnn.softcap(x, 2.0), lambda x: 2 * torch.tanh(x / 2), 2),
    "isposinf": Row(one, ttnn.isposinf, lambda x: torch.isposinf(x).to(x), TRUTH),
    "isneginf": Row(one, ttnn.isneginf, lambda x: torch.isneginf(x).to(x), TRUTH),
    "unary_chain": Row(one, lambda x: ttnn.unary_chain(x, [ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU), ttnn.UnaryWithParam(ttnn.UnaryOpType.POWER, 2.0)]), lambda x: F.relu(x) ** 2, 2),
    "xielu": Row(one, lambda x: ttnn.xielu(x, alpha_p=0.8, alpha_n=0.8), lambda x: torch.where(x > 0, 0.8 * x * x + 0.5 * x, 0.8 * (torch.expm1(x.clamp(max=-1e-6)) - x) + 0.5 * x), 8),
}
# fmt: on
# float32 in the FPU is TF32, cut to 9 and 10 bits of mantissa. Sums that cancel (of all values; of a small product and its addend) are off by
# more of what is left: 6e-3 and 5e-3 in the bit model, at the sizes here.
TF32_ERROR = 2**-9 + 2**-10 + 2**-11
IN_FPU = {
    **dict.fromkeys(("sum", "experimental.fast_reduce_nc", "sum rows", "mean", "global_avg_pool2d", "matmul", "matmul K", "linear", "outer"), TF32_ERROR),
    "sum all": 1.2e-2, "addmm": 1e-2,
}  # fmt: skip
EXACT = [name for name, row in OPS.items() if row.epsilons == 0]


def nhwc_conv(function: Callable[..., torch.Tensor], x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    image = x.reshape(1, 8, 8, -1).permute(0, 3, 1, 2)
    out = function(image, weight, bias.flatten(), padding=1)
    return out.permute(0, 2, 3, 1).reshape(1, 1, 64, -1)


@table(("name", "dtype"), [(name, dtype) for name, row in OPS.items() for dtype in ("bfloat16", "float32") if getattr(torch, dtype) in row.only])
def test_sizes(name: str, dtype: str, device: Any) -> None:
    row, of = OPS[name], getattr(torch, dtype)
    for h, w in SIZES:
        values = [random(shape, -2, 2, of, seed) for seed, shape in enumerate(row.shapes(h, w))]
        if row.epsilons == 0 and name != "sort":  # whose order of NaN is not torch's
            special = values[0].reshape(-1)[: len(SPECIAL)]
            special[:] = torch.tensor(SPECIAL[: len(special)]).to(of)
        actual = get(row.call(*[put(one_, device, layout=row.layout) for one_ in values])).double()
        expected = row.reference(*[one_.double() for one_ in values])
        assert tuple(actual.shape) == tuple(expected.shape), (h, w)
        if row.epsilons == 0:
            assert torch.equal(actual.nan_to_num(7.5), expected.nan_to_num(7.5)), (h, w)
            continue
        error = (actual - expected).norm() / expected.norm().clamp(min=1e-3)
        allowed = max(row.epsilons, 1e-9) * EPSILON[of]
        if dtype == "float32" and name in IN_FPU:
            allowed = IN_FPU[name]
        assert error <= allowed, f"{(h, w)}: {error / EPSILON[of]:.2f} epsilon"
