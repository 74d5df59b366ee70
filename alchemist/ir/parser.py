"""MLIR text to modules: generic ops of ttir, ttnn, ttcore, func and builtin, their custom forms, and foreign dialects.

Own parser rather than xDSL's because aliases may be defined after use, locations may be fused with metadata, splats must
not be expanded and every error needs file:line:column; about ten times as fast.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar, NoReturn

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpTraits, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from alchemist.errors import ParseError
from alchemist.ir.attributes import DenseElements
from alchemist.ir.custom_forms import CUSTOM_FORMS
from alchemist.ir.dialect_parser import AttributeParser
from alchemist.ir.dialects import SEGMENTS, TTOp, op_classes
from alchemist.ir.lexer import BARE, BLOCK, STRING, VALUE
from alchemist.ir.older import OlderText
from alchemist.ir.verify import verify_module

FOREIGN = ("stablehlo", "chlo", "sdy")
NEIGHBOURS = (
    "affine", "arith", "bufferization", "cf", "d2m", "emitc", "emitpy", "gpu", "linalg", "llvm", "math", "memref", "mhlo",
    "ml_program", "mpmd", "quant", "scf", "shape", "sparse_tensor", "tensor", "tosa", "ttkernel", "ttmetal", "vector", "vhlo",
)  # fmt: skip
"""Dialects in files of the real compiler that are parsed and printed, but cannot be lowered."""
_KNOWN: dict[str, type[Operation]] = {"builtin.module": ModuleOp, "func.func": FuncOp, "func.return": ReturnOp, "func.call": CallOp}
_PROPERTIES = {
    "func.func": ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs"),
    "func.call": ("callee",),
    "builtin.module": ("sym_name",),
}
_REQUIRED = {"func.func": ("sym_name", "function_type"), "func.call": ("callee",)}
_REST_OF_LINE = re.compile(r"[ \t]*(?:loc\b|//|\}|\r?\n|\Z)")


class ForeignOp(Operation):
    """An op of a dialect without a table (stablehlo, chlo): attributes in `properties`, no verifier."""

    name = "foreign.op"
    traits = OpTraits(lambda: ())
    dialects: ClassVar[tuple[str, ...]] = FOREIGN


@cache
def foreign_class(name: str) -> type[ForeignOp]:
    """The class of an op of a dialect without a table."""
    return type("".join(part.title() for part in name.split(".")), (ForeignOp,), {"name": name})


class ModuleParser(AttributeParser):
    """Operations, blocks and regions."""

    def __init__(self, text: str, filename: str, foreign: Sequence[str] = FOREIGN, older: OlderText | None = None) -> None:
        super().__init__(text, filename)
        self.older = older or self.older
        self._foreign = (*foreign, *NEIGHBOURS)
        self._scopes: list[dict[str, tuple[SSAValue, ...]]] = [{}]
        self.positions: dict[Operation, int] = {}

    def module(self) -> ModuleOp:
        """The whole file; ops outside a module are put into one.

        Raises:
            ParseError: also where Python or xDSL refuse a value (numbers of thousands of digits, odd type parameters).
        """
        try:
            return self._module()
        except ParseError:
            raise
        except RecursionError:
            self.fail("nested too deeply")
        except (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError, VerifyException) as error:
            self.fail(f"malformed text: {str(error)[:200]}")

    def _module(self) -> ModuleOp:
        modules: list[Operation] = []
        while True:
            while self.skip_alias_definition():
                pass
            if self.skip() == len(self.source):
                break
            if self.peek("{-#"):  # blobs are looked up by name where they are used
                end = self.source.find("#-}", self.offset)
                if end < 0:
                    self.fail("the resource section has no end", expected="#-}")
                self.offset = end + len("#-}")
                continue
            modules.append(self.operation())
        if len(modules) == 1 and isinstance(modules[0], ModuleOp):
            return modules[0]
        return ModuleOp(modules)

    # --- values ---

    def _lookup(self, name: str, index: int, type_: Attribute, offset: int) -> SSAValue:
        values = self._scopes[-1].get(name)
        if values is None:
            self.fail(f"{name} is used but not defined", offset)
        if index >= len(values):
            self.fail(f"{name} has {len(values)} results", offset)
        value = values[index]
        if value.type != type_:
            from alchemist.ir.printer import attribute_text

            self.fail(f"{name} has another type", offset, expected=attribute_text(value.type))
        return value

    def _define(self, name: str, values: tuple[SSAValue, ...], offset: int) -> None:
        if name in self._scopes[-1]:
            self.fail(f"{name} is defined twice", offset)
        self._scopes[-1][name] = values

    def operand_ref(self) -> tuple[str, int, int]:
        offset = self.skip()
        name = self.need(VALUE, "a value")
        index = 0
        if self.source.startswith("#", self.offset):
            self.offset += 1
            index = self.integer()
        return name, index, offset

    def resolve(self, refs: Sequence[tuple[str, int, int]], types: Sequence[Attribute], offset: int) -> list[SSAValue]:
        if len(refs) != len(types):
            self.fail(f"{len(refs)} operands for {len(types)} types", offset)
        return [self._lookup(name, index, type_, where) for (name, index, where), type_ in zip(refs, types, strict=True)]

    # --- operations ---

    def operation(self) -> Operation:
        offset = self.skip()
        results: list[tuple[str, int, int]] = []
        if self.peek("%"):
            results = self._results()
        head = self.skip()
        if STRING.match(self.source, head):
            op = self._generic(self.older.name(self.string()), head)
        else:
            name = self.older.name(self.need(BARE, "an operation"))
            custom = _CUSTOM.get(name)
            if custom is not None:
                op = custom(self, name)
            elif name.partition(".")[0] in self._foreign:
                op = self._plain_form(name, head, bool(results))
            else:
                is_registered = name in op_classes()
                self._unknown(name, head, "has no custom form; write it in generic form" if is_registered else "is not known")
            location = self.optional_location()
            if location is not None:
                op.location = location
        self.positions[op] = head
        if results:
            if sum(count for _, count, _ in results) != len(op.results):
                self.fail(f"{op.name} has {len(op.results)} results", offset)
            start = 0
            for name, count, where in results:
                self._define(name, tuple(op.results[start : start + count]), where)
                start += count
        return op

    def _results(self) -> list[tuple[str, int, int]]:
        results: list[tuple[str, int, int]] = []
        while True:
            offset = self.skip()
            name = self.need(VALUE, "a result name")
            results.append((name, self.integer() if self.accept(":") else 1, offset))
            if not self.accept(","):
                self.expect("=")
                return results

    def _unknown(self, name: str, offset: int, why: str) -> NoReturn:
        is_foreign = name.partition(".")[0] in NEIGHBOURS
        near = [] if is_foreign else difflib.get_close_matches(name, [*op_classes(), *_KNOWN, *_CUSTOM], n=3)
        other = "" if name.startswith(("ttir.", "ttnn.")) else "programs are made from StableHLO, TOSA, TTIR or TTNN"
        self.fail(f"operation {name} {why}", offset, hint=f"did you mean {', '.join(near)}?" if near else other)

    def _class(self, name: str, offset: int) -> type[Operation]:
        cls = op_classes().get(name) or _KNOWN.get(name)
        if cls is not None:
            return cls
        if name.split(".")[0] in self._foreign or self.older.is_retired(name):
            return foreign_class(name)
        self._unknown(name, offset, "is not known")

    def _generic(self, name: str, offset: int) -> Operation:
        cls = self._class(name, offset)
        self.expect("(")
        refs = self.comma_list(self.operand_ref, ")")
        if self.peek("["):
            self.fail(f"{name}: successors are not supported", offset)
        properties: dict[str, Attribute] = {}
        if self.accept("<"):
            properties = self.dictionary()
            self.expect(">")
        regions: list[Region] = []
        if self.peek("("):
            self.expect("(")
            isolated = name in ("func.func", "builtin.module") or name.startswith("ttcore.")
            regions = self.comma_list(lambda: self.region(isolated=isolated), ")")
        attributes = self.dictionary() if self.peek("{") else {}
        self.expect(":")
        types_at = self.skip()
        self.expect("(")
        inputs = self.comma_list(self.parse_type, ")")
        self.expect("->")
        outputs = self.result_types()
        location = self.optional_location()
        operands = self.resolve(refs, inputs, types_at)
        if issubclass(cls, TTOp):
            declared: Any = cls.info.attributes
        elif issubclass(cls, ForeignOp):
            declared, properties, attributes = (), properties | attributes, {}
        else:
            declared = _PROPERTIES.get(name, ())
        for key in [key for key in attributes if key in declared or key == SEGMENTS]:
            properties.setdefault(key, attributes.pop(key))
        missing = [key for key in _REQUIRED.get(name, ()) if key not in properties]
        if missing:
            self.fail(f"{name}: missing required attribute {', '.join(missing)}", offset)
        return cls.create(
            operands=operands,
            result_types=outputs,
            properties=properties,
            attributes=attributes,
            location=location,
            regions=regions,
        )

    # --- regions ---

    def region(self, arguments: Sequence[tuple[str, Attribute, LocationAttr | None, int]] = (), isolated: bool = False) -> Region:
        """`{ ... }`; `arguments` name the entry block's values when the op's own syntax gave them."""
        self.expect("{")
        self._scopes.append({} if isolated else dict(self._scopes[-1]))
        blocks: list[Block] = []
        if arguments or not self.peek("^"):
            blocks.append(self._block(arguments))
        while self.peek("^"):
            self.need(BLOCK, "a block")
            declared = self.comma_list(self._block_argument, ")") if self.accept("(") else []
            self.expect(":")
            blocks.append(self._block(declared))
        self.expect("}")
        self._scopes.pop()
        if len(blocks) > 1:
            self.fail("control flow between blocks is not supported")
        return Region(blocks)

    def _block_argument(self) -> tuple[str, Attribute, LocationAttr | None, int]:
        offset = self.skip()
        name = self.need(VALUE, "a block argument")
        self.expect(":")
        return name, self.parse_type(), self.optional_location(), offset

    def _block(self, arguments: Sequence[tuple[str, Attribute, LocationAttr | None, int]]) -> Block:
        block = Block(arg_types=[type_ for _, type_, _, _ in arguments])
        for (name, _, location, offset), arg in zip(arguments, block.args, strict=True):
            if location is not None:
                arg.location = location
            self._define(name, (arg,), offset)
        while not self.peek("}") and not self.peek("^"):
            block.add_op(self.operation())
        return block

    # --- custom forms ---

    def parse_module_op(self, name: str) -> Operation:
        sym_name = self.symbol_name() if self.peek("@") else None
        attributes = self.dictionary() if self.keyword("attributes") else {}
        region = self.region(isolated=True)
        op = ModuleOp(region, attributes)
        if sym_name is not None:
            op.properties["sym_name"] = StringAttr(sym_name)
        return op

    def parse_func(self, name: str) -> Operation:
        visibility = None
        for word in ("private", "public", "nested"):
            if self.keyword(word):
                visibility = word
        label = self.symbol_name()
        arguments: list[tuple[str, Attribute, LocationAttr | None, int]] = []
        described: list[dict[str, Attribute]] = []

        def argument() -> None:
            offset = self.skip()
            argument_name = self.need(VALUE, "an argument") if self.peek("%") else ""
            if argument_name:
                self.expect(":")
            type_ = self.parse_type()
            described.append(self.dictionary() if self.peek("{") else {})
            arguments.append((argument_name, type_, self.optional_location(), offset))

        self.expect("(")
        self.comma_list(argument, ")")
        outputs: list[Attribute] = []
        out_attrs: list[dict[str, Attribute]] = []

        def output() -> None:
            outputs.append(self.parse_type())
            out_attrs.append(self.dictionary() if self.peek("{") else {})

        if self.accept("->"):
            if self.accept("("):
                self.comma_list(output, ")")
            else:
                outputs.append(self.parse_type())
        attributes = self.dictionary() if self.keyword("attributes") else {}
        region = self.region(arguments, isolated=True) if self.peek("{") else Region()
        op = FuncOp(
            label,
            ([type_ for _, type_, _, _ in arguments], outputs),
            region,
            visibility,
            arg_attrs=ArrayAttr([DictionaryAttr(part) for part in described]) if any(described) else None,
            res_attrs=ArrayAttr([DictionaryAttr(part) for part in out_attrs]) if any(out_attrs) else None,
        )
        op.attributes.update(attributes)
        return op

    def llvm_text(self) -> str:
        """A region `{...}` with ops of LLVM's dialect, as text; "" (and nothing read) where there are none."""
        start = self.skip()
        text = self.source[start : self.balanced(start)]
        if not re.search(r"(?m)^\s*(?:%[\w:]+ = )?\"?llvm\.", text):
            return ""
        self.offset = start + len(text)
        return text

    def values(self) -> list[tuple[str, int, int]]:
        """`%a, %b`, perhaps none."""
        refs = [self.operand_ref()] if self.peek("%") else []
        while refs and self.accept(","):
            refs.append(self.operand_ref())
        return refs

    def types(self) -> list[Attribute]:
        """`: type, type`."""
        self.expect(":")
        types = [self.parse_type()]
        while self.accept(","):
            types.append(self.parse_type())
        return types

    def parse_return(self, name: str) -> Operation:
        offset = self.skip()
        attributes = self.dictionary() if self.peek("{") else {}
        refs = self.values()
        op = ReturnOp(*self.resolve(refs, self.types(), offset)) if refs else ReturnOp()
        op.attributes.update(attributes)
        return op

    def _plain_form(self, name: str, head: int, has_results: bool) -> Operation:
        """The custom form that most ops of other dialects share: `[{attributes}] [value] %a, %b [{attributes}] : types`.

        types: a function type; or the type of all operands and the result; or, without results, one type an operand.
        """
        if not has_results and _REST_OF_LINE.match(self.source, self.offset):
            return foreign_class(name).create()
        offset = self.skip()
        attributes = self.dictionary() if self.peek("{") else {}
        if name.endswith(".constant"):
            value = self.attribute()
            type_ = value.type if isinstance(value, DenseElements | IntegerAttr | FloatAttr) else None
            if type_ is None:
                self._unknown(name, head, "has no custom form here; the generic form is read")
            return foreign_class(name).create(result_types=[type_], properties={**attributes, "value": value})
        refs = self.values() if not self.accept("()") else []
        attributes |= self.dictionary() if self.peek("{") else {}
        operands: list[SSAValue] = []
        outputs: list[Attribute] = []
        types = self.types() if self.peek(":") else []
        if len(types) == 1 and isinstance(types[0], FunctionType):
            operands, outputs = self.resolve(refs, types[0].inputs.data, offset), list(types[0].outputs.data)
        elif types and self.accept("->"):
            operands, outputs = self.resolve(refs, types, offset), self.result_types()
        elif types and not has_results:
            operands = self.resolve(refs, types, offset)
        elif name.endswith(".select") and len(types) == 2:
            operands, outputs = self.resolve(refs, [types[0], types[1], types[1]], offset), [types[1]]
        elif len(types) == 1:
            operands, outputs = self.resolve(refs, types * len(refs), offset), list(types)
        else:
            self._unknown(name, head, "has no custom form here; the generic form is read")
        return foreign_class(name).create(operands=operands, result_types=outputs, properties=attributes)

    def typed_call(self, refs: Sequence[tuple[str, int, int]], offset: int) -> tuple[list[SSAValue], list[Attribute]]:
        self.expect(":")
        signature: FunctionType = self.function_type()
        return self.resolve(refs, signature.inputs.data, offset), list(signature.outputs.data)

    def parse_call(self, name: str) -> Operation:
        callee = self.symbol_ref()
        self.expect("(")
        offset = self.skip()
        refs = self.comma_list(self.operand_ref, ")")
        attributes = self.dictionary() if self.peek("{") else {}
        operands, outputs = self.typed_call(refs, offset)
        op = CallOp(callee, operands, outputs)
        op.attributes.update(attributes)
        return op

    def make_op(
        self,
        name: str,
        operands: Sequence[SSAValue] = (),
        results: Sequence[Attribute] = (),
        properties: dict[str, Attribute] | None = None,
        attributes: dict[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> Operation:
        return op_classes()[name].create(
            operands=operands,
            result_types=results,
            properties=properties or {},
            attributes=attributes or {},
            regions=regions,
        )


_CUSTOM: dict[str, Callable[[ModuleParser, str], Operation]] = {
    "module": ModuleParser.parse_module_op,
    "builtin.module": ModuleParser.parse_module_op,
    "func.func": ModuleParser.parse_func,
    "return": ModuleParser.parse_return,
    "func.return": ModuleParser.parse_return,
    "call": ModuleParser.parse_call,
    "func.call": ModuleParser.parse_call,
    **CUSTOM_FORMS,
}


def parse(text: str, filename: str = "<text>", *, verify: bool = True, foreign: Sequence[str] = FOREIGN) -> ModuleOp:
    """Module of MLIR text.

    foreign: dialects whose ops are kept without a table. verify: run `verify_module` afterwards.

    Raises:
        ParseError: malformed or unsupported text, with file:line:column.
        VerifyError: well-formed text whose ops are wrong, same location.
    """
    parser = ModuleParser(text, filename, foreign)
    module = parser.module()
    if verify:
        verify_module(module, lambda op: parser.position(parser.positions[op]) if op in parser.positions else "")
    return module


__all__ = ["FOREIGN", "ForeignOp", "ModuleParser", "foreign_class", "parse"]
