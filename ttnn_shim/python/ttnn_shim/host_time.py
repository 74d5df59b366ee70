"""Wall time of a forward call on a card with a host: eager, where the host launches each device program, and replayed from a trace.

Eager: the host needs a time of its own for every program (call, checks, program cache, enqueue) and runs ahead of the device, so a program starts when both
its launch is done and the program before it has ended. Traced: the device runs alone, with the gaps that the clock has anyway. Nothing of either is
measured here; the time per program is the machine constant `host_launch` (`ttnn_shim/arch/constants.csv`, with its source). The C++ clock adds up the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

HOST_BAND = 1.0
"""Relative band of it: profiler on or off and another processor change it by up to a factor of two."""


def eager_wall_ns(programs: Iterable[tuple[float, float]], arch: str) -> float:
    """Wall time of programs (gap before, kernel; ns) that the host launches one by one; arch: "wormhole_b0" or "blackhole". 0.0 for none."""
    from ttnn_shim.simlib import simulator  # imported here, as every run loads this module and few need this

    host_ns = simulator().get(simulator().arch(arch), "host_launch")
    launched = ended = 0.0
    for gap_ns, kernel_ns in programs:
        launched += host_ns
        ended = max(launched, ended + gap_ns) + kernel_ns
    return ended


def eager_error(eager_ns: float, device_ns: float, device_error: float) -> float:
    """Relative band of an eager wall time: the host's band for what it takes beyond the device time, the clock's for the device time."""
    if eager_ns <= 0:
        return 0.0
    host_ns = max(eager_ns - device_ns, 0.0)
    return math.hypot(host_ns * HOST_BAND, device_ns * device_error) / eager_ns
