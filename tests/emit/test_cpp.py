"""C++ text: literals, calls, hostile strings, golden files, and what the compiler says about it."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import emit_cpp
from alchemist.ops.spec import TTNN_OPS, Arg, Kind
from alchemist.options import CompilerOptions
from alchemist.program import model
from alchemist.program.walk import bound_by
from emit_cpp import COMMON
from emit_cpp.printer import function_text
from emit_cpp.text import quoted
from emit_cpp.values import render
from emit_cpp.wrap import LIMIT, wrapped
from tests.emit.test_python import HOSTILE, hostile_program
from tests.golden import same_as_golden
from tests.program.models import program_of, transformer
from tests.tables import table

GOLDEN = Path(__file__).parent / "golden"
INCLUDE = Path(__file__).parents[2] / "ttnn_shim" / "include"
COMPILER = shutil.which("g++")
STAMPS = Path(__file__).parents[2] / "build" / "tests" / "compiled"
INCLUDED = re.compile(r'#include (<|"(ttnn/|utils\.hpp|consteval\.hpp))')  # what all programs share: within a namespace it is there already
GENERATED = ("model.hpp", "model.cpp", "consteval.cpp")


def _stamp(unit: tuple[str, tuple[str, ...], bool]) -> Path:
    """A file that exists once this text, with the headers of the program and of TT-NN as they are, has compiled without errors."""
    STAMPS.mkdir(parents=True, exist_ok=True)
    headers = max(path.stat().st_mtime_ns for path in INCLUDE.rglob("*.hpp"))
    return STAMPS / hashlib.sha256(repr((unit, headers)).encode()).hexdigest()[:40]


def included(text: str, files: dict[str, str]) -> set[str]:
    """The files among `files` that the text includes, and those that they include."""
    found = {files[name] for name in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE) if name in files and files[name] != text}
    return found.union(*(included(one, files) for one in found))


def compile_all(directory: Path, files: dict[str, str], *, warnings: bool = True) -> None:
    """Compiles every source for syntax and types against the shim's headers (TT-NN's own signatures)."""
    if COMPILER is None:
        pytest.skip("no g++")
    for name, content in files.items():
        (directory / name).write_text(content)
    flags = ["-Wall", "-Wextra", "-Werror"] if warnings else []
    for name in files:
        unit = (files[name], tuple(sorted(included(files[name], files))), warnings)
        if name.endswith(".cpp") and not (stamp := _stamp(unit)).exists():
            command = [COMPILER, "-fsyntax-only", "-std=c++20", *flags, f"-I{INCLUDE}", "-I.", '-DPROGRAM_DIR="."', name]
            done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{name}\n{done.stderr[:4000]}"
            stamp.touch()


@table(
    ("value", "arg", "text"),
    [
        (model.Literal(1e-12), Arg("epsilon", "", Kind.FLOAT), "1e-12f"),
        (model.Literal(2), Arg("scale", "", Kind.FLOAT), "2.0f"),
        (model.Literal(float("-inf")), Arg("value", "", Kind.SCALAR), "-std::numeric_limits<float>::infinity()"),
        (model.Literal(1e300), Arg("value", "", Kind.SCALAR), "std::numeric_limits<float>::max()"),
        (model.Literal(3), Arg("value", "", Kind.SCALAR), "3"),
        (model.Literal(True), Arg("flag", "", Kind.BOOL), "true"),
        (model.Literal("gelu"), Arg("activation", "", Kind.STR, cpp_type="std::string"), 'std::string("gelu")'),
        (
            model.Items((model.Literal(3), model.Literal(3))),
            Arg("kernel_size", "", Kind.INT_LIST, cpp_type="std::array<uint32_t, 2>"),
            "std::array<uint32_t, 2>{3, 3}",
        ),
        (
            model.Items(tuple(model.Literal(one) for one in (1, 1, 2, 2))),
            Arg("padding", "", Kind.INT_LIST, cpp_type="std::array<uint32_t, 2>"),
            "std::array<uint32_t, 4>{1, 1, 2, 2}",
        ),
        (model.Items((model.Literal(1), model.Literal(64))), Arg("shape", "", Kind.SHAPE), "ttnn::Shape({1, 64})"),
        (model.DType("bfloat16"), Arg("dtype", "", Kind.DTYPE), "ttnn::DataType::BFLOAT16"),
        (model.WeightRef(("layer.", model.Index("i"), ".w")), None, 'weights["layer." + std::to_string(i) + ".w"]'),
        (  # the struct derives nothing: Python's constructor makes a block of all that a core has
            model.Record(
                "ttnn.MatmulMultiCoreReuseMultiCastProgramConfig",
                (("out_subblock_w", model.Literal(1)), ("per_core_M", model.Literal(2)), ("per_core_N", model.Literal(4))),
            ),
            None,
            "ttnn::operations::matmul::MatmulMultiCoreReuseMultiCastProgramConfig{.out_subblock_w = 1, .out_block_h = 2, .out_block_w = 4, "
            ".per_core_M = 2, .per_core_N = 4}",
        ),
    ],
)
def test_values(value: model.Value, arg: Arg | None, text: str) -> None:
    assert render(value, arg) == text


@pytest.mark.skipif(COMPILER is None, reason="no g++")
def test_string_literals(tmp_path: Path) -> None:
    """Each hostile text, byte by byte, in one file."""
    assert not [text for text in HOSTILE if "\n" in quoted(text)]
    lines = ["#include <string_view>"]
    for number, text in enumerate(HOSTILE):
        lines.append(f"constexpr std::string_view text_{number}({quoted(text)}, {len(text.encode())});")
        lines += [f"static_assert(static_cast<unsigned char>(text_{number}[{index}]) == {byte});" for index, byte in enumerate(text.encode())]
    (tmp_path / "a.cpp").write_text("\n".join(lines) + "\n")
    subprocess.run([COMPILER, "-fsyntax-only", "-std=c++20", "a.cpp"], cwd=tmp_path, check=True)


@pytest.fixture(scope="module")
def hostile_files() -> dict[str, dict[str, str]]:
    return {text: emit_cpp.emit(program_of(hostile_program(text), CompilerOptions(), "cpp")) for text in HOSTILE}


@table("text", HOSTILE)
def test_hostile_models(text: str, hostile_files: dict[str, dict[str, str]]) -> None:
    for name in GENERATED:
        content = hostile_files[text].get(name, "")
        assert not {"\u202e", "\x1b", "\x00"} & set(content)
        assert not any("//" in line and line.endswith("\\") for line in content.splitlines())


def test_hostile_models_compile(hostile_files: dict[str, dict[str, str]], tmp_path: Path) -> None:
    """All in one unit, each in a namespace of its own: what takes long is to read TT-NN's headers."""
    first = hostile_files[HOSTILE[0]]
    compile_all(tmp_path, {name: first[name] for name in first if name in GENERATED or name.endswith(".hpp")})
    unit = []
    for number, files in enumerate(hostile_files.values()):
        (tmp_path / str(number)).mkdir()
        for name in GENERATED:
            if name in files:
                (tmp_path / str(number) / name).write_text(files[name].replace("#pragma once\n", ""))  # equal headers are one file to it
        unit += [f'namespace hostile_{number} {{\n#include "{number}/{name}"\n}}' for name in files if name in GENERATED and name.endswith(".cpp")]
    included = sorted({line for files in hostile_files.values() for name in GENERATED for line in files.get(name, "").splitlines() if INCLUDED.match(line)})
    compile_all(tmp_path, {"all.cpp": "\n".join([*included, *unit]) + "\n"})


@pytest.mark.slow
def test_common_files_have_no_warnings(tmp_path: Path) -> None:
    files = emit_cpp.emit(program_of(transformer(1), CompilerOptions(), "cpp"))
    assert set(COMMON) <= files.keys()
    compile_all(tmp_path, {name: content for name, content in files.items() if name in COMMON or name.endswith(".hpp")})


@pytest.mark.parametrize("split", [True, False])
def test_golden(split: bool, tmp_path: Path) -> None:
    made = transformer(3)
    files = emit_cpp.emit(program_of(made, CompilerOptions(split_consteval=split), "cpp"))
    compile_all(tmp_path, {name: content for name, content in files.items() if name not in COMMON})
    folder = GOLDEN / ("transformer_cpp" if split else "transformer_cpp_one_file")
    shown = {name: files[name] for name in GENERATED if name in files}
    for name, content in shown.items():
        same_as_golden(content, folder / f"{name}.txt")
        assert max(len(line) for line in content.splitlines()) <= LIMIT
    assert {path.name for path in folder.iterdir()} == {f"{name}.txt" for name in shown}


def test_a_parameter_that_is_rebound_is_passed_by_value() -> None:
    """Python and C++ call the new value the same; the caller's handle is its own."""
    program = program_of(transformer(2), CompilerOptions(), "cpp")
    rebound = 0
    for function in program.functions:
        head = function_text(function).partition(") {")[0]
        bound = {name for one in model.statements(function.body) for name in bound_by(one)}
        for parameter in function.parameters:
            if parameter.kind == "tensor":
                wanted = "Tensor" if parameter.name in bound else "const Tensor&"
                assert re.search(rf"[(,]\s*{wanted} {parameter.name}\b", head), head
                rebound += parameter.name in bound
    assert rebound


def test_same_structure_in_both_languages() -> None:
    made = transformer(3)
    python, cpp = (program_of(made, CompilerOptions(), language) for language in ("python", "cpp"))
    assert python.functions == cpp.functions
    assert python.prepare == cpp.prepare
    assert python.constants == cpp.constants


@pytest.mark.parametrize(
    ("op", "name", "value", "text"),
    [
        ("ttnn.conv2d", "stride", model.Items((model.NumberRef("s"), model.NumberRef("s"))), "{uint32_t(s), uint32_t(s)}"),
        ("ttnn.conv2d", "input_height", model.NumberRef("size // 2"), "size / 2"),
        ("ttnn.reshape", "shape", model.Items((model.Literal(1), model.NumberRef("4 * c"))), "ttnn::Shape({1, uint32_t(4 * c)})"),
    ],
)
def test_integer_parameters_do_not_narrow(op: str, name: str, value: model.Value, text: str) -> None:
    arg = next(arg for arg in TTNN_OPS[op].args if arg.name == name)
    assert render(value, arg).endswith(text)


def test_ops_of_a_chain_stand_one_in_a_line() -> None:
    spec = TTNN_OPS["ttnn.unary_chain"]
    chain = model.Items((model.Unary("MUL_UNARY_SFPU", (0.5,)), model.Unary("ADD_UNARY_SFPU", (1.0,)), model.Unary("RELU")))
    values = {"input_tensor": model.TensorRef("hidden"), "ops_chain": chain, "memory_config": model.ConstantRef("DRAM")}
    call = model.Call(spec, tuple((arg, values[arg.name]) for arg in spec.args if arg.name in values), ("scaled",))
    assert function_text(model.Function("chain", (), (call,), returns=0)).splitlines()[1:-1] == [
        "    auto scaled = ttnn::unary_chain(",
        "        hidden,",
        "        std::vector{",
        "            EltwiseUnaryWithParam(UnaryOpType::MUL_UNARY_SFPU, 0.5f),",
        "            EltwiseUnaryWithParam(UnaryOpType::ADD_UNARY_SFPU, 1.0f),",
        "            EltwiseUnaryWithParam(UnaryOpType::RELU)},",
        "        DRAM);",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "    auto x = ttnn::matmul(" + ", ".join(f"argument_{index}" for index in range(40)) + ");  // [1, 2] a comment that stands behind",
        'const auto name = weights["' + "encoder.layer." * 20 + '"];',
        'f("' + '\\001\\"' * 60 + '");',
        "// " + "word " * 60,
        "// " + "w" * 400,
        "const auto SHARDED = ttnn::MemoryConfig(" + "ttnn::CoreRange(ttnn::CoreCoord(0, 0), ttnn::CoreCoord(7, 7)), " * 8 + "1);",
        "std::tuple<" + ", ".join(["Tensor"] * 60) + "> outputs(const Tensor& x) {",
    ],
)
def test_no_line_is_longer_than_the_limit(line: str) -> None:
    """Broken lines hold the same text: nothing but spaces and the quotes of split string literals is added."""
    text = wrapped(f"{line}\n")
    assert max(len(row) for row in text.splitlines()) <= LIMIT
    assert all(row.lstrip().startswith("//") for row in text.splitlines()) or not line.startswith("//")
    code, _, comment = line.partition("  // ") if not line.startswith("//") else ("", "", line)
    spaceless = "".join(row for row in text.splitlines() if not row.lstrip().startswith("//")).replace(" ", "").replace('""', "")
    assert spaceless == code.replace(" ", "").replace('""', "")
    assert "".join(re.findall(r"\w", comment)) == "".join(re.findall(r"\w", "".join(row for row in text.splitlines() if row.lstrip().startswith("//"))))
