"""`python -m ttnn_shim run [options] main.py [arguments]`: runs a TT-NN program on the simulator."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import runpy
import sys
from functools import partial
from pathlib import Path
from types import TracebackType

from ttnn_shim import plain, progress
from ttnn_shim.command_line import CommandParser, complain
from ttnn_shim.machine import cards, systems

STOPPED, READER_LEFT = 130, 141
"""Exit codes after Ctrl-C and after the end of a pipe, as shells have them."""

_ELF = b"\x7fELF"
CARDS = tuple(dict.fromkeys([*cards(), *systems()]))


def main(arguments: list[str]) -> int:
    """Activates the shim's `ttnn`, then runs the program as `__main__`. Returns its exit code."""
    parser = CommandParser(prog="python -m ttnn_shim run", description="Run a Python script or a compiled program that uses TT-NN on the simulator.")
    parser.add_argument("--arch", default="n150", metavar="NAME", help="card, architecture or system of several chips: " + ", ".join(CARDS))
    parser.add_argument("--estimate", action="store_true", help="predict only the device time: tensors have no values, kernels do not run")
    parser.add_argument("--profile", type=Path, metavar="DIR", help="write performance reports to DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write device_ns, kernel_ns, ops, unmodelled and host_s of a script to FILE")
    parser.add_argument("program", type=Path, metavar="main.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    options = parser.parse_args(arguments)
    if options.arch not in CARDS:
        complain("run", f"unknown card or architecture {options.arch[:100]!r}; known: {', '.join(CARDS)}")
        return 2
    if not os.path.isfile(options.program):
        complain("run", f"no file {options.program}")
        return 2

    if _is_compiled(options.program):
        from ttnn_shim import plain_cpp

        return plain_cpp.run_compiled(options.program, options.arguments, card_name(options.arch), estimate=options.estimate,
                                      profile_dir=options.profile, json_file=options.json)  # fmt: skip

    import ttnn_shim
    from ttnn_shim import session

    session.settings.card = card_name(options.arch)
    session.settings.estimate = options.estimate
    if options.estimate:  # no products are computed: numpy's threads, which spin while they wait for some, take a core for nothing
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    ttnn_shim.activate(explicit=True)
    program = options.program.resolve()
    if not (program.parent / "manifest.json").is_file():  # programs of alchemist print their own figures
        session.settings.plain = plain.PlainRun(options.json)
        with contextlib.suppress(ImportError):  # the compiler, where it is installed too: scripts written for tt-xla run as well
            importlib.import_module("alchemist.stand_ins").offer()
    if options.profile is not None:
        from ttnn_shim import reports

        session.settings.profile_dir = options.profile
        try:
            reports.start(options.profile, options.program)
        except OSError as error:
            complain("run", f"--profile: cannot write {options.profile}: {error.strerror}")
            return 2

    sys.argv = [str(program), *options.arguments]
    sys.path.insert(0, str(program.parent))
    sys.excepthook = partial(_show, program.parent)
    try:
        with progress.shown(program.parent, sys.stderr):
            runpy.run_path(str(program), run_name="__main__")
        session.close_plain()
        sys.stdout.flush()
    except SystemExit as exit_:
        if not exit_.code:
            session.close_plain()
        return _exit_code(exit_)
    except KeyboardInterrupt:
        print("run: stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:  # `./run --profile DIR | head`: discards further output, also that which Python flushes at its end
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    return 0


def _is_compiled(program: Path) -> bool:
    """Whether the file is an executable of this system."""
    with contextlib.suppress(OSError), open(program, "rb") as file:
        return file.read(len(_ELF)) == _ELF and os.access(program, os.X_OK)
    return False


def card_name(text: str) -> str:
    """The card of an architecture; a card itself."""
    return cards()[text].name if text in cards() else text


def _show(root: Path, kind: type[BaseException], error: BaseException, entry: TracebackType | None) -> None:
    """One message in the place of Python's traceback, at the program's own line."""
    from ttnn_shim import program_errors

    print(program_errors.show(root, kind, error, entry), file=sys.stderr)


def _exit_code(exit_: SystemExit) -> int:
    if exit_.code is None or isinstance(exit_.code, int):
        return exit_.code or 0
    print(exit_.code, file=sys.stderr)
    return 1
