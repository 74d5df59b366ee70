"""`python -m ttnn_shim`: run programs, report on C++ programs, find the CMake package."""

from __future__ import annotations

import importlib
import os
import sys

import ttnn_shim
from ttnn_shim.command_line import can_be_passed

USAGE = """\
usage: python -m ttnn_shim run [--arch NAME] [--estimate] [--profile DIR] main.py [arguments]
       python -m ttnn_shim report [--arch NAME] EVENTS.json PROGRAM_DIR OUT_DIR
       python -m ttnn_shim compare [--arch NAME] [--html FILE] A B     compares two exports or directories of --profile
       python -m ttnn_shim what-if [--arch NAME] [--json FILE] PROGRAM_DIR
       python -m ttnn_shim explain [--arch NAME] PROGRAM_DIR [LINE]
       python -m ttnn_shim scale PROGRAM_DIR MESHES         predicts times of the model on other meshes
       python -m ttnn_shim worker           runs the programs that stdin lists (used by exports)
       python -m ttnn_shim price-calls      predicts times of the calls in JSON on stdin (used by `estimate`)
       python -m ttnn_shim --cmake-dir      prints the directory for CMake's -DTT-NN_DIR=
       python -m ttnn_shim --python-path    prints the directory of the simulator's ttnn package
       python -m ttnn_shim --version
"""


_COMMANDS = {
    "run": "ttnn_shim.run",
    "worker": "ttnn_shim.worker",
    "price-calls": "ttnn_shim.published_calls",
    "report": "ttnn_shim.profiles",
    "compare": "ttnn_shim.reports.compare",
    "what-if": "alchemist.tools.whatif",  # of emitted programs, whose `run` calls it by this name
    "explain": "alchemist.tools.explain",
    "scale": "alchemist.scale",
}
"""Modules whose `main(arguments)` a command runs; imported on demand, because every run of a program would wait for all of them."""


def main(arguments: list[str]) -> int:
    for argument in arguments:
        if not can_be_passed(argument):
            print(f"ttnn_shim: no program or file can have the argument {ascii(argument)[:300]}", file=sys.stderr)
            return 2
    if arguments and arguments[0] in _COMMANDS and (len(arguments) == 1 or arguments[0] not in ("worker", "price-calls")):
        try:
            code = int(importlib.import_module(_COMMANDS[arguments[0]]).main(arguments[1:]))
            sys.stdout.flush()
        except BrokenPipeError:  # `| head`: the rest goes nowhere, also what Python flushes at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return code
    if arguments == ["--cmake-dir"]:
        print(ttnn_shim.cmake_dir())
    elif arguments == ["--python-path"]:
        print(ttnn_shim.python_path())
    elif arguments == ["--version"]:
        print(ttnn_shim.native_version())
    else:
        print(USAGE, end="", file=sys.stdout if arguments in (["-h"], ["--help"]) else sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
