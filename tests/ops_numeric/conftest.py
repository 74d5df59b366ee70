"""The simulator's `ttnn` and one device for the numeric tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import ttnn_shim

if "TTNN_SHIM_LIBRARY" in os.environ:
    os.environ["TTNN_SHIM_LIBRARY"] = os.path.abspath(os.environ["TTNN_SHIM_LIBRARY"])
ttnn_shim.activate(explicit=True)

from tests.device import simulated_device  # noqa: E402


@pytest.fixture(scope="session")
def device() -> Iterator[Any]:
    with simulated_device() as opened:
        yield opened


@pytest.fixture
def ieee_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN in bfloat16 results, to compare with PyTorch. Without it they hold infinities, as on a card."""
    monkeypatch.setenv("TTNN_SHIM_NAN", "ieee")
