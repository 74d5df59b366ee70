"""Device programs against those of the real ttnn 0.81.1 (answers recorded by conformance_strategy.py --record)."""

from __future__ import annotations

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
