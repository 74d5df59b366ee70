"""Writes down again what tests compare with: `python -m tests.record [NAME ...]`, all where none is named; say in the commit why they changed.

Run after `make setup`: what a change moves shows in `git diff tests/data tests/cpp`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORDERS = {
    "calls": [],  # of the C++ core: see tests/cpp/README.md
    "answers": ["-m", "tests.ops.answers"],
    "predictions": ["-m", "tests.sim.predictions"],
    "programs_of_calls": ["-m", "tests.sim.recorded_calls"],
    "values": ["-m", "tests.pyapi.recorded_values"],
    "words": ["-m", "pytest", "-q", "tests/pyapi/test_verdicts.py"],
    "refusals": ["-m", "tests.mlir.recorded"],
    "uses": ["-m", "tests.mlir.changed_uses"],
    "commands": ["-m", "tests.cli.recorded"],
    "pipelines": ["-m", "tests.cli.pipelines"],
    "reports": ["-m", "tests.reports.recorded"],
    "passes": ["tests/passes/recorded_ir.py"],
    "programs": ["-m", "tests.program.recorded"],
    "decisions": ["-m", "tests.optimizer.recorded"],
    "captured": ["-m", "tests.captured"],
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.record", description="writes down again what tests compare with")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RECORDERS))
    names = parser.parse_args().names or list(RECORDERS)
    if unknown := sorted(set(names) - RECORDERS.keys()):
        parser.error(f"no recorder {', '.join(unknown)}: {', '.join(RECORDERS)}")
    failed = []
    for name in names:
        print(name, flush=True)
        programs = sorted(ROOT.glob("build/editable-*/tests/cpp/shim_tests"), key=lambda path: path.stat().st_mtime)
        words = [sys.executable, *RECORDERS[name]] if name != "calls" else [*map(str, programs[-1:]), "recorded_calls"]
        if subprocess.run(words, cwd=ROOT, env=os.environ | {"SHIM_RECORD": "1", "REFUSALS_ARE_RECORDED": "1", "OMP_NUM_THREADS": "1"}, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
