"""Reads memory configs as the core writes them: records of texts and lists of integers (some of what `_convert.encode` writes)."""

from __future__ import annotations

import struct
from typing import Any


def decode_blob(data: bytes) -> dict[str, Any]:
    """A blob as a dict; records are dicts too."""
    return _blob(data, 0)[0]


def _blob(data: bytes, at: int) -> tuple[dict[str, Any], int]:
    (count,) = struct.unpack_from("<H", data, at)
    at += 2
    out: dict[str, Any] = {}
    for _ in range(count):
        length = data[at]
        name = data[at + 1 : at + 1 + length].decode()
        out[name], at = _value(data, at + 1 + length)
    return out, at


def _value(data: bytes, at: int) -> tuple[Any, int]:
    tag = data[at : at + 1]
    at += 1
    if tag == b"r":
        return _blob(data, at + 1 + data[at])
    (count,) = struct.unpack_from("<I", data, at)
    at += 4
    if tag == b"s":
        return data[at : at + count].decode(), at + count
    if tag == b"I":
        return list(struct.unpack_from(f"<{count}q", data, at)), at + 8 * count
    raise ValueError(f"unknown attribute tag {tag!r}")
