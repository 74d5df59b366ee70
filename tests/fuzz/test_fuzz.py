"""Fuzzed calls never crash, hang or report an internal error."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.fuzz.run import AREAS, run_area, run_batch


@pytest.mark.parametrize(
    ("count", "seed", "timeout_s"),
    [pytest.param(100, 1, 120, id="quick"), *(pytest.param(1000, s, 1800, id=f"{s}", marks=pytest.mark.slow) for s in range(2, 12))],
)
def test_calls_are_answered(count: int, seed: int, timeout_s: int) -> None:
    outcome = run_batch(count, seed, timeout_s)
    assert not outcome.failure, outcome.failure
    assert outcome.answers["accepted"] > count // 10, outcome.answers
    assert outcome.answers.total() >= count * 9 // 10, outcome.answers
    assert outcome.answers["InvalidArgument"] > 0


# Cases of each area: enough to see that the area works; the thousands are for `make fuzz` and the slow suite.
# Readers that cost seconds to build or to load (npy, tensor, manifest) have a hundred cases and more in the slow suite alone;
# damaged manifests of every day: export/test_run_faults.py.
QUICK = {"binary": 60, "options": 15}


@pytest.mark.parametrize(
    ("area", "first", "count"),
    [
        *(pytest.param(area, 0, count, id=f"{area}-quick") for area, count in QUICK.items()),
        *(pytest.param(area, 9_000_000 + at, 100, id=f"{area}-{at}", marks=pytest.mark.slow) for area in AREAS if area != "calls" for at in (0, 100)),
    ],
)
def test_damaged_input_is_refused_in_few_words(area: str, first: int, count: int) -> None:
    outcome = run_area(area, first, count)
    assert not outcome.failure, outcome.failure
    assert outcome.answers.total() == count
    assert len(outcome.answers) > 1, "the damages do no damage"


def test_probes_are_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the fuzz changes, and the conformance suite asks both packages, is Python to begin with."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools" / "conformance"))
    import probes

    calls = {probe.call for probe in probes.all_probes()}
    assert len(calls) > 1000
    for call in calls:
        ast.parse(call, mode="eval")
