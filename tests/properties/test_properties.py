"""A few dozen of the random programs; `run.py` runs thousands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.properties import whole_numbers
from tests.properties.run import verdict


def seeds(each_time: int, nightly: int) -> list[Any]:
    """So many at each run, the rest in the nightly tier."""
    return [pytest.param(seed, marks=pytest.mark.slow if seed >= each_time else ()) for seed in range(nightly)]


@pytest.mark.parametrize("seed", seeds(4, 12))
def test_no_write_is_lost(seed: int) -> None:
    found, text = verdict("writes", seed)
    assert found.kind in ("right", "refused"), f"{found.text}\n{text}"


@pytest.mark.parametrize("framework", whole_numbers.FRAMEWORKS)
@pytest.mark.parametrize("seed", seeds(3, 8))
def test_whole_numbers_are_exact(framework: str, seed: int) -> None:
    found, text = verdict(f"whole_numbers:{framework}", seed)
    assert found.kind in ("right", "refused"), f"{found.text}\n{text}"


@pytest.mark.parametrize(
    ("seed", "expected"), [(1661, "refused"), (1727, "right")], ids=["a buffer transposed by a model that torch cannot export", "a mask's length"]
)
def test_writes_that_were_internal_errors(seed: int, expected: str) -> None:
    assert verdict("writes", seed)[0].kind == expected
