"""`./run --explain [LINE]`: terms of one line's programs, what it says of a line that has none, and the slowest lines."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from ttnn_shim.reports.explain import MEANINGS

from tests.tables import table

ENGINE = Path(__file__).parents[2] / "ttnn_shim/src/sim/engine.cpp"

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


def explain(program: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the program opens and closes the device."""
    return subprocess.run([sys.executable, "-m", "ttnn_shim", "explain", str(program), *line], capture_output=True, text=True, check=False)


def test_a_lines_terms(program: Path) -> None:
    done = explain(program, "8")
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert "y = ttnn.matmul(x, x)" in text and "2 x " in text
    terms = {name.strip(): float(us) for name, us in re.findall(r"^  ([A-Za-z ]+?) +([\d.]+) us", text, re.MULTILINE)}
    total = terms.pop("sum")
    assert sum(terms.values()) == pytest.approx(total, rel=0.001) and max(terms, key=lambda name: terms[name]) == "tile math"


def test_advice_that_the_program_follows_already_is_left_out(program: Path) -> None:
    """The add has its tensors in DRAM, runs on all cores and multiplies nothing."""
    text = explain(program, "10").stdout
    assert "64 of 64 cores" in text and "operands in L1" in text and "more cores" not in text and "fidelity" not in text
    assert re.search(r"DRAM read +\S+ us +\S+%  the banks of DRAM are the limit: fewer or narrower bytes, or operands in L1", text)


def test_the_slowest_lines(program: Path) -> None:
    done = explain(program)
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^(main\.py:\d+)  ([\d.]+) us, ([\d.]+)%: (.*)", done.stdout, re.MULTILINE)
    assert [line for line, *_ in lines] == ["main.py:8", "main.py:10"]
    assert lines[0][3].startswith("tile math") and lines[1][3].startswith("DRAM")
    assert sum(float(share) for _, _, share, _ in lines) == pytest.approx(100, abs=0.2)


def test_every_term_has_a_meaning() -> None:
    """For each term of the engine the report says how to reduce it, and for no other."""
    names = re.search(r"const char\* to_string\(Term term\) \{(.*?)\};", ENGINE.read_text(), re.DOTALL)
    assert names is not None and set(re.findall(r'"([^"]+)"', names[1])) == set(MEANINGS)


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
