"""The vocabulary of lowering rules for all frameworks: creates TTIR ops from shapes, dtypes and values that may be known while lowering."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.errors import InternalError
from alchemist.frontends.base import STATES, initial_name
from alchemist.ir.access import shape as shape_of
from alchemist.ir.attribute_classes import enum
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import erase
from alchemist.ir.infer import BOOLEAN, element_giver
from alchemist.ir.location import SourceInfo, sources_of, to_location
from alchemist.ops.eltwise_binary import NEUTRAL

Shape = tuple[int, ...]
Scalar = bool | int | float
D = TypeVar("D")

FOLD_LIMIT = 1 << 22
"""Largest number of elements of a constant that is computed while walking."""
LARGE = 1 << 22
"""From this many elements on, permutes of more than four dimensions leave out those of size 1: as one of the last two they
would be padded to 32."""
INLINE_LIMIT = 16
"""Largest number of elements of a constant that stays in the graph (`ttir.constant`) instead of becoming an argument."""


class Value(Generic[D]):
    """A tensor while lowering: shape, the framework's dtype, and its SSA value or its constant (or both)."""

    __slots__ = ("_ssa", "const", "dtype", "shape")
    shape: Shape
    dtype: D
    const: Any
    _ssa: SSAValue | None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def ssa(self) -> SSAValue:
        raise NotImplementedError

    @property
    def has_ssa(self) -> bool:
        return self._ssa is not None

    @property
    def uniform(self) -> Scalar | None:
        """The one value of a constant whose elements are all equal, else None."""
        raise NotImplementedError


T = TypeVar("T", bound=Value[Any])


class LiftedConstant:
    """A constant that becomes an argument of the function. kind: of argument; nothing is computed with `default` before the first call."""

    __slots__ = ("kind", "name", "value")

    def __init__(self, name: str, value: Any, kind: str = "constant") -> None:
        self.name = name
        self.value = value
        self.kind = kind


class Vocabulary(Generic[T, D]):
    """A function under construction and the origin of new ops (`info`). A framework's emitter says what its dtypes and constants are."""

    bool_dtype: D
    index_dtype: D
    """Of positions: 64-bit integers."""

    def __init__(self, builder: Builder, names: Iterable[str]) -> None:
        self.builder = builder
        self.lifted: list[LiftedConstant] = []
        self.info: SourceInfo | None = None
        self.new_values: list[SSAValue] = []
        self.negative_inputs: set[SSAValue] = set()  # integer inputs with a negative value in the exported call
        self._shared: dict[tuple[SSAValue, str], T] = {}
        self._names = set(names)
        self._starts: list[tuple[tuple[str, int], LiftedConstant, T]] = []  # with the layer and its variable

    # --- hooks of a framework -------------------------------------------------------------------------------------------

    def value(self, shape: Shape, dtype: D, ssa: SSAValue) -> T:
        """A computed value."""
        raise NotImplementedError

    def array(self, values: np.ndarray[Any, Any], dtype: D) -> T:
        """A constant of the dtype."""
        raise NotImplementedError

    def element(self, dtype: D) -> str:
        """Element type of TTIR tensors of the dtype."""
        raise NotImplementedError

    def type_of(self, shape: Shape, dtype: D) -> Attribute:
        return tensor(shape, self.element(dtype))

    def is_float(self, dtype: D) -> bool:
        raise NotImplementedError

    def location(self) -> str:
        """The model's line that is being lowered."""
        raise NotImplementedError

    def constant_name(self, x: T) -> str:
        """The name for a constant of the current origin."""
        raise NotImplementedError

    def as_numpy(self, const: Any) -> np.ndarray[Any, Any]:
        """A constant's values."""
        raise NotImplementedError

    def _derived(self, x: T, values: Any) -> T:
        """A constant computed from the constant `x`."""
        raise NotImplementedError

    def _cast_const(self, const: Any, dtype: D) -> Any:
        raise NotImplementedError

    def _broadcast_const(self, const: Any, shape: Shape) -> Any:
        raise NotImplementedError

    def _stays_constant(self, x: T) -> bool:
        """Whether moving the elements of `x` folds to a constant, instead of an op on a weight."""
        return x.const is not None and not x.has_ssa

    # --- constants ------------------------------------------------------------------------------------------------------

    def materialised(self, x: T, otherwise: Callable[[], SSAValue] | None = None) -> SSAValue:
        """SSA value of a constant: `full`, `arange`, a small `constant`, the result of `otherwise`, or an argument."""
        if x.const is None:
            raise InternalError("value without definition", location=self.location())
        uniform = x.uniform
        if uniform is not None:
            return self.full(x.shape, uniform, x.dtype).ssa
        count = math.prod(x.shape)
        steps = progression(self.as_numpy(x.const)) if count <= FOLD_LIMIT else None
        if steps is not None:
            return self._arange(x, *steps).ssa
        if count <= INLINE_LIMIT:
            return self.emit("constant", [], {"value": self.as_numpy(x.const)}, dtype=x.dtype).ssa
        if otherwise is not None:
            return otherwise()
        return self._lift(x)

    def _arange(self, x: T, dim: int, start: int, step: int) -> T:
        count = x.shape[dim]
        dtype = self.index_dtype if self.is_float(x.dtype) else x.dtype
        attributes = {"start": start, "end": start + step * count, "step": step, "arange_dimension": 0}
        line = self.cast(self.emit("arange", [], attributes, dtype=dtype), x.dtype)
        lined = self.reshape(line, [count if i == dim else 1 for i in range(x.rank)])
        return self.expand(lined, x.shape)

    def _lift(self, x: T) -> SSAValue:
        """A new argument of kind constant, named after its origin."""
        base_name = self.constant_name(x) or "constant"
        name, count = base_name, 1
        while name in self._names:
            count += 1
            name = f"{base_name}_{count}"
        return self._add_argument(LiftedConstant(name, x.const), x)

    def _add_argument(self, constant: LiftedConstant, x: T) -> SSAValue:
        self._names.add(constant.name)
        self.lifted.append(constant)
        block = self.builder.block
        arg = block.insert_arg(self.type_of(x.shape, x.dtype), len(block.args))
        if self.info is not None:
            arg.location = to_location([self.info])
        return arg

    def first_of_loop(self, x: T, place: int, of: str = "") -> T:
        """The initial value of state `place`. A constant becomes an argument, so that all iterations have the same ops.

        of: the layer, where several have steps in one iteration: each has a variable of its own.
        """
        if x.const is None or x.has_ssa:
            return x
        values = np.broadcast_to(self.as_numpy(x.const), x.shape)
        for variable, constant, argument in self._starts:
            if variable == (of, place) and argument.dtype == x.dtype and argument.shape == x.shape and np.array_equal(self.as_numpy(constant.value), values):
                return argument
        whole = self.array(values.astype(np.float64) if self.is_float(x.dtype) else np.ascontiguousarray(values), x.dtype)
        constant = LiftedConstant(initial_name(len(self._starts), self._names, STATES[place]), whole.const, "default")
        start = self.value(x.shape, x.dtype, self._add_argument(constant, whole))
        self._starts.append(((of, place), constant, start))
        return start

    # --- vocabulary of the rules ----------------------------------------------------------------------------------------

    def emit_many(
        self,
        name: str,
        operands: Sequence[T | Sequence[T] | None],
        attributes: Mapping[str, Any] | None,
        results: Sequence[tuple[Shape, D]],
    ) -> list[T]:
        op = self.builder.make(f"ttir.{name}", _ssa(operands), attributes, [self.type_of(shape, dtype) for shape, dtype in results], self.info)
        self.new_values.extend(op.results)
        return [self.value(shape, dtype, ssa) for (shape, dtype), ssa in zip(results, op.results, strict=True)]

    def emit(
        self,
        name: str,
        operands: Sequence[T | Sequence[T] | None],
        attributes: Mapping[str, Any] | None = None,
        *,
        shape: Iterable[int] | None = None,
        dtype: D | None = None,
    ) -> T:
        """One op with one result; shape and dtype are inferred from operands and attributes by default."""
        if dtype is None:
            giver = operands[element_giver(f"ttir.{name}")]
            if giver is None:
                raise InternalError("no operand gives the dtype", op=name)
            dtype = self.bool_dtype if f"ttir.{name}" in BOOLEAN else giver.dtype if isinstance(giver, Value) else giver[0].dtype
        types = None if shape is None else [self.type_of(tuple(shape), dtype)]
        op = self.builder.make(f"ttir.{name}", _ssa(operands), attributes, types, self.info, of=self.element(dtype))
        self.new_values.extend(op.results)
        return self.value(shape_of(op.results[0]), dtype, op.results[0])

    def unary(self, name: str, x: T, attributes: Mapping[str, Any] | None = None) -> T:
        return self.emit(name, [x], attributes, dtype=x.dtype)

    def binary(self, name: str, a: T, b: T | Scalar, dtype: D | None = None) -> T:
        """An elementwise op with broadcasting; a number takes the tensor's dtype. dtype: of the result, default `a`'s."""
        other = b if isinstance(b, Value) else self.full((1,) * a.rank, b, a.dtype)
        return self.emit(name, [a, other], dtype=a.dtype if dtype is None else dtype)

    def op(self, name: str, *operands: T | Scalar) -> T:
        """An elementwise op with broadcasting; a number has the dtype of the tensors beside it."""
        place = element_giver(f"ttir.{name}")
        template = next(operand for operand in (*operands[place:], *operands) if isinstance(operand, Value))
        return self.emit(name, [operand if isinstance(operand, Value) else self.full((1,) * template.rank, operand, template.dtype) for operand in operands])

    def full(self, shape: Iterable[int], value: Scalar, dtype: D) -> T:
        shape = tuple(shape)
        if not self.is_float(dtype) and not -(1 << 31) <= int(value) < 1 << 31:  # the attribute has 32 bits
            ones = (1,) * len(shape)
            values = self.as_numpy(self.array(np.full(ones, value), dtype).const)
            return self.expand(self.emit("constant", [], {"value": values}, dtype=dtype), shape)
        fill = float(value) if self.is_float(dtype) else int(value)
        return self.emit("full", [], {"shape": shape, "fill_value": fill}, dtype=dtype)

    def cast(self, x: T, dtype: D | None) -> T:
        if dtype is None or x.dtype == dtype:
            return x
        if x.const is not None and not x.has_ssa:
            return self._derived(x, self._cast_const(x.const, dtype))
        if dtype == self.bool_dtype:
            return self.binary("ne", x, 0, dtype)
        return self.emit("typecast", [x], dtype=dtype)

    def reshape(self, x: T, shape: Iterable[int]) -> T:
        shape = tuple(int(part) for part in shape)
        if shape == x.shape:
            return x
        if self._stays_constant(x):
            return self._derived(x, x.const.reshape(shape))
        return self.emit("reshape", [x], {"shape": shape})

    def permute(self, x: T, dims: Sequence[int]) -> T:
        dims = [dim % x.rank for dim in dims]
        if dims == list(range(x.rank)):
            return x
        kept_dims = [dim for dim in dims if x.shape[dim] != 1]
        if x.rank > 4 and len(kept_dims) < x.rank and math.prod(x.shape) >= LARGE:
            flat = self.reshape(x, [size for size in x.shape if size != 1])
            shape = [x.shape[dim] for dim in dims]
            return self.reshape(self.permute(flat, [sorted(kept_dims).index(dim) for dim in kept_dims]), shape)
        return self.emit("permute", [x], {"permutation": dims})

    def slice(self, x: T, dim: int, start: int, end: int, step: int = 1) -> T:
        begins, ends, steps = [0] * x.rank, list(x.shape), [1] * x.rank
        begins[dim], ends[dim], steps[dim] = start, end, step
        shape = list(x.shape)
        shape[dim] = max(0, -(-(end - start) // step))
        if tuple(shape) == x.shape:
            return x
        if x.uniform is not None and not x.has_ssa:
            return self._derived(x, x.const[tuple(slice(0, size) for size in shape)])
        return self.emit("slice_static", [x], {"begins": begins, "ends": ends, "step": steps})

    def expand(self, x: T, shape: Iterable[int]) -> T:
        """Broadcast to `shape`; missing leading dimensions are added."""
        shape = tuple(int(part) for part in shape)
        if shape == x.shape:
            return x
        if x.uniform is not None and not x.has_ssa:
            return self._derived(x, self._broadcast_const(x.const, shape))
        x = self.reshape(x, (1,) * (len(shape) - x.rank) + x.shape)
        if shape == x.shape:
            return x
        factors = [want // have if have else 1 for want, have in zip(shape, x.shape, strict=True)]
        return self.emit("broadcast", [x], {"broadcast_dimensions": factors})

    def concat(self, parts: Sequence[T], dim: int) -> T:
        if len(parts) == 1:
            return parts[0]
        return self.emit("concat", [list(parts)], {"dim": dim})

    def where(self, condition: T, a: T, b: T) -> T:
        return self.emit("where", [condition, a, b])

    def reduce(self, name: str, x: T, dims: Sequence[int] | None, keep: bool, dtype: D | None = None) -> T:
        axes = sorted({dim % x.rank for dim in dims}) if dims else list(range(x.rank))
        if x.rank == 0:
            return self.cast(x, dtype)
        return self.emit(name, [x], {"keep_dim": keep, "dim_arg": axes}, dtype=x.dtype if dtype is None else dtype)

    def before_broadcast(self, x: T) -> T:
        """The operand of the `ttir.broadcast` that computes `x`, or `x` itself."""
        owner = x.ssa.owner
        if not isinstance(owner, Operation) or owner.name != "ttir.broadcast":
            return x
        return self.value(shape_of(owner.operands[0]), x.dtype, owner.operands[0])

    def shared(self, x: T, label: str, make: Callable[[], T]) -> T:
        """A value derived from `x` alone, created once, right after `x` and with its origin: all layers share it."""
        key = (x.ssa, label)
        cached = self._shared.get(key)
        if cached is None:
            outer = self.builder, self.info
            owner = x.ssa.owner
            if isinstance(owner, Operation):
                self.builder = Builder.after(owner)
                self.info = next(iter(sources_of(owner)), self.info)
            try:
                cached = self._shared[key] = make()
            finally:
                self.builder, self.info = outer
        return cached

    # --- finishing ------------------------------------------------------------------------------------------------------

    def finish(self, values: Sequence[T], names: Sequence[str], keep: set[int]) -> tuple[ModuleOp, list[int]]:
        """Closes the function; drops dead ops and unused arguments except those at `keep`. Returns the indices of kept arguments."""
        builder = self.builder
        block = builder.block
        results = [value.ssa for value in values]
        builder.ret(results, list(names))
        for op in reversed(list(block.ops)):
            if op.results and not any(result.uses for result in op.results):
                erase(op)
        func = builder.func
        if func is None:
            raise InternalError("no function")
        old = func.properties.get("arg_attrs")
        described = list(old.data) if isinstance(old, ArrayAttr) else []
        for constant in self.lifted:
            described.append(
                DictionaryAttr(
                    {
                        "ttcore.argument_type": enum("ttcore.argument_type", constant.kind),
                        "ttir.name": StringAttr(constant.name),
                    }
                )
            )
        kept_arguments = [i for i, arg in enumerate(block.args) if i in keep or arg.uses]
        dead = [arg for i, arg in enumerate(block.args) if i not in keep and not arg.uses]
        for arg in dead:
            block.erase_arg(arg)
        if kept_arguments:
            func.properties["arg_attrs"] = ArrayAttr([described[i] for i in kept_arguments])
        else:
            func.properties.pop("arg_attrs", None)
        func.update_function_type()  # type: ignore[no-untyped-call]
        return builder.module_op, kept_arguments


def unchanged(name: str, a: T | Scalar, b: T | Scalar, shape: Shape, dtype: Any) -> T | None:
    """The operand that an element-wise op leaves as it is (`arange(n) + 0`, `cos * 1.0`): the other one is known and neutral, shape and dtype stay."""
    if name not in NEUTRAL:
        return None
    number, either = NEUTRAL[name]
    for first, second in ((b, a), (a, b))[: 2 if either else 1]:
        constant = first.uniform if isinstance(first, Value) else first
        if constant == number and isinstance(second, Value) and second.shape == shape and second.dtype == dtype:
            return second
    return None


def _ssa(operands: Sequence[Value[Any] | Sequence[Value[Any]] | None]) -> list[SSAValue | list[SSAValue] | None]:
    return [operand.ssa if isinstance(operand, Value) else None if operand is None else [part.ssa for part in operand] for operand in operands]


def progression(values: np.ndarray[Any, Any]) -> tuple[int, int, int] | None:
    """(dim, start, step) when the values count up or down along one dimension and repeat along all others."""
    if values.dtype.kind == "b" or not 2 <= values.size <= FOLD_LIMIT:
        return None
    if values.dtype.kind not in "iu":
        wide = values.astype(np.float64)
        if not bool((np.isfinite(wide) & (wide == np.round(wide)) & (np.abs(wide) < 1 << 31)).all()):
            return None
        values = wide
    for dim, size in enumerate(values.shape):
        if size < 2:
            continue
        line = values[tuple(slice(None) if i == dim else 0 for i in range(values.ndim))].astype(np.int64)
        step = int(line[1] - line[0])
        if step == 0:
            continue
        expected = line[0] + step * np.arange(size)
        whole = expected.reshape([size if i == dim else 1 for i in range(values.ndim)])
        if bool((values.astype(np.int64) == whole).all()):
            return dim, int(line[0]), step
        return None
    return None
