"""Named tuples of configs that a program's functions are given are constants, called after the modules that they are for: `STAGE_1`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from alchemist.ir.scopes import common_prefix
from alchemist.ops.spec import Kind
from alchemist.program import model
from alchemist.program.function_names import path_words
from alchemist.program.names import constant_case, snake_case, unique
from alchemist.program.walk import calls_of, mapped, text_of


def bundles_in(function: model.Function) -> Iterator[tuple[model.Bundle, model.CallFunction]]:
    """The named tuples that a function gives to others, each with the call, of a loop the first one."""
    for call, numbers in calls_of(function.body, {}, turns=1):
        for argument in call.arguments:
            if isinstance(argument, model.NumberArgument) and isinstance(argument.value, model.Bundle):
                yield argument.value, _with_numbers(call, numbers)


def _with_numbers(call: model.CallFunction, numbers: Mapping[str, int]) -> model.CallFunction:
    def known(key: model.Key) -> model.Key:
        return tuple(text_of((piece,), numbers) if isinstance(piece, model.Index) and piece.variable in numbers else piece for piece in key)

    arguments = tuple(replace(one, key=known(one.key)) if isinstance(one, model.ScopeArgument) else one for one in call.arguments)
    return replace(call, arguments=arguments)


def name_bundles(functions: Sequence[model.Function], taken: set[str]) -> tuple[tuple[model.Function, ...], tuple[model.Constant, ...]]:
    """The functions with constants instead of named tuples, and these, inner ones first. taken: names that they must not have."""
    places: dict[model.Bundle, tuple[model.CallFunction, str]] = {}
    elements: dict[model.Bundle, dict[str, None]] = {}
    for function in functions:
        for bundle, call in bundles_in(function):
            place = places.setdefault(bundle, (call, function.scopes[0] if len(function.scopes) == 1 else ""))
            words = _counted(call, place[1])
            elements.setdefault(bundle, {})[words[0] if words else ""] = None
    names: dict[model.Bundle, str] = {}
    several = len({bundle.type_ for bundle in places}) > 1
    plain_first = sorted(places.items(), key=lambda place: (len(place[1][0].function), len(place[0].fields)))
    for bundle, (call, scope) in plain_first:  # the class's plain function has the plain names
        choices = _candidates(bundle, call, scope, [*elements[bundle]], several=several)
        names[bundle] = unique(choices, lambda name: name not in taken)
        taken.add(names[bundle])

    def argument(one: model.Argument) -> model.Argument:
        if isinstance(one, model.NumberArgument) and isinstance(one.value, model.Bundle):
            return model.NumberArgument(one.name, model.ConstantRef(names[one.value]))
        return one

    def change(one: model.Statement) -> model.Statement:
        return replace(one, arguments=tuple(map(argument, one.arguments))) if isinstance(one, model.CallFunction) else one

    changed = tuple(replace(function, body=mapped(function.body, change)) for function in functions)
    return changed, tuple(model.Constant(names[bundle], bundle, Kind.PROGRAM_CONFIG) for bundle in places)


def _words(call: model.CallFunction, scope: str) -> list[str]:
    """Modules of the caller, whose scope it is, and of the call."""
    keys = [part.key for part in call.arguments if isinstance(part, model.ScopeArgument)]
    words = [word for word in path_words(scope) if word.isidentifier()]
    return words + [word for key in keys for word in path_words("".join(piece for piece in key if isinstance(piece, str)))]


def _counted(call: model.CallFunction, scope: str) -> list[str]:
    return [word for word in _words(call, scope) if re.search(r"_\d+$", word)]


MAX_ELEMENTS = 2
"""Elements of several lists that the name of their configs lists."""


def _candidates(bundle: model.Bundle, call: model.CallFunction, scope: str, elements: Sequence[str], *, several: bool) -> list[str]:
    """Names for a call's configs, the best first.

    scope: of the caller. elements: of lists, the modules that have these configs. several: the program has named tuples of several types.
    """
    shared = len({word.rstrip("0123456789") for word in elements}) > 1
    words, counted = ([], []) if shared else (_words(call, scope), _counted(call, scope))
    if shared and all(elements) and len(elements) <= MAX_ELEMENTS:
        counted = ["_and_".join(elements)]
    part = "_".join(snake_case(bundle.type_.removesuffix("Configs")).split("_")[1:])
    part = re.sub(r"(^|_)[a-z]+_?\d+(_?(and|to)_?\d+)*$", "", part)
    own = [f"{word}_{part}" if part and part not in word else word for word in counted[:1]]
    memories = {value.name if isinstance(value, model.ConstantRef) else "" for name, value in bundle.fields if name.endswith("memory")}
    where = f"in_{memories.pop()}" if shared and len(memories) == 1 and memories <= {"L1", "DRAM"} else ""
    of_call = f"{call.function}_{'_'.join(words) or where or 'configs'}"
    names = [*(own if several else counted[:1]), *own, "_".join(words) or where * (not several), of_call, f"{call.function}_configs"]
    optional = _optional_part(bundle)
    return [constant_case(f"{name}{optional}") for name in names if name]


def _optional_part(bundle: model.Bundle) -> str:
    """What a function does with these configs and not with others of the type: `_with_shortcut`, by how most fields begin that others leave out."""
    fields = [one.name.split("_")[:-1] for one in bundle.kinds if one.default is not None and one.name in dict(bundle.fields)]
    first = [words[0] for words in fields if words]
    usual = max(first, key=first.count, default="")
    return f"_with_{'_'.join(common_prefix([words for words in fields if words[:1] == [usual]]))}" if usual else ""


def types_of(constants: Sequence[model.Constant]) -> dict[str, tuple[model.Parameter, ...]]:
    """The fields of the named tuples among the constants, by the names of their types, inner ones first."""
    found: dict[str, tuple[model.Parameter, ...]] = {}

    def add(bundle: model.Bundle) -> None:
        for _, part in bundle.fields:
            if isinstance(part, model.Bundle):
                add(part)
        found.setdefault(bundle.type_, bundle.kinds)

    for constant in constants:
        if isinstance(constant.value, model.Bundle):
            add(constant.value)
    return found
