"""`alchemist translate --mlir-to-python|--mlir-to-cpp`: source text of a module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ttnn_shim.command_line import CommandParser

from alchemist.driver import mlir_files
from alchemist.errors import AlchemistError, OptionError
from alchemist.export.writer import merge
from alchemist.frontends.mlir.load import load_each
from alchemist.options import CompilerOptions, Language
from alchemist.pipeline import check_options, compile_captured
from alchemist.progress import Progress


def main(arguments: Sequence[str]) -> int:
    parser = CommandParser(prog="alchemist translate", description="Source text of a TTIR, TTNN or StableHLO module.")
    parser.add_argument("input", nargs="?", default="-", metavar="INPUT.mlir", help="default: stdin")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: stdout")
    language = parser.add_mutually_exclusive_group(required=True)
    language.add_argument("--mlir-to-python", dest="language", action="store_const", const="python")
    language.add_argument("--mlir-to-cpp", dest="language", action="store_const", const="cpp")
    parser.add_argument("--file-id", default="", metavar="NAME", help="one file of a program of several (main, consteval)")
    parser.add_argument("--entry", default="", metavar="NAME", help="only this function; default: every public one")
    parser.add_argument("--options", default="", metavar='"k=v k=v"', help="pipeline options")
    args = parser.parse_args(arguments)
    chunk = mlir_files.Chunk(mlir_files.read_text(args.input), "<stdin>" if args.input == "-" else args.input)
    try:
        text = translate(chunk, args.language, args.options, args.file_id, args.entry)
    except RecursionError:
        raise AlchemistError("nested too deeply", location=chunk.filename) from None
    if args.output is None:
        print(text, end="")
    else:
        mlir_files.write_text(args.output, text)
    return 0


def translate(chunk: mlir_files.Chunk, language: Language, options: str = "", file_id: str = "", entry: str = "") -> str:
    """Source of the module's files one behind the other, each under a `File: "name"` comment when there are several."""
    parsed = replace(CompilerOptions.from_text(options), dump_irs=False)
    check_options(parsed, language)
    captured = dict(load_each(chunk.text, chunk.filename, init="ones", entry=entry))
    sources = merge({name: compile_captured(one, language, parsed, Progress(verbose=False)).sources for name, one in captured.items()})
    if file_id:
        chosen = {name: text for name, text in sources.items() if name.split(".")[0] == file_id}
        if not chosen:
            raise OptionError(f"no file {file_id!r}", expected=", ".join(name.split(".")[0] for name in sources))
        sources = chosen
    mark = "#" if language == "python" else "//"
    if len(sources) == 1:
        return next(iter(sources.values()))
    return "".join(f'{mark} File: "{name}"\n{text}\n' for name, text in sources.items())
