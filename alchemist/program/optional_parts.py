"""Functions of one class of which one does more, between a beginning and an end that both have, become one function with that part in a branch.

A residual block with a projection of what goes past it and one without, a block that adds its input and one that does not. Works on finished functions while
they are merged.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile

from alchemist.program import model
from alchemist.program.alignment import only_in, unread
from alchemist.program.alpha_renaming import Mismatch, Renaming
from alchemist.program.still_moves import is_move, with_equal_moves
from alchemist.program.variants import Places, is_plain, weights_in
from alchemist.program.walk import bound_by, bound_in, code_of, names_of, with_variables

_RESULT = "#result"
"""The variable for what a function returns, where it has none."""
Body = tuple[model.Statement, ...]


def with_optional_part(
    longer: Sequence[model.Function], shorter: Sequence[model.Function], places: Places | None
) -> tuple[list[model.Function], list[model.Function]] | None:
    """The functions of both groups with the same statements, of which those that only the first group has are in a branch; None where that cannot be.

    places: with it a weight that only modules of the first group have tells the groups apart, without it a flag.
    """
    first, second = longer[0], shorter[0]
    if first.module != second.module or not first.module or first.returns != second.returns or not (is_plain(first) and is_plain(second)):
        return None
    tensors = [[one.name for one in function.parameters if one.kind == "tensor"] for function in (first, second)]
    if len(tensors[0]) != len(tensors[1]) or tensors[0][1:] != tensors[1][1:]:  # a parameter with two names has two meanings
        return None
    longer, shorter = _with_equal_moves(longer, shorter)
    own, other = _normal(longer[0].body), _normal(shorter[0].body)
    extra = len(_steps(own)) - len(_steps(other))
    if extra < 1 or any(isinstance(one, model.If | model.Append | model.NewList) for one in model.statements(own)):
        return None
    codes = [[_code(body[place]) for place in _steps(body)] for body in (own, other)]
    for start in range(len(codes[1]), -1, -1):  # as late as possible
        if codes[0][:start] != codes[1][:start] or codes[0][start + extra :] != codes[1][start:]:
            continue
        try:
            split = _Split.of(own, start, extra)
            condition = _condition(longer, shorter, split.part, places)
            way = _joined(first, second, split, _Split.of(other, start, 0))
            if condition is None or way is None:
                continue
            return _all(longer, shorter, start, extra, way, condition)
        except Mismatch:
            continue
    return None


def _with_equal_moves(longer: Sequence[model.Function], shorter: Sequence[model.Function]) -> tuple[Sequence[model.Function], Sequence[model.Function]]:
    """The functions, where what comes behind calls that only the first group begins with differs in moves alone: with the moves of both."""
    own, other = ([place for place in _steps(group[0].body) if not is_move(group[0].body[place])] for group in (longer, shorter))
    extra = len(own) - len(other)
    if extra < 1 or [code_of(longer[0].body[place]) for place in own[extra:]] != [code_of(shorter[0].body[place]) for place in other]:
        return longer, shorter
    stubs = []
    for function in longer:
        last = function.body[own[extra - 1]]
        memory = next((value for arg, value in last.arguments if arg.name == "memory_config"), None) if isinstance(last, model.Call) else None
        if not isinstance(memory, model.MemoryConfig) or len(bound_by(last)) != 1:
            return longer, shorter
        parameters = tuple(replace(one, memory=memory) if one.name in bound_by(last) else one for one in function.parameters)
        stubs.append(replace(function, parameters=parameters, body=function.body[own[extra - 1] + 1 :]))
    made = with_equal_moves([*stubs, *shorter])
    heads = [function.body[: own[extra - 1] + 1] for function in longer]
    full = [replace(function, body=(*head, *form.body)) for function, head, form in zip(longer, heads, made, strict=False)]
    return full, made[len(longer) :]


@dataclass(frozen=True, slots=True)
class _Split:
    """A body in four parts: before the optional part, its comments, the part itself, after it."""

    before: Body
    comments: Body
    part: Body
    behind: Body

    @staticmethod
    def of(body: Body, start: int, count: int) -> _Split:
        steps = _steps(body)
        begin = _behind_frees(body, steps[start - 1] + 1 if start else 0)
        end = _behind_frees(body, steps[start + count - 1] + 1) if count else begin
        told = tuple(takewhile(lambda one: isinstance(one, model.Blank | model.Comment | model.GetDevice), body[begin:end]))
        part, quote = _without_last_quote(body[begin + len(told) : end])
        return _Split(body[:begin], told, part, (*quote, *body[end:]))


def _without_last_quote(part: Body) -> tuple[Body, Body]:
    """(the rest, a quote of the statement that follows the part): only moves of that statement's operands are between the two."""
    end = max((place + 1 for place, one in enumerate(part) if isinstance(one, model.Blank | model.Comment)), default=0)
    if not all(map(is_move, part[end:])):
        return part, ()
    start = end
    while start and isinstance(part[start - 1], model.Blank | model.Comment):
        start -= 1
    return (*part[:start], *part[end:]), part[start:end]


def _normal(body: Body) -> Body:
    """With a `return` of its own at the end."""
    final = body[-1]
    if isinstance(final, model.Call | model.CallFunction) and final.returned and not final.results:
        return (*body[:-1], replace(final, results=(_RESULT,), returned=False), model.Return((model.TensorRef(_RESULT),)))
    return body


def _folded(body: Body) -> Body:
    """`return op(x)` again, where nothing else reads the result."""
    if len(body) > 1 and isinstance(last := body[-2], model.Call | model.CallFunction) and body[-1] == model.Return((model.TensorRef(_RESULT),)):
        return (*body[:-2], replace(last, results=(), returned=True))
    return body


def _steps(body: Body) -> list[int]:
    """Places of the statements that compute."""
    return [place for place, one in enumerate(body) if not isinstance(one, model.Blank | model.Comment | model.GetDevice | model.Free)]


def _behind_frees(body: Body, place: int) -> int:
    while place < len(body) and isinstance(body[place], model.Free):
        place += 1
    return place


def _code(one: model.Statement) -> object:
    return code_of(one), len(one.results) if isinstance(one, model.Call | model.CallFunction) else 0


def _without_frees(body: Body) -> Body:
    return tuple(one for one in body if not isinstance(one, model.Blank | model.Comment | model.GetDevice | model.Free))


@dataclass(frozen=True, slots=True)
class _Way:
    """source: what the part's result is where the part is left out, by the name of the tensor; result: its variable in the part and behind it."""

    source: str
    result: str


def _joined(first: model.Function, second: model.Function, own: _Split, other: _Split) -> _Way | None:
    """How the first function goes on without its part; None where the second one does something else.

    Raises:
        Mismatch: their other statements differ.
    """
    parameters = [one.name for one in first.parameters if one.kind == "tensor"]
    names = Renaming()
    for name, new in zip((one.name for one in second.parameters if one.kind == "tensor"), parameters, strict=True):
        names.bind(name, new)
    names.block(_without_frees(other.before), _without_frees(own.before))
    behind = Renaming(open_=True)
    behind.block(_without_frees(other.behind), _without_frees(own.behind))
    bound = bound_in(own.part)
    ways = {(names.names.get(name, ""), new) for name, new in behind.inputs.items() if new in bound or names.names.get(name) != new}
    if len(ways) != 1:
        return None
    source, result = ways.pop()
    alive = _alive(first, own.before)
    if not source or source not in alive or result not in bound:
        return None
    read = {name for one in model.statements(own.part) for name in names_of(one)} - bound
    if not read <= {*parameters, source} or any(name in bound for name in behind.inputs.values() if name != result):
        return None
    if source != result and result != _RESULT and source not in parameters:  # two names of one tensor: the first one would keep it
        return None
    if source != result and result in alive:
        return None
    return _Way(source, result)


def _alive(function: model.Function, body: Body) -> set[str]:
    """Variables that have a value behind the statements."""
    alive = {one.name for one in function.parameters if one.kind == "tensor"}
    for one in body:
        alive = (alive | bound_by(one)) - (set(one.names) if isinstance(one, model.Free) else set())
    return alive


def _condition(longer: Sequence[model.Function], shorter: Sequence[model.Function], part: Body, places: Places | None) -> model.Value | None:
    if places is None:
        return model.Literal(True) if only_in(part, ()) else None
    key = next((key for key in weights_in(part) if places.tells_apart(key, longer, shorter)), "")
    return model.HasWeight((key,)) if key else None


def _all(
    longer: Sequence[model.Function], shorter: Sequence[model.Function], start: int, extra: int, way: _Way, condition: model.Value
) -> tuple[list[model.Function], list[model.Function]]:
    """Raises: Mismatch where a function of a group differs from its first one in more than constants."""
    name = way.source if way.result == _RESULT else way.result
    splits = [_Split.of(_normal(function.body), start, extra) for function in longer]
    unused = unread([split.part for split in splits])

    def body(before: Body, comments: Body, part: Body, behind: Body, *, has: bool) -> Body:
        given = () if way.source == name else (model.Assign(name, model.TensorRef(way.source)),)
        told = condition if isinstance(condition, model.HasWeight) else model.Literal(has)
        made = (*before, *comments, *given, model.If(told, part, (), (name,)), *behind)
        return _folded(with_variables(made, {_RESULT: name} if way.result == _RESULT else {}))

    bodies = [body(split.before, split.comments, split.part, split.behind, has=True) for split in splits]
    full = [replace(function, body=made) for function, made in zip(longer, bodies, strict=True)]
    lead = splits[0]
    out = []
    for function in shorter:
        split = _Split.of(_normal(function.body), start, 0)
        names = Renaming()
        for one, other in zip(function.parameters, longer[0].parameters, strict=True):
            if one.kind == "tensor":
                names.bind(one.name, other.name)
        quoted = {one for one in function.body if isinstance(one, model.Comment)}
        before = _like(lead.before, quoted, names.block(_without_frees(split.before), _without_frees(lead.before)))
        behind = Renaming(open_=True)
        end = _like(lead.behind, quoted, behind.block(_without_frees(split.behind), _without_frees(lead.behind)))
        parameters = tuple(replace(one, note=old.note) for one, old in zip(longer[0].parameters, function.parameters, strict=True))
        out.append(replace(function, parameters=parameters, body=body(before, lead.comments, unused, end, has=False)))
    return full, out


def _like(frame: Body, comments: Set[model.Statement], steps: Body) -> Body:
    """The statements that compute, with the frees of the frame and those of its comments."""
    pending = iter(steps)
    kept = [one for one in frame if not isinstance(one, model.Comment) or one in comments]
    return tuple(one if isinstance(one, model.Blank | model.Comment | model.GetDevice | model.Free) else next(pending) for one in kept)
