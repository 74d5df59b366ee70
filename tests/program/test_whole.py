"""Whole programs read as their goldens do."""

from __future__ import annotations

import pytest

from tests.golden import same_as_golden
from tests.program.whole import FOLDER, GOLDEN, program


@pytest.mark.parametrize(("name", "language"), GOLDEN)
def test_programs_read_as_the_golden(name: str, language: str) -> None:
    same_as_golden(program(name, language), FOLDER / f"{name.replace(' ', '_')}_{language}.txt")


def test_every_golden_has_a_program() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {f"{name.replace(' ', '_')}_{language}" for name, language in GOLDEN}
