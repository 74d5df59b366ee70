"""Runs of an emitted program in this process: with the clock alone (no tensor is loaded, no value computed), and with values for `--check`."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ttnn_shim.records import Profile
from ttnn_shim.worker import run_program

from ttnn_shim import session


def profile_of(main: Path, folder: Path, card: str, arguments: Sequence[str] = ()) -> tuple[dict[str, Any], Profile | None]:
    """(what the run left behind: "code", "report"; the profile of its last forward call). folder: for the run's own files. None where it failed."""
    profiles: list[Profile] = []
    before = dataclasses.replace(session.settings)
    session.settings.profile_dir = folder
    session.record_calls(main.parent)
    session.on_profile(profiles.append)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            done = run_program(main, ["--estimate", *arguments], card, estimate=True)
    finally:
        session.stop_recording()
        for field in dataclasses.fields(before):
            setattr(session.settings, field.name, getattr(before, field.name))
    return done, profiles[-1] if profiles and not done["code"] else None


def checked(main: Path, card: str) -> tuple[dict[str, Any], str]:
    """`./run --check`: (what the run left behind, what it printed)."""
    before, said = dataclasses.replace(session.settings), io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            done = run_program(main, ["--check"], card)
    finally:
        for field in dataclasses.fields(before):
            setattr(session.settings, field.name, getattr(before, field.name))
    return done, said.getvalue()
