"""The core's event log as a `Profile` for the reports, and the arguments of a call as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ttnn_shim.records import CallRecord, Profile, program_record

_CLOCK_GHZ = {"wormhole_b0": 1.0, "blackhole": 1.35}
_DRAM_BANK_GB_S = {"wormhole_b0": 24.0, "blackhole": 64.0}
# An 8 x 16 by 16 x 16 multiply-add per core and cycle, times the passes of each fidelity.
_FLOP_PER_CORE_CYCLE = 4096
_PASSES = {"LoFi": 1, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}
_STATS = ("bound", "dram_cycles", "noc_cycles", "fpu_utilisation", "dram_utilisation", "noc_utilisation")
_MAX_TEXT = 200


def device_profile(info: Mapping[str, Any], events: list[dict[str, Any]], calls: Mapping[int, CallRecord], root: Path) -> Profile:
    """info: `MeshDevice.info()`; events: `MeshDevice.events()`."""
    origin_ns = events[0]["start_ns"] - events[0]["gap_ns"] if events else 0.0
    for event in events:
        event.setdefault("stats", {"busy": event.get("busy_cycles", ()), **{name: event.get(name, 0) for name in _STATS}})
        for kind in ("input", "output"):
            specs = event[f"{kind}s"]
            event.setdefault(f"{kind}_ids", [spec["id"] for spec in specs])
            event.setdefault(f"{kind}_addresses", [spec["address"] for spec in specs])
    arch = info["arch"]
    peak = info["grid_x"] * info["grid_y"] * _FLOP_PER_CORE_CYCLE * _CLOCK_GHZ[arch] / 1000
    files = sorted({frame.file for call in calls.values() for frame in call.frames})
    manifest = root / "manifest.json"
    return Profile(
        card=info["card"],
        arch=arch,
        clock_ghz=_CLOCK_GHZ[arch],
        grid=(info["grid_x"], info["grid_y"]),
        l1_bank_bytes=info["l1_bytes_per_bank"],
        dram_bank_bytes=info["dram_bytes_per_bank"],
        dram_banks=info["dram_banks"],
        dram_peak_gb_s=info["dram_banks"] * _DRAM_BANK_GB_S[arch],
        fpu_peak_tflops={name: peak / passes for name, passes in _PASSES.items()},
        programs=[program_record(event, origin_ns) for event in events],
        calls=calls,
        root=root,
        sources={name: (root / name).read_text(encoding="utf-8", errors="replace") for name in files if (root / name).is_file()},
        manifest=json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {},
    )


def argument_texts(names: Iterable[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """(parameter, value as text) of a call."""
    named = [*zip(names, args, strict=False), *kwargs.items()]
    return tuple((name, _text(value)) for name, value in named)


def _text(value: Any) -> str:
    if hasattr(value, "_handle") and hasattr(value, "padded_shape"):
        return f"Tensor({list(value.shape)}, {value.dtype.name}, {value.layout.name})"
    if isinstance(value, list | tuple) and any(hasattr(one, "_handle") for one in value):
        return "[" + ", ".join(_text(one) for one in value) + "]"
    return repr(value)[:_MAX_TEXT]
