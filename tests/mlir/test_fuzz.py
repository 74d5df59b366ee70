"""Damaged and hostile text: errors with a place or a program, never another exception; names cannot inject code."""

from __future__ import annotations

import ast
import re
import time
from pathlib import Path

import pytest

from alchemist.cli import main
from alchemist.codegen import codegen_mlir
from alchemist.driver import mlir_files
from alchemist.driver.translate import translate
from alchemist.errors import AlchemistError, InternalError
from alchemist.resources import template_text
from emit_cpp import SUPPORT
from tests.mlir import fuzz
from tests.tables import table

LONGEST_SECONDS = 20.0


def check_case(number: int) -> bool:
    """Whether the damaged text is still a program."""
    chunk = mlir_files.Chunk(fuzz.damaged(number), "fuzz.mlir")
    start = time.process_time()
    failure: AlchemistError | None = None
    try:
        mlir_files.read(chunk)
        translate(chunk, "python" if number % 2 else "cpp")
    except InternalError:
        raise
    except AlchemistError as error:
        failure = error
    if failure is not None:
        assert str(failure).startswith("error[ALC-")
        found = mlir_files.all_errors(chunk, failure)
        assert found
        assert all(isinstance(each, AlchemistError) for each in found)
    assert time.process_time() - start < LONGEST_SECONDS, f"case {number} takes too long"
    return failure is None


@pytest.mark.parametrize("block", [3, *(pytest.param(block, marks=pytest.mark.slow) for block in range(4, 10))])
def test_damaged_text(block: int) -> None:
    readable = sum(check_case(number) for number in range(block * 20, block * 20 + 20))
    assert readable < 20, "the damages do no damage"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
def test_damaged_text_long(block: int) -> None:
    for number in range(1000 + block * 96, 1000 + block * 96 + 96):
        check_case(number)


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"module {\xc3}", b"", b"\x00" * 100, b"\xef\xbb\xbfmodule {}", b'module attributes {a = "\xff"} {}'])
def test_bytes_that_are_no_text(raw: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.mlir"
    file.write_bytes(raw)
    for command in ("model-to-python", "show", "opt"):
        status = main([command, str(file)])
        text = capsys.readouterr().err
        assert status in (0, 1)
        assert "Traceback" not in text
        assert status == 0 or "error[ALC-" in text
        assert "ALC-0900" not in text


HOSTILE = (
    "x'); import os; os.system('touch pwned') #",
    'x"""\nimport os\nos.system("touch pwned")\n"""',
    "x\nimport os; os.system('touch pwned')\n",
    '*/ #include <cstdlib>\nint a = system("touch pwned"); /*',
    "$(touch pwned)`touch pwned`",
    "${CMAKE_COMMAND} ) execute_process(COMMAND touch pwned",
    "../../pwned",
    'R"(x)" \\\nsystem("touch pwned");',
    "class",
    "\u202egnp.niam",
)


def _escaped(name: str) -> str:
    return "".join(chr(b) if 0x20 <= b < 0x7F and b not in (0x22, 0x5C) else f"\\{b:02X}" for b in name.encode())


@table("language", ["python", "cpp"])
@table("name", HOSTILE)
def test_hostile_names(name: str, language: str, tmp_path: Path) -> None:
    text = f"""
module @"{_escaped(name)}" attributes {{"{_escaped(name)}" = "{_escaped(name)}"}} {{
  func.func @"{_escaped(name)}"(%arg0: tensor<32x32xf32> {{ttir.name = "{_escaped(name)}", ttcore.argument_type = #ttcore.argument_type<input>}},
      %arg1: tensor<32x32xf32> {{ttir.name = "{_escaped(name)}2", ttcore.argument_type = #ttcore.argument_type<parameter>}})
      -> (tensor<32x32xf32> {{ttir.name = "{_escaped(name)}"}}) {{
    %0 = "ttir.add"(%arg0, %arg1) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      loc("{_escaped(name)}|C{_escaped(name)}[{_escaped(name)}]|{_escaped(name)}:3|f|3|op"("{_escaped(name)}":1:1))
    %1 = "ttir.relu"(%0) : (tensor<32x32xf32>) -> tensor<32x32xf32> loc("{_escaped(name)}")
    return %1 : tensor<32x32xf32>
  }}
}}
"""
    file = tmp_path / "hostile.mlir"
    file.write_text(text)
    out = tmp_path / "out"
    result = codegen_mlir(file, language="python" if language == "python" else "cpp", export_path=out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hostile.mlir", "out"]
    for relative in result.files:
        assert ".." not in relative.split("/")
    if language == "python":
        for module in ("main.py", "consteval.py"):
            if (out / module).exists():
                _assert_harmless_python((out / module).read_text())
    else:
        for unit in out.glob("*.cpp"):
            code = _without_comments_and_strings(unit.read_text())
            assert "system(" not in code
            if unit.name in SUPPORT:  # some include <cstdlib> for getenv; nothing of the input may be in them
                assert unit.read_text() == template_text(f"cpp/{unit.name}")
            else:
                assert "#include <cstdlib>" not in code
    shell = (out / "run").read_text()
    assert "touch pwned" not in shell
    if (out / "CMakeLists.txt").exists():
        assert "touch pwned" not in (out / "CMakeLists.txt").read_text()


def _assert_harmless_python(text: str) -> None:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            assert set(names) <= {"ttnn", "utils", "consteval", "sys", "typing", "math", "dataclasses", "__future__", "collections.abc"}, names
        assert not (isinstance(node, ast.Attribute) and node.attr == "system")


def _without_comments_and_strings(text: str) -> str:
    return re.sub(r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.DOTALL)


# What damaged texts have shown: each was an error of ours.
SHOWN = {
    "conv3d weight of rank 1": """func.func @main(%a: tensor<1x8x9x9x4xbf16>, %b: tensor<16xbf16>) -> tensor<1x6x7x7x16xbf16> {
  %0 = "ttir.conv3d"(%a, %b) <{stride = array<i32: 1, 1, 1>, padding = array<i32: 0, 0, 0>, groups = 1 : i32, padding_mode = "zeros"}>
    : (tensor<1x8x9x9x4xbf16>, tensor<16xbf16>) -> tensor<1x6x7x7x16xbf16>
  return %0 : tensor<1x6x7x7x16xbf16>
}""",
    "transpose of a memref": """func.func @main(%a: memref<32x64xbf16>) -> memref<64x32xbf16> {
  %0 = "ttir.transpose"(%a) <{dim0 = 0 : si32, dim1 = 1 : si32}> : (memref<32x64xbf16>) -> memref<64x32xbf16>
  return %0 : memref<64x32xbf16>
}""",
    "topk with float indices": """func.func @main(%a: tensor<32x64xbf16>) -> (tensor<32x8xbf16>, tensor<32x8xf32>) {
  %0, %1 = "ttir.topk"(%a) <{k = 8 : i32, dim = -1 : i32, largest = true, sorted = true}> : (tensor<32x64xbf16>) -> (tensor<32x8xbf16>, tensor<32x8xf32>)
  return %0, %1 : tensor<32x8xbf16>, tensor<32x8xf32>
}""",
    "types among the sizes of a reshape": """func.func @main(%a: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %0 = "ttir.reshape"(%a) <{shape = [i32, 2 : i32]}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  return %0 : tensor<3x2xbf16>
}""",
    "an attribute under a type alias": """!u = #ttcore.argument_type<input>
func.func @main(%a: tensor<2x2x!u>) -> tensor<2x2x!u> {
  %0 = "ttir.relu"(%a) : (tensor<2x2x!u>) -> tensor<2x2x!u>
  return %0 : tensor<2x2x!u>
}""",
}


@table("command", ["opt", "show", "model-to-python", "model-to-cpp"])
@table("name", SHOWN)
def test_shown_by_damaged_texts(name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.mlir"
    file.write_text(SHOWN[name])
    assert main([command, str(file)]) == 1
    assert capsys.readouterr().err.startswith(("error[ALC-0200]", "error[ALC-0700]"))


UNKNOWN = """func.func @main(%x: tensor<1x8x8x32xbf16>, %w: tensor<32x32x3x3xbf16>, %v: tensor<32xbf16>) -> tensor<1x8x8x32xbf16> {
  %0 = "ttir.conv2d"(%x, %w) <{stride = 1 : i32, padding = 1 : i32, dilation = 1 : i32, groups = 1 : i32, channel_dim = 3 : i64, note = 0 : i64}>
    : (tensor<1x8x8x32xbf16>, tensor<32x32x3x3xbf16>) -> tensor<1x8x8x32xbf16>
  %1 = "ttir.batch_norm_inference"(%0, %v, %v, %v, %v) <{epsilon = 1.0e-05 : f32, dimension = 3 : i32}>
    : (tensor<1x8x8x32xbf16>, tensor<32xbf16>, tensor<32xbf16>, tensor<32xbf16>, tensor<32xbf16>) -> tensor<1x8x8x32xbf16>
  return %1 : tensor<1x8x8x32xbf16>
}"""


@pytest.mark.parametrize("command", ["opt", "model-to-python", "model-to-cpp"])
def test_attributes_that_the_op_does_not_have(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They stay behind where an op is made anew of another: here the normalisation goes into the convolution's weights."""
    file = tmp_path / "x.mlir"
    file.write_text(UNKNOWN)
    assert main([command, str(file)]) == 0, capsys.readouterr().err


@table("language", ["python", "cpp"])
@table(
    ("found", "hostile"),
    [
        ("#ttnn.unary_with_param<op_type = relu>", '#ttnn.unknown<"\\n), __import__(\\22os\\22).system(\\22true\\22) #">'),
        ("#ttnn.unary_with_param<op_type = relu>", "#ttnn.unknown<op_type = relu>"),
        ("#ttnn.unary_with_param<op_type = relu>", "#ttnn.unknown<a\n, (b)>"),
        ("op_type = relu", "op_type = #ttnn.unknown<a\n, (b)>"),
        ("#ttnn.layout<row_major>", "#ttnn.unknown<a\n, (b)>"),
        ("#ttcore.supportedDataTypes<f32>", "#ttcore.unknown<a\n, (b)>"),
        ("weights_dtype = f32", "weights_dtype = #ttnn.unknown<a\n, (b)>"),
    ],
)
def test_attributes_that_are_no_names(found: str, hostile: str, language: str) -> None:
    """The text of an attribute that no dialect knows stands where emitted code has a name: it must not get there."""
    text = (Path(__file__).parent / "data" / "cnn_ttnn.mlir").read_text()
    assert found in text
    with pytest.raises(AlchemistError) as raised:
        translate(mlir_files.Chunk(text.replace(found, hostile), "hostile.mlir"), language)
    assert not isinstance(raised.value, InternalError)
