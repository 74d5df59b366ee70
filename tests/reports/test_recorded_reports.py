"""Every change of what reports show is seen: all files of made-up runs against the recorded ones."""

from __future__ import annotations

import difflib

from tests.reports.recorded import RECORDED, text


def test_reports_are_as_recorded() -> None:
    changed = "\n".join(difflib.unified_diff(RECORDED.read_text().splitlines(), text().splitlines(), "recorded", "now", lineterm="", n=1))
    assert not changed, f"reports changed; explain it in the commit and run `python -m tests.reports.recorded`\n{changed[:20_000]}"
