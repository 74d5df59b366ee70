"""Python text: hostile names and strings, literals, golden files, formatting."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import black
import pytest
from black.mode import TargetVersion

import emit_py
import ttnn_shim
from alchemist.frontends.base import FrontendResult
from alchemist.ir.builder import Builder
from alchemist.ir.location import Frame, Scope, SourceInfo
from alchemist.options import CompilerOptions
from alchemist.program import model
from alchemist.program.names import RESERVED, identifier, snake_case
from alchemist.program.text import WIDTH
from emit_py.text import docstring, quoted
from emit_py.values import render
from tests.golden import same_as_golden
from tests.program.evaluate import run
from tests.program.models import Sketch, program_of, result, transformer
from tests.tables import table

GOLDEN = Path(__file__).parent / "golden"
HOSTILE = (
    "class",
    "lambda",
    "ttnn",
    "print",
    "__import__('os').system('x')",
    "a\nimport os",
    'quote"quote',
    "back\\",
    '"""',
    "имя",
    "名前",
    "x\u202ey",
    "\x00\x1b[31m",
    "a b.c-d/e",
    "0start",
    "",
    "self",
    "weights",
    "for {name}",
    "args",
    "device",
    "inputs",
    "outputs",
    "arguments",
    "Inputs",
    "named",
    "forward",
    "model",
    "W_OK",
    "NAN",
)


@table("text", HOSTILE)
def test_identifiers_are_valid_in_both_languages(text: str) -> None:
    for name in (identifier(text), snake_case(text)):
        assert name.isidentifier()
        assert name.isascii()
        assert name not in RESERVED
        assert "__" not in f"_{name}"


@table("text", HOSTILE)
def test_strings_survive_as_literals(text: str) -> None:
    assert ast.literal_eval(quoted(text)) == text
    key = model.WeightRef((text, model.Index("i"), text))
    assert eval(render(key), {"weights": {text + "3" + text: 1}, "i": 3}) == 1


def hostile_program(text: str, frames: bool = True) -> FrontendResult:
    """A program in which every string that a model can choose is `text`."""
    sketch = Sketch(None)  # type: ignore[arg-type]
    type_ = sketch.type((1, 32, 32))
    builder = Builder.module("forward", [(text or "x", type_, "input", None), (f"{text}.w", type_, "parameter", None)])
    sketch.builder = builder
    file = f"{text}.py"
    source = SourceInfo(
        (Scope("", f"{text}.{text}"), Scope(text or "m", f"m.{text}")),
        (Frame(file, 1, text), Frame(file, 2, text)) if frames else (),
        text,
        text,
    )
    x, w = builder.args
    for name in ("relu", "exp", "relu"):
        x = builder.op(f"ttnn.{name}", [x], {"alchemist.note": text} if text else {}, [type_], source)
    x = builder.op("ttnn.add", [x, w], {}, [type_], source)
    builder.ret([x], [text])
    lines = f"x = self.{text}(x)\ny = '''{text}''' + x \\\n"
    return result(builder.module_op, text, [text], [text], {file: lines}, {f"m.{text}": (file, 1)})


@table("text", HOSTILE)
def test_hostile_models(text: str) -> None:
    made = hostile_program(text)
    for options in (CompilerOptions(), CompilerOptions(recover_structure=False)):
        files = emit_py.emit(program_of(made, options))
        outputs = run(files)
        assert len(outputs) == 1
        for content in files.values():
            tree = ast.parse(content)
            imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
            assert imported <= {"sys", "ttnn", "utils", "consteval"}
            assert not {"\u202e", "\x1b", "\x00"} & set(content)
            assert not any(line.lstrip().startswith("#") and line.endswith("\\") for line in content.splitlines())


@table(
    ("value", "text"),
    [
        (model.Literal(1e-12), "1e-12"),
        (model.Literal(9.999999960041972e-13), "1e-12"),
        (model.Literal(0.1), "0.1"),
        (model.Literal(float("-inf")), 'float("-inf")'),
        (model.Literal(True), "True"),
        (model.Literal(3), "3"),
        (model.Literal("gelu"), '"gelu"'),
        (model.DType("bfloat8_b"), "ttnn.bfloat8_b"),
        (model.Layout("row_major"), "ttnn.ROW_MAJOR_LAYOUT"),
        (model.MemoryConfig("l1", "height_sharded"), "ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG"),
        (
            model.MemoryConfig("l1", "block_sharded", ((32, 64), (((0, 0), (7, 3)),), "row_major")),
            "ttnn.create_sharded_memory_config((32, 64), ttnn.CoreGrid(x=8, y=4), ttnn.ShardStrategy.BLOCK, use_height_and_width_as_shard_shape=True)",
        ),
        (model.Unary("LEAKY_RELU", (0.5,)), "ttnn.UnaryWithParam(ttnn.UnaryOpType.LEAKY_RELU, 0.5)"),
        (model.WeightRef(("layer.", model.Index("i", 1), ".w")), 'weights[f"layer.{i + 1}.w"]'),
        (model.WeightRef((model.Index("name", text=True),), stored=True), "stored[name]"),
    ],
)
def test_values(value: model.Value, text: str) -> None:
    assert render(value) == text


@table(
    ("ranges", "word"),
    [
        ((((0, 0), (7, 3)),), "CoreGrid"),
        ((((0, 0), (7, 5)), ((0, 6), (0, 6))), "num_cores_to_corerangeset(49,"),
        ((((0, 0), (6, 0)), ((0, 1), (5, 1))), "num_cores_to_corerangeset(13,"),
        ((((0, 0), (7, 5)), ((0, 6), (7, 6))), "CoreRange("),
        ((((0, 0), (7, 5)), ((1, 6), (2, 6))), "CoreRange("),
        ((((0, 0), (3, 0)), ((0, 2), (1, 2))), "CoreRange("),
        ((((0, 0), (3, 0)), ((0, 1), (1, 2))), "CoreRange("),
        ((((0, 0), (3, 0)), ((0, 1), (1, 1)), ((4, 4), (4, 4))), "CoreRange("),
        ((((1, 0), (3, 0)),), "CoreRange("),
    ],
    ids=str,
)
def test_shards_on_any_cores(ranges: tuple[tuple[tuple[int, int], tuple[int, int]], ...], word: str) -> None:
    """Short forms say the same cores, in the same order."""
    text = render(model.MemoryConfig("l1", "height_sharded", ((128, 64), ranges, "row_major")))
    assert word in text
    code = f"""import ttnn
made = {text}
cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(*a), ttnn.CoreCoord(*b)) for a, b in {ranges}])
assert made == ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, ttnn.ShardSpec(cores, [128, 64], ttnn.ShardOrientation.ROW_MAJOR)), made
"""
    path = {**os.environ, "PYTHONPATH": str(ttnn_shim.python_path())}
    done = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_docstrings_never_end_early() -> None:
    for text in (*HOSTILE, 'ends with "', "ends with \\", '""""', '\\"""'):
        assert isinstance(ast.parse(f'"""{docstring(text)}"""').body[0], ast.Expr)


@pytest.mark.parametrize(
    ("name", "options", "const_eval"),
    [
        ("transformer", CompilerOptions(), True),
        ("transformer_flat", CompilerOptions(recover_structure=False), True),
        ("transformer_one_file", CompilerOptions(split_consteval=False), True),
        ("transformer_no_consteval", CompilerOptions(enable_const_eval=False), False),
    ],
)
def test_golden(name: str, options: CompilerOptions, const_eval: bool) -> None:
    made = transformer(3, const_eval=const_eval)
    files = emit_py.emit(program_of(made, options))
    for file, content in files.items():
        compile(content, file, "exec")
        assert max(len(line) for line in content.splitlines()) <= 125  # a string or comment cannot be broken
        same_as_golden(content, GOLDEN / name / f"{file}.txt")
    assert {path.name for path in (GOLDEN / name).iterdir()} == {f"{file}.txt" for file in files}


BLACK = black.Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})
PROGRAMS = Path(__file__).parents[1] / "program" / "golden"


def test_programs_are_as_black_formats_them() -> None:
    """Though black has seen those of their statements alone that were too long."""
    texts = [path.read_text() for path in GOLDEN.glob("*/*.py.txt")]
    texts += [text for path in PROGRAMS.glob("*_python.txt") for text in re.split(r"^--- .*\n", path.read_text(), flags=re.MULTILINE) if text]
    assert len(texts) > 20
    for text in texts:
        assert black.format_str(text, mode=BLACK).rstrip() == text.rstrip()


@pytest.mark.parametrize(
    "long",
    [
        f"CONFIG = ttnn.Conv2dConfig(dtype=ttnn.float32, names=({', '.join(f'name_{n}' for n in range(12))}))",
        f'def head({", ".join(f"weight_{n}: ttnn.Tensor" for n in range(8))}) -> tuple[ttnn.Tensor, ttnn.Tensor]:\n    """Doc."""\n    return weight_0, weight_1',
        f"def tail(x: ttnn.Tensor) -> list[ttnn.Tensor]:\n    y = x\n\n    # a comment\n    return {', '.join(f'result_{n}' for n in range(20))}",
        f"def note(x: ttnn.Tensor) -> ttnn.Tensor:\n    # {('word ' * 30).strip()}\n    return ttnn.add(x, x)  # [1, 2]",
        'def quote(x: ttnn.Tensor) -> ttnn.Tensor:\n    return ttnn.add(x, weights["a\\"b"])',
    ],
)
def test_a_statement_that_is_too_long_is_broken_by_black(long: str) -> None:
    apart = "\n\n" if long.startswith("def") else ""
    text = f'"""Header."""\n\nimport ttnn\n\nDRAM = ttnn.DRAM_MEMORY_CONFIG  # of all\n{apart}{long}\n\n\nif __name__ == "__main__":\n    main()\n\n'
    assert emit_py._formatted("main.py", text) == black.format_str(text, mode=BLACK)
