"""`Tensor` values and the `Emitter` for rules: the vocabulary of all front ends on torch's dtypes and tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import fx
from xdsl.ir import Attribute, SSAValue

from alchemist.frontends import vocabulary
from alchemist.frontends.torch.dtypes import element_of, to_numpy
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.node_locations import Sources
from alchemist.frontends.vocabulary import FOLD_LIMIT, INLINE_LIMIT, LiftedConstant, Scalar, Shape, Value, Vocabulary
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.constant_names import UNKNOWN, name_of_values
from alchemist.ir.location import SourceInfo

SHAPE_ONLY = ("zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty")
"""Ops that make a tensor of the shape of another, whose values they do not read."""


@lru_cache(maxsize=4096)
def tensor_type(shape: Shape, dtype: torch.dtype) -> Attribute:
    return tensor(shape, element_of(dtype))


class Tensor(Value[torch.dtype]):
    """A value while lowering: shape, torch dtype, and its SSA value or its constant (or both, for integer buffers).

    `remake` makes the SSA value of a constant that derives from buffers; without it a constant becomes ops or an argument.
    `origin` is the node that a constant comes from.
    """

    __slots__ = ("_emitter", "origin", "remake")

    def __init__(
        self,
        emitter: Emitter,
        shape: Iterable[int],
        dtype: torch.dtype,
        ssa: SSAValue | None = None,
        const: torch.Tensor | None = None,
        remake: Callable[[], SSAValue] | None = None,
    ) -> None:
        self._emitter = emitter
        self.shape: Shape = tuple(shape)
        self.dtype = dtype
        self._ssa = ssa
        self.const: torch.Tensor | None = const
        self.remake = remake
        self.origin: tuple[fx.Node, SourceInfo | None] | None = None

    @property
    def ssa(self) -> SSAValue:
        if self._ssa is None:
            self._ssa = self._emitter.materialise(self)
        return self._ssa

    @property
    def uniform(self) -> Scalar | None:
        """The one value of a constant whose elements are all equal, else None."""
        if self.const is None or self.const.numel() == 0:
            return None
        first = self.const[(0,) * self.rank]
        return first.item() if bool((self.const == first).all()) else None


class Emitter(Vocabulary[Tensor, torch.dtype]):
    """A function under construction, the FX node being lowered (`node`) and the origin of new ops (`info`)."""

    bool_dtype = torch.bool
    index_dtype = torch.int64

    def __init__(self, sources: Sources, inputs: Sequence[tuple[str, Shape, torch.dtype, str, SourceInfo | None]]) -> None:
        builder = Builder.module(
            "forward",
            [(name, tensor_type(shape, dtype), kind, source) for name, shape, dtype, kind, source in inputs],
        )
        super().__init__(builder, (name for name, *_ in inputs))
        self.sources = sources
        self.stored: dict[SSAValue, torch.Tensor] = {}  # values of arguments that no call changes
        self.node: fx.Node = None  # being lowered; inside a decomposition a node of the traced graph
        self.outer: fx.Node | None = None  # the node of the exported graph that it belongs to

    def location(self) -> str:
        """`file:line` of the current node, or its name."""
        if self.info is not None and self.info.frames:
            return f"{self.info.frames[-1].file}:{self.info.frames[-1].line}"
        return str(self.node) if self.node is not None else ""

    # --- torch's values -------------------------------------------------------------------------------------------------

    def value(self, shape: Shape, dtype: torch.dtype, ssa: SSAValue) -> Tensor:
        return Tensor(self, shape, dtype, ssa)

    def array(self, values: np.ndarray[Any, Any], dtype: torch.dtype) -> Tensor:
        return self.constant(torch.from_numpy(np.ascontiguousarray(values)).reshape(values.shape).to(dtype))

    def element(self, dtype: torch.dtype) -> str:
        return element_of(dtype)

    def is_float(self, dtype: torch.dtype) -> bool:
        return bool(dtype.is_floating_point)

    def constant_name(self, x: Tensor) -> str:
        """The variable that the source assigns the constant to. A step on the way to that is named after its values: a `causal_mask`."""
        name, node = self.sources.variable(self.outer), self.outer
        if node is None or (self._is_assigned(node, x) and not (self.info is not None and self.info.is_gradient)):
            return name
        what = name_of_values(self.as_numpy(x.const))
        scope, dot, _ = name.rpartition(".")
        return name if what == UNKNOWN else f"{scope}{dot}{what}"

    @staticmethod
    def _is_assigned(node: fx.Node, x: Tensor) -> bool:
        """Whether the constant is the node's result, and no other node of the same statement reads that."""
        made, place = node.meta.get("val"), node.meta.get("stack_trace")
        known = isinstance(made, torch.Tensor) and all(isinstance(extent, int) for extent in made.shape)  # not what depends on values
        is_result = known and (tuple(made.shape), made.dtype) == (x.shape, x.dtype)
        return is_result and not any(user.meta.get("stack_trace") == place for user in node.users)

    def as_numpy(self, const: torch.Tensor) -> np.ndarray[Any, Any]:
        return to_numpy(const)

    def _cast_const(self, const: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return const.to(dtype)

    def _broadcast_const(self, const: torch.Tensor, shape: Shape) -> torch.Tensor:
        return const.expand(shape)

    def _stays_constant(self, x: Tensor) -> bool:
        return x.const is not None and not x.has_ssa and x.remake is None

    # --- constants ------------------------------------------------------------------------------------------------------

    def constant(self, value: torch.Tensor) -> Tensor:
        """A constant; it becomes an op or an argument when something needs it as a value."""
        tensor = Tensor(self, value.shape, value.dtype, const=value.detach())
        if self.outer is not None:
            tensor.origin = (self.outer, self.info)
        return tensor

    def _lift(self, x: Tensor) -> SSAValue:
        argument = super()._lift(x)
        self.stored[argument] = x.const
        return argument

    def _derived(self, x: Tensor, values: torch.Tensor) -> Tensor:
        derived = self.constant(values)
        derived.origin = x.origin or derived.origin
        return derived

    def materialise(self, t: Tensor) -> SSAValue:
        """SSA value of a constant: `full`, `arange`, a small `constant`, ops on the buffer it derives from, or an argument."""
        outer = self.outer, self.info
        if t.origin is not None:
            self.outer, self.info = t.origin
        try:
            return self.materialised(t, t.remake)
        finally:
            self.outer, self.info = outer

    # --- the node -------------------------------------------------------------------------------------------------------

    @property
    def out(self) -> Any:
        """The node's value(s) as fake tensors."""
        return self.node.meta["val"]

    @property
    def out_shape(self) -> Shape:
        return tuple(self.out.shape)

    @property
    def out_dtype(self) -> torch.dtype:
        dtype: torch.dtype = self.out.dtype
        return dtype

    def full(self, shape: Iterable[int], value: Scalar, dtype: torch.dtype) -> Tensor:
        if dtype.is_complex:
            raise Unsupported("complex numbers")
        return super().full(shape, value, dtype)


def progression(value: torch.Tensor) -> tuple[int, int, int] | None:
    """(dim, start, step) when the values count up or down along one dimension and repeat along all others."""
    return None if value.numel() > FOLD_LIMIT else vocabulary.progression(to_numpy(value))


__all__ = ["FOLD_LIMIT", "INLINE_LIMIT", "Emitter", "LiftedConstant", "Scalar", "Shape", "Tensor", "progression", "tensor_type"]
