"""One self-contained HTML page: where the device time goes, what limits it, and what would help. No network; its script only sorts tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

from ttnn_shim.error_bands import UNMEASURED_BAND
from ttnn_shim.records import BOUNDS, Profile, ProgramRecord
from ttnn_shim.reports import charts
from ttnn_shim.reports.answers import Answer, batch_lines
from ttnn_shim.reports.calls import source_line
from ttnn_shim.reports.page import duration, page, section, sortable, tiles
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
    body = [_header(profile, model)]
    if answer is not None:
        body.append(
            section(
                "What would make it faster",
                _suggestions(answer),
                "Each gain is the clock's for this program with that edit; ./run --check says what it costs in accuracy.",
            )
        )
    body += [
        section("Slowest calls", _slowest(profile), "Each line of the program with all its device programs, what limits it, and what its price is worth."),
        section("By op", _group_table(by_op(profile), profile.device_ns, "op"), _legend()),
        section("By module", _group_table(by_module(profile), profile.device_ns, "function, and the model's module", _module_notes(profile)), ""),
    ]
    turns = by_turn(profile)
    if turns:
        body.append(section("By layer", "".join(charts.bars(label, values) for label, values in turns), "Microseconds of each turn of a loop of the program."))
    body += [
        section("Roofline", charts.roofline(profile), "One dot per device program; the roofs are the card's DRAM and math peaks by fidelity."),
        section("Memory over time", _memory(profile), ""),
        section("Cores", charts.heat_map(profile), "Share of the device time in which each core has work. Programs take cores row by row."),
        section("Gaps between programs", _gaps(profile), "Idle time in front of each program, by its op: launch, and what the host takes."),
    ]
    path.write_text(page(f"{model}: device time", body), encoding="utf-8")


def _header(profile: Profile, model: str) -> str:
    kernel_ns = sum(program.kernel_ns for program in profile.programs)
    gap_ns = profile.device_ns - kernel_ns
    unmodelled = sum(not program.modelled for program in profile.programs)
    read_bytes, best_ns = best_case_ns(profile)
    boxes = [
        (duration(profile.device_ns), "device time, one forward call"),
        (f"+- {profile.device_ns_error:.0%}", "what its prices are worth, by op family"),
        (duration(profile.eager_wall_ns), f"wall time, launched program by program (+- {profile.eager_wall_ns_error:.0%}); from a trace: the device time"),
        (f"{len(profile.programs)}", "device programs"),
        (duration(gap_ns), "of it gaps between programs"),
        (f"{1e9 / profile.device_ns:,.1f}" if profile.device_ns else "-", "calls per second on one chip"),
        (f"{_weighted(profile, lambda program: program.dram_utilisation):.0%}", "mean DRAM utilisation"),
        (f"{_weighted(profile, lambda program: program.fpu_utilisation):.0%}", "mean math utilisation"),
        (duration(best_ns), f"best case: {read_bytes / 1e6:,.1f} MB of weights and inputs at {profile.dram_peak_gb_s:.0f} GB/s"),
    ]
    if profile.collectives:
        sent = sum(program.link_bytes for program in profile.programs)
        boxes.insert(5, (duration(profile.ccl_ns), f"of it collectives: {sent / 1e6:,.2f} MB over each link, {profile.ccl_ns / profile.device_ns:.0%}"))
    warning = f'<p class="soft">{unmodelled} programs have no timing model; a roofline stands in for them.</p>' if unmodelled else ""
    if profile.unmeasured:
        names = escape(", ".join(profile.unmeasured))
        warning += f'<p class="soft">No measured row of {names}: priced by what the kernels do (+- {UNMEASURED_BAND:.0%}).</p>'
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
        return f"<p>None of the changes that were tried makes it faster ({answer.refused} are refused by the library).</p>{batches}"
    best = {id(one) for one in answer.together}
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
    note = f"<p><b>*</b> together: {duration(gain_ns)} less, {duration(answer.together_ns)} ({-gain_ns / (answer.device_ns or 1):+.1%}){verdict}</p>"
    return note + batches + sortable(("gain us", "new us", "change, and the code to write"), rows)


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
                f'<td class="code wrap">{escape(group.key)}{soft}</td>',
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
    return sortable((title, "count", "time, gaps included", "gaps", "share", ""), rows, total)


def _slowest(profile: Profile) -> str:
    longest = longest_by_line(profile)
    rows = []
    for group in by_line(profile)[:_SLOWEST]:
        program = longest[group.key]
        band = f"+- {band_of(program, profile.arch):.0%}"
        line, _, op = group.key.partition(" ")
        shapes = ", ".join(str(list(tensor.shape)) for tensor in program.inputs[:3])
        module = " > ".join(profile.module_of(program))
        rows.append(
            (
                f'<td class="code wrap">{escape(op)}<br><span class="soft">{escape(line)}: {escape(source_line(profile, line))}<br>'
                f"{escape(module)} {escape(shapes)}</span></td>",
                f'<td class="n" data-v="{group.count}">{group.count}</td>',
                f'<td class="n" data-v="{group.total_ns:.0f}">{duration(group.total_ns)}<br><span class="soft">{band}</span></td>',
                f'<td class="wide">{escape(verdict(profile, group, program))}</td>',
            )
        )
    return sortable(("call", "count", "time", "limited by"), rows)


def _memory(profile: Profile) -> str:
    l1 = charts.over_time(profile, "L1 per core: tensors and circular buffers", lambda program: float(program.l1_peak_bytes), profile.l1_bank_bytes)
    return l1 + charts.over_time(profile, "DRAM per bank", lambda program: float(program.dram_bytes), profile.dram_bank_bytes)


def _gaps(profile: Profile) -> str:
    rows = []
    for group in sorted(by_op(profile), key=lambda group: -group.gap_ns):
        gaps = [program.gap_ns for program in profile.programs if program.op_code == group.key]
        cells = (group.gap_ns, group.gap_ns / group.count, max(gaps))
        rows.append(
            (
                f'<td class="code wrap">{escape(group.key)}</td>',
                f'<td class="n" data-v="{group.count}">{group.count}</td>',
                *(f'<td class="n" data-v="{ns:.0f}">{duration(ns)}</td>' for ns in cells),
            )
        )
    return sortable(("before", "count", "gaps", "mean", "longest"), rows)
