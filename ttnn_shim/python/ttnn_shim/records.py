"""The records of a profiled forward call: device programs, the calls that caused them, memory snapshots.

The core's event log (JSON) becomes `ProgramRecord`s; `ttnn` adds a `CallRecord` per call. All reports read only these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ttnn_shim.dtypes import MEAN_BYTES
from ttnn_shim.error_bands import GAP, is_measured, total_error
from ttnn_shim.host_time import eager_error, eager_wall_ns

PUBLIC_NAMES = {
    "ttnn.mul": "ttnn.multiply",
    "ttnn.mul_": "ttnn.multiply_",
    "ttnn.sub": "ttnn.subtract",
    "ttnn.sub_": "ttnn.subtract_",
    "ttnn.div_": "ttnn.divide_",
}
"""The core's name of an op -> the name that programs use."""

BOUNDS = ("latency", "compute", "reader", "writer", "dram", "noc")
UNITS = ("reader", "compute", "writer", "sender")


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor as an op saw it. dtype, layout, buffer_type, memory_layout by the library's enumerator names."""

    id: int
    address: int
    shape: tuple[int, ...]
    padded_shape: tuple[int, ...]
    dtype: str
    layout: str
    buffer_type: str
    memory_layout: str
    shard: str = ""

    @property
    def size_bytes(self) -> float:
        """In memory, padding included."""
        return math.prod(self.padded_shape) * MEAN_BYTES.get(self.dtype.lower(), 2.0)


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of the user's program on the way to a call."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Block:
    """One allocated block of every bank: address and size in bytes."""

    address: int
    size_bytes: int
    buffer_type: str


@dataclass(slots=True)
class CallRecord:
    """One `ttnn` call of the program. frames: outermost first. blocks: device memory after the call."""

    id: int
    op: str
    frames: tuple[Frame, ...]
    arguments: tuple[tuple[str, str], ...] = ()
    blocks: tuple[Block, ...] = ()
    host_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """One device program.

    start_ns: device time since the first program of the forward call, gaps included; gap_ns: idle time before it.
    busy_cycles: busiest core by unit (reader, compute, writer, sender). l1_cb_bytes: circular buffers per core.
    l1_peak_bytes, dram_bytes: per bank while it ran. modelled False: a roofline stands in for a model.
    """

    index: int
    call_id: int
    call_op: str
    op_code: str
    factory: str
    cores: int
    cycles: int
    kernel_ns: float
    gap_ns: float
    start_ns: float
    modelled: bool
    bound: str
    busy_cycles: tuple[int, ...]
    dram_cycles: int
    noc_cycles: int
    fpu_utilisation: float
    dram_utilisation: float
    noc_utilisation: float
    l1_cb_bytes: int
    l1_peak_bytes: int
    dram_bytes: int
    fidelity: str
    attributes: str
    inputs: tuple[TensorRecord, ...] = ()
    outputs: tuple[TensorRecord, ...] = ()
    op: str = ""
    """As the strategy names it ("matmul"); op_code as the profiler does."""
    terms: tuple[tuple[str, float], ...] = ()
    """What `kernel_ns` is the sum of: (name, ns), the largest first."""

    @property
    def link_bytes(self) -> float:
        """What a chip sends over one link to a neighbour in one direction; 0 for a program of one chip."""
        if self.op != "collective":
            return 0.0
        known = dict(part.split("=", 1) for part in self.attributes.split(";"))
        chips, paths = int(known["chips"]), int(known["links"]) * (2 if known["ring"] == "true" else 1)
        sent = {"REDUCE_SCATTER": self.inputs, "ALL_GATHER": self.outputs, "ALL_TO_ALL": self.inputs}.get(known["op"])
        if sent is None:  # a chip's whole tensor
            return self.inputs[0].size_bytes / paths
        share = chips // 2 * (chips - chips // 2) / chips if known["op"] == "ALL_TO_ALL" else (chips - 1) / chips
        return share * sent[0].size_bytes / paths


ROOFLINES = 100
"""A price above so many rooflines is shown to the user: one core does the work of all, or the price is wrong."""


@dataclass(slots=True)
class Profile:
    """A profiled run. programs: of the last forward call, in order. sources: program files by name."""

    card: str
    arch: str
    clock_ghz: float
    grid: tuple[int, int]
    l1_bank_bytes: int
    dram_bank_bytes: int
    dram_banks: int
    dram_peak_gb_s: float
    fpu_peak_tflops: Mapping[str, float]
    programs: Sequence[ProgramRecord]
    calls: Mapping[int, CallRecord]
    root: Path
    sources: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def device_ns(self) -> float:
        """Kernels and the gaps before them; every report's rows add up to this."""
        return sum(program.kernel_ns + program.gap_ns for program in self.programs)

    @property
    def collectives(self) -> list[ProgramRecord]:
        """Programs of calls that wait for other chips, including the work before and after the transfer."""
        calls = {program.call_id for program in self.programs if program.op == "collective"}
        return [program for program in self.programs if program.call_id in calls]

    @property
    def ccl_ns(self) -> float:
        """The part of `device_ns` that the collectives take."""
        return sum(program.kernel_ns + program.gap_ns for program in self.collectives)

    @property
    def device_ns_error(self) -> float:
        """Relative band of `device_ns` (`error_bands`)."""
        parts = [(program.kernel_ns, program.op, self.arch, program.modelled) for program in self.programs]
        return total_error([*parts, (sum(program.gap_ns for program in self.programs), GAP, self.arch, True)])

    @property
    def unmeasured(self) -> list[str]:
        """Operations priced by a model of their kernels that no measured row shows."""
        return sorted({program.op for program in self.programs if program.modelled and not is_measured(program.op)})

    @property
    def far_above_roofline(self) -> list[str]:
        """Operations of programs that are priced above `ROOFLINES` times their launch and their roofline (bytes at DRAM's peak, ideal matrix engine)."""

        def bound_ns(program: ProgramRecord) -> float:
            return max(program.dram_utilisation, program.fpu_utilisation) * program.kernel_ns + dict(program.terms).get("launch", program.kernel_ns)

        return sorted({program.op for program in self.programs if program.modelled and program.kernel_ns > ROOFLINES * bound_ns(program)})

    @property
    def traced_wall_ns(self) -> float:
        """Wall time replayed from a trace: the device alone. Its band is `device_ns_error`."""
        return self.device_ns

    @property
    def eager_wall_ns(self) -> float:
        """Wall time where the host launches every program (`host_time`)."""
        return eager_wall_ns([(program.gap_ns, program.kernel_ns) for program in self.programs], self.arch)

    @property
    def eager_wall_ns_error(self) -> float:
        """Relative band of `eager_wall_ns`."""
        return eager_error(self.eager_wall_ns, self.device_ns, self.device_ns_error)

    def call_of(self, program: ProgramRecord) -> CallRecord | None:
        return self.calls.get(program.call_id)

    def line_of(self, program: ProgramRecord) -> str:
        """ "main.py:123" of the innermost program line, or ""."""
        call = self.call_of(program)
        if call is None or not call.frames:
            return ""
        return f"{call.frames[-1].file}:{call.frames[-1].line}"

    def module_of(self, program: ProgramRecord) -> tuple[str, ...]:
        """Names of the program's functions on the way to the call, outermost first, `main` left out."""
        call = self.call_of(program)
        names = [frame.function for frame in call.frames] if call is not None else []
        return tuple(name for name in names if name not in ("main", "<module>"))


def summed_terms(lists: Iterable[Iterable[tuple[str, float]]]) -> dict[str, float]:
    """Terms of several programs added by name, the largest first."""
    found: dict[str, float] = {}
    for name, ns in (term for terms in lists for term in terms):
        found[name] = found.get(name, 0.0) + ns
    return dict(sorted(found.items(), key=lambda term: -term[1]))


def tensor_record(data: Mapping[str, Any], id_: int, address: int) -> TensorRecord:
    """From the core's JSON of a tensor spec."""
    return TensorRecord(
        id=id_,
        address=address,
        shape=tuple(data["shape"]),
        padded_shape=tuple(data["padded_shape"]),
        dtype=data["dtype"],
        layout=data["layout"],
        buffer_type=data["buffer_type"],
        memory_layout=data["memory_layout"],
        shard=data.get("shard", ""),
    )


def program_record(data: Mapping[str, Any], origin_ns: float) -> ProgramRecord:
    """From the core's JSON of an event; `origin_ns` is the device time at which the forward call began."""

    def tensors(kind: str) -> tuple[TensorRecord, ...]:
        return tuple(
            tensor_record(spec, id_, address) for spec, id_, address in zip(data[f"{kind}s"], data[f"{kind}_ids"], data[f"{kind}_addresses"], strict=True)
        )

    stats = data["stats"]
    return ProgramRecord(
        index=data["index"],
        call_id=data["call_id"],
        call_op=PUBLIC_NAMES.get(data["call_op"], data["call_op"]),
        op_code=data["name"],
        factory=data["factory"],
        cores=data["cores"],
        cycles=data["cycles"],
        kernel_ns=data["ns"],
        gap_ns=data["gap_ns"],
        start_ns=data["start_ns"] - origin_ns,
        modelled=data["modelled"],
        bound=str(stats["bound"]).lower(),
        busy_cycles=tuple(stats["busy"]),
        dram_cycles=stats["dram_cycles"],
        noc_cycles=stats["noc_cycles"],
        fpu_utilisation=stats["fpu_utilisation"],
        dram_utilisation=stats["dram_utilisation"],
        noc_utilisation=stats["noc_utilisation"],
        l1_cb_bytes=data["l1_bytes"],
        l1_peak_bytes=data["l1_peak_bytes"],
        dram_bytes=data["dram_bytes"],
        fidelity=data["fidelity"],
        attributes=data["attributes"],
        inputs=tensors("input"),
        outputs=tensors("output"),
        op=data.get("op", ""),
        terms=tuple(summed_terms([data.get("terms", {}).items()]).items()),
    )
