"""Written cases of integers, look-ups and in-place writes at their edges: equal to PyTorch and JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from alchemist.frontends.jax import capture as capture_jax
from alchemist.frontends.torch import capture
from tests.properties.running import judged

LARGEST = 2**31 - 1
INFINITE = float("inf")


def check(model: Any, *arguments: Any, capturing: Any = capture, tolerance: float = 0.0) -> None:
    found = judged(capturing, model, arguments, tolerance)
    assert found.kind == "right", found.text


def _draw(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64, seed: int = 0) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


A, B = _draw(-LARGEST, LARGEST, 4, 7), _draw(1, 50, 4, 7, seed=1) * torch.where(_draw(0, 2, 4, 7, seed=2) > 0, 1, -1)
EDGE = torch.tensor([-(2**31), -LARGEST, LARGEST, LARGEST - 1, -1, 0, 1], dtype=torch.int32)[:, None]
DIVISORS = torch.tensor([2, 3, -3, 7, LARGEST, 1025, -4096], dtype=torch.int32)[None]


def divisions(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    trunc = torch.div(a, b, rounding_mode="trunc")
    return a // b, a % b, torch.fmod(a, b), trunc, a // 7, a % -3, a // 65536, torch.div(a, 100000, rounding_mode="trunc")


def order(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    ends = a.argmax(1), a.argmin(0), a.max(0).values, a.cummax(1).values, a.clamp(-(2**30) - 1, 2**30 + 5)
    ends = *ends, a[0].sort().values, a[1].argsort()
    return *ends, a.sort(1).values, a.sort(0, descending=True).indices, a.topk(3, 1).values, a.kthvalue(2, 1).values


def products(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    hits = F.one_hot(a[0] % 5, 5)
    return a @ b, a @ a.T, a[0] @ b, torch.einsum("ij,jk->ik", a, b), hits.T @ hits, a[None] @ b[None]


def narrow(a: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, ...]:
    wrapped = a.square(), u**2, a.prod(0, dtype=torch.int8), a.cumsum(0, dtype=torch.int8), a**3, a.sum(0, dtype=torch.int8), a @ a.T
    return *wrapped, a // 3, a % 5, u // 7, torch.fmod(a, 7), a.sign(), u.argmin(0), a.round(), torch.einsum("ij,ij->ij", u, u)


class Tables(torch.nn.Module):
    """Look-ups in every spelling, of numbers that bfloat16 and float32 do not have."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ids", _draw(-LARGEST, LARGEST, 77))
        self.register_buffer("pairs", _draw(-LARGEST, LARGEST, 40, 3, dtype=torch.int32))
        self.wide = torch.nn.Parameter(torch.rand(600, 96, generator=torch.Generator().manual_seed(3)))
        self.special = torch.nn.Parameter(torch.tensor([1.0, -INFINITE, 3.4e38, torch.finfo(torch.float32).min, 1e-30]).reshape(5, 1).repeat(1, 64))

    def forward(self, i: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        few, wide = i % 40, F.embedding(i, self.wide)
        picked = x[i[0] % 5], x.index_select(1, i[1] % 6), torch.take(x, i[0] % 30), (x * 7).int()[:, i[0] % 6]
        return *picked, wide, self.ids[i % 77], self.pairs[few], self.pairs.index_select(0, few[0]), self.special[i % 5], torch.take(self.ids, few)


class Convolutions(torch.nn.Module):
    """Of integers, whose weights are known."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kernel", _draw(-3000, 3000, 4, 3, 3, 3))
        self.register_buffer("row", _draw(-3000, 3000, 6, 1, 2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        convolved = F.conv2d(x, self.kernel, stride=2, padding=1), F.conv1d(x[:, :, 0], self.row, groups=3)
        return *convolved, F.conv_transpose2d(x, self.kernel[:3], stride=2)


def writes(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
    filled, turned = z @ z.T, z * 1
    filled.fill_diagonal_(-1.0)
    view = torch.einsum("ij->ji", turned)
    view.add_(1)
    torch.atleast_2d(turned)[0] = 5
    return filled, turned, view, torch.vander(z[0], 3), torch.vander(z[:, 0], increasing=True)


def maxima(x: torch.Tensor) -> list[torch.Tensor]:
    """Of windows along one axis and of whole images, which bfloat16 would round; NaN counts as the largest number."""
    geometries: list[tuple[Any, ...]] = [(2, 1), (3, 2, 1), (4, 3, 0, 2), (3, 3, 1, 1, True), (13,)]
    ends = x[:, 0].isnan(), F.max_pool2d(x[None], (3, 1), (1, 2)), F.max_pool2d(x[None], x.shape[1:])
    return [*(F.max_pool1d(x[:, 0], *geometry) for geometry in geometries), *ends]


def known_writes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    whole = x * 1
    alias = whole.detach()
    alias.swapaxes_(0, -1)
    alias.relu_()
    twos = x * 1
    twos[...] = 2.0
    torch.add(twos, 1, out=twos)
    twos[twos > 2] *= 0.5
    return whole.square_(), alias, twos


CASES: list[tuple[str, Callable[..., Any], tuple[torch.Tensor, ...]]] = [
    ("divisions", divisions, (A, B)),
    ("divisions of int32 at the edges", divisions, (EDGE, DIVISORS)),
    ("order", order, (A,)),
    ("products", products, (_draw(-9000, 9000, 4, 6), _draw(-9000, 9000, 6, 3, seed=1))),
    ("narrow", narrow, (_draw(-128, 128, 5, 4, dtype=torch.int8), _draw(0, 256, 5, 4, dtype=torch.uint8))),
    ("powers", lambda a, e: (a**e, a**3, 2**e, a**0, a.prod(1), a.prod()), (_draw(-5, 5, 4, 6), _draw(0, 9, 4, 6, seed=1))),
    ("convolutions", Convolutions(), (_draw(-3000, 3000, 1, 3, 7, 7),)),
    (
        "maxima",
        maxima,
        (torch.cat([torch.tensor([[[float("nan"), -INFINITE]]]).repeat(6, 3, 1), torch.randn(6, 3, 11, generator=torch.Generator().manual_seed(4))], 2),),
    ),
    ("an alias with other axes, writes of known values", known_writes, (torch.tensor([[1.5, -2.0, 0.5], [-1.0, 4.0, -3.0]]),)),
    ("tables", Tables(), (_draw(0, 600, 2, 32), torch.rand(5, 6))),
]


@pytest.mark.parametrize(("name", "model", "arguments"), CASES, ids=[name for name, *_ in CASES])
def test_torch(name: str, model: Any, arguments: tuple[torch.Tensor, ...]) -> None:
    check(model, *arguments)


def test_writes_inside_composite_ops() -> None:
    check(writes, torch.rand(6, 6, generator=torch.Generator().manual_seed(0)) - 0.5, tolerance=2e-3)


def rows_without_keys(q: torch.Tensor, allowed: torch.Tensor, added: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Zeros in rows whose keys are all masked, NaN where the model writes the softmax out, a mean for the lowest finite number."""
    attend = F.scaled_dot_product_attention
    low = torch.where(allowed, 0.0, torch.finfo(torch.float32).min)
    scores = (q @ q.transpose(-1, -2)) / 32**0.5
    written = scores.masked_fill(~allowed, -INFINITE).softmax(-1) @ q
    narrow, joined = q[..., :20], allowed.expand(2, 1, 6, 6).tril()
    masked = [attend(q, q, q, attn_mask=mask) for mask in (allowed, added, low, joined)]
    return *masked, attend(narrow, narrow, narrow, attn_mask=added), written


def test_attention_rows_without_keys() -> None:
    allowed = torch.ones(2, 1, 1, 6, dtype=torch.bool)
    allowed[1], added = False, torch.zeros(2, 1, 1, 6)
    added[0, ..., 3:], added[1] = -INFINITE, -INFINITE
    check(rows_without_keys, torch.rand(2, 2, 6, 32, generator=torch.Generator().manual_seed(0)), allowed, added, tolerance=2e-2)


def masks_by_length(q: torch.Tensor, lengths: torch.Tensor, square: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Comparisons with key numbers that do not give each row key 0: a length of zero, and key numbers that run along the queries."""
    attend = F.scaled_dot_product_attention
    keys = torch.arange(q.shape[2])
    last = (lengths - 1)[:, None, None, None]
    return attend(q, q, q, keys <= last), attend(q, q, q, keys[:, None] <= square), attend(q, q, q, (keys <= square).transpose(-1, -2))


def test_bounds_of_narrow_integers_and_bounds_that_cross() -> None:
    """A bound of clamp has the tensor's dtype; bucketize compares in the dtype that holds both."""
    u, i = torch.tensor([0, 5, 44, 249, 255], dtype=torch.uint8), torch.tensor([-128, 5, 44, 127, -7], dtype=torch.int8)
    bounds = torch.tensor([-5, 100, 300])
    check(lambda u, i: (u.clamp(-7, 7), i.clamp(-7, 7), i.clamp(9, 3), i.long().clamp(-(2**40), 2**40), i.float().clamp(3, 1)), u, i)
    check(lambda u, i: (torch.bucketize(u, bounds), torch.bucketize(i, bounds), torch.bucketize(i, bounds + 0.5), torch.bucketize(5, bounds) + i), u, i)


def test_masks_of_grouped_heads_of_any_rank() -> None:
    """Written out, with keys and values repeated for the heads that share them."""
    q, k, v = (torch.randn(1, heads, rows, 8, generator=torch.Generator().manual_seed(heads)) for heads, rows in ((4, 5), (2, 7), (2, 7)))

    def attend(mask: torch.Tensor) -> torch.Tensor:
        keys, values = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        return torch.softmax(q @ keys.transpose(-1, -2) * 0.35 + mask, -1) @ values

    masks = [torch.randn(dims, generator=torch.Generator().manual_seed(1)) for dims in ((5, 7), (7,), (5, 1), (4, 1, 1), (1, 4, 5, 7))]
    check(lambda *given: tuple(attend(mask) for mask in given), *masks, tolerance=5e-3)


def test_masks_by_length_may_have_rows_without_keys() -> None:
    q = torch.rand(2, 2, 6, 32, generator=torch.Generator().manual_seed(0))
    check(masks_by_length, q, torch.tensor([3, 0]), _draw(-1, 6, 6, 6), tolerance=2e-2)


def test_quotients_by_a_python_number_are_rounded_down_from_the_exact_ones() -> None:
    """1.0 / 0.1 rounds up to 10 in float32; the exact quotient is below it, and PyTorch gives 9."""
    x = torch.cat([torch.arange(1, 40) / 10, -torch.arange(1, 40) / 10, torch.tensor([300.0, 0.7, 6.9])])
    check(lambda x: (x // 0.1, x // 0.7, x // -0.3, x // 3, x // 0.5), x)


def numbers_in_bfloat16(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    compared = x > 0.3, x == 0.1, x >= 0.1, x.clamp(max=0.3) == 0.3, x.clamp(min=0.1) > 0.1, torch.maximum(x, torch.full_like(x, 0.3)) == 0.3
    return *compared, F.hardshrink(x, 0.3), torch.where(x > 0.2, 0.3, x), x % 0.3, x // 0.1, x.fmod(0.3), x * 0.3


def test_python_numbers_have_the_dtype_of_the_tensor() -> None:
    check(numbers_in_bfloat16, torch.tensor([0.30078125, 0.1, 0.2998046875, 0.5, -0.30078125, 0.0, 300.0, 0.2]).bfloat16(), tolerance=4e-3)


def special_values(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.logsumexp(1), x.logcumsumexp(1), x.sign(), x.median(1).values, x.cummax(1).values, x.cummin(0).values, torch.logaddexp(x, x.flip(1))


def test_infinities_and_nan() -> None:
    check(special_values, torch.tensor([[INFINITE, -INFINITE, 3.0], [-INFINITE] * 3, [1.0, float("nan"), 2.0], [-INFINITE, 5.0, 1.0]]), tolerance=1e-4)


def rare_integers(u: torch.Tensor, x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
    kept = x.scatter_reduce(1, i, x, "amin", include_self=False), x.scatter_reduce(0, i, x, "amax", include_self=False)
    return u.any(1), u.all(0), *kept, x.scatter_reduce(1, i, x, "prod"), x.scatter_reduce(1, i, x, "sum", include_self=False)


def test_rare_integers() -> None:
    check(rare_integers, torch.tensor([[0, 3, 250], [0, 0, 0]], dtype=torch.uint8), torch.tensor([[-5, 7], [3, -100000]]), torch.tensor([[0, 1], [1, 0]]))


def test_outputs_beyond_32_bits_are_refused() -> None:
    found = judged(capture, lambda a, b: ((a << 33) | b).sort(1).values, (_draw(1, 9, 2, 6), _draw(0, 99, 2, 6)), 0.0)
    assert found.kind == "refused" and "test_exact_values.py" in found.text and "int64" in found.text
    found = judged(capture, lambda a: ((a * a) % 7, (a.double() * a.double() * 3).long() % 7), (_draw(2**24, 2**26, 2, 6),), 0.0)
    assert found.kind == "refused" and "beyond 32 bits" in found.text, found


HASHES: list[Callable[..., Any]] = [
    lambda a, b: (a * 31 + b) % 1024, lambda a, b: (a * 1103515245 + 12345) & 0x7FFFFFFF, lambda a, b: (a * b).prod(0) % 2, lambda a, b: (a @ b.T) % 256,
    lambda a, b: ((a * b) ^ (b * 5)) & 1023, lambda a, b: (a << 5).cumsum(1) % 4096, lambda a, b: torch.where(b > 4, a * 7, b * 9) % 512, lambda a, b: (a * b).to(torch.int32),
    lambda a, b: F.embedding((a * 2654435 + b) % 16, torch.arange(32.0).view(16, 2)),
]  # fmt: skip
WIDE: list[Callable[..., Any]] = [
    lambda a, b: a * b > 0, lambda a, b: (a * b).float(), (lambda a, b: a * b * 0.5), lambda a, b: ((a * b) // 7) % 100, lambda a, b: (a * b) % 7,
    lambda a, b: ((a * b) >> 16) & 255, lambda a, b: (a * b).amax(1) % 2, lambda a, b: (b * 2654435761) % 1024, lambda a, b: (a * b).clamp(0, 5), lambda a, b: (a * b).argsort(1),
    lambda a, b: ((a * b) % (b + 3)).sign(), lambda a, b: (a * b).cumsum(0).to(torch.int32), lambda a, b: (a << 33 | b).sort(1).values >> 32, lambda a, b: (a * b).max(1).indices,
    lambda a, b: (a * b).abs().sum() % 100, lambda a, b: torch.maximum(a * b, b * b)[:, 0] % 64,
    lambda a, b: F.pad(a * b, (1, 2)) % 1009, lambda a, b: (a * b).masked_fill(a > 0, 0.0) % 1009, lambda a, b: torch.where(a > 0, a * b, 0.5), lambda a, b: a * b > 1e10,
    lambda a, b: (a * b).scatter(1, torch.tensor([[0, 2]] * 4), 0).sum(1) % 97, lambda a, b: torch.index_put(a * b, (torch.tensor([1, 2]),), b[:2])[:, 1] % 64,
]  # fmt: skip


def test_hashes_modulo_powers_of_two_are_exact() -> None:
    """Values between are beyond 32 bits; what is returned depends on their low bits alone."""
    a, b = _draw(-LARGEST, LARGEST, 4, 6), _draw(2**20, LARGEST, 4, 6, seed=1)
    check(lambda a, b: tuple(each(a, b) for each in HASHES), a, b)


def test_results_of_integers_beyond_32_bits_are_exact() -> None:
    a, b = _draw(-LARGEST, LARGEST, 4, 6), _draw(2**20, LARGEST, 4, 6, seed=1)
    check(lambda a, b: tuple(each(a, b) for each in WIDE), a, b, tolerance=1e-6)


def test_computed_indices_below_zero_count_from_the_end() -> None:
    """As in `logits[arange(batch), ids.eq(pad).int().argmax(-1) - 1]`, which pools the last token."""
    x, i, table = torch.randn(4, 6, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 3, 2, 1]), torch.arange(24).view(4, 6)
    looks: list[Callable[..., Any]] = [
        lambda x, i: x[torch.arange(4), x.argmax(1) - 1], lambda x, i: table[i - 2], lambda x, i: x[i - 1, i - 3], lambda x, i: torch.take(x, i - 3), lambda x, i: x[~i],
        lambda x, i: x[i, torch.tensor([-1, -2, 0, 1])], lambda x, i: x.index_put((i - 2,), torch.tensor(5.0)), lambda x, i: x[:, i - 2], lambda x, i: x[(i - 1) % 4],
    ]  # fmt: skip
    check(lambda x, i: tuple(look(x, i) for look in looks), x, i, tolerance=1e-6)


def test_places_are_signed_where_they_are_computed_with() -> None:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    check(lambda p: (-p, ~p, p.clamp(max=-1), p.clamp(-3, 2) - 9, torch.maximum(-p, p - 3), p.sign(), (p - 3).abs(), -p // 2, p // 2, p // 3), x.argmax(1))
    check(lambda x: (-x.argmax(1), ~x.argmax(1), x.argmax(1).clamp(max=-1), torch.maximum(-x.argmax(1), x.argmin(1)), x.argmax(1).sign()), x)


def test_a_number_of_a_tensor_beside_other_indices() -> None:
    t = torch.randn(9, 4, 5, generator=torch.Generator().manual_seed(0))
    rows, i = torch.tensor([1, 5, 8]), torch.tensor([2, 0, 1])
    looks: list[Callable[..., Any]] = [
        lambda rows, i: t[rows, i[0]], lambda rows, i: t[i[0], rows % 4], lambda rows, i: t[:, i[1], rows % 5], lambda rows, i: t[rows, i[0], i[1]], lambda rows, i: t[i[0], i[1]],
        lambda rows, i: t[rows[:, None], i[0], i[None]],
    ]  # fmt: skip
    check(lambda rows, i: tuple(look(rows, i) for look in looks), rows, i)


def test_scatters_of_narrow_integers_wrap() -> None:
    a, at = torch.tensor([[-181, 200, 7], [5, -30000, 32767]], dtype=torch.int16), torch.tensor([[0, 0, 1], [0, 1, 1]])
    check(lambda a, at: (a.scatter_add(0, at, a), a.scatter_reduce(0, at, a, "prod"), a.to(torch.int8).scatter_add(0, at, a.to(torch.int8))), a, at)


def test_squares_of_integers_wrap() -> None:
    """A square that left its width may be negative: its absolute value is not itself."""
    a = torch.tensor([[-181, 200, 7], [5, -30000, 32767]], dtype=torch.int16)
    check(lambda *given: tuple(one.square().abs() for one in given), a, a.to(torch.int8), a.int() * 70000)


def test_jax_fill_values_of_rows_behind_the_end() -> None:
    import jax.numpy as jnp

    x, i = jnp.asarray(np.random.default_rng(0).standard_normal((5, 4)), jnp.float32), jnp.array([0, 4, 7, -2])
    check(lambda x, i: x.at[i].get(mode="fill", fill_value=-1.0), x, i, capturing=capture_jax)


def test_jax() -> None:
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    a, b = (jnp.asarray(rng.integers(low, high, (4, 6)), jnp.int32) for low, high in ((-LARGEST, LARGEST), (1, 90)))
    u = jnp.asarray(rng.integers(0, 2**32, (4, 6)), jnp.uint32)

    def forward(a: Any, b: Any, u: Any) -> Any:
        windows = jax.lax.reduce_window(a, jnp.int32(-LARGEST - 1), jax.lax.max, (1, 3), (1, 1), "SAME"), jnp.cumsum(a, 1)
        unsigned = u // 7, u % 1001, u >> 3, jnp.sort(u, 1), u.astype(jnp.int32), jnp.argmin(u, 1), u > u[0, 0]
        top = jnp.uint32(3_000_000_000)
        unsigned = *unsigned, u > top, u <= top, jnp.maximum(u, top), jnp.clip(u, 7, top), u // top, u % top
        reached = (a > 0) @ (b.T > 20), (a > 0)[0] @ (b > 20)[0]
        return (
            *reached,
            a // b,
            a % b,
            jax.lax.div(a, b),
            a @ b.T,
            jnp.argmin(a, 1),
            jnp.sort(a, 1),
            a[b[0] % 4],
            jnp.take(a.reshape(-1), b % 24),
            *windows,
            *unsigned,
        )

    check(forward, a, b, u, capturing=capture_jax)


class Transposed(torch.nn.Module):
    """Transposes its own buffer in place: each call begins with the shape that the last one left, so examples are run from the first."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.arange(24.0).reshape(4, 6))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self.state.swapaxes_(0, -1)
        self.state[-1] += 3.0
        return self.state * 2, x + self.state.T


def test_a_buffer_that_is_transposed_in_place() -> None:
    check(Transposed(), torch.ones(4, 6))


def signs(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    divided = x.fmod(y), x % y, x.fmod(INFINITE), x % -INFINITE, x % y[:, :1]
    return *divided, x.signbit(), x.bfloat16().signbit(), x.int().signbit(), torch.copysign(y, x)


def test_signs_of_zeros_and_infinite_divisors() -> None:
    x = torch.tensor([-0.0, 0.0, 1.5, -2.5, 3.0, -7.25])
    check(signs, x.repeat(4, 1), torch.tensor([INFINITE, -INFINITE, 2.0, -0.5])[:, None].expand(4, 6).clone())
    jnp = pytest.importorskip("jax.numpy")
    check(lambda x: (jnp.fmod(x, jnp.inf), jnp.signbit(x)), jnp.asarray(x.numpy()), capturing=capture_jax)


def test_whole_means_of_integers() -> None:
    values = _draw(0, 255, 64, 33, dtype=torch.uint8)
    check(lambda x: (x.float().mean(1).to(torch.uint8), x.float().mean(1, keepdim=True).int(), x.float().mean().int()), values)


def test_trend_of_a_series_with_a_large_mean() -> None:
    """The device pools bfloat16, of which numbers around 1000 have three bits behind the point."""
    series = 1000 + torch.randn(2, 3, 48, generator=torch.Generator().manual_seed(0))
    check(lambda x: x - F.avg_pool1d(F.pad(x, (2, 2), "replicate"), 5, 1), series, tolerance=1e-2)


def test_means_of_integers_beside_a_small_spread() -> None:
    """The matrix engine reads 11 bits of a float32: a mean that is off by 500 leaves nothing of a variance of 7."""
    check(lambda a: (a.float().var(), a.float().std(1), a.double().mean(1).round().long()), _draw(10**6, 10**6 + 9, 3, 8), tolerance=1e-2)
    check(lambda a: (a.float().mean(1), a.float().mean()), _draw(-LARGEST, LARGEST, 3, 8), tolerance=1e-6)
    check(lambda a: (a.float().mean(0), (a * 3).float().mean().long()), _draw(0, 250, 3, 8, dtype=torch.uint8), tolerance=1e-6)
