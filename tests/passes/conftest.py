"""Helpers of this folder are imported by name. What passes make of the modules of each test is compared with `tests/data/pass_modules.txt`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from tests.made_modules import MadeModules  # noqa: E402

_MADE = MadeModules(HERE, HERE.parent / "data" / "pass_modules.txt", "python tests/passes/recorded_ir.py")


@pytest.fixture(autouse=True)
def _modules_as_recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from _MADE.watch(request, monkeypatch)


def pytest_sessionfinish() -> None:
    _MADE.finish()
