"""Every change of the clock is seen: predictions of the calibration rows against the recorded ones."""

from __future__ import annotations

from tests.sim.predictions import difference, predictions, recorded


def test_the_clock_is_as_recorded() -> None:
    assert difference(recorded(), predictions()) == ""


def test_a_change_is_named() -> None:
    before = recorded()
    key = next(iter(before))
    after = {**before, key: (f"{2 * float(before[key][0]):.1f}", *before[key][1:])}
    message = difference(before, after)
    assert "1 of" in message
    assert key[1] in message
    assert "(2.000)" in message
    assert difference(before, before) == ""
