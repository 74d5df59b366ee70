"""Attributes and types of the tt dialects as xDSL attributes with plain Python payloads.

Every class knows its MLIR text through `body()` (the text after the mnemonic); `alchemist.ir.text` prints and parses them. The
payload (`data`) is hashable and never an xDSL object unless nesting demands it, so passes can read it without helpers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, BuiltinAttribute, Data, TypeAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from alchemist.errors import InternalError

Scalar = bool | int | float | str


@cache
def table(name: str) -> dict[str, Any]:
    """The committed JSON table `alchemist/ir/data/<name>.json`."""
    text = (files("alchemist.ir") / "data" / f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


# --- element types ------------------------------------------------------------------------------------------------------

_FLOATS: dict[str, Attribute] = {"f16": Float16Type(), "bf16": BFloat16Type(), "f32": Float32Type(), "f64": Float64Type()}
_BOOL = IntegerType(1)
_FLOAT_NAMES = {type(type_): name for name, type_ in _FLOATS.items()}
_SIGNS = {"i": Signedness.SIGNLESS, "si": Signedness.SIGNED, "ui": Signedness.UNSIGNED}
_NUMPY_FLOATS: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
DTYPE_ELEMENTS = {"f32": "f32", "f16": "f16", "bf16": "bf16", "si32": "si32", "u32": "ui32", "u16": "ui16", "u8": "ui8", "i1": "i1"}
ELEMENT_DTYPES = {name: dtype for dtype, name in DTYPE_ELEMENTS.items()} | {"i32": "si32", "i16": "u16", "i8": "u8"}


@cache
def element(name: str) -> Attribute:
    """Element type by name: "f32", "bf16", "i1", "si32", "ui8", "index", or a tile data type ("bfp_bf8")."""
    if name in _FLOATS:
        return _FLOATS[name]
    if name == "index":
        return IndexType()
    sign = name.rstrip("0123456789")
    if sign in _SIGNS and name != sign:
        return IntegerType(int(name[len(sign) :]), _SIGNS[sign])
    if name.startswith("bfp_"):
        return TileType((32, 32), name)
    raise InternalError(f"unknown element type {name!r}")


def element_name(type_: Attribute) -> str:
    """Inverse of `element`; tile types give their data type spelled as an element ("bf16", "ui32", "bfp_bf8")."""
    if (name := _FLOAT_NAMES.get(type(type_))) is not None:  # most values: printing the type takes twenty times as long
        return name
    if isinstance(type_, IntegerType):
        prefix = {Signedness.SIGNLESS: "i", Signedness.SIGNED: "si", Signedness.UNSIGNED: "ui"}[type_.signedness.data]
        return f"{prefix}{type_.width.data}"
    if isinstance(type_, TileType):
        return DTYPE_ELEMENTS.get(type_.dtype, type_.dtype)
    if isinstance(type_, IndexType):
        return "index"
    return str(type_)


def _dtype(of: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(of)
    return dtype


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """numpy dtype of an element type name; block formats are held as bfloat16 (every value is representable)."""
    if name in _NUMPY_FLOATS:
        return _dtype(_NUMPY_FLOATS[name])
    if name.startswith("bfp_"):
        return _dtype(ml_dtypes.bfloat16)
    if name == "i1":
        return np.dtype(np.bool_)
    if name == "index":
        return np.dtype(np.int64)
    sign = name.rstrip("0123456789")
    return np.dtype(f"{'uint' if sign == 'ui' else 'int'}{name[len(sign) :]}")


def element_name_of(dtype: np.dtype[Any]) -> str:
    """Signless MLIR spelling of a numpy dtype: float32 -> "f32", int64 -> "i64", uint8 -> "ui8", bool -> "i1"."""
    if dtype == np.bool_:
        return "i1"
    if dtype == ml_dtypes.bfloat16:
        return "bf16"
    return {"f": "f", "i": "i", "u": "ui"}[dtype.kind] + str(dtype.itemsize * 8)


def tensor(shape: tuple[int, ...] | list[int], of: str | Attribute, layout: Attribute | None = None) -> TensorType[Attribute]:
    """Ranked tensor type; `of` is an element name or type."""
    return TensorType(element(of) if isinstance(of, str) else of, tuple(int(dim) for dim in shape), layout or NoneAttr())


# --- dialect attributes -------------------------------------------------------------------------------------------------


class TTAttr(Data[Any]):
    """Base of the attributes below: `data` is hashable; `body()` is the text after the mnemonic."""

    name: ClassVar[str] = "tt.attribute"

    def body(self) -> str:
        raise NotImplementedError

    def python(self) -> Any:
        """The plain value that `access.attrs` returns."""
        return self.data

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        parser.raise_error(f"{cls.name} is parsed by alchemist.ir.text.parse")

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.body())


class EnumAttr(TTAttr):
    """`#ttcore.reduce_type<sum>`; data is the case's spelling. One subclass per mnemonic (`enum_class`)."""

    cases: ClassVar[tuple[str, ...]] = ()

    def body(self) -> str:
        return f"<{self.data}>"


class ShapeAttr(TTAttr):
    """`#ttnn.shape<1x32>`; data is a tuple of ints."""

    name = "ttnn.shape"

    def body(self) -> str:
        return f"<{'x'.join(str(dim) for dim in self.data)}>"


class CoreCoordAttr(TTAttr):
    """`#ttnn.core_coord<x, y>`; data is (x, y)."""

    name = "ttnn.core_coord"

    def body(self) -> str:
        return f"<{self.data[0]}, {self.data[1]}>"


Range = tuple[tuple[int, int], tuple[int, int]]


def range_body(cores: Range) -> str:
    (x0, y0), (x1, y1) = cores
    return f"<({x0},{y0}), ({x1},{y1})>"


class CoreRangeAttr(TTAttr):
    """`#ttnn.core_range<(0,0), (7,0)>`; data is ((x0, y0), (x1, y1)), inclusive."""

    name = "ttnn.core_range"

    def body(self) -> str:
        return range_body(self.data)


def range_set_body(ranges: tuple[Range, ...]) -> str:
    return f"<[{', '.join('#ttnn.core_range' + range_body(cores) for cores in ranges)}]>" if ranges else "<>"


class CoreRangeSetAttr(TTAttr):
    """`#ttnn.core_range_set<[...]>`; data is a tuple of ranges."""

    name = "ttnn.core_range_set"

    def body(self) -> str:
        return range_set_body(self.data)


class ShardSpecAttr(TTAttr):
    """`#ttnn.shard_spec<<[ranges]>, <32x32>, <row_major>>`; data is (ranges, shape, orientation)."""

    name = "ttnn.shard_spec"

    def body(self) -> str:
        ranges, shape, orientation = self.data
        return f"<{range_set_body(ranges)}, {ShapeAttr(shape).body()}, <{orientation}>>"

    def python(self) -> Any:
        return dict(zip(("ranges", "shape", "orientation"), self.data, strict=True))


class MemoryConfigAttr(TTAttr):
    """`#ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>, #ttnn.shard_spec<...>>`.

    data is (buffer, memory or "", ShardSpecAttr or an opaque nd shard spec or None).
    """

    name = "ttnn.memory_config"

    def body(self) -> str:
        buffer, memory, shard = self.data
        parts = [f"#ttnn.buffer_type<{buffer}>"] + ([f"<{memory}>"] if memory else [])
        return f"<{', '.join(parts + ([nested_text(shard)] if shard is not None else []))}>"

    def python(self) -> Any:
        buffer, memory, shard = self.data
        return {"buffer": buffer, "memory": memory, "shard": to_python(shard) if shard is not None else None}


class StructAttr(TTAttr):
    """`#ttnn.conv2d_config<weights_dtype = bf16, ...>`; data is ((name, scalar | Attribute | tuple), ...).

    One subclass per mnemonic (`struct_class`); `fields` lists (name, C++ type) in declaration order.
    """

    fields: ClassVar[tuple[tuple[str, str], ...]] = ()

    def body(self) -> str:
        return f"<{', '.join(f'{key} = {_field_text(value)}' for key, value in self.data)}>"

    def python(self) -> dict[str, Any]:
        return {key: to_python(value) for key, value in self.data}


def _field_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_field_text(part) for part in value)}]"
    if isinstance(value, Attribute):
        return nested_text(value)
    return str(value)


class TileType(TTAttr, TypeAttribute):
    """`!ttcore.tile<32x32, bf16>`."""

    name = "ttcore.tile"

    def __init__(self, shape: tuple[int, int], dtype: str) -> None:
        super().__init__((shape, dtype))

    @property
    def dtype(self) -> str:
        return str(self.data[1])

    def body(self) -> str:
        (height, width), dtype = self.data
        return f"<{height}x{width}, {dtype}>"


class DeviceType(TTAttr, TypeAttribute):
    """`!ttnn.device`."""

    name = "ttnn.device"

    def __init__(self) -> None:
        super().__init__(())

    def body(self) -> str:
        return ""


class OpaqueAttr(TTAttr):
    """Any dialect attribute without a structured class, kept as text: data is (full name, body)."""

    name = "tt.opaque"

    def body(self) -> str:
        return str(self.data[1])

    def python(self) -> str:
        return nested_text(self)


class OpaqueType(OpaqueAttr, TypeAttribute):
    name = "tt.opaque_type"


class DenseElements(Data[Any], BuiltinAttribute):
    """`dense<...> : tensor<...>` backed by numpy. A splat holds one element whatever its shape.

    array: the values in the tensor's shape (a zero-stride view for splats; never write to it).
    """

    name = "dense_elements"

    def __init__(self, values: Any, type_: TensorType[Attribute]) -> None:
        dtype = numpy_dtype(element_name(type_.get_element_type()))
        array: np.ndarray[Any, Any] = np.asarray(values, dtype=dtype)
        shape = type_.get_shape()
        if array.size != 1 and array.shape != shape:
            raise InternalError("elements do not fit their type", expected=str(shape), got=str(array.shape))
        if array.size > 1 and 0 in array.strides and not any(array.strides):
            array = array[(0,) * array.ndim]
        elif array.size > 1:
            first = array.reshape(-1)[:1]
            if (array == first).all() and (first.any() or array.tobytes() == first.tobytes() * array.size):
                array = first  # the second test keeps -0.0 apart from 0.0
        array = np.ascontiguousarray(array).reshape(() if array.size == 1 and math.prod(shape) != 0 else shape)
        array.setflags(write=False)
        super().__init__(array)
        object.__setattr__(self, "type", type_)
        object.__setattr__(self, "_key", (type_, array.shape, array.tobytes() if array.size <= 64 else None))

    type: TensorType[Attribute]
    _key: tuple[Any, ...]

    @property
    def array(self) -> np.ndarray[Any, Any]:
        return np.broadcast_to(self.data, self.type.get_shape())

    @property
    def is_splat(self) -> bool:
        return bool(self.data.size == 1)

    def python(self) -> np.ndarray[Any, Any]:
        return self.array

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DenseElements) or self._key != other._key:
            return False
        return self.data is other.data or bool(self.data.tobytes() == other.data.tobytes())

    def __hash__(self) -> int:
        return hash(self._key)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        parser.raise_error("dense elements are parsed by alchemist.ir.text.parse")

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"{dense_text(self)} : {self.type}")

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string(f"{dense_text(self)} : {self.type}")


# --- text and plain values ----------------------------------------------------------------------------------------------


def nested_text(attribute: Attribute) -> str:
    """MLIR text of an attribute inside another one, without aliases."""
    if isinstance(attribute, OpaqueAttr):
        return str(attribute.data[0]) + attribute.body()
    if isinstance(attribute, TTAttr):
        return ("!" if isinstance(attribute, TypeAttribute) else "#") + attribute.name + attribute.body()
    return str(attribute)


def float_text(value: float, of: str = "f32") -> str:
    """`1.500000e+00`, as MLIR prints, where six digits read back as the same number of element type `of`.

    Other numbers have their shortest decimal, inf and nan their bits in hexadecimal.
    """
    if math.isnan(value) or math.isinf(value):
        dtype = numpy_dtype(of)
        bits = np.asarray(value, dtype=dtype).view(f"u{dtype.itemsize}")
        return f"0x{int(bits):0{2 * dtype.itemsize}X}"
    number = numpy_dtype(of).type(value)
    six = f"{float(number):.6e}"
    with np.errstate(over="ignore"):  # the largest number may be rounded up to infinity
        if numpy_dtype(of).type(float(six)) == number:
            return six
    exact = number if of != "bf16" else np.float32(number)
    text = np.format_float_scientific(exact, trim="0", exp_digits=2)
    return np.format_float_positional(exact, trim="0") if -5 < int(text.partition("e")[2]) < 16 else text


def dense_text(elements: DenseElements) -> str:
    """`dense<...>` without the type: a splat, a list (up to 64 elements) or a hexadecimal blob."""
    of = element_name(elements.type.get_element_type())

    def scalar(value: Any) -> str:
        if of == "i1":
            return "true" if value else "false"
        return float_text(float(value), of) if of in _FLOATS else str(int(value))

    data = elements.data
    if data.size == 0:
        return "dense<>"
    if elements.is_splat:
        return f"dense<{scalar(data.reshape(-1)[0])}>"
    if data.size > 64:
        packed = np.packbits(data, bitorder="little") if of == "i1" else data
        return f'dense<"0x{packed.tobytes().hex().upper()}">'

    def listed(part: np.ndarray[Any, Any]) -> str:
        return f"[{', '.join(listed(row) for row in part)}]" if part.ndim else scalar(part[()])

    return f"dense<{listed(data)}>"


def to_python(attribute: Any) -> Any:
    """Plain value of an attribute: numbers, bools, strings, tuples, dicts, numpy arrays; types and layouts stay as they are."""
    kind = type(attribute)
    form = _plain_form_of.get(kind)
    if form is None:
        form = _plain_form_of[kind] = next((form for base, form in _PLAIN_FORMS if issubclass(kind, base)), _unchanged)
    return form(attribute)


def _unchanged(attribute: Any) -> Any:
    return attribute


def _plain_float(attribute: Any) -> float:
    return shortest_float(attribute.value.data, element_name(attribute.type))


def _plain_integer(attribute: Any) -> Any:
    return bool(attribute.value.data) if attribute.type == _BOOL else attribute.value.data


def _plain_symbol(attribute: Any) -> str:
    return "::".join([attribute.root_reference.data, *(part.data for part in attribute.nested_references.data)])


# First class that fits; passes ask for hundreds of thousands of values, so the choice is remembered per class.
_PLAIN_FORMS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (TTAttr, lambda attribute: attribute.python()),
    (DenseElements, lambda attribute: attribute.array),
    (IntegerAttr, _plain_integer),
    (FloatAttr, _plain_float),
    (StringAttr, lambda attribute: attribute.data),
    (SymbolRefAttr, _plain_symbol),
    (DenseArrayBase, lambda attribute: tuple(attribute.get_values())),
    (ArrayAttr, lambda attribute: tuple(to_python(part) for part in attribute.data)),
    (DictionaryAttr, lambda attribute: {key: to_python(part) for key, part in attribute.data.items()}),
    (UnitAttr, lambda attribute: True),
    (AffineMapAttr, lambda attribute: attribute.data),
    (tuple, lambda attribute: tuple(to_python(part) for part in attribute)),
)


_plain_form_of: dict[type, Callable[[Any], Any]] = {}


@lru_cache(maxsize=4096)
def shortest_float(value: float, of: str) -> float:
    """The double with the fewest digits that rounds to `value` in `of`: the 1e-05 of an f32 attribute reads 1e-05."""
    if of not in ("f32", "bf16", "f16") or math.isnan(value) or math.isinf(value):
        return value
    return float(str(np.float32(value)))
