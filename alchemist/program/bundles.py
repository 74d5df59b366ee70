"""The configs in which calls of a function differ are one parameter: a named tuple, of which the program has a constant for each stage.

A block of a network has a product's config, the memory of each result, a convolution's config: more parameters than a reader keeps apart. The fields are
called after the modules whose weights are read with them: `layer_0_matmul`, `shortcut_memory`. A stage leaves out what only an optional part of others reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from alchemist.program import model
from alchemist.program.alignment import MAX_CONSTANTS, NOTHING, Aligned
from alchemist.program.function_names import path_words
from alchemist.program.names import identifier, snake_case, unique
from alchemist.program.scopes import MOVE
from alchemist.program.walk import bound_in, mapped, names_of, with_values

PARAMETER = "configs"
_WHAT = {
    "memory_config": "memory",
    "matmul_config": "matmul",
    "conv2d_config": "conv",
    "compute_config": "compute",
    "attention_config": "attention",
    "norm_config": "program",
}
"""How a field of each kind is called behind what it is for."""


def bundled(made: Aligned) -> Aligned:
    """The function with one parameter for all its new configs, if these are many."""
    function = made.function
    fields = [parameter for parameter in function.parameters if parameter.name in made.added and parameter.kind not in ("number", "bool")]
    others = [parameter for parameter in function.parameters if parameter not in fields]
    taken = {parameter.name for parameter in others} | bound_in(function.body)
    if len(fields) <= MAX_CONSTANTS or PARAMETER in taken:
        return made
    fields = sorted(fields, key=lambda one: bool(made.unread.get(one.name)))  # those with a default are the last ones
    names = _names(function.body, fields)
    kept = {name: values for name, values in made.added.items() if all(name != one.name for one in fields)}
    columns = [[None if place in made.unread.get(one.name, ()) else value for place, value in enumerate(made.added[one.name])] for one in fields]
    named = tuple(replace(one, name=names[one.name], default=NOTHING if made.unread.get(one.name) else None) for one in fields)
    bundles = tuple(
        model.Bundle(function.name, tuple((one.name, value) for one, value in zip(named, row, strict=True) if value is not None), named)
        for row in zip(*columns, strict=True)
    )

    def value(old: model.Value) -> model.Value:
        return model.ParameterRef(f"{PARAMETER}.{names[old.name]}") if isinstance(old, model.ParameterRef) and old.name in names else old

    body = mapped(function.body, lambda one: with_values(one, value))
    parameter = model.Parameter(PARAMETER, model.bundle_kind(function.name))
    return Aligned(replace(function, parameters=(*others, parameter), body=body), {**kept, PARAMETER: bundles})


def _names(body: Sequence[model.Statement], fields: Sequence[model.Parameter]) -> dict[str, str]:
    """Names of the fields, by the names of the parameters."""
    kinds = {one.name: one.kind for one in fields}
    sites: dict[str, dict[tuple[str, ...], str]] = {}
    for words, before, argument, value in _uses(body):
        if value in kinds:
            what = _WHAT.get(model.plain_kind(kinds[value]), argument)
            known = sites.setdefault(value, {})
            known[words] = before + what if known.get(words, before + what) == before + what else f"input_and_output_{what}"
    short = _shortened(list(dict.fromkeys(words for known in sites.values() for words in known)))
    found: dict[str, str] = {}
    for one in fields:
        known = sites.get(one.name, {})
        what = next(iter(known.values()), one.name) if len(known) < 2 else _WHAT.get(model.plain_kind(one.kind), one.name)
        parts = ["_and_".join(short[words] for words in known), "_and_".join("_".join(words) for words in known)]
        told = [f"{text}_{'config' if text.startswith(f'{what}_') else what}" for text in parts if text]
        found[one.name] = unique([identifier(name, "config") for name in (*told, one.name)], lambda name: name not in found.values())
    return found


def _shortened(groups: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """One word for each, where no other has it; else all of them."""
    found: dict[tuple[str, ...], str] = {}
    for words in groups:
        others = {word for other in groups if other != words for word in other}
        found[words] = next((word for word in words if word not in others), "_".join(words))
    return found


def _uses(body: Sequence[model.Statement]) -> Iterator[tuple[tuple[str, ...], str, str, str]]:
    """(what a call is for, "input_" of a move for that call, argument, parameter that it is given) of each parameter in the statements."""
    statements = list(model.statements(tuple(body)))
    for place, one in enumerate(statements):
        if isinstance(one, model.Call):
            words, before = _words(one), ""
            if one.spec.name == MOVE and one.results:
                reader = next((other for other in statements[place + 1 :] if str(one.results[0]) in names_of(other)), None)
                words, before = _words(reader) if isinstance(reader, model.Call) else words, "input_"
            yield from ((words, before, arg.name, value.name) for arg, value in one.arguments if isinstance(value, model.ParameterRef))
        elif isinstance(one, model.CallFunction):
            words = tuple(word for part in one.arguments if isinstance(part, model.ScopeArgument) for word in path_words(_text(part.key))) or (one.function,)
            given = (part for part in one.arguments if isinstance(part, model.NumberArgument))
            for part in given:
                if isinstance(part.value, model.ParameterRef):
                    yield words, "input_" if part.name.startswith("input_") else "", part.name, part.value.name


def _words(call: model.Call) -> tuple[str, ...]:
    """The modules of the call's weight, else its result."""
    keys = [_text(value.key) for _, value in call.arguments if isinstance(value, model.WeightRef)]
    words = path_words(keys[0].rpartition(".")[0]) if keys else []
    kind = call.spec.target.rpartition(".")[2].removesuffix("2d")  # of an element of a Sequential: `conv_0`
    words = [word.replace("item", kind, 1) if re.fullmatch(r"item_\d+", word) else word for word in words]
    return tuple(words) or tuple(result for result in call.results if isinstance(result, str)) or ("result",)


def _text(key: model.Key) -> str:
    return "".join(piece if isinstance(piece, str) else "" for piece in key)


def with_type_names(functions: Sequence[model.Function], renamed: Mapping[str, str]) -> list[model.Function]:
    """The functions with the types called after them. renamed: functions' names when their types were made -> names now."""
    modules = {function.name: function.module for function in functions}
    types = {old: type_name(name, modules.get(name, "")) for function in functions for old in _types(function) for name in [renamed.get(old, old)]}

    def changed(value: model.Value) -> model.Value:
        if not isinstance(value, model.Bundle):
            return value
        fields = tuple((name, changed(part)) for name, part in value.fields)
        return model.Bundle(types.get(value.type_, value.type_), fields, tuple(map(parameter, value.kinds)))

    def parameter(one: model.Parameter) -> model.Parameter:
        old = model.bundle_type(one.kind)
        return replace(one, kind=model.bundle_kind(types.get(old, old))) if old else one

    return [
        replace(
            function,
            parameters=tuple(parameter(one) for one in function.parameters),
            body=mapped(function.body, lambda one: with_values(one, changed)),
        )
        for function in functions
    ]


def _types(function: model.Function) -> list[str]:
    return [old for one in function.parameters if (old := model.bundle_type(one.kind))]


def type_name(function: str, module: str) -> str:
    """`conv_block_first` of the class ConvBlock -> `ConvBlockFirstConfigs`."""
    module = module.strip("_") if module.isidentifier() and module.isascii() else ""
    begin = snake_case(module)
    known = bool(begin) and f"{function}_".startswith(f"{begin}_")
    words = (function.removeprefix(begin) if known else function).split("_")
    return (module if known else "") + "".join(word[:1].upper() + word[1:] for word in words) + "Configs"
