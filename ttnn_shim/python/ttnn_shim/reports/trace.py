"""A trace for ui.perfetto.dev or chrome://tracing: ops, units of a representative core, collectives, DRAM and NoC utilisation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ttnn_shim.records import UNITS, Profile

_TRACKS = {"modules": 0, "ops": 1, "reader": 2, "compute": 3, "writer": 4, "sender": 5, "collectives": 6}


def write_trace(profile: Profile, path: Path) -> None:
    """One process per chip; times in microseconds. Op slices and gaps add up to the device time."""
    events: list[dict[str, Any]] = [{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": f"chip 0: {profile.card}"}}]
    for track, tid in _TRACKS.items():
        name = track if track in ("ops", "modules", "collectives") else f"core (0,0) {track}"
        events.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": tid, "args": {"name": name}})
        events.append({"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": tid, "args": {"sort_index": tid}})
    collectives = {program.index for program in profile.collectives}
    for program in profile.programs:
        start_us, length_us = program.start_ns / 1e3, program.kernel_ns / 1e3
        events.append(
            _slice(
                program.op_code,
                _TRACKS["ops"],
                start_us,
                length_us,
                {
                    "call": program.call_op,
                    "line": profile.line_of(program),
                    "module": " > ".join(profile.module_of(program)),
                    "factory": program.factory,
                    "cores": program.cores,
                    "bound": program.bound,
                    "cycles": program.cycles,
                    "outputs": [list(tensor.shape) for tensor in program.outputs],
                    "L1 circular buffers per core [bytes]": program.l1_cb_bytes,
                },
            )
        )
        if program.index in collectives:
            sent = {"call": program.call_op, "line": profile.line_of(program), "bytes per link": round(program.link_bytes)}
            events.append(_slice(program.op_code, _TRACKS["collectives"], start_us, length_us, sent))
        for unit, busy in zip(UNITS, program.busy_cycles, strict=True):
            if busy:
                busy_us = min(busy / profile.clock_ghz / 1e3, length_us)
                events.append(_slice(f"{program.op_code} {unit}", _TRACKS[unit], start_us, busy_us, {"busy_cycles": busy}))
        for counter, value in (
            ("DRAM utilisation [%]", program.dram_utilisation),
            ("NoC utilisation [%]", program.noc_utilisation),
            ("FPU utilisation [%]", program.fpu_utilisation),
        ):
            events.append(_counter(counter, start_us, 100 * value))
            events.append(_counter(counter, start_us + length_us, 0.0))
    events.extend(_module_slices(profile))
    path.write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}), encoding="utf-8")


def _slice(name: str, tid: int, start_us: float, length_us: float, args: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "cat": "device", "ph": "X", "ts": start_us, "dur": length_us, "pid": 0, "tid": tid, "args": args}


def _counter(name: str, at_us: float, value: float) -> dict[str, Any]:
    return {"name": name, "ph": "C", "ts": at_us, "pid": 0, "args": {"value": round(value, 3)}}


def _module_slices(profile: Profile) -> list[dict[str, Any]]:
    """Nested slices of the program's functions, opened and closed as the call stack changes."""
    slices: list[dict[str, Any]] = []
    open_: list[tuple[tuple[str, int], float]] = []
    end_us = 0.0

    def close(depth: int) -> None:
        while len(open_) > depth:
            (name, _), start_us = open_.pop()
            slices.append(_slice(name, _TRACKS["modules"], start_us, end_us - start_us, {}))

    for program in profile.programs:
        call = profile.call_of(program)
        frames = [frame for frame in call.frames if frame.function not in ("main", "<module>")] if call else []
        # A frame is the same activation while the line that called it is the same.
        stack = [(frame.function, frames[depth - 1].line if depth else 0) for depth, frame in enumerate(frames)]
        common = 0
        while common < min(len(stack), len(open_)) and open_[common][0] == stack[common]:
            common += 1
        close(common)
        open_.extend((entry, program.start_ns / 1e3) for entry in stack[common:])
        end_us = (program.start_ns + program.kernel_ns) / 1e3
    close(0)
    return slices
