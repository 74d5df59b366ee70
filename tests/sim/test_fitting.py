"""The calibrator on a machine whose constants are known: it finds them, predicts what it was not fitted to, and writes what it found."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tools.calibration import calibrate, fit, problem, scores
from tools.calibration.accuracy import price_floor, ridge_baseline
from tools.calibration.problem import Observation, Parameter, Problem, fold_of

TRUE = {"start": {"a": 400.0, "b": 900.0}, "tile": {"a": 50.0, "b": 50.0}, "twin": {"a": 100.0, "b": 100.0}}
ARCHS = {"a": [0], "b": [1]}


class Machine:
    """Prices (architecture, tiles): start + tiles * tile of kernel time in column 0, with twice the tiles on the wall in column 1."""

    def __init__(self) -> None:
        self.constants: dict[tuple[int, str], float] = {(arch, name): 1.0 for arch in (0, 1) for name in TRUE}
        self.priced = 0

    def set(self, archs: list[int], name: str, value: float) -> None:
        for arch in archs:
            self.constants[arch, name] = value

    def price_many(self, archs: list[int], programs: list[int]) -> list[tuple[float, float, float]]:
        self.priced += len(programs)
        rows = []
        for arch, tiles in zip(archs, programs, strict=True):
            start, tile, twin = (self.constants[arch, name] for name in ("start", "tile", "twin"))
            rows.append((start + tiles * tile, start + tiles * (tile + twin), math.nan))
        return rows


def time_of(family: str, tiles: int, wall: bool = False) -> float:
    return TRUE["start"][family] + tiles * (TRUE["tile"][family] + (TRUE["twin"][family] if wall else 0.0))


def observation(number: int, family: str, tiles: int, **given: Any) -> Observation:
    table = given.get("table", "ops")
    truth = time_of(family, tiles, table == "gemm_wall")
    fields = {"row_id": f"r{number}", "table": table, "op": "add", "family": family, "trace": f"t{number % 2}", "group": f"g{number}"}
    return Observation(**(fields | {"truth": truth, "size": float(tiles), "parts": ((ARCHS[family][0], tiles),), "column": int(table == "gemm_wall")} | given))


def small_problem(table: str = "ops") -> Problem:
    rows = [
        observation(number, "ab"[number % 2], tiles, table=table) for number, tiles in enumerate((1, 2, 4, 8, 16, 32, 64, 128, 3, 5, 9, 17, 33, 65, 129, 1))
    ]
    return Problem(Machine(), rows, ARCHS)  # type: ignore[arg-type]


PARAMETERS = [
    Parameter("start", ("a",), 300.0, 1.0),
    Parameter("start", ("b",), 700.0, 1.0),
    Parameter("tile", ("a", "b"), 70.0, 1.0, (("twin", 2.0),)),
]
FOUND = [400.0, 900.0, 50.0]
# Of the fit from far away, step by step: how fast it gets there is part of what it does.
COSTS = [1337.6, 1156.1, 976.0, 798.8, 627.3, 470.6, 384.3, 300.2, 216.9, 134.1, 53.6, 8.3, 5.6, 5.6]


@pytest.mark.parametrize("every", [1, 3])
def test_constants_are_found(every: int, capsys: pytest.CaptureFixture[str]) -> None:
    asked = small_problem()
    done = fit.fit(asked, PARAMETERS, np.ones(16, bool), verbose=True, every=every)
    np.testing.assert_allclose(done.values, FOUND, rtol=0.01)
    np.testing.assert_allclose(done.predictions, asked.truth, rtol=0.005)
    assert done.cost < 1.0  # what the starting values weigh
    assert done.jacobian.shape == (16, 3)
    assert asked.sim.constants[1, "twin"] == pytest.approx(2 * done.values[2])  # type: ignore[attr-defined]
    assert "iteration 0: cost" in capsys.readouterr().err
    # Each start moves the rows of its own family alone.
    family = np.array([one.family for one in asked.observations])
    assert not done.jacobian[family == "b", 0].any()
    assert (done.jacobian[family == "b", 1] > 0).all()
    assert (done.jacobian[:, 2] > 0).all()


def test_a_strong_belief_holds_a_constant_where_it_starts() -> None:
    held = [Parameter("start", ("a",), 300.0, 1e-4), *PARAMETERS[1:]]
    done = fit.fit(small_problem(), held, np.ones(16, bool))
    assert done.values[0] == pytest.approx(300.0, rel=0.01)
    assert done.cost > 10


def test_one_wrong_row_of_many_moves_little() -> None:
    asked = small_problem()
    asked.truth[4] *= 5
    done = fit.fit(asked, PARAMETERS, np.ones(16, bool))
    np.testing.assert_allclose(done.values, FOUND, rtol=0.1)


def test_rows_that_are_held_back_are_priced_only_at_the_end() -> None:
    asked = small_problem()
    train = np.array([one.family == "a" for one in asked.observations])
    done = fit.fit(asked, PARAMETERS[:1] + PARAMETERS[2:], train, iterations=1)
    machine: Any = asked.sim
    assert machine.priced < 8 * 16
    np.testing.assert_allclose(done.predictions[~train], [1 + one.size * 50 for one in asked.observations if one.family == "b"], rtol=0.2)


def test_folds_predict_what_they_have_not_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = small_problem()
    out, values = fit.cross_validate(asked, PARAMETERS, verbose=True)
    assert len(values) == problem.FOLDS
    np.testing.assert_allclose(out, asked.truth, rtol=0.02)
    assert [line.partition(":")[0] for line in capsys.readouterr().err.splitlines() if line.startswith("fold")] == [f"fold {k}" for k in range(5)]
    fit.write_folds(tmp_path / "made" / "folds.json", PARAMETERS, values)
    read = fit.read_folds(tmp_path / "made" / "folds.json", PARAMETERS)
    np.testing.assert_allclose(read, values)
    np.testing.assert_allclose(fit.predict_by_folds(asked, PARAMETERS, read), out, rtol=1e-9)
    with pytest.raises(ValueError, match="not the fitted constants of 5 folds"):
        fit.read_folds(tmp_path / "made" / "folds.json", PARAMETERS[:2])
    fit.write_folds(tmp_path / "made" / "folds.json", PARAMETERS, values[:4])
    with pytest.raises(ValueError, match="run calibrate --write-folds again"):
        fit.read_folds(tmp_path / "made" / "folds.json", PARAMETERS)
    assert [one.label for one in PARAMETERS] == ["start [a]", "start [b]", "tile"]
    assert [fold_of(name) for name in ("g0", "g1", "g2", "g3", "a group")] == [4, 0, 4, 1, 2]  # the folds of every earlier run
    assert {fold_of(f"g{number}") for number in range(40)} == set(range(5))


def test_committed_constants_are_judged_as_they_are() -> None:
    asked = small_problem()
    rows = [{"name": name, **{family: str(value) for family, value in values.items()}} for name, values in TRUE.items()]
    before = problem.FAMILIES
    problem.FAMILIES = ("a", "b")  # type: ignore[misc,assignment]
    try:
        done = fit.committed(asked, PARAMETERS, rows)
    finally:
        problem.FAMILIES = before  # type: ignore[misc]
    np.testing.assert_allclose(done.values, FOUND)
    np.testing.assert_allclose(done.predictions, asked.truth)
    assert math.isnan(done.cost)
    share = np.array([TRUE["start"][one.family] / one.truth for one in asked.observations])
    np.testing.assert_allclose(done.jacobian[:, 0] + done.jacobian[:, 1], share, rtol=0.03)
    np.testing.assert_allclose(done.jacobian.sum(1), 1.0, rtol=0.03)
    assert asked.sim.constants == {(arch, name): TRUE[name][family] for family, (arch,) in ARCHS.items() for name in TRUE} | {  # type: ignore[attr-defined]
        (arch, "twin"): 100.0 for arch in (0, 1)
    }


def test_sums_of_programs_and_times_that_no_constant_changes() -> None:
    one = observation(0, "a", 4, parts=((0, 4), (0, 8), (0, 4)), fixed_ns=1000.0)
    asked = Problem(Machine(), [one, observation(1, "b", 2)], ARCHS)  # type: ignore[arg-type]
    asked.set(PARAMETERS, np.array(FOUND))
    assert len(asked.jobs) == 3
    np.testing.assert_allclose(asked.predict(), [1000 + 3 * 400 + 16 * 50, 900 + 100])
    only = asked.jobs_of(np.array([False, True]))
    assert only.tolist() == [False, False, True]
    priced = asked.predict(only)
    assert math.isnan(priced[0])
    assert priced[1] == 1000


@pytest.mark.parametrize("table", ["eltwise_exp", "matmul_height_sharded", "ops"])
def test_sweeps_are_thinned(table: str) -> None:
    rows = [observation(number, "a", 1 + number, table=table) for number in range(30)]
    kept = problem.thin(Problem(Machine(), rows, ARCHS))  # type: ignore[arg-type]
    assert np.flatnonzero(kept).tolist() == (list(range(30)) if table == "ops" else [0, 12, 24])


def test_larger_sizes_are_predicted() -> None:
    asked = small_problem()
    for number, one in enumerate(asked.observations):
        one.op = "few" if number > 12 else "add"
    by_size = fit.leave_sizes_out(asked, PARAMETERS)
    assert list(by_size) == ["add", "all"]
    held = [one.size for one in asked.observations[:13] if one.size > float(np.median([o.size for o in asked.observations[:13]]))]
    assert by_size["add"].n == by_size["all"].n == len(held) == 6
    assert by_size["add"].p90 < 2
    assert list(fit.leave_sizes_out(asked, PARAMETERS, minimum=14)) == ["all"]


def test_rows_that_are_predicted_teach_nothing() -> None:
    """What is held back took three times as long as the machine would: whoever learns from it predicts it."""
    asked = small_problem()
    large = np.array([one.size > 9 for one in asked.observations])
    asked.truth[large] *= 3
    by_size = fit.leave_sizes_out(asked, PARAMETERS)
    assert by_size["add"].n == large.sum()
    assert by_size["add"].median == pytest.approx(100 * 2 / 3, abs=3)


def test_least_squares_predict_rows_that_they_have_not_seen() -> None:
    asked = small_problem()
    for number, one in enumerate(asked.observations):
        one.family, one.group = "a", f"g{number}"
        asked.truth[number] = 200 + 3 * one.size
    features = np.stack([np.ones(16), [one.size for one in asked.observations]], axis=1)
    np.testing.assert_allclose(ridge_baseline(asked, features), asked.truth, rtol=1e-3)
    asked.truth[3] *= 10
    assert ridge_baseline(asked, features)[3] == pytest.approx(asked.truth[3] / 10, rel=1e-3)
    asked.truth[3] /= 10
    asked.observations[5].op = "alone"  # nothing to learn from
    found = ridge_baseline(asked, features)
    assert np.flatnonzero(np.isnan(found)).tolist() == [5]
    asked.truth[:] = 0.01 + asked.truth * 0
    assert (ridge_baseline(asked, features)[:5] == 1.0).all()  # no prediction below a nanosecond


@pytest.mark.parametrize(
    ("programs", "floor"), [(((0.5, 0.25, 1000.0), (0.125, 0.25, 4000.0)), 1500.0), (((0.5, 0.25, 240.0),), 120.0), (((0.5, 0.25, 160.0),), 100.0)]
)
def test_ideal_times(programs: tuple[tuple[float, float, float], ...], floor: float) -> None:
    prices = [SimpleNamespace(dram_utilisation=dram, fpu_utilisation=fpu, ns=ns) for dram, fpu, ns in programs]
    machine: Any = SimpleNamespace(price=lambda arch, config: prices[arch - config])
    one = observation(0, "a", 1, parts=tuple((7 + index, 7) for index in range(len(prices))))
    assert price_floor(Problem(machine, [one], ARCHS), one) == pytest.approx(floor)


def test_steps_of_a_fit(capsys: pytest.CaptureFixture[str]) -> None:
    """From a start that a full step overshoots: damped until the cost falls, and ended when it hardly does."""
    far = [Parameter("start", ("a",), 3.0, 3.0), Parameter("start", ("b",), 90000.0, 3.0), Parameter("tile", ("a", "b"), 5.0, 3.0, (("twin", 2.0),))]
    done = fit.fit(small_problem(), far, np.ones(16, bool), iterations=40, verbose=True)
    costs = [float(line.rpartition(" ")[2]) for line in capsys.readouterr().err.splitlines()]
    assert costs == sorted(costs, reverse=True)
    assert costs == COSTS
    np.testing.assert_allclose(done.values, FOUND, rtol=0.05)


def test_a_fit_to_times_that_scatter() -> None:
    """Steps that make it worse are damped five times as much, others a quarter of it, none by more than 0.4; it ends where the cost falls by less than 1e-4."""
    asked = small_problem()
    asked.truth[:] *= np.exp(np.random.default_rng(73).normal(0, 2.5, 16))
    believed = [Parameter("start", ("a",), 300.0, 3.0), Parameter("start", ("b",), 700.0, 3.0), Parameter("tile", ("a", "b"), 70.0, 3.0, (("twin", 2.0),))]
    done = fit.fit(asked, believed, np.ones(16, bool), iterations=9)
    np.testing.assert_allclose(done.values, [8.197117, 1695.224769, 128.378485], rtol=3e-5)


def test_what_is_written(tmp_path: Path) -> None:
    rows = [
        *({"name": name, "a": "1", "b": "2", "fitted": "both", "unit": "ns"} for name in ("start", "tile", "twin")),
        {"op": "exp", "name": "sfpu.exp", "a": "3", "b": "4"},
    ]
    calibrate.write_constants(tmp_path, rows, [*PARAMETERS, Parameter("sfpu.exp", ("b",), 1.0, 1.0)], np.array([400.123456, 900.0, 50.0, 7.0]))
    with open(tmp_path / "constants.csv", encoding="utf-8") as file:
        assert [[row["name"], row["a"], row["b"], row["unit"]] for row in csv.DictReader(file)] == [
            ["start", "400.12", "900", "ns"],
            ["tile", "50", "50", "ns"],
            ["twin", "100", "100", "ns"],
        ]
    assert (tmp_path / "sfpu.csv").read_text() == "op,a,b\nexp,3,7\n"
    asked = Problem(
        Machine(),  # type: ignore[arg-type]
        [observation(0, "a", 4, table="gemm", row_id="x"), observation(1, "a", 4, table="gemm_wall", row_id="x"), observation(2, "b", 2)],
        ARCHS,
    )
    calibrate.write_predictions(tmp_path / "made.csv", asked, np.array([600.04, 1000.0, 1.25]))
    assert (tmp_path / "made.csv").read_text() == "id,predicted_ns,predicted_wall_ns\nx,600.0,1000.0\nr2,1.2,\n"


def test_scores() -> None:
    asked = small_problem()
    mask = problem.mask_of(asked, family="a", trace="t0")
    assert mask.sum() == 8
    made = scores.score(asked, asked.truth * np.linspace(1.0, 1.16, 16)[np.argsort(np.argsort(asked.truth))], mask)
    assert str(scores.Score(8, 1.25, 9.96, 0.12345)) == "8 | 1.2 | 10.0 | 0.123"
    assert (made.n, made.rho) == (8, pytest.approx(1.0))
    assert 0 < made.median < made.p90 < 16
    assert scores.spearman(np.array([1.0, 2.0, 2.0, 3.0]), np.array([4.0, 3.0, 3.0, 1.0])) == pytest.approx(-1.0)
    assert math.isnan(scores.spearman(np.array([1.0, 2.0]), np.array([1.0, 2.0])))
    assert scores.spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])) == pytest.approx(0.5)
    assert math.isnan(scores.quantile([], 0.5))
    assert scores.quantile([0.0, 10.0], 0.25) == 2.5


def test_tables_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no \w+\.train\.csv"):
        calibrate.load(tmp_path, Machine())  # type: ignore[arg-type]


def constant(name: str, fitted: str, wormhole: str = "2", blackhole: str = "3") -> dict[str, str]:
    return {"name": name, "fitted": fitted, "sigma": "0.5", "start_wormhole_b0": wormhole, "start_blackhole": blackhole}


def test_fitted_numbers_of_a_table() -> None:
    rows = [
        *(constant("fixed", "no"), constant("each", "both"), constant("one", "wormhole_b0"), constant("other", "blackhole"), constant("tile", "shared")),
        *(
            constant("twin", "as tile", "7", "6"),
            constant("half", "as tile", "7", "1.5"),
            constant("sfpu.exp", "shared"),
            constant("sfpu.exp2", "as exp", "2", "12"),
        ),
    ]
    assert problem.parameters_of(rows) == [
        Parameter("each", ("wormhole_b0",), 2.0, 0.5),
        Parameter("each", ("blackhole",), 3.0, 0.5),
        Parameter("one", ("wormhole_b0",), 2.0, 0.5),
        Parameter("other", ("blackhole",), 3.0, 0.5),
        Parameter("tile", ("wormhole_b0", "blackhole"), 3.0, 0.5, (("twin", 2.0), ("half", 0.5))),
        Parameter("sfpu.exp", ("wormhole_b0", "blackhole"), 3.0, 0.5, (("sfpu.exp2", 4.0),)),
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([constant("tile", "shared"), constant("twin", "as tiles")], "twin: fitted 'as tiles': no row 'tiles' that is fitted as 'shared'"),
        ([constant("tile", "both"), constant("twin", "as tile")], "twin: fitted 'as tile': no row 'tile' that is fitted as 'shared'"),
        ([constant("exp", "shared"), constant("sfpu.twin", "as exp")], "sfpu.twin: fitted 'as exp': no row 'sfpu.exp' that is fitted as 'shared'"),
        ([constant("tile", "maybe")], "constants.csv: tile: fitted must be no, both, shared, a family or 'as NAME', not 'maybe'"),
    ],
)
def test_tables_of_constants_that_are_wrong(rows: list[dict[str, str]], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        problem.parameters_of(rows)
