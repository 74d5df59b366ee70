"""The tables of error bands and of ratios, made of rows with known errors."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from tools.calibration import error_bands as make_error_bands
from tools.calibration.unseen import Priced, chance, median_interval, spread_of

WH, BH = "wormhole_b0", "blackhole"


def rows(op: str, chip: str, ratios: list[float], source: str = "a", left_out: bool = False) -> list[Priced]:
    return [Priced("ops3", source, op, chip, left_out, 100.0, 100 * ratio, None) for ratio in ratios]


def test_table_of_bands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of five rows of a source lie within the band, and each source counts alike; a single source or few rows: the band of the worst quarter, or more."""
    made = rows("binary", WH, [1.1, 1.2, 1 / 0.9, 1.0]) + rows("binary", WH, [1.3], "b")  # the one row of b is half of what is known
    made += rows("unary", WH, [1.02] * 40) + rows("unary", WH, [1.04, 1.06, 1.08, 1.5, 2.0], "b")
    made += rows("matmul", BH, [1 / 3] * 3) + rows("matmul", BH, [1 / 2] * 3, "b")
    made += rows("sort", BH, [5.0]) + rows("concat", WH, [1.01] * 9) + rows("slice", WH, [9.0] * 9, left_out=True)
    made += [Priced("ops", "a", "no price", BH, False, 1.0, None, None)]
    monkeypatch.setattr(make_error_bands, "all_rows", lambda data: made)
    monkeypatch.setattr(make_error_bands, "pair_errors", lambda data: [("matmul", math.log(1.1))] * 5 + [("slice", math.log(1.3))] * 6 + [("sort", 2.0)])
    monkeypatch.setattr(make_error_bands, "TABLE", tmp_path / "bands.csv")
    monkeypatch.setattr(make_error_bands, "RATIOS", tmp_path / "ratios.csv")
    assert make_error_bands.main(["--data", str(tmp_path)]) == 0
    with open(tmp_path / "bands.csv", newline="") as file:
        found = {(row["op"], row["chip"]): (float(row["band"]), int(row["rows"])) for row in csv.DictReader(file)}
    worst = math.sqrt(1.3 * 3) - 1  # three quarters of the way through 1.08, 1.3 and 3
    expected = {("binary", WH): (0.3, 5), ("unary", WH): (0.08, 45), ("matmul", BH): (2.0, 6)}
    expected |= dict.fromkeys([("concat", WH), ("slice", WH), ("*", WH), ("*", BH)], (worst, 0)) | {("sort", BH): (4.0, 0)}
    assert found == {key: (pytest.approx(band, abs=0.006), count) for key, (band, count) in expected.items()}
    with open(tmp_path / "ratios.csv", newline="") as file:
        assert list(csv.reader(file)) == [["op", "error", "pairs"], ["matmul", "0.10", "5"], ["slice", "0.30", "6"], ["*", "0.30", "12"]]


def test_bands_that_reports_print_are_those_of_the_published_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,497 times that others measured on cards: a price that moves away from them moves the median error of its operation."""
    committed = make_error_bands.TABLE, make_error_bands.RATIOS
    monkeypatch.setattr(make_error_bands, "TABLE", tmp_path / "bands.csv")
    monkeypatch.setattr(make_error_bands, "RATIOS", tmp_path / "ratios.csv")
    assert make_error_bands.main([]) == 0
    for made, table in zip((tmp_path / "bands.csv", tmp_path / "ratios.csv"), committed, strict=True):
        assert made.read_text() == table.read_text(), f"`python -m tools.calibration.error_bands` writes {table.name} again"


def test_no_band_is_narrow_or_made_of_one_source() -> None:
    exact = rows("binary", WH, [1.0] * 9) + rows("binary", WH, [1.0], "b")
    assert make_error_bands.bands_of(exact)[0][2] == pytest.approx(math.expm1(0.05)), "no band is narrower than 5 %"
    with pytest.raises(ValueError, match="5 priced rows of 2 sources"):
        make_error_bands.bands_of(rows("binary", WH, [1.0] * 9))


def test_how_often_an_exact_band_holds_four_of_five_rows() -> None:
    eight_of_ten = math.comb(10, 8) * 0.8**8 * 0.2**2
    assert chance([1] * 10, 0) == pytest.approx(eight_of_ten, abs=0.015)
    assert chance([1] * 2, 0) == 0, "of two rows none, one half or all lie within"
    assert chance([10] * 10, 0) > 0.7 > 0.6 > chance([10] * 10, 1) > chance([100], 1), "rows of one source go together"


def test_spread_between_the_sources_of_an_operation() -> None:
    one, ten_fold = [1.01, 1.01, 1.01] * 50, [1.1, 1.1, 1.1] * 50
    far_apart = rows("binary", WH, one) + rows("binary", WH, ten_fold, "b") + rows("unary", WH, ten_fold, "c")
    scales = math.log(math.log(1.1) / math.log(1.01))
    assert spread_of(far_apart) == pytest.approx(scales / math.sqrt(2), rel=0.01)
    assert spread_of(rows("binary", WH, one) + rows("binary", WH, one, "b")) == 0
    assert spread_of(rows("binary", WH, [1.1, 1.1]) + rows("binary", WH, one, "b")) == 0, "two rows have no scale"


def test_interval_of_a_median() -> None:
    assert median_interval([float(n) for n in range(1, 15)]) == (3.0, 12.0), "ranks of 14 values, by the table of the sign test"
    assert median_interval([2.0]) == (2.0, 2.0)
