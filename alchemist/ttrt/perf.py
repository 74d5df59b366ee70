"""`ttrt perf`: the profiler's CSV of a binary's programs, with the columns that tie a row to an op of the module."""

from __future__ import annotations

import csv
import logging
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xdsl.ir import Block

from alchemist.driver import explore
from alchemist.driver.align import in_order
from alchemist.errors import OptionError, ToolchainError, quoted
from alchemist.frontends.mlir.read import read_module
from alchemist.ir.op_class import named
from alchemist.toolchain.ttnn_binary import device_functions
from alchemist.toolchain.ttnn_file import read_ttnn
from alchemist.ttrt import files
from alchemist.ttrt.run import folder_of, run
from alchemist.ttrt.util import Artifacts

COLUMNS = ("LOC", "CONST_EVAL_OP", "INPUT_LAYOUT_CONVERSION_OP", "PROGRAM_METADATA")
FILTERS = {"const_eval": "CONST_EVAL_OP", "input_layout_conversion": "INPUT_LAYOUT_CONVERSION_OP"}
_CONVERSIONS = named("ttnn", "conversion", "placement") | {"ttnn.to_dtype"}
_CSV = "ops_perf_results.csv"


def perf(path: Path, values: Mapping[str, Any], artifacts: Artifacts, log: logging.Logger) -> dict[str, Any]:
    """Writes `perf/ops_perf_results.csv`, one without const-eval, and `profile_log_device.csv`; each program goes below its number when there are several.

    Raises:
        OptionError: an unknown filter. UserError: as `run`.
    """
    left_out = [word for word in values["filter"].split(",") if word]
    if unknown := [word for word in left_out if word not in FILTERS]:
        raise OptionError("bad --filter", expected=", ".join(FILTERS), got=quoted(unknown[0]))
    if values["host-only"]:
        return run(path, {**values, "identity": False, "benchmark": False, "print-input-output-tensors": False, "save-artifacts": False}, artifacts, log)
    root = read_ttnn(path)
    chosen = list(files.programs(root, values["program-index"]))
    results: dict[str, Any] = {}
    for index, program in chosen:
        parts = ("perf",) if len(chosen) == 1 else ("perf", f"program_{index}")
        with folder_of(artifacts, values["save-artifacts"], files.file_stem(path), *parts) as folder:
            place = files.export(path, program, values, root, folder / "program")
            _profile(place, folder, files.card(root, values["card"]))
            rows = _rows(folder / _CSV)
            ops = place_rows(rows, str(root["mlir"]["source"]), str(program.get("name", "")))
            rows = [row | _metadata(index, loop) for loop in range(values["loops"]) for row in rows]
            rows_kept = [row for row in rows if not any(row[FILTERS[word]] == "true" for word in left_out)]
            _write(folder / _CSV, rows_kept)
            _write(folder / _CSV.replace(".csv", "_minus_const_eval.csv"), [row for row in rows_kept if row["CONST_EVAL_OP"] != "true"])
            one_loop = rows_kept[: len(rows_kept) // values["loops"]]
            device_ns = sum(int(float(row["DEVICE KERNEL DURATION [ns]"] or 0)) for row in one_loop)
            report = {"total_device_kernel_duration_ns": device_ns, "device_programs": len(one_loop), "programs_with_loc": ops}
            results[f"program_index_{index}"] = report
            message = f"{device_ns:,} ns in {len(one_loop)} device programs (simulated), {ops} with LOC"
            log.info("%s: program %d: %s%s", path.name, index, message, f"; {folder / _CSV}" if values["save-artifacts"] else "")
    return {"program_index": values["program-index"], "program_results": results}


def _profile(place: Path, folder: Path, card: str) -> None:
    """The clock alone: a process of its own, whose devices keep their programs one by one."""
    command = [sys.executable, "-m", "ttnn_shim", "run", "--arch", card, "--estimate", "--profile", str(folder), str(place / "main.py"), "--estimate"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise ToolchainError("the program ended with an error", location=str(place / "main.py"), got=done.stderr.strip()[-600:], code="ALC-0601")


def _rows(file: Path) -> list[dict[str, str]]:
    path = file if file.is_file() else next(iter(sorted(file.parent.rglob("ops_perf_results*.csv"))), file)
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def place_rows(rows: Sequence[dict[str, str]], text: str, name: str) -> int:
    """Gives every row the location of its op in the function; returns how many rows have one.

    Rows and ops are aligned in order by their names; a row without an op belongs to the op before it, which took several device programs.
    """
    module = read_module(text, "mlir")
    function = next(func for func in device_functions(module) if func.sym_name.data == name)
    ops = [op for op in function.body.block.ops if op.name.startswith("ttnn.")]
    hits = in_order([explore.words(row["OP CODE"]) for row in rows], [op.name for op in ops], explore.belongs)
    current, located = None, 0
    for row, hit in zip(rows, hits, strict=True):
        current = ops[hit] if hit is not None else current
        row["LOC"] = explore.loc_text(current) if current is not None else ""
        row["CONST_EVAL_OP"] = "false"  # const-eval runs once, before the measured calls
        converts = current is not None and current.name in _CONVERSIONS and isinstance(current.operands[0].owner, Block)
        row["INPUT_LAYOUT_CONVERSION_OP"] = "true" if converts else "false"
        located += bool(row["LOC"])
    return located


def _metadata(index: int, loop: int) -> dict[str, str]:
    facts = {"loop_number": loop, "program_index": index, "disable_eth_dispatch": False, "enable_program_cache": True, "dump_device_rate": 1000}
    return {"PROGRAM_METADATA": str(facts)}


def _write(file: Path, rows: Sequence[Mapping[str, str]]) -> None:
    columns = list(rows[0]) if rows else list(COLUMNS)
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(rows)
