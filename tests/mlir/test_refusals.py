"""Texts that are refused, each with the words of its error: a valid use of an op with one thing changed, or a whole text."""

from __future__ import annotations

from alchemist.driver import mlir_files
from alchemist.driver.translate import translate
from alchemist.errors import AlchemistError, InternalError
from tests.mlir.op_uses import uses
from tests.tables import table

TEXTS = {use.name: use.text for dialect in ("ttir", "ttnn") for use in uses(dialect)}
CHANGED = [
    (
        "ttir.add",
        "(%a0, %a1) : (tensor<4x32x64xf32>",
        "(%a0, %a1) : (tensor<4x32x65xf32>",
        "%a0 has another type\n  at x.mlir:2:19\n  expected tensor<4x32x64xf32>",
    ),
    ("ttir.add", "(%a0, %a1)", "(%%a0, %a1)", "expected a value\n  at x.mlir:2:19"),
    ("ttir.add", "(%a0, %a1)", "(%a0, 3)", "expected a value\n  at x.mlir:2:24"),
    ("ttir.add", "tensor<4x32x64xf32>", "tensor<4x32x64xf31>", "expected a type\n  at x.mlir:1:40"),
    ("ttir.add", "ttir.add", "ttir.addd", "operation ttir.addd is not known"),
    ("ttir.add", "ttir.add", "ttir.addd", "did you mean ttir.add"),
    ("ttnn.add", "<1x1>", "<2x1>", "the grid of a layout must be 1x1 unless it is sharded; a core of the grid holds"),
    ("ttnn.add", "f32>, #", "input>, #", "unknown data type input"),
    ("ttnn.begin_trace_capture", "", "", "ttnn.begin_trace_capture: the op has no description\n  hint: `alchemist ops` lists the supported ops"),
    ("ttnn.get_device", "", "", "results must be tensors\n  at x.mlir:1:1\n  got !ttnn.device"),
    ("ttir.mesh_shard", "", "", "these ops have no TTNN form\n  hint: alchemist ops lists what is supported"),
]
WHOLE = [
    (
        "func.func @f(%x: tensor<4x8xf32>, %y: tensor<5x8xf32>) -> tensor<4x8xf32> {\n"
        '  %0 = "ttir.add"(%x, %y) : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>\n  return %0 : tensor<4x8xf32>\n}',
        "ttir.add: operands cannot be broadcast: [[4, 8], [5, 8]]\n  at x.mlir:2:8",
    ),
    ("func.func @f(%x: i32) -> i32 {\n  return %x : i32\n}", "arguments must be tensors\n  at x.mlir:1:1\n  got i32"),
    ("func.func @f() -> tensor<#y> {}", "expected a type\n  at x.mlir:1:26"),
    ("", "the module has no public function with a body"),
]


def _words(text: str) -> str:
    chunk = mlir_files.Chunk(text, "x.mlir")
    try:
        mlir_files.read(chunk)
        translate(chunk, "python")
    except InternalError:
        raise
    except AlchemistError as error:
        return "\n".join(str(each) for each in mlir_files.all_errors(chunk, error))
    return "a program"


@table(("op", "old", "new", "words"), CHANGED)
def test_a_changed_use_is_refused_in_these_words(op: str, old: str, new: str, words: str) -> None:
    assert old in TEXTS[op]
    assert words in _words(TEXTS[op].replace(old, new, 1))


@table(("text", "words"), WHOLE)
def test_a_text_is_refused_in_these_words(text: str, words: str) -> None:
    assert words in _words(text)
