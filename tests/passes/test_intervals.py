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
