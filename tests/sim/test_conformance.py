"""Device programs against those of the real ttnn 0.81.1 (answers recorded by conformance_strategy.py --record)."""

from __future__ import annotations

import conformance_programs
import pytest
from conformance_strategy import CARDS, DATA, LIMITS, compare, shares
from ttnn_shim.simlib import Simulator


@pytest.mark.parametrize("arch", list(CARDS))
def test_strategy_conforms(arch: str) -> None:
    if not (DATA / f"strategy_{arch}.json").exists():
        pytest.skip("no recorded answers of the real library")
    n, share = shares(compare(arch, Simulator()))
    assert n >= 300
    assert all(share[name] >= limit for name, limit in LIMITS.items()), share


@pytest.mark.parametrize("arch", list(CARDS))
def test_programs_of_calls_conform(arch: str) -> None:
    """The same over whole calls, composite ops included, as a user's program makes them."""
    n, found, share = conformance_programs.shares(conformance_programs.compare(arch))
    assert n >= 1000
    assert found >= conformance_programs.FOUND_LIMIT
    assert all(share[name] >= limit for name, limit in LIMITS.items()), share


@pytest.mark.parametrize("arch", ["wormhole", "blackhole"])
def test_calls_of_the_real_library_are_taken(arch: str) -> None:
    refused = conformance_programs.refused(arch)
    assert len(refused) <= 4, "\n".join(refused.values())
    assert {call.partition("(")[0] for call in refused} <= set(conformance_programs.REFUSED_HERE), "\n".join(refused.values())
