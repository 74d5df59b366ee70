"""StableHLO -> TTIR: private functions are inlined, constants folded, loops with a static trip count unrolled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from alchemist.errors import FrontendError, InternalError, UnsupportedOpError
from alchemist.frontends.base import initial_name
from alchemist.frontends.stablehlo.jax_locations import Sources, nested
from alchemist.frontends.stablehlo.shardings import Meshes, Sharding, annotated, constrained, facts_of, on_arguments
from alchemist.frontends.stablehlo.stacked_weights import Loop, Slab, split_stacked
from alchemist.frontends.stablehlo.values import Array, Emitter, Unsupported, Val
from alchemist.ir import access
from alchemist.ir.attribute_classes import enum
from alchemist.ir.attributes import OpaqueAttr, tensor, to_python
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.location import Frame, Scope, SourceInfo, place_of
from alchemist.ops.expand import MESHES

UNROLL_LIMIT = 200_000
"""Largest number of ops that loops may unroll to."""

Rule = Callable[["Converter", Operation, list[Val]], "Val | Sequence[Val]"]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers the conversion of these ops ("stablehlo.add")."""

    def add(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return add


def prop(op: Operation, name: str, default: Any = None) -> Any:
    """An attribute as a plain value (arrays as tuples of ints)."""
    value = op.properties.get(name)
    if value is None:
        return default
    plain = to_python(value)
    if isinstance(value, DenseArrayBase | ArrayAttr):
        return tuple(plain)
    return plain


def type_of(value: SSAValue | Attribute) -> tuple[tuple[int, ...], str]:
    """(shape, element name) of a tensor value or type."""
    return access.shape(value), access.element_type(value)


@dataclass(slots=True)
class Refused:
    op: str
    location: str
    reason: str
    hint: str = ""


@dataclass(slots=True)
class Converted:
    """The TTIR module. files: name as in `Frame.file` -> path, for every frame seen. starts: values of the arguments added for loops.

    slabs: arguments that stand for slabs of a stacked one.
    """

    module: ModuleOp
    files: dict[str, str]
    starts: dict[str, Array]
    slabs: list[Slab]


@dataclass(frozen=True, slots=True)
class Input:
    """How argument i of `@main` appears in the TTIR function. kind: input | parameter | constant.

    bounds: the smallest and largest of its whole numbers in the call that is exported, None where that call is not known.
    """

    name: str
    kind: str
    bounds: tuple[int, int] | None = None


@dataclass(slots=True)
class Round:
    """One iteration of a loop that is being unrolled.

    depth: scopes around the loop. suffix: marks those inside. step: class name of a scope of its own for the body, "" where the
    model has a function for it.
    """

    depth: int
    suffix: str
    step: str = ""

    def inside(self, info: SourceInfo) -> SourceInfo:
        outer, inner = info.scopes[: self.depth], info.scopes[self.depth :]
        path = outer[-1].path.partition("@")[0] if outer else ""
        own = (Scope(path + self.suffix, self.step),) if self.step else ()
        return replace(info, scopes=(*outer, *own, *(Scope(scope.path + self.suffix, scope.class_name) for scope in inner)))


@dataclass(slots=True)
class Stack:
    """A buffer that a loop writes slab by slab and nothing reads before its end. pieces: first index -> slab."""

    base: Val
    pieces: dict[int, Val]
    axis: int = 0


class Converter:
    """State of one conversion."""

    def __init__(self, module: ModuleOp, emitter: Emitter, sources: Sources, names: Collection[str]) -> None:
        """names: of the arguments."""
        self.functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, FuncOp)}
        self.e = emitter
        self.sources = sources
        self.names = names
        self.refused: list[Refused] = []
        self.converted = 0
        self.inputs: set[SSAValue] = set()  # arguments that are not weights
        self.bounds: dict[SSAValue, tuple[int, int]] = {}  # of the arguments' whole numbers, where they are known
        self.clamped: set[Operation] = set()  # look-ups that clamp their indices
        self.rounds: list[Round] = []
        self.stacks: list[Stack] = []
        self.loops: list[Loop] = []  # outermost ones
        self.starts: list[tuple[str, Array]] = []  # arguments added for the first values of loops
        self.may_add_arguments = False
        self.meshes = Meshes(module)
        self.is_local = False  # whether values are a chip's parts
        self.shardings: dict[SSAValue, Sharding] = {}  # of StableHLO's values, as custom calls say
        self._calls: dict[str, int] = {}
        for op in module.walk():
            if op.name == "func.call":
                name = self.callee(op)
                self._calls[name] = self._calls.get(name, 0) + 1
        self._env: dict[SSAValue, Val] = {}
        self._call: SourceInfo | None = None
        self._base: tuple[Scope, ...] | None = None  # scopes around the private function in hand
        self._frames: tuple[Frame, ...] = ()
        self._suffix = ""
        self._visits: dict[Operation, int] = {}  # how often an op with a recorded value was converted
        self._value = ""
        self.depth = 0

    @staticmethod
    def callee(op: Operation, key: str = "callee") -> str:
        target = op.properties[key]
        return target.root_reference.data if isinstance(target, SymbolRefAttr) else ""

    # --- walking ---

    def block(self, block: Block, arguments: Sequence[Val], env: dict[SSAValue, Val] | None = None) -> list[Val]:
        """Converts the ops of a block; returns what its terminator returns. env: outer values for nested regions."""
        outer = self._env
        self._env = dict(env or {})
        self._env.update(zip(block.args, arguments, strict=True))
        try:
            for op in block.ops:
                operands = [self._env[value] for value in op.operands]
                if op.name in ("func.return", "stablehlo.return", "sdy.return"):
                    return operands
                for result, val in zip(op.results, self.op(op, operands), strict=True):
                    self._env[result] = val
            raise InternalError("a block without return")
        finally:
            self._env = outer

    def region(self, op: Operation, index: int, arguments: Sequence[Val]) -> list[Val]:
        """Inlines region `index` of `op`."""
        made = self.block(op.regions[index].blocks[0], arguments, self._env)
        if self.sources.labels is not None and isinstance(self.e.source, SourceInfo):
            self.e.source = replace(self.e.source, name="")  # what `op` itself does with the results has no value of its own
        return made

    def op(self, op: Operation, operands: list[Val]) -> list[Val]:
        self.converted += 1
        plain = self._labelled(op, self._origin(op))
        info = plain
        for one in self.rounds:
            info = one.inside(info)
        self.e.source = info
        if op.name == "func.call":
            return self.call(self.callee(op), operands, plain)
        found = RULES.get(op.name)
        try:
            if found is None:
                raise Unsupported("no conversion to TTIR")
            empty = self._empty(op)
            made = empty or found(self, op, operands)
            results = [made] if isinstance(made, Val) else list(made)
            if len(results) != len(op.results):
                raise Unsupported(f"{len(op.results)} results, where {len(results)} are known")
            if "sdy.sharding" in op.properties or "mhlo.sharding" in op.properties:
                results = self._placed(op, results)
        except Unsupported as error:
            where = place_of(op) or f"{info.frames[-1].file}:{info.frames[-1].line}" if place_of(op) or info.frames else info.name
            self.refused.append(Refused(op.name, where, error.message, error.hint))
            results = [Val(*type_of(result), self.e.b.value("ttir.empty", [], {}, [tensor(*type_of(result))])) for result in op.results]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            if not place_of(op):
                raise
            # text that jaxlib did not verify: an attribute is missing or of another kind
            raise FrontendError(f"malformed op ({type(error).__name__}: {str(error)[:100]})", op=op.name, location=place_of(op)) from error
        for result, val in zip(op.results, results, strict=True):
            shape, of = type_of(result)
            if (val.shape, val.of) != (shape, of) and place_of(op):  # text that jaxlib could not verify
                raise FrontendError(
                    "the result's type does not follow from the operands and attributes",
                    op=op.name,
                    location=place_of(op),
                    expected=f"{val.shape} {val.of}",
                    got=f"{shape} {of}",
                )
            if (val.shape, val.of) != (shape, of):
                raise InternalError("conversion made another type", op=op.name, expected=f"{shape} {of}", got=f"{val.shape} {val.of}")
        return results

    def _placed(self, op: Operation, results: list[Val]) -> list[Val]:
        """The results of an op whose attributes say how they lie on the chips; custom calls do that by themselves."""
        if op.name == "stablehlo.custom_call" or self.is_local or self.meshes.chips == 1:
            return results
        given = self.meshes.shardings(op.properties.get("sdy.sharding"), len(results))
        if not given:
            return annotated(self, results, [op.properties]) if len(results) == 1 else results
        return [constrained(self, val, one) for val, one in zip(results, given, strict=True)]

    def _empty(self, op: Operation) -> list[Val]:
        """The results of an op all of which have no elements, if it computes nothing else."""
        types = [type_of(result) for result in op.results]
        if op.regions or not types or not all(0 in shape for shape, _ in types):
            return []
        return [self.e.const(np.zeros(shape), shape, of) for shape, of in types]

    def _labelled(self, op: Operation, info: SourceInfo) -> SourceInfo:
        """`info` with the name of the recorded value: the op's own, or that of the operation for which its function stands."""
        if self.sources.labels is None or not (info.name or self._value):
            return info
        self._visits[op] = count = self._visits.get(op, 0) + 1
        return replace(info, name=self._value or (info.name if count == 1 else f"{info.name}.{count}"))

    def _origin(self, op: Operation) -> SourceInfo:
        """Where an op comes from, iterations of loops apart. In a private function, locations only tell the scopes inside."""
        own = self.sources.of(op.location, op.name)
        call = self._call
        self.depth = len(self._base) if self._base is not None else 0
        if self._base is None:
            self.depth = len(own.scopes)
            return own
        inner = own.scopes if own.scopes[:1] != self._base[:1] else own.scopes[len(self._base) :]
        inner = tuple(Scope(scope.path + self._suffix, scope.class_name) for scope in inner)
        scopes = tuple(nested([*self._base, *inner]))
        self.depth = len(scopes)
        if call is None:
            outer = self._frames
            inside = own.frames if not outer or own.frames[:1] == outer[:1] else (*outer, *own.frames)
            return replace(own, scopes=scopes, frames=inside)
        frames = call.frames
        if any("@" in scope.path for scope in inner) and len(own.frames) > len(frames):
            frames = (*frames, *own.frames[len(frames) :])  # lines of the function itself, below the line of this call
        return replace(call, scopes=scopes, frames=frames, op=op.name, name=own.name or call.name, helper=own.helper or call.helper)

    def call(self, name: str, operands: list[Val], info: SourceInfo) -> list[Val]:
        """Inlines a private function. Called once, its ops keep their own lines; otherwise they get those of the call."""
        function = self.functions.get(name)
        if function is None:
            raise Unsupported(f"@{name} is not defined")
        outer = self._call, self._base, self._suffix, self._frames, self._value
        if self.sources.labels is not None:
            self._value = info.name
        if self._call is not None or self._calls.get(name, 0) > 1 or not self._has_frames(function):
            self._call = info
            self._suffix = f"@{self.converted + 2_000_000}"
        self._base, self._frames = info.scopes, info.frames
        around = self.rounds[-1] if self.rounds and name.startswith("closed_call") and not self.rounds[-1].step else None
        if around is not None and around.depth == len(info.scopes):
            around.step = self._step_name(function)
        else:
            around = None
        try:
            return self.block(function.body.blocks[0], operands)
        finally:
            self._call, self._base, self._suffix, self._frames, self._value = outer
            if around is not None:
                around.step = ""

    def _step_name(self, function: FuncOp) -> str:
        """What the body of a loop is called: "" where the model has a function for it, else by the module that it calls."""
        scopes = [self.sources.of(op.location, op.name).scopes for op in function.body.blocks[0].ops if op.operands and op.results]
        firsts = {one[0] for one in scopes if one}
        if all(scopes) and len(firsts) == 1 and "@" in next(iter(firsts)).path:
            return ""
        classes = Counter(one[-1].class_name.rpartition(".")[2] for one in scopes if one)
        return classes.most_common(1)[0][0] if classes else "step"

    def _has_frames(self, function: FuncOp) -> bool:
        return any(self.sources.of(op.location, op.name).frames for op in function.body.blocks[0].ops)

    # --- regions of reductions and loops ---

    def known(self, value: SSAValue) -> Val | None:
        """What an outer value of the region in hand is."""
        return self._env.get(value)

    def add_argument(self, array: Array, shape: tuple[int, ...], of: str) -> Val:
        """A tensor that is stored beside the weights, and that nothing is computed with before the first call."""
        name = initial_name(len(self.starts), self.names)
        self.starts.append((name, array))
        block = self.e.b.block
        return Val(shape, of, block.insert_arg(tensor(shape, of), len(block.args)))

    def is_fixed(self, val: Val) -> bool:
        """Whether the value comes from weights and constants alone."""
        pending, seen = [val.ssa], set()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in self.inputs:
                return False
            pending += value.op.operands if isinstance(value, OpResult) else []
        return True

    def check_budget(self) -> None:
        if self.converted > UNROLL_LIMIT:
            raise FrontendError(f"loops unroll to more than {UNROLL_LIMIT} operations", hint="use fewer steps, or export one step")


def _erase_dead(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if op.results and has_trait(op, "pure") and not any(result.first_use for result in op.results):
            block.erase_op(op)


def convert(
    module: ModuleOp,
    inputs: Sequence[Input],
    outputs: Sequence[str],
    *,
    entry: str = "main",
    sources: Sources | None = None,
    may_add_arguments: bool = False,
) -> Converted:
    """TTIR module with `@forward` of a StableHLO module.

    inputs: one per argument of `entry`. outputs: result names. may_add_arguments: the first values of loops may become
    arguments of kind `default` behind the others.

    Raises:
        UnsupportedOpError: all ops without conversion, at once.
    """
    from alchemist.rewrite.driver import Rules
    from alchemist.rules.activations import JAX_FUNCTIONS
    from alchemist.rules.layers import LAYERS
    from alchemist.rules.norms import SOFTMAX

    sources = sources or Sources()
    main = next(op for op in module.walk() if isinstance(op, FuncOp) and op.sym_name.data == entry)
    args = main.body.blocks[0].args
    typed = [(given.name, tensor(*type_of(arg)), given.kind, None) for given, arg in zip(inputs, args, strict=True)]
    builder = Builder.module("forward", typed)
    emitter = Emitter(builder)
    converter = Converter(module, emitter, sources, {given.name for given in inputs})
    converter.may_add_arguments = may_add_arguments
    converter.inputs.update(value for given, value in zip(inputs, builder.args, strict=True) if given.kind == "input")
    converter.bounds = {value: given.bounds for given, value in zip(inputs, builder.args, strict=True) if given.bounds}
    vals = [Val(*type_of(arg), ssa=value) for arg, value in zip(args, builder.args, strict=True)]
    try:
        vals = annotated(converter, vals, facts_of(main, "arg_attrs"))
        results = annotated(converter, converter.block(main.body.blocks[0], vals), facts_of(main, "res_attrs"))
    except Unsupported as error:  # what attributes of the function say
        raise FrontendError(error.message, op="func.func", location=place_of(main), hint=error.hint) from None
    _raise_refused(converter.refused)
    emitter.source = None
    values = [emitter.full(val) for val in results]
    builder.ret(values, list(outputs))
    added = [(name, "default") for name, _ in converter.starts]
    slabs: list[Slab] = []
    if may_add_arguments:
        slabs = split_stacked(builder, [given.name for given in inputs], [given.kind for given in inputs], converter.loops)
        added += [(slab.name, "parameter") for slab in slabs]
    if converter.meshes.chips > 1 and builder.func is not None:
        on_arguments(builder.func)
        rows, columns = converter.meshes.extents
        builder.module_op.attributes[MESHES] = OpaqueAttr(("#ttcore.meshes", f'<[<"mesh" = {rows}x{columns}>]>'))
    Rules("ttir", *JAX_FUNCTIONS.rules, *LAYERS.rules, SOFTMAX).apply(builder.module_op)
    _erase_dead(builder.block)
    _describe(builder, added)
    _drop_unused(builder, [*(given.kind for given in inputs), *(kind for _, kind in added)])
    return Converted(builder.module_op, sources.files, dict(converter.starts), slabs)


def _describe(builder: Builder, added: Sequence[tuple[str, str]]) -> None:
    """Attributes of the arguments that were added: their names and kinds."""
    if builder.func is None or not added:
        return
    given = builder.func.properties.get("arg_attrs")
    described = list(given.data) if isinstance(given, ArrayAttr) else [DictionaryAttr({})] * (len(builder.block.args) - len(added))
    described += [DictionaryAttr({"ttcore.argument_type": enum("ttcore.argument_type", kind), "ttir.name": StringAttr(name)}) for name, kind in added]
    builder.func.properties["arg_attrs"] = ArrayAttr(described)


def _drop_unused(builder: Builder, kinds: Sequence[str]) -> None:
    """Removes parameters that nothing reads; inputs stay, the caller passes them."""
    func = builder.func
    if func is None:
        return
    given = func.properties.get("arg_attrs")
    described = list(given.data) if isinstance(given, ArrayAttr) else []
    for index in reversed(range(len(kinds))):
        if kinds[index] != "input" and not builder.block.args[index].first_use:
            builder.block.erase_arg(builder.block.args[index])
            described.pop(index)
    func.properties["arg_attrs"] = ArrayAttr(described)
    outputs = func.function_type.outputs.data
    func.properties["function_type"] = FunctionType.from_lists([a.type for a in builder.block.args], outputs)


def _raise_refused(refused: Sequence[Refused]) -> None:
    if not refused:
        return
    grouped: dict[tuple[str, str], list[Refused]] = {}
    for item in refused:
        grouped.setdefault((item.op, item.reason), []).append(item)
    rows = tuple((op, len(items), items[0].location, reason) for (op, reason), items in grouped.items())
    hints = "; ".join(dict.fromkeys(item.hint for item in refused if item.hint))
    raise UnsupportedOpError(f"{len(refused)} operations cannot be converted", ops=rows, hint=hints)


def constant_value(op: Operation) -> Array:
    """The array of a stablehlo.constant, compact where it is a splat."""
    value = op.properties["value"]
    array = to_python(value)
    if not isinstance(array, np.ndarray):
        raise Unsupported("a constant that is not dense")
    return array


__all__ = ["RULES", "Converted", "Converter", "Input", "constant_value", "convert", "prop", "rule", "type_of"]
