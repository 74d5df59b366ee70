"""MLIR text of modules, in the style of tt-mlir: generic ops, attribute aliases on top, location aliases at the end.

Linear in the number of ops: the text of every attribute and location is made once per object and print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    DenseArrayBase,
    DictionaryAttr,
    FileLineColLoc,
    FloatAttr,
    FunctionType,
    FusedLoc,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnknownLoc,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.mlir_lexer import MLIRLexer

from alchemist.ir.attributes import (
    DenseElements,
    EnumAttr,
    MemoryConfigAttr,
    OpaqueAttr,
    TTAttr,
    dense_text,
    element_name,
    float_text,
    nested_text,
)
from alchemist.ir.layout import TTNNLayout

_ALIASED_OPAQUE = {"#ttcore.system_desc": "system_desc"}
_BARE = MLIRLexer.bare_identifier_regex


def quoted(text: str) -> str:
    """MLIR string literal; bytes outside printable ASCII are escaped."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for byte in text.encode("utf-8", "surrogateescape"):
        out.append("\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte < 0x7F and byte != 0x22 else f"\\{byte:02X}")
    return f'"{"".join(out)}"'


def symbol(name: str) -> str:
    return "@" + (name if _BARE.fullmatch(name) else quoted(name))


def key_text(name: str) -> str:
    return name if _BARE.fullmatch(name) else quoted(name)


class Renderer:
    """Attributes to text. alias(attribute, make_text) may give a short name instead."""

    def __init__(self, alias: Callable[[Attribute, Callable[[], str]], str | None] | None = None) -> None:
        self._alias = alias
        self._texts: dict[int, str] = {}
        self._alive: list[Attribute] = []

    def text(self, attribute: Attribute) -> str:
        key = id(attribute)
        cached = self._texts.get(key)
        if cached is None:
            short = self._alias(attribute, lambda: self._render(attribute)) if self._alias else None
            cached = short or self._render(attribute)
            self._texts[key] = cached
            self._alive.append(attribute)  # ids stay unique while the renderer lives
        return cached

    def _render(self, attribute: Attribute) -> str:
        match attribute:
            case TensorType():
                dims = "".join(f"{dim}x" if dim >= 0 else "?x" for dim in attribute.get_shape())
                encoding = "" if isinstance(attribute.encoding, NoneAttr) else f", {self.text(attribute.encoding)}"
                return f"tensor<{dims}{self.text(attribute.element_type)}{encoding}>"
            case TTNNLayout() if self._alias:
                return "#" + attribute.name + attribute.body_with(self._space(attribute.buffer))
            case MemoryConfigAttr() if self._alias:
                plain = nested_text(attribute)
                space = f"#ttnn.buffer_type<{attribute.data[0]}>"
                return plain.replace(space, self._space(attribute.data[0]), 1)
            case OpaqueAttr() | TTAttr():
                return nested_text(attribute)
            case DenseElements():
                return f"{dense_text(attribute)} : {self.text(attribute.type)}"
            case IntegerAttr():
                if attribute.type == IntegerType(1):
                    return "true" if attribute.value.data else "false"
                return f"{attribute.value.data} : {self.text(attribute.type)}"
            case IntegerType():
                return element_name(attribute)
            case FloatAttr():
                return f"{float_text(attribute.value.data, element_name(attribute.type))} : {self.text(attribute.type)}"
            case StringAttr():
                return quoted(attribute.data)
            case SymbolRefAttr():
                parts = [attribute.root_reference, *attribute.nested_references.data]
                return "::".join(symbol(part.data) for part in parts)
            case DenseArrayBase():
                of = element_name(attribute.elt_type)
                values = attribute.get_values()
                if not values:
                    return f"array<{of}>"
                if of == "i1":
                    return f"array<i1: {', '.join('true' if v else 'false' for v in values)}>"
                return f"array<{of}: {', '.join(str(v) if isinstance(v, int) else float_text(v, of) for v in values)}>"
            case ArrayAttr():
                return f"[{', '.join(self.text(part) for part in attribute.data)}]"
            case DictionaryAttr():
                return self.dictionary(attribute.data)
            case FunctionType():
                return self.function_type(attribute.inputs.data, attribute.outputs.data)
            case UnitAttr():
                return "unit"
            case MemRefType():
                dims = "".join(f"{dim}x" for dim in attribute.get_shape())
                rest = [self.text(part) for part in (attribute.layout, attribute.memory_space) if not isinstance(part, NoneAttr)]
                return f"memref<{', '.join([dims + self.text(attribute.element_type), *rest])}>"
            case _:
                return str(attribute)

    def _space(self, buffer: str) -> str:
        return self.text(_buffer_type(buffer))

    def dictionary(self, entries: Mapping[str, Attribute]) -> str:
        """By name, as MLIR prints them."""
        return "{" + ", ".join(self._entry(key, value) for key, value in sorted(entries.items(), key=lambda entry: entry[0])) + "}"

    def _entry(self, key: str, value: Attribute) -> str:
        return key_text(key) if isinstance(value, UnitAttr) else f"{key_text(key)} = {self.text(value)}"

    def function_type(self, inputs: Iterable[Attribute], outputs: Iterable[Attribute]) -> str:
        results = list(outputs)
        right = self.text(results[0]) if len(results) == 1 else f"({', '.join(self.text(part) for part in results)})"
        if len(results) == 1 and isinstance(results[0], FunctionType):
            right = f"({right})"
        return f"({', '.join(self.text(part) for part in inputs)}) -> {right}"


@lru_cache(maxsize=16)
def _buffer_type(buffer: str) -> EnumAttr:
    from alchemist.ir.attribute_classes import enum

    return enum("ttnn.buffer_type", buffer)


def location_body(location: Attribute) -> str:
    """Text of a location without `loc(...)`."""
    match location:
        case NameLoc():
            inner = "" if isinstance(location.location, NoneAttr) else f"({location_body(location.location)})"
            return quoted(location.desc.data) + inner
        case FileLineColLoc():
            return f"{quoted(location.filename.data)}:{location.line.data}:{location.column.data}"
        case CallSiteLoc():
            return f"callsite({location_body(location.callee)} at {location_body(location.caller)})"
        case FusedLoc():
            meta = "" if isinstance(location.metadata, NoneAttr) else f"<{_PLAIN.text(location.metadata)}>"
            parts = location.locations.data if isinstance(location.locations, ArrayAttr) else ()
            return f"fused{meta}[{', '.join(location_body(part) for part in parts)}]"
        case _:
            return "unknown"


_PLAIN = Renderer()


def attribute_text(attribute: Attribute) -> str:
    """MLIR text of any attribute or type, without aliases."""
    return Renderer().text(attribute)


class _ModulePrinter:
    def __init__(self, locations: bool) -> None:
        self._lines: list[str] = []
        self._aliases: dict[Attribute, str] = {}
        self._alias_lines: list[str] = []
        self._alias_counts: dict[str, int] = {}
        self._render = Renderer(self._alias)
        self._text = self._render.text
        self._names: dict[SSAValue, str] = {}
        self._locations: dict[int, str] | None = {} if locations else None
        self._location_names: dict[str, str] = {}
        self._alive: list[Attribute] = []
        self._counter = 0

    def _alias(self, attribute: Attribute, text: Callable[[], str]) -> str | None:
        if isinstance(attribute, TTNNLayout):
            stem = "ttnn_layout"
        elif isinstance(attribute, EnumAttr) and attribute.name == "ttnn.buffer_type":
            stem = str(attribute.data)
        elif isinstance(attribute, OpaqueAttr) and attribute.data[0] in _ALIASED_OPAQUE:
            stem = _ALIASED_OPAQUE[attribute.data[0]]
        else:
            return None
        name = self._aliases.get(attribute)
        if name is None:
            line = text()  # first, so that the aliases it uses come before it
            count = self._alias_counts.get(stem, 0)
            self._alias_counts[stem] = count + 1
            name = self._aliases[attribute] = f"#{stem}{count or ''}"
            self._alias_lines.append(f"{name} = {line}")
        return name

    def _loc(self, location: Attribute) -> str:
        if self._locations is None:
            return ""
        cached = self._locations.get(id(location))
        if cached is None:
            body = location_body(location)
            name = self._location_names.setdefault(body, f"#loc{len(self._location_names) or ''}")
            cached = self._locations[id(location)] = f" loc({name})"
            self._alive.append(location)
        return cached

    def print(self, module: ModuleOp) -> str:
        self._loc(UnknownLoc())
        self.op(module, "")
        footer = [f"{name} = loc({body})" for body, name in self._location_names.items()]
        return "\n".join([*self._alias_lines, *self._lines, *footer]) + "\n"

    # --- values ---

    def _value(self, value: SSAValue) -> str:
        return self._names.get(value) or "<<undefined>>"

    def _values(self, values: Iterable[SSAValue]) -> str:
        return ", ".join(self._value(value) for value in values)

    def _define(self, op: Operation) -> str:
        results = op.results
        if not results:
            return ""
        name = f"%{self._counter}"
        self._counter += 1
        if len(results) == 1:
            self._names[results[0]] = name
            return f"{name} = "
        for index, result in enumerate(results):
            self._names[result] = f"{name}#{index}"
        return f"{name}:{len(results)} = "

    # --- ops ---

    def op(self, op: Operation, indent: str) -> None:
        match op:
            case ModuleOp():
                name = f" {symbol(op.sym_name.data)}" if op.sym_name else ""
                attributes = f" attributes {self._render.dictionary(op.attributes)}" if op.attributes else ""
                self._lines.append(f"{indent}module{name}{attributes} {{")
                self._body(op.body, indent)
                self._lines.append(f"{indent}}}{self._loc(op.location)}")
            case FuncOp():
                self._func(op, indent)
            case ReturnOp():
                types = ", ".join(self._text(type_) for type_ in op.operand_types)
                values = f" {self._values(op.operands)} : {types}" if types else ""
                self._lines.append(f"{indent}return{values}{self._loc(op.location)}")
            case CallOp():
                head = f"{self._define(op)}call {self._text(op.callee)}({self._values(op.operands)})"
                types = self._render.function_type(op.operand_types, op.result_types)
                extra = f" {self._render.dictionary(op.attributes)}" if op.attributes else ""
                self._lines.append(f"{indent}{head}{extra} : {types}{self._loc(op.location)}")
            case Operation(name="ttcore.device_module" | "ttcore.cpu_module"):
                attributes = f" attributes {self._render.dictionary(op.attributes)}" if op.attributes else ""
                self._lines.append(f"{indent}{op.name}{attributes} {{")
                self._body(op.regions[0], indent)
                self._lines.append(f"{indent}}}{self._loc(op.location)}")
            case Operation(name="ttcore.load_cached") if "callee" in op.properties:
                operands = self._values(op.operands)
                head = f"{self._define(op)}ttcore.load_cached({self._text(op.properties['callee'])}, [{operands}])"
                types = self._render.function_type(op.operand_types, op.result_types)
                extra = f" {self._render.dictionary(op.attributes)}" if op.attributes else ""
                self._lines.append(f"{indent}{head}{extra} : {types}{self._loc(op.location)}")
            case _:
                self._generic(op, indent)

    def _generic(self, op: Operation, indent: str) -> None:
        operands = self._values(op.operands)
        parts = [indent, self._define(op), f'"{op.name}"({operands})']
        if op.properties:
            parts.append(f" <{self._render.dictionary(op.properties)}>")
        if op.regions:
            parts.append(" (")
            for index, region in enumerate(op.regions):
                self._lines.append("".join(parts) + ("{" if index == 0 else "}, {"))
                parts = [indent]
                self._body(region, indent, labels=True)
            parts.append("})")
        if op.attributes:
            parts.append(f" {self._render.dictionary(op.attributes)}")
        parts.append(f" : {self._render.function_type(op.operand_types, op.result_types)}{self._loc(op.location)}")
        self._lines.append("".join(parts))

    def _body(self, region: Region, indent: str, labels: bool = False) -> None:
        for index, block in enumerate(region.blocks):
            if index or (labels and block.args):
                self._lines.append(f"{indent}^bb{index}({', '.join(self._argument(arg) for arg in block.args)}):")
            for op in block.ops:
                self.op(op, indent + "  ")

    def _argument(self, arg: SSAValue, attributes: Mapping[str, Attribute] | None = None) -> str:
        name = f"%arg{self._argument_index}"
        self._argument_index += 1
        self._names[arg] = name
        described = f" {self._render.dictionary(attributes)}" if attributes else ""
        location = self._loc(arg.location) if hasattr(arg, "location") else ""
        return f"{name}: {self._text(arg.type)}{described}{location}"

    _argument_index = 0

    def _func(self, op: FuncOp, indent: str) -> None:
        outer = self._counter, self._argument_index
        self._counter = self._argument_index = 0
        visibility = f"{op.sym_visibility.data} " if op.sym_visibility else ""
        arg_attrs = op.arg_attrs.data if op.arg_attrs else ()
        res_attrs = op.res_attrs.data if op.res_attrs else ()
        block: Block | None = op.body.blocks.first
        if block is None:
            args = [
                self._text(type_) + (f" {self._render.dictionary(arg_attrs[i].data)}" if i < len(arg_attrs) and arg_attrs[i].data else "")
                for i, type_ in enumerate(op.function_type.inputs.data)
            ]
        else:
            args = [self._argument(arg, arg_attrs[index].data if index < len(arg_attrs) else None) for index, arg in enumerate(block.args)]
        outputs = [
            self._text(type_) + (f" {self._render.dictionary(res_attrs[i].data)}" if i < len(res_attrs) and res_attrs[i].data else "")
            for i, type_ in enumerate(op.function_type.outputs.data)
        ]
        arrow = ""
        if outputs:
            bare = len(outputs) == 1 and not (res_attrs and res_attrs[0].data)
            arrow = f" -> {outputs[0]}" if bare else f" -> ({', '.join(outputs)})"
        attributes = f" attributes {self._render.dictionary(op.attributes)}" if op.attributes else ""
        head = f"{indent}func.func {visibility}{symbol(op.sym_name.data)}({', '.join(args)}){arrow}{attributes}"
        if block is None:
            self._lines.append(head + self._loc(op.location))
        else:
            self._lines.append(head + " {")
            self._body(op.body, indent)
            self._lines.append(f"{indent}}}{self._loc(op.location)}")
        self._counter, self._argument_index = outer


def print_module(module: ModuleOp, *, locations: bool = True) -> str:
    """The module as MLIR text that `alchemist.ir.text.parse` and tt-mlir read; without `locations` for golden files."""
    return _ModulePrinter(locations).print(module)


def operation_texts(function: FuncOp) -> list[str]:
    """The text of each op in a function's first block, without aliases and locations: what tt-mlir calls an op's debug string."""
    printer = _ModulePrinter(locations=False)
    printer._render = Renderer()
    printer._text = printer._render.text
    texts = []
    for argument in function.body.block.args:
        printer._argument(argument)
    for op in function.body.block.ops:
        printer._lines.clear()
        printer.op(op, "")
        texts.append("\n".join(printer._lines))
    return texts
