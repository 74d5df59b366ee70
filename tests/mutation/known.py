"""Faults that went unnoticed when a seed drew them: `python -m tests.mutation --known` says whether they still would.

Each is a text that stands once in its file, and what it becomes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutation.edits import Edit
from tests.mutation.layers import ROOT


@dataclass(frozen=True, slots=True)
class Known:
    path: str
    old: str
    new: str

    def edit(self) -> Edit:
        """The same as an edit of the file of today.

        Raises:
            ValueError: the text is not there, or more than once: the fault is to be written anew.
        """
        text = (ROOT / self.path).read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.path}: {text.count(self.old)} times {self.old!r}")
        start = text.index(self.old)
        return Edit(start, start + len(self.old), self.new, text.count("\n", 0, start) + 1, f"{self.old} -> {self.new}")


KNOWN = (
    Known("alchemist/program/functions.py", "if any(self._escapes(value, group.hi)", "if not any(self._escapes(value, group.hi)"),
    Known("alchemist/program/roles.py", "return bool(users) and len(masks)", "return bool(users) or len(masks)"),
    Known("alchemist/frontends/onnx/rules/resize.py", "MOST_ELEMENTS_OF_MATRIX = 1 << 24", "MOST_ELEMENTS_OF_MATRIX = 1 << 25"),
)
