"""The table of op rules and what its rows share. A rule for "softmax" holds in ttir and ttnn, one for "ttir.conv2d" there alone.

`rule`s get the shapes of all operands and results that are tensors and run only where these are static; `any_rule`s always run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from alchemist.ir.attributes import OpaqueType, element_name, to_python

Shape = tuple[int, ...]
Rule = Callable[[Operation, list[Shape], list[Shape]], None]
AnyRule = Callable[[Operation], None]
RULES: dict[str, Rule] = {}
ANY_RULES: dict[str, AnyRule] = {}


def check(op: Operation, inputs: list[Shape] | None, outputs: list[Shape] | None) -> None:
    """Raises VerifyException where a rule of the table does not hold. inputs, outputs: None where a shape is not static."""
    short = op.name.partition(".")[2]
    always = ANY_RULES.get(op.name) or ANY_RULES.get(short)
    if always is not None:
        always(op)
    found = RULES.get(op.name) or RULES.get(short)
    if found is not None and inputs is not None and outputs is not None:
        found(op, inputs, outputs)


def rule(*names: str) -> Callable[[Rule], Rule]:
    def add(function: Rule) -> Rule:
        RULES.update((name, function) for name in names)
        return function

    return add


def any_rule(*names: str) -> Callable[[AnyRule], AnyRule]:
    def add(function: AnyRule) -> AnyRule:
        ANY_RULES.update((name, function) for name in names)
        return function

    return add


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


def rank_is(shape: Shape, rank: int, what: str) -> None:
    need(len(shape) == rank, f"{what} must be a {rank}D tensor, got rank {len(shape)}")


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
    found: Attribute = value.type.get_element_type()
    return found


def is_float(value: SSAValue) -> bool:
    return isinstance(element(value), BFloat16Type | Float16Type | Float32Type | Float64Type)


def is_integer(value: SSAValue) -> bool:
    return isinstance(element(value), IntegerType)


def is_quantised(value: SSAValue) -> bool:
    of = element(value)
    return isinstance(of, OpaqueType) and str(of.data[0]).startswith("!quant.uniform")


def same(actual: Shape, expected: Sequence[int], what: str = "result") -> None:
    need(actual == tuple(expected), f"expected {what} shape {list(expected)}, got {list(actual)}")


def value_of(op: Operation, name: str) -> SSAValue | None:
    """The operand of this name, None where it is left out."""
    from alchemist.ir.access import operand

    return operand(op, name)


def shape_of(op: Operation, name: str) -> Shape | None:
    """Shape of the operand of this name, None where it is left out."""
    value = value_of(op, name)
    return tuple(value.type.get_shape()) if value is not None and isinstance(value.type, TensorType) else None


def same_elements(first: SSAValue, second: SSAValue, what: str) -> None:
    need(element(first) == element(second), f"{what} must have the same element type, got {text_of(first)} and {text_of(second)}")


def text_of(value: SSAValue) -> str:
    return element_name(element(value))
