"""Every rule family on small modules: TTIR run by `ttir_in_torch.py` against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_checking import check_functions

from tests.tables import groups, together

CASES: dict[str, Any] = {}


UNARY = (
    "abs acos asin asinh atan ceil cos erf erfc exp exp2 expm1 floor frac isfinite log1p neg reciprocal relu rsqrt sigmoid "
    "sign sin sqrt square tan tanh trunc round sinh cosh atanh acosh log log2 log10 isnan isinf logical_not nan_to_num deg2rad"
)
ACTIVATIONS = (
    "relu6 hardsigmoid hardswish hardtanh mish silu gelu softplus softsign selu elu celu leaky_relu logsigmoid tanhshrink softshrink hardshrink threshold glu"
)


def case(name: str, function: Callable[..., Any], *inputs: torch.Tensor, mods: tuple[nn.Module, ...] = (), tol: float = 1e-4) -> None:
    name = name.replace(" ", "_")
    CASES[name if name not in CASES else f"{name}_{len(CASES)}"] = (function, inputs, mods, tol)


def i(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape)


r = torch.randn
torch.manual_seed(0)
x = r(2, 6, 8)
img = r(2, 4, 9, 11)
for n in UNARY.split():
    a = torch.rand(3, 5) * 0.9 + 0.05
    if n == "acosh":
        a = a + 1.5
    case(n, getattr(torch, n), a)
for n in ACTIVATIONS.split():
    if n == "threshold":
        case(n, lambda t: F.threshold(t, 0.1, 2.0), r(4, 6))
    else:
        case(n, getattr(F, n), r(4, 6) * 3)
case("gelu_tanh", lambda t: F.gelu(t, approximate="tanh"), r(4, 6))
case("softplus_beta", lambda t: F.softplus(t, 2.0, 3.0), r(4, 6) * 3)
case("prelu", lambda t, m: m(t), r(2, 4, 5), mods=(nn.PReLU(4),))
for n in "add sub mul div maximum minimum atan2 fmod remainder".split():
    case(n, getattr(torch, n), r(3, 4), r(4) + 0.1)
case("pow", torch.pow, torch.rand(3, 4), r(3, 4))
case("pow_s", lambda t: (t**3, t**0.5, 2.0**t, t**-1, t**2.5, t**2), torch.rand(3, 4) + 0.1)
case("scalars", lambda t: (t + 1, 1 - t, t * 2.5, t / 3, 5 / t, t // 2, t % 3, -t % 3), r(3, 4) * 5)
case(
    "int arith",
    lambda a, b: (a + b, a * b, a // b, a % b, a / b, a - 2, a * 1.5, torch.div(a, b, rounding_mode="trunc")),
    i(100, 3, 4) - 50,
    i(9, 3, 4) + 1,
)
case("mixed", lambda a, b: (a + b, a * b, a > b, a == b, a.bool() & (b > 0)), r(3, 4), i(3, 3, 4))
case("bf16 mixed", lambda a, b: (a + b, (a + 1.5), a * b.bfloat16()), r(3, 4).bfloat16(), r(3, 4), tol=2e-2)
case(
    "addalpha",
    lambda a, b: (torch.add(a, b, alpha=2), torch.sub(a, b, alpha=0.5), torch.rsub(a, b, alpha=3), torch.add(torch.zeros(()), b, alpha=2)),
    r(3, 4),
    r(3, 4),
)
case("cmp", lambda a, b: (a < b, a <= 0.1, a > b, a >= 0, a != b, a.ne(0)), r(3, 4), r(3, 4))
case(
    "bits",
    lambda a, b: (a & b, a | b, a ^ b, ~a, a << 2, a >> 1, torch.logical_and(a, b), torch.logical_xor(a, b)),
    i(100, 3, 4),
    i(100, 3, 4),
)
case("bool", lambda a: (~(a > 0), (a > 0) | (a < -1), (a > 0) ^ (a > 1), (a > 0).int().sum(), (a > 0).float()), r(3, 4))
case(
    "clamp",
    lambda a: (a.clamp(-1, 1), a.clamp(min=0), a.clamp(max=0.5), a.clamp_min(0.1), torch.clamp(a, a - 1, a * 2)),
    r(3, 4),
)
case(
    "where",
    lambda a: (
        torch.where(a > 0, a, 0.0),
        torch.where(a > 0, 1.0, a),
        torch.where(a > 0, 1.0, 0.0),
        a.masked_fill(a > 0, -1e9),
    ),
    r(3, 4),
)
case("no_elements", lambda t: t.transpose(1, 2).reshape(2, 0).transpose(0, 1), torch.zeros(2, 3, 0))
case(
    "no_dims",
    lambda a: [
        a.sum(0), a.mean(-1, keepdim=True), a.amax(0), a.softmax(0), a.cumsum(0), a.flip(0), a.std(0, correction=0), a.logsumexp(-1), *a.sort(), *a.topk(1), *a.max(0), a.unsqueeze(0),
    ],
    torch.tensor(2.0),
)  # fmt: skip
case("joined_without_elements", lambda a: torch.cat([a, a]) + 1, torch.zeros(0))
case("inplace", lambda a: F.relu_(a * 2).add_(1).mul_(3).clamp_(0, 4), r(3, 4))


def inp(a):
    b = a * 1
    b[:, 1] = 5.0
    b[0] += 1
    b[:, 2:4] *= 2
    return b


case("setitem", inp, r(3, 5))


def inp2(a):
    b = torch.zeros(3, 5)
    b[:, ::2] = a[:, :3]
    b[1, 2] = 7
    b[a > 0] = 9.0
    return b


case("setitem2", inp2, r(3, 5))


def inp3(a):
    o = torch.zeros_like(a)
    for k in range(3):
        o[:, k] = a[:, k].sum() * k
    return o.fill_(2.0) + o


case("setitem3", inp3, r(3, 5))
case(
    "views",
    lambda t: (
        t.view(2, -1),
        t.reshape(12, 8),
        t.transpose(1, 2),
        t.permute(2, 0, 1),
        t.flatten(1),
        t.unsqueeze(1).squeeze(1),
        t[None],
        t[..., 0],
        t[:, 1:4:2],
        t[-1],
        t.unflatten(2, (2, 4)),
        t.mT,
        t.movedim(0, 2),
    ),
    x,
)
case(
    "expand",
    lambda t: (
        t[:, :1].expand(2, 6, 8),
        t[0, 0].expand(3, 8),
        t.repeat(2, 1, 3),
        t.repeat(2, 1, 1, 1),
        t.repeat_interleave(3, 1),
        t.repeat_interleave(2),
        t[:1, :1].tile(2, 3, 1),
        t.expand_as(t),
    ),
    x,
)
case(
    "split",
    lambda t: (*t.split(2, 1), *t.chunk(3, -1), *t.unbind(0), *torch.split(t, [1, 2, 3], 1), *t.tensor_split(3, 1)),
    x,
)
case(
    "cat",
    lambda t: (torch.cat([t, t[:, :2]], 1), torch.stack([t, t], -1), torch.hstack([t, t]), torch.cat([t, t.int()], 0)),
    x,
)
case("flip roll", lambda t: (t.flip(1), t.flip([0, 2]), t.roll(2, 1), t.roll((1, -3), (1, 2)), t.roll(3)), x)
for m in ["constant", "reflect", "replicate", "circular"]:
    case("pad " + m, lambda t, m=m: F.pad(t, (2, 1, 1, 3), mode=m), img)
case("pad neg", lambda t: (F.pad(t, (-1, 2)), F.pad(t, (1, 0, 0, 0, 2, 2), value=3.0)), x)
case("pad int", lambda t: F.pad(t, (1, 2), value=7), i(9, 2, 3))
case("unfold", lambda t: (t.unfold(2, 3, 1), t.unfold(2, 4, 4), t.unfold(1, 5, 1), t.unfold(0, 2, 1)), x)
case("im2col", lambda t: F.unfold(t, (3, 2), padding=1, stride=2), img)
case("fold", lambda t: F.fold(t, (6, 6), (2, 2), stride=2), r(2, 12, 9))
case("pixel", lambda t: (F.pixel_shuffle(t, 2), F.pixel_unshuffle(t[:, :, :8, :10], 2), F.channel_shuffle(t, 2)), img)
case(
    "diag",
    lambda t: (t.diagonal(), t.diagonal(1, 1, 2), torch.tril(t), torch.triu(t, 1), t[0].diag(), torch.diag_embed(t[0])),
    r(3, 4, 4),
)
case(
    "reduce",
    lambda t: (
        t.sum(),
        t.sum(1),
        t.mean((0, 2)),
        t.mean(-1, keepdim=True),
        t.amax(1),
        t.amin((1, 2)),
        t.max(),
        t.min(),
        t.prod(1),
        t.max(1).values,
        t.max(1)[1],
        t.min(-1, keepdim=True)[1],
        t.var(1),
        t.std(),
        t.var(0, unbiased=False),
        t.std(1),
        t.std(2, unbiased=False, keepdim=True),
        torch.var_mean(t, 1),
        t.argmax(),
        t.argmax(1),
        t.argmin(2, keepdim=True),
        t.norm(),
        t.norm(dim=1),
        t.norm(1, dim=1),
        torch.logsumexp(t, 1),
    ),
    x,
)
case(
    "any all",
    lambda t: (
        (t > 0).any(),
        (t > 0).all(1),
        (t > 5).any(1, keepdim=True),
        (t > 0).sum(),
        t.bool().all(),
        (t > 0).cumsum(1),
    ),
    x,
)
case(
    "rare forms of arguments",
    lambda t: (
        (t > 0) * (t < 1),
        (t > 0) + (t < 1),
        torch.add(t, 2, alpha=3),
        torch.add(t, t.cos(), alpha=-2),
        t.int().isfinite(),
        torch.div(t, 3, rounding_mode=None),
        t**1,
        torch.clamp_max(t, 0.5),
        torch.clamp(t, max=t.cos()),
        torch.clamp(t, min=t.cos()),
        F.hardtanh(t, 0, 6),
        F.hardtanh(t),
        F.hardtanh(t, -0.5, 0.25),
        torch.native_dropout(t, 0.5, False)[0],
        t.clone().zero_(),
        torch.take_along_dim(t, torch.tensor([3, 1, 0])),
        torch.scatter(t, 1, torch.tensor([[[0, 1]]]), t, reduce="add"),
        t.as_strided(t.shape, t.stride()),
        torch.norm(t, 3),
        F.embedding_bag(torch.tensor([1, 2, 1, 3]), t[0], torch.tensor([0, 2]), per_sample_weights=t[0, 0, :1].expand(4), mode="sum"),
        F.embedding_bag(torch.tensor([1, 2, 1, 3]), t[0], torch.tensor([0, 2]), padding_idx=1),
    ),
    x,
)
case("cum", lambda t: (t.cumsum(1), t.cumprod(-1), t.int().cumsum(0), t.diff(dim=1), t.diff(n=2)), x)
case("topk", lambda t: (*t.topk(3), *t.topk(2, 1, largest=False), *t.sort(1), *t.sort(descending=True), t.argsort(1)), x)
case(
    "softmax",
    lambda t: (
        t.softmax(-1),
        t.softmax(1),
        t.log_softmax(2),
        F.softmin(t, 1),
        torch.softmax(t.int(), 1, dtype=torch.float32),
    ),
    x,
)
case(
    "matmul",
    lambda a, b: (
        a @ b,
        a[0] @ b[0],
        a[0] @ b[0, :, 0],
        a[0, 0] @ b[0],
        a[0, 0] @ b[0, :, 0],
        a @ b[0],
        a.bmm(b),
        torch.einsum("bij,bjk->bik", a, b),
        torch.einsum("bij,bjk->ki", a, b),
        torch.baddbmm(a[:1, :, :3], a, b, beta=0.5, alpha=2),
        torch.addmm(a[0, :, :3], a[0], b[0]),
        torch.outer(a[0, 0], b[0, :, 0]),
        torch.tensordot(a, b, dims=([2], [1])),
        torch.kron(a[0, :2, :2], b[0, :2, :2]),
    ),
    x,
    r(2, 8, 3),
)
case("linear", lambda t, m, n: (m(t), n(t), m(t[0, 0])), x, mods=(nn.Linear(8, 5), nn.Linear(8, 3, bias=False)))
case("bilinear", lambda a, b, m: m(a, b), r(3, 4), r(3, 5), mods=(nn.Bilinear(4, 5, 6),))
case(
    "embedding",
    lambda t, m: (m(t), m(t[0]), F.one_hot(t, 10), m(torch.arange(3)), m(torch.zeros(2, 3, dtype=torch.long))),
    i(10, 2, 5),
    mods=(nn.Embedding(10, 6),),
)
case("embbag", lambda t, m: m(t), i(10, 3, 4), mods=(nn.EmbeddingBag(10, 6, mode="mean"),))
case(
    "embbag2",
    lambda t, o, m: m(t, o),
    i(10, 12),
    torch.tensor([0, 4, 5, 9]),
    mods=(nn.EmbeddingBag(10, 6, mode="sum"),),
)
case(
    "index",
    lambda t, a, b: (
        t[a],
        t[:, b],
        t[a, b],
        t[:, a, b],
        t[a, :, b],
        t[a[:, None], b[None]],
        t[:, :, [0, 2]],
        t[[1, 0]],
        t.index_select(1, b),
        t[:, torch.arange(3)],
        t[torch.arange(2)[:, None], torch.arange(6)[None, :]],
        t[-1, [1, -2]],
    ),
    x,
    i(2, 3),
    i(6, 3),
)
case(
    "gather",
    lambda t, a: (t.gather(1, a), t.take_along_dim(a, 1), torch.take_along_dim(t, a[:, :1], 1)),
    x,
    i(6, 2, 4, 8),
)
case(
    "scatter",
    lambda t, a, s: (
        t.scatter(1, a, s),
        t.scatter(1, a, 2.0),
        t.scatter_add(1, a, s),
        t.scatter_reduce(1, a, s, "amax"),
        t.scatter_reduce(1, a, s, "sum", include_self=False),
        t.scatter_reduce(1, a, s, "prod"),
    ),
    x,
    torch.stack([torch.stack([torch.randperm(6)[:4] for _ in range(8)], 1) for _ in range(2)]),
    r(2, 4, 8),
)
case(
    "indexput",
    lambda t, a, s: (
        t.index_copy(1, a, s),
        t.index_add(1, a, s),
        t.index_fill(1, a, 3.0),
        t.index_put((torch.tensor([0, 1]), a[:2]), s[:, 0]),
        t.index_put((torch.tensor([1]),), s[0, :1].expand(6, 8)),
        t.index_copy(1, torch.tensor([2, 3, 4]), s),
    ),
    x,
    torch.tensor([4, 0, 2]),
    r(2, 3, 8),
)
case(
    "misc idx",
    lambda t: (
        torch.bucketize(t, torch.tensor([-1.0, 0.0, 1.0])),
        torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), t, right=True),
    ),
    x,
)
for k, (c, xx) in enumerate(
    [
        (nn.Conv1d(4, 6, 3, 2, 1), r(2, 4, 9)),
        (nn.Conv1d(4, 8, 3, dilation=2, groups=2, bias=False), r(2, 4, 9)),
        (nn.Conv1d(4, 4, 4, padding="same"), r(2, 4, 9)),
        (nn.Conv2d(4, 6, 3, padding=1), img),
        (nn.Conv2d(4, 8, (3, 2), (2, 1), (1, 0), groups=4), img),
        (nn.Conv2d(4, 4, 4, padding="same", dilation=2), img),
        (nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), img),
        (nn.Conv2d(4, 6, 3), r(4, 9, 9)),
        (nn.Conv3d(2, 4, 3, 2, 1), r(1, 2, 6, 7, 8)),
        (nn.Conv3d(2, 4, 3, dilation=(1, 2, 2)), r(1, 2, 6, 7, 8)),
        (nn.ConvTranspose1d(4, 6, 4, 2, 1), r(2, 4, 9)),
        (nn.ConvTranspose3d(2, 4, 2, 2), r(1, 2, 3, 4, 5)),
        (nn.ConvTranspose3d(4, 4, 3, (2, 1, 2), 1, (1, 0, 1), groups=2, dilation=(1, 2, 1)), r(2, 4, 3, 4, 5)),
        (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), img),
        (nn.ConvTranspose2d(4, 4, 2, 2, groups=2, bias=False), img),
    ]
):
    case(f"conv{k} {type(c).__name__}", lambda t, m: m(t), xx, mods=(c,))
case("weightnorm", lambda t, m: m(t), r(2, 4, 9), mods=(nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 6, 3)),))
case(
    "antialias",
    lambda t: tuple(F.interpolate(t, size=size, mode=mode, antialias=True) for mode in ("bilinear", "bicubic") for size in ((5, 6), (12, 22))),
    img,
)
case("pool with one window", lambda t: (nn.AvgPool2d(40, ceil_mode=True)(t), nn.MaxPool2d(20, ceil_mode=True)(t)), img)
case("masked scatter", lambda t, m, u: t.masked_scatter(m > 0, u), r(3, 8), r(3, 8), r(30))
case(
    "pools",
    lambda t: (
        F.max_pool2d(t, 2),
        F.max_pool2d(t, 3, 2, 1),
        F.max_pool2d(t, 3, 2, 1, ceil_mode=True),
        F.avg_pool2d(t, 2),
        F.avg_pool2d(t, 3, 2, 1, count_include_pad=False),
        F.avg_pool2d(t, 3, 2, 1, True),
        F.adaptive_avg_pool2d(t, 1),
        F.adaptive_avg_pool2d(t, (3, 11)),
        F.adaptive_avg_pool2d(t, (2, 4)),
        F.adaptive_max_pool2d(t, (2, 3)),
        F.max_pool2d(t[0], 2),
        F.avg_pool2d(t, 2, divisor_override=3),
        F.lp_pool2d(t, 2, 2),
    ),
    img,
)
case(
    "pools1d",
    lambda t: (
        F.max_pool1d(t, 2),
        F.avg_pool1d(t, 3, 1, 1),
        F.adaptive_avg_pool1d(t, 1),
        F.adaptive_avg_pool1d(t, 3),
        F.adaptive_max_pool1d(t, 2),
    ),
    x,
)
case(
    "pools3d",
    lambda t: (F.max_pool3d(t, 2), F.avg_pool3d(t, 2), F.adaptive_avg_pool3d(t, 1), F.max_pool3d(t, 3, 2, 1)),
    r(1, 2, 6, 7, 8),
)
case(
    "resize",
    lambda t: (
        F.interpolate(t, scale_factor=2),
        F.interpolate(t, size=(18, 22), mode="bilinear"),
        F.interpolate(t, size=(13, 7), mode="bilinear"),
        F.interpolate(t, scale_factor=1.5, mode="nearest"),
        F.interpolate(t, size=(18, 22), mode="bilinear", align_corners=True),
        F.interpolate(t, size=(5, 20), mode="bicubic"),
        F.interpolate(t, scale_factor=(0.5, 2.5), mode="bilinear"),
        F.interpolate(t, size=(5, 20), mode="area"),
        F.interpolate(t, scale_factor=2, mode="nearest-exact"),
    ),
    img,
)
case("resize1d", lambda t: (F.interpolate(t, scale_factor=2), F.interpolate(t, size=13, mode="linear")), x)
case(
    "grid",
    lambda t, g: (
        F.grid_sample(t, g, align_corners=False),
        F.grid_sample(t, g, padding_mode="border", align_corners=True),
        F.grid_sample(t, g, mode="nearest", align_corners=False),
    ),
    img,
    torch.rand(2, 5, 7, 2) * 2.4 - 1.2,
)
case(
    "affine grid",
    lambda t, g: F.grid_sample(t, F.affine_grid(g, [2, 4, 5, 5], align_corners=False), align_corners=False),
    img,
    r(2, 2, 3),
)
for c, xx in [
    (nn.LayerNorm(8), x),
    (nn.LayerNorm((6, 8), elementwise_affine=False), x),
    (nn.RMSNorm(8), x),
    (nn.RMSNorm(8, eps=1e-6, elementwise_affine=False), x),
    (nn.BatchNorm2d(4).eval(), img),
    (nn.BatchNorm1d(6, affine=False).eval(), x),
    (nn.BatchNorm1d(8).eval(), x[0]),
    (nn.GroupNorm(2, 4), img),
    (nn.GroupNorm(3, 6), x),
    (nn.InstanceNorm2d(4, affine=True), img),
    (nn.LocalResponseNorm(3), img),
    (nn.BatchNorm2d(4), img),
    (nn.Dropout(0.5).eval(), x),
    (nn.Softmax2d(), img),
    (nn.Flatten(), img),
]:
    case(str(c)[:30], lambda t, m: m(t), xx, mods=(c,))
case(
    "cosine",
    lambda a, b: (F.cosine_similarity(a, b, 1), F.normalize(a, dim=1), F.pairwise_distance(a, b), torch.cdist(a, b)),
    x,
    r(2, 6, 8),
)
q, k, v = r(2, 4, 5, 8), r(2, 4, 7, 8), r(2, 4, 7, 8)
case(
    "sdpa",
    lambda q, k, v: (
        F.scaled_dot_product_attention(q, k, v),
        F.scaled_dot_product_attention(q, k, v, scale=0.1),
        F.scaled_dot_product_attention(q, k, v, is_causal=True),
        F.scaled_dot_product_attention(q, q, q, is_causal=True),
        F.scaled_dot_product_attention(q[0], k[0], v[0]),
        F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True),
    ),
    q,
    k,
    v,
)
case(
    "sdpa mask",
    lambda q, k, v, m, f: (
        F.scaled_dot_product_attention(q, k, v, m),
        F.scaled_dot_product_attention(q, k, v, f),
        F.scaled_dot_product_attention(q, k, v, m[:1, :1, :1]),
        F.scaled_dot_product_attention(q, k, v, f[0, 0]),
        F.scaled_dot_product_attention(q, q, q, torch.ones(5, 5, dtype=torch.bool).tril()),
    ),
    q,
    k,
    v,
    torch.rand(2, 1, 5, 7) > 0.3,
    r(2, 1, 5, 7),
)
case(
    "mha",
    lambda t, m: m(t, t, t, need_weights=False)[0],
    x,
    mods=(nn.MultiheadAttention(8, 2, batch_first=True).eval(),),
)
case("mha w", lambda t, m: m(t, t, t), x, mods=(nn.MultiheadAttention(8, 2).eval(),))
case(
    "encoder",
    lambda t, m: m(t),
    x,
    mods=(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval(),),
)
case("transformer", lambda t, m: m(t, t), x, mods=(nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval(),))
for c in [
    nn.LSTM(8, 5, batch_first=True),
    nn.LSTM(8, 5, 2, bidirectional=True, bias=False),
    nn.LSTM(8, 5, proj_size=3),
    nn.GRU(8, 5, 2, batch_first=True),
    nn.GRU(8, 5, bidirectional=True),
    nn.RNN(8, 5),
    nn.RNN(8, 5, nonlinearity="relu"),
]:
    case(str(c)[:40], lambda t, m: m(t), x, mods=(c.eval(),))
case(
    "cells",
    lambda t, a, b, cc: (a(t), *b(t), cc(t)),
    x[0],
    mods=(nn.GRUCell(8, 5), nn.LSTMCell(8, 5), nn.RNNCell(8, 5)),
)
case(
    "create",
    lambda t: (
        torch.arange(5) + t[0, 0, 0],
        torch.zeros(2, 3) + t[0, 0, 0],
        torch.full((2,), 3.0) * t.mean(),
        torch.linspace(0, 1, 5) * t.mean(),
        torch.eye(8) @ t[0].T,
        torch.ones_like(t) * 2 + t,
        torch.tensor([1.0, 2.0]) * t[0, 0, :2],
        torch.tensor(5) + t,
        t.new_zeros(2),
        torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")[0] * t.mean(),
    ),
    x,
)
case(
    "misc",
    lambda t: (
        torch.cumsum(torch.ones(4, 5), 1) + t[0, :4, :5],
        t.masked_fill(torch.tril(torch.ones(6, 8)) == 0, 0.0),
        torch.addcmul(t, t, t, value=0.5),
        torch.addcdiv(t, t, t.abs() + 1),
        torch.lerp(t, t * 2, 0.3),
        t.type(torch.int32),
        t.double(),
        torch.hypot(t, t),
        torch.logaddexp(t, t * 2),
        t.clone().contiguous(),
        t.detach(),
        torch.broadcast_tensors(t, t[:1])[1],
        t.abs().max() / 2,
        torch.heaviside(t, t),
        torch.rot90(t, 1, [1, 2]),
        t.squeeze(),
        torch.cross(t[..., :3], t[..., 1:4], dim=-1),
    ),
    x,
)
case(
    "loss",
    lambda a, b: (
        F.mse_loss(a, b),
        F.l1_loss(a, b),
        F.smooth_l1_loss(a, b),
        F.cross_entropy(a, b.argmax(1)),
        F.kl_div(a, b),
        F.binary_cross_entropy_with_logits(a, torch.sigmoid(b)),
    ),
    r(4, 5),
    r(4, 5),
)
case("bits", lambda t: (t.view(torch.int32), (t.view(torch.int32) & 0x7FFFFFFF).view(torch.float32)), r(4, 6))
case("order statistics", lambda t: (*t.kthvalue(3, -1), *t.median(1), t.median(), t.logcumsumexp(1), torch.round(t, decimals=1)), x)

# complex numbers: pairs of real ones
pairs, angles = r(2, 10, 32), r(10, 16)
FREQUENCIES = torch.polar(torch.ones(10, 16), angles)


def rotate(t: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """Rotary embedding the way Llama's reference code has it."""
    return torch.view_as_real(torch.view_as_complex(t.reshape(2, 10, 16, 2)) * by[None]).flatten(2)


case("complex rotary", lambda t, a: rotate(t, torch.polar(torch.ones_like(a), a)), pairs, angles)
case("complex constant", lambda t: rotate(t, FREQUENCIES), pairs)
case(
    "complex arithmetic",
    lambda a, b: [
        torch.view_as_real(z)
        for p, q in [(torch.complex(a, b), torch.complex(b, a.flip(0)))]
        for z in (p + q, p - 2, 1j * p, p / q, p.conj() * 0.5, torch.stack([p, q]).permute(2, 0, 1), (p @ q.mT)[:, 1:], p.reciprocal())
    ],
    r(4, 6),
    r(4, 6) + 3,
)
case("complex parts", lambda a, b: (torch.complex(a, b).abs(), torch.complex(a, b).angle(), torch.complex(a, b).imag), r(4, 6), r(4, 6))
for n in (5, 8):
    case(f"fft {n}", lambda t: (torch.fft.fft(t).real, torch.fft.ifft(t, norm="ortho").imag, torch.fft.fft2(t).abs()), r(3, 6, n))
    case(f"rfft {n}", lambda t, n=n: (torch.fft.rfft(t).abs(), torch.fft.irfft(torch.fft.rfft(t), n=n), torch.fft.irfft(torch.fft.rfft(t))), r(3, n))
case("fftn", lambda t: torch.fft.irfft2(torch.fft.rfft2(t) * 2, s=(6, 7)), r(2, 6, 7))
case("spectrogram", lambda t: torch.stft(t, 16, 8, window=torch.hann_window(16), return_complex=True).abs(), r(2, 64))


def kind(name: str, case: Any) -> tuple[object, ...]:
    """Cases of one kind are captured together. Parts of complex numbers alone: their views are negated lazily, behind the ops of other cases too."""
    return any(part.training for part in case[2]), case[3], name if "complex" in name or "fft" in name else ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cases", groups(CASES, 12, kind))
def test_op(cases: dict[str, Any]) -> None:
    def check_all(chosen: list[Any]) -> None:
        _, _, modules, tolerance = chosen[0]
        check_functions([case[:3] for case in chosen], training=any(part.training for part in modules), tolerance=tolerance)

    together(cases, check_all)
