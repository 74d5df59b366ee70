"""A script in a process that was forked for it."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path


def run_script(script: Path, arguments: Sequence[str], output: str, path: str) -> None:
    """As `python script arguments` with this PATH; what it prints goes to the file `output`."""
    with open(output, "w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    os.environ["PATH"] = path
    sys.argv = [str(script), *arguments]
    sys.path[0] = str(script.parent)
    runpy.run_path(str(script), run_name="__main__")
    sys.stdout.flush()
