"""C++ text of a program: `emit(program)` -> model.hpp, model.cpp, main.cpp, consteval.hpp, consteval.cpp, CMakeLists.txt and
the files that are the same in every program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from alchemist.ops.spec import EnumRef, Kind
from alchemist.program import header, model
from alchemist.program.bundle_constants import types_of
from alchemist.program.config_calls import ConfigCall, calls_of_configs, comment_of
from alchemist.program.constants import Ranges, shared_cores
from alchemist.program.model import FORWARD
from alchemist.program.names import numbered, unique
from alchemist.program.text import WIDTH, clean, comment, lines_of_text
from alchemist.resources import render as render_template
from alchemist.resources import template_text
from emit_cpp import layout
from emit_cpp.printer import function_text, returns_names, struct_lines
from emit_cpp.text import quoted
from emit_cpp.values import CONSTANT_TYPES, SHORT_NAMES, config_call, memory_config_call, record_class, render, render_cores, render_float, with_derived
from emit_cpp.wrap import wrapped

__all__ = ["emit"]

_RUN = ("Run       ./run              builds, then runs on the simulator; ./run --device runs on a Tenstorrent card",)
_STANDARD = (
    ("array", r"std::array<"),
    ("cmath", r"std::pow\b"),
    ("cstddef", r"std::size_t\b"),
    ("cstdint", r"\bu?int\d+_t\b"),
    ("limits", r"std::numeric_limits"),
    ("string", r"std::(to_)?string\b"),
    ("tuple", r"std::(tuple|tie)\b"),
    ("vector", r"std::vector\b"),
)
"""Standard headers and what in the text needs them."""
COMMON = ("check.cpp", "files.cpp", "mesh.cpp", "report.cpp", "show.cpp", "utils.cpp")
"""Equal in all programs: the core's build compiles them into a library."""
SUPPORT = (*COMMON, "check.hpp", "files.hpp", "mesh.hpp", "show.hpp", "simulator.hpp", "utils.hpp", "gdb_printers.py")
"""Files that are the same in every program, besides main.cpp."""

GENERATION = ("generate.hpp", "generate.cpp")
"""Files that are the same in every program that generates text."""


CONFIGS = "configs.hpp"
"""The file of the functions that make configs, in a program that has several of a kind."""
TRACE = ("traced.hpp", "traced.cpp")
"""Files that are the same in every program that captures its forward function."""


def emit(program: model.Program, module_arguments: Sequence[str] | None = None, *, trace: bool = False) -> dict[str, str]:
    """Formatted source, built with language="cpp". `consteval.*` only when something is computed from weights.

    module_arguments: names of all arguments in order; the project then also builds a shared library with `setDevice` and `forward`.
    trace: `main` captures the forward function and replays it.

    Raises:
        EmitError: a value, or a call, without C++ form.
    """
    separate = bool(program.prepare) and program.split_prepare
    functions = [*program.functions, *(() if separate else program.prepare)]
    lists = {function.name: function.lists for function in functions if function.lists}
    texts = [function_text(function, lists) for function in functions]
    constants = _constants(program.constants)
    body = "\n".join([*texts, *(line for lines in constants for line in lines)])
    interface = _interface(program, separate=separate)
    uses_configs = bool(calls_of_configs(program.constants) or calls_of_configs(program.prepare_constants))
    release = "`release(x)` gives x's device memory back: TT-NN frees a buffer with its last reference."
    files = {
        "model.hpp": render_template(
            "cpp/model.hpp.j2",
            title=comment(clean(program.title), 40),
            entries=[_entry(entry, program) for entry in _entries(program)],
        ),
        "model.cpp": render_template(
            "cpp/model.cpp.j2",
            header=[f"// {line}".rstrip() for line in header.header_lines(program, _safe, _RUN, [release])],
            standard=_standard_headers("\n".join([body, *interface]), ("optional", "string", "utility", "vector")),
            headers=_headers(functions),
            consteval=separate,
            short=_short_names(body),
            configs=bool(calls_of_configs(program.constants)),
            uses_release=any(isinstance(statement, model.Free) for function in functions for statement in model.statements(function.body)),
            constants=constants,
            functions=texts,
            interface=interface,
        ),
    }
    if module_arguments is not None:
        files["module.cpp"] = _module(program, module_arguments)
    if separate:
        texts = [function_text(function) for function in program.prepare]
        constants = _constants(program.prepare_constants)
        body = "\n".join([*texts, *(line for lines in constants for line in lines)])
        files["consteval.cpp"] = render_template(
            "cpp/consteval.cpp.j2",
            title=comment(clean(program.title), 40),
            standard=_standard_headers(body, ("optional",)),
            headers=_headers(program.prepare),
            short=_short_names(body),
            configs=bool(calls_of_configs(program.prepare_constants)),
            constants=constants,
            functions=texts[:-1],
            prepare=texts[-1],
        )
    # Only what this program's names and numbers are in: the others are the simulator's sources to the byte, so that it brings them built.
    generates = program.generation is not None
    same_in_all = [
        "main.cpp",
        *SUPPORT,
        *([CONFIGS] if uses_configs else []),
        *(["consteval.hpp"] if separate else []),
        *(GENERATION if generates else []),
        *(TRACE if trace else []),
    ]
    return {
        **{name: wrapped(text) for name, text in files.items()},
        **{name: template_text(f"cpp/{name}") for name in same_in_all},
        **({"main.cpp": wrapped(_main(program, trace=trace))} if generates or program.entries or trace else {}),
        "CMakeLists.txt": render_template("cpp/CMakeLists.txt.j2", consteval=separate, module=module_arguments is not None, generation=generates, trace=trace),
        ".clang-format": template_text("cpp/clang-format"),
    }


def _entries(program: model.Program) -> tuple[model.EntryPoint, ...]:
    """The program's entry points; the only one of most programs has the library's name for it."""
    return program.entries or (model.EntryPoint("", program.entry, program.inputs, program.outputs),)


def _names(entry: model.EntryPoint) -> tuple[str, str, str]:
    """Prefix of its structs, its function in model.hpp, the function that loads its example inputs."""
    if not entry.name:
        return "", "forward", "load_inputs"
    return "".join(word.title() for word in entry.name.split("_")), entry.name, f"load_{entry.name}_inputs"


def _entry(entry: model.EntryPoint, program: model.Program) -> dict[str, object]:
    """What model.hpp declares of an entry point."""
    facts = dict(program.facts) if not entry.name else {}
    struct, function, load = _names(entry)
    inputs, outputs = (_fields(variables, facts.get(label, "")) for variables, label in ((entry.inputs, "Inputs"), (entry.outputs, "Outputs")))
    return {"struct": struct, "function": function, "load": load, "inputs": inputs, "outputs": outputs}


def _main(program: model.Program, *, trace: bool) -> str:
    generation, called = program.generation, _entries(program)
    used = {generation.step.entry, *([generation.prompt.entry] if generation.prompt else [])} if generation else set()
    calls = [
        {"name": quoted(entry.name or FORWARD), "function": _names(entry)[1], "inputs": [f"inputs.at({place})" for place in range(len(entry.inputs))]}
        for entry in called
        if (entry.name or FORWARD) in used
    ]
    entries = [{"quoted": quoted(entry.name), "struct": _names(entry)[0], "function": entry.name} for entry in program.entries]
    traced = {
        "loads": [f"utils::load_on_host({quoted(variable.name)})" for variable in program.inputs],
        "slots": [f"slots[{place}]" for place in range(len(program.inputs))],
        "state": any(isinstance(variable.place, model.WeightRef) for variable in program.outputs),
    }
    return render_template("cpp/main_of_entries.cpp.j2", generation=calls, entries=entries, trace=traced if trace else None)


def _fields(variables: Sequence[model.Variable], types: str) -> list[tuple[str, str]]:
    """Members of a struct and the comment behind each: exact name where it differs, type from the header's row `name [shape] dtype, keys.{0..3} ...`."""
    known: dict[str, str] = {}
    for name, type_ in re.findall(r"(?:^|, )(\S+) (\[[\d, ]*\] \w+)", types):
        range_ = re.fullmatch(r"(.*)\{(\d{1,4})\.\.(\d{1,4})\}(.*)", name)
        known.update(dict.fromkeys([f"{range_[1]}{number}{range_[4]}" for number in range(int(range_[2]), int(range_[3]) + 1)] if range_ else [name], type_))
    out = []
    for name, listed in _members(variables):
        names = [variable.name for variable in listed]
        types_ = {known.get(exact, "") for exact in names}
        counted = numbered(names) if listed[0].element else None
        exact = f"{counted[0]}{{{counted[1]}..{counted[1] + len(names) - 1}}}{counted[2]}" if counted else ", ".join(names)
        note = comment(", ".join(part for part in (clean(exact) if exact != name else "", *(types_ if len(types_) == 1 else ())) if part), 70)
        type_ = "std::vector<ttnn::Tensor>" if listed[0].element else "ttnn::Tensor"
        out.append((f"{type_} {name}", f"  // {note}" if note else ""))
    return out


def _members(variables: Sequence[model.Variable]) -> list[tuple[str, list[model.Variable]]]:
    """Members of the struct of outputs or inputs, each with its variables: a list has several."""
    members: dict[str, list[model.Variable]] = {}
    for variable in variables:
        members.setdefault(variable.result, []).append(variable)
    return list(members.items())


def _interface(program: model.Program, *, separate: bool) -> list[str]:
    """Definitions of what model.hpp declares."""
    prepared = f"{'const_eval::' if separate else ''}prepare(%)" if program.prepare else "%"
    keep = "" if program.prepare else ", /*keep=*/true"
    weights = [
        "\n".join(
            [
                "Weights load_weights(const utils::Device& device) {",
                f"    return {prepared.replace('%', f'utils::stored_weights(device{keep})')};",
                "}",
            ]
        ),
        f"Weights prepare_weights(const Weights& stored) {{\n    return {prepared.replace('%', 'stored')};\n}}",
    ]
    parts = [_entry_interface(entry, program) for entry in _entries(program)]
    return [*(part[0] for part in parts), *weights, *(text for part in parts for text in part[1:])]


def _entry_interface(entry: model.EntryPoint, program: model.Program) -> list[str]:
    """Definitions for an entry point: its example inputs, its call, its outputs by name."""
    struct, function, load = _names(entry)
    loads = [f"utils::load({quoted(variable.name)}, device)" for variable in entry.inputs]
    names = [*model.results_of(entry.outputs)]
    members = _members(entry.outputs)
    places = [name if (place := listed[0].place) is None else render(place) for name, listed in members]
    device = model.takes_device(program, entry.function)
    arguments = [*(["device.get()"] if device else []), *(variable.identifier for variable in entry.inputs)]
    reads = any(parameter.name == "weights" for function in program.functions if function.name == entry.function for parameter in function.parameters)
    call = layout.Call(entry.function, [*arguments, *(["weights"] if reads else [])], ";")
    uses_weights = reads or any(isinstance(variable.place, model.WeightRef) for variable in entry.outputs)
    unused = [
        "" if entry.inputs or device else "[[maybe_unused]] ",
        "" if entry.inputs else "[[maybe_unused]] ",
        "" if uses_weights else "[[maybe_unused]] ",
    ]
    inner = {entry.function, *(name for variable in (*entry.inputs, *entry.outputs) for name in (variable.identifier, variable.result))}
    struct_name = unique(["inputs", "arguments"], lambda name: name not in inner)
    given = [
        f"    const auto {variable.identifier} = utils::input({quoted(variable.name)}, {struct_name}.{variable.identifier}, device);"
        for variable in entry.inputs
    ]
    if any(function.name == entry.function and returns_names(function) for function in program.functions):
        places = [f"outputs[{quoted(listed[0].name)}]" for _, listed in members]
        results = layout.lines(layout.Call("return ", places, ";", "{", "}"), "    ")
        ran = [*layout.lines(layout.Call(f"const Weights outputs = {call.head}", call.parts, ";"), "    "), *results]
    elif places != names:
        target = f"const auto [{', '.join(names)}] = " if len(names) > 1 else f"const auto {names[0]} = " if names else ""
        results = layout.lines(layout.Call("return ", places, ";", "{", "}"), "    ")
        ran = [*layout.lines(layout.Call(f"{target}{call.head}", call.parts, ";"), "    "), *results]
    elif len(names) > 1:
        ran = [*layout.lines(layout.Call(f"const auto [{', '.join(names)}] = {call.head}", call.parts, ";"), "    "), f"    return {{{', '.join(names)}}};"]
    else:
        head, tail = (f"return {{{entry.function}", "};") if names else (entry.function, ";")
        ran = layout.lines(layout.Call(head, call.parts, tail), "    ") + ([] if names else ["    return {};"])
    parameters = [f"{unused[0]}const utils::Device& device", f"{unused[1]}const {struct}Inputs& {struct_name}", f"{unused[2]}const Weights& weights"]
    return [
        "\n".join(
            [
                f"{struct}Inputs {load}({'' if loads else '[[maybe_unused]] '}const utils::Device& device) {{",
                *layout.lines(layout.Call("return ", loads, ";", "{", "}"), "    "),
                "}",
            ]
        ),
        "\n".join([*layout.lines(layout.Call(f"{struct}Outputs {function}", parameters, " {"), ""), *given, *ran, "}"]),
        "\n".join(
            [
                f"std::vector<std::pair<std::string, Tensor>> named({'' if members else '[[maybe_unused]] '}const {struct}Outputs& outputs) {{",
                *_named(members),
                "}",
            ]
        ),
    ]


def _named(members: Sequence[tuple[str, Sequence[model.Variable]]]) -> list[str]:
    """Body of `named`: the outputs with their exact names, a loop for each list whose names count."""
    first: list[str] = []
    later: list[str] = []
    for name, listed in members:
        numbering = numbered([variable.name for variable in listed]) if listed[0].element else None
        if numbering is None:
            pairs = [(quoted(variable.name), f"outputs.{name}" + (f"[{variable.element.index}]" if variable.element else "")) for variable in listed]
            if later:
                later += [line for pair in pairs for line in layout.lines(layout.Call("tensors.emplace_back", pair, ";"), "    ")]
            else:
                first += [f"{{{key}, {value}}}" for key, value in pairs]
            continue
        before, start, behind = numbering
        number = f"std::to_string(i + {start})" if start else "std::to_string(i)"
        key = " + ".join([*([quoted(before)] if before else []), number, *([quoted(behind)] if behind else [])])
        later += [
            f"    for (std::size_t i = 0; i < outputs.{name}.size(); ++i) {{",
            *layout.lines(layout.Call("tensors.emplace_back", [key, f"outputs.{name}[i]"], ";"), "        "),
            "    }",
        ]
    if not later:
        return layout.lines(layout.Call("return ", first, ";", "{", "}"), "    ")
    return [*layout.lines(layout.Call("std::vector<std::pair<std::string, Tensor>> tensors", first, ";", "{", "}"), "    "), *later, "    return tensors;"]


def _module(program: model.Program, names: Sequence[str]) -> str:
    def constant(name: str, values: Sequence[str]) -> str:
        return "\n".join(layout.lines(layout.Call(f"const std::vector<std::string> {name} = ", [quoted(value) for value in values], ";", "{", "}"), ""))

    inputs = [variable.name for variable in program.inputs]
    return render_template(
        "cpp/module.cpp.j2",
        arguments=constant("ARGUMENTS", names),
        inputs=constant("INPUTS", inputs),
        loads=", ".join(f"given[{quoted(name)}]" for name in inputs),
        outputs=[f"outputs.{render(variable.element) if variable.element else variable.identifier}" for variable in program.outputs],
    )


def _safe(text: str) -> str:
    return comment(text, 100_000)


def _standard_headers(text: str, always: Sequence[str]) -> list[str]:
    return sorted({*always, *(name for name, pattern in _STANDARD if re.search(pattern, text))})


def _short_names(text: str) -> list[str]:
    """Full names of what the text writes without its namespace."""
    return [full for name, full in SHORT_NAMES.items() if re.search(rf"(?<!:)\b{name}\b", text)]


def _headers(functions: Iterable[model.Function]) -> list[str]:
    headers = {"ttnn/types.hpp", "ttnn/operations/core/core.hpp"}
    for function in functions:
        headers.update(statement.spec.header for statement in model.statements(function.body) if isinstance(statement, model.Call))
    return sorted(headers)


def _constants(constants: Sequence[model.Constant]) -> list[list[str]]:
    """Lines of each, sets of cores that several have before them."""
    cores, calls = shared_cores(constants), calls_of_configs(constants)
    named = [[f"const auto {name} = {render_cores(ranges)};"] for ranges, name in cores.items()]
    structs = [struct_lines(name, fields) for name, fields in types_of(constants).items()]
    return [*structs, *named, *(_constant(constant, cores, calls) for constant in constants)]


def _said(value: model.Value, comment: str, calls: Mapping[model.Value, ConfigCall], pad: str = "") -> list[str]:
    """Lines of a config's comment."""
    text = comment_of(value, comment, calls)
    return [f"{pad}// {line}" for line in lines_of_text(text, WIDTH - 3 - len(pad))] if text else []


def _parts_of(bundle: model.Bundle, cores: Mapping[Ranges, str], calls: Mapping[model.Value, ConfigCall], pad: str) -> list[str]:
    """Lines between the braces of a struct of configs."""
    lines: list[str] = []
    for name, part in bundle.fields:
        lines += _said(part, part.comment if isinstance(part, model.Record) else "", calls, pad)
        if isinstance(part, model.Bundle):
            lines += [f"{pad}.{name} = {{", *_parts_of(part, cores, calls, f"{pad}    "), f"{pad}}},"]
        elif part in calls:
            lines += layout.lines(replace(config_call(f".{name} = ", calls[part], cores), tail=","), pad)
        else:
            lines.append(f"{pad}.{name} = {render(part)},")
    return lines


def _constant(constant: model.Constant, cores: Mapping[Ranges, str], calls: Mapping[model.Value, ConfigCall]) -> list[str]:
    """Lines of a named constant. cores: names of sets of cores. calls: of the configs that are one."""
    value = constant.value
    out = _said(value, constant.comment, calls)
    made = calls.get(value)
    if isinstance(value, model.Bundle):
        return [*out, f"const {value.type_} {constant.name}{{", *_parts_of(value, cores, calls, "    "), "};"]
    if made is not None:
        return [*out, *layout.lines(config_call(f"const auto {constant.name} = ", made, cores), "")]
    if isinstance(value, model.Literal):
        if constant.kind is Kind.FLOAT or isinstance(value.value, float):
            return [*out, f"constexpr float {constant.name} = {render_float(float(str(value.value)))};"]
        return [*out, f"constexpr int {constant.name} = {render(value)};"]
    if isinstance(value, model.Record) and value.class_name == "ttnn.CoreGrid":
        labelled = ", ".join(f"/*{name}=*/{render(part)}" for name, part in value.fields)
        return [*out, f"const ttnn::CoreGrid {constant.name}({labelled});"]
    if isinstance(value, model.Record) and not isinstance(value, EnumRef):
        type_ = record_class(value.class_name) if constant.kind is Kind.PROGRAM_CONFIG else CONSTANT_TYPES.get(constant.kind, "auto")
        if type_ != "auto":
            fields = [f"    .{name} = {render(part)}," for name, part in with_derived(value.class_name, value.fields)]
            return [*out, f"const {type_} {constant.name}{{", *fields, "};"]
    call = memory_config_call(value, cores) if isinstance(value, model.MemoryConfig) else render(value)
    head = f"const auto {constant.name} = "
    return [*out, *([f"{head}{call};"] if isinstance(call, str) else layout.lines(replace(call, head=head + call.head, tail=";"), ""))]
