"""The command line: `alchemist COMMAND`, also installed as `tt-alchemist`."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import alchemist
from alchemist.errors import AlchemistError, ToolchainError
from alchemist.options import parse_option_text

EPILOG = """\
examples:
  alchemist generate-python model.mlir -o out     TTIR, TTNN or StableHLO text -> out/main.py, tensors, ./run
  alchemist model-to-cpp model.mlir               the C++ source on stdout
  alchemist opt model.mlir --ttir-to-ttnn-backend-pipeline
  alchemist estimate --csv ops.csv --out times.csv
  alchemist verify out                            run out/main.py against the real ttnn wheel, without a card
  alchemist doctor

In Python: from alchemist import codegen_py; codegen_py(model, *inputs, export_path="out")
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="alchemist",
        description="Turns models into readable source on Tenstorrent's TT-NN library.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"alchemist {alchemist.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    for language, name in (("python", "Python"), ("cpp", "C++")):
        generate = commands.add_parser(f"generate-{language}", help=f"MLIR file -> directory with {name} source and ./run")
        generate.add_argument("input", type=Path, metavar="INPUT.mlir")
        generate.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
        generate.add_argument("--overwrite", action="store_true", help="replace DIR whatever it holds")
        _add_mlir_options(generate)
        generate.set_defaults(run=_generate, language=language)

        to_text = commands.add_parser(f"model-to-{language}", help=f"MLIR file -> {name} source on stdout")
        to_text.add_argument("input", type=Path, metavar="INPUT.mlir")
        _add_mlir_options(to_text)
        to_text.set_defaults(run=_model_to, language=language)

    opt = commands.add_parser("opt", help="run passes or pipelines on an MLIR file, print the IR")
    opt.add_argument("input", type=Path, metavar="INPUT.mlir")
    opt.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: stdout")
    opt.add_argument("passes", nargs=argparse.REMAINDER, metavar="--PASS ...", help="passes in order; --list shows them")
    opt.set_defaults(run=_opt)

    verify = commands.add_parser("verify", help="run an emitted Python program on the real ttnn wheel (mock device)")
    verify.add_argument("directory", type=Path, metavar="DIR")
    verify.add_argument("--arch", choices=("wormhole_b0", "blackhole"), default="wormhole_b0")
    verify.add_argument("--json", type=Path, metavar="FILE")
    verify.set_defaults(run=_verify)

    estimate = commands.add_parser("estimate", help="device time of op configurations in a CSV file")
    estimate.add_argument("--csv", type=Path, required=True, metavar="IN.csv", help="configuration columns of a profile table")
    estimate.add_argument("--out", type=Path, required=True, metavar="OUT.csv", help="id,predicted_ns,predicted_wall_ns")
    estimate.set_defaults(run=_estimate)

    ops = commands.add_parser("ops", help="table of supported ops")
    ops.add_argument("--markdown", action="store_true", help="as in docs/ops.md")
    ops.set_defaults(run=_ops)

    doctor = commands.add_parser("doctor", help="versions, compiler, devices, and what is missing for which feature")
    doctor.set_defaults(run=_doctor)
    return top


def _add_mlir_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--pipeline-options", default="", metavar='"k=v k=v"', help="compiler options, see the README")
    command.add_argument(
        "--init", choices=("ones", "zeros", "randn", "arange"), default="randn", help="values of inputs and weights"
    )
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--inputs", type=Path, metavar="DIR", help="values by argument name, .npy or .tensorbin")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; errors of ours are printed without a traceback. Returns the exit code."""
    warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
    args = parser().parse_args(arguments)
    try:
        return int(args.run(args))
    except AlchemistError as error:
        print(error, file=sys.stderr)
        return 1
    except FileNotFoundError as error:
        print(f"error[ALC-0103] no such file\n  at {error.filename}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 0


def _generate(args: argparse.Namespace) -> int:
    from alchemist.codegen import codegen_mlir

    result = codegen_mlir(
        args.input,
        language=args.language,
        export_path=args.output,
        overwrite=args.overwrite,
        init=args.init,
        seed=args.seed,
        inputs=args.inputs,
        compiler_options=parse_option_text(args.pipeline_options),
    )
    print(f"{result.path}: {', '.join(file for file in result.files if '/' not in file)}")
    return 0


def _model_to(args: argparse.Namespace) -> int:
    from alchemist.codegen import mlir_sources

    sources = mlir_sources(
        args.input,
        language=args.language,
        init=args.init,
        seed=args.seed,
        inputs=args.inputs,
        compiler_options=parse_option_text(args.pipeline_options),
    )
    mark = "#" if args.language == "python" else "//"
    for name, text in sources.items():
        if len(sources) > 1:
            print(f'{mark} File: "{name}"')
        print(text)
    return 0


def _opt(args: argparse.Namespace) -> int:
    from alchemist.ir.text import parse, print_module
    from alchemist.passes import run_named

    module = parse(args.input.read_text(encoding="utf-8", errors="replace"), str(args.input))
    for word in args.passes:
        name, _, value = word.removeprefix("--").partition("=")
        module = run_named(module, name, value)
    text = print_module(module)
    if args.output is None:
        print(text)
    else:
        args.output.write_text(text)
    return 0


def _verify(args: argparse.Namespace) -> int:
    from alchemist.verify import verify_directory

    return verify_directory(args.directory, arch=args.arch, json_path=args.json)


def _estimate(args: argparse.Namespace) -> int:
    try:
        from ttnn_shim.estimate import estimate_csv
    except ImportError as error:
        raise ToolchainError("the simulator is not installed", hint="install the wheel, or `make` in a checkout") from error
    from ttnn_shim.errors import ShimError

    try:
        estimate_csv(args.csv, args.out)
    except ShimError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"wrote {args.out}")
    return 0


def _ops(args: argparse.Namespace) -> int:
    from alchemist.ops.table import support_table

    print(support_table(markdown=args.markdown))
    return 0


def _doctor(args: argparse.Namespace) -> int:
    from alchemist.doctor import report

    return report()
