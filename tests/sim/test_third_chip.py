"""A chip that does not exist is a column of the tables: the clock is built with it and has sense on it."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ttnn_shim.simlib import Simulator, SimulatorError

from tests.sim.test_model import price, tensor

ROOT = Path(__file__).parents[2]
CHIP, CARD = "made_up", "m100"


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def written(path: Path, rows: list[dict[str, str]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def with_a_third_chip(tables: Path) -> None:
    """The tables' own folder copied, with a column for a chip halfway between the two and a card that has it on 9 x 7 cores."""
    shutil.copytree(ROOT / "ttnn_shim" / "arch", tables)
    for name in ("constants.csv", "sfpu.csv", "library_facts.csv"):
        rows = []
        for row in rows_of(tables / name):
            numbers = [[float(number) for number in row[chip].split()] for chip in ("wormhole_b0", "blackhole")]
            middle = " ".join(repr((one + other) / 2) for one, other in zip(*numbers, strict=True))
            head, tail = (list(row.items())[: list(row).index("unit")], list(row.items())[list(row).index("unit") :])
            rows.append(dict([*head, (CHIP, middle), *tail]))
        written(tables / name, rows)
    cards = rows_of(tables / "cards.csv")
    other = {"family": CHIP, "grid_x": "9", "grid_y": "7", "clock_ghz": "1.2"}
    mine = [row | {"card": CARD, "value": other.get(row["name"], row["value"])} for row in cards if row["card"] == "p150" and row["name"] != "names"]
    written(tables / "cards.csv", cards + mine)


def built(folder: Path, tables: Path) -> Path:
    """The simulator alone, with these tables."""
    options = ("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", f"-DSHIM_ARCH_TABLES={tables}", f"-DPython_EXECUTABLE={sys.executable}")
    for words in (["cmake", "-S", str(ROOT / "ttnn_shim" / "src" / "sim"), "-B", str(folder), "-G", "Ninja", *options], ["cmake", "--build", str(folder)]):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder / "libttsim.so"


@pytest.mark.slow
def test_a_third_chip_is_a_column(tmp_path: Path) -> None:
    with_a_third_chip(tmp_path / "arch")
    library = built(tmp_path / "build", tmp_path / "arch")
    sim = Simulator(library)
    t = tensor([1, 1, 4096, 4096])
    config = {"op": "unary", "inputs": [t], "outputs": [t], "attrs": {"ops": ["RELU"]}}
    assert price(sim, config, CARD).cores == 63
    with pytest.raises(SimulatorError, match=f"known: n150, n300, p100, p150, {CARD}, "):
        sim.arch("m200")
    environment = os.environ | {"TTSIM_LIBRARY": str(library), "TTSIM_CARDS": CARD}
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/sim/test_model.py"]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
