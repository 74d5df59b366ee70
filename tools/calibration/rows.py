"""Rows of the measured tables."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HARDWARE = ROOT / "tests" / "data" / "hardware"
"""Folder of the *.train.csv[.gz] tables."""
ARCH = ROOT / "ttnn_shim" / "arch"
"""Folder of constants.csv and sfpu.csv."""
LEFT_OUT = Path(__file__).with_name("left_out_sources.csv")
"""Sources whose rows judge: nothing is fitted to them and nobody looks at them while equations are chosen."""
Rows = Sequence[Mapping[str, str]]


def read_table(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file, gzipped or not."""
    csv.field_size_limit(1 << 30)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"))))


def read_rows(data: Path, table: str) -> list[dict[str, str]]:
    """Rows of `table`.train.csv[.gz] with their measured columns. Raises: FileNotFoundError."""
    path = next((p for p in (data / f"{table}.train.csv", data / f"{table}.train.csv.gz") if p.exists()), None)
    if path is None:
        raise FileNotFoundError(f"{data}: no {table}.train.csv[.gz]")
    return read_table(path)


def is_left_out(row: Mapping[str, str], table: str) -> bool:
    """Whether the row's source is on the list of `left_out_sources.csv` (its text begins as the listed one does)."""
    return any(listed["table"] == table and row.get(listed["column"], "").startswith(listed["source"]) for listed in left_out_sources())


def source_of(row: Mapping[str, str], table: str) -> str:
    """The source of a row of a table of which sources were left out."""
    return row[next(listed["column"] for listed in left_out_sources() if listed["table"] == table)]


@functools.cache
def left_out_sources() -> tuple[dict[str, str], ...]:
    """The list: table, column that names the source, source, chip."""
    return tuple(read_table(LEFT_OUT))


def rating_of(row: Mapping[str, str]) -> str:
    """high, medium or low (the first word of `confidence`, whatever it says behind it); "partial" where the configuration cannot be rebuilt in full."""
    return re.split(r"\W", row["confidence"].strip().lower(), maxsplit=1)[0] if row["rebuildable"] == "yes" else "partial"
