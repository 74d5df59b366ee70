"""Ops that few models use: sampling at places, running extremes, special functions, reductions of scattered values."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_checking import Model, check, check_functions

from alchemist.frontends import vocabulary
from alchemist.frontends.torch import rules as _rules  # noqa: F401  (fills the tables)
from alchemist.frontends.torch.registry import RECIPES, RULES
from alchemist.ir.access import shape
from tests.tables import groups, together

CASES: dict[str, Any] = {}


def case(name: str, function: Callable[..., Any], *inputs: torch.Tensor, mods: tuple[nn.Module, ...] = ()) -> None:
    name = name.replace(" ", "_")
    CASES[name if name not in CASES else f"{name}_{len(CASES)}"] = (function, inputs, mods)


def i(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape)


r = torch.randn
torch.manual_seed(0)
x, img, grid = r(2, 6, 8), r(2, 4, 9, 11), torch.rand(2, 3, 7, 2) * 3 - 1.5
for m in ("bilinear", "nearest", "bicubic"):
    case(
        f"grid {m}",
        lambda t, g, m=m: tuple(
            F.grid_sample(t, g, mode=m, padding_mode=padding, align_corners=corners)
            for padding in ("zeros", "border", "reflection")
            for corners in (False, True)
        ),
        img,
        grid,
    )
case("grid 3d", lambda t, g: F.grid_sample(t, g, align_corners=False), r(2, 3, 4, 5, 6), torch.rand(2, 3, 3, 3, 3) * 2 - 1)
case("running extremes", lambda t: (*t.cummax(1), *t.cummin(-1), *t.round().cummax(1)), r(2, 9, 5))
case("whole quotients of bfloat16", lambda a: (a // 0.3, torch.div(a, 0.7, rounding_mode="trunc"), a % 0.7, a.fmod(0.3)), torch.linspace(-2, 2, 96).bfloat16())
case("gamma at its poles", lambda a: (a.lgamma(), a.digamma()), torch.tensor([0.0, -1.0, -2.0, -7.0, -0.5, 3.0]))
case("special functions", lambda a, b: (a.lgamma(), a.digamma(), b.erfinv(), a.signbit()), torch.linspace(-2.7, 6, 37), torch.linspace(-0.99, 0.99, 31))
case("rrelu", lambda t, m: m(t), r(4, 6), mods=(nn.RReLU().eval(),))
case(
    "scatter mean",
    lambda t, a, s: (t.scatter_reduce(1, a, s, "mean"), t.scatter_reduce(1, a, s, "mean", include_self=False)),
    x,
    i(6, 2, 4, 8),
    r(2, 4, 8),
)
case("embedding bag max", lambda t, m: m(t), i(9, 3, 4), mods=(nn.EmbeddingBag(9, 5, mode="max"),))
case("embedding bag offsets", lambda t, m: m(t, torch.tensor([0, 3, 3, 7])), i(9, 10), mods=(nn.EmbeddingBag(9, 5, mode="max"),))

case("norms of vectors", lambda t: [torch.linalg.vector_norm(t, order, dim) for order in (0.5, 1, 3, torch.inf, -torch.inf) for dim in (None, 1, (0, 2))], x)
case("cosines", lambda a, b: [F.cosine_similarity(a, b, 1, eps) for eps in (1e-8, 0.5, 4.0)], torch.cat([x, torch.zeros(2, 6, 1)], 2), r(2, 6, 9))
case("narrow", lambda t: (t.narrow(1, 2, 3), t.narrow(-1, -4, 2), t.narrow(0, 0, 0)), x)
case(
    "histogram", lambda t: (torch.histc(t, 5, -1.0, 1.0), torch.histc(t, 3, 0.25, 0.75)), torch.tensor([-1.0, -0.99, 0.0, 0.2, 0.25, 0.5, 0.75, 0.76, 1.0, 3.0])
)
q, k, v = r(2, 2, 6, 8), r(2, 2, 6, 8), r(2, 2, 6, 8)
case(
    "fused attention",
    lambda q, k, v: [
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, **given)[0]
        for given in ({}, {"is_causal": True}, {"scale": 0.5}, {"attn_mask": torch.arange(6.0).neg().expand(2, 2, 6, 6)})
    ],
    q,
    k,
    v,
)
case(
    "fused heads",
    lambda t, m: torch._native_multi_head_attention(
        t, t * 2, t + 1, 8, 2, m.in_proj_weight, m.in_proj_bias, m.out_proj.weight, m.out_proj.bias, need_weights=False
    )[0],
    x,
    mods=(nn.MultiheadAttention(8, 2).eval(),),
)  # fmt: skip
# Padding on the left hides every key of the first rows.
case(
    "rows without keys",
    lambda q, k, v, kept: F.scaled_dot_product_attention(q, k, v, torch.ones(6, 6, dtype=torch.bool).tril() & (kept > 0)[:, None, None]),
    q,
    k,
    v,
    torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]]),
)
# Forms of ops that ATen has beside the usual ones.
aten = torch.ops.aten
case(
    "bare forms",
    lambda t: [
        aten.native_layer_norm(t, [8], None, None, 1e-3)[0], aten._fused_rms_norm(t, [8], None, 1e-3)[0], aten.norm.Scalar(t, 3), aten._is_all_true(t > -9),
        aten._native_batch_norm_legit_no_training(t, None, None, torch.arange(6.0), torch.arange(6.0) + 0.5, 0.1, 1e-3)[0],
        F.pad(t, (-1, 2), mode="reflect"), F.pad(t, (-1, 2), mode="replicate"), aten.pad(t, [1, 2], "reflect"), aten.pad(t, [1, 2, 0, 1], "replicate"), torch.var(t, 1, correction=2), torch.std(t, (0, 2), correction=0.5),
        torch.cdist(t, t * 2, p=1.0), torch.addmm(t[0], t[0, :, :6], t[1], beta=0), torch.addmm(t[0], t[0, :, :6], t[1], beta=0, alpha=2),
        torch.slice_scatter(t, t[:, :0], 1, 2, 2), torch.slice_scatter(t, t[:, :2] * 3, 1, 1, 5, 2), *torch.sort(t.round(), stable=True, descending=True),
    ],
    x,
)  # fmt: skip
case("nothing to do", lambda t: (t.view(torch.float32), t[0, 0].t(), t.repeat(1, 1, 1), t.roll(6, 1), t.roll(-16, 2), t.roll(7, 1)), x)
case("windows of a number", lambda t: t.unfold(0, 1, 1), torch.tensor(2.0))
case("one column of weights", lambda t, w: F.linear(t, w), x, r(8))
case("indices of several ranks", lambda t, a, b: (t[a[:, None], b], t[b % 2, a[:, None], a[:, None] + 1]), x, i(2, 3), i(6, 4))
case(
    "a known mask",
    lambda t: (t.index_put((torch.arange(6) % 2 == 0, torch.tensor([1, 5, 7])), t[:3, 0] * 2), t.index_put((torch.arange(6) > 3,), -t[:2])),
    r(6, 8),
)
case("added through a known mask", lambda t: t.index_put((torch.arange(6) > 3,), t[:2], accumulate=True), r(6, 8))
case("counted in assertions alone", lambda t: (torch._check(t.int().sum().item() * 2 > -1000), t * 2)[1], x)
case("a known branch", lambda t: torch.cond(torch.tensor(True), lambda a: a + 1, lambda a: a - 1, (t,)), x)
case("the other known branch", lambda t: torch.cond(torch.tensor(False), lambda a: a + 1, lambda a: a - 1, (t,)), x)
case(
    "valid",
    lambda t, w: (F.conv2d(t, w, padding="valid"), F.conv2d(t, w[:, :, :2], padding="same"), F.conv1d(t[:, :, 0], w[:, :, 0], padding="valid")),
    img,
    r(3, 4, 3, 3),
)
case("adaptive pools", lambda t: (F.adaptive_avg_pool2d(t, (9, 11)), F.adaptive_avg_pool3d(t[:, :, None], (1, 4, 5)), F.adaptive_avg_pool2d(t, (3, 11))), img)
case("a pool whose indices nobody reads", lambda t: F.max_pool3d(t, 2, return_indices=True)[0], r(1, 2, 4, 6, 4))
case("padding on one side", lambda t: [F.pad(t, pad, mode=m) for m in ("reflect", "replicate", "circular") for pad in ((0, 2), (1, 0))], x)
case(
    "pools rounded up",
    lambda t: [F.max_pool2d(t, kernel, stride, padding, ceil_mode=True) for kernel, stride, padding in ((1, 3, 0), (2, 3, 1), (2, 2, 0), (3, 2, 1), (2, 4, 0))],
    r(1, 2, 8, 10),
)
case("running statistics", lambda t, m: m(t), img, mods=(nn.InstanceNorm2d(4, affine=True, track_running_stats=True).eval(),))
case("reflected at one pixel", lambda t, g: F.grid_sample(t, g, padding_mode="reflection", align_corners=True), r(2, 3, 1, 5), grid)
case(
    "masks of attention",
    lambda q, k, kept, other: [
        F.scaled_dot_product_attention(q, q, q, torch.ones(6, 6, dtype=torch.bool)),
        F.scaled_dot_product_attention(q, k[:, :, :1], k[:, :, :1], is_causal=True),
        F.scaled_dot_product_attention(q, k[:, :, :4], k[:, :, :4], is_causal=True),
        F.scaled_dot_product_attention(q, k, k, torch.ones(6, 6, dtype=torch.bool).tril(-1)),
        F.scaled_dot_product_attention(q, k, k, torch.where(torch.ones(6, 6).tril() > 0, 0.0, -1e9)),
        F.scaled_dot_product_attention(q, k, k, torch.where(torch.ones(6, 6).tril() > 0, 0.0, -2.0)),
        F.scaled_dot_product_attention(q[None], k[None], k[None], other[None, None, None]),
        F.scaled_dot_product_attention(q[:, 0], k[:, 0], k[:, 0], other.expand(2, 6, 6)),
        F.scaled_dot_product_attention(q, k, k, (torch.ones(6, 6, dtype=torch.bool).tril() & (kept > 0)[:, None, None]) & (other > -9)),
        F.scaled_dot_product_attention(q, k, k, ((kept > 0)[:, None, None].expand(2, 1, 6, 6) & torch.ones(6, 6, dtype=torch.bool).tril()).expand(2, 2, 6, 6)),
        F.scaled_dot_product_attention(q, k, k, (kept > 0)[:, None, None]),
        F.scaled_dot_product_attention(q, k, k, (other > -9) & (other < 9)),
    ],
    q,
    k,
    torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]]),
    r(6, 6),
)


def as_complex(t: torch.Tensor) -> torch.Tensor:
    return torch.view_as_complex(t.reshape(2, 6, 4, 2))


case(
    "parts of complex numbers",
    lambda t: [torch.view_as_real(p) for p in (*as_complex(t).split(2, 1), *as_complex(t).unbind(0), *as_complex(t).chunk(3, -1))],
    x,
)
case(
    "complex arithmetic",
    lambda t: [
        torch.view_as_real(z)
        for z in (
            F.pad(as_complex(t), (1, 2), value=3.0), as_complex(t) / (t[..., :4] + 9), as_complex(t) / 2, t[..., :4] / (as_complex(t) + 9),
            1 / (as_complex(t) + 9), as_complex(t) * t[..., :4], 2 * as_complex(t), t[..., :4] * (1 + 2j), as_complex(t) * as_complex(-t), as_complex(t) - t[..., :4], 1 - as_complex(t),
            torch.add(as_complex(t), as_complex(t), alpha=3), torch.sub(as_complex(t), t[..., :4], alpha=2), as_complex(t).conj() + 1, as_complex(t).exp(),
            as_complex(t) @ as_complex(t).mT, as_complex(t).reciprocal(), as_complex(t).to("cpu"), as_complex(t).sinh(), as_complex(t).to(torch.complex64),
        )
    ] + [as_complex(t).to(torch.float32), as_complex(t).abs(), as_complex(t).angle(), as_complex(t).real, as_complex(t).imag * 2],
    x,
)  # fmt: skip


def spectral_layer(t: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The layer of a Fourier neural operator: the product of the low frequencies is written into zeros."""
    out = torch.zeros(2, 6, 5, dtype=torch.cfloat)
    out[..., :3] = torch.einsum("bix,iox->box", torch.fft.rfft(t)[..., :3], torch.view_as_complex(weight))
    out[:, 1] = out[:, 0].conj()
    out[:, 2] += 1j
    out[:, 3] = t[:, 0, :5]
    return torch.fft.irfft(out, n=8)


case("complex writes", spectral_layer, x, r(6, 6, 3, 2))
case(
    "complex choices and roots",
    lambda t: [
        torch.view_as_real(z)
        for z in (
            torch.where(t[..., :4] > 0, as_complex(t), 1j), as_complex(t).masked_fill(t[..., :4] > 0, 2), as_complex(t).sqrt(), as_complex(t).log(),
            as_complex(t).sgn(),
        )
    ],
    x,
)  # fmt: skip
for mode, corners in (("nearest", False), ("nearest-exact", False), ("linear", True), ("bicubic", True)):
    for sizes in ((9,), (5, 8), (3, 4, 5)):
        name = {"nearest": "nearest", "nearest-exact": "_nearest_exact", "linear": ["linear", "bilinear", "trilinear"][len(sizes) - 1], "bicubic": "bicubic"}[
            mode
        ]
        if mode == "bicubic" and len(sizes) != 2:
            continue
        overload = getattr(torch.ops.aten, f"{'_upsample' if name[0] == '_' else 'upsample_'}{name}{len(sizes)}d").default
        for aligned in (False, True) if corners else (None,):
            given = ([2 * size - 1 for size in sizes], *(() if aligned is None else (aligned,)))
            case(f"{name}{len(sizes)}d {aligned}", lambda t, overload=overload, given=given: overload(t, *given), r(2, 3, *sizes))
            case(
                f"{name}{len(sizes)}d {aligned} by scale",
                lambda t, overload=overload, given=given: overload(t, *given, *[1.9] * (t.dim() - 2)),
                r(2, 3, *sizes),
            )


square, tall = r(2, 5, 5) + 3 * torch.eye(5), r(2, 5, 3)
definite = square @ square.mT + torch.eye(5)
turned = torch.eye(6)[torch.tensor([2, 0, 1, 5, 3, 4])] * torch.linspace(-2.0, 3.0, 6) + 0.01 * r(6, 6)
case("solve", lambda a, b: (torch.linalg.solve(a, b), torch.linalg.solve(a[0], b[0, :, 0]), torch.linalg.solve(a, b.mT, left=False)), square, tall)
case("inverse", lambda a, b: (torch.linalg.inv(a), torch.inverse(b), torch.linalg.matrix_power(b, -2), torch.linalg.inv_ex(a[0, :1, :1])[0]), square, turned)
case("determinants", lambda a, b: (torch.linalg.det(a), torch.det(b), *torch.linalg.slogdet(a), torch.logdet(-b), torch.linalg.det(b[:1, :1])), square, turned)
case(
    "cholesky",
    lambda a, b: (
        torch.linalg.cholesky(a), torch.linalg.cholesky(a[0], upper=True), torch.cholesky_solve(b, torch.linalg.cholesky(a)),
        torch.cholesky_inverse(torch.linalg.cholesky(a[1], upper=True), upper=True), a.cholesky(),
    ),
    definite,
    tall,
)  # fmt: skip
case(
    "triangles",
    lambda a, b: (
        *(torch.linalg.solve_triangular(a, b, upper=upper, unitriangular=ones) for upper in (True, False) for ones in (True, False)),
        *(torch.linalg.solve_triangular(a[0], b.mT, upper=upper, left=False) for upper in (True, False)),
        *(torch.triangular_solve(b, a, upper, transpose).solution for upper in (True, False) for transpose in (True, False)),
    ),
    square,
    tall,
)  # fmt: skip
case(
    "bessel and tails",
    lambda a, b: (torch.special.i0(a), torch.special.i0e(a), torch.special.i1(a), torch.special.i1e(a), torch.special.erfcx(a), torch.special.ndtri(b)),
    torch.linspace(-6, 8, 57),
    torch.linspace(0.01, 0.99, 31),
)
case("log_ndtr", torch.special.log_ndtr, torch.linspace(-30, 6, 73))
with_nan = torch.tensor([[1.0, torch.nan, -3.0, 0.0], [torch.nan, torch.nan, -0.0, 7.0], [torch.nan] * 4])
case(
    "numbers before nan",
    lambda a, b: (torch.fmax(a, b), torch.fmin(a, b), torch.fmax(b, a), a.nanmedian(), a.nanmedian(1, True).values, a.nanmedian(0).values, a.angle()),
    with_nan,
    r(3, 4),
)
case("mantissas", lambda a: torch.frexp(a), torch.tensor([0.0, 1.0, -2.0, 0.75, 3.9999998, 1e-3, -1e20, 0.5, 0.49999997, 1.0000001]))
case("distances", lambda a, b: [*(torch.cdist(a, b, p) for p in (0.0, 0.5, 1.0, 2.0, 3.0, torch.inf)), F.pdist(a[0]), F.pdist(a[0], 1.0)], x[:, :4], r(2, 3, 8))
case(
    "parts written",
    lambda a, b, n: (
        a.diagonal_scatter(b[:4], 1), a.diagonal_scatter(b[:3], -2, 1, 0), a.as_strided_scatter(b[:4].reshape(2, 2), (2, 2), (3, 1), 2),
        a.put(n[:5] * 2, b[:5]), a.put(n, b[:6], accumulate=True), *(a.index_reduce(1, n[:5], a * 2, how, include_self=own) for how in ("amax", "prod", "mean") for own in (True, False)),
    ),
    r(6, 5),
    r(9),
    torch.tensor([0, 3, 1, 2, 4, 4]),
)  # fmt: skip
case("lines looked up", lambda a, n: (a.take(n), a[2].gather(0, n * 0), torch.take_along_dim(a, n), F.embedding(n, a.unsqueeze(1))), r(9), torch.tensor(4))
case("powers by numbers", lambda a: (a**3, a**2.5, a**2, a**0.5, a**-0.5, a**-3), r(4, 6).abs() + 0.5)
case("a long table as one line", lambda t, n: t.take(n), torch.arange(600000, dtype=torch.int32).reshape(200000, 3), torch.tensor([7, 599999, 0]))
case("a line looked up", lambda a, n: (a.gather(0, n), torch.take_along_dim(a.reshape(3, 3), n), a.take(n)), r(9), i(9, 5))
case("repeats", lambda a, n: torch.repeat_interleave(a, n, 0, output_size=9), r(4, 3), torch.tensor([3, 0, 4, 2]))
case(
    "places between rows",
    lambda a, b: (torch.searchsorted(a, b), torch.searchsorted(a, b, right=True), torch.searchsorted(a, b, side="right"), torch.searchsorted(a[0], b[0, 0])),
    torch.tensor([[0.0, 1.0, 1.0, 5.0], [-4.0, -1.0, 0.0, 2.0]]),
    torch.tensor([[1.0, -9.0, 7.0], [0.0, 2.0, -1.0]]),
)
case(
    "where the largest is",
    lambda t: [F.max_pool2d(t, *geometry, return_indices=True) for geometry in ((2,), (3, 2, 1), ((2, 3), 1, (0, 1)), (2, 3, 0, 2))],
    img,
)
case("no values", lambda t: (t.sum(1), t.amax(0), F.celu(t), t.log_softmax(1), torch.cat([t, t + 1], 1).prod(1), t.mean(1)), torch.zeros(3, 0))
case("one value's variance", lambda t: (t[:1].var(0), t[:1].std(0, correction=0)), x)
case("nothing but masks", lambda t: torch.ops.aten._safe_softmax(t, -1), torch.tensor([[0.0, 1.0, -torch.inf], [-torch.inf] * 3]))
case("turned round and cut", lambda t: F.pad(t, (-1, 2, 1, -2), "circular"), img)
case(
    "windows' sums",
    lambda t: (
        F.avg_pool2d(t, 2, padding=1, divisor_override=3), F.avg_pool2d(t, 2, padding=1, count_include_pad=False, divisor_override=5),
        F.avg_pool3d(t, (1, 2, 2), divisor_override=3), F.max_pool3d(t, (2, 3, 2)), F.avg_pool3d(t, 2, padding=1),
    ),
    img,
)  # fmt: skip
case("no differences", lambda t: (t.diff(n=0), t.diff(n=2, prepend=t[..., :1])), x)


# Variants of what test_ops.py or a neighbour has: torch decomposes each into hundreds of nodes.
NIGHTLY = [name for name in CASES if name in ("grid_bilinear", "grid_nearest", "grid_bicubic") or re.fullmatch(r"(bicubic2d|trilinear3d)_.*by_scale", name)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cases", groups(CASES, 12, nightly=NIGHTLY))
def test_rare_op(cases: dict[str, Any]) -> None:
    together(cases, lambda chosen: check_functions(chosen, training=False))


def test_large_permutes_leave_out_dimensions_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "LARGE", 1)
    permute = Model(lambda t: (t.permute(0, 4, 2, 5, 1, 3), t.permute(3, 4, 0, 1, 2, 5), t.permute(1, 3, 4, 5, 2, 0)))
    result = check(permute, (r(2, 3, 4, 1, 1, 5),))
    permuted = [op for op in result.module.walk() if op.name == "ttir.permute"]
    assert [len(shape(op.results[0])) for op in permuted] == [4, 4]


@pytest.mark.filterwarnings("ignore")
def test_rows_by_expert() -> None:
    """What transformers calls for rows that are sorted by their expert; the second one has none."""
    pytest.importorskip("transformers.integrations.moe")  # registers the op
    ends = torch.tensor([2, 2, 5, 7], dtype=torch.int32)
    check(Model(lambda rows, weights: torch.ops.transformers.grouped_mm_fallback(rows, weights, ends)), (r(7, 8), r(4, 8, 6)))


def comparable(value: Any) -> Any:
    """A list of one value repeated is the value, as torch reads a stride of 1; the padding "valid" is none."""
    values = list(value) if isinstance(value, tuple | list) else [value]
    return (0 if value == "valid" else value) if values == [value] else values[0] if len(set(values)) == 1 else None


def defaults(name: str, function: Callable[..., Any], lead: int) -> Iterator[tuple[str, Any, Any]]:
    """Parameters that have a default here and in the schema, with both. lead: how many parameters are the emitter's."""
    space, op, overload = name.split(".")
    packet = getattr(getattr(torch.ops, space), op, None)
    if packet is None or overload not in packet.overloads():
        return
    arguments = getattr(packet, overload)._schema.arguments
    by_name, positional = {each.name: each for each in arguments}, [each for each in arguments if not each.kwarg_only]
    for place, own in enumerate([*inspect.signature(function).parameters.values()][lead:]):
        theirs = by_name.get(own.name) if own.kind is own.KEYWORD_ONLY else positional[place] if place < len(positional) else None
        if own.default is not own.empty and theirs is not None and theirs.has_default_value():
            yield own.name, comparable(own.default), comparable(theirs.default_value)


DEFAULTS = {name: found for table, lead in ((RULES, 1), (RECIPES, 0)) for name, function in table.items() if (found := list(defaults(name, function, lead)))}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_of_torch(name: str) -> None:
    assert [(each, ours) for each, ours, _ in DEFAULTS[name]] == [(each, theirs) for each, _, theirs in DEFAULTS[name]]
