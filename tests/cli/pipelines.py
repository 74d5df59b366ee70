"""Whole models through `opt` and `translate`."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from alchemist.cli import main

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "mlir" / "data"
SOURCES = ("bert_ttir", "cnn_ttir", "llama_ttir", "resnet_ttir", "mlp_stablehlo")
LANGUAGES = ("python", "cpp")
_MADE_BY = re.compile(r"(Made by +).*")  # names what this process has imported, with versions
_FILE = re.compile(r'^(?://|#) File: "(.*?)"\n(?:(?!(?://|#) File: ).*\n)*', re.MULTILINE)
_OF_EVERY_PROGRAM = re.compile(r".*CMakeLists\.txt|gdb_printers\.py|(check|files|mesh|report|show|utils|traced|generate|main)\.([ch]pp|py)")


def run(*words: object) -> str:
    """What the command writes to stdout."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(word) for word in words])
    assert status == 0, err.getvalue()
    return out.getvalue()


def texts(source: str, language: str, folder: Path) -> tuple[str, str]:
    """The lowered module and the program of a model."""
    pipeline = "--ttir-to-emitpy-pipeline" if language == "python" else "--ttir-to-emitc-pipeline"
    lowered = folder / "lowered.mlir"
    run("opt", DATA / f"{source}.mlir", "--stablehlo-to-ttir-pipeline", pipeline, "-o", lowered)
    return lowered.read_text(), run("translate", f"--mlir-to-{language}", lowered)


def own(program: str) -> str:
    """Without the files that every program has from the templates, and without versions of packages."""
    return _FILE.sub(lambda match: "" if _OF_EVERY_PROGRAM.fullmatch(match[1]) else match[0], _MADE_BY.sub(r"\1PACKAGES", program))
