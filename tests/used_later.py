"""Packages that take seconds to import and that few tests need: imported at their first use, not wherever tests are collected."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import pytest


class _UsedLater:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


def used_later(name: str) -> Any:
    """What stands for a module. Tests of the calling module are skipped where there is no such package."""
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"no {name}", allow_module_level=True)
    return _UsedLater(name)
