"""The text at the top of the main file: what the program is, how to run and edit it, its call tree."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from alchemist.program import model
from alchemist.program.text import WIDTH
from alchemist.program.walk import calls_in

_LABEL = 10


def header_lines(program: model.Program, safe: Callable[[str], str], run: Sequence[str], notes: Sequence[str]) -> list[str]:
    """Lines without comment signs. safe: sanitises strings of the model; run: rows of the Run line; notes: closing lines."""
    dtype, layout, buffer = program.typical
    where = {"dram": "in DRAM", "l1": "in L1"}.get(buffer, f"in {buffer}")
    lines = [f"{safe(program.title)} as a TT-NN program.", ""]
    for label, text in program.facts:
        first, *others = text.split("\n")
        lines += _row(label, safe(first))
        lines += [line for other in others for line in _entry(safe(other))]
    page = "TILE" if layout == "tile" else "ROW_MAJOR"
    lines += ["", *run]
    lines += _row("Edit", f"change any call below; results are {dtype}, {page} layout, {where} unless a comment says otherwise")
    lines += ["Check     ./run --check      compares every output with the framework's own (golden/), exit code 0 or 1"]
    lines += ["Profile   ./run --profile DIR"]
    if program.outline:
        lines += ["", "Outline (function <- module class, parameter scope)", *_outline(program.outline, safe), *_helpers(program), *_inlined(program, safe)]
    closing = [f"Numbers in comments are lines of {safe(program.source_file)}."] if program.source_file else []
    return [*lines, "", *closing, *notes]


def frees(program: model.Program) -> bool:
    """Whether some statement frees a variable."""
    return any(isinstance(statement, model.Free) for function in program.functions for statement in model.statements(function.body))


def _row(label: str, text: str) -> list[str]:
    wrapped = textwrap.wrap(text, WIDTH - _LABEL - 3, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"{label:<{_LABEL}}{wrapped[0]}", *(" " * _LABEL + line for line in wrapped[1:])]


def _entry(text: str) -> list[str]:
    """A line of a row with several, and what it does not hold below it."""
    indent = " " * (_LABEL + 2)
    return textwrap.wrap(text, WIDTH - 3, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)


def _helpers(program: model.Program) -> list[str]:
    """Functions of no module of their own, and who calls them."""
    shown = {row.function for row in program.outline}
    callers: dict[str, list[str]] = {function.name: [] for function in program.functions if not function.module and function.name not in shown}
    for function in program.functions:
        for name in {call.function for call in calls_in(function.body)} & callers.keys():
            callers[name].append(function.name)
    groups: dict[str, list[str]] = {}
    for name, found in callers.items():
        groups.setdefault(found[0] if len(found) == 1 else "several of these", []).append(name)
    texts = [f"{', '.join(names)}: called by {caller}" for caller, names in groups.items()]
    return [line for text in texts for line in textwrap.wrap(text, WIDTH - 3, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)]


def _inlined(program: model.Program, safe: Callable[[str], str]) -> list[str]:
    """Modules of the model that the outline has no row for."""
    found = {row.function: f"{', '.join(row.inlined)} in {row.function}" for row in program.outline if row.inlined}
    text = safe(f"inlined: {'; '.join(found.values())}")
    return textwrap.wrap(text, WIDTH - 3, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False) if found else []


def _outline(rows: Sequence[model.OutlineRow], safe: Callable[[str], str]) -> list[str]:
    names = [" " * (4 * (row.depth + 1)) + row.function + (f"  x {row.times}" if row.times else "") for row in rows]
    left = max(len(name) for name in names) + 2
    middle = max(len(row.module) for row in rows) + 2
    lines = []
    for name, row in zip(names, rows, strict=True):
        line = f"{name:<{left}}<- {safe(row.module):<{middle}}{safe(row.scope)}" if row.module else name
        lines.append(line.rstrip())
    return lines
