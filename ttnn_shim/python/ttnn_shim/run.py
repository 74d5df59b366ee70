"""`python -m ttnn_shim run [options] main.py [arguments]`: runs a TT-NN program on the simulator."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from functools import partial
from pathlib import Path
from types import TracebackType

CARDS = ("wormhole_b0", "wormhole", "blackhole", "n150", "n300", "p100", "p150")


def main(arguments: list[str]) -> int:
    """Activates the shim's `ttnn`, then runs the program as `__main__`. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m ttnn_shim run", description="Run a Python program that uses ttnn on the simulator.")
    parser.add_argument("--arch", default="n150", metavar="NAME", help="card or architecture: " + ", ".join(CARDS))
    parser.add_argument("--estimate", action="store_true", help="clock only: tensors have no values, kernels do not run")
    parser.add_argument("--profile", type=Path, metavar="DIR", help="write performance reports to DIR")
    parser.add_argument("program", type=Path, metavar="main.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    options = parser.parse_args(arguments)
    if options.arch not in CARDS:
        print(f"run: unknown card or architecture {options.arch[:100]!r}; known: {', '.join(CARDS)}", file=sys.stderr)
        return 2
    if not os.path.isfile(options.program):
        print(f"run: no file {str(options.program)[:300]}", file=sys.stderr)
        return 2

    import ttnn_shim
    from ttnn_shim import session
    from ttnn_shim.errors import ShimError

    session.settings.card = {"wormhole_b0": "n150", "wormhole": "n150", "blackhole": "p150"}.get(options.arch, options.arch)
    session.settings.estimate = options.estimate
    ttnn_shim.activate(explicit=True)
    if options.profile is not None:
        from ttnn_shim import reports

        session.settings.profile_dir = options.profile
        try:
            reports.start(options.profile, options.program)
        except OSError as error:
            print(f"run: --profile: cannot write {str(options.profile)[:300]}: {error.strerror}", file=sys.stderr)
            return 2

    program = options.program.resolve()
    sys.argv = [str(program), *options.arguments]
    sys.path.insert(0, str(program.parent))
    sys.excepthook = partial(_show, program.parent)
    try:
        runpy.run_path(str(program), run_name="__main__")
    except SystemExit as exit_:
        return _exit_code(exit_)
    except ShimError as error:
        error.location = program_location(error, program.parent)
        print(error.report(), file=sys.stderr)
        return 1
    return 0


def _show(root: Path, kind: type[BaseException], error: BaseException, entry: TracebackType | None) -> None:
    """Python's own traceback, from the program's first frame on."""
    while entry is not None and not Path(entry.tb_frame.f_code.co_filename).is_relative_to(root):
        entry = entry.tb_next
    traceback.print_exception(kind, error, entry)


def _exit_code(exit_: SystemExit) -> int:
    if exit_.code is None or isinstance(exit_.code, int):
        return exit_.code or 0
    print(exit_.code, file=sys.stderr)
    return 1


def program_location(error: BaseException, root: Path) -> str:
    """`file:line in function` of the innermost frame that lies in the program's directory."""
    place = "?"
    entry = error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if Path(code.co_filename).is_relative_to(root):
            place = f"{Path(code.co_filename).relative_to(root)}:{entry.tb_lineno} in {code.co_name}"
        entry = entry.tb_next
    return place
