"""Fuzzed calls never crash, hang or report an internal error."""

from __future__ import annotations

import pytest

from tests.fuzz.run import run_batch


@pytest.mark.parametrize(
    ("count", "seed", "timeout_s"),
    [pytest.param(200, 1, 120, id="quick"), *(pytest.param(1000, s, 1800, id=f"{s}", marks=pytest.mark.slow) for s in range(2, 12))],
)
def test_calls_are_answered(count: int, seed: int, timeout_s: int) -> None:
    outcome = run_batch(count, seed, timeout_s)
    assert not outcome.failure, outcome.failure
    assert outcome.answers["accepted"] > count // 10, outcome.answers
    assert outcome.answers.total() >= count * 9 // 10, outcome.answers
    assert outcome.answers["InvalidArgument"] > 0
