"""`alchemist translate --mlir-to-python|--mlir-to-cpp|--ttnn-to-flatbuffer`: source text of a module, or a `.ttnn`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from ttnn_shim.command_line import CommandParser

from alchemist.driver import mlir_files
from alchemist.errors import AlchemistError, OptionError, check_writable
from alchemist.export.writer import merge
from alchemist.frontends.mlir.load import load_each, stablehlo_to_ttir
from alchemist.frontends.mlir.read import read_module
from alchemist.options import CompilerOptions, Language, pairs
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import check_options, compile_captured
from alchemist.progress import Progress
from alchemist.toolchain.flatbuffer import write_file
from alchemist.toolchain.ttnn_binary import ttnn_binary

_LONG = re.compile(r"^-([A-Za-z][\w-]+)")
"""`-mlir-to-cpp`: the real driver takes long names with one dash."""
_ACCEPTED = ("--allow-unregistered-dialect",)


def main(arguments: Sequence[str]) -> int:
    parser = CommandParser(prog="alchemist translate", description="Translate an MLIR module to source code or to a TTNN binary.", allow_abbrev=False)
    parser.add_argument("input", nargs="?", default="-", metavar="INPUT", help="MLIR text or a .ttnn; default: stdin")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: stdout")
    language = parser.add_mutually_exclusive_group(required=True)
    language.add_argument("--mlir-to-python", dest="language", action="store_const", const="python", help="print Python source")
    language.add_argument("--mlir-to-cpp", dest="language", action="store_const", const="cpp", help="print C++ source")
    language.add_argument("--ttnn-to-flatbuffer", dest="language", action="store_const", const="ttnn", help="write a TTNN module as a .ttnn, which `ttrt` runs")
    parser.add_argument("--file-id", default="", metavar="NAME", help="print only this file of the program (main, consteval)")
    parser.add_argument("--entry", default="", metavar="NAME", help="translate only this function; default: every public function")
    parser.add_argument("--options", default="", metavar='"k=v k=v"', help="pipeline options")
    args = parser.parse_args([word for argument in arguments if (word := _LONG.sub(r"--\1", argument)) not in _ACCEPTED])
    if args.language == "ttnn" and args.output is not None:
        check_writable(args.output, "-o")
    chunk = mlir_files.Chunk(mlir_files.read_text(args.input), "<stdin>" if args.input == "-" else args.input)
    if args.language == "ttnn":
        for option in ("file_id", "entry", "options"):
            if getattr(args, option):
                raise OptionError(f"--{option.replace('_', '-')} is for source text", expected="no such option beside --ttnn-to-flatbuffer")
        data = ttnn_binary(mlir_files.read(chunk))
        if args.output is None:
            sys.stdout.buffer.write(data)
        else:
            write_file(args.output, data)
        return 0
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
    """Source of the module: one file of C++, the files of Python each under a `# File: "name"` comment, without `.py`, when there are several."""
    parsed = replace(CompilerOptions.for_module(pairs(options), chunk.text, warn=False), dump_irs=False)
    if language == "cpp" and not file_id and "split" not in options:
        parsed = replace(parsed, split_consteval=False)
    check_options(parsed, language, is_text=True)
    captured = dict(load_each(chunk.text, chunk.filename, mesh=parsed.mesh_shape, init="ones", entry=entry))
    sources = merge({name: compile_captured(module, language, parsed, Progress(verbose=False)).sources for name, module in captured.items()})
    if file_id:
        chosen = {name: text for name, text in sources.items() if name.split(".")[0] == file_id}
        if not chosen:
            raise OptionError(f"no file {file_id!r}", expected=", ".join(name.split(".")[0] for name in sources))
        sources = chosen
    if not file_id and language == "cpp":
        sources = _one_source(sources)
    mark = "#" if language == "python" else "//"
    if len(sources) == 1:
        return next(iter(sources.values()))
    return "".join(f'{mark} File: "{name.removesuffix(".py")}"\n{text}\n' for name, text in sources.items())


def _one_source(sources: dict[str, str]) -> dict[str, str]:
    """The program's own C++, each header in the place of its first `#include`; the project around it is what `generate-cpp` writes."""
    own = {name: text for name, text in sources.items() if PurePath(name).name == "model.cpp"}
    for name, text in own.items():
        for header in sources:
            line = f'#include "{PurePath(header).name}"\n'
            before, separator, after = text.partition(line)
            if header.endswith(".hpp") and separator:
                text = before + sources[header].replace("#pragma once\n", "", 1) + after.replace(line, "")
        own[name] = text
    return own or sources


def lowered_binary(text: str, filename: str) -> bytes:
    """A `.ttnn` of TTIR, StableHLO or TTNN text, lowered with default options. Raises: ParseError, VerifyError, LoweringError."""
    module = stablehlo_to_ttir(read_module(text, filename))
    if any(op.name.startswith("ttir.") for op in module.walk()):
        module = lower_to_ttnn(module, CompilerOptions()).module
    return ttnn_binary(module)
