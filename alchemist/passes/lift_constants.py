"""Constants too big for source text become `constant` arguments of the forward function."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.attribute_classes import enum
from alchemist.ir.attributes import DenseElements
from alchemist.ir.constant_names import name_of_values
from alchemist.ir.edit import erase, erase_dead, functions
from alchemist.ir.layout import layout_of
from alchemist.ops.spec import LIFTED_NAME
from alchemist.passes.registry import Pass, register

INLINE_LIMIT = 16
"""Most elements that a constant may have in source text."""
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
    taken = {str(facts.get("ttir.name", "")) for facts in described}
    value = op.properties["value"]
    assert isinstance(value, DenseElements)
    stem = access.attr(op, LIFTED_NAME) or name_of_values(value.array)
    names = itertools.chain([stem] if stem != "constant" else [], (f"{stem}_{number}" for number in itertools.count(0 if stem == "constant" else 2)))
    name = next(each for each in names if each not in taken)
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
    found: dict[str, np.ndarray[Any, Any]] = {}
    for func in functions(module):
        for argument, facts in zip(func.args, access.argument_attrs(func), strict=False):
            value = facts.get(VALUE)
            if value is not None:
                layout = layout_of(argument.type)
                array = np.ascontiguousarray(value)
                if layout is not None and layout.dtype == "bf16":
                    import ml_dtypes

                    array = array.astype(ml_dtypes.bfloat16)
                found[str(facts["ttir.name"])] = array
    return found
