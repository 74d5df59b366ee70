"""`python -m ttnn_shim`: run programs, report on C++ programs, find the CMake package."""

from __future__ import annotations

import sys

from ttnn_shim.command_line import can_be_passed

USAGE = """\
usage: python -m ttnn_shim run [--arch NAME] [--estimate] [--profile DIR] main.py [arguments]
       python -m ttnn_shim report [--arch NAME] EVENTS.json PROGRAM_DIR OUT_DIR
       python -m ttnn_shim compare [--arch NAME] [--html FILE] A B     two exports, or directories of --profile
       python -m ttnn_shim what-if [--arch NAME] [--json FILE] PROGRAM_DIR
       python -m ttnn_shim worker           runs the programs named on stdin (used by exports)
       python -m ttnn_shim price-calls      prices the calls listed as JSON on stdin (used by `estimate`)
       python -m ttnn_shim --cmake-dir      directory for CMake's -DTT-NN_DIR=
       python -m ttnn_shim --python-path    directory that holds the simulator's ttnn package
       python -m ttnn_shim --version
"""


def main(arguments: list[str]) -> int:
    for argument in arguments:
        if not can_be_passed(argument):
            print(f"ttnn_shim: no program or file can have the argument {ascii(argument)[:300]}", file=sys.stderr)
            return 2
    if arguments[:1] == ["run"]:
        from ttnn_shim.run import main as run

        return run(arguments[1:])
    if arguments == ["worker"]:
        from ttnn_shim.worker import main as work

        return work()
    if arguments == ["price-calls"]:
        from ttnn_shim.published_calls import main as price_calls

        return price_calls()
    if arguments[:1] == ["report"]:
        from ttnn_shim.profiles import main as report

        return report(arguments[1:])
    if arguments[:1] == ["compare"]:
        from ttnn_shim.reports.compare import main as compare

        return compare(arguments[1:])
    if arguments[:1] == ["what-if"]:
        from ttnn_shim.whatif import main as what_if

        return what_if(arguments[1:])
    import ttnn_shim

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
