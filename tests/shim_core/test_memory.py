"""Addresses, bytes per bank and out-of-memory errors of whole programs against the real package's recorded answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shim_core import memory_programs
from tests.shim_core.record_memory import ARCHS, DATA, L1_SMALL_BYTES, PROGRAMS

CASES = [(arch, size) for arch in ARCHS for size in L1_SMALL_BYTES]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Answers of the simulator, by (architecture, l1_small_size); one process each."""
    made: dict[tuple[str, int], Any] = {}

    def answers(case: tuple[str, int]) -> Any:
        if case not in made:
            out: Path = tmp_path_factory.mktemp("memory") / "answers.json"
            command = [sys.executable, "-m", "ttnn_shim", "run", "--arch", ARCHS[case[0]], "--estimate", str(PROGRAMS), str(out), str(case[1])]
            subprocess.run(command, env=dict(os.environ), check=True, timeout=300)
            made[case] = json.loads(out.read_text())
        return made[case]

    return answers


@pytest.mark.parametrize("program", memory_programs.PROGRAMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_program(simulated: Any, case: tuple[str, int], program: str) -> None:
    real = json.loads((DATA / f"{case[0]}-{case[1]}.json").read_text())["answers"][program]
    mine = simulated(case)[program]
    assert [step["step"] for step in real] == memory_programs.PROGRAMS[program], "ask the real package again: record_memory.py"
    for expected, got in zip(real, mine, strict=True):
        seen = {key: got[key] for key in expected if key in got}
        assert seen == expected, f"{expected['step']}: expected {expected}, got {got}"
        assert ("refused" in got) == ("refused" in expected), f"{expected['step']}: {got.get('error', 'accepted')}"
