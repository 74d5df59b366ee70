"""C++ text of a program: `emit(program)` -> main.cpp, consteval.hpp, consteval.cpp, utils.hpp,
utils.cpp, check.hpp, check.cpp, files.hpp, files.cpp, CMakeLists.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from alchemist.ops.spec import EnumRef, Kind
from alchemist.program import header, model
from alchemist.program.text import clean, comment
from alchemist.resources import render as render_template
from alchemist.resources import template_text
from emit_cpp import layout
from emit_cpp.printer import function_text
from emit_cpp.text import quoted
from emit_cpp.values import CONSTANT_TYPES, record_class, render, render_float

__all__ = ["emit"]

_RUN = ("Run       ./run              builds, then runs on the simulator; ./run --device runs on a Tenstorrent card",)
_STANDARD = (
    ("array", r"std::array<"),
    ("cstdint", r"\bu?int\d+_t\b"),
    ("limits", r"std::numeric_limits"),
    ("string", r"std::(to_)?string\b"),
    ("tuple", r"std::(tuple|tie)\b"),
    ("vector", r"std::vector<"),
)
"""Standard headers and what in the text needs them; <exception> and <optional> are always there."""


def emit(program: model.Program, module_arguments: Sequence[str] | None = None) -> dict[str, str]:
    """Formatted source, built with language="cpp". `consteval.*` only when something is computed from weights.

    module_arguments: names of all arguments in order; the project then also builds a shared library with `setDevice` and `forward`.

    Raises:
        EmitError: a value, or a call, without C++ form.
    """
    separate = bool(program.prepare) and program.split_prepare
    functions = [*program.functions, *(() if separate else program.prepare)]
    texts = [function_text(function) for function in functions]
    constants = [_constant(constant) for constant in program.constants]
    device = ["device.get()"] if model.takes_device(program) else []
    arguments = [*device, *(variable.identifier for variable in program.inputs), *(["weights"] if program.has_weights else [])]
    weights = "utils::stored_weights(device, /*keep=*/true)"
    if program.prepare:
        weights = f"{'const_eval::' if separate else ''}prepare(utils::stored_weights(device))"
    names = [variable.identifier for variable in program.outputs]
    body = "\n".join([*texts, *(line for lines in constants for line in lines)])
    release = "`release(x)` gives x's device memory back: TT-NN frees a buffer with its last reference."
    call = layout.lines(layout.Call(f"{'outputs = ' if len(names) > 1 else f'{names[0]} = ' if names else ''}{program.entry}", arguments, ";"), " " * 8)
    rows = [f"{{{quoted(variable.name)}, {variable.identifier}}}" for variable in program.outputs]
    report = layout.lines(layout.Call("return utils::report", ["args", layout.Call("", rows, "", "{", "}")], ";"), "    ")
    loads = [f"    const auto {variable.identifier} = utils::load({quoted(variable.name)}, device);" for variable in program.inputs]
    files = {
        "main.cpp": render_template(
            "cpp/main.cpp.j2",
            header=[f"// {line}".rstrip() for line in header.header_lines(program, _safe, _RUN, [release])],
            standard=_standard_headers(body, ("exception", "optional")),
            headers=_headers(functions),
            consteval=separate,
            uses_release=any(isinstance(statement, model.Free) for function in functions for statement in model.statements(function.body)),
            uses_weights=any(parameter.kind not in ("tensor", "number") for function in functions for parameter in function.parameters),
            constants=constants,
            functions=texts,
            weights=weights if program.has_weights else "",
            loads=loads,
            outputs=names,
            result_type=f"std::tuple<{', '.join(['Tensor'] * len(names))}>",
            call=call,
            module=_module(program, module_arguments, arguments),
            given_weights=weights.replace("utils::stored_weights(device, /*keep=*/true)", "stored").replace("utils::stored_weights(device)", "stored"),
            report=report,
        ),
        **{name: template_text(f"cpp/{name}") for name in ("utils.hpp", "utils.cpp", "check.hpp", "check.cpp", "files.hpp", "files.cpp")},
        "CMakeLists.txt": render_template("cpp/CMakeLists.txt.j2", consteval=separate, module=module_arguments is not None),
        ".clang-format": template_text("cpp/clang-format"),
    }
    if separate:
        texts = [function_text(function) for function in program.prepare]
        constants = [_constant(constant) for constant in program.prepare_constants]
        files["consteval.hpp"] = template_text("cpp/consteval.hpp")
        files["consteval.cpp"] = render_template(
            "cpp/consteval.cpp.j2",
            title=comment(clean(program.title), 40),
            standard=_standard_headers("\n".join([*texts, *(line for lines in constants for line in lines)]), ("optional",)),
            headers=_headers(program.prepare),
            constants=constants,
            functions=texts[:-1],
            prepare=texts[-1],
        )
    return files


def _module(program: model.Program, names: Sequence[str] | None, arguments: Sequence[str]) -> dict[str, object] | None:
    if names is None:
        return None
    return {
        "arguments": ", ".join(quoted(name) for name in names),
        "inputs": ", ".join(quoted(variable.name) for variable in program.inputs),
        "count": len(names),
        "loads": [(variable.identifier, quoted(variable.name)) for variable in program.inputs],
        "call": f"::{program.entry}({', '.join(arguments)})",
        "outputs": [variable.identifier for variable in program.outputs],
    }


def _safe(text: str) -> str:
    return comment(text, 100_000)


def _standard_headers(text: str, always: Sequence[str]) -> list[str]:
    return sorted({*always, *(name for name, pattern in _STANDARD if re.search(pattern, text))})


def _headers(functions: Iterable[model.Function]) -> list[str]:
    found = {"ttnn/types.hpp", "ttnn/operations/core/core.hpp"}
    for function in functions:
        found.update(statement.spec.header for statement in model.statements(function.body) if isinstance(statement, model.Call))
    return sorted(found)


def _constant(constant: model.Constant) -> list[str]:
    """Lines of a named constant."""
    out = [f"// {constant.comment}"] if constant.comment else []
    value = constant.value
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
            fields = [f"    .{name} = {render(part)}," for name, part in value.fields]
            return [*out, f"const {type_} {constant.name}{{", *fields, "};"]
    return [*out, f"const auto {constant.name} = {render(value)};"]
