"""Plain data as attribute blobs, the form in which the core takes it (include/ttnn_shim/abi.h)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1 << 14)
def name(text: str) -> bytes:
    """A field's name or a record's type. Raises: ValueError for more than 255 bytes."""
    data = text.encode()
    if len(data) > 255:
        raise ValueError(f"the name {text[:40]!r}... is too long")
    return bytes([len(data)]) + data


def text(value: str) -> bytes:
    data = value.encode("utf-8", "backslashreplace")
    return b"s" + len(data).to_bytes(4, "little") + data


def fields(data: Mapping[str, Any]) -> bytes:
    """A blob: named values. Raises: TypeError for a value that is no plain data, ValueError and struct.error for one that is too large."""
    return len(data).to_bytes(2, "little") + b"".join(name(str(key)) + value(item) for key, item in data.items())


def numbers(values: Sequence[Any]) -> bytes | None:
    """A list of integers or of floats; None for any other."""
    if all(type(item) is int for item in values):
        return struct.pack(f"<cI{len(values)}q", b"I", len(values), *values)
    if all(type(item) is float for item in values):
        return struct.pack(f"<cI{len(values)}d", b"D", len(values), *values)
    return None


def number(item: bool | float) -> bytes:
    if isinstance(item, bool):
        return b"b\x01" if item else b"b\x00"
    return struct.pack("<cq", b"i", item) if isinstance(item, int) else struct.pack("<cd", b"d", item)


def value(item: Any) -> bytes:
    """None, a number, a text, a list or a mapping of them. Raises: as `fields`."""
    if item is None:
        return b"n"
    if isinstance(item, bool | int | float):
        return number(item)
    if isinstance(item, str):
        return text(item)
    if isinstance(item, Mapping):
        return b"r\x00" + fields(item)
    if isinstance(item, list | tuple):
        values = numbers(item)
        return b"l" + len(item).to_bytes(4, "little") + b"".join(map(value, item)) if values is None else values
    raise TypeError(f"{type(item).__name__} is no plain data")
