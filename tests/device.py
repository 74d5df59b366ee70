"""The simulated card of a test process. Folders share it: xdist runs their tests in any order in one process."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

L1_SMALL_BYTES = 32768


@contextlib.contextmanager
def simulated_device() -> Iterator[Any]:
    """The card that is open in this process, else a new one, which is closed after. The simulator's ttnn is active."""
    import ttnn

    from ttnn_shim import session

    shared = session.has_device()
    device = ttnn.open_device(device_id=0, l1_small_size=L1_SMALL_BYTES)
    try:
        yield device
    finally:
        if not shared:
            ttnn.close_device(device)


def open_devices() -> list[Any]:
    """The cards that are open in this process."""
    session = sys.modules.get("ttnn_shim.session")
    return [] if session is None else list(session._devices)


@contextlib.contextmanager
def as_found() -> Iterator[None]:
    """A test leaves the cards open that it found open, and the simulator's settings as they were.

    Tests of other folders share the process; what one of them breaks would fail in a hundred others.
    """
    devices = open_devices()
    session = sys.modules.get("ttnn_shim.session")
    settings = dataclasses.replace(session.settings) if session is not None else None
    yield
    assert all(device in open_devices() for device in devices), "this test has closed a device that it did not open: tests/device.py"
    assert settings is None or settings == sys.modules["ttnn_shim.session"].settings, "this test has changed the simulator's settings"
