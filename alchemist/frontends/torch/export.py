"""torch.export with errors that name the model's own line, and the names of inputs and outputs."""

from __future__ import annotations

import ast
import importlib
import inspect
import logging
import os
import re
import textwrap
import traceback
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.nn.utils.rnn import PackedSequence
from torch.utils import _pytree as pytree

from alchemist.errors import FrontendError, InputError, warn_user
from alchemist.frontends.base import CallLeaf, distinct, python_value
from alchemist.frontends.torch import caches, training
from alchemist.frontends.torch.aliasing import needs_functionalisation, secret_views, written_placeholders
from alchemist.frontends.torch.export_values import values_at_export
from alchemist.frontends.torch.node_locations import is_framework, relative_file
from alchemist.frontends.torch.running_statistics import cumulative_averages, update_running_statistics

_UNKNOWN_OUTPUT = re.compile(r"Found <class '(.+?)'> in output, which is not a known type")
_FILE = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_GRADIENT = re.compile(r"functorch|autograd|require grad|fake tensor in the exported program|no attribute 'constant'")
"""torch.export's error messages for a model that takes gradients."""
_STATIC = "every shape and branch must be known at export: use torch.cond, torch.where, fixed loop counts and Python numbers"
_DATA_DEPENDENT = ("GuardOnDataDependentSymNode", "DataDependentOutputException", "DynamicOutputShapeException")


class FunctionModule(torch.nn.Module):  # type: ignore[misc]
    """A function as a module, so that torch.export takes it. Modules that the function closes over keep their names."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function
        for name, module in _closed_over(function).items():
            self.add_module(name, module)
        self.forward = self._call
        self.train(any(module.training for module in self.children()))

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def function(self) -> Callable[..., Any]:
        return self._function


def _closed_over(function: Callable[..., Any]) -> dict[str, torch.nn.Module]:
    """Modules that a function reaches: its bound object, its closure, and globals that it names."""
    modules: dict[str, torch.nn.Module] = {}
    owner = getattr(function, "__self__", None)
    if isinstance(owner, torch.nn.Module):
        modules["model"] = owner
    plain = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(plain, "__code__", None)
    if code is not None:
        cells = zip(code.co_freevars, plain.__closure__ or (), strict=False)
        values = {name: cell.cell_contents for name, cell in cells}
        values |= {name: plain.__globals__[name] for name in code.co_names if name in plain.__globals__}
        modules |= {name: value for name, value in values.items() if isinstance(value, torch.nn.Module)}
    return {name: module for name, module in modules.items() if not hasattr(torch.nn.Module, name)}


def warn_of_training(model: torch.nn.Module) -> None:
    """Warns if the model's mode (training or eval), in which it is exported, changes results."""
    active = sorted(
        {
            type(module).__name__
            for module in model.modules()
            if module.training and (getattr(module, "p", 0) or isinstance(module, torch.nn.modules.batchnorm._BatchNorm))
        }
    )
    if active:
        warn_user(f"the model is in training mode and has {', '.join(active)}: call model.eval() to export for inference")


def export(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExportedProgram:
    """torch.export of the model as it is, with its gradients if it takes some; FrontendError with the model's line where it cannot be captured."""
    caches.register()
    try:
        try:
            program = _exported(model, args, kwargs)
            step = training.differentiated(model, args, kwargs) if training.has_wrapped(program.constants) else None
        except Exception as error:
            step = _as_step(model, args, kwargs) if _GRADIENT.search(str(error)) else None
            if step is None:
                raise
        program = _exported(step, args, kwargs) if step is not None else program
        update_running_statistics(program.graph_module)
        if needs_functionalisation(program.graph_module.graph) or _has_vmap(program.graph_module.graph):
            with warnings.catch_warnings(), _frames_of(model), _quiet():  # not under no_grad: torch then takes a path that does not export
                warnings.simplefilter("ignore")
                program = program.run_decompositions(_decompositions(secret_views(program.graph_module.graph)))
    except Exception as error:  # torch.export raises whatever the model's own code raises
        found = model_error(error)
        raise (_without_export(model, args, kwargs) if found.message.startswith(_FAILED) else None) or found from error
    return program


def _without_export(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> InputError | None:
    """The error that the model itself raises for these arguments; None if it runs. Buffers and arguments keep their values."""
    inner_args, inner_kwargs = pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, (args, kwargs))
    try:
        with kept(model.buffers()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model(*inner_args, **inner_kwargs)
    except Exception as error:  # noqa: BLE001 - whatever the model's own code raises
        return fails_on_arguments(model, error, args, kwargs)
    return None


@contextmanager
def kept(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """The tensors have their values and strides again when the block ends."""
    saved = [(tensor, tensor.detach(), tensor.detach().clone()) for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, before, values in saved:
                if tensor.shape != before.shape or tensor.stride() != before.stride():  # transposed in place
                    tensor.set_(before)
                tensor.detach().copy_(values)


def _decompositions(ops: set[torch._ops.OpOverload]) -> dict[torch._ops.OpOverload, Callable[..., Any]]:
    """torch's own of these ops, where it has one."""
    table = torch.export.default_decompositions() if ops else {}
    return {op: table[op] for op in ops if op in table}


def _exported(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExportedProgram:
    program, read = _traced(model, args, kwargs, model)
    buffers = program.graph_signature.inputs_to_buffers
    if read & {buffers.get(node.name) for node in written_placeholders(program.graph)}:  # later calls read other values than the export did
        program, _ = _traced(model, args, kwargs, None)
    return program


def _traced(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], known: torch.nn.Module | None) -> tuple[ExportedProgram, set[str]]:
    """The program, and the buffers of `known` whose values it has taken for constants."""
    with (
        torch.no_grad(),
        warnings.catch_warnings(),
        _frames_of(model),
        _masks_as_given(),
        _quiet(),
        cumulative_averages(model),
        values_at_export(known) as read,
    ):
        warnings.simplefilter("ignore")
        return torch.export.export(model, args, kwargs, strict=False), read


def _as_step(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.nn.Module | None:
    """The model with its gradients as ops; None if it takes none or cannot be traced either: the first error says more then."""
    try:
        with warnings.catch_warnings(), _frames_of(model), _quiet():
            warnings.simplefilter("ignore")
            return training.differentiated(model, args, kwargs)
    except Exception:  # noqa: BLE001 - whatever the model's own code raises
        return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps torch from printing the graph above an error, which reports the same with the model's own line."""
    logger = logging.getLogger("torch")
    loggers = [logger, *(log for name, log in list(logging.root.manager.loggerDict.items()) if name.startswith("torch.") and isinstance(log, logging.Logger))]
    before = [log.disabled for log in loggers]
    if os.environ.get("TORCH_LOGS"):  # asked for
        yield
        return
    names = vars(importlib.import_module("torch.export._trace"))  # it prints with the built-in function, which a name of the module hides
    names["print"] = lambda *_, **__: None
    for item in loggers:
        item.disabled = True
    try:
        yield
    finally:
        names.pop("print", None)
        for item, was in zip(loggers, before, strict=True):
            item.disabled = was


def _has_vmap(graph: torch.fx.Graph) -> bool:
    """Whether the graph contains calls of torch.vmap, which torch's decomposition runs."""
    return any(getattr(node.target, "__name__", "") == "_add_batch_dim" for node in graph.nodes)


@contextmanager
def _frames_of(model: torch.nn.Module) -> Iterator[None]:
    """torch records only frames of functions called `forward`; this adds those of a wrapped function, and of the functions that the last one calls."""
    anchors: set[Any] = getattr(torch.fx.proxy, "_STACK_TRACE_ANCHORS", set())
    code = function_code(model)
    entry = (code.co_filename, code.co_name) if code is not None else None
    is_known = entry is None or entry in anchors
    tracer = torch.fx.proxy.TracerBase
    filtered = getattr(tracer, "_filter_traceback_frames", None)

    def with_helpers(self: Any, stack: traceback.StackSummary) -> traceback.StackSummary:
        assert filtered is not None
        frames = [frame for frame in filtered(self, stack) if not is_framework(frame.filename)]
        place = next((index for index, frame in enumerate(stack) if frames and frame is frames[-1]), len(stack))
        return traceback.StackSummary.from_list([*frames, *(frame for frame in stack[place + 1 :] if not is_framework(frame.filename))])

    if not is_known:
        anchors.add(entry)
    if filtered is not None:
        tracer._filter_traceback_frames = with_helpers
    try:
        yield
    finally:
        if not is_known:
            anchors.discard(entry)
        if filtered is not None:
            tracer._filter_traceback_frames = filtered


def function_code(model: torch.nn.Module) -> CodeType | None:
    """Of the function that the model wraps, if it does."""
    function = model.function if isinstance(model, FunctionModule) else None
    return getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None) if function else None


@contextmanager
def _masks_as_given() -> Iterator[None]:
    """torch.nn's transformer compares a mask's values to see whether it is causal; while tracing, only `is_causal` counts."""
    module = torch.nn.modules.transformer
    before = module._detect_is_causal_mask

    def given(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
        return bool(is_causal)

    module._detect_is_causal_mask = given
    try:
        yield
    finally:
        module._detect_is_causal_mask = before


def separate(tree: Any, tensors_held: Collection[torch.Tensor]) -> tuple[Any, dict[int, torch.Tensor]]:
    """The arguments as tensors of their own, and copy id -> original.

    Copied are views (torch.export gives a view's base symbolic sizes), and a tensor that is there before, as another argument or
    as a parameter of the model (`tensors_held`): torch.export would make one input of both.
    """
    originals: dict[int, torch.Tensor] = {}
    seen = {id(tensor) for tensor in tensors_held}

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or (value._base is None and id(value) not in seen):
            seen.add(id(value))
            return value
        copy = value.detach().clone()
        originals[id(copy)] = value
        return copy

    return pytree.tree_map(leaf, tree), originals


def as_root(model: Any) -> tuple[torch.nn.Module, Callable[..., Any]]:
    """The module to export (a function becomes one) and the function with the signature that callers see."""
    if isinstance(model, ExportedProgram):
        model = model.module()
    if isinstance(model, torch.nn.Module):
        return model, model.forward
    return FunctionModule(model), model


def refuse_options_of_torch(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> None:
    """`dynamic_shapes=` is an argument of torch.export.export; here every keyword goes to the model.

    Raises:
        InputError: it is given, and the model has no parameter of that name.
    """
    if "dynamic_shapes" not in kwargs:
        return
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    if not any(parameter.name == "dynamic_shapes" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        hint = "remove dynamic_shapes: the arguments fix the shapes; export again for other shapes"
        raise InputError("shapes are fixed at export", got="dynamic_shapes=...", hint=hint)


def fails_on_arguments(model: torch.nn.Module, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> InputError:
    """The error that the model raised without torch.export, with the user's line, or the layer where only PyTorch's own code ran."""
    paths = {id(module): path for path, module in model.named_modules()}
    called = [frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__)]
    layers = [module for module in called if isinstance(module, torch.nn.Module) and paths.get(id(module))]
    layer = f"{paths[id(layers[-1])]}: {type(layers[-1]).__name__}({layers[-1].extra_repr()})" if layers else ""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    shapes = [str(list(leaf.shape)) for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    given = f"; here {', '.join(shapes)}" if 0 < len(shapes) <= 6 else ""
    return InputError(
        f"the model fails on these arguments: {type(error).__name__}",
        location=_location(error, "") or layer,
        got=first,
        hint=f"PyTorch raises this error without alchemist too: check the arguments' shapes, dtypes and values{given}",
    )


_FAILED = "torch.export failed"


def model_error(error: Exception, failed: str = _FAILED) -> FrontendError | InputError:
    """What torch or the model's own code raised, with the model's line; `failed` says at what where the error itself does not."""
    text = str(error)
    kinds = {cls.__name__ for cls in type(error).__mro__}
    location = _location(error, text)
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    if kinds & set(_DATA_DEPENDENT) or "data-dependent" in text:
        return FrontendError("the model branches on tensor values", location=location, got=first, hint=_STATIC)
    unknown = _UNKNOWN_OUTPUT.search(text)
    if unknown:
        name = unknown[1].rpartition(".")[2]
        hint = f"return a tensor, tuple, dict or NamedTuple; for a dataclass call torch.export.register_dataclass({name}) first"
        return FrontendError(
            "the model returns an object that hides tensors from torch.export", expected="tensors in tuples, lists, dicts", got=name, hint=hint
        )
    if isinstance(error, TypeError) and ("argument" in text or "parameter" in text) and not location:
        return InputError("the arguments do not fit the model", got=first.removeprefix("got "))
    if _meets_packed_sequences(error):
        feature = "packed sequences (pack_padded_sequence): their lengths are not known at export"
        advice = "run the layer on the padded batch and set the output after each sequence to zero: torch.where(steps < lengths, output, 0)"
        return FrontendError(feature, location=location, got=first, hint=advice)
    if "ScriptModule is not supported" in text:
        hint = "pass the nn.Module that torch.jit.script or torch.jit.trace was called with"
        return FrontendError("a TorchScript module", location=location, expected="a torch.nn.Module", got=first, hint=hint)
    hint = "call the model with these arguments without alchemist: if that works, torch.export cannot trace this line"
    return FrontendError(f"{failed}: {type(error).__name__}", location=location, got=first, hint=hint)


def _meets_packed_sequences(error: BaseException) -> bool:
    """Whether the error was raised in code that creates or reads a packed sequence."""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if "packed_sequence" in frame.f_code.co_name or any(isinstance(argument, PackedSequence) for argument in frame.f_locals.values()):
            return True
        trace = trace.tb_next
    return any(_meets_packed_sequences(cause) for cause in (error.__cause__, error.__context__) if cause is not None)


def _location(error: Exception, text: str) -> str:
    """The innermost frame of the model's own code, from the message or the traceback."""
    frames = [(path, int(line)) for path, line, _ in _FILE.findall(text)]
    trace = error.__traceback__
    walked = []
    while trace is not None:
        walked.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    for path, line in [*reversed(frames), *reversed(walked)]:
        file = relative_file(path)
        if not path.startswith("<") and not file.startswith(("torch/", "alchemist/", "contextlib", "copyreg", "inspect")):
            return f"{file}:{line}"
    return ""


# --- names ----------------------------------------------------------------------------------------------------------------


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the first `count` positional parameters; those of `*args` are numbered."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [f"arg_{i}" for i in range(count)]
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{i}" for i in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return [*names, *(f"arg_{i}" for i in range(len(names), count))][:count]  # more arguments than parameters: the call is refused later


def spec_paths(spec: pytree.TreeSpec, prefix: str = "") -> list[str]:
    """A dotted path per leaf: dict keys and field names, positions in sequences."""
    if spec.is_leaf():
        return [prefix]
    out: list[str] = []
    for key, child in zip(_child_keys(spec), spec.children(), strict=True):
        out += spec_paths(child, f"{prefix}.{key}" if prefix else str(key))
    return out


def _child_keys(spec: pytree.TreeSpec) -> list[str]:
    context: Any = spec.context
    count = spec.num_children
    if isinstance(context, (list, tuple)) and len(context) == count and all(isinstance(key, (str, int)) for key in context):
        return [str(key) for key in context]
    if isinstance(context, (list, tuple)) and context and isinstance(context[0], (list, tuple)) and len(context[0]) == count:
        return [str(key) for key in context[0]]
    fields = getattr(spec.type, "_fields", None) or getattr(context, "_fields", None)
    if fields and len(fields) == count:
        return [str(field) for field in fields]
    return [str(position) for position in range(count)]


def input_names(program: ExportedProgram, function: Callable[..., Any]) -> list[str]:
    """One name per user input, in the order of the signature."""
    spec = program.call_spec.in_spec
    return [] if spec is None else argument_names(spec, function)


def argument_names(spec: pytree.TreeSpec, function: Callable[..., Any]) -> list[str]:
    """Names of the leaves of `(args, kwargs)`: the parameter's name, with the path behind it where nested."""
    positional, keyword = spec.children()
    names: list[str] = []
    for name, child in zip(parameter_names(function, positional.num_children), positional.children(), strict=True):
        names += spec_paths(child, name)
    for key, child in zip(_child_keys(keyword), keyword.children(), strict=True):
        names += spec_paths(child, key)
    return distinct(names)


def call_leaves(flattened: tuple[list[Any], pytree.TreeSpec], function: Callable[..., Any]) -> list[CallLeaf]:
    """The result of `pytree.tree_flatten((args, kwargs))`, as the export records it and a load compares it."""
    leaves, spec = flattened
    return [
        CallLeaf(name, tuple(leaf.shape), str(leaf.dtype).removeprefix("torch."))
        if isinstance(leaf, torch.Tensor)
        else CallLeaf(name, value=python_value(leaf))
        for name, leaf in zip(argument_names(spec, function), leaves, strict=True)
    ]


def output_names(program: ExportedProgram, function: Callable[..., Any]) -> list[str]:
    """One name per user output: pytree keys, `output` for a single tensor; in a sequence the variable that the function returns there, else `output_0`.

    A dictionary in a sequence gives its keys.
    """
    spec = program.call_spec.out_spec
    if spec is None or spec.is_leaf():
        return ["output"]
    paths = spec_paths(spec)
    if len(paths) == 1 and paths[0].isdigit():
        return ["output"]
    parameters = {str(entry.target) for entry in program.graph_signature.input_specs if entry.kind is InputKind.PARAMETER}
    variables = {path: name for path, name in _returned_variables(function).items() if paths.count(path) == 1}
    named = variables | _keys_in_sequence(spec, paths) | _named_like_parameters(paths, parameters)
    return distinct([named.get(path) or (f"output_{path.replace('.', '_')}" if path[:1].isdigit() else path) for path in paths])


def _returned_variables(function: Callable[..., Any]) -> dict[str, str]:
    """Place in the returned tuple -> the local variable that every `return` of the function has there; arguments are left out."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    except (OSError, TypeError, SyntaxError, ValueError):  # no source, or a lambda in the middle of a statement
        return {}
    if not isinstance(definition, ast.FunctionDef):
        return {}
    arguments = {node.arg for node in ast.walk(definition.args) if isinstance(node, ast.arg)}
    inner = {id(node) for part in ast.walk(definition) if isinstance(part, ast.FunctionDef | ast.Lambda) and part is not definition for node in ast.walk(part)}
    returns = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return) and id(node) not in inner]
    rows = [[item.id if isinstance(item, ast.Name) else "" for item in value.elts] for value in returns if isinstance(value, ast.Tuple)]
    if len(rows) != len(returns) or len({len(row) for row in rows}) != 1:
        return {}
    columns = {place: set(names) for place, names in enumerate(zip(*rows, strict=True))}
    return {str(place): name for place, (name, *others) in columns.items() if not others and name.strip("_") and name not in arguments}


def _named_like_parameters(paths: Sequence[str], parameters: Collection[str]) -> dict[str, str]:
    """Outputs that a dictionary holds under the names of parameters, of a training step its new values: `0.model.fc.weight` by path `0.fc.weight`.

    Weights, gradients and outputs then end alike, so that the updates are one loop over the names.
    """
    names: dict[str, str] = {}
    for before in dict.fromkeys(path.partition(".")[0] for path in paths if path[:1].isdigit() and "." in path):
        keys = [path.partition(".")[2] for path in paths if path.startswith(f"{before}.")]
        ends = [name[: -len(keys[0])] for name in parameters if f".{name}".endswith(f".{keys[0]}")]
        prefix = next((end for end in ends if all(f"{end}{key}" in parameters for key in keys)), None)
        if prefix is not None and any("." in key for key in keys):
            names |= {f"{before}.{key}": f"{before}.{prefix}{key}" for key in keys}
    return names


def _keys_in_sequence(spec: pytree.TreeSpec, paths: Sequence[str]) -> dict[str, str]:
    """Short names of paths into dictionaries of a sequence, `weight` for `0.weight`, unless two outputs would share one."""
    if spec.type not in (tuple, list):
        return {}
    dictionaries = {str(place) for place, child in enumerate(spec.children()) if child.type in (dict, OrderedDict)}
    short = {path: path.partition(".")[2] for path in paths if path.partition(".")[0] in dictionaries}
    counts = Counter(short.values())
    return {path: key for path, key in short.items() if counts[key] == 1 and not key.isdigit()}
