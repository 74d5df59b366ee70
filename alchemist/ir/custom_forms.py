"""Parses the custom forms of ttcore, ttir and ttnn ops: name -> function(parser, name) that reads the text after the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from alchemist.ir.attributes import OpaqueAttr
from alchemist.ir.dialects import SEGMENTS, op_classes
from alchemist.ir.lexer import INTEGER

if TYPE_CHECKING:
    from alchemist.ir.parser import ModuleParser


def parse_load_cached(p: ModuleParser, name: str) -> Operation:
    p.expect("(")
    callee: Attribute = p.symbol_ref()
    p.expect(",")
    p.expect("[")
    start = p.skip()
    refs = p.comma_list(p.operand_ref, "]")
    p.expect(")")
    attributes = p.dictionary() if p.peek("{") else {}
    operands, outputs = p.typed_call(refs, start)
    return p.make_op(name, operands, outputs, {"callee": callee}, attributes)


def parse_wrapper(p: ModuleParser, name: str) -> Operation:
    attributes = p.dictionary() if p.keyword("attributes") else {}
    if name == "ttcore.cpu_module" and (text := p.llvm_text()):  # a program for the host's processor: kept as it is
        return p.make_op(name, regions=[Region(Block())], attributes={**attributes, "llvm_text": StringAttr(text)})
    return p.make_op(name, regions=[p.region(isolated=True)], attributes=attributes)


def parse_device(p: ModuleParser, name: str) -> Operation:
    label = p.symbol_name()
    p.expect("=")
    stripped = OpaqueAttr(("#ttcore.device", p.expand_aliases(p.body()))) if p.peek("<") else None
    value = stripped or p.attribute()
    return p.make_op(name, properties={"sym_name": StringAttr(label), "device_attr": value})


def parse_global(p: ModuleParser, name: str) -> Operation:
    label = p.symbol_name()
    p.expect("=")
    properties: dict[str, Attribute] = {"sym_name": StringAttr(label), "type": p.parse_type()}
    if p.accept("["):
        properties["index"] = IntegerAttr(p.integer(), i32)
        p.expect("]")
    return p.make_op(name, properties=properties)


def parse_get_global(p: ModuleParser, name: str) -> Operation:
    label = p.symbol_name()
    p.expect(":")
    return p.make_op(name, results=[p.parse_type()], properties={"sym_name": StringAttr(label)})


def parse_tuple(p: ModuleParser, name: str) -> Operation:
    start = p.skip()
    refs = p.values()
    p.expect(":")
    type_ = p.parse_type()
    members: Sequence[Attribute] = type_.types.data
    return p.make_op(name, p.resolve(refs, members, start), [type_])


def _read_entry(p: ModuleParser, name: str, entry: Callable[[], dict[str, Attribute]]) -> Operation:
    """`op %container[entry] : type -> type`"""
    start = p.skip()
    refs = [p.operand_ref()]
    p.expect("[")
    value = entry()
    p.expect("]")
    operands, outputs = p.typed_call(refs, start)
    return p.make_op(name, operands, outputs, value)


def parse_get_tuple_element(p: ModuleParser, name: str) -> Operation:
    return _read_entry(p, name, lambda: {"index": IntegerAttr(int(p.need(INTEGER, "an index")), i32)})


def parse_get_key_value(p: ModuleParser, name: str) -> Operation:
    return _read_entry(p, name, lambda: {"key": p.attribute()})


def parse_set_key_value(p: ModuleParser, name: str) -> Operation:
    start = p.skip()
    refs = [p.operand_ref()]
    p.expect("[")
    key = p.attribute()
    p.expect("]")
    p.expect("=")
    refs += p.values()
    attributes = p.dictionary() if p.peek("{") else {}
    return p.make_op(name, p.resolve(refs, p.types(), start), properties={"key": key}, attributes=attributes)


def parse_layout_cast(p: ModuleParser, name: str) -> Operation:
    start = p.skip()
    refs = [p.operand_ref()]
    attributes = p.dictionary() if p.peek("{") else {}
    types = p.types()
    p.expect("->")
    declared = op_classes()[name].info.attributes
    return p.make_op(
        name, p.resolve(refs, types, start), [p.parse_type()],
        {key: value for key, value in attributes.items() if key in declared},
        {key: value for key, value in attributes.items() if key not in declared},
    )  # fmt: skip


def parse_subgraph(p: ModuleParser, name: str) -> Operation:
    """`ttnn.d2m_subgraph @f ins(%a : t) outs(%b : t) : t`."""
    callee = p.symbol_ref()
    attributes = p.dictionary() if p.peek("{") else {}
    operands: list[SSAValue] = []
    sizes: list[int] = []
    for word in ("ins", "outs"):
        sizes.append(0)
        if p.keyword(word):
            p.expect("(")
            start = p.skip()
            if refs := p.values():
                operands += p.resolve(refs, p.types(), start)
            p.expect(")")
            sizes[-1] = len(refs)
    outputs = p.types() if p.peek(":") else []
    properties: dict[str, Attribute] = {"d2m_func": callee, SEGMENTS: DenseArrayBase.from_list(i32, sizes)}
    return p.make_op(name, operands, outputs, properties, attributes)


def parse_empty(p: ModuleParser, name: str) -> Operation:
    p.expect("(")
    p.expect(")")
    p.expect(":")
    return p.make_op(name, results=[p.parse_type()])


def parse_to_layout(p: ModuleParser, name: str) -> Operation:
    start = p.skip()
    refs = [p.operand_ref()]
    p.expect(",")
    refs.append(p.operand_ref())
    p.expect(":")
    types = [p.parse_type()]
    if not p.keyword("into"):
        p.fail("expected `into`")
    types.append(p.parse_type())
    properties: dict[str, Attribute] = {}
    if p.keyword("hostInfo"):
        p.expect("=")
        properties["layout"] = p.attribute()
    outputs = [p.parse_type()] if p.accept("->") else []
    return p.make_op(name, p.resolve(refs, types, start), outputs, properties)


CUSTOM_FORMS: dict[str, Callable[[ModuleParser, str], Operation]] = {
    "ttcore.load_cached": parse_load_cached,
    "ttcore.device_module": parse_wrapper,
    "ttcore.cpu_module": parse_wrapper,
    "ttcore.device": parse_device,
    "ttcore.global": parse_global,
    "ttcore.get_global": parse_get_global,
    "ttcore.tuple": parse_tuple,
    "ttcore.get_tuple_element": parse_get_tuple_element,
    "ttcore.get_key_value": parse_get_key_value,
    "ttcore.set_key_value": parse_set_key_value,
    "ttir.empty": parse_empty,
    "ttir.ttnn_metal_layout_cast": parse_layout_cast,
    "ttnn.d2m_subgraph": parse_subgraph,
    "ttir.to_layout": parse_to_layout,
}
