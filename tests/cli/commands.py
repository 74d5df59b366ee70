"""What commands say and what words of options mean, as text."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from alchemist.cli import main
from alchemist.errors import AlchemistError
from alchemist.options import CompilerOptions, pairs, spellings
from tests.cli.pipelines import DATA, own
from tests.cli.test_driver import BAD, GOOD, WRONG_SHAPES

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "data" / "commands.txt"
TWO = GOOD + "// -----\n" + GOOD.replace("@f", "@g") + "// -----\n" + BAD
MATMUL = """module {
  func.func @forward(%x: tensor<64x32xbf16> {ttir.name = "x"}, %w: tensor<32x96xbf16> {ttir.name = "w", ttcore.argument_type = #ttcore.argument_type<parameter>},
      %b: tensor<96xbf16> {ttir.name = "b", ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<64x96xbf16> {
    %0 = "ttir.linear"(%x, %w, %b) : (tensor<64x32xbf16>, tensor<32x96xbf16>, tensor<96xbf16>) -> tensor<64x96xbf16>
    %1 = "ttir.relu"(%0) : (tensor<64x96xbf16>) -> tensor<64x96xbf16>
    return %1 : tensor<64x96xbf16>
  }
}
"""
FILES = {
    "good.mlir": GOOD,
    "bad.mlir": BAD,
    "shapes.mlir": WRONG_SHAPES,
    "two.mlir": TWO,
    "matmul.mlir": MATMUL,
    "empty.mlir": "",
    "text.txt": "a text\n",
    "table.csv": "id,op\n1,relu\n",
}
COMMANDS = [
    *(f"{command} {file}" for command in ("opt", "show", "model-to-python", "model-to-cpp") for file in ("good.mlir", "bad.mlir", "shapes.mlir", "empty.mlir", "none.mlir", ".")),
    *(f"opt {flags} two.mlir" for flags in ("", "--split-input-file", "--split-input-file --verify-diagnostics", "--verify-diagnostics")),
    *(f"opt matmul.mlir {flags}" for flags in (
        "--canonicalize", "--ttir-to-ttnn-backend-pipeline", "--ttir-to-ttnn-backend-pipeline=optimization-level=1", "--ttir-to-emitpy-pipeline", "--ttir-to-emitc-pipeline",
        "--mlir-print-ir-after-all --ttir-fusing", "--pass-pipeline=builtin.module(canonicalize,ttir-fusing)", "--pass-pipeline=x", "--pass-pipeline=builtin.module(x)",
        "--no-such-pass", "--canonicalize=x=1", "--canonicalize --canonicalize", "-o out/x.mlir", "-o y.mlir --mlir-print-debuginfo", "--mlir-timing --canonicalize",
    )),
    "opt matmul.mlir good.mlir", "opt", "show", "show two.mlir", "show matmul.mlir --no", f"show {DATA}/cnn_ttir.mlir", f"show {DATA}/cnn_ttnn.mlir", f"show {DATA}/mlp_stablehlo.mlir",
    "translate matmul.mlir --mlir-to-python", "translate matmul.mlir --mlir-to-cpp", "translate matmul.mlir", "translate matmul.mlir --mlir-to-x", "translate two.mlir --split-input-file --mlir-to-cpp",
    "translate matmul.mlir --mlir-to-python --file-id main.py", "translate matmul.mlir --mlir-to-python --file-id x", f"translate {DATA}/cnn_ttnn.mlir --mlir-to-python", "explore", "explore none",
    "explore matmul.mlir -o graph.json", "explore bad.mlir -o graph.json", "explore matmul.mlir", "model-to-python matmul.mlir --entry forward", "model-to-python matmul.mlir --entry f",
    "model-to-python matmul.mlir --pipeline-options optimization-level=2", "model-to-cpp matmul.mlir --optimization-level 1 --precision bfp8", "model-to-python matmul.mlir --precision x",
    "model-to-python matmul.mlir --pipeline-options 'precision=bfp8 precision=bfp8'", "model-to-python matmul.mlir --pipeline-options 'precision=bfp8 precision=model'",
    "model-to-python matmul.mlir --dims a=1", "model-to-python matmul.mlir --seed -1", "model-to-python text.txt", "estimate --csv none.csv --out y.csv", "estimate --csv table.csv --out y.csv",
    "estimate --csv text.txt --out y.csv", "ops conv", "ops conv transpose", "ops no_such_op", "ops --onnx conv", "explain", "explain 0111 ALC-0200", "explain 9999", "explain SHIM-0004",
    "tune none.py", "tune text.txt", "tune matmul.mlir --levels 3", "tune matmul.mlir --precisions x", "tune matmul.mlir --cards x", "tune matmul.mlir --max-pcc-loss -1", "",
    "generate-python good.mlir -o text.txt", "generate-python bad.mlir -o out", "generate-cpp none.mlir -o out",
]  # fmt: skip
WORDS = ["", "true", "False", "0", "1", "2", "7", "-1", "0.5", "x", "none", "a=b", "a=4x4", "lofi", "hifi4", "bfp8", "n150", "model"]
TEXTS = [
    "",
    " ",
    '"',
    "'",
    '""',
    "{}",
    "{a=1}",
    "a=1",
    "a=1 b=2",
    "a=1,b=2",
    "a",
    "a=",
    "=a",
    "a==b",
    "a='b c'",
    'a="b c',
    "a=1 a=1",
    "a=1 a=2",
    "a={b=1 c=2}",
    "a=[1, 2]",
    "'a=1'",
    '"a=1 b=2"',
    "a=b=c",
]


def _said(words: list[str], scratch: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            status: object = main(words)
        except SystemExit as error:
            status = error.code
    text = "".join(
        f"{name}: {line}\n"
        for name, said in (("out", own(out.getvalue())), ("err", err.getvalue()))
        for line in said.replace(scratch, "HERE").replace(str(DATA), "DATA").splitlines()
    )
    text = re.sub(r"^err: usage: .*\n(?:err:  +.*\n)*", "err: usage\n", text, flags=re.MULTILINE)  # argparse of each Python breaks its lines elsewhere
    shown = text if text.count("\n") <= 12 else "".join(f"{line}\n" for line in text.splitlines()[:12]) + f"... {text.count(chr(10))} lines\n"
    return f"{shown}status {status}\n"


def sessions() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        for name, text in FILES.items():
            Path(name).write_text(text)
        for line in COMMANDS:
            words = [word.replace("DATA", str(DATA)) for word in shlex.split(line.replace(str(DATA), "DATA"))]
            yield f"$ {line.replace(str(DATA), 'DATA')}\n{_said(words, scratch)}"
        for path in sorted(path for path in Path().rglob("*") if path.is_file() and path.name not in FILES):
            yield f"# {path}\n"


def options() -> Iterator[str]:
    """Each option with each word, by its name and its other spellings; texts of several."""
    names = sorted({*(field.name for field in fields(CompilerOptions)), *spellings(CompilerOptions)})
    default = CompilerOptions()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            row = []
            for word in WORDS:
                try:
                    made = CompilerOptions.parse({name: word})
                    row.append(f"{word!r} {[getattr(made, one.name) for one in fields(made) if getattr(made, one.name) != getattr(default, one.name)]}")
                except AlchemistError as error:
                    row.append(f"{word!r} {' '.join(str(error).split())[:90]}")
            yield f"option {name}: {len(row)} words {' | '.join(row)[:300]}\n"
        for text in TEXTS:
            try:
                yield f"text {text!r}: {pairs(text)}\n"
            except AlchemistError as error:
                yield f"text {text!r}: {' '.join(str(error).split())[:200]}\n"


def text() -> str:
    return "".join((*sessions(), *options()))
