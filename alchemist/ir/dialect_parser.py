"""Parses attributes and types of the tt dialects; any other dialect's are kept as text with aliases expanded."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute

from alchemist.errors import ParseError
from alchemist.ir.attribute_classes import attribute_classes
from alchemist.ir.attribute_parser import BuiltinParser
from alchemist.ir.attributes import (
    DTYPE_ELEMENTS,
    ELEMENT_DTYPES,
    CoreCoordAttr,
    CoreRangeAttr,
    CoreRangeSetAttr,
    DeviceType,
    EnumAttr,
    MemoryConfigAttr,
    OpaqueAttr,
    OpaqueType,
    Range,
    ShapeAttr,
    ShardSpecAttr,
    StructAttr,
    TileType,
    element_name,
    table,
)
from alchemist.ir.layout import LayoutData, TTNNLayout
from alchemist.ir.lexer import BARE, SUFFIX

_DIMENSIONS = re.compile(r"(?:-?\d+x)*-?\d+|")
_WORD = re.compile(r"[\w.]+")
_T = TypeVar("_T")


_SCALE = re.compile(r"(?<![\w.])\d+\.\d*(?:[eE][-+]?\d+)?|(?<![\w.])\d+[eE][-+]?\d+")


def _quantised(body: str) -> str:
    """One spelling of `<storage:expressed, scale:zero point>`, so that equal types are equal: MLIR's own."""
    head, comma, tail = re.sub(r"\s+", "", body).partition(",")
    scales = _SCALE.sub(lambda match: _scientific(float(match[0])), tail)
    return head + (", " if comma else "") + re.sub(r":0(?=[,}>])", "", scales)


def _scientific(value: float) -> str:
    short = f"{value:e}"
    return short if float(short) == value else repr(value)


class AttributeParser(BuiltinParser):
    """Everything below operations."""

    def _dialect_type(self) -> Attribute:
        start = self.skip()
        name = self.need(SUFFIX, "a type")
        if "." not in name and not self.peek("<"):
            return self.alias(name, start)
        name = self.older.name(name)
        if name == "!ttcore.tile":
            return self._or_older(name, self._tile) or DeviceType()
        if name == "!ttnn.device":
            if self.peek("<"):
                self.body()
            return DeviceType()
        body = self.expand_aliases(self.body()) if self.peek("<") else ""
        return OpaqueType((name, _quantised(body) if name == "!quant.uniform" else body))

    def _tile(self) -> TileType:
        start = self.skip()
        self.expect("<")
        dims = self.dimension_list()
        if len(dims) != 2:
            self.fail("a tile has two dimensions", start)
        self.expect(",")
        dtype = self.need(BARE, "a data type")
        if dtype not in table("attributes")["enums"]["TTCore_DataType"]:
            self.fail(f"unknown data type {dtype}", start)
        self.expect(">")
        return TileType((dims[0], dims[1]), dtype)

    def _or_older(self, name: str, read: Callable[[], _T]) -> _T | None:
        """The result of `read` on the text here, or on its current spelling; None for an older spelling that needs its context."""
        start = self.skip()
        try:
            return read()
        except ParseError as failure:
            self.offset = start
            today = self.older.body(name, self.expand_aliases(self.body())) if self.peek("<") else None
            if today is None:
                raise
            if not today:
                return None
            whole, end = self.source, self.offset
            self.source, self.offset = today, 0
            try:
                return read()
            except ParseError:
                raise failure from None
            finally:
                self.source, self.offset = whole, end

    # --- dialect attributes ---

    def _dialect_attribute(self) -> Attribute:
        offset = self.skip()
        name = self.need(SUFFIX, "an attribute")
        if "." not in name and not self.peek("<"):
            return self.alias(name, offset)
        name = self.older.name(name)
        cls = attribute_classes().get(name[1:])
        if cls is None:
            return OpaqueAttr((name, self.expand_aliases(self.body()) if self.peek("<") else ""))
        start = self.skip()
        value = self._or_older(name, lambda: self._structured(cls))
        if value is None:  # an older spelling: keep it as text
            self.offset = start
            return OpaqueAttr((name, self.expand_aliases(self.body())))
        return value

    def _structured(self, cls: type[Any]) -> Attribute | None:
        if cls is TTNNLayout:
            return self._layout()
        if issubclass(cls, EnumAttr):
            return cls(self._case(cls))
        if cls is ShapeAttr:
            self.expect("<")
            dims = self.dimension_list()
            self.expect(">")
            return ShapeAttr(dims)
        if cls is CoreCoordAttr:
            return CoreCoordAttr(self._pair("<", ">"))
        if cls is CoreRangeAttr:
            return CoreRangeAttr(self._range())
        if cls is CoreRangeSetAttr:
            return CoreRangeSetAttr(self._range_set())
        if cls is ShardSpecAttr:
            self.expect("<")
            self.accept("#ttnn.core_range_set")
            ranges = self._range_set()
            self.expect(",")
            self.accept("#ttnn.shape")
            self.expect("<")
            shape = self.dimension_list()
            self.expect(">")
            self.expect(",")
            orientation = self._case(attribute_classes()["ttnn.shard_orientation"])
            self.expect(">")
            return ShardSpecAttr((ranges, shape, orientation))
        if cls is MemoryConfigAttr:
            return self._memory_config()
        return self._struct(cls) if issubclass(cls, StructAttr) else None

    def _case(self, cls: type[Any]) -> str:
        self.accept(f"#{cls.name}")
        self.expect("<")
        start = self.skip()
        case = self.need(_WORD, "an enumerator")
        if case not in cls.cases:
            self.fail(f"#{cls.name} has no case {case}", start, expected=", ".join(cls.cases[:20]))
        self.expect(">")
        return case

    def dimension_list(self) -> tuple[int, ...]:
        text = self.need(_DIMENSIONS, "dimensions")
        return tuple(int(part) for part in text.split("x")) if text else ()

    def _pair(self, opening: str, closing: str) -> tuple[int, int]:
        self.expect(opening)
        first = self.integer()
        self.expect(",")
        second = self.integer()
        self.expect(closing)
        return first, second

    def _range(self) -> Range:
        self.expect("<")
        offset = self.skip()
        start = self._pair("(", ")")
        self.expect(",")
        end = self._pair("(", ")")
        if min(*start, *end) < 0:
            self.fail("cores of a range must be non-negative", offset)
        self.expect(">")
        return start, end

    def _range_set(self) -> tuple[Range, ...]:
        self.expect("<")
        if self.accept(">"):
            return ()
        self.expect("[")

        def one() -> Range:
            if self.peek("#") and not self.accept("#ttnn.core_range"):
                value = self.attribute()
                if not isinstance(value, CoreRangeAttr):
                    self.fail("expected a core range")
                cores: Range = value.data
                return cores
            return self._range()

        ranges = tuple(self.comma_list(one, "]"))
        self.expect(">")
        return ranges

    def _enum_or_alias(self, name: str) -> str:
        """`<case>`, `#name<case>` or an alias of it."""
        cls = attribute_classes()[name]
        if self.peek("#") and not self.peek(f"#{name}"):
            value = self.attribute()
            if not isinstance(value, cls):
                self.fail(f"expected #{name}")
            return str(value.data)
        return self._case(cls)

    def _memory_config(self) -> MemoryConfigAttr:
        self.expect("<")
        buffer, memory, shard = "", "", None
        while True:
            if self.peek("<"):
                memory = self._case(attribute_classes()["ttnn.tensor_memory_layout"])
            else:
                value = self.attribute()
                if isinstance(value, EnumAttr) and value.name == "ttnn.buffer_type":
                    buffer = value.data
                elif isinstance(value, EnumAttr):
                    memory = value.data
                else:
                    shard = value
            if self.accept(">"):
                return MemoryConfigAttr((buffer, memory, shard))
            self.expect(",")

    def _struct(self, cls: type[StructAttr]) -> StructAttr:
        types = dict(cls.fields)
        self.expect("<")

        def entry() -> tuple[str, Any]:
            start = self.skip()
            key = self.need(BARE, "a field name")
            if key not in types:
                self.fail(f"#{cls.name} has no field {key}", start, expected=", ".join(types))
            self.expect("=")
            return key, self._field(types[key])

        return cls(tuple(self.comma_list(entry, ">")))

    def _field(self, cpp: str) -> Any:
        start = self.skip()
        if self.accept("["):
            return tuple(self.comma_list(lambda: self._field("element"), "]"))
        if self.peek("<"):
            for kind, name in (("CoreCoord", "ttnn.core_coord"), ("CoreRangeSet", "ttnn.core_range_set"),
                               ("UnaryWithParam", "ttnn.unary_with_param"), ("Grid", "ttcore.grid")):  # fmt: skip
                if kind in cpp:
                    cls = attribute_classes().get(name)
                    return self._structured(cls) if cls else OpaqueAttr((f"#{name}", self.expand_aliases(self.body())))
            self.fail("expected a field value", start)
        if self.source[start : start + 1] in '#"@' and not self.peek('"'):
            value = self.attribute()
            return value.data if isinstance(value, EnumAttr) else value
        if self.peek('"'):
            return self.attribute()
        word = self.need(re.compile(r"-?[\w.+-]+"), "a field value")
        if word in ("true", "false"):
            return word == "true"
        if re.fullmatch(r"-?\d+", word):
            number: Any = int(word)
        elif re.fullmatch(r"-?\d[\d.]*(?:[eE][-+]?\d+)?", word):
            number = float(word)
        else:
            return word
        if self.accept(":"):
            type_ = self.parse_type()
            return FloatAttr(float(number), type_) if isinstance(number, float) else IntegerAttr(number, type_)
        return number

    def _layout(self) -> TTNNLayout:
        self.expect("<")
        linear = self.affine_map()
        self.expect(",")
        self.expect("<")
        grid = self.dimension_list()
        if self.accept(","):
            self.fail("a grid is written `<8x8>` in a layout")
        self.expect(">")
        self.expect(",")
        mesh = ""
        if self.keyword("mesh"):
            self.expect("=")
            self.accept("#ttcore.tensor_mesh")
            self.expect("<")
            mesh = self.string()
            self.expect(">")
            self.expect(",")
        start = self.skip()
        self.expect("memref")
        self.expect("<")
        shape = self._dimensions()
        of = self.parse_type()
        self.expect(",")
        buffer = self._enum_or_alias("ttnn.buffer_type")
        self.expect(">")
        memory, ranges, ignore = "", None, False
        while self.accept(","):
            if self.keyword("core_ranges"):
                self.expect("=")
                self.accept("#ttnn.core_range_set")
                if self.peek("#"):
                    value = self.attribute()
                    if not isinstance(value, CoreRangeSetAttr):
                        self.fail("expected a core range set")
                    ranges = value.data
                else:
                    ranges = self._range_set()
            elif self.keyword("exactGrid") or self.keyword("ignorePhysicalLayout"):
                self.expect("=")
                ignore = self.need(BARE, "true or false") == "true"
            else:
                memory = self._enum_or_alias("ttnn.tensor_memory_layout")
        self.expect(">")
        if (buffer == "system_memory" or (buffer == "dram" and memory == "interleaved")) and set(grid) != {1}:
            self.fail(f"the grid of a layout in {buffer} must be 1x1 unless it is sharded", start, expected="<1x1>")
        if buffer == "dram" and memory == "block_sharded":
            self.fail("tensors in dram cannot be block-sharded", start, expected="width_sharded, height_sharded or interleaved")
        tile = isinstance(of, TileType)
        dtype = of.dtype if isinstance(of, TileType) else ELEMENT_DTYPES.get(element_name(of), element_name(of))
        if not tile and dtype not in DTYPE_ELEMENTS:
            self.fail(f"a row-major layout cannot hold {dtype}", start)
        return TTNNLayout(LayoutData(linear, grid, shape, dtype, tile, buffer, memory, ranges, mesh, ignore))
