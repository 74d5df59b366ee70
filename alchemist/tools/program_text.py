"""A Python file of an emitted program as text to edit: where its calls are, and edits that add, change or take out an argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ttnn_shim.reports.answers import Edit


class Source:
    """A Python file of the program: its calls by line."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        starts, rows = [0], text.split("\n")
        for row in rows:
            starts.append(starts[-1] + len(row) + 1)
        self._starts, self._rows = starts, rows
        self.tree = ast.parse(text)

    def at(self, line: int, column_bytes: int) -> int:
        """The character of a place of the syntax tree."""
        return self._starts[line - 1] + len(self._rows[line - 1].encode()[:column_bytes].decode())

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def functions(self) -> Iterator[ast.FunctionDef]:
        for body in self.tree.body:
            if isinstance(body, ast.FunctionDef):
                yield body

    def calls(self, op: str) -> Iterator[tuple[ast.Call, str]]:
        """Calls of an op and the function that each stands in."""
        for function in self.functions():
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == op:
                    yield node, function.name

    def constant(self, name: str) -> ast.Call | None:
        """What a name at the top of the file is: `NAME = ttnn.Conv2dConfig(...)`."""
        for body in self.tree.body:
            if isinstance(body, ast.Assign) and [ast.unparse(target) for target in body.targets] == [name] and isinstance(body.value, ast.Call):
                return body.value
        return None

    def first_function(self) -> int:
        """Where the first function begins: the place for a further constant."""
        return next(self.span(function)[0] for function in self.functions())

    def keyword(self, call: ast.Call, name: str, value: str) -> Edit:
        """The call with `name=value`."""
        for given in call.keywords:
            if given.arg == name:
                return Edit(self.name, *self.span(given.value), value)
        end = self.span(call)[1] - 1
        before = self.text[:end].rstrip()
        comma = "" if before.endswith((",", "(")) else ","
        return Edit(self.name, len(before), len(before), f"{comma} {name}={value}")

    def without(self, call: ast.Call, name: str) -> Edit:
        """The call without its keyword `name`, which is not its first argument."""
        keyword = next(given for given in call.keywords if given.arg == name)
        start, end = self.span(keyword)
        return Edit(self.name, self.text.rindex(",", 0, start), end, "")

    def wrapped(self, node: ast.expr, before: str, after: str) -> list[Edit]:
        start, end = self.span(node)
        return [Edit(self.name, start, start, before), Edit(self.name, end, end, after)]


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits; those at one place stand in their order. Whole lines that several edits add at one place are added once."""
    once = list(dict.fromkeys(edit for edit in edits if edit.text.endswith("\n"))) + [edit for edit in edits if not edit.text.endswith("\n")]
    for edit in reversed(sorted(once, key=lambda edit: edit.start)):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def keywords(call: ast.Call) -> dict[str, str]:
    """Names of keyword arguments and their text."""
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg is not None}
