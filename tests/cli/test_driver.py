"""`alchemist opt`, `translate`, `show`, `explore`: names, options, diagnostics, outputs."""

from __future__ import annotations

import ast
import csv
import json
import re
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

from alchemist.cli import main
from alchemist.driver.passes import names
from alchemist.driver.show import readable
from alchemist.ir.text import parse, print_module
from alchemist.options import WITHOUT_EFFECT, CompilerOptions, about, shown
from tests.cli import pipelines
from tests.tables import table
from tools.calibration.rows import read_table

DATA = Path(__file__).parents[1] / "mlir" / "data"
GOOD = """module {
  func.func @f(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "ttir.abs"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
"""
BAD = """module {
  func.func @f(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "ttir.abss"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = "ttir.abs"(%0) : (tensor<2x3xf32) -> tensor<2x3xf32>
    %2 = "ttir.exp"(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %3 = "ttir.exp"(%9) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %3 : tensor<2x3xf32>
  }
}
"""
WRONG_SHAPES = """module {
  func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) -> tensor<2x3xf32> {
    %0 = "ttir.matmul"(%a, %b) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    %1 = "ttir.abs"(%a) : (tensor<2x3xf32>) -> tensor<3x3xf32>
    return %a : tensor<2x3xf32>
  }
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.mlir"
    path.write_text(GOOD)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return status, captured.out, captured.err


# --- opt ----------------------------------------------------------------------------------------------------------------


def test_opt_prints_what_it_parsed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "opt", file)
    assert status == 0
    assert print_module(parse(out)) == print_module(parse(GOOD))


@pytest.mark.parametrize("name", sorted(names()))
def test_every_name_runs(name: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "opt", file, f"--{name}")
    assert status == 0, err
    parse(out)


@pytest.mark.parametrize("source", pipelines.SOURCES)
@pytest.mark.parametrize("language", pipelines.LANGUAGES)
def test_pipelines_to_text(source: str, language: str, tmp_path: Path) -> None:
    lowered, out = pipelines.texts(source, language, tmp_path)
    assert f'alchemist.target = "{language}"' in lowered
    assert not re.search(r'"(ttir|stablehlo)\.', lowered.split("\n#loc")[0])
    if language == "python":
        ast.parse(out.split('# File: "utils.py"')[0])
    assert "ttnn" in out


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("--ttir-fusin", "did you mean --ttir-fusing"),
        ("--ttir-to-ttnn-backend-pipelin", "ttir-to-ttnn-backend-pipeline"),
        ("--split-input-fle", "--split-input-file"),
        ("--canonicalize=enable-const-evl=true", "enable-const-eval"),
        ("--ttir-to-ttnn-backend-pipeline=tensor-l1-usage-cap=2", "a number from 0.05 to 1"),
        ("--ttir-to-ttnn-backend-pipeline=optimization-level=7", "one of 0, 1, 2"),
        ("--pass-pipeline=builtin.module(", "balanced parentheses"),
        ("--qqqqqqqq", "--list"),
    ],
)
def test_unknown_names_and_options(argument: str, expected: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "opt", file, argument)
    assert status == 1
    assert out == ""
    assert expected in err


MAPPED = [(name, entry) for entry in fields(CompilerOptions) for name in (*about(entry).upstream, entry.name) if entry.name != "system_desc_path"]
"""A descriptor's file becomes `arch`: tests/toolchain/test_cards.py."""


SAMPLES = {"mesh_shape": ("2,4",), "override_weight_dtype": ("fc.weight=bfp_bf8",)}
"""Of options whose text has a form."""


@table(("key", "entry"), MAPPED, ids=[name for name, _ in MAPPED])
def test_every_spelling_reaches_the_compiler(key: str, entry: Field[Any]) -> None:
    """The last value that the option has, so not its default where there is another."""
    values = about(entry).choices or (
        (True, False)
        if "bool" in str(entry.type)
        else (0.5,)
        if "float" in str(entry.type)
        else (7,)
        if "int" in str(entry.type)
        else SAMPLES.get(entry.name, ("abc",))
    )
    given = shown(values[-1]) if entry.default != values[-1] else shown(values[0])
    read = CompilerOptions.from_text(f"{{{key}={given}}}")
    assert shown(getattr(read, entry.name)) == given
    assert set(read.changed()) <= {entry.name}


@table("key", sorted(WITHOUT_EFFECT))
def test_upstreams_options_without_effect_are_accepted(key: str) -> None:
    value = WITHOUT_EFFECT[key]
    assert CompilerOptions.from_text(f"{key.replace('_', '-')}={'anything' if value is None else value}") == CompilerOptions()


def test_pass_pipeline_and_dumps(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = "builtin.module(canonicalize,func.func(cse),convert-ttir-to-ttnn{enable-const-eval=false})"
    status, _, err = run(capsys, "opt", file, f"--pass-pipeline={pipeline}", "--mlir-print-ir-after-all")
    assert status == 0
    assert re.findall(r"IR Dump After (\S+)", err) == ["fold", "fold", "ttir-to-ttnn"]


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "opt", "--list")
    assert status == 0
    assert "--ttir-to-emitpy-pipeline" in out
    assert "compute-cfg-math-fidelity" in out


def test_split_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "split.mlir"
    path.write_text(f"{GOOD}// -----\n{BAD}\n// -----\n{GOOD}")
    status, out, err = run(capsys, "opt", path, "--split-input-file")
    assert status == 1
    assert out.count("func.func") == 2
    assert f"{path}:10:10" in err, "lines count from the start of the file"


# --- diagnostics --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["opt", "show", "model-to-python", "model-to-cpp"])
def test_several_errors(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD)
    status, out, err = run(capsys, command, path)
    assert status == 1
    assert out == ""
    assert re.findall(r"at \S+?:(\d+):(\d+)", err) == [("3", "10"), ("4", "42"), ("6", "21")]
    assert "did you mean ttir.abs" in err
    path.write_text(WRONG_SHAPES)
    status, _, err = run(capsys, command, path)
    assert status == 1
    assert re.findall(r"at \S+?:(\d+):\d+", err) == ["3", "4"]
    assert "ttir.matmul: inner dimensions differ" in err


@pytest.mark.parametrize(
    ("comment", "status"),
    [
        ("// expected-error@+1 {{operation ttir.abss is not known}}", 0),
        ("// expected-error@below {{not known}}", 0),
        ("// expected-error-re@+1 {{ttir[.]abs+ is}}", 0),
        ("// expected-error@+1 {{another message}}", 1),
        ("// expected-error@+2 {{operation ttir.abss is not known}}", 1),
        ("", 1),
    ],
)
def test_verify_diagnostics(comment: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = BAD.split("\n")
    path = tmp_path / "bad.mlir"
    path.write_text("\n".join([*lines[:2], comment, lines[2], lines[6].replace("%3", "%a"), *lines[7:]]))
    assert run(capsys, "opt", path, "--verify-diagnostics")[0] == status
    path.write_text(f"// expected-error@+1 {{{{nothing}}}}\n{GOOD}")
    assert run(capsys, "opt", path, "--verify-diagnostics")[0] == 1, "an error that does not come"


# --- show, explore ------------------------------------------------------------------------------------------------------


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "show", DATA / "cnn_ttnn.mlir")
    assert status == 0
    assert "@forward: " in out
    assert re.search(r"ttnn\.conv2d +1x1x1024x16 f32 +dram tile interleaved +128.0 KiB", out)
    assert re.search(r"%arg5 +parameter +32x16x3x3 f32 +dram row_major interleaved +18.0 KiB +c2.weight", out)


def test_explore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "graph.json"
    profile = tmp_path / "profile"
    profile.mkdir()
    (profile / "ops_perf_results.csv").write_text(
        "OP CODE,DEVICE KERNEL DURATION [ns]\n"
        "Conv2dDeviceOperation,100\nTypecastDeviceOperation,7\nPool2D,50\nMatmulDeviceOperation,30\nBinaryNgDeviceOperation,5\n"
    )
    status, _, err = run(capsys, "explore", DATA / "cnn_ttnn.mlir", "-o", out, "--profile", profile)
    assert status == 0, err
    graph = json.loads(out.read_text())["graphs"][0]
    assert graph["id"] == "forward"
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert len(nodes) == len(graph["nodes"])
    for node in graph["nodes"]:
        for edge in node["incomingEdges"]:
            source_outputs = [output["id"] for output in nodes[edge["sourceNodeId"]]["outputsMetadata"]]
            assert edge["sourceNodeOutputId"] in source_outputs
    linear = next(node for node in graph["nodes"] if node["label"] == "ttnn.linear")
    assert "Linear" in linear["namespace"]
    overlay = json.loads(out.with_suffix(".node_data.json").read_text())["forward"]["results"]
    assert overlay[linear["id"]]["value"] == 35
    assert sum(entry["value"] for entry in overlay.values()) == 192


@pytest.mark.parametrize("word", ["-o", "--output", "-output", "-o="])
def test_where_opt_writes(word: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlir"
    status, printed, _ = run(capsys, "opt", file, *([f"{word}{out}"] if word.endswith("=") else [word, out]))
    assert (status, printed) == (0, "")
    assert print_module(parse(out.read_text())) == print_module(parse(GOOD))
    if not word.endswith("="):
        status, _, err = run(capsys, "opt", file, word)
        assert status == 1 and "needs a value" in err


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "alchemist opt"),
        (["--help"], 0, "--verify-each=false"),
        (["x.mlir", "y.mlir"], 1, "more than one input"),
        (["--pass-pipeline=builtin.module(fold"], 1, "balanced parentheses"),
        (["--pass-pipeline=builtin.module(fold;cse)"], 1, "malformed pass pipeline"),
        (["--no-such-pass"], 1, "no-such-pass"),
    ],
)
def test_words_of_opt_that_end_at_once(words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    found, out, err = run(capsys, "opt", *words)
    assert found == status and said in out + err


def test_flags_of_the_real_driver(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that change nothing here are taken; a module is printed before a pass where that is asked for."""
    plain = run(capsys, "opt", file, "--fold")
    assert run(capsys, "opt", file, "--mlir-print-op-generic", "--mlir-print-debuginfo=false", "--verify-each=false", "--fold") == plain
    status, out, err = run(capsys, "opt", file, "--mlir-print-ir-before-all", "--mlir-print-ir-after-all=false", "--fold", "--cse")
    assert status == 0 and out == plain[1]
    assert {*re.findall(r"IR Dump (\w+) \S+ \((\w+)\)", err)} == {("Before", "fold"), ("Before", "cse")}


def test_one_file_of_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    source = DATA / "cnn_ttir.mlir"
    _, whole, _ = run(capsys, "translate", "--mlir-to-python", source)
    status, main_, _ = run(capsys, "translate", "--mlir-to-python", source, "--file-id", "main")
    assert status == 0 and "File:" not in main_ and main_ in whole and main_ != whole
    status, _, err = run(capsys, "translate", "--mlir-to-python", source, "--file-id", "mein")
    assert status == 1 and "no file 'mein'" in err and "main" in err


def test_tables_of_options_and_ops(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "options")
    assert status == 0 and all(entry.name.replace("_", "-") in out or entry.name in out for entry in fields(CompilerOptions))
    assert "| `" in run(capsys, "options", "--markdown")[1]
    status, out, _ = run(capsys, "ops", "--onnx", "norm", "layer")
    assert status == 0 and out.splitlines() and all("norm" in line.lower() and "layer" in line.lower() for line in out.splitlines())
    assert len(run(capsys, "ops", "--onnx")[1].splitlines()) > 100


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1 << 20, "1.0 MiB"),
        ((1 << 20) - 1, "1024.0 KiB"),
        (1 << 30, "1.0 GiB"),
        (5 << 40, "5120.0 GiB"),
    ],
)
def test_sizes_in_words(size: int, text: str) -> None:
    assert readable(size) == text


def test_estimates_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = read_table(Path(__file__).parents[1] / "data" / "hardware" / "ops.train.csv.gz")[:3]
    rows[1] = {**rows[1], "op": "an_op_of_the_future"}
    rows[2] = {**rows[2], "op": "another_one"}
    with (tmp_path / "in.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert main(["estimate", "--csv", str(tmp_path / "in.csv"), "--out", str(tmp_path / "out.csv")]) == 0
    said = capsys.readouterr()
    assert said.out == f"wrote {tmp_path / 'out.csv'}\n"
    told = [line for line in said.err.splitlines() if "no prediction" in line]
    assert told == [
        f"no model of the op 'an_op_of_the_future', no prediction for 1 row: {rows[1]['id']}",
        f"no model of the op 'another_one', no prediction for 1 row: {rows[2]['id']}",
    ]
    assert [bool(row["predicted_ns"]) for row in read_table(tmp_path / "out.csv")] == [True, False, False]
    (tmp_path / "in.csv").write_text("id\n1\n")
    assert main(["estimate", "--csv", str(tmp_path / "in.csv"), "--out", str(tmp_path / "out.csv")]) == 1
    assert capsys.readouterr().err.startswith("error[")
