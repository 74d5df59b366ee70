"""The docstring at the top of main.py."""

from __future__ import annotations

from alchemist.program import header, model
from emit_py.text import docstring

_RUN = ("Run       ./run              on the simulator; ./run --device runs on a Tenstorrent card",)


def header_lines(program: model.Program) -> list[str]:
    """Lines of the docstring, without quotes."""
    example = "`del x` gives x's" if header.frees(program) else "`x = f(x)` gives the old x's"
    note = f"{example} device memory back: TT-NN frees a buffer with its last reference."
    return header.header_lines(program, docstring, _RUN, [note])
