"""`./run --explain [LINE]`: the terms whose sum is the device time of one line of an emitted program, or of the slowest. The clock alone runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ttnn_shim.command_line import CommandParser, complain
from ttnn_shim.reports.explain import explanation, overview
from ttnn_shim.run import CARDS, card_name

import ttnn_shim
from alchemist.tools.clock_run import profile_of


def place(program: Path, line: str) -> str:
    """ "12" or "main.py:12" -> "main.py:12". Raises: ValueError for what is neither, and for a program of another language."""
    if not (program / "main.py").is_file():
        raise ValueError(f"{program} has no main.py: --explain reads emitted Python programs (of a C++ program, use --profile)")
    file, _, number = line.rpartition(":")
    if not number.isdigit():
        raise ValueError(f"{line[:100]!r} is no line: expected a number of main.py (12), or FILE:NUMBER (consteval.py:12)")
    return f"{file or 'main.py'}:{int(number)}"


def main(arguments: list[str]) -> int:
    """`python -m ttnn_shim explain`. Returns the exit code."""
    parser = CommandParser(
        prog="python -m ttnn_shim explain", description="List the parts of the device time of a line of a program; without LINE, of the slowest lines."
    )
    parser.add_argument("program", type=Path, metavar="PROGRAM_DIR")
    parser.add_argument("line", metavar="LINE", nargs="?", help="a line of main.py, or FILE:LINE (default: an overview of the slowest lines)")
    parser.add_argument("--arch", default="n150", metavar="NAME", choices=CARDS, help="card or architecture: " + ", ".join(CARDS))
    options = parser.parse_args(arguments)
    ttnn_shim.activate(explicit=True)
    try:
        program = options.program.resolve()
        line = place(program, options.line or "1")
        with tempfile.TemporaryDirectory(prefix="alchemist-explain-") as folder:
            done, profile = profile_of(program / "main.py", Path(folder).resolve(), card_name(options.arch))
        if profile is None:
            raise ValueError(f"the program does not run: {done['report'] or done['code']}")
        print(explanation(profile, line) if options.line else overview(profile))
    except (OSError, ValueError, SyntaxError) as error:
        complain("explain", error)
        return 1
    return 0
