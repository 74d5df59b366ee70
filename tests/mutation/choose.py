"""The tests of one mutant, from the notes of `--reach`: those that run its statement.

Each run of `--reach` has a folder with the sources as it found them: lines that have moved since then are looked up where they stood.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import json
import pickle
import sqlite3
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutation import cpp_reach
from tests.mutation.record import CPP_NOTES, NOTES, ROOT, TEMPLATES

SOURCES = "sources"
BLOCK_LINES = "block_lines.json"
_MADE = NOTES / "tests.pickle"


@dataclass(frozen=True, slots=True)
class Row:
    """What one test runs. lines: of each file as bits. count: of all lines. run: folder of the notes."""

    test: str
    seconds: float
    lines: dict[str, int]
    count: int
    run: str


@cache
def _rows() -> list[Row]:
    """None without notes."""
    sources = [*NOTES.glob("*/*.jsonl"), *NOTES.glob("*/*.coverage*")]
    if not sources:
        return []
    if not _MADE.exists() or _MADE.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        found: dict[str, Row] = {}
        for run in sorted((path for path in NOTES.iterdir() if path.is_dir()), key=lambda path: int(path.name)):
            found.update({row.test: row for row in _read(run)})  # what was noted last counts
        _MADE.write_bytes(pickle.dumps(list(found.values())))
    rows: list[Row] = pickle.loads(_MADE.read_bytes())
    return rows


def _read(run: Path) -> list[Row]:
    """What the processes of one run have written, by test: lines as coverage's databases have them."""
    lines: dict[str, dict[str, int]] = {}
    for database in run.glob("*.coverage*"):
        with contextlib.closing(sqlite3.connect(database)) as connection:
            query = "select context.context, file.path, numbits from line_bits join file on file.id = file_id join context on context.id = context_id"
            for context, path, bits in connection.execute(query):
                place = path.removeprefix(f"{ROOT}/")
                _add(lines, context, f"{TEMPLATES}/{Path(path).name}" if place == path else place, int.from_bytes(bits, "little"))
    cpp_reach.keep_lines(run)  # of a run that was ended
    for path in run.glob(f"*.{CPP_NOTES}"):
        for row in map(json.loads, path.read_text().splitlines()):
            for file, bits in row["lines"].items():
                _add(lines, row["test"], file, int(bits, 16))
    rows = [row for path in run.glob("*.jsonl") for row in map(json.loads, path.read_text().splitlines()) if "context" in row]
    found = []
    for row in rows:
        for fixture in row["fixtures"]:
            for path, bits in lines.get(fixture, {}).items():
                _add(lines, row["context"], path, bits)
        files = lines.get(row["context"], {})
        found.append(Row(row["context"], row["seconds"], files, sum(bits.bit_count() for bits in files.values()), run.name))
    return found


def _add(lines: dict[str, dict[str, int]], context: str, path: str, bits: int) -> None:
    files = lines.setdefault(context, {})
    files[path] = files.get(path, 0) | bits


@cache
def failing() -> frozenset[str]:
    """Tests that failed when they were noted."""
    rows = [json.loads(row) for path in NOTES.glob("*/*.jsonl") for row in path.read_text().splitlines()]
    return frozenset(row["failed"] for row in rows if "failed" in row) - {row.test for row in _rows()}


@cache
def test_seconds() -> dict[str, float]:
    return {row.test: row.seconds for row in _rows()}


def reaching(path: str, line: int, most_s: float, most: int = 200) -> list[str] | None:
    """Tests that run the statement around a line (outside functions: any line of the file), particular ones first, `most_s` seconds and `most` in all.

    In C++, where compilers move statements, those that run the rest of the function follow.

    None where nothing is noted of the line: no notes, older ones than the line, or what only exports run.
    """
    wanted = {run: place for run in {row.run for row in _rows() if path in row.lines} if (place := _noted(path, line, run)) is not None}
    if not wanted:
        return None
    reached = [(row, [bool(row.lines.get(path, 0) & bits) for bits in wanted[row.run]]) for row in _rows() if row.run in wanted]
    taken: list[str] = []
    spent = 0.0
    for *_, seconds, test in _varied(sorted((not near, row.count, row.seconds, row.test) for row, (near, around) in reached if near or around)):
        if spent + seconds <= most_s and len(taken) < most:
            taken.append(test)
            spent += seconds
    return taken


@cache
def _noted(path: str, line: int, run: str) -> tuple[int, int] | None:
    """Bits of the lines, as that run found them, of the statement around a line of today, and of those around it: all lines outside functions.

    None for a line that is new.
    """
    file = NOTES / run / SOURCES / path
    if not file.exists():
        return None
    before, now = file.read_text(), (ROOT / path).read_text()
    if before != now:
        lines, same = now.splitlines(), difflib.SequenceMatcher(None, before.splitlines(), now.splitlines(), autojunk=False)
        found = [block.a + line - 1 - block.b for block in same.get_matching_blocks() if block.b < line <= block.b + block.size and lines[line - 1].strip()]
        if not found:
            return None
        line = found[0] + 1
    if path.endswith(".cpp"):
        return _cpp_statement(before.splitlines(), line, _block_lines(run).get(path, 0))
    statement = _statement(ast.parse(before), line)
    return (-1 if statement is None else statement), 0


@cache
def _block_lines(run: str) -> dict[str, int]:
    """Bits of the lines of each C++ file that a note can name."""
    file = NOTES / run / BLOCK_LINES
    return {path: int(bits, 16) for path, bits in json.loads(file.read_text()).items()} if file.exists() else {}


def _cpp_statement(lines: list[str], line: int, blocks: int) -> tuple[int, int]:
    """Bits of the lines next to a line at which blocks begin, and of all lines of its function; outside functions all lines of the file."""
    begin = max((number for number, text in enumerate(lines[: line - 1], 1) if text.startswith("}")), default=0) + 1
    end = next((number for number, text in enumerate(lines[line - 1 :], line) if text.startswith("}")), len(lines))
    before = [number for number in range(line, begin - 1, -1) if blocks >> number & 1][:1]
    if not before:
        return -1, 0
    behind = [number for number in range(line + 1, end + 1) if blocks >> number & 1][: before != [line]]
    return sum(1 << number for number in before + behind), _bits(begin, end)


def _varied(rows: list[tuple[bool, int, float, str]], first: int = 20) -> list[tuple[bool, int, float, str]]:
    """The `first` rows, then those behind by turns of their test functions: a hundred cases of one would leave no time for the one test that asks for more."""
    turns: dict[str, int] = {}
    behind = []
    for row in rows[first:]:
        name = row[-1].partition("[")[0]
        turns[name] = turns.get(name, -1) + 1
        behind.append((row[0], turns[name], row))
    return rows[:first] + [row for *_, row in sorted(behind)]


def _statement(tree: ast.Module, line: int) -> int | None:
    """Bits of the lines of the innermost statement around a line, of a compound one those of its head. None outside functions: imports run it."""
    wanted: int | None = None

    def walk(node: ast.AST, inside: bool) -> None:
        nonlocal wanted
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                begin, end = _span(child)
                body = getattr(child, "body", None)
                is_definition = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                if not begin <= line <= end:
                    continue
                if isinstance(body, list):
                    head = max(begin, _span(body[0])[0] - 1)
                    if line <= head or line < _span(body[0])[0]:
                        wanted = _bits(begin, head) if inside else None
                        continue
                else:
                    wanted = _bits(begin, end) if inside else None
                walk(child, inside or (is_definition and not isinstance(child, ast.ClassDef)))

    walk(tree, False)
    return wanted


def _span(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, _span(node.body[-1])[1]
    assert isinstance(node, ast.stmt | ast.ExceptHandler)
    begin = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return begin, node.end_lineno or begin


def _bits(begin: int, end: int) -> int:
    return (1 << end + 1) - (1 << begin)
