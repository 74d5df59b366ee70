"""Enumerations, made from the table on first use. Members print as the real package prints them (`DataType.BFLOAT16`)."""

from __future__ import annotations

import enum
from functools import cache
from typing import Any

from ttnn._facts import facts

# Plain Python enums of the real package: they print as `<ShardStrategy.HEIGHT: 1>`.
_PYTHON_ENUMS = {"ShardStrategy"}


class NativeEnum(enum.Enum):
    """An enumeration that the real package defines in C++."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __str__ = __repr__


@cache
def enum_class(name: str) -> Any:
    """`ttnn.DataType` -> the class."""
    of, members = facts()["enums"][name]
    base: Any = enum.Enum if of in _PYTHON_ENUMS else NativeEnum
    cls = base(of, members, module="ttnn")
    blobs = {}
    for member in cls:
        text = member.name.encode()
        blobs[member] = b"s" + len(text).to_bytes(4, "little") + text
    cls._blobs_ = blobs
    return cls


@cache
def enum_names() -> dict[str, str]:
    """Short class name, as in type strings, to full name."""
    return {entry[0]: name for name, entry in facts()["enums"].items()}


DataType = enum_class("ttnn.DataType")
Layout = enum_class("ttnn.Layout")
BufferType = enum_class("ttnn.BufferType")
TensorMemoryLayout = enum_class("ttnn.TensorMemoryLayout")
ShardOrientation = enum_class("ttnn.ShardOrientation")
ShardDistributionStrategy = enum_class("ttnn.ShardDistributionStrategy")
ShardStrategy = enum_class("ttnn.ShardStrategy")
StorageType = enum_class("ttnn.StorageType")
Arch = enum_class("ttnn.Arch")
UnaryOpType = enum_class("ttnn.UnaryOpType")
