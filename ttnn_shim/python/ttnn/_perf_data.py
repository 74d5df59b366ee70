"""Durations of device programs as `ttnn.ReadDeviceProfiler` reads them: `get_latest_programs_perf_data` and `get_all_programs_perf_data`.

As in the real package there are none unless the profiler's environment variables are set when the device is opened (`session.profiler_on`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ttnn._binding import api_function
from ttnn._device import MeshDevice, need_open
from ttnn._events import DURATIONS, on_close
from ttnn_shim import session

_DURATIONS = ("DEVICE FW DURATION [ns]", "DEVICE KERNEL DURATION [ns]")  # the simulator's programs have no firmware around them: one value
_NO_TRACE = 2**63  # the real package's number for none


@dataclass(frozen=True)
class ProgramExecutionUID:
    """runtime_id: number of the program since the measurement began."""

    runtime_id: int
    trace_id: int = _NO_TRACE
    trace_id_counter: int = _NO_TRACE


@dataclass(frozen=True)
class ProgramSingleAnalysisResult:
    """Timestamps in device cycles, duration in ns."""

    start_timestamp: int
    end_timestamp: int
    duration: int


@dataclass(frozen=True, eq=False)
class ProgramAnalysisData:
    program_execution_uid: ProgramExecutionUID
    program_analyses_results: dict[str, ProgramSingleAnalysisResult]
    core_count: int
    num_available_cores: int


_latest: dict[int, list[ProgramAnalysisData]] = {}
_all: dict[int, list[ProgramAnalysisData]] = {}
_read_until: dict[int, int] = {}


def ReadDeviceProfiler(device: MeshDevice) -> None:
    """Takes the programs that the device ran since the last read. Profiles are written when the device closes (`python -m ttnn_shim run --profile DIR`)."""
    need_open(device, "ttnn.ReadDeviceProfiler")
    if not session.profiler_on():
        return
    count, chip = device.clock_read()["ops"], device._physical
    first = _read_until.get(chip, 0)
    _read_until[chip] = count
    grid = device.compute_with_storage_grid_size()
    events = device.events(first if first <= count else 0)  # fewer programs than before: a new measurement
    _latest[chip] = [_data(event, grid.x * grid.y) for event in events]
    _all.setdefault(chip, []).extend(_latest[chip])


def _forget(device: MeshDevice) -> None:
    """The next device counts its programs anew."""
    _read_until.pop(device._physical, None)


on_close.watch(DURATIONS, _forget)


def _data(event: dict[str, Any], cores: int) -> ProgramAnalysisData:
    start = round(event["start_ns"] * event["cycles"] / event["ns"]) if event["ns"] else 0
    spent = ProgramSingleAnalysisResult(start, start + event["cycles"], round(event["ns"]))
    return ProgramAnalysisData(ProgramExecutionUID(event["index"] + 1), dict.fromkeys(_DURATIONS, spent), event["cores"], cores)


@api_function("ttnn.get_latest_programs_perf_data")
def get_latest_programs_perf_data() -> dict[int, list[ProgramAnalysisData]]:
    """Chip -> programs of the last `ReadDeviceProfiler`."""
    return {chip: list(programs) for chip, programs in _latest.items()} if session.profiler_on() else {}


@api_function("ttnn.get_all_programs_perf_data")
def get_all_programs_perf_data() -> dict[int, list[ProgramAnalysisData]]:
    """Chip -> programs of every `ReadDeviceProfiler` so far."""
    return {chip: list(programs) for chip, programs in _all.items()} if session.profiler_on() else {}
