"""Infers result types of an op from its operands and attributes: shapes by the rules of `rules/`, element types and layouts from an operand."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from alchemist.errors import InternalError
from alchemist.ir.attributes import DenseElements, tensor
from alchemist.ir.layout import layout_of
from alchemist.ir.op_class import named
from alchemist.ir.rules import inferred_shapes
from alchemist.ir.rules.table import shapes_of

BOOLEAN = named("ttir", "truth", "logical_reduction")
"""Ops that make truth values of whatever they compare."""
_GIVER = {"ttir.where": 1, "ttir.embedding": 1, "ttnn.where": 1}


def element_giver(name: str) -> int:
    """The operand whose element type the result has."""
    return _GIVER.get(name, 0)


def result_types(op: Operation, of: str = "") -> list[Attribute]:
    """Types of the results of an op that has none yet.

    of: element type (of a TTNN op: the layout's data type), "" for that of the operand. Results of a TTNN op have the layout of its first operand.

    Raises:
        InternalError: there is no such op on these operands, or its operands and attributes do not say what it makes.
    """
    info = op.info  # type: ignore[attr-defined]
    count = sum(not (group.optional or group.variadic) for group in info.results)
    if not count:
        return []
    inputs = shapes_of(op.operands)
    try:
        shapes = None if inputs is None else inferred_shapes(op, inputs)
    except (VerifyException, IndexError) as error:
        raise InternalError(str(error), op=op.name) from None
    element = _element(op, of)
    if shapes is None or element is None:
        raise InternalError("operands and attributes do not say what the op makes", op=op.name, hint="a rule in ir/rules, or the builder's result_types")
    return [_typed(op, shape, element) for shape in shapes[:count]]


def _element(op: Operation, of: str) -> str | Attribute | None:
    if of:
        return of
    value = op.properties.get("value")
    if isinstance(value, DenseElements):
        element: Attribute = value.type.get_element_type()
        return element
    if op.name in BOOLEAN:
        return i1
    types = [operand.type for operand in op.operands if isinstance(operand.type, TensorType)]
    place = element_giver(op.name)
    return types[place].get_element_type() if place < len(types) and op.name.partition(".")[2] != "typecast" else None


def _typed(op: Operation, shape: tuple[int, ...], element: str | Attribute) -> Attribute:
    layout = layout_of(op.operands[0].type) if op.operands and op.name.startswith("ttnn.") else None
    if layout is None:
        return tensor(shape, element)
    return layout.with_(shape, dtype=element if isinstance(element, str) else "").type_for(shape)
