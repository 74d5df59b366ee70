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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import fx
from xdsl.ir import Operation, SSAValue

from alchemist.errors import FrontendError, InputError, InternalError
from alchemist.frontends.base import FIRST_STEP
from alchemist.frontends.torch import complex_numbers, data_values, decompose, higher_order, integer_words, wide_integers
from alchemist.frontends.torch.aliasing import Aliases, is_view, mutated_argument
from alchemist.frontends.torch.complex_numbers import Pair
from alchemist.frontends.torch.dtypes import is_known
from alchemist.frontends.torch.emitter import FOLD_LIMIT, SHAPE_ONLY, Emitter, Shape, Tensor
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.integer_words import Words
from alchemist.frontends.torch.node_locations import Sources, line_of
from alchemist.frontends.torch.parts import PAIRS, traced_in_parts
from alchemist.frontends.torch.registry import RECIPES, RULES
from alchemist.ir.location import SourceInfo, set_source, sources_of, with_role

DECOMPOSE_DEPTH = 12

SKIPPED = {
    "aten._linalg_check_errors.default",
    "aten._assert_tensor_metadata.default",
    "aten._assert_scalar.default",
    "aten._assert_async.msg",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
}
_FORWARD_MODE = "a derivative in forward mode (torch.func.jvp, jacfwd): write its formula, or take it with torch.func.vjp or jax.jvp"
_WHY = {
    **dict.fromkeys(("_make_dual", "_unpack_dual", "_unwrap_for_grad"), _FORWARD_MODE),
    "embedding_renorm_": "max_norm rescales the table in each call: rescale it once before the export, and leave max_norm out",
}
"""Ops whose name says nothing of what the model wrote: what it is, and what to write."""
FILLED = ("aten::zeros", "aten::ones", "aten::full", "aten::empty", "aten::empty_permuted", "aten::empty_strided")
"""Ops that make a tensor of one value. Memory that torch leaves as it is counts as zeros: two exports of a model are equal."""


class Lowering(Emitter):
    """One capture: walks the graph, folds constants, applies rules, recipes and decompositions, collects ops without any."""

    def __init__(self, sources: Sources, inputs: Sequence[tuple[str, Shape, torch.dtype, str, SourceInfo | None]]) -> None:
        super().__init__(sources, inputs)
        self.unsupported: dict[tuple[str, str], list[Any]] = {}
        self.wide: frozenset[fx.Node] = frozenset()  # nodes of the exported graph with integers beyond 32 bits
        self._in_words = 0
        self._traces: dict[Any, fx.GraphModule] = {}
        self.values: Mapping[fx.Node, torch.Tensor] = {}  # of buffers, parameters and constants that nothing writes
        self._depth = 0
        self._cell: tuple[type, str] | None = None  # whose step is being lowered, and the step's name
        self._steps = 0

    # --- the walk -------------------------------------------------------------------------------------------------------

    def run(self, graph: fx.Graph, env: dict[fx.Node, Any], owner: torch.nn.Module | None) -> Any:
        """Lowers the nodes of `graph`; `env` holds the placeholders. Returns the output structure with `Tensor` leaves."""
        aliases = Aliases()
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
                    group = aliases.add(node)
                    if mutated_argument(node) is not None:
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
            return self._item(env[node.args[0]], node)
        target = str(node.target)
        if target in SKIPPED:
            return None
        args, kwargs = self._load(env, node.args), self._load(env, node.kwargs)
        outer = self.node, self.outer, self.info, self.new_values
        if self._depth == 0:
            self.node = self.outer = node
            self.info = self.sources.info(node, named=False)
        else:
            self.node = node
            if self._cell is not None:
                self.info = self.sources.in_step(self.info, node, *self._cell)
        self.new_values = []
        try:
            result = self._lower(node, target, args, kwargs)
            if self._depth == 0:
                self._name_last(result)
            return result
        finally:
            self.node, self.outer, self.info, self.new_values = outer

    def _item(self, source: Any, node: fx.Node) -> Any:
        """One result of an op with several; secondary results that nobody uses need not exist."""
        position: Any = node.args[1]
        if isinstance(source, (list, tuple)) and position < len(source):
            return source[position]
        if node.users:
            return self._fail(node, str(node.args[0].target), f"its result {position} is used")
        return None

    def _lower(self, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = getattr(node.target, "__name__", "") or getattr(node.target, "_name", "")
        if isinstance(node.target, torch._ops.HigherOrderOperator) or name in ("tag_activation_checkpoint", "checkpoint"):
            try:
                return higher_order.lower(self, name, args)
            except Unsupported as error:
                return self._fail(node, target, str(error))
        val = node.meta.get("val")
        if has_symbols(val) and isinstance(val, torch.SymInt | torch.SymFloat | torch.SymBool) and only_checked(node):
            return None
        if has_symbols(val):
            resolved = data_values.resolve(self, node, target, args, kwargs)
            if resolved is not data_values.UNKNOWN:
                return resolved
            raise FrontendError(
                "the shape of this value depends on data",
                op=target if isinstance(node.target, torch._ops.OpOverload) else name,
                location=self.location(),
                got=str(tuple(val.shape)) if isinstance(val, torch.Tensor) else str(val),
                hint=data_values.HINT,
            )
        if not isinstance(node.target, torch._ops.OpOverload):
            if callable(node.target) and not any(isinstance(part, Tensor) for part in flatten((args, kwargs))):
                return node.target(*args, **kwargs)
            return self._fail(node, target, "not an ATen op")
        if any(isinstance(leaf, data_values.OPEN) for leaf in flatten((args, kwargs))):
            resolved = data_values.with_reads(self, node, target, args, kwargs)
            if resolved is not data_values.UNKNOWN:
                return resolved
            return self._fail(node, target, "a shape or number that depends on data (use torch.where)")
        folded = self._fold(node, args, kwargs)
        if folded is not None:
            return folded
        if is_complex((val, *flatten((args, kwargs)))) or self._is_wide(val, args, kwargs):
            return self._in_parts(node, target, args, kwargs)
        return self._apply(node, target, args, kwargs)

    def _is_wide(self, val: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the op reads an integer beyond 32 bits, or gives one on the example inputs."""
        if not self.wide or self._in_words:
            return False
        leaves = flatten((args, kwargs))
        whole = any(isinstance(out, torch.Tensor) and out.dtype == torch.int64 for out in flatten(val))
        return (whole and self.outer in self.wide) or any(
            isinstance(leaf, Words) or (isinstance(leaf, Tensor) and leaf.const is not None and wide_integers.beyond(leaf.const) is not None) for leaf in leaves
        )

    def apply_node(self, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The node's op on other arguments of the same shapes."""
        return self._apply(node, target, args, kwargs)

    def _in_parts(self, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op on complex numbers, or on integers beyond 32 bits: its graph on the two parts of each value."""
        wide = not is_complex((node.meta.get("val"), *(leaf for leaf in flatten((args, kwargs)) if not isinstance(leaf, Words))))
        name = functional_name(target).split(".")[1]
        whole = any(isinstance(out, torch.Tensor) and out.dtype == torch.int64 for out in flatten(node.meta.get("val")))
        function = integer_words.function_of(node.target, name, whole) if wide else complex_numbers.function_of(node.target, name)
        try:
            if function is None:
                return self._joined(node, self._expand(self._trace(node, functional_name(target), args, kwargs), args, kwargs))
            traced, tensors = traced_in_parts(function, args, kwargs, self)
        except Unsupported as error:
            if wide:
                raise wide_integers.refused(target, self.location(), f"an op without a form on two 32-bit words: {error}") from error
            return self._fail(node, target, str(error) if function is not None else "no lowering for complex numbers")
        self._in_words += wide
        try:
            result = self._expand(traced, tensors, {})
        finally:
            self._in_words -= wide
        return self._joined(node, result)

    def _joined(self, node: fx.Node, result: Any) -> Any:
        """The two parts that a trace gives as one value. Integers that the example inputs keep within 32 bits are their low words."""
        val = node.meta["val"]

        def join(val: Any, part: Any) -> Any:
            if isinstance(val, (list, tuple)):
                return [join(item, inner) for item, inner in zip(val, part, strict=True)]
            if is_complex(val):
                return Pair(*part)
            if not isinstance(part, (list, tuple)):
                return part
            return Words(*part) if self._depth or node in self.wide else self.cast(part[0], torch.int64)

        return join(val, result)

    def _apply(self, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        functional = functional_name(target)
        if decompose.along_its_only_dim(node.target, args, kwargs, lambda leaf: isinstance(leaf, Tensor)):
            return self._complete(node, target, self._expand(self._trace(node, functional, args, kwargs, of_one_value=True), args, kwargs))
        rule = RULES.get(target) or RULES.get(functional)
        reason = ""
        if rule is not None:
            try:
                return self._checked(node, rule(self, *args, **kwargs))
            except Unsupported as error:
                reason = str(error)
        if torch.Tag.nondeterministic_seeded in node.target.tags and functional not in RECIPES:
            return self._fail(node, target, reason or "it makes random numbers: pass them as an input")
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
            got, val = result[user.args[1]], vals[user.args[1]]
            if isinstance(got, Tensor) and (got.shape != tuple(val.shape) or got.dtype != val.dtype):
                return self._fail(node, target, f"its result {user.args[1]} is used")
        return result

    def _checked(self, node: fx.Node, result: Any) -> Any:
        """Checks that the rule's result has the shapes and dtypes of torch's; a difference is a bug of the rule."""
        vals = node.meta.get("val")
        pairs = zip(result, vals, strict=False) if isinstance(result, (list, tuple)) else [(result, vals)]
        for got, val in pairs:
            if not isinstance(got, Tensor) or not isinstance(val, torch.Tensor):
                continue
            if got.shape == tuple(val.shape) and got.dtype != val.dtype:
                self._refuse_mixed_types(node)
            if got.shape != tuple(val.shape) or got.dtype != val.dtype:
                raise InternalError(
                    "the rule's result has another type",
                    op=str(node.target),
                    location=self.location(),
                    expected=f"{tuple(val.shape)} {val.dtype}",
                    got=f"{got.shape} {got.dtype}",
                )
        return result

    def _refuse_mixed_types(self, node: fx.Node) -> None:
        """A product of float32 and bfloat16, say: PyTorch refuses it when it runs, torch.export does not.

        Raises:
            InputError: the operands have different dtypes.
        """
        values = [value.meta.get("val") for value in node.all_input_nodes]
        kinds = list(dict.fromkeys(str(value.dtype).removeprefix("torch.") for value in values if isinstance(value, torch.Tensor)))
        if len(kinds) > 1:
            hint = "convert the input (x.float(), x.to(torch.bfloat16)) or the model (model.to(x.dtype))"
            raise InputError(
                "operands of different dtypes, which PyTorch rejects", op=str(node.target), location=self.location(), got=" and ".join(kinds), hint=hint
            )

    def _name_last(self, result: Any) -> None:
        """Names the op that computes the node's value after the FX node; helper ops of the same node stay unnamed."""
        if isinstance(result, Words) and (variable := self.sources.assigned(self.node)):
            for word, part in zip(result, ("low", "high"), strict=True):
                maker = word.ssa.owner
                infos = sources_of(maker) if isinstance(maker, Operation) else ()
                if infos and self.info is not None and infos[-1].frames == self.info.frames:  # made by this statement
                    set_source(maker, *with_role(infos, f"{variable}_{part}"))
        first = result[0] if isinstance(result, (list, tuple)) and result else result
        if not isinstance(first, Tensor) or not first.has_ssa:
            return
        owner = first.ssa.owner
        if any(new_value is first.ssa for new_value in reversed(self.new_values[-8:])) and not isinstance(result, (list, tuple)):
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
        outputs = [val] if isinstance(val, torch.Tensor) else list(val) if isinstance(val, (list, tuple)) else []
        if outputs and all(isinstance(out, torch.Tensor) and out.numel() == 0 for out in outputs):
            return fx.node.map_aggregate(val, lambda out: self.constant(torch.empty(out.shape, dtype=out.dtype)))
        leaves = flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if any(_known(leaf) is None for leaf in tensors) or any(isinstance(leaf, PAIRS) for leaf in leaves):
            return None
        if torch.Tag.nondeterministic_seeded in op.tags:
            return None
        big = any(isinstance(out, torch.Tensor) and out.numel() > FOLD_LIMIT for out in outputs)
        if big and not (is_view(op) or op._schema.name in FILLED):
            return None
        with torch.no_grad():
            if op._schema.name in FILLED and isinstance(val, torch.Tensor):
                fill = args[1] if op._schema.name == "aten::full" else int(op._schema.name == "aten::ones")
                value: Any = torch.full((), fill, dtype=val.dtype).expand(val.shape)
            else:
                plain = fx.node.map_aggregate((tuple(args), kwargs), lambda leaf: _known(leaf) if isinstance(leaf, Tensor) else leaf)
                concrete, named = list(plain[0]), dict(plain[1])
                for position, argument in enumerate(op._schema.arguments):
                    if argument.alias_info is not None and argument.alias_info.is_write:
                        values: Any = concrete if position < len(concrete) else named
                        place = position if position < len(concrete) else argument.name
                        values[place] = fx.node.map_aggregate(values[place], lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf)
                if "device" in named:
                    named["device"] = torch.device("cpu")
                value = _call(op, concrete, named)
        remake = None
        if any(leaf.has_ssa or leaf.remake is not None for leaf in tensors if leaf.const is not None):
            remake = self._remake(node, args, kwargs)
        if isinstance(value, torch.Tensor):
            folded = Tensor(self, value.shape, value.dtype, const=value, remake=remake)
            if is_view(op) and tensors and tensors[0].origin is not None:  # `sizes[None, :]` is still what `sizes = ...` made
                folded.origin = tensors[0].origin
            elif self.outer is not None:
                folded.origin = (self.outer, self.info)
            return folded
        if isinstance(value, (list, tuple)):
            return [self.constant(part) for part in value]
        return value

    def _fold_like(self, name: str, val: torch.Tensor, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor:
        position = {"full_like": 1, "new_full": 2}.get(name)
        fill: Any = 1 if "ones" in name else 0
        if position is not None:
            fill = args[position] if len(args) > position else kwargs["fill_value"]
        const = torch.full((), fill, dtype=val.dtype).expand(val.shape)
        return self.constant(const)

    def _remake(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], SSAValue]:
        info = self.info

        def make() -> SSAValue:
            outer = self.node, self.info
            self.node, self.info = node, info
            try:
                result = self._apply(node, str(node.target), args, kwargs)
                ssa: SSAValue = result.ssa
                return ssa
            finally:
                self.node, self.info = outer

        return make

    @cached_property
    def fake_mode(self) -> Any:
        return decompose.fake_mode()

    # --- decomposition --------------------------------------------------------------------------------------------------

    def expand_body(self, body: fx.GraphModule, args: Sequence[Any]) -> Any:
        """A nested graph of the model itself lowered in place: its nodes keep their own sources."""
        return self._expand(body, args, {}, keep_sources=True)

    def _expand(self, body: fx.GraphModule, args: Sequence[Any], kwargs: Mapping[str, Any], keep_sources: bool = False) -> Any:
        if self._depth >= DECOMPOSE_DEPTH:
            return self._fail(self.node, str(self.node.target), "its decomposition does not end")
        if not keep_sources:
            args = [leaf for leaf in flatten((args, kwargs)) if isinstance(leaf, (Tensor, *PAIRS))]
        places = [node for node in body.graph.nodes if node.op == "placeholder"]
        env: dict[fx.Node, Any] = dict(zip(places, args, strict=True))
        if keep_sources:
            return self.run(body.graph, env, body)
        self._depth += 1
        try:
            return self.run(body.graph, env, body)
        finally:
            self._depth -= 1

    def _trace(self, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any], of_one_value: bool = False) -> fx.GraphModule:
        """The op's recipe or torch decomposition as a small graph over its tensor arguments, cached by signature.

        of_one_value: not these, but the op itself on rows of one value.
        """
        leaves = flatten((args, kwargs))
        key = (target, *((leaf.shape, leaf.dtype) if isinstance(leaf, (Tensor, *PAIRS)) else (type(leaf), str(leaf)) for leaf in leaves))
        if key in self._traces:
            return self._traces[key]
        if of_one_value:
            function = decompose.of_one_value(node.target, node.meta["val"])
        else:
            function = RECIPES.get(str(node.target)) or RECIPES.get(target) or decompose.decomposition(node.target, target)
        try:
            traced = decompose.trace(function, args, kwargs, self.fake_mode, is_tensor=lambda leaf: isinstance(leaf, (Tensor, *PAIRS)))
        except (IndexError, RuntimeError) as error:
            if any(isinstance(leaf, Tensor) and 0 in leaf.shape for leaf in leaves):
                raise Unsupported(f"a tensor has no elements: {error}") from error
            raise
        calls = [inner for inner in traced.graph.nodes if inner.op == "call_function"]
        if not of_one_value and str(node.target) not in RECIPES and any(functional_name(str(inner.target)) == target for inner in calls):
            raise Unsupported("no rule and no decomposition")
        self._traces[key] = traced
        return traced

    def apply(self, function: Callable[..., Any], *args: Any) -> Any:
        """The results of a torch function of tensors; None stands for an operand that is not there."""
        key = (function, *((leaf.shape, leaf.dtype) if isinstance(leaf, Tensor) else leaf for leaf in args))
        if key not in self._traces:
            self._traces[key] = decompose.trace(function, args, {}, self.fake_mode, is_tensor=lambda leaf: isinstance(leaf, Tensor), stack_traces=True)
        return self._expand(self._traces[key], args, {})

    @contextmanager
    def within(self, cls: type, name: str, text: str) -> Iterator[None]:
        """Ops within are made by the line of the class's forward that begins with `text`. name: of the call."""
        outer = self.info
        self.info = self.sources.inside(outer, cls, name, line_of(cls, text), outer.op if outer is not None else "")
        try:
            yield
        finally:
            self.info = outer

    @contextmanager
    def step(self, cell: type, name: str) -> Iterator[None]:
        """Ops of `apply` within are one step of a recurrent layer: one call of the cell's function. name: of its result."""
        self._steps += 1
        self._cell = (cell, f"{name}@{FIRST_STEP + self._steps}")
        try:
            yield
        finally:
            self._cell = None

    # --- errors ---------------------------------------------------------------------------------------------------------

    def _fail(self, node: fx.Node, target: str, reason: str) -> Any:
        """Notes an unsupported op and goes on with values of the right type, so that all of them are reported at once."""
        name = getattr(node.target, "__name__", "").partition(".")[0]
        reason = _WHY.get(name, reason)
        record = self.unsupported.setdefault((target, reason), [0, self.location()])
        record[0] += 1

        def stand_in(val: Any) -> Any:
            if not isinstance(val, torch.Tensor):
                return val
            dtype = val.dtype if is_known(val.dtype) else torch.float32
            return Tensor(self, val.shape, val.dtype, self.emit("empty", [], shape=tuple(val.shape), dtype=dtype).ssa)

        return fx.node.map_aggregate(node.meta.get("val"), stand_in)


def _known(x: Tensor) -> torch.Tensor | None:
    """The values, where they are known: a tensor without elements has no unknown ones."""
    return torch.empty(x.shape, dtype=x.dtype) if x.const is None and 0 in x.shape else x.const


def _call(op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """op(*args): a folded tensor may have other strides than the traced one, which some views mind."""
    try:
        return op(*args, **kwargs)
    except RuntimeError:
        return op(*[arg.contiguous() if isinstance(arg, torch.Tensor) else arg for arg in args], **kwargs)


# --- helpers without state --------------------------------------------------------------------------------------------------


def flatten(args: Any) -> list[Any]:
    """Leaves of nested tuples, lists and dicts, in order."""
    out: list[Any] = []

    def visit(part: Any) -> None:
        if isinstance(part, (tuple, list)) and not isinstance(part, (torch.Size, *PAIRS)):
            for child in part:
                visit(child)
        elif isinstance(part, dict):
            for child in part.values():
                visit(child)
        else:
            out.append(part)

    visit(args)
    return out


def is_complex(val: Any) -> bool:
    if isinstance(val, (list, tuple)) and not isinstance(val, Words):
        return isinstance(val, Pair) or any(is_complex(part) for part in val)
    return isinstance(val, (torch.Tensor, Tensor)) and val.dtype.is_complex


def functional_name(target: str) -> str:
    """`aten.relu_.default` -> `aten.relu.default`; names like `aten.__and__.Tensor` stay."""
    parts = target.split(".")
    if len(parts) == 3 and parts[1].endswith("_") and not parts[1].endswith("__"):
        parts[1] = parts[1][:-1]
    return ".".join(parts)


def only_checked(node: fx.Node) -> bool:
    """Whether a number read from a tensor goes into assertions alone, which programs do not have."""
    todo, seen = [node], set()
    while todo:
        for user in todo.pop().users:
            number = isinstance(user.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool | bool | int | float)
            if str(user.target) in SKIPPED or user in seen:
                continue
            if not number or isinstance(user.target, torch._ops.OpOverload):
                return False
            seen.add(user)
            todo.append(user)
    return True


def has_symbols(val: Any) -> bool:
    if isinstance(val, torch.Tensor):
        return any(not isinstance(size, int) for size in val.shape)
    if isinstance(val, (list, tuple)):
        return any(has_symbols(part) for part in val)
    return isinstance(val, (torch.SymInt, torch.SymFloat, torch.SymBool))
