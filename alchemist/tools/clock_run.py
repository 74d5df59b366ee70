"""Runs of an emitted program: with the clock alone (no tensor is loaded, no value computed), and with values for `--check`."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ttnn_shim.records import Profile
from ttnn_shim.worker import run_program

import ttnn_shim
from ttnn_shim import session


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """Of a forward pass, of each chip. ccl_ns: of the collectives in device_ns. l1_peak_bytes: of tensors, per core. dram_bytes: at their most.

    failure: why there is no time.
    """

    device_ns: float = math.nan
    ccl_ns: float = 0.0
    l1_peak_bytes: int = 0
    dram_bytes: int = 0
    failure: str = ""


def totals_of(program: Path, card: str) -> Totals:
    """Of the program in a directory, by the clock alone, in a process of its own: the caller's device may be open. card: a card or a system."""
    command = [sys.executable, "-m", "alchemist.tools.clock_run", str(program), card]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return Totals(failure=(done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1])
    return Totals(**json.loads(done.stdout))


def main(arguments: Sequence[str]) -> int:
    """`DIRECTORY CARD`: the totals of the program as JSON, its error on stderr."""
    ttnn_shim.activate(explicit=True)
    with tempfile.TemporaryDirectory(prefix="alchemist-clock-") as folder:
        done, profile = profile_of(Path(arguments[0]).resolve() / "main.py", Path(folder), arguments[1])
    if profile is None:
        print(" ".join(done["error"].split()) or f"exit code {done['code']}", file=sys.stderr)
        return 1
    l1_peak_bytes = max((program.l1_peak_bytes for program in profile.programs), default=0)
    dram_bytes = profile.dram_banks * max((program.dram_bytes for program in profile.programs), default=0)
    print(json.dumps(dataclasses.asdict(Totals(profile.device_ns, profile.ccl_ns, l1_peak_bytes, dram_bytes))))
    return 0


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
