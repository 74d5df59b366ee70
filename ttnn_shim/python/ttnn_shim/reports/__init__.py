"""Reports of `./run --profile DIR`: started before the program runs, written when its device closes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ttnn_shim import session
from ttnn_shim.records import Profile
from ttnn_shim.reports.calls import write_calls
from ttnn_shim.reports.html import write_page
from ttnn_shim.reports.perf_csv import write_ops_perf_results, write_profile_log_device
from ttnn_shim.reports.terminal import table
from ttnn_shim.reports.trace import write_trace
from ttnn_shim.reports.visualizer import write_memory_report

FILES = {
    "report.html": "one page: time by op and module, roofline, memory, slowest ops with hints",
    "performance/ops_perf_results.csv": "for tt-perf-report and ttnn-visualizer --performance-path",
    "performance/profile_log_device.csv": "device-side zones",
    "memory/db.sqlite": "for ttnn-visualizer --profiler-path",
    "calls.json": "the calls with their lines, for ./run --compare",
    "trace.json": "for ui.perfetto.dev or chrome://tracing",
}


def start(directory: Path, program: Path) -> None:
    """Turns recording on; when the program's device closes, all reports of its last forward call go to `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    session.record_calls(program.resolve().parent)

    session.on_profile(lambda profile: write_and_show(profile, directory))


def write_and_show(profile: Profile, directory: Path) -> None:
    """Writes every report and prints the table of ops and the list of files."""
    write_all(profile, directory)
    print(table(profile))
    print(f"\nreports in {directory}:")
    for name, purpose in FILES.items():
        print(f"  {name:36} {purpose}")
    sys.stdout.flush()


def write_all(profile: Profile, directory: Path) -> None:
    """Every report file, and `summary.json` with the totals they share."""
    performance = directory / "performance"
    performance.mkdir(parents=True, exist_ok=True)
    write_ops_perf_results(profile, performance / "ops_perf_results.csv")
    write_profile_log_device(profile, performance / "profile_log_device.csv")
    write_memory_report(profile, directory / "memory", str(profile.manifest.get("model", "program")))
    write_trace(profile, directory / "trace.json")
    write_page(profile, directory / "report.html")
    write_calls(profile, directory / "calls.json")
    summary = {
        "device_ns": round(profile.device_ns),
        "ops": len(profile.programs),
        "card": profile.card,
        "unmodelled": sum(not program.modelled for program in profile.programs),
    }
    (directory / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
