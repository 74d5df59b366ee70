"""Parses builtin attributes, types, affine maps and locations of MLIR text; dialects' own ones are in `dialect_parser.py`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    CallSiteLoc,
    ComplexType,
    DenseArrayBase,
    DictionaryAttr,
    FileLineColLoc,
    FloatAttr,
    FunctionType,
    FusedLoc,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    NameLoc,
    NoneAttr,
    NoneType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
    UnitAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from alchemist.ir.attributes import DenseElements, OpaqueAttr, OpaqueType, element, element_name, numpy_dtype, tensor
from alchemist.ir.lexer import BARE, NUMBER, STRING, SUFFIX, Cursor, decode_string
from alchemist.ir.older import OlderText

_T = TypeVar("_T")
_ALIAS = re.compile(r"(?m)^[ \t]*([#!][A-Za-z_$][\w$-]*)[ \t]*=[ \t]*")
_ALIAS_USE = re.compile(r'"(?:[^"\\\n]|\\.)*"|([#!][A-Za-z_$][\w$-]*)(?![\w$.<-])')
_ELEMENT = re.compile(r"(?:[su]?i\d+|f16|bf16|f32|f64|index|none)\b")
_PLAIN = r"->|[^<>-]++|-(?!>)"
_NESTED = rf"<(?:{_PLAIN}|<(?:{_PLAIN}|<(?:{_PLAIN}|<(?:{_PLAIN})*+>)*+>)*+>)*+>"
_TENSOR = re.compile(rf"tensor{_NESTED}")
"""A tensor type whose brackets are balanced, down to four levels: equal texts are equal types."""
_MAP = re.compile(r"\([^()<>]*\)\s*->\s*\([^()<>]*\)")
_DIMENSION = re.compile(r"(\d+|\?)[ \t]*x[ \t]*")
_RESOURCE = re.compile(r'([\w$.-]+|"(?:[^"\\\n]|\\.)*")\s*:\s*"0x([0-9A-Fa-f]*)"')
_AFFINE = re.compile(r"\((?:\s*d\d+\s*,?)*\)\s*(?:\[(?:\s*s\d+\s*,?)*\])?\s*->\s*\((?=\s*[ds(\d-]\s*\d*\b)")
_ODD_MEMREF = re.compile(r"[*?]|\bstrided\b|#")
_DIMENSIONS = re.compile(r"(?:-?\d+x)*-?\d+|")
_WORD = re.compile(r"[\w.]+")


class BuiltinParser(Cursor):
    """Everything below operations. Aliases are found before parsing and parsed when first used, wherever they are defined."""

    older = OlderText()

    def __init__(self, text: str, filename: str) -> None:
        super().__init__(text, filename)
        self._alias_at: dict[str, int] = {}
        for match in _ALIAS.finditer(text):
            if match[1] in self._alias_at:
                self.fail(f"alias {match[1]} is defined twice", match.start(1))
            self._alias_at[match[1]] = match.end()
        self._aliases: dict[str, tuple[Attribute, int]] = {}
        self._open: set[str] = set()
        self._tensors: dict[str, TensorType[Attribute]] = {}
        self._maps: dict[str, AffineMap] = {}
        self._resources: dict[str, bytes] | None = None

    # --- aliases ---

    def alias(self, name: str, start: int) -> Attribute:
        """Value of an alias; its definition may come later in the file."""
        if name not in self._alias_at:
            self.fail(f"undefined alias {name}", start)
        return self._alias(name)[0]

    def _alias(self, name: str) -> tuple[Attribute, int]:
        alias = self._aliases.get(name)
        if alias is None:
            if name in self._open:
                self.fail(f"alias {name} refers to itself", self._alias_at[name])
            back, self.offset = self.offset, self._alias_at[name]
            self._open.add(name)
            value: Attribute = self.location() if self.keyword("loc") else self.attribute()
            self._open.discard(name)
            if name[0] == "!" and not isinstance(value, TypeAttribute):
                self.fail(f"alias {name} must stand for a type", self._alias_at[name])
            alias = self._aliases[name] = (value, self.offset)
            self.offset = back
        return alias

    def skip_alias_definition(self) -> bool:
        """Skips a line `#name = ...`."""
        suffix = SUFFIX.match(self.source, self.skip())
        if suffix is None or suffix[0][0] not in "#!" or suffix[0] not in self._alias_at:
            return False
        if not self.source[suffix.end() :].lstrip(" \t").startswith("="):
            return False
        self.offset = self._alias(suffix[0])[1]
        return True

    def expand_aliases(self, body: str) -> str:
        """Replaces alias uses in raw attribute text by their definitions."""
        if "#" not in body and "!" not in body:
            return body

        def expand(match: re.Match[str]) -> str:
            from alchemist.ir.printer import attribute_text

            name = match[1]
            return attribute_text(self._alias(name)[0]) if name in self._alias_at else match[0]

        return _ALIAS_USE.sub(expand, body)

    # --- helpers ---

    def comma_list(self, parse: Callable[[], _T], closing: str) -> list[_T]:
        """Elements up to and including `closing`."""
        items: list[_T] = []
        if self.accept(closing):
            return items
        while True:
            items.append(parse())
            if self.accept(closing):
                return items
            self.expect(",")

    # --- types ---

    def is_type(self) -> bool:
        start = self.skip()
        if self.source.startswith(("tensor<", "!", "memref<", "tuple<", "complex<", "vector<", "("), start):
            return True
        return _ELEMENT.match(self.source, start) is not None

    def parse_type(self) -> Any:
        start = self.skip()
        if self.source.startswith("tensor<", start):
            seen = _TENSOR.match(self.source, start)
            cached = self._tensors.get(seen[0]) if seen else None
            if seen is None or cached is None:
                self.offset = start + len("tensor<")
                cached = self._tensor()
                if seen is None or self.offset != seen.end():
                    return cached
                self._tensors[seen[0]] = cached
            self.offset = seen.end()
            return cached
        if word := _ELEMENT.match(self.source, start):
            if len(word[0]) > 6:
                self.fail(f"integers of {word[0].lstrip('sui')[:20]} bits are not supported", start)
            self.offset = word.end()
            return NoneType() if word[0] == "none" else element(word[0])
        if self.peek("memref<"):
            return self._memref()
        if self.peek("vector<"):
            self.offset += len("vector")
            return OpaqueType(("vector", self.expand_aliases(self.body())))
        if self.peek("("):
            return self.function_type()
        if self.accept("tuple<"):
            return TupleType(ArrayAttr(self.comma_list(self.parse_type, ">")))
        if self.accept("complex<"):
            inner = self.parse_type()
            self.expect(">")
            return ComplexType(inner)
        if self.peek("!"):
            return self._dialect_type()
        if (word := BARE.match(self.source, start)) and (today := self.older.element(word[0])):
            self.offset = word.end()
            return element(today)
        self.fail("expected a type")

    def _dimensions(self) -> tuple[int, ...]:
        dims: list[int] = []
        while match := _DIMENSION.match(self.source, self.skip()):
            dims.append(DYNAMIC_INDEX if match[1] == "?" else int(match[1]))  # refused where it is lowered
            self.offset = match.end()
        return tuple(dims)

    def _tensor(self) -> TensorType[Attribute]:
        start = self.offset - 1
        if self.peek("*"):
            self.offset = start
            return OpaqueType(("tensor", self.expand_aliases(self.body())))  # type: ignore[return-value]
        shape = self._dimensions()
        of = self.parse_type()
        offset = self.skip()
        encoding = self.attribute() if self.accept(",") else None
        self.expect(">")
        if isinstance(encoding, OpaqueAttr):
            try:
                encoding = self.older.encoding(shape, of, encoding)
            except ValueError as error:
                self.fail(str(error), offset)
        return tensor(shape, of, encoding)

    def _memref(self) -> Attribute:
        start = self.skip() + len("memref")
        self.offset = start
        body = self.body()
        if _ODD_MEMREF.search(body.partition(",")[0]) or "strided" in body:
            return OpaqueType(("memref", self.expand_aliases(body)))
        self.offset = start + 1
        shape = self._dimensions()
        of = self.parse_type()
        rest: list[Attribute] = []
        while self.accept(","):
            rest.append(self.attribute())
        self.expect(">")
        if len(rest) > 2:
            return OpaqueType(("memref", self.expand_aliases(body)))
        space = rest.pop() if rest and not isinstance(rest[-1], AffineMapAttr) else NoneAttr()
        layout: Any = rest[0] if rest else NoneAttr()
        try:
            return MemRefType(of, shape, layout, space)
        except VerifyException:  # tiles as elements, layouts and memory spaces of other dialects
            return OpaqueType(("memref", self.expand_aliases(body)))

    def function_type(self) -> FunctionType:
        self.expect("(")
        inputs = self.comma_list(self.parse_type, ")")
        self.expect("->")
        return FunctionType.from_lists(inputs, self.result_types())

    def result_types(self) -> list[Attribute]:
        return self.comma_list(self.parse_type, ")") if self.accept("(") else [self.parse_type()]

    def _dialect_type(self) -> Attribute:
        """`!alias` or `!dialect.name<...>`."""
        raise NotImplementedError

    def _dialect_attribute(self) -> Attribute:
        """`#alias` or `#dialect.name<...>`."""
        raise NotImplementedError

    # --- attributes ---

    def attribute(self) -> Attribute:
        start = self.skip()
        first = self.source[start : start + 1]
        if first == '"':
            text = self.string()
            if self.accept(":"):
                self.parse_type()
            return StringAttr(text)
        if first == "[":
            self.offset += 1
            return ArrayAttr(self.comma_list(self.attribute, "]"))
        if first == "{":
            return DictionaryAttr(self.dictionary())
        if first == "@":
            return self.symbol_ref()
        if first == "#":
            return self._dialect_attribute()
        if first.isdigit() or first == "-":
            number: Attribute = self._number()
            return number
        if first == "(" and (map_ := self._optional_affine_map()) is not None:
            return AffineMapAttr(map_)
        if self.is_type():
            type_: Attribute = self.parse_type()
            return type_
        word = BARE.match(self.source, start)
        match word[0] if word else "":
            case "true" | "false" as value:
                self.offset += len(value)
                return IntegerAttr(int(value == "true"), IntegerType(1))
            case "unit":
                self.offset += 4
                return UnitAttr()
            case "array":
                self.offset += 5
                return self._dense_array()
            case "dense":
                self.offset += 5
                return self._dense()
            case "dense_resource":
                self.offset += len("dense_resource")
                return self._dense_resource()
            case "sparse":
                self.offset += len("sparse")
                return self._opaque_elements("sparse", self.body())
            case "affine_map":
                self.offset += len("affine_map")
                self.expect("<")
                affine = self.affine_map()
                self.expect(">")
                return AffineMapAttr(affine)
            case "loc":
                self.offset += 3
                return self.location()
            case _:
                self.fail("expected an attribute", expected="an attribute")

    def symbol_name(self) -> str:
        self.expect("@")
        return self.string() if self.peek('"') else self.need(re.compile(r"[\w$.-]+"), "a symbol name")

    def symbol_ref(self) -> SymbolRefAttr:
        root = self.symbol_name()
        nested: list[StringAttr] = []
        while self.accept("::"):
            nested.append(StringAttr(self.symbol_name()))
        return SymbolRefAttr(root, nested)

    def dictionary(self) -> dict[str, Attribute]:
        self.expect("{")
        entries: dict[str, Attribute] = {}

        def entry() -> None:
            start = self.skip()
            key = self.string() if self.peek('"') else self.need(BARE, "an attribute name")
            if key in entries:
                self.fail(f"{key} is given twice", start)
            entries[key] = self.attribute() if self.accept("=") else UnitAttr()

        self.comma_list(entry, "}")
        return entries

    def _number(self) -> Attribute:
        start = self.skip()
        text = self.need(NUMBER, "a number")
        is_float = "x" not in text and any(c in text for c in ".eE")
        type_: Any = element("f64" if is_float else "i64")
        if self.accept(":"):
            type_ = self.parse_type()
        name = element_name(type_)
        if name in ("f16", "bf16", "f32", "f64"):
            return FloatAttr(self._float(text, name), type_)
        if is_float:
            self.fail(f"{text} is not an integer", start)
        try:
            return IntegerAttr(int(text, 0), type_)
        except (VerifyException, OverflowError, ValueError):
            self.fail(f"{text} does not fit {name}", start)

    @staticmethod
    def _float(text: str, of: str) -> float:
        if "0x" not in text:
            return float(text)
        dtype = numpy_dtype(of)
        bits = np.asarray(int(text.lstrip("-"), 16), dtype=f"u{dtype.itemsize}").view(dtype)
        return float(bits) * (-1.0 if text.startswith("-") else 1.0)

    def _dense_array(self) -> Attribute:
        self.expect("<")
        of = self.parse_type()
        if self.accept(">"):
            return DenseArrayBase.from_list(of, [])
        self.expect(":")
        name = element_name(of)
        words = self.comma_list(lambda: self.need(re.compile(r"-?[\w.+-]+"), "a number"), ">")
        if name == "i1":
            return DenseArrayBase.from_list(of, [int(word == "true") for word in words])
        if name.startswith(("f", "bf")):
            return DenseArrayBase.from_list(of, [self._float(word, name) for word in words])
        return DenseArrayBase.from_list(of, [int(word, 0) for word in words])

    def _dense(self) -> Attribute:
        """`dense<...> : tensor<...>`: splats stay splats, hexadecimal blobs become numpy without a Python loop."""
        start = self.skip()
        body = self.body()[1:-1].strip()
        self.expect(":")
        type_ = self.parse_type()
        if not isinstance(type_, TensorType):
            self.fail("dense elements need a tensor type", start)
        if isinstance(type_.get_element_type(), ComplexType | OpaqueType):  # kept as text
            return OpaqueAttr(("dense", f"<{body}> : {self._type_text(type_)}"))
        of = element_name(type_.get_element_type())
        dtype, shape = numpy_dtype(of), type_.get_shape()
        count = math.prod(shape)
        if body.startswith('"'):
            return self._from_bytes(bytes.fromhex(decode_string(body[1:-1]).removeprefix("0x")), type_, start)
        if not body:
            return DenseElements(np.zeros(shape, dtype), type_)
        words = [word.strip() for word in body.replace("[", " ").replace("]", " ").split(",")]
        try:
            if of == "i1":
                values = np.array([{"true": True, "false": False}[word] for word in words])
            elif of.startswith(("f", "bf")):
                values = np.array([self._float(word, of) for word in words], dtype=np.float64).astype(dtype)
            else:
                values = np.array([int(word, 0) for word in words], dtype=dtype)
        except (KeyError, ValueError, OverflowError):
            self.fail(f"malformed elements of {type_}", start)
        if values.size not in (1, count) or (values.size == 1 and count != 1 and "[" in body):
            self.fail(f"{values.size} elements do not fill {type_}", start)
        return DenseElements(values.reshape(shape) if values.size == count else values, type_)

    def _from_bytes(self, raw: bytes, type_: TensorType[Attribute], start: int) -> DenseElements:
        of, shape = element_name(type_.get_element_type()), type_.get_shape()
        dtype, count = numpy_dtype(of), math.prod(shape)
        if of == "i1":
            bits = np.frombuffer(raw, dtype=np.uint8)
            splat = len(raw) == 1 and raw[0] in (0, 255)
            values = np.unpackbits(bits, bitorder="little")[: 1 if splat else count].astype(np.bool_)
        elif len(raw) in (dtype.itemsize, count * dtype.itemsize):
            values = np.frombuffer(raw, dtype=dtype)
        else:
            self.fail(f"{len(raw)} bytes do not fill {type_}", start)
        if values.size not in (1, count):
            self.fail(f"{len(raw)} bytes do not fill {type_}", start)
        return DenseElements(values.reshape(shape) if values.size == count else values, type_)

    def _dense_resource(self) -> Attribute:
        """`dense_resource<key> : tensor<...>`: the values of the file's resource section, kept by name where it has none."""
        start = self.skip()
        body = self.body()
        back = self.offset
        self.expect(":")
        type_ = self.parse_type()
        key = body[1:-1].strip()
        raw = self._resource(decode_string(key[1:-1]) if key.startswith('"') else key)
        has_bytes = isinstance(type_, TensorType) and not isinstance(type_.get_element_type(), ComplexType | OpaqueType)
        if raw is None or not has_bytes:
            self.offset = back
            return self._opaque_elements("dense_resource", body)
        return self._from_bytes(raw, type_, start)

    def _resource(self, key: str) -> bytes | None:
        """Bytes of a blob in `{-# dialect_resources: { builtin: { key: "0x<alignment><data>" } } #-}`, None without one."""
        if self._resources is None:
            start = self.source.rfind("{-#")
            found = _RESOURCE.finditer(self.source, start) if start >= 0 else ()
            self._resources = {
                decode_string(m[1][1:-1]) if m[1].startswith('"') else m[1]: bytes.fromhex(m[2])[4:] for m in found if len(m[2]) % 2 == 0 and len(m[2]) >= 8
            }
        return self._resources.get(key)

    def _opaque_elements(self, word: str, body: str) -> OpaqueAttr:
        self.expect(":")
        return OpaqueAttr((word, f"{body} : {self._type_text(self.parse_type())}"))

    @staticmethod
    def _type_text(type_: Attribute) -> str:
        from alchemist.ir.printer import attribute_text

        return attribute_text(type_)

    # --- affine maps ---

    def _optional_affine_map(self) -> AffineMap | None:
        return self.affine_map() if _AFFINE.match(self.source, self.offset) else None

    def affine_map(self) -> AffineMap:
        """`(d0, d1)[s0] -> (d0 * 32 + d1, 0)`."""
        start = self.skip()
        seen = _MAP.match(self.source, start)
        if seen is not None and seen[0] in self._maps:
            self.offset = seen.end()
            return self._maps[seen[0]]
        made = self._affine_map()
        self._maps[self.source[start : self.offset]] = made
        return made

    def _affine_map(self) -> AffineMap:
        self.expect("(")
        dims = self.comma_list(lambda: self.need(BARE, "a dimension"), ")")
        symbols = self.comma_list(lambda: self.need(BARE, "a symbol"), "]") if self.accept("[") else []
        self.expect("->")
        self.expect("(")
        names: dict[str, AffineExpr] = {name: AffineExpr.dimension(i) for i, name in enumerate(dims)}
        names |= {name: AffineExpr.symbol(i) for i, name in enumerate(symbols)}
        results = self.comma_list(lambda: self._sum(names), ")")
        return AffineMap(len(dims), len(symbols), tuple(results))

    def _sum(self, names: dict[str, AffineExpr]) -> AffineExpr:
        total = self._product(names)
        while True:
            if self.accept("+"):
                total = total + self._product(names)
            elif not self.peek("->") and self.accept("-"):
                total = total - self._product(names)
            else:
                return total

    def _product(self, names: dict[str, AffineExpr]) -> AffineExpr:
        start = self.skip()
        try:
            return self._factors(names)
        except NotImplementedError:
            self.fail("a product of two dimensions is not affine", start)

    def _factors(self, names: dict[str, AffineExpr]) -> AffineExpr:
        value = self._atom(names)
        while True:
            if self.accept("*"):
                value = value * self._atom(names)
            elif self.keyword("floordiv"):
                value = value // self._atom(names)
            elif self.keyword("ceildiv"):
                value = value.ceil_div(self._atom(names))
            elif self.keyword("mod"):
                value = value % self._atom(names)
            else:
                return value

    def _atom(self, names: dict[str, AffineExpr]) -> AffineExpr:
        if self.accept("("):
            value = self._sum(names)
            self.expect(")")
            return value
        start = self.skip()
        if word := self.match(BARE):
            if word not in names:
                self.fail(f"undefined affine name {word}", start)
            return names[word]
        return AffineExpr.constant(self.integer())

    # --- locations ---

    def optional_location(self) -> LocationAttr | None:
        if not self.source.startswith("loc", self.skip()):
            return None
        return self.location() if self.keyword("loc") else None

    def location(self) -> LocationAttr:
        """After the word `loc`: `(...)`."""
        self.expect("(")
        attribute = self._location_body()
        self.expect(")")
        return attribute

    def _location_body(self) -> LocationAttr:
        start = self.skip()
        if self.peek("#"):
            name = self.need(SUFFIX, "an alias")
            value = self.alias(name, start)
            if not isinstance(value, UnknownLoc | FileLineColLoc | CallSiteLoc | NameLoc | FusedLoc):
                self.fail(f"{name} is not a location", start)
            return value
        if STRING.match(self.source, start):
            text = self.string()
            if self.accept(":"):
                line = self.integer()
                self.expect(":")
                column = self.integer()
                if self.keyword("to"):  # a range; its end is not kept
                    if not self.peek(":"):
                        self.integer()
                    self.expect(":")
                    self.integer()
                return FileLineColLoc(StringAttr(text), IntAttr(line), IntAttr(column))
            if self.accept("("):
                inner = self._location_body()
                self.expect(")")
                return NameLoc(StringAttr(text), inner)
            return NameLoc(StringAttr(text), NoneAttr())
        if self.keyword("unknown"):
            return UnknownLoc()
        if self.keyword("callsite"):
            self.expect("(")
            callee = self._location_body()
            if not self.keyword("at"):
                self.fail("expected `at`")
            caller = self._location_body()
            self.expect(")")
            return CallSiteLoc(callee, caller)
        if self.keyword("fused"):
            metadata: Attribute = NoneAttr()
            if self.accept("<"):
                metadata = self.attribute()
                self.expect(">")
            self.expect("[")
            return FusedLoc(ArrayAttr(self.comma_list(self._location_body, "]")), metadata)
        if self.keyword("loc"):
            return self.location()
        self.fail("expected a location", start)
