"""Functions of one class that differ in one part become one function with a branch, told apart by the weights that a module has, or by a flag.

An attention with a reduced sequence and one without, a block with a projection of what goes past it and one without. Works on finished functions
while they are merged: what calls them may be one function then, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from alchemist.ir.scopes import common_prefix
from alchemist.program import model
from alchemist.program.alignment import only_in, unread, varying
from alchemist.program.alpha_renaming import Mismatch, Renaming
from alchemist.program.lengths import lines_of
from alchemist.program.walk import bound_in, calls_of, code_of, names_of, read_by, text_of, with_variables

Paragraph = tuple[model.Statement, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """scopes: of each function, the modules that it is called for, as beginnings of weights' names. names: of all weights."""

    scopes: Mapping[str, frozenset[str]]
    names: frozenset[str]

    def tells_apart(self, key: str, own: Sequence[model.Function], others: Sequence[model.Function]) -> bool:
        """Whether all modules of `own` have the weight and none of the others has."""
        mine, theirs = ({scope for function in functions for scope in self.scopes.get(function.name, ())} for functions in (own, others))
        return bool(mine) and bool(theirs) and all(scope + key in self.names for scope in mine) and not any(scope + key in self.names for scope in theirs)


def places_of(functions: Sequence[model.Function], names: frozenset[str]) -> Places | None:
    """Where functions are called from the last one on; None where a scope is not known before the program runs. names: of all weights."""
    known = {function.name: function for function in functions}
    found: dict[str, set[str]] = {}
    pending = [(functions[-1].name, "")]
    while pending:
        name, scope = pending.pop()
        if name not in known or scope in found.setdefault(name, set()):
            continue
        found[name].add(scope)
        for call, numbers in calls_of(known[name].body, {}):
            keys = [one.key for one in call.arguments if isinstance(one, model.ScopeArgument) and one.collection == "weights"]
            try:
                pending += [(call.function, scope + (f"{text_of(key, numbers)}." if key else "")) for key in keys]
            except KeyError:
                return None
    return Places({name: frozenset(scopes) for name, scopes in found.items()}, names)


def joined(one: Sequence[model.Function], two: Sequence[model.Function], places: Places | None) -> list[model.Function] | None:
    """The functions of both groups with the same statements, one of them a branch; None where they differ in more than one part.

    places: with it the modules' weights tell the groups apart, without it a flag, if one side has an op that the other has not.

    The functions of a group differ in constants alone. What only the other group's part reads is unused.
    """
    first, second = one[0], two[0]
    if first.module != second.module or not first.module or first.returns != second.returns or not (is_plain(first) and is_plain(second)):
        return None
    bodies = [_paragraphs(function.body) for function in (first, second)]
    end, start = (len(common_prefix([[_code(paragraph) for paragraph in body[::step]] for body in bodies])) for step in (-1, 1))
    if not end or any(start + end >= len(body) for body in bodies):
        return None
    parts = [_Parts.of(function, start, end) for function in (first, second)]
    if any(isinstance(statement, model.If) for part in parts for statement in model.statements(part.middle)):
        return None
    if min(lines_of(part.middle) for part in parts) > lines_of((*parts[0].before, *parts[0].behind)):  # two functions that share less than they differ in
        return None
    if not all(any(isinstance(statement, model.Call | model.CallFunction) for statement in part.middle) for part in parts):
        return None
    if places is not None:
        key, swapped = _telling(one, two, parts, places)
    else:
        key, swapped = "", not only_in(parts[0].middle, parts[1].middle)
    if not key and (places is not None or not only_in(*(part.middle for part in (parts[::-1] if swapped else parts)))):
        return None
    try:
        results, renamed = _renaming(first, second, *parts)
        others = [renamed(_Parts.of(function, start, end)) for function in two]
    except Mismatch:
        return None
    own = [_Parts.of(function, start, end) for function in one]
    told = [varying([part.middle for part in group]) for group in (own, others)]
    middles = unread([part.middle for part in own], told[1]), unread([part.middle for part in others], told[0])
    made: list[model.Function] = []
    for function, part in (*zip(one, own, strict=True), *zip(two, others, strict=True)):
        sides = (part.middle, middles[1]) if len(made) < len(one) else (middles[0], part.middle)
        then, otherwise = (_stripped(side) for side in (sides[::-1] if swapped else sides))
        gap = (model.Blank(),) if part.before else ()
        first_form = len(made) < len(one)
        branch = model.If(model.HasWeight((key,)) if key else model.Literal(first_form != swapped), then, otherwise, results)
        body = (*part.device, *part.before, *gap, branch, *part.behind)
        made.append(replace(function, parameters=first.parameters, body=body))
    return made


def is_plain(function: model.Function) -> bool:
    kinds = [parameter.kind for parameter in function.parameters]
    return kinds.count("weights") == 1 and set(kinds) == {"tensor", "weights"}


def _paragraphs(body: Sequence[model.Statement]) -> list[Paragraph]:
    """The statements from blank line to blank line; asking for the device is none of them."""
    found: list[list[model.Statement]] = [[]]
    for statement in body:
        if isinstance(statement, model.Blank):
            found.append([])
        if not isinstance(statement, model.GetDevice):
            found[-1].append(statement)
    return [tuple(paragraph) for paragraph in found if paragraph]


def _code(paragraph: Paragraph) -> object:
    return tuple(one.text if isinstance(one, model.Comment) else code_of(one) for one in paragraph if not isinstance(one, model.Blank))


@dataclass(frozen=True, slots=True)
class _Parts:
    """A body: what stands in front of the part that differs, that part, and what stands behind."""

    device: tuple[model.Statement, ...]
    before: tuple[model.Statement, ...]
    middle: tuple[model.Statement, ...]
    behind: tuple[model.Statement, ...]

    @staticmethod
    def of(function: model.Function, start: int, end: int) -> _Parts:
        paragraphs = _paragraphs(function.body)
        device = tuple(one for one in function.body if isinstance(one, model.GetDevice))
        before, middle, behind = (
            tuple(statement for paragraph in part for statement in paragraph)
            for part in (paragraphs[:start], paragraphs[start : len(paragraphs) - end], paragraphs[len(paragraphs) - end :])
        )
        return _Parts(device, before, middle, behind)


def _stripped(body: Sequence[model.Statement]) -> tuple[model.Statement, ...]:
    return tuple(body[1:]) if body and isinstance(body[0], model.Blank) else tuple(body)


def _telling(one: Sequence[model.Function], two: Sequence[model.Function], parts: Sequence[_Parts], places: Places) -> tuple[str, bool]:
    """(a weight that the modules of one group have, whether it is the second group); "" for none."""
    sides = [(one, two, parts[0], False), (two, one, parts[1], True)]
    for own, others, part, swapped in sorted(sides, key=lambda side: lines_of(side[2].middle)):  # the shorter one stands first
        for key in weights_in(part.middle):
            if places.tells_apart(key, own, others):
                return key, swapped
    return "", False


def weights_in(body: Sequence[model.Statement]) -> list[str]:
    """Names of weights that the statements read, within the function's scope."""
    keys = [value.key for value in read_by(body) if isinstance(value, model.WeightRef) and value.collection == "weights"]
    return [key[0] for key in keys if len(key) == 1 and isinstance(key[0], str)]


def _renaming(first: model.Function, second: model.Function, own: _Parts, other: _Parts) -> tuple[tuple[str, ...], Callable[[_Parts], _Parts]]:
    """(variables that either part sets for what follows, what gives the second function's statements the names of the first one's).

    Raises:
        Mismatch: the parts do not set the same variables.
    """
    names = Renaming()
    tensors = [[parameter.name for parameter in function.parameters if parameter.kind == "tensor"] for function in (first, second)]
    if tensors[0] != tensors[1]:  # a parameter with two names has two meanings: a mask here, the encoder's states there
        raise Mismatch
    for name, new in zip(tensors[1], tensors[0], strict=True):
        names.bind(name, new)
    names.block(other.before, own.before)
    known = names.names
    behind = Renaming(open_=True)
    behind.block(other.behind, own.behind)
    bound_here, bound_there = (bound_in(part.middle) for part in (own, other))
    dropped_here, dropped_there = (
        {name for one in model.statements(part.middle) if isinstance(one, model.Free) for name in one.names} for part in (own, other)
    )
    results: list[str] = []
    table = dict(known)
    for name, new in behind.inputs.items():
        if (name in bound_there) != (new in bound_here) or (name not in bound_there and known.get(name) != new):
            raise Mismatch
        if name not in bound_there:
            if name in dropped_there or new in dropped_here:
                raise Mismatch
            continue
        if known.get(name, new) != new or any(value == new and key != name for key, value in known.items()):
            raise Mismatch
        table[name] = new
        results.append(new)
    taken = set(table.values())  # what only one part sets is gone behind it: the other part may have the same names
    for name in sorted(bound_there - set(table)):
        new = name
        while new in taken:
            new = f"{new}_"
        table[name] = new
        taken.add(new)

    def renamed(part: _Parts) -> _Parts:
        before = Renaming()
        for name, new in zip(tensors[1], tensors[0], strict=True):
            before.bind(name, new)
        device = own.device or (part.device and _with_names(part.device, table))
        front = before.block(part.before, own.before)
        return _Parts(device, front, _with_names(part.middle, table), _in_order(part.behind, own.behind))

    return tuple(results), renamed


def _in_order(body: tuple[model.Statement, ...], other: tuple[model.Statement, ...]) -> tuple[model.Statement, ...]:
    return Renaming(open_=True).block(body, other)


def _with_names(body: Sequence[model.Statement], table: Mapping[str, str]) -> tuple[model.Statement, ...]:
    """The statements with other names of variables. Raises: Mismatch for a name that nothing has set."""

    for one in body:
        if isinstance(one, model.Loop | model.NameLoop | model.RowLoop | model.If | model.NewList | model.Append | model.Gather) or names_of(one) - set(table):
            raise Mismatch
    return with_variables(body, table)
