"""The kinds of questions: what each tells, and the files that hold its questions. Imports nothing of the product."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """files: patterns below the checkout; rows in the cache are of one text of them. by_name: rows are made one by one for the names that are asked for."""

    tells: str
    files: tuple[str, ...]
    by_name: bool = False


_TOOL = "tools/behaviour_diff/"
_ASKED = (f"{_TOOL}ask.py", f"{_TOOL}questions/*.py")
_LEVELS = ("tests/passes/*.py", "tests/optimizer/*.py")
_CALLS = (*_ASKED, "tests/sim/conformance_programs.py", "tests/sim/strategy_cases.py", "tests/data/referee/calls.txt")
_WORDS = ("tests/cli/*.py", "tests/mlir/*.py", "tests/mlir/data/*", "tests/reports/*.py")
KINDS = {
    "exports": Kind("whole models: text of the program, calls and device time on HEAD's simulator", (f"{_TOOL}exports.py", "models/*.py"), True),
    "programs": Kind("text of small programs", ("tests/program/*.py", *_ASKED)),
    "modules": Kind("what passes, lowering and levels 1 and 2 make of small modules", (*_LEVELS, *_ASKED)),
    "words": Kind("what commands, refusals, verifiers and reports say", (*_WORDS, *_ASKED)),
    "values": Kind("what small values and golden functions of the Python API answer", _ASKED),
    "answers": Kind("answers to calls of the conformance suite, and sums of their values", (*_ASKED, "tools/conformance/*.py")),
    "calls_n150": Kind("simulated calls: refusals, results, device programs with cycles, values", _CALLS),
    "calls_p150": Kind("the same on a p150", _CALLS),
    "prices": Kind("the clock's price of every row of the calibration tables", (*_ASKED, "tests/data/hardware/*")),
    "made": Kind("modules that front ends and passes make in each test (minutes; by --only)", (*_LEVELS, "tests/frontends_*/*.py", f"{_TOOL}made.py")),
}
QUICK = ("programs", "modules", "words", "values")
PRICED = ("prices", "answers", "calls_n150", "calls_p150")
