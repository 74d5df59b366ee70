"""Layers with loops of their own become a loop over layers: a recurrent net runs both directions of every layer, and only the weights' names count.

Works on finished statements, where a loop is a statement like others; `loops` has found those without loops inside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from alchemist.program import model
from alchemist.program.alpha_renaming import Mismatch, Renaming
from alchemist.program.names import RESERVED, unique
from alchemist.program.walk import bound_by, code_of, mapped, names_of, with_arguments

VARIABLE = "layer"
MAX_LOOPS = 24
"""Loops of a function among which equal layers are looked for."""
_NUMBER = re.compile(r"(\d+)")
Body = tuple[model.Statement, ...]


def roll_layers(body: Body) -> Body:
    """The statements, with equal neighbours that contain a loop as one loop."""
    loops = [index for index, one in enumerate(body) if isinstance(one, model.Loop)]
    if len(loops) > MAX_LOOPS or VARIABLE in _names_in(body):
        return body
    codes = [code_of(one) for one in body]
    best: _Layers | None = None
    for place, first in enumerate(loops):
        for other in loops[place + 1 :]:
            for start in range(max(2 * first - other + 1, 0), first + 1):
                found = _found(body, codes, start, other - first)
                if found is not None and (best is None or found.size > best.size):
                    best = found
    return (best.rolled() or body) if best is not None else body


@dataclass(slots=True)
class _Turn:
    """One layer. own: its name for each variable that the first layer binds; inputs: what comes from before it, by the first layer's names."""

    own: dict[str, str]
    inputs: dict[str, str]
    numbers: tuple[int, ...]


@dataclass(slots=True)
class _Layers:
    """`turns` neighbouring runs of `period` statements from `start` on, alike but for names and numbers in the names of weights.

    carried: variable of the first layer that comes from before it -> its result that the next layer gets in that place.
    """

    body: Body
    start: int
    period: int
    turns: list[_Turn]
    carried: dict[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.period * len(self.turns)

    @property
    def first(self) -> Body:
        return self.body[self.start : self.start + self.period]

    @property
    def tail(self) -> Body:
        return self.body[self.start + self.size :]

    def follows(self, turn: _Turn) -> bool:
        """Whether one more layer counts on, and reads what is the same for all and what the layer before hands it."""
        before, count, base = self.turns[-1], len(self.turns), self.turns[0].numbers
        second = (self.turns[1] if count > 1 else turn).numbers
        steps = {b - a for a, b in zip(base, second, strict=True)} - {0}
        if len(steps) != 1 or any(c != a + (b - a) * count for a, b, c in zip(base, second, turn.numbers, strict=True)):
            return False
        carried: dict[str, str] = {}
        for first, own in turn.inputs.items():
            result = next((name for name, image in before.own.items() if image == own), None)
            if result is not None:
                carried[first] = result
            elif first != own or any(own in one.own.values() for one in (*self.turns, turn)):
                return False
        if count == 1:
            self.carried = carried
        return carried == self.carried

    def rolled(self) -> Body | None:
        """The function's statements with the loop; None where a layer's value is used as no loop could give it."""
        taken = _names_in(self.body) | RESERVED
        base, second = next((a, b) for a, b in zip(self.turns[0].numbers, self.turns[1].numbers, strict=True) if a != b)
        names = self._names_without(base, taken)
        read_behind = _open_reads(self.tail)
        head: list[model.Statement] = []
        final: dict[str, str] = {}
        for before, result in self.carried.items():
            if before == result:
                continue
            if not self._takes_over(before, result):
                return None
            copied = before in read_behind
            if copied:
                head.append(model.Assign(names[result], model.TensorRef(before)))
            names[before] = names[result] = names[result] if copied else before
            final[self.turns[-1].own[result]] = names[result]
        gathered = self._gathered(names, taken | set(names.values()), set(self.carried.values()), base)
        if gathered is None:
            return None
        tail, lists = gathered
        counting = self._counting()
        turn = [_renamed(_counted(statement, lambda number: model.Index(VARIABLE, number - base), counting), names) for statement in self.first]
        left = tuple(names[one] for members in lists.values() for one in members)
        for name, members in lists.items():
            head.append(model.NewList(name))
            turn += [model.Append(name, model.TensorRef(names[one])) for one in members]
        turn += [model.Free(left)] if left else []
        stop = model.Literal(base + (second - base) * len(self.turns))
        loop = model.Loop(VARIABLE, base, stop, second - base, tuple(turn), "layers")
        return (*self.body[: self.start], model.Blank(), *head, loop, *_renamed_until_bound(tail, final))

    def _takes_over(self, before: str, result: str) -> bool:
        """Whether the layer is done with what it was given once it sets its result, so that one variable can be both."""
        at = next((index for index, one in enumerate(self.first) if result in _bound_in(one)), None)
        if at is None or isinstance(self.first[at], model.Loop):
            return False
        early = {name for one in self.first[:at] for name in _names_in([one])} | names_of(self.first[at])
        late = _names_in(self.first[at + 1 :])
        return result not in early and before not in late

    def _names_without(self, number: int, taken: Collection[str]) -> dict[str, str]:
        """What the loop calls the first layer's variables: `hidden_l0` is hidden where that is free."""
        found: dict[str, str] = {}
        for name in sorted({name for statement in self.first for name in _bound_in(statement)}):
            short = _without(number, name)
            found[name] = short if short.isidentifier() and short not in taken and short not in found.values() else name
        return found

    def _counting(self) -> Iterator[bool]:
        """For each number in the first layer's names of weights, whether it counts."""
        return (a != b for a, b in zip(self.turns[0].numbers, self.turns[1].numbers, strict=True))

    def _gathered(self, names: Mapping[str, str], taken: Set[str], carried: Set[str], base: int) -> tuple[Body, dict[str, list[str]]] | None:
        """What comes behind the loop, and the lists that it reads: name -> the first layer's variables that each turn adds.

        None for a value that is used but as part of such a list, or behind which layers stand that do not give it.
        """
        made: dict[str, tuple[int, str]] = {}  # name behind the layers -> (layer, name in the first one)
        for number, turn in enumerate(self.turns):
            made |= {own: (number, first) for first, own in turn.own.items()}
        last = len(self.turns) - 1
        open_ = {name for name in _open_reads(self.tail) if name in made and not (made[name][0] == last and made[name][1] in carried)}
        lists: dict[str, list[str]] = {}
        joined: set[str] = set()

        def collected(value: model.Value) -> model.Value:
            parts = [item.name for item in value.items if isinstance(item, model.TensorRef)] if isinstance(value, model.Items) else []
            if not parts or not set(parts) <= open_ or not isinstance(value, model.Items) or len(parts) != len(value.items):
                return value
            members = [made[name][1] for name in parts[: len(parts) // len(self.turns)]]
            if [made[name] for name in parts] != [(number, one) for number in range(last + 1) for one in members]:
                return value
            joined.update(parts)
            name = unique([f"{names[members[0]]}_of_layers"], lambda name: name not in taken and name not in lists)
            lists[name] = members
            return model.TensorRef(name)

        tail: list[model.Statement] = []
        for statement in self.tail:  # joined: variables whose values a list holds by now
            if isinstance(statement, model.Call):
                statement = replace(statement, arguments=tuple((arg, collected(value)) for arg, value in statement.arguments))
            elif isinstance(statement, model.Free) and (dead := joined & set(statement.names)):
                gone = [name for name, members in lists.items() if any(made[one][1] in members for one in dead)]
                statement = model.Free((*(name for name in statement.names if name not in dead), *gone))
                joined -= dead
            tail.append(statement)
            joined -= _bound_in(statement)
        bound = {name for one in tail for name in _bound_in(one)}
        short = {name: _without(base, name) for name in bound if name not in made and _without(base, name) not in taken | bound}
        return None if open_ & _open_reads(tail) else (tuple(_renamed(one, short) for one in tail), lists)


def _found(body: Body, codes: Sequence[object], start: int, period: int) -> _Layers | None:
    first = body[start : start + period]
    made = _Layers(body, start, period, [_Turn({name: name for one in first for name in _bound_in(one)}, {}, _numbers(first))])
    while codes[start : start + period] == codes[start + made.size : start + made.size + period]:
        turn = _turn(body[start + made.size : start + made.size + period], first)
        if turn is None or not made.follows(turn):
            break
        made.turns.append(turn)
    return made if len(made.turns) > 1 else None


def _turn(block: Body, first: Body) -> _Turn | None:
    names = Renaming(open_=True)
    try:
        made = names.block(block, first)
    except Mismatch:
        return None
    if _without_numbers(made) != _without_numbers(first):
        return None
    bound = {name for one in first for name in _bound_in(one)}
    own = {first: name for name, first in names.names.items() if first in bound}
    return _Turn(own, {first: name for name, first in names.inputs.items()}, _numbers(block))


def _without(number: int, name: str) -> str:
    """`hidden_l0s` is hiddens."""
    return re.sub(rf"_l?{number}(?=s?(_|$))", "", name)


def _bound_in(statement: model.Statement) -> set[str]:
    return {name for one in model.statements((statement,)) for name in bound_by(one)}


def _names_in(body: Sequence[model.Statement]) -> set[str]:
    freed = {name for one in model.statements(tuple(body)) if isinstance(one, model.Free) for name in one.names}
    return freed | {name for one in model.statements(tuple(body)) for name in names_of(one) | bound_by(one)}


def _open_reads(body: Sequence[model.Statement]) -> set[str]:
    """Variables that are read before the statements set them; giving one up is no use."""
    found: set[str] = set()
    bound: set[str] = set()
    for statement in body:
        found |= {name for one in model.statements((statement,)) for name in names_of(one)} - bound
        bound |= _bound_in(statement)
    return found


def _with_keys(statement: model.Statement, convert: Callable[[str], model.Key]) -> model.Statement:
    """The statement, not those in it, with the texts in names of weights converted, in order."""

    def key(old: model.Key) -> model.Key:
        return tuple(new for piece in old for new in (convert(piece) if isinstance(piece, str) else (piece,)))

    if isinstance(statement, model.CallFunction):
        scoped = (replace(one, key=key(one.key)) if isinstance(one, model.ScopeArgument) else one for one in statement.arguments)
        statement = replace(statement, arguments=tuple(scoped))
    return with_arguments(statement, lambda value: replace(value, key=key(value.key)) if isinstance(value, model.WeightRef) else value)


def _numbers(body: Body) -> tuple[int, ...]:
    found: list[int] = []

    def note(text: str) -> model.Key:
        found.extend(int(part) for part in _NUMBER.findall(text))
        return (text,)

    mapped(body, lambda one: _with_keys(one, note))
    return tuple(found)


def _without_numbers(body: Body) -> list[str]:
    def plain(one: model.Statement) -> model.Statement:
        one = replace(one, note="") if isinstance(one, model.Call | model.CallFunction) else one
        return _with_keys(one, lambda text: (_NUMBER.sub("#", text),))

    return [repr(one) for one in mapped(body, plain)]


def _counted(statement: model.Statement, index: Callable[[int], model.Index], counting: Iterator[bool]) -> model.Statement:
    """The statement with the loop's variable for the numbers that count. counting: goes on through the body, in the order of `_numbers`."""

    def convert(text: str) -> model.Key:
        pieces: list[str | model.Index] = []
        for place, part in enumerate(_NUMBER.split(text)):
            counted = place % 2 == 1 and next(counting)
            if counted:
                pieces.append(index(int(part)))
            elif pieces and isinstance(pieces[-1], str):
                pieces[-1] += part
            elif part:
                pieces.append(part)
        return tuple(pieces)

    return mapped((statement,), lambda one: _with_keys(one, convert))[0]


def _renamed(statement: model.Statement, names: Mapping[str, str]) -> model.Statement:
    """The statement, and those in it, with other names of variables."""

    def value(old: model.Value) -> model.Value:
        return replace(old, name=names.get(old.name, old.name)) if isinstance(old, model.TensorRef | model.Element) else old

    def change(one: model.Statement) -> model.Statement:
        one = with_arguments(one, value)
        match one:
            case model.Call() | model.CallFunction():
                return replace(one, results=tuple(names.get(name, name) if isinstance(name, str) else name for name in one.results))
            case model.Assign() | model.NewList() | model.Append():
                return replace(one, name=names.get(one.name, one.name))
            case model.Free():
                return model.Free(tuple(names.get(name, name) for name in one.names))
            case _:
                return one

    return mapped((statement,), change)[0]


def _renamed_until_bound(body: Sequence[model.Statement], names: Mapping[str, str]) -> Iterator[model.Statement]:
    """The statements; a variable keeps its new name until it is set again."""
    names = dict(names)
    for statement in body:
        if not names:
            yield statement
            continue
        bound = bound_by(statement)
        made = _renamed(statement, names)
        if isinstance(made, model.Call | model.CallFunction) and isinstance(statement, model.Call | model.CallFunction):
            made = replace(made, results=statement.results)
        yield made
        for name in bound:
            names.pop(name, None)
