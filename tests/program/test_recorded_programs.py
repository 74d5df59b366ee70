"""Every change of how programs read is seen: whole programs against the recorded ones."""

from __future__ import annotations

import pytest

from tests.program.recorded import CASES, difference, program, recorded


@pytest.mark.parametrize(("name", "language"), CASES)
def test_programs_are_as_recorded(name: str, language: str) -> None:
    changed = difference(recorded()[name, language], program(name, language))
    assert not changed, f"the program changed; explain it in the commit and run `python -m tests.program.recorded`\n{changed}"


def test_nothing_else_is_recorded() -> None:
    assert set(recorded()) == set(CASES)
