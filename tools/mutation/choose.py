"""The tests of one mutant, from the notes of `--reach`: those that run its statement.

Each run of `--reach` has a folder with the sources as it found them: lines that have moved since then are looked up where they stood.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import json
import pickle
import re
import sqlite3
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.mutation import cpp_reach, module_level
from tools.mutation.layers import layer_of
from tools.mutation.module_level import FUNCTIONS, bits, span
from tools.mutation.record import CPP_NOTES, NOTES, ROOT, TEMPLATES

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
def seconds_of_tests() -> dict[str, float]:
    return {row.test: row.seconds for row in _rows()}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands in the sources of one run.

    lines: bits of its own lines, or of the functions that it is for, by file. around: bits of what else counts in its file. outside: bits of its own lines
    where it stands outside functions. imported: of a line that every import of its file runs.
    """

    lines: dict[str, int]
    around: int = 0
    outside: int = 0
    imported: int = 0

    def is_near(self, path: str, row: Row) -> bool:
        own = row.lines.get(path, 0)
        return any(row.lines.get(file, 0) & lines for file, lines in self.lines.items()) or bool(own & self.outside and not own & self.imported)


def reaching(path: str, line: int, most_s: float, most: int = 200) -> list[str] | None:
    """Tests that run the statement around a line, particular ones first, `most_s` seconds and `most` in all.

    Outside functions: those whose names have its words, those that run what it is for (`module_level`), then those that run any line of the file.
    In C++, where compilers move statements, those that run the rest of the function follow.

    None where nothing is noted of the line: no notes, older ones than the line, or what only exports run.
    """
    wanted = {run: place for run in {row.run for row in _rows() if path in row.lines} if (place := _noted(path, line, run)) is not None}
    if not wanted:
        return None
    named = _named(path, line) if any(place.outside for place in wanted.values()) else {}
    reached = []
    for row in _rows():
        place = wanted.get(row.run)
        if place is not None:
            asked, near = row.test in named, place.is_near(path, row)
            if asked or near or row.lines.get(path, 0) & place.around:
                reached.append((0 if asked and near else 1 if asked else 2 if near else 3, -named.get(row.test, 0), row.count, row.seconds, row.test))
    taken: list[str] = []
    spent = 0.0
    for *_, seconds, test in _varied(sorted(reached)):
        if spent + seconds <= most_s and len(taken) < most:
            taken.append(test)
            spent += seconds
    return taken


@cache
def _named(path: str, line: int) -> dict[str, int]:
    """Tests of the file's layer whose names have the words nearest to a line, and how many of them: a case of `aten.histc.default` more than others of aten."""
    layer = layer_of(path)
    places = layer.tests if layer is not None else ("",)
    for words in module_level.words(ast.parse((ROOT / path).read_text()), line):
        word = re.compile(rf"(?<![a-z])({'|'.join(sorted(words, reverse=True))})(?![a-z])")
        tests = [row.test for row in _rows() if row.test.startswith(places)] if words else []
        found = {test: len(set(has)) for test in tests if (has := word.findall(test.partition("::")[2]))}
        if found:
            return found
    return {}


@cache
def _noted(path: str, line: int, run: str) -> Place | None:
    """Where the statement around a line of today stood in the sources of that run. None for a line that is new."""
    sources = NOTES / run / SOURCES
    if not (sources / path).exists():
        return None
    before, now = (sources / path).read_text(), (ROOT / path).read_text()
    if before != now:
        lines, same = now.splitlines(), difflib.SequenceMatcher(None, before.splitlines(), now.splitlines(), autojunk=False)
        found = [block.a + line - 1 - block.b for block in same.get_matching_blocks() if block.b < line <= block.b + block.size and lines[line - 1].strip()]
        if not found:
            return None
        line = found[0] + 1
    if path.endswith(".cpp"):
        near, around = _cpp_statement(before.splitlines(), line, _block_lines(run).get(path, 0))
        return Place({path: near}, around)
    tree = ast.parse(before)
    statement, inside = _statement(tree, line)
    if inside:
        return Place({path: statement})
    imported = next((bits(node.lineno, node.lineno) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)), 0)
    return Place(module_level.users(path, tree, line, sources), -1, statement, imported)


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
    return sum(1 << number for number in before + behind), bits(begin, end)


def _varied(rows: list[tuple[int, int, int, float, str]], first: int = 20) -> list[tuple[int, int, int, float, str]]:
    """The `first` rows, then those behind by turns of their test functions: a hundred cases of one would leave no time for the one test that asks for more."""
    turns: dict[str, int] = {}
    behind = []
    for row in rows[first:]:
        name = row[-1].partition("[")[0]
        turns[name] = turns.get(name, -1) + 1
        behind.append((*row[:2], turns[name], row))
    return rows[:first] + [row for *_, row in sorted(behind)]


def _statement(tree: ast.Module, line: int) -> tuple[int, bool]:
    """Bits of the lines of the innermost statement around a line, of a compound one those of its head; whether it stands in a function: imports run all else."""
    wanted, within = 0, False

    def walk(node: ast.AST, inside: bool) -> None:
        nonlocal wanted, within
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                begin, end = span(child)
                body = getattr(child, "body", None)
                if not begin <= line <= end:
                    continue
                within = inside
                if isinstance(body, list):
                    head = max(begin, span(body[0])[0] - 1)
                    if line <= head or line < span(body[0])[0]:
                        wanted = bits(begin, head)
                        continue
                else:
                    wanted = bits(begin, end)
                walk(child, inside or isinstance(child, FUNCTIONS))

    walk(tree, False)
    return wanted, within
