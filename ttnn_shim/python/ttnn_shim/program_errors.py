"""Formats the error with which a program ends: one message, at the program's own line, with the call path."""

from __future__ import annotations

import ast
import difflib
import linecache
import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType

from ttnn_shim.errors import CallMismatch, ShimError, UnknownName, bounded, printable

CODE = "ALC-0601"
_OF_THE_REAL_PACKAGE = frozenset(("click", "graphviz", "loguru", "ml_dtypes", "networkx", "pandas", "seaborn", "yaml"))
"""Modules that Tenstorrent's wheel (0.81.1) installs with itself."""
_SUPPORT = ("utils.py", "check.py")
"""Files of an export that are not the model: an error in them is one of the line that called them."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the program on the way to an error. turns: "i = 2" of the loops around it."""

    file: str
    line: int
    function: str
    turns: tuple[str, ...]

    def __str__(self) -> str:
        function = f" in {self.function}" if self.function != "<module>" else ""
        return f"{self.file}:{self.line}{function}" + (f" ({', '.join(self.turns)})" if self.turns else "")


def for_loops(text: str) -> list[tuple[int, int, str]]:
    """First line, last line and variable of each `for` statement of a source text, from the outside."""
    return [
        (node.body[0].lineno, node.end_lineno or node.lineno, node.target.id)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id != "_"
    ]


def _turns(frame: FrameType, line: int) -> tuple[str, ...]:
    try:
        loops = for_loops("".join(linecache.getlines(frame.f_code.co_filename)))
    except (SyntaxError, ValueError, RecursionError):  # edited since it was loaded
        return ()
    return tuple(f"{name} = {frame.f_locals[name]!r:.40}" for first, last, name in loops if first <= line <= last and name in frame.f_locals)


def places(error: BaseException, root: Path) -> list[Place]:
    """The program's lines from `main` to the error, outermost first; its support files only where there is nothing else."""
    found = []
    entry: TracebackType | None = error.__traceback__
    while entry is not None:
        file = Path(entry.tb_frame.f_code.co_filename)
        if file.is_relative_to(root):
            found.append(Place(file.relative_to(root).as_posix(), entry.tb_lineno, entry.tb_frame.f_code.co_name, _turns(entry.tb_frame, entry.tb_lineno)))
        entry = entry.tb_next
    model = [place for place in found if place.file not in _SUPPORT]
    found = model or found
    return [place for place in found if place.function != "<module>"] or found


def _line_of(root: Path, place: Place) -> str:
    text = linecache.getline(str(root / place.file), place.line).strip()
    return f": {bounded(text, 100)}" if text else ""


def _called_from(found: Sequence[Place]) -> str:
    return bounded(", ".join(str(place) for place in reversed(found[:-1])), 300)


def _hint(error: BaseException) -> str:
    """For an undefined name the most similar name at its line: "did you mean qkv?"; for a module that is not there what to do; else ""."""
    module = (error.name or "").split(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if module == "tt_lib":
        return "the simulator has no tt_lib: call TT-NN's ops, and torch where tt_lib.fallback_ops computed on the host"
    if module in _OF_THE_REAL_PACKAGE:
        return "Tenstorrent's package installs it with itself; here the extra `scripts` does: pip install 'alchemist[scripts]' ('.[scripts]' in a clone)"
    entry = error.__traceback__
    if not isinstance(error, NameError) or not error.name or entry is None:
        return ""
    while entry.tb_next is not None:
        entry = entry.tb_next
    frame = entry.tb_frame
    near = difflib.get_close_matches(error.name, [*frame.f_locals, *frame.f_globals], 1, 0.6)
    return f"did you mean {near[0]}?" if near else ""


def report(error: BaseException, root: Path) -> str:
    """The message, at most about 2,000 characters. root: the program's directory."""
    found = places(error, root)
    at = f"{found[-1]}{_line_of(root, found[-1])}" if found else ""
    if isinstance(error, ShimError):
        error.location = at or "?"
        return error.report(called_from=_called_from(found))
    expected, hint = "", str(getattr(error, "hint", "")) or _hint(error)
    if isinstance(error, CallMismatch):
        what, expected = f"{error.op}: {error.reason}", error.expected
    elif isinstance(error, UnknownName):
        what = f"{error.module}: no {error.name!r}"
    elif isinstance(error, SyntaxError):
        what = f"{type(error).__name__}: {error.msg}"
        if error.filename and Path(error.filename).is_relative_to(root):
            at, found = f"{Path(error.filename).relative_to(root)}:{error.lineno}: {(error.text or '').strip()[:100]}", []
    elif isinstance(error, KeyError) and hint:  # an export's own, with the nearest name
        what = str(getattr(error, "text", error))
    else:
        what = f"{type(error).__name__}: {error}"
    rows = (("at ", at), ("called from ", _called_from(found)), ("expected ", bounded(expected, 400)), ("hint: ", bounded(hint, 400)))
    lines = [f"error[{CODE}] {bounded(what, 900)}", *(f"  {label}{text}" for label, text in rows if text)]
    return printable("\n".join(lines))


def show(root: Path, kind: type[BaseException], error: BaseException, entry: TracebackType | None) -> str:
    """For `sys.excepthook`: the message; with ALCHEMIST_TRACEBACK set, Python's own traceback before it."""
    whole = "".join(traceback.format_exception(kind, error, entry)) if os.environ.get("ALCHEMIST_TRACEBACK") else ""
    return whole + report(error, root)
