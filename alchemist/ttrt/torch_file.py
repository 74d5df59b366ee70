"""Writes a tensor as a `.pt` file that `torch.load(weights_only=True)` reads, without torch.

A `.pt` file is a zip: `data.pkl`, a pickle that calls `torch._utils._rebuild_tensor_v2` on a storage by its number, and the
storage's bytes as `data/0`. The pickle's opcodes are written by hand; they are always the same.
"""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

_STORAGES = {"float32": "FloatStorage", "bfloat16": "BFloat16Storage", "float16": "HalfStorage", "float64": "DoubleStorage", "int32": "IntStorage",
             "int64": "LongStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage", "bool": "BoolStorage"}  # fmt: skip


def write_torch(path: Path, values: np.ndarray[Any, Any]) -> None:
    """Types that torch lacks storages for (uint16, uint32) are written as int64. Raises: OSError."""
    if values.dtype.name not in _STORAGES:
        values = values.astype(np.int64)
    data = np.ascontiguousarray(values)
    strides = [stride // data.itemsize for stride in data.strides]
    arguments = b"(" + _storage(data) + b"Q" + _number(0) + _numbers(data.shape) + _numbers(strides) + b"\x89" + b"ccollections\nOrderedDict\n)R" + b"t"
    pickle = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"R."
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in (("data.pkl", pickle), ("byteorder", b"little"), ("data/0", data.tobytes()), ("version", b"3\n")):
            archive.writestr(f"{path.stem}/{name}", content)


def _storage(data: np.ndarray[Any, Any]) -> bytes:
    storage = f"ctorch\n{_STORAGES[data.dtype.name]}\n".encode()
    return b"(" + _text("storage") + storage + _text("0") + _text("cpu") + _number(data.size) + b"t"


def _text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def _number(value: int) -> bytes:
    return b"\x8a\x08" + struct.pack("<q", value)


def _numbers(values: Any) -> bytes:
    return b"(" + b"".join(_number(int(value)) for value in values) + b"t"
