"""The table of error bands, made of rows with known errors."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from tools.calibration import error_bands as make_error_bands
from tools.calibration.unseen import Priced


def rows(op: str, chip: str, ratios: list[float], left_out: bool = True) -> list[Priced]:
    return [Priced("ops3", op, chip, left_out, 100.0, 100 * ratio, None) for ratio in ratios]


def test_table_of_bands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of five unseen rows lie within the band; few or none: the band of the worst quarter; seen rows count for nothing."""
    wh, bh = "wormhole_b0", "blackhole"
    ratios = {("binary", wh): [1.1, 1.2, 1 / 0.9, 1.0, 1.3], ("unary", wh): [1.02, 1.04, 1.1, 1.5, 2.0], ("matmul", bh): [1 / 3] * 5}
    made = [row for (op, chip), some in ratios.items() for row in rows(op, chip, some)]
    made += rows("softmax", bh, [5.0]) + rows("concat", wh, [9.0], left_out=False) + [Priced("ops", "sort", bh, True, 1.0, None, None)]
    monkeypatch.setattr(make_error_bands, "all_rows", lambda data: made)
    monkeypatch.setattr(make_error_bands, "TABLE", tmp_path / "bands.csv")
    assert make_error_bands.main(["--data", str(tmp_path)]) == 0
    with open(tmp_path / "bands.csv", newline="") as file:
        found = {(row["op"], row["chip"]): (float(row["band"]), int(row["rows"])) for row in csv.DictReader(file)}
    own = {key: np.quantile(np.abs(np.log(some)), 0.8) for key, some in ratios.items()}
    worst = np.quantile(list(own.values()), 0.75)
    expected = {key: (math.exp(band) - 1, 5) for key, band in own.items()}
    expected |= {("softmax", bh): (math.exp(worst) - 1, 1)} | {key: (math.exp(worst) - 1, 0) for key in [("concat", wh), ("sort", bh), ("*", wh), ("*", bh)]}
    assert found == {key: (pytest.approx(band, abs=0.006), count) for key, (band, count) in expected.items()}
    assert make_error_bands.bands_of(rows("binary", wh, [1.0] * 9))[0][2] == pytest.approx(math.expm1(0.05)), "no band is narrower than 5 %"
    with pytest.raises(ValueError, match="no row of a left-out source"):
        make_error_bands.bands_of(rows("binary", wh, [1.0], left_out=False))
