"""Golden functions that are no single function of torch: the ops' own formulas. Names end in `_` where Python has the name.

Loaded with the table of golden functions, when one is asked for: only then torch is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def _beyond(x: Any, result: Any, outside: Any) -> Any:
    """bfloat16 results outside the domain are infinite on the device, not NaN."""
    return result.masked_fill(outside, float("inf")) if x.dtype == torch.bfloat16 else result


def _in_float(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """bfloat16 with a number is computed in float32."""
    exact = a.float() if a.dtype == torch.bfloat16 and not torch.is_tensor(b) else a
    return function(exact, b).to(a.dtype)


def _gated(x: Any, dim: int, gate: Callable[[Any], Any]) -> Any:
    value, other = x.chunk(2, dim=dim)
    return value * gate(other)


def reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of torch with the op's parameters."""

    def golden(input_tensor: Any, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
        if dim is not None:
            result = function(input_tensor, dim=dim, keepdim=keepdim)
            return getattr(result, "values", result) if isinstance(result, tuple) else result  # not where a maximum is
        return function(input_tensor, dim=tuple(range(input_tensor.dim())), keepdim=True) if keepdim else function(input_tensor)

    return golden


class Unary:
    @staticmethod
    def acos(x: Any) -> Any:
        return _beyond(x, x.acos(), (x < -1) | (x > 1))

    @staticmethod
    def asin(x: Any) -> Any:
        return _beyond(x, x.asin(), (x < -1) | (x > 1))

    @staticmethod
    def acosh(x: Any) -> Any:
        return _beyond(x, x.acosh(), x < 1)

    @staticmethod
    def atanh(x: Any) -> Any:
        return _beyond(x, x.atanh(), (x <= -1) | (x >= 1))

    @staticmethod
    def reciprocal(x: Any, *, device: Any = None) -> Any:
        if device is None:
            return x.reciprocal()
        return torch.nan_to_num(x.reciprocal(), nan=device.sfpu_nan(), posinf=device.sfpu_inf(), neginf=-device.sfpu_inf())

    @staticmethod
    def cbrt(x: Any) -> Any:
        return x.sgn() * x.abs() ** (1 / 3)

    @staticmethod
    def clone(x: Any, *_: Any) -> Any:
        return x.clone()

    @staticmethod
    def multigammaln(x: Any) -> Any:
        """Of dimension 4: its four terms, and 3 log(pi)."""
        return x.lgamma() + (x - 0.5).lgamma() + (x - 1.0).lgamma() + (x - 1.5).lgamma() + 3.434189657547

    @staticmethod
    def log_sigmoid(x: Any) -> Any:
        return torch.nn.functional.logsigmoid(x)

    @staticmethod
    def mish(x: Any) -> Any:
        return torch.nn.functional.mish(x.float())

    @staticmethod
    def hardmish(x: Any) -> Any:
        """x * clamp(x / 2 + 1, 0, 1); the device cuts bfloat16 off instead of rounding."""
        exact = x.float() * (x.float() * 0.5 + 1.0).clamp(0.0, 1.0)
        return (exact.view(torch.int32) & -65536).view(torch.float32).to(x.dtype) if x.dtype == torch.bfloat16 else exact

    @staticmethod
    def xielu(x: Any, *, alpha_p: float = 0.8, alpha_n: float = 0.8) -> Any:
        exact = x.float()
        negative = alpha_n * torch.expm1(exact.clamp(max=-1e-6)) - alpha_n * exact + 0.5 * exact
        return torch.where(exact > 0, alpha_p * exact * exact + 0.5 * exact, negative).to(x.dtype)

    @staticmethod
    def elu(x: Any, *, alpha: float = 1.0) -> Any:
        return torch.nn.functional.elu(x, alpha=alpha)

    @staticmethod
    def celu(x: Any, *, alpha: float = 1.0) -> Any:
        return torch.celu(x, alpha=alpha)

    @staticmethod
    def hardtanh(x: Any, *, min_val: float = -1.0, max_val: float = 1.0) -> Any:
        return x.clamp(min_val, max_val)

    @staticmethod
    def leaky_relu(x: Any, *, negative_slope: float = 0.01) -> Any:
        return torch.nn.functional.leaky_relu(x, negative_slope=negative_slope)

    @staticmethod
    def relu_min(x: Any, lower_limit: float) -> Any:
        return x.clamp(min=lower_limit)

    @staticmethod
    def relu_max(x: Any, upper_limit: float) -> Any:
        return x.clamp(max=upper_limit).relu()

    @staticmethod
    def heaviside(x: Any, value: float) -> Any:
        return torch.heaviside(x, torch.tensor(value, dtype=x.dtype))

    @staticmethod
    def fill(x: Any, fill_value: float) -> Any:
        return torch.full_like(x, fill_value)

    @staticmethod
    def polygamma(x: Any, k: int) -> Any:
        return torch.special.polygamma(k, x)

    @staticmethod
    def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
        return torch.clamp(x, min, max)

    @staticmethod
    def round_(x: Any, decimals: int | None = None) -> Any:
        return x.round() if decimals is None else x.round(decimals=decimals)

    @staticmethod
    def threshold(x: Any, threshold: float, value: float) -> Any:
        return torch.threshold(x, threshold, value)

    @staticmethod
    def hardshrink(x: Any, *, lambd: float = 0.5) -> Any:
        return torch.nn.functional.hardshrink(x, lambd=lambd)

    @staticmethod
    def softshrink(x: Any, *, lambd: float = 0.5) -> Any:
        return torch.nn.functional.softshrink(x, lambd=lambd)

    @staticmethod
    def logit(x: Any, *, eps: float | None = None) -> Any:
        if eps is None or eps <= 0.5:
            return torch.special.logit(x, eps=eps)
        inside = torch.clamp(x, 1.0 - eps, eps)  # the bounds have changed places: the upper one holds
        return torch.log(inside / (1.0 - inside))

    @staticmethod
    def glu(x: Any, dim: int = -1) -> Any:
        return _gated(x, dim, torch.sigmoid)

    @staticmethod
    def reglu(x: Any, dim: int = -1) -> Any:
        return _gated(x, dim, torch.relu)

    @staticmethod
    def geglu(x: Any, dim: int = -1) -> Any:
        return _gated(x, dim, torch.nn.functional.gelu)

    @staticmethod
    def swiglu(x: Any, dim: int = -1) -> Any:
        return _gated(x, dim, torch.nn.functional.silu)

    @staticmethod
    def normalize_global(x: Any) -> Any:
        return (x - x.mean()) / x.std(correction=0)

    @staticmethod
    def normalize_hw(x: Any) -> Any:
        return (x - x.mean((-2, -1), keepdim=True)) / x.std((-2, -1), correction=0, keepdim=True)

    @staticmethod
    def rpow(x: Any, exponent: float) -> Any:
        return torch.pow(exponent, x)

    @staticmethod
    def rdiv(x: Any, value: float, *, rounding_mode: str | None = None) -> Any:
        return torch.div(torch.full_like(x, value), x, rounding_mode=rounding_mode)

    @staticmethod
    def alt_complex_rotate90(x: Any) -> Any:
        pairs = x.reshape(*x.shape[:-1], -1, 2)
        return torch.stack([-pairs[..., 1], pairs[..., 0]], dim=-1).flatten(-2)

    @staticmethod
    def polyval(x: Any, coeffs: Sequence[float]) -> Any:
        result: Any = 0.0
        for coefficient in coeffs:
            result = result * x + coefficient
        return result


class Binary:
    @staticmethod
    def div(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
        return torch.div(a, b, rounding_mode=rounding_mode)

    @staticmethod
    def div_no_nan(a: Any, b: Any) -> Any:
        if not torch.is_tensor(b):
            return torch.zeros_like(a) if b == 0 else a / b
        return torch.where(b == 0, 0, a / b)

    @staticmethod
    def remainder(a: Any, b: Any) -> Any:
        return _in_float(torch.remainder, a, b)

    @staticmethod
    def fmod(a: Any, b: Any) -> Any:
        return _in_float(torch.fmod, a, b)

    @staticmethod
    def bias_gelu(a: Any, b: Any) -> Any:
        return torch.nn.functional.gelu(a + b)

    @staticmethod
    def squared_difference(a: Any, b: Any) -> Any:
        return (a - b).square()

    @staticmethod
    def addalpha(a: Any, b: Any, alpha: float) -> Any:
        return torch.add(a, b, alpha=alpha)

    @staticmethod
    def subalpha(a: Any, b: Any, alpha: float) -> Any:
        return torch.sub(a, b, alpha=alpha)

    @staticmethod
    def isclose(a: Any, b: Any, *, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
        return torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)

    @staticmethod
    def outer(a: Any, b: Any) -> Any:
        return a.unsqueeze(-1) * b.unsqueeze(-2)

    @staticmethod
    def prelu(a: Any, b: Any) -> Any:
        return torch.nn.functional.prelu(a, b if torch.is_tensor(b) else torch.tensor(b, dtype=a.dtype))

    @staticmethod
    def logical_right_shift(a: Any, shift: Any) -> Any:
        return ((a.to(torch.int64) & 0xFFFFFFFF) >> shift).to(torch.int32)

    @staticmethod
    def bcast(a: Any, b: Any, math_op: Any, *_: Any) -> Any:
        name = str(getattr(math_op, "name", math_op)).lower()
        return {"add": a + b, "sub": a - b, "mul": a * b}[name]

    @staticmethod
    def addcmul(a: Any, b: Any, c: Any, *, value: float = 1) -> Any:
        return torch.addcmul(a, b, c, value=value)

    @staticmethod
    def addcdiv(a: Any, b: Any, c: Any, *, value: float = 1) -> Any:
        return torch.addcdiv(a, b, c, value=value)

    @staticmethod
    def lerp(a: Any, b: Any, weight: Any) -> Any:
        return torch.lerp(a, b.to(a.dtype), weight.to(a.dtype) if torch.is_tensor(weight) else weight)

    @staticmethod
    def mac(a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    @staticmethod
    def where(condition: Any, a: Any, b: Any) -> Any:
        return torch.where(condition, a, b)

    @staticmethod
    def l1_loss(reference: Any, prediction: Any, *, reduction: str = "none") -> Any:
        return torch.nn.functional.l1_loss(reference, prediction, reduction=reduction)

    @staticmethod
    def mse_loss(reference: Any, prediction: Any, *, reduction: str = "none") -> Any:
        return torch.nn.functional.mse_loss(reference, prediction, reduction=reduction)


class Layers:
    @staticmethod
    def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, *, bias: Any = None) -> Any:
        a, b = (x.transpose(-1, -2) if turned else x for x, turned in ((a, transpose_a), (b, transpose_b)))
        result = a @ b.to(a.dtype)
        if bias is not None:
            result = result + bias
        while result.dim() > a.dim():
            result = result.squeeze(0)
        return result

    @staticmethod
    def addmm(x: Any, a: Any, b: Any, *, alpha: float = 1.0, beta: float = 1.0) -> Any:
        return torch.addmm(x, a, b, alpha=alpha, beta=beta)

    @staticmethod
    def softmax(x: Any, dim: int | None = None) -> Any:
        return x.softmax(dim or -1)

    @staticmethod
    def scale_mask_softmax(x: Any, scalar: float, attention_mask: Any = None) -> Any:
        scaled = x.float() * scalar
        return (scaled if attention_mask is None else scaled + attention_mask).softmax(-1)

    @staticmethod
    def attention_softmax(x: Any, *, head_size: int | None, attention_mask: Any = None) -> Any:
        scaled = x if head_size is None else x / head_size**0.5
        return (scaled if attention_mask is None else scaled + attention_mask).softmax(-1)

    @staticmethod
    def layer_norm(x: Any, *, epsilon: float = 1e-12, residual_input_tensor: Any = None, weight: Any = None, bias: Any = None) -> Any:
        x = x if residual_input_tensor is None else x + residual_input_tensor
        weight, bias = (None if part is None else part.squeeze().to(x.dtype) for part in (weight, bias))
        return torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias, eps=epsilon)

    @staticmethod
    def rms_norm(x: Any, weight: Any = None, *, epsilon: float = 1e-12) -> Any:
        x = x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + epsilon)
        return x if weight is None else weight * (x.to(weight.dtype) if weight.dtype in (torch.float16, torch.bfloat16) else x)

    @staticmethod
    def embedding(indices: Any, weight: Any) -> Any:
        return torch.nn.functional.embedding(indices, weight)

    @staticmethod
    def split_query_key_value_and_split_heads(
        x: Any, kv_input_tensor: Any = None, *, num_heads: int, num_kv_heads: int | None = None, transpose_key: bool = True
    ) -> Any:
        x = x if kv_input_tensor is None else torch.cat([x, kv_input_tensor], dim=-1)
        others = num_heads if num_kv_heads is None else num_kv_heads
        heads = x.reshape(x.shape[0], x.shape[1], num_heads + 2 * others, -1).permute(0, 2, 1, 3)
        query, key, value = (part.contiguous() for part in heads.split([num_heads, others, others], dim=1))
        return query, key.transpose(-1, -2).contiguous() if transpose_key else key, value

    @staticmethod
    def concatenate_heads(x: Any) -> Any:
        return x.permute(0, 2, 1, 3).flatten(2).contiguous()

    @staticmethod
    def permute(x: Any, dims: Sequence[int]) -> Any:
        return x.permute(*dims).contiguous()

    @staticmethod
    def reshape(x: Any, shape: Sequence[int]) -> Any:
        return x.reshape(*shape)

    @staticmethod
    def concat(tensors: Sequence[Any], dim: int = 0, groups: int = 1) -> Any:
        if groups == 1:
            return torch.cat(list(tensors), dim)
        parts = [tensor.unflatten(-1, (groups, -1)) for tensor in tensors]  # a group's channels of all tensors lie together
        return torch.cat(parts, dim=-1).flatten(-2)

    @staticmethod
    def repeat_interleave(x: Any, repeats: int, dim: int = 0) -> Any:
        return x.repeat_interleave(repeats, dim=dim)

    @staticmethod
    def repeat(x: Any, shape: Sequence[int]) -> Any:
        return x.repeat(*shape)

    @staticmethod
    def pad(x: Any, padding: Sequence[tuple[int, int]], value: float = 0) -> Any:
        return torch.nn.functional.pad(x, [side for pair in reversed(padding) for side in pair], value=value)

    @staticmethod
    def transpose(x: Any, dim0: int, dim1: int) -> Any:
        return x.transpose(dim0, dim1)

    @staticmethod
    def squeeze(x: Any, dim: Any = None) -> Any:
        return x.squeeze() if dim is None else x.squeeze(dim)

    @staticmethod
    def unsqueeze(x: Any, dim: int) -> Any:
        return x.unsqueeze(dim)

    @staticmethod
    def expand(x: Any, shape: Sequence[int]) -> Any:
        return x.expand(*shape)

    @staticmethod
    def view(x: Any, shape: Sequence[int]) -> Any:
        return x.reshape(*shape)

    @staticmethod
    def split(x: Any, split_size: Any, dim: int = 0) -> Any:
        return list(x.split(split_size, dim))

    @staticmethod
    def chunk(x: Any, num_chunks: int, dim: int = 0) -> Any:
        return list(x.chunk(num_chunks, dim))

    @staticmethod
    def stack(tensors: Sequence[Any], dim: int) -> Any:
        return torch.stack(list(tensors), dim)

    @staticmethod
    def roll(x: Any, shifts: Any, dim: Any = None) -> Any:
        return x.roll(shifts, dim)

    @staticmethod
    def sort(x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
        return tuple(torch.sort(x, dim=dim, descending=descending, stable=stable))

    @staticmethod
    def cumsum(x: Any, dim: int) -> Any:
        return x.cumsum(dim)

    @staticmethod
    def cumprod(x: Any, dim: int) -> Any:
        return x.cumprod(dim)

    @staticmethod
    def prod(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        return x.prod() if dim is None else x.prod(dim, keepdim=keepdim)

    @staticmethod
    def gather(x: Any, dim: int, index: Any) -> Any:
        return x.gather(dim, index)

    @staticmethod
    def scaled_dot_product_attention(q: Any, k: Any, v: Any, *, attn_mask: Any = None, is_causal: bool = True, scale: float | None = None) -> Any:
        grouped = q.shape[1] // k.shape[1]
        k, v = (part.repeat_interleave(grouped, dim=1) for part in (k, v))
        causal = is_causal and attn_mask is None
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, is_causal=causal, scale=scale)

    @staticmethod
    def topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
        return torch.topk(x, k, dim=dim, largest=largest, sorted=sorted)

    @staticmethod
    def zeros_like(x: Any) -> Any:
        return torch.zeros_like(x)

    @staticmethod
    def ones_like(x: Any) -> Any:
        return torch.ones_like(x)

    @staticmethod
    def full_like(x: Any, fill_value: float) -> Any:
        return torch.full_like(x, fill_value)

    @staticmethod
    def zeros(shape: Any) -> Any:
        return torch.zeros(list(shape))

    @staticmethod
    def ones(shape: Any) -> Any:
        return torch.ones(list(shape))

    @staticmethod
    def full(shape: Any, fill_value: float) -> Any:
        return torch.full(list(shape), fill_value)

    @staticmethod
    def arange(start: int, end: int, step: int = 1) -> Any:
        return torch.arange(start, end, step)
