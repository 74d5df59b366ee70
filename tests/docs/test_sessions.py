"""Pages that are sessions in a terminal print what they show, numbers within 2 %."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.sessions import PAGES, differences, replayed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    wrong = [line for block, now in replayed(page.read_text(), tmp_path) for line in differences(block[2], now)]
    assert not wrong, "python -m tests.docs.sessions --write\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("shown", "now", "differs"),
    [
        ("device 0.489 ms, 50 device programs, host 0.03 s", "device 0.481 ms, 50 device programs, host 9.1 s", False),
        ("device 0.489 ms, 50 device programs", "device 0.470 ms, 50 device programs", True),
        ("device 0.055 ms", "device 0.056 ms", False),
        ("50 device programs", "51 device programs", False),
        ("5 device programs", "6 device programs", True),
        ("relative error 2.84e-03", "relative error 3.2e-03", False),
        ("relative error 2.84e-03", "relative error 9.2e-03", True),
        ("check: passed", "check: FAILED", True),
        ("one line", "one line\nanother", True),
    ],
)
def test_what_counts_as_different(shown: str, now: str, differs: bool) -> None:
    assert bool(differences(shown, now)) == differs
