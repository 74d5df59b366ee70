"""Every report file of one profile: same totals, valid formats, nothing from the model unescaped."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import sqlite3
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ttnn_shim.host_time import eager_error, eager_wall_ns
from ttnn_shim.records import Block, CallRecord, Frame, Profile, ProgramRecord, TensorRecord
from ttnn_shim.reports import write_all
from ttnn_shim.reports.answers import Answer, Edit, Suggestion, as_data, from_data
from ttnn_shim.reports.answers import table as suggested
from ttnn_shim.reports.calls import run_of
from ttnn_shim.reports.html import write_page
from ttnn_shim.reports.perf_csv import attributes_cell
from ttnn_shim.reports.summary import best_case_ns, by_line, by_module, by_op, by_turn, longest_by_line, module_label, module_names, verdict
from ttnn_shim.reports.terminal import table

_EMPTY = ("meta", "br", "line", "circle", "path", "polygon", "polyline", "rect")
HOSTILE = '<script>alert("x")</script>'


def profile(count: int = 24) -> Profile:
    """A made-up run: alternating ops in two functions, a gap before each program."""
    programs, calls, now_ns = [], {}, 0.0
    for index in range(count):
        tensor = TensorRecord(index, 1024 * index, (2, 33, 64), (2, 64, 64), "BFLOAT16", "TILE", "DRAM", "INTERLEAVED")
        now_ns += 1000.0
        kernel_ns = 5000.0 + 700 * index
        programs.append(
            ProgramRecord(
                index=index,
                call_id=index,
                call_op="ttnn.linear" if index % 2 else "ttnn.add",
                op_code="MatmulDeviceOperation" if index % 2 else "BinaryNgDeviceOperation",
                factory="Factory",
                cores=64 if index % 3 else 4,
                cycles=round(kernel_ns),
                kernel_ns=kernel_ns,
                gap_ns=1000.0,
                start_ns=now_ns,
                modelled=index != 5,
                bound=("compute", "dram", "noc", "latency", "reader", "writer")[index % 6],
                busy_cycles=(900, 4000, 800, 0),
                dram_cycles=2000,
                noc_cycles=100,
                fpu_utilisation=0.3,
                dram_utilisation=0.5,
                noc_utilisation=0.1,
                l1_cb_bytes=4096,
                l1_peak_bytes=60_000 + index,
                dram_bytes=1 << 20,
                fidelity="HiFi2",
                attributes="dim=-1;config=(x=8;y=8)",
                inputs=(tensor, tensor),
                outputs=(tensor,),
            )
        )
        now_ns += kernel_ns
        frames = (Frame("main.py", 3, "main"), Frame("main.py", 10 + index % 2, "layer" if index % 2 else "embed"))
        calls[index] = CallRecord(index, programs[-1].call_op, frames, (("x", HOSTILE),), (Block(0, 2048, "L1"), Block(64, 4096, "DRAM")))
    return Profile(
        card="n150",
        arch="wormhole_b0",
        clock_ghz=1.0,
        grid=(8, 8),
        l1_bank_bytes=1_393_312,
        dram_bank_bytes=1 << 30,
        dram_banks=12,
        dram_peak_gb_s=288.0,
        fpu_peak_tflops={"HiFi2": 148.0, "LoFi": 262.0},
        programs=programs,
        calls=calls,
        root=Path("program"),
        sources={"main.py": "\n" * 9 + f"x = 1  # {HOSTILE}\ny = 2\n"},
        manifest={"model": HOSTILE},
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Profile, Path]:
    made, directory = profile(), tmp_path_factory.mktemp("reports")
    write_all(made, directory)
    return made, directory


def test_groups_add_up(written: tuple[Profile, Path]) -> None:
    made, _ = written
    for groups in (by_op(made), by_module(made), by_line(made)):
        assert sum(group.total_ns for group in groups) == pytest.approx(made.device_ns)
        assert sum(group.count for group in groups) == len(made.programs)
    assert "1 programs have no timing model (MatmulDeviceOperation)" in table(made)


def test_prices_far_above_their_roofline_are_named() -> None:
    """Bytes that take 1 % of a program's time, with its start: not named. 0.4 %: named."""
    made = profile(2)
    started = dataclasses.replace(
        made.programs[0], op="argmax", dram_utilisation=0.01, fpu_utilisation=0, terms=(("launch", made.programs[0].kernel_ns / 1000),)
    )
    made.programs = [started, made.programs[1]]
    assert made.far_above_roofline == [] and "roofline:" not in table(made)
    made.programs = [dataclasses.replace(started, dram_utilisation=0.004), made.programs[1]]
    assert made.far_above_roofline == ["argmax"] and "priced above 100 times their roofline: argmax" in table(made)


def test_csv(written: tuple[Profile, Path]) -> None:
    made, directory = written
    with open(directory / "performance" / "ops_perf_results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    total_ns = sum(float(row["DEVICE KERNEL DURATION [ns]"]) + float(row["OP TO OP LATENCY [ns]"]) for row in rows)
    assert total_ns == pytest.approx(made.device_ns)
    assert rows[0]["INPUT_0_Y_PAD[LOGICAL]"] == "64[33]"
    assert rows[0]["INPUT_0_W_PAD[LOGICAL]"] == "1[1]"
    assert rows[0]["OUTPUT_0_MEMORY"] == "DEV_0_DRAM_INTERLEAVED"
    lines = (directory / "performance" / "profile_log_device.csv").read_text().splitlines()
    assert lines[0] == "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000"
    assert all(line.count(",") == lines[1].count(",") for line in lines[2:])


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("", "{}"),
        ("dim=-1", "{'dim': '-1'}"),
        ("a=1;b=(x=8;y=8)", "{'a': '1'; 'b': '(x=8;y=8)'}"),
        ("shape=[1, 2]", "{'shape': '[1; 2]'}"),
        ("stride=[2,2];window_hw=[7,7]", "{'sliding_window_config': 'SlidingWindowConfig(window_hw=(7;7); stride_hw=(2;2); )'}"),
        ("in0_block_w=2;program_config=Reuse", "{'program_config': 'Reuse(in0_block_w=2)'}"),
    ],
)
def test_attributes_cell(text: str, cell: str) -> None:
    assert attributes_cell(text) == cell


def test_trace(written: tuple[Profile, Path]) -> None:
    made, directory = written
    events = json.loads((directory / "trace.json").read_text())["traceEvents"]
    ops = [event for event in events if event["ph"] == "X" and event["tid"] == 1]
    assert len(ops) == len(made.programs)
    kernels_us = sum(program.kernel_ns for program in made.programs) / 1e3
    assert sum(event["dur"] for event in ops) == pytest.approx(kernels_us)
    assert {event["name"] for event in events if event["ph"] == "C"} >= {"DRAM utilisation [%]", "NoC utilisation [%]"}


def test_database(written: tuple[Profile, Path]) -> None:
    made, directory = written
    with sqlite3.connect(directory / "memory" / "db.sqlite") as connection:
        duration_s, count = connection.execute("SELECT sum(duration), count(*) FROM operations").fetchone()
        assert count == len(made.calls)
        assert duration_s * 1e9 == pytest.approx(made.device_ns)
        assert connection.execute("SELECT count(*) FROM buffers").fetchone()[0] == 2 * count
        assert json.loads(connection.execute("SELECT captured_graph FROM captured_graph").fetchone()[0])[0]["node_type"] == "capture_start"


def test_page_is_self_contained_and_escaped(written: tuple[Profile, Path]) -> None:
    _, directory = written
    text = (directory / "report.html").read_text()
    assert text.count("<script") == 1  # ours, which sorts tables
    assert "<script>alert" not in text
    assert not re.search(r"""src\s*=|href=.(?!#)|url\(""", text)
    sections = re.findall(r'<section id="([^"]*)">', text)
    assert re.findall(r'href="#([^"]*)"', text) == sections
    assert len(set(sections)) == len(sections) > 5

    class Balance(HTMLParser):
        depth = 0

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.depth += tag not in _EMPTY

        def handle_endtag(self, tag: str) -> None:
            self.depth -= tag not in _EMPTY

    parser = Balance()
    parser.feed(text)
    assert parser.depth == 0


def test_empty_run(tmp_path: Path) -> None:
    write_all(profile(0), tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text())["device_ns"] == 0


def test_verdicts_of_page_and_terminal_are_the_same(written: tuple[Profile, Path]) -> None:
    made, directory = written
    page, text = (directory / "report.html").read_text(), table(made)
    longest = longest_by_line(made)
    groups = list(by_line(made))
    assert len(groups) > 1
    for group in groups:
        told = verdict(made, group, longest[group.key])
        assert escape(told) in page
        assert told in text


def test_suggestions_on_the_page_and_nothing_unescaped(written: tuple[Profile, Path], tmp_path: Path) -> None:
    made, _ = written
    one = Suggestion(HOSTILE, HOSTILE, HOSTILE, (Edit("main.py", 0, 0, HOSTILE),), frozenset({HOSTILE}), 2000.0, 500.0)
    answer = from_data(json.loads(json.dumps(as_data(Answer(run_of(made), [one, one], [one, one], made.device_ns - 2000, 0)))), run_of(made))
    write_page(made, tmp_path / "page.html", answer)
    text = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in text
    assert "together: 2.0 us less" in text
    assert "2.0" in suggested(answer)


def test_the_best_case_counts_what_no_program_makes() -> None:
    made = profile()
    read_bytes, best_ns = best_case_ns(made)
    assert read_bytes == 0  # every tensor of this run is also an output
    weight = TensorRecord(10_000, 0, (32, 64), (32, 64), "BFLOAT8_B", "TILE", "DRAM", "INTERLEAVED")
    made.programs = [dataclasses.replace(made.programs[0], inputs=(weight,)), dataclasses.replace(made.programs[1], inputs=(weight,))]
    read_bytes, best_ns = best_case_ns(made)
    assert read_bytes == 2 * 1088
    assert best_ns == pytest.approx(read_bytes / 288.0)


@pytest.mark.parametrize("comment", ["", "// "])
def test_modules_of_the_framework(comment: str, tmp_path: Path) -> None:
    """From the outline of a program, Python or C++."""
    rows = ("Outline (function <- module class, parameter scope)", "    main_model       <- Model", "        layer  x 2   <- nn.Layer   encoder.layer.{0..1}")
    made = profile(4)
    made.sources = {"main.py": "\n".join(comment + row for row in rows) + "\n"}
    names = module_names(made)
    assert names == {"main_model": ("Model", ""), "layer": ("nn.Layer", "encoder.layer.{0..1}")}
    assert module_label(("main_model", "layer", "helper"), names) == "nn.Layer encoder.layer.{0..1}"
    assert module_label(("helper",), names) == ""
    write_page(made, tmp_path / "page.html")
    assert "nn.Layer encoder.layer.{0..1}" in (tmp_path / "page.html").read_text()


def test_turns_of_a_loop() -> None:
    """Three turns of a loop in `model` that calls `layer`, whose lines start over in each."""
    made = profile(6)
    for index, call in enumerate(made.calls.values()):
        call.frames = (Frame("main.py", 30, "model"), Frame("main.py", 10 + index % 2, "layer"))
    (label, turns), *rest = by_turn(made)
    assert label == "layer, called at main.py:30"
    assert len(turns) == 3
    assert sum(turns) == pytest.approx(made.device_ns)
    assert not rest


@pytest.mark.parametrize(
    ("programs", "eager_ns"),
    [
        ([], 0.0),
        ([(1000.0, 2000.0)], 33_000.0),  # one program: its launch, then its kernel
        ([(1000.0, 2000.0)] * 10, 312_000.0),  # short programs: the host decides
        ([(1000.0, 100_000.0)] * 10, 31_000.0 + 10 * 100_000.0 + 9 * 1000.0),  # long ones: the host runs ahead
    ],
)
def test_eager_wall_time(programs: list[tuple[float, float]], eager_ns: float) -> None:
    assert eager_wall_ns(programs, "wormhole_b0") == eager_ns
    device_ns = sum(gap + kernel for gap, kernel in programs)
    assert eager_wall_ns(programs, "blackhole") <= eager_ns
    assert eager_error(eager_ns, device_ns, 0.1) <= 1.0
    assert eager_error(device_ns, device_ns, 0.1) == (pytest.approx(0.1) if programs else 0.0)


def test_wall_times_stand_beside_the_device_time(written: tuple[Profile, Path]) -> None:
    profile, directory = written
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["wall_ns"]["traced"] == {"ns": summary["device_ns"], "error": summary["device_ns_error"]}
    assert summary["wall_ns"]["eager"]["ns"] == round(profile.eager_wall_ns) >= summary["device_ns"]
    assert summary["wall_ns"]["eager"]["error"] > 0
    assert "launched program by program" in table(profile)


def test_a_line_of_several_shapes_shows_those_of_its_slowest_call(tmp_path: Path) -> None:
    made = profile(4)
    wide = dataclasses.replace(made.programs[3].inputs[0], shape=(2, 33, 96))
    made.programs[3] = dataclasses.replace(made.programs[3], inputs=(wide, wide))
    write_page(made, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "[2, 33, 96], [2, 33, 96] (slowest of 2 kinds of input)" in text
