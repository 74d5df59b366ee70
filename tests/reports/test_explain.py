"""`./run --explain LINE`: terms of one line's programs, and what it says of a line that has none."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables import table

PROGRAM = """import ttnn
from ttnn_shim import session

device = ttnn.open_device(device_id=0)
x = ttnn.zeros((2048, 2048), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
session.begin_forward()
for _ in range(2):
    y = ttnn.matmul(x, x)
# nothing here
z = ttnn.add(y, y)
session.end_forward()
ttnn.close_device(device)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "main.py").write_text(PROGRAM)
    return folder


def explain(program: Path, line: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the program opens and closes the device."""
    return subprocess.run([sys.executable, "-m", "ttnn_shim", "explain", str(program), line], capture_output=True, text=True, check=False)


def test_a_lines_terms(program: Path) -> None:
    done = explain(program, "8")
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert "y = ttnn.matmul(x, x)" in text and "2 x " in text
    terms = {name.strip(): float(us) for name, us in re.findall(r"^  ([A-Za-z ]+?) +([\d.]+) us", text, re.MULTILINE)}
    total = terms.pop("sum")
    assert sum(terms.values()) == pytest.approx(total, rel=0.01) and max(terms, key=lambda name: terms[name]) == "tile math"


@table(
    ("line", "message"),
    [
        ("9", "main.py:9 runs no device program; the nearest lines that do: 8, 10"),
        ("99", "there is no line main.py:99: programs ran from main.py"),
        ("consteval.py:3", "there is no line consteval.py:3"),
        ("x = 3", "'x = 3' is no line: expected a number of main.py"),
    ],
)
def test_lines_without_programs(line: str, message: str, program: Path) -> None:
    done = explain(program, line)
    assert done.returncode == 1 and message in done.stderr


def test_a_program_of_another_language(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text("int main() {}\n")
    done = explain(tmp_path, "1")
    assert done.returncode == 1 and "emitted Python programs" in done.stderr
