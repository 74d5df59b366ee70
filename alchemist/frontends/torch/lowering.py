"""FX -> TTIR: the walk over the exported graph, constants, and what rules build with.

A rule is a function of the lowering and the op's arguments (tensors as `Tensor`, everything else as in the ATen schema):

    @rule("aten.softmax.int")
    def softmax(c, x, dim, dtype=None):
        return c.emit("softmax", [c.cast(x, dtype or x.dtype)], {"dimension": dim, "numericStable": True})

A *recipe* is the same in terms of torch functions: it is traced on fake tensors and the resulting small graph is lowered in
place of the op. An op with neither goes through torch's decomposition table in the same way. Values that depend on no
parameter and no input (masks from `arange`, integer buffers) are computed with torch while walking; they become ops only
where something that is not constant uses them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, SSAValue

from alchemist.errors import FrontendError, InternalError
from alchemist.frontends.torch.dtypes import element_of, to_numpy
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.source import Sources
from alchemist.ir.attributes import enum, tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import SourceInfo, set_source, sources_of, to_location

Shape = tuple[int, ...]
Scalar = bool | int | float
Rule = Callable[..., Any]

FOLD_LIMIT = 1 << 22
"""Largest number of elements of a constant that is computed while walking."""
INLINE_LIMIT = 16
"""Largest number of elements of a constant that stays in the graph (`ttir.constant`) instead of becoming an argument."""
DECOMPOSE_DEPTH = 12

RULES: dict[str, Rule] = {}
RECIPES: dict[str, Rule] = {}
SKIPPED = {
    "aten._assert_tensor_metadata.default",
    "aten._assert_scalar.default",
    "aten._assert_async.msg",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
}
INLINED = {"wrap_with_autocast": 4, "wrap_with_set_grad_enabled": 1, "tag_activation_checkpoint": 0, "checkpoint": 0}
"""Higher-order ops whose body is lowered in place: position of the body among the arguments."""
SHAPE_ONLY = ("zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty")


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for ATen overloads ("aten.softmax.int")."""
    return _register(RULES, names)


def recipe(*names: str) -> Callable[[Rule], Rule]:
    """Registers a torch function that computes the op from simpler ops."""
    return _register(RECIPES, names)


def _register(table: dict[str, Rule], names: Sequence[str]) -> Callable[[Rule], Rule]:
    def add(function: Rule) -> Rule:
        for name in names:
            if name in RULES or name in RECIPES:
                raise InternalError("two rules", op=name)
            table[name] = function
        return function

    return add


class Tensor:
    """A value while lowering: shape, torch dtype, and its SSA value or its constant (or both, for integer buffers).

    `remake` makes the SSA value of a constant that derives from buffers; without it a constant becomes ops or an argument.
    """

    __slots__ = ("_lowering", "_ssa", "const", "dtype", "remake", "shape")

    def __init__(
        self,
        lowering: Lowering,
        shape: Iterable[int],
        dtype: torch.dtype,
        ssa: SSAValue | None = None,
        const: torch.Tensor | None = None,
        remake: Callable[[], SSAValue] | None = None,
    ) -> None:
        self._lowering = lowering
        self.shape: Shape = tuple(shape)
        self.dtype = dtype
        self._ssa = ssa
        self.const = const
        self.remake = remake

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def ssa(self) -> SSAValue:
        if self._ssa is None:
            self._ssa = self._lowering.materialise(self)
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


class Lowering:
    """State of one capture: builder, environment, current node; and the vocabulary of the rules."""

    def __init__(
        self, sources: Sources, inputs: Sequence[tuple[str, Shape, torch.dtype, str, SourceInfo | None]]
    ) -> None:
        self.sources = sources
        self.builder = Builder.module(
            "forward",
            [(name, self.type(shape, dtype), kind, source) for name, shape, dtype, kind, source in inputs],
        )
        self.lifted: list[LiftedConstant] = []
        self.unsupported: dict[tuple[str, str], list[Any]] = {}
        self.node: fx.Node = None  # type: ignore[assignment]
        self.info: SourceInfo | None = None
        self._names = {name for name, *_ in inputs}
        self._new_ops: list[SSAValue] = []
        self._traces: dict[Any, fx.GraphModule] = {}
        self._depth = 0
        self._fake_mode: Any = None

    # --- the walk -------------------------------------------------------------------------------------------------------

    def run(self, graph: fx.Graph, env: dict[fx.Node, Any], owner: torch.nn.Module | None) -> Any:
        """Lowers the nodes of `graph`; `env` holds the placeholders. Returns the output structure with `Tensor` leaves."""
        aliases: dict[fx.Node, list[fx.Node]] = {}  # nodes that are one storage after in-place ops, by any member
        for node in graph.nodes:
            match node.op:
                case "placeholder":
                    continue
                case "output":
                    return self._load(env, node.args[0])
                case "get_attr":
                    env[node] = self._attribute(owner, str(node.target))
                case "call_function":
                    env[node] = self._node(env, node)
                    mutated = mutated_argument(node)
                    if mutated is not None:
                        group = aliases.setdefault(mutated, [mutated])
                        aliases[node] = group
                        group.append(node)
                        for member in group:
                            env[member] = env[node]
                case _:
                    raise InternalError(f"unexpected node {node.op}", op=str(node.target))
        raise InternalError("graph without output")

    def _attribute(self, owner: torch.nn.Module | None, target: str) -> Any:
        value: Any = owner
        for part in target.split("."):
            value = getattr(value, part)
        if isinstance(value, torch.Tensor):
            return self.constant(value)
        return value

    def _load(self, env: dict[fx.Node, Any], args: Any) -> Any:
        return fx.node.map_arg(args, lambda node: env[node])

    def _node(self, env: dict[fx.Node, Any], node: fx.Node) -> Any:
        if node.target is operator.getitem:
            return env[node.args[0]][node.args[1]]  # type: ignore[index]
        target = str(node.target)
        if target in SKIPPED:
            return None
        args, kwargs = self._load(env, node.args), self._load(env, node.kwargs)
        outer = self.node, self.info, self._new_ops
        if self._depth == 0:
            self.node, self.info = node, self.sources.info(node, named=False)
        else:
            self.node = node
        self._new_ops = []
        try:
            result = self._lower(node, target, args, kwargs)
            if self._depth == 0:
                self._name_last(result)
            return result
        finally:
            self.node, self.info, self._new_ops = outer

    def _lower(self, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = getattr(node.target, "__name__", "") or getattr(node.target, "_name", "")
        if name in INLINED or isinstance(node.target, torch._ops.HigherOrderOperator):
            return self._inline(name, args)
        val = node.meta.get("val")
        if has_symbols(val):
            raise FrontendError(
                "the shape of this value depends on data",
                op=target,
                location=self.location(),
                got=str(tuple(val.shape)) if isinstance(val, torch.Tensor) else str(val),
                hint="every shape must be known at export: replace nonzero, boolean indexing and .item() by masks (torch.where)",
            )
        if not isinstance(node.target, torch._ops.OpOverload):
            if callable(node.target) and not any(isinstance(part, Tensor) for part in flatten((args, kwargs))):
                return node.target(*args, **kwargs)
            return self._fail(node, target, "not an ATen op")
        folded = self._fold(node, args, kwargs)
        if folded is not None:
            return folded
        return self._apply(node, target, args, kwargs)

    def _apply(self, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        functional = functional_name(target)
        found = RULES.get(target) or RULES.get(functional)
        reason = ""
        if found is not None:
            try:
                return self._checked(node, found(self, *args, **kwargs))
            except Unsupported as error:
                reason = str(error)
        try:
            traced = self._trace(node, functional, args, kwargs)
        except Unsupported as error:
            return self._fail(node, target, reason or str(error))
        return self._complete(node, target, self._expand(traced, args, kwargs))

    def _complete(self, node: fx.Node, target: str, result: Any) -> Any:
        """Refuses the use of secondary results (indices of a pool) that a recipe does not compute."""
        vals = node.meta.get("val")
        if not isinstance(result, (tuple, list)) or not isinstance(vals, (tuple, list)):
            return self._checked(node, result)
        for user in node.users:
            if user.target is not operator.getitem or not user.users:
                continue
            got, val = result[user.args[1]], vals[user.args[1]]  # type: ignore[index]
            if isinstance(got, Tensor) and (got.shape != tuple(val.shape) or got.dtype != val.dtype):
                return self._fail(node, target, f"its result {user.args[1]} is used")
        return result

    def _checked(self, node: fx.Node, result: Any) -> Any:
        """The rule's result has the shapes and dtypes that torch says: anything else is a bug of the rule."""
        vals = node.meta.get("val")
        pairs = zip(result, vals, strict=False) if isinstance(result, (list, tuple)) else [(result, vals)]
        for got, val in pairs:
            if not isinstance(got, Tensor) or not isinstance(val, torch.Tensor):
                continue
            if got.shape != tuple(val.shape) or got.dtype != val.dtype:
                raise InternalError(
                    "the rule's result has another type",
                    op=str(node.target),
                    location=self.location(),
                    expected=f"{tuple(val.shape)} {val.dtype}",
                    got=f"{got.shape} {got.dtype}",
                )
        return result

    def _name_last(self, result: Any) -> None:
        """Gives the FX node's name to the op that makes its value; helper ops of the same node stay unnamed."""
        first = result[0] if isinstance(result, (list, tuple)) and result else result
        if not isinstance(first, Tensor) or not first.has_ssa:
            return
        owner = first.ssa.owner
        if any(made is first.ssa for made in reversed(self._new_ops[-8:])) and not isinstance(result, (list, tuple)):
            infos = sources_of(owner)  # type: ignore[arg-type]
            if infos and not infos[0].name:
                set_source(owner, self.sources.info(self.node, named=True))  # type: ignore[arg-type]

    # --- constants ------------------------------------------------------------------------------------------------------

    def _fold(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Value of an op on constants alone, or None."""
        op = node.target
        val = node.meta.get("val")
        if not isinstance(op, torch._ops.OpOverload):
            return None
        if op._schema.name.removeprefix("aten::") in SHAPE_ONLY and isinstance(val, torch.Tensor):
            return self._fold_like(op._schema.name.removeprefix("aten::"), val, args, kwargs)
        leaves = flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if any(leaf.const is None for leaf in tensors):
            return None
        if torch.Tag.nondeterministic_seeded in op.tags:
            return None
        outputs = [val] if isinstance(val, torch.Tensor) else list(val) if isinstance(val, (list, tuple)) else []
        big = any(isinstance(out, torch.Tensor) and out.numel() > FOLD_LIMIT for out in outputs)
        if big and not (is_view(op) or op._schema.name in ("aten::zeros", "aten::ones", "aten::full")):
            return None
        with torch.no_grad():
            if op._schema.name in ("aten::zeros", "aten::ones", "aten::full") and isinstance(val, torch.Tensor):
                fill = {"aten::zeros": 0, "aten::ones": 1}.get(op._schema.name, args[1] if len(args) > 1 else 0)
                value: Any = torch.full((), fill, dtype=val.dtype).expand(val.shape)
            else:
                mutated = mutated_argument(node)
                plain = fx.node.map_aggregate(
                    (tuple(args), kwargs), lambda leaf: leaf.const if isinstance(leaf, Tensor) else leaf
                )
                concrete, named = list(plain[0]), dict(plain[1])  # type: ignore[index, arg-type]
                if mutated is not None:
                    concrete[0] = concrete[0].clone()
                if "device" in named:
                    named["device"] = torch.device("cpu")
                value = op(*concrete, **named)
        remake = None
        if any(leaf.has_ssa or leaf.remake is not None for leaf in tensors):
            remake = self._remake(node, args, kwargs)
        if isinstance(value, torch.Tensor):
            return Tensor(self, value.shape, value.dtype, const=value, remake=remake)
        if isinstance(value, (list, tuple)):
            return [Tensor(self, part.shape, part.dtype, const=part) for part in value]
        return value

    def _fold_like(self, name: str, val: torch.Tensor, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor:
        position = {"full_like": 1, "new_full": 2}.get(name)
        fill: Any = 1 if "ones" in name else 0
        if position is not None:
            fill = args[position] if len(args) > position else kwargs["fill_value"]
        const = torch.full((), fill, dtype=val.dtype).expand(val.shape)
        return Tensor(self, val.shape, val.dtype, const=const)

    def _remake(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], SSAValue]:
        info = self.info

        def make() -> SSAValue:
            outer = self.node, self.info
            self.node, self.info = node, info
            try:
                made = self._apply(node, str(node.target), args, kwargs)
                ssa: SSAValue = made.ssa
                return ssa
            finally:
                self.node, self.info = outer

        return make

    def constant(self, value: torch.Tensor) -> Tensor:
        """A constant; it becomes an op or an argument when something needs it as a value."""
        value = value.detach()
        return Tensor(self, value.shape, value.dtype, const=value)

    def materialise(self, t: Tensor) -> SSAValue:
        """SSA value of a constant: `full`, `arange`, a small `constant`, ops on the buffer it derives from, or an argument."""
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
        wanted = self.sources.variable(self.node) or "constant"
        name, count = wanted, 1
        while name in self._names:
            count += 1
            name = f"{wanted}_{count}"
        self._names.add(name)
        self.lifted.append(LiftedConstant(name, value))
        block = self.builder.block
        arg = block.insert_arg(self.type(value.shape, value.dtype), len(block.args))
        if self.info is not None:
            arg.location = to_location([self.info])
        return arg

    # --- decomposition --------------------------------------------------------------------------------------------------

    def _inline(self, name: str, args: tuple[Any, ...]) -> Any:
        position = INLINED.get(name)
        if position is None:
            raise FrontendError(
                f"control flow in the graph ({name})",
                op=name,
                location=self.location(),
                hint="export unrolls Python loops over fixed counts; branch on Python values instead of tensors",
            )
        if name == "wrap_with_autocast" and args[2]:
            raise FrontendError(
                "autocast inside the model",
                op=name,
                location=self.location(),
                hint="convert the model instead, for example model.to(torch.bfloat16), or export outside of autocast",
            )
        body = args[position]
        return self._expand(body, args[position + 1 :], {}, keep_sources=True)

    def _expand(self, body: fx.GraphModule, args: Sequence[Any], kwargs: Mapping[str, Any], keep_sources: bool = False) -> Any:
        if self._depth >= DECOMPOSE_DEPTH:
            return self._fail(self.node, str(self.node.target), "its decomposition does not end")
        if not keep_sources:
            args = [leaf for leaf in flatten((args, kwargs)) if isinstance(leaf, Tensor)]
        places = [node for node in body.graph.nodes if node.op == "placeholder"]
        env: dict[fx.Node, Any] = dict(zip(places, args, strict=True))
        if keep_sources:
            return self.run(body.graph, env, body)
        self._depth += 1
        try:
            return self.run(body.graph, env, body)
        finally:
            self._depth -= 1

    def _trace(self, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> fx.GraphModule:
        """The op's recipe or torch decomposition as a small graph over its tensor arguments, cached by signature."""
        from alchemist.frontends.torch.decompose import decomposition, fake_mode, trace

        leaves = flatten((args, kwargs))
        key = (target, *((leaf.shape, leaf.dtype) if isinstance(leaf, Tensor) else (type(leaf), str(leaf)) for leaf in leaves))
        if key in self._traces:
            return self._traces[key]
        function = RECIPES.get(str(node.target)) or RECIPES.get(target) or decomposition(node.target, target)
        if self._fake_mode is None:
            self._fake_mode = fake_mode()
        traced = trace(function, args, kwargs, self._fake_mode, is_tensor=lambda leaf: isinstance(leaf, Tensor))
        calls = [inner for inner in traced.graph.nodes if inner.op == "call_function"]
        if str(node.target) not in RECIPES and any(functional_name(str(inner.target)) == target for inner in calls):
            raise Unsupported("no rule and no decomposition")
        self._traces[key] = traced
        return traced

    # --- errors ---------------------------------------------------------------------------------------------------------

    def location(self) -> str:
        if self.info is not None and self.info.frames:
            return f"{self.info.frames[-1].file}:{self.info.frames[-1].line}"
        return str(self.node) if self.node is not None else ""

    def _fail(self, node: fx.Node, target: str, reason: str) -> Any:
        """Notes an unsupported op and goes on with values of the right type, so that all of them are reported at once."""
        record = self.unsupported.setdefault((target, reason), [0, self.location()])
        record[0] += 1

        def stand_in(val: Any) -> Any:
            if isinstance(val, torch.Tensor):
                return self.emit("empty", [], shape=tuple(val.shape), dtype=val.dtype)
            return val

        return fx.node.map_aggregate(node.meta.get("val"), stand_in)  # type: ignore[arg-type]

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

    @staticmethod
    def type(shape: Iterable[int], dtype: torch.dtype) -> Attribute:
        return tensor(tuple(shape), element_of(dtype))

    def emit_many(
        self,
        name: str,
        operands: Sequence[Tensor | Sequence[Tensor] | None],
        attributes: Mapping[str, Any] | None,
        results: Sequence[tuple[Shape, torch.dtype]],
    ) -> list[Tensor]:
        values = [
            operand.ssa if isinstance(operand, Tensor) else None if operand is None else [part.ssa for part in operand]
            for operand in operands
        ]
        types = [self.type(shape, dtype) for shape, dtype in results]
        op = self.builder.make(f"ttir.{name}", values, attributes, types, self.info)
        self._new_ops.extend(op.results)
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
        fill = float(value) if dtype.is_floating_point else int(value)
        if dtype.is_complex:
            raise Unsupported("complex numbers")
        return self.emit("full", [], {"shape": shape, "fill_value": fill}, shape=shape, dtype=dtype)

    def cast(self, x: Tensor, dtype: torch.dtype | None) -> Tensor:
        if dtype is None or x.dtype == dtype:
            return x
        if x.const is not None and not x.has_ssa:
            return self.constant(x.const.to(dtype))
        if dtype == torch.bool:
            return self.binary("ne", x, 0, torch.bool)
        return self.emit("typecast", [x], {}, shape=x.shape, dtype=dtype)

    def reshape(self, x: Tensor, shape: Iterable[int]) -> Tensor:
        shape = tuple(int(part) for part in shape)
        if shape == x.shape:
            return x
        if x.const is not None and not x.has_ssa and x.remake is None:
            return self.constant(x.const.reshape(shape))
        return self.emit("reshape", [x], {"shape": shape}, shape=shape, dtype=x.dtype)

    def permute(self, x: Tensor, dims: Sequence[int]) -> Tensor:
        dims = [dim % x.rank for dim in dims]
        if dims == list(range(x.rank)):
            return x
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
            return self.constant(x.const.expand(shape))  # type: ignore[union-attr]
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

    # --- finishing ------------------------------------------------------------------------------------------------------

    def finish(self, values: Sequence[Tensor], names: Sequence[str], keep: int) -> tuple[ModuleOp, list[int]]:
        """Closes the function and drops dead ops and unused arguments after the first `keep`; indices of those kept."""
        builder = self.builder
        block = builder.block
        results = [value.ssa for value in values]
        builder.ret(results, list(names))
        for op in reversed(list(block.ops)):
            if op.results and not any(result.uses for result in op.results):
                op.detach()
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
        kept = [i for i, arg in enumerate(block.args) if i < keep or arg.uses]
        dead = [arg for i, arg in enumerate(block.args) if i >= keep and not arg.uses]
        for arg in dead:
            block.erase_arg(arg)
        if kept:
            func.properties["arg_attrs"] = ArrayAttr([described[i] for i in kept])
        else:
            func.properties.pop("arg_attrs", None)
        func.update_function_type()
        return builder.module_op, kept


# --- helpers without state --------------------------------------------------------------------------------------------------


def flatten(args: Any) -> list[Any]:
    """Leaves of nested tuples, lists and dicts, in order."""
    out: list[Any] = []

    def visit(part: Any) -> None:
        if isinstance(part, (tuple, list)) and not isinstance(part, torch.Size):
            for child in part:
                visit(child)
        elif isinstance(part, dict):
            for child in part.values():
                visit(child)
        else:
            out.append(part)

    visit(args)
    return out


def functional_name(target: str) -> str:
    """`aten.relu_.default` -> `aten.relu.default`; names like `aten.__and__.Tensor` stay."""
    parts = target.split(".")
    if len(parts) == 3 and parts[1].endswith("_") and not parts[1].endswith("__"):
        parts[1] = parts[1][:-1]
    return ".".join(parts)


def mutated_argument(node: fx.Node) -> fx.Node | None:
    """The node whose value this in-place op replaces."""
    op = node.target
    if not isinstance(op, torch._ops.OpOverload) or not op._schema.is_mutable:
        return None
    for position, argument in enumerate(op._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
            return value if isinstance(value, fx.Node) else None
    return None


def is_view(op: torch._ops.OpOverload) -> bool:
    """Whether a result may share memory with an argument."""
    name = op._schema.name
    return any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns) or name in (
        "aten::dropout",
        "aten::reshape",
    )


def has_symbols(val: Any) -> bool:
    if isinstance(val, torch.Tensor):
        return any(not isinstance(size, int) for size in val.shape)
    if isinstance(val, (list, tuple)):
        return any(has_symbols(part) for part in val)
    return isinstance(val, (torch.SymInt, torch.SymFloat, torch.SymBool))


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
