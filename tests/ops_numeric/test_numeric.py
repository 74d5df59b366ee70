"""Every op's values against torch: op x dtype x sizes around the tile edge, special values included."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import ttnn
from ttnn_shim.errors import ShimError

from tests.ops_numeric.values import SPECIAL, check, get, put, random
from tests.tables import table

Reference = Callable[..., torch.Tensor]
SIZES = [(1,), (31,), (32,), (33,), (64,), (1, 1), (3, 33), (64, 31), (2, 3, 40, 50)]
DTYPES = {"bfloat16": (ttnn.bfloat16, torch.bfloat16, 2**-8), "float32": (ttnn.float32, torch.float32, 4e-6)}

# name -> (reference in float64, low and high of the inputs, extra keyword arguments)
UNARY: dict[str, tuple[Reference, float, float, dict[str, Any]]] = {
    "abs": (torch.abs, -5, 5, {}),
    "acos": (torch.acos, -1, 1, {}),
    "acosh": (torch.acosh, 1, 50, {}),
    "asin": (torch.asin, -1, 1, {}),
    "asinh": (torch.asinh, -50, 50, {}),
    "atan": (torch.atan, -50, 50, {}),
    "atanh": (torch.atanh, -0.99, 0.99, {}),
    "cbrt": (lambda x: x.sign() * x.abs() ** (1 / 3), -50, 50, {}),
    "ceil": (torch.ceil, -50, 50, {}),
    "cos": (torch.cos, -50, 50, {}),
    "cosh": (torch.cosh, -8, 8, {}),
    "deg2rad": (torch.deg2rad, -360, 360, {}),
    "digamma": (torch.digamma, 0.5, 50, {}),
    "eqz": (lambda x: (x == 0).to(x), -2, 2, {}),
    "erf": (torch.erf, -4, 4, {}),
    "erfc": (torch.erfc, -4, 4, {}),
    "erfinv": (torch.erfinv, -0.99, 0.99, {}),
    "exp": (torch.exp, -20, 20, {}),
    "exp2": (torch.exp2, -20, 20, {}),
    "expm1": (torch.expm1, -5, 5, {}),
    "floor": (torch.floor, -50, 50, {}),
    "frac": (torch.frac, -50, 50, {}),
    "gelu": (F.gelu, -6, 6, {}),
    "gez": (lambda x: (x >= 0).to(x), -2, 2, {}),
    "gtz": (lambda x: (x > 0).to(x), -2, 2, {}),
    "hardsigmoid": (F.hardsigmoid, -5, 5, {}),
    "hardswish": (F.hardswish, -5, 5, {}),
    "i0": (torch.special.i0, -10, 10, {}),
    "i1": (torch.special.i1, -10, 10, {}),
    "identity": (lambda x: x, -5, 5, {}),
    "isfinite": (lambda x: torch.isfinite(x).to(x), -5, 5, {}),
    "isinf": (lambda x: torch.isinf(x).to(x), -5, 5, {}),
    "isnan": (lambda x: torch.isnan(x).to(x), -5, 5, {}),
    "lez": (lambda x: (x <= 0).to(x), -2, 2, {}),
    "lgamma": (torch.lgamma, 3, 30, {}),
    "log": (torch.log, 0.01, 100, {}),
    "log10": (torch.log10, 0.01, 100, {}),
    "log1p": (torch.log1p, -0.9, 100, {}),
    "log2": (torch.log2, 0.01, 100, {}),
    "log_sigmoid": (F.logsigmoid, -20, 20, {}),
    "logical_not": (lambda x: torch.logical_not(x).to(x), -2, 2, {}),
    "ltz": (lambda x: (x < 0).to(x), -2, 2, {}),
    "mish": (F.mish, -20, 20, {}),
    "neg": (torch.neg, -5, 5, {}),
    "nez": (lambda x: (x != 0).to(x), -2, 2, {}),
    "rad2deg": (torch.rad2deg, -6, 6, {}),
    "reciprocal": (torch.reciprocal, 0.1, 5, {}),
    "relu": (F.relu, -5, 5, {}),
    "relu6": (F.relu6, -9, 9, {}),
    "rsqrt": (torch.rsqrt, 0.01, 100, {}),
    "sigmoid": (torch.sigmoid, -20, 20, {}),
    "sign": (torch.sign, -5, 5, {}),
    "signbit": (lambda x: torch.signbit(x).to(x), -5, 5, {}),
    "silu": (F.silu, -20, 20, {}),
    "sin": (torch.sin, -50, 50, {}),
    "sinh": (torch.sinh, -8, 8, {}),
    "softplus": (F.softplus, -15, 15, {}),
    "softsign": (F.softsign, -5, 5, {}),
    "sqrt": (torch.sqrt, 0, 100, {}),
    "square": (torch.square, -5, 5, {}),
    "tan": (torch.tan, -1.4, 1.4, {}),
    "tanh": (torch.tanh, -6, 6, {}),
    "tanhshrink": (F.tanhshrink, 1, 6, {}),
    "trunc": (torch.trunc, -50, 50, {}),
    "elu": (lambda x: F.elu(x, 0.7), -5, 5, {"alpha": 0.7}),
    "celu": (lambda x: F.celu(x, 0.7), -5, 5, {"alpha": 0.7}),
    "selu": (lambda x: 1.0507 * torch.where(x > 0, x, 1.67326 * torch.expm1(x)), -5, 5, {}),  # the real API's defaults
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.125), -5, 5, {"negative_slope": 0.125}),
    "hardtanh": (lambda x: F.hardtanh(x, -0.5, 0.75), -2, 2, {"min_val": -0.5, "max_val": 0.75}),
    "hardshrink": (F.hardshrink, -2, 2, {}),
    "softshrink": (F.softshrink, -2, 2, {}),
    "threshold": (lambda x: F.threshold(x, 0.5, 2.0), -2, 2, {"threshold": 0.5, "value": 2.0}),
    "clamp": (lambda x: torch.clamp(x, -1.5, 2.5), -5, 5, {"min": -1.5, "max": 2.5}),
    "pow": (lambda x: x**3.0, 0.1, 4, {"exponent": 3.0}),
    "rdiv": (lambda x: 2.0 / x, 0.5, 4, {"value": 2.0}),
}
# name -> (reference, low, high)
BINARY: dict[str, tuple[Reference, float, float]] = {
    "add": (torch.add, -5, 5),
    "sub": (torch.sub, -5, 5),
    "multiply": (torch.mul, -5, 5),
    "div": (torch.div, 0.5, 5),
    "rsub": (lambda a, b: b - a, -5, 5),
    "maximum": (torch.maximum, -5, 5),
    "minimum": (torch.minimum, -5, 5),
    "eq": (lambda a, b: (a == b).to(a), -2, 2),
    "ne": (lambda a, b: (a != b).to(a), -2, 2),
    "gt": (lambda a, b: (a > b).to(a), -2, 2),
    "ge": (lambda a, b: (a >= b).to(a), -2, 2),
    "lt": (lambda a, b: (a < b).to(a), -2, 2),
    "le": (lambda a, b: (a <= b).to(a), -2, 2),
    "logical_and": (lambda a, b: torch.logical_and(a, b).to(a), -1, 1),
    "logical_or": (lambda a, b: torch.logical_or(a, b).to(a), -1, 1),
    "logical_xor": (lambda a, b: torch.logical_xor(a, b).to(a), -1, 1),
    "squared_difference": (lambda a, b: (a - b) ** 2, -5, 5),
    "pow": (torch.pow, 0.5, 3),
    "remainder": (torch.remainder, 1, 9),
    "fmod": (torch.fmod, 1, 9),
    "atan2": (torch.atan2, 0.5, 5),
    "hypot": (torch.hypot, -5, 5),
    "logaddexp": (torch.logaddexp, -5, 5),
    "logaddexp2": (torch.logaddexp2, -5, 5),
    "xlogy": (torch.xlogy, 0.5, 5),
    "ldexp": (lambda a, b: a * 2.0**b, -3, 3),
    "floor_div": (lambda a, b: torch.floor(a / b), 1, 9),
}
INTEGER_UNARY: dict[str, Reference] = {
    "abs": torch.abs,
    "neg": torch.neg,
    "relu": F.relu,
    "square": torch.square,
    "bitwise_not": torch.bitwise_not,
    "logical_not": lambda x: torch.logical_not(x).to(x),
    "eqz": lambda x: (x == 0).to(x),
}
INTEGER_BINARY: dict[str, Reference] = {
    "add": torch.add, "sub": torch.sub, "multiply": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum,
    "eq": lambda a, b: (a == b).to(a), "gt": lambda a, b: (a > b).to(a), "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor, "remainder": torch.remainder,
    "gcd": torch.gcd, "lcm": torch.lcm, "logical_and": lambda a, b: torch.logical_and(a, b).to(a),
}  # fmt: skip


@table("dtype", DTYPES)
@table("name", UNARY)
def test_unary(name: str, dtype: str, device: Any) -> None:
    reference, low, high, kwargs = UNARY[name]
    device_dtype, torch_dtype, epsilon = DTYPES[dtype]
    for shape in SIZES:
        values = random(shape, low, high, torch_dtype)
        for layout in (ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT):
            result = getattr(ttnn, name)(put(values, device, device_dtype, layout), **kwargs)
            assert (result.dtype, result.layout) == (device_dtype, layout)
            check(get(result), reference(values.double()), epsilon, epsilon * 2e-2 if dtype == "bfloat16" else 2e-6)


@table("name", UNARY)
def test_special_values(name: str, device: Any) -> None:
    values = torch.tensor(SPECIAL, dtype=torch.float32)
    expected = UNARY[name][0](values.double()).float()
    actual = get(getattr(ttnn, name)(put(values, device), **UNARY[name][3]))
    if name == "gelu":  # inf * 1; a torch build may say nan
        expected[SPECIAL.index(float("inf"))] = float("inf")
    if name == "sign":  # nan stays nan here, torch makes it 0
        assert actual.isnan().nonzero().flatten().tolist() == values.isnan().nonzero().flatten().tolist()
        actual = actual.nan_to_num(0.0)
        expected = expected.nan_to_num(0.0)
    check(actual, expected, 2e-6, 1e-30)


@table("dtype", DTYPES)
@table("name", BINARY)
def test_binary(name: str, dtype: str, device: Any) -> None:
    reference, low, high = BINARY[name]
    _, torch_dtype, epsilon = DTYPES[dtype]
    op = getattr(ttnn, name)
    pairs = [((33,), (33,)), ((2, 3, 40, 50), (2, 3, 40, 50)), ((2, 3, 40, 50), (50,)), ((2, 3, 40, 1), (2, 1, 1, 50)), ((1, 33), (31, 1)), ((64, 96), (1, 1))]
    for left, right in pairs:
        a, b = random(left, low, high, torch_dtype), random(right, low, high, torch_dtype, 7)
        expected = reference(a.double(), b.double())
        absolute = epsilon * 4e-2 if dtype == "bfloat16" else 4e-6
        check(get(op(put(a, device), put(b, device))), expected, epsilon, absolute)
    if name not in ("atan2", "hypot"):
        a = random((3, 40), low, high, torch_dtype)
        check(get(op(put(a, device), 1.5)), reference(a.double(), torch.tensor(1.5).double()), epsilon, absolute)


@table("name", [*INTEGER_UNARY, *(f"{op} " for op in INTEGER_BINARY)])
def test_integers_are_exact(name: str, device: Any) -> None:
    a = torch.tensor([[0, 1, -1, 7, -7, 2**30, -(2**31) + 1, 2**24 + 1, 123456789]], dtype=torch.int32)
    b = torch.tensor([[3, 1, 5, 2, 4, 2**29 + 1, 9, 2**24 + 3, 11]], dtype=torch.int32)
    if name in INTEGER_UNARY:
        assert torch.equal(get(getattr(ttnn, name)(put(a, device))), INTEGER_UNARY[name](a))
    else:
        op = name.strip()
        assert torch.equal(get(getattr(ttnn, op)(put(a, device), put(b, device))), INTEGER_BINARY[op](a, b))


def _gather_index(shape: tuple[int, ...], bound: int) -> torch.Tensor:
    return torch.randint(0, bound, shape, generator=torch.Generator().manual_seed(3), dtype=torch.int64)


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **kwargs: Any) -> torch.Tensor:
    groups = q.shape[1] // k.shape[1]
    return F.scaled_dot_product_attention(q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1), **kwargs)


X = (2, 3, 40, 50)
# Attention rounds scores, weights and sums to bfloat16: the bit model is 1.1e-2 off with 96 keys.
# name -> (shapes of the inputs, call on device tensors, reference on float64, relative error in norm allowed for bfloat16)
# A product on given cores computes in LoFi unless the call says otherwise.
HIFI4 = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True)
CASES: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any], Reference, float]] = {
    "matmul": ([(2, 33, 65), (2, 65, 31)], ttnn.matmul, torch.matmul, 1e-2),
    "matmul weight": ([(2, 3, 33, 65), (65, 31)], ttnn.matmul, torch.matmul, 1e-2),
    "matmul transposed": ([(65, 33), (31, 65)], lambda a, b: ttnn.matmul(a, b, transpose_a=True, transpose_b=True), lambda a, b: a.T @ b.T, 1e-2),
    "matmul on a core": ([(640, 64), (64, 640)], lambda a, b: ttnn.matmul(a, b, core_grid=ttnn.CoreGrid(x=1, y=1), compute_kernel_config=HIFI4), torch.matmul, 1e-2),  # in parts that fit L1
    "linear": ([(3, 33, 64), (64, 96), (1, 96)], lambda x, w, b: ttnn.linear(x, w, bias=b), lambda x, w, b: x @ w + b, 1e-2),
    "linear fused": ([(3, 33, 64), (64, 96), (1, 96)], lambda x, w, b: ttnn.linear(x, w, bias=b, activation="gelu", core_grid=ttnn.CoreGrid(x=8, y=8), compute_kernel_config=HIFI4), lambda x, w, b: F.gelu(x @ w + b), 1e-2),
    "linear other activation": ([(3, 33, 64), (64, 96), (1, 96)], lambda x, w, b: ttnn.linear(x, w, bias=b, activation="hardsigmoid", core_grid=ttnn.CoreGrid(x=8, y=8), compute_kernel_config=HIFI4), lambda x, w, b: F.hardsigmoid(x @ w + b), 1e-2),
    "softmax": ([X], lambda x: ttnn.softmax(x, dim=-1), lambda x: torch.softmax(x, -1), 5e-3),
    "softmax outer": ([X], lambda x: ttnn.softmax(x, dim=1), lambda x: torch.softmax(x, 1), 5e-3),
    "layer_norm": ([X, (50,), (50,)], lambda x, w, b: ttnn.layer_norm(x, weight=w, bias=b, epsilon=1e-5), lambda x, w, b: F.layer_norm(x, (50,), w, b), 5e-3),
    "layer_norm residual": ([X, X], lambda x, r: ttnn.layer_norm(x, residual_input_tensor=r, epsilon=1e-5), lambda x, r: F.layer_norm(x + r, (50,)), 5e-3),
    "rms_norm": ([X, (50,)], lambda x, w: ttnn.rms_norm(x, weight=w, epsilon=1e-5), lambda x, w: F.rms_norm(x, (50,), w, 1e-5), 5e-3),
    "batch_norm": ([X, (1, 3, 1, 1), (1, 3, 1, 1)], lambda x, m, v: ttnn.batch_norm(x, running_mean=m, running_var=ttnn.abs(v)), lambda x, m, v: F.batch_norm(x, m.flatten(), v.abs().flatten()), 1e-2),
    "sdpa causal": ([(2, 4, 64, 32)] * 3, lambda q, k, v: ttnn.transformer.scaled_dot_product_attention(q, k, v, is_causal=True), lambda q, k, v: _attention(q, k, v, is_causal=True), 1e-2),
    "sdpa grouped": ([(2, 4, 64, 32), (2, 2, 96, 32), (2, 2, 96, 32)], lambda q, k, v: ttnn.transformer.scaled_dot_product_attention(q, k, v, is_causal=False), _attention, 1.6e-2),
    "sdpa mask": ([(2, 4, 64, 32), (2, 4, 96, 32), (2, 4, 96, 32), (1, 1, 64, 96)], lambda q, k, v, m: ttnn.transformer.scaled_dot_product_attention(q, k, v, attn_mask=m, is_causal=False), lambda q, k, v, m: _attention(q, k, v, attn_mask=m), 1.6e-2),
    "sdpa decode": ([(1, 2, 32, 64), (2, 8, 96, 64), (2, 8, 96, 64)], lambda q, k, v: ttnn.transformer.scaled_dot_product_attention_decode(q, k, v, cur_pos=[95, 95]), lambda q, k, v: _attention(q.permute(1, 2, 0, 3), k, v).permute(2, 0, 1, 3), 1.6e-2),
    "permute": ([X], lambda x: ttnn.permute(x, (3, 1, 0, 2)), lambda x: x.permute(3, 1, 0, 2), 0),
    "transpose": ([X], lambda x: ttnn.transpose(x, -1, -2), lambda x: x.transpose(-1, -2), 0),
    "reshape": ([X], lambda x: ttnn.reshape(x, (6, -1)), lambda x: x.reshape(6, -1), 0),
    "concat": ([(2, 33, 31), (2, 5, 31)], lambda a, b: ttnn.concat([a, b], dim=1), lambda a, b: torch.cat([a, b], 1), 0),
    "concat of many": ([(33, 63), (33, 129)], lambda a, b: ttnn.concat([a, b] * 32, dim=-1), lambda a, b: torch.cat([a, b] * 32, -1), 0),  # too many for L1
    "slice": ([X], lambda x: ttnn.slice(x, [0, 1, 3, 5], [2, 3, 40, 49]), lambda x: x[:, 1:3, 3:40, 5:49], 0),
    "slice steps": ([X], lambda x: ttnn.slice(x, [0, 0, 1, 0], [2, 3, 40, 50], [1, 2, 3, 7]), lambda x: x[:, ::2, 1::3, ::7], 0),
    "pad": ([X], lambda x: ttnn.pad(x, [(0, 1), (0, 0), (0, 3), (0, 5)], 2.0), lambda x: F.pad(x, (0, 5, 0, 3, 0, 0, 0, 1), value=2.0), 0),
    "repeat": ([(2, 3, 33)], lambda x: ttnn.repeat(x, (2, 1, 3)), lambda x: x.repeat(2, 1, 3), 0),
    "repeat_interleave": ([(2, 3, 33)], lambda x: ttnn.repeat_interleave(x, 2, dim=1), lambda x: x.repeat_interleave(2, 1), 0),
    "expand": ([(1, 3, 1)], lambda x: ttnn.expand(x, [5, 3, 33]), lambda x: x.expand(5, 3, 33), 0),
    "roll": ([(3, 40)], lambda x: ttnn.roll(x, 7, 1), lambda x: x.roll(7, 1), 0),
    "squeeze": ([(1, 3, 1, 33)], lambda x: ttnn.squeeze(x, 2), lambda x: x.squeeze(2), 0),
    "stack": ([(3, 33), (3, 33)], lambda a, b: ttnn.stack([a, b], 1), lambda a, b: torch.stack([a, b], 1), 0),
    "tril": ([X], ttnn.tril, torch.tril, 0),
    "sum": ([X], lambda x: ttnn.sum(x, dim=-1), lambda x: x.sum(-1), 1e-2),
    "sum all": ([X], ttnn.sum, torch.sum, 2e-2),
    "sum outer": ([X], lambda x: ttnn.sum(x, dim=(0, 2), keepdim=True), lambda x: x.sum((0, 2), keepdim=True), 1e-2),
    "mean": ([X], lambda x: ttnn.mean(x, dim=(2, 3)), lambda x: x.mean((2, 3)), 2e-2),
    "mean outer": ([X], lambda x: ttnn.mean(x, dim=1, keepdim=True), lambda x: x.mean(1, keepdim=True), 1e-2),
    "max": ([X], lambda x: ttnn.max(x, dim=-1), lambda x: x.amax(-1), 0),
    "max outer": ([X], lambda x: ttnn.max(x, dim=0), lambda x: x.amax(0), 0),
    "min": ([X], lambda x: ttnn.min(x, dim=2, keepdim=True), lambda x: x.amin(2, keepdim=True), 0),
    "prod": ([(2, 3, 4, 33)], lambda x: ttnn.prod(x, 2), lambda x: x.prod(2), 1e-2),
    "var": ([X], lambda x: ttnn.var(x, dim=-1), lambda x: x.var(-1), 1e-2),
    "std": ([X], lambda x: ttnn.std(x, dim=2, correction=False), lambda x: x.std(2, correction=0), 1e-2),
    "argmax": ([X], lambda x: ttnn.argmax(x, dim=-1, keepdim=True), lambda x: x.argmax(-1, keepdim=True), 0),
    "topk": ([X], lambda x: ttnn.topk(x, k=5, dim=-1)[0], lambda x: x.topk(5, -1).values, 0),
    "sort": ([X], lambda x: ttnn.sort(x, dim=1, descending=True)[0], lambda x: x.sort(1, descending=True).values, 0),
    "cumsum": ([X], lambda x: ttnn.cumsum(x, 2), lambda x: x.cumsum(2), 1e-2),
    "cumprod": ([(3, 8, 33)], lambda x: ttnn.cumprod(x, 1), lambda x: x.cumprod(1), 1e-2),
    "where": ([X, X, X], lambda p, a, b: ttnn.where(ttnn.gtz(p), a, b), lambda p, a, b: torch.where(p > 0, a, b), 0),
    "addcmul": ([X, X, X], lambda a, b, c: ttnn.addcmul(a, b, c, value=0.5), lambda a, b, c: torch.addcmul(a, b, c, value=0.5), 1e-2),
    "lerp": ([X, X], lambda a, b: ttnn.lerp(a, b, 0.25), lambda a, b: torch.lerp(a, b, 0.25), 1e-2),
    "polyval": ([X], lambda x: ttnn.polyval(x, [1.0, -2.0, 0.5]), lambda x: x * x - 2 * x + 0.5, 3e-2),
    "glu": ([(1, 1, 32, 128)], ttnn.glu, F.glu, 1e-2),
    "outer": ([(33,), (40,)], ttnn.outer, lambda a, b: torch.outer(a, b), 1e-2),
    "addmm": ([(33, 31), (33, 64), (64, 31)], lambda i, a, b: ttnn.addmm(i, a, b, alpha=0.5, beta=2.0), lambda i, a, b: torch.addmm(i, a, b, alpha=0.5, beta=2.0), 2e-2),
    "upsample": ([(2, 5, 4, 32)], lambda x: ttnn.upsample(ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT), 2), lambda x: F.interpolate(x.permute(0, 3, 1, 2), scale_factor=2).permute(0, 2, 3, 1), 0),
    "upsample bilinear": ([(2, 5, 4, 32)], lambda x: ttnn.upsample(ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT), 2, mode="bilinear"), lambda x: F.interpolate(x.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear").permute(0, 2, 3, 1), 1e-2),
    "concatenate_heads": ([(2, 4, 40, 32)], ttnn.transformer.concatenate_heads, lambda x: x.permute(0, 2, 1, 3).reshape(2, 40, 128), 0),
    "rotary_embedding": ([(1, 3, 32, 64), (1, 1, 32, 64), (1, 1, 32, 64)], ttnn.experimental.rotary_embedding, lambda x, c, s: x * c + torch.cat([-x[..., 32:], x[..., :32]], -1) * s, 1e-2),
}  # fmt: skip
# Products and sums of float32 in the FPU: TF32 operands, cut. SrcA's keep 9 bits of their mantissas, SrcB's 10, and products lose what is
# 2^-11 below their group's largest.
TF32_ERROR = 2**-9 + 2**-10 + 2**-11
IN_FPU = {name for name in CASES if name.split()[0] in ("matmul", "linear", "sum", "mean", "outer", "addmm")}
BFLOAT16_ONLY = {name for name in CASES if name.startswith("sdpa")} | {"upsample bilinear"}


@table(("name", "dtype"), [(name, dtype) for name in CASES for dtype in DTYPES if dtype != "float32" or name not in BFLOAT16_ONLY])
def test_op(name: str, dtype: str, device: Any) -> None:
    shapes, call, reference, allowed = CASES[name]
    values = [random(shape, -2, 2, DTYPES[dtype][1], seed) for seed, shape in enumerate(shapes)]
    actual = get(call(*[put(one, device) for one in values]))
    expected = reference(*[one.double() for one in values])
    assert tuple(actual.shape) == tuple(expected.shape)
    if allowed == 0:
        assert torch.equal(actual.double(), expected.double())
    else:
        error = (actual.double() - expected).norm() / expected.norm()
        assert error <= (allowed if dtype == "bfloat16" else TF32_ERROR if name in IN_FPU else 1e-5), f"relative error {error:.2e}"


def test_heads_and_embedding(device: Any) -> None:
    fused = random((2, 40, 8 * 32), -2, 2, torch.bfloat16)
    q, k, v = ttnn.transformer.split_query_key_value_and_split_heads(put(fused, device), num_heads=4, num_kv_heads=2)
    parts = fused.split([128, 64, 64], -1)
    assert torch.equal(get(q), parts[0].reshape(2, 40, 4, 32).permute(0, 2, 1, 3))
    assert torch.equal(get(k), parts[1].reshape(2, 40, 2, 32).permute(0, 2, 3, 1))
    assert torch.equal(get(v), parts[2].reshape(2, 40, 2, 32).permute(0, 2, 1, 3))
    table, ids = random((50, 33), -2, 2, torch.bfloat16), _gather_index((2, 7), 50)
    indices = put(ids.int(), device, ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)
    assert torch.equal(get(ttnn.embedding(indices, put(table, device, layout=ttnn.ROW_MAJOR_LAYOUT), layout=ttnn.TILE_LAYOUT)), table[ids])


def test_indexed_ops(device: Any) -> None:
    x, index = random((33, 40), -2, 2, torch.bfloat16), _gather_index((33, 9), 40)
    assert torch.equal(get(ttnn.gather(put(x, device), 1, put(index.int(), device, ttnn.uint32))), x.gather(1, index))
    unique = torch.stack([torch.randperm(40, generator=torch.Generator().manual_seed(i))[:9] for i in range(33)])
    source = random((33, 9), -2, 2, torch.bfloat16, 5)
    rows = ttnn.ROW_MAJOR_LAYOUT
    arguments = (put(x, device, layout=rows), 1, put(unique.int(), device, layout=rows), put(source, device, layout=rows))
    assert torch.equal(get(ttnn.scatter(*arguments)), x.scatter(1, unique, source))
    check(get(ttnn.scatter_add(*arguments)), x.double().scatter_add(1, unique, source.double()), 2**-8)


@pytest.mark.parametrize("paged", [False, True])
def test_cache_then_decode(paged: bool, device: Any) -> None:
    """A cache filled for each user, one token appended, then attention over what is there."""
    users, heads, kv, length, depth, block = 2, 8, 2, 128, 32, 64
    position = 70
    old_k, old_v = (random((users, kv, position, depth), -1, 1, torch.bfloat16, s) for s in (1, 2))
    new_k, new_v = (random((1, users, kv, depth), -1, 1, torch.bfloat16, s) for s in (3, 4))
    q = random((1, users, heads, depth), -1, 1, torch.bfloat16, 5)
    k, v = torch.cat([old_k, new_k.permute(1, 2, 0, 3)], 2).double(), torch.cat([old_v, new_v.permute(1, 2, 0, 3)], 2).double()
    expected = _attention(q.double().permute(1, 2, 0, 3), k, v).permute(2, 0, 1, 3)
    positions = put(torch.full((users,), position, dtype=torch.int32), device, layout=ttnn.ROW_MAJOR_LAYOUT)
    extra: dict[str, Any] = {}
    if paged:
        table = put(torch.tensor([[3, 0], [1, 2]], dtype=torch.int32), device, layout=ttnn.ROW_MAJOR_LAYOUT)
        caches = [put(torch.zeros(4, kv, block, depth).bfloat16(), device) for _ in range(2)]
        for cache, old in zip(caches, (old_k, old_v), strict=True):
            for user in range(users):
                ttnn.experimental.paged_fill_cache(cache, put(old[user : user + 1], device), table, batch_idx=user)
        extra["page_table"] = table
    else:
        caches = [put(torch.zeros(users, kv, length, depth).bfloat16(), device) for _ in range(2)]
        for cache, old in zip(caches, (old_k, old_v), strict=True):
            for user in range(users):
                ttnn.fill_cache(cache, put(old[user : user + 1], device), user)
    on_cores = ttnn.create_sharded_memory_config((32, depth), ttnn.CoreGrid(y=1, x=users), ttnn.ShardStrategy.HEIGHT, use_height_and_width_as_shard_shape=True)
    for cache, new in zip(caches, (new_k, new_v), strict=True):  # the real op takes one user per core, and no interleaved tokens
        ttnn.experimental.paged_update_cache(cache, ttnn.to_memory_config(put(new, device), on_cores), update_idxs_tensor=positions, **extra)
    if paged:
        result = ttnn.transformer.paged_scaled_dot_product_attention_decode(put(q, device), *caches, table, cur_pos_tensor=positions)
    else:
        result = ttnn.transformer.scaled_dot_product_attention_decode(put(q, device), *caches, cur_pos_tensor=positions)
    error = (get(result).double() - expected).norm() / expected.norm()
    assert error <= 1e-2


def test_matmul_beside_tensors_in_l1(device: Any) -> None:
    """Blocks are as small as what tensors leave of L1 asks for."""
    left, right = torch.randn(2048, 64).bfloat16(), torch.randn(64, 2048).bfloat16()
    a, b = put(left, device), put(right, device)
    alone = ttnn.matmul(a, b)
    held = ttnn.empty([64, 40000 * 8], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT, device, ttnn.L1_MEMORY_CONFIG)
    assert torch.equal(ttnn.to_torch(ttnn.matmul(a, b)), ttnn.to_torch(alone))
    held.deallocate()


def test_sums_of_like_signs_are_nearly_exact(device: Any) -> None:
    """A sum is a product with ones, which cut no low bits of values of about one size."""
    x = (torch.rand(64, 1024) + 0.1).bfloat16().float()
    exact = x.double().sum(-1, keepdim=True)
    error = (get(ttnn.sum(put(x, device), dim=-1, keepdim=True)).double() - exact) / exact
    assert error.abs().max() < 2e-5


def test_expm1_keeps_two_units_of_the_last_place(device: Any) -> None:
    x = torch.linspace(-3, 3, 20001)
    exact = torch.expm1(x.double()).reshape(1, -1)
    unit = torch.nextafter(exact.float().abs(), torch.tensor(math.inf)).double() - exact.float().abs().double()
    assert ((get(ttnn.expm1(put(x.reshape(1, -1), device))).double() - exact).abs() <= 2 * unit).all()


@pytest.mark.parametrize("fidelity", ["LoFi", "HiFi2", "HiFi3", "HiFi4"])
def test_math_fidelity_shows_in_matmul(fidelity: str, device: Any) -> None:
    """Each fidelity multiplies the bits that its phases see, and no others."""
    a, b = random((32, 64), 1, 2, torch.bfloat16), random((64, 32), 1, 2, torch.bfloat16, 9)

    def keep(values: torch.Tensor, mask: int) -> torch.Tensor:
        return (values.float().view(torch.int32) & mask).view(torch.float32).double()

    high_a, high_b = keep(a, -0x20000), keep(b, -0x80000)
    low_a = a.double() - high_a
    expected = {
        "LoFi": high_a @ high_b,
        "HiFi2": high_a @ b.double(),
        "HiFi3": high_a @ b.double() + low_a @ high_b,
        "HiFi4": a.double() @ b.double(),
    }[fidelity]
    config = ttnn.WormholeComputeKernelConfig(math_fidelity=getattr(ttnn.MathFidelity, fidelity), fp32_dest_acc_en=True)  # sums round once
    result = ttnn.matmul(put(a, device), put(b, device), compute_kernel_config=config)
    check(get(result), expected, 2**-8)


def test_random_tensors(device: Any) -> None:
    first, second = (get(ttnn.rand((64, 64), device, seed=5)) for _ in range(2))
    assert torch.equal(first, second)
    assert 0.4 < first.float().mean() < 0.6
    normal = get(ttnn.randn((128, 128), device, dtype=ttnn.float32, seed=3))
    assert abs(normal.mean()) < 0.05
    assert abs(normal.std() - 1) < 0.05


def test_quantisation_round_trip(device: Any) -> None:
    x = random((33, 40), -3, 3, torch.float32)
    q = ttnn.quantize(put(x, device), 0.05, 3)
    assert torch.equal(get(q), torch.clamp(torch.round(x / 0.05) + 3, -128, 127).int())
    check(get(ttnn.dequantize(q, 0.05, 3, dtype=ttnn.float32)), (get(q).double() - 3) * 0.05, 1e-6, 1e-6)


REFUSED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "matmul K": ("expected K of input_tensor_b to be 4, got 5", lambda d: ttnn.matmul(put(torch.ones(3, 4).bfloat16(), d), put(torch.ones(5, 6).bfloat16(), d))),
    "matmul row major": ("input_tensor_a must have layout TILE", lambda d: ttnn.matmul(put(torch.ones(4, 4).bfloat16(), d, layout=ttnn.ROW_MAJOR_LAYOUT), put(torch.ones(4, 4).bfloat16(), d))),
    "matmul integers": ("expected a floating point dtype, got INT32", lambda d: ttnn.matmul(put(torch.ones(4, 4).int(), d), put(torch.ones(4, 4).int(), d))),
    "add shapes": ("[3, 4] and [3, 5] do not broadcast", lambda d: ttnn.add(put(torch.ones(3, 4).bfloat16(), d), put(torch.ones(3, 5).bfloat16(), d))),
    "add mixed": ("got BFLOAT16 and INT32", lambda d: ttnn.add(put(torch.ones(3, 4).bfloat16(), d), put(torch.ones(3, 4).int(), d))),
    "add fraction": ("cannot represent the scalar 2.5", lambda d: ttnn.add(put(torch.ones(3, 4).int(), d), 2.5)),
    "exp of integers": ("floating point dtype for unary op EXP", lambda d: ttnn.exp(put(torch.ones(3, 4).int(), d))),
    "bitwise of floats": ("expected integer tensors for BITWISE_AND", lambda d: ttnn.bitwise_and(put(torch.ones(3, 4).bfloat16(), d), put(torch.ones(3, 4).bfloat16(), d))),
    "softmax row major": ("input_tensor must have layout TILE", lambda d: ttnn.softmax(put(torch.ones(3, 4).bfloat16(), d, layout=ttnn.ROW_MAJOR_LAYOUT), dim=-1)),
    "layer_norm gamma": ("expected rows of 32 values", lambda d: ttnn.layer_norm(put(torch.ones(3, 64).bfloat16(), d), weight=put(torch.ones(64).bfloat16(), d, layout=ttnn.ROW_MAJOR_LAYOUT))),
    "sdpa float32": ("input_tensor_q: expected BFLOAT16", lambda d: ttnn.transformer.scaled_dot_product_attention(*[put(torch.ones(1, 1, 32, 32), d)] * 3)),
    "sdpa causal mask": ("not allowed when is_causal is True", lambda d: ttnn.transformer.scaled_dot_product_attention(*[put(torch.ones(1, 1, 32, 32).bfloat16(), d)] * 3, attn_mask=put(torch.ones(1, 1, 32, 32).bfloat16(), d))),
    "sdpa mask rows": ("expected 32 rows and 32 columns", lambda d: ttnn.transformer.scaled_dot_product_attention(*[put(torch.ones(1, 1, 32, 32).bfloat16(), d)] * 3, attn_mask=put(torch.ones(1, 1, 1, 32).bfloat16(), d), is_causal=False)),
    "embedding ids": ("expected UINT32 or BFLOAT16 indices, got INT32", lambda d: ttnn.embedding(put(torch.ones(1, 4).int(), d, layout=ttnn.ROW_MAJOR_LAYOUT), put(torch.ones(9, 32).bfloat16(), d, layout=ttnn.ROW_MAJOR_LAYOUT))),
    "embedding range": ("index 9 at position 0 is outside the table of 9 rows", lambda d: ttnn.embedding(put(torch.full((1, 4), 9).int(), d, ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT), put(torch.ones(9, 32).bfloat16(), d, layout=ttnn.ROW_MAJOR_LAYOUT))),
    "reshape volume": ("[5, 3] holds 15 values, the tensor [3, 4] holds 12", lambda d: ttnn.reshape(put(torch.ones(3, 4).bfloat16(), d), (5, 3))),
    "permute twice": ("dimension 0 is given twice", lambda d: ttnn.permute(put(torch.ones(3, 4).bfloat16(), d), (0, 0))),
    "concat shapes": ("differ outside dimension 0", lambda d: ttnn.concat([put(torch.ones(3, 4).bfloat16(), d), put(torch.ones(4, 5).bfloat16(), d)], dim=0)),
    "broadcast_to rank": ("expected at most 4 dimensions, got 2 and 5", lambda d: ttnn.experimental.broadcast_to(put(torch.ones(3, 4).bfloat16(), d), [1, 1, 1, 3, 4])),
    "slice range": ("40 is outside dimension 1", lambda d: ttnn.slice(put(torch.ones(3, 4).bfloat16(), d), [0, 0], [3, 40])),  # tiles hold 32 columns
    "gather range": ("index 4 is outside a dimension of 4", lambda d: ttnn.gather(put(torch.ones(3, 4).bfloat16(), d), 1, put(torch.full((3, 4), 4).int(), d, ttnn.uint32))),
    "huge": ("beyond max L1 size", lambda d: ttnn.repeat(put(torch.ones(3, 4).bfloat16(), d), (100000, 100000))),
    "mean of integers": ("expected a floating point dtype, got INT32", lambda d: ttnn.mean(put(torch.ones(3, 4).int(), d))),
    "argmax of a tile tensor": ("dim: must be given for inputs with TILE layout", lambda d: ttnn.argmax(put(torch.ones(3, 4).bfloat16(), d))),
    "topk k": ("expected 1 to 4 (dimension 1", lambda d: ttnn.topk(put(torch.ones(3, 4).bfloat16(), d), k=9)),
}  # fmt: skip


@table("name", REFUSED)
def test_refused_with_a_reason(name: str, device: Any) -> None:
    reason, call = REFUSED[name]
    with pytest.raises(ShimError, match=re.escape(reason)):
        call(device)


@pytest.mark.parametrize("name", ["relu", "softmax", "layer_norm", "transpose", "sum"])
def test_empty_tensors_give_what_torch_gives(name: str, device: Any) -> None:
    empty = torch.ones(0, 32).bfloat16()
    calls: dict[str, tuple[Callable[[Any], Any], torch.Tensor]] = {
        "relu": (ttnn.relu, empty), "softmax": (lambda x: ttnn.softmax(x, dim=-1), empty), "layer_norm": (ttnn.layer_norm, empty),
        "transpose": (lambda x: ttnn.transpose(x, 0, 1), empty.T), "sum": (lambda x: ttnn.sum(x, dim=0), empty.sum(dim=0)),
    }  # fmt: skip
    call, expected = calls[name]
    assert torch.equal(get(call(put(empty, device))), expected)
