"""What commands say and what words of options mean: `tests/data/commands.txt`."""

from __future__ import annotations

from tests.cli.commands import GOLDEN, text
from tests.golden import same_as_golden


def test_commands_say_what_the_golden_says() -> None:
    same_as_golden(text(), GOLDEN)
