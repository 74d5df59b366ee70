"""The modules beside the tests are importable. What levels make of the modules of each test is compared with `tests/data/level_modules.txt`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from tests.made_modules import watched  # noqa: E402

_modules_as_recorded, pytest_sessionfinish = watched(HERE, "level_modules.txt", "python -m tests.optimizer.recorded")
