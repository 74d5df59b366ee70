"""What holds for the tests of all folders."""

from __future__ import annotations

import dataclasses
import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.device import open_devices

# Nearly all that collecting makes stays until the end: looking for garbage meanwhile takes a fifth as long again.
gc.disable()

# JAX compiles hundreds of small programs for values to compare with: most of its optimisation passes take longer than what they save here.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# Programs in C++ are built by a compiler that knows their headers already.
COMPILER = str(Path(__file__).parent / "compiler")
if COMPILER not in os.environ["PATH"].split(os.pathsep):
    os.environ["PATH"] = f"{COMPILER}{os.pathsep}{os.environ['PATH']}"

# A shell starts what runs in its background with Ctrl-C ignored, and so would be every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """For what is recorded of fast tests alone."""
    os.environ["TEST_IS_SLOW"] = "1" if item.get_closest_marker("slow") else ""


def pytest_collection_finish() -> None:
    """What is loaded by now stays until the end: the garbage collector, which would walk all of it a hundred times, is told so."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _process_as_found() -> Iterator[None]:
    """A test leaves the cards open that it found open, and the simulator's settings as they were.

    Tests of other folders share the process; what one of them breaks would fail in a hundred others.
    """
    devices = open_devices()
    session = sys.modules.get("ttnn_shim.session")
    settings = dataclasses.replace(session.settings) if session is not None else None
    yield
    assert all(device in open_devices() for device in devices), "this test has closed a device that it did not open: tests/device.py"
    assert settings is None or settings == sys.modules["ttnn_shim.session"].settings, "this test has changed the simulator's settings"
