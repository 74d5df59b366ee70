"""Finds loops: neighbouring items that repeat, each fed by the last; integers of weight names and slices may count up with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from dataclasses import dataclass

from alchemist.program import model
from alchemist.program.functions import LAYER, CallItem, Carried, Collected, Definition, Item, LoopItem, reads, span, writes
from alchemist.program.gradients import is_gradient
from alchemist.program.graph import Node, Value, skeleton, values_of
from alchemist.program.model import Index, Key
from alchemist.program.state import list_arguments
from alchemist.program.weights import COUNTING, PART, without_cuts

MAX_PERIOD = 64
"""Items per iteration that are looked for."""
SHORT_PERIOD = 24
"""Up to here also repetitions of a shorter one are looked at: two steps may be alike where one is not."""
MIN_EQUAL = 4
"""Iterations of a loop of few items in which nothing counts."""
MAX_JOINED = 4
"""Values of each layer, in a loop over layers with loops inside, that one op joins."""
MIN_JOINED = 3
"""Iterations of a loop whose results are joined with a tensor from before it."""
MIN_SAVED = 8
"""Items that a loop of fewer iterations must save."""
FOREVER = 1 << 60
MAX_LOOPS = 24
"""Loops of a function among which equal layers are looked for."""
LAYERS = "layers"
"""What a loop over several lists of modules at once is over."""


@dataclass(slots=True)
class _Signature:
    """code: equal for items that are the same up to integers in names and slices. numbers: those integers. names: the names.

    places: for the last numbers, the argument and the element that each is. cuts: where weights are cut out of their tensor files. files: those files.
    """

    code: int
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    places: tuple[tuple[str, int], ...] = ()
    cuts: tuple[int, ...] = ()
    files: tuple[str, ...] = ()


def find_loops(definition: Definition, calls: Sequence[tuple[Definition, CallItem]], recipe_of: Callable[[Value], Hashable]) -> None:
    """Replaces repetitions in the definition's body by loops, in time linear in the number of items.

    calls: of the definition, with their callers; its own callees are done. recipe_of: how a weight is prepared, which must not vary.
    """
    items = [item for item in definition.items if not isinstance(item, LoopItem)]
    listable = _listable(definition, calls)
    groups = list_arguments([value for value in definition.parameters if not value.returned]) if definition.is_root or len(calls) == 1 else []
    found = _with_loops(items, definition, listable, recipe_of)
    if any(one.group in groups and not _is_counted(one, loop) for one, loop in _read_in(found) if one.group is not None):
        for value in (value for group in groups for value in group.values):
            value.group = None
        found = _with_loops(items, definition, listable, recipe_of)
    definition.items = found
    returned = [one.values for item in found if isinstance(item, LoopItem) for one in item.collected if one.returned]
    returned += [[call.results[place] for place in places] for call in _calls(items) for places in call.function.results() if len(places) > 1]
    places: dict[int, int] = {}  # of what is returned twice (the last layer's states), the last one is in the list
    for place, value in enumerate(definition.returns):
        places[id(value)] = place
    definition.lists = [[places[id(value)] for value in values] for values in returned if id(values[0]) in places]
    if not definition.lists and 2 <= sum(isinstance(item, LoopItem) for item in found) <= MAX_LOOPS:  # equal layers with loops inside are a loop over layers
        definition.items = _with_loops(found, definition, set(), recipe_of)


def _has_loop(item: Item) -> bool:
    """Whether it is a loop over time, or a call of a function that consists of one."""
    return isinstance(item, LoopItem) or (isinstance(item, CallItem) and item.function.is_recurrent_layer)


def _with_loops(items: Sequence[Item], definition: Definition, listable: set[int], recipe_of: Callable[[Value], Hashable]) -> list[Item]:
    search = _Search(items, definition, listable, recipe_of)
    found: list[Item] = []
    index = 0
    while index < len(items):
        loop = search.longest(index)
        found.append(loop or items[index])
        index += len(loop.body) * loop.count if loop else 1
    return found


def _read_in(items: Sequence[Item]) -> Iterator[tuple[Value, LoopItem | None]]:
    """Everything that is read, and the loop in which it is, in a loop's first iteration."""
    for item in items:
        for part in item.body if isinstance(item, LoopItem) else [item]:
            for value in reads(part):
                yield value, item if isinstance(item, LoopItem) else None


def _is_counted(value: Value, loop: LoopItem | None) -> bool:
    """Whether each iteration reads another element of the value's list."""
    return loop is not None and is_counted(loop.keys.get(element_name(value), ()))


def is_counted(form: Key) -> bool:
    """Whether a name is another one in each iteration."""
    return any(isinstance(piece, Index) for piece in form)


def _calls(items: Sequence[Item]) -> list[CallItem]:
    return [item for item in items if isinstance(item, CallItem)]


def _listable(definition: Definition, calls: Sequence[tuple[Definition, CallItem]]) -> set[int]:
    """Results that may be returned in a list: the callers do nothing but return them, and gradients are collected otherwise (`kept`)."""
    found: set[int] = set()
    for place, value in enumerate(definition.returns):
        results = [(caller, call, call.results[place]) for caller, call in calls]
        only_returned = all(
            any(result is one for one in caller.returns) and all(user.position < call.hi for user in result.users) for caller, call, result in results
        )
        if only_returned and value.part is None and not is_gradient(value) and (calls or definition.is_root):
            found.add(id(value))
    nested = [[call.results[place] for place in places] for call in _calls(definition.items) for places in call.function.results() if len(places) > 1]
    return found.difference(id(value) for values in nested for value in values)


def _loop_signature(loop: LoopItem, parts: Sequence[_Signature], codes: dict[Hashable, int]) -> _Signature:
    """Of a loop as an item of a loop over layers: what counts inside must be equal, and so must be what each op reads of the others."""
    numbers = {id(value): (k, r) for k, part in enumerate(loop.body) for r, value in enumerate(writes(part))}
    outside: dict[int, int] = {}

    def place(value: Value) -> Hashable:
        return numbers.get(id(value)) or (None if value.key else outside.setdefault(id(value), len(outside)))

    wiring = tuple(tuple(place(value) for value in reads(part)) for part in loop.body)
    carried = tuple((place(one.initial), place(one.first)) for one in loop.carried)
    collected = tuple((place(one.first), len(one.before), len(one.behind), one.reverse) for one in loop.collected)
    counting = tuple(name for name, form in loop.keys.items() if is_counted(form))
    places = [part.numbers[len(part.numbers) - len(part.places) :] for part in parts]
    offsets = tuple((repr(loop.offsets.get(id(item))), place) for item, place in zip(loop.body, places, strict=True))
    code = (tuple(part.code for part in parts), loop.count, loop.start, loop.step, wiring, carried, collected, counting, offsets)
    named = [number for part in parts for number in part.numbers[: len(part.numbers) - len(part.places)]]
    cuts = tuple(number for part in parts for number in part.cuts)
    names = tuple(name for part in parts for name in part.names)
    return _Signature(codes.setdefault(code, len(codes)), tuple(named), names, (), cuts, tuple(name for part in parts for name in part.files))


def _signature(
    item: Item, definition: Definition, codes: dict[Hashable, int], recipe_of: Callable[[Value], Hashable], held: Set[Value], nested: bool
) -> _Signature:
    if isinstance(item, LoopItem):
        return _loop_signature(item, [_signature(part, definition, codes, recipe_of, held, nested) for part in item.body], codes)
    weights = _weights(item, definition)
    listed = [value for value in reads(item) if value in held]
    places: list[tuple[str, int]] = []
    counts: list[int] = []
    names = [definition.relative(name) for value in weights for name in (value.key, *value.files_of_modules)]
    if isinstance(item, Node):
        names += [definition.relative(one.copy.key) for one in item.kept]
    if isinstance(item, CallItem):
        code: Hashable = id(item.function)
        names.append(definition.relative(item.path) if item.path != definition.path else "")
    else:
        counting = COUNTING.get(item.spec.name, ())
        for arg, raw in item.arguments:
            if arg.name in counting and isinstance(raw, tuple | model.Items):
                elements = raw if isinstance(raw, tuple) else raw.items
                places += [(arg.name, index) for index in range(len(elements))]
                counts += [value.value for value in elements if isinstance(value, model.Literal) and isinstance(value.value, int)]
        plain = len(counts) != len(places)
        arguments = tuple((arg.name, skeleton(raw) if plain or arg.name not in counting else "#") for arg, raw in item.arguments)
        if plain:
            places, counts = [], []
        code = (item.spec.name, arguments, tuple(value.type for value in item.results), item.note)
    names += [element_name(value) for value in listed]
    numbers: list[int] = []
    patterns: list[str] = []
    for name in names:
        parts = (_ANY_COUNTER if nested else _COUNTER).split(name)
        numbers += [int(part) for part in parts[1::2]]
        patterns.append("#".join(parts[::2]))
    made = [without_cuts(recipe_of(value)) for value in weights]
    # A layer with a loop inside may read wider weights than the one before it: the next one reads both directions.
    types = [value.type.dtype if nested else value.type for value in weights]
    forms = tuple((type_, form) for type_, (form, _) in zip(types, made, strict=True))
    key = (code, tuple(patterns), forms, tuple(value.type for value in listed))
    cuts = tuple(number for _, found in made for number in found)
    files = tuple(name for value in weights for name in value.made_from)
    return _Signature(codes.setdefault(key, len(codes)), (*numbers, *counts), tuple(names), tuple(places), cuts, files)


_COUNTER = re.compile(r"(?:(?<=[._])|^)(\d{1,8})(?=\.|$)")
"""A number in a list's path ("blocks.3.mlp") or behind a name ("layers_3.mlp")."""
_ANY_COUNTER = re.compile(r"(\d+)")
"""The same of layers with loops inside: "rnn.weight_ih_l3_reverse"."""


def _weights(item: Node | CallItem, definition: Definition) -> list[Value]:
    return [value for value in reads(item) if definition.covers(value) and value.group is None]


def element_name(value: Value) -> str:
    """What loops count of a value in a list."""
    return f"{value.group.name}.{value.place}" if value.group is not None else ""


@dataclass(slots=True)
class _Join:
    """An op behind the loop that reads one value of every iteration: `offset` of its tensors come before those, perhaps others behind.

    reverse: it reads them in reverse order; so are `tensors`. width: values of each iteration among the tensors.
    """

    node: Node
    tensors: Sequence[Value]
    offset: int
    reverse: bool
    width: int = 1


def _counts_on(first: Sequence[int], second: Sequence[int], other: Sequence[int], iteration: int) -> bool:
    """Whether numbers go on from the first iteration to this one as they do to the second."""
    return all(c == a + (b - a) * iteration for a, b, c in zip(first, second, other, strict=True))


class _Iterations:
    """Iterations of a loop, added one after the other as long as each is like the first. start, period: in items."""

    def __init__(self, search: _Search, start: int, period: int) -> None:
        self._search = search
        self._start = start
        self._period = period
        self._carried: dict[tuple[int, int], Value] = {}  # (item, result) that the next iteration reads -> its value before the loop
        self._joins: dict[tuple[int, int], _Join] = {}
        self._inputs: list[list[tuple[str, tuple[int, int]]]] = []  # for every item of the body, what each input is
        self._step = self._base = 0  # of the integer that counts, step 0 if none does
        self._keys: dict[str, Key] = {}
        self._container = ""
        self._returned: set[tuple[int, int]] = set()  # what the function returns of every iteration
        self._entering: set[tuple[int, int]] = set()  # of these, what it returns of every iteration but the last, and from before the loop
        self._end = FOREVER  # iterations behind this one cannot belong to the loop
        self.hopeless: Node | None = None
        self.count = 1

    def grow(self) -> bool:
        """Whether there are iterations enough for a loop."""
        while self.count < self._end and self._fits(self.count):
            if self.count == 1 and not (self._name() and self._learn()):
                return False
            if not self._reads_alike(self.count) or not self._leaves(self.count):
                break
            self.count += 1
        self.count = min(self.count, self._end)
        while self.count >= 2 and not self._last_is_final():
            self.count -= 1
        return self.count >= 2 and all(self._is_collected(join) for join in self._joins.values())

    def _index(self, iteration: int, item: int) -> int:
        return self._start + iteration * self._period + item

    def _fits(self, iteration: int) -> bool:
        """Whether iteration `iteration` is there, looks like the first one, and counts on as the second one does."""
        if self._index(iteration + 1, 0) > len(self._search.items):
            return False
        signatures = self._search.signatures
        for k in range(self._period):
            first, second, other = signatures[self._start + k], signatures[self._start + self._period + k], signatures[self._index(iteration, k)]
            if first.code != other.code or (first.cuts != other.cuts and first.files != other.files):
                return False
            if iteration > 1 and not (
                _counts_on(first.numbers, second.numbers, other.numbers, iteration) and _counts_on(first.cuts, second.cuts, other.cuts, iteration)
            ):
                return False
        return True

    def _learn(self) -> bool:
        """What every input of the body is, from the first two iterations: of its own iteration, of the one before, or the same for all."""
        initial: dict[int, tuple[int, int]] = {}
        invariant: set[int] = set()
        for k in range(self._period):
            firsts, seconds = self._search.data[self._index(0, k)], self._search.data[self._index(1, k)]
            if len(firsts) != len(seconds):
                return False
            kinds: list[tuple[str, tuple[int, int]]] = []
            for first, second in zip(firsts, seconds, strict=True):
                here, before = self._made(second, 1), self._made(second, 0)
                if here is not None:
                    if self._made(first, 0) != here:
                        return False
                    kinds.append(("own", here))
                elif before is not None:
                    if self._made(first, 0) is not None or k > before[0] or self._carried.setdefault(before, first) is not first:
                        return False
                    if initial.setdefault(id(first), before) != before:
                        return False
                    kinds.append(("previous", before))
                else:
                    if first is not second:
                        return False
                    invariant.add(id(first))
                    kinds.append(("same", (0, 0)))
            self._inputs.append(kinds)
        return not invariant & initial.keys() and self._leaves(0)

    def _made(self, value: Value, iteration: int) -> tuple[int, int] | None:
        """(item of the body, result) if the iteration makes the value."""
        index, result = self._search.made.get(id(value), (-1, 0))
        item = index - self._index(iteration, 0)
        return (item, result) if 0 <= item < self._period else None

    def _reads_alike(self, iteration: int) -> bool:
        for k, kinds in enumerate(self._inputs):
            values, firsts = self._search.data[self._index(iteration, k)], self._search.data[self._index(0, k)]
            if len(values) != len(kinds):
                return False
            for value, first, (kind, place) in zip(values, firsts, kinds, strict=True):
                if value is not first if kind == "same" else self._made(value, iteration - (kind == "previous")) != place:
                    return False
        return True

    def _leaves(self, iteration: int) -> bool:
        """Notes what ops behind the loop read of the iteration; False if no loop can go on from here."""
        lo, hi = self._span(iteration)
        following = self._span(iteration + 1)[1] if self._index(iteration + 2, 0) <= len(self._search.items) else hi
        for k in range(self._period):
            for r, value in enumerate(writes(self._search.items[self._index(iteration, k)])):
                place = (k, r)
                if place in self._returned or (iteration == 0 and self._is_returned(value, place)):
                    self._returned.add(place)
                    self._end = min(self._end, self._last_returned(value, place, iteration))
                    continue
                join = self._joins.get(place)
                far = [user for user in value.users if not lo <= user.position < (following if place in self._carried else hi)]
                if iteration == 0 and far:
                    join = self._search.join(value, writes(self._search.items[self._index(1, k)])[r], far)
                    if join is not None and not self._search.is_hopeless(join.node, self._start, self._period):
                        self._joins[place] = join
                    elif place not in self._carried:
                        return False
                    else:
                        self._end = 1
                elif join is not None:
                    if not self._goes_on(join, value, iteration):
                        self.hopeless = join.node
                        return False
                    if any(user is not join.node for user in far) or id(value) in self._search.returned:
                        if place not in self._carried:
                            self.hopeless = join.node
                            return False
                        self._end = min(self._end, iteration + 1)  # the last value of the variable is used besides
                elif far or id(value) in self._search.returned:
                    self._end = min(self._end, iteration + (place in self._carried))
        return self._end > max(iteration, 1)

    def _is_returned(self, value: Value, place: tuple[int, int]) -> bool:
        """Whether the function returns this value of the first iteration and of the second one, to be collected in a list."""
        if id(value) not in self._search.listable:
            return False
        second = writes(self._search.items[self._index(1, place[0])])[place[1]]
        initial = self._carried.get(place)
        return id(second) in self._search.listable or (initial is not None and id(initial) in self._search.listable)

    def _last_returned(self, value: Value, place: tuple[int, int], iteration: int) -> int:
        """The number of iterations that there can be, as far as this one's value tells."""
        _, hi = self._span(iteration)
        ending = self._span(iteration + 1)[1] if place in self._carried and self._index(iteration + 2, 0) <= len(self._search.items) else hi
        read_after = any(ending <= user.position < self._search.end for user in value.users)
        if place not in self._carried:
            return iteration if id(value) not in self._search.listable else iteration + 1 if read_after else FOREVER
        if id(value) in self._search.listable and place not in self._entering:
            return iteration + 1 if read_after else FOREVER
        initial = self._carried[place]
        if id(initial) in self._search.listable:  # the last layer's result is normalised before it is returned
            self._entering.add(place)
            return iteration + 1
        return iteration

    def _goes_on(self, join: _Join, value: Value, iteration: int) -> bool:
        place = join.offset + iteration * join.width
        return place < len(join.tensors) and join.tensors[place] is value

    def _last_is_final(self) -> bool:
        """Whether only carried values of the last iteration are used behind it, joins apart."""
        lo, hi = self._span(self.count - 1)
        for k in range(self._period):
            for r, value in enumerate(writes(self._search.items[self._index(self.count - 1, k)])):
                if (k, r) in self._carried or (k, r) in self._joins or (k, r) in self._returned:
                    continue
                if id(value) in self._search.returned or any(not lo <= user.position < hi for user in value.users):
                    return False
        return True

    def _is_collected(self, join: _Join) -> bool:
        """Whether the joined tensors are those of the loop, perhaps behind one that was made before it."""
        together = self._together(join)
        start = together[0].offset
        before, behind = join.tensors[:start], join.tensors[start + self.count * join.width :]
        whole = [one.offset for one in together] == [*range(start, start + join.width)] and not (join.reverse and join.width > 1)
        whole = whole and len(before) + len(behind) <= 1 and (not before or self.count >= MIN_JOINED) and not (behind and self._carried)
        initial = {id(value) for value in self._carried.values()}  # the first iteration reads it, too
        good = whole and all(self._search.only_joined(value, join.node, self._span(0)[id(value) in initial]) for value in before)
        good = good and all(self._search.made_behind(value, join.node, self._span(self.count - 1)[1]) for value in behind)
        if not good:
            self.hopeless = join.node
        return good

    def _together(self, join: _Join) -> list[_Join]:
        """Those of the op that reads several values of each iteration, in the order in which an iteration makes them."""
        return [one for _, one in sorted(self._joins.items()) if one.tensors is join.tensors]

    def _span(self, iteration: int) -> tuple[int, int]:
        """Node positions [lo, hi) of an iteration."""
        items = self._search.items
        return span(items[self._index(iteration, 0)])[0], span(items[self._index(iteration, self._period - 1)])[1]

    # --------------------------------------------------------------------------------------------------------- the loop

    def loop(self) -> LoopItem | None:
        """The loop, None when it would be too short to be one."""
        search, start, period = self._search, self._start, self._period
        if not self._step and self.count < MIN_EQUAL and (self.count - 1) * self._period < MIN_SAVED:
            return None
        rows = [list(search.items[self._index(t, 0) : self._index(t + 1, 0)]) for t in range(self.count)]
        offsets: dict[int, dict[str, dict[int, int]]] = {}
        for k, item in enumerate(rows[0]):
            first, second = search.signatures[start + k], search.signatures[start + period + k]
            skipped = len(first.numbers) - len(first.places)
            for slot, (name, element) in enumerate(first.places):
                if first.numbers[skipped + slot] != second.numbers[skipped + slot]:
                    offsets.setdefault(id(item), {}).setdefault(name, {})[element] = first.numbers[skipped + slot] - self._base
        carried = [Carried(initial, writes(rows[0][k])[r], writes(rows[-1][k])[r]) for (k, r), initial in sorted(self._carried.items())]
        collected = []
        for (k, r), join in sorted(self._joins.items()):
            together = self._together(join)
            if join is together[0]:
                end = join.offset + self.count * join.width
                also = tuple(one.tensors[one.offset] for one in together[1:])
                values, before, behind = (list(part) for part in (join.tensors[join.offset : end], join.tensors[: join.offset], join.tensors[end:]))
                collected.append(Collected(writes(rows[0][k])[r], values, before, behind, join.reverse, also=also))
        for k, r in sorted(self._returned):
            values = [writes(row[k])[r] for row in rows]
            if (k, r) in self._entering:
                collected.append(Collected(self._carried[k, r], [self._carried[k, r], *values[:-1]], returned=True, entering=True))
            else:
                collected.append(Collected(values[0], values, returned=True))
        variable = "_" if not self._step else LAYER if any(map(_has_loop, rows[0])) else "i"
        return LoopItem(rows[0], self.count, self._base, self._step or 1, variable, self._keys, carried, self._container, rows[1:], offsets, collected)

    def _name(self) -> bool:
        """Finds the integer that counts from the first iteration to the second and the names in which it stands.

        Several that count in steps of their own, as the numbers of Dense_0, Dense_1 and LayerNorm_0 of a flax layer do, are multiples of one that
        counts layers. False if slices disagree.
        """
        steps: set[int] = set()
        sliced: set[int] = set()
        for k in range(self._period):
            one, two = self._search.signatures[self._start + k], self._search.signatures[self._start + self._period + k]
            for place, (number, following) in enumerate(zip(one.numbers, two.numbers, strict=True)):
                if number != following:
                    self._step, self._base = self._step or following - number, self._base if self._step else number
                    steps.add(following - number)
                    sliced |= {following - number} if place >= len(one.numbers) - len(one.places) else set()
        if len(steps) > 1:
            if min(steps) < 1 or sliced - {1}:
                return False
            self._step, self._base = 1, 0
        if not self._cuts_count():
            return False
        nested = any(map(_has_loop, self._search.items[self._start : self._start + self._period]))
        keys, self._container = _key_forms(self._search, self._start, self._period, model.Index(LAYER if nested else "i", self._base, scale=self._step))
        self._container = "" if self._container == PART else self._container  # a layer has as many parts as it has
        self._keys = keys or {}
        return keys is not None and (nested or not self._search.has_loops)

    def _cuts_count(self) -> bool:
        """Whether weights are cut out of their files at multiples of the integer that counts."""
        pairs = ((self._search.signatures[self._start + k], self._search.signatures[self._start + self._period + k]) for k in range(self._period))
        steps = {b - a for one, two in pairs for a, b in zip(one.cuts, two.cuts, strict=True)} - {0}
        return not steps or (self._step > 0 and all(step > 0 and step % self._step == 0 for step in steps))


class _Search:
    """What is known of a function's items: signatures, tensors read that are no weights, who makes each tensor."""

    def __init__(self, items: Sequence[Item], definition: Definition, listable: set[int], recipe_of: Callable[[Value], Hashable]) -> None:
        codes: dict[Hashable, int] = {}
        self.items = items
        self.has_loops = any(map(_has_loop, items))
        self.counter = _ANY_COUNTER if self.has_loops else _COUNTER
        lists = definition.argument_lists()
        held = {value for group in lists.values() for value in group.values}
        self.signatures = [_signature(item, definition, codes, recipe_of, held, self.has_loops) for item in items]
        self.data = [[value for value in reads(item) if value not in held and not definition.covers(value)] for item in items]
        self.made = {id(value): (index, result) for index, item in enumerate(items) for result, value in enumerate(writes(item))}
        self.returned = {id(value) for value in definition.returns}
        self.listable = listable
        self.end = span(items[-1])[1] if items else 0
        self._lists: dict[int, list[list[Value]]] = {}  # lists of tensors that an op takes, each in both directions
        self._hopeless: dict[tuple[int, int, int], int] = {}

    def longest(self, start: int) -> LoopItem | None:
        """The loop from `start` on that has most items."""
        best: LoopItem | None = None
        alike: dict[int, int] = {}  # periods, and up to which item the signatures repeat with them
        for period in range(1, min(MAX_PERIOD, (len(self.items) - start) // 2) + 1):
            if self.signatures[start].code != self.signatures[start + period].code:
                continue
            if period > SHORT_PERIOD and any(period % shorter == 0 and start + 2 * period <= end for shorter, end in alike.items()):
                continue
            if period <= SHORT_PERIOD:
                alike[period] = self._repeats(start, period)
            iterations = _Iterations(self, start, period)
            grown = iterations.grow()
            if iterations.hopeless is not None:
                self._hopeless[id(iterations.hopeless), period, start % period] = start + iterations.count * period
            if grown and iterations.count * period > (len(best.body) * best.count if best else 0):
                best = iterations.loop() or best
        return best

    def _repeats(self, start: int, period: int) -> int:
        """The first item behind `start` that is another one than that a period before it, as far as loops are looked for."""
        last = min(len(self.items), start + 2 * MAX_PERIOD)
        return next((index for index in range(start + period, last) if self.signatures[index].code != self.signatures[index - period].code), last)

    def is_hopeless(self, join: Node, start: int, period: int) -> bool:
        """Whether a loop of this period and phase has failed at this join before, at a place that is still ahead."""
        return start < self._hopeless.get((id(join), period, start % period), -1)

    def join(self, value: Value, following: Value, users: Sequence[Node]) -> _Join | None:
        """The only op behind that reads the value and, next to it in a list of tensors, that of the second iteration."""
        node = users[0]
        if id(value) in self.returned or any(user is not node for user in users):
            return None
        if id(node) not in self._lists:
            lists = [list(values_of(raw)) for _, raw in node.arguments if isinstance(raw, tuple)]
            self._lists[id(node)] = [row for tensors in lists for row in (tensors, tensors[::-1])]
        for index, tensors in enumerate(self._lists[id(node)]):
            head = [id(one) for one in tensors[: 2 * MAX_JOINED + 1]]
            width = head.index(id(following)) - head.index(id(value)) if id(value) in head and id(following) in head else 0
            if 0 < width <= (MAX_JOINED if self.has_loops else 1) and head.index(id(value)) <= width:
                return _Join(node, tensors, head.index(id(value)), index % 2 == 1, width)
        return None

    def only_joined(self, value: Value, joined: Node, start: int) -> bool:
        """Whether a value from before the loop is needed by nothing else after its start than the op that joins."""
        made = value.node is not None and value.node.position < start
        return made and id(value) not in self.returned and all(user is joined or user.position < start for user in value.users)

    def made_behind(self, value: Value, joined: Node, end: int) -> bool:
        """Whether a value from behind the loop is for the op that joins alone."""
        return value.node is not None and value.node.position >= end and id(value) not in self.returned and all(user is joined for user in value.users)


def _key_forms(search: _Search, start: int, period: int, counted: Index) -> tuple[dict[str, Key] | None, str]:
    """Of each name, its form with the loop's variable; and what is counted. counted: the variable, the number that it starts with and its step."""
    signatures, counter = search.signatures, search.counter
    forms: dict[str, Key] = {}
    containers: set[str] = set()
    for k in range(period):
        for first, second in zip(signatures[start + k].names, signatures[start + period + k].names, strict=True):
            pieces: list[str | Index] = []
            ones, twos = counter.split(first), counter.split(second)
            for position, (one, two) in enumerate(zip(ones, twos, strict=True)):
                if one != two:
                    scale = (int(two) - int(one)) // counted.scale
                    pieces.append(Index(counted.variable, int(one) - scale * counted.offset, scale=scale))
                    containers.add(re.split(r"[._]", ones[position - 1].rstrip("._"))[-1])
                elif pieces and isinstance(pieces[-1], str):
                    pieces[-1] += one
                else:
                    pieces.append(one)
            form = tuple(piece for piece in pieces if piece != "")
            if forms.setdefault(first, form) != form:
                return None, ""
    return forms, next(iter(containers)) if len(containers) == 1 else LAYERS if containers else ""
