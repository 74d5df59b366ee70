"""Price rows of the measurement tables from their configuration columns only: ops, gemm, eltwise_exp, matmul_height_sharded as device programs,
singles, layers and pairs (`published.py`) as calls of ttnn."""

from __future__ import annotations

import ast
import contextlib
import csv
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ttnn_shim.cells import Cells, EstimateError, Row
from ttnn_shim.dtypes import MEAN_BYTES, TILE_SIDE
from ttnn_shim.machine import ARCHITECTURES, cards
from ttnn_shim.published import price_rows
from ttnn_shim.row_attrs import op_attributes, shards_of, without_model
from ttnn_shim.simlib import SimulatorError, simulator

GRIDS = {20: (5, 4), 56: (8, 7), 64: (8, 8), 72: (8, 9), 110: (11, 10), 120: (12, 10), 130: (13, 10), 140: (14, 10)}
DTYPES = {"bfloat16", "float32", "bfloat8_b", "bfloat4_b", "uint32", "int32", "uint16", "uint8"}
FIDELITIES = {"LoFi", "HiFi2", "HiFi3", "HiFi4"}
MEASURED = re.compile(
    r"^(time_us|time_[ab]_us|winner|ratio_b_over_a|from_pair|kernel_ns.*|fw_ns|pm_.*|brisc_ns|ncrisc_ns|trisc.*|n|tflops|.*_util_pct|inference_time_avg_ns|wall_trace_ns)$"
)


ONE_RESULT = {"NlpCreateHeadsSegformerDeviceOperation": 1}
"""Recorded op name -> number of results, for ops of which the profiler lists more."""


@dataclass(frozen=True)
class Configured:
    """The configuration of one row: the machine and the op."""

    card: str
    grid: tuple[int, int]
    dram_banks: int
    config: dict[str, Any]
    table: str


def tensor(
    shape: list[int],
    dtype: str,
    mem: str = "dram_interleaved",
    layout: str = "tile",
    shard: dict[str, Any] | None = None,
    logical: list[int] | None = None,
) -> dict[str, Any]:
    """A tensor of an op configuration; `mem` as in the tables: dram_interleaved, l1_height_sharded ..."""
    buffer, _, memory = mem.partition("_")
    out: dict[str, Any] = {
        "logical": logical or shape,
        "padded": shape,
        "dtype": dtype,
        "layout": layout,
        "buffer": buffer,
        "memory": memory,
    }
    if shard:
        out["shard"] = shard
    return out


def grid_box(text: str) -> tuple[int, int]:
    """Bounding box of a core range set such as {[(x=0;y=0) - (x=4;y=3)]}."""
    points = [(int(x), int(y)) for x, y in re.findall(r"x=(\d+)[;,]\s*y=(\d+)", text)]
    if not points:
        return (0, 0)
    return (max(x for x, _ in points) + 1, max(y for _, y in points) + 1)


def shard_spec(spec: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Shard of the tables {grid, n, orient, shape} -> shard of an op configuration."""
    if not spec or "shape" not in spec:
        return None
    return {
        "shape": spec["shape"],
        "cores": int(spec.get("n") or 0),
        "grid": list(grid_box(str(spec.get("grid", "")))),
        "orient": spec.get("orient", "ROW_MAJOR"),
    }


def exp_row(cells: Cells) -> Configured:
    """eltwise_exp: `final` was measured on 8x7 cores, `big` on 8x8."""
    shape = cells.shape("padded_shape") if cells.row.get("padded_shape") else cells.shape("shape")
    dtype = cells.choice("dtype", DTYPES)
    source = tensor(shape, dtype, cells.text("in_mem"))
    config = {
        "op": "unary",
        "inputs": [source],
        "outputs": [tensor(shape, dtype, cells.text("out_mem_inferred"))],
        "attrs": {"ops": ["EXP"], "selector": "table"},
    }
    return Configured("n150", (8, 7) if cells.text("dataset") == "final" else (8, 8), 0, config, "eltwise_exp")


def height_sharded_row(cells: Cells) -> Configured:
    """matmul_height_sharded: A and output in L1 shards, B in DRAM, bf16 on n150."""
    m, k, n, cores = (cells.integer(c) for c in ("M", "K", "N", "num_cores"))
    if cores > 64:
        raise cells.fail("num_cores", f"an n150 has 64 worker cores, got {cores}")
    per_core = math.ceil(math.ceil(m / TILE_SIDE) / cores)
    tiled_k, tiled_n = -(-k // TILE_SIDE) * TILE_SIDE, -(-n // TILE_SIDE) * TILE_SIDE
    rows = per_core * TILE_SIDE * cores
    a = tensor([1, 1, rows, tiled_k], "bfloat16", "l1_height_sharded", shard={"shape": [per_core * TILE_SIDE, tiled_k], "cores": cores})
    out = tensor([1, 1, rows, tiled_n], "bfloat16", "l1_height_sharded", shard={"shape": [per_core * TILE_SIDE, tiled_n], "cores": cores})
    config = {
        "op": "matmul",
        "inputs": [a, tensor([1, 1, tiled_k, tiled_n], "bfloat16")],
        "outputs": [out],
        "compute": {"fidelity": "HiFi2", "packer_l1_acc": True},
        "attrs": {"selector": "table", "core_count": cores},
    }
    return Configured("n150", (8, 8), 0, config, "matmul_height_sharded")


def gemm_row(cells: Cells) -> Configured:
    """gemm: 2-D multicast sweep; manual rows carry their program config, the others were chosen by the older selector."""
    m, k, n = (cells.integer(c) for c in ("M", "K", "N"))
    dtype = cells.text("dtype").lower()
    if dtype not in DTYPES:
        raise cells.fail("dtype", f"unknown value {dtype!r}; known: {', '.join(sorted(DTYPES))}")
    try:
        gx, gy = (int(v) for v in ast.literal_eval(cells.text("grid_size")))
    except (ValueError, SyntaxError, TypeError):
        raise cells.fail("grid_size", "expected (x, y)") from None
    card = cells.choice("card", {card.name for card in cards().values()})
    most_x, most_y = cards()[card].tensix_grid
    if not (1 <= gx <= most_x and 1 <= gy <= most_y):
        raise cells.fail("grid_size", f"({gx}, {gy}) is no grid of a {card}, which has {most_x} x {most_y} cores")
    attrs: dict[str, Any] = {"selector": "table"}
    program = cells.json("program_config")
    if program:
        attrs |= {key: value for key, value in program.items() if key != "type"}
        attrs["program_config"] = str(program.get("type", "")) + "ProgramConfig"
    in0_l1, out_l1 = cells.text("in0_storage") == "L1", cells.text("out_storage") == "L1"

    def operand(rows: int, cols: int, l1: bool) -> dict[str, Any]:
        if not l1:
            return tensor([1, 1, rows, cols], dtype)
        shard = {"shape": [-(-rows // TILE_SIDE // gy) * TILE_SIDE, -(-cols // TILE_SIDE // gx) * TILE_SIDE], "cores": gx * gy, "grid": [gx, gy]}
        return tensor([1, 1, rows, cols], dtype, "l1_block_sharded", shard=shard)

    config = {
        "op": "matmul",
        "inputs": [operand(m, k, in0_l1), tensor([1, 1, k, n], dtype)],
        "outputs": [operand(m, n, out_l1)],
        "compute": {"fidelity": cells.choice("math_fidelity", FIDELITIES), "packer_l1_acc": True},  # the benchmark's setting, and the default
        "attrs": attrs,
    }
    return Configured(card, (gx, gy), 0, config, "gemm")


def ops_row(cells: Cells) -> Configured:
    """ops: one profiled device operation with its attributes."""
    arch = cells.choice("arch", set(ARCHITECTURES))
    cores = cells.integer("available_cores")
    if cores > 140:
        raise cells.fail("available_cores", f"no chip has more than 140 worker cores, got {cores}")
    card = cards()[arch].name
    banks = 7 if "p100" in (cells.row.get("system") or "") else 0
    attrs = cells.json("attrs") or {}
    if not isinstance(attrs, dict):
        raise cells.fail("attrs", "expected a JSON object")
    inferred = cells.json("in_shards_inferred") or []
    op = cells.text("op")

    row_cores = cells.integer("core_count") if cells.row.get("core_count") else 0

    def tensors(column: str) -> list[dict[str, Any]]:
        listed = cells.json(column) or []
        shards = [attrs.get("out_shard")] * len(listed)
        if column == "inputs":
            results = cells.json("outputs") or [{}]
            try:
                shards = shards_of(op, listed, inferred, results[0], attrs.get("out_shard"), int(row_cores))
            except (KeyError, TypeError, ValueError):
                raise cells.fail(column, "needs padded, dtype, mem, layout, and shards of two sizes") from None
        out = []
        for i, t in enumerate(listed):
            try:
                if t["dtype"] not in DTYPES:
                    raise cells.fail(column, f"unknown dtype {t['dtype']!r}")
                out.append(tensor(t["padded"], t["dtype"], t["mem"], t["layout"], shard_spec(shards[i]), t.get("logical")))
            except (KeyError, TypeError):
                raise cells.fail(column, f"tensor {i}: needs padded, dtype, mem, layout") from None
        return out

    inputs, outputs = tensors("inputs"), tensors("outputs")
    if not outputs:
        raise cells.fail("outputs", "is empty")
    if result_count := ONE_RESULT.get(cells.row.get("op_code") or ""):
        outputs = outputs[:result_count]
    try:
        mapped = op_attributes(op, attrs, cells.row)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise cells.fail("attrs", f"not the attributes of {op}: {error}") from None
    if row_cores:
        mapped["core_count"] = row_cores
    if op == "fill_cache":
        op, mapped = "update_cache", mapped | {"op": "FILL"}
    kernel_config = attrs.get("ckc") or {}
    fidelity = (kernel_config.get("fidelity") or cells.row.get("fidelity") or "HiFi4").strip()
    config = {
        "op": op,
        "inputs": inputs,
        "outputs": outputs,
        "attrs": mapped,
        "compute": {
            "fidelity": fidelity if fidelity in FIDELITIES else "HiFi4",
            "fp32_dest_acc": bool(kernel_config.get("fp32_dest_acc")),
            "math_approx": bool(kernel_config.get("approx")),
            "packer_l1_acc": bool(kernel_config.get("packer_l1_acc", True)),
        },
    }
    return Configured(card, GRIDS.get(cores, (cores, 1)), banks, config, "ops")


@dataclass(frozen=True)
class Table:
    """How to recognise a table and read its rows."""

    name: str
    columns: tuple[str, ...]
    convert: Callable[[Cells], Configured]


TABLES = (
    Table("eltwise_exp", ("id", "dataset", "shape", "dtype", "in_mem", "out_mem_inferred"), exp_row),
    Table("matmul_height_sharded", ("id", "M", "K", "N", "num_cores", "m_tiles_per_core"), height_sharded_row),
    Table(
        "gemm",
        (
            "id",
            "card",
            "M",
            "K",
            "N",
            "grid_size",
            "in0_storage",
            "out_storage",
            "dtype",
            "math_fidelity",
            "program_config",
        ),
        gemm_row,
    ),
    Table("ops", ("id", "arch", "op", "attrs", "inputs", "outputs", "available_cores"), ops_row),
)
# Tables whose rows are calls of ttnn: name, columns, the column that tells it from the others.
CALL_TABLES = {
    "singles": (("id", "chip", "arch", "op", "family", "config"), "config"),
    "layers": (("id", "chip", "arch", "model", "variant", "step", "op", "op_count", "config"), "step"),
    "pairs": (("id", "chip", "arch", "op", "variant_a", "variant_b"), "variant_a"),
}
MARKS = {"eltwise_exp": "dataset", "matmul_height_sharded": "m_tiles_per_core", "gemm": "grid_size", "ops": "attrs"}


def recognise_any(columns: list[str]) -> str:
    """Name of the table that these columns belong to; EstimateError naming what is missing."""
    tables = {t.name: (t.columns, MARKS[t.name]) for t in TABLES} | CALL_TABLES
    best = max(tables, key=lambda name: (tables[name][1] in columns, sum(c in columns for c in tables[name][0])))
    needed = tables[best][0]
    missing = [c for c in needed if c not in columns]
    if missing:
        raise EstimateError(0, missing[0], f"missing (needed for a row of {best}: {', '.join(needed)})")
    return best


def recognise(columns: list[str]) -> Table:
    """The table of device programs that these columns belong to; EstimateError naming what is missing."""
    name = recognise_any(columns)
    table = next((t for t in TABLES if t.name == name), None)
    if table is None:
        raise EstimateError(0, "", f"rows of {name} are calls of ttnn, not device programs")
    return table


def configure(row: Row, index: int, table: Table | None = None) -> Configured:
    """Machine and op configuration of one row; EstimateError when its tensors exceed the card's DRAM."""
    cells = Cells(row, index)
    done = (table or recognise(list(row))).convert(cells)
    needed_bytes = sum(math.prod(t["padded"]) * MEAN_BYTES[t["dtype"]] for t in (*done.config["inputs"], *done.config["outputs"]) if t["buffer"] == "dram")
    held_bytes = cards()[done.card].dram_bytes
    if needed_bytes > held_bytes:
        column = next(name for name in ("M", "inputs", "padded_shape", "shape", "id") if name in row)
        raise cells.fail(column, f"the tensors need {needed_bytes / 1e9:.1f} GB of DRAM, a {done.card} has {held_bytes / 1e9:.1f} GB")
    return done


def read_rows(path: Path) -> list[dict[str, str]]:
    """All rows of a CSV file; the measured columns are dropped so that nothing can depend on them."""
    csv.field_size_limit(1 << 30)
    try:
        with open(path, newline="", encoding="utf-8") as handle:
            reader = csv.DictReader(handle)
            columns = reader.fieldnames
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EstimateError(0, "", f"cannot read {path}: {error}") from None
    if not columns:
        raise EstimateError(0, "id", "the file has no header")
    if not rows:
        recognise_any(list(columns))
    for i, row in enumerate(rows, 1):
        if None in row:
            raise EstimateError(i, "", "more cells than columns")
    return [{k: v or "" for k, v in row.items() if not MEASURED.match(k)} for row in rows]


class Estimate(NamedTuple):
    """One row: ns of its programs and of a traced call, None where the row has none; reason: what has no model, "" of a priced row."""

    row_id: str
    ns: float | None
    wall_ns: float | None = None
    reason: str = ""


def estimate_rows(rows: list[dict[str, str]]) -> list[Estimate]:
    """The rows of a table of device programs. Raises EstimateError."""
    sim = simulator()
    out: list[Estimate] = []
    table = recognise(list(rows[0])) if rows else None
    for i, row in enumerate(rows, 1):
        cells = Cells(row, i)
        if reason := without_model(row):
            out.append(Estimate(cells.text("id"), None, None, reason))
            continue
        done = configure(row, i, table)
        try:
            price = sim.price(sim.arch(done.card, done.grid, done.dram_banks), sim.config(done.config))
        except SimulatorError as error:
            raise cells.fail("op" if "op" in row else "id", error.message) from None
        if not price.modelled or not math.isfinite(price.ns):
            out.append(Estimate(cells.text("id"), None, None, f"no model of the op {done.config['op']!r}"))
        elif done.table == "gemm":
            out.append(Estimate(cells.text("id"), price.math_ns, price.wall_ns))
        else:
            out.append(Estimate(cells.text("id"), price.ns))
    return out


def estimate_csv(source: Path, target: Path) -> list[str]:
    """As `price_csv`; returns the ids of rows without a prediction."""
    return list(price_csv(source, target))


def price_csv(source: Path, target: Path) -> dict[str, str]:
    """Price every row of `source` into `target`; returns why rows have no prediction, by id.

    ops, gemm, eltwise_exp, matmul_height_sharded: id,predicted_ns,predicted_wall_ns, empty where op, chip or release has no model. singles, layers, pairs:
    id,predicted_ns of the rows that can be read; a pair is two rows, <id>a and <id>b.
    """
    rows = read_rows(Path(source))
    if rows and recognise_any(list(rows[0])) in CALL_TABLES:
        times, reasons = price_rows(recognise_any(list(rows[0])), rows)
        write_table(Path(target), ("id", "predicted_ns"), [(row_id, f"{ns:.1f}") for row_id, ns in times.items()])
        return reasons
    priced = estimate_rows(rows)

    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:.1f}"

    write_table(Path(target), ("id", "predicted_ns", "predicted_wall_ns"), [(row.row_id, cell(row.ns), cell(row.wall_ns)) for row in priced])
    return {row.row_id: row.reason for row in priced if row.reason}


def write_table(target: Path, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """A CSV file, written whole or not at all."""
    scratch = target.with_name(target.name + ".part")
    try:
        with open(scratch, "w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
        scratch.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise EstimateError(0, "", f"cannot write {target}: {error.strerror}") from None
