"""The table of error bands, made of tables with known errors."""

from __future__ import annotations

import csv
import gzip
import io
import math
from pathlib import Path

import numpy as np
import pytest

from tools.calibration import error_bands as make_error_bands


def write(path: Path, rows: list[dict[str, object]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode()) if path.suffix == ".gz" else text.getvalue().encode())


def test_table_of_bands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are drawn towards the others; one row of a sweep in 200 counts; a published call counts for its longest program."""
    wh, bh = "wormhole_b0", "blackhole"
    made = {"a": 110.0, "b": 120.0, "c": 90.0, "d": 100.0, "e": 130.0, "f": 200.0, "g": 150.0, "s0": 102.0, "s1": 900.0, "s200": 104.0, "single2": 3300.0}
    write(tmp_path / "predictions.csv", [{"id": key, "predicted_ns": ns} for key, ns in made.items()])
    write(tmp_path / "ops.train.csv.gz", [{"id": key, "op": "binary", "arch": wh, "kernel_ns": 100} for key in "abcde"] + [
        {"id": "f", "op": "softmax", "arch": bh, "kernel_ns": 100}, {"id": "not predicted", "op": "softmax", "arch": bh, "kernel_ns": 1}])  # fmt: skip
    write(tmp_path / "gemm.train.csv.gz", [{"id": "g", "arch": bh, "kernel_ns": "", "trisc1_avg_ns": 100}])
    write(tmp_path / "eltwise_exp.train.csv.gz", [{"id": f"s{at}", "arch": wh, "kernel_ns": 100} for at in range(201)])
    write(tmp_path / "matmul_height_sharded.train.csv.gz", [{"id": "none", "arch": wh, "kernel_ns": 100}])
    write(tmp_path / "singles.train.csv", [{"id": f"single{at}", "arch": wh, "time_us": 3} for at in range(3)])
    answers = {
        "single0": {"reason": "left out"},
        "single1": {"ns": 3600.0, "programs": ["x 1.0 us", "y 2.6 us"], "ops": [["unary"], ["concat"]]},
        "single2": {"ns": 1.0, "programs": ["x 2.0 us", "y 1.0 us"], "ops": [["unary"], ["concat"]]},
    }
    monkeypatch.setattr(make_error_bands, "requests_of", lambda table, rows: [(table, len(rows))])
    monkeypatch.setattr(make_error_bands, "ask", lambda requests: answers if requests == [("singles", 3)] else {})
    monkeypatch.setattr(make_error_bands, "TABLE", tmp_path / "bands.csv")
    assert make_error_bands.main(["--data", str(tmp_path), "--predictions", str(tmp_path / "predictions.csv")]) == 0
    with open(tmp_path / "bands.csv", newline="") as file:
        found = [tuple(row.values()) for row in csv.DictReader(file)]
    ratios = {
        ("binary", wh): [1.1, 1.2, 1 / 0.9, 1.0, 1.3], ("softmax", bh): [2.0], ("matmul", bh): [1.5],
        ("unary", wh): [1.02, 1.04, 1.1], ("concat", wh): [1.2],
    }  # fmt: skip
    errors = {key: np.log(some) for key, some in ratios.items()}
    pooled = np.quantile(np.concatenate(list(errors.values())), 0.8)
    spread = np.quantile([np.quantile(some, 0.8) for some in errors.values()], 0.8)

    def row(op: str, chip: str) -> tuple[str, ...]:
        some = errors[op, chip]
        prior = pooled if len(some) >= 5 else spread
        band = (len(some) * np.quantile(some, 0.8) + 4 * prior) / (len(some) + 4)
        return op, chip, f"{math.exp(band) - 1:.2f}", str(len(some)), f"{math.exp(np.median(some)) - 1:.2f}"

    unseen = f"{math.exp(spread) - 1:.2f}", "0", f"{math.exp(pooled) - 1:.2f}"
    assert found == [
        row("binary", wh), row("concat", wh), row("unary", wh), ("*", wh, *unseen), row("matmul", bh), row("softmax", bh), ("*", bh, *unseen),
    ]  # fmt: skip
    exact = make_error_bands.bands_of({("binary", wh): [0.0] * 9})
    assert [band for _, _, band, _, _ in exact] == [pytest.approx(math.expm1(0.05)), 0.0, 0.0], "no band is narrower than 5 %"
