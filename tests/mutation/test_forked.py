"""What ends the tests of a mutant, and what is said of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutation import forked
from tools.mutation.layers import ROOT

pytestmark = pytest.mark.slow  # of a tool: `make mutation`

TESTS = """\
import pytest, time

@pytest.mark.parametrize("text", ["a - b", "FAILED tests/other.py"])
def test_fails(text):
    print("FAILED tests/printed.py::test")
    assert text == "c"

def test_passes():
    pass

def test_works_for_ever():
    while True:
        pass

def test_waits_for_ever():
    time.sleep(600)
"""
# Through a process of its own: forks of one that runs pytest already would share its state.
RUN = """\
import json, os, sys
from pathlib import Path
from tools.mutation import forked
words, folder, site, limit_s = sys.argv[1].split(), Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4])
code, output, failed = forked.run(["-q", "-p", "no:cacheprovider", *words], folder=folder, site=site, environment=dict(os.environ), library=None,
                                  seconds={"test_it.py::test_works_for_ever": -2.9}, limit_s=limit_s)
print(json.dumps([code, failed, "ZeroDivisionError" in output or "ERROR: not found" in output]))
"""


@pytest.mark.parametrize(
    ("words", "code", "failed"),
    [
        ("-x test_it.py::test_passes test_it.py::test_fails", 1, ["test_it.py::test_fails[a - b]"]),
        ("test_it.py -k fails", 1, ["test_it.py::test_fails[a - b]", "test_it.py::test_fails[FAILED tests/other.py]"]),
        ("test_it.py -k passes", 0, []),
        ("test_it.py -k works", forked.TOO_LONG, ["test_it.py::test_works_for_ever"]),
        ("test_it.py -k waits", -1, []),
        ("test_broken.py", 2, ["test_broken.py"]),
        ("test_it.py::test_gone test_it.py::test_passes", 4, []),
    ],
)
def test_what_ends_the_tests(words: str, code: int, failed: list[str], tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_broken.py").write_text("import no_such_module\n")
    (tmp_path / "sitecustomize.py").write_text("")
    assert run(words, tmp_path, 3 if code == -1 else 300) == [code, failed, code == 4]


def test_a_process_that_never_reached_pytest_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("1 / 0\n")
    assert run("test_it.py", tmp_path, 300) == [forked.BROKEN, [], True]


def run(words: str, folder: Path, limit_s: float) -> list[object]:
    command = [sys.executable, "-c", RUN, words, str(folder), str(folder), str(limit_s)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: list[object] = json.loads(done.stdout.splitlines()[-1])
    return found
