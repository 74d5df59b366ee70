"""The modules beside the tests are importable. What levels make of the modules of each test is compared with `tests/data/level_modules.txt`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from tests.made_modules import MadeModules  # noqa: E402

_MADE = MadeModules(HERE, HERE.parent / "data" / "level_modules.txt", "python -m tests.optimizer.recorded")


@pytest.fixture(autouse=True)
def _modules_as_recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from _MADE.watch(request, monkeypatch)


def pytest_sessionfinish() -> None:
    _MADE.finish()
