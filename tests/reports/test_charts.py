"""Geometry of the report's charts, read back from their SVG."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ttnn_shim.records import Profile, ProgramRecord
from ttnn_shim.reports import charts

PEAKS = {"LoFi": 4.0, "HiFi4": 1.0}
TERA, GB = 1e12, 1e9


def program(index: int, start_ns: float, kernel_ns: float, **fields: object) -> ProgramRecord:
    filled: dict[str, object] = {
        "index": index, "call_id": 0, "call_op": "ttnn.op", "op_code": f"Op{index}", "factory": "", "cores": 2, "cycles": 0, "kernel_ns": kernel_ns,
        "gap_ns": 0.0, "start_ns": start_ns, "modelled": True, "bound": "compute", "busy_cycles": (), "dram_cycles": 0, "noc_cycles": 0,
        "fpu_utilisation": 0.0, "dram_utilisation": 0.0, "noc_utilisation": 0.0, "l1_cb_bytes": 0, "l1_peak_bytes": 0, "dram_bytes": 0,
        "fidelity": "HiFi4", "attributes": "",
    }  # fmt: skip
    return ProgramRecord(**{**filled, **fields})  # type: ignore[arg-type]


def profile(*programs: ProgramRecord) -> Profile:
    return Profile("n150", "wormhole_b0", 1.0, (3, 2), 1 << 20, 1 << 30, 12, 100.0, PEAKS, programs, {}, Path())


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg[svg.index("<svg") :])


def points(element: ElementTree.Element | None) -> list[tuple[float, float]]:
    assert element is not None
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in element.attrib["points"].split())]


@pytest.mark.parametrize(
    ("sizes", "cap", "top"),
    [
        ((1000.0, 4000.0), 4000.0, 4000.0),
        ((10.0, 40.0), 4000.0, 48.0),
        ((500.0, 501.0), 4000.0, 4000.0),
        ((9000.0, 100.0), 4000.0, 9000.0),
        ((0.0, 0.0), 0.0, 1),
    ],
    ids=["full", "small", "over an eighth", "above the cap", "nothing"],
)
def test_sizes_over_time(sizes: tuple[float, float], cap: float, top: float) -> None:
    """The line's ends are the times' ends, the tops the sizes' share of the scale, which holds the cap where that is near."""
    shown = profile(program(0, 0.0, 30.0), program(1, 40.0, 60.0))
    chart = drawn(charts.over_time(shown, "L1", lambda each: sizes[each.index], cap))
    width, height = (float(word) for word in chart.attrib["viewBox"].split()[2:])
    line = points(chart.find("polyline"))
    (axis,) = chart.findall("line[@class='axis']")
    left, base = float(axis.attrib["x1"]), float(axis.attrib["y1"])
    xs = [left + (width - 12 - left) * ns / 100 for ns in (0, 30, 40, 100)]
    ys = [base + (24 - base) * size / top for size in (sizes[0], sizes[0], sizes[1], sizes[1])]
    assert line == [(pytest.approx(x, abs=0.06), pytest.approx(y, abs=0.06)) for x, y in zip(xs, ys, strict=True)]
    area = points(chart.find("polygon"))
    assert area == [(line[0][0], base), *line, (line[-1][0], base)]
    caps = chart.findall("line[@class='cap']")
    assert [float(each.attrib["y1"]) for each in caps] == ([24.0] if top == cap else [])
    assert 0 < base < height
    assert not drawn(charts.over_time(shown, "<b>", lambda _: 1.0, 2.0)).findall(".//b"), "a label is text"
    assert "svg" not in charts.over_time(profile(), "L1", lambda _: 1.0, 2.0)


def test_roofline_places_programs_under_the_roof() -> None:
    """A program at the DRAM's full rate lies on the slope, one at the peak of its fidelity on its roof, both logarithmic."""
    slow = program(0, 0, 1e5, fpu_utilisation=0.1, dram_utilisation=1.0, bound="dram")
    fast = program(1, 0, 4e5, fpu_utilisation=1.0, dram_utilisation=0.01, fidelity="LoFi")
    chart = drawn(charts.roofline(profile(slow, fast, program(2, 0, 1.0))))
    circles = {each.attrib["class"]: (float(each.attrib["cx"]), float(each.attrib["cy"])) for each in chart.findall("circle")}
    assert circles.keys() == {"dram", "compute"}, "a program without math or without DRAM has no place"
    numbers = [(float(each.text), each.attrib) for each in chart.findall("text") if re.fullmatch(r"[\d.]+", each.text or "")]
    across = {value: float(where["x"]) for value, where in numbers if where["text-anchor"] == "middle"}
    up = {value * TERA: float(where["y"]) - 4 for value, where in numbers if where["text-anchor"] == "end"}
    assert list(across) == [1, 10, 100, 1000, 10000], "decades around dots and knees"
    assert list(up) == [0.2 * TERA, 0.5 * TERA, TERA, 2 * TERA, 5 * TERA]

    def at(ticks: dict[float, float], value: float) -> float:
        (low, start), (high, end) = next(iter(ticks.items())), list(ticks.items())[-1]
        return start + (end - start) * math.log(value / low) / math.log(high / low)

    def x_of(flop_per_byte: float) -> float:
        return at(across, flop_per_byte)

    def y_of(flops: float) -> float:
        return at(up, flops)

    assert circles["dram"] == (pytest.approx(x_of(0.1 * TERA / (100 * GB)), abs=0.3), pytest.approx(y_of(0.1 * TERA), abs=0.6))
    assert circles["compute"] == (pytest.approx(x_of(4 * TERA / GB), abs=0.3), pytest.approx(y_of(4 * TERA), abs=0.6))
    roofs = [[float(number) for number in re.findall(r"[\d.]+", each.attrib["d"])] for each in chart.findall("path")]
    assert [roof[-1] for roof in roofs] == [pytest.approx(y_of(TERA), abs=0.6), pytest.approx(y_of(4 * TERA), abs=0.6)]
    assert roofs[0][0] == pytest.approx(x_of(TERA / (100 * GB)), abs=0.3), "the knee, where DRAM's slope meets the roof"
    assert "svg" not in charts.roofline(profile(program(0, 0, 1.0)))


@pytest.mark.parametrize(("width", "count"), [(charts.WIDE, charts.LABELLED), (charts.NARROW, charts.LABELLED // 2)])
def test_labels_of_the_roofline_do_not_lie_on_each_other(width: float, count: int) -> None:
    same = [program(index, 0, 1e5, fpu_utilisation=0.5, dram_utilisation=0.5) for index in range(charts.LABELLED + 2)]
    labels = drawn(charts.roofline(profile(*same), width)).findall("text[@class='name']")
    assert len(labels) == count
    boxes = [(float(each.attrib["x"]), float(each.attrib["y"]), charts.CHARACTER * len(each.text or "")) for each in labels]
    for (x0, y0, wide), (x1, y1, wide1) in itertools.combinations(boxes, 2):
        assert abs(y0 - y1) >= 14 or x0 + wide <= x1 or x1 + wide1 <= x0


def test_the_highest_lines_of_a_chart_of_memory_are_named() -> None:
    sizes = (10.0, 11.0, 10.0, 100.0, 10.0, 90.0, 10.0)
    shown = profile(*(program(index, 100.0 * index, 90.0) for index in range(len(sizes))))
    chart = drawn(charts.over_time(shown, "L1", lambda each: sizes[each.index], 120.0))
    assert [each.text for each in chart.findall("text[@class='name']")] == ["Op3", "Op5"]
    flat = drawn(charts.over_time(shown, "L1", lambda _: 100.0, 120.0))
    assert len(flat.findall("text[@class='name']")) == 1


def test_heat_map_counts_cores_row_by_row() -> None:
    chart = drawn(charts.heat_map(profile(program(0, 0, 75.0, cores=4), program(1, 75.0, 25.0, cores=1))))
    cells = chart.findall("rect")
    assert [(float(each.attrib["x"]), float(each.attrib["y"])) for each in cells] == [(44.0 * (i % 3), 44.0 * (i // 3)) for i in range(6)]
    assert [each.findtext("title") for each in cells[:2]] == ["core 0, 0: 100%", "core 1, 0: 75%"]
    assert [each.text for each in chart.findall("text")] == ["100%", "75%", "0%"], "only where the share changes"
    assert [float(each.attrib["fill-opacity"]) for each in cells] == [1.0, 0.765, 0.765, 0.765, 0.06, 0.06]


def test_equal_iterations_are_a_sentence() -> None:
    assert charts.bars("block, called at main.py:9", [2000.0, 2020.0]) == "<p>block, called at main.py:9: 2 iterations of 2.0 us each.</p>"


@pytest.mark.parametrize("count", [2, 3, 60])
def test_bars_have_the_heights_of_their_turns(count: int) -> None:
    values = [float(10 * (index + 1)) for index in range(count)]
    chart = drawn(charts.bars("layers", values))
    width, height = (float(word) for word in chart.attrib["viewBox"].split()[2:])
    rects = chart.findall("rect")
    tall = [float(each.attrib["height"]) for each in rects]
    assert len(rects) == count
    assert tall == [pytest.approx(tall[-1] * value / values[-1], abs=0.06) for value in values]
    feet = {round(float(each.attrib["y"]) + size, 1) for each, size in zip(rects, tall, strict=True)}
    assert max(feet) - min(feet) <= 0.11
    assert max(feet) < height
    ends = [float(each.attrib["x"]) + float(each.attrib["width"]) for each in rects]
    assert all(end <= width for end in ends)
    assert all(end <= float(each.attrib["x"]) for end, each in zip(ends, rects[1:], strict=False))
