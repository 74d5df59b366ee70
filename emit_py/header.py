"""The docstring at the top of main.py: what the program is, how to run and edit it, its call tree."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from alchemist.program import model
from emit_py.text import WIDTH, docstring

_LABEL = 10


def header_lines(program: model.Program) -> list[str]:
    """Lines of the docstring, without quotes; strings of the model are sanitised."""
    dtype, layout, buffer = program.typical
    where = {"dram": "in DRAM", "l1": "in L1"}.get(buffer, f"in {buffer}")
    lines = [f"{docstring(program.title)} as a TT-NN program.", ""]
    for label, text in program.facts:
        lines += _row(label, text)
    lines += [
        "",
        "Run       ./run              on the simulator; ./run --device runs on a Tenstorrent card",
        *_row(
            "Edit",
            f"change any call below; tensors are {dtype}, {'TILE' if layout == 'tile' else 'ROW_MAJOR'} layout, {where} "
            "unless a comment says else",
        ),
        "Check     ./run --check      compares every output with the framework's own (golden/), exit code 0 or 1",
        "Profile   ./run --profile DIR",
    ]
    if program.outline:
        lines += ["", "Outline (function <- module class, parameter scope)", *outline_lines(program.outline)]
    notes = list(_notes(program))
    return [*lines, *([""] if notes else []), *notes]


def _row(label: str, text: str) -> list[str]:
    wrapped = textwrap.wrap(
        docstring(text), WIDTH - _LABEL, break_long_words=False, break_on_hyphens=False, subsequent_indent=""
    ) or [""]
    return [f"{label:<{_LABEL}}{wrapped[0]}", *(" " * _LABEL + line for line in wrapped[1:])]


def outline_lines(rows: Sequence[model.OutlineRow]) -> list[str]:
    """The call tree in columns."""
    names = [" " * (4 * (row.depth + 1)) + row.function + (f"  x {row.times}" if row.times else "") for row in rows]
    left = max(len(name) for name in names) + 2
    middle = max(len(row.module) for row in rows) + 2
    lines = []
    for name, row in zip(names, rows, strict=True):
        line = f"{name:<{left}}<- {docstring(row.module):<{middle}}{docstring(row.scope)}" if row.module else name
        lines.append(line.rstrip())
    return lines


def _notes(program: model.Program) -> Iterator[str]:
    if program.source_file:
        yield f"Numbers in comments are lines of {docstring(program.source_file)}."
    if any(isinstance(one, model.Free) for function in program.functions for one in model.statements(function.body)):
        yield "`del x` gives x's device memory back: TT-NN frees a buffer with its last reference."
    else:
        yield "`x = f(x)` gives the old x's device memory back: TT-NN frees a buffer with its last reference."
