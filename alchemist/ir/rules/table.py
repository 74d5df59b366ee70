"""The table of op rules and what its rows share. A rule for "softmax" holds in ttir and ttnn, one for "ttir.conv2d" there alone.

An `infers` rule gives the result's shape from the operands and attributes: the builder makes ops with it and the verifier compares with it.
`rule`s check what else must hold of operands and results. Both get shapes of the tensors and run only where these are static; `any_rule`s always run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from alchemist.ir.attributes import OpaqueType, element_name, to_python
from alchemist.ir.op_class import short_names

Shape = tuple[int, ...]
Inferred = Sequence[int] | list[Shape] | None
"""Shape of every result, or a list with one for each; None if the attributes do not determine it."""
Inference = Callable[[Operation, list[Shape]], Inferred]
Rule = Callable[[Operation, list[Shape], list[Shape]], None]
AnyRule = Callable[[Operation], None]
INFERENCES: dict[str, Inference] = {}
RULES: dict[str, Rule] = {}
ANY_RULES: dict[str, AnyRule] = {}
VECTOR_FOR_SCALAR = short_names("ttir", "over_dims", "product")
"""Ops whose result without dimensions tt-mlir spells with one of size 1."""
R = TypeVar("R")


def _of(table: dict[str, R], op: Operation) -> R | None:
    return table.get(op.name) or table.get(op.name.partition(".")[2])


def shapes_of(values: Sequence[SSAValue]) -> list[Shape] | None:
    """Shapes of the tensors among the values (devices and semaphores are none), None where one is not static."""
    shapes = [value.type.get_shape() for value in values if isinstance(value.type, TensorType)]
    return shapes if all(dim >= 0 for dims in shapes for dim in dims) else None


def inferred_shapes(op: Operation, inputs: list[Shape]) -> list[Shape] | None:
    """Shapes of the results of an op with operands of shapes `inputs`; None without a rule or if undetermined. The op may have no results yet.

    Raises:
        VerifyException: there is no such op on these operands.
    """
    function = _of(INFERENCES, op)
    traits = op.info.traits  # type: ignore[attr-defined]
    if function is None:
        if not inputs or ("elementwise_unary" in traits and len(inputs) > 1) or not any(trait.startswith("elementwise") for trait in traits):
            return None
        function = broadcast
    shapes = function(op, inputs)
    if shapes is None:
        return None
    return shapes if isinstance(shapes, list) and shapes and isinstance(shapes[0], tuple) else [tuple(shapes)] * len(op.info.results)  # type: ignore


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape | None:
    """numpy's broadcast of static shapes, None if they do not fit."""
    rank = max((len(shape) for shape in shapes), default=0)
    out = []
    for index in range(-rank, 0):
        sizes = {shape[index] for shape in shapes if -index <= len(shape)} - {1}
        if len(sizes) > 1:
            return None
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def broadcast(op: Operation, inputs: list[Shape]) -> Shape:
    expected = broadcast_shapes(inputs)
    if expected is None:
        raise VerifyException(f"operands cannot be broadcast: {[list(shape) for shape in inputs]}")
    return expected


def check(op: Operation) -> None:
    """Raises VerifyException where a rule of the table does not hold."""
    always, rule = _of(ANY_RULES, op), _of(RULES, op)
    if always is not None:
        always(op)
    inputs, outputs = shapes_of(op.operands), shapes_of(op.results)
    if inputs is None or outputs is None:
        return
    if rule is not None:
        rule(op, inputs, outputs)
    expected = inferred_shapes(op, inputs) if outputs else None
    for have, expected_shape in zip(outputs, expected or (), strict=False):
        if have != (1,) or expected_shape or op.name.partition(".")[2] not in VECTOR_FOR_SCALAR:
            same(have, expected_shape)


def _adding(table: dict[str, R], names: Sequence[str]) -> Callable[[R], R]:
    def add(function: R) -> R:
        table.update((name, function) for name in names)
        return function

    return add


def infers(*names: str) -> Callable[[Inference], Inference]:
    return _adding(INFERENCES, names)


def rule(*names: str) -> Callable[[Rule], Rule]:
    return _adding(RULES, names)


def any_rule(*names: str) -> Callable[[AnyRule], AnyRule]:
    return _adding(ANY_RULES, names)


def attribute(op: Operation, name: str) -> object:
    """An attribute as a plain value, None without it."""
    value = op.properties.get(name)
    return to_python(value) if value is not None else None


def integer(op: Operation, name: str) -> int | None:
    value = attribute(op, name)
    return value if isinstance(value, int) else None


def need(condition: bool, message: str) -> None:
    if not condition:
        raise VerifyException(message)


def rank_is(shape: Shape, rank: int, name: str) -> None:
    need(len(shape) == rank, f"{name} must be a {rank}D tensor, got rank {len(shape)}")


def axis_of(op: Operation, name: str, rank: int, *, extra: int = 0) -> int | None:
    """The attribute as an index from the front; it may count from the back."""
    value = integer(op, name)
    if value is None:
        return None
    low, high = -(rank + extra), rank + extra
    need(low <= value < max(high, 1) or (rank + extra == 0 and value in (0, -1)), f"{name} must be in [{low}, {high}), got {value}")
    return value % high if high else 0


def element(value: SSAValue) -> Attribute:
    assert isinstance(value.type, TensorType)
    element_type: Attribute = value.type.get_element_type()
    return element_type


def is_float(value: SSAValue) -> bool:
    return isinstance(element(value), BFloat16Type | Float16Type | Float32Type | Float64Type)


def is_integer(value: SSAValue) -> bool:
    return isinstance(element(value), IntegerType)


def is_quantised(value: SSAValue) -> bool:
    of = element(value)
    return isinstance(of, OpaqueType) and str(of.data[0]).startswith("!quant.uniform")


def same(actual: Shape, expected: Sequence[int], name: str = "result") -> None:
    need(actual == tuple(expected), f"expected {name} shape {list(expected)}, got {list(actual)}")


def value_of(op: Operation, name: str) -> SSAValue | None:
    """The operand of this name, None where it is left out."""
    from alchemist.ir.access import operand

    return operand(op, name)


def shape_of(op: Operation, name: str) -> Shape | None:
    """Shape of the operand of this name, None where it is left out."""
    value = value_of(op, name)
    return tuple(value.type.get_shape()) if value is not None and isinstance(value.type, TensorType) else None


def same_elements(first: SSAValue, second: SSAValue, name: str) -> None:
    need(element(first) == element(second), f"{name} must have the same element type, got {text_of(first)} and {text_of(second)}")


def text_of(value: SSAValue) -> str:
    return element_name(element(value))
