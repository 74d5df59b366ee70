"""What passes make of the modules of each test of a folder, compared with what was written down: a guard that lets more or less through shows, whatever the test looks at."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir.text import print_module
from alchemist.passes import lower_to_ttnn

_WORD = "MADE_MODULES_ARE_RECORDED"
"""In the environment of tests that write down what their passes make instead of comparing it."""
_MOST_NAMES = 24


_QUOTED = re.compile(r'"[^"]*\.py":\d+:\d+|"[^"]*"')
_PLACE = re.compile(r"(?:[^|\"]*\.py:\d+\|[^|\"]*\|\d+\|)+")
"""Where a test's model says what an op is made from: lines move, and jax keeps those that traced a function first."""


def _without_place(quoted: re.Match[str]) -> str:
    """Of a file name with line and column, and of a text in quotes. Values of a constant are one long text, which is not looked through."""
    text = quoted[0]
    return "PLACE" if text[-1] != '"' else _PLACE.sub("PLACE", text) if ".py:" in text else text


def said(module: ModuleOp) -> str:
    """Ops in order, and a digest of the whole text, attributes, layouts and sources included."""
    ops = [op.name.partition(".")[2] for op in module.walk() if op.name.startswith(("ttir.", "ttnn."))]
    text = _QUOTED.sub(_without_place, print_module(module))
    return f"{' '.join(ops)}  #{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _briefly(module: ModuleOp) -> str:
    """As `said`, without the names of many ops."""
    ops, _, digest = said(module).rpartition("  ")
    count = len(ops.split())
    return f"{ops if count <= _MOST_NAMES else f'{count} ops'}  {digest}"


def read(path: Path) -> dict[str, str]:
    """Name -> text, of tab separated lines."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {name: text for name, text in rows}


def write(path: Path, rows: dict[str, str]) -> None:
    path.write_text("".join(f"{name}\t{text}\n" for name, text in rows.items()), encoding="utf-8")


class MadeModules:
    """Of one folder's tests. data: the file with a line for each test. again: the command that writes it."""

    def __init__(self, folder: Path, data: Path, again: str) -> None:
        self._folder, self._data, self._again = folder, data, again
        self._known: dict[str, str] | None = None
        self._scanned: set[str] = set()
        self._places: list[tuple[ModuleType, str]] = []
        self._found: dict[str, str] = {}

    def watch(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Around one test, with the same random numbers for every one."""
        made: list[str] = []

        def noting(run: Callable[..., Any]) -> Callable[..., Any]:
            def noted(*args: Any, **kwargs: Any) -> Any:
                result = run(*args, **kwargs)
                made.append(_briefly(result if isinstance(result, ModuleOp) else result.module))
                return result

            return noted

        for module, name in self._imported():
            monkeypatch.setattr(module, name, noting(getattr(module, name)))
        torch.manual_seed(0)
        yield
        key, text = f"{request.path.name}::{request.node.name}", " | ".join(dict.fromkeys(made))
        if os.environ.get(_WORD):
            self._found[key] = text
        elif made and request.node.get_closest_marker("slow") is None:
            self._known = read(self._data) if self._known is None else self._known
            assert text == self._known.get(key, ""), f"passes make other modules; explain it in the commit and run `{self._again}`, or this file with {_WORD}=1"

    def _imported(self) -> list[tuple[ModuleType, str]]:
        """Where modules of the product and of the folder hold the functions that run passes. Each is looked through once: all of them take as long as a test."""
        for key in sys.modules.keys() - self._scanned:
            module = sys.modules[key]
            self._scanned.add(key)
            if module.__name__.partition(".")[0] == "alchemist" or str(getattr(module, "__file__", None) or "").startswith(f"{self._folder}/"):
                self._places += [(module, name) for name, value in list(vars(module).items()) if value is run_pipeline or value is lower_to_ttnn]
        return self._places

    def finish(self) -> None:
        """At the end of a session that writes down: rows of files that it did not run stay."""
        if os.environ.get(_WORD):
            ran = {key.partition("::")[0] for key in self._found}
            kept = {
                key: text for key, text in read(self._data).items() if key.partition("::")[0] not in ran and (self._folder / key.partition("::")[0]).exists()
            }
            write(self._data, {key: text for key, text in sorted({**kept, **self._found}.items()) if text})


def watched(folder: Path, data: str, again: str) -> tuple[Callable[..., Any], Callable[[], None]]:
    """`_modules_as_recorded` and `pytest_sessionfinish` of a folder's conftest. data: name of the file in tests/data."""
    made = MadeModules(folder, folder.parent / "data" / data, again)

    @pytest.fixture(autouse=True)
    def modules_as_recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        yield from made.watch(request, monkeypatch)

    def finish() -> None:
        made.finish()

    return modules_as_recorded, finish


def record(folder: Path) -> None:
    """Runs the fast tests of a folder, which write down what their passes make."""
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "not slow", str(folder)]
    subprocess.run(tests, env=os.environ | {_WORD: "1"}, check=True)
