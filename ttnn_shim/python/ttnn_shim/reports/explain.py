"""Why a line takes as long as it does: the terms whose sum is the time of its device programs (`./run --explain LINE`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ttnn_shim.error_bands import total_error
from ttnn_shim.records import Profile, ProgramRecord, summed_terms
from ttnn_shim.reports.calls import source_line

SLOWEST = 10
"""Lines of the overview."""

MORE_CORES, INPUTS_IN_L1, RESULT_IN_L1, LOWER_FIDELITY = "more cores", "operands in L1", "a result in L1", "lower fidelity"
MEANINGS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "launch": ("dispatch and set-up of the program", ("fewer, larger programs",)),
    "start skew": ("cores start one after the other", ("fewer cores",)),
    "DRAM read": ("the banks of DRAM are the limit", ("fewer or narrower bytes", INPUTS_IN_L1)),
    "DRAM write": ("the banks of DRAM are the limit", ("a narrower result", RESULT_IN_L1)),
    "NoC links": ("the most loaded link of the chip's network is the limit", ("other shards", "another grid")),
    "read": ("each core waits for its own reads", ("larger pages", MORE_CORES, INPUTS_IN_L1)),
    "NoC multicast": ("blocks are sent to other cores", ("larger blocks", "a program that multicasts less")),
    "tile math": ("unpacking and the matrix or vector engine of a core", (MORE_CORES, LOWER_FIDELITY, "narrower operands")),
    "packing": ("results are packed more slowly than they are computed", ("larger subblocks",)),
    "write": ("each core's writes take longest", (MORE_CORES, RESULT_IN_L1)),
    "pipeline fill": ("the first items, until every kernel of a core has work", ()),
    "stages together": ("the kernels of a core disturb one another", ()),
    "contention": ("kernels, DRAM and NoC are busy for about as long and disturb one another", ()),
    "fused functions": ("bias and activation after each block of a product, with nothing beside them", (MORE_CORES, "approximate mode of the activation")),
    "waiting for buffers": ("blocks come when the one before them is done", ("enable_act_double_buffer", "enable_weights_double_buffer", "smaller blocks")),
    "combining": ("partial results of several cores are added one after the other", ("fewer cores per head",)),
    "untilizing": ("tiles are made rows in a step of its own", ("an input and a result that keep one layout",)),
    "drain": ("last pages, barriers and other work behind which nothing runs", ()),
    "imbalance": ("the busiest core has more work than the mean", ("another grid", "shapes that divide")),
    "hardware floor": ("never faster than the peak of DRAM or of the matrix engine", ()),
}
"""For each term of the engine: its cause, and edits that reduce it."""
SMALLER = "smaller parts"
"""The sum of the terms below a thousandth of the program's time."""


def _advice(name: str, programs: Sequence[ProgramRecord], all_cores: int) -> str:
    """The cause of a term, and the edits that these programs do not have already."""
    cause, edits = MEANINGS[name]
    done = {
        MORE_CORES: all(program.cores >= all_cores for program in programs),
        INPUTS_IN_L1: all(tensor.buffer_type == "L1" for program in programs for tensor in program.inputs),
        LOWER_FIDELITY: not any(program.fpu_utilisation for program in programs),
        RESULT_IN_L1: all(tensor.buffer_type == "L1" for program in programs for tensor in program.outputs),
    }
    left = [edit for edit in edits if not done.get(edit, False)]
    return f"{cause}: {', '.join(left[:-1])}{', or ' if left[1:] else ''}{left[-1]}" if left else cause


def programs_of(profile: Profile, line: str) -> list[ProgramRecord]:
    """Device programs of "main.py:12". Raises: ValueError that says which lines there are."""
    found = [program for program in profile.programs if profile.line_of(program) == line]
    if found:
        return found
    file, _, number = line.rpartition(":")
    text = profile.sources.get(file, "").splitlines()
    if file not in profile.sources or not number.isdigit() or not 0 < int(number) <= len(text):
        raise ValueError(f"there is no line {line}: programs ran from {', '.join(sorted(profile.sources)) or 'no file'}")
    lines = sorted({int(place.rpartition(":")[2]) for program in profile.programs if (place := profile.line_of(program)).startswith(f"{file}:")})
    near = sorted(lines, key=lambda other: abs(other - int(number)))[:3]
    raise ValueError(f"{line} runs no device program; the nearest lines that do: {', '.join(map(str, sorted(near)))}")


def overview(profile: Profile) -> str:
    """The slowest lines, what most of each one's time is, and what would make that less (`./run --explain` without a line)."""
    lines: dict[str, list[ProgramRecord]] = {}
    for program in profile.programs:
        lines.setdefault(profile.line_of(program), []).append(program)
    times = {line: sum(program.kernel_ns + program.gap_ns for program in programs) for line, programs in lines.items()}
    slowest = sorted(lines, key=lambda line: -times[line])[:SLOWEST]
    share = sum(times[line] for line in slowest) / (profile.device_ns or 1)
    parts = [f"{profile.device_ns / 1e3:.1f} us of device time on {profile.card}; {share:.0%} of it on these lines (`--explain LINE` shows all parts)"]
    told: set[str] = set()
    all_cores = profile.grid[0] * profile.grid[1]
    for line in slowest:
        kernel_ns = sum(program.kernel_ns for program in lines[line]) or 1.0
        terms = list(summed_terms(program.terms for program in lines[line]).items())
        most = ", ".join(f"{name} {ns / kernel_ns:.0%}" for name, ns in terms[:3] if ns >= kernel_ns / 20)
        parts += ["", f"{line}  {times[line] / 1e3:.1f} us, {times[line] / (profile.device_ns or 1):.1%}: {most}", f"  {source_line(profile, line)}"]
        hints = [f"  {name}: {_advice(name, lines[line], all_cores)}" for name, _ in terms[:1]]
        parts += [hint for hint in hints if hint not in told]
        told.update(hints)
    return "\n".join(parts)


def explanation(profile: Profile, line: str) -> str:
    """The text of `./run --explain`. Raises: ValueError for a line without device programs."""
    programs = programs_of(profile, line)
    kernel_ns, gap_ns = sum(program.kernel_ns for program in programs), sum(program.gap_ns for program in programs)
    band = total_error((program.kernel_ns, program.op, profile.arch, program.modelled) for program in programs)
    parts = [
        f"{line}  {source_line(profile, line)}",
        f"{kernel_ns / 1e3:.1f} us in {len(programs)} device programs on {profile.card} (error band {band:.0%}),"
        f" {gap_ns / 1e3:.1f} us of gaps before them; {(kernel_ns + gap_ns) / (profile.device_ns or 1):.1%} of the forward call",
    ]
    for group in sorted(_alike(programs), key=lambda group: -sum(program.kernel_ns for program in group)):
        parts += ["", *_program(profile, group)]
    return "\n".join(parts)


def _alike(programs: Sequence[ProgramRecord]) -> list[list[ProgramRecord]]:
    """Programs of one factory, fidelity, number of cores and shapes whose times differ by less than a hundredth."""
    found: list[list[ProgramRecord]] = []
    for program in programs:
        for group in found:
            first = group[0]
            if _kind(first) == _kind(program) and abs(first.kernel_ns - program.kernel_ns) < program.kernel_ns / 100:
                group.append(program)
                break
        else:
            found.append([program])
    return found


def _kind(program: ProgramRecord) -> tuple[object, ...]:
    return program.op_code, program.factory, program.fidelity, program.cores, *(tensor.shape for tensor in (*program.inputs, *program.outputs))


def _program(profile: Profile, group: Sequence[ProgramRecord]) -> list[str]:
    """Lines for equal programs: each term's mean, and how far the program is from the machine's peaks."""
    first, ns = group[0], sum(program.kernel_ns for program in group) / len(group)
    dram_ns = sum(program.dram_utilisation * program.kernel_ns for program in group) / len(group)
    fpu_ns = sum(program.fpu_utilisation * program.kernel_ns for program in group) / len(group)
    all_cores = profile.grid[0] * profile.grid[1]
    lines = [f"{first.op_code} ({first.factory}), {len(group)} x {ns / 1e3:.2f} us, {first.cores} of {all_cores} cores"]
    if not first.modelled:
        lines.append("  no model of this operation: its bytes at the rate of the memories")
    terms = {name: total / len(group) for name, total in summed_terms(program.terms for program in group).items()}
    shown = {name: term_ns for name, term_ns in terms.items() if abs(term_ns) >= ns / 1000}
    lines += [f"  {name:20} {term_ns / 1e3:10.2f} us {term_ns / ns:6.1%}  {_advice(name, group, all_cores)}" for name, term_ns in shown.items()]
    if abs(smaller_ns := sum(terms.values()) - sum(shown.values())) >= 5:  # 0.01 us
        lines.append(f"  {SMALLER:20} {smaller_ns / 1e3:10.2f} us {smaller_ns / ns:6.1%}")
    lines.append(f"  {'sum':20} {sum(terms.values()) / 1e3:10.2f} us")
    lines.append(
        f"  roofline: {dram_ns / 1e3:.2f} us for its DRAM bytes at {profile.dram_peak_gb_s:.0f} GB/s, {fpu_ns / 1e3:.2f} us of matrix engine"
        f"{f' at {first.fidelity}' if first.fidelity else ''} on its cores"
    )
    return lines
