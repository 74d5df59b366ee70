"""Interleaved timing and what is printed of it."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


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


def in_new_process(module: str, call: str) -> dict[str, float]:
    """What `call`, written as in `module`, returns in a process of its own: its imports, memory peak and caches are those of a first run.

    Raises:
        RuntimeError: the process printed no row; with the end of what it wrote to stderr.
    """
    code = f"import json\nfrom {module} import *\nprint('ROW ' + json.dumps({call}))"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    row = next((line for line in done.stdout.splitlines() if line.startswith("ROW ")), None)
    if row is None:
        raise RuntimeError(f"{call} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(row[4:])
    return found
