"""Rows of the measurement tables, with checked access to their cells."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ttnn_shim.errors import ShimError
from ttnn_shim.json_files import parse_json

Row = Mapping[str, str]


class EstimateError(ShimError, ValueError):
    """A table that cannot be priced: names the row (1 = first data row, 0 = header) and the column."""

    title = "estimate"

    def __init__(self, row: int, column: str, problem: str) -> None:
        where = [f"row {row}"] * bool(row) + [f"column {column!r}"] * bool(column)
        super().__init__(": ".join([", ".join(where), problem] if where else [problem]), location="")
        self.row, self.column = row, column


class Cells:
    """Typed access to one row; every error names row and column."""

    def __init__(self, row: Row, index: int) -> None:
        self.row, self.index = row, index

    def fail(self, column: str, problem: str) -> EstimateError:
        return EstimateError(self.index, column, problem)

    def text(self, column: str) -> str:
        value = (self.row.get(column) or "").strip()
        if not value:
            raise self.fail(column, "is empty")
        return value

    def integer(self, column: str, low: int = 1) -> int:
        value = self.text(column)
        try:
            number = float(value)
        except ValueError:
            raise self.fail(column, f"expected an integer, got {value!r}") from None
        if not number.is_integer() or number < low or number > 1e12:
            raise self.fail(column, f"expected an integer of at least {low}, got {value!r}")
        return int(number)

    def choice(self, column: str, choices: set[str]) -> str:
        value = self.text(column)
        if value not in choices:
            raise self.fail(column, f"unknown value {value!r}; known: {', '.join(sorted(choices))}")
        return value

    def json(self, column: str) -> Any:
        value = (self.row.get(column) or "").strip()
        if not value:
            return None
        try:
            return parse_json(value)
        except ValueError as error:
            raise self.fail(column, f"not JSON ({error})") from None

    def shape(self, column: str) -> list[int]:
        value = self.text(column)
        try:
            dims = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise self.fail(column, f"expected a list of integers, got {value!r}") from None
        if not isinstance(dims, (list, tuple)) or not dims or not all(isinstance(d, int) and d > 0 for d in dims):
            raise self.fail(column, f"expected a list of positive integers, got {value!r}")
        return [int(d) for d in dims]
