"""Reports the time of a plain script: one line when its device closes, and the same as JSON.

Programs of `alchemist` measure forward calls (`session.begin_forward`) and print their own figures; any other script is measured from the
opening of the device to its closing, or between `tracy.signpost("start")` and `signpost("stop")`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class PlainRun:
    """device_ns: device programs and the gaps before them; kernel_ns: without gaps; both of all devices of the run so far."""

    json_file: Path | None = None
    started_s: float = field(default_factory=time.perf_counter)
    device_ns: float = 0.0
    kernel_ns: float = 0.0
    ops: int = 0
    unmodelled: set[str] = field(default_factory=set)

    def add(self, clock: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:
        """clock: `MeshDevice.clock_read()`; events: `MeshDevice.events()` of the same time."""
        self.device_ns += clock["device_ns"]
        self.ops += clock["ops"]
        self.kernel_ns += sum(event["ns"] for event in events)
        self.unmodelled |= {str(event["name"]) for event in events if not event["modelled"]}

    def totals(self) -> dict[str, Any]:
        return {
            "device_ns": round(self.device_ns),
            "kernel_ns": round(self.kernel_ns),
            "ops": self.ops,
            "unmodelled": sorted(self.unmodelled),
            "host_s": round(time.perf_counter() - self.started_s, 3),
        }

    def show(self) -> None:
        """Prints the line, and writes the file."""
        totals = self.totals()
        line = f"device {totals['device_ns'] / 1e6:.3f} ms, {totals['ops']} device programs, host {totals['host_s']:.1f} s"
        if totals["unmodelled"]:
            line += f"; priced by a bound, not a model: {', '.join(totals['unmodelled'])}"
        print(line)
        sys.stdout.flush()
        if self.json_file is not None:
            self.json_file.write_text(json.dumps(totals, indent=2) + "\n", encoding="utf-8")
