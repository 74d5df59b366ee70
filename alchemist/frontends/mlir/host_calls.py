"""Calls of host functions in LLVM become constants of the program: the interpreter computes them from the weights at export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import BlockArgument

from alchemist.errors import LoweringError
from alchemist.frontends.base import Argument
from alchemist.frontends.mlir.values import Array
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import numpy_dtype
from alchemist.ir.location import place_of
from alchemist.toolchain.host_code import HostCode

PREFIX = "host."
"""Names of these constants begin with it."""


@dataclass(frozen=True, slots=True)
class HostConstant:
    """The result of one call. function: the const-eval function with the call, as it was; inputs: positions of its arguments among those of the entry."""

    name: str
    function: FuncOp
    call: CallOp
    inputs: tuple[int, ...]
    code: Mapping[str, HostCode]

    def argument(self, arguments: Sequence[Argument]) -> Argument:
        """arguments: those of the entry."""
        result = self.call.results[0]
        return Argument(self.name, "constant", shape(result), numpy_dtype(element_type(result)).name, partial(self._value, arguments))

    def _value(self, arguments: Sequence[Argument]) -> Array:
        from alchemist.ops import evaluate_ttnn

        host = {name: partial(_called, code, op) for op in self.function.walk() if isinstance(op, CallOp) if (code := self.code.get(name := _callee(op)))}
        values = evaluate_ttnn.operands_of(self.call, self.function, [arguments[index].value() for index in self.inputs], host)
        (result,) = host[_callee(self.call)](values)
        return np.ascontiguousarray(result.astype(numpy_dtype(element_type(self.call.results[0]))))


def _callee(call: CallOp) -> str:
    return call.callee.root_reference.data


def _called(code: HostCode, call: CallOp, values: Sequence[Array]) -> list[Array]:
    arrays = [np.asarray(value, numpy_dtype(element_type(operand))) for value, operand in zip(values, call.operands, strict=True)]
    return code.call(_callee(call), arrays, [(shape(result), numpy_dtype(element_type(result)).str) for result in call.results])


def lift_host_calls(module: ModuleOp, entry: FuncOp, host: Mapping[str, HostCode]) -> list[HostConstant]:
    """Gives `entry` and its const-eval functions an argument for each call of a host function. Returns them in order of the new arguments.

    Raises:
        LoweringError: a call outside of const-eval, whose operands are known at run time alone.
    """
    if not host:
        return []
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    constants: list[HostConstant] = []
    changed: set[str] = set()
    for load in [op for op in entry.body.block.ops if op.name == "ttcore.load_cached"]:
        callee = load.properties["callee"]
        assert isinstance(callee, SymbolRefAttr)
        name = callee.root_reference.data
        calls = [op for op in functions[name].body.block.ops if isinstance(op, CallOp) and _callee(op) in host]
        if not calls or not all(isinstance(value, BlockArgument) for value in load.operands) or any(len(call.results) != 1 for call in calls):
            continue
        original = functions[name].clone()
        twins = [op for op in original.body.block.ops if isinstance(op, CallOp) and _callee(op) in host]
        if name in changed:  # another call of the same function, which has the constants of the first one
            raise LoweringError("a const-eval function with host code is called twice", op=f"@{name}", location=place_of(load))
        changed.add(name)
        inputs = tuple(value.index for value in load.operands if isinstance(value, BlockArgument))
        for call, twin in zip(calls, twins, strict=True):
            kind = call.results[0].type
            inner, outer = (function.body.block.insert_arg(kind, len(function.body.block.args)) for function in (functions[name], entry))
            call.results[0].replace_all_uses_with(inner)
            functions[name].body.block.erase_op(call)
            load.operands = [*load.operands, outer]
            constants.append(HostConstant(f"{PREFIX}{_callee(twin)}_{len(constants)}", original, twin, inputs, host))
        for function in (functions[name], entry):
            _retype(function)
    if left := [op for op in module.walk() if isinstance(op, CallOp) and _callee(op) in host]:
        raise LoweringError(f"@{_callee(left[0])} runs on the host at every call", op="func.call", location=place_of(left[0]),
                            hint="the export computes only host functions of constants")  # fmt: skip
    for name in host:
        if name in functions and functions[name].is_declaration:
            module.body.block.erase_op(functions[name])
    return constants


def _retype(function: FuncOp) -> None:
    block = function.body.block
    end = block.last_op
    assert isinstance(end, ReturnOp)
    function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in block.args], list(end.operand_types))
    attributes = function.properties.get("arg_attrs")
    if isinstance(attributes, ArrayAttr):
        function.properties["arg_attrs"] = ArrayAttr([*attributes.data, *[DictionaryAttr({})] * (len(block.args) - len(attributes.data))])
