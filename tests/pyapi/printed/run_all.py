"""Runs every program of this folder in one process, as tt-alchemist's `run` does one of them."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
for program in sorted(HERE.glob("*.py")):
    if program.name not in ("run_all.py", "utils.py"):
        assert runpy.run_path(str(program))["main"]() == 0
        print("ran", program.stem, flush=True)
