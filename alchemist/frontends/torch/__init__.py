"""PyTorch front end: `capture` exports a module or function and lowers the ATen graph to TTIR."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.utils import _pytree as pytree
from xdsl.ir import Operation

from alchemist.errors import FrontendError, InputError, UnsupportedOpError
from alchemist.frontends.base import FRAMEWORK_LOCK, Argument, FrontendResult, Output, distinct
from alchemist.frontends.torch import rules as _rules
from alchemist.frontends.torch.aliasing import written_placeholders
from alchemist.frontends.torch.complex_numbers import Pair
from alchemist.frontends.torch.data_values import refuse_open
from alchemist.frontends.torch.dtypes import numpy_name, to_numpy
from alchemist.frontends.torch.emitter import INLINE_LIMIT, Tensor
from alchemist.frontends.torch.errors import EVAL_FIRST, Unsupported
from alchemist.frontends.torch.export import (
    FunctionModule,
    as_root,
    call_leaves,
    export,
    fails_on_arguments,
    function_code,
    input_names,
    kept,
    output_names,
    refuse_options_of_torch,
    separate,
    warn_of_training,
)
from alchemist.frontends.torch.integer_words import Words
from alchemist.frontends.torch.lowering import Lowering, flatten
from alchemist.frontends.torch.node_locations import Sources
from alchemist.frontends.torch.structure import structure_of
from alchemist.frontends.torch.training import takes_gradients
from alchemist.frontends.torch.wide_integers import checked, refused, wide_nodes
from alchemist.ir.access import entry_function, mark_written
from alchemist.ir.location import sources_of

__all__ = ["capture"]
_ = _rules
_KINDS = {InputKind.PARAMETER: "parameter", InputKind.BUFFER: "parameter", InputKind.CONSTANT_TENSOR: "constant"}


@dataclass(slots=True)
class _Place:
    """A placeholder of the exported graph."""

    node: fx.Node
    name: str
    kind: str  # "input" | "parameter" | "constant" | "static"
    value: Any  # tensor, or the number of a static input
    target: str = ""
    buffer: bool = False


def capture(model: torch.nn.Module | Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> FrontendResult:
    """Exports `model(*args, **kwargs)` and lowers it to TTIR.

    Errors: FrontendError (control flow on values, shapes that depend on data), UnsupportedOpError (all ops without a rule),
    InputError (arguments that do not fit).
    """
    if not callable(model):
        raise FrontendError("the model is neither a torch.nn.Module nor a function", got=type(model).__name__)
    with FRAMEWORK_LOCK:
        return _capture(model, tuple(args), dict(kwargs or {}))


def _capture(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> FrontendResult:
    root, function = as_root(model)
    refuse_options_of_torch(function, kwargs)
    wrapped = isinstance(root, FunctionModule)
    name = getattr(model, "__name__", type(model).__name__) if wrapped else type(model).__name__
    warn_of_training(root)
    _refuse_arrays(args, kwargs, function)
    _refuse_not_dense(root, args, kwargs)
    (plain_args, plain_kwargs), originals = separate((args, kwargs), [*root.parameters(), *root.buffers()])
    program = export(root, plain_args, plain_kwargs)
    code = function_code(root)
    sources = Sources(root, str(getattr(model, "__qualname__", name)), "" if not wrapped else code.co_name if code is not None else name)
    sources.note_shared(program.graph)
    places = _placeholders(program, root, function, originals)
    lowering, env, declared = _prepare(program, places, sources)
    lowering.wide = wide_nodes(program.graph_module, [place.value for place in places])
    values, mutations = _lower(program, lowering, env, places)
    names = output_names(program, function)
    _refuse_complex(names, values)
    _refuse_wide(names, values)
    users = [(label, value) for label, value in zip(names, values, strict=True) if isinstance(value, Tensor)]
    labels = distinct([*(label for label, _ in users), *(place.name for place, _ in mutations)])
    tensors = [value for _, value in users] + [value for _, value in mutations]
    _check_supported(lowering)
    written = {place.name for place, _ in mutations}
    keep = {i for i, place in enumerate(declared) if place.kind == "input" or place.name in written}
    module, kept_arguments = lowering.finish(tensors, labels, keep)
    arguments = [_argument(place) for place in declared] + [
        Argument(c.name, "constant", tuple(c.value.shape), numpy_name(c.value.dtype), partial(to_numpy, c.value)) for c in lowering.lifted
    ]
    mutated = [""] * len(users) + [place.name for place, _ in mutations]
    outputs = [Output(label, value.shape, numpy_name(value.dtype), mutates) for label, value, mutates in zip(labels, tensors, mutated, strict=True)]
    mark_written(entry_function(module), written)
    runner = _Golden(root, args, kwargs, program, [place for place, _ in mutations], places, bool(lowering.wide))
    class_sources = sources.class_sources()
    return FrontendResult(
        module=module,
        framework="torch",
        model_name=str(name).replace("<lambda>", "function"),
        arguments=[arguments[i] for i in kept_arguments],
        outputs=outputs,
        golden=runner.outputs,
        stages={"fx": lambda: program.graph_module.print_readable(print_output=False)},
        source_files=sources.source_files(),
        class_sources=class_sources,
        made_from=_made_from(root),
        golden_ops=runner.ops,
        moved_by_rounding=runner.moved_by_rounding,
        call=call_leaves(pytree.tree_flatten((args, kwargs)), function),
        structure=structure_of(root),
        numbers=_numbers(root),
    )


def _numbers(root: torch.nn.Module) -> dict[str, dict[str, float]]:
    """Module path -> its attributes that are Python floats: rates, scales, epsilons."""
    return {path: {name: value for name, value in vars(module).items() if type(value) is float} for path, module in root.named_modules()}


def _refuse_arrays(args: tuple[Any, ...], kwargs: dict[str, Any], function: Callable[..., Any]) -> None:
    """Raises InputError for numpy arrays, which torch.export calls an unsupported type."""
    flat = pytree.tree_flatten((args, kwargs))
    arrays = [value for value in flat[0] if isinstance(value, np.ndarray)]
    if arrays:
        first = arrays[0]
        names = [leaf.name for leaf, value in zip(call_leaves(flat, function), flat[0], strict=True) if isinstance(value, np.ndarray)]
        got = f"numpy {first.dtype} {list(first.shape)} for {', '.join(names)}"
        raise InputError("a numpy array as an argument of a torch model", expected="torch tensors", got=got, hint=f"torch.from_numpy({names[0]})")


def _refuse_not_dense(root: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises InputError for sparse, quantised and nested arguments and weights: torch.export takes some of them, what it makes of them nothing can."""
    for name, module in root.named_modules():
        kind = type(module).__module__
        if kind.startswith(("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized", "torch.nn.quantized")):
            hint = 'export the model before quantization; precision="bfp8" stores weights in 8 bits (docs/options.md)'
            raise InputError("a quantized module", expected="modules with float weights", got=f"{name}: {type(module).__qualname__} of {kind}", hint=hint)
    leaves = [(pytree.keystr(path[1:]), leaf) for path, leaf in pytree.tree_flatten_with_path((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
    for name, value in [*((f"argument {path}", leaf) for path, leaf in leaves), *root.named_parameters(), *root.named_buffers()]:
        if value.layout != torch.strided or value.is_quantized or value.is_nested:
            kind = "quantised" if value.is_quantized else "nested" if value.is_nested else str(value.layout).removeprefix("torch.")
            hint = {"quantised": "pass x.dequantize()", "nested": "pass a padded tensor and a mask"}.get(kind, "pass x.to_dense()")
            raise InputError("a tensor that is not dense", expected="dense tensors", got=f"{name}: {kind}, {value.dtype}", hint=hint)


def _refuse_complex(names: Sequence[str], values: Sequence[Any]) -> None:
    """Raises FrontendError for outputs that no device tensor can hold."""
    complex_names = [name for name, value in zip(names, values, strict=True) if isinstance(value, Pair)]
    complex_names += [name for name, value in zip(names, values, strict=True) if isinstance(value, Tensor) and value.dtype.is_complex]
    if complex_names:
        hint = "return torch.view_as_real(...), or the real and imaginary parts as two outputs"
        raise FrontendError("a complex output", expected="real outputs, because the device has no complex numbers", got=", ".join(complex_names), hint=hint)


def _refuse_wide(names: Sequence[str], values: Sequence[Any]) -> None:
    """Raises FrontendError for an output beyond 32 bits."""
    for name, value in zip(names, values, strict=True):
        if isinstance(value, Words):
            maker = value.low.ssa.owner
            frames = [frame for info in sources_of(maker) for frame in info.frames] if isinstance(maker, Operation) else []
            location = f"{frames[-1].file}:{frames[-1].line}" if frames else ""
            hint = "return its two words, (x >> 32).to(torch.int32) and x.to(torch.int32), or x.to(torch.float32)"
            raise refused("", location, f"the output {name}, int64", hint)


def _made_from(root: torch.nn.Module) -> dict[str, str]:
    """Versions of torch and of the packages that the model's classes come from."""
    out = {"torch": str(torch.__version__)}
    for package in sorted({type(module).__module__.partition(".")[0] for module in root.modules()}):
        if package in ("torch", "__main__", "alchemist", "builtins"):
            continue
        try:
            version = getattr(importlib.import_module(package), "__version__", None)
        except ImportError:
            continue
        if isinstance(version, str):
            out[package] = version
    return out


# --- arguments ------------------------------------------------------------------------------------------------------------


def _placeholders(program: ExportedProgram, root: torch.nn.Module, function: Callable[..., Any], originals: Mapping[int, torch.Tensor]) -> list[_Place]:
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    user_names = iter(input_names(program, function))
    example_args, example_kwargs = program.example_inputs or ((), {})
    user_values = iter(pytree.tree_leaves((example_args, example_kwargs)))
    tied, memory = _first_names(root), _buffers(root)
    out = []
    for spec in program.graph_signature.input_specs:
        node = nodes[spec.arg.name]
        if spec.kind is InputKind.USER_INPUT:
            value, name = next(user_values), next(user_names)
            value = originals.get(id(value), value)
            out.append(_Place(node, name, "input" if isinstance(value, torch.Tensor) else "static", value))
            continue
        if spec.kind not in _KINDS:
            raise FrontendError(f"{spec.kind.name.lower()} arguments are not supported", got=str(spec.target))
        target = str(spec.target)
        value = program.state_dict.get(target)
        if value is None:
            value = program.constants.get(target)
        if not isinstance(value, torch.Tensor):
            raise FrontendError("the model contains a captured object that is not a tensor", got=f"{target}: {type(value).__name__}")
        if torch._C._functorch.is_functorch_wrapped_tensor(value):
            raise FrontendError(
                "the model computes a gradient that torch.export cannot capture",
                got=target,
                hint="write the formula of the gradient, or export the forward and the backward graph separately; JAX's grad is supported",
            )
        name = tied.get(id(value), target)
        kind, buffer = _KINDS[spec.kind], spec.kind is InputKind.BUFFER
        if spec.kind is InputKind.CONSTANT_TENSOR and _memory(value) in memory:
            name, kind, buffer = memory[_memory(value)], "parameter", True
        out.append(_Place(node, name, kind, value, target, buffer))
    inputs = {place.name for place in out if not place.target}
    for place in out:
        if place.target and place.name in inputs:  # forward(self, w) of a module with a parameter w
            place.name = distinct([f"self.{place.name}"], inputs)[0]
    return out


def _memory(value: torch.Tensor) -> tuple[int, torch.dtype, torch.Size]:
    return value.data_ptr(), value.dtype, value.shape


def _buffers(root: torch.nn.Module) -> dict[tuple[int, torch.dtype, torch.Size], str]:
    """Registered buffers by memory: torch.export lifts those that the model reaches through another object (a cache)."""
    return {_memory(value): name for name, value in root.named_buffers() if value.numel()}


def _first_names(root: torch.nn.Module) -> dict[int, str]:
    """id of a tied parameter -> its first name."""
    return {id(value): name for name, value in root.named_parameters()}


def _written(program: ExportedProgram) -> set[str]:
    """Names of placeholders that the graph writes to."""
    out = {node.name for node in written_placeholders(program.graph)}
    kinds = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)
    targets = {str(spec.target) for spec in program.graph_signature.output_specs if spec.kind in kinds}
    for spec in program.graph_signature.input_specs:
        if (spec.target if spec.target is not None else spec.arg.name) in targets:
            out.add(spec.arg.name)
    return out


def _is_constant(place: _Place, written: set[str]) -> bool:
    """Whether the value may be used while lowering: integer buffers and small tensors found in the graph, if never written."""
    if place.kind not in ("parameter", "constant") or place.name in written:
        return False
    if place.kind == "constant" and place.value.numel() <= INLINE_LIMIT:
        return True
    whole = place.value.dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
    return whole and (place.buffer or place.kind == "constant")


def _prepare(program: ExportedProgram, places: Sequence[_Place], sources: Sources) -> tuple[Lowering, dict[fx.Node, Any], list[_Place]]:
    """The lowering with its declared arguments (inputs first), and the values of the placeholders."""
    by_node = _written(program)
    written = {place.name for place in places if place.node.name in by_node}
    by_name: dict[str, _Place] = {}
    declared: list[_Place] = []
    for kind in ("input", "parameter", "constant"):
        for place in places:
            if place.kind != kind or (place.kind != "input" and (place.name in by_name or place.value.dtype.is_complex)):
                continue  # complex constants are split into parts where they are used
            if place.kind == "constant" and place.target.startswith("lifted_tensor"):
                user = next(iter(place.node.users), None)
                place.name = sources.variable(user) or place.target
                if place.name in by_name:
                    place.name = distinct([f"{place.name}_{place.target.removeprefix('lifted_tensor_')}"], by_name)[0]
            by_name[place.name] = place
            declared.append(place)
    try:
        lowering = Lowering(sources, [(p.name, tuple(p.value.shape), p.value.dtype, p.kind, None) for p in declared])
    except Unsupported as error:
        raise FrontendError(f"unsupported argument: {error}", hint="pass real floating-point, integer or boolean tensors") from error
    lowering.values = {place.node: place.value for place in places if place.kind in ("parameter", "constant") and place.name not in written}
    ssa = dict(zip((place.name for place in declared), lowering.builder.args, strict=True))
    lowering.stored = {ssa[place.name]: place.value for place in declared if place.kind != "input" and place.name not in written}
    inputs = [place for place in declared if place.kind == "input" and place.value.device.type != "meta"]
    whole = [place for place in inputs if not (place.value.is_floating_point() or place.value.is_complex())]
    lowering.negative_inputs = {ssa[place.name] for place in whole if place.value.dtype.is_signed and bool((place.value < 0).any())}
    env: dict[fx.Node, Any] = {}
    for place in places:
        if place.kind == "static":
            env[place.node] = place.value
            continue
        split = place.kind != "input" and place.value.dtype.is_complex
        constant = place.value.detach() if split or _is_constant(place, written) else None
        inline = split or (constant is not None and place.kind == "constant" and constant.numel() <= INLINE_LIMIT)
        env[place.node] = Tensor(lowering, place.value.shape, place.value.dtype, None if inline else ssa[place.name], constant)
    return lowering, env, declared


def _argument(place: _Place) -> Argument:
    kind: Any = place.kind
    value: torch.Tensor = place.value
    return Argument(place.name, kind, tuple(value.shape), numpy_name(value.dtype), partial(to_numpy, value), buffer=place.buffer)


# --- lowering -------------------------------------------------------------------------------------------------------------


def _lower(program: ExportedProgram, lowering: Lowering, env: dict[fx.Node, Any], places: Sequence[_Place]) -> tuple[list[Any], list[tuple[_Place, Tensor]]]:
    """Values of the user outputs in order (numbers and None included) and the new values of written placeholders."""
    before = {place.node: env[place.node] for place in places}
    try:
        results = flatten(lowering.run(program.graph, env, program.graph_module))
    except Unsupported as error:
        raise FrontendError(str(error), location=lowering.location()) from error
    refuse_open(results)
    by_target = {place.target or place.node.name: place for place in places} | {p.node.name: p for p in places}
    values: list[Any] = []
    mutations: list[tuple[_Place, Tensor]] = []
    for spec, result in zip(program.graph_signature.output_specs, results, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT:
            values.append(result if isinstance(spec.arg, TensorArgument) else None)
        elif spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION):
            mutations.append((by_target[str(spec.target)], result))
        else:
            raise FrontendError(f"{spec.kind.name.lower()} outputs are not supported")
    for place in places:
        after = env[place.node]
        if after is not before[place.node] and isinstance(after, Tensor):
            mutations.append((place, after))
    return values, [(place, after) for place, after in mutations if not _is_scratch(place)]


def _is_scratch(place: _Place) -> bool:
    """A counter among the buffers that every call sets before it reads it, as static caches have one per layer: no call depends on the one before."""
    value = place.value
    set_anew = all(user.op == "output" or (user.target is torch.ops.aten.copy_.default and user.args[0] is place.node) for user in place.node.users)
    return place.kind != "input" and isinstance(value, torch.Tensor) and value.numel() == 1 and not value.is_floating_point() and set_anew


def _check_supported(lowering: Lowering) -> None:
    if not lowering.unsupported:
        return
    rows = tuple((op, count, where, reason) for (op, reason), (count, where) in lowering.unsupported.items())
    if all(reason.endswith(EVAL_FIRST) for *_, reason in rows):
        raise UnsupportedOpError("the model is in training mode, in which these ops are random", ops=rows, hint="call model.eval() before the export")
    raise UnsupportedOpError(
        f"{len(rows)} ATen op{'s have' if len(rows) > 1 else ' has'} no rule",
        ops=rows,
        hint="replace these ops in the model, or add a rule in alchemist/frontends/torch/rules",
    )


# --- golden ---------------------------------------------------------------------------------------------------------------


def _array(value: torch.Tensor) -> np.ndarray[Any, Any]:
    """A copy as float32 or an integer array (booleans as uint8)."""
    if value.dtype.is_floating_point:
        value = value.to(torch.float32)
    elif value.dtype == torch.bool:
        value = value.to(torch.uint8)
    return np.array(to_numpy(value), copy=True)


@contextmanager
def _as_exported() -> Iterator[None]:
    """Without the fused path of torch.nn's transformers, which export does not take either: it returns zeros at masked places."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


ROUNDING_DRAWS = 3
"""Whole numbers change where values lie close to each other: one draw may leave them as they are."""

RESULT_BITS, WEIGHT_BITS = 11, 10
"""Significant bits of float32 operands that the matrix engine reads, of values and of weights (`round_weights`)."""


def _rounded(value: torch.Tensor, bits: int, noise: torch.Generator) -> torch.Tensor:
    """The value, each number off by up to half a unit of the last of so many significant bits, or of its dtype's where it has fewer."""
    if not value.is_floating_point() or value._is_view():
        return value
    unit = max(torch.finfo(value.dtype).eps, 2.0 ** (1 - bits))
    off = torch.rand(value.shape, generator=noise) * 2 - 1
    return (value.float() * (1 + off * unit / 2)).to(value.dtype)


def _distance(have: np.ndarray[Any, Any] | None, want: np.ndarray[Any, Any] | None) -> float:
    """Relative L2 distance, of whole numbers the share that differs; 0 where nothing is known."""
    if have is None or want is None or not want.size:
        return 0.0
    if want.dtype.kind != "f":
        return float(np.count_nonzero(have != want) / want.size)
    finite = np.isfinite(want) & np.isfinite(have)
    size = float(np.linalg.norm(want[finite]))
    return float(np.linalg.norm(have[finite] - want[finite])) / size if size else 0.0


@dataclass(slots=True)
class _Golden:
    """Runs the model itself on the captured inputs. Buffers and inputs that the model writes are restored afterwards."""

    model: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    program: ExportedProgram
    mutated: list[_Place]
    places: list[_Place]
    wide: bool  # whether the lowering computes integers beyond 32 bits

    def outputs(self) -> list[np.ndarray[Any, Any]]:
        with FRAMEWORK_LOCK:
            return self._outputs()

    def _outputs(self) -> list[np.ndarray[Any, Any]]:
        written = [place.value for place in self.mutated]
        with kept(written), torch.set_grad_enabled(takes_gradients(self.program.graph_module.graph)), _as_exported():
            args, kwargs = pytree.tree_map(lambda leaf: leaf, (self.args, self.kwargs))  # a cache anew: calls append to it
            try:
                with nullcontext() if self.wide else checked((args, kwargs), self.program.graph) as check:
                    result = self.model(*args, **kwargs)
                if check is not None:
                    check.refuse_wide((result, written))
            except FrontendError:
                raise
            except Exception as error:
                raise fails_on_arguments(self.model, error, self.args, self.kwargs) from error
            specs = [s for s in self.program.graph_signature.output_specs if s.kind is OutputKind.USER_OUTPUT]
            leaves = pytree.tree_leaves(result)
            arrays = [_array(leaf) for leaf, spec in zip(leaves, specs, strict=True) if isinstance(spec.arg, TensorArgument)]
            return arrays + [_array(value) for value in written]

    def ops(self) -> dict[str, np.ndarray[Any, Any]]:
        """Value of every FX node that is one tensor, by node name."""
        seen: dict[str, np.ndarray[Any, Any]] = {}

        def record(name: str, value: torch.Tensor) -> torch.Tensor:
            seen[name] = _array(value)
            return value

        self._run(record, self._values())
        return seen

    def moved_by_rounding(self) -> list[float]:
        """How far each output moves at most, by `_distance` in three draws, when each weight and each result is off as a device keeps it."""
        exact = self._graph_outputs(None)
        draws = [self._graph_outputs(torch.Generator().manual_seed(seed)) for seed in range(ROUNDING_DRAWS)]
        return [max(_distance(draw[place], value) for draw in draws) for place, value in enumerate(exact)]

    def _graph_outputs(self, noise: torch.Generator | None) -> list[np.ndarray[Any, Any] | None]:
        """What the exported graph gives in the order of `outputs`; with noise, all that it computes with is rounded once more."""
        values = self._values()
        if noise is not None:
            weights = (place.kind == "parameter" and isinstance(value, torch.Tensor) for place, value in zip(self.places, values, strict=True))
            values = [_rounded(value, WEIGHT_BITS, noise) if is_weight else value for is_weight, value in zip(weights, values, strict=True)]
        result = self._run(None if noise is None else lambda name, value: _rounded(value, RESULT_BITS, noise), values)
        pairs = list(zip(self.program.graph_signature.output_specs, result, strict=True))
        written = {str(spec.target): value for spec, value in pairs if spec.kind is not OutputKind.USER_OUTPUT}
        results = [value for spec, value in pairs if spec.kind is OutputKind.USER_OUTPUT and isinstance(spec.arg, TensorArgument)]
        in_place = {place.node: value for place, value in zip(self.places, values, strict=True)}
        results += [written.get(place.target or place.node.name, in_place[place.node]) for place in self.mutated]
        return [_array(value) if isinstance(value, torch.Tensor) else None for value in results]

    def _values(self) -> list[Any]:
        """Arguments of the exported graph, which may write to them."""
        return [place.value.detach().clone() if isinstance(place.value, torch.Tensor) else place.value for place in self.places]

    def _run(self, change: Callable[[str, torch.Tensor], torch.Tensor] | None, values: list[Any]) -> Any:
        """Runs the exported graph op by op; `change` takes a node's name and tensor and gives what the ops behind it read."""

        class Interpreter(fx.Interpreter):  # type: ignore[misc]
            def run_node(self, n: fx.Node) -> Any:
                value = super().run_node(n)
                return change(n.name, value) if change and n.op == "call_function" and isinstance(value, torch.Tensor) else value

        with torch.no_grad(), FRAMEWORK_LOCK:
            return Interpreter(self.program.graph_module).run(*values)
