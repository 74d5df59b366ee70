"""Every change of what commands say and of what words of options mean is seen: against the recorded ones."""

from __future__ import annotations

import difflib

from tests.cli.recorded import RECORDED, text


def test_commands_are_as_recorded() -> None:
    changed = "\n".join(difflib.unified_diff(RECORDED.read_text().splitlines(), text().splitlines(), "recorded", "now", lineterm="", n=1))
    assert not changed, f"commands changed; explain it in the commit and run `python -m tests.cli.recorded`\n{changed[:20_000]}"
