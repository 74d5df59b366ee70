"""Tensors in Python expressions: operators, views and reductions insert ops at the builder's position, with inferred types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from xdsl.ir import SSAValue

from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.layout import layout_of

if TYPE_CHECKING:
    from alchemist.ir.builder import Builder


class Value:
    """`Value(builder, ssa)`, or `builder(ssa)`. Ops are of the dialect of its type: `ttnn` where it has a layout, else `ttir`.

    A number beside it is a constant of its element type, whatever the shape: element-wise ops broadcast.
    """

    __slots__ = ("b", "ssa")

    def __init__(self, b: Builder, ssa: SSAValue) -> None:
        self.b = b
        self.ssa = ssa

    def with_(self, ssa: SSAValue) -> Self:
        """Another value of the same builder."""
        return type(self)(self.b, ssa)

    @property
    def shape(self) -> tuple[int, ...]:
        return shape(self.ssa)

    @property
    def of(self) -> str:
        """Element type: "bf16", "si32" ..."""
        return element_type(self.ssa)

    def op(self, name: str, *others: Value | SSAValue | float, of: str = "", **attributes: Any) -> Self:
        """Creates the op `name` with this value and `others` as operands. of: element type of the result if the op does not determine it."""
        dialect = "ttir" if layout_of(self.ssa.type) is None else "ttnn"
        operands = [other.ssa if isinstance(other, Value) else other if isinstance(other, SSAValue) else self.number(other).ssa for other in others]
        return self.with_(self.b.value(f"{dialect}.{name}", [self.ssa, *operands], attributes, of=of))

    def number(self, value: float) -> Self:
        """A constant beside this value."""
        return self.with_(full(self.b, (1,) * max(len(self.shape), 1), float(value), self.of).ssa)

    # --- arithmetic -----------------------------------------------------------------------------------------------------

    def __add__(self, other: Value | SSAValue | float) -> Self:
        return self.op("add", other)

    def __sub__(self, other: Value | SSAValue | float) -> Self:
        return self.op("subtract", other)

    def __rsub__(self, other: float) -> Self:
        return self.number(other) - self

    def __mul__(self, other: Value | SSAValue | float) -> Self:
        return self.op("multiply", other)

    def __truediv__(self, other: Value | SSAValue | float) -> Self:
        return self.op("div", other)

    def matmul(self, other: Value | SSAValue | float, *, transpose_a: bool = False, transpose_b: bool = False) -> Self:
        return self.op("matmul", other, transpose_a=transpose_a, transpose_b=transpose_b)

    def reduce(self, name: str, axes: Iterable[int]) -> Self:
        """Over `axes`, which stay with size 1."""
        return self.op(name, keep_dim=True, dim_arg=tuple(axes))

    def cast(self, of: str) -> Self:
        return self if self.of == of else self.op("typecast", of=of)

    def in_pages(self, page: str) -> Self:
        """A TTNN value in tiles ("tile") or in rows ("row_major")."""
        have, dims = layout_of(self.ssa.type), self.shape
        if have is None or have.page == page:
            return self
        return self.with_(self.b.value("ttnn.to_layout", [self.ssa], {}, [have.with_(dims, page=page).type_for(dims)]))

    # --- moves ----------------------------------------------------------------------------------------------------------

    def reshape(self, *dims: int) -> Self:
        return self if self.shape == dims else self.op("reshape", shape=dims)

    def permute(self, *order: int) -> Self:
        return self if list(order) == sorted(order) else self.op("permute", permutation=order)

    def slice(self, begins: Sequence[int], ends: Sequence[int], steps: Sequence[int] = ()) -> Self:
        """From `begins` to `ends`, every element or in `steps`; itself where that is all of it."""
        steps = tuple(steps) or (1,) * len(ends)
        if not any(begins) and tuple(ends) == self.shape and set(steps) <= {1}:
            return self
        return self.op("slice_static", begins=tuple(begins), ends=tuple(ends), step=steps)

    def cut(self, dim: int, begin: int, end: int, step: int = 1) -> Self:
        """From `begin` to `end` along one dimension."""
        begins, ends, steps = [0] * len(self.shape), list(self.shape), [1] * len(self.shape)
        begins[dim], ends[dim], steps[dim] = begin, end, step
        return self.slice(begins, ends, steps)

    def pad(self, pairs: Iterable[Sequence[int]], value: float = 0.0) -> Self:
        """pairs: elements to add before and after each dimension."""
        flat = tuple(count for pair in pairs for count in pair)
        return self.op("pad", padding=flat, value=value) if any(flat) else self

    def broadcast(self, *dims: int) -> Self:
        factors = [want // have for want, have in zip(dims, self.shape, strict=True)]
        return self if self.shape == dims else self.op("broadcast", broadcast_dimensions=factors)


def concat(values: Sequence[Value], dim: int) -> Value:
    """Concatenates the values along a dimension."""
    first = values[0]
    return first if len(values) == 1 else Value(first.b, first.b.value("ttir.concat", [[value.ssa for value in values]], {"dim": dim}))


def full(b: Builder, dims: Sequence[int], value: float, of: str) -> Value:
    return Value(b, b.value("ttir.full", [], {"shape": tuple(dims), "fill_value": value}, of=of))


def constant(b: Builder, values: np.ndarray[Any, Any]) -> Value:
    return Value(b, b.value("ttir.constant", [], {"value": values}))


def count(b: Builder, end: int, dim: int, rank: int, of: str = "i32") -> Value:
    """0, 1, 2 ... along `dim` of a tensor whose other dimensions have size 1."""
    dims = tuple(end if i == dim else 1 for i in range(rank))
    return Value(b, b.value("ttir.arange", [], {"start": 0, "end": end, "step": 1, "arange_dimension": dim}, [tensor(dims, of)]))
