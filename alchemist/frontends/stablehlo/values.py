"""Values during conversion: constants known at compile time, and broadcasts that are not materialized."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from alchemist.errors import AlchemistError
from alchemist.ir import access
from alchemist.ir.attributes import numpy_dtype
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.infer import BOOLEAN, element_giver
from alchemist.ir.location import SourceInfo
from alchemist.ir.rules.table import broadcast_shapes
from alchemist.ops import TTIR_OPS

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

FOLD_LIMIT = 1 << 24
"""Largest constant, in elements, that is computed during conversion."""


class Unsupported(AlchemistError):
    """This op, as used here, has no conversion; collected by the driver into one UnsupportedOpError."""


class Val:
    """A StableHLO value of logical `shape` and element name `of`.

    Either `const` (a numpy array) or `ssa` holds it in *compact* form: same rank, size 1 where the value is broadcast.
    """

    __slots__ = ("const", "of", "shape", "ssa")

    def __init__(self, shape: Shape, of: str, ssa: SSAValue | None = None, const: Array | None = None) -> None:
        self.shape = shape
        self.of = of
        self.ssa = ssa
        self.const = const

    @property
    def compact(self) -> Shape:
        if self.const is not None:
            return tuple(self.const.shape)
        assert self.ssa is not None
        return access.shape(self.ssa)

    @property
    def is_full(self) -> bool:
        """Whether nothing is broadcast."""
        return self.compact == self.shape

    def scalar(self) -> Any:
        """The one value of a constant splat, else None."""
        if self.const is None or self.const.size != 1:
            return None
        return self.const.reshape(-1)[0].item()


def fold(function: Callable[..., Any], vals: Sequence[Val], shape: Shape, of: str) -> Val | None:
    """The constant result, None unless all operands are constant and small enough."""
    constants = [val.const for val in vals if val.const is not None]
    compact = broadcast_shapes([tuple(array.shape) for array in constants])
    if len(constants) < len(vals) or compact is None or math.prod(compact) > FOLD_LIMIT:
        return None
    wide = [array.astype(np.float32) if array.dtype.kind not in "biufc" else array for array in constants]
    with np.errstate(all="ignore"):
        result = np.asarray(function(*wide))
    if of.startswith(("f", "bf")):
        result = result.astype(np.float32) if of != "f64" else result
    return Val(shape, of, const=result.astype(numpy_dtype(of)).reshape(compact))


def shrink(array: Array) -> Array:
    """Compact form of a constant: dimensions along which all values agree get size 1."""
    for axis in range(array.ndim):
        if array.shape[axis] > 1:
            first = array.take([0], axis)
            if array.strides[axis] == 0 or (array == first).all():
                array = first
    return array


class Emitter:
    """Makes TTIR ops from Vals. `source` is the origin of what is emitted now."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder

    @property
    def source(self) -> Any:
        return self.b.source

    @source.setter
    def source(self, info: SourceInfo | None) -> None:
        self.b.source = info

    # --- constants ---

    def const(self, array: Array, shape: Shape, of: str) -> Val:
        return Val(shape, of, const=np.asarray(array, dtype=numpy_dtype(of)))

    def scalar(self, value: Any, shape: Shape, of: str) -> Val:
        return self.const(np.full((1,) * len(shape), value), shape, of)

    # --- materialising ---

    def small(self, val: Val) -> SSAValue:
        """The compact value as SSA."""
        if val.ssa is not None:
            return val.ssa
        assert val.const is not None
        return self._constant(val.const, val.of)

    def full(self, val: Val) -> SSAValue:
        """The value in its logical shape as SSA."""
        if val.is_full:
            return self.small(val)
        if val.const is not None:
            return self._constant(np.broadcast_to(val.const, val.shape), val.of)
        factors = [s // c if c else 1 for s, c in zip(val.shape, val.compact, strict=True)]
        return self.emit("ttir.broadcast", [self.small(val)], {"broadcast_dimensions": factors})

    def _constant(self, array: Array, of: str) -> SSAValue:
        flat = array[(slice(0, 1),) * array.ndim] if array.size else array
        splat = array.size == 1 or (array.size > 0 and (not any(array.strides) or bool((array == flat).all())))
        if splat:
            value = flat.reshape(-1)[0].item()
            if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31):
                return self.emit("ttir.full", [], {"shape": array.shape, "fill_value": value}, of)
            return self.emit("ttir.constant", [], {"value": access.splat(value, array.shape, of)}, of)
        return self.emit("ttir.constant", [], {"value": access.elements(np.ascontiguousarray(array), of)}, of)

    # --- emitting ---

    def emit(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None, of: str = "") -> SSAValue:
        """of: element type of the result, where the op does not say it."""
        return self.b.value(name, operands, attributes, of=of)

    def make(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None, of: str = "") -> Val:
        """An op whose result is not broadcast."""
        result = self.emit(name, operands, attributes, of)
        return Val(access.shape(result), access.element_type(result), result)

    def op(self, name: str, *operands: Val | float, of: str = "") -> Val:
        """A broadcasting element-wise op on the compact forms, computed now by its reference where all operands are known.

        A number has the element type of the tensors beside it. of: element type of the result, where the op does not say it.
        """
        place = element_giver(f"ttir.{name}")
        template = next(operand for operand in (*operands[place:], *operands) if isinstance(operand, Val))
        vals = [operand if isinstance(operand, Val) else self.scalar(operand, template.shape, template.of) for operand in operands]
        shape = tuple(np.broadcast_shapes(*(val.shape for val in vals)))
        vals = [val if len(val.shape) == len(shape) else self.reshape(val, (1,) * (len(shape) - len(val.shape)) + val.shape) for val in vals]
        of = of or ("i1" if f"ttir.{name}" in BOOLEAN else vals[place].of)
        reference = TTIR_OPS[f"ttir.{name}"].reference
        folded = fold(lambda *arrays: reference(arrays, {}, [shape])[0], vals, shape, of) if reference is not None else None
        return folded or Val(shape, of, self.emit(f"ttir.{name}", [self.small(val) for val in vals], of=of))

    # --- shape changes that work on the compact form ---

    def reshape_ssa(self, value: SSAValue, shape: Shape) -> SSAValue:
        """Reshape, keeping reduced dimensions in the reduction that made the value where that is what is asked."""
        if access.shape(value) == shape:
            return value
        op = getattr(value, "op", None)
        if op is not None and has_trait(op, "over_dims") and not access.attr(op, "keep_dim"):
            source_dims = access.shape(op.operands[0])
            dims = access.attr(op, "dim_arg") or tuple(range(len(source_dims)))
            if shape == tuple(1 if i in dims else n for i, n in enumerate(source_dims)):
                return self.emit(op.name, [op.operands[0]], {"dim_arg": dims, "keep_dim": True}, access.element_type(value))
        if op is not None and op.name == "ttir.reshape":
            return self.reshape_ssa(op.operands[0], shape)
        return self.emit("ttir.reshape", [value], {"shape": shape})

    def reshape(self, val: Val, shape: Shape) -> Val:
        """Logical reshape; broadcast dimensions stay virtual where their group of dimensions allows."""
        compact = regroup(val.shape, val.compact, shape)
        if compact is None:
            val = Val(val.shape, val.of, self.full(val)) if val.const is None else self.const(np.broadcast_to(val.const, val.shape), val.shape, val.of)
            compact = shape
        if val.const is not None:
            return Val(shape, val.of, const=val.const.reshape(compact))
        return Val(shape, val.of, self.reshape_ssa(self.small(val), compact))

    def permute(self, val: Val, order: Sequence[int]) -> Val:
        shape = tuple(val.shape[axis] for axis in order)
        if list(order) == sorted(order):
            return val
        if val.const is not None:
            return Val(shape, val.of, const=val.const.transpose(order))
        compact = tuple(val.compact[axis] for axis in order)
        small = self.small(val)
        permuted_axes = [axis for axis in order if val.compact[axis] != 1]
        if permuted_axes == sorted(permuted_axes):
            return Val(shape, val.of, self.reshape_ssa(small, compact))
        return Val(shape, val.of, self.emit("ttir.permute", [small], {"permutation": list(order)}))

    def broadcast(self, val: Val, dims: Sequence[int], shape: Shape) -> Val:
        """stablehlo.broadcast_in_dim: operand dimension i is result dimension dims[i]."""
        if list(dims) != sorted(dims):
            order = sorted(range(len(dims)), key=lambda i: dims[i])
            val, dims = self.permute(val, order), sorted(dims)
        compact = [1] * len(shape)
        for source, target in zip(val.compact, dims, strict=True):
            compact[target] = source
        if val.const is not None:
            return Val(shape, val.of, const=val.const.reshape(compact))
        return Val(shape, val.of, self.reshape_ssa(self.small(val), tuple(compact)))

    def typecast(self, val: Val, of: str) -> Val:
        if of == val.of:
            return val
        if val.const is not None:
            with np.errstate(all="ignore"):
                return Val(val.shape, of, const=val.const.astype(numpy_dtype(of)))
        return Val(val.shape, of, self.emit("ttir.typecast", [self.small(val)], of=of))


def regroup(shape: Shape, compact: Shape, target: Shape) -> Shape | None:
    """Compact form of a reshape to `target`, None if a broadcast dimension would merge with a real one."""
    if compact == shape:
        return target
    if 0 in shape:
        return None
    out: list[int] = []
    i = j = 0
    while i < len(shape) or j < len(target):
        start_i, start_j = i, j
        left = right = 1
        if i < len(shape):
            left, i = shape[i], i + 1
        if j < len(target):
            right, j = target[j], j + 1
        while left != right:
            if left < right:
                left, i = left * shape[i], i + 1
            else:
                right, j = right * target[j], j + 1
        sources, kept = shape[start_i:i], compact[start_i:i]
        if sources == kept:
            out += target[start_j:j]
        elif math.prod(kept) == 1:
            out += [1] * (j - start_j)
        else:
            return None
    return tuple(out)
