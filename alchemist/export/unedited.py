"""Runs the unedited program once at export on the simulator, so that `./run --check` can compare an edited program with it.

The emitted Python program runs in a process of its own (`python -m ttnn_shim worker`), which is kept for the next export unless it
grew large: a device that this process has open, its settings and its modules are not touched. A C++ export is measured by the
Python form of the same program, which gives the same bits (one core), so nothing is compiled.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import math
import os
import runpy
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from alchemist.errors import AccuracyWarning, InternalError, warn_user
from alchemist.export.directory import MANIFEST
from alchemist.export.filesystem import lacking_memory
from alchemist.export.stored import to_stored
from alchemist.export.tensorbin import WrittenTensor, read_tensor, write_tensor
from alchemist.line_process import LineProcess
from alchemist.resources import template_text, templates_dir

FOLDER = "golden/unedited"
EXPLAINED_BY_ROUNDING = 3.0
"""Rounding explains an error of up to so many times what a draw of it moves: the engine truncates, which is off twice as far, and one draw is by chance."""
_KEPT_BYTES = 500_000_000  # a worker that needed more memory frees it when it ends


@dataclass(frozen=True, slots=True)
class Measured:
    """A run of the unedited program. disagreement: why `./run --check` will fail, "" where it passes or was not judged. device_ns: of one call."""

    disagreement: str = ""
    device_ns: float = 0.0


def measure_unedited(
    directory: Path,
    sources: Mapping[str, str],
    python_sources: Mapping[str, str],
    manifest: dict[str, Any],
    card: str,
    written: dict[str, WrittenTensor],
) -> Measured:
    """Adds the unedited program's errors to the manifest's outputs and to golden/ops.json, and writes golden/unedited.

    sources: of the export, kept to name edited functions. python_sources: the same program in Python.
    A program that cannot be measured is no error: manifest["unedited"]["unknown"] says why.

    Warns:
        AccuracyWarning: the program does not run.
    """
    (directory / FOLDER).mkdir(parents=True)
    for name, text in sources.items():
        if Path(name).suffix in (".py", ".cpp") and Path(name).stem in ("main", "model", "consteval"):
            (directory / FOLDER / name).write_text(text, encoding="utf-8")
    measured, unknown = Measured(), _obstacle()
    if not unknown:
        measured, unknown = _measure(directory, python_sources, manifest, card, written)
    place = {"measured_on": f"simulated {card}"}
    manifest["unedited"] = {"unknown": unknown} if unknown else place | manifest.get("unedited", {})
    return measured


def _obstacle() -> str:
    """Why no program can run here, "" if it can."""
    if importlib.util.find_spec("ttnn_shim") is None:
        return "the simulator was not installed at export"
    if not sys.executable:
        return "the export was made without a Python interpreter of its own"
    return ""


def _lacking_for_values(directory: Path) -> str:
    stored, golden = (sum(file.stat().st_size for file in (directory / folder).iterdir() if file.is_file()) for folder in ("tensors", "golden"))
    return lacking_memory(stored * 3 // 2 + golden * 4)  # a result as tiles and as an array, twice: the program's and the framework's


def _measure(
    directory: Path,
    sources: Mapping[str, str],
    manifest: dict[str, Any],
    card: str,
    written: dict[str, WrittenTensor],
) -> tuple[Measured, str]:
    """Runs the program: (result, reason why there is none or ""). Without memory for its values it runs on the clock alone: it may not fit on the card."""
    lacking = _lacking_for_values(directory)
    program = {**sources, "utils.py": template_text("py/utils.py"), "check.py": template_text("py/check.py"), MANIFEST: json.dumps(manifest)}
    if "generation" in manifest:
        program["generate.py"] = template_text("py/generate.py")
    with _WORKERS.turn() as scratch:
        for name, text in program.items():
            (scratch / name).write_text(text, encoding="utf-8")
        for folder in ("tensors", "golden"):
            (scratch / folder).symlink_to(directory.resolve() / folder)
        result, values = scratch / "result.json", scratch / "values"
        arguments = ["--json", str(result), *(["--estimate"] if lacking else ["--outputs", str(values)])]
        if not lacking and (directory / "golden" / "ops.json").exists():
            arguments.append("--check-ops")
        failure = _WORKERS.run(scratch / "main.py", arguments, card, estimate=bool(lacking))
        if lacking and not failure:
            return Measured(), lacking
        if result.exists():
            return _note_results(json.loads(result.read_text()), values, directory, manifest, written), ""
        warn_user(f"the emitted program of {manifest['model']} does not run on the simulator: {failure}", AccuracyWarning)
        return Measured(), f"the program did not run on the simulator at export: {failure.splitlines()[0] if failure else 'no reason was given'}"


def _note_results(results: Mapping[str, Any], values: Path, directory: Path, manifest: dict[str, Any], written: dict[str, WrittenTensor]) -> Measured:
    """results: the program's own report (--json); values: the folder of its outputs."""
    manifest["unedited"] = {"instructions": results["instructions"]}
    differences = []
    for row in results["outputs"]:
        entry = manifest["outputs"][row["name"]]
        if "golden" not in entry:
            continue
        entry["unedited_rel_l2"], entry["unedited_max_abs_err"] = row["rel_l2"], row["max_abs_err"]
        value = np.load(values / f"{entry['stem']}.npy")
        if row["passed"] is False and (why := _verdict(row, value, directory, entry)):
            differences.append(f"{row['name']}: {why}")
        is_float = value.dtype.kind == "f"
        if value.size and (is_float or row["passed"] is False):  # whole numbers that pass are the framework's
            entry["unedited"] = f"{FOLDER}/{entry['stem']}.tensorbin"
            stored = to_stored(value, "bfloat16", row["name"]) if is_float else value
            if is_float and not np.array_equal(stored.astype(np.float32), value, equal_nan=True):
                stored = value.astype(np.float32)
            written[entry["unedited"]] = write_tensor(directory / entry["unedited"], stored)
    if results.get("op_errors"):
        _note_op_errors(directory / "golden" / "ops.json", results["op_errors"])
    return Measured("; ".join(differences), results["device_ns"] or 0.0)


def _verdict(row: Mapping[str, Any], value: np.ndarray[Any, Any], directory: Path, entry: Mapping[str, Any]) -> str:
    """Why `./run --check` will reject an output, "" where it will not: unlike this run it knows the program's own error, which the entry has by now."""
    if row["rel_l2"] is None:
        return str(row["why"])
    return str(_compare(value, read_tensor(directory / entry["golden"]), entry)["why"])


def _compare(value: np.ndarray[Any, Any], golden: np.ndarray[Any, Any], entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The verdict of the emitted rules."""
    verdict: Mapping[str, Any] = runpy.run_path(str(templates_dir() / "py" / "check.py"))["compare"](value, golden, entry)
    return verdict


def judge_by_unedited(directory: Path, rounding_errors: Mapping[str, float]) -> str:
    """Has `./run --check` judge an output by the unedited program alone where rounding explains why it is not the framework's.

    Rounding explains it where the framework's own output moves at least a third as far when all is rounded once more.

    directory: the export, whose manifest is written again. rounding_errors: by output, as of `FrontendResult.moved_by_rounding`.
    Returns why `./run --check` will still fail, "" where it passes.
    """
    manifest = json.loads((directory / MANIFEST).read_text())
    differences = []
    for name, entry in manifest["outputs"].items():
        if "unedited" not in entry:
            continue
        value, golden = read_tensor(directory / entry["unedited"]), read_tensor(directory / entry["golden"])
        verdict = _compare(value, golden, entry)
        if verdict["passed"]:
            continue
        count = int(np.count_nonzero(value != golden)) if golden.dtype.kind in "iub" else None
        error = (verdict["rel_l2"] or math.inf) if count is None else count / golden.size
        if error <= EXPLAINED_BY_ROUNDING * rounding_errors.get(name, 0.0):
            entry["moved_by_rounding"] = float(f"{rounding_errors[name]:.3g}")
            if count is not None:
                entry["unedited_wrong"] = count
            verdict = _compare(value, golden, entry)
        if not verdict["passed"]:
            differences.append(f"{name}: {verdict['why']}")
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return "; ".join(differences)


def _note_op_errors(index: Path, errors: Mapping[str, Mapping[str, Any]]) -> None:
    """errors: by place in the index, what `--check-ops` found for that call."""
    rows = json.loads(index.read_text())
    for place, error in errors.items():
        rows[int(place)] |= {f"unedited_{key}": error[key] for key in ("pcc", "rel_l2", "max_abs_err", "passed")}
    index.write_text(json.dumps(rows, indent=0) + "\n")


class _Workers:
    """At most one process that runs programs; threads take turns.

    Programs lie in a folder that the process made: it removes the folder when this process is killed, which ends its stdin.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: LineProcess | None = None
        self._folder = ""
        self._is_spent = False
        """Whether the last run failed or left too much memory: the next one gets another process."""

    @contextlib.contextmanager
    def turn(self) -> Iterator[Path]:
        """Yields a folder for a program for `run`; files that the program wrote there can be read until the block ends."""
        with self._lock:
            self._start()
            folder = tempfile.mkdtemp(dir=self._folder or None)
            try:
                yield Path(folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                if self._is_spent:
                    self._stop()

    def run(self, program: Path, arguments: list[str], card: str, estimate: bool) -> str:
        """Runs the program to its end, with `estimate` on the clock alone; returns an error text, "" if it ended by itself. Within a turn."""
        if self._process is None:
            raise InternalError("no process to run the program")
        self._is_spent = True  # also where this is interrupted: the answer would be the next run's
        answer = self._process.ask({"program": str(program), "arguments": arguments, "card": card, "estimate": estimate})
        if not answer:
            return f"the simulator's process ended with {self._process.close()}"
        self._is_spent = answer["code"] != 0 or answer["rss_bytes"] > _KEPT_BYTES
        return str(answer["error"])

    def _start(self) -> None:
        if self._process is not None and self._process.is_usable:
            return
        self._stop()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TTNN_SHIM_") or name == "TTNN_SHIM_LIBRARY"}
        self._process = LineProcess(["-m", "ttnn_shim", "worker"], environment, tempfile.gettempdir())
        self._folder = self._process.read_line()

    def _stop(self) -> None:
        """The process is killed where it is, so its folder is left to this one; a fork leaves both to its owner."""
        process, self._process, self._is_spent = self._process, None, False
        if process is None or not process.is_own:
            return
        process.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        with self._lock:
            self._stop()


_WORKERS = _Workers()
atexit.register(_WORKERS.close)
shutdown_worker = _WORKERS.close
