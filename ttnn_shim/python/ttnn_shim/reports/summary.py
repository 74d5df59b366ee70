"""Aggregations shared by the terminal table and the HTML page: what limits a line, what each price is worth, time by turn of a loop."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ttnn_shim.error_bands import relative_error, total_error
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
    priced_ns: dict[tuple[str, bool], float] = field(default_factory=dict)
    """(operation, whether it has a model) -> kernel time."""

    def error(self, arch: str) -> float:
        """Relative error to expect of `kernel_ns` (`error_bands`)."""
        return total_error((ns, op, arch, modelled) for (op, modelled), ns in self.priced_ns.items())

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
        key_of_price = (program.op, program.modelled)
        group.priced_ns[key_of_price] = group.priced_ns.get(key_of_price, 0.0) + program.kernel_ns
        group.bound_ns[program.bound] = group.bound_ns.get(program.bound, 0.0) + program.kernel_ns
    return sorted(groups.values(), key=lambda group: -group.total_ns)


def by_op(profile: Profile) -> list[Group]:
    return group_by(profile.programs, lambda program: program.op_code)


def by_module(profile: Profile) -> list[Group]:
    """By the innermost function of the program, with the path to it."""
    return group_by(profile.programs, lambda program: " > ".join(profile.module_of(program)) or "(no function)")


_OUTLINE = re.compile(r"^(?://)?\s*(\w+)(?:  x \d+)?\s+<- ([\w.]+)(?:[ ]+(\S+))?$", re.MULTILINE)


def module_names(profile: Profile) -> dict[str, tuple[str, str]]:
    """Function of an emitted program -> the framework's module class and its parameter scope, from the outline at the program's top."""
    found: dict[str, tuple[str, str]] = {}
    for text in profile.sources.values():
        for function, class_name, scope in _OUTLINE.findall(text):
            found.setdefault(function, (class_name, scope))
    return found


def module_label(path: Sequence[str], names: Mapping[str, tuple[str, str]]) -> str:
    """Class and scope of the innermost function with a module, "" without one: "BertOutput encoder.layer.{0..1}.output"."""
    known = [names[function] for function in path if function in names]
    return f"{known[-1][0]} {'.'.join(scope for _, scope in known if scope)}".strip() if known else ""


def by_line(profile: Profile) -> list[Group]:
    return group_by(profile.programs, lambda program: f"{profile.line_of(program) or '?'} {program.call_op}")


BOUND_TEXT = {
    "compute": "compute",
    "dram": "DRAM bandwidth",
    "reader": "reading per core",
    "writer": "writing per core",
    "noc": "NoC",
    "latency": "launch and latency",
}


def verdict(profile: Profile, group: Group, longest: ProgramRecord) -> str:
    """What limits a group, in the words of the page and of the terminal; `longest` is its longest program."""
    if group.gap_ns > group.kernel_ns:
        return "gaps between programs"
    if longest.link_bytes:
        return f"links between chips: {longest.link_bytes / 1e3:,.1f} KB on each, {longest.link_bytes / longest.kernel_ns:.2f} GB/s"
    text = BOUND_TEXT.get(group.bound, group.bound)
    if group.bound == "dram":
        return f"{text}, {longest.dram_utilisation:.0%} of its peak"
    if group.bound == "compute":
        if longest.fpu_utilisation < 0.1:
            return f"compute per core (vector unit, unpacking; matrix engine {longest.fpu_utilisation:.0%} busy)"
        return f"{text}, {longest.fpu_utilisation:.0%} of the {longest.fidelity or 'math'} peak"
    available = profile.grid[0] * profile.grid[1]
    return f"{text}, {longest.cores} of {available} cores"


def longest_by_line(profile: Profile) -> dict[str, ProgramRecord]:
    """The longest program of each group of `by_line`."""
    found: dict[str, ProgramRecord] = {}
    for program in profile.programs:
        key = f"{profile.line_of(program) or '?'} {program.call_op}"
        if key not in found or program.kernel_ns > found[key].kernel_ns:
            found[key] = program
    return found


def best_case_ns(profile: Profile) -> tuple[float, float]:
    """(bytes that every forward call has to read from DRAM: tensors that no program of it makes; nanoseconds at the card's DRAM peak)."""
    made = {tensor.id for program in profile.programs for tensor in program.outputs}
    given = {tensor.id: tensor for program in profile.programs for tensor in program.inputs if tensor.id not in made and tensor.buffer_type == "DRAM"}
    total = sum(tensor.size_bytes for tensor in given.values())
    return total, total / profile.dram_peak_gb_s if profile.dram_peak_gb_s else 0.0


def by_turn(profile: Profile) -> list[tuple[str, list[float]]]:
    """Device time of each turn of the program's loops ("layer 3"): the line of the call in the loop, nanoseconds by turn.

    A turn begins where the lines of the called function start over.
    """
    found: dict[tuple[str, int, str], list[float]] = {}
    last: dict[tuple[str, int, str], tuple[int, int]] = {}
    for position, program in enumerate(profile.programs):
        call = profile.call_of(program)
        frames = call.frames if call is not None else ()
        for outer, inner in itertools.pairwise(frames):
            key = (outer.file, outer.line, inner.function)
            before = last.get(key)
            turns = found.setdefault(key, [])
            if before is None or inner.line < before[0] or (position - before[1] > 1 and inner.line <= before[0]):
                turns.append(0.0)
            turns[-1] += program.kernel_ns + program.gap_ns
            last[key] = (inner.line, position)
    rows = [(f"{function}, called at {file}:{line}", turns) for (file, line, function), turns in found.items() if len(turns) > 1]
    return sorted(rows, key=lambda row: -sum(row[1]))[:3]


def band_of(program: ProgramRecord, arch: str) -> float:
    """Relative error to expect of a program's price (`error_bands`); arch: "wormhole_b0", "blackhole" or a card."""
    return relative_error(program.op, arch, program.modelled)
