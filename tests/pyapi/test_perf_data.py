"""Durations of programs that a script reads while it runs: `ReadDeviceProfiler` and what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import ttnn

VARIABLES = ("TT_METAL_DEVICE_PROFILER", "TT_METAL_PROFILER_MID_RUN_DUMP", "TT_METAL_PROFILER_CPP_POST_PROCESS")


@pytest.fixture
def recorded(device: Any) -> Iterator[Any]:
    """The shared device, as one that was opened with the variables set."""
    device.events_enable(True)
    yield device
    device.events_enable(False)


def tensor(device: Any) -> Any:
    return ttnn.Tensor(np.ones((64, 64), np.float32), ttnn.bfloat16, device, ttnn.TILE_LAYOUT)


def test_programs_since_the_last_read(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, "1")
    a, (chip,) = tensor(recorded), ttnn.get_device_ids()
    ttnn.ReadDeviceProfiler(recorded)
    before = len(ttnn.get_all_programs_perf_data()[chip])
    first = recorded.clock_read()["ops"]
    ttnn.matmul(ttnn.relu(a), a)
    ttnn.ReadDeviceProfiler(recorded)
    latest = ttnn.profiler.get_latest_programs_perf_data()[chip]
    events = recorded.events(first)
    assert [program.core_count for program in latest] == [event["cores"] for event in events] and len(latest) == 2
    assert all(program.num_available_cores == 64 for program in latest)
    for program, event in zip(latest, events, strict=True):
        result = program.program_analyses_results["DEVICE KERNEL DURATION [ns]"]
        assert result.duration == round(event["ns"]) > 0 and result.end_timestamp - result.start_timestamp == event["cycles"]
    assert latest[0].program_execution_uid.runtime_id < latest[1].program_execution_uid.runtime_id
    assert {program.program_execution_uid.trace_id for program in latest} == {2**63}
    ttnn.add(a, a)
    ttnn.ReadDeviceProfiler(recorded)
    assert len(ttnn.get_latest_programs_perf_data()[chip]) == 1
    assert len(ttnn.get_all_programs_perf_data()[chip]) == before + 3


@pytest.mark.parametrize("missing", VARIABLES)
def test_nothing_without_the_variables(recorded: Any, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, "0" if name == missing else "1")
    ttnn.add(tensor(recorded), 1.0)
    ttnn.ReadDeviceProfiler(recorded)
    assert ttnn.get_latest_programs_perf_data() == {} == ttnn.get_all_programs_perf_data()
