"""Charts of the report page as SVG."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from html import escape

from ttnn_shim.records import Profile, ProgramRecord
from ttnn_shim.reports.page import duration

WIDE, NARROW = 900.0, 380.0
"""Widths of a chart in pixels: for a desktop, and for a telephone, where a scaled picture would be too small to read."""

LABELLED = 6
"""Dots of the roofline that carry a name."""

SPIKES = 3
"""Lines of the program that carry a name in a chart of memory."""

CHARACTER = 6.8
"""Width of a label's character, at most."""


def roofline(profile: Profile, width: float = WIDE) -> str:
    """Log-log plot of achieved FLOP/s over FLOP per DRAM byte, from utilisations and the card's peaks.

    The axes end at the decade beyond the outermost dot or knee.
    """
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
    height, left, right, top, bottom = 360.0, 40.0, 76.0, 22.0, 36.0
    knees = [tflops * 1e12 / peak_bytes for tflops in profile.fpu_peak_tflops.values()]
    low_x, high_x = _decades([*knees, *(x for x, _, _ in points)])
    low_y, high_y = _decades([y for _, y, _ in points])[0], peak_flops * 1.4
    at_x, at_y = _log_scale(low_x, high_x, left, width - right), _log_scale(low_y, high_y, height - bottom, top)
    grid = []
    for value in _ticks(low_x, high_x):
        grid.append(f'<line class="axis" x1="{at_x(value):.1f}" y1="{top:g}" x2="{at_x(value):.1f}" y2="{height - bottom:g}"/>')
        grid.append(f'<text x="{at_x(value):.1f}" y="{height - bottom + 15:g}" text-anchor="middle">{value:g}</text>')
    for value in _ticks(low_y, high_y)[1:]:
        grid.append(f'<line class="axis" x1="{left:g}" y1="{at_y(value):.1f}" x2="{width - right:g}" y2="{at_y(value):.1f}"/>')
        grid.append(f'<text x="{left - 6:g}" y="{at_y(value) + 4:.1f}" text-anchor="end">{value / 1e12:g}</text>')
    grid.append(f'<text x="0" y="12">TFLOP/s</text><text x="{(left + width - right) / 2:g}" y="{height - 4:g}" text-anchor="middle">FLOP per DRAM byte</text>')
    roofs, below = [], height
    for name, tflops in sorted(profile.fpu_peak_tflops.items(), key=lambda item: item[1]):
        flops = tflops * 1e12
        start_x = max(low_x, low_y / peak_bytes) if flops == peak_flops else max(low_x, flops / peak_bytes)
        start = f"M{at_x(start_x):.1f} {at_y(min(flops, start_x * peak_bytes)):.1f}"
        roofs.append(f'<path class="roof" d="{start} L{at_x(max(low_x, flops / peak_bytes)):.1f} {at_y(flops):.1f} L{width - right:.1f} {at_y(flops):.1f}"/>')
        below = min(at_y(flops) + 4, below - 13)
        roofs.append(f'<text x="{width - right + 5:g}" y="{below:.1f}">{escape(name)} {tflops:.0f}</text>')
    dots = "".join(
        f'<circle class="{escape(program.bound)}" cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="{_radius(program):.1f}" opacity=".65">'
        f"<title>{escape(profile.line_of(program))} {escape(program.op_code)} {duration(program.kernel_ns)}, {y / 1e12:.2f} TFLOP/s</title></circle>"
        for x, y, program in points
    )
    placed = _Labels(left, width - right, top, height - bottom)
    for tflops in profile.fpu_peak_tflops.values():
        placed.occupy_box(at_x(max(low_x, tflops * 1e12 / peak_bytes)), at_y(tflops * 1e12) - 1, width - right, at_y(tflops * 1e12) + 1)
    for x, y, program in points:
        placed.occupy(at_x(x), at_y(y), _radius(program))
    steep_x = [max(low_x, low_y / peak_bytes), min(high_x, min(knees))]
    middle = math.sqrt(steep_x[0] * max(steep_x))
    slope = placed.add(f"DRAM {peak_bytes / 1e9:.0f} GB/s", at_x(middle), at_y(middle * peak_bytes) + 10, 0, "")
    named: dict[str, tuple[float, float, ProgramRecord]] = {}
    for x, y, program in sorted(points, key=lambda point: -point[2].kernel_ns):
        named.setdefault(profile.line_of(program) or program.op_code, (x, y, program))
    shown = list(named.items())[: LABELLED if width >= WIDE else LABELLED // 2]
    labels = "".join(placed.add(place, at_x(x), at_y(y), _radius(program), "name") for place, (x, y, program) in shown)
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="roofline">{"".join(grid)}{"".join(roofs)}{slope}{dots}{labels}</svg>'


def _radius(program: ProgramRecord) -> float:
    return 3 + min(7, program.kernel_ns / 4e4)


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Powers of ten below and above all values."""
    low, high = (math.log10(value) for value in (min(values), max(values)))
    return 10.0 ** math.floor(low), 10.0 ** max(math.ceil(high), math.floor(low) + 1)


def _ticks(low: float, high: float) -> list[float]:
    """1, 2, 5 of each decade; of more than three decades the powers of ten alone."""
    steps = (1, 2, 5) if high / low <= 1000 else (1,)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**exponent for exponent in exponents for step in steps if low * 0.999 <= step * 10.0**exponent <= high * 1.001]


def _log_scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (end - start) * math.log(max(value, low) / low) / math.log(high / low)


class _Labels:
    """Labels beside points, without overlaps: the nearest free place around the point, with a thin line to it where it is not next to it."""

    def __init__(self, left: float, right: float, top: float, bottom: float) -> None:
        self._edges = (left, right, top, bottom)
        self._taken: list[tuple[float, float, float, float]] = []

    def occupy(self, x: float, y: float, radius: float) -> None:
        self.occupy_box(x - radius, y - radius, x + radius, y + radius)

    def occupy_box(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self._taken.append((x0, y0, x1, y1))

    def add(self, text: str, x: float, y: float, radius: float, kind: str) -> str:
        """The label of the point (x, y); "" where no place is free."""
        wide, high, gap = len(text) * CHARACTER, 14.0, radius + 5
        left, right, top, bottom = self._edges
        for away in range(0, 120, 12):
            for dx, dy in ((gap, 0), (-gap - wide, 0), (gap, away), (gap, -away), (-gap - wide, away), (-gap - wide, -away)):
                x0, y0 = x + dx + (away if dx > 0 else -away) / 2, y + dy - high / 2
                box = (x0, y0, x0 + wide, y0 + high)
                inside = left <= box[0] and box[2] <= right and top <= box[1] and box[3] <= bottom
                if not inside or any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in self._taken):
                    continue
                self._taken.append(box)
                end_x = x0 - 2 if x0 > x else x0 + wide + 2 if x0 + wide < x else x
                line = f'<line class="lead" x1="{x:.1f}" y1="{y:.1f}" x2="{end_x:.1f}" y2="{y0 + high / 2:.1f}"/>' if away else ""
                return f'{line}<text class="{kind}" x="{x0:.1f}" y="{y0 + 11:.1f}">{escape(text)}</text>'
        return ""


def over_time(profile: Profile, label: str, value: Callable[[ProgramRecord], float], cap: float, width: float = WIDE) -> str:
    """Bytes while each program ran, with the line of what there is; the highest lines of the program carry their name and size."""
    if not profile.programs or not profile.device_ns:
        return '<p class="soft">No device programs.</p>'
    height, left, bottom, above = 200.0, 60.0, 30.0, 24.0
    end_ns = profile.programs[-1].start_ns + profile.programs[-1].kernel_ns
    peak = max(map(value, profile.programs))
    top = max(cap if peak > cap / 8 else peak * 1.2, peak, 1)

    def at(ns: float, size: float) -> tuple[float, float]:
        return left + (width - left - 12) * ns / end_ns, (height - bottom) * (1 - size / top) + above * size / top

    points = []
    for program in profile.programs:
        for ns in (program.start_ns, program.start_ns + program.kernel_ns):
            points.append(at(ns, value(program)))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    base = height - bottom
    top_y = at(0, top)[1]
    roof = f'<line class="cap" x1="{left}" y1="{top_y:.1f}" x2="{width}" y2="{top_y:.1f}"/>' if top == cap else ""
    marks = [
        f'<text x="{left - 6}" y="{at(0, size)[1] + 4:.1f}" text-anchor="end">{_size(size)}</text>' for size in (peak, cap)[: 1 + (top == cap > 1.2 * peak)]
    ]
    of_cap = f" of {_size(cap)}" if cap else ""
    return (
        f"<h3>{escape(label)}: peak {_size(peak)}{of_cap}</h3>"
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}">'
        f'<line class="axis" x1="{left}" y1="{base}" x2="{width}" y2="{base}"/>{roof}'
        f"{''.join(marks)}"
        f'<text x="{left - 6}" y="{base}" text-anchor="end">0</text>'
        f'<polygon class="area" points="{points[0][0]:.1f},{base} {line} {points[-1][0]:.1f},{base}"/>'
        f'<polyline class="top" points="{line}"/>{_spikes(profile, value, at, width - 12)}'
        f'<text x="{left}" y="{height - 8}">0</text>'
        f'<text x="{width - 12}" y="{height - 8}" text-anchor="end">{duration(end_ns)}</text></svg>'
    )


def _spikes(profile: Profile, value: Callable[[ProgramRecord], float], at: Callable[[float, float], tuple[float, float]], right: float) -> str:
    """Labels of the highest lines of the program, each at its first highest program: the peak, and others that stand out."""
    highest: dict[str, ProgramRecord] = {}
    for program in profile.programs:
        place = profile.line_of(program) or program.op_code
        if place not in highest or value(program) > value(highest[place]):
            highest[place] = program
    order = sorted(highest.items(), key=lambda item: -value(item[1]))
    usual = statistics.median(map(value, profile.programs))
    out: list[str] = []
    taken: list[tuple[float, float]] = []
    for place, program in order:
        if len(out) == SPIKES or (out and value(program) < max(1.2 * usual, 0.75 * value(order[0][1]))):
            break
        x, y = at(program.start_ns + program.kernel_ns / 2, value(program))
        half = len(place) * CHARACTER / 2
        x = max(min(x, right - half), at(0, 0)[0] + half)
        if all(abs(x - other) >= half + more + 6 for other, more in taken):
            taken.append((x, half))
            out.append(f'<text class="name" x="{x:.1f}" y="{y - 5:.1f}" text-anchor="middle">{escape(place)}</text>')
    return "".join(out)


def _size(size_bytes: float) -> str:
    return f"{size_bytes / (1 << 20):.1f} MiB" if size_bytes >= 1 << 20 else f"{size_bytes / 1024:.0f} KiB"


def busy_shares(profile: Profile) -> list[float]:
    """Share of the device time in which each core has work, by the number of cores of each program: they are taken row by row."""
    columns, rows = profile.grid
    total = profile.device_ns or 1.0
    return [sum(program.kernel_ns for program in profile.programs if program.cores > index) / total for index in range(columns * rows)]


def heat_map(profile: Profile) -> str:
    """Busy share of each core; a number stands where it differs from the core before."""
    columns, rows = profile.grid
    cell = 44.0
    cells = []
    before = ""
    for index, share in enumerate(busy_shares(profile)):
        x, y = cell * (index % columns), cell * (index // columns)
        cells.append(
            f'<rect x="{x:g}" y="{y:g}" width="{cell - 2:g}" height="{cell - 2:g}" rx="4" class="core" fill-opacity="{0.06 + 0.94 * share:.3f}">'
            f"<title>core {index % columns}, {index // columns}: {share:.0%}</title></rect>"
        )
        if f"{share:.0%}" != before:
            before = f"{share:.0%}"
            dark = ' class="on"' if share > 0.65 else ' class="name"'
            cells.append(f'<text{dark} x="{x + cell / 2 - 1:g}" y="{y + cell / 2 + 3:g}" text-anchor="middle">{before}</text>')
    return f'<svg class="narrow" viewBox="0 0 {cell * columns:g} {cell * rows:g}" role="img" aria-label="busy share per core">{"".join(cells)}</svg>'


EQUAL = 0.05
"""Iterations of a loop, or gaps, that differ by less than this share are one sentence and no chart."""


def alike(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= EQUAL * max(values)


def bars(label: str, values_ns: Sequence[float], width: float = WIDE) -> str:
    """A bar for each iteration of a loop, or one sentence if all of them take about the same time."""
    if alike(values_ns):
        return f"<p>{escape(label)}: {len(values_ns)} iterations of {duration(sum(values_ns) / len(values_ns))} each.</p>"
    height, bottom = 130.0, 22.0
    most = max(values_ns) or 1.0
    step = min(width / len(values_ns), 64.0)
    every = max(1, math.ceil(36 / step))
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
    return f'<h3>{escape(label)}</h3><svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="microseconds by iteration">{"".join(out)}</svg>'
