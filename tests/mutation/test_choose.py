"""Which tests run a line: as noted, also where the line stands elsewhere by now."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.mutation import choose

pytestmark = pytest.mark.slow  # of a tool: `make mutation`

BEFORE = """\
import os
LIMIT = 3
def f(a):
    if a:
        return LIMIT
    return (
        os.name
    )
"""
AFTER = """\
import os
LIMIT = 3

def g(a):
    return a
def f(a):
    if a:
        return LIMIT
    return (
        os.name
    )
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two runs: `both` runs all of f, `falsy` its end; later `falsy` was noted again, as running nothing of it, and `fails` failed."""
    notes = tmp_path / "notes"
    for name, value in (("ROOT", tmp_path), ("NOTES", notes), ("_MADE", notes / "tests.pickle")):
        monkeypatch.setattr(choose, name, value)
    put(notes / "1", tmp_path, {"t.py::both": [1, 2, 3, 4, 5, 6, 7], "t.py::falsy": [1, 2, 3, 4, 6, 7], "t.py::other": []})
    yield tmp_path
    forget()


def forget() -> None:
    for function in (choose._rows, choose._noted, choose._named, choose._block_lines, choose.failing, choose.seconds_of_tests):
        function.cache_clear()


def put(run: Path, root: Path, lines: dict[str, list[int]], failed: str = "", text: str = BEFORE) -> None:
    (run / "sources").mkdir(parents=True)
    (run / "sources" / "a.py").write_text(text)
    (root / "a.py").write_text(text)
    with sqlite3.connect(run / "7.coverage") as connection:
        connection.executescript("create table context (id, context); create table file (id, path); create table line_bits (file_id, context_id, numbits);")
        connection.execute("insert into file values (1, ?)", (str(root / "a.py"),))
        for number, (test, found) in enumerate(lines.items()):
            bits = sum(1 << line for line in found)
            connection.execute("insert into context values (?, ?)", (number, test))
            if found:
                connection.execute("insert into line_bits values (1, ?, ?)", (number, bits.to_bytes(8, "little")))
    rows = [{"context": test, "seconds": 0.5, "fixtures": []} for test in lines] + ([{"failed": failed}] if failed else [])
    (run / "7.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    forget()


def reaching(line: int) -> list[str] | None:
    found = choose.reaching("a.py", line, 90.0)
    return None if found is None else [test.partition("::")[2] for test in found]


def test_lines_as_they_were_noted(root: Path) -> None:
    assert reaching(5) == ["both"]
    assert reaching(4) == ["falsy", "both"], "of less lines first"
    assert reaching(7) == ["falsy", "both"], "a statement over several lines"
    assert reaching(1) == ["falsy", "both"], "outside functions: who has the file"
    assert reaching(2) == ["falsy", "both"], "a name: who runs what reads it, then who has the file"
    assert choose.reaching("b.py", 1, 90.0) is None
    assert choose.reaching("a.py", 4, 0.6) == ["t.py::falsy"], "as many as there is time for"


def test_lines_that_have_moved_and_new_ones(root: Path) -> None:
    (root / "a.py").write_text(AFTER)
    assert [reaching(line) for line in (8, 7, 10, 2)] == [["both"], ["falsy", "both"], ["falsy", "both"], ["falsy", "both"]]
    assert reaching(5) is None, "nobody has seen it run"


def test_what_is_noted_later_counts(root: Path) -> None:
    put(root / "notes" / "2", root, {"t.py::falsy": []}, failed="t.py::fails")
    assert reaching(7) == ["both"]
    assert choose.failing() == {"t.py::fails"}
    assert choose.seconds_of_tests() == dict.fromkeys(["t.py::both", "t.py::falsy", "t.py::other"], 0.5)


OUTSIDE = """\
import os
LIMIT = 3
MORE = {
    "add": LIMIT,
    "multiply": 4,
}
def f(a=2):
    return MORE[a]

def running(name):
    def compute(x):
        return x + 1
    TABLE[name] = compute

running("cummax.default")
class C:
    left: int = 1
    def g(self):
        return 3
TABLE = {
    "sub": lambda x:
        x + 1,
}
SHOWN = 5
class Fields:
    right: int = 1
"""


def test_what_stands_outside_functions(root: Path) -> None:
    """Defaults are judged by who runs the function, names by who reads them, registrations and rows of tables by whose names have their words."""
    imports = [1, 2, 3, 7, 10, 13, 15, 16, 17, 18, 20, 21, 24, 25, 26]
    tests = {
        "i": imports,
        "f": [8],
        "h": [10],
        "c": [12],
        "t[any.default]": [13],
        "t[cummax.default]": [13],
        "g": [19],
        "l": [22],
        "t[multiply-2]": [],
        "t[add]": [8],
        "t[addmm]": [],
    }
    put(root / "notes" / "2", root, {f"t.py::{test}": lines for test, lines in tests.items()}, text=OUTSIDE)
    (root / "notes" / "2" / "sources" / "b.py").write_text("from a import SHOWN\n\n\ndef show():\n    return SHOWN\n")
    (root / "b.py").write_text("")
    with sqlite3.connect(root / "notes" / "2" / "7.coverage") as connection:
        connection.execute("insert into file values (2, ?)", (str(root / "b.py"),))
        connection.execute("insert into line_bits values (2, ?, ?)", (len(tests), (1 << 5).to_bytes(8, "little")))
        connection.execute("insert into context values (?, 't.py::s')", (len(tests),))
    with (root / "notes" / "2" / "7.jsonl").open("a") as file:
        file.write(json.dumps({"context": "t.py::s", "seconds": 0.5, "fixtures": []}) + "\n")
    forget()

    def first(line: int, count: int = 1) -> list[str]:
        return (reaching(line) or [])[:count]

    assert first(7) == ["f"], "a default"
    assert first(2, 2) == ["f", "t[add]"], "a name that another table reads"
    assert first(4, 2) == ["t[add]", "f"], "a row of a table: whose name asks for it, then who reads the table"
    assert first(5) == ["t[multiply-2]"], "also where nothing is noted"
    assert first(15, 3) == ["t[cummax.default]", "t[any.default]", "c"], "a registration: its name, then who shares a word of it, then what is registered"
    assert first(17) == ["g"], "a field"
    assert first(22, 2) == ["c", "l"], "who reads the table, and who runs a line of it later"
    assert first(24) == ["s"], "a name that other files read"


CPP = """\
constexpr int LIMIT = 3;

int f(int a) {
    if (a > LIMIT)
        return 1;
    const int b = a +
        2;
    return b;
}

int g() { return 0; }
"""


def test_lines_of_cpp(root: Path) -> None:
    """A statement has the blocks beside it, then those of its function: compilers move statements."""
    run = root / "notes" / "1"
    (run / "sources" / "a.cpp").write_text(CPP)
    (root / "a.cpp").write_text(CPP)
    blocks = {"both": [3, 5, 7], "falsy": [3, 7], "other": [11]}
    (run / choose.BLOCK_LINES).write_text(json.dumps({"a.cpp": f"{sum(1 << line for line in (3, 5, 7, 11)):x}"}))
    rows = [{"test": f"t.py::{test}", "lines": {"a.cpp": f"{sum(1 << line for line in lines):x}"}} for test, lines in blocks.items()]
    (run / "8.blocks").write_text("".join(json.dumps(row) + "\n" for row in rows))
    forget()

    def found(line: int) -> list[str] | None:
        tests = choose.reaching("a.cpp", line, 90.0)
        return None if tests is None else [test.partition("::")[2] for test in tests]

    assert found(5) == ["both", "falsy"], "who runs it, then who runs its function"
    assert found(6) == ["falsy", "both"], "the blocks before and behind it"
    assert found(11) == ["other"]
    assert found(1) == ["other", "falsy", "both"], "outside functions: all"
