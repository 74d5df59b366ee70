"""What an optimizer does to one parameter after the other becomes a loop over the gradients; a program's many outputs go into a collection by their names.

Works on the finished entry function, after `merge`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from alchemist.program import model
from alchemist.program.graph import GRADIENTS
from alchemist.program.names import unique
from alchemist.program.walk import bound_by, bound_in, names_of, with_values

OUTPUTS = "outputs"
UPDATED = "updated"
"""What the loop calls the new value of a parameter, which has another name in each turn."""
MIN_TURNS = 3
"""Updates that are worth a loop."""
_VARIABLE = model.Index("name", text=True)


def roll_updates(entry: model.Function, functions: Sequence[model.Function], outputs: Sequence[str], made: Sequence[str]) -> model.Function:
    """The entry function with a loop over its updates; as it is without those.

    outputs: names of what it returns, in order. made: keys of the gradients, in the order in which the program makes them.
    """
    final = entry.body[-1] if entry.body else None
    if not isinstance(final, model.Return) or len(final.values) != len(outputs) or len(outputs) <= model.MANY_OUTPUTS:
        return entry
    body = entry.body[:-1]
    returned: dict[str, str] = {}  # variable -> the output that it is
    for value, name in zip(final.values, outputs, strict=True):
        if isinstance(value, model.TensorRef):
            returned[value.name] = "" if value.name in returned else name
    alone = _made_once_and_unread(body)
    returned = {variable: name for variable, name in returned.items() if name and variable in alone}
    by_name = {function.name: function for function in functions}
    rolled: list[model.Statement] = []
    gone: set[str] = set()
    index = 0
    while index < len(body):
        turns = _turns(body, index, returned)
        if len(turns) < MIN_TURNS:
            rolled.append(body[index])
            index += 1
            continue
        calls = list(turns.values())
        gone.update(result for call in calls for result in call.results if isinstance(result, str))
        rolled.append(_loop(list(turns), calls[0], by_name[calls[0].function], returned, made, entry))
        index = next(place for place in range(index, len(body)) if body[place] is calls[-1]) + 1
    if not gone:
        return entry
    rest = [(value, name) for value, name in zip(final.values, outputs, strict=True) if not (isinstance(value, model.TensorRef) and value.name in gone)]
    stores = [model.Store(model.WeightRef((name,), collection=OUTPUTS), value) for value, name in rest]
    named = model.ReturnNamed(OUTPUTS, tuple(outputs))
    return replace(entry, body=(*_with_collection(rolled), model.Blank(), *stores, named))


def _with_collection(body: Sequence[model.Statement]) -> list[model.Statement]:
    """The collection of outputs is made where the others are."""
    behind = max((index + 1 for index, one in enumerate(body) if isinstance(one, model.NewCollection)), default=0)
    return [*body[:behind], model.NewCollection(OUTPUTS), *body[behind:]]


def _made_once_and_unread(body: Sequence[model.Statement]) -> set[str]:
    """Variables that nothing but the function's end reads."""
    made: Counter[str] = Counter()
    read: set[str] = set()
    for one in model.statements(tuple(body)):
        made.update(bound_by(one))
        read |= names_of(one)
        if isinstance(one, model.Free):
            read.update(one.names)
    return {name for name, times in made.items() if times == 1} - read


def _turns(body: Sequence[model.Statement], start: int, returned: Mapping[str, str]) -> dict[str, model.CallFunction]:
    """The calls from `start` on, by their gradients' keys, that differ in the parameter alone."""
    found: dict[str, model.CallFunction] = {}
    wanted: object = None
    for one in body[start:]:
        if isinstance(one, model.Blank | model.Comment) and found:
            continue
        key = _gradient(one) if isinstance(one, model.CallFunction) else ""
        if not key or not isinstance(one, model.CallFunction):
            break
        form = _form(one, key, returned)
        if form is None or key in found or form != (wanted := wanted or form):
            break
        found[key] = one
    return found


def _gradient(call: model.CallFunction) -> str:
    """Key of the only gradient that the call takes, "" for none."""
    keys = [one.key for one in call.arguments if isinstance(one, model.WeightRef) and one.collection == GRADIENTS and one.taken]
    return str(keys[0][0]) if len(keys) == 1 and len(keys[0]) == 1 else ""


def _form(call: model.CallFunction, key: str, returned: Mapping[str, str]) -> object:
    """The call without its parameter: equal for turns of one loop; None where a result is used otherwise."""
    results = []
    for result in call.results:
        if not isinstance(result, str) or (result != "_" and result not in returned):
            return None
        results.append(_keyed((returned[result],), key) if result != "_" else None)
    return call.function, _arguments(call, key).arguments, tuple(results)


def _arguments(call: model.CallFunction, key: str) -> model.CallFunction:
    made = with_values(call, lambda value: replace(value, key=_keyed(value.key, key)) if isinstance(value, model.WeightRef) else value)
    assert isinstance(made, model.CallFunction)
    return made


def _keyed(key: model.Key, name: str) -> model.Key:
    """The key with the loop's variable in place of the parameter's name."""
    if len(key) != 1 or not isinstance(key[0], str):
        return key
    parts = re.split(rf"(?<![^.]){re.escape(name)}(?![^._])", key[0])
    if len(parts) != 2:
        return key
    return tuple(piece for piece in (parts[0], _VARIABLE, parts[1]) if piece != "")


def _loop(
    names: Sequence[str], first: model.CallFunction, function: model.Function, returned: Mapping[str, str], made: Sequence[str], entry: model.Function
) -> model.NameLoop:
    taken = bound_in(entry.body).union(*map(names_of, model.statements(entry.body))) - set(first.results)
    taken |= {parameter.name for parameter in entry.parameters} | {OUTPUTS}
    results: list[str] = []
    stores: list[model.Statement] = []
    for result, called in zip(first.results, _returned_names(function), strict=True):
        assert isinstance(result, str)
        if result == "_":
            results.append(result)
            continue
        variable = unique([called or UPDATED], lambda name: name not in taken)
        taken.add(variable)
        results.append(variable)
        stores.append(model.Store(model.WeightRef(_keyed((returned[result],), names[0]), collection=OUTPUTS), model.TensorRef(variable)))
    call = replace(_arguments(first, names[0]), results=tuple(results))
    every = list(names) == list(made)
    return model.NameLoop("name", () if every else tuple((name,) for name in names), (call, *stores), GRADIENTS if every else "")


def _returned_names(function: model.Function) -> list[str]:
    final = function.body[-1]
    values = final.values if isinstance(final, model.Return) else ()
    names = [value.name if isinstance(value, model.TensorRef) else "" for value in values]
    return names if len(names) == function.returns else [""] * function.returns
