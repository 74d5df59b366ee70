"""Weights that every turn of a loop gives to the functions that it calls: read once, before the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from alchemist.program import model
from alchemist.program.walk import bound_in, calls_in, filled_by, mapped


def read_before_loops(functions: Sequence[model.Function]) -> list[model.Function]:
    """The functions; such a weight is a variable with the name of the called function's parameter, where the calls agree and the name is free."""
    parameters = {function.name: [parameter.name for parameter in function.parameters] for function in functions}
    return [_changed(function, parameters) for function in functions]


def _changed(function: model.Function, parameters: Mapping[str, Sequence[str]]) -> model.Function:
    taken = {*parameters, *(parameter.name for parameter in function.parameters), *bound_in(function.body)}
    known: dict[model.WeightRef, str] = {}
    body: list[model.Statement] = []
    for statement in function.body:
        if isinstance(statement, model.Loop):
            names = _names(statement, parameters)
            new = {place: name for place, name in names.items() if place not in known and name not in taken and list(names.values()).count(name) == 1}
            known.update(new)
            taken.update(new.values())
            body += [model.Assign(name, place) for place, name in new.items()]
            statement = replace(statement, body=mapped(statement.body, lambda one: _given(one, known)))
        body.append(statement)
    return replace(function, body=tuple(body))


def _names(loop: model.Loop, parameters: Mapping[str, Sequence[str]]) -> dict[model.WeightRef, str]:
    """What the functions that the loop calls call the weights that are the same in all turns; without those with several names."""
    filled = {place for one in model.statements(loop.body) for place in filled_by(one)}
    found: dict[model.WeightRef, set[str]] = {}
    for call in calls_in(loop.body):
        for argument, name in zip(call.arguments, parameters.get(call.function, ()), strict=False):
            if isinstance(argument, model.WeightRef) and _is_same_in_all_turns(argument) and argument not in filled:
                found.setdefault(argument, set()).add(name)
    return {place: names.pop() for place, names in found.items() if len(names) == 1}


def _is_same_in_all_turns(place: model.WeightRef) -> bool:
    return place.collection == "weights" and not place.stored and all(isinstance(part, str) for part in place.key)


def _given(statement: model.Statement, names: Mapping[model.WeightRef, str]) -> model.Statement:
    if not isinstance(statement, model.CallFunction):
        return statement
    given = (model.TensorRef(names[one]) if isinstance(one, model.WeightRef) and one in names else one for one in statement.arguments)
    return replace(statement, arguments=tuple(given))
