"""Asks the real ttnn wheel (over a mock device, see `alchemist verify`) about the memory of memory_programs.py; writes tests/data/memory.

python tests/shim_core/record_memory.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY))

from alchemist.verify.environment import TTNN_WHEEL, MockRuntime  # noqa: E402
from tests.golden import json_rows  # noqa: E402

PROGRAMS = Path(__file__).with_name("memory_programs.py")
DATA = REPOSITORY / "tests" / "data" / "memory"
ARCHS = {"wormhole_b0": "n150", "blackhole": "p150"}  # architecture -> the card that the simulator models
L1_SMALL_BYTES = (32768, 0)


def ask(arch: str, l1_small_bytes: int) -> dict[str, list[dict[str, Any]]]:
    runtime = MockRuntime.prepare()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "answers.json"
        command = [str(runtime.python), str(PROGRAMS), str(out), str(l1_small_bytes)]
        subprocess.run(command, env=os.environ | runtime.environment(arch), cwd=scratch, check=True, capture_output=True, timeout=600)
        answers: dict[str, list[dict[str, Any]]] = json.loads(out.read_text())
    for steps in answers.values():
        for step in steps:
            step.pop("error", None)  # its words are the real package's
    return answers


def main() -> None:
    for arch in ARCHS:
        for size in L1_SMALL_BYTES:
            source = {"source": f"{TTNN_WHEEL} over a mock {arch}, l1_small_size {size}"}
            (DATA / f"{arch}-{size}.json").write_text(json_rows(source, ask(arch, size)))


if __name__ == "__main__":
    main()
