"""Numbers of files: what is read, what is refused and with which words, and what fits the device's data types."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alchemist.errors import FileError, InputError, TensorFileError
from alchemist.export.arrays import read_array, values_in
from alchemist.export.stored import to_stored
from alchemist.export.tensorbin import write_tensor


def npy(shape: tuple[Any, ...], held: int, descr: str = "<f4", version: tuple[int, int] = (1, 0), order: bool = False) -> bytes:
    """A file with that header and so many bytes of values."""
    text = repr({"descr": descr, "fortran_order": order, "shape": shape}).encode() + b"\n"
    size = len(text).to_bytes(2 if version == (1, 0) else 4, "little")
    return b"\x93NUMPY" + bytes(version) + size + text + bytes(range(held % 256)) + bytes(held - held % 256)


@pytest.mark.parametrize(
    ("content", "message", "got"),
    [
        (b"", "not a .npy file, or a damaged one", "EOF"),
        (b"PK\x03\x04....", "not a .npy file, or a damaged one", "magic string"),
        (npy((2,), 8)[:20], "not a .npy file, or a damaged one", ""),
        (npy((2,), 8, version=(3, 0)), "unsupported version of the .npy format", "(3, 0)"),
        (npy((2,), 8, "|O"), "the .npy file contains pickled Python objects instead of numbers", "dtype object"),
        (npy((2,), 8, "<U1"), "the .npy file contains no plain numbers", "dtype <U1"),
        (npy((2,), 16, "<c8"), "the .npy file contains no plain numbers", "dtype complex64"),
        (npy((-1, 2), 8), "a damaged .npy file", "shape (-1, 2)"),
        (npy((1,) * 33, 8), "a damaged .npy file", f"shape {(1,) * 33}"),
        (npy((2, 3), 23), "the .npy file is truncated", "23 bytes"),
        (npy((0, (1 << 48) + 1), 0), "the .npy file is truncated", "0 bytes"),
    ],
)
def test_refused_files(tmp_path: Path, content: bytes, message: str, got: str) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(TensorFileError) as caught:
        read_array(tmp_path / "x.npy")
    assert caught.value.message == message and got in caught.value.got and caught.value.location == str(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("content", "shape"),
    [
        (npy((2, 3), 24), (2, 3)),
        (npy((2, 3), 25, version=(2, 0)), (2, 3)),
        (npy((), 4), ()),
        (npy((1,) * 32, 4), (1,) * 32),
        (npy((0, 1 << 48), 0), (0, 1 << 48)),
        (npy((3,), 3, "|b1"), (3,)),
    ],
)
def test_files(tmp_path: Path, content: bytes, shape: tuple[int, ...]) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    found = read_array(tmp_path / "x.npy")
    assert found.shape == shape
    np.testing.assert_array_equal(found, np.load(tmp_path / "x.npy"))


def test_columns_first(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", np.asfortranarray(values))
    np.testing.assert_array_equal(read_array(tmp_path / "x.npy"), values)


def test_places_without_numbers(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.npy")
    with pytest.raises(FileError, match="expected a regular file"):
        read_array(tmp_path / "x.npy")
    with pytest.raises(FileError, match="no such file or directory") as caught:
        read_array(tmp_path / "missing.npy")
    assert caught.value.location == str(tmp_path / "missing.npy")
    with pytest.raises(InputError, match="no directory"):
        values_in(tmp_path / "missing")


def test_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.float32(1))
    write_tensor(tmp_path / "b.tensorbin", np.arange(3, dtype=np.int32))
    (tmp_path / "notes.txt").write_text("")
    found = values_in(tmp_path)
    assert {name: value.tolist() for name, value in found.items()} == {"a": 1.0, "b": [0, 1, 2]}

    def hidden(path: Path) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", hidden)
    with pytest.raises(FileError, match="cannot read: no permission") as caught:
        values_in(tmp_path)
    assert caught.value.location == str(tmp_path)


@pytest.mark.parametrize(
    ("values", "dtype", "stored"),
    [
        ([0, 255], "uint8", [0, 255]),
        ([0, 256], "uint8", "0 to 256"),
        ([-1, 0], "uint32", "-1 to 0"),
        ([-(2**31), 2**31 - 1], "int32", [-(2**31), 2**31 - 1]),
        ([-(2**31) - 1, 0], "int32", "-2147483649 to 0"),
        ([], "uint8", []),
        ([True, False], "uint8", [1, 0]),
        ([1.5, 3e38], "float32", [1.5, float(np.float32(3e38))]),
        ([1.0, 3.4e38], "bfloat16", [1.0, np.inf]),
    ],
)
def test_what_fits_a_data_type(values: list[Any], dtype: str, stored: Any) -> None:
    array = np.array(values, None if values else np.int64)
    if isinstance(stored, str):
        with pytest.raises(InputError, match=f"x: values are out of range for the device's {dtype}") as caught:
            to_stored(array, dtype, "x")
        limits = np.iinfo(dtype)
        assert (caught.value.got, caught.value.expected) == (stored, f"{limits.min} to {limits.max}")
    else:
        made = to_stored(array, dtype, "x")
        assert made.dtype.name == dtype and made.astype(np.float64).tolist() == [float(value) for value in stored]
        assert to_stored(made, dtype, "x") is made
