"""Progress lines of long commands."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from alchemist import progress


def test_seconds_of_a_pass_continue_those_of_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    seconds = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: seconds[0]))
    command = progress.Progress(verbose=True)
    with command.stage("lower"):
        seconds[0] = 14.5
        progress.Progress(verbose=True).say("searching")
    progress.Progress(verbose=True).say("another command")
    assert capsys.readouterr().err.splitlines() == [
        "[alchemist    0.0 s] lower ...",
        "[alchemist   14.5 s] searching",
        "[alchemist    0.0 s] another command",
    ]
