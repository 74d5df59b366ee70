"""The calls of a profiled run as plain data (`calls.json`): what `./run --compare` sets side by side, and what `alchemist explore` lays over its page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ttnn_shim.error_bands import total_error
from ttnn_shim.json_files import read_json
from ttnn_shim.records import Profile, ProgramRecord, TensorRecord

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Call:
    """One TT-NN call. line: "main.py:12"; module: functions on the way to it; ns: its programs with the gaps before them.

    setup: what else than values decides its time, by name: "inputs", "outputs", "fidelity", "attributes".
    l1_peak_bytes: per core; dram_bytes: per bank, while it ran. ns_error: relative band of its programs (`error_bands`).
    """

    op: str
    line: str
    source: str
    module: tuple[str, ...]
    ns: float
    gap_ns: float
    programs: tuple[str, ...]
    bound: str
    setup: Mapping[str, str]
    l1_peak_bytes: int = 0
    dram_bytes: int = 0
    ns_error: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """Calls of a forward pass in order."""

    name: str
    model: str
    card: str
    calls: Sequence[Call]

    @property
    def device_ns(self) -> float:
        return sum(call.ns for call in self.calls)


def run_of(profile: Profile, name: str = "") -> Run:
    grouped: dict[int, list[ProgramRecord]] = {}
    for program in profile.programs:
        grouped.setdefault(program.call_id, []).append(program)
    return Run(name, str(profile.manifest.get("model", profile.root.name)), profile.card, [_call(profile, programs) for programs in grouped.values()])


def source_line(profile: Profile, place: str) -> str:
    """The text of "main.py:12" without its comment; "..." ends what continues, on the next line or beyond 90 characters."""
    file, _, number = place.rpartition(":")
    lines = profile.sources.get(file, "").splitlines()
    if not (number.isdigit() and 0 < int(number) <= len(lines)):
        return ""
    text = re.split(r"\s+(?:#|//) ", lines[int(number) - 1].strip())[0]
    return f"{text[:87]}..." if len(text) > 90 else f"{text}..." if text.endswith("(") else text


def _call(profile: Profile, programs: Sequence[ProgramRecord]) -> Call:
    longest = max(programs, key=lambda program: program.kernel_ns)
    line = profile.line_of(longest)
    made = {id_ for program in programs for id_ in (tensor.id for tensor in program.outputs)}
    inputs = [tensor for program in programs for tensor in program.inputs if tensor.id not in made]
    return Call(
        op=longest.call_op or longest.op_code,
        line=line,
        source=source_line(profile, line),
        module=profile.module_of(longest),
        ns=sum(program.kernel_ns + program.gap_ns for program in programs),
        gap_ns=sum(program.gap_ns for program in programs),
        programs=tuple(program.op_code for program in programs),
        bound=longest.bound,
        setup={
            "inputs": ", ".join(spelled(tensor) for tensor in inputs),
            "outputs": ", ".join(spelled(tensor) for tensor in programs[-1].outputs),
            "fidelity": max(programs, key=lambda program: (program.fidelity != "", program.kernel_ns)).fidelity,
            "cores": str(longest.cores),
            "attributes": "; ".join(program.attributes for program in programs)[:2000],
        },
        l1_peak_bytes=max(program.l1_peak_bytes for program in programs),
        dram_bytes=max(program.dram_bytes for program in programs),
        ns_error=round(total_error((program.kernel_ns, program.op, profile.arch, program.modelled) for program in programs), 3),
    )


def spelled(tensor: TensorRecord) -> str:
    """ "[32, 64] bfloat16 tile dram": shape, dtype, layout and place."""
    where = tensor.buffer_type if tensor.memory_layout == "INTERLEAVED" else f"{tensor.buffer_type} {tensor.memory_layout}"
    return f"{list(tensor.shape)} {tensor.dtype} {tensor.layout} {where}".lower()


def write_calls(profile: Profile, path: Path) -> None:
    run = run_of(profile)
    data = {"format": FORMAT, "model": run.model, "card": run.card, "device_ns": run.device_ns, "calls": [asdict(call) for call in run.calls]}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def read_calls(path: Path, name: str) -> Run:
    """Raises: ValueError when the file is no such list."""
    data = read_json(path)
    try:
        if data["format"] != FORMAT:
            raise ValueError(f"{path}: format {data['format']!r}, this version reads {FORMAT}")
        return Run(name, str(data["model"]), str(data["card"]), [_read(row) for row in data["calls"]])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not the calls of a profiled run ({type(error).__name__}: {error})") from error


def _read(row: Mapping[str, Any]) -> Call:
    return Call(
        op=str(row["op"]),
        line=str(row["line"]),
        source=str(row["source"]),
        module=tuple(map(str, row["module"])),
        ns=float(row["ns"]),
        gap_ns=float(row["gap_ns"]),
        programs=tuple(map(str, row["programs"])),
        bound=str(row["bound"]),
        setup={str(key): str(value) for key, value in row["setup"].items()},
        l1_peak_bytes=int(row["l1_peak_bytes"]),
        dram_bytes=int(row["dram_bytes"]),
        ns_error=float(row.get("ns_error", 0.0)),
    )
