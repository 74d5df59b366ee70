"""Python text of a program: `emit(program)` -> {"main.py": ..., "consteval.py": ...}."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from alchemist.errors import InternalError
from alchemist.program import model
from alchemist.program.bundle_constants import types_of
from alchemist.program.config_calls import calls_of_configs, comment_of
from alchemist.program.constants import shared_cores
from alchemist.program.names import numbered
from alchemist.program.text import WIDTH, clean, lines_of_text
from alchemist.resources import render as render_template
from emit_py.header import header_lines
from emit_py.printer import function_text, named_tuple
from emit_py.text import quoted, quoted_format
from emit_py.values import render, render_config_call, render_cores, render_memory_config

__all__ = ["emit"]

_MAX_BLACK_LINES = 4000
"""Longer functions keep the printer's own line breaks."""


def emit(program: model.Program, module_arguments: Sequence[str] | None = None, *, formatted: bool = True, trace: bool = False) -> dict[str, str]:
    """Formatted, valid source. `consteval.py` only when something is computed from weights.

    module_arguments: names of all arguments in order; the program then also has `forward(inputs, device)`.
    formatted: False leaves the line breaks as they come, for programs that nobody reads.
    trace: `main` captures the forward function and replays it.

    Raises:
        EmitError: a value without Python form. InternalError: the text does not parse (our bug).
    """
    separate = bool(program.prepare) and program.split_prepare
    functions = [*program.functions, *(() if separate else program.prepare)]
    weights = "utils.stored_weights(device, keep=True)"
    if program.prepare:
        weights = f"{'consteval.' if separate else ''}prepare(utils.stored_weights(device))"
    files = {
        "main.py": render_template(
            "py/main.py.j2",
            header=header_lines(program),
            consteval=separate,
            typed_weights=any(parameter.kind in ("weights", "output", "stored", "kept") for function in functions for parameter in function.parameters),
            types=[named_tuple(name, fields) for name, fields in types_of(program.constants).items()],
            constants=_constants(program.constants),
            functions=[function_text(function) for function in functions],
            inputs=[(variable.identifier, quoted(variable.name)) for variable in program.inputs],
            weights=weights if program.has_weights else "",
            call=_call(program, program.entry, [variable.identifier for variable in program.inputs]),
            module=_module(program, module_arguments),
            given_weights=weights.replace("utils.stored_weights(device, keep=True)", "stored").replace("utils.stored_weights(device)", "stored"),
            results="outputs" if _many(program) else ", ".join(model.results_of(program.outputs)),
            report=_report(program),
            generation=_generation(program),
            entries=[_entry(program, entry) for entry in program.entries],
            trace=_trace(program) if trace else None,
        )
    }
    if separate:
        files["consteval.py"] = render_template(
            "py/consteval.py.j2",
            title=clean(program.title),
            configs=bool(calls_of_configs(program.prepare_constants)),
            constants=_constants(program.prepare_constants),
            functions=[function_text(function) for function in program.prepare],
        )
    return {name: _formatted(name, text) if formatted else text for name, text in files.items()}


def _module(program: model.Program, arguments: Sequence[str] | None) -> dict[str, object] | None:
    if arguments is None:
        return None
    return {
        "arguments": ", ".join(quoted(name) for name in arguments),
        "inputs": ", ".join(quoted(variable.name) for variable in program.inputs),
        "name": "forward" if program.entry != "forward" else "forward_module",
        "outputs": len(program.returned),
        "names": model.results_of(program.outputs),
        "results": tuple(_held(variable) for variable in program.outputs),
    }


def _constants(constants: Sequence[model.Constant]) -> list[tuple[list[str], str]]:
    """(lines of the comment, definition) of each, sets of cores that several have before them."""
    cores = shared_cores(constants)
    out: list[tuple[list[str], str]] = [([], f"{name} = {render_cores(ranges)}") for ranges, name in cores.items()]
    calls = calls_of_configs(constants)

    def said(value: model.Value, comment: str, indent: int = 0) -> list[str]:
        told = comment_of(value, comment, calls)
        return lines_of_text(told, WIDTH - 2 - indent) if told else []

    def text(value: model.Value, pad: str = "") -> str:
        if isinstance(value, model.Bundle):
            inner, lines = f"{pad}    ", [f"{value.type_}("]
            for name, part in value.fields:
                lines += [*(f"{inner}# {line}" for line in said(part, _remark(part), len(inner))), f"{inner}{name}={text(part, inner)},"]
            return "\n".join([*lines, f"{pad})"])
        if value in calls:
            return render_config_call(calls[value], cores)
        return render_memory_config(value, cores) if isinstance(value, model.MemoryConfig) else render(value)

    for constant in constants:
        out.append((said(constant.value, constant.comment), f"{constant.name} = {text(constant.value)}"))
    return out


def _remark(value: model.Value) -> str:
    """Why a config in a named tuple is as it is."""
    return value.comment if isinstance(value, model.Record) else ""


def _call(program: model.Program, function: str, inputs: Sequence[str]) -> str:
    """The call of an entry function."""
    device = ["device"] if model.takes_device(program, function) else []
    weights = ["weights"] if any(parameter.name == "weights" for f in program.functions if f.name == function for parameter in f.parameters) else []
    return f"{function}({', '.join([*device, *inputs, *weights])})"


def _generation(program: model.Program) -> list[tuple[str, str]]:
    """(name, call with all inputs) of each entry point that `--generate` uses, none for other programs."""
    if program.generation is None or not program.has_weights:
        return []
    used = [program.generation.step.entry, *([program.generation.prompt.entry] if program.generation.prompt else [])]
    entries = program.entries or [model.EntryPoint(program.generation.step.entry, program.entry, program.inputs, program.outputs)]
    return [(quoted(entry.name), _call(program, entry.function, ["*inputs"])) for entry in entries if entry.name in used]


def _held(variable: model.Variable) -> str:
    """Where main() finds an output after the call."""
    place = variable.place or variable.element
    return variable.identifier if place is None else render(place)


def _entry(program: model.Program, entry: model.EntryPoint) -> dict[str, object]:
    """What main() needs of an entry point of several."""
    named = [variable for variable in entry.outputs if not isinstance(variable.place, model.WeightRef)]
    items = [f"{quoted(variable.name)}: {_held(variable)}" for variable in named]
    caches = [f"**utils.caches(weights, {quoted(entry.name)})"] if len(named) < len(entry.outputs) else []
    return {
        "name": quoted(entry.name),
        "inputs": [(variable.identifier, quoted(variable.name)) for variable in entry.inputs],
        "names": ", ".join(model.results_of(entry.outputs)),
        "call": _call(program, entry.function, [variable.identifier for variable in entry.inputs]),
        "results": ", ".join([*items, *caches]),
    }


def _trace(program: model.Program) -> dict[str, str]:
    """names: the inputs of a replay; state: the argument of utils.Traced that keeps what the program writes in place."""
    holds_weights = any(isinstance(variable.place, model.WeightRef) for variable in program.outputs)
    return {"names": ", ".join(variable.identifier for variable in program.inputs), "state": ", state=utils.caches(weights)" if holds_weights else ""}


def _report(program: model.Program) -> str:
    """Arguments of utils.report behind the first: what is returned, inputs that are written in place, weights that are."""
    if _many(program):
        return ", **utils.named(outputs)"
    holds_weights = any(isinstance(variable.place, model.WeightRef) for variable in program.outputs)
    named = [variable for variable in program.outputs if not isinstance(variable.place, model.WeightRef)]
    shown = list(dict.fromkeys(_reported(variable, [other for other in named if variable.element and other.result == variable.result]) for variable in named))
    return "".join(f", {text}" for text in [*shown, *(["**utils.caches(weights)"] if holds_weights else [])])


def _many(program: model.Program) -> bool:
    """Whether main() keeps the outputs together, to be named by their places."""
    results = model.results_of(program.outputs)
    return len(program.returned) == len(program.outputs) and len(results) > model.MANY_OUTPUTS and len(results) == len(program.outputs)


def _reported(variable: model.Variable, listed: Sequence[model.Variable]) -> str:
    """listed: all outputs of the list that the variable is in."""
    value = _held(variable)
    if variable.name.isidentifier() and variable.name.isascii() and variable.name == value:
        return f"{variable.name}={value}"
    numbering = numbered([variable_.name for variable_ in listed]) if listed else None
    if numbering is not None:
        before, first, behind = numbering
        key = quoted_format([(before, False), ("i", True), (behind, False)])
        return f"**{{{key}: tensor for i, tensor in enumerate({variable.result}{f', {first}' if first else ''})}}"
    return f"**{{{quoted(variable.name)}: {value}}}"


def _formatted(name: str, text: str) -> str:
    """As black formats it. Our line breaks are black's but where a line is too long (`layout`), so black gets such statements alone: it does about a thousand
    lines a second."""
    lines = text.rstrip("\n").split("\n")
    try:
        for node in reversed(ast.parse(text).body):
            start, end = node.lineno - 1, node.end_lineno or node.lineno
            if isinstance(node, ast.FunctionDef) and not _is_for_black(lines[(body := node.body[0].lineno - 1) : end]):
                if _is_for_black(lines[start:body]):
                    lines[start:body] = _by_black([*lines[start:body], "    pass"])[:-1]
            elif _is_for_black(lines[start:end]) and end - start <= _MAX_BLACK_LINES:
                lines[start:end] = _by_black(lines[start:end])
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        around = "\n".join(text.splitlines()[max(line - 4, 0) : line + 3])
        raise InternalError(f"the text of {name} is not Python: {error}", location=f"{name}:{line}", got=around) from error
    return "\n".join(lines) + "\n"


def _is_for_black(lines: Sequence[str]) -> bool:
    """Whether black may change them: a line is too long, or a string may need fewer backslashes in other quotes."""
    return any("\\" in line or (len(line) > WIDTH and not line.lstrip().startswith("#")) for line in lines)


def _by_black(lines: Sequence[str]) -> list[str]:
    import black  # most programs do without: its import takes longer than their text
    from black.mode import TargetVersion

    mode = black.Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})
    return black.format_str("\n".join(lines), mode=mode).rstrip("\n").split("\n")
