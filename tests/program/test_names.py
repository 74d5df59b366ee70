"""Names of values that have nothing but their order to tell them apart."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from alchemist.program.names import nth, unique


def given(candidates: Sequence[str], count: int) -> list[str]:
    found: list[str] = []
    for _ in range(count):
        found.append(unique(candidates, lambda name: name not in found))
    return found


@pytest.mark.parametrize(
    ("candidates", "wanted"),
    [
        (("x",), ["x", "x_2", "x_3", "fourth_x", "fifth_x"]),
        (("state", "gate"), ["state", "gate", "state_2", "state_3", "gate_2", "gate_3", "fourth_state"]),
        (("x_1",), ["x_1", "x_2", "x_3", "fourth_x"]),
        ((), ["value_2", "value_3"]),
    ],
)
def test_small_numbers_then_ordinals(candidates: Sequence[str], wanted: list[str]) -> None:
    assert given(candidates, len(wanted)) == wanted


def test_many_values() -> None:
    """Ordinals end somewhere; names are never given twice."""
    found = given(("x",), 30)
    assert len(set(found)) == 30
    assert found[-1] == "x_17"
    assert [nth("x", number) for number in (2, 3, 4, 16, 17)] == ["x_2", "x_3", "fourth_x", "sixteenth_x", "x_17"]
