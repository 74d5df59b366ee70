"""One self-contained HTML page: where the device time goes, what limits it, and what would help. No network; its script only sorts tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path

from ttnn_shim.error_bands import UNMEASURED_BAND
from ttnn_shim.records import BOUNDS, Profile, ProgramRecord
from ttnn_shim.reports import charts
from ttnn_shim.reports.answers import Answer, batch_lines
from ttnn_shim.reports.calls import source_line
from ttnn_shim.reports.page import breakable, contents, duration, page, section, sortable, tiles
from ttnn_shim.reports.summary import (
    BOUND_TEXT,
    Group,
    band_of,
    best_case_ns,
    by_line,
    by_module,
    by_op,
    by_turn,
    longest_by_line,
    module_label,
    module_names,
    verdict,
)  # fmt: skip

_SLOWEST = 25


def write_page(profile: Profile, path: Path, answer: Answer | None = None) -> None:
    """Writes the page; every table's rows add up to the device time shown at its top. answer: what would make the program faster, where it was asked."""
    model = str(profile.manifest.get("model", profile.root.name))
    sections: dict[str, tuple[str, str]] = {}
    if answer is not None:
        sections["What would make it faster"] = (
            _suggestions(answer),
            "Each row is one edit and the simulated time that it saves. Bold: what the edit costs in accuracy.",
        )
    sections |= {
        "Slowest calls": (_slowest(profile), "Lines of the program, slowest first, and what limits each of them. Below a time: its expected error."),
        "By op": (_group_table(by_op(profile), profile.device_ns, "op"), _legend()),
        "By module": (_group_table(by_module(profile), profile.device_ns, "function, and the model's module", _module_notes(profile)), ""),
    }
    if turns := by_turn(profile):
        charts_of_turns = "".join(charts.bars(*row) if charts.alike(row[1]) else _both(partial(charts.bars, *row)) for row in turns)
        sections["By layer"] = (charts_of_turns, "Microseconds of each iteration of the program's loops.")
    sections |= {
        "Roofline": (
            _both(lambda width: charts.roofline(profile, width)),
            "One dot per device program. The lines are the peaks of the card: DRAM, and math by fidelity.",
        ),
        "Memory over time": (_memory(profile), "Labels name the lines of the program that need most."),
        "Cores": (charts.heat_map(profile), _cores_note(profile)),
        "Gaps between programs": (_gaps(profile), ""),
    }
    body = [_header(profile, model), contents(list(sections)), *(section(title, text, note) for title, (text, note) in sections.items())]
    path.write_text(page(f"{model}: device time", body), encoding="utf-8")


def _both(chart: Callable[[float], str]) -> str:
    """A chart for wide windows and one for narrow ones; the style shows one of them."""
    return f'<div class="from700">{chart(charts.WIDE)}</div><div class="below700">{chart(charts.NARROW)}</div>'


def _cores_note(profile: Profile) -> str:
    shares = charts.busy_shares(profile)
    idle = sum(share < 0.5 for share in shares)
    note = "Share of the device time in which each core has work. Programs take cores row by row; a number stands where the share changes."
    return f"{note} {idle} of {len(shares)} cores have work for less than half of the time." if idle else note


def _header(profile: Profile, model: str) -> str:
    kernel_ns = sum(program.kernel_ns for program in profile.programs)
    gap_ns = profile.device_ns - kernel_ns
    unmodelled = sum(not program.modelled for program in profile.programs)
    read_bytes, best_ns = best_case_ns(profile)
    dram, math = (_weighted(profile, value) for value in (lambda program: program.dram_utilisation, lambda program: program.fpu_utilisation))
    boxes = [
        (duration(profile.device_ns), f"device time of one forward call (+- {profile.device_ns_error:.0%})"),
        (f"{1e9 / profile.device_ns:,.0f}/s" if profile.device_ns else "-", "forward calls on one chip"),
        (duration(best_ns), f"lower limit: {read_bytes / 1e6:,.1f} MB of weights and inputs at {profile.dram_peak_gb_s:.0f} GB/s"),
        (f"{dram:.0%}, {math:.0%}", "mean use of DRAM, and of the math engines"),
        (f"{len(profile.programs)}", f"device programs, with {duration(gap_ns)} of gaps between them"),
        (duration(profile.eager_wall_ns), f"with the host, without a trace (+- {profile.eager_wall_ns_error:.0%})"),
    ]
    if profile.collectives:
        sent = sum(program.link_bytes for program in profile.programs)
        boxes.append((duration(profile.ccl_ns), f"collectives ({profile.ccl_ns / profile.device_ns:.0%}): {sent / 1e6:,.2f} MB over each link"))
    warning = f'<p class="soft">{unmodelled} programs have no timing model; a roofline stands in for them.</p>' if unmodelled else ""
    if profile.unmeasured:
        names = escape(", ".join(profile.unmeasured))
        warning += f'<p class="soft">No card measurement of {names}: times estimated from the kernels (+- {UNMEASURED_BAND:.0%}).</p>'
    return (
        f'<h1>{escape(model)}</h1><p class="soft">simulated {escape(profile.card)}, {profile.grid[0]} x {profile.grid[1]} cores,'
        f" {profile.clock_ghz:g} GHz</p>{tiles(boxes)}{warning}"
    )


def _weighted(profile: Profile, value: Callable[[ProgramRecord], float]) -> float:
    total = sum(program.kernel_ns for program in profile.programs)
    return sum(value(program) * program.kernel_ns for program in profile.programs) / total if total else 0.0


def _suggestions(answer: Answer) -> str:
    batches = "".join(f"<p>{escape(line)}</p>" for line in batch_lines(answer))
    if not answer.suggestions:
        refused = f" TT-NN refuses {answer.refused} of them." if answer.refused else ""
        return f"<p>No edit that was tried makes it faster.{refused}</p>{batches}"
    several = len(answer.together) > 1
    best = {id(one) for one in answer.together} if several else set()
    rows = []
    for one in answer.suggestions:
        mark = " <b>*</b>" if id(one) in best else ""
        cost = f"<br><b>{escape(one.cost)}</b>" if one.cost else ""
        rows.append(
            (
                f'<td class="n" data-v="{one.gain_ns:.0f}">{one.gain_ns / 1e3:,.1f}<br><span class="soft">+- {one.error_ns / 1e3:,.1f}</span></td>',
                f'<td class="n" data-v="{answer.device_ns - one.gain_ns:.0f}">{(answer.device_ns - one.gain_ns) / 1e3:,.1f}</td>',
                f'<td class="code wrap">{escape(one.line)} {escape(one.what)}{mark}{cost}<br><span class="soft rows">{escape(one.write)}</span></td>',
            )
        )
    gain_ns = answer.device_ns - answer.together_ns
    verdict = f"; <b>{escape(answer.verdict)}</b>" if answer.verdict else ""
    sum_ = f"{duration(gain_ns)} less, {duration(answer.together_ns)} ({-gain_ns / (answer.device_ns or 1):+.1%}){verdict}"
    note = f"<p>The {len(answer.together)} edits marked <b>*</b> together: {sum_}</p>" if several else ""
    return note + batches + sortable(("gain us", "new us", "edit, and the code to write"), rows, stacked=False)


def _legend() -> str:
    items = "".join(f'<span><i class="{name}"></i>{BOUND_TEXT[name]}</span>' for name in BOUNDS)
    return f'<div class="legend"><span>limited by</span>{items}</div>'


def _module_notes(profile: Profile) -> dict[str, str]:
    """The framework's module of each group of `by_module`."""
    names = module_names(profile)
    paths = {profile.module_of(program) for program in profile.programs}
    return {" > ".join(path): label for path in paths if (label := module_label(path, names))}


def _group_table(groups: Sequence[Group], total_ns: float, title: str, notes: Mapping[str, str] | None = None) -> str:
    longest_ns = max((group.total_ns for group in groups), default=1.0) or 1.0
    rows = []
    for group in groups:
        parts = "".join(f'<i class="{name}" style="width:{100 * group.bound_ns[name] / longest_ns:.2f}%"></i>' for name in BOUNDS if name in group.bound_ns)
        note = (notes or {}).get(group.key, "")
        soft = f'<br><span class="soft">{escape(note)}</span>' if note else ""
        rows.append(
            (
                f'<td class="code wrap">{breakable(group.key)}{soft}</td>',
                f'<td class="n" data-v="{group.count}">{group.count}</td>',
                f'<td class="n" data-v="{group.total_ns:.0f}">{duration(group.total_ns)}</td>',
                f'<td class="n" data-v="{group.gap_ns:.0f}">{duration(group.gap_ns)}</td>',
                f'<td class="n" data-v="{group.total_ns:.0f}">{group.total_ns / (total_ns or 1):.1%}</td>',
                f'<td class="bar"><div class="track">{parts}</div></td>',
            )
        )
    total = (
        f'<tr><td>total</td><td class="n">{sum(group.count for group in groups)}</td><td class="n">{duration(total_ns)}</td>'
        f'<td class="n">{duration(sum(group.gap_ns for group in groups))}</td><td class="n">100%</td><td></td></tr>'
    )
    return sortable((title, "programs", "time with gaps", "gaps", "share", ""), rows, total)


def _slowest(profile: Profile) -> str:
    longest = longest_by_line(profile)
    shapes_of_calls: dict[str, dict[int, str]] = {}
    for program in profile.programs:
        shapes = ", ".join(str(list(tensor.shape)) for tensor in program.inputs[:3])
        shapes_of_calls.setdefault(f"{profile.line_of(program) or '?'} {program.call_op}", {}).setdefault(program.call_id, shapes)
    rows = []
    for group in by_line(profile)[:_SLOWEST]:
        program = longest[group.key]
        band = f"+- {band_of(program, profile.arch):.0%}"
        line, _, op = group.key.partition(" ")
        calls = shapes_of_calls[group.key]
        shapes = calls[program.call_id]
        if (kinds := len(set(calls.values()))) > 1:
            shapes += f" (slowest of {kinds} kinds of input)"
        module = " > ".join(profile.module_of(program))
        count = len(calls)
        programs = f'<br><span class="soft">{group.count} programs</span>' if group.count != count else ""
        rows.append(
            (
                f'<td class="code wrap">{breakable(op)}<br><span class="soft">{escape(line)}: {breakable(source_line(profile, line))}<br>'
                f"{escape(module)} {escape(shapes)}</span></td>",
                f'<td class="n" data-v="{count}">{count}{programs}</td>',
                f'<td class="n" data-v="{group.total_ns:.0f}">{duration(group.total_ns)}<br><span class="soft">{band}</span></td>',
                f'<td class="wide">{escape(verdict(profile, group, program))}</td>',
            )
        )
    return sortable(("line and op", "calls", "time", "limited by"), rows)


def _memory(profile: Profile) -> str:
    def l1(width: float) -> str:
        return charts.over_time(
            profile, "L1 per core, tensors and circular buffers", lambda program: float(program.l1_peak_bytes), profile.l1_bank_bytes, width
        )

    def dram(width: float) -> str:
        return charts.over_time(profile, "DRAM per bank", lambda program: float(program.dram_bytes), profile.dram_bank_bytes, width)

    return _both(l1) + _both(dram)


def _gaps(profile: Profile) -> str:
    """A table of the idle times before the programs, or one sentence if all of them are about equal."""
    gaps_ns = [program.gap_ns for program in profile.programs if program.gap_ns > 0]
    if not gaps_ns or charts.alike(gaps_ns):
        each = f"{len(gaps_ns)} gaps of {duration(sum(gaps_ns) / len(gaps_ns))} each, {duration(sum(gaps_ns))} together" if gaps_ns else "No gaps"
        return f"<p>{each}: the chip starts the next program.</p>"
    rows = []
    for group in sorted(by_op(profile), key=lambda group: -group.gap_ns):
        gaps = [program.gap_ns for program in profile.programs if program.op_code == group.key]
        cells = (group.gap_ns, group.gap_ns / group.count, max(gaps))
        rows.append(
            (
                f'<td class="code wrap">{breakable(group.key)}</td>',
                f'<td class="n" data-v="{group.count}">{group.count}</td>',
                *(f'<td class="n" data-v="{ns:.0f}">{duration(ns)}</td>' for ns in cells),
            )
        )
    return '<p class="soft">Idle time before each program, by its op.</p>' + sortable(("op", "programs", "gaps", "mean", "longest"), rows)
