"""Charts of the report page as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from ttnn_shim.records import Profile, ProgramRecord
from ttnn_shim.reports.page import duration

LABELLED = 6
"""Dots of the roofline that carry a name."""


def roofline(profile: Profile) -> str:
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

    roofs = []
    for index, (name, tflops) in enumerate(sorted(profile.fpu_peak_tflops.items(), key=lambda item: item[1])):
        top = tflops * 1e12
        knee = top / peak_bytes
        start = f"M{at_x(low_x):.1f} {at_y(low_x * peak_bytes):.1f} L" if top == peak_flops else "M"
        roofs.append(f'<path class="roof" d="{start}{at_x(knee):.1f} {at_y(top):.1f} L{at_x(high_x):.1f} {at_y(top):.1f}"/>')
        roofs.append(f'<text x="{width - right - 118 * (index % 2)}" y="{at_y(top) - 3:.1f}" text-anchor="end">{escape(name)} {tflops:.0f} TFLOP/s</text>')
    roof = "".join(roofs) + f'<text x="{at_x(low_x) + 6:.1f}" y="{at_y(low_x * peak_bytes) - 8:.1f}">DRAM {peak_bytes / 1e9:.0f} GB/s</text>'
    named: dict[str, tuple[float, float, ProgramRecord]] = {}
    for x, y, program in sorted(points, key=lambda point: -point[2].kernel_ns):
        named.setdefault(profile.line_of(program) or program.op_code, (x, y, program))
    taken: list[tuple[float, float]] = []
    labels = []
    for place, (x, y, _) in list(named.items())[:LABELLED]:
        left_x, top_y = at_x(x) + 9, at_y(y) + 4
        while any(abs(left_x - other) < 90 and abs(top_y - above) < 12 for other, above in taken):
            top_y += 12
        taken.append((left_x, top_y))
        labels.append(f'<text class="name" x="{left_x:.1f}" y="{top_y:.1f}">{escape(place)}</text>')
    dots = "".join(
        f'<circle class="{escape(program.bound)}" cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="{3 + min(7, program.kernel_ns / 4e4):.1f}"'
        f' opacity=".65"><title>{escape(program.op_code)} {duration(program.kernel_ns)}, {y / 1e12:.2f} TFLOP/s</title></circle>'
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
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="roofline">{"".join(grid)}{roof}{dots}{"".join(labels)}{title}</svg>'


def over_time(profile: Profile, label: str, value: Callable[[ProgramRecord], float], cap: float) -> str:
    """Bytes while each program ran, with the line of what there is."""
    if not profile.programs or not profile.device_ns:
        return '<p class="soft">No device programs.</p>'
    width, height, left, bottom = 900.0, 200.0, 72.0, 30.0
    end_ns = profile.programs[-1].start_ns + profile.programs[-1].kernel_ns
    peak = max(map(value, profile.programs))
    top = max(cap if peak > cap / 8 else peak * 1.2, peak, 1)

    def at(ns: float, size: float) -> tuple[float, float]:
        return left + (width - left - 12) * ns / end_ns, (height - bottom) * (1 - size / top) + 8 * size / top

    points = []
    for program in profile.programs:
        for ns in (program.start_ns, program.start_ns + program.kernel_ns):
            points.append(at(ns, value(program)))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    base = height - bottom
    top_y = at(0, top)[1]
    roof = f'<line class="cap" x1="{left}" y1="{top_y:.1f}" x2="{width}" y2="{top_y:.1f}"/>' if top == cap else ""
    return (
        f'<h3>{escape(label)}</h3><svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}">'
        f'<line class="axis" x1="{left}" y1="{base}" x2="{width}" y2="{base}"/>{roof}'
        f'<text x="{left - 6}" y="{top_y + 10:.1f}" text-anchor="end">{_size(top)}</text>'
        f'<text x="{left - 6}" y="{base}" text-anchor="end">0</text>'
        f'<polygon class="area" points="{points[0][0]:.1f},{base} {line} {points[-1][0]:.1f},{base}"/>'
        f'<polyline class="top" points="{line}"/>'
        f'<text x="{left}" y="{height - 8}">0</text>'
        f'<text x="{width - 12}" y="{height - 8}" text-anchor="end">{duration(end_ns)}, peak {_size(peak)} of {_size(cap)}</text></svg>'
    )


def _size(size_bytes: float) -> str:
    return f"{size_bytes / (1 << 20):.1f} MiB" if size_bytes >= 1 << 20 else f"{size_bytes / 1024:.0f} KiB"


def heat_map(profile: Profile) -> str:
    """Busy share of each core, by the number of cores of each program: they are taken row by row."""
    columns, rows = profile.grid
    busy = [sum(program.kernel_ns for program in profile.programs if program.cores > index) for index in range(columns * rows)]
    total = profile.device_ns or 1.0
    cell = 44.0
    cells = []
    for index, ns in enumerate(busy):
        x, y = cell * (index % columns), cell * (index // columns)
        share = ns / total
        cells.append(
            f'<rect x="{x:g}" y="{y:g}" width="{cell - 2:g}" height="{cell - 2:g}" rx="4" class="core" fill-opacity="{0.06 + 0.94 * share:.3f}"/>'
            f'<text x="{x + cell / 2 - 1:g}" y="{y + cell / 2 + 3:g}" text-anchor="middle">{share:.0%}</text>'
        )
    return f'<svg class="narrow" viewBox="0 0 {cell * columns:g} {cell * rows:g}" role="img" aria-label="busy share per core">{"".join(cells)}</svg>'


def bars(label: str, values_ns: Sequence[float]) -> str:
    """One bar per turn of a loop."""
    width, height, bottom = 900.0, 130.0, 22.0
    most = max(values_ns) or 1.0
    step = min(width / len(values_ns), 64.0)
    every = max(1, math.ceil(len(values_ns) / 24))
    out = []
    for index, ns in enumerate(values_ns):
        tall = (height - bottom - 16) * ns / most
        out.append(
            f'<rect class="compute" x="{index * step + 1:.1f}" y="{height - bottom - tall:.1f}" width="{min(max(step - 2, 1), 60):.1f}" height="{tall:.1f}">'
            f"<title>{index}: {duration(ns)}</title></rect>"
        )
        if index % every == 0:
            out.append(f'<text x="{index * step + min(step, 60) / 2:.1f}" y="{height - 7}" text-anchor="middle">{index}</text>')
            out.append(f'<text x="{index * step + min(step, 60) / 2:.1f}" y="{height - bottom - tall - 4:.1f}" text-anchor="middle">{ns / 1e3:,.0f}</text>')
    return f'<h3>{escape(label)}</h3><svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="microseconds by turn">{"".join(out)}</svg>'
