"""Exports run as users run them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def run_checked(directory: Path) -> str:
    """What `./run --check` says; it has to pass."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "TTNN_SHIM_LIBRARY") if name in os.environ} | {"OMP_NUM_THREADS": "1"}
    made = subprocess.run([str(directory / "run"), "--check"], cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout
