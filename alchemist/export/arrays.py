"""Reads values from users' files, `.npy` and `.tensorbin`, and checks every size that a file states before it is used."""

from __future__ import annotations

import json
import math
import os
import stat
import tokenize
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from alchemist.errors import FileError, InputError, TensorFileError, file_error
from alchemist.export.directory import MANIFEST
from alchemist.export.tensorbin import read_tensor

Array = np.ndarray[Any, Any]
_NUMPY_ERRORS = (  # what numpy's own reader ends with on damaged headers
    ValueError, TypeError, SyntaxError, LookupError, AttributeError, RecursionError, MemoryError, EOFError, OverflowError, tokenize.TokenError,
)  # fmt: skip
_RE_SAVE = "save it again: np.save(file, np.ascontiguousarray(values, dtype=np.float32))"


def values_in(directory: Path) -> dict[str, Array]:
    """Arrays of a directory by file stem; files of other kinds are left out, and of an export's `tensors` what the compiler itself has added.

    Raises:
        InputError: no directory, or a file that does not hold numbers.
    """
    if not os.path.isdir(directory):
        raise InputError(f"no directory {directory}", location=str(directory), hint="pass a directory with <input>.npy or <input>.tensorbin")
    try:
        files = sorted(directory.iterdir())
    except OSError as error:
        raise file_error(error, directory, "read") from None
    added = _added_by_compiler(directory)
    return {file.stem: read_array(file) for file in files if file.suffix in (".npy", ".tensorbin") and file.stem not in added}


def _added_by_compiler(directory: Path) -> set[str]:
    """Stems of the files of tensors that are no arguments of an export's `irs/*_ttir.mlir`: lowering makes them anew (rotation matrices, index tables)."""
    try:
        tensors = json.loads((directory.parent / MANIFEST).read_text())["tensors"].values()
        return {Path(entry["file"]).stem for entry in tensors if entry["kind"] == "constant" and "model_dtype" not in entry and "file" in entry}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):  # a directory of the user's own
        return set()


def read_array(file: Path) -> Array:
    """The numbers of one `.npy` or `.tensorbin` file.

    Raises:
        FileError: not readable, not a regular file. TensorFileError: truncated, malformed, or something other than numbers.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe without a writer would block for ever
            raise FileError("expected a regular file", location=str(file), hint="pass a .npy or .tensorbin file")
        return read_tensor(file) if file.suffix == ".tensorbin" else _read_npy(file)
    except OSError as error:
        raise file_error(error, file, "read") from None


def _read_npy(path: Path) -> Array:
    with open(path, "rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's words about headers of Python 2
        try:
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
            elif version == (2, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
            else:
                raise TensorFileError("unsupported version of the .npy format", location=str(path), got=str(version), hint=_RE_SAVE)
        except TensorFileError:
            raise
        except _NUMPY_ERRORS as error:
            raise TensorFileError("not a .npy file, or a damaged one", location=str(path), got=str(error), hint=_RE_SAVE) from None
        if dtype.hasobject:
            raise TensorFileError("the .npy file contains pickled Python objects instead of numbers", location=str(path), got=f"dtype {dtype}", hint=_RE_SAVE)
        if dtype.kind not in "biuf":
            raise TensorFileError("the .npy file contains no plain numbers", location=str(path), got=f"dtype {dtype}", hint=_RE_SAVE)
        if not all(isinstance(extent, int) and extent >= 0 for extent in shape) or len(shape) > 32:
            raise TensorFileError("a damaged .npy file", location=str(path), got=f"shape {shape}", hint=_RE_SAVE)
        size_bytes = math.prod(shape) * dtype.itemsize
        held_bytes = os.fstat(file.fileno()).st_size - file.tell()
        if size_bytes > held_bytes or max(shape, default=0) > 1 << 48:
            raise TensorFileError("the .npy file is truncated", location=str(path), expected=f"{size_bytes} bytes of values", got=f"{held_bytes} bytes")
        flat = np.frombuffer(file.read(size_bytes), dtype=dtype)
    return flat.reshape(shape, order="F" if fortran else "C")
