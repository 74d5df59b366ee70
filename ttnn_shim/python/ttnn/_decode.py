"""Reads memory configs as the core writes them: records of texts and lists of integers (some of what `_convert.encode` writes)."""

from __future__ import annotations

import struct
from typing import Any


def decode_blob(data: bytes) -> dict[str, Any]:
    """A blob as a dict; records are dicts too."""
    return _blob(data, 0)[0]


def _blob(data: bytes, offset: int) -> tuple[dict[str, Any], int]:
    (count,) = struct.unpack_from("<H", data, offset)
    offset += 2
    out: dict[str, Any] = {}
    for _ in range(count):
        length = data[offset]
        name = data[offset + 1 : offset + 1 + length].decode()
        out[name], offset = _value(data, offset + 1 + length)
    return out, offset


def _value(data: bytes, offset: int) -> tuple[Any, int]:
    tag = data[offset : offset + 1]
    offset += 1
    if tag == b"r":
        return _blob(data, offset + 1 + data[offset])
    (count,) = struct.unpack_from("<I", data, offset)
    offset += 4
    if tag == b"s":
        return data[offset : offset + count].decode(), offset + count
    if tag == b"I":
        return list(struct.unpack_from(f"<{count}q", data, offset)), offset + 8 * count
    raise ValueError(f"unknown attribute tag {tag!r}")
