"""`Tensor` values and the `Emitter` for rules: the vocabulary of all front ends on numpy dtypes and arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.frontends.base import RECURRENT_CLASSES
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.vocabulary import Scalar, Shape, Value, Vocabulary
from alchemist.ir.attributes import element_name_of, tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import Scope, set_source

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]

BFLOAT16: DType = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype(np.float32), np.dtype(np.float16), BFLOAT16, np.dtype(np.float64))
DTYPES = (*FLOATS, *(np.dtype(name) for name in ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "bool")))
MOST_ELEMENTS = 1 << 34
"""More elements than fit in a card's memory: the file is damaged or a dimension is wrong."""


class Tensor(Value[DType]):
    """A value while lowering: shape, numpy dtype, and its SSA value or its constant (or both, for small weights).

    name: of the value in the model. weight: an initializer that stays an argument of the program.
    """

    __slots__ = ("_emitter", "name", "weight")

    def __init__(
        self, emitter: Emitter, shape: Iterable[int], dtype: DType, ssa: SSAValue | None = None, const: Array | None = None,
        name: str = "", weight: bool = False,
    ) -> None:  # fmt: skip
        self._emitter = emitter
        self.shape: Shape = tuple(int(size) for size in shape)
        self.dtype = dtype
        self._ssa = ssa
        self.const: Array | None = const
        self.name = name
        self.weight = weight

    @property
    def ssa(self) -> SSAValue:
        if self._ssa is None:
            self._emitter.constant_label = self.name
            self._ssa = self._emitter.materialised(self)
        return self._ssa

    @property
    def uniform(self) -> Scalar | None:
        """The one value of a constant or weight whose elements are all equal, else None."""
        if self.const is None or self.const.size == 0:
            return None
        first = self.const[(0,) * self.rank]
        return first.item() if bool((self.const == first).all()) else None

    @property
    def known(self) -> Array | None:
        """The values where the lowering may compute with them: not those of weights."""
        return None if self.weight else self.const


class Emitter(Vocabulary[Tensor, DType]):
    """A function under construction and the origin of new ops (`info`)."""

    bool_dtype = np.dtype(np.bool_)
    index_dtype = np.dtype(np.int64)

    def __init__(self, builder: Builder, names: Iterable[str]) -> None:
        super().__init__(builder, names)
        self.constant_label = ""
        self.place = ""
        self._numbers: dict[str, int] = {}

    def location(self) -> str:
        """`file:line` where the exporter recorded it, else the node's name."""
        if self.info is not None and self.info.frames:
            return f"{self.info.frames[-1].file}:{self.info.frames[-1].line}"
        return self.place

    def constant_name(self, x: Tensor) -> str:
        return self.constant_label

    def named(self, x: Tensor, name: str) -> Tensor:
        """Names the value's op after its role in an ONNX node of several ops: `GRU.reset`. A value known at export has no op."""
        owner = x.ssa.owner if x.has_ssa else None
        if isinstance(owner, Operation) and self.info is not None:
            set_source(owner, replace(self.info, name=f"{self.info.op.rpartition('.')[2]}.{name}"))
        return x

    @contextmanager
    def within(self, cls: str, name: str) -> Iterator[None]:
        """Ops within belong to a call of a function of their own, which a part of the node stands for. cls: one of `recurrent_cells`."""
        outer = self.info
        if outer is not None and outer.scopes:
            path = f"{outer.scopes[-1].path}.{name}".lstrip(".")
            self.info = replace(outer, scopes=(*outer.scopes, Scope(path, f"{RECURRENT_CLASSES}{cls}")))
        try:
            yield
        finally:
            self.info = outer

    def next_number(self, of: str = "") -> int:
        """Counts from 0 on. of: what is counted."""
        self._numbers[of] = self._numbers.get(of, -1) + 1
        return self._numbers[of]

    def value(self, shape: Shape, dtype: DType, ssa: SSAValue) -> Tensor:
        self.type_of(shape, dtype)  # refuses what no card holds
        return Tensor(self, shape, dtype, ssa)

    def constant(self, values: Array, name: str = "") -> Tensor:
        values = np.asarray(values)
        return Tensor(self, values.shape, values.dtype, const=values, name=name)

    def array(self, values: Array, dtype: DType) -> Tensor:
        return self.constant(values.astype(dtype))

    def element(self, dtype: DType) -> str:
        return element_name_of(dtype)

    def type_of(self, shape: Shape, dtype: DType) -> Attribute:
        """Raises: Unsupported for strings, 4- and 8-bit floats, complex numbers, and for values larger than any card's memory."""
        if dtype not in DTYPES:
            raise Unsupported(f"values of type {dtype.name}")
        if math.prod(shape) > MOST_ELEMENTS:
            raise Unsupported(f"a value of {math.prod(shape):.1e} elements")
        return tensor(shape, element_name_of(dtype))

    def is_float(self, dtype: DType) -> bool:
        return dtype in FLOATS

    def as_numpy(self, const: Array) -> Array:
        return const

    def _derived(self, x: Tensor, values: Array) -> Tensor:
        return self.constant(values, x.name)

    def _cast_const(self, const: Array, dtype: DType) -> Array:
        with np.errstate(all="ignore"):
            return const.astype(dtype)

    def _broadcast_const(self, const: Array, shape: Shape) -> Array:
        return np.broadcast_to(const, shape)

    def unary_of(self, name: str, x: Tensor, others: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
        """An op with the shape and dtype of its first operand."""
        return self.emit(name, [x, *others], attributes)

    def known(self, x: Tensor | None, label: str) -> Array | None:
        """The values of an operand that must be known at export; None if it is omitted. Raises: Unsupported."""
        if x is None:
            return None
        if x.const is None:
            raise Unsupported(f"{label} computed from the model's inputs: it has to be known at export")
        return x.const

    def integers(self, x: Tensor | None, label: str) -> list[int] | None:
        """The same as a list of integers."""
        values = self.known(x, label)
        return None if values is None else [int(value) for value in values.reshape(-1)]
