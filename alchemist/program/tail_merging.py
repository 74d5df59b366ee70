"""The end that functions of one module class share becomes a function of its own.

A layer comes in forms that begin differently (a window that is shifted or not, self or cross attention) and go on alike. Works on
finished functions, after `merge`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from alchemist.program import model
from alchemist.program.alignment import align
from alchemist.program.alpha_renaming import Mismatch, Renaming
from alchemist.program.functions import MOST_HELD_ELEMENTS
from alchemist.program.lengths import lines_of
from alchemist.program.names import snake_case, unique
from alchemist.program.text import WIDTH
from alchemist.program.walk import bound_by, bound_in, code_of, filled_by, read_by, reads_device, without_unread_device

MIN_LINES = 14
"""Lines that an end must have to be worth a function of its own."""
MIN_GAIN = 12
"""Lines that must be saved."""


@dataclass(slots=True)
class Shared:
    """functions: callee first. tails: function -> the tail that it returns, for the outline."""

    functions: list[model.Function]
    tails: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Tail:
    """Ends of functions that are alike. starts: where they begin in each member's body; inputs: tensors by each member's names.

    bodies: their statements with the names of the first one's, without what they give up of their inputs and without parameters, which the
    beginnings of the members may have more or fewer of; they may differ in constants.
    """

    members: list[model.Function]
    starts: list[int]
    inputs: list[list[str]]
    bodies: list[model.Function]
    gain: int


def share_tails(functions: Sequence[model.Function], taken: set[str]) -> Shared:
    """taken: names of functions, to which those of the new ones are added."""
    *others, entry = functions
    shared = Shared(list(others))
    by_class: dict[str, list[model.Function]] = {}
    for function in others:
        if function.module and function.parameters:
            by_class.setdefault(function.module, []).append(function)
    for group in by_class.values():
        while len(group) > 1 and (tail := _best(group)) is not None:
            _extract(tail, shared, taken)
            gone = {function.name for function in tail.members}
            group = [function for function in group if function.name not in gone]
    return Shared([*shared.functions, entry], shared.tails)


def _best(group: Sequence[model.Function]) -> _Tail | None:
    best: _Tail | None = None
    for index, first in enumerate(group):
        for start in _starts(first.body):
            lines = lines_of(first.body[start:])
            if lines < MIN_LINES or not _calls(first.body[:start]):
                continue
            inputs = _inputs(first.body[start:], first.body[:start])
            if inputs is None or _holds_much(first.body, start, inputs):
                continue
            wanted = replace(first, parameters=(), body=_as_function(_behind(first.body, start), inputs))
            found = _Tail([first], [start], [inputs], [wanted], 0)
            for other in group[index + 1 :]:
                match = _match(found, other) if other.returns == first.returns else None
                if match is not None:
                    found.members.append(other)
                    found.starts.append(match[0])
                    found.inputs.append([match[1][name] for name in found.inputs[0]])
                    found.bodies.append(match[2])
            count = len(found.members)
            numbers = len(align(found.bodies, set()).added)
            found.gain = (count - 1) * lines - 7 - 2 * count - 2 * max(len(found.inputs[0]) - 3, 0) - (count + 1) * numbers
            if count > 1 and found.gain >= MIN_GAIN and (best is None or found.gain > best.gain):
                best = found
    return best


def _starts(body: Sequence[model.Statement]) -> list[int]:
    """Where an end may begin: with a paragraph, or with any call of the last one, which is all that some functions have."""
    blanks = [index for index, one in enumerate(body) if isinstance(one, model.Blank) and index]
    behind = blanks[-1] if blanks else 0
    return blanks + [index for index, one in enumerate(body) if isinstance(one, model.Call | model.CallFunction) and index > behind + 1]


def _calls(body: Sequence[model.Statement]) -> int:
    return sum(isinstance(statement, model.Call | model.CallFunction | model.Loop | model.If) for statement in body)


def _match(tail: _Tail, other: model.Function) -> tuple[int, dict[str, str], model.Function] | None:
    """(where the same end starts in `other`, names of its inputs by those of the first member, its statements with the first one's names).

    What either gives up of its inputs is no difference; integers and other constants become parameters.
    """
    wanted = tail.bodies[0].body
    for there in _starts(other.body):
        rest = _behind(other.body, there)
        if len(rest) < len(wanted):
            break
        if not _calls(other.body[:there]) or _calls(rest) != _calls(wanted):
            continue
        own = _inputs(rest, other.body[:there])
        stripped = _as_function(rest, own or ())
        if own is None or _holds_much(other.body, there, own) or [code_of(one) for one in stripped] != [code_of(one) for one in wanted]:
            continue
        names = Renaming(open_=True)
        try:
            made = replace(other, parameters=(), body=names.block(stripped, wanted))
            aligned = align([*tail.bodies, made], set())
        except Mismatch:
            continue
        if aligned.is_readable() and set(names.inputs.values()) == set(tail.inputs[0]):
            return there, {two: one for one, two in names.inputs.items()}, made
    return None


def _behind(body: Sequence[model.Statement], start: int) -> Sequence[model.Statement]:
    """The end that starts there, without the empty line in front of it."""
    return body[start + isinstance(body[start], model.Blank) :]


def _inputs(body: Sequence[model.Statement], head: Sequence[model.Statement]) -> list[str] | None:
    """Tensors that come from before the statements, in order of use; None where the statements go on with a list."""
    names = Renaming(open_=True)
    try:
        names.block(body, body)
    except Mismatch:
        return None
    lists = {name for one in head if isinstance(one, model.NewList | model.Loop) for name in bound_by(one)}
    return None if lists & set(names.inputs) else list(names.inputs)


def _holds_much(body: Sequence[model.Statement], start: int, inputs: Sequence[str]) -> bool:
    """Whether the beginning would hold large tensors in L1 while the end runs, which the body as a whole frees or binds anew before its last statement."""
    sizes: dict[str, int] = {}
    for one in model.statements(tuple(body[:start])):
        made = dict(zip(one.results, one.l1_elements, strict=False)) if isinstance(one, model.Call | model.CallFunction) else {}
        sizes.update((name, made.get(name, 0)) for name in bound_by(one))
    ended = {name for one in model.statements(tuple(body[start:-1])) for name in (one.names if isinstance(one, model.Free) else bound_by(one))}
    return sum(sizes.get(name, 0) for name in ended.intersection(inputs)) > MOST_HELD_ELEMENTS


_NAME = re.compile(r"[A-Za-z_]\w*")


def _constants(body: Sequence[model.Statement], parameters: Sequence[model.Parameter]) -> list[model.Parameter]:
    """Parameters that are constants and that the statements read."""
    words = {word for value in read_by(body) if isinstance(value, model.NumberRef | model.ParameterRef) for word in _NAME.findall(value.name)}
    return [parameter for parameter in parameters if model.is_constant(parameter.kind) and parameter.name in words]


def _parameter(one: model.Parameter) -> model.Value:
    return model.NumberRef(one.name) if one.kind == "number" else model.ParameterRef(one.name)


def _extract(tail: _Tail, shared: Shared, taken: set[str]) -> None:
    first = tail.members[0]
    aligned = align(tail.bodies, bound_in(first.body) | {parameter.name for parameter in first.parameters})
    body = (*_quoted(first.body[: tail.starts[0] + 1]), *aligned.function.body)
    words = [snake_case(first.module.rpartition(".")[2]).strip("_"), min((function.name for function in tail.members), key=len)]
    name = unique([f"{word}_tail" for word in words if word], lambda name: name not in taken)
    taken.add(name)
    constants = _constants(body, first.parameters)
    inputs = tail.inputs[0]
    parameters = [model.Parameter(name) for name in inputs]
    read = _collections(body)
    collections = [parameter for parameter in first.parameters if parameter.kind in ("weights", "kept") and parameter.name in read]
    parameters += collections
    parameters += [*constants, *(parameter for parameter in aligned.function.parameters if parameter.name in aligned.added)]
    if reads_device(body):
        body = (model.GetDevice(model.TensorRef(inputs[0])), *body)
    line = next((statement.text.partition(":")[0] for statement in body if isinstance(statement, model.Comment)), "")
    where = f" from line {line} on" if line.isdigit() else ""
    members = [function.name for function in tail.members]
    text = f"{', '.join(members[:-1])} and {members[-1]}"
    doc = f"{first.module}{where}, the same in {text}."
    doc = doc if len(doc) + 10 <= WIDTH else f"Shared by {len(members)} functions of {first.module}{where}."
    scopes = tuple(dict.fromkeys(scope for function in tail.members for scope in function.scopes))
    made = model.Function(name, tuple(parameters), body, first.returns, doc, first.module, scopes, first.source)
    place = min(index for index, one in enumerate(shared.functions) if one.name in members)
    for place_of, (member, start, inputs) in enumerate(zip(tail.members, tail.starts, tail.inputs, strict=True)):
        arguments: list[model.Argument] = [model.TensorRef(name) for name in inputs]
        arguments += [model.ScopeArgument(parameter.name) for parameter in collections]
        arguments += [model.NumberArgument(one.name, _parameter(one)) for one in constants]
        arguments += [model.NumberArgument(name, values[place_of]) for name, values in aligned.added.items()]
        call = model.CallFunction(name, tuple(arguments), (), returned=True)
        head = without_unread_device(_without_comments_behind(member.body[:start]))
        index = next(i for i, one in enumerate(shared.functions) if one.name == member.name)
        shared.functions[index] = replace(member, body=(*head, model.Blank(), call))
        shared.tails[member.name] = name
    shared.functions.insert(place, made)


def _quoted(body: Sequence[model.Statement]) -> list[model.Statement]:
    """Comments of the paragraph in which the last statement stands."""
    found: list[model.Statement] = []
    for one in body:
        found = [] if isinstance(one, model.Blank) else [*found, one] if isinstance(one, model.Comment) else found
    return found


def _without_comments_behind(body: Sequence[model.Statement]) -> tuple[model.Statement, ...]:
    """The statements without comments on what followed."""
    end = len(body)
    while end and isinstance(body[end - 1], model.Comment | model.Blank):
        end -= 1
    return tuple(body[:end])


def _as_function(body: Sequence[model.Statement], inputs: Sequence[str]) -> tuple[model.Statement, ...]:
    """The statements without giving up what the caller holds."""
    held = set(inputs)
    out: list[model.Statement] = []
    for one in body:
        if isinstance(one, model.Free):
            names = tuple(name for name in one.names if name not in held)
            if not names:
                continue
            one = model.Free(names)
        held -= bound_by(one)
        out.append(one)
    return tuple(out)


def _collections(body: Sequence[model.Statement]) -> set[str]:
    """Names of the collections that the statements read or fill."""
    found = {value.collection for value in read_by(body) if isinstance(value, model.WeightRef | model.ScopeArgument | model.HasWeight)}
    return found | {target.collection for one in model.statements(tuple(body)) for target in filled_by(one)}


def with_tails(rows: Sequence[model.OutlineRow], tails: Mapping[str, str]) -> tuple[model.OutlineRow, ...]:
    """The outline with every tail behind the other calls of the first function that returns it."""
    out: list[model.OutlineRow] = []
    shown: set[str] = set()
    pending: list[tuple[int, str]] = []
    for row in (*rows, model.OutlineRow(-1, "")):
        while pending and row.depth <= pending[-1][0]:
            depth, tail = pending.pop()
            out.append(model.OutlineRow(depth + 1, tail))
        out.append(row)
        tail = tails.get(row.function, "")
        if tail and tail not in shown:
            shown.add(tail)
            pending.append((row.depth, tail))
    return tuple(out[:-1])
