"""Converts the core's event log to a `Profile` for the reports: of a live device, or of the file that a C++ program writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ttnn_shim.command_line import CommandParser, complain
from ttnn_shim.json_files import read_json
from ttnn_shim.machine import card_of
from ttnn_shim.native import load
from ttnn_shim.records import CallRecord, Profile, program_record

# An 8 x 16 by 16 x 16 multiply-add per core and cycle, times the passes of each fidelity.
_FLOP_PER_CORE_CYCLE = 4096
_PASSES = {"LoFi": 1, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}
_STATS = ("bound", "dram_cycles", "noc_cycles", "fpu_utilisation", "dram_utilisation", "noc_utilisation")


def device_profile(info: Mapping[str, Any], events: list[dict[str, Any]], calls: Mapping[int, CallRecord], root: Path) -> Profile:
    """info: `MeshDevice.info()`; events: `MeshDevice.events()`."""
    if events:  # a clock that starts with its first program has no gap before it
        events[0]["gap_ns"] = min(events[0]["gap_ns"], events[0]["start_ns"])
    origin_ns = events[0]["start_ns"] - events[0]["gap_ns"] if events else 0.0
    for event in events:
        event.setdefault("stats", {"busy": event.get("busy_cycles", ()), **{name: event.get(name, 0) for name in _STATS}})
        for kind in ("input", "output"):
            specs = event[f"{kind}s"]
            event.setdefault(f"{kind}_ids", [spec["id"] for spec in specs])
            event.setdefault(f"{kind}_addresses", [spec["address"] for spec in specs])
    card = card_of(info["card"])
    peak = info["grid_x"] * info["grid_y"] * _FLOP_PER_CORE_CYCLE * card.clock_ghz / 1000
    files = sorted({frame.file for call in calls.values() for frame in call.frames})
    return Profile(
        card=info["card"],
        arch=card.architecture,
        clock_ghz=card.clock_ghz,
        grid=(info["grid_x"], info["grid_y"]),
        l1_bank_bytes=info["l1_bytes_per_bank"],
        dram_bank_bytes=info["dram_bytes_per_bank"],
        dram_banks=info["dram_banks"],
        dram_peak_gb_s=info["dram_banks"] * card.dram_bank_gb_s,
        fpu_peak_tflops={name: peak / passes for name, passes in _PASSES.items()},
        programs=[program_record(event, origin_ns) for event in events],
        calls=calls,
        root=root,
        sources={name: (root / name).read_text(encoding="utf-8", errors="replace") for name in files if (root / name).is_file()},
        manifest=_manifest(root / "manifest.json"),
    )


def _manifest(file: Path) -> dict[str, Any]:
    """Of an export; {} for a script's own directory, whatever its manifest.json is of."""
    try:
        found = read_json(file) if file.is_file() else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def card_info(card: str) -> dict[str, Any]:
    """The facts of `MeshDevice.info()` for a card: its name, architecture, grid, banks and their sizes.

    Raises:
        ValueError: no such card.
    """
    ffi, lib, _ = load()
    out = ffi.new("shim_device **")
    if lib.shim_device_open(card.encode(), 0, 0, 1, out):
        raise ValueError(ffi.string(lib.shim_error_message()).decode())
    device = ffi.gc(out[0], lib.shim_device_free)
    info = ffi.new("shim_device_info_t *")
    lib.shim_device_info(device, info)
    names = ("grid_x", "grid_y", "dram_banks", "l1_bytes_per_bank", "dram_bytes_per_bank")
    facts: dict[str, Any] = {name: int(getattr(info, name)) for name in names}
    name = ffi.string(info.card).decode()
    return {"card": name, "arch": card_of(name).architecture, **facts}


def events_profile(events: list[dict[str, Any]], card: str, root: Path) -> Profile:
    """Profile of a C++ program's run. A call is known by its op and number: a compiled program has no frames."""
    numbers = {call_id: number for number, call_id in enumerate(dict.fromkeys(event["call_id"] for event in events), 1)}
    events = [{**event, "call_id": numbers[event["call_id"]]} for event in events]
    calls = {event["call_id"]: CallRecord(event["call_id"], event["call_op"] or event["name"], ()) for event in events}
    return device_profile(card_info(card), events, calls, root)


def main(arguments: list[str]) -> int:
    """`python -m ttnn_shim report`: all reports of an event log. Returns the exit code."""
    from ttnn_shim import reports

    parser = CommandParser(prog="python -m ttnn_shim report", description="Write performance reports of a run of a C++ program.")
    parser.add_argument("events", type=Path, metavar="EVENTS.json", help="file that a program with TTNN_SHIM_EVENTS=EVENTS.json wrote")
    parser.add_argument("program", type=Path, metavar="PROGRAM_DIR")
    parser.add_argument("directory", type=Path, metavar="OUT_DIR")
    parser.add_argument("--arch", default=os.environ.get("TTNN_SHIM_CARD", "n150"), metavar="NAME", help="card of the run (default: $TTNN_SHIM_CARD or n150)")
    options = parser.parse_args(arguments)
    try:
        events = read_json(options.events)
        if not isinstance(events, list):
            raise ValueError(f"expected a list of events, got {type(events).__name__}")
        profile = events_profile(events, options.arch, options.program.resolve())
    except (OSError, ValueError, KeyError, TypeError) as error:
        complain("report", f"{options.events}: {error}")
        return 2
    reports.write_and_show(profile, options.directory)
    return 0
