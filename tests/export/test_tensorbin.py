"""The pure Python writer and reader against files that the real package wrote, and against damage."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from alchemist.errors import TensorFileError
from alchemist.export.tensorbin import DTYPE_CODES, read_tensor, write_tensor

FILES = Path(__file__).parent.parent / "data" / "tensorbin"
ENTRIES = [entry for entry in json.loads((FILES / "manifest.json").read_text()) if entry.get("dtype") in DTYPE_CODES and not entry["file"].startswith("mem_")]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_reads_files_of_the_real_package(entry: dict, tmp_path: Path) -> None:
    values = read_tensor(FILES / entry["file"])
    assert list(values.shape) == entry["shape"]
    np.testing.assert_array_equal(values.reshape(-1)[:8].astype(np.float64), entry["reload_first8"])
    copy = tmp_path / "copy.tensorbin"
    written = write_tensor(copy, values, tiled=entry["layout"] == "tile")
    assert written.size_bytes == copy.stat().st_size
    np.testing.assert_array_equal(read_tensor(copy), values)
    assert copy.read_bytes() == (FILES / entry["file"]).read_bytes()


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (31,), (0, 4), (32, 33), (2, 3, 64, 1)])
def test_round_trip_shapes(shape: tuple[int, ...], tiled: bool, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=shape).astype(ml_dtypes.bfloat16)
    write_tensor(tmp_path / "t.tensorbin", values, tiled=tiled)
    np.testing.assert_array_equal(read_tensor(tmp_path / "t.tensorbin"), values)


@pytest.mark.parametrize("seed", range(200))
def test_damage_is_an_error_or_a_tensor(seed: int, tmp_path: Path) -> None:
    """Truncated or altered headers never crash, loop or allocate more than the file holds."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "t.tensorbin"
    write_tensor(path, np.arange(64, dtype=np.float32))
    data = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 6))):
        data[int(rng.integers(0, len(data) - 256))] = int(rng.integers(0, 256))
    path.write_bytes(data[: int(rng.integers(0, len(data) + 1))] if seed % 2 else data)
    try:
        read_tensor(path)
    except TensorFileError:
        pass


def test_unknown_dtype_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TensorFileError, match="float64"):
        write_tensor(tmp_path / "t.tensorbin", np.zeros(3))
