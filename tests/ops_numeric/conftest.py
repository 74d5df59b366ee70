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

import ttnn  # noqa: E402  (only after activation)


@pytest.fixture(scope="session")
def device() -> Iterator[Any]:
    opened = ttnn.open_device(device_id=0, l1_small_size=32768)
    yield opened
    ttnn.close_device(opened)
