"""Modules with several functions and parts, what cannot be lowered, and rules of single ops."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from alchemist.cli import main
from alchemist.codegen import codegen_mlir, codegen_py
from alchemist.driver import mlir_files
from alchemist.driver.opt import run_pipeline
from alchemist.driver.translate import translate
from alchemist.errors import AlchemistError, UserError, VerifyError
from alchemist.frontends.mlir import load, load_each
from alchemist.ir.printer import print_module
from tests import running
from tests.tables import table

SEVERAL = """
func.func private @helper(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "ttir.abs"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @one(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = call @helper(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @"two/../x"(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "ttir.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_a_program_of_every_function() -> None:
    programs = dict(load_each(SEVERAL, "x.mlir"))
    assert list(programs) == ["one", "two/../x"]
    assert [op.name for op in programs["one"].module.walk()].count("ttir.abs") == 1
    assert "ttir.abs" not in print_module(programs["two/../x"].module)
    assert load(SEVERAL, "x.mlir", entry="helper").arguments[0].shape == (2, 3)
    with pytest.raises(UserError, match="exactly one public function"):
        load(SEVERAL, "x.mlir")
    with pytest.raises(UserError, match="no function @three"):
        load(SEVERAL, "x.mlir", entry="three")


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_directory_of_programs(language: str, tmp_path: Path) -> None:
    file = tmp_path / "x.mlir"
    file.write_text(SEVERAL + "// -----\nmodule {}\n// -----\n" + SEVERAL)
    out = tmp_path / "out"
    command = [f"generate-{language}", str(file), "-o", str(out), "--init", "arange"]
    assert main(command) == 0
    folders = sorted(path.name for path in out.iterdir() if path.is_dir())
    assert folders == ["0_one", "0_two_.._x", "2_one", "2_two_.._x"]
    assert (out / "0_one" / "golden").is_dir()
    if language == "python":
        done = running.run(out, "--check")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("== ") == 4
    assert main(command) == 0, "an export that nobody edited is replaced"
    (out / "0_one" / "run").write_text("edited")
    assert main(command) == 1
    assert main([*command, "--overwrite", "--entry", "one"]) == 0
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == ["0_one", "2_one"]


def test_text_of_several_programs() -> None:
    text = translate(mlir_files.Chunk(SEVERAL, "x.mlir"), "python")
    assert '# File: "one/main"' in text
    compile(text, "x.py", "exec")
    assert "File:" not in translate(mlir_files.Chunk(SEVERAL, "x.mlir"), "python", entry="one")


def test_stablehlo_functions_keep_their_names() -> None:
    text = """
      func.func @p(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
        %0 = "stablehlo.abs"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
        return %0 : tensor<2x3xf32>
      }
      func.func @q(%a: tensor<4xf32>) -> tensor<4xf32> {
        %0 = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }"""
    printed = print_module(run_pipeline(mlir_files.read(mlir_files.Chunk(text, "x.mlir")), "stablehlo-to-ttir-pipeline"))
    assert "func.func @p(" in printed
    assert "func.func @q(" in printed
    assert '"ttir.neg"' in printed


@table(
    ("signature", "body", "message", "line"),
    [
        ("(%a: tensor<?x4xf32>) -> tensor<?x4xf32>", "return %a : tensor<?x4xf32>", "dynamic dimensions", 1),
        ("(%a: i32) -> i32", "return %a : i32", "arguments must be tensors", 1),
        ("(%a: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>", "return %a : tensor<2xcomplex<f32>>", "complex numbers", 1),
        (
            "() -> tensor<4xf32>",
            '%0 = "ttir.constant"() <{value = dense_resource<gone> : tensor<4xf32>}> : () -> tensor<4xf32>\nreturn %0 : tensor<4xf32>',
            "without values",
            2,
        ),
        (
            "(%a: tensor<4xf32>) -> tensor<4xf32>",
            '%d = "ttnn.get_device"() : () -> !ttnn.device\n%s = "ttnn.create_global_semaphore"(%d) <{core_range_set = #ttnn.core_range_set<'
            "[#ttnn.core_range<(0,0), (7,7)>]>, initial_value = 0 : ui32}> : (!ttnn.device) -> !ttnn.global_semaphore\nreturn %a : tensor<4xf32>",
            "values must be tensors",
            3,
        ),
        (
            "(%a: tensor<4xf32>) -> tensor<4xf32>",
            '%0 = "math.absf"(%a) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>',
            "programs are made from StableHLO, TOSA, TTIR or TTNN",
            2,
        ),
        (
            "(%a: tensor<8x4xf32>) -> tensor<2x4xf32>",
            '%0 = "ttir.mesh_shard"(%a) <{shard_dims = array<i64: 0, -1>, shard_direction = #ttcore.shard_direction<full_to_shard>, '
            "shard_shape = array<i64: 4, 1>, shard_type = #ttcore.shard_type<devices>}> : (tensor<8x4xf32>) -> tensor<2x4xf32>\n"
            "return %0 : tensor<2x4xf32>",
            "ttir.mesh_shard",
            2,
        ),
        (
            "(%a: tensor<8x4xf32>) -> tensor<2x4xf32>",
            '%0 = "stablehlo.custom_call"(%a) {call_target_name = "SPMDFullToShardShape"} : (tensor<8x4xf32>) -> tensor<2x4xf32>\nreturn %0 : tensor<2x4xf32>',
            "SPMDFullToShardShape over several chips",
            2,
        ),
        (
            "(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>",
            '%0 = "ttnn.abs"(%a) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>\nreturn %0 : tensor<4xcomplex<f32>>',
            "complex numbers",
            1,
        ),
    ],
    ids=["dynamic", "scalar", "complex", "resource", "semaphore", "other dialect", "mesh", "shards", "no layout"],
)
def test_refused_at_its_line(signature: str, body: str, message: str, line: int) -> None:
    text = f"func.func @f{signature} {{\n{body}\n}}\n"
    with pytest.raises(UserError) as error:
        translate(mlir_files.Chunk(text, "x.mlir"), "python")
    assert message in str(error.value)
    assert f"x.mlir:{line}:" in str(error.value)


def test_start_value_and_calls_are_computed(tmp_path: Path) -> None:
    """A reduction whose start value counts, and custom calls by name, against the reference."""
    file = tmp_path / "x.mlir"
    file.write_text("""
func.func @f(%a: tensor<32x64xf32>, %i: tensor<f32>) -> tensor<64xf32> {
  %0 = "stablehlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = "stablehlo.maximum"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = "stablehlo.custom_call"(%0) {call_target_name = "mhlo.erf"} : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
""")
    assert main(["generate-python", str(file), "-o", str(tmp_path / "out")]) == 0
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


RULES = {  # op, operand types, result type, properties, message; a message of "" is a case that holds
    "conv channels": (
        "ttir.conv2d",
        "tensor<1x8x8x4xf32>, tensor<6x3x3x3xf32>",
        "tensor<1x6x6x6xf32>",
        "stride = 1 : i32, padding = 0 : i32, dilation = 1 : i32, groups = 1 : i32",
        "input channels",
    ),
    "conv size": (
        "ttir.conv2d",
        "tensor<1x8x8x4xf32>, tensor<6x4x3x3xf32>",
        "tensor<1x8x6x6xf32>",
        "stride = 1 : i32, padding = 0 : i32, dilation = 1 : i32, groups = 1 : i32",
        "expected result shape [1, 6, 6, 6], got [1, 8, 6, 6]",
    ),
    "conv": (
        "ttir.conv2d",
        "tensor<1x8x8x4xf32>, tensor<6x2x3x3xf32>, tensor<1x1x1x6xf32>",
        "tensor<1x4x8x6xf32>",
        "stride = array<i32: 2, 1>, padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32",
        "",
    ),
    "transposed conv": (
        "ttir.conv_transpose2d",
        "tensor<1x4x4x8xf32>, tensor<8x3x2x2xf32>",
        "tensor<1x8x8x3xf32>",
        "stride = 2 : i32, padding = 0 : i32, output_padding = 0 : i32, dilation = 1 : i32, groups = 1 : i32",
        "",
    ),
    "transposed conv size": (
        "ttir.conv_transpose2d",
        "tensor<1x4x4x8xf32>, tensor<8x3x2x2xf32>",
        "tensor<1x7x8x3xf32>",
        "stride = 2 : i32, padding = 0 : i32, output_padding = 0 : i32, dilation = 1 : i32, groups = 1 : i32",
        "expected result shape [1, 8, 8, 3], got [1, 7, 8, 3]",
    ),
    "pool with ceil": (
        "ttir.max_pool2d",
        "tensor<1x7x7x4xf32>",
        "tensor<1x4x4x4xf32>",
        "kernel = 2 : i32, stride = 2 : i32, padding = 0 : i32, dilation = 1 : i32, ceil_mode = true",
        "",
    ),
    "pool kernel": (
        "ttir.max_pool2d",
        "tensor<1x3x3x4xf32>",
        "tensor<1x1x1x4xf32>",
        "kernel = 5 : i32, stride = 1 : i32, padding = 0 : i32, dilation = 1 : i32, ceil_mode = false",
        "kernel spans",
    ),
    "pool padding": (
        "ttir.avg_pool2d",
        "tensor<1x8x8x4xf32>",
        "tensor<1x4x4x4xf32>",
        "kernel = 2 : i32, stride = 2 : i32, padding = array<i32: 0, 0, 0>, dilation = 1 : i32, ceil_mode = false",
        "four integers",
    ),
    "upsample": ("ttir.upsample2d", "tensor<1x2x2x3xf32>", "tensor<1x4x6x3xf32>", "scale_factor = array<i32: 2, 3>", ""),
    "upsample mode": ("ttir.upsample2d", "tensor<1x2x2x3xf32>", "tensor<1x4x4x3xf32>", 'scale_factor = 2 : si32, mode = "x"', "nearest"),
    "sum": ("ttir.sum", "tensor<2x3x4xf32>", "tensor<2x4xf32>", "dim_arg = [-2 : i32], keep_dim = false", ""),
    "sum twice": ("ttir.sum", "tensor<2x3xf32>", "tensor<2xf32>", "dim_arg = [1 : i32, 1 : i32], keep_dim = false", "must differ"),
    "sum range": ("ttir.sum", "tensor<2x3xf32>", "tensor<2xf32>", "dim_arg = [2 : i32], keep_dim = false", "out of range"),
    "softmax": ("ttir.softmax", "tensor<2x3xf32>", "tensor<2x3xf32>", "dimension = 2 : si32", "dimension must be in"),
    "index": ("ttir.index", "tensor<8x4xf32>", "tensor<3x4xf32>", "dim = 0 : i32, begin = 1 : i32, end = 7 : i32, step = 2 : i32", ""),
    "index of a scalar": (
        "ttir.index",
        "tensor<f32>",
        "tensor<f32>",
        "dim = 0 : i32, begin = 0 : i32, end = 1 : i32, step = 1 : i32",
        "at least one dimension",
    ),
    "index step": ("ttir.index", "tensor<8x4xf32>", "tensor<3x4xf32>", "dim = 0 : i32, begin = 1 : i32, end = 7 : i32, step = 0 : i32", "zero"),
    "reshape": ("ttir.reshape", "tensor<2x3xf32>", "tensor<6xf32>", "shape = [5 : i32]", "cannot reshape [2, 3] to [5]"),
    "broadcast": ("ttir.broadcast", "tensor<1x3xf32>", "tensor<4x3xf32>", "broadcast_dimensions = array<i64: 2, 1>", "result shape"),
    "gather": ("ttir.gather", "tensor<4x3xf32>, tensor<2x3xf32>", "tensor<2x3xf32>", "dim = 0 : i32", "integers"),
    "embedding": ("ttir.embedding", "tensor<2x3xi32>, tensor<8x4xf32>", "tensor<2x3x5xf32>", "", "result shape"),
    "reverse": ("ttir.reverse", "tensor<2x3xf32>", "tensor<2x3xf32>", "dimensions = array<i64: 0, 0>", "must differ"),
    "arange": (
        "ttir.arange",
        "",
        "tensor<5xi32>",
        "start = 0 : si64, end = 6 : si64, step = 1 : si64, arange_dimension = 0 : i64",
        "expected result shape [6], got [5]",
    ),
    "rms norm": ("ttir.rms_norm", "tensor<2x4xf32>", "tensor<2x4xf32>", "normalized_shape = array<i64: 2>", "is not the end"),
    "bitcast": ("ttir.bitcast_convert", "tensor<2xf32>", "tensor<2xi16>", "", "same width"),
    "quantise": ("ttir.quantize", "tensor<2xi32>", "tensor<2x!quant.uniform<i8:f32, 0.1>>", "", "cannot hold i32"),
    "unsigned": ("ttir.quantize", "tensor<2xf32>", "tensor<2x!quant.uniform<u8:f32, 0.1:255>>", "", ""),
    "unsigned from zero": ("ttir.quantize", "tensor<2xf32>", "tensor<2x!quant.uniform<u8:f32, 0.1>>", "", ""),
    "unsigned zero point": ("ttir.quantize", "tensor<2xf32>", "tensor<2x!quant.uniform<u8:f32, 0.1:256>>", "", "zero point 256 is out of range for 8 bits"),
    "signed zero point": ("ttir.quantize", "tensor<2xf32>", "tensor<2x!quant.uniform<i8<-127:127>:f32, 0.1:128>>", "", "zero point 128 is out of range"),
    "gathered": ("ttir.all_gather", "tensor<2x4xf32>", "tensor<2x8xf32>", "all_gather_dim = 2 : si32, cluster_axis = 0 : ui32", "all_gather_dim must be in"),
    "repeated": ("ttir.repeat_interleave", "tensor<2x3xf32>", "tensor<2x6xf32>", "repeats = 2 : ui32, dim = 1 : si32", ""),
    "zero step": (
        "ttir.slice_static",
        "tensor<4xf32>",
        "tensor<4xf32>",
        "begins = [0 : i32], ends = [4 : i32], step = [0 : i32]",
        "zero",
    ),
}


@table("name", RULES)
def test_rules(name: str) -> None:
    op, operands, result, properties, message = RULES[name]
    types = operands.split(", ") if operands else []
    arguments = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(types))
    values = ", ".join(f"%a{i}" for i in range(len(types)))
    if op.startswith("ttir.conv"):
        properties += f", operandSegmentSizes = array<i32: 1, 1, {len(types) - 2}>"
    if op == "ttir.rms_norm":
        properties += ", operandSegmentSizes = array<i32: 1, 0, 0>"
    text = f'func.func @f({arguments}) -> {result} {{\n  %0 = "{op}"({values}) <{{{properties}}}> : ({operands}) -> {result}\n  return %0 : {result}\n}}\n'
    if not message:
        mlir_files.read(mlir_files.Chunk(text, "x.mlir"))
        return
    with pytest.raises(VerifyError) as error:
        mlir_files.read(mlir_files.Chunk(text, "x.mlir"))
    assert message in error.value.message
    assert error.value.location == "x.mlir:2:8"


def test_empty_parts_are_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.mlir"
    file.write_text("// a comment\n")
    assert main(["opt", str(file)]) == 0
    assert capsys.readouterr().out.startswith("module {")
    assert main(["model-to-python", str(file)]) == 1
    assert "no public function" in capsys.readouterr().err
    with pytest.raises(AlchemistError):
        load("", "x.mlir")


WITHOUT_LAYOUTS = """
func.func @f(%x: tensor<1x1x256x32xbf16>, %w: tensor<32x32x3x3xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %d: !ttnn.device)
    -> tensor<1x1x196x32xbf16> {
  %0 = "ttnn.conv2d"(%x, %w, %d) <{in_channels = 32 : i32, out_channels = 32 : i32, batch_size = 1 : i32, input_height = 16 : i32,
    input_width = 16 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 0, 0>, dilation = array<i32: 1, 1>,
    groups = 1 : i32}> : (tensor<1x1x256x32xbf16>, tensor<32x32x3x3xbf16>, !ttnn.device) -> tensor<1x1x196x32xbf16>
  %1 = "ttnn.relu"(%0) : (tensor<1x1x196x32xbf16>) -> tensor<1x1x196x32xbf16>
  return %1 : tensor<1x1x196x32xbf16>
}
"""
_CONV = """batch_size = 1 : i32, dilation = array<i32: 1, 1>, groups = 1 : i32, in_channels = 32 : i32, input_height = 16 : i32, input_width = 16 : i32,
    kernel_size = array<i32: 3, 3>, out_channels = 64 : i32, padding = array<i32: 1, 1, 1, 1>, stride = array<i32: 1, 1>"""
_PREPARE = f"""{_CONV}, input_dtype = #ttcore.supportedDataTypes<bf16>, input_tensor_layout = #ttnn.layout<tile>, output_dtype = #ttcore.supportedDataTypes<bf16>,
    input_memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>"""
_CONST_EVAL = """
  func.func private @{name}(%a: tensor<{of}>) -> tensor<{made}> attributes {{const_eval}} {{
    %0 = "ttnn.get_device"() : () -> !ttnn.device
    %1 = "ttnn.typecast"(%a) <{{dtype = #ttcore.supportedDataTypes<f32>}}> : (tensor<{of}>) -> tensor<{wide}>
    %2 = "ttnn.typecast"(%1) <{{dtype = #ttcore.supportedDataTypes<bf16>}}> : (tensor<{wide}>) -> tensor<{of}>
    %3 = "ttnn.prepare_conv2d_{what}"(%2, %0) <{{{attributes}}}> : (tensor<{of}>, !ttnn.device) -> tensor<{made}>
    return %3 : tensor<{made}>
  }}
"""
PREPARED = f"""
#w = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 3 + d2, d3), <1x1>, memref<6144x3xbf16, #ttnn.buffer_type<system_memory>>>
#b = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x64xbf16, #ttnn.buffer_type<system_memory>>>
#wf = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 3 + d2, d3), <1x1>, memref<6144x3xf32, #ttnn.buffer_type<system_memory>>>
#bf = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x64xf32, #ttnn.buffer_type<system_memory>>>
module {{
  {
    _CONST_EVAL.format(
        name="w",
        of="64x32x3x3xbf16, #w",
        wide="64x32x3x3xf32, #wf",
        made="1x1x288x64xbf16",
        what="weights",
        attributes=_PREPARE + ', has_bias = true, weights_format = "OIHW"',
    )
}
  {_CONST_EVAL.format(name="b", of="1x1x1x64xbf16, #b", wide="1x1x1x64xf32, #bf", made="1x1x1x64xbf16", what="bias", attributes=_PREPARE)}
  func.func @main(%x: tensor<1x1x256x32xbf16>, %w: tensor<64x32x3x3xbf16, #w> {{ttcore.argument_type = #ttcore.argument_type<parameter>}},
                  %b: tensor<1x1x1x64xbf16, #b> {{ttcore.argument_type = #ttcore.argument_type<parameter>}}) -> tensor<1x1x256x64xbf16> {{
    %0 = ttcore.load_cached(@w, [%w]) : (tensor<64x32x3x3xbf16, #w>) -> tensor<1x1x288x64xbf16>
    %1 = ttcore.load_cached(@b, [%b]) : (tensor<1x1x1x64xbf16, #b>) -> tensor<1x1x1x64xbf16>
    %2 = "ttnn.get_device"() : () -> !ttnn.device
    %3 = "ttnn.conv2d"(%x, %0, %1, %2) <{{{_CONV}}}> : (tensor<1x1x256x32xbf16>, tensor<1x1x288x64xbf16>, tensor<1x1x1x64xbf16>, !ttnn.device)
      -> tensor<1x1x256x64xbf16>
    return %3 : tensor<1x1x256x64xbf16>
  }}
}}
"""
IN_STEPS = """
#host = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<40x50xf32, #ttnn.buffer_type<system_memory>>>
#tiles = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <interleaved>>
func.func @f(%x: tensor<40x50xf32, #host>) -> tensor<40x50xf32, #host> {
  %0 = "ttnn.to_tensor_spec"(%x) : (tensor<40x50xf32, #host>) -> tensor<40x50xbf16, #tiles>
  %1 = "ttnn.abs"(%0) : (tensor<40x50xbf16, #tiles>) -> tensor<40x50xbf16, #tiles>
  %2 = "ttnn.to_tensor_spec"(%1) : (tensor<40x50xbf16, #tiles>) -> tensor<40x50xf32, #host>
  return %2 : tensor<40x50xf32, #host>
}
"""
HOST_CONSTANT = """
#host = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xf32, #ttnn.buffer_type<system_memory>>>
#tiles = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>
func.func @f(%x: tensor<2x2xf32, #tiles>) -> tensor<2x2xf32, #tiles> {
  %0 = "ttnn.constant"() <{value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}> : () -> tensor<2x2xf32, #host>
  %1 = "ttnn.to_tensor_spec"(%0) : (tensor<2x2xf32, #host>) -> tensor<2x2xf32, #tiles>
  %2 = "ttnn.add"(%x, %1) : (tensor<2x2xf32, #tiles>, tensor<2x2xf32, #tiles>) -> tensor<2x2xf32, #tiles>
  return %2 : tensor<2x2xf32, #tiles>
}
"""
CACHE = """
func.func @f(%c: tensor<{users}x4x64x32xbf16>, %x: tensor<1x4x{users}x32xbf16>, %i: tensor<1xi32>) -> tensor<{users}x4x64x32xbf16> {{
  "ttir.update_cache"(%c, %x, %i) {{batch_offset = 0 : i32}} : (tensor<{users}x4x64x32xbf16>, tensor<1x4x{users}x32xbf16>, tensor<1xi32>) -> ()
  return %c : tensor<{users}x4x64x32xbf16>
}}
"""
COMPOSITE = """
func.func @f(%x: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
  %0 = "ttcore.composite"(%x) <{composite_name = "twice", decomposition = @twice, composite_attributes = {n = 2 : i32}}>
    : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
  return %0 : tensor<32x64xbf16>
}
func.func private @twice(%x: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
  %0 = "ttir.add"(%x, %x) : (tensor<32x64xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
  return %0 : tensor<32x64xbf16>
}
"""


ONE_CHIP = """
module attributes {{ttcore.meshes = #ttcore.meshes<[<"mesh" = {mesh}>]>}} {{
  func.func @f(%x: tensor<32x64xbf16>) -> tensor<32x64xbf16> {{
    %0 = "ttir.mesh_shard"(%x) <{{shard_dims = array<i64: -1>, shard_direction = #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: 1>,
      shard_type = #ttcore.shard_type<replicate>}}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %1 = "ttir.all_reduce"(%0) <{{cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>}}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %2 = "ttir.relu"(%1) : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    return %2 : tensor<32x64xbf16>
  }}
}}
"""


TABLE_GRADIENT = """
func.func @f(%ids: tensor<2x32xf32>, %table: tensor<100x64xf32>, %grad: tensor<1x1x64x64xf32>) -> tensor<100x64xf32> {
  %0 = "ttnn.embedding_bw"(%ids, %table, %grad) : (tensor<2x32xf32>, tensor<100x64xf32>, tensor<1x1x64x64xf32>) -> tensor<100x64xf32>
  return %0 : tensor<100x64xf32>
}
"""


@pytest.mark.parametrize("dialect", ["ttir", "ttnn"])
def test_collectives_of_several_chips_are_refused(dialect: str) -> None:
    text = ONE_CHIP.format(mesh="1x2")
    text = "\n".join(line for line in text.split("\n") if "shard" not in line).replace("(%0)", "(%x)").replace("ttir.", f"{dialect}.")
    with pytest.raises(UserError, match="collective of several chips") as error:
        translate(mlir_files.Chunk(text, "x.mlir"), "python")
    assert "mesh" in str(error.value)
    assert "x.mlir:4:" in str(error.value)


def test_chips_are_stated_by_any_module_around() -> None:
    inside = ONE_CHIP.replace("\n  func.func", "\n  module {{\n  func.func").replace("\n  }}\n}}", "\n  }}\n  }}\n}}")
    assert "ttnn.relu(" in translate(mlir_files.Chunk(inside.format(mesh="1x1"), "x.mlir"), "python")
    with pytest.raises(UserError, match="collective of several chips"):
        translate(mlir_files.Chunk(inside.format(mesh="1x2"), "x.mlir"), "python")


@pytest.mark.parametrize("axis", [0, 1])
def test_a_reduction_along_an_axis_of_one_chip_is_nothing(axis: int) -> None:
    text = "\n".join(line for line in ONE_CHIP.format(mesh="1x2").split("\n") if "shard" not in line).replace("(%0)", "(%x)")
    text = text.replace("cluster_axis = 1", f"cluster_axis = {axis}")
    bare = text.replace('attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>}', "")
    for chunk, options in ((mlir_files.Chunk(text, "x.mlir"), ""), (mlir_files.Chunk(bare, "x.mlir"), "mesh-shape=1,2")):
        if axis == 0:
            assert "ttnn.relu(" in translate(chunk, "python", options)
        else:
            with pytest.raises(UserError, match="collective of several chips"):
                translate(chunk, "python", options)
    with pytest.raises(UserError, match="differs from the mesh of the module"):
        translate(mlir_files.Chunk(text, "x.mlir"), "python", "mesh-shape=2,1")


def test_a_mesh_is_for_text(tmp_path: Path) -> None:
    import torch

    with pytest.raises(UserError, match="mesh_shape is for MLIR text"):
        codegen_py(torch.nn.ReLU(), torch.ones(2), export_path=tmp_path / "out", compiler_options={"mesh_shape": "1,2"})


def test_a_slice_of_no_columns_is_lowered() -> None:
    """A stride along a row is no multiple of a row without elements."""
    text = """
func.func @f(%x: tensor<10x3x128x64xbf16>) -> tensor<4x1x8x0xbf16> {
  %0 = "ttir.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 32 : i32, 64 : i32], ends = [10 : i32, 3 : i32, 64 : i32, 64 : i32],
    step = [3 : i32, 3 : i32, 4 : i32, 8 : i32]}> : (tensor<10x3x128x64xbf16>) -> tensor<4x1x8x0xbf16>
  return %0 : tensor<4x1x8x0xbf16>
}
"""
    assert "ttnn.slice(" in translate(mlir_files.Chunk(text, "x.mlir"), "python")


@pytest.mark.parametrize(
    ("pairs", "is_nothing"), [("", True), ("[[0, 0], [1, 1]]", True), ("[[0, 0], [1, 2]]", False), ("[[1, 1]]", False), ("[[0, 1], [1, 0]]", False)]
)
def test_a_permutation_in_which_each_chip_sends_to_itself_is_nothing(pairs: str, is_nothing: bool) -> None:
    """A chip that no pair names would get zeros."""
    moved = f'"ttir.collective_permute"(%x) <{{source_target_pairs = dense<{pairs}> : tensor<{max(pairs.count("[") - 1, 0)}x2xi64>}}>'
    text = "\n".join(line for line in ONE_CHIP.format(mesh="1x2").split("\n") if "shard" not in line)
    text = re.sub(r'"ttir.all_reduce"\(%0\) <\{.*\}>', lambda _: moved, text)
    if is_nothing:
        assert "ttnn.relu(" in translate(mlir_files.Chunk(text, "x.mlir"), "python")
        return
    with pytest.raises(UserError, match="collective of several chips"):
        translate(mlir_files.Chunk(text, "x.mlir"), "python")


@pytest.mark.parametrize(
    ("text", "call"),
    [
        (WITHOUT_LAYOUTS, "ttnn.conv2d("),
        (PREPARED, "ttnn.conv2d("),
        (IN_STEPS, "ttnn.typecast("),
        (HOST_CONSTANT, "ttnn.add("),
        (CACHE.format(users=1), "ttnn.experimental.paged_update_cache("),
        (CACHE.format(users=8), "ttnn.experimental.paged_update_cache("),
        (COMPOSITE, "ttnn.add("),
        (ONE_CHIP.format(mesh="1x1"), "ttnn.relu("),
        (TABLE_GRADIENT, "ttnn.embedding_bw("),
    ],
    ids=[
        "no layouts",
        "weights of the host",
        "to_tensor_spec",
        "constant of the host",
        "cache of one user",
        "cache of eight users",
        "composite",
        "one chip",
        "gradient of a table",
    ],
)
def test_text_of_single_passes_runs(text: str, call: str, tmp_path: Path) -> None:
    """Text as the real compiler's passes leave it between them, against the reference."""
    (tmp_path / "x.mlir").write_text(text)
    codegen_mlir(tmp_path / "x.mlir", export_path=tmp_path / "out")
    assert call in (tmp_path / "out" / "main.py").read_text()
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


ABS = '%0 = "ttir.abs"(%a) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>'


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ("%a: tensor<4xf32>, %b: tensor<4xf32>", ["arg0", "arg1"]),
        ('%a: tensor<4xf32> {ttir.name = "x"}, %b: tensor<4xf32> {ttir.name = "x"}, %c: tensor<4xf32> {ttir.name = "x"}', ["x", "x_2", "x_3"]),
        ('%a: tensor<4xf32> {ttir.name = "x"}, %b: tensor<4xf32> {ttir.name = "x"}, %c: tensor<4xf32> {ttir.name = "x_2"}', ["x", "x_3", "x_2"]),
        ("%a: tensor<4xf32> loc(\"weights.0\"), %b: tensor<4xf32> loc(\"state['conv1']['kernel'].value\")", ["weights.0", "conv1.kernel"]),
        ('%a: tensor<4xf32> loc("a b"), %b: tensor<4xf32> loc("args[0]")', ["arg0", "0"]),
    ],
)
def test_names_of_arguments(arguments: str, names: list[str]) -> None:
    assert [argument.name for argument in load(f"func.func @f({arguments}) -> tensor<4xf32> {{\n{ABS}\n}}", "x.mlir").arguments] == names


@pytest.mark.parametrize(
    ("results", "names"),
    [
        ("tensor<4xf32>, tensor<4xf32>", ["output_0", "output_1"]),
        ('tensor<4xf32> {ttir.name = "y"}, tensor<4xf32> {ttir.name = "y"}', ["y", "output_1"]),
        ('tensor<4xf32> {ttir.name = "output_1"}, tensor<4xf32> {ttir.name = "output_1"}', ["output_1", "output_1_2"]),
        ("tensor<4xf32> {jax.result_info = \"result['loss']\"}, tensor<4xf32> {jax.result_info = \"result[1]['b']['c']\"}", ["loss", "b.c"]),
        ('tensor<4xf32> {jax.result_info = "result[0]"}, tensor<4xf32>', ["output_0", "output_1"]),
    ],
)
def test_names_of_results(results: str, names: list[str]) -> None:
    text = f"func.func @f(%a: tensor<4xf32>) -> ({results}) {{\nreturn %a, %a : tensor<4xf32>, tensor<4xf32>\n}}"
    assert [output.name for output in load(text, "x.mlir").outputs] == names


CALL = "%0 = call @{}(%a) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>"
ENDLESS = f"func.func private @g(%a: tensor<4xf32>) -> tensor<4xf32> {{\n{CALL.format('g')}\n}}"


@pytest.mark.parametrize(
    ("more", "values", "message"),
    [
        ("func.func private @g(tensor<4xf32>) -> tensor<4xf32>", None, "a call of a function without a body"),
        (ENDLESS, None, "recursive calls"),
        (f"func.func private @g(%a: tensor<4xf32>) -> tensor<4xf32> {{\n{ABS}\n}}", {"arg0": np.zeros(5)}, "arg0 has a wrong shape"),
        (f"func.func private @g(%a: tensor<4xf32>) -> tensor<4xf32> {{\n{ABS}\n}}", {"argx": np.zeros(4)}, "unknown argument argx"),
    ],
    ids=["no body", "endless", "another shape", "another name"],
)
def test_calls_and_values_that_cannot_be(more: str, values: dict[str, np.ndarray] | None, message: str) -> None:
    text = f"{more}\nfunc.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {{\n{CALL.format('g')}\n}}"
    with pytest.raises(UserError, match=message):
        load(text, "x.mlir", values=values)


@pytest.mark.parametrize(
    "around", ["module {{ module {{ {} }} }}", "module {{ module {{ module {{ {} }} }} }}", "ttcore.device_module {{ builtin.module {{ {} }} }}"]
)
def test_modules_around_a_module(around: str) -> None:
    plain = f"func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {{\n{ABS}\n}}\n"
    assert print_module(load(around.format(plain), "x.mlir").module) == print_module(load(plain, "x.mlir").module)


@pytest.mark.parametrize(("place", "wanted"), [("relu|app.Tagger[]|app.Head[head]|app.py:3|forward|3|aten.relu.default", "Tagger"), ("relu", "01_ttir")])
def test_a_generic_function_has_the_name_of_the_root_module(place: str, wanted: str) -> None:
    """An export's `irs/01_ttir.mlir` becomes a function `tagger` again."""
    op = f'%0 = "ttir.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("{place}")'
    text = f"module {{ func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {{ {op}\n return %0 : tensor<4xf32> }} }}"
    assert load(text, "irs/01_ttir.mlir").model_name == wanted


def test_modules_beside_functions() -> None:
    """Functions of a module and of those inside it are programs of their own."""
    one, two = (f"func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {{\n{ABS.replace('abs', op)}\n}}\n" for op in ("abs", "relu"))
    programs = dict(load_each(f"module {{\n{one}module {{\n{two}}}\n}}", "x.mlir"))
    ops = {name: [op.name for op in program.module.walk() if op.name.startswith("ttir.")] for name, program in programs.items()}
    assert ops == {"f": ["ttir.abs"], "f_1": ["ttir.relu"]}


def function(name: str, words: str = "", calls: str = "", marked: str = "") -> str:
    attributes = f' attributes {{tt.function_type = "{marked}"}}' if marked else ""
    return f"func.func {words} @{name}(%a: tensor<4xf32>) -> tensor<4xf32>{attributes} {{\n{CALL.format(calls) if calls else ABS}\n}}\n"


DECLARED = "func.func private @g(tensor<4xf32>) -> tensor<4xf32>\n"


@table(
    ("text", "wanted"),
    [
        (function("f") + function("g"), ["f", "g"]),
        (function("f", calls="g") + function("g"), ["f"]),
        (function("g") + function("f", "public", "g") + function("h"), ["f", "h"]),
        (function("f") + function("g", marked="const_eval") + function("h", marked="another's"), ["f", "h"]),
        (function("k", marked="kernel") + function("cpu", marked="forward_cpu") + function("f", calls="cpu"), ["f"]),
        (function("f", marked="const_eval") + function("g", marked="trace_execute"), ["f", "g"]),
        (function("f", "private") + function("g"), ["g"]),
        (function("f", "nested") + function("g"), ["g"]),
        (DECLARED + function("f"), ["f"]),
    ],
    ids=["two", "called", "called before", "the compiler's", "the compiler's called", "the compiler's alone", "private", "nested", "without body"],
)
def test_entries_of_a_file(text: str, wanted: list[str]) -> None:
    """Public functions with a body, without those that others call and the compiler's own, unless there are no others."""
    assert [name for name, _ in load_each(text, "x.mlir")] == wanted


@table(("init", "wanted"), [("ones", [1, 1, 1, 1]), ("zeros", [0, 0, 0, 0]), ("arange", [0, 1, 2, 3])])
@table("of", ["f32", "i32", "i1"])
def test_values_of_arguments(init: str, wanted: list[int], of: str) -> None:
    text = f"func.func @f(%a: tensor<4x{of}>) -> tensor<4x{of}> {{\nreturn %a : tensor<4x{of}>\n}}"
    (argument,) = load(text, "x.mlir", init=init).arguments
    if of == "i1" and init == "arange":
        assert argument.value().dtype == np.bool_
    else:
        assert argument.value().astype(int).tolist() == wanted
    (random,) = load(text, "x.mlir", init="randn", seed=3).arguments
    (again,) = load(text, "x.mlir", init="randn", seed=3).arguments
    assert np.array_equal(random.value(), again.value())


STEPS = """
#a = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<{0}, #ttnn.buffer_type<{1}>>{2}>
#b = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<{3}, #ttnn.buffer_type<{4}>>{5}>
func.func @f(%x: tensor<32x64x{6}, #a>) -> tensor<32x64x{7}, #b> {{
  %0 = "ttnn.to_tensor_spec"(%x) : (tensor<32x64x{6}, #a>) -> tensor<32x64x{7}, #b>
  return %0 : tensor<32x64x{7}, #b>
}}
"""
TILES, ROWS = "1x2x!ttcore.tile<32x32, bf16>", "32x64xbf16"
HOST, DRAM, L1 = ("system_memory", ""), ("dram", ", <interleaved>"), ("l1", ", <interleaved>")


@pytest.mark.parametrize(
    ("before", "after", "steps"),
    [
        ((TILES, *DRAM, "bf16"), (TILES, *DRAM, "bf16"), []),
        ((TILES, *DRAM, "bf16"), (TILES, *L1, "bf16"), ["to_memory_config"]),
        ((ROWS, *DRAM, "bf16"), (TILES, *DRAM, "bf16"), ["to_layout"]),
        ((ROWS, *DRAM, "bf16"), (TILES.replace("bf16", "f32"), *L1, "f32"), ["to_layout", "typecast", "to_memory_config"]),
        ((ROWS, *HOST, "bf16"), (TILES, *DRAM, "bf16"), ["get_device", "to_device", "to_layout"]),
        ((TILES, *DRAM, "bf16"), (ROWS, *HOST, "bf16"), ["to_layout", "from_device"]),
        ((ROWS, *HOST, "bf16"), (TILES, *HOST, "bf16"), ["to_layout"]),
    ],
)
def test_a_conversion_is_the_librarys_calls(before: tuple[str, ...], after: tuple[str, ...], steps: list[str]) -> None:
    text = STEPS.format(*before[:3], *after[:3], before[3], after[3])
    names = [op.name.removeprefix("ttnn.") for op in load(text, "x.mlir").module.walk() if op.name.startswith("ttnn.")]
    assert names == steps
