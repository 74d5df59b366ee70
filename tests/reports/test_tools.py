"""The tools that users already have open our reports: tt-perf-report and ttnn-visualizer, each in a venv of its own."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from alchemist import codegen_py
from tests.e2e.models import LARGE

pytestmark = pytest.mark.slow

PERF_REPORT_VERSIONS = ("1.2.4", "1.4.0", "1.4.1")


def venv_with(directory: Path, *packages: str) -> Path:
    """A new venv with `packages`; its bin directory."""
    subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    subprocess.run([str(directory / "bin" / "pip"), "install", "-q", *packages], check=True)
    return directory / "bin"


@pytest.fixture(scope="module", params=["bert_base", "resnet50"])
def profile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp(request.param)
    model, args, kwargs = LARGE[request.param]()
    codegen_py(model, *args, export_path=root / "out", **kwargs)
    command = [str(root / "out" / "run"), "--profile", str(root / "profile"), "--json", str(root / "result.json")]
    subprocess.run(command, check=True, capture_output=True)
    summary = json.loads((root / "profile" / "summary.json").read_text())
    assert summary["device_ns"] == pytest.approx(json.loads((root / "result.json").read_text())["device_ns"], abs=2)
    return root / "profile"


@pytest.mark.parametrize("version", PERF_REPORT_VERSIONS)
def test_tt_perf_report(version: str, profile: Path, tmp_path: Path) -> None:
    tool = venv_with(tmp_path / "venv", f"tt-perf-report=={version}") / "tt-perf-report"
    table = profile / "performance" / "ops_perf_results.csv"
    done = subprocess.run([str(tool), str(table), "--no-color", "--csv", str(tmp_path / "out.csv")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "out.csv", newline="") as file:
        analysed = list(csv.DictReader(file))
    with open(table, newline="") as file:
        assert len(analysed) == len(list(csv.DictReader(file)))
    matmuls = [row for row in analysed if "Matmul" in row["OP Code"]]
    assert matmuls
    assert all(row["FLOPs %"] for row in matmuls)


def test_ttnn_visualizer(profile: Path, tmp_path: Path) -> None:
    tool = venv_with(tmp_path / "venv", "ttnn-visualizer") / "ttnn-visualizer"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = open(tmp_path / "log", "w+")
    server = subprocess.Popen(
        [str(tool), "--profiler-path", str(profile / "memory"), "--performance-path", str(profile / "performance"), "--port", str(port)],
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
        start_new_session=True,  # the tool starts a server of its own, which outlives it
    )
    try:
        instance = ""
        for _ in range(120):
            time.sleep(0.5)
            found = re.search(r"instanceId=([A-Za-z0-9_-]+)", (tmp_path / "log").read_text())
            if found:
                instance = found.group(1)
                break
        assert instance, (tmp_path / "log").read_text()

        def get(path: str, patience_s: float = 60.0) -> object:
            # The server names its instance a moment before it listens.
            start_s = time.monotonic()
            while True:
                try:
                    return read(path)
                except urllib.error.URLError as error:
                    if isinstance(error, urllib.error.HTTPError) or time.monotonic() - start_s > patience_s:
                        raise
                    time.sleep(0.5)

        def read(path: str) -> object:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}?instanceId={instance}", timeout=30) as reply:
                return json.loads(reply.read())

        operations = get("operations")
        assert isinstance(operations, list)
        assert len(operations) > 50
        assert all("main.py" in operation["stack_trace"] for operation in operations)
        for path in ("devices", "tensors", "buffers", "operation-buffers", f"operations/{operations[1]['id']}", "performance/perf-results/report"):
            assert get(path)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=30)
        log.close()
