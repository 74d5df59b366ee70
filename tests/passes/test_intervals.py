"""What is known of whole numbers."""

from __future__ import annotations

import pytest

from alchemist.ir.access import entry_function
from alchemist.ir.text import parse
from alchemist.passes.signs import WHOLE, interval

T = "tensor<32x32xsi32>"


@pytest.mark.parametrize(("sums", "expected"), [(20, (0, 255 << 20)), (40, WHOLE)])
def test_sums_with_themselves(sums: int, expected: tuple[int, int]) -> None:
    """Each is reached by twice as many ways as the one behind it, and asked once; beyond 32 bits nothing is known."""
    lines = [f'%0 = "ttir.typecast"(%x) : (tensor<32x32xui8>) -> {T}']
    lines += [f'%{k + 1} = "ttir.add"(%{k}, %{k}) : ({T}, {T}) -> {T}' for k in range(sums)]
    text = f"module {{ func.func @f(%x: tensor<32x32xui8>) -> {T} {{\n" + "\n".join(lines) + f"\nreturn %{sums} : {T}\n}} }}"
    assert interval(entry_function(parse(text)).body.block.last_op.operands[0]) == expected


def test_floor_quotients_and_scattered_values() -> None:
    """A quotient written as (x - x % 3) / 3 is rounded down; a scatter holds values of its table and of its source."""
    lines = [
        f'%0 = "ttir.typecast"(%x) : (tensor<32x32xsi8>) -> {T}',
        f'%1 = "ttir.full"() <{{shape = array<i32: 32, 32>, fill_value = 3 : i32}}> : () -> {T}',
        f'%2 = "ttir.remainder"(%0, %1) : ({T}, {T}) -> {T}',
        f'%3 = "ttir.subtract"(%0, %2) : ({T}, {T}) -> {T}',
        f'%4 = "ttir.div"(%3, %1) : ({T}, {T}) -> {T}',
        f'%5 = "ttir.scatter"(%4, %0, %1) <{{dim = 0 : i32, scatter_reduce_type = #ttcore.reduce_type<invalid>}}> : ({T}, {T}, {T}) -> {T}',
    ]
    text = f"module {{ func.func @f(%x: tensor<32x32xsi8>) -> ({T}, {T}) {{\n" + "\n".join(lines) + f"\nreturn %4, %5 : {T}, {T}\n}} }}"
    last = entry_function(parse(text)).body.block.last_op
    assert last is not None
    assert [interval(value) for value in last.operands] == [(-43, 42), (-43, 42)]
