"""Helpers of this folder are imported by name. What passes make of the modules of each test is compared with `tests/data/pass_modules.txt`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from tests.made_modules import watched  # noqa: E402

_modules_as_recorded, pytest_sessionfinish = watched(HERE, "pass_modules.txt", "python tests/passes/recorded_ir.py")
