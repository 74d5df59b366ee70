"""A trace as a TTIR module in MLIR's generic text, which tt-mlir's tools and `alchemist` read."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

from ttnn_jit.graph import Graph, Node, Ref, Spec
from ttnn_jit.supported import BINARY, REDUCTIONS, TTIR

_ELEMENTS = {"BFLOAT16": "bf16", "FLOAT32": "f32", "INT32": "si32", "UINT32": "ui32", "UINT16": "ui16", "UINT8": "ui8",
             "BFLOAT8_B": "!ttcore.tile<32x32, bfp_bf8>", "BFLOAT4_B": "!ttcore.tile<32x32, bfp_bf4>"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class IrModule:
    """What `compile_only` returns; its text is `str(module)`."""

    text: str

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, graph: Graph, name: str) -> IrModule:
        """The module of a trace, with one function `name`."""
        return cls(_Writer(graph).module(name))


class _Writer:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lines: list[str] = []
        self.constants = 0

    def module(self, name: str) -> str:
        graph = self.graph
        arguments = ", ".join(f"%arg{index}: {_type(spec)}" for index, spec in enumerate(graph.inputs))
        for index, node in enumerate(graph.nodes):
            self._add(index, node)
        result = _type(graph.spec(graph.output))
        body = [*self.lines, f"return {self._name(graph.output)} : {result}"]
        return "\n".join(["module {", f"  func.func @{name}({arguments}) -> {result} {{", *(f"    {line}" for line in body), "  }", "}", ""])

    def _name(self, value: int) -> str:
        count = len(self.graph.inputs)
        return f"%arg{value}" if value < count else f"%{value - count}"

    def _add(self, index: int, node: Node) -> None:
        operands: list[tuple[str, str]] = [(self._name(value), _type(self.graph.spec(value))) for value in _operands(node)]
        if node.op in BINARY and len(operands) == 1:
            operands = self._with_number(node, operands[0])
        attributes = ", ".join(_attributes(node, self.graph))
        properties = f" <{{{attributes}}}>" if attributes else ""
        names, types = ", ".join(name for name, _ in operands), ", ".join(type_ for _, type_ in operands)
        self.lines.append(f'%{index} = "ttir.{TTIR.get(node.op, node.op)}"({names}){properties} : ({types}) -> {_type(node.result)}')

    def _with_number(self, node: Node, tensor: tuple[str, str]) -> list[tuple[str, str]]:
        """The operand that is a number is a constant tensor."""
        left, right = list(node.bound.values())[:2]
        number = right if isinstance(left, Ref) else left
        spec = self.graph.spec(_operands(node)[0])
        name = f"%c{self.constants}"
        self.constants += 1
        shape = ", ".join(map(str, spec.shape))
        self.lines.append(f'{name} = "ttir.full"() <{{fill_value = {_number(number)}, shape = array<i32: {shape}>}}> : () -> {tensor[1]}')
        constant = (name, tensor[1])
        return [tensor, constant] if isinstance(left, Ref) else [constant, tensor]


def _operands(node: Node) -> list[int]:
    """Values that it reads, as often as it names them."""
    found: list[int] = []
    for value in node.bound.values():
        found += [item.value for item in (value if isinstance(value, list | tuple) else [value]) if isinstance(item, Ref)]
    return found


def _type(spec: Spec) -> str:
    return f"tensor<{'x'.join((*map(str, spec.shape), _ELEMENTS[spec.dtype.name]))}>"


def _number(value: Any) -> str:
    if isinstance(value, int):  # bool too
        return f"{int(value)} : i32"
    if math.isfinite(value):
        return f"{value:.9e} : f32"
    return f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08X} : f32"


def _attributes(node: Node, graph: Graph) -> list[str]:
    bound, result = node.bound, node.result
    source = graph.spec(_operands(node)[0])
    if node.op == "clamp":
        limits = [(name, -math.inf if name == "min" else math.inf) for name in ("min", "max")]
        return [f"{name} = {_number(otherwise if bound.get(name) is None else float(bound[name]))}" for name, otherwise in limits]
    if node.op in REDUCTIONS:
        dims = bound.get("dim")
        dims = [] if dims is None else list(dims) if isinstance(dims, list | tuple) else [dims]
        listed = [f"dim_arg = [{', '.join(f'{dim} : i32' for dim in dims)}]"] if dims else []
        return [*listed, f"keep_dim = {_flag(bound.get('keepdim', False))}"]
    if node.op == "matmul":
        return [f"{name} = {_flag(bound.get(name, False))}" for name in ("transpose_a", "transpose_b")]
    if node.op == "permute":
        rank = len(source.shape)
        return [f"permutation = array<i64: {', '.join(str(dim % rank) for dim in bound['dims'])}>"]
    if node.op == "transpose":
        return [f"dim0 = {bound['dim1']} : si32", f"dim1 = {bound['dim2']} : si32"]
    if node.op == "reshape":
        return [f"shape = [{', '.join(f'{dim} : i32' for dim in result.shape)}]"]
    if node.op == "concat":
        return [f"dim = {bound.get('dim', 0)} : si32"]
    if node.op == "repeat":
        return [f"repeat_dimensions = array<i64: {', '.join(map(str, bound['repeat_dims']))}>"]
    return []


def _flag(value: Any) -> str:
    return "true" if value else "false"
