"""Which tests run which functions of the product: a pytest plugin that notes it, and what the runner reads of its notes."""

from __future__ import annotations

import ast
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTES = ROOT / "build" / "mutation" / "reach"
_PRODUCT = tuple(f"{ROOT}/{name}/" for name in ("alchemist", "emit_py", "emit_cpp", "ttnn_shim/python"))


class _Recorder:
    """Functions entered since `take` was called last."""

    def __init__(self) -> None:
        self._seen: set[CodeType] = set()

    def __call__(self, frame: FrameType, _event: str, _argument: object) -> None:
        self._seen.add(frame.f_code)

    def take(self) -> set[str]:
        taken, self._seen = self._seen, set()
        return {f"{code.co_filename.removeprefix(f'{ROOT}/')}::{code.co_qualname}" for code in taken if code.co_filename.startswith(_PRODUCT)}


_recorder = _Recorder()
_of_fixtures: dict[Any, set[str]] = {}
_failed: set[str] = set()  # and skipped ones: they catch nothing


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    """What a shared fixture runs counts for every test that uses it."""
    if fixturedef.scope == "function":
        yield
        return
    before = _recorder.take()
    yield
    _of_fixtures[fixturedef] = _recorder.take()
    _of_fixtures.setdefault(None, set()).update(before)


def pytest_runtest_logreport(report: Any) -> None:
    if report.outcome != "passed":
        _failed.add(report.nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    _recorder.take()
    begun = time.monotonic()
    sys.settrace(_recorder)
    threading.settrace(_recorder)
    yield
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    reached = _recorder.take() | _of_fixtures.pop(None, set())
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        reached.update(*(_of_fixtures.get(one, set()) for one in definitions))
    if item.nodeid in _failed:
        return
    row = {"test": item.nodeid, "seconds": round(time.monotonic() - begun, 3), "functions": sorted(reached)}
    NOTES.mkdir(parents=True, exist_ok=True)
    with (NOTES / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


@cache
def _tests() -> dict[str, list[tuple[int, float, str]]]:
    """Function -> (functions that the test runs in all, seconds, test) of each test that runs it, particular tests first."""
    found: dict[str, list[tuple[int, float, str]]] = {}
    for path in sorted(NOTES.glob("*.jsonl")):
        for row in map(json.loads, path.read_text().splitlines()):
            for name in row["functions"]:
                found.setdefault(name, []).append((len(row["functions"]), row["seconds"], row["test"]))
    return {name: sorted(rows) for name, rows in found.items()}


@cache
def passing() -> frozenset[str]:
    """Tests that passed when they were noted; none without notes."""
    return frozenset(json.loads(row)["test"] for path in NOTES.glob("*.jsonl") for row in path.read_text().splitlines())


def reaching(path: str, line: int, most_s: float, most: int = 200) -> list[str]:
    """Tests that run the function around a line (for a line outside functions: any of the file), particular ones first, `most_s` seconds and `most` in all.

    None for a function that only processes of their own run, as far as is noted.
    """
    tests = _tests()
    rows: list[tuple[int, float, str]] = []
    around = _around(ast.parse((ROOT / path).read_text()), line)
    for name in around:
        if rows := tests.get(f"{path}::{name}", []):
            break
    if not around:
        rows = sorted({row for name, some in tests.items() if name.startswith(f"{path}::") for row in some})
    taken, spent = [], 0.0
    for _, seconds, test in _varied(rows):
        if spent + seconds <= most_s and len(taken) < most:
            taken.append(test)
            spent += seconds
    return taken


def _varied(rows: list[tuple[int, float, str]], first: int = 20) -> list[tuple[int, float, str]]:
    """The `first` rows, then those behind by turns of their test functions: a hundred cases of one would leave no time for the one test that asks for more."""
    turns: dict[str, int] = {}
    behind = []
    for row in rows[first:]:
        name = row[2].partition("[")[0]
        turns[name] = turns.get(name, -1) + 1
        behind.append((turns[name], row))
    return rows[:first] + [row for _, row in sorted(behind)]


def _around(tree: ast.AST, line: int) -> list[str]:
    """Qualified names of the functions around a line, innermost first."""
    names: list[str] = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                begin = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                if not begin <= line <= (child.end_lineno or begin):
                    continue
                inner = f"{prefix}{child.name}."
                if not isinstance(child, ast.ClassDef):
                    names.append(f"{prefix}{child.name}")
                    inner = f"{prefix}{child.name}.<locals>."
            elif isinstance(child, ast.Lambda) and child.lineno <= line <= (child.end_lineno or line):
                names.append(f"{prefix}<lambda>")
                inner = f"{prefix}<lambda>.<locals>."
            walk(child, inner)

    walk(tree, "")
    return names[::-1]
