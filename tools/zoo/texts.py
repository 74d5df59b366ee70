"""Whether the commands take every `irs/*.mlir` that exports write: `opt`, `generate-python`, `generate-cpp`, `show` and `explore`.

    python -m tools.zoo.texts [--json ROWS.jsonl] [--keep DIR] NAME[@LEVEL] ...

NAME is a model of the zoo, the families or the ONNX files; without a level: 0, 1 and 2. One row per model: texts, and what a command refuses with its error.
Models and levels that ROWS.jsonl has without refusals are skipped, so an interrupted run continues.
Exit code 1 if a command refuses a text.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

from alchemist import cli
from alchemist.export.writer import write_irs
from alchemist.options import CompilerOptions
from alchemist.pipeline import capture, compile_captured
from alchemist.progress import Progress
from models.tables import everything

COMMANDS = {
    "opt": ("opt", "{file}", "-o", "{out}/opt.mlir"),
    "generate-python": ("generate-python", "{file}", "--no-golden", "--overwrite", "-o", "{out}/py"),
    "generate-cpp": ("generate-cpp", "{file}", "--no-golden", "--overwrite", "-o", "{out}/cpp"),
    "show": ("show", "{file}"),
    "explore": ("explore", "{file}", "-o", "{out}/graph.json"),
}


def write_texts(name: str, levels: list[int], folder: Path) -> list[Path]:
    """The `irs/*.mlir` of a model's exports, in a folder per level."""
    _, framework, build = everything()[name]
    model, args, kwargs = build()
    given = kwargs.pop("compiler_options", None) or {}
    captured = capture(model, args, kwargs, framework)
    for level in levels:
        options = CompilerOptions.parse({**given, "optimization_level": level})
        write_irs(folder / str(level), compile_captured(captured, "python", options, Progress(verbose=False)).irs)
    return sorted(folder.rglob("*.mlir"))


def refusal(command: str, file: Path, out: Path) -> str:
    """What a command says when it does not take the file, else ""."""
    words = [word.format(file=file, out=out) for word in COMMANDS[command]]
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = cli.main(words)
    return said.getvalue() or f"exit code {code}" if code else ""


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.zoo.texts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME[@LEVEL]")
    parser.add_argument("--json", type=Path, metavar="ROWS.jsonl", help="append a row per model")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the texts there")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    chosen: dict[str, list[int]] = {}
    for word in options.names:
        name, _, level = word.partition("@")
        chosen.setdefault(name, []).extend([int(level)] if level else [0, 1, 2])
    refused = 0
    rows = options.json.read_text().splitlines() if options.json is not None and options.json.exists() else []
    passed = [row for row in map(json.loads, rows) if not row["refused"]]
    for name, asked in chosen.items():
        levels = sorted(set(asked) - {level for row in passed if row["model"] == name for level in row["levels"]})
        if not levels:
            continue
        begun = time.process_time()
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) if options.keep is None else options.keep / name
            files = write_texts(name, levels, folder / "texts")
            found = {f"{file.relative_to(folder / 'texts')} {command}": refusal(command, file, Path(scratch)) for file in files for command in COMMANDS}
        bad = {place: said for place, said in found.items() if said}
        refused += len(bad)
        row = {"model": name, "levels": levels, "texts": len(files), "seconds": round(time.process_time() - begun, 1), "refused": bad}
        print(f"{name:28}{len(files):4} texts{len(bad):4} refused{row['seconds']:8} s", flush=True)
        for place, said in bad.items():
            print(f"    {place}: " + "\n      ".join(said.splitlines()[:4]), flush=True)
        if options.json is not None:
            with options.json.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
