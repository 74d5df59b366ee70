"""Two runs side by side: which calls belong together, what changed, totals, and pages without anything of the model unescaped."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ttnn_shim.reports.calls import Call, Run, read_calls, run_of, write_calls
from ttnn_shim.reports.compare import ROWS, by_line, by_module, counts, differences, load, pairs, table, write_compare

from alchemist import codegen_py
from tests.reports.test_reports import HOSTILE, profile
from tests.shared import small_export

SETUP = {"inputs": "[32, 64] bfloat16 tile dram", "outputs": "[32, 64] bfloat16 tile dram", "fidelity": "HiFi4", "cores": "8", "attributes": "dim=1"}


def call(op: str, line: int, ns: float = 1000.0, module: str = "layer", **setup: str) -> Call:
    return Call(f"ttnn.{op}", f"main.py:{line}", f"x = ttnn.{op}(x)", ("model", module), ns, 100.0, ("Device",), "dram", SETUP | setup)


def run(*calls: Call) -> Run:
    return Run("export", "Model", "n150", calls)


BEFORE = run(call("linear", 3, 5000), call("add", 4), call("layer_norm", 5, 2000), call("relu", 9, module="head"))


def test_the_fidelity_of_a_call_is_that_of_a_program_with_one() -> None:
    """An activation behind a product may take longer than the product, but has none."""
    made = profile(2)
    product, activation = made.programs
    made.programs = [product, dataclasses.replace(activation, call_id=product.call_id, fidelity="", kernel_ns=2 * product.kernel_ns)]
    assert [call.setup["fidelity"] for call in run_of(made).calls] == ["HiFi2"]


@pytest.mark.parametrize(
    ("after", "expected", "changes"),
    [
        (BEFORE, "0 added, 0 removed, 0 changed", set()),
        (run(call("linear", 30, 4000, fidelity="LoFi"), *BEFORE.calls[1:]), "0 added, 0 removed, 1 changed", {"fidelity: HiFi4 -> LoFi"}),
        (run(*BEFORE.calls[:1], *BEFORE.calls[2:]), "0 added, 1 removed, 0 changed", {"removed"}),
        (run(*BEFORE.calls[:2], call("typecast", 5), *BEFORE.calls[2:]), "1 added, 0 removed, 0 changed", {"added"}),
        (run(*BEFORE.calls[:3], call("relu", 9, module="head", attributes="dim=2")), "0 added, 0 removed, 1 changed", {"configuration"}),
        (run(*BEFORE.calls[:3], call("tilize", 8, module="tail"), call("relu", 9, module="tail")), "1 added, 0 removed, 0 changed", {"added"}),
        (run(), "0 added, 4 removed, 0 changed", {"removed"}),
    ],
)
def test_calls_that_belong_together(after: Run, expected: str, changes: set[str]) -> None:
    found = pairs(BEFORE, after)
    assert counts(found) == expected
    assert {pair.change for pair in found} - {""} == changes
    for rows in (by_line(found), by_module(found)):
        assert sum(row.delta_ns for row in rows) == pytest.approx(after.device_ns - BEFORE.device_ns)
    text = table(BEFORE, after)
    assert expected in text
    assert ("no line differs" in text) == (after is BEFORE)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            "[1, 2] bfloat16 tile dram, [2] float32 tile dram",
            "[1, 2] bfloat16 tile l1 block_sharded, [2] float32 tile dram",
            ["input 1: dram -> l1 block_sharded"],
        ),
        ("[1, 2] bfloat16 tile l1", "[1, 2] bfloat16 tile l1 block_sharded", ["input: l1 -> l1 block_sharded"]),
        ("[1, 2] bfloat16 tile dram", "[1, 2] bfloat8_b tile dram", ["input: bfloat16 tile dram -> bfloat8_b tile dram"]),
        ("[1, 2] bfloat16 tile dram", "[2, 2] bfloat16 tile dram", ["input: [1, 2] bfloat16 tile dram -> [2, 2] bfloat16 tile dram"]),
        ("[1] uint8 tile l1", "", ["inputs: [1] uint8 tile l1 -> none"]),
    ],
)
def test_what_differs_of_tensors(before: str, after: str, told: list[str]) -> None:
    assert differences("inputs", before, after) == told


def test_nothing_of_the_model_is_unescaped(tmp_path: Path) -> None:
    before = run_of(profile(), HOSTILE)
    hostile = dataclasses.replace(before.calls[0], op=HOSTILE, line=HOSTILE, source=HOSTILE, module=(HOSTILE,), setup={"inputs": HOSTILE})
    after = Run(HOSTILE, HOSTILE, HOSTILE, [hostile, *before.calls[1:]])
    write_compare(before, after, tmp_path / "compare.html")
    text = (tmp_path / "compare.html").read_text()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert "http" not in text


def test_the_file_of_calls(tmp_path: Path) -> None:
    made = profile()
    write_calls(made, tmp_path / "calls.json")
    again = read_calls(tmp_path / "calls.json", "x")
    assert list(again.calls) == list(run_of(made).calls)
    assert again.device_ns == pytest.approx(made.device_ns)
    row = '{"format": 1, "model": "", "card": "", "calls": [{}]}'
    for text, words in (
        ("[]", "not the calls"),
        ("{}", "not the calls"),
        ('{"format": 9}', "this version reads 1"),
        (row, "not the calls"),
        ("x", "Expecting"),
    ):
        (tmp_path / "calls.json").write_text(text)
        with pytest.raises(ValueError, match=words):
            load(tmp_path, "n150")


def test_two_exports(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in ("a", "b"):
        shutil.copytree(small_export(tmp_path_factory, "torch_mlp", codegen_py), tmp_path / name)
    main = tmp_path / "b" / "main.py"
    text = main.read_text()
    assert 'activation="relu"' in text
    main.write_text(text.replace('activation="relu"', 'activation="relu", dtype=ttnn.bfloat8_b'))
    done = subprocess.run([tmp_path / "b/run", "--compare", tmp_path / "a", "--html", "page.html"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 changed" in done.stdout
    assert "output: float32 tile dram -> bfloat8_b tile dram" in done.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    wrong = subprocess.run([sys.executable, "-m", "ttnn_shim", "compare", tmp_path, tmp_path / "a"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "neither an export" in wrong.stderr


@pytest.mark.parametrize("more", [0, 1, 3])
def test_lines_beyond_those_shown_are_summed_up(more: int) -> None:
    """Those with the largest differences come first."""
    before = run(*(call("relu", line, 1000.0) for line in range(ROWS + more)))
    after = run(*(call("relu", line, 2000.0 + 100 * (line >= more), fidelity="LoFi") for line in range(ROWS + more)))
    text = table(before, after)
    assert (f"({more} more lines, +{more * 1.0:.1f} us)" in text) == (more > 0), text
    assert ("more lines" in text) == (more > 0)


def test_an_export_whose_run_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\necho said >&2\nexit 3\n")
    (tmp_path / "run").chmod(0o755)
    with pytest.raises(ValueError, match="its run ended with 3: said"):
        load(tmp_path, "n150")
