"""The call tree and other facts that a program's header tells."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from alchemist.ir.location import Scope
from alchemist.ir.scopes import SHARED, is_library
from alchemist.program.functions import CallItem, Definition, Item, LoopItem, functions_of
from alchemist.program.graph import Node
from alchemist.program.model import Key, OutlineRow
from alchemist.program.names import numbered
from alchemist.program.runs import flat_items

MAX_ROWS = 40
MANY = 6
"""Rows for the calls of one function; where there are more, equal callees share a row."""


def class_label(definition: Definition) -> str:
    """The class without its package."""
    return definition.class_name.rpartition(".")[2]


_DIRECTION = re.compile(r"(?:(.*)\.)?l(?:(\d+)|\{(\d+\.\.\d+)\})(_reverse)?")
_PART = re.compile(r"(?:Relu)?(\w+?)(?:Layer|Cell)")


def recurrent_layer(definition: Definition) -> str:
    """What frameworks call the layer of which a function is a part ("LSTM"), "" for other functions."""
    part = _PART.fullmatch(class_label(definition)) if definition.is_step or definition.is_recurrent_layer else None
    return part[1] if part else ""


def _place_in_layer(definition: Definition, scope: str) -> str:
    """`rnn.l0_reverse` in words, as the model has no module of that name."""
    if definition.is_step:
        return ", ".join(filter(None, (scope.rpartition(".")[0], "one time step")))
    place = _DIRECTION.fullmatch(scope)
    if place is None:
        return scope
    layers = f"layer {place[2]}" if place[2] else f"layers {place[3]}"
    return ", ".join(filter(None, (place[1], f"{layers} {'reverse' if place[4] else 'forward'}")))


def outline(root: Definition) -> tuple[OutlineRow, ...]:
    """Calls in order; a function's own calls are listed where it comes first. Empty when there is only one function."""
    own = {class_label(definition) for definition in functions_of(root)}
    rows: list[OutlineRow] = [OutlineRow(0, root.name, class_label(root), inlined=_inlined(root, own))]
    expanded: set[str] = set()

    def visit(definition: Definition, depth: int) -> None:
        if definition.name in expanded:
            return
        expanded.add(definition.name)
        calls = [(call, loops) for item in definition.items for call, loops in _calls(item)]
        made = list(dict.fromkeys(row(call, loops, definition, depth) for call, loops in calls))
        functions = {call.function.name: call.function for call, _ in reversed(calls)}  # of several forms with one name the first one
        alike = {name: [row for row in made if row.function == name] for name in functions}
        if len(made) > MANY:
            made = [_together(alike[first.function]) for first in made if first is alike[first.function][0]]
        for one in made:
            if one not in rows:
                rows.append(one)
            visit(functions[one.function], depth + 1)

    def row(call: CallItem, loops: Sequence[LoopItem], definition: Definition, depth: int) -> OutlineRow:
        function = call.function
        scope = definition.relative(call.path) if call.path != definition.path else ""
        for loop in loops:
            scope = _loop_scope(loop.keys.get(scope, (scope,)), loop)
        times = math.prod(loop.count for loop in loops) if loops else 0
        layer = recurrent_layer(function)
        scope = _place_in_layer(function, scope) if layer else scope
        return OutlineRow(depth, function.name, "" if function.method else layer or class_label(function), scope, times, _inlined(function, own))

    visit(root, 1)
    if len(rows) == 1:
        return ()
    return tuple(rows[:MAX_ROWS])


def _calls(item: Item, loops: tuple[LoopItem, ...] = ()) -> Iterator[tuple[CallItem, tuple[LoopItem, ...]]]:
    """The item's calls, and the loops around each."""
    if isinstance(item, CallItem):
        yield item, loops
    elif isinstance(item, LoopItem):
        for part in item.body:
            yield from _calls(part, (*loops, item))


def _inlined(definition: Definition, own: set[str]) -> tuple[str, ...]:
    """Classes of modules that hold others and whose calls stand in the function, as they are too small for one of their own. own: classes of functions."""
    if definition.method:
        return ()
    depth = len(definition.chain)
    found: dict[str, None] = {}
    for item in flat_items(definition.items):
        scopes = [info.scopes for info in item.sources] if isinstance(item, Node) else [item.chain]
        for scope in (scope for chain in scopes if chain[:depth] == definition.chain for scope in chain[depth:-1] if not _is_plain(scope)):
            found[scope.class_name.rpartition(".")[2]] = None
    return tuple(name for name in found if name not in own)


def _is_plain(scope: Scope) -> bool:
    return is_library(scope.class_name) or scope.class_name.startswith(SHARED)


def _together(rows: Sequence[OutlineRow]) -> OutlineRow:
    """One row for several calls of a function."""
    first = rows[0]
    if len(rows) == 1:
        return first
    return replace(first, scope=f"{first.scope} ...", times=sum(max(row.times, 1) for row in rows))


def _loop_scope(key: Key, loop: LoopItem) -> str:
    pieces = []
    for piece in key:
        if isinstance(piece, str):
            pieces.append(piece)
        else:
            first = loop.start + piece.offset
            last = first + (loop.count - 1) * loop.step
            pieces.append(f"{{{first}..{last}}}" if loop.step == 1 else f"{{{first}, {first + loop.step}..{last}}}")
    return "".join(pieces)


def compress(paths: Sequence[str]) -> tuple[str, ...]:
    """encoder.layer.0 ... encoder.layer.11 -> encoder.layer.{0..11}."""
    found: dict[tuple[str, str], list[int]] = {}
    plain: list[str] = []
    split = {path: path.split(".") for path in paths}
    places = {path: [index for index, part in enumerate(parts) if part.isascii() and part.isdigit()] for path, parts in split.items()}
    alike = Counter((tuple(split[path][:place]), tuple(split[path][place + 1 :])) for path, found in places.items() for place in found)
    for path, parts in split.items():
        if not places[path]:
            plain.append(path)
            continue
        place = max(places[path], key=lambda place: alike[tuple(parts[:place]), tuple(parts[place + 1 :])])
        head = "".join(f"{part}." for part in parts[:place])
        tail = "".join(f".{part}" for part in parts[place + 1 :])
        found.setdefault((head, tail), []).append(int(parts[place]))
    for (head, tail), numbers in found.items():
        run: list[int] = []
        for number in [*numbers, None]:
            if run and (number is None or number != run[-1] + 1):
                plain.append(f"{head}{run[0]}{tail}" if len(run) == 1 else f"{head}{{{run[0]}..{run[-1]}}}{tail}")
                run = []
            if number is not None:
                run.append(number)
    return tuple(plain)


def names_of_list(names: Sequence[str]) -> str:
    """Names of the tensors of a list in one word, where that is possible: `keys.{0..3}`."""
    found = numbered(names)
    return ", ".join(names) if found is None else f"{found[0]}{{{found[1]}..{found[1] + len(names) - 1}}}{found[2]}"


def with_beginnings(names: Sequence[str]) -> list[str]:
    """The names; those that end alike behind different beginnings are one: `{0,1.mu,1.nu}.blocks.0.w`."""
    ends = Counter(end for name in names for end in _ends(name))
    found: dict[str, list[str]] = {}
    for name in names:
        end = next((end for end in _ends(name) if ends[end] > 1), "")
        found.setdefault(end or name, []).append(name.removesuffix(end).rstrip("."))
    made: list[str] = []
    for end, beginnings in found.items():
        whole = len(beginnings) == 1 and beginnings[0] == end
        before = beginnings[0] if len(beginnings) == 1 else f"{{{','.join(beginnings)}}}"
        made.append(end if whole else f"{before}.{end}")
    return made


def _ends(name: str) -> list[str]:
    """What stands behind each dot, the longest first."""
    return [name[index + 1 :] for index, letter in enumerate(name) if letter == "."]
