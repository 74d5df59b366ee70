from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.soak.run import KINDS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_memory_stays_flat(kind: str) -> None:
    """A tenth of `python -m tools.soak.run`, each kind in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "tools.soak.run", kind, "--divide", "10"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
