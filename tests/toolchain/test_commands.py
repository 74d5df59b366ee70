"""tt-mlir's commands by their names: pass names of its documentation, one-dash options, one source on stdout, refusals."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from alchemist import cli
from alchemist.driver.passes import DONE_ELSEWHERE
from alchemist.errors import AlchemistError
from alchemist.frontends.mlir.read import read_module
from alchemist.toolchain.descriptors import descriptor

_MATMUL = """
#any_device = #tt.operand_constraint<dram|l1|tile|any_device_tile>
func.func @forward(%arg0: tensor<64x128xbf16>, %arg1: tensor<128x96xbf16>) -> tensor<64x96xbf16> {
  %0 = tensor.empty() : tensor<64x96xbf16>
  %1 = "ttir.matmul"(%arg0, %arg1, %0) <{operand_constraints = [#any_device, #any_device, #any_device]}>
    : (tensor<64x128xbf16>, tensor<128x96xbf16>, tensor<64x96xbf16>) -> tensor<64x96xbf16>
  return %1 : tensor<64x96xbf16>
}
"""


@pytest.fixture
def matmul(tmp_path: Path) -> str:
    path = tmp_path / "matmul.mlir"
    path.write_text(_MATMUL, encoding="utf-8")
    return str(path)


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(words)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


_PASSES_OF_2024 = ("--ttir-load-system-desc", "--ttir-implicit-device", "--ttir-layout", "--convert-ttir-to-ttnn")
_LAYOUT_OF_2024 = "#tt.layout<(d0, d1) -> (d0, d1), undef, <1x1>, memref<2x4x!tt.tile<32x32, bf16>, #dram>, interleaved>"
_LAYOUT_OF_TODAY = "memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>"


def test_passes_and_text_of_2024_print_text_of_2024(matmul: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The layout that tt-mlir's guide asserts in "Adding an op": `--ttir-layout` made those of TTNN on no later day."""
    code, out, said = _run(capsys, "opt", *_PASSES_OF_2024, matmul)
    assert code == 0
    assert _LAYOUT_OF_2024 in out
    assert '"ttnn.matmul"' in out and "arch = <wormhole_b0>" in out
    assert "printed as on 2024-11-26" in said
    other_passes = [word for word in _PASSES_OF_2024 if word != "--ttir-layout"]
    today = tmp_path / "today.mlir"
    assert _run(capsys, "opt", "--upgrade", matmul, "-o", str(today))[0] == 0
    for words in ((*other_passes, matmul), ("--print-as=2026-01", *_PASSES_OF_2024, matmul), (*_PASSES_OF_2024, str(today))):
        _, out, said = _run(capsys, "opt", *words)
        assert _LAYOUT_OF_TODAY in out and "printed" not in said


def test_a_loaded_descriptor_chooses_the_card(matmul: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p150.ttsys"
    path.write_bytes(descriptor("p150"))
    _, loaded, _ = _run(capsys, "opt", f"--ttir-load-system-desc=path={path}", matmul)
    assert "arch = <blackhole>" in loaded
    assert _run(capsys, "opt", "--ttir-load-system-desc=path=/nonexistent.ttsys", matmul)[0] == 1


def test_the_drivers_in_a_pipe_print_one_source(matmul: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ttmlir-opt", "--ttir-to-emitc-pipeline", matmul])
    assert cli.ttmlir_opt() == 0
    lowered = capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lowered.encode())))
    monkeypatch.setattr("sys.argv", ["ttmlir-translate", "-mlir-to-cpp", "-allow-unregistered-dialect"])
    assert cli.ttmlir_translate() == 0
    source = capsys.readouterr().out
    assert source.count('#include "') == source.count('#include "ttnn/') and "File:" not in source
    assert "ttnn::matmul(" in source


@pytest.mark.parametrize("name", DONE_ELSEWHERE)
def test_a_pass_whose_work_is_done_elsewhere_changes_nothing(name: str, matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(capsys, "opt", f"--{name}", matmul)[:2] == _run(capsys, "opt", matmul)[:2]


@pytest.mark.parametrize(
    "name", ["ttir-to-ttmetal-backend-pipeline", "ttnn-to-ttmetal-pipeline", "convert-ttkernel-to-emitc", "ttir-to-d2m", "ttir-generic-linearize-memref"]
)
def test_what_lowers_to_ttmetal_is_refused(name: str, matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _run(capsys, "opt", f"--{name}", matmul)
    assert (code, out) == (1, "")
    assert "TTMetal" in err and "ttir-to-ttnn-backend-pipeline" in err


def test_options_of_translate_are_not_cut_short(matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["translate", "-mlir-to-cp", matmul])
    assert "--mlir-to-cpp" in capsys.readouterr().err


def test_another_dialect_is_refused_with_those_that_programs_are_made_from() -> None:
    with pytest.raises(AlchemistError, match=r"linalg\.add") as error:
        read_module("func.func @f(%a: i32) {\n  linalg.add ins(%a, %a : i32, i32) outs(%a : i32) -> i32\n  return\n}", "x.mlir")
    assert error.value.hint == "programs are made from StableHLO, TOSA, TTIR or TTNN"


@pytest.mark.parametrize("op", ['"ttkernel.add"(%a, %a) : (i32, i32) -> i32', '"ttmetal.finish"() : () -> ()', '"d2m.empty"() : () -> i32'])
def test_kernels_are_printed_but_make_no_program(op: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.mlir"
    path.write_text(f"func.func @f(%a: i32) -> i32 {{\n  {'%0 = ' if op.endswith('i32') else ''}{op}\n  return %a : i32\n}}\n", encoding="utf-8")
    code, out, _ = _run(capsys, "opt", str(path))
    assert code == 0 and op.split("(")[0] in out
    code, _, err = _run(capsys, "generate-python", str(path), "-o", str(tmp_path / "out"))
    name = op.split('"')[1]
    assert code == 1 and f"{name}: TTMetal kernels are not supported" in err and "kernel.mlir:2" in err and "ttnn_jit" in err


_OTHER_LEVELS = {
    "affine.for": """func.func @f(%a: memref<2xf32>) {
  "affine.for"() ({
    "affine.yield"() : () -> ()
  }) : () -> ()
  return
}
""",
    "scf.for": """func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 0 : index
  %r = scf.for %i = %c to %c step %c iter_args(%x = %a) -> (tensor<4xf32>) {
    scf.yield %x : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
""",
}


@pytest.mark.parametrize("op", _OTHER_LEVELS)
def test_loops_over_buffers_are_refused_by_name(op: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "loop.mlir"
    path.write_text(_OTHER_LEVELS[op], encoding="utf-8")
    code, _, err = _run(capsys, "generate-python", str(path), "-o", str(tmp_path / "out"))
    assert code == 1 and f"{op}: " in err and "pass StableHLO, TOSA or TTIR" in err


def test_there_is_no_native_code(matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("opt", "--native", matmul), ("generate-python", matmul, "--native", "-o", "out")):
        code, _, err = _run(capsys, *words)
        assert code == 1 and "an interpreter" in err


def test_an_unknown_switch_has_near_ones(matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _run(capsys, "generate-python", matmul, "--no-goldem", "-o", "out")
    assert "did you mean --no-golden?" in capsys.readouterr().err


def test_a_program_without_golden_outputs(matmul: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_golden, without = tmp_path / "with", tmp_path / "without"
    assert _run(capsys, "generate-python", matmul, "-o", str(with_golden))[0] == 0
    assert _run(capsys, "generate-python", matmul, "-o", str(without), "--no-golden")[0] == 0
    kept = {file.relative_to(with_golden).as_posix() for file in with_golden.rglob("*")} - {file.relative_to(without).as_posix() for file in without.rglob("*")}
    assert {name.partition("/")[0] for name in kept} == {"golden"}


def test_the_dialects(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "opt", "--show-dialects")
    assert code == 0
    assert {"ttcore", "ttir", "ttnn", "stablehlo", "func"} <= set(out.removeprefix("Available Dialects: ").strip().split(", "))


def test_ttnn_goes_back_to_ttir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Layouts and tags stay; what the library alone has goes; an op over prepared weights has no TTIR op."""
    layout = "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<{}>>, <interleaved>>"
    tensor, moved = (f"tensor<32x32xbf16, {layout.format(buffer)}>" for buffer in ("dram", "l1"))
    path = tmp_path / "cosh.mlir"
    path.write_text(f"""
func.func @f(%x: {tensor}, %y: {tensor}) -> {moved} {{
  %d = "ttnn.get_device"() <{{mesh_shape = #ttnn<mesh_shape 1x1>}}> : () -> !ttnn.device
  %0 = "ttnn.divide"(%x, %y) <{{dtype = #ttcore.supportedDataTypes<bf16>}}> {{ttnn.hoist_generic_via_d2m}} : ({tensor}, {tensor}) -> {tensor}
  %1 = "ttnn.full"(%d) <{{fill_value = 5.000000e-01 : f32, shape = #ttnn.shape<32x32>}}> : (!ttnn.device) -> {tensor}
  %2 = "ttnn.multiply"(%0, %1) : ({tensor}, {tensor}) -> {tensor}
  "ttnn.deallocate"(%1) <{{force = false}}> : ({tensor}) -> ()
  %3 = "ttnn.to_memory_config"(%2) : ({tensor}) -> {moved}
  return %3 : {moved}
}}""")
    code, out, _ = _run(capsys, "opt", "--convert-ttnn-to-ttir", str(path))
    assert code == 0
    assert '"ttir.div"(%arg0, %arg1) {ttnn.hoist_generic_via_d2m}' in out
    assert [name in out for name in ("ttnn.get_device", "ttnn.deallocate", "ttir.full", "ttir.multiply", "ttir.to_layout")] == [False, False, True, True, True]
    again = tmp_path / "again.mlir"
    again.write_text(out)
    assert _run(capsys, "opt", "--ttir-to-ttnn-backend-pipeline", str(again))[0] == 0
    path.write_text(path.read_text().replace("ttnn.multiply", "ttnn.add_in_place"))
    code, _, err = _run(capsys, "opt", "--convert-ttnn-to-ttir", str(path))
    assert code == 1
    assert "no equivalent TTIR op" in err or "ttnn.add_in_place" in err


CONVOLUTION = """
func.func public @main(%image: tensor<1x8x8x32xbf16>, %kernel: tensor<64x32x3x3xbf16>, %bias: tensor<1x1x1x64xbf16>) -> tensor<1x8x8x64xbf16> {
  %0 = "ttir.conv2d"(%image, %kernel, %bias) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 1 : i32}>
    : (tensor<1x8x8x32xbf16>, tensor<64x32x3x3xbf16>, tensor<1x1x1x64xbf16>) -> tensor<1x8x8x64xbf16>
  return %0 : tensor<1x8x8x64xbf16>
}
"""


def test_a_kernel_of_which_nothing_is_said_is_a_weight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The library prepares it before the first call; the function stays public."""
    path = tmp_path / "conv.mlir"
    path.write_text(CONVOLUTION)
    code, text, _ = _run(capsys, "opt", "--ttir-to-ttnn-backend-pipeline", str(path))
    assert code == 0
    assert "ttnn.prepare_conv2d_weights" in text and "ttnn.conv2d" in text and "func.func public @main" in text


def test_argument_types_are_said_by_a_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "conv.mlir"
    path.write_text(CONVOLUTION)
    for command in ("tt-populate-argument-types", "ttir-to-ttnn-backend-pipeline"):
        code, text, _ = _run(capsys, "opt", f"--{command}=argument-types=main=input,parameter,constant", str(path))
        text = text[text.index("@main(") :].partition("\n")[0]
        assert (code, re.findall(r"#ttcore.argument_type<(\w+)>", text)) == (0, ["input", "parameter", "constant"])
    for words, said in (("main=input", "Expected: 3 arguments, got: 1"), ("other=input", "not found in module"), ("main=input,weight,constant", "got weight")):
        code, _, error = _run(capsys, "opt", f"--tt-populate-argument-types=argument-types={words}", str(path))
        assert code == 1
        assert said in error


REFUSED_BY_MLIR = {
    "tensor<4x4xf32>": ('"ttir.softmax"(%a) <{dimension = 2 : si32}> : (tensor<4x4xf32>) -> tensor<4x4xf32>',
                        "error: 'ttir.softmax' op Dimension attribute must be within the bounds of the input tensor"),
    "tensor<4x8xf32>": ('"ttir.cumsum"(%a) <{dim = 4 : i64}> : (tensor<4x8xf32>) -> tensor<4x8xf32>',
                        "error: 'ttir.cumsum' op specified dimension should be between -2 and 1, but got: 4"),
    "tensor<2x3x4x5xbf16>": ('"ttir.permute"(%a) <{permutation = array<i64: 0, 0, 1, 2>}> : (tensor<2x3x4x5xbf16>) -> tensor<2x3x4x5xbf16>',
                            "error: 'ttir.permute' op Expected a permutation of (0, 1, 2, 3), got (0, 0, 1, 2)"),
    "tensor<8x8xf32>": ('"ttir.abs"(%a) : (tensor<8x8xf32>) -> tensor<8x4xf32>', "error: 'ttir.abs' op expected result shape [8, 8], got [8, 4]"),
}  # fmt: skip


@pytest.mark.parametrize("type_", REFUSED_BY_MLIR)
def test_errors_of_ttmlir_opt_have_a_line_in_mlirs_form(
    type_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In tt-mlir's words where its tests ask for them. `alchemist opt` prints each error once."""
    op, said = REFUSED_BY_MLIR[type_]
    path = tmp_path / "bad.mlir"
    path.write_text(f"func.func @f(%a: {type_}) -> {op.rpartition(' ')[2]} {{\n  %0 = {op}\n  return %0 : {op.rpartition(' ')[2]}\n}}\n")
    monkeypatch.setattr("sys.argv", ["ttmlir-opt", str(path)])
    assert cli.ttmlir_opt() == 1
    first, *ours = capsys.readouterr().err.splitlines()
    assert first == f"{path}:2:8: {said}"
    assert ours[0].startswith("error[ALC-0200]")
    code, _, error = _run(capsys, "opt", str(path))
    assert (code, error.splitlines()) == (1, ours)


def test_a_product_says_the_dtype_of_its_weight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "weights.mlir"
    path.write_text("""
func.func @f(%x: tensor<32x64xbf16>, %w: tensor<1x32x64xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttcore.weight_dtype = "bfp_bf4"},
             %v: tensor<64x32xbf16>) -> (tensor<32x32xbf16>, tensor<32x32xbf16>) {
  %0 = "ttir.reshape"(%w) <{shape = [32 : i32, 64 : i32]}> : (tensor<1x32x64xbf16>) -> tensor<32x64xbf16>
  %1 = "ttir.permute"(%0) <{permutation = array<i64: 1, 0>}> : (tensor<32x64xbf16>) -> tensor<64x32xbf16>
  %2 = "ttir.matmul"(%x, %1) : (tensor<32x64xbf16>, tensor<64x32xbf16>) -> tensor<32x32xbf16>
  %3 = "ttir.matmul"(%x, %v) : (tensor<32x64xbf16>, tensor<64x32xbf16>) -> tensor<32x32xbf16>
  return %2, %3 : tensor<32x32xbf16>, tensor<32x32xbf16>
}
""")
    code, text, _ = _run(capsys, "opt", "--ttir-propagate-weight-dtype", str(path))
    assert code == 0
    assert ['ttcore.weight_dtype = "bfp_bf4"' in line for line in text.splitlines() if '"ttir.matmul"' in line] == [True, False]


def test_the_dtype_of_an_unnamed_weight_reaches_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "weights.mlir"
    weight = 'tensor<64x32xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttcore.weight_dtype = "bfp_bf8"}'
    path.write_text(f"""
func.func @f(%x: tensor<32x64xbf16>, %w: {weight}) -> tensor<32x32xbf16> {{
  %0 = "ttir.matmul"(%x, %w) : (tensor<32x64xbf16>, tensor<64x32xbf16>) -> tensor<32x32xbf16>
  return %0 : tensor<32x32xbf16>
}}
""")
    code, text, _ = _run(capsys, "opt", "--ttir-to-ttnn-backend-pipeline", str(path))
    assert (code, "!ttcore.tile<32x32, bfp_bf8>" in text) == (0, True)


_SEVERAL_RANKS = """
func.func @forward(%a: tensor<3x5x7xf32>, %b: tensor<7xf32>, %c: tensor<4x3xi32>) -> (tensor<3x5x7xf32>, tensor<4x3xi32>) {
  %0 = "ttir.add"(%a, %b) : (tensor<3x5x7xf32>, tensor<7xf32>) -> tensor<3x5x7xf32> loc("#ttcore.tile, ttcore.argument_type")
  %1 = "ttir.reshape"(%c) <{shape = [12 : i32]}> : (tensor<4x3xi32>) -> tensor<12xi32>
  %2 = "ttir.reshape"(%1) <{shape = [4 : i32, 3 : i32]}> : (tensor<12xi32>) -> tensor<4x3xi32>
  return %0, %2 : tensor<3x5x7xf32>, tensor<4x3xi32>
}
"""


@pytest.mark.parametrize("text", [_MATMUL, _SEVERAL_RANKS])
@pytest.mark.parametrize("passes", [_PASSES_OF_2024, ("--ttir-to-ttnn-backend-pipeline=optimization-level=1",)])
@pytest.mark.parametrize("day", ["2024-09", "2024-12-01", "2025-01"])
def test_text_printed_as_of_an_earlier_day_is_read_as_the_same_module(
    text: str, passes: tuple[str, ...], day: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, older, newer = tmp_path / "f.mlir", tmp_path / "older.mlir", tmp_path / "newer.mlir"
    source.write_text(text, encoding="utf-8")
    assert _run(capsys, "opt", "--print-as=2026-01", *passes, str(source), "-o", str(newer))[0] == 0
    assert _run(capsys, "opt", f"--print-as={day}", *passes, str(source), "-o", str(older))[0] == 0
    assert "#tt.system_desc" in older.read_text() or "tt.argument_type" in older.read_text() or "!tt.tile" in older.read_text()
    assert _run(capsys, "opt", str(older))[:2] == _run(capsys, "opt", str(newer))[:2]


def test_a_day_is_a_date(matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(capsys, "opt", "--print-as=soon", matmul)[0] == 1
