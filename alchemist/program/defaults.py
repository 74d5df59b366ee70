"""Constants that most calls of a function give it alike become the defaults of its parameters, which calls leave out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from alchemist.program import model
from alchemist.program.bundles import PARAMETER
from alchemist.program.walk import calls_in, mapped, with_values
from alchemist.program.weights import PART

_SAID = frozenset({"dtype", "activation", "in_channels", "out_channels", "hidden_channels", "channels", "input_size", PARAMETER, PART})
"""What every call says: a reader asks for it."""
MIN_CALLS = 3
"""Calls of a function that tell what is usual."""
MAX_BY_POSITION = 4
"""Tensors that a call gives by position where some are weights."""


def with_defaults(functions: Sequence[model.Function], *, by_name: bool) -> tuple[model.Function, ...]:
    """by_name: calls may leave out any constant (Python); else the last ones alone, so that the most usual ones are put there (C++)."""
    given: dict[str, dict[str, list[model.Value]]] = {}
    for function in functions:
        for call in calls_in(function.body):
            values = given.setdefault(call.function, {})
            for argument in call.arguments:
                if isinstance(argument, model.NumberArgument):
                    values.setdefault(argument.name, []).append(argument.value)
    changed = {function.name: _with_defaults(*_without_needless(function, given.get(function.name, {}))) for function in functions}

    def called(statement: model.Statement) -> model.Statement:
        if not isinstance(statement, model.CallFunction) or statement.function not in changed:
            return statement
        parameters = changed[statement.function].parameters
        return replace(statement, arguments=_named(_left(statement.arguments, parameters, by_name=by_name), parameters))

    return tuple(replace(function, body=mapped(function.body, called)) for function in changed.values())


def _without_needless(function: model.Function, given: Mapping[str, Sequence[model.Value]]) -> tuple[model.Function, Mapping[str, Sequence[model.Value]]]:
    """The function without parameters for which every call gives the same named constant: two configs with equal fields have one name. What is left."""
    configs = {one.name for one in function.parameters if one.kind != "number"}  # a number may stand in an expression
    same = {name: values[0] for name, values in given.items() if name in configs and isinstance(values[0], model.ConstantRef)}
    same = {name: first for name, first in same.items() if all(_is(value, first) for value in given[name])}
    if not same:
        return function, given

    def value(old: model.Value) -> model.Value:
        return same.get(old.name, old) if isinstance(old, model.ParameterRef) else old

    body = mapped(function.body, lambda one: with_values(one, value))
    parameters = tuple(one for one in function.parameters if one.name not in same)
    return replace(function, parameters=parameters, body=body), {name: values for name, values in given.items() if name not in same}


def _with_defaults(function: model.Function, given: Mapping[str, Sequence[model.Value]]) -> model.Function:
    usual = {name: found for name, values in given.items() if name not in _SAID and (found := _usual(values)) is not None}
    with_default = [replace(one, default=usual[one.name][0]) for one in function.parameters if one.name in usual]
    with_default.sort(key=lambda one: usual[one.name][1])
    return replace(function, parameters=(*(one for one in function.parameters if one.name not in usual), *with_default))


def _usual(values: Sequence[model.Value]) -> tuple[model.Value, int] | None:
    """The constant that more than half of the calls give, and how many do."""
    if len(values) < MIN_CALLS:
        return None
    shown, count = Counter(repr(value) for value in values).most_common(1)[0]  # repr: 1, 1.0 and True are equal
    value = next(value for value in values if repr(value) == shown)
    constant = isinstance(value, model.Literal | model.MemoryConfig | model.Layout | model.DType | model.ConstantRef)
    return (value, count) if constant and 2 * count > len(values) else None


def _left(arguments: Sequence[model.Argument], parameters: Sequence[model.Parameter], *, by_name: bool) -> tuple[model.Argument, ...]:
    """What a call says: constants in the parameters' order, without defaults."""
    defaults = {one.name: one.default for one in parameters if one.default is not None}
    order = [one.name for one in parameters]
    arguments = [one for one in arguments if not isinstance(one, model.NumberArgument) or one.name in order]
    plain = [one for one in arguments if not isinstance(one, model.NumberArgument)]
    constants = sorted((one for one in arguments if isinstance(one, model.NumberArgument)), key=lambda one: order.index(one.name))
    if by_name:
        return (*plain, *(one for one in constants if not _is(one.value, defaults.get(one.name))))
    while constants and _is(constants[-1].value, defaults.get(constants[-1].name)):
        constants.pop()
    return (*plain, *constants)


def _named(arguments: Sequence[model.Argument], parameters: Sequence[model.Parameter]) -> tuple[model.Argument, ...]:
    """Weights among many tensors are given by name, and so is what is beside them."""
    tensors = [one for one in arguments if not isinstance(one, model.NumberArgument)]
    taken = parameters[: len(tensors)]
    if len(tensors) <= MAX_BY_POSITION or any(one.kind != "tensor" for one in taken) or not any(isinstance(one, model.WeightRef) for one in tensors):
        return tuple(arguments)
    named = (model.NumberArgument(parameter.name, value) for parameter, value in zip(taken, tensors, strict=True) if not isinstance(value, model.ScopeArgument))
    return (*named, *arguments[len(tensors) :])


def _is(value: model.Value, default: model.Value | None) -> bool:
    return default is not None and repr(value) == repr(default)
