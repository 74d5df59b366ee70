"""`alchemist verify DIR`: runs an emitted Python program on the real ttnn wheel, over a mock device.

The wheel's own host code checks every call: signature, validation, program factories, allocator. No kernel runs, so values
mean nothing and no card is needed. The wheel lives in a virtual environment of its own (Python 3.12 or 3.10), made once.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alchemist.errors import UserError
from alchemist.verify.environment import MockRuntime

_RECORDER = Path(__file__).with_name("recorder.py")
_TIMEOUT_S = 3600


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


def run_on_real_ttnn(directory: Path, *, arch: str = "wormhole_b0", program: str = "main.py") -> Verdict:
    """Runs `directory/program` in the wheel's environment.

    Raises:
        UserError: there is no such program. ToolchainError: no suitable Python, or the wheel cannot be installed.
    """
    if not (directory / program).is_file():
        raise UserError(f"no {program} in {directory}", location=str(directory), hint="give the directory of codegen_py")
    runtime = MockRuntime.prepare()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "calls.jsonl"
        done = subprocess.run(
            [str(runtime.python), str(_RECORDER), str(directory.resolve() / program), str(report)],
            env=os.environ | runtime.environment(arch),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
        lines = report.read_text().splitlines() if report.exists() else []
    # A call is written when it starts and again when it ends: the last record of an index counts.
    by_index = {record["index"]: record for record in map(json.loads, lines) if "index" in record}
    ends = [record["fatal"] for record in map(json.loads, lines) if "fatal" in record]
    crash = f"the ttnn process died with code {done.returncode}: {done.stderr[-300:]}" if not ends else ""
    calls = [by_index[index] for index in sorted(by_index)]
    rejected = [call for call in calls if call["status"] in ("rejected", "started")]
    return Verdict(calls, ends[-1] if ends else "", crash, arch, rejected)


def verify_directory(directory: Path, *, arch: str, json_path: Path | None = None) -> int:
    """The command: prints rejections and a summary; returns 0 when the real package accepts every call."""
    verdict = run_on_real_ttnn(directory, arch=arch)
    for call in verdict.rejected:
        reason = "the process died in this call" if call["status"] == "started" else call["error"]
        print(f"rejected  {call['at']}  {call['call']}: {reason}")
    for text in (verdict.fatal, verdict.crash):
        if text:
            print(text)
    programs = sum(len(call.get("programs", ())) for call in verdict.calls)
    print(
        f"{directory}: {len(verdict.calls)} calls, {programs} device programs, {len(verdict.rejected)} rejected"
        f" by the real ttnn on {arch}"
    )
    if json_path is not None:
        json_path.write_text(json.dumps({"arch": arch, "accepted": verdict.accepted, "calls": list(verdict.calls)}, indent=1))
    return 0 if verdict.accepted else 1
