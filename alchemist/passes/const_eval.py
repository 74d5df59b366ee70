"""Const-eval: moves computations on parameters and constants to functions that run once, before the first call."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.attribute_classes import enum
from alchemist.ir.attributes import DenseElements
from alchemist.ir.builder import Builder
from alchemist.ir.constant_names import name_of_values
from alchemist.ir.edit import erase, erase_dead, functions, is_const_eval, replace
from alchemist.ir.layout import layout_of
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import INLINE, LIFTED_NAME, NOTE
from alchemist.passes.registry import Pass, register

# --- Constants too big for source text become `constant` arguments of the forward function. ---

INLINE_LIMIT = 16
"""Limit of elements of a constant in source text."""
VALUE = "alchemist.value"
"""Argument attribute: the value of an argument that this pass added."""


@register("sweep")
class Sweep(Pass):
    """Erases pure ops that nothing uses."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            erase_dead(func)


@register("lift-constants")
class LiftConstants(Pass):
    """ttnn.constant with more than 16 elements becomes an argument that is exported as a tensor."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            for op in list(func.body.block.ops):
                if op.name == "ttnn.constant" and int(np.prod(access.shape(op.results[0]), dtype=np.int64)) > INLINE_LIMIT:
                    _lift(func, op)


def _lift(func: FuncOp, op: Operation) -> None:
    block = func.body.block
    described = access.argument_attrs(func)
    used_names = {str(facts.get("ttir.name", "")) for facts in described}
    value = op.properties["value"]
    assert isinstance(value, DenseElements)
    stem = access.attr(op, LIFTED_NAME) or name_of_values(value.array)
    names = itertools.chain([stem] if stem != "constant" else [], (f"{stem}_{number}" for number in itertools.count(0 if stem == "constant" else 2)))
    name = next(name for name in names if name not in used_names)
    argument = block.insert_arg(op.results[0].type, len(block.args))
    argument.location = op.location
    facts = DictionaryAttr({"ttcore.argument_type": enum("ttcore.argument_type", "constant"), "ttir.name": StringAttr(name), VALUE: value})
    old = func.properties.get("arg_attrs")
    rows = list(old.data) if isinstance(old, ArrayAttr) else [DictionaryAttr({}) for _ in block.args[:-1]]
    func.properties["arg_attrs"] = ArrayAttr([*rows, facts])
    outputs = next(o for o in block.ops if isinstance(o, ReturnOp)).operands
    func.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [v.type for v in outputs])
    op.results[0].replace_all_uses_with(argument)
    erase(op)


def lifted(module: ModuleOp) -> dict[str, np.ndarray[Any, Any]]:
    """Values of the arguments that `lift-constants` added, by name; floats as float32 or bfloat16 by layout."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for func in functions(module):
        for argument, facts in zip(func.args, access.argument_attrs(func), strict=False):
            value = facts.get(VALUE)
            if value is not None:
                layout = layout_of(argument.type)
                array = np.ascontiguousarray(value)
                if layout is not None and layout.dtype == "bf16":
                    import ml_dtypes

                    array = array.astype(ml_dtypes.bfloat16)
                arrays[str(facts["ttir.name"])] = array
    return arrays


# --- Computations on parameters and constants alone move to private functions, called through `ttcore.load_cached`. ---


def _is_inline(op: Operation) -> bool:
    return INLINE in op.attributes


def _share(func: FuncOp, constant: FixedValues) -> None:
    """Merges equal ops on parameters, so that a weight that several ops read is prepared once."""
    first_by_key: dict[tuple[object, ...], Operation] = {}
    weights: set[SSAValue] = {value for value in func.args if value in constant}
    for op in list(func.body.block.ops):
        if not op.results or not all(result in constant for result in op.results) or weights.isdisjoint(op.operands):
            continue
        facts = {**op.properties, **{name: fact for name, fact in op.attributes.items() if name != NOTE}}
        key = (op.name, tuple(op.operands), tuple(op.result_types), tuple(sorted(facts.items(), key=lambda item: item[0])))
        first = first_by_key.setdefault(key, op)
        if first is op:
            weights.update(op.results)
        else:
            replace(op, list(first.results))


def _slice(value: SSAValue) -> tuple[list[Operation], list[BlockArgument]]:
    """The ops that compute `value`, operands first, and the function arguments that they read, by first use."""
    ops: list[Operation] = []
    arguments: dict[BlockArgument, None] = {}
    seen: set[Operation] = set()
    stack: list[tuple[Operation, bool]] = [(value.owner, False)] if isinstance(value.owner, Operation) else []
    while stack:
        op, ready = stack.pop()
        if ready:
            ops.append(op)
            continue
        if op in seen:
            continue
        seen.add(op)
        stack.append((op, True))
        for operand in reversed(op.operands):
            if isinstance(operand.owner, Operation):
                stack.append((operand.owner, False))
        for operand in op.operands:
            if isinstance(operand, BlockArgument):
                arguments.setdefault(operand)
    return ops, list(arguments)


def _hoist(module: ModuleOp, func: FuncOp, described: list[dict[str, Any]], value: SSAValue, number: int, constant: FixedValues) -> None:
    """described: attributes of the function's arguments."""
    ops, arguments = _slice(value)
    inputs = []
    for argument in arguments:
        facts = described[argument.index]
        inputs.append((str(facts.get("ttir.name", "")), argument.type, str(facts.get("ttcore.argument_type", "parameter")), None))
    name = f"{func.sym_name.data}_const_eval_{number}"
    b = Builder.function(module, name, inputs, visibility="private", before=func)
    assert b.func is not None
    b.func.attributes["const_eval"] = UnitAttr()
    mapping: dict[SSAValue, SSAValue] = dict(zip(arguments, b.args, strict=True))
    for op in ops:
        copied = op.clone(mapping)
        copied.location = op.location
        b.insert(copied)
    b.ret([mapping[value]])
    owner = value.owner
    assert isinstance(owner, Operation)
    maker = Builder.after(owner)
    loaded = maker.op("ttcore.load_cached", [list(arguments)], {"callee": name}, [value.type], source=sources_of(owner) or None)
    # Constant users keep the original: a const-eval function reads parameters, not the results of another one.
    value.replace_uses_with_if(loaded, lambda use: _runs(use.operation, constant))


def _runs(op: Operation, constant: FixedValues) -> bool:
    return not op.results or not all(result in constant for result in op.results)


def _used_at_run_time(value: SSAValue, constant: FixedValues) -> bool:
    return any(_runs(use.operation, constant) for use in value.uses)


@register("const-eval")
class ConstEval(Pass):
    """Hoists constant subgraphs into @const_eval_<n>, one function per value that the forward function reads."""

    enable_const_eval: bool = True

    def run(self, module: ModuleOp) -> None:
        if not self.enable_const_eval:
            return
        for func in list(functions(module)):
            if is_const_eval(func):
                continue
            constant = FixedValues(func)
            _share(func, constant)
            described, number = access.argument_attrs(func), 0
            for op in list(func.body.block.ops):
                if _is_inline(op):
                    continue
                for result in op.results:
                    if result in constant and _used_at_run_time(result, constant):
                        _hoist(module, func, described, result, number, constant)
                        number += 1
            erase_dead(func)
