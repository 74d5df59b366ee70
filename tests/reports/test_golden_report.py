"""The reports of one run with two calls of a model, as text: `golden/`."""

from __future__ import annotations

from pathlib import Path

from tests.golden import same_as_golden
from tests.reports.made_up import reports

FOLDER = Path(__file__).parent / "golden"


def test_reports_read_as_the_golden() -> None:
    made = {name.partition(": ")[2]: text for name, text in reports().items() if name.startswith("blackhole: ")}
    for name, text in made.items():
        same_as_golden(f"{text.rstrip()}\n", FOLDER / f"{name.replace('/', '_')}.txt")
    assert {path.name for path in FOLDER.iterdir()} == {f"{name.replace('/', '_')}.txt" for name in made}
