"""Reads and writes tt-mlir's flatbuffers (`.ttnn`, `.ttsys`) by schemas that are data. Files are untrusted.

A schema lists a table's fields in the order of their ids; the same schema reads and writes. `read` checks every offset and
length before it is used, and counts the memory of what it creates: a damaged file ends with a `FlatbufferError` that names
the field and the byte, never with a crash, and needs less than `MEMORY_PER_BYTE` bytes of memory per byte of the file.

An envelope is size prefixed: u32 number of bytes that follow, then a flatbuffer (u32 root offset, 4 bytes identifier, ...).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alchemist.errors import FlatbufferError, file_error, printable, quoted
from alchemist.source_text import read_bytes

MEMORY_PER_BYTE = 8
_SPARE_MEMORY_BYTES = 256 * 1024  # of any file: small ones consist of numbers, which take much more in Python
_PREFIX_BYTES = 4  # the size in front of the flatbuffer

# --- Schemas ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scalar:
    """code: of the `struct` module, little-endian. names: of an enumeration; a number without a name stays a number."""

    code: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Struct:
    """Fixed-size numbers, a tuple in Python. codes: as in Scalar, with explicit padding; names: of the numbers, for JSON."""

    codes: str
    align_bytes: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Boxed:
    """A struct that is stored elsewhere: what a union of structs points to. Only read."""

    of: Struct


@dataclass(frozen=True, slots=True)
class Text:
    """UTF-8 text."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A tuple in Python; of bytes (`U8`): `bytes`."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """fields: (name, kind) by id; kind None: a field that is neither read nor written (a union, a newer or older table)."""

    name: str
    fields: tuple[tuple[str, Kind | None], ...]


@dataclass(frozen=True, slots=True)
class Ages:
    """One table, several ages of its fields: (slots, fields). A file's table belongs to the first age with as many slots as it has."""

    name: str
    tables: tuple[tuple[int, Table], ...]

    def of(self, slots: int) -> Table:
        return next((table for limit, table in self.tables if slots <= limit), self.tables[-1][1])


Kind = Scalar | Struct | Boxed | Text | Vector | Table | Ages
BOOL, U8, U16, U32, U64, I32, I64 = map(Scalar, "?BHIQiq")
TEXT = Text()


def size_bytes(kind: Kind) -> int:
    """What a value takes where it is stored in place; 4, an offset, for the others."""
    return struct.calcsize("<" + (kind.codes if isinstance(kind, Struct) else kind.code)) if isinstance(kind, Struct | Scalar) else 4


class Record(dict[str, Any]):
    """Values of a table by field name; `record[name]` is zero for a number that is not stored. table: its schema; slots: in the file; at: its byte."""

    __slots__ = ("at", "slots", "table")

    def __init__(self, values: Mapping[str, Any] = {}, table: Table | None = None, slots: int = 0, offset: int = 0) -> None:
        super().__init__(values)
        self.table, self.slots, self.at = table, slots, offset

    def __missing__(self, name: str) -> Any:
        return self.zeros()[name]

    def zeros(self) -> dict[str, Any]:
        """What numbers have when they are not stored, by field."""
        kinds = [(name, kind) for name, kind in self.table.fields if isinstance(kind, Scalar)] if self.table is not None else []
        return {name: kind.names[0] if kind.names else False if kind.code == "?" else 0 for name, kind in kinds}


# --- Which file is it? ------------------------------------------------------------------------------------------------------

TTNN, TTSYS, TTMETAL = "TTNN", "TTSY", "TTM0"
_KINDS = {
    TTNN: ("a TTNN binary (.ttnn)", "`ttrt read` shows it"),
    TTSYS: ("a system descriptor (.ttsys)", "it goes into the option system-desc-path"),
    TTMETAL: ("a TTMetal binary (.ttm, .ttb)", "only a card runs it; compile the model with --ttir-to-ttnn-backend-pipeline for a .ttnn"),
}
_FOREIGN = (  # first bytes -> what the file is, what would do
    (b"{", "JSON", "`ttrt query --save-artifacts` writes a .ttsys, `ttmlir-translate --ttnn-to-flatbuffer` a .ttnn"),
    (b"\x7fELF", "an ELF object", "give the .ttnn that it was taken from"),
    (b"ML\xefR", "MLIR bytecode", "print it as text first: `ttmlir-opt FILE`"),
    (b"PK\x03\x04", "a zip archive", "a .pt file holds tensors: give it to --inputs"),
    (b"version https://git-lfs", "a Git LFS pointer", "fetch the file itself: `git lfs pull`"),
)


def identifier(data: bytes) -> str:
    """The identifier of a tt-mlir binary, "" for other bytes."""
    text = data[8:12].decode("latin-1")
    return text if text in _KINDS and len(data) >= 12 else ""


def described(data: bytes) -> tuple[str, str]:
    """What bytes are, by their first ones, and what to do with them."""
    if code := identifier(data):
        return _KINDS[code]
    for start, kind, hint in _FOREIGN:
        if data.lstrip()[: len(start)] == start or data[: len(start)] == start:
            return kind, hint
    if not data:
        return "an empty file", "write it again"
    if b"\0" not in data[:4096]:
        return "text", "MLIR text goes to `alchemist opt`, `generate-python` and the like"
    return f"a file with the identifier {quoted(data[8:12])}", "give a .ttnn or .ttsys of tt-mlir, or of `ttmlir-translate --ttnn-to-flatbuffer`"


def read_file(path: str | Path, schemas: Mapping[str, Table | Ages]) -> tuple[str, Record]:
    """Identifier and root table of a file, read by the schema of its identifier.

    Raises:
        FileError: not there, not readable. FlatbufferError: another kind of file, or a damaged one.
    """
    return read(read_bytes(path), str(path), schemas)


def read(data: bytes, name: str, schemas: Mapping[str, Table | Ages]) -> tuple[str, Record]:
    """As `read_file`; name: of the file, for messages."""
    code = identifier(data)
    expected = " or ".join(_KINDS[key][0] for key in schemas)
    if code not in schemas:
        kind, hint = described(data)
        raise FlatbufferError(f"this is {kind}", location=f"{name}: byte {8 if code else 0}", expected=expected, hint=hint)
    if (size := int.from_bytes(data[:_PREFIX_BYTES], "little")) != len(data) - _PREFIX_BYTES:
        raise FlatbufferError(
            "the file is truncated" if size > len(data) - _PREFIX_BYTES else "the file is longer than its header says",
            location=f"{name}: byte 0",
            expected=f"{size + _PREFIX_BYTES} bytes",
            got=f"{len(data)} bytes",
            hint="copy or write the file again",
        )
    return code, read_root(data, name, schemas[code], _PREFIX_BYTES)


def read_root(data: bytes, name: str, schema: Table | Ages, start: int = 0) -> Record:
    """The root table of a flatbuffer that begins at byte `start`. Raises: FlatbufferError."""
    reader = _Reader(data, name)
    return reader.table(reader.target(start, "root"), schema, schema.name)


# --- Reading ----------------------------------------------------------------------------------------------------------------


class _Reader:
    """Checked access to the bytes of one file. `field` in the methods: where we are, for messages."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name
        self.budget_bytes = MEMORY_PER_BYTE * len(data) + _SPARE_MEMORY_BYTES

    def fail(self, problem: str, offset: int, field: str, got: str = "") -> FlatbufferError:
        return FlatbufferError(
            f"{field}: {problem}", location=f"{self.name}: byte {offset}", expected=f"bytes 0 to {len(self.data)}", got=got,
            hint="the file is damaged: copy or write it again",
        )  # fmt: skip

    def charge(self, memory_bytes: int, offset: int, field: str) -> None:
        self.budget_bytes -= memory_bytes
        if self.budget_bytes < 0:
            raise self.fail("the file refers to the same bytes too often", offset, field)

    def number(self, offset: int, code: str, field: str) -> Any:
        return self.numbers(offset, code, field)[0]

    def numbers(self, offset: int, codes: str, field: str) -> tuple[Any, ...]:
        if offset < 0 or offset + struct.calcsize("<" + codes) > len(self.data):
            raise self.fail("a value outside the file", offset, field)
        return struct.unpack_from("<" + codes, self.data, offset)

    def target(self, at: int, field: str) -> int:
        """Where the offset at `at` leads."""
        offset = self.number(at, "I", field)
        if at + offset + 4 > len(self.data) or not offset:
            raise self.fail("an offset leads out of the file" if offset else "an offset of zero", at, field, f"byte {at + offset}")
        return int(at + offset)

    def table(self, at: int, schema: Table | Ages, field: str) -> Record:
        vtable = at - self.number(at, "i", field)
        vtable_bytes, table_bytes = self.numbers(vtable, "HH", field)
        if vtable_bytes < 4 or vtable_bytes % 2 or vtable + vtable_bytes > len(self.data) or table_bytes < 4 or at + table_bytes > len(self.data):
            raise self.fail("no table", at, field, f"a table of {table_bytes} bytes, its description of {vtable_bytes} at byte {vtable}")
        slots = vtable_bytes // 2 - 2
        table = schema.of(slots) if isinstance(schema, Ages) else schema
        self.charge(240 + 64 * min(slots, len(table.fields)), at, field)
        values = Record({}, table, slots, at)
        for (name, kind), offset in zip(table.fields, self.numbers(vtable + 4, f"{min(slots, len(table.fields))}H", field), strict=False):
            if not offset or kind is None:
                continue
            if offset + size_bytes(kind) > table_bytes:
                raise self.fail("a field behind the end of its table", at + offset, f"{field}.{name}")
            values[name] = self.value(at + offset, kind, f"{field}.{name}")
        return values

    def value(self, offset: int, kind: Kind, field: str) -> Any:
        match kind:
            case Scalar(code, names):
                number = self.number(offset, code, field)
                return names[number] if 0 <= number < len(names) else number
            case Struct(codes):
                return self.numbers(offset, codes, field)
            case Boxed(of):
                return self.numbers(self.target(offset, field), of.codes, field)
            case Text():
                start = self.target(offset, field)
                size = self.number(start, "I", field)
                if start + 4 + size > len(self.data):
                    raise self.fail("text longer than the file", start, field, f"{size} bytes")
                self.charge(size + 64, offset, field)
                return self.data[start + 4 : start + 4 + size].decode("utf-8", "replace")
            case Vector(of):
                return self.vector(self.target(offset, field), of, field)
            case Table() | Ages():
                return self.table(self.target(offset, field), kind, field)

    def vector(self, offset: int, of: Kind, field: str) -> Any:
        count = self.number(offset, "I", field)
        step = size_bytes(of)
        if offset + 4 + count * step > len(self.data):
            raise self.fail("a vector longer than the file", offset, field, f"{count} elements of {step} bytes")
        if of == U8:
            self.charge(count, offset, field)
            return self.data[offset + 4 : offset + 4 + count]
        numbers = len(of.codes) if isinstance(of, Struct) else isinstance(of, Scalar)
        self.charge(56 + count * (8 + 48 * isinstance(of, Struct) + 40 * numbers), offset, field)
        return tuple(self.value(offset + 4 + step * index, of, f"{field}[{index}]") for index in range(count))


# --- Writing ----------------------------------------------------------------------------------------------------------------


def write(schema: Table, values: Mapping[str, Any], name: str) -> bytes:
    """Returns a size-prefixed file with the identifier `name`. `read` of it returns `values` without zeros and None.

    Fields that are absent, None or zero are not stored, as flatbuffers does with defaults.

    Raises:
        ValueError, struct.error: a value that its field cannot hold (the caller's mistake, not a file's).
    """
    import flatbuffers

    builder = flatbuffers.Builder(4096)
    root = _stored(builder, schema, values)
    builder.FinishSizePrefixed(root, name.encode("ascii"))
    return bytes(builder.Output())


def write_file(path: str | Path, data: bytes) -> None:
    """Writes a whole file or nothing: a reader never finds half of one. Raises: FileError."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        part.write_bytes(data)
        part.replace(target)
    except OSError as error:
        raise file_error(OSError(error.errno, error.strerror), target, "write") from None
    finally:
        part.unlink(missing_ok=True)


def _raw(kind: Scalar | Struct, value: Any) -> bytes:
    if isinstance(kind, Struct):
        return struct.pack("<" + kind.codes, *value)
    return struct.pack("<" + kind.code, kind.names.index(value) if isinstance(value, str) else value)


def _inline(builder: Any, raw: bytes) -> None:
    builder.head -= len(raw)
    builder.Bytes[builder.head : builder.head + len(raw)] = raw


def _stored(builder: Any, kind: Kind, value: Any) -> int:
    """Writes a value that others point to; returns its offset."""
    match kind:
        case Text():
            return int(builder.CreateString(value))
        case Vector(of) if isinstance(of, Scalar | Struct):
            raw = bytes(value) if of == U8 else b"".join(_raw(of, item) for item in value)
            builder.StartVector(size_bytes(of), len(value), of.align_bytes if isinstance(of, Struct) else size_bytes(of))
            _inline(builder, raw)
            return int(builder.EndVector())
        case Vector(of):
            offsets = [_stored(builder, of, item) for item in value]
            builder.StartVector(4, len(offsets), 4)
            for offset in reversed(offsets):
                builder.PrependUOffsetTRelative(offset)
            return int(builder.EndVector())
        case Ages():
            return _stored(builder, kind.tables[-1][1], value)
        case Table():
            return _stored_table(builder, kind, value)
    raise TypeError(f"{kind} is stored in place")


def _stored_table(builder: Any, table: Table, values: Mapping[str, Any]) -> int:
    unknown = values.keys() - {name for name, kind in table.fields if kind is not None}
    if unknown:
        raise ValueError(f"{table.name} has no field {', '.join(sorted(unknown))}")
    present = {name: values[name] for name, _ in table.fields if values.get(name) is not None}
    offsets = {name: _stored(builder, kind, present[name]) for name, kind in table.fields if name in present and kind and not isinstance(kind, Scalar | Struct)}
    builder.StartObject(len(table.fields))
    for slot, (name, kind) in enumerate(table.fields):
        if name in offsets:
            builder.PrependUOffsetTRelativeSlot(slot, offsets[name], 0)
        elif name in present and isinstance(kind, Scalar | Struct) and (isinstance(kind, Struct) or any(raw := _raw(kind, present[name]))):
            raw = _raw(kind, present[name])
            builder.Prep(kind.align_bytes if isinstance(kind, Struct) else len(raw), 0 if isinstance(kind, Scalar) else len(raw))
            _inline(builder, raw)
            builder.Slot(slot)
    return int(builder.EndObject())


# --- Printing ---------------------------------------------------------------------------------------------------------------


def as_json(value: Any, kind: Kind | None = None) -> Any:
    """What `read` gave, for `json.dumps`: zeros that are not stored, structs by their names, bytes as their number, text without control characters."""
    if isinstance(value, Record) and value.table is not None:
        zeros = value.zeros()
        return {name: as_json(value.get(name, zeros.get(name)), of) for name, of in value.table.fields if name in value or name in zeros}
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(kind, Struct) and kind.names and isinstance(value, tuple):
        return dict(zip(kind.names, value, strict=True))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(item, kind.of if isinstance(kind, Vector) else None) for item in value]
    return printable(value) if isinstance(value, str) else value
