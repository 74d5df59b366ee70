"""The pure Python writer and reader against files that the real package wrote, and against damage."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from alchemist.errors import FlatbufferError, TensorFileError
from alchemist.export.tensorbin import DTYPE_CODES, read_tensor, write_tensor
from tests.tables import table

FILES = Path(__file__).parent.parent / "data" / "tensorbin"
ENTRIES = [entry for entry in json.loads((FILES / "manifest.json").read_text()) if entry.get("dtype") in DTYPE_CODES and not entry["file"].startswith("mem_")]


@table("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_reads_files_of_the_real_package(entry: dict, tmp_path: Path) -> None:
    values = read_tensor(FILES / entry["file"])
    assert list(values.shape) == entry["shape"]
    np.testing.assert_array_equal(values.reshape(-1)[:8].astype(np.float64), entry["reload_first8"])
    copy = tmp_path / "copy.tensorbin"
    written = write_tensor(copy, values, tiled=entry["layout"] == "tile")
    assert written.size_bytes == copy.stat().st_size
    np.testing.assert_array_equal(read_tensor(copy), values)
    assert copy.read_bytes() == (FILES / entry["file"]).read_bytes()


@table("tiled", [False, True])
@table("shape", [(), (1,), (31,), (0, 4), (32, 33), (2, 3, 64, 1)])
def test_round_trip_shapes(shape: tuple[int, ...], tiled: bool, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=shape).astype(ml_dtypes.bfloat16)
    write_tensor(tmp_path / "t.tensorbin", values, tiled=tiled)
    np.testing.assert_array_equal(read_tensor(tmp_path / "t.tensorbin"), values)


# What the core looks at and this reader does not: files of alchemist hold one buffer of 32x32 tiles or rows, for one chip.
PASSED_OVER = re.compile(
    r"page type \d|memory layout \d|the file has \d+x\d+ tiles|header points outside itself"
    r"|the file is of a mesh of|placements on \d|outside its mesh"
)
SPEC_AT = range(248, 264)  # before it the header of these files has the mesh of one chip, behind it where a tensor lay, and of which tiles


@pytest.mark.parametrize(("tiled", "changed"), [(False, lambda byte: byte ^ 1), (True, lambda byte: 255)])
def test_damaged_headers_are_read_as_the_core_reads_them(tiled: bool, changed: Callable[[int], int], tmp_path: Path) -> None:
    """Refused where it refuses, or where a table is damaged in a place that the core does not read; else the same values; never a crash, a loop or more
    memory than the file has."""
    import ttnn

    path = tmp_path / "t.tensorbin"
    size_bytes = 4096 if tiled else 256
    write_tensor(path, np.arange(64, dtype=np.int32 if tiled else np.float32).reshape(2, 32), tiled=tiled)
    whole = path.read_bytes()
    refused = 0
    for place, byte in enumerate(whole[:-size_bytes]):
        path.write_bytes(whole[:place] + bytes([changed(byte)]) + whole[place + 1 :])
        try:
            expected, why = ttnn.load_tensor(path).to_numpy(), ""
        except RuntimeError as error:
            expected, why = None, str(error)
        try:
            found = read_tensor(path)
        except TensorFileError as error:
            damaged_table = isinstance(error.__cause__, FlatbufferError)
            assert why or damaged_table, place
            refused += 1
        else:
            if expected is None:
                assert PASSED_OVER.search(why) and place not in SPEC_AT, (place, why)
            else:
                np.testing.assert_array_equal(found, expected, err_msg=str(place))
    assert refused > 50


def test_files_that_end_early_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.tensorbin"
    write_tensor(path, np.arange(8, dtype=np.float32))
    whole = path.read_bytes()
    for length in (*range(0, len(whole) - 40, 11), *range(len(whole) - 40, len(whole))):
        path.write_bytes(whole[:length])
        with pytest.raises(TensorFileError):
            read_tensor(path)


def test_unknown_dtype_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TensorFileError, match="float64"):
        write_tensor(tmp_path / "t.tensorbin", np.zeros(3))
