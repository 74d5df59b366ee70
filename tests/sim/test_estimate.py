"""The estimator prices the training tables from configuration columns, and refuses tables of any kind that it cannot read."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from ttnn_shim.estimate import MEASURED, EstimateError, estimate_csv, price_csv, tensor
from ttnn_shim.row_attrs import op_attributes, paddings
from ttnn_shim.simlib import SimulatorError, simulator

from tests.tables import table
from tools.calibration.calibrate import load
from tools.calibration.problem import SFPU, Problem, mask_of, parameters_of, read_constants
from tools.calibration.rows import read_table
from tools.calibration.scores import score

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
    assert {one.table for one in problem.observations} == LIMITS.keys()
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


@table(
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
    rows[:3] = {**rows[0], "op": "an_op_of_the_future"}, {**rows[1], "arch": "grayskull"}, {**rows[2], "source_file": "ops_2023_12_31.csv"}
    reasons = price_csv(write(tmp_path / "in.csv", rows), tmp_path / "out.csv")
    whys = "no model of the op 'an_op_of_the_future'", "no model of the chip 'grayskull'", "no model of the release of 2023-12"
    assert reasons == dict(zip((row["id"] for row in rows), whys, strict=False))
    assert [row["id"] for row in read_table(tmp_path / "out.csv") if row["predicted_ns"] == ""] == list(reasons)
    calls = rows_of("singles", 1)[:2]
    calls[0] = {**calls[0], "arch": "grayskull"}
    assert price_csv(write(tmp_path / "in.csv", calls), tmp_path / "out.csv")[calls[0]["id"]] == "no model of the chip 'grayskull'"


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


WINDOW = {"input_hw": [8, 9], "window_hw": 3, "stride_hw": [1, 2]}


@table(
    ("op", "attributes", "kernels", "wanted"),
    [
        ("halo", {"config": WINDOW}, "", {"batch": 1, "input_hw": [8, 9], "window_hw": [3, 3], "stride_hw": [1, 2], "dilation_hw": [1, 1], "padding": [0, 0, 0, 0],
                                          "num_cores_nhw": 1, "is_out_tiled": False, "config_in_dram": False, "in_nsticks": 0}),
        ("halo", {"config": {**WINDOW, "batch_size": 2, "dilation_hw": 2, "padding": [1, 2], "num_cores_nhw": 7}, "is_out_tiled": 1, "config_tensors_in_dram": True, "in_nsticks_per_core": 5},
         "", {"batch": 2, "input_hw": [8, 9], "window_hw": [3, 3], "stride_hw": [1, 2], "dilation_hw": [2, 2], "padding": [1, 1, 2, 2],
              "num_cores_nhw": 7, "is_out_tiled": True, "config_in_dram": True, "in_nsticks": 5}),
        ("pool2d", {}, "", {"max": True}),
        ("pool2d", {"pool_type": "AVG_POOL2D", "sliding_window_config": {"window_hw": [2, 3]}}, "", {"max": False, "window_hw": [2, 3]}),
        ("conv2d", {}, "", {"act_block_h": 1, "act_block_w": 1, "subblock_h": 1, "subblock_w": 1, "per_core_m": 1, "per_core_n": 1, "num_cores_nhw": 1, "num_cores_c_in": 1,
                            "num_cores_c_out": 1, "untilize_out": False, "groups": 1, "split_reader": False, "act_double_buffer": False, "weights_double_buffer": False}),
        ("conv2d", {"block_config": {"act_block_h_ntiles": 2, "act_block_w_ntiles": 3, "out_subblock_h_ntiles": 4, "out_subblock_w_ntiles": 5},
                    "parallelization_config": {"per_core_out_matrix_height_ntile": 6, "per_core_out_matrix_width_ntile": 7, "num_cores_nhw": 8, "num_cores_c": 9},
                    "sliding_window_config": {"window_hw": 3}, "untilize_out": True, "groups": 10, "enable_split_reader": True, "enable_act_double_buffer": True, "enable_weights_double_buffer": True},
         "", {"window_hw": [3, 3], "act_block_h": 2, "act_block_w": 3, "subblock_h": 4, "subblock_w": 5, "per_core_m": 6, "per_core_n": 7, "num_cores_nhw": 8, "num_cores_c_in": 9,
              "num_cores_c_out": 9, "untilize_out": True, "groups": 10, "split_reader": True, "act_double_buffer": True, "weights_double_buffer": True}),
        ("matmul", {}, "", {"transpose_a": False, "transpose_b": False}),
        ("matmul", {"program_config": {"in0_block_w": 2}}, "", {"transpose_a": False, "transpose_b": False}),
        ("matmul", {"transpose_a": 1, "transpose_b": True, "program_config": {"_": "1D", "in0_block_w": 2, "per_core_M": 3, "per_core_N": 4, "out_block_h": 5, "out_block_w": 6,
                                                                             "out_subblock_h": 7, "out_subblock_w": 8, "mcast_in0": 0, "more": 9}},
         "", {"transpose_a": True, "transpose_b": True, "program_config": "1D", "in0_block_w": 2, "per_core_M": 3, "per_core_N": 4, "out_block_h": 5, "out_block_w": 6,
              "out_subblock_h": 7, "out_subblock_w": 8, "mcast_in0": False}),
        ("minimal_matmul", {"config": {"M_block_size": 1, "N_block_size": 2, "K_block_size": 3, "subblock_h": 4}}, "", {"M_block_size": 1, "N_block_size": 2, "K_block_size": 3}),
        ("unary", {"unary_ops": ["EXP(1)", {"op": "RELU", "param": 0}]}, "", {"ops": ["EXP", "RELU"]}),
        ("unary", {}, "", {"ops": []}),
        ("binary", {}, "", {"op": "ADD", "broadcast": "NONE", "is_sfpu": False, "scalar": False, "post_ops": []}),
        ("binary", {"binary_op_type": "MUL", "subtile_broadcast_type": "ROW_B", "is_sfpu": 1, "scalar": 2, "activations": ["RELU"]}, "x/eltwise_binary_kernel.cpp",
         {"op": "MUL", "broadcast": "ROW_B", "is_sfpu": True, "scalar": True, "post_ops": ["RELU"], "legacy": True}),
        ("binary", {"post_activations": ["EXP"], "activations": ["RELU"]}, "bcast_h.cpp", {"op": "ADD", "broadcast": "NONE", "is_sfpu": False, "scalar": False, "post_ops": ["EXP"], "legacy": True}),
        ("groupnorm", {}, "", {"num_groups": 1, "out_row_major": False, "grid": [0, 0]}),
        ("groupnorm", {"num_groups": 4, "program_config": {"output_layout": "ROW_MAJOR", "compute_with_storage_grid_size": {"x": 8, "y": 7}}}, "",
         {"num_groups": 4, "out_row_major": True, "grid": [8, 7]}),
        ("upsample", {}, "", {"scale_hw": [1, 1], "mode": "nearest"}),
        ("upsample", {"scale_factor_h": 2, "scale_factor_w": 3, "mode": "bilinear"}, "", {"scale_hw": [2, 3], "mode": "bilinear"}),
        ("layernorm", {"norm_type": "RMSNORM"}, "", {"rms": True}),
        ("layernorm", {"norm_type": "LAYERNORM"}, "", {"rms": False}),
        ("softmax", {"dim": 3, "numeric_stable": True, "inplace": 1}, "", {"dim": 3, "numeric_stable": True}),
        ("slice", {"slice_start": [0, 1], "slice_end": [2, "3"], "step": 1}, "", {"begins": [0, 1]}),
        ("concat", {"dim": True}, "", {}),
        ("transpose", {"dim": "WH"}, "", {"dim": "WH"}),
        ("update_cache", {"op_type": "UPDATE"}, "", {"op": "UPDATE", "positions": False}),
        ("update_cache", {"op_type": "FILL"}, "", {}),
        ("tilize_with_val_padding", {}, "", {}),
        ("tilize_with_val_padding", {}, "tilize.cpp", {"blocks_2d": False}),
        ("tilize_with_val_padding", {}, "writer_both_dims.cpp", {"blocks_2d": True}),
    ],
)  # fmt: skip
def test_attributes_of_profiled_rows(op: str, attributes: dict[str, Any], kernels: str, wanted: dict[str, Any]) -> None:
    assert op_attributes(op, attributes, {"kernels": kernels}) == {"selector": "table", "traced": True} | wanted


@pytest.mark.parametrize(("value", "wanted"), [(0, [0, 0, 0, 0]), (2, [2, 2, 2, 2]), ([1, 2], [1, 1, 2, 2]), ([[1, 2], [3, 4]], [1, 2, 3, 4])])
def test_paddings(value: Any, wanted: list[int]) -> None:
    assert paddings(value) == wanted


def test_strategy_has_no_machine_constants() -> None:
    """They stand in arch/constants.csv with unit and source; one half is geometry (two data movement cores, a causal triangle)."""
    fraction = re.compile(r"(?<![\w.])\d+\.\d*[1-9]\d*")
    cycles = re.compile(r"(?:coupling|extra_cycles|round_cycles|head_cycles) \+?= \d")
    files = sorted((ARCH.parent / "src" / "strategy").glob("*.cpp"))
    assert len(files) > 10
    for path in files:
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
