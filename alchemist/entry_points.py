"""Several entry points of one model in one program: what a user declares, and how they are compiled together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from alchemist.errors import InputError, OptionError, printable, quoted
from alchemist.frontends.base import Argument, FrontendResult
from alchemist.ir.access import ForwardArgument, forward_arguments, rename_arguments
from alchemist.options import CompilerOptions, Language
from alchemist.pipeline import Compiled, python_text, written_in_place
from alchemist.program.model import EntryPoint as Entry
from alchemist.program.model import Program
from alchemist.program.prepared_facts import weight_count
from alchemist.progress import Progress


@dataclass(frozen=True, init=False)
class EntryPoint:
    """A call of a model that becomes a function of the exported program: what is called, and with what, which fixes shapes and dtypes.

    function: a module, a function, or a method of the model; None for the model itself.
    """

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __init__(self, function: Any = None, *args: Any, **kwargs: Any) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "args", args)
        object.__setattr__(self, "kwargs", kwargs)


def checked_entry_points(model: Any, declared: Any, options: CompilerOptions) -> dict[str, EntryPoint]:
    """The entry points by name; a tuple stands for positional arguments of the model, a dict for keyword arguments.

    Raises:
        OptionError: names that no function may have, other values, options for programs with one entry point.
    """
    from alchemist.program.names import MAIN_RESERVED

    expected = 'names of functions -> arguments, {"prefill": (prompt,), "decode": (token, position)}'
    if not isinstance(declared, Mapping) or not declared:
        raise OptionError("bad entry_points", expected=expected, got=quoted(type(declared).__name__))
    for option in ("target_module", "target_dylib", "enable_trace", "tensor_load_directory"):
        if getattr(options, option):
            raise OptionError(f"compiler option {option!r} contradicts entry_points", expected="one entry point", got=f"{len(declared)}")
    found: dict[str, EntryPoint] = {}
    for name, call in declared.items():
        if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name) or name in MAIN_RESERVED:
            raise OptionError("bad name of an entry point", expected="a Python name in lower case that is not a keyword", got=quoted(name))
        if isinstance(call, tuple):
            call = EntryPoint(model, *call)
        elif isinstance(call, Mapping):
            call = EntryPoint(model, **call)
        if not isinstance(call, EntryPoint):
            raise OptionError(f"entry_points: bad value of {name!r}", expected="a tuple, a dict or an alchemist.EntryPoint", got=quoted(type(call).__name__))
        found[name] = call if call.function is not None else EntryPoint(model, *call.args, **call.kwargs)
    return found


@dataclass(frozen=True, slots=True)
class EntryResults:
    """Captures of one model's entry points by name. title: of the model."""

    title: str
    captured: Mapping[str, FrontendResult]


def compile_entries(results: EntryResults, language: Language, options: CompilerOptions, progress: Progress) -> Compiled:
    """The entry points of one model, by name, as one program: functions of all in one file, weights stored and prepared once.

    Raises:
        LoweringError, EmitError: as `compile_captured`. InputError: a cache that two entry points hold in different layouts.
    """
    from alchemist.ir.text import print_module
    from alchemist.passes import lower_to_ttnn
    from alchemist.program import build_program
    from alchemist.program.combine import combine
    from alchemist.program.state import generation_of
    from alchemist.program.weights import SharedWeights

    captured, title = dict(results.captured), results.title
    irs: dict[str, str] = {}
    modules: dict[str, ModuleOp] = {}
    values: dict[str, Callable[[], Any]] = {}
    lifted: set[str] = set()
    small = 0
    shared = SharedWeights()
    programs: dict[str, Program] = {}
    for name, result in captured.items():
        if options.dump_irs:
            with progress.stage("dump irs"):
                irs.update({f"{name}_{stage}": text() for stage, text in result.stages.items()})
                irs[f"{name}_ttir"] = print_module(result.module)
        with progress.stage("lower", name):
            lowered = lower_to_ttnn(result.module, options)
        small = max(small, lowered.l1_small_bytes)
        own = {argument.name: argument.value for argument in result.arguments if argument.kind != "input"}
        own |= {key: partial(_itself, value) for key, value in lowered.constants.items()}
        names = {key: f"{key}_{name}" for key, value in own.items() if key in values and not _same(value, values[key])}
        values |= {names.get(key, key): value for key, value in own.items()}
        lifted |= {names.get(key, key) for key in lowered.constants}
        rename_arguments(lowered.module, names)
        captured[name] = result = _with_names(result, names)
        modules[name] = lowered.module
        if options.dump_irs:
            with progress.stage("dump irs"):
                irs[f"{name}_ttnn"] = print_module(lowered.module)
                if lowered.decisions:
                    irs[f"{name}_decisions"] = lowered.decisions
        with progress.stage("structure", name):
            programs[name] = build_program(lowered.module, result, options, language, shared)
    declared = _declared(modules, captured)
    first = next(iter(captured.values()))
    count = weight_count(argument for result in captured.values() for argument in result.arguments)
    program = combine(programs, title, f"{first.framework} {title}{count}", generation_of(captured))
    with progress.stage("emit"):
        if language == "python":
            import emit_py

            sources = emit_py.emit(program)
        else:
            import emit_cpp

            sources = emit_cpp.emit(program)
    return Compiled(
        captured=_joined(captured, title),
        ttnn=next(iter(modules.values())),
        declared=declared,
        sources=sources,
        irs=irs,
        functions={function.name: function.origin() for function in program.functions},
        constants={key: values[key]() for key in lifted},
        l1_small_bytes=small,
        entry={"entries": {entry.name: _entry_facts(entry, program.has_weights) for entry in program.entries}, "written": _written_by_entries(program)},
        generation=asdict(program.generation) if program.generation else None,
        steps=(),
        python_sources=lambda: python_text(program, sources, language),
    )


def _itself(value: Any) -> Any:
    return value


def _with_names(result: FrontendResult, names: Mapping[str, str]) -> FrontendResult:
    """The capture with other names for weights and constants that another entry point has with other values."""
    arguments = [replace(one, name=names.get(one.name, one.name)) if one.kind != "input" else one for one in result.arguments]
    return replace(result, arguments=arguments, outputs=[replace(one, mutates=names.get(one.mutates, one.mutates)) for one in result.outputs])


def _same(one: Callable[[], Any], two: Callable[[], Any]) -> bool:
    """Whether two values are equal; of the same tensor without reading it."""
    if isinstance(one, partial) and isinstance(two, partial) and one.func is two.func and all(a is b for a, b in zip(one.args, two.args, strict=True)):
        return True
    first, second = np.asarray(one()), np.asarray(two())
    return first.shape == second.shape and first.dtype == second.dtype and first.tobytes() == second.tobytes()


def _declared(modules: Mapping[str, ModuleOp], captured: Mapping[str, FrontendResult]) -> list[ForwardArgument]:
    """Inputs with the entry point's name in front, weights once."""
    found: dict[str, ForwardArgument] = {}
    state = {output.mutates for result in captured.values() for output in result.outputs if output.mutates}
    for entry, module in modules.items():
        for argument in forward_arguments(module):
            name = f"{entry}.{argument.name}" if argument.kind == "input" else argument.name
            known = found.get(name)
            if known is not None and name in state and (known.tiled, known.dtype) != (argument.tiled, argument.dtype):
                raise InputError(
                    f"the entry points store {printable(name)} in different layouts", expected="one layout", got=f"a different layout in {entry}",
                    hint="write a cache at one position given by a tensor (decode step), or from position 0 on (prompt)",
                )  # fmt: skip
            found[name] = replace(known or argument, name=name, used=argument.used or (known is not None and known.used))
    return list(found.values())


def _joined(captured: Mapping[str, FrontendResult], title: str) -> FrontendResult:
    """What the exporter writes of several captures: arguments once, outputs with the entry point's name in front."""
    first = next(iter(captured.values()))
    arguments: dict[str, Argument] = {}
    outputs = []
    for entry, result in captured.items():
        for argument in result.arguments:
            name = f"{entry}.{argument.name}" if argument.kind == "input" else argument.name
            arguments.setdefault(name, replace(argument, name=name))
        outputs += [replace(output, name=f"{entry}.{output.name}") for output in result.outputs]
    goldens = [result.golden for result in captured.values()]

    def golden() -> list[np.ndarray[Any, Any]]:
        return [value for one in goldens if one is not None for value in one()]

    return FrontendResult(
        module=first.module,
        framework=first.framework,
        model_name=title,
        arguments=list(arguments.values()),
        outputs=outputs,
        golden=golden if all(one is not None for one in goldens) else None,
        made_from={name: version for result in captured.values() for name, version in result.made_from.items()},
    )


def _entry_facts(entry: Entry, weights: bool) -> dict[str, Any]:
    return {
        "function": entry.function,
        "inputs": [variable.name for variable in entry.inputs],
        "outputs": [variable.name for variable in entry.returned],
        "weights": weights,
    }


def _written_by_entries(program: Program) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for entry in program.entries:
        found |= written_in_place(replace(program, inputs=entry.inputs, outputs=entry.outputs))
    return found
