"""One self-contained HTML page: where the device time goes, what limits it, and what would help. No scripts, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from ttnn_shim.records import BOUNDS, Profile, ProgramRecord
from ttnn_shim.reports.summary import Group, by_line, by_module, by_op, hint

_SLOWEST = 20
_BOUND_TEXT = {
    "compute": "compute",
    "dram": "DRAM bandwidth",
    "reader": "reading per core",
    "writer": "writing per core",
    "noc": "NoC",
    "latency": "launch and latency",
}


def write_page(profile: Profile, path: Path) -> None:
    """Writes the page; every table's rows add up to the device time shown at its top."""
    model = escape(str(profile.manifest.get("model", profile.root.name)))
    css = (files("ttnn_shim.reports") / "page.css").read_text(encoding="utf-8")
    sections = [
        _header(profile, model),
        _section("By op", _group_table(by_op(profile), profile.device_ns, "op"), _legend()),
        _section("By module", _group_table(by_module(profile), profile.device_ns, "function of the program"), ""),
        _section("Slowest calls", _slowest(profile), "Each line of the program with all its device programs, and what limits it."),
        _section("Roofline", _roofline(profile), "One dot per device program; the roofs are the card's DRAM and math peaks."),
        _section("L1 over time", _l1_chart(profile), "Bytes per core in tensors and circular buffers while each program ran."),
    ]
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{model}: device time</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{css}</style></head><body>\n" + "\n".join(sections) + "\n</body></html>\n",
        encoding="utf-8",
    )


def _section(title: str, body: str, note: str) -> str:
    text = note if note.startswith("<") else f'<p class="soft">{note}</p>' if note else ""
    return f"<section><h2>{title}</h2>{text}{body}</section>"


def _header(profile: Profile, model: str) -> str:
    kernel_ns = sum(program.kernel_ns for program in profile.programs)
    gap_ns = profile.device_ns - kernel_ns
    unmodelled = sum(not program.modelled for program in profile.programs)
    tiles = [
        (_time(profile.device_ns), "device time, one forward call"),
        (f"{len(profile.programs)}", "device programs"),
        (_time(gap_ns), "of it gaps between programs"),
        (f"{1e9 / profile.device_ns:,.1f}" if profile.device_ns else "-", "calls per second on one chip"),
        (f"{_weighted(profile, lambda p: p.dram_utilisation):.0%}", "mean DRAM utilisation"),
        (f"{_weighted(profile, lambda p: p.fpu_utilisation):.0%}", "mean math utilisation"),
    ]
    boxes = "".join(f'<div class="tile"><b>{value}</b><span class="soft">{text}</span></div>' for value, text in tiles)
    warning = f'<p class="soft">{unmodelled} programs have no timing model; a roofline stands in for them.</p>' if unmodelled else ""
    return (
        f'<h1>{model}</h1><p class="soft">simulated {escape(profile.card)}, {profile.grid[0]} x {profile.grid[1]} cores,'
        f" {profile.clock_ghz:g} GHz</p><div class='tiles'>{boxes}</div>{warning}"
    )


def _weighted(profile: Profile, value: object) -> float:
    total = sum(program.kernel_ns for program in profile.programs)
    if not total or not callable(value):
        return 0.0
    return float(sum(value(program) * program.kernel_ns for program in profile.programs) / total)


def _legend() -> str:
    items = "".join(f'<span><i class="{name}"></i>{_BOUND_TEXT[name]}</span>' for name in BOUNDS)
    return f'<div class="legend"><span>limited by</span>{items}</div>'


def _group_table(groups: Sequence[Group], total_ns: float, title: str) -> str:
    longest_ns = max((group.total_ns for group in groups), default=1.0) or 1.0
    rows = []
    for group in groups:
        parts = "".join(f'<i class="{name}" style="width:{100 * group.bound_ns[name] / longest_ns:.2f}%"></i>' for name in BOUNDS if name in group.bound_ns)
        rows.append(
            f'<tr><td class="code">{escape(group.key)}</td><td class="n">{group.count}</td>'
            f'<td class="n">{_time(group.total_ns)}</td><td class="n">{group.total_ns / (total_ns or 1):.1%}</td>'
            f'<td class="bar"><div class="track">{parts}</div></td></tr>'
        )
    total = (
        f'<tr><td><b>total</b></td><td class="n">{sum(group.count for group in groups)}</td>'
        f'<td class="n">{_time(total_ns)}</td><td class="n">100%</td><td></td></tr>'
    )
    return (
        f'<div class="scroll"><table><tr><th>{title}</th><th class="n">count</th><th class="n">time, gaps included</th>'
        f'<th class="n">share</th><th></th></tr>{"".join(rows)}{total}</table></div>'
    )


def _slowest(profile: Profile) -> str:
    by_key: dict[str, ProgramRecord] = {}
    for program in profile.programs:
        key = f"{profile.line_of(program) or '?'} {program.call_op}"
        if key not in by_key or program.kernel_ns > by_key[key].kernel_ns:
            by_key[key] = program
    rows = []
    for group in by_line(profile)[:_SLOWEST]:
        program = by_key[group.key]
        line, _, op = group.key.partition(" ")
        source = _source_line(profile, line)
        shapes = ", ".join(str(list(tensor.shape)) for tensor in program.inputs[:3])
        rows.append(
            f'<tr><td class="code wrap">{escape(op)}<br><span class="soft">{escape(line)}: {escape(source)}<br>{escape(shapes)}</span></td>'
            f'<td class="n">{group.count}</td><td class="n">{_time(group.total_ns)}</td>'
            f'<td class="wide">{_BOUND_TEXT.get(program.bound, program.bound)}<br><span class="soft">{escape(hint(profile, program))}</span></td></tr>'
        )
    return (
        '<div class="scroll"><table><tr><th>call</th><th class="n">count</th><th class="n">time</th>'
        f"<th>limited by, and what would help</th></tr>{''.join(rows)}</table></div>"
    )


def _source_line(profile: Profile, place: str) -> str:
    file, _, number = place.rpartition(":")
    lines = profile.sources.get(file, "").splitlines()
    return lines[int(number) - 1].strip()[:90] if number.isdigit() and 0 < int(number) <= len(lines) else ""


def _roofline(profile: Profile) -> str:
    """Log-log plot of achieved FLOP/s over FLOP per DRAM byte, from utilisations and the card's peaks."""
    peak_flops = max(profile.fpu_peak_tflops.values(), default=0.0) * 1e12
    peak_bytes = profile.dram_peak_gb_s * 1e9
    points = []
    for program in profile.programs:
        peak = profile.fpu_peak_tflops.get(program.fidelity, max(profile.fpu_peak_tflops.values(), default=0.0)) * 1e12
        flops, rate = program.fpu_utilisation * peak, program.dram_utilisation * peak_bytes
        if flops > 0 and rate > 0:
            points.append((flops / rate, flops, program))
    if not points or not peak_flops or not peak_bytes:
        return '<p class="soft">No program of this run uses both the math engine and DRAM.</p>'
    width, height, left, bottom = 900.0, 360.0, 62.0, 34.0
    right = 24.0
    low_x, high_x = min(0.1, *(x for x, _, _ in points)), max(1e4, *(x for x, _, _ in points))
    low_y, high_y = min(peak_flops / 1e5, *(y for _, y, _ in points)), peak_flops * 2

    def at_x(value: float) -> float:
        return left + (width - left - right) * math.log(value / low_x) / math.log(high_x / low_x)

    def at_y(value: float) -> float:
        return (height - bottom) - (height - bottom - 12) * math.log(max(value, low_y) / low_y) / math.log(high_y / low_y)

    knee = peak_flops / peak_bytes
    roof = (
        f'<path class="roof" d="M{at_x(low_x):.1f} {at_y(low_x * peak_bytes):.1f} L{at_x(knee):.1f} {at_y(peak_flops):.1f}'
        f' L{at_x(high_x):.1f} {at_y(peak_flops):.1f}"/>'
    )
    dots = "".join(
        f'<circle class="{program.bound}" cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="{3 + min(7, program.kernel_ns / 4e4):.1f}"'
        f' opacity=".65"><title>{escape(program.op_code)} {_time(program.kernel_ns)}, {y / 1e12:.2f} TFLOP/s</title></circle>'
        for x, y, program in points
    )
    grid = []
    for exponent in range(math.ceil(math.log10(low_x)), math.floor(math.log10(high_x)) + 1):
        x = at_x(10.0**exponent)
        grid.append(f'<line class="axis" x1="{x:.1f}" y1="8" x2="{x:.1f}" y2="{height - bottom}"/>')
        grid.append(f'<text x="{x:.1f}" y="{height - bottom + 15}" text-anchor="middle">{10.0**exponent:g}</text>')
    for exponent in range(math.ceil(math.log10(low_y)), math.floor(math.log10(high_y)) + 1):
        y = at_y(10.0**exponent)
        grid.append(f'<line class="axis" x1="{left}" y1="{y:.1f}" x2="{width}" y2="{y:.1f}"/>')
        grid.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** (exponent - 12):g} T</text>')
    title = f'<text x="{width / 2}" y="{height - 4}" text-anchor="middle">FLOP per DRAM byte (y: FLOP per second)</text>'
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="roofline">{"".join(grid)}{roof}{dots}{title}</svg>'


def _l1_chart(profile: Profile) -> str:
    if not profile.programs or not profile.device_ns:
        return '<p class="soft">No device programs.</p>'
    width, height, left, bottom = 900.0, 220.0, 62.0, 30.0
    end_ns = profile.programs[-1].start_ns + profile.programs[-1].kernel_ns
    peak = max(program.l1_peak_bytes for program in profile.programs)
    top = max(profile.l1_bank_bytes, peak, 1)

    def at(ns: float, size_bytes: float) -> tuple[float, float]:
        return left + (width - left - 12) * ns / end_ns, (height - bottom) * (1 - size_bytes / top) + 8 * size_bytes / top

    points = []
    for program in profile.programs:
        for ns in (program.start_ns, program.start_ns + program.kernel_ns):
            points.append(at(ns, program.l1_peak_bytes))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    base = height - bottom
    cap_y = at(0, profile.l1_bank_bytes)[1]
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="L1 bytes per core over time">'
        f'<line class="axis" x1="{left}" y1="{base}" x2="{width}" y2="{base}"/>'
        f'<line class="cap" x1="{left}" y1="{cap_y:.1f}" x2="{width}" y2="{cap_y:.1f}"/>'
        f'<text x="{left - 6}" y="{cap_y + 12:.1f}" text-anchor="end">{profile.l1_bank_bytes / 1024:.0f} KiB</text>'
        f'<text x="{left - 6}" y="{base}" text-anchor="end">0</text>'
        f'<polygon class="area" points="{points[0][0]:.1f},{base} {line} {points[-1][0]:.1f},{base}"/>'
        f'<polyline class="top" points="{line}"/>'
        f'<text x="{left}" y="{height - 8}">0</text>'
        f'<text x="{width - 12}" y="{height - 8}" text-anchor="end">{_time(end_ns)}, peak {peak / 1024:.0f} KiB</text></svg>'
    )


def _time(ns: float) -> str:
    if ns >= 1e6:
        return f"{ns / 1e6:,.2f} ms"
    return f"{ns / 1e3:,.1f} us"
