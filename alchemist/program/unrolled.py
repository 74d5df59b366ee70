"""A loop of a few turns is written out where the other functions of its class have the same calls written out: they are one function then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from alchemist.program import model
from alchemist.program.still_moves import skeleton
from alchemist.program.walk import joined_key, text_of, with_values

INNER = "inner"
MOST_TURNS = 3
"""Turns of a loop that may be written out."""


def with_unrolled_loops(functions: Sequence[model.Function]) -> list[model.Function]:
    """The functions; those of which another one of the class has the calls written out have no loop."""
    known = {(function.module, skeleton(function.body)) for function in functions if function.module}
    out = []
    for function in functions:
        loops = [one for one in function.body if isinstance(one, model.Loop)]
        made = _unrolled(function) if function.module and len(loops) == 1 else None
        out.append(made if made is not None and (made.module, skeleton(made.body)) in known else function)
    return out


def _unrolled(function: model.Function) -> model.Function | None:
    body: list[model.Statement] = []
    for one in function.body:
        if not isinstance(one, model.Loop):
            body.append(one)
            continue
        if not isinstance(one.stop, model.Literal) or type(one.stop.value) is not int or one.fills or one.backwards:
            return None
        turns = range(one.start, one.stop.value, one.step)
        if len(turns) > MOST_TURNS or any(isinstance(inner, model.Loop | model.NameLoop | model.If | model.Append) for inner in one.body):
            return None
        for turn in turns:
            body += [_in_turn(inner, one.variable, turn) for inner in one.body if turn == turns[0] or not isinstance(inner, model.Comment | model.Blank)]
    body = _with_own_names(body, {parameter.name for parameter in function.parameters})
    while len(body) > 1 and isinstance(body[-2], model.Blank):
        del body[-2]
    if len(body) > 1 and isinstance(last := body[-2], model.Call | model.CallFunction) and isinstance(final := body[-1], model.Return):
        if final.values == tuple(model.TensorRef(result) for result in last.results if isinstance(result, str)):
            body[-2:] = [replace(last, results=(), returned=True)]
    return replace(function, body=tuple(body))


def _with_own_names(body: Sequence[model.Statement], given: set[str]) -> list[model.Statement]:
    """The statements, where what goes round has a name of its own instead of that of the tensor which the function is given."""
    names: dict[str, str] = {}
    out = []
    for one in body:
        made = with_values(one, lambda old: replace(old, name=names.get(old.name, old.name)) if isinstance(old, model.TensorRef) else old)
        if isinstance(made, model.Free):
            made = model.Free(tuple(names.get(name, name) for name in made.names))
        if isinstance(made, model.Call | model.CallFunction):
            names.update({result: INNER for result in made.results if isinstance(result, str) and result in given})
            made = replace(made, results=tuple(names.get(result, result) if isinstance(result, str) else result for result in made.results))
        out.append(made)
    return out


def _in_turn(statement: model.Statement, variable: str, turn: int) -> model.Statement:
    """The statement with the number of a turn instead of the loop's variable."""

    def key(old: model.Key) -> model.Key:
        told = [text_of((piece,), {variable: turn}) if isinstance(piece, model.Index) and piece.variable == variable else piece for piece in old]
        return joined_key(told)

    def value(old: model.Value) -> model.Value:
        match old:
            case model.WeightRef() | model.KeyText() | model.HasWeight():
                return replace(old, key=key(old.key))
            case model.Element(name, model.Index() as index) if index.variable == variable:
                return model.Element(name, index.scale * turn + index.offset)
            case _:
                return old

    made = with_values(statement, value)
    if isinstance(made, model.CallFunction):
        arguments = tuple(replace(one, key=key(one.key)) if isinstance(one, model.ScopeArgument) else one for one in made.arguments)
        return replace(made, arguments=arguments)
    return made
