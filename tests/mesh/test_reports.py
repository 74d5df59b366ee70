"""What reports say of a program for several chips."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ttnn_shim.reports import write_all
from ttnn_shim.reports.terminal import table


def test_collectives_have_a_time_bytes_and_a_track_of_their_own(open_mesh: Callable[..., Any], tmp_path: Path) -> None:
    import ttnn

    with open_mesh("t3000", 2, 4, "FABRIC_1D") as device:
        device.events_enable(True)
        x = ttnn.zeros([32, 4096], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        device.clock_reset()
        y = ttnn.all_reduce(x, cluster_axis=1)
        ttnn.relu(y)
        profile = device.profile({}, tmp_path)
    names = [program.op_code for program in profile.collectives]
    assert names == ["ReduceScatterDeviceOperation", "AllGatherDeviceOperation"]
    assert [program.link_bytes for program in profile.programs if program.link_bytes] == [pytest.approx(32 * 4096 * 2 * 3 / 4)] * 2  # one link, a line of four
    write_all(profile, tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["link_bytes"] == 2 * 32 * 4096 * 2 * 3 / 4
    assert 0 < summary["ccl_ns"] < summary["device_ns"]
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    track = next(event["tid"] for event in events if event["name"] == "thread_name" and event["args"]["name"] == "collectives")
    assert [event["name"] for event in events if event.get("tid") == track and event["ph"] == "X"] == names
    assert "over each link" in (tmp_path / "report.html").read_text()
    assert "collectives: 0.0" in table(profile) and "links between chips" in table(profile)
