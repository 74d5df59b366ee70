"""`python -m ttnn_shim run ./program`: a compiled program that links the simulator's TT-NN, with the line, JSON and reports of a plain script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ttnn_shim.plain import PlainRun
from ttnn_shim.profiles import events_profile


def run_compiled(
    program: Path, arguments: Sequence[str], card: str, *, estimate: bool = False, profile_dir: Path | None = None, json_file: Path | None = None
) -> int:
    """Runs the program; prints its totals, and writes `json_file` and the reports of its devices. Returns its exit code, 128 + the signal that ended it.

    A program that uses no device, or another library, has no totals.
    """
    run = PlainRun(json_file)
    with tempfile.TemporaryDirectory(prefix="ttnn_shim.") as folder:
        file = Path(folder) / "events.jsonl"
        environment = os.environ | {"TTNN_SHIM_CARD": card, "TTNN_SHIM_ESTIMATE": str(int(estimate)), "TTNN_SHIM_PLAIN_EVENTS": str(file)}
        code = subprocess.run([str(program.resolve()), *arguments], env=environment, check=False).returncode
        devices: list[dict[str, Any]] = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    for device in devices:
        run.add(device, device["events"])
    if devices:
        run.show()
    else:
        print("run: the program used no simulated device: is it linked with the simulator's TT-NN?", file=sys.stderr)
    if profile_dir is not None and devices:
        from ttnn_shim import reports

        reports.write_and_show(events_profile(devices[-1]["events"], card, program.resolve().parent), profile_dir)
    return code if code >= 0 else 128 - code
