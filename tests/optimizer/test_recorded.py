"""Every change of what the levels choose is seen: decisions for small modules against the recorded ones."""

from __future__ import annotations

import pytest

from tests.optimizer.recorded import CASES, OFFERED, decided, difference, offered, recorded, recorded_offers


@pytest.mark.parametrize(("name", "card", "level"), CASES)
def test_choices_are_as_recorded(name: str, card: str, level: int) -> None:
    moved = difference(recorded()[name, card, level], decided(name, card, level))
    assert not moved, f"choices changed; explain it in the commit and run `python -m tests.optimizer.recorded`\n{moved}"


@pytest.mark.parametrize(("name", "card"), OFFERED)
def test_candidates_are_as_recorded(name: str, card: str) -> None:
    moved = difference(recorded_offers()[f"=== {name}, {card}"], offered(name, card))
    assert not moved, f"other candidates; explain it in the commit and run `python -m tests.optimizer.recorded`\n{moved}"


def test_nothing_else_is_recorded() -> None:
    assert set(recorded()) == set(CASES)
    assert recorded_offers().keys() == {f"=== {name}, {card}" for name, card in OFFERED}
