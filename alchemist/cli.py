"""The command line: `alchemist COMMAND`, also installed as `tt-alchemist`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from ttnn_shim.command_line import CommandParser, can_be_passed

import alchemist
from alchemist.errors import AlchemistError, InternalError, OptionError, ParseError, ToolchainError, VerifyError, as_our_error, check_writable
from alchemist.options import CompilerOptions, Init, choice, described, pairs, table, values_of
from alchemist.progress import Progress
from alchemist.toolchain import NO_NATIVE

EPILOG = """\
examples:
  alchemist generate-python model.mlir -o out     TTIR, TTNN or StableHLO text -> out/main.py, tensors, out/run
  alchemist generate-python model.onnx -o out --dims batch=1
  alchemist model-to-cpp model.mlir               print C++ source
  alchemist opt model.mlir --ttir-to-ttnn-backend-pipeline
  alchemist show model.mlir
  alchemist estimate out --mesh 1x2,2x4           predict time, exchanges and memory on several chips
  alchemist estimate --csv ops.csv --out times.csv
  alchemist tune script.py --max-pcc-loss 0.001   compare optimization levels and precisions
  alchemist verify out ...                        check the calls of out/main.py with the real ttnn package
  alchemist explain ALC-0111                      explain an error code
  alchemist doctor                                list installed and missing parts
  source <(alchemist completion bash)             turn on completion with Tab

In Python: from alchemist import codegen_py; codegen_py(model, *inputs, export_path="out")
"""

STOPPED = 130
"""Exit code after Ctrl-C, as shells have it."""

DRIVER = {
    "opt": "run passes or pipelines on an MLIR file and print the module",
    "translate": "translate an MLIR file to Python or C++ source or to a .ttnn binary",
    "show": "list ops, shapes and memory of each function of an MLIR file",
    "layout": "print how a tensor type is stored: physical shape, shard, tiles, padding",
    "explore": "write an export as an HTML page, or an MLIR file as a graph for Google Model Explorer",
}


def parser() -> argparse.ArgumentParser:
    top = CommandParser(
        prog="alchemist",
        description="Turns models into readable source code that calls Tenstorrent's TT-NN library.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"alchemist {alchemist.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, what: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")

    for language, name in (("python", "Python"), ("cpp", "C++")):
        generate = command(f"generate-{language}", f"export an MLIR or ONNX file to a directory with {name} source and ./run")
        generate.add_argument("input", type=Path, metavar="INPUT", help="an .mlir or .onnx file")
        generate.add_argument("-o", "--output", required=True, metavar="DIR", help="directory to write; replaces only an unedited export")
        generate.add_argument("--overwrite", action="store_true", help="replace DIR, whatever it contains")
        generate.add_argument("--no-golden", action="store_true", help="do not compute outputs for ./run --check; for a large model this saves minutes")
        place = generate.add_mutually_exclusive_group()
        place.add_argument("--local", action="store_true", help="run on the installed simulator (default)")
        place.add_argument("--standalone", action="store_true", help="copy the simulator to DIR, so that the program runs without alchemist")
        _add_mlir_options(generate)
        generate.set_defaults(run=_generate, language=language)

        to_text = command(f"model-to-{language}", f"print {name} source for an MLIR or ONNX file")
        to_text.add_argument("input", type=Path, metavar="INPUT", help="an .mlir or .onnx file")
        _add_mlir_options(to_text)
        to_text.set_defaults(run=_model_to, language=language)

    for name, what in DRIVER.items():  # read their own arguments, in the real driver's spelling
        commands.add_parser(name, help=what, add_help=False)

    verify = command("verify", "check every call of exported Python programs with the real ttnn package on a mock chip")
    verify.add_argument("directories", type=Path, nargs="*", metavar="DIR", help="exports; without one, only install the real package")
    verify.add_argument("--arch", metavar="NAME", help="chip or system, for example blackhole or t3000; default: the export's card")
    verify.add_argument("--json", type=Path, metavar="FILE")
    verify.set_defaults(run=_verify)

    estimate = command("estimate", "predict the device time of a model on several chips, or of each row of a CSV file of op configurations")
    tables = "table of device programs (ops, gemm, eltwise_exp, matmul_height_sharded) or of ttnn calls (singles, layers, pairs); its columns identify it"
    estimate.add_argument("source", type=Path, nargs="?", metavar="SOURCE", help="with --mesh: an .mlir or .onnx file, or an export")
    estimate.add_argument("--mesh", metavar="RxC,RxC", help="meshes (1x2,2x4) or numbers of chips (2,8); prints time, exchanges, speed-up and memory of each")
    estimate.add_argument("--shardings", choices=("auto", "data", "tensor"), help="how to shard the model; default: the export's plan, or the faster of both")
    estimate.add_argument("--pipeline-options", metavar='"k=v k=v"', help="with --mesh: compiler options; default: those of the export")
    estimate.add_argument("--json", type=Path, metavar="FILE", help="with --mesh: write the table as JSON")
    estimate.add_argument("--csv", type=Path, metavar="IN.csv", help=tables)
    answer = "result: id,predicted_ns,predicted_wall_ns; for calls id,predicted_ns; a pair becomes the rows <id>a and <id>b"
    estimate.add_argument("--out", type=Path, metavar="OUT.csv", help=answer)
    estimate.set_defaults(run=_estimate)

    tune = command("tune", "compare simulated time, memory and PCC of optimization levels, precisions and cards")
    tune.add_argument("source", type=Path, metavar="SOURCE", help="an .mlir file, an export, or a script that exports (write its arguments after --)")
    tune.add_argument("--levels", default="0,1,2", metavar="N,N", help="optimization levels; default: 0,1,2")
    tune.add_argument("--precisions", default="model,bfloat16,bfp8,bfp8_lofi", metavar="P,P", help="values of the option `precision`; default: all")
    tune.add_argument("--cards", default="n150", metavar="CARD,CARD", help="n150, n300, p100, p150; default: n150")
    tune.add_argument("--max-pcc-loss", type=float, metavar="X", help="choose the fastest row whose PCC is at most X lower than with precision `model`")
    tune.add_argument("--pipeline-options", default="", metavar='"k=v k=v"', help="other compiler options, for all rows")
    tune.set_defaults(script_arguments=[])
    tune.add_argument("--json", type=Path, metavar="FILE", help="write the table as JSON")
    tune.set_defaults(run=_tune)

    ops = command("ops", "list the supported ops")
    ops.add_argument("words", nargs="*", metavar="WORD", help="list only ops that contain every WORD in name, call or notes: `alchemist ops conv`")
    ops.add_argument("--onnx", action="store_true", help="list ONNX ops instead of TTIR and TTNN ops")
    ops.add_argument("--markdown", action="store_true", help="print Markdown, as in docs/ops.md and docs/onnx.md")
    ops.set_defaults(run=_ops)

    options = command("options", "list every compiler option with its values")
    options.add_argument("--markdown", action="store_true", help="print Markdown, as in docs/options.md")
    options.set_defaults(run=_options)

    explain = command("explain", "explain an error code and its remedy")
    explain.add_argument("codes", nargs="*", metavar="CODE", help="ALC-0111 or 0111; without one, list all codes")
    explain.add_argument("--markdown", action="store_true", help="print Markdown, as in docs/errors.md")
    explain.set_defaults(run=_explain)

    completion = command("completion", "print a script that completes commands and options: source <(alchemist completion bash)")
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    completion.set_defaults(run=_completion)

    doctor = command("doctor", "print versions, compiler and devices, and what each feature lacks")
    doctor.set_defaults(run=_doctor)
    return top


def _add_mlir_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--init", choices=get_args(Init), default="randn", help="how to generate inputs and weights; default: randn")
    command.add_argument("--entry", default="", metavar="NAME", help="export only this function; default: every public function")
    command.add_argument("--dims", default="", metavar="NAME=N,...", help="sizes of symbolic dimensions of an ONNX file: batch=1,sequence=128")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of randn, a whole number from 0")
    command.add_argument("--inputs", type=Path, metavar="DIR", help="read arguments from DIR/NAME.npy or DIR/NAME.tensorbin")
    compiler = command.add_argument_group("compiler options", "The first value is the default. `compiler_options` of codegen_py takes the same names.")
    for entry in fields(CompilerOptions):
        values = values_of(entry)
        compiler.add_argument(
            f"--{entry.name.replace('_', '-')}",
            dest=f"option_{entry.name}",
            metavar="{" + ",".join(values) + "}" if len(values) > 1 else values[0],
            help=described(entry).replace("%", "%%"),
        )
    compiler.add_argument("--pipeline-options", default="", metavar='"k=v k=v"', help="the same options as text, also with tt-mlir's names")


def _compiler_options(args: argparse.Namespace) -> CompilerOptions:
    """The flags of `_add_mlir_options` and `--pipeline-options` together. Raises: OptionError, also where they contradict each other."""
    words: dict[str, str] = dict(pairs(args.pipeline_options))
    for entry in fields(CompilerOptions):
        value = getattr(args, f"option_{entry.name}")
        if value is not None:
            words[f"--{entry.name.replace('_', '-')}"] = value
    return CompilerOptions.parse(words, warn=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; errors are printed without a traceback. Returns the exit code."""
    warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files need not be text, nor the terminal's encoding UTF-8
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        for word in words:
            if not can_be_passed(word):
                raise OptionError("no option or path can contain this text", got=ascii(word)[:300])
            if word == "--native":
                raise OptionError("there is no --native", hint=NO_NATIVE)
        if words and words[0] in DRIVER:
            driver = importlib.import_module(f"alchemist.driver.{words[0]}")
            code = int(driver.main(words[1:]))
            sys.stdout.flush()
            return code
        end = words.index("--") if words[:1] == ["tune"] and "--" in words else len(words)
        args = parser().parse_args(words[:end])
        if words[end:]:
            args.script_arguments = words[end + 1 :]
        code = int(args.run(args))
        sys.stdout.flush()  # a reader that left is noticed here, not in Python's last words
        return code
    except BrokenPipeError:
        return _reader_left()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return STOPPED
    except (AlchemistError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
        found = as_our_error(error)
        if isinstance(found, InternalError) and os.environ.get("ALCHEMIST_TRACEBACK"):
            raise
        for each in _all_errors(words, found) if isinstance(found, ParseError | VerifyError) else [found]:
            print(each, file=sys.stderr)
        return 1


def ttmlir_opt() -> int:
    """The script of tt-mlir's name for `alchemist opt`, with errors in MLIR's form too; without arguments it reads standard input."""
    return main(["opt", "--mlir-diagnostics", *(sys.argv[1:] or ["-"])])


def ttmlir_translate() -> int:
    """The script of tt-mlir's name for `alchemist translate`."""
    return main(["translate", *sys.argv[1:]])


def tt_explorer() -> int:
    """The script of tt-mlir's name for `alchemist explore --serve`."""
    return main(["explore", "--serve", *sys.argv[1:]])


def _reader_left() -> int:
    """`alchemist ops | head`: the rest goes nowhere, also what Python flushes at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _all_errors(words: Sequence[str], first: AlchemistError) -> Sequence[AlchemistError]:
    """The errors of the file that `first` is about: all of them when it is among the arguments."""
    from alchemist.driver import mlir_files

    for word in words:
        if first.location.startswith(f"{word}:") and Path(word).is_file():
            return mlir_files.all_errors(mlir_files.Chunk(mlir_files.read_text(word), word), first)
    return [first]


def _is_onnx(args: argparse.Namespace) -> bool:
    """Whether the input is an ONNX file. Raises: OptionError for an option of the other kind of file."""
    found = str(args.input).endswith(".onnx")
    if args.entry if found else args.dims:
        name, kind = ("--entry", "MLIR") if found else ("--dims", "ONNX")
        raise OptionError(f"{name} is for {kind} files", got=str(args.input), hint=f"remove {name}")
    return found


def _dims(text: str) -> dict[str, int]:
    """`batch=1,sequence=128`. Raises: OptionError."""
    found: dict[str, int] = {}
    for part in text.split(",") if text else []:
        name, _, size = part.rpartition("=")
        if not name.strip() or not size.strip().isdecimal() or len(size) > 12:
            raise OptionError("bad --dims", expected="NAME=N,NAME=N", got=part[:100], hint="for example --dims batch=1")
        found[name.strip()] = int(size)
    return found


def _file_arguments(args: argparse.Namespace) -> dict[str, Any]:
    """What the functions on MLIR and ONNX files share."""
    return {"language": args.language, "init": args.init, "seed": args.seed, "inputs": args.inputs, "compiler_options": _compiler_options(args)}


def _generate(args: argparse.Namespace) -> int:
    from alchemist.codegen import codegen_mlir, codegen_onnx

    export = {"export_path": args.output, "overwrite": args.overwrite, "standalone": args.standalone, "export_golden": "none" if args.no_golden else "outputs"}
    if _is_onnx(args):
        result = codegen_onnx(args.input, dims=_dims(args.dims), **_file_arguments(args), **export)
    else:
        result = codegen_mlir(args.input, entry=args.entry, **_file_arguments(args), **export)
    shown = [file for file in result.files if not file.startswith(".")]
    print(f"{result.path}: {', '.join(dict.fromkeys(file.partition('/')[0] + '/' * ('/' in file) for file in sorted(shown, key=lambda file: '/' in file)))}")
    print(f"next: {result.path}/run" + ("" if args.no_golden else " --check"))
    return 0


def _model_to(args: argparse.Namespace) -> int:
    from alchemist.codegen import mlir_sources, onnx_sources

    if _is_onnx(args):
        sources = onnx_sources(args.input, dims=_dims(args.dims), **_file_arguments(args))
    else:
        sources = mlir_sources(args.input, entry=args.entry, **_file_arguments(args))
    mark = "#" if args.language == "python" else "//"
    for name, text in sources.items():
        if len(sources) > 1:
            print(f'{mark} File: "{name}"')
        print(text)
    return 0


def _verify(args: argparse.Namespace) -> int:
    from alchemist.verify import MACHINES, verify_directories

    arch = choice("--arch", args.arch, MACHINES) if args.arch is not None else None
    if args.json is not None:
        check_writable(args.json, "--json")
    return verify_directories(args.directories, arch=arch, json_path=args.json)


def _estimate(args: argparse.Namespace) -> int:
    of_model, of_table = (args.source, args.mesh), (args.csv, args.out)
    if any(of_model) == any(of_table) or not (all(of_model) or all(of_table)):
        raise OptionError(
            "estimate needs a model and meshes, or two tables", expected="SOURCE --mesh 1x2,2x4, or --csv IN.csv --out OUT.csv", got="other options"
        )
    return _estimate_meshes(args) if all(of_model) else _estimate_table(args)


def _estimate_meshes(args: argparse.Namespace) -> int:
    from alchemist.spreading import scale_source

    if args.json is not None:
        check_writable(args.json, "--json")
    options = None if args.pipeline_options is None else pairs(args.pipeline_options)
    found = scale_source(args.source, args.mesh, shardings=args.shardings, compiler_options=options)
    if args.json is not None:
        args.json.write_text(found.as_json() + "\n", encoding="utf-8")
    print(found)
    return int(all(row.failure for row in found.rows))


def _estimate_table(args: argparse.Namespace) -> int:
    try:
        from ttnn_shim.estimate import price_csv
    except ImportError as error:
        raise ToolchainError("the simulator is not installed", hint="install the wheel, or run `make` in a clone") from error
    from ttnn_shim.errors import ShimError

    check_writable(args.out, "--out")
    try:
        with Progress().stage("estimate", str(args.csv)):
            left_out = price_csv(args.csv, args.out)
    except ShimError as error:
        print(error.report(), file=sys.stderr)
        return 1
    print(f"wrote {args.out}")
    for reason in sorted(set(left_out.values())):
        ids = [row_id for row_id, why in left_out.items() if why == reason]
        print(f"{reason}, no prediction for {len(ids)} row{'s' * (len(ids) > 1)}: {', '.join(ids)}", file=sys.stderr)
    return 0


def _tune(args: argparse.Namespace) -> int:
    from alchemist.tuning import tune_source

    if args.json is not None:
        check_writable(args.json, "--json")
    found = tune_source(
        args.source,
        arguments=args.script_arguments,
        cards=args.cards.split(","),
        levels=args.levels.split(","),
        precisions=args.precisions.split(","),
        max_pcc_loss=args.max_pcc_loss,
        compiler_options=pairs(args.pipeline_options) or None,
    )
    if args.json is not None:
        args.json.write_text(found.as_json() + "\n", encoding="utf-8")
    print(found)
    if args.max_pcc_loss is not None and found.picked is None:
        print("no row is within --max-pcc-loss", file=sys.stderr)
        return 1
    if found.picked is not None:
        print("compiler_options=" + repr(found.picked.options))
    return 0


def _ops(args: argparse.Namespace) -> int:
    from alchemist.ops.table import support_table

    if args.onnx:
        from alchemist.frontends.onnx.table import onnx_table

        lines = onnx_table(markdown=args.markdown).splitlines()
        print("\n".join(line for line in lines if all(word.lower() in line.lower() for word in args.words)))
        return 0
    found = support_table(args.words, markdown=args.markdown)
    if not found:
        raise OptionError("no op contains these words in its name, call or notes", got=" ".join(args.words), hint="`alchemist ops` lists all")
    print(found)
    return 0


def _explain(args: argparse.Namespace) -> int:
    from alchemist import explanations

    if args.markdown or not args.codes:
        print(explanations.markdown() if args.markdown else explanations.listing())
        return 0
    found = []
    for code in args.codes:
        entry = explanations.find(code)
        if entry is None:
            near = explanations.near(code)
            hint = f"did you mean {' or '.join(near)}?" if near else "`alchemist explain` lists all"
            raise OptionError(f"no error code {code[:40]!r}", expected="ALC-nnnn or SHIM-nnnn", hint=hint)
        found.append(explanations.text(*entry))
    print("\n\n".join(found))
    return 0


def _completion(args: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(parser(), args.shell))
    return 0


def _options(args: argparse.Namespace) -> int:
    print(table(markdown=args.markdown))
    return 0


def _doctor(args: argparse.Namespace) -> int:
    from alchemist.doctor import report

    return report()
