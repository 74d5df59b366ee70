"""What may change in a valid use of an op: every size and the element type of every tensor, every number of its attributes, one at a time.

A row is an op, then a word for each tensor and attribute, a sign for each of its
numbers: `.` neither one more nor twice as much is taken, `+` one more, `*` twice as much, `#` both. A tensor's signs behind `/`: `+` one more dimension
in front, `i` integers in the place of floats, `f` floats in the place of anything else. An attribute's signs behind `/`: for each number `0` where 0 is
taken, `-` where -1 is, `#` both, `.` neither; a number that is 0 or -1 itself counts as taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DenseArrayBase, IntegerAttr, TensorType, f32, i1, i32
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from alchemist.ir.text import parse
from alchemist.ir.verify import verify_attributes, verify_shapes
from tests.mlir.op_uses import uses

MORE = {(False, False): ".", (True, False): "+", (False, True): "*", (True, True): "#"}
LESS = {(False, False): ".", (True, False): "0", (False, True): "-", (True, True): "#"}


def rows() -> Iterator[tuple[str, str]]:
    """Op and row, per op that has tensors or numbers, in the order of the uses."""
    for dialect in ("ttir", "ttnn"):
        for use in uses(dialect):
            module = parse(use.text)
            op = next(op for op in module.walk() if op.name == use.name)
            words = [*_tensors(op), *_attributes(op)]
            if words:
                yield use.name, " ".join(words)


def _taken(op: Operation) -> bool:
    try:
        verify_attributes(op)
        verify_shapes(op)
    except VerifyException:
        return False
    return True


def _signs(op: Operation, numbers: list[int], change: Callable[[list[int]], None]) -> str:
    return "".join(MORE[one, two and bool(numbers[index])] for index, (one, two) in enumerate(_each(op, numbers, change, lambda n: (n + 1, n * 2))))


def _small_signs(op: Operation, numbers: list[int], change: Callable[[list[int]], None]) -> str:
    return "".join(LESS[pair] for pair in _each(op, numbers, change, lambda _: (0, -1)))


def _each(op: Operation, numbers: list[int], change: Callable[[list[int]], None], others: Callable[[int], tuple[int, int]]) -> Iterator[tuple[bool, bool]]:
    """For each number, whether the op takes two others in its place."""
    for index, number in enumerate(numbers):
        taken = []
        for value in others(number):
            try:
                change([*numbers[:index], value, *numbers[index + 1 :]])
            except VerifyException:  # an unsigned number cannot be -1
                taken.append(False)
            else:
                taken.append(_taken(op))
        yield taken[0], taken[1]


def _tensors(op: Operation) -> Iterator[str]:
    for kind in ("operands", "results"):
        for index in range(len(getattr(op, kind))):
            before = getattr(op, kind)[index].type
            if not isinstance(before, TensorType):
                continue
            element, encoding = before.get_element_type(), before.encoding

            def set_type(made: Attribute, kind: str = kind, index: int = index) -> None:
                Rewriter.replace_value_with_new_type(getattr(op, kind)[index], made)  # puts another value there

            def change(dims: list[int], element: Attribute = element, encoding: Attribute = encoding, put: Callable[[Attribute], None] = set_type) -> None:
                put(TensorType(element, dims, encoding))

            dims = list(before.get_shape())
            signs = _signs(op, dims, change)
            change([1, *dims])
            other = "+" if _taken(op) else ""
            is_float = isinstance(element, AnyFloat)
            change(dims, i32 if is_float else f32)
            other += ("i" if is_float else "f") if _taken(op) else ""
            set_type(before)
            assert _taken(op)
            yield f"{kind[:-1]}_{index}={signs}/{other or '.'}"


def _attributes(op: Operation) -> Iterator[str]:
    for name, before in sorted(op.properties.items()):
        made = _with_numbers(before)
        if made is None or name == "operandSegmentSizes":  # says which operands are there, not what they are
            continue
        numbers, make = made

        def change(values: list[int], name: str = name, make: Callable[[list[int]], Attribute] = make) -> None:
            op.properties[name] = make(values)

        signs, small = _signs(op, numbers, change), _small_signs(op, numbers, change)
        op.properties[name] = before
        yield f"{name}={signs}/{small}"


def _with_numbers(attribute: Attribute) -> tuple[list[int], Callable[[list[int]], Attribute]] | None:
    """The attribute's integers, and the attribute of the same kind with others."""
    if isinstance(attribute, IntegerAttr):
        if attribute.type == i1:
            return None
        return [attribute.value.data], lambda values: IntegerAttr(values[0], attribute.type)
    if isinstance(attribute, DenseArrayBase):
        found = list(attribute.get_values())
        if found and all(isinstance(value, int) for value in found):
            return [int(value) for value in found], lambda values: DenseArrayBase.from_list(attribute.elt_type, values)
    if isinstance(attribute, ArrayAttr) and attribute.data and all(isinstance(value, IntegerAttr) for value in attribute.data):
        kinds = [value.type for value in attribute.data]
        return [value.value.data for value in attribute.data], lambda values: ArrayAttr(
            [IntegerAttr(value, kind) for value, kind in zip(values, kinds, strict=True)]
        )
    return None
