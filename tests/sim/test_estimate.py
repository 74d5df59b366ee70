"""The estimator prices the training tables from configuration columns, and refuses tables of any kind that it cannot read."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ttnn_shim.calibrate import SFPU, Problem, load, mask_of, parameters_of, read_constants, read_table, score
from ttnn_shim.estimate import MEASURED, EstimateError, estimate_csv, tensor
from ttnn_shim.simlib import SimulatorError, simulator

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "hardware"
ARCH = ROOT / "ttnn_shim" / "arch"
TABLES = ("ops", "gemm", "eltwise_exp", "matmul_height_sharded")
# Median and 90th percentile of the absolute error on the training rows with the committed constants.
LIMITS = {
    "ops": (5.0, 20.0),
    "gemm": (2.0, 7.0),
    "gemm_wall": (2.5, 7.0),
    "eltwise_exp": (0.6, 5.0),
    "matmul_height_sharded": (1.0, 3.5),
}


def rows_of(table: str, step: int) -> list[dict[str, str]]:
    return read_table(DATA / f"{table}.train.csv.gz")[::step]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load(DATA, simulator())


@pytest.mark.parametrize("table", list(LIMITS))
def test_training_rows_are_reproduced(problem: Problem, table: str) -> None:
    made = score(problem, problem.predict(), mask_of(problem, table=table))
    median, p90 = LIMITS[table]
    assert made.median <= median, str(made)
    assert made.p90 <= p90, str(made)
    assert made.rho >= 0.99, str(made)


@pytest.mark.parametrize("table", TABLES)
def test_measured_columns_are_not_read(tmp_path: Path, table: str) -> None:
    rows = rows_of(table, 40)
    blank = [{k: "" if MEASURED.match(k) else v for k, v in row.items()} for row in rows]
    assert estimate_csv(write(tmp_path / "full.csv", rows), tmp_path / "a.csv") == []
    estimate_csv(write(tmp_path / "blank.csv", blank), tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    made = read_table(tmp_path / "a.csv")
    assert [r["id"] for r in made] == [r["id"] for r in rows]
    assert all(float(r["predicted_ns"]) > 0 for r in made)
    assert all(bool(r["predicted_wall_ns"]) == (table == "gemm") for r in made)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("ops", "inputs"),
        ("gemm", "dtype"),
        ("eltwise_exp", "in_mem"),
        ("matmul_height_sharded", "num_cores"),
        ("singles", "config"),
        ("singles", "chip"),
        ("layers", "op_count"),
        ("pairs", "variant_b"),
    ],
)
def test_a_missing_column_is_named(tmp_path: Path, table: str, column: str) -> None:
    rows = [{k: v for k, v in row.items() if k != column} for row in rows_of(table, 500)]
    published = table not in TABLES
    with pytest.raises(EstimateError, match=f"column '{column}': missing" + f" .needed for a row of {table}" * published):
        estimate_csv(write(tmp_path / "in.csv", rows), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("table", "column", "value", "what"),
    [
        ("ops", "inputs", "{oops", "not JSON"),
        ("ops", "attrs", "[1]", "expected a JSON object"),
        ("ops", "inputs", '[{"padded": [32, 32], "dtype": "f1", "mem": "dram_interleaved", "layout": "tile"}]', "unknown dtype 'f1'"),
        ("ops", "inputs", '[{"padded": [32, 32], "dtype": "bfloat16", "layout": "tile"}]', "tensor 0: needs padded, dtype, mem, layout"),
        ("ops", "inputs", "[7]", "tensor 0: needs padded, dtype, mem, layout"),
        ("ops", "outputs", "[]", "is empty"),
        ("gemm", "dtype", "f1", "unknown value 'f1'"),
        ("gemm", "grid_size", "(0, 4)", "is no grid of a"),
        ("gemm", "grid_size", "(4, 0)", "is no grid of a"),
        ("eltwise_exp", "padded_shape", "[32, ", "expected a list of integers"),
        ("eltwise_exp", "padded_shape", "[]", "expected a list of positive integers"),
        ("eltwise_exp", "padded_shape", "[32, 0]", "expected a list of positive integers"),
        ("eltwise_exp", "padded_shape", "32", "expected a list of positive integers"),
        ("ops", "available_cores", "141", "no chip has more than 140"),
        ("ops", "arch", "grayskull", "unknown value 'grayskull'"),
        ("ops", "available_cores", "many", "expected an integer"),
        ("gemm", "M", "-5", "expected an integer of at least 1"),
        ("gemm", "math_fidelity", "HiFi9", "unknown value 'HiFi9'"),
        ("gemm", "grid_size", "8", "expected"),
        ("gemm", "grid_size", "(400, 400)", "is no grid of a"),
        ("gemm", "M", "99999999999", "GB of DRAM"),
        ("ops", "available_cores", "9000", "no chip has more than 140"),
        ("matmul_height_sharded", "num_cores", "65", "64 worker cores"),
        ("eltwise_exp", "padded_shape", "[32, 'x']", "expected a list of positive integers"),
        ("matmul_height_sharded", "K", "", "is empty"),
        ("singles", "config", "{oops", "not JSON"),
        ("singles", "config", "[1]", "expected a JSON object"),
        ("singles", "arch", "grayskull", "unknown value 'grayskull'"),
        ("layers", "op_count", "some", "expected an integer"),
        ("pairs", "variant_a", "7", "expected a JSON object"),
        ("pairs", "id", "", "is empty"),
    ],
)
def test_junk_is_refused_with_row_and_column(tmp_path: Path, table: str, column: str, value: str, what: str) -> None:
    rows = rows_of(table, 1)[:3]
    rows[1] = {**rows[1], column: value}
    with pytest.raises(EstimateError, match=f"row 2, column '{column}': .*{what}"):
        estimate_csv(write(tmp_path / "in.csv", rows), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_rows_with_more_cells_than_columns_and_files_that_cannot_be_written(tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", rows_of("ops", 400))
    with pytest.raises(EstimateError, match="cannot write"):
        estimate_csv(source, tmp_path / "missing" / "out.csv")
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(EstimateError, match="cannot write"):
        estimate_csv(source, tmp_path / "out.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv"]
    source.write_text(source.read_text().rstrip("\n") + ",1,2\n")
    with pytest.raises(EstimateError, match="more cells than columns"):
        estimate_csv(source, tmp_path / "made.csv")


def test_no_prediction_is_invented(tmp_path: Path) -> None:
    rows = rows_of("ops", 60)
    rows[0] = {**rows[0], "op": "an_op_of_the_future"}
    assert estimate_csv(write(tmp_path / "in.csv", rows), tmp_path / "out.csv") == [rows[0]["id"]]
    assert read_table(tmp_path / "out.csv")[0]["predicted_ns"] == ""


def test_generated_tables_are_in_step() -> None:
    assert subprocess.run([sys.executable, str(ARCH / "generate.py"), "--check"], check=False).returncode == 0


def test_fitted_constants_are_few_and_documented() -> None:
    constants = read_constants(ARCH)
    parameters = parameters_of(constants)
    assert len(parameters) <= 160
    assert all(row["unit"] and row["source"] for row in constants)
    # Functions that are one program share its number; the ratio is that of the starting values.
    by_name = {row["name"]: row for row in constants}
    followers = {name: (float(by_name[leader.name]["blackhole"]), ratio) for leader in parameters for name, ratio in leader.followers}
    assert followers[SFPU + "SILU"][1] == pytest.approx(1.06)
    assert all(float(by_name[name]["blackhole"]) == pytest.approx(value * ratio, rel=1e-3) for name, (value, ratio) in followers.items())
    with pytest.raises(ValueError, match=r"no row 'sfpu\.NOTHING' that is fitted as 'shared'"):
        parameters_of([{**by_name[SFPU + "SILU"], "fitted": "as NOTHING"}])


def test_every_unary_op_has_a_cost_with_source() -> None:
    """No silent default: what the device ops can ask for is in the table, what is not in it is refused."""
    with open(ARCH / "sfpu.csv", newline="", encoding="utf-8") as handle:
        rows = {row["op"]: row for row in csv.DictReader(handle)}
    assert all(row["unit"] and row["source"] for row in rows.values())
    table = json.loads((ROOT / "ttnn_shim" / "python" / "ttnn" / "_signatures.json").read_text(encoding="utf-8"))
    assert table["enums"]["ttnn.UnaryOpType"][1].keys() <= rows.keys() | {"EXP", "RELU"}
    sim = simulator()
    page = tensor([32, 32], "bfloat16")
    config = {"op": "unary", "inputs": [page], "outputs": [page], "attrs": {"ops": ["NO_SUCH_OP"]}}
    with pytest.raises(SimulatorError, match="NO_SUCH_OP"):
        sim.price(sim.arch("n150"), sim.config(config))


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("softmax", {"dims": -1}, "softmax has no attribute 'dims'; known: .*dim, numeric_stable"),
        ("softmax", {"dim": "last"}, "softmax: attribute 'dim' must be a number"),
        ("softmax", {"numeric_stable": 1}, "must be true or false"),
        ("unary", {"ops": [1]}, "must be a string"),
        ("unary", {"ops": "EXP"}, "must be a list"),
        ("halo", {"window_hw": [3]}, "must be a list of 2 numbers"),
        ("move", {"dim": 1}, "known: core_count, selector, traced"),
    ],
)
def test_attributes_that_an_operation_does_not_have(op: str, attributes: dict[str, Any], message: str) -> None:
    page = tensor([32, 32], "bfloat16")
    with pytest.raises(SimulatorError, match=message):
        simulator().config({"op": op, "inputs": [page], "outputs": [page], "attrs": attributes})


def test_strategy_has_no_machine_constants() -> None:
    """They stand in arch/constants.csv with unit and source; one half is geometry (two data movement cores, a causal triangle)."""
    fraction = re.compile(r"(?<![\w.])\d+\.\d*[1-9]\d*")
    cycles = re.compile(r"(?:coupling|extra_cycles|round_cycles|head_cycles) \+?= \d")
    for path in sorted((ARCH.parent / "src" / "strategy").glob("*.cpp")):
        code = [re.sub(r"//.*|\"[^\"]*\"", "", line) for line in path.read_text(encoding="utf-8").splitlines()]
        found = [line for line in code if set(fraction.findall(line)) - {"0.5"} or cycles.search(line)]
        assert not found, f"{path.name}: {found}"


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(EstimateError, match="cannot read"):
        estimate_csv(tmp_path / "nothing.csv", tmp_path / "out.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(EstimateError, match="no header"):
        estimate_csv(tmp_path / "empty.csv", tmp_path / "out.csv")
    (tmp_path / "binary.csv").write_bytes(bytes(range(128, 256)))
    with pytest.raises(EstimateError, match="cannot read"):
        estimate_csv(tmp_path / "binary.csv", tmp_path / "out.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(EstimateError, match="missing"):
        estimate_csv(tmp_path / "other.csv", tmp_path / "out.csv")
