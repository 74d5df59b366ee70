"""Aggregations shared by the terminal table and the HTML page, and the hint for what would make an op faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ttnn_shim.records import Profile, ProgramRecord


@dataclass(slots=True)
class Group:
    """Device time of programs that share a key; share is of the whole forward call, gaps included."""

    key: str
    count: int = 0
    kernel_ns: float = 0.0
    gap_ns: float = 0.0
    bound_ns: dict[str, float] = field(default_factory=dict)
    unmodelled: int = 0

    @property
    def total_ns(self) -> float:
        return self.kernel_ns + self.gap_ns

    @property
    def bound(self) -> str:
        """What limits most of the group's time."""
        return max(self.bound_ns, key=lambda name: self.bound_ns[name]) if self.bound_ns else ""


def group_by(programs: Iterable[ProgramRecord], key: Callable[[ProgramRecord], str]) -> list[Group]:
    """Groups in order of falling time; their totals add up to the device time."""
    groups: dict[str, Group] = {}
    for program in programs:
        group = groups.setdefault(key(program), Group(key(program)))
        group.count += 1
        group.kernel_ns += program.kernel_ns
        group.gap_ns += program.gap_ns
        group.unmodelled += not program.modelled
        group.bound_ns[program.bound] = group.bound_ns.get(program.bound, 0.0) + program.kernel_ns
    return sorted(groups.values(), key=lambda group: -group.total_ns)


def by_op(profile: Profile) -> list[Group]:
    return group_by(profile.programs, lambda program: program.op_code)


def by_module(profile: Profile) -> list[Group]:
    """By the innermost function of the program, with the path to it."""
    return group_by(profile.programs, lambda program: " > ".join(profile.module_of(program)) or "(no function)")


def by_line(profile: Profile) -> list[Group]:
    return group_by(profile.programs, lambda program: f"{profile.line_of(program) or '?'} {program.call_op}")


def hint(profile: Profile, program: ProgramRecord) -> str:
    """One sentence on what limits this program and what would change it."""
    available = profile.grid[0] * profile.grid[1]
    if program.gap_ns > program.kernel_ns:
        return "The gap before it is longer than the kernel: fuse it with a neighbour."
    if program.cores * 3 < available and program.bound != "dram":
        return f"Runs on {program.cores} of {available} cores: a larger batch, or another split (core_grid, sharding), uses more."
    if program.bound == "dram":
        reads_dram = any(tensor.buffer_type == "DRAM" for tensor in program.inputs)
        if reads_dram and any(tensor.dtype in ("FLOAT32", "BFLOAT16") for tensor in program.inputs):
            return "DRAM bandwidth limits it: keep activations in L1 (memory_config), or store weights as bfloat8_b."
        return "DRAM bandwidth limits it: keep operands in L1 (memory_config)."
    if program.bound == "compute":
        if program.fidelity in ("HiFi4", "HiFi3"):
            return f"The math engine limits it: {program.fidelity} costs several passes, HiFi2 or LoFi fewer."
        return "The math engine limits it: this is near what the chip can do."
    if program.bound == "noc":
        return "The NoC limits it: shard the operands so that each core reads its own."
    if program.bound in ("reader", "writer"):
        return f"The data movement of each core ({program.bound}) limits it: shard the tensor, or keep it in tile layout."
    return "Fixed cost (launch, latency) dominates: fuse it with a neighbour or give it more work."
