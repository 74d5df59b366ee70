"""Parameters take the name of what every call gives them, where their own only has a number more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from alchemist.program import model
from alchemist.program.names import RESERVED
from alchemist.program.walk import bound_in, calls_in, with_variables

_NUMBERED = re.compile(r"(\w+?)_\d+")


def named_as_called(functions: Sequence[model.Function]) -> list[model.Function]:
    """`f(embedding_2)`, called as `f(embedding)` alone, becomes `f(embedding)`: results get their final names after the functions that take them."""
    given: dict[tuple[str, int], set[str]] = {}
    for function in functions:
        for call in calls_in(function.body):
            for place, argument in enumerate(call.arguments):
                given.setdefault((call.function, place), set()).add(argument.name if isinstance(argument, model.TensorRef) else "")
    return [_renamed(function, dict(_names(function, given))) for function in functions]


def _names(function: model.Function, given: dict[tuple[str, int], set[str]]) -> Iterator[tuple[str, str]]:
    taken = {parameter.name for parameter in function.parameters} | RESERVED | bound_in(function.body)
    for place, parameter in enumerate(function.parameters):
        match = _NUMBERED.fullmatch(parameter.name)
        if match and parameter.kind == "tensor" and given.get((function.name, place)) == {match[1]} and match[1] not in taken:
            taken.add(match[1])
            yield parameter.name, match[1]


def _renamed(function: model.Function, names: dict[str, str]) -> model.Function:
    if not names:
        return function
    parameters = tuple(replace(parameter, name=names.get(parameter.name, parameter.name)) for parameter in function.parameters)
    return replace(function, parameters=parameters, body=with_variables(function.body, names))
