"""Every change of what small values print, hold and answer is seen: against the recorded ones."""

from __future__ import annotations

import difflib

from tests.pyapi.recorded_values import RECORDED, text


def test_values_are_as_recorded() -> None:
    changed = "\n".join(difflib.unified_diff(RECORDED.read_text().splitlines(), text().splitlines(), "recorded", "now", lineterm="", n=1))
    assert not changed, f"values changed; explain it in the commit and run `python -m tests.pyapi.recorded_values`\n{changed[:20_000]}"
