"""The page about published calls: its tables, from rows and prices that are written here."""

from __future__ import annotations

import math
from typing import Any

import pytest
from ttnn_shim.published_words import ACROSS_CHIPS

from tools.calibration import published_accuracy as page

NAN = math.nan


def row(number: int, truth_us: float, ns: float, unseen_ns: float = NAN, **given: Any) -> page.Row:
    fields = {"row_id": f"r{number}", "op": f"op{number % 2}", "family": "eltwise", "arch": "wormhole_b0", "rating": "high"}
    return page.Row(**(fields | {"truth_ns": 1000 * truth_us, "ns": ns, "unseen_ns": unseen_ns, "floor_ns": ns / 2, "size_bytes": 100.0 * number} | given))


def answer(ns: float, size: float = 1000, op: str = "add", other: float = 1.0) -> dict[str, Any]:
    """Of a call of two programs: `op`, and one that takes `other` ns."""
    return {"ns": ns, "floor_ns": ns / 2, "bytes": size, "programs": [f"other {other} ns", f"{op} {ns} ns"], "ops": [["other"], [op]]}


@pytest.mark.parametrize(("values", "q", "wanted"), [([3.0, 1.0, 2.0], 0.5, 2.0), ([1.0, 2.0], 0.5, 1.5), ([5.0], 0.9, 5.0), ([0.0, 10.0, 20.0], 0.9, 18.0)])
def test_quantiles(values: list[float], q: float, wanted: float) -> None:
    assert page.quantile(values, q) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("confidence", "rebuildable", "rating"),
    [("High", "yes", "high"), (" medium: shapes", "yes", "medium"), ("low, guessed", "yes", "low"), ("high", "partial", "partial")],
)
def test_ratings(confidence: str, rebuildable: str, rating: str) -> None:
    assert page.rating_of({"confidence": confidence, "rebuildable": rebuildable}) == rating


def test_errors_are_factors_of_at_least_one() -> None:
    assert [row(0, 1, 500).off, row(0, 1, 2000).off, row(0, 1, 2000, 250).off] == [2.0, 2.0, 4.0]
    assert page.errors_text([(110, 100), (80, 100), (NAN, 100)]) == "15 / 19"
    assert page.errors_text([(NAN, 100)]) == "-"


def test_singles_with_a_price() -> None:
    rows = [{"id": name, "op": "add", "family": "eltwise", "arch": "blackhole", "confidence": "high", "rebuildable": "yes", "time_us": "2.5"} for name in "ab"]
    (found,) = page.priced_singles(rows, {"a": answer(2000, 64) | {"floor_ns": 20.0}, "b": {"reason": "no"}}, {"b": 1.0})
    assert (found.row_id, found.truth_ns, found.ns, found.floor_ns, found.size_bytes) == ("a", 2500.0, 2000, 100.0, 64)
    assert math.isnan(found.unseen_ns)
    assert page.priced_singles(rows[:1], {"a": answer(2000)}, {"a": 7.0})[0].unseen_ns == 7.0


def test_lines_are_fitted_to_the_relative_error() -> None:
    rows = [row(n, (300 + 2 * 100 * n) / 1000, 1.0) for n in range(1, 30)]
    assert page.line_through(rows) == pytest.approx((300.0, 2.0))
    assert page.line_through(rows[:1] * 3) == pytest.approx((500.0, 0.0))  # of one size no slope is known
    small, large = row(1, 0.1, 1.0, size_bytes=0.0), row(1, 10.0, 1.0, size_bytes=0.0)
    assert page.line_through([small, large])[0] == pytest.approx((1 / 100 + 1 / 10_000) / (1 / 100**2 + 1 / 10_000**2))
    unseen = page.least_squares(rows)
    assert unseen == pytest.approx({one.row_id: one.truth_ns for one in rows})
    assert page.least_squares([row(1, 5, 1.0)]) == {}  # nothing else to fit to
    flat = [row(n, 0.01, 1.0) for n in range(1, 30)]
    assert set(page.least_squares(flat).values()) == {100.0}  # no call takes less


def test_a_line_per_operation() -> None:
    rows = [row(n, (300 + 2 * 100 * n) / 1000, 1.0) for n in range(1, 9)] + [row(n, 4.0, 1.0) for n in range(11, 19)]
    answers = {one.row_id: answer(10, op="add" if n < 8 else "mul") for n, one in enumerate(rows)}
    line = page.LinePerOp(rows, answers)
    assert line.ns(answer(10, 1000, "add"), "wormhole_b0") == pytest.approx(2300)
    assert line.ns(answer(10, 1000, "mul"), "wormhole_b0") == pytest.approx(4000)
    assert 100 < line.ns(answer(10, 1000, "exp"), "wormhole_b0") < 4000
    assert line.ns(answer(10, -1000, "add"), "wormhole_b0") == 100.0
    assert [page.main_operation(answer(10, other=other)) for other in (9.0, 11.0)] == ["add", "other"]


def test_the_table_of_singles() -> None:
    rows = [{"arch": arch, "confidence": word, "rebuildable": "yes"} for arch, word in (("wormhole_b0", "high"), ("wormhole_b0", "high"), ("blackhole", "low"))]
    priced = [row(1, 1.0, 1100, 1600), row(2, 1.0, 800, 4000)]
    assert page.singles_lines(rows, priced)[2:] == [
        "| wormhole_b0 | high | 2 | 2 | 15 / 19 | 180 / 276 | 2 | 1 | 52 / 58 | 0 / 0 |",
        "| blackhole | low | 1 | 0 | - | - | 0 | 0 | - | - |",
    ]


def test_the_table_of_pairs() -> None:
    def pair(name: str, a: float, b: float, **given: str) -> dict[str, str]:
        return {"id": name, "time_a_us": str(a), "time_b_us": str(b), "arch": "wormhole_b0", "rebuildable": "yes", "derived_from_train": ""} | given

    rows = [
        pair("p", 1, 2),
        pair("q", 2, 1),
        pair("near", 1, 1.1),
        pair("known", 1, 2, derived_from_train="x"),
        pair("open", 1, 2),
        pair("s", 1, 3, rebuildable="partial"),
    ]
    answers = {
        "pa": answer(1000),
        "pb": answer(2000),
        "qa": answer(1000),
        "qb": answer(2000),
        "sa": answer(1000),
        "sb": answer(3000),
        "opena": {},
        "openb": answer(1),
    }
    line = page.LinePerOp([row(1, 1.0, 1.0)], {"r1": answer(10)})
    assert page.pair_lines(rows, answers, {"pa": 1000.0, "pb": 500.0}, line)[2:] == [
        "| rebuildable: yes | 3 | 2 | 1 | 0 | 0.693 | 1.386 | 1 | 0.693 | 1 | 0.693 |",
        "| rebuildable: partial | 1 | 1 | 1 | - | 0.000 | - | 1 | 0.000 | 0 | 1.099 |",
    ]


def test_the_table_of_layers() -> None:
    def part(name: str, op: str, time_us: float) -> dict[str, str]:
        return {"id": name, "op": op, "time_us": str(time_us), "model": "bert", "variant": "b8", "chip": "n150", "arch": "wormhole_b0"}

    rows = [part("a", "add", 6), part("b", "all_gather", 3), part("c", "mul", 1), part("t", "TOTAL", 10)]
    answers = {"a": answer(1500), "b": {"reason": ACROSS_CHIPS}, "c": {"reason": "no shapes"}, "t": {"reason": "a sum"}}
    line = page.LinePerOp([row(1, 1.0, 1.0)], {"r1": answer(10)})
    made = page.layer_lines(rows, answers, {"a": 2, "b": 1, "c": 1, "t": 1}, line)
    assert made[2] == "| bert, b8 | 3 | 1 | 60 % | 30 % | 10 % | 0.50 | 0.25 | 0.33 |"
    assert made[-1] == "Single rows of these layers (1 priced), median / p90 of the error in %: clock 50 / 50, roofline 75 / 75, least squares 67 / 67."
    assert "| - | - | - |" in page.layer_lines(rows[1:], answers, {"b": 1, "c": 1, "t": 1}, line)[2]


def test_rows_that_are_far_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(page.EXPLAINED, "r1", "a cold cache")  # type: ignore[arg-type]
    priced = [
        row(0, 1, 1400), row(1, 1, 1600), row(2, 1, 1000, 400), row(3, 1, 3000, rating="low"), row(4, 2, 600, rating="medium", family="matmul"),
        row(5, 1, 2000, 1000),
    ]  # fmt: skip
    assert page.far_lines(priced)[2:] == [
        "| r4 | wormhole_b0 | medium | op0 | 2 | 0.6 | - | not known |",
        "| r2 | wormhole_b0 | high | op0 | 1 | 1 | 0.4 | not known |",
        "| r1 | wormhole_b0 | high | op1 | 1 | 1.6 | - | a cold cache |",
        "| r5 | wormhole_b0 | high | op1 | 1 | 2 | 1 | not known |",
    ]
    assert page.worst_lines(priced)[2:] == [
        "| eltwise | wormhole_b0 | 5 | 1.60 | op1 1 us priced 3, op0 1 us priced 1, op1 1 us priced 1.6 |",
        "| matmul | wormhole_b0 | 1 | 0.30 | op0 2 us priced 0.6 |",
    ]
    assert len(page.worst_lines(priced, most=1)) == 3
