"""Arithmetic of two words is that of int64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from alchemist.frontends.torch import integer_words
from alchemist.frontends.torch.integer_words import FUNCTIONS, Words, split, to_float


def draw(seed: int) -> torch.Tensor:
    """Numbers of all lengths up to 62 bits, of both signs."""
    noise = torch.Generator().manual_seed(seed)
    bits = torch.randint(1, 63, (40, 25), generator=noise)
    return torch.randint(-(2**62), 2**62, (40, 25), generator=noise) >> (62 - bits)


def joined(value: Any) -> Any:
    return (value.high.long() << 32) | (value.low.long() & 0xFFFFFFFF) if isinstance(value, Words) else value


A, B = draw(0), torch.where(draw(1) == 0, 1, draw(1))
COUNTS = torch.randint(0, 64, (40, 25), generator=torch.Generator().manual_seed(2))
Case = tuple[str, tuple[Any, ...], dict[str, Any]]
CASES: list[Case] = [
    *((name, (A, B), {}) for name in "add sub rsub mul floor_divide remainder fmod lt le gt ge eq ne maximum minimum".split()),
    *((name, (A, number), {}) for name in ("mul", "floor_divide", "remainder", "fmod") for number in (7, -7, 16, 1000003, 2**31 + 11, -(2**40) + 1, 2**40)),
    *((name, (A, count), {}) for name in ("bitwise_left_shift", "bitwise_right_shift") for count in (0, 1, 31, 32, 33, 63, COUNTS)),
    *((name, (A, B), {}) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    *((name, (A,), {}) for name in ("neg", "abs", "sign", "bitwise_not", "square", "sum", "argmax", "argmin", "logical_not")),
    *((name, (A, 1), {}) for name in ("cumsum", "amax", "amin")),
    *((name, (A[:, :9], 1), {}) for name in ("prod", "cumprod")),
    ("add", (A, B), {"alpha": 3}), ("div", (A, B), {"rounding_mode": "trunc"}), ("clamp", (A, -5, 2**40), {}), ("pow", (A, 3), {}), ("matmul", (A[:5], B[:5].T), {}),
    ("searchsorted", (B[0].sort().values, A), {"right": True}), ("mv", (A, B[0]), {}), ("dot", (A[0], B[0]), {}),
]  # fmt: skip


def words(leaf: Any) -> Any:
    return split(leaf) if isinstance(leaf, torch.Tensor) and leaf is not COUNTS else leaf


@pytest.mark.parametrize("case", CASES, ids=[f"{name}-{number}" for number, (name, *_) in enumerate(CASES)])
def test_words_are_int64(case: Case) -> None:
    name, arguments, named = case
    want = getattr(torch, name, None) or getattr(torch.Tensor, name)
    assert torch.equal(joined(FUNCTIONS[name](*map(words, arguments), **named)), want(*arguments, **named))


def test_sums_into_places_and_padding() -> None:
    index = COUNTS % 25
    assert torch.equal(joined(FUNCTIONS["scatter_add"](split(A), 1, index, split(B))), A.scatter_add(1, index, B))
    assert torch.equal(joined(FUNCTIONS["constant_pad_nd"](split(A), [1, 2], -3)), torch.constant_pad_nd(A, [1, 2], -3))


def test_order_keeps_equal_values_in_place() -> None:
    values, places = torch.sort(A % 5 << 40, dim=1, descending=True, stable=True)
    found, order = FUNCTIONS["sort"](split(A % 5 << 40), 1, True)
    assert torch.equal(joined(found), values) and torch.equal(order, places)


def test_floats_are_off_by_one_unit_at_most() -> None:
    assert torch.allclose(to_float(split(A)), A.float(), rtol=2**-22)
    whole = torch.trunc(A.float() * 0.37)
    assert torch.equal(joined(FUNCTIONS["to"](whole, torch.int64)), whole.long())


@pytest.mark.parametrize("refused", [lambda a: FUNCTIONS["sum"](split(torch.zeros(40000, dtype=torch.int64))), lambda a: FUNCTIONS["bitwise_left_shift"](a, 64),
    lambda a: FUNCTIONS["pow"](a, -1)])  # fmt: skip
def test_what_has_no_words(refused: Callable[[Words], Any]) -> None:
    with pytest.raises(integer_words.Unsupported):
        refused(split(A))
