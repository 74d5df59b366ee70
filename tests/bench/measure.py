"""Interleaved timing and what is printed of it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured ratio; lower is better unless `at_least`."""

    name: str
    ours: float
    peer: float
    unit: str
    ratio: float
    target: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.ratio >= self.target if self.at_least else self.ratio <= self.target


def interleaved(ours: Callable[[], Any], peer: Callable[[], Any], *, rounds: int = 9, warm: int = 2) -> tuple[float, float]:
    """Lower-quartile seconds of both, called in turns: what other processes of the machine add comes in bursts and only ever adds."""
    ours_s: list[float] = []
    peer_s: list[float] = []
    for round_ in range(warm + rounds):
        for function, times in ((ours, ours_s), (peer, peer_s)):
            start_s = time.perf_counter()
            function()
            if round_ >= warm:
                times.append(time.perf_counter() - start_s)
    return statistics.quantiles(ours_s, n=4)[0], statistics.quantiles(peer_s, n=4)[0]
