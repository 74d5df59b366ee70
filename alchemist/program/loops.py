"""Finds loops: neighbouring items that repeat with one integer of their weight names counting up, each fed by the last."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from alchemist.program import model
from alchemist.program.functions import CallItem, Carried, Collected, Definition, Item, LoopItem, reads, span, writes
from alchemist.program.graph import Node, Value, skeleton, values_of
from alchemist.program.model import Index, Key

MAX_PERIOD = 24
"""Items per iteration that are looked for."""


@dataclass(slots=True)
class _Signature:
    """code: equal for items that are the same up to integers in names and slices. numbers: those integers. names: the names.

    places: for the last numbers, the argument and the element that each is.
    """

    code: int
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    places: tuple[tuple[str, int], ...] = ()


_COUNTING = {"ttnn.slice_static": ("slice_start", "slice_end")}
"""Arguments whose elements may count with a loop."""


def find_loops(definition: Definition, recipe_of: Callable[[Value], Hashable]) -> None:
    """Replaces repetitions in the definition's body by loops. recipe_of: how a weight is prepared, which must not vary."""
    items = [item for item in definition.items if not isinstance(item, LoopItem)]
    codes: dict[Hashable, int] = {}
    signatures = [_signature(item, definition, codes, recipe_of) for item in items]
    returned = {id(value) for value in definition.returns}
    found: list[Item] = []
    index = 0
    while index < len(items):
        loop = _longest(items, signatures, index, returned, definition)
        if loop is None:
            found.append(items[index])
            index += 1
        else:
            found.append(loop)
            index += len(loop.body) * loop.count
    definition.items = found


def _signature(item: Node | CallItem, definition: Definition, codes: dict[Hashable, int], recipe_of: Callable[[Value], Hashable]) -> _Signature:
    weights = _weights(item, definition)
    places: list[tuple[str, int]] = []
    counts: list[int] = []
    names = [definition.relative(name) for value in weights for name in (value.key, *value.made_from)]
    if isinstance(item, CallItem):
        code: Hashable = id(item.function)
        names.append(definition.relative(item.path) if item.path != definition.path else "")
    else:
        counting = _COUNTING.get(item.spec.name, ())
        for arg, raw in item.arguments:
            if arg.name in counting and isinstance(raw, tuple | model.Items):
                elements = raw if isinstance(raw, tuple) else raw.items
                places += [(arg.name, index) for index in range(len(elements))]
                counts += [one.value for one in elements if isinstance(one, model.Literal) and isinstance(one.value, int)]
        plain = len(counts) != len(places)
        arguments = tuple((arg.name, skeleton(raw) if plain or arg.name not in counting else "#") for arg, raw in item.arguments)
        if plain:
            places, counts = [], []
        code = (item.spec.name, arguments, tuple(value.type for value in item.results), item.note)
    numbers: list[int] = []
    patterns: list[str] = []
    for name in names:
        parts = _COUNTER.split(name)
        numbers += [int(part) for part in parts[1::2]]
        patterns.append("#".join(parts[::2]))
    key = (code, tuple(patterns), tuple((value.type, recipe_of(value)) for value in weights))
    return _Signature(codes.setdefault(key, len(codes)), (*numbers, *counts), tuple(names), tuple(places))


_COUNTER = re.compile(r"(?:(?<=[._])|^)(\d{1,8})(?=\.|$)")
"""A number in a list's path ("blocks.3.mlp") or behind a name ("layers_3.mlp")."""


def _weights(item: Node | CallItem, definition: Definition) -> list[Value]:
    return [value for value in reads(item) if definition.covers(value)]


def _data(item: Node | CallItem, definition: Definition) -> list[Value]:
    return [value for value in reads(item) if not definition.covers(value)]


def _longest(
    items: Sequence[Node | CallItem],
    signatures: Sequence[_Signature],
    start: int,
    returned: set[int],
    definition: Definition,
) -> LoopItem | None:
    best: LoopItem | None = None
    for period in range(1, min(MAX_PERIOD, (len(items) - start) // 2) + 1):
        if not _repeats(signatures, start, period, 1) or not _progress(signatures, start, period, 2)[0]:
            continue  # most often so: nothing counts from the first iteration to the second
        count = 2
        while _repeats(signatures, start, period, count):
            count += 1
        size = len(best.body) * best.count if best else 0
        while count >= 2 and count * period > size:
            loop = _loop(items, signatures, start, period, count, returned, definition)
            if loop is not None:
                best = loop
                break
            count -= 1
    return best


def _repeats(signatures: Sequence[_Signature], start: int, period: int, count: int) -> bool:
    """Whether iteration `count` is there, looks like the first one, and counts on as the second one does."""
    offset = start + period * count
    if offset + period > len(signatures):
        return False
    if any(signatures[start + k].code != signatures[offset + k].code for k in range(period)):
        return False
    for k in range(period):
        numbers = (signatures[start + k].numbers, signatures[start + period + k].numbers, signatures[offset + k].numbers)
        if any(third != first + (second - first) * count for first, second, third in zip(*numbers, strict=True)):
            return False
    return True


def _loop(
    items: Sequence[Node | CallItem],
    signatures: Sequence[_Signature],
    start: int,
    period: int,
    count: int,
    returned: set[int],
    definition: Definition,
) -> LoopItem | None:
    """The loop of these iterations, None when names or values do not progress as a loop's must."""
    step, base = _progress(signatures, start, period, count)
    if not step:
        return None
    keys, container = _key_forms(signatures, start, period, base)
    if keys is None:
        return None
    iterations = [list(items[start + t * period : start + (t + 1) * period]) for t in range(count)]
    carried = _carried(iterations, definition)
    if carried is None:
        return None
    collected = _collected(iterations, carried, returned)
    if collected is None:
        return None
    offsets: dict[int, dict[str, dict[int, int]]] = {}
    for k, item in enumerate(iterations[0]):
        first, second = signatures[start + k], signatures[start + period + k]
        skipped = len(first.numbers) - len(first.places)
        for slot, (name, element) in enumerate(first.places):
            if first.numbers[skipped + slot] != second.numbers[skipped + slot]:
                offsets.setdefault(id(item), {}).setdefault(name, {})[element] = first.numbers[skipped + slot] - base
    return LoopItem(iterations[0], count, base, step, "i", keys, carried, container, iterations[1:], offsets, collected)


def _progress(signatures: Sequence[_Signature], start: int, period: int, count: int) -> tuple[int, int]:
    """(step, first value) of the integer that counts; step 0 when none does or several disagree."""
    step, base = 0, 0
    for k in range(period):
        first = signatures[start + k].numbers
        for slot, number in enumerate(first):
            delta = signatures[start + period + k].numbers[slot] - number
            if any(signatures[start + t * period + k].numbers[slot] != number + delta * t for t in range(count)):
                return 0, 0
            if delta:
                if step and delta != step:
                    return 0, 0
                if not step:
                    step, base = delta, number
    return (step, base) if step > 0 else (0, 0)


def _key_forms(signatures: Sequence[_Signature], start: int, period: int, base: int) -> tuple[dict[str, Key] | None, str]:
    forms: dict[str, Key] = {}
    container = ""
    for k in range(period):
        for first, second in zip(signatures[start + k].names, signatures[start + period + k].names, strict=True):
            pieces: list[str | Index] = []
            ones, twos = _COUNTER.split(first), _COUNTER.split(second)
            for position, (one, two) in enumerate(zip(ones, twos, strict=True)):
                if one != two:
                    pieces.append(Index("i", int(one) - base))
                    container = container or re.split(r"[._]", ones[position - 1].rstrip("._"))[-1]
                elif pieces and isinstance(pieces[-1], str):
                    pieces[-1] += one
                else:
                    pieces.append(one)
            form = tuple(piece for piece in pieces if piece != "")
            if forms.setdefault(first, form) != form:
                return None, ""
    return forms, container


def _carried(iterations: list[list[Node | CallItem]], definition: Definition) -> list[Carried] | None:
    """Checks that every input is of its own iteration, of the last one, or the same for all. None if not."""
    made = [{id(value): (k, r) for k, item in enumerate(items) for r, value in enumerate(writes(item))} for items in iterations]
    carried: dict[tuple[int, int], Value] = {}
    invariant: set[int] = set()
    for k, item in enumerate(iterations[0]):
        firsts = _data(item, definition)
        for j, first in enumerate(firsts):
            later = [_data(items[k], definition) for items in iterations[1:]]
            if any(len(values) != len(firsts) for values in later):
                return None
            values = [row[j] for row in later]
            here, previous = made[1].get(id(values[0])), made[0].get(id(values[0]))
            if here is not None:
                if made[0].get(id(first)) != here:
                    return None
                if any(made[t + 1].get(id(value)) != here for t, value in enumerate(values)):
                    return None
            elif previous is not None:
                if any(made[t].get(id(value)) != previous for t, value in enumerate(values)) or id(first) in made[0]:
                    return None
                if carried.setdefault(previous, first) is not first or k > previous[0]:
                    return None
            else:
                if any(value is not first for value in values):
                    return None
                invariant.add(id(first))
    initials = [id(value) for value in carried.values()]
    if len(set(initials)) != len(initials) or invariant & set(initials):
        return None
    return [Carried(initial, writes(iterations[0][k])[r], writes(iterations[-1][k])[r]) for (k, r), initial in sorted(carried.items())]


def _collected(iterations: list[list[Node | CallItem]], carried: list[Carried], returned: set[int]) -> list[Collected] | None:
    """What one op behind the loop joins, a value of each iteration in order; None if anything else but the last iteration's
    carried values is used there."""
    lo, hi = span(iterations[0][0])[0], span(iterations[-1][-1])[1]
    finals = {id(part.last) for part in carried}
    kept = {id(part.first) for part in carried}
    found: list[Collected] = []
    for k, item in enumerate(iterations[0]):
        for r, first in enumerate(writes(item)):
            column = [writes(items[k])[r] for items in iterations]
            outside = [[user for user in value.users if not lo <= user.position < hi] for value in column]
            if not any(outside) and not any(id(value) in returned for value in column):
                continue
            if not any(outside[:-1]) and not any(id(value) in returned for value in column[:-1]) and id(column[-1]) in finals:
                continue
            users = {id(user): user for row in outside for user in row}
            if len(users) != 1 or any(len(row) != 1 for row in outside) or any(id(value) in returned for value in column) or id(first) in kept:
                return None
            (joined,) = users.values()
            lists = [list(values_of(raw)) for _, raw in joined.arguments if isinstance(raw, tuple)]
            size = len(column)
            before = next((one[:-size] for one in lists if [id(value) for value in one[-size:]] == [id(value) for value in column]), None)
            if before is None or (before and (len(before) > 1 or size < 3)) or not all(_only_joined(value, joined, lo, returned) for value in before):
                return None
            found.append(Collected(first, column, before))
    return found


def _only_joined(value: Value, joined: Node, start: int, returned: set[int]) -> bool:
    """Whether a value from before the loop is needed by nothing else after its start than the op that joins."""
    made = value.node is not None and value.node.position < start
    return made and id(value) not in returned and all(user is joined or user.position < start for user in value.users)
