"""`alchemist verify DIR ...`: runs emitted Python programs on the real ttnn wheel, over a mock device.

The wheel's own host code checks every call: signature, validation, program factories, allocator. No kernel runs, so values
mean nothing and no card is needed. The wheel lives in a virtual environment of its own (Python 3.12 or 3.10), made once.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alchemist.errors import UserError
from alchemist.progress import Progress
from alchemist.verify.environment import MockRuntime
from alchemist.verify.mock_systems import descriptions

_RECORDER = Path(__file__).with_name("recorder.py")
_TIMEOUT_S = 3600
MACHINES = tuple(descriptions())
"""What a program may be run on: an architecture, or a system of several chips."""
DEFAULT_MACHINE = MACHINES[0]


@dataclass(frozen=True, slots=True)
class Verdict:
    """calls: one record per ttnn call (see `recorder.py`); crash: signal text if the wheel itself died, else ""."""

    calls: Sequence[dict[str, Any]]
    fatal: str
    crash: str
    arch: str
    rejected: Sequence[dict[str, Any]] = field(default=())

    @property
    def accepted(self) -> bool:
        return not self.rejected and not self.fatal and not self.crash

    def lines(self, title: str) -> list[str]:
        """Rejections, what ended the program if anything, and a summary."""
        found = []
        for call in self.rejected:
            reason = "the process died in this call" if call["status"] == "started" else call["error"]
            found.append(f"rejected  {call['at']}  {call['call']}: {reason}")
        found += [text for text in (self.fatal, self.crash) if text]
        programs = sum(len(call.get("programs", ())) for call in self.calls)
        counts = f"{len(self.calls)} calls, {programs} device programs, {len(self.rejected)} rejected"
        return [*found, f"{title}: {counts} by the real ttnn on {self.arch}"]


class RealTtnn:
    """The wheel in a process of its own, for any number of programs. `with RealTtnn() as real: verdict = real.run(directory)`

    Raises (constructor):
        ToolchainError: no suitable Python, or the wheel cannot be installed.
    """

    def __init__(self, arch: str = DEFAULT_MACHINE) -> None:
        runtime = MockRuntime.prepare()
        self.arch = arch
        self._scratch = tempfile.TemporaryDirectory()
        self._words = Path(self._scratch.name) / "stderr"
        with self._words.open("w") as stderr:
            self._process = subprocess.Popen(
                [str(runtime.python), str(_RECORDER), str(_TIMEOUT_S)],
                env=os.environ | runtime.environment(arch),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                errors="replace",  # text
            )

    def run(self, directory: Path, *, program: str = "main.py") -> Verdict:
        """Runs `directory/program`.

        Raises:
            UserError: there is no such program.
        """
        file = _program(directory, program)
        report = Path(self._scratch.name) / "calls.jsonl"
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([str(file), str(report)]) + "\n")
            self._process.stdin.flush()
            ended = self._process.stdout.readline()
        except BrokenPipeError:
            ended = ""
        if not ended:  # the wheel could not even be imported
            words = self._words.read_text(errors="replace")[-300:]
            return Verdict((), "", f"the ttnn process died with code {self._process.wait()}: {words}", self.arch)
        return _verdict(report, self.arch)

    def __enter__(self) -> RealTtnn:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError):  # of a process that has died
            self._process.__exit__(None, None, None)
        self._scratch.cleanup()


def machine_of(directory: Path) -> str:
    """The chip or system that a program was emitted for, as its manifest says; a program without one may be for any."""
    try:
        device = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))["device"]
        found = device.get("system") or device["arch"]
    except (AttributeError, OSError, ValueError, KeyError, TypeError):
        return DEFAULT_MACHINE
    return found if found in MACHINES else DEFAULT_MACHINE


def _verdict(report: Path, arch: str) -> Verdict:
    lines = [json.loads(line) for line in report.read_text().splitlines() if line]
    # A call is written when it starts and again when it ends: the last record of an index counts.
    by_index = {record["index"]: record for record in lines if "index" in record}
    fatal = next((record["fatal"] for record in lines if "fatal" in record), "")
    died = next((record["died"] for record in lines if "died" in record), None)
    crash = ""
    if died is not None:
        crash = f"the ttnn process died with code {died}: {Path(f'{report}.err').read_text(errors='replace')[-300:]}"
    calls = [by_index[index] for index in sorted(by_index)]
    rejected = [call for call in calls if call["status"] in ("rejected", "started")]
    return Verdict(calls, fatal, crash, arch, rejected)


def _program(directory: Path, name: str) -> Path:
    file = directory.resolve() / name
    if not file.is_file():
        raise UserError(f"no {name} in {directory}", location=str(directory), hint="pass the directory that codegen_py wrote")
    return file


def verify_directories(directories: Sequence[Path], *, arch: str | None = None, json_path: Path | None = None) -> int:
    """The command: prints rejections and a summary; returns 0 when the real package accepts every call.

    Without directories it only makes the environment. arch: chip or system; each directory is run on the one that it was emitted for where None.
    """
    for directory in directories:  # before an environment is made
        _program(directory, "main.py")
    results: list[dict[str, Any]] = []
    with contextlib.ExitStack() as open_packages:
        packages: dict[str, RealTtnn] = {}

        def package(machine: str) -> RealTtnn:
            return packages.get(machine) or packages.setdefault(machine, open_packages.enter_context(RealTtnn(machine)))

        if not directories:
            package(arch or DEFAULT_MACHINE)
        for directory in directories:
            machine = arch or machine_of(directory)
            with Progress().stage("verify", f"{directory} on the real ttnn, {machine}"):
                verdict = package(machine).run(directory)
            print("\n".join(verdict.lines(str(directory))), flush=True)
            results.append({"directory": str(directory), "arch": machine, "accepted": verdict.accepted, "calls": list(verdict.calls)})
    if json_path is not None and results:
        json_path.write_text(json.dumps(results if len(results) > 1 else results[0], indent=1))
    return 0 if all(result["accepted"] for result in results) else 1
