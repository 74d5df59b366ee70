"""Every change of what ops answer, of the programs that they run and of their cycles is seen: against the recorded ones."""

from __future__ import annotations

import difflib

import pytest

from tests.ops.answers import CARDS, RECORDED, answers


@pytest.mark.parametrize("card", CARDS)
def test_answers_are_as_recorded(card: str) -> None:
    before = [row for row in RECORDED.read_text().splitlines() if row.startswith(f"{card} ")]
    changed = "\n".join(difflib.unified_diff(before, answers(card), "recorded", "now", lineterm="", n=0))
    assert not changed, (
        "answers changed; explain it in the commit and run `python -m tests.ops.answers`; ANSWERS_ARE_WRITTEN_TO=FILE writes all of them, "
        f"to be compared with those of the code before\n{changed[:8000]}"
    )
