"""Calls with program configs and shards, drawn around valid ones: taken or refused, and placed, as the real package did (recorded.py)."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "tools" / "conformance"
sys.path.insert(0, str(FOLDER))
import recorded  # noqa: E402
import run  # noqa: E402

KNOWN: dict[str, dict[str, list[str] | None]] = json.loads(gzip.decompress(recorded.FILE.read_bytes()))


@pytest.mark.parametrize("arch", [pytest.param(arch, marks=pytest.mark.slow if arch == "blackhole" else ()) for arch in run.CARDS])
def test_config_verdicts(arch: str, tmp_path: Path) -> None:
    """Every row is judged: a new one needs `python tools/conformance/recorded.py`."""
    rows = [probe for probe in recorded.config_probes() if run.key_of(probe) in KNOWN[arch]]
    assert len(rows) >= 0.98 * len(recorded.config_probes())
    work, report = tmp_path / "probes.json", tmp_path / "answers.jsonl"
    work.write_text(json.dumps([probe.as_json() for probe in rows]))
    command = [sys.executable, "-m", "ttnn_shim", "run", "--estimate", "--arch", run.CARDS[arch], str(FOLDER / "runner.py"), str(work), str(report)]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, capture_output=True)
    answers: dict[str, Any] = {answer["id"]: answer for answer in map(json.loads, report.read_text().splitlines())}
    wrong = [
        f"{probe.id}: real {KNOWN[arch][run.key_of(probe)]}, shim {answers[probe.id].get('error') or recorded.placed(probe, answers[probe.id])}"
        for probe in rows
        if recorded.placed(probe, answers[probe.id]) != KNOWN[arch][run.key_of(probe)]
    ]
    assert len(wrong) <= 0.001 * len(rows), "\n".join(wrong)
