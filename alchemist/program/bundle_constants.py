"""Named tuples of configs that a program's functions are given are constants, called after the modules that they are for: `STAGE_1`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from alchemist.ops.spec import Kind
from alchemist.program import model
from alchemist.program.function_names import path_words
from alchemist.program.names import constant_case, unique
from alchemist.program.walk import mapped


def bundles_in(function: model.Function) -> Iterator[tuple[model.Bundle, model.CallFunction]]:
    """The named tuples that a function gives to others, each with the call."""
    for call in (one for one in model.statements(function.body) if isinstance(one, model.CallFunction)):
        for argument in call.arguments:
            if isinstance(argument, model.NumberArgument) and isinstance(argument.value, model.Bundle):
                yield argument.value, call


def name_bundles(functions: Sequence[model.Function], taken: set[str]) -> tuple[tuple[model.Function, ...], tuple[model.Constant, ...]]:
    """The functions with constants instead of named tuples, and these, inner ones first. taken: names that they must not have."""
    places: dict[model.Bundle, tuple[model.CallFunction, str]] = {}
    for function in functions:
        for bundle, call in bundles_in(function):
            places.setdefault(bundle, (call, function.scopes[0] if len(function.scopes) == 1 else ""))
    names: dict[model.Bundle, str] = {}
    for bundle, (call, scope) in sorted(places.items(), key=lambda place: len(place[1][0].function)):  # the class's plain function has the plain names
        names[bundle] = unique(_candidates(call, scope), lambda name: name not in taken)
        taken.add(names[bundle])

    def argument(one: model.Argument) -> model.Argument:
        if isinstance(one, model.NumberArgument) and isinstance(one.value, model.Bundle):
            return model.NumberArgument(one.name, model.ConstantRef(names[one.value]))
        return one

    def change(one: model.Statement) -> model.Statement:
        return replace(one, arguments=tuple(map(argument, one.arguments))) if isinstance(one, model.CallFunction) else one

    changed = tuple(replace(function, body=mapped(function.body, change)) for function in functions)
    return changed, tuple(model.Constant(names[bundle], bundle, Kind.PROGRAM_CONFIG) for bundle in places)


def _candidates(call: model.CallFunction, scope: str) -> list[str]:
    """Names for a call's configs, the best first. scope: of the caller."""
    keys = [part.key for part in call.arguments if isinstance(part, model.ScopeArgument)]
    words = [word for word in path_words(scope) if word.isidentifier()]
    words += [word for key in keys for word in path_words("".join(piece for piece in key if isinstance(piece, str)))]
    counted = [word for word in words if word[-1:].isdigit()]
    part = call.function.rpartition("_")[2]
    names = [*counted[:1], *(f"{word}_{part}" for word in counted[:1]), "_".join(words), f"{call.function}_{'_'.join(words)}", f"{call.function}_configs"]
    return [constant_case(name) for name in names if name]


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
