"""The simulator's `ttnn` for the tests of the Python API, and one device for all of them."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ttnn_shim

if "TTNN_SHIM_LIBRARY" in os.environ:  # for the tests' own processes in other directories
    os.environ["TTNN_SHIM_LIBRARY"] = os.path.abspath(os.environ["TTNN_SHIM_LIBRARY"])
ttnn_shim.activate(explicit=True)

from tests.device import simulated_device  # noqa: E402

API_FILE = Path(__file__).parents[1] / "data" / "ttnn_api.json.gz"


@pytest.fixture(scope="session")
def api() -> dict[str, Any]:
    """Names, signatures, enums and classes of the real package."""
    entries: dict[str, Any] = json.loads(gzip.decompress(API_FILE.read_bytes()))["entries"]
    return entries


@pytest.fixture(scope="session")
def device() -> Iterator[Any]:
    with simulated_device() as opened:
        yield opened
