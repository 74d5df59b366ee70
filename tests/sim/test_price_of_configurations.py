"""What a call ran, written down as a configuration and read back, has the price that it had: every ninth call of the referee's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def priced_otherwise(step: int) -> Iterator[str]:
    """Programs of every `step`-th call whose price changes. In a process of its own: the card is chosen once."""
    from ttnn_shim.simlib import simulator

    import ttnn_shim
    from tests.sim.conformance_programs import PRELUDE, calls
    from ttnn_shim import session

    session.settings.card, session.settings.estimate = "n150", True
    ttnn_shim.activate(explicit=True)
    scope: dict[str, object] = {}
    exec(PRELUDE, scope)
    sim, device = simulator(), scope["d"]
    arch = sim.arch("n150")
    device.events_enable(True)
    device.configs_keep(True)
    for call in list(calls())[::step]:
        device.clock_reset()
        device.configs_take()
        try:
            eval(call, scope)
        except (RuntimeError, TypeError, ValueError):
            continue
        for event, config in zip(device.events(), device.configs_take(), strict=True):
            ns = sim.price(arch, sim.config(config)).ns
            if abs(ns - event["ns"]) > 1e-6 * ns and event["factory"] != "Empty":
                yield f"{event['op']}: {event['ns']} ns, {ns} ns of its configuration: {call}"


def test_programs_have_the_price_of_what_is_written_down_of_them() -> None:
    code = "import json; from tests.sim.test_price_of_configurations import priced_otherwise; print(json.dumps([*priced_otherwise(9)]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == []
