"""`ttnn.graph_report`: makes a database for ttnn-visualizer of what `ttnn.graph.end_graph_capture_to_file` wrote.

python -m ttnn_shim run -m ttnn.graph_report REPORT.json FOLDER
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import re
import sqlite3
import warnings
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import ttnn
from ttnn import _core
from ttnn_shim.errors import InvalidArgument, NotOffered
from ttnn_shim.visualizer_database import SCHEMA_VERSION, create_schema, device_row, insert

from ttnn_extras.graph_database import IDS_PER_REPORT, ReportImport
from ttnn_extras.graph_durations import extract_operation_durations, extract_total_duration_from_graph

__all__ = ["extract_operation_durations", "extract_total_duration_from_graph", "import_report"]
SUPPORTED_REPORT_VERSION = 1
DATABASE_SCHEMA_VERSION = SCHEMA_VERSION
PYTHON_IO_SIDECAR_SUFFIX = ".python_io.json"
COMPARISON_RECORDS_SIDECAR_SUFFIX = ".comparison_records.json"
_OF_SEVERAL_HOSTS = re.compile(r"graph_capture_(\d+)_of_\d+\.json")
_LONGEST_NAME, _HASH_LENGTH = 64, 8


def import_report(report_path: str | Path, output_dir: str | Path, db_name: str = "db.sqlite", generate_svgs: bool = False) -> Path:
    """Reads a report, or all of a folder, into FOLDER/db.sqlite, and lifetimes of tensors into a JSON file beside it where stack traces were recorded.

    Raises:
        ValueError: a file that is no report.
    """
    if generate_svgs:
        raise NotOffered("ttnn.graph_report: pictures of graphs: ttnn.graph.visualize draws one", name="generate_svgs")
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / db_name
    if path.exists() and _schema_of(path) != SCHEMA_VERSION:
        path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        create_schema(database)
        files: Counter[int] = Counter()
        for file in _reports(Path(report_path)):
            report = _read(file)
            if report.get("version") != SUPPORTED_REPORT_VERSION:
                warnings.warn(f"{file} has version {report.get('version')}, expected {SUPPORTED_REPORT_VERSION}: left out", stacklevel=2)
                continue
            rank = int(report["metadata"]["rank"])
            _import(database, file, report, files[rank] * IDS_PER_REPORT, rank, folder)
            files[rank] += 1
    return path


def _schema_of(path: Path) -> str | None:
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            row = database.execute("select value from report_metadata where key = 'schema_version'").fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else str(row[0])


def _reports(path: Path) -> list[Path]:
    """The file, or a folder's: those of several hosts where there are some, else all that are reports by their name."""
    if path.is_file():
        return [path]
    of_hosts = {file: int(found[1]) for file in path.glob("graph_capture_*.json") if (found := _OF_SEVERAL_HOSTS.fullmatch(file.name))}
    if of_hosts:
        return sorted(of_hosts, key=of_hosts.__getitem__)
    beside = (PYTHON_IO_SIDECAR_SUFFIX, COMPARISON_RECORDS_SIDECAR_SUFFIX, ".tensor_lifetime.json")
    reports = sorted(file for file in path.glob("*.json") if file.name != "config.json" and not file.name.endswith(beside))
    if not reports:
        raise _core.error(InvalidArgument, f"no report at {path}", "ttnn.graph_report.import_report", "end_graph_capture_to_file writes one")
    return reports


def _read(file: Path) -> dict[str, Any]:
    report = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(report, dict):
        raise ValueError(f"Graph report must be a JSON object: {file}")
    if not isinstance(report.get("metadata"), dict):
        raise ValueError(f"Graph report missing metadata object: {file}")
    if report["metadata"].get("rank") is None:
        raise ValueError(f"Graph report metadata missing required field rank: {file}")
    return report


def _import(database: sqlite3.Connection, file: Path, report: dict[str, Any], first: int, rank: int, folder: Path) -> None:
    devices = report.get("devices", [])
    chips = {device: chip for chip, device in enumerate(sorted({device["device_id"] for device in devices}))}
    insert(database, "devices", [device_row(device | {"device_id": chips[device["device_id"]]}, rank) for device in devices])
    beside = file.with_suffix(PYTHON_IO_SIDECAR_SUFFIX)
    records = report.get("python_io") or (json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else [])
    done = ReportImport(report.get("graph", []), records, report.get("per_operation_buffers", {}), chips, first, rank)
    done.collect()
    done.write(database)
    lifetimes = done.lifetimes()
    insert(database, "tensor_lifetime", [tuple(one.values()) for one in lifetimes])
    if lifetimes:
        (folder / f"{file.stem}.tensor_lifetime.json").write_text(json.dumps(lifetimes, indent=2), encoding="utf-8")
    database.executemany("insert or replace into report_metadata values (?, ?)", [(key, str(value)) for key, value in report["metadata"].items()])


def derive_report_name(nodeid: str) -> str:
    """A folder's name for a test: its file, its name, and a number of both that tells parametrised cases apart."""
    file, _, test = nodeid.partition("::")
    name = "_".join(part for part in (Path(file).stem, test.rsplit("::", 1)[-1]) if part)
    return f"{name[: _LONGEST_NAME - _HASH_LENGTH - 1]}_{hashlib.sha1(nodeid.encode()).hexdigest()[:_HASH_LENGTH]}"


def run_pytest_graph_report_fixture(request: Any) -> Generator[None, None, None]:
    """The body of a pytest fixture: with `CONFIG.enable_graph_report` a test's calls are captured, and its database written to `CONFIG.report_path`."""
    if not ttnn.CONFIG.enable_graph_report or ttnn.graph.is_graph_capture_active():
        yield
        return
    with ttnn.manage_config("report_name", ttnn.CONFIG.report_name or derive_report_name(request.node.nodeid)):
        for name in ("mesh_device", "device"):  # opened before and closed behind the capture
            if name in request.fixturenames:
                request.getfixturevalue(name)
        folder = Path(ttnn.CONFIG.report_path)
        ttnn.graph.begin_graph_capture(ttnn.graph.RunMode.NORMAL)
        try:
            yield
        finally:
            folder.mkdir(parents=True, exist_ok=True)
            report = folder / "graph_capture.json"
            ttnn.graph.end_graph_capture_to_file(report)
            import_report(report, folder)
            report.unlink()
            ttnn.save_config_to_json_file(folder / "config.json")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ttnn.graph_report", description="Makes a database for ttnn-visualizer of graph captures.")
    parser.add_argument("report_path", type=Path, help="a report in JSON, or a folder with some")
    parser.add_argument("output_dir", type=Path, help="where the database goes")
    parser.add_argument("--db-name", default="db.sqlite", help="the database's file (default: db.sqlite)")
    options = parser.parse_args(argv)
    print(import_report(options.report_path, options.output_dir, options.db_name))
    return 0


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotOffered(f"ttnn.graph_report.{name} exists in ttnn 0.81.1 but not in the simulator; import_report makes the database", name=name)


if __name__ == "__main__":
    raise SystemExit(main())
