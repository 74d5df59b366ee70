"""Every change of what the levels choose is seen: decisions for small modules against the recorded ones."""

from __future__ import annotations

import pytest

from tests.optimizer.recorded import CASES, decided, difference, recorded


@pytest.mark.parametrize(("name", "card", "level"), CASES)
def test_choices_are_as_recorded(name: str, card: str, level: int) -> None:
    moved = difference(recorded()[name, card, level], decided(name, card, level))
    assert not moved, f"choices changed; explain it in the commit and run `python -m tests.optimizer.recorded`\n{moved}"


def test_nothing_else_is_recorded() -> None:
    assert set(recorded()) == set(CASES)
