"""Every change of what small values print, hold and answer is seen: against the recorded ones."""

from __future__ import annotations

import difflib
import subprocess
import sys

from tests.pyapi.recorded_values import RECORDED


def test_values_are_as_recorded() -> None:
    """In a process of its own: other tests count tensors up and add methods to them. With the simulator beside the `ttnn_shim` found."""
    command = [sys.executable, "-c", "import ttnn_shim; ttnn_shim.activate(explicit=True); from tests.pyapi.recorded_values import text; print(text(), end='')"]
    done = subprocess.run(command, cwd=RECORDED.parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    changed = "\n".join(difflib.unified_diff(RECORDED.read_text().splitlines(), done.stdout.splitlines(), "recorded", "now", lineterm="", n=1))
    assert not changed, f"values changed; explain it in the commit and run `python -m tests.pyapi.recorded_values`\n{changed[:20_000]}"
