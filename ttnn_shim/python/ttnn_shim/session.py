"""What one run of a program on the simulator shares: its settings, the open devices, the clock of the last forward call.

`python -m ttnn_shim run` fills `settings` before the program starts; `ttnn.open_device` reads them and calls `device_opened`
/ `device_closed`. Emitted programs use `begin_forward`, `end_forward`, `card` and `check_ops` when this module is loaded,
so that the same program runs on a card without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class ClockedDevice(Protocol):
    """The part of a simulated device that the session needs (implemented by `ttnn`'s device class)."""

    def clock_reset(self) -> None:
        """Starts a new measurement: drops all recorded device programs."""

    def clock_read(self) -> dict[str, Any]:
        """{"device_ns", "cycles", "ops", "uncalibrated"} since `clock_reset`."""


@dataclass(slots=True)
class Settings:
    """card: n150, n300, p100, p150 (or an architecture); estimate: clock only, no values; profile_dir: where reports go."""

    card: str = "n150"
    estimate: bool = False
    profile_dir: Path | None = None


settings = Settings()
_devices: list[ClockedDevice] = []
_closing: list[Callable[[ClockedDevice], None]] = []
_card_seen = ""


def device_opened(device: ClockedDevice) -> None:
    _devices.append(device)


def device_closed(device: ClockedDevice) -> None:
    """Runs the hooks of `on_close` (reports) and forgets the device."""
    for hook in _closing:
        hook(device)
    if device in _devices:
        _devices.remove(device)


def on_close(hook: Callable[[ClockedDevice], None]) -> None:
    """Calls `hook(device)` before a device closes, while its records can still be read."""
    _closing.append(hook)


def card() -> str:
    """Name of the simulated card."""
    return settings.card


def begin_forward() -> None:
    """Starts the clock of one forward call."""
    for device in _devices:
        device.clock_reset()


def end_forward() -> dict[str, Any]:
    """Device time of the forward call: the gaps between device programs are in it, const-eval and transfers are not."""
    total: dict[str, Any] = {"device_ns": 0, "cycles": 0, "ops": 0}
    uncalibrated = False
    for device in _devices:
        row = device.clock_read()
        for key in total:
            total[key] += row[key]
        uncalibrated = uncalibrated or bool(row.get("uncalibrated"))
    total["device_ns"] = round(total["device_ns"])
    if uncalibrated:
        total["uncalibrated"] = True
    return total
