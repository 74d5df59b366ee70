"""Argument conversion: type strings of the table become checkers, checked values become ABI attributes.

A checker takes (value, loose) and returns the value to use, or MISMATCH. As in the real package every overload is first tried
without conversions, then with (`loose`: int for float, index types for int, tuple for CoreCoord, int for an enum).
"""

from __future__ import annotations

import enum
import operator
import os
import re
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from ttnn_shim.paths import split_outside_brackets

from ttnn._enums import enum_class, enum_names

MISMATCH: Any = type("Mismatch", (), {"__repr__": lambda self: "<mismatch>"})()
Checker = Callable[[Any, bool], Any]

# Classes by the short name used in type strings, filled by `register_class`; implicit conversions by class.
_classes: dict[str, type] = {}
_implicit: dict[type, Callable[[Any], Any]] = {}
_INT_RANGE = range(-(2**63), 2**63)
_SAME = {
    "EltwiseUnaryWithParam": "UnaryWithParam",
    "Device": "MeshDevice",
    "ttnn.device.Device": "MeshDevice",
    "ttnn.device.DispatchCoreConfig": "DispatchCoreConfig",
    "ttnn.types.ShardStrategy": "ShardStrategy",
    "ttnn.distributed.distributed.ReplicateTensorToMeshWrapper": "ReplicateTensorToMeshWrapper",
}


def register_class(name: str, cls: type, implicit: Callable[[Any], Any] | None = None) -> None:
    """`implicit(value)` converts where the real package converts implicitly, else returns MISMATCH."""
    _classes[name] = cls
    if implicit is not None:
        _implicit[cls] = implicit


def check_int(value: Any, loose: bool) -> Any:
    if type(value) is int:
        return value if value in _INT_RANGE else MISMATCH
    if loose and not isinstance(value, float) and hasattr(value, "__index__"):
        try:
            return operator.index(value)
        except TypeError:
            return MISMATCH
    return MISMATCH


def check_bool(value: Any, loose: bool) -> Any:
    return value if value is True or value is False else MISMATCH


def check_float(value: Any, loose: bool) -> Any:
    if isinstance(value, float):
        return float(value)
    if loose and hasattr(value, "__float__"):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return MISMATCH
    return MISMATCH


def check_str(value: Any, loose: bool) -> Any:
    return value if isinstance(value, str) else MISMATCH


def check_path(value: Any, loose: bool) -> Any:
    return os.fspath(value) if isinstance(value, str | os.PathLike) else MISMATCH


def check_any(value: Any, loose: bool) -> Any:
    return value


def _check_none(value: Any, loose: bool) -> Any:
    return None if value is None else MISMATCH


def _refuse(value: Any, loose: bool) -> Any:
    return MISMATCH


_WIDTHS = {"i8": range(-128, 128), "i32": range(-(2**31), 2**31), "u32": range(2**32), "i64": _INT_RANGE}


def restrict(check: Checker, kind: str) -> Checker:
    """`check` for a C++ integer or array parameter: see int_kinds in make_signatures.py."""
    match = re.fullmatch(r"(\w+)(!?)(?:\[([\d,]+)\])?", kind)
    if match is None:
        raise ValueError(f"unknown integer kind {kind!r}")
    width, exact = _WIDTHS[match.group(1)], bool(match.group(2))
    lengths = {int(part) for part in match.group(3).split(",")} if match.group(3) else None

    def narrow(value: Any, loose: bool) -> Any:
        converted = check(value, loose)
        if type(converted) is int:
            return converted if converted in width and not (exact and type(value) is not int) else MISMATCH
        if type(converted) is tuple:
            if lengths is not None and len(converted) not in lengths:
                return MISMATCH
            return converted if all(type(number) is not int or number in width for number in converted) else MISMATCH
        return converted

    return narrow


def _sequence(item: Checker) -> Checker:
    def check(value: Any, loose: bool) -> Any:
        if not isinstance(value, list | tuple):
            if isinstance(value, str | bytes | dict | set | frozenset) or not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
                return MISMATCH
            if type(value).__name__ == "Tensor" or getattr(value, "ndim", 1) == 0:
                return MISMATCH
        out = []
        for element in value:
            converted = item(element, loose)
            if converted is MISMATCH:
                return MISMATCH
            out.append(converted)
        return tuple(out)

    return check


def _set(item: Checker) -> Checker:
    def check(value: Any, loose: bool) -> Any:
        if not isinstance(value, set | frozenset):
            return MISMATCH
        out = [item(element, loose) for element in value]
        return MISMATCH if any(converted is MISMATCH for converted in out) else out

    return check


def _fixed(items: list[Checker]) -> Checker:
    def check(value: Any, loose: bool) -> Any:
        if not isinstance(value, tuple | list) or len(value) != len(items):
            return MISMATCH
        out = [item(element, loose) for item, element in zip(items, value, strict=True)]
        return MISMATCH if any(converted is MISMATCH for converted in out) else tuple(out)

    return check


def _union(items: list[Checker]) -> Checker:
    def check(value: Any, loose: bool) -> Any:
        for item in items:
            converted = item(value, False)
            if converted is not MISMATCH:
                return converted
        if loose:
            for item in items:
                converted = item(value, True)
                if converted is not MISMATCH:
                    return converted
        return MISMATCH

    return check


def _enum(name: str) -> Checker:
    cls = enum_class(name)

    def check(value: Any, loose: bool) -> Any:
        if type(value) is cls:
            return value
        if loose and not isinstance(value, float) and hasattr(value, "__index__"):
            try:
                return cls(operator.index(value))
            except (TypeError, ValueError):
                return MISMATCH
        return MISMATCH

    return check


def _instance(name: str) -> Checker:
    def check(value: Any, loose: bool) -> Any:
        cls = _classes.get(name)
        if cls is None:
            return MISMATCH  # a class that no value can be of: not offered, or of a config that nobody has asked for; only None passes
        if isinstance(value, cls):
            return value
        if loose and cls in _implicit:
            return _implicit[cls](value)
        return MISMATCH

    return check


_BASIC: dict[str, Checker] = {
    "int": check_int, "int_": check_int, "float": check_float, "bool": check_bool, "str": check_str, "object": check_any, "None": _check_none,
    "NoneType": _check_none, "pathlib.Path": check_path, "os.PathLike": check_path,
    "ForwardRef(torch.Tensor)": check_any, "ForwardRef(torch.dtype)": check_any, "List": check_any, "list": check_any, "dict": check_any,
    "detail::tuple<int_, int_>": _refuse,
}  # fmt: skip


@cache
def checker(text: str) -> Checker:
    """The checker of a type string."""
    if text in _BASIC:
        return _BASIC[text]
    if len(parts := split_outside_brackets(text, "|")) > 1:
        return _union([checker(part) for part in parts])
    if text == "ArrayLike[]":
        return _instance("ArrayLike")
    if match := re.fullmatch(r"(\w+)\[(.*)\]", text):
        head, inner = match.group(1), split_outside_brackets(match.group(2), ",")
        if head == "Optional":
            return _union([_check_none, checker(inner[0])])
        if head == "Union":
            return _union([checker(part) for part in inner])
        if head in ("Sequence", "List", "list"):
            return _sequence(checker(inner[0]))
        if head == "Set":
            return _set(checker(inner[0]))
        if head in ("tuple", "Tuple"):
            return _sequence(checker(inner[0])) if inner[-1] == "..." else _fixed([checker(part) for part in inner])
        return check_any  # Callable[...], Mapping[...]
    name = _SAME.get(text, text)
    name = name.removeprefix("ttnn.")
    if name in enum_names():
        return _enum(enum_names()[name])
    return _instance(name)


def default_value(text: Any, type_: str) -> Any:
    """The value that a default of the table stands for."""
    if not isinstance(text, str):
        return list(text) if isinstance(text, list) else text
    if type_ in ("str", "str | None"):
        return text
    if match := re.fullmatch(r"(\w+)\.(\w+)", text):
        name = enum_names().get(match.group(1))
        if name is not None:
            return enum_class(name)[match.group(2)]
    if match := re.fullmatch(r"\[([-\d, ]*)\]", text):
        return [int(part) for part in match.group(1).split(",") if part]
    if match := re.fullmatch(r"(\d+)-(\d+)", text):
        return _classes["CoreCoord"](int(match.group(1)), int(match.group(2)))
    if match := re.match(r"MemoryConfig\(memory_layout=TensorMemoryLayout::(\w+),buffer_type=BufferType::(\w+)", text):
        enums = (enum_class("ttnn.TensorMemoryLayout")[match.group(1)], enum_class("ttnn.BufferType")[match.group(2)])
        return _classes["MemoryConfig"](*enums)
    return text


# --- encoding: see the comment at the top of abi.h -------------------------------------------------------------------

_NONE = b"n"
_pack_int = struct.Struct("<cq").pack
_pack_float = struct.Struct("<cd").pack
_pack_index = struct.Struct("<cI").pack


def encode_ints(values: Any) -> bytes:
    return struct.pack(f"<cI{len(values)}q", b"I", len(values), *values)


def encode_text(text: str) -> bytes:
    data = text.encode()
    return b"s" + len(data).to_bytes(4, "little") + data


def encode_fields(fields: list[tuple[bytes, bytes]]) -> bytes:
    """A blob from (name prefix, encoded value) pairs."""
    return len(fields).to_bytes(2, "little") + b"".join(part for pair in fields for part in pair)


@cache
def name_prefix(name: str) -> bytes:
    data = name.encode()
    return bytes([len(data)]) + data


def encode_record(type_: str, fields: list[tuple[str, Any]]) -> bytes:
    """A record; fields that are None are absent."""
    rows = [(name_prefix(name), encode(value, None)) for name, value in fields if value is not None]
    return b"r" + name_prefix(type_) + encode_fields(rows)


def encode(value: Any, tensors: list[Any] | None) -> bytes:
    """One value. Tensors are appended to `tensors` and travel as their index."""
    kind = type(value)
    if kind is bool:
        return b"b\x01" if value else b"b\x00"
    if kind is int:
        return _pack_int(b"i", value)
    if kind is float:
        return _pack_float(b"d", value)
    if kind is str:
        return encode_text(value)
    if kind is tuple or kind is list:
        return _encode_sequence(value, tensors)
    if value is None:
        return _NONE
    method = getattr(value, "_encode", None)
    if method is not None:
        return bytes(method())
    if isinstance(value, enum.Enum):
        blob: bytes = type(value)._blobs_[value]  # type: ignore[attr-defined]
        return blob
    if tensors is not None and hasattr(value, "_handle"):
        tensors.append(value._handle)
        return _pack_index(b"t", len(tensors) - 1)
    raise TypeError(f"cannot pass a {kind.__name__} to the core")


def _encode_sequence(values: Any, tensors: list[Any] | None) -> bytes:
    kinds = {type(value) for value in values}
    if kinds <= {int, bool}:
        return encode_ints(values)
    if kinds == {float}:
        return struct.pack(f"<cI{len(values)}d", b"D", len(values), *values)
    if tensors is not None and len(kinds) == 1 and hasattr(values[0], "_handle"):
        first = len(tensors)
        tensors.extend(value._handle for value in values)
        return struct.pack(f"<cI{len(values)}I", b"T", len(values), *range(first, len(tensors)))
    return b"l" + len(values).to_bytes(4, "little") + b"".join(encode(value, tensors) for value in values)
