"""Reports of `./run --profile DIR`: started before the program runs, written when its device closes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from ttnn_shim import session
from ttnn_shim.json_files import read_json
from ttnn_shim.records import Profile
from ttnn_shim.reports.answers import Answer, from_data
from ttnn_shim.reports.answers import table as suggested
from ttnn_shim.reports.calls import run_of, write_calls
from ttnn_shim.reports.html import write_page
from ttnn_shim.reports.perf_csv import write_ops_perf_results, write_profile_log_device
from ttnn_shim.reports.terminal import table
from ttnn_shim.reports.trace import write_trace
from ttnn_shim.reports.visualizer import write_memory_report

HINTS_S = 120
"""Seconds that a profile waits for the answer of `--what-if`."""
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
    answer = _asked(profile)
    write_all(profile, directory, answer)
    print(table(profile))
    if answer is not None:
        print("\n" + suggested(answer, 5))
    print(f"\nreports in {directory}:")
    for name, purpose in FILES.items():
        print(f"  {name:36} {purpose}")
    sys.stdout.flush()


def _asked(profile: Profile) -> Answer | None:
    """What would make an emitted Python program faster, by runs with values in another process; None for others, estimates, and where it cannot be asked."""
    if session.settings.estimate or not profile.manifest or not (profile.root / "main.py").is_file():
        return None
    with tempfile.TemporaryDirectory(prefix="alchemist-hints-") as folder:
        file = Path(folder) / "answer.json"
        command = [
            sys.executable,
            "-m",
            "ttnn_shim",
            "what-if",
            str(profile.root),
            "--arch",
            profile.card,
            "--json",
            str(file),
        ]
        try:
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=HINTS_S)
            return from_data(read_json(file), run_of(profile))
        except (OSError, subprocess.SubprocessError, ValueError):
            return None


def write_all(profile: Profile, directory: Path, answer: Answer | None = None) -> None:
    """Every report file, and `summary.json` with the totals they share."""
    performance = directory / "performance"
    performance.mkdir(parents=True, exist_ok=True)
    write_ops_perf_results(profile, performance / "ops_perf_results.csv")
    write_profile_log_device(profile, performance / "profile_log_device.csv")
    write_memory_report(profile, directory / "memory", str(profile.manifest.get("model", "program")))
    write_trace(profile, directory / "trace.json")
    write_page(profile, directory / "report.html", answer)
    write_calls(profile, directory / "calls.json")
    summary = {
        "device_ns": round(profile.device_ns),
        "device_ns_error": round(profile.device_ns_error, 3),
        "ccl_ns": round(profile.ccl_ns),
        "link_bytes": round(sum(program.link_bytes for program in profile.programs)),
        "wall_ns": {
            "traced": {"ns": round(profile.traced_wall_ns), "error": round(profile.device_ns_error, 3)},
            "eager": {"ns": round(profile.eager_wall_ns), "error": round(profile.eager_wall_ns_error, 3)},
        },
        "ops": len(profile.programs),
        "l1_peak_bytes": max((program.l1_peak_bytes for program in profile.programs), default=0),
        "card": profile.card,
        "unmodelled": sum(not program.modelled for program in profile.programs),
        "unmeasured": profile.unmeasured,
    }
    (directory / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
