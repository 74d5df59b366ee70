"""What rules build with: `Tensor` values and the `Emitter`, which makes TTIR ops and turns constants into values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import fx
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.errors import InternalError
from alchemist.frontends.torch.dtypes import element_of, to_numpy
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.node_locations import Sources
from alchemist.ir.access import shape as shape_of
from alchemist.ir.attribute_classes import enum
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import SourceInfo, sources_of, to_location

Shape = tuple[int, ...]
Scalar = bool | int | float

FOLD_LIMIT = 1 << 22
"""Largest number of elements of a constant that is computed while walking."""
LARGE = 1 << 22
"""From this many elements on, permutes of more than four dimensions leave out those of size 1: as one of the last two they
would be padded to 32."""
INLINE_LIMIT = 16
"""Largest number of elements of a constant that stays in the graph (`ttir.constant`) instead of becoming an argument."""


@lru_cache(maxsize=4096)
def tensor_type(shape: Shape, dtype: torch.dtype) -> Attribute:
    return tensor(shape, element_of(dtype))


class Tensor:
    """A value while lowering: shape, torch dtype, and its SSA value or its constant (or both, for integer buffers).

    `remake` makes the SSA value of a constant that derives from buffers; without it a constant becomes ops or an argument.
    `origin` is the node that a constant comes from.
    """

    __slots__ = ("_emitter", "_ssa", "const", "dtype", "origin", "remake", "shape")

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
        self.const = const
        self.remake = remake
        self.origin: tuple[fx.Node, SourceInfo | None] | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def ssa(self) -> SSAValue:
        if self._ssa is None:
            self._ssa = self._emitter.materialise(self)
        return self._ssa

    @property
    def has_ssa(self) -> bool:
        return self._ssa is not None

    @property
    def uniform(self) -> Scalar | None:
        """The one value of a constant whose elements are all equal, else None."""
        if self.const is None or self.const.numel() == 0:
            return None
        first = self.const[(0,) * self.rank]
        return first.item() if bool((self.const == first).all()) else None


class LiftedConstant:
    """A constant that becomes an argument of the function."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: torch.Tensor) -> None:
        self.name = name
        self.value = value


class Emitter:
    """A function under construction, the FX node being lowered (`node`) and the origin of new ops (`info`)."""

    def __init__(self, sources: Sources, inputs: Sequence[tuple[str, Shape, torch.dtype, str, SourceInfo | None]]) -> None:
        self.sources = sources
        self.builder = Builder.module(
            "forward",
            [(name, tensor_type(shape, dtype), kind, source) for name, shape, dtype, kind, source in inputs],
        )
        self.lifted: list[LiftedConstant] = []
        self.node: fx.Node = None  # being lowered; inside a decomposition a node of the traced graph
        self.outer: fx.Node | None = None  # the node of the exported graph that it belongs to
        self.info: SourceInfo | None = None
        self.new_values: list[SSAValue] = []
        self._shared: dict[tuple[SSAValue, str], Tensor] = {}
        self._names = {name for name, *_ in inputs}

    def location(self) -> str:
        """`file:line` of the current node, or its name."""
        if self.info is not None and self.info.frames:
            return f"{self.info.frames[-1].file}:{self.info.frames[-1].line}"
        return str(self.node) if self.node is not None else ""

    # --- constants ------------------------------------------------------------------------------------------------------

    def constant(self, value: torch.Tensor) -> Tensor:
        """A constant; it becomes an op or an argument when something needs it as a value."""
        made = Tensor(self, value.shape, value.dtype, const=value.detach())
        if self.outer is not None:
            made.origin = (self.outer, self.info)
        return made

    def _derived(self, x: Tensor, value: torch.Tensor) -> Tensor:
        made = self.constant(value)
        made.origin = x.origin or made.origin
        return made

    def materialise(self, t: Tensor) -> SSAValue:
        """SSA value of a constant: `full`, `arange`, a small `constant`, ops on the buffer it derives from, or an argument."""
        outer = self.outer, self.info
        if t.origin is not None:
            self.outer, self.info = t.origin
        try:
            return self._materialised(t)
        finally:
            self.outer, self.info = outer

    def _materialised(self, t: Tensor) -> SSAValue:
        value = t.const
        if value is None:
            raise InternalError("value without definition", location=self.location())
        uniform = t.uniform
        if uniform is not None:
            return self.full(t.shape, uniform, t.dtype).ssa
        steps = progression(value)
        if steps is not None:
            return self._arange(t, *steps).ssa
        if value.numel() <= INLINE_LIMIT:
            return self.emit("constant", [], {"value": to_numpy(value)}, shape=t.shape, dtype=t.dtype).ssa
        if t.remake is not None:
            return t.remake()
        return self._lift(value)

    def _arange(self, t: Tensor, dim: int, start: int, step: int) -> Tensor:
        count = t.shape[dim]
        dtype = torch.int64 if t.dtype.is_floating_point else t.dtype
        attributes = {"start": start, "end": start + step * count, "step": step, "arange_dimension": 0}
        line = self.cast(self.emit("arange", [], attributes, shape=(count,), dtype=dtype), t.dtype)
        lined = self.reshape(line, [count if i == dim else 1 for i in range(t.rank)])
        return self.expand(lined, t.shape)

    def _lift(self, value: torch.Tensor) -> SSAValue:
        """A new argument of kind constant, named after the variable that the source assigns it to."""
        wanted = self.sources.variable(self.outer) or "constant"
        name, count = wanted, 1
        while name in self._names:
            count += 1
            name = f"{wanted}_{count}"
        self._names.add(name)
        self.lifted.append(LiftedConstant(name, value))
        block = self.builder.block
        arg = block.insert_arg(tensor_type(tuple(value.shape), value.dtype), len(block.args))
        if self.info is not None:
            arg.location = to_location([self.info])
        return arg

    # --- vocabulary of the rules ----------------------------------------------------------------------------------------

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

    def emit_many(
        self,
        name: str,
        operands: Sequence[Tensor | Sequence[Tensor] | None],
        attributes: Mapping[str, Any] | None,
        results: Sequence[tuple[Shape, torch.dtype]],
    ) -> list[Tensor]:
        values = [operand.ssa if isinstance(operand, Tensor) else None if operand is None else [part.ssa for part in operand] for operand in operands]
        types = [tensor_type(shape, dtype) for shape, dtype in results]
        op = self.builder.make(f"ttir.{name}", values, attributes, types, self.info)
        self.new_values.extend(op.results)
        return [Tensor(self, shape, dtype, ssa) for (shape, dtype), ssa in zip(results, op.results, strict=True)]

    def emit(
        self,
        name: str,
        operands: Sequence[Tensor | Sequence[Tensor] | None],
        attributes: Mapping[str, Any] | None = None,
        *,
        shape: Iterable[int] | None = None,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """One op with one result, by default of the node's own shape and dtype."""
        result = (self.out_shape if shape is None else tuple(shape), self.out_dtype if dtype is None else dtype)
        return self.emit_many(name, operands, attributes, [result])[0]

    def unary(self, name: str, x: Tensor, attributes: Mapping[str, Any] | None = None) -> Tensor:
        return self.emit(name, [x], attributes, shape=x.shape, dtype=x.dtype)

    def binary(self, name: str, a: Tensor, b: Tensor | Scalar, dtype: torch.dtype | None = None) -> Tensor:
        """An elementwise op with broadcasting; a number takes the tensor's dtype. dtype: of the result, default `a`'s."""
        b = b if isinstance(b, Tensor) else self.full((1,) * a.rank, b, a.dtype)
        return self.emit(name, [a, b], shape=torch.broadcast_shapes(a.shape, b.shape), dtype=dtype or a.dtype)

    def full(self, shape: Iterable[int], value: Scalar, dtype: torch.dtype) -> Tensor:
        shape = tuple(shape)
        if dtype.is_complex:
            raise Unsupported("complex numbers")
        if not dtype.is_floating_point and not -(1 << 31) <= int(value) < 1 << 31:  # the attribute has 32 bits
            one = torch.full((1,) * len(shape), value, dtype=dtype)
            return self.expand(self.emit("constant", [], {"value": to_numpy(one)}, shape=one.shape, dtype=dtype), shape)
        fill = float(value) if dtype.is_floating_point else int(value)
        return self.emit("full", [], {"shape": shape, "fill_value": fill}, shape=shape, dtype=dtype)

    def cast(self, x: Tensor, dtype: torch.dtype | None) -> Tensor:
        if dtype is None or x.dtype == dtype:
            return x
        if x.const is not None and not x.has_ssa:
            return self._derived(x, x.const.to(dtype))
        if dtype == torch.bool:
            return self.binary("ne", x, 0, torch.bool)
        return self.emit("typecast", [x], {}, shape=x.shape, dtype=dtype)

    def reshape(self, x: Tensor, shape: Iterable[int]) -> Tensor:
        shape = tuple(int(part) for part in shape)
        if shape == x.shape:
            return x
        if x.const is not None and not x.has_ssa and x.remake is None:
            return self._derived(x, x.const.reshape(shape))
        return self.emit("reshape", [x], {"shape": shape}, shape=shape, dtype=x.dtype)

    def permute(self, x: Tensor, dims: Sequence[int]) -> Tensor:
        dims = [dim % x.rank for dim in dims]
        if dims == list(range(x.rank)):
            return x
        kept = [dim for dim in dims if x.shape[dim] != 1]
        if x.rank > 4 and len(kept) < x.rank and math.prod(x.shape) >= LARGE:
            flat = self.reshape(x, [size for size in x.shape if size != 1])
            shape = [x.shape[dim] for dim in dims]
            return self.reshape(self.permute(flat, [sorted(kept).index(dim) for dim in kept]), shape)
        return self.emit("permute", [x], {"permutation": dims}, shape=[x.shape[dim] for dim in dims], dtype=x.dtype)

    def slice(self, x: Tensor, dim: int, start: int, end: int, step: int = 1) -> Tensor:
        begins, ends, steps = [0] * x.rank, list(x.shape), [1] * x.rank
        begins[dim], ends[dim], steps[dim] = start, end, step
        shape = list(x.shape)
        shape[dim] = max(0, -(-(end - start) // step))
        if tuple(shape) == x.shape:
            return x
        return self.emit("slice_static", [x], {"begins": begins, "ends": ends, "step": steps}, shape=shape, dtype=x.dtype)

    def expand(self, x: Tensor, shape: Iterable[int]) -> Tensor:
        """Broadcast to `shape`; missing leading dimensions are added."""
        shape = tuple(int(part) for part in shape)
        if shape == x.shape:
            return x
        if x.uniform is not None and not x.has_ssa:
            return self._derived(x, x.const.expand(shape))  # type: ignore[union-attr]
        x = self.reshape(x, (1,) * (len(shape) - x.rank) + x.shape)
        if shape == x.shape:
            return x
        factors = [want // have if have else 1 for want, have in zip(shape, x.shape, strict=True)]
        return self.emit("broadcast", [x], {"broadcast_dimensions": factors}, shape=shape, dtype=x.dtype)

    def concat(self, parts: Sequence[Tensor], dim: int) -> Tensor:
        if len(parts) == 1:
            return parts[0]
        shape = list(parts[0].shape)
        shape[dim] = sum(part.shape[dim] for part in parts)
        return self.emit("concat", [list(parts)], {"dim": dim}, shape=shape, dtype=parts[0].dtype)

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(condition.shape, a.shape, b.shape)
        return self.emit("where", [condition, a, b], shape=shape, dtype=a.dtype)

    def reduce(self, name: str, x: Tensor, dims: Sequence[int] | None, keep: bool, dtype: torch.dtype | None = None) -> Tensor:
        wanted = sorted({dim % x.rank for dim in dims}) if dims else list(range(x.rank))
        if x.rank == 0:
            return self.cast(x, dtype)
        shape = [1 if i in wanted else size for i, size in enumerate(x.shape) if keep or i not in wanted]
        return self.emit(name, [x], {"keep_dim": keep, "dim_arg": wanted}, shape=shape, dtype=dtype or x.dtype)

    def before_broadcast(self, x: Tensor) -> Tensor:
        """The operand of the `ttir.broadcast` that makes `x`, or `x` itself."""
        owner = x.ssa.owner
        if not isinstance(owner, Operation) or owner.name != "ttir.broadcast":
            return x
        return Tensor(self, shape_of(owner.operands[0]), x.dtype, owner.operands[0])

    def shared(self, x: Tensor, what: str, make: Callable[[], Tensor]) -> Tensor:
        """A value derived from `x` alone, made once, right after `x` and with its origin: every layer uses the same one."""
        key = (x.ssa, what)
        known = self._shared.get(key)
        if known is None:
            outer = self.builder, self.info
            owner = x.ssa.owner
            if isinstance(owner, Operation):
                self.builder = Builder.after(owner)
                self.info = next(iter(sources_of(owner)), self.info)
            try:
                known = self._shared[key] = make()
            finally:
                self.builder, self.info = outer
        return known

    # --- finishing ------------------------------------------------------------------------------------------------------

    def finish(self, values: Sequence[Tensor], names: Sequence[str], keep: set[int]) -> tuple[ModuleOp, list[int]]:
        """Closes the function; drops dead ops and unused arguments except those at `keep`. Gives the indices of those kept."""
        builder = self.builder
        block = builder.block
        results = [value.ssa for value in values]
        builder.ret(results, list(names))
        for op in reversed(list(block.ops)):
            if op.results and not any(result.uses for result in op.results):
                op.detach()  # type: ignore[no-untyped-call]
                op.erase()
        func = builder.func
        if func is None:
            raise InternalError("no function")
        old = func.properties.get("arg_attrs")
        described = list(old.data) if isinstance(old, ArrayAttr) else []
        for constant in self.lifted:
            described.append(
                DictionaryAttr(
                    {
                        "ttcore.argument_type": enum("ttcore.argument_type", "constant"),
                        "ttir.name": StringAttr(constant.name),
                    }
                )
            )
        kept = [i for i, arg in enumerate(block.args) if i in keep or arg.uses]
        dead = [arg for i, arg in enumerate(block.args) if i not in keep and not arg.uses]
        for arg in dead:
            block.erase_arg(arg)
        if kept:
            func.properties["arg_attrs"] = ArrayAttr([described[i] for i in kept])
        else:
            func.properties.pop("arg_attrs", None)
        func.update_function_type()  # type: ignore[no-untyped-call]
        return builder.module_op, kept


def progression(value: torch.Tensor) -> tuple[int, int, int] | None:
    """(dim, start, step) when the values count up or down along one dimension and repeat along all others."""
    if value.dtype == torch.bool or value.numel() < 2 or value.numel() > FOLD_LIMIT:
        return None
    if value.dtype.is_floating_point and not bool((value == value.round()).all()):
        return None
    for dim, size in enumerate(value.shape):
        if size < 2:
            continue
        line = value[tuple(slice(None) if i == dim else 0 for i in range(value.dim()))].to(torch.int64)
        step = int(line[1] - line[0])
        if step == 0:
            continue
        expected = line[0] + step * torch.arange(size)
        whole = expected.reshape([size if i == dim else 1 for i in range(value.dim())])
        if bool((value.to(torch.int64) == whole).all()):
            return dim, int(line[0]), step
        return None
    return None
