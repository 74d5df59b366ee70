"""The stages from a model to source text, in order: capture -> TTIR -> TTNN -> program -> files in memory.

Nothing here touches the disk; `alchemist.export` writes what this returns.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any, Literal

from xdsl.dialects.builtin import ModuleOp

from alchemist.errors import FrontendError, InputError, OptionError, quoted
from alchemist.frontends.base import FrontendResult
from alchemist.frontends.wide_values import refuse_wide
from alchemist.ir.access import ForwardArgument, forward_arguments
from alchemist.mesh.memory import check_one_chip
from alchemist.options import ONE_CHIP, CompilerOptions, Language, choice
from alchemist.program.model import Program, Step, WeightRef
from alchemist.progress import Progress

Framework = Literal["torch", "jax", "onnx"]
_FRAMEWORKS: tuple[Framework, ...] = ("jax", "torch")


@dataclass(slots=True)
class Compiled:
    """Everything the exporter writes.

    sources: file name -> text ("main.py", "consteval.py" | "model.cpp", ...). irs: stage -> MLIR text.
    ttnn: the lowered module; its `@forward` arguments say which tensors the program loads and in which layout.
    constants: values of the `@forward` arguments that lowering added, by name.
    entry: {"function", "inputs": names in order, "weights": whether it takes them}; of a program with several, the facts of each by its name,
    in "entries". steps: TT-NN calls of a forward pass in order. declared: arguments of all entry functions, each name once.
    python_sources: the program in Python whatever its language, to be run and not to be read.
    """

    captured: FrontendResult
    ttnn: ModuleOp
    declared: Sequence[ForwardArgument]
    sources: dict[str, str]
    irs: dict[str, str]
    functions: dict[str, dict[str, str]]
    constants: Mapping[str, Any]
    l1_small_bytes: int
    entry: Mapping[str, Any]
    generation: Mapping[str, Any] | None
    steps: Sequence[Step]
    python_sources: Callable[[], dict[str, str]]


def detect_framework(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Framework:
    """Says whether torch, jax or onnx is to capture `model`, without importing any.

    Raises:
        FrontendError: the model and its arguments belong to none of them.
    """
    if isinstance(model, str | Path):
        if str(model).endswith(".onnx"):
            return "onnx"
        hint = "call codegen_mlir for MLIR files" if str(model).endswith(".mlir") else ""
        raise FrontendError("the file of a model must be an ONNX file", expected="a name that ends in .onnx", got=quoted(str(model)), hint=hint)
    if isinstance(model, type) and any(base.__name__ == "Module" and base.__module__.partition(".")[0] in ("torch", "flax") for base in model.__mro__):
        name = model.__name__
        raise InputError("a class instead of a model", expected=f"an instance of {name}", got=f"the class {name}", hint=f"pass {name}(...), not {name}")
    if _derives_from(model, "torch.nn.modules.module", "Module"):
        return "torch"
    if _derives_from(model, "flax.nnx.module", "Module") or _derives_from(model, "flax.linen.module", "Module"):
        return "jax"
    for leaf in _leaves((args, dict(kwargs))):
        package = type(leaf).__module__.split(".")[0]
        if package == "torch":
            return "torch"
        if package in ("jax", "jaxlib", "flax"):
            return "jax"
    for framework in _FRAMEWORKS:
        # A function on numpy arrays or numbers: what it names decides.
        if framework in sys.modules and framework in _packages_named(model):
            return framework
    raise FrontendError(
        f"cannot determine the framework of {model!r}",
        expected="a torch.nn.Module, a function called with torch tensors or JAX arrays, or the path of an ONNX file",
        got=", ".join(sorted({type(leaf).__name__ for leaf in _leaves((args, dict(kwargs)))})) or "no arguments",
    )


def _packages_named(function: Any) -> set[str]:
    """The packages that a function, its wrappers (`jax.jit`, `functools.partial`) and the functions defined in it name; else those that its file names."""
    while isinstance(function, partial):
        function = function.func
    wrapped = inspect.unwrap(function)
    if not hasattr(wrapped, "__code__") and callable(wrapped):
        wrapped = type(wrapped).__call__
    variables = getattr(wrapped, "__globals__", {})
    used, codes = set(), [getattr(wrapped, "__code__", None)]
    for code in codes:
        codes += [one for one in getattr(code, "co_consts", ()) if isinstance(one, CodeType)]
        used |= {name for name in getattr(code, "co_names", ()) if name in variables}
    packages = _packages_of([type(function), *(variables[name] for name in used)])
    return packages if packages & set(_FRAMEWORKS) else _packages_of(list(variables.values()))


def _packages_of(values: Sequence[Any]) -> set[str]:
    names = [getattr(value, attribute, None) for value in values for attribute in ("__name__", "__module__")]
    return {name.partition(".")[0].removesuffix("lib") for name in names if isinstance(name, str)}


def _derives_from(value: Any, module: str, name: str) -> bool:
    return any(base.__module__ == module and base.__name__ == name for base in type(value).__mro__)


def _leaves(tree: Any, depth: int = 0) -> list[Any]:
    if depth > 8:
        return []
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in _leaves(item, depth + 1)]
    return [tree]


def _is_dims(value: Any) -> bool:
    """Whether a keyword argument `dims` names dimensions, and is no input of that name."""
    return isinstance(value, Mapping)


def check_options(options: CompilerOptions, language: Language, *, is_text: bool = False) -> None:
    """What is wrong with options only in view of the language, the source or the passes that there are; called before any work.

    is_text: the source is MLIR text.

    Raises:
        OptionError: an option of the other language; a name in `disable` that is no fusing pass; a mesh for a model that is no text.
    """
    from alchemist.passes import PASSES

    options.check_language(language)
    if options.mesh_shape != ONE_CHIP and not is_text:
        raise OptionError(
            "mesh_shape is for MLIR text",
            expected=f"mesh_shape={ONE_CHIP}",
            got=options.mesh_shape,
            hint="codegen_py and codegen_cpp take mesh=(rows, columns)",
        )
    known = {name for name, entry in PASSES.items() if entry.fusing}
    for name in options.disable:
        choice("compiler option 'disable'", name, sorted(known))


def capture(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], framework: Framework, *, golden_ops: bool = False) -> FrontendResult:
    """Runs the front end of `framework`; the other framework is not imported. golden_ops: values of every operation are wanted."""
    if framework == "torch":
        from alchemist.frontends.torch import capture as capture_torch

        return capture_torch(model, args, kwargs)
    if framework == "onnx":
        from alchemist.frontends.onnx import load

        dims = kwargs.get("dims")
        found = load(model, args, {key: value for key, value in kwargs.items() if key != "dims" or not _is_dims(dims)}, dims=dims if _is_dims(dims) else None)
    else:
        from alchemist.frontends.jax import capture as capture_jax

        found = capture_jax(model, args, kwargs, golden_ops=golden_ops)
    refuse_wide(found)
    return found


def compile_captured(captured: FrontendResult, language: Language, options: CompilerOptions, progress: Progress) -> Compiled:
    """TTIR -> TTNN -> program -> source text.

    Raises:
        LoweringError, EmitError: an op without a TTNN form, or without a rendering.
        OptionError: an op needs more memory than the card has.
    """
    from alchemist.ir.text import print_module
    from alchemist.passes import lower_to_ttnn
    from alchemist.program import build_program

    irs: dict[str, str] = {}
    if options.dump_irs:
        with progress.stage("dump irs"):
            irs.update({name: text() for name, text in captured.stages.items()})
            irs["ttir"] = print_module(captured.module)
    with progress.stage("lower"):
        lowered = lower_to_ttnn(captured.module, options)
        check_one_chip(lowered.module, options.card)
    if options.dump_irs:
        with progress.stage("dump irs"):
            irs["ttnn"] = print_module(lowered.module)
            if lowered.decisions:
                irs["decisions"] = lowered.decisions
    with progress.stage("structure"):
        program = build_program(lowered.module, captured, options, language)
    names = [argument.name for argument in captured.arguments]
    with progress.stage("emit"):
        _check_trace(program, options)
        if language == "python":
            import emit_py

            sources = emit_py.emit(program, module_arguments=names if options.target_module else None, trace=options.enable_trace)
        else:
            import emit_cpp

            sources = emit_cpp.emit(program, module_arguments=names if options.target_dylib else None, trace=options.enable_trace)
    return Compiled(
        captured=captured,
        ttnn=lowered.module,
        declared=forward_arguments(lowered.module),
        sources=sources,
        irs=irs,
        functions={function.name: function.origin() for function in program.functions},
        constants=lowered.constants,
        l1_small_bytes=lowered.l1_small_bytes,
        entry={
            "function": program.entry,
            "inputs": [variable.name for variable in program.inputs],
            "outputs": [variable.name for variable in program.returned],
            "written": written_in_place(program),
            "weights": program.has_weights,
        },
        generation=asdict(program.generation) if program.generation else None,
        steps=program.steps,
        python_sources=lambda: python_text(program, sources, language),
    )


def written_in_place(program: Program) -> dict[str, dict[str, str]]:
    """Output that the entry function writes in place -> the kind and the name of the tensor that it is."""
    inputs = {variable.identifier: variable.name for variable in program.inputs}
    found: dict[str, dict[str, str]] = {}
    for variable in program.outputs:
        if isinstance(variable.place, WeightRef):
            found[variable.name] = {"weight": "".join(piece for piece in variable.place.key if isinstance(piece, str))}
        elif variable.place is not None:
            found[variable.name] = {"input": inputs[variable.place.name]}
    return found


def _check_trace(program: Program, options: CompilerOptions) -> None:
    """Raises: OptionError for a traced program that writes an input: the caller's tensor is not the one that the trace reads."""
    written = [name for name, place in written_in_place(program).items() if "input" in place]
    if options.enable_trace and written:
        raise OptionError(
            "enable_trace: the program updates inputs in place", expected="inputs that the program only reads", got=", ".join(written),
            hint="make them buffers of the model, or remove enable_trace",
        )  # fmt: skip


def python_text(program: Program, sources: dict[str, str], language: Language) -> dict[str, str]:
    import emit_py

    return sources if language == "python" else emit_py.emit(program, formatted=False)
