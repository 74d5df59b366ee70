"""The commands of `make calibrate` on a few rows of each table: fitted numbers, predictions, pages and bands go from one to the next."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from ttnn_shim.simlib import simulator

from tools.calibration import calibrate, new_op, published_accuracy
from tools.calibration import error_bands as make_error_bands
from tools.calibration.problem import FOLDS, NOISE, read_constants
from tools.calibration.rows import ARCH, is_left_out

ROOT = Path(__file__).parents[2]
ROWS = 4  # of each table


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with shortened tables, and what `calibrate` makes of them: predictions.csv, folds.csv, page.md."""
    folder = tmp_path_factory.mktemp("tables")
    for file in (ROOT / "tests" / "data" / "hardware").glob("*.train.csv.gz"):
        with gzip.open(file, "rt", newline="", encoding="utf-8") as handle:
            head, *rows = csv.reader(handle)
        with gzip.open(folder / file.name, "wt", newline="", encoding="utf-8") as handle:
            judging = [row for row in rows if is_left_out(dict(zip(head, row, strict=True)), file.name.partition(".")[0])]
            rows = [row for row in rows if row not in judging]
            csv.writer(handle).writerows([head, *rows[:: max(1, len(rows) // ROWS)][:ROWS], *judging[:ROWS]])
    (folder / "page.md").write_text("old\n## Published page of another command\n")
    words = ["--predictions", "predictions.csv", "--write-folds", "folds.csv", "--docs", "page.md"]
    assert calibrate.main(["--data", str(folder), "--keep", *(str(folder / word) if "." in word else word for word in words)]) == 0
    return folder


def test_the_page_scores_every_table(made: Path) -> None:
    page = (made / "page.md").read_text()
    tables = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in page.splitlines() if re.match(r"\| .* \| \d+ \|", line)}
    assert [
        part
        for part in ("## Tables, out of fold", "## ops by family", "## Sources left out", "## Leave the larger sizes", "## Fitted constants")
        if part not in page
    ] == []
    assert str(ROWS) in tables.values()
    assert page.startswith("# Accuracy") and "\nold\n" not in f"\n{page}"
    fitted = [row["name"] for row in read_constants(ROOT / "ttnn_shim" / "arch") if row["fitted"] != "no"]
    assert all(name.partition(" ")[0] in page for name in fitted[:5])


def test_committed_constants_are_judged_alike_with_the_folds_of_before(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--folds` predicts what `--write-folds` predicted, and changes no constant."""
    words = ["--data", str(made), "--keep", "--folds", str(made / "folds.csv"), "--predictions", str(made / "again.csv")]
    assert calibrate.main(words) == 0
    captured = capsys.readouterr()
    printed = captured.out.splitlines()
    assert [line.split()[2] if line.startswith("in") else line.split()[3] for line in printed] == [*NOISE, *NOISE]
    first, again = ({row["id"]: float(row["predicted_ns"]) for row in csv.DictReader(file.open())} for file in (made / "predictions.csv", made / "again.csv"))
    assert first.keys() == again.keys() and len(first) >= 4 * ROWS
    assert all(again[name] == pytest.approx(value, rel=1e-3) for name, value in first.items())
    walls = sum(bool(row["predicted_wall_ns"]) for row in csv.DictReader((made / "predictions.csv").open()))
    folds = json.loads((made / "folds.csv").read_text())
    assert len(folds) == FOLDS
    said = re.fullmatch(r"(\d+) observations, (\d+) configurations, (\d+) fitted numbers", captured.err.splitlines()[0])
    assert said
    assert (int(said[1]), int(said[3])) == (len(first) + walls, len(folds[0]))
    assert 0 < int(said[2])


def test_a_fit_is_written_where_it_is_asked_for(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--quick --write` into a copy of the table: only fitted numbers differ, and the fit is no worse than the committed constants."""
    arch = tmp_path / "arch"
    arch.mkdir()
    for file in ("constants.csv", "sfpu.csv"):
        (arch / file).write_bytes((ROOT / "ttnn_shim" / "arch" / file).read_bytes())
    sim = simulator()
    constants = {name: sim.get(sim.arch("p150"), name) for name in sim.constant_names()}
    assert calibrate.main(["--data", str(made), "--arch", str(arch), "--quick", "--write"]) == 0
    assert {name: sim.get(sim.arch("p150"), name) for name in constants} == constants  # the process prices as before
    assert "out of fold" not in capsys.readouterr().out
    before, after = ({row["name"]: row for row in read_constants(folder)} for folder in (ROOT / "ttnn_shim" / "arch", arch))
    changed = {name for name, row in after.items() if row != before[name]}
    assert changed and before.keys() == after.keys()
    assert all(before[name]["fitted"] != "no" for name in changed)


def test_bands_come_from_the_rows_in_view(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_error_bands, "TABLE", tmp_path / "bands.csv")
    monkeypatch.setattr(make_error_bands, "RATIOS", tmp_path / "ratios.csv")
    monkeypatch.setattr(make_error_bands, "LEAST_ROWS", 1)  # the tables are short
    monkeypatch.setattr(make_error_bands, "LEAST_SOURCES", 1)
    assert make_error_bands.main(["--data", str(made)]) == 0
    assert [row["op"] for row in csv.DictReader((tmp_path / "ratios.csv").open())][-1] == "*"
    rows = list(csv.DictReader((tmp_path / "bands.csv").open()))
    assert {row["chip"] for row in rows} == {"wormhole_b0", "blackhole"}
    assert all(float(row["band"]) > 0 and float(row["median"]) >= 0 for row in rows)
    assert ROWS < sum(int(row["rows"]) for row in rows) <= 3 * ROWS


@pytest.mark.parametrize("how", ["committed", "folds"])
def test_published_calls_go_into_their_section(how: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("head\n## Fitted constants\nrest\n")
    words = ["--data", str(made), *([] if how == "committed" else ["--folds", str(made / "folds.csv")])]
    assert published_accuracy.main(words) == 0
    text = capsys.readouterr().out
    assert published_accuracy.main([*words, "--docs", str(page)]) == 0
    assert capsys.readouterr().out == ""
    written = page.read_text()
    assert written.startswith("head\n") and written.endswith("## Fitted constants\nrest\n") and text.strip() in written
    rows: list[Any] = [line.split("|") for line in text.splitlines() if re.match(r"\| (wormhole_b0|blackhole) \| (high|medium)", line)]
    assert rows and sum(int(row[4]) for row in rows) == sum(int(row[3]) for row in rows) > 0
    assert all((row[6].strip() == "-") == (how == "committed") for row in rows)


def test_own_coefficients_of_an_operation_are_left_out(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors stay as they are without own coefficients, and change with them."""
    monkeypatch.setattr(new_op, "LEAST_ROWS", 1)
    with simulator().restoring_constants():
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in new_op.table(made, ARCH).splitlines()[2:-1]]
    assert {own != "0" for _, _, own, _, _ in rows} == {True, False}
    assert all(fitted == left_out for _, _, own, fitted, left_out in rows if own == "0")
    assert sum(fitted != left_out for _, _, own, fitted, left_out in rows if own != "0") > 1
