"""The conformance script beside the tests is importable; a simulator for the tests of a file."""

import sys
from pathlib import Path

import pytest
from ttnn_shim.simlib import Simulator

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(scope="module")
def sim() -> Simulator:
    """A simulator of its own: these tests change constants."""
    return Simulator()
