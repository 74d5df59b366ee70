"""What `tools.behaviour_diff` prints of answers that differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.behaviour_diff import exports, report


def test_texts_that_differ_are_named_with_their_lines() -> None:
    before, after = {"a": "x\ny", "b": "z", "gone": ""}, {"a": "x\nw", "b": "z", "new": "v"}
    assert list(report.texts("programs", before, after, "texts", 3)) == [
        "programs: 3 of 4 rows moved, 1 only in head, 1 only in base  (texts)",
        *("  a", "    @@ -2 +2 @@", "    -y", "    +w"),
        *("  gone", "  new", "    @@ -0,0 +1 @@", "    +v"),
    ]


def test_prices_are_compared_bit_by_bit() -> None:
    before, after = {"ops 1": "10.0 - 3f", "ops 2": "20.0 -", "gemm 1": "-"}, {"ops 1": "10.1 - 3f", "ops 2": "20.0 -", "gemm 1": "5.0 -"}
    said = "\n".join(report.prices("prices", before, after, "rows", 5))
    assert "2 of 3 rows moved" in said
    assert "ops 1: 10.0 - 3f -> 10.1 - 3f  (1.0100)" in said
    assert "gemm 1: - -> 5.0 -" in said
    assert "ops 2" not in said


def test_a_program_is_told_by_lines_calls_and_device_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Device times are the simulator's of the one checkout, whichever compiler made the program."""
    times = {"a = 1\n": exports.Time(3, 2000.0), "a = 1\nb = 2\n": exports.Time(4, 3000.0)}
    monkeypatch.setattr(exports, "time_of", lambda row, card, kept: times[row["files"]["main.py"]])
    before, after = ({"vit@2": json.dumps({"folder": "", "files": {"main.py": text}})} for text in times)
    lines, is_moved = report.programs(before, after, "models", tmp_path / "times.json", 1)
    assert is_moved
    assert lines[0] == "exports: 1 of 1 moved; device time head / base: geometric mean 1.5000, most 1.5000  (models)"
    assert lines[1] == "  vit@2: lines 1 -> 2, text +1 -0, device programs 3 -> 4, device 2.00 -> 3.00 us (1.5000)"
    assert report.programs(before, before, "models", tmp_path / "times.json", 1) == (
        ["exports: 0 of 1 moved; device time head / base: geometric mean 1.0000, most 1.0000  (models)"],
        False,
    )


def test_names_of_exports() -> None:
    assert exports.parsed("bert_bf16@2:p150") == ("bert_bf16", 2, "p150", "python")
    assert exports.parsed("lenet@0:cpp") == ("lenet", 0, "n150", "cpp")
    assert len(exports.some(8)) == 8
    assert exports.some(100) == list(exports.NAMES)
    assert len(set(exports.NAMES)) == 40
