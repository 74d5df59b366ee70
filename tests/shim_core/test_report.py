"""`python -m ttnn_shim report`: the event log of a C++ program becomes reports."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ttnn_shim.__main__ import main as launcher_main

from .conftest import Core, Input


@pytest.mark.parametrize("card", ["n150", "p150"])
def test_report(core: Core, tmp_path: Path, card: str) -> None:
    """Calls that no host numbered (as in C++) are told apart, and every report adds up to the log's device time."""
    device = core.open(card)
    core.check(core.lib.shim_events_enable(device, 1))
    a = core.tensor(np.ones((64, 64), np.float32), device=device)
    for _ in range(2):
        core.invoke("ttnn.add", [a, a], input_tensor_a=Input(0), input_tensor_b=Input(1))
    core.invoke("ttnn.typecast", [a], input_tensor=Input(0), dtype="FLOAT32")
    events = core.text(core.lib.shim_events_json, device, 0, 0)
    log: list[dict[str, Any]] = json.loads(events)
    assert len({event["call_id"] for event in log}) == len(log) == 3
    path, out = tmp_path / "events.json", tmp_path / "reports"
    path.write_text(events)
    assert launcher_main(["report", "--arch", card, str(path), str(tmp_path), str(out)]) == 0
    summary = json.loads((out / "summary.json").read_text())
    wanted = sum(event["ns"] + event["gap_ns"] for event in log) - log[0]["gap_ns"]  # the clock starts with the first program
    assert summary["device_ns"] == pytest.approx(wanted, abs=1)
    assert (summary["card"], summary["ops"]) == (card, 3)
    with open(out / "performance" / "ops_perf_results.csv", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["OP CODE"] for row in rows] == [event["name"] for event in log]
    assert "ttnn.add" in (out / "report.html").read_text().replace("<wbr/>", "")
    core.lib.shim_device_close(device)


@pytest.mark.parametrize("text", ["", "{}", "[{}]", "[1]", "[" * 100_000])
def test_damaged_log(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    path = tmp_path / "events.json"
    path.write_text(text)
    assert launcher_main(["report", str(path), str(tmp_path), str(tmp_path / "out")]) == 2
    assert "events.json" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["run", "--profile", "{}", "x.py"], ["run", "--json", "{}", "x.py"], ["report", "{}", ".", "out"], ["what-if", "{}"]])
@pytest.mark.parametrize("text", ["\ud800", "a\0b"], ids=["lone surrogate", "NUL"])
def test_arguments_that_no_shell_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text("import ttnn\n")
    assert launcher_main([word.format(text) for word in command]) == 2
    assert ascii(text)[1:-1] in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["x.py"]
