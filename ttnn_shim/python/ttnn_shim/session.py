"""The state of one run of a program on the simulator: its settings, the open devices, the time of the last forward call.

`python -m ttnn_shim run` fills `settings` before the program starts; `ttnn.open_device` reads them and calls `device_opened`
/ `device_closed`. Emitted programs use `begin_forward`, `end_forward`, `card` and `check_ops` when this module is loaded,
so that the same program runs on a card without it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ttnn_shim.error_bands import GAP, total_error
from ttnn_shim.host_time import eager_error
from ttnn_shim.plain import PlainRun

if TYPE_CHECKING:  # loaded by the runs that record or report: every other program would wait for them
    from ttnn_shim.records import Block, CallRecord, Profile


class ResultWatch(Protocol):
    """Sees the result of every op of a forward call while `active` (implemented by `alchemist.tools.check_ops`)."""

    active: bool
    calls: list[Any]

    def begin(self) -> None:
        """A forward call starts."""

    def add(self, op: str, result: Any) -> None:
        """An op has returned."""


class ClockedDevice(Protocol):
    """The part of a simulated device that the session needs (implemented by `ttnn`'s device class)."""

    def clock_reset(self) -> None:
        """Starts a new measurement: drops all recorded device programs."""

    def clock_read(self) -> dict[str, Any]:
        """{"device_ns", "eager_ns", "cycles", "ops"} since `clock_reset`."""

    def clock_by_op(self) -> list[tuple[str, bool, float]]:
        """(device operation, whether it has a model, kernel ns) since `clock_reset`."""

    def profile(self, calls: Mapping[int, CallRecord], root: Path) -> Profile:
        """Everything recorded since `clock_reset`."""

    def events_enable(self, on: bool) -> None:
        """Whether programs are recorded one by one."""

    def events(self) -> list[dict[str, Any]]:
        """The recorded device programs since `clock_reset`."""

    def memory_blocks(self) -> tuple[Block, ...]:
        """Allocated blocks of a bank, L1 and DRAM."""


_PROFILER_VARIABLES = ("TT_METAL_DEVICE_PROFILER", "TT_METAL_PROFILER_MID_RUN_DUMP", "TT_METAL_PROFILER_CPP_POST_PROCESS")


def profiler_on() -> bool:
    """Whether the environment variable of the real package's profiler is set, which reports durations of programs during the run."""
    return all(os.environ.get(name) == "1" for name in _PROFILER_VARIABLES)


@dataclass(slots=True)
class Settings:
    """card: n150, n300, p100, p150; estimate: clock only, no values; profile_dir: where reports go; plain: a script that is measured whole."""

    card: str = "n150"
    estimate: bool = False
    profile_dir: Path | None = None
    plain: PlainRun | None = None

    def records_programs(self) -> bool:
        """Whether devices keep their programs one by one."""
        return self.profile_dir is not None or self.plain is not None or profiler_on()


@dataclass(slots=True)
class _Recording:
    """State of a profiled run. root: directory of the program, whose frames are kept; active: inside a forward call."""

    root: Path
    calls: dict[int, CallRecord] = field(default_factory=dict)
    active: bool = False
    profile: Profile | None = None


settings = Settings()
_devices: list[ClockedDevice] = []
_requests = 0
_on_profile: list[Callable[[Profile], None]] = []
_on_recording: list[Callable[[bool], None]] = []
_recording: _Recording | None = None
_watch: ResultWatch | None = None
_stopped = False  # a plain script has passed its "stop" signpost


def device_opened(device: ClockedDevice) -> None:
    _devices.append(device)


def device_requested() -> None:
    """Somebody called open_device, whether or not the device was open."""
    global _requests
    _requests += 1


def device_requests() -> int:
    """Calls of open_device since the device was opened. A caller that made only some of them shares the device and must not close it."""
    return _requests


def has_device() -> bool:
    """Whether a device is open."""
    return bool(_devices)


def device_closed(device: ClockedDevice) -> None:
    """Forgets the device and hands the profile of the last forward call to the hooks of `on_profile`."""
    global _requests
    measure_plain(device)
    if device in _devices:
        _devices.remove(device)
        _requests = 0
    if _recording is not None and _recording.profile is not None:
        profile, _recording.profile = _recording.profile, None
        for hook in _on_profile:
            hook(profile)


def measure_plain(device: ClockedDevice) -> None:
    """Adds the times of a plain script on the device since it was opened, or since its "start" signpost."""
    if settings.plain is None or device not in _devices:
        return
    if not _stopped:
        _take_plain(device, settings.plain)
    settings.plain.show()


def _take_plain(device: ClockedDevice, plain: PlainRun) -> None:
    plain.add(device.clock_read(), device.events())
    if _recording is not None:
        _recording.profile = device.profile(dict(_recording.calls), _recording.root)


def close_plain() -> None:
    """The end of a plain script that left devices open: they are measured as if it had closed them."""
    for device in list(_devices):
        device_closed(device)


def signpost(header: str) -> None:
    """ "start" begins the measurement of a plain script anew, "stop" ends it; other headers mean nothing here."""
    global _stopped
    if settings.plain is None or _stopped:
        return
    if header.lower() == "start":
        for device in _devices:
            device.clock_reset()
        if _recording is not None:
            _recording.calls.clear()
    elif header.lower() == "stop":
        for device in _devices:
            _take_plain(device, settings.plain)
        _stopped = True


def wall_times(call: Callable[[], object]) -> tuple[float, float]:
    """(replayed from a trace, launched program by program by a host) ns of what `call` does: modelled, see `host_time`. The clock starts anew."""
    for device in _devices:
        device.clock_reset()
    try:
        call()
        rows = [device.clock_read() for device in _devices]
        return sum(row["device_ns"] for row in rows), sum(row["eager_ns"] for row in rows)
    finally:
        for device in _devices:
            device.clock_reset()


def reset() -> None:
    """Forgets the open devices and the watched ops: the program of this session has ended."""
    global _watch
    _devices.clear()
    _watch = None
    _tell_recording()


def on_profile(hook: Callable[[Profile], None]) -> None:
    """Calls `hook(profile)` once the device closes."""
    _on_profile.append(hook)


def record_calls(root: Path) -> None:
    """Records every `ttnn` call of the forward calls (of a plain script: every call), with the frames that lie under `root`."""
    global _recording
    _recording = _Recording(root, active=settings.plain is not None)
    _tell_recording()


def stop_recording() -> None:
    """Stops the recording that `record_calls` and `on_profile` started."""
    global _recording
    _recording = None
    _on_profile.clear()
    _tell_recording()


def follow_recording(follower: Callable[[bool], None]) -> None:
    """Calls `follower` now, and whenever calls come to be reported or no longer are. `ttnn` reports none to a session that records nothing."""
    _on_recording.append(follower)
    _tell_recording()


def _tell_recording() -> None:
    for follower in _on_recording:
        follower(_recording is not None or _watch is not None)


def recording() -> bool:
    """True while calls are to be reported with `record_call`."""
    return (_recording is not None and _recording.active) or (_watch is not None and _watch.active)


def _op_checks() -> Any:
    """Emitted programs reach the tool that knows their golden values through this module, so that they name one package only."""
    return importlib.import_module("alchemist.tools.check_ops")


def watch_ops(root: Path, to_numpy: Callable[[Any], Any]) -> None:
    """Keeps the output of every op that the next forward call makes, for `check_ops`. root: the program's directory."""
    global _watch
    _watch = _op_checks().OpWatch(root, to_numpy)
    _tell_recording()


def record_result(op: str, result: Any) -> None:
    """Stores the result of a call; `ttnn` calls this when `recording()`."""
    if _watch is not None and _watch.active:
        _watch.add(op, result)


def check_ops(root: Path, read_golden: Callable[..., Any], compare: Callable[..., Any], outputs_agree: bool) -> int:
    """Compares the watched forward call with golden/ops and prints the first op that drifted. Returns the exit code."""
    return int(_op_checks().check_program(root, _watch.calls if _watch is not None else [], read_golden, compare, outputs_agree))


def op_errors(root: Path, read_golden: Callable[..., Any], compare: Callable[..., Any]) -> dict[int, dict[str, Any]]:
    """Error of each call of the watched forward pass that has a value of the framework, by its place in golden/ops.json."""
    return dict(_op_checks().op_errors(root, _watch.calls if _watch is not None else [], read_golden, compare))


def record_call(call_id: int, op: str, arguments: tuple[tuple[str, str], ...], host_s: float) -> None:
    """Stores a call that has just returned; `ttnn` calls this when `recording()`."""
    if _recording is None:
        return
    from ttnn_shim.records import CallRecord, Frame

    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(_recording.root):
            name = path.relative_to(_recording.root).as_posix()
            frames.append(Frame(name, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back  # type: ignore[assignment]
    blocks = tuple(block for device in _devices for block in device.memory_blocks())
    _recording.calls[call_id] = CallRecord(call_id, op, tuple(reversed(frames)), arguments, blocks, host_s)


def card() -> str:
    """Name of the simulated card."""
    return settings.card


def begin_forward() -> None:
    """Starts the clock of one forward call."""
    settings.plain = None  # the program measures itself
    for device in _devices:
        device.clock_reset()
    if _recording is not None:
        _recording.calls.clear()
        _recording.active = True
    if _watch is not None:
        _watch.begin()


def end_forward() -> dict[str, Any]:
    """Device time of the forward call: the gaps between device programs are in it, const-eval and transfers are not.

    device_ns_error: its relative band (`error_bands`). wall_ns: with a host, replayed from a trace and launched program by program (`host_time`).
    """
    if _watch is not None:
        _watch.active = False
    total: dict[str, Any] = {"device_ns": 0, "cycles": 0, "ops": 0}
    eager_ns = 0.0
    for device in _devices:
        row = device.clock_read()
        eager_ns += row["eager_ns"]
        for key in total:
            total[key] += row[key]
    parts = [(ns, op, settings.card, modelled) for device in _devices for op, modelled, ns in device.clock_by_op()]
    gaps_ns = total["device_ns"] - sum(ns for ns, *_ in parts)
    total["device_ns_error"] = round(total_error([*parts, (gaps_ns, GAP, settings.card, True)]), 3)
    eager_band = round(eager_error(eager_ns, total["device_ns"], total["device_ns_error"]), 3)
    total["device_ns"] = round(total["device_ns"])
    total["wall_ns"] = {
        "traced": {"ns": total["device_ns"], "error": total["device_ns_error"]},
        "eager": {"ns": round(eager_ns), "error": eager_band},
    }
    if _recording is not None and _devices:
        _recording.active = False
        _recording.profile = _devices[0].profile(dict(_recording.calls), _recording.root)
    return total
