"""What one form of a function does to its tensor first, or to its result last, is done by its caller: without it the form is like the others.

The first stage of a network gets an image with channels first, the last one gives one back. Works on finished functions while they are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from alchemist.program import model
from alchemist.program.names import unique
from alchemist.program.walk import arguments_of, bound_in, names_of, tensors, with_values

_FORMS = {"ttnn.permute": "permuted", "ttnn.transpose": "transposed", "ttnn.reshape": "reshaped", "ttnn.typecast": "converted"}
"""What a tensor is after a call that gives it another form: behind its name where the caller has a tensor of that name."""
_DRAM = model.MemoryConfig()
MOST_MOVED = 4
"""Calls that are moved to the caller at most."""


@dataclass(frozen=True, slots=True)
class Edges:
    """before: calls on the tensor that the function is given at `place`, each on the result of the one before, the last one's called `name`.

    behind: statements on the result, which they begin and end as `result`.
    """

    before: tuple[model.Call, ...] = ()
    place: int = 0
    name: str = ""
    behind: tuple[model.Statement, ...] = ()
    result: str = ""


def without_edges(function: model.Function, like: model.Function) -> Iterator[tuple[model.Function, Edges]]:
    """The function without calls at its beginning and end that `like` does not have, and these; nothing where they differ in other calls."""
    own, others = _calls(function.body), _calls(like.body)
    extra = len(own) - len(others)
    if not 0 < extra <= MOST_MOVED or any(parameter.kind not in ("tensor", "weights") for parameter in function.parameters):
        return
    for front in range(extra + 1):
        if own[front : front + len(others)] != others:
            continue
        begun = _without_beginning(function, front)
        ended = _without_end(begun[0], extra - front) if begun is not None else None
        if begun is not None and ended is not None:
            yield ended[0], replace(begun[1], behind=ended[1].behind, result=ended[1].result)


def _calls(body: Sequence[model.Statement]) -> list[str]:
    found = []
    for one in model.statements(tuple(body)):
        if isinstance(one, model.Call):
            found.append(one.spec.target)
        elif isinstance(one, model.CallFunction):
            found.append(one.function)
        elif isinstance(one, model.Loop):
            found.append("for")
    return found


def _moves(statement: model.Statement, name: str) -> bool:
    """Whether the statement gives this variable's tensor another form in DRAM, where it may stay for longer, and reads nothing else."""
    read = arguments_of(statement)
    plain = not any(isinstance(value, model.WeightRef | model.DeviceRef | model.NumberRef | model.ParameterRef) for value in read)
    if not isinstance(statement, model.Call) or statement.spec.target not in _FORMS or list(tensors(read)) != [name] or not plain:
        return False
    single = len(statement.results) + statement.returned == 1 and all(isinstance(result, str) for result in statement.results)
    return single and any(arg.name == "memory_config" and value == _DRAM for arg, value in statement.arguments)


def _without_beginning(function: model.Function, count: int) -> tuple[model.Function, Edges] | None:
    if not count:
        return function, Edges()
    rest = list(function.body)
    given = ""
    name = ""
    moved: list[model.Call] = []
    for place, one in enumerate(function.body):
        if isinstance(one, model.Call):
            name = name or next(tensors(arguments_of(one)), "")
            given = given or name
            if not _moves(one, name) or one.returned:
                return None
            moved.append(one)
            rest[place] = model.Blank()
            name = str(one.results[0])
            if len(moved) == count:
                break
        elif isinstance(one, model.Free) and moved:
            rest[place] = model.Blank()
        elif not isinstance(one, model.Comment | model.Blank | model.GetDevice):
            return None
    places = {parameter.name: place for place, parameter in enumerate(function.parameters) if parameter.kind == "tensor"}
    if len(moved) < count or given not in places:
        return None
    made: list[model.Statement] = []
    held = alive = True  # the values of the two names that are the caller's, until others have the names
    for one in rest:
        if isinstance(one, model.GetDevice) and one.tensor == model.TensorRef(given):
            one = model.GetDevice(model.TensorRef(name))
        elif alive and name != given and any(given in names_of(inner) for inner in model.statements((one,))):
            return None
        if isinstance(one, model.Free) and held:
            kept = tuple(each for each in one.names if each != name)
            one = model.Free(kept) if kept else model.Blank()
        bound = bound_in((one,))
        held, alive = held and name not in bound, alive and given not in bound
        made.append(one)
    parameters = tuple(replace(parameter, name=name, note="") if parameter.name == given else parameter for parameter in function.parameters)
    changed = replace(function, parameters=parameters, body=_tidy(made))
    return changed, Edges(tuple(moved), places[given], name)


def _without_end(function: model.Function, count: int) -> tuple[model.Function, Edges] | None:
    if not count:
        return function, Edges()
    calls = [place for place, one in enumerate(function.body) if isinstance(one, model.Call | model.CallFunction | model.Loop)]
    if len(calls) <= count:
        return None
    first = calls[-count - 1]
    last = function.body[first]
    if not isinstance(last, model.Call | model.CallFunction) or len(last.results) != 1 or not isinstance(last.results[0], str):
        return None
    name = result = last.results[0]
    behind: list[model.Statement] = []
    for one in function.body[first + 1 :]:
        if isinstance(one, model.Call):
            if not _moves(one, name):
                return None
            name = str(one.results[0]) if one.results else name
            moved = with_values(one, lambda old: model.TensorRef(result) if isinstance(old, model.TensorRef) else old)
            assert isinstance(moved, model.Call)
            behind.append(replace(moved, results=(result,), returned=False))
        elif isinstance(one, model.Comment | model.Blank):
            behind.append(one)
        elif not isinstance(one, model.Free):
            return None
    final = function.body[-1]
    if not isinstance(final, model.Call) or not final.returned:
        return None
    body = (*function.body[:first], replace(last, results=(), returned=True))
    return replace(function, body=body), Edges(behind=tuple(behind), result=result)


def _tidy(body: Sequence[model.Statement]) -> tuple[model.Statement, ...]:
    """Without blank lines at the start and doubled ones, and none behind a comment or the question for the device."""
    out: list[model.Statement] = []
    for one in body:
        if isinstance(one, model.Blank) and (not out or isinstance(out[-1], model.Blank | model.Comment)):
            continue
        out.append(one)
    return tuple(out)


def _bound_to(one: model.Statement, name: str) -> model.Statement:
    return replace(one, results=(name,)) if isinstance(one, model.Call) else one


def around(call: model.CallFunction, edges: Edges, caller: model.Function) -> list[model.Statement]:
    """The call with what stands at the edges of the function now."""
    taken = {parameter.name for parameter in caller.parameters}
    bound = bound_in(caller.body)
    out: list[model.Statement] = []
    freed: tuple[model.Statement, ...] = ()
    if edges.before:
        given = call.arguments[edges.place]
        form = _FORMS[edges.before[-1].spec.target]
        name = unique([edges.name, f"{edges.name}_{form}"], lambda name: name not in taken | bound)
        source = given
        for one in edges.before:
            made = with_values(one, lambda old, now=source: now if isinstance(old, model.TensorRef) else old)  # type: ignore[misc]
            out.append(_bound_to(made, name))
            source = model.TensorRef(name)
        call = replace(call, arguments=(*call.arguments[: edges.place], source, *call.arguments[edges.place + 1 :]))
        freed = () if call.returned and not edges.behind else (model.Free((name,)),)
    if not edges.behind:
        return [*out, call, *freed]
    result = call.results[0] if call.results else edges.result
    if call.returned and result in taken and result not in bound:
        result = unique([f"{edges.result}_out"], lambda name: name not in taken | bound)
    behind: list[model.Statement] = []
    for each in edges.behind:
        moved = with_values(each, lambda old: model.TensorRef(str(result)) if isinstance(old, model.TensorRef) else old)
        behind.append(_bound_to(moved, str(result)))
    if call.returned:
        final = behind[-1]
        assert isinstance(final, model.Call)
        behind[-1] = replace(final, results=(), returned=True)
    return [*out, replace(call, results=(result,), returned=False), *freed, *behind]
